"""`queryveil convert LOG OUT`: a log in another format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import queryveil as qv
from queryveil.files import output
from queryveil.show.cli import console, options

_TARGETS = ("parquet", "aol", "ubi", "tsv")
Out = Annotated[
    Path,
    typer.Argument(
        metavar="OUT",
        help="file to write: .parquet, .txt (aol), .tsv, .ndjson (ubi); text also .gz and .zst",
        show_default=False,
    ),
]
To = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="|".join(_TARGETS),
        autocompletion=options.completed(_TARGETS),
        help="format to write, if the name does not say",
        show_default=False,
    ),
]

_OWN: tuple[tuple[str, Any, Any], ...] = (
    ("log", options.Logs, options.NOTHING),
    ("out", Out, options.NOTHING),
    ("to", To, None),
    ("as_json", options.Json, False),
)


def add_to(app: typer.Typer) -> None:
    made = options.own_parameters(_OWN) + options.reading_parameters()
    app.command("convert")(options.with_signature(convert, made))


def convert(**given: Any) -> None:
    """Write a log in another format: Parquet, AOL, OpenSearch UBI or TSV. It stays as personal as it is."""
    how = options.reading(given)
    output.new_file(given["out"], "OUT")  # refused before a long log is read
    qv.conversion_target(given["out"], given["to"])
    with console.progress("reading") as progress:
        log = qv.read(given["log"], progress=progress, **how)
    with console.waiting("writing"):
        made = qv.convert(log, given["out"], given["to"])
    rejected = log.staged.rejected if log.staged is not None else 0
    if given["as_json"]:
        console.as_json(made.as_dict() | {"rejected": rejected})
        return
    console.labelled("wrote", f"{made.path}: {made.rows:,} rows ({made.format}), {rejected:,} rejected")
    for note in made.notes:
        console.labelled("note", note)
    console.labelled("", "it holds the searches as they are: for you alone, like the log")
    console.labelled("Next", f"queryveil inspect {made.path}")
