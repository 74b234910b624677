"""`queryveil evaluate LOG RELEASE...`: what releases are still good for."""

from __future__ import annotations

import inspect
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

import queryveil as qv
from queryveil.errors import render
from queryveil.parameters import parameters
from queryveil.show.cli import console, options, releases

Releases = Annotated[
    list[Path],
    typer.Argument(metavar="RELEASE...", help="Release folders made from the log.", show_default=False),
]
Metrics = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        metavar="MEASURE",
        autocompletion=options.completed(qv.MEASURES),
        help="A measure, like coverage@100; repeatable. All that apply if left out.",
    ),
]
Seeds = Annotated[
    str | None,
    typer.Option(
        "--seeds", metavar="DOMAINS", help="Domains of a concept, with commas, or a file of domains."
    ),
]
Pattern = Annotated[str | None, typer.Option("--pattern", help="A pattern with one *, like 'fear of *'.")]
Top = Annotated[
    int | None,
    typer.Option(
        "--top", min=1, help="The number after @ for measures named without one.", show_default=False
    ),
]


def _list_measures(wanted: bool) -> None:
    if not wanted:
        return
    if "--json" in sys.argv:
        console.as_json({name: _describe_measures(cls) for name, cls in qv.MEASURES.items()})
    else:
        for name, cls in qv.MEASURES.items():
            about = _describe_measures(cls)
            console.line(f"{name}{'@' + ',@'.join(about['defaults']) if about['defaults'] else ''}")
            needs = f"; needs --{about['needs']}" if about["needs"] else ""
            console.labelled("", f"{about['help']} ({_in_units(about)}){needs}")
            for flag, help_text in about["options"].items():
                console.labelled("", f"{flag}: {help_text}")
            for part, stated in about["parts"].items():
                console.labelled("", f"/{part}: {stated['help']} ({_in_units(stated)})")
    raise typer.Exit


def _in_units(stated: dict[str, Any]) -> str:
    """The unit of a figure, and which way is better where one is."""
    return stated["unit"] if stated["direction"] == "neither" else f"{stated['unit']}, {stated['direction']}"


Listing = Annotated[
    bool,
    typer.Option(
        "--list", callback=_list_measures, is_eager=True, help="Print the measures and what they say."
    ),
]

_OWN: tuple[tuple[str, Any, Any], ...] = (
    ("log", options.Log, inspect.Parameter.empty),
    ("releases", Releases, inspect.Parameter.empty),
    ("metrics", Metrics, None),
    ("seeds", Seeds, None),
    ("pattern", Pattern, None),
    ("top", Top, None),
    ("private", releases.Private, None),
    ("listing", Listing, False),
    ("as_json", options.Json, False),
)


def add_to(app: typer.Typer) -> None:
    declared = options.declared(qv.MEASURES.values(), required=False)
    made = options.own_parameters(_OWN) + declared + options.reading_parameters()
    app.command("evaluate")(options.with_signature(evaluate, made))


def evaluate(**given: Any) -> None:
    """Compare releases with the log that they were made from. The figures are for the curator."""
    how = options.reading(given)
    # What can be refused is refused before a long log is read.
    declared = {one.name for cls in qv.MEASURES.values() for one in parameters(cls)}
    chosen = {name: given[name] for name in ("seeds", "pattern", "top", *declared)}
    metrics = given["metrics"] or None
    qv.measures(metrics, **chosen)
    named = [
        releases.load(path, private) for path, private in releases.paired(given["releases"], given["private"])
    ]
    with console.progress("reading") as progress:
        log = qv.read(given["log"], progress=progress, **how)
    with console.waiting("evaluating"):
        found = qv.evaluate(log, named, metrics, **chosen)
    if given["as_json"]:
        documents = [one.as_dict() for one in found]
        console.as_json(documents[0] if len(documents) == 1 else documents)
    else:
        show(found)


def show(found: list[qv.Evaluation]) -> None:
    names = list(dict.fromkeys(name for one in found for name in one.figures))
    # What only some releases have stands beside the same measure of the others.
    families = list(dict.fromkeys(name.partition("/")[0] for name in names))
    names.sort(key=lambda name: families.index(name.partition("/")[0]))
    stated = {name: figure for one in reversed(found) for name, figure in one.figures.items()}
    rows = [("measure", *(one.release for one in found), "unit", "")]
    rows += [
        (
            name,
            *(_format_figure(one.figures.get(name)) for one in found),
            stated[name].unit,
            "" if stated[name].direction == "neither" else stated[name].direction,
        )
        for name in names
    ]
    console.table(rows, right=tuple(range(1, 1 + len(found))))
    console.line()
    kinds = {one.items for one in found if one.items}
    if len(kinds) == 1:
        console.labelled("items", f"{kinds.pop()}, unless the name of a measure says otherwise")
    for name, reason in {name: reason for one in found for name, reason in one.left_out.items()}.items():
        console.labelled("left out", f"{name}: {render(reason, console.as_option)}")
    notes = dict.fromkeys((name, note) for one in found for name, note in one.notes.items())
    named = list(dict.fromkeys(name for name, _ in notes))
    for name, note in sorted(notes, key=lambda pair: named.index(pair[0])):
        console.labelled("note", f"{name}: {note}")
    for one in found:
        for warning in one.warnings:
            console.labelled("warning", f"{one.release}: {warning}")
    console.labelled(
        "For you",
        "These figures come from the raw log and are not protected: they are for the curator, and not part of any "
        "release. queryveil evaluate --list says what each one means.",
    )


def _format_figure(figure: qv.Figure | None) -> str:
    if figure is None:
        return ""
    if figure.value is None:
        return "none"
    whole = figure.unit in {"items", "keywords", "matches", "queries", "users"}
    if whole or (figure.unit == "counts" and float(figure.value).is_integer()):
        return f"{figure.value:,.0f}"
    # A mean difference of shares can be far below what four places show.
    return f"{figure.value:.2e}" if 0 < abs(figure.value) < 5e-4 else f"{figure.value:,.4f}"


def _describe_measures(cls: type[qv.Measure]) -> dict[str, Any]:
    return {
        "help": cls.help,
        "unit": cls.unit,
        "direction": cls.direction,
        "defaults": [f"{one:g}" for one in cls.defaults],
        "needs": cls.option,
        "table": cls.table,
        "options": {one.flag: one.help for one in parameters(cls)},
        "parts": {
            name: {"help": one.help, "unit": one.unit, "direction": one.direction}
            for name, one in cls.parts.items()
        },
    }
