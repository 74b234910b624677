"""`queryveil init LOG`: write a recipe, release.yaml."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import queryveil as qv
from queryveil.files import output
from queryveil.parameters import OUTPUT
from queryveil.show.cli import console, options, publish

Out = Annotated[
    Path,
    typer.Option(
        "--out",
        metavar="FILE",
        rich_help_panel=OUTPUT,
        help="the recipe to write; it must not exist",
    ),
]
Release = Annotated[
    str,
    typer.Option(
        "--release", metavar="DIR", rich_help_panel=OUTPUT, help="release folder that the recipe names"
    ),
]
Samples = Annotated[
    bool,
    typer.Option(
        "--samples",
        rich_help_panel=OUTPUT,
        help="show three values of each column in comments; they are personal data",
    ),
]
_BUDGET = ("users", "ledger", "source")
_OWN: tuple[tuple[str, Any, Any], ...] = (
    ("out", Out, Path("release.yaml")),
    ("release", Release, "release"),
    ("samples", Samples, False),
    ("about", publish.Stated, None),
    ("as_json", options.Json, False),
)


def add_to(app: typer.Typer) -> None:
    made = options.own_parameters([("log", options.Logs, options.NOTHING), *_OWN])
    made += options.declared([qv.PublishOptions], required=False, only=_BUDGET)
    app.command("init")(options.with_signature(init, made + options.reading_parameters()))


def init(**given: Any) -> None:
    """Write a recipe, release.yaml: columns as guessed, method, parameters, budget, and what is said about it."""
    own = {name: given.pop(name) for name, _, _ in _OWN}
    logs = given["log"]
    asked = qv.PublishOptions(**options.taken(qv.PublishOptions, given))
    how = options.reading(given)
    about = publish.stated(own["about"])
    output.new_file(own["out"], "--out")
    with console.progress("reading") as progress:
        opened = qv.read(logs, progress=progress, **how)
    with console.waiting("counting"):
        recipe = qv.init(
            logs,
            opened=opened,
            users=asked.users,
            ledger=asked.ledger,
            source=asked.source,
            out=own["release"],
            about=about,
            samples=own["samples"],
            **how,
        ).write(own["out"])
    if own["as_json"]:
        console.as_json({"recipe": str(own["out"]), "digest": recipe.digest, **recipe.as_dict()})
        return
    show(recipe, own["out"])


def show(recipe: qv.Recipe, file: Path) -> None:
    for name, at in (recipe.columns or {}).items():
        console.labelled("columns" if name == "user" else "", f"{name} <- {at}")
    shown = ", ".join(
        f"{name} {recipe.parameters[name]}" for name in ("epsilon", "delta", "k") if name in recipe.parameters
    )
    console.labelled("method", f"{recipe.method}, {shown}" if shown else recipe.method)
    console.labelled("wrote", str(file))
    if recipe.samples:
        console.labelled(
            "Warning", "it shows values of the log, which are personal data: keep it to yourself"
        )
    console.line()
    if recipe.about.missing:
        console.labelled("Fill in", f"{', '.join(recipe.about.missing)}, under 'about' in {file}")
    console.labelled("Check", "compare the columns with the log, then set columns_confirmed: true")
    console.labelled("Next", f"queryveil plan {file}")
    console.labelled("", f"queryveil publish {file}")
