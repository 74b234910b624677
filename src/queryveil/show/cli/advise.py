"""`queryveil advise LOG --purpose NAME`: which method and parameters fit a purpose."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

import queryveil as qv
from queryveil.files import output
from queryveil.show.cli import console, options

PurposeName = Annotated[
    str,
    typer.Option(
        "--purpose",
        metavar="NAME",
        autocompletion=options.completed(qv.PURPOSES),
        help="What the release is for: " + ", ".join(qv.PURPOSES),
    ),
]
Out = Annotated[
    Path | None,
    typer.Option("--out", help="Folder for the curves and the table; it must not exist.", show_default=False),
]

_OWN: tuple[tuple[str, Any, Any], ...] = (
    ("log", options.Logs, options.NOTHING),
    ("purpose", PurposeName, options.NOTHING),
    ("out", Out, None),
    ("as_json", options.Json, False),
)


def add_to(app: typer.Typer) -> None:
    made = options.own_parameters(_OWN) + options.declared([qv.Wanted], required=False)
    app.command("advise")(options.with_signature(advise, made + options.reading_parameters()))


def advise(**given: Any) -> None:
    """Recommend a method and parameters for a purpose, from a pilot on some of a log's users."""
    name, others = options.called(given["log"])
    reading = (*others, *options.reading_words(given))
    how = options.reading(given)
    asked = options.taken(qv.Wanted, given)
    purpose = qv.find_purpose(given["purpose"])
    qv.advice_request(purpose, **asked)  # what can be refused is refused before a long log is read
    if given["out"] is not None:
        output.new_folder(given["out"])
    with console.progress("reading") as progress:
        log = qv.read(given["log"], progress=progress, **how)
    with console.progress("trying settings") as progress:
        found = qv.advise(log, purpose, progress=progress, **asked)
    found = replace(found, log=name, reading=reading)
    if given["out"] is not None:
        found.save(given["out"])
    if given["as_json"]:
        console.as_json(found.as_dict())
    else:
        show(found, given["out"])


def show(found: qv.Advice, out: Path | None) -> None:
    console.line(f"{found.purpose.name}: {found.purpose.question}")
    console.line()
    names = list(found.purpose.figures)
    varied = "setting" if found.options[0].label else found.options[0].varied
    rows = [("method", varied.replace("_", "-"), *names, "")]
    rows += [
        (
            option.method,
            option.label or str(option.varied_value),
            *(_format_number(option.figures.get(name)) for name in names),
            "<- recommended" if option is found.best else f"({option.weaker})" if option.weaker else "",
        )
        for option in found.options
    ]
    console.table(rows, right=tuple(range(1, 2 + len(names))))
    console.line()
    for name, meaning in found.purpose.figures.items():
        console.labelled(name, meaning)
    console.line()
    best = found.best
    console.labelled("Advice", found.verdict)
    if best is not None:
        console.typed("", best.command(found.log, found.reading))
    console.labelled("Rule", f"Without looking at a log: {found.purpose.rule}.")
    for remark in found.remarks:
        console.labelled("Note", remark)
    console.labelled("Cost", found.cost)
    if out is not None:
        console.labelled("wrote", f"{out}: curves as SVG, table.csv, advice.json; for you alone")


def _format_number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 10 else f"{value:.4g}"
