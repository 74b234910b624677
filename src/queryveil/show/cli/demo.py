"""`queryveil demo`: generate a small realistic log, inspect, publish, verify, attack, evaluate, in seconds."""

from __future__ import annotations

import contextlib
import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

import queryveil as qv
from queryveil.files import interruptions, output
from queryveil.show.cli import console, inspect, options, publish

_TOP = 10
_EPSILON = 1.0
_SHOWN = 5
_OPENING = (
    "A search log lists what people typed into a search box. It is useful, but it gives away the people in it. This "
    "demo publishes the useful part. Nobody in it is real."
)
_KNOWN = 3
"""Queries that the demo's attacker knows of a person."""
_MEASURES = (f"coverage@{_TOP}", "released-share")


def add_to(app: typer.Typer) -> None:
    app.command("demo")(demo)


def demo(
    out: Annotated[Path, typer.Option(help="Folder for everything; it must not exist.")] = Path("demo"),
    users: Annotated[int, typer.Option(help="Users in the generated log.")] = 65_000,
    as_json: options.Json = False,
) -> None:
    """Generate a log, look at its risk, publish its queries privately, verify, attack and evaluate the release."""
    settings = qv.SETTINGS["medium"] if users == 65_000 else qv.LogSettings(users=users)
    with _make_folder(out):
        _run_demo(out, settings, as_json)


@contextlib.contextmanager
def _make_folder(out: Path) -> Iterator[None]:
    """A new folder, gone again if the demo fails."""
    output.new_folder(out)
    made = False
    try:
        with output.disk_errors(out), interruptions.hold_signals():
            out.mkdir(parents=True)
            made = True
        yield
    except BaseException as error:
        with interruptions.hold_signals():
            if made:
                shutil.rmtree(out, ignore_errors=True)
        if isinstance(error, qv.CannotBeMet):
            raise qv.CannotBeMet(error.template[0], "pass more --users") from None
        raise


def _run_demo(out: Path, settings: qv.LogSettings, as_json: bool) -> None:
    say = _print_nothing if as_json else _print_step
    say("A search log, published without exposing anybody", _OPENING)
    with console.progress("generating") as progress:
        made = qv.generate(out / "log.tsv.gz", settings, progress=progress)
    planted = sum(made.secrets.values())
    say(
        "1. A log",
        f"We make one up: {made.rows:,} searches and clicks of {made.users:,} people, with a number in place of each "
        f"name. {planted:,} of the searches are secrets, such as a card number, each typed by one person.",
    )
    log = qv.read(made.path)
    found, proposal = qv.inspect(log), qv.propose(log)
    say("2. How exposed these people are", _exposure_text(found))
    stages: list[tuple[str, str]] = []
    method = qv.Steered(epsilon=_EPSILON, delta=proposal.delta)
    release = qv.publish(
        log,
        method,
        out=out / "release",
        told=lambda name, sentence: stages.append((name, sentence)),
    )
    # What the papers would have published, with the same epsilon, delta and neighbours; it is not kept.
    paper = qv.Zealous(epsilon=_EPSILON, delta=proposal.delta, max_items=1, neighbours="add-remove")
    before = qv.publish(log, paper, items="queries", allow_empty=True)
    top = release.tables["items"].slice(0, _TOP).to_pylist()
    say("3. What is published instead", _release_text(release, before))
    if not as_json:
        shown = [(f"    {row['query']}", f"about {row['count']:,} people") for row in top[:_SHOWN]]
        console.table(shown, right=(1,))
    checked = qv.verify(out / "release")
    secrets = _published_secrets(made.secrets_file, release)
    linkage = qv.LinkageAttack(known=(_KNOWN,), trials=500)
    attack = linkage.run(log, [release])
    say("4. Who can be found in it", _attack_text(attack, secrets, planted))
    say("5. What is promised", release.guarantee.plain_words())
    # Kept, and only then reported: the curator's page shows what was just seen.
    qv.keep_attack(release, linkage, attack)
    private = qv.write_curator_report(out / "release", log, metrics=("coverage", "released-share"))
    worth = qv.evaluate(log, release, _MEASURES)
    say("6. What it is still good for", _utility_text(worth))
    say(
        "Look at it",
        f"Open {out}/release/report.html to see what everybody may see. {private} is for you alone.",
    )
    if not as_json:
        _demo_figures(found, proposal, made.path, stages, release, checked)
        _try_it(out)
        return
    console.as_json(
        {
            "log": str(made.path),
            "inspect": found.as_dict(),
            "release": str(release.path),
            "guarantee": release.guarantee.as_dict(),
            "released": release.released,
            "released_by_zealous": before.released,
            "top": top,
            "verified": checked.passes,
            "curator_report": str(private),
            "secrets_published": secrets,
            "attack": attack.as_dict(),
            "evaluate": worth.measures,
        }
    )


