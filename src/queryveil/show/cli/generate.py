"""`queryveil generate OUT`: a synthetic log of any size."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

import queryveil as qv
from queryveil.errors import instead
from queryveil.files import output
from queryveil.show.cli import console, options


def add_to(app: typer.Typer) -> None:
    app.command("generate")(generate)


def generate(
    out: Annotated[
        Path,
        typer.Argument(
            metavar="OUT", help="File to write: .parquet, .tsv (AOL), .csv or .jsonl, also .gz and .zst."
        ),
    ],
    setting: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            autocompletion=options.completed(qv.SETTINGS),
            help="A fixed setting: small, medium or large; small@1 is what small was in version 1, and so on.",
        ),
    ] = None,
    like: Annotated[
        str | None,
        typer.Option(
            metavar="LOG|RELEASE",
            help="Make it like this log (which is not private), or like this release folder (which costs nothing).",
        ),
    ] = None,
    users: Annotated[int | None, typer.Option(help="Number of users.")] = None,
    rows: Annotated[int | None, typer.Option(help="Number of rows.")] = None,
    seed: Annotated[int | None, typer.Option(help="The same seed gives the same log.")] = None,
    days: Annotated[int | None, typer.Option(help="Length of the log in days.")] = None,
    zipf: Annotated[
        float | None,
        typer.Option(help="Exponent of popularity: the larger, the more a few queries dominate."),
    ] = None,
    one_off: Annotated[
        float | None, typer.Option(help="Share of new queries that only one user makes.")
    ] = None,
    drift: Annotated[float | None, typer.Option(help="How much popularity drifts from day to day.")] = None,
    drifted: Annotated[
        int | None, typer.Option(help="Days of drift before the first day of the log.")
    ] = None,
    secrets: Annotated[
        int | None, typer.Option(help="Number of planted secrets, each typed by one user.")
    ] = None,
    version: Annotated[
        int | None, typer.Option(help="How logs are made: 2 for logs like real ones, 1 for the earlier way.")
    ] = None,
    format: Annotated[
        str | None, typer.Option(help="aol, csv, jsonl or parquet, if the name does not say.")
    ] = None,
    results_out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the public result lists to this file.")
    ] = None,
    columns: options.Columns = None,
    time_format: Annotated[str | None, options.reading_option("time_format")] = None,
    header: Annotated[bool | None, options.reading_option("header")] = None,
    delimiter: Annotated[str | None, options.reading_option("delimiter")] = None,
    as_json: options.Json = False,
) -> None:
    """Write a synthetic log that looks like a real one, and a file that says where its secrets are."""
    from queryveil.synthetic.generator import write_results

    if setting is not None and setting not in qv.SETTINGS:
        raise qv.UsageError(f"there is no setting '{setting}'", instead(setting, qv.SETTINGS))
    if sum(given is not None for given in (setting, like, version)) > 1:
        raise qv.UsageError(
            "--setting, --like and --version all say what the log is like", "pass one of them"
        )
    changes: dict[str, Any] = {
        name: value
        for name, value in (
            ("users", users),
            ("rows", rows),
            ("seed", seed),
            ("days", days),
            ("zipf", zipf),
            ("one_off", one_off),
            ("drift", drift),
            ("drifted", drifted),
            ("version", version),
            ("secrets", secrets),
        )
        if value is not None
    }
    found = None
    if like is not None:
        output.new_file(out)  # fitting takes a while, and would be in vain
        reading = {"columns": columns, "time_format": time_format, "header": header, "delimiter": delimiter}
        found = _fit_settings(like, reading, changes)
        settings = found.settings
    elif setting:
        settings = dataclasses.replace(qv.SETTINGS[setting], **changes)
    else:
        settings = qv.LogSettings(**changes)
    with contextlib.ExitStack() as undo:
        if results_out is not None:
            write_results(results_out, settings)
            # The lists without their log would be half of what was asked for.
            undo.callback(results_out.unlink, missing_ok=True)
        with console.progress("generating") as progress:
            about = found.as_dict() if found else None
            made = qv.generate(out, settings, format=format, about=about, progress=progress)
        undo.pop_all()
    if as_json:
        console.as_json(
            {
                "log": str(made.path),
                "rows": made.rows,
                "users": made.users,
                "queries": made.queries,
                "clicks": made.clicks,
                "secrets": dict(made.secrets),
                "secrets_file": str(made.secrets_file),
                **({"like": about, "like_file": str(made.about_file)} if about else {}),
            }
        )
        return
    if found is not None:
        _print_settings(found)
    console.labelled(
        "wrote", f"{made.path}: {made.rows:,} rows, {made.users:,} users, {made.clicks:,} clicks"
    )
    console.labelled("secrets", f"{sum(made.secrets.values()):,} planted, listed in {made.secrets_file}")
    if found is not None:
        console.labelled(
            "PRIVATE" if found.is_private else "CAREFUL", f"{found.note} ({made.about_file} says so)"
        )
    console.labelled("Next", f"queryveil inspect {made.path}")


def _fit_settings(source: str, reading: dict[str, Any], changes: dict[str, Any]) -> qv.FittedProfile:
    """Settings like a release folder or a log; `reading` says how the log is read."""
    if (Path(source) / "manifest.json").is_file():
        return qv.fit_generator(source, **changes)
    reading["columns"] = options.column_map(reading["columns"]) if reading["columns"] else None
    with console.progress("reading") as progress:
        log = qv.read(source, progress=progress, **reading)
    return qv.fit_generator(log, **changes)


_SHOWN = (
    "top 1",
    "top 10",
    "top 100",
    "distinct",
    "repeats",
    "clicks",
    "first rank",
    "session_one",
    "zipf",
    "head",
)
"""Figures that are shown; the file has all of them."""


def _print_settings(found: qv.FittedProfile) -> None:
    """What was asked for, and what a log of these settings has."""
    for name in _SHOWN:
        if name in found.wanted and name in found.made:
            wanted, made = found.wanted[name], found.made[name]
            console.labelled("like", f"{name.replace('_', ' ')}: {wanted:.3g} there, {made:.3g} here")
