"""`plan release.yaml` and `publish release.yaml`: a recipe where a method may stand."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

import queryveil as qv
from queryveil.files import output
from queryveil.show.cli import console, options

TAKEN = ("private", "allow_empty", "i_understand")
"""What of `PublishOptions` is said beside a recipe; the rest stands in it."""
NAME = "recipe"
"""What the command is called inside a group of methods; people type the file instead."""

File = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="a recipe, as queryveil init writes it", show_default=False),
]


def is_recipe(word: str) -> bool:
    return Path(word).suffix.lower() in (".yaml", ".yml")


def before_file(args: list[str]) -> list[str]:
    """The arguments with the name of the command before the file of a recipe, wherever that stands."""
    first = next((word for word in args if not word.startswith("-")), "")
    if not is_recipe(first) or (args and args[0] in qv.MECHANISMS):
        return args
    return [NAME, *args]


def publish(own: dict[str, Any]) -> qv.Release:
    """Publish what a recipe says; what would be refused later is refused before the log is read."""
    recipe = qv.Recipe.read(own["file"])
    recipe.refuse_incomplete()
    method = recipe.mechanism()
    asked = qv.PublishOptions(**options.taken(qv.PublishOptions, own))
    qv.refuse_unless_understood(method, users=recipe.users, i_understand=asked.i_understand)
    private = asked.private
    if private is None and recipe.private and own["out"] is None:
        private = recipe.placed(recipe.private)
    output.new_release(own["out"] or Path(recipe.placed(recipe.out)), Path(private) if private else None)
    if recipe.ledger is not None:
        qv.Ledger(recipe.placed(recipe.ledger)).budget(str(recipe.source))
    with console.progress("reading") as progress:
        log = recipe.read_log(progress=progress)
    with console.waiting("counting"):
        return qv.publish_recipe(
            recipe,
            log=log,
            out=own["out"],
            private=asked.private,
            allow_empty=asked.allow_empty,
            i_understand=asked.i_understand,
            told=None if own["as_json"] else console.labelled,
        )


def planner(show: Any) -> Any:
    """The command of `plan`; `show` prints a plan."""

    def recipe(**given: Any) -> None:
        made = qv.Recipe.read(given["file"])
        plan = made.plan()
        if given["as_json"]:
            console.as_json(plan.as_dict())
            return
        show(plan)
        if made.about.missing:
            console.line()
            console.labelled(
                "Fill in", f"{', '.join(made.about.missing)}, under 'about' in {given['file']}, to publish it"
            )

    return options.with_signature(
        recipe, options.own_parameters([("file", File, options.NOTHING), ("as_json", options.Json, False)])
    )