def _print_step(title: str, text: str) -> None:
    console.line()
    console.title(title)
    console.paragraph(text)


def _print_nothing(_: str, __: str) -> None:
    """What is said under `--json`."""


def _exposure_text(found: qv.Inspection) -> str:
    share = found.uniqueness[str(_KNOWN)]
    return (
        f"The numbers do not hide anybody. Someone who knows {_KNOWN} things that a person searched for can pick out "
        f"that person in {100 * share:.0f} of 100 cases, and then read everything else that the person searched for."
    )


def _release_text(release: qv.Release, before: qv.Release) -> str:
    least = release.plan.calibration["users_for_half"]
    many, few = release.released["items"], before.released["items"]
    return (
        f"We publish only searches that many people have in common, at least about {least:,}, and change every count "
        f"at random. {many:,} searches are left. (ZEALOUS, a well-known method from 2012, keeps {few:,} with the "
        "same protection.) The most frequent ones:"
    )


def _attack_text(attack: qv.AttackResult, secrets: int, planted: int) -> str:
    _, release = attack.figures["results"]
    none = "None of the" if secrets == 0 else f"{secrets:,} of the"
    return (
        f"{none} {planted:,} secrets {('is' if secrets < 2 else 'are')} in the release. Someone who knows {_KNOWN} "
        f"things that a person searched for now finds that person in {100 * release['success']:.0f} of 100 cases, "
        f"because {release['why']}."
    )


def _utility_text(worth: qv.Evaluation) -> str:
    share = worth.figures[f"coverage@{_TOP}"].value or 0
    return f"{share * _TOP:.0f} of the log's {_TOP} most frequent searches are in the release."


def _demo_figures(
    found: qv.Inspection,
    proposal: qv.Proposal,
    log: Path,
    stages: list[tuple[str, str]],
    release: qv.Release,
    checked: qv.Verification,
) -> None:
    """The same in figures, as the commands say it."""
    console.line()
    console.title("The same in figures, as the commands print it")
    console.line(f"queryveil inspect {log}")
    inspect.show(found, proposal, str(log))
    console.line()
    console.line("queryveil publish steered")
    for name, sentence in stages:
        console.labelled(name, sentence)
    publish.show(release)
    console.line()
    passed = sum(check.passes for check in checked.checks)
    console.line(f"queryveil release verify {release.path}")
    console.labelled("ok" if checked.passes else "FAILED", f"{passed} of {len(checked.checks)} checks passed")


def _try_it(out: Path) -> None:
    """The one command that opens the workbench on this log, as this one was called."""
    called = Path(sys.argv[0])
    program = str(called) if called.parent != Path() and not called.is_absolute() else "queryveil"
    _print_step(
        "Try it yourself", "This opens the workbench in your browser, on the log that was made up here:"
    )
    console.typed(
        "", shlex.join([program, "serve", "--folder", str(out), "--releases", str(out / "releases")])
    )


def _published_secrets(listing: Path, release: qv.Release) -> int:
    secret = {
        qv.normalise(line.split("\t")[2]) for line in listing.read_text(encoding="utf-8").splitlines()[1:]
    }
    return len(secret & set(release.tables["items"]["query"].to_pylist()))
