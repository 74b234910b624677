"""`queryveil release verify DIR`: check a release on its own; `sign` it; `export`: its tables for a spreadsheet."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import queryveil as qv
from queryveil.files import output
from queryveil.show.cli import console, options, releases
from queryveil.show.cli.help import App, former


def add_to(app: typer.Typer) -> None:
    commands = App(help="Check and sign releases.", no_args_is_help=True)

    @commands.callback()
    def group() -> None:
        """Check and sign releases."""

    commands.command("verify")(verify)
    commands.command("sign")(sign)
    commands.command("export")(former({"--csv": "--out"})(export))
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
        _show(found)
    failed = [check.name for check in found.failed]
    if failed:
        raise qv.CheckFailed(
            f"the release fails {len(failed)} of {len(found.checks)} checks: {', '.join(failed)}",
            "do not rely on it; ask its publisher",
        )


def _show(found: qv.Verification) -> None:
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


def export(
    release: Annotated[Path, typer.Argument(metavar="DIR", help="A release folder.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="New folder for one CSV file per table.")],
    as_json: options.Json = False,
) -> None:
    """Write the tables of a release as CSV that a spreadsheet opens without running any of it."""
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
