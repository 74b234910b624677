"""`queryveil plan METHOD`: parameters, thresholds and guarantee, without any data."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import typer

import queryveil as qv
from queryveil.show.cli import console, help, options, recipes

_ASIDE = {"paper", "pure_dp"}
"""Figures that stand beside others, or are for scripts."""
_OF_CHANCES = re.compile(r"\b(delta|chance)\b")
_RARE = 1e-3
_SIZES = ((1e12, " trillion"), (1e9, " billion"), (1e6, " million"))
"""What a rare chance is one in."""


class Methods(help.Lazy):
    """The methods, one of which is planned; or a recipe, which names one."""

    listing = "Methods"

    def later(self) -> Mapping[str, Callable[[help.App], None]]:
        return {name: partial(_add_method, name) for name in qv.MECHANISMS}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args if ctx.resilient_parsing else recipes.before_file(args))


def add_to(app: typer.Typer) -> None:
    methods = help.App(
        cls=Methods,
        help="Show parameters, thresholds and guarantee of a method, without any data.",
        no_args_is_help=True,
        subcommand_metavar="METHOD [OPTIONS]",
        epilog="Each method has options of its own: queryveil plan METHOD --help. "
        "A recipe of queryveil init takes the place of method and options: queryveil plan release.yaml",
    )
    methods.command(recipes.NAME, hidden=True, help="Plan what a recipe says.")(recipes.planner(show))
    app.add_typer(methods, name="plan")


def _add_method(name: str, app: help.App) -> None:
    cls = qv.MECHANISMS[name]
    made = options.declared([cls], required=True)
    made += options.declared([qv.PublishOptions], required=False, only=("users",))
    made += options.own_parameters([("as_json", options.Json, False)])
    command = options.with_signature(_plan_command(cls), made)
    app.command(name, help=cls.__doc__)(command)


def _plan_command(cls: type[qv.Mechanism]) -> Any:
    def plan(**given: Any) -> None:
        users, as_json = qv.PublishOptions(users=given.pop("users")).users, given.pop("as_json")
        made = options.method(cls, given, users).plan(users=users)
        if as_json:
            console.as_json(made.as_dict())
        else:
            show(made)

    return plan


def show(plan: qv.Plan) -> None:
    console.line(f"{plan.method}: what would be done and promised")
    nested = {name: part for name, part in plan.calibration.items() if isinstance(part, dict)}
    if len(nested) < len(plan.calibration):
        _print_calibration("", plan.calibration, plan.labels)
    for name, figures in nested.items():
        if name not in _ASIDE:
            _print_calibration(name, figures, plan.labels)
    console.line()
    guarantee(plan.guarantee)
    for sentence in plan.expected:
        console.line()
        console.labelled("Expect", sentence)
    for warning in plan.warnings:
        console.line()
        console.labelled("Warning", warning)


def _print_calibration(name: str, figures: Mapping[str, Any], labels: Mapping[str, str]) -> None:
    """A table of figures, with the paper's beside them where there are any."""
    paper = figures.get("paper", {})
    rows = [(name, "here", "paper's formulas" if paper else "")]
    for key, label in labels.items():
        if key in figures or key in paper:
            rows.append(
                (label, _format_number(figures.get(key), label), _format_number(paper.get(key), label))
            )
    console.line()
    console.table(rows, right=(1, 2))


def _format_number(value: Any, label: str) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if 0 < value < _RARE and _OF_CHANCES.search(label):
        return _one_in(1 / value)
    return f"{value:.6g}"


def _one_in(number: float) -> str:
    """A rare chance as people say it: 1 in 37 million. `--json` has all digits."""
    if number < 1e6:
        return f"1 in {number:,.0f}"
    size, name = next((one for one in _SIZES if one[0] <= number < 1_000 * one[0]), (0, ""))
    return f"1 in {number / size:.3g}{name}" if size else f"{1 / number:.3g}"


def guarantee(promise: qv.Guarantee) -> None:
    """Plain words under the numbers."""
    console.labelled("Guarantee", promise.headline)
    console.labelled("", promise.plain_words())
    if promise.implies is not None:
        console.labelled("", promise.after_processing())
    for part in promise.parts:
        console.labelled("", f"- for {part.of}: {part.share}")
