"""`queryveil release verify DIR`: check a release on its own; `sign` it; `diff` two; `export` its tables."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import queryveil as qv
from queryveil.files import output
from queryveil.show.cli import console, options, releases
from queryveil.show.cli.help import App


def add_to(app: typer.Typer) -> None:
    commands = App(help="Check, sign and compare releases.", no_args_is_help=True)

    @commands.callback()
    def group() -> None:
        """Check, sign and compare releases."""

    commands.command("verify")(verify)
    commands.command("sign")(sign)
    commands.command("diff")(diff)
    commands.command("review")(review)
    commands.command("withhold")(withhold)
    commands.command("export")(export)
    app.add_typer(commands, name="release")


def verify(
    release: Annotated[Path, typer.Argument(metavar="DIR", help="A release folder.")],
    key: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The publisher's public key: the release must be signed by it."),
    ] = None,
    taxonomy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The taxonomy it was made with, if not WordNet.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Re-read a release: digests, thresholds, nothing unnamed inside, and the guarantee recomputed."""
    found = qv.verify(release, key=key, taxonomy=taxonomy)
    if as_json:
        console.as_json(found.as_dict())
    else:
        _print_verification(found)
    failed = [check.name for check in found.failed]
    if failed:
        raise qv.CheckFailed(
            f"the release fails {len(failed)} of {len(found.checks)} checks: {', '.join(failed)}",
            "do not rely on it; ask its publisher",
        )


def _print_verification(found: qv.Verification) -> None:
    """Every check, the verdict, and what no check can see."""
    for check in found.checks:
        console.labelled("ok" if check.passes else "FAILED", f"{check.name}: {check.detail}")
    console.line()
    many = len(found.checks)
    if found.passes:
        console.labelled(
            "ok",
            f"Verdict: all {many} checks passed. Everything that can be checked from the release alone is right.",
        )
    else:
        console.labelled(
            "FAILED",
            f"Verdict: {len(found.failed)} of {many} checks failed. The release is not what it says it is.",
        )
    if found.not_checked:
        console.line()
        console.line("  What cannot be checked from a release, whatever the verdict:")
    for what in found.not_checked:
        console.labelled("unchecked", what)


def sign(
    release: Annotated[Path, typer.Argument(metavar="DIR", help="A release folder.")],
    key: Annotated[
        Path, typer.Option(metavar="FILE", help="Your private key, as ssh-keygen -t ed25519 makes it.")
    ],
    replace: Annotated[bool, typer.Option("--replace", help="Replace another signature.")] = False,
    as_json: options.Json = False,
) -> None:
    """Sign a release that passes its checks, so that readers can tell it from a relabelled one."""
    made = qv.sign(release, key, replace=replace)
    file = release / "manifest.json.sig"
    if as_json:
        console.as_json({"release": str(release), "signature": str(file), "key": made.fingerprint})
        return
    console.labelled("signed", f"{file} by {made.fingerprint}")
    console.labelled("", "give readers your public key separately, not with the release")
    console.labelled("Next", f"queryveil release verify {release} --key {key}.pub")


def diff(
    first: Annotated[Path, typer.Argument(metavar="A", help="A release folder.")],
    second: Annotated[Path, typer.Argument(metavar="B", help="Another release folder.")],
    false_alarm: Annotated[
        float,
        typer.Option(
            metavar="RATE",
            help="How often noise alone may make a row look changed (default: 0.0001)",
            show_default=False,
        ),
    ] = 1e-4,
    most: Annotated[
        int,
        typer.Option(metavar="N", min=1, help="Rows to show of each list (default: 10)", show_default=False),
    ] = 10,
    as_json: options.Json = False,
) -> None:
    """What two releases disclose together, and what changed from A to B by more than noise."""
    found = qv.diff(releases.load(first), releases.load(second), false_alarm=false_alarm)
    if as_json:
        console.as_json({"first": str(first), "second": str(second), **found.as_dict()})
        return
    if found.together is None:
        console.labelled("together", f"no guarantee covers both: {found.reason}")
    else:
        console.labelled(
            "together",
            f"{found.together.headline}, if both are about the same people, and nobody read one before choosing the "
            "parameters of the other",
        )
        said = found.together.plain_words().replace("This release does", "They do")
        console.labelled("", said.replace("this release", "both releases"))
    for name in found.others:
        console.labelled("table", f"{name}: only in one of them, or with other columns")
    for table in found.tables:
        _show_changes(table, found.false_alarm, most)


