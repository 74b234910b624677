"""`queryveil synthesize RELEASE --out FILE`: a synthetic log from a private click graph."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

import queryveil as qv
from queryveil.show.cli import console, options, releases


def add_to(app: typer.Typer) -> None:
    app.command("synthesize")(synthesize)


def synthesize(
    release: Annotated[Path, typer.Argument(metavar="RELEASE", help="A release folder of a click graph.")],
    out: Annotated[
        Path, typer.Option(help="File to write: .parquet, .tsv or .txt (AOL), text also .gz and .zst.")
    ],
    rows: Annotated[
        int | None, typer.Option(help="Number of rows; if left out, what the released counts add up to.")
    ] = None,
    users: Annotated[int | None, typer.Option(help="Number of users; if left out, one per 31 rows.")] = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same rows.")] = 0,
    days: Annotated[int, typer.Option(help="Length of the log in days.")] = 30,
    format: Annotated[str | None, typer.Option(help="aol or parquet, if the name does not say.")] = None,
    as_json: options.Json = False,
) -> None:
    """Draw a made-up search log from a released click graph, in the shape of a real log."""
    loaded = releases.load(release)
    with console.progress("drawing") as progress:
        made = qv.synthesize(
            loaded, out, rows=rows, users=users, seed=seed, days=days, format=format, progress=progress
        )
    if as_json:
        console.as_json(
            {
                "log": str(made.path),
                "synthetic": True,
                "rows": made.rows,
                "users": made.users,
                "sessions": made.sessions,
                "queries": made.queries,
                "clicks": made.clicks,
                "seed": made.seed,
                "guarantee": loaded.guarantee.as_dict(),
            }
        )
        return
    console.labelled(
        "wrote",
        f"{made.path}: {made.rows:,} rows, {made.users:,} users, {made.sessions:,} sessions, "
        f"{made.clicks:,} clicks",
    )
    inside = "; column 'source' and the file's metadata say it too" if made.format == "parquet" else ""
    console.labelled("marked", f"every user id starts with 'synthetic-'{inside}")
    free = "; drawing from it costs nothing" if loaded.guarantee.private else ""
    console.labelled("Guarantee", f"the same as the release: {loaded.guarantee.headline}{free}")
    console.labelled("Next", f"queryveil inspect {made.path}")
