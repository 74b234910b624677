"""The text of a recipe: YAML with a comment for whoever fills it in."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from queryveil.mechanisms import MECHANISMS
from queryveil.parameters import parameters
from queryveil.release.about import ASKED, NOT_STATED

if TYPE_CHECKING:
    from queryveil.release.recipes.recipe import Recipe

_PERSONAL = (
    "Samples of the log stand below as comments. They are personal data: take them out before anyone else sees "
    "this."
)


def written(recipe: Recipe) -> str:
    """The whole file."""
    content = recipe.as_dict()
    lines = [
        *_comment("A recipe of queryveil: how a release is made. Check it, complete it, then run:"),
        f"#   queryveil plan {recipe.name}       what would be promised, without any data",
        f"#   queryveil publish {recipe.name}    make the release",
        *_comment("Paths are relative to the folder of this file."),
        *(_comment(_PERSONAL) if recipe.samples else ()),
        "recipe: 1",
        "",
        "log:",
        *_entry("files", content["log"]["files"], "  "),
        *_columns(recipe),
        *(line for name in recipe.reading for line in _entry(name, content["log"][name], "  ")),
        "",
        f"method: {_scalar(recipe.method)}",
        *(_entry("items", content["items"], "") if recipe.items is not None else ()),
        "parameters:",
        *_parameters(recipe),
        "",
        *_comment("A public upper bound on the number of users; empty if there is none."),
        f"users:{_value(recipe.users)}",
        "",
        *_comment("Where the privacy spent on this log is added up; both empty: nowhere."),
        "budget:",
        f"  ledger:{_value(recipe.ledger)}",
        f"  source:{_value(recipe.source)}",
        "",
        f"out: {_scalar(recipe.out)}",
        *([f"private: {_scalar(recipe.private)}"] if recipe.private is not None else []),
        "",
        *_comment(
            f"Printed in every document of the release. Write '{NOT_STATED}' for what you do not want to say. None of "
            "it may be measured on the log."
        ),
        "about:",
        *(_about(name, getattr(recipe.about, name)) for name in ASKED),
        "",
    ]
    return "\n".join(lines)


def _columns(recipe: Recipe) -> Iterator[str]:
    if recipe.columns is None:
        yield from _comment("Columns are fixed by the format.", "  ")
        yield from (f"  #   {name}: {_samples(values)}" for name, values in recipe.samples.items())
    else:
        yield from _comment(
            "Which column of the log holds what, as it was guessed. A wrong user column breaks the promise.",
            "  ",
        )
        yield "  columns:"
        for name, at in recipe.columns.items():
            seen = recipe.samples.get(name)
            yield f"    {name}: {_scalar(at)}" + (f"  # {_samples(seen)}" if seen else "")
    yield from _comment("true once somebody has compared the columns with the log", "  ")
    yield f"  columns_confirmed: {_scalar(recipe.columns_confirmed)}"


def _samples(values: Sequence[str]) -> str:
    """Values of a column, as they may stand in a comment: in one line, and not at length."""
    return ", ".join(json.dumps(one[:40], ensure_ascii=True) for one in values)


def _parameters(recipe: Recipe) -> Iterator[str]:
    if not recipe.parameters:
        yield "  {}"
    helps = {one.name: one.declaration.help for one in parameters(MECHANISMS[recipe.method])}
    given: Mapping[str, Any] = recipe.as_dict()["parameters"]
    width = max((len(f"{name}: {_scalar(value)}") for name, value in given.items()), default=0)
    for name, value in given.items():
        yield f"  {f'{name}: {_scalar(value)}':<{width}}  # {' '.join(helps[name].split())}"


def _about(name: str, value: str | None) -> str:
    return f"  {name}:{_value(value)}" if value else f"  {name}:  # {ASKED[name]}"


def _entry(name: str, value: Any, indent: str) -> Iterator[str]:
    yield f"{indent}{name}: {_scalar(value)}"


def _value(value: Any) -> str:
    return "" if value is None else f" {_scalar(value)}"


def _scalar(value: Any) -> str:
    """A value as JSON writes it, which is YAML: no text can end its line or become something else."""
    if isinstance(value, list):
        return f"[{', '.join(map(_scalar, value))}]"
    if isinstance(value, float) and value == int(value) and abs(value) < 10**15:
        return str(int(value))
    plain = isinstance(value, str) and value.replace("-", "").replace("_", "").isalnum() and value.isascii()
    if (
        plain
        and value[0].isalpha()
        and value.lower() not in {"true", "false", "null", "yes", "no", "on", "off"}
    ):
        return str(value)
    return json.dumps(value, ensure_ascii=False)


def _comment(sentence: str, indent: str = "") -> list[str]:
    return [f"{indent}# {line}" for line in textwrap.wrap(sentence, 96 - len(indent))]
