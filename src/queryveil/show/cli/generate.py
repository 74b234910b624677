"""`queryveil generate OUT`: a synthetic log of any size."""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

import queryveil as qv
from queryveil.errors import instead
from queryveil.show.cli import console, options
from queryveil.show.cli.help import former


def add_to(app: typer.Typer) -> None:
    app.command("generate")(former({"--results": "--results-out"})(generate))


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
            help="A fixed setting: " + ", ".join(qv.SETTINGS),
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
    format: Annotated[
        str | None, typer.Option(help="aol, csv, jsonl or parquet, if the name does not say.")
    ] = None,
    results_out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write the public result lists to this file.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Write a synthetic log that looks like a real one, and a file that says where its secrets are."""
    from queryveil.synthetic.generator import write_results

    if setting is not None and setting not in qv.SETTINGS:
        raise qv.UsageError(f"there is no setting '{setting}'", instead(setting, qv.SETTINGS))
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
            ("secrets", secrets),
        )
        if value is not None
    }
    settings = dataclasses.replace(qv.SETTINGS[setting], **changes) if setting else qv.LogSettings(**changes)
    with contextlib.ExitStack() as undo:
        if results_out is not None:
            write_results(results_out, settings)
            # The lists without their log would be half of what was asked for.
            undo.callback(results_out.unlink, missing_ok=True)
        with console.progress("generating") as progress:
            made = qv.generate(out, settings, format=format, progress=progress)
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
            }
        )
        return
    console.labelled(
        "wrote", f"{made.path}: {made.rows:,} rows, {made.users:,} users, {made.clicks:,} clicks"
    )
    console.labelled("secrets", f"{sum(made.secrets.values()):,} planted, listed in {made.secrets_file}")
    console.labelled("Next", f"queryveil inspect {made.path}")
