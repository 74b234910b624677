"""`queryveil demo`: generate a small realistic log, inspect, publish, verify, attack, evaluate, in seconds."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

import queryveil as qv
from queryveil.files import interruptions, output
from queryveil.show.cli import console, inspect, options, publish

_TOP = 10
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
    with _made(out):
        _show(out, settings, as_json)


@contextlib.contextmanager
def _made(out: Path) -> Iterator[None]:
    """A new folder, gone again if the demo fails."""
    output.new_folder(out)
    made = False
    try:
        with output.disk_errors(out), interruptions.held():
            out.mkdir(parents=True)
            made = True
        yield
    except BaseException as error:
        with interruptions.held():
            if made:
                shutil.rmtree(out, ignore_errors=True)
        if isinstance(error, qv.CannotBeMet):
            raise qv.CannotBeMet(error.message, "pass more --users") from None
        raise


def _show(out: Path, settings: qv.LogSettings, as_json: bool) -> None:
    say = (lambda text="": None) if as_json else console.line
    say("1. A log that looks like a real one")
    with console.progress("generating") as progress:
        made = qv.generate(out / "log.tsv.gz", settings, progress=progress)
    say(
        f"  {made.path}: {made.rows:,} rows, {made.users:,} users, with {sum(made.secrets.values())} planted secrets"
    )
    say()
    say("2. Its risk   (queryveil inspect)")
    log = qv.read(made.path)
    found, proposal = qv.inspect(log), qv.propose(log)
    if not as_json:
        inspect.show(found, proposal, str(made.path))
    say()
    say("3. A private release   (queryveil publish)")
    method = qv.Zealous(epsilon=2, delta=proposal.delta, max_items=1)
    told = None if as_json else console.labelled
    release = qv.publish(log, method, items="queries", out=out / "release", told=told)
    if not as_json:
        publish.show(release)
    say()
    top = release.tables["items"].slice(0, _TOP).to_pylist()
    say(f"4. The {len(top)} most frequent of {release.released['items']:,} published queries")
    if not as_json:
        console.table(
            [("query", "users, with noise"), *((row["query"], f"{row['count']:,}") for row in top)],
            right=(1,),
        )
    say()
    checked = qv.verify(out / "release")
    passed = sum(check.passed for check in checked.checks)
    say(
        f"5. Verified: {passed} of {len(checked.checks)} checks passed   (queryveil release verify {out}/release)"
    )
    secrets = _published_secrets(made.secrets_file, release)
    say(f"6. Planted secrets in the release: {secrets} of {sum(made.secrets.values())}")
    say()
    say("7. Attacked by someone who knows 3 queries of a person   (queryveil attack linkage)")
    linkage = qv.LinkageAttack(known=(_KNOWN,), trials=500)
    attack = linkage.run(log, [release])
    if not as_json:
        _show_attack(attack)
    # Kept, and only then reported: the curator's page shows what was just seen.
    qv.keep_attack(release, linkage, attack)
    private = qv.write_curator_report(out / "release", log, metrics=("coverage", "released-share"))
    say()
    say("8. What it is still good for   (queryveil evaluate)")
    worth = qv.evaluate(log, release, _MEASURES)
    for name, figure in worth.figures.items():
        value = "none" if figure.value is None else f"{figure.value:.3g}"
        say(f"  {value:>8} {figure.unit:<8} {name}: {figure.help}")
    say()
    say(
        f"  Read {out}/release/report.html and {out}/release/DATASHEET.md; {out}/release.private is for the curator."
    )
    say(f"  The curator's report, with coverage, the log's own counts and the attack: {private}")
    if as_json:
        console.as_json(
            {
                "log": str(made.path),
                "inspect": found.as_dict(),
                "release": str(release.path),
                "guarantee": release.guarantee.as_dict(),
                "released": release.released,
                "top": top,
                "verified": checked.passed,
                "curator_report": str(private),
                "secrets_published": secrets,
                "attack": attack.as_dict(),
                "evaluate": worth.measures,
            }
        )


def _show_attack(attack: qv.AttackResult) -> None:
    log, release = attack.figures["results"]
    console.line(
        f"  in the log       finds {100 * log['success']:.0f} % of users, whatever stands for their names; "
        f"{100 * log['control']:.0f} % wrongly if they are not in it"
    )
    console.line(f"  in the release   finds {100 * release['success']:.0f} %: {release['why']}")


def _published_secrets(listing: Path, release: qv.Release) -> int:
    secret = {
        qv.normalise(line.split("\t")[2]) for line in listing.read_text(encoding="utf-8").splitlines()[1:]
    }
    return len(secret & set(release.tables["items"]["query"].to_pylist()))