def _show_changes(table: Any, rate: float, most: int) -> None:
    console.line()
    rows = "1 row" if table.both == 1 else f"{table.both:,} rows"
    alone = f"{len(table.only_first):,} only in A, {len(table.only_second):,} only in B"
    console.labelled("table", f"{table.name}: {rows} in both, {alone}")
    if table.not_compared:
        console.labelled("", f"counts are not compared: {table.not_compared}")
        return
    many = "1 row differs" if len(table.changed) == 1 else f"{len(table.changed):,} rows differ"
    console.labelled(
        "changed",
        f"{many} by more than noise. A row whose true count is the same in both is named with a probability of at most "
        f"{rate:g}. Which items of a user count may be chosen anew in each release; that is not noise.",
    )
    if table.changed:
        shown = [("item", "A", "B", "noise explains")]
        for one in table.changed[:most]:
            before, after = ("-" if value is None else f"{value:,}" for value in (one.first, one.second))
            shown.append((console.printable(one.item), before, after, f"{one.explained:,}"))
        console.table(shown, right=(1, 2, 3))
    if len(table.changed) > most:
        console.labelled("", f"and {len(table.changed) - most:,} more; --most shows more, --json all")


def review(
    release: Annotated[Path, typer.Argument(metavar="DIR", help="A release folder.")],
    done: Annotated[
        bool, typer.Option("--done", help="Note in the private folder that somebody has read the list.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """List published texts that name people, places or sensitive things: to be read by a person."""
    loaded = releases.load(release)
    found = qv.review(loaded)
    if done:
        qv.note_read_through(loaded, len(found))
    if as_json:
        listed = [{"text": one.text, "kinds": list(one.kinds), "count": one.count} for one in found]
        console.as_json({"release": str(release), "done": done, "to_read": listed})
        return
    rows = [("text", "why", "count")]
    for one in found:
        rows.append(
            (console.printable(one.text), ", ".join(one.kinds), f"{one.count:,}" if one.count else "")
        )
    console.table(rows, right=(2,))
    console.line()
    many = "1 text" if len(found) == 1 else f"{len(found):,} texts"
    console.labelled(
        "To read", f"{many}, found by lists of names and words, which miss some and mark some wrongly"
    )
    console.labelled("Next", f"queryveil release withhold {release} --items FILE --out NEW")
    if not done:
        console.labelled("", f"queryveil release review {release} --done")


def withhold(
    release: Annotated[Path, typer.Argument(metavar="DIR", help="A release folder.")],
    items: Annotated[Path, typer.Option("--items", metavar="FILE", help="Texts to withhold, one per line.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="New release folder without them.")],
    as_json: options.Json = False,
) -> None:
    """Write a release without some rows. Only rows go; the promise stays, if they were chosen without the log."""
    output.new_release(out)
    made = qv.withhold(releases.load(release), qv.texts_to_withhold(items), out)
    if as_json:
        console.as_json({"release": str(out), "withheld": dict(made.withheld), "released": made.released})
        return
    said = ", ".join(f"{number:,} rows of {name}" for name, number in made.withheld.items())
    console.labelled("withheld", said.replace("1 rows", "1 row"))
    console.labelled("write", f"{out}/")
    console.labelled(
        "", "the promise is the same if the texts were chosen from the release and not from the log"
    )
    console.labelled("Next", f"queryveil release verify {out}; do not publish {release}")


def export(
    release: Annotated[Path, typer.Argument(metavar="DIR", help="A release folder.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="New folder for one CSV file per table.")],
    as_json: options.Json = False,
) -> None:
    """Write the tables of a release as CSV files that are safe to open in a spreadsheet."""
    output.new_folder(out)
    files = [str(file) for file in qv.export_csv(releases.load(release), out)]
    if as_json:
        console.as_json({"release": str(release), "files": files})
        return
    for file in files:
        console.labelled("csv", file)
    console.labelled(
        "", "a text that begins like a formula has an apostrophe in front; the Parquet file is exact"
    )
