"""`queryveil publish METHOD LOG --out DIR`: the main job. `publish LOG --method METHOD` says the same."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import queryveil as qv
from queryveil.errors import instead
from queryveil.files import output
from queryveil.parameters import OUTPUT, PROMISES, SERIES
from queryveil.show.cli import console, help, options, plan, recipes

_WAY = "queryveil publish METHOD LOG --out DIR"


def _output(*names: str, **named: Any) -> Any:
    return typer.Option(*names, rich_help_panel=OUTPUT, show_default=False, **named)


Out = Annotated[Path, _output("--out", metavar="DIR", help="folder to write; it must not exist")]
RecipeOut = Annotated[
    Path | None, _output("--out", metavar="DIR", help="another folder to write than the recipe's")
]
Private = Annotated[
    Path | None,
    _output("--private", metavar="DIR", help="the private folder; beside --out if left out"),
]
LedgerFile = Annotated[
    str | None,
    typer.Option(
        "--ledger",
        metavar="LEDGER",
        rich_help_panel=PROMISES,
        help="ledger to charge before noise is drawn",
    ),
]
Source = Annotated[
    str | None,
    typer.Option("--source", metavar="NAME", rich_help_panel=PROMISES, help="name of this log in the ledger"),
]
AllowEmpty = Annotated[bool, _output("--allow-empty", help="write a release even if nothing survives")]
IUnderstand = Annotated[
    bool,
    typer.Option(
        "--i-understand",
        rich_help_panel=PROMISES,
        help="publish even with no promise or a large delta",
    ),
]
Stated = Annotated[
    list[str] | None,
    _output(
        "--about",
        metavar="NAME=TEXT",
        help="said of the release; NAME as in a recipe",
    ),
]
Name = Annotated[
    str | None,
    typer.Option(
        "--series",
        metavar="NAME",
        rich_help_panel=SERIES,
        help="publish each period by itself, under this name",
    ),
]
PeriodOption = Annotated[
    str | None,
    typer.Option("--period", metavar="day|week|month", rich_help_panel=SERIES, help="what a release is of"),
]
Unit = Annotated[
    str | None,
    typer.Option(
        "--unit",
        metavar="user|user-period",
        rich_help_panel=SERIES,
        help="a person over all periods (default), or in one",
    ),
]
Start = Annotated[
    str | None, typer.Option("--from", metavar="DATE", rich_help_panel=SERIES, help="first day, in UTC")
]
End = Annotated[
    str | None, typer.Option("--to", metavar="DATE", rich_help_panel=SERIES, help="last day, in UTC")
]
Resume = Annotated[
    bool, typer.Option("--resume", rich_help_panel=SERIES, help="go on with a series that was cut short")
]

Incomplete = Annotated[
    bool,
    typer.Option(
        "--allow-incomplete-period",
        rich_help_panel=SERIES,
        help="publish a period although the log ends before its last day",
    ),
]

_SERIES: tuple[tuple[str, Any, Any], ...] = (
    ("series", Name, None),
    ("period", PeriodOption, None),
    ("unit", Unit, None),
    ("start", Start, None),
    ("end", End, None),
    ("resume", Resume, False),
    ("allow_incomplete_period", Incomplete, False),
)

_OWN: tuple[tuple[str, Any, Any], ...] = (
    ("users", plan.Users, None),
    ("ledger", LedgerFile, None),
    ("source", Source, None),
    ("i_understand", IUnderstand, False),
    ("private", Private, None),
    ("allow_empty", AllowEmpty, False),
    ("about", Stated, None),
    ("as_json", options.Json, False),
)


class Methods(help.Lazy):
    """The methods, one of which comes first, or is named by `--method` anywhere."""

    listing = "Methods"

    def later(self) -> Mapping[str, Callable[[help.App], None]]:
        return {name: partial(_add_method, name) for name in qv.MECHANISMS}

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(
            ctx, args if ctx.resilient_parsing else _method_first(recipes.before_file(args))
        )


def add_to(app: typer.Typer) -> None:
    methods = help.App(
        cls=Methods,
        help=publish.__doc__,
        no_args_is_help=True,
        subcommand_metavar="METHOD LOG... --out DIR [OPTIONS]",
        epilog="Each method has options of its own: queryveil publish METHOD --help. "
        "A recipe of queryveil init takes the place of method and options: queryveil publish release.yaml",
    )
    own = [("file", recipes.File, options.NOTHING), ("out", RecipeOut, None)]
    own += [one for one in _OWN if one[0] in ("private", "allow_empty", "i_understand", "as_json")]
    methods.command(recipes.NAME, hidden=True)(
        options.with_signature(publish_recipe, options.own_parameters(own))
    )
    app.add_typer(methods, name="publish")


def _add_method(name: str, app: help.App) -> None:
    cls = qv.MECHANISMS[name]
    log = [("log", options.Logs, options.NOTHING), ("out", Out, options.NOTHING)]
    made = options.own_parameters(log) + options.declared([cls], required=True)
    made += options.own_parameters((*_OWN, *_SERIES)) + options.reading_parameters()
    command = options.with_signature(_publisher(cls), made)
    app.command(name, help=cls.__doc__)(command)


def _method_first(args: list[str]) -> list[str]:
    """The arguments with the method before the log, wherever it was named."""
    named, rest = _named(args)
    if len(named) > 1:
        raise qv.UsageError("the method is named twice", f"name it once: {_WAY}")
    if named:
        return [_known(named[0]), *rest]
    if not args or args[0] in ("-h", "--help", recipes.NAME):
        return args
    if args[0].startswith("-"):
        raise _none_named()
    return [_known(args[0]), *args[1:]]


def _named(args: list[str]) -> tuple[list[str], list[str]]:
    """What `--method` names, and the other arguments."""
    named: list[str] = []
    rest: list[str] = []
    left = list(args)
    while left:
        word = left.pop(0)
        if word == "--":
            return named, [*rest, word, *left]
        if word == "--method" and left:
            named.append(left.pop(0))
        elif word.startswith("--method="):
            named.append(word.partition("=")[2])
        else:
            rest.append(word)
    return named, rest


def _known(name: str) -> str:
    if name in qv.MECHANISMS:
        return name
    # A log where the method should be: a name that is a path, or that no method is like.
    if Path(name).exists() or "/" in name or "." in name or "*" in name:
        raise _none_named()
    raise qv.UsageError(f"there is no method '{name}'", instead(name, qv.MECHANISMS))


def _none_named() -> qv.UsageError:
    return qv.UsageError("no method is named", f"write {_WAY}; METHOD is one of {', '.join(qv.MECHANISMS)}")


def _publisher(cls: type[qv.Mechanism]) -> Any:
    def publish_with(**given: Any) -> None:
        publish(cls, given)

    return publish_with


def publish(cls: type[qv.Mechanism], given: dict[str, Any]) -> None:
    """Publish a log privately: a release folder with tables, manifest, data sheet and report."""
    own = {name: given.pop(name) for name in ("out", *(name for name, _, _ in _OWN))}
    parts = {name: given.pop(name) for name, _, _ in _SERIES}
    own["about"] = stated(own["about"])
    method = options.method(cls, given, own["users"])
    how = options.reading(given)
    if parts["series"] is not None:
        _publish_series(method, given["log"], how, own, parts)
        return
    if any(parts.values()):
        flag = {"start": "from", "end": "to", "allow_incomplete_period": "allow-incomplete-period"}
        first = next(name for name, value in parts.items() if value)
        raise qv.UsageError(
            f"--{flag.get(first, first)} only applies to a series", "name it with --series NAME"
        )
    _refuse_early(own, method)
    as_json = own.pop("as_json")
    with console.progress("reading") as progress:
        log = qv.read(given["log"], progress=progress, **how)
    with console.waiting("counting"):
        release = qv.publish(log, method, told=None if as_json else console.labelled, **own)
    _told(release, as_json)


def stated(given: Sequence[str] | None) -> qv.About:
    """What `--about NAME=TEXT` says, as often as it was given."""
    said: dict[str, str] = {}
    for text in given or ():
        name, equals, value = text.partition("=")
        if not equals:
            raise qv.UsageError("--about is not NAME=TEXT", "write it like --about licence=CC-BY-4.0")
        said[name.strip()] = value
    return qv.About.from_dict(said)


def publish_recipe(**own: Any) -> None:
    """Publish what a recipe says."""
    _told(recipes.publish(own), own["as_json"])


def _told(release: qv.Release, as_json: bool) -> None:
    if as_json:
        console.as_json(
            {
                "release": str(release.path),
                "guarantee": release.guarantee.as_dict(),
                "released": release.released,
                "seconds": release.seconds,
                "warnings": list(release.warnings),
                **({"expected": list(release.plan.expected)} if release.plan.expected else {}),
            }
        )
        return
    show(release)


def _publish_series(
    method: qv.Mechanism, log: str, how: dict[str, Any], own: dict[str, Any], parts: dict[str, Any]
) -> None:
    missing = [
        flag
        for name, flag in (
            ("period", "--period day, week or month"),
            ("start", "--from DATE, its first day, such as --from 2026-01-01"),
            ("end", "--to DATE, its last day, such as --to 2026-01-31"),
        )
        if not parts[name]
    ]
    if missing:
        raise qv.UsageError(f"a series needs {missing[0].split()[0]}", f"pass {missing[0]}")
    qv.refuse_unless_understood(method, users=own["users"], i_understand=own["i_understand"])
    _refuse_half_a_ledger(own)
    as_json, name = own.pop("as_json"), parts.pop("series")
    parts["unit"] = parts["unit"] or "user"
    with contextlib.ExitStack() as stack:

        def read() -> qv.SearchLog:
            """Called when all has been refused that can be without the log."""
            with console.progress("reading") as progress:
                found = qv.read(log, progress=progress, **how)
            stack.enter_context(console.waiting("publishing"))
            return found

        series = qv.publish_series(
            read, method, name=name, told=None if as_json else console.labelled, **parts, **own
        )
    if as_json:
        console.as_json(
            {
                "series": str(series.path),
                "name": series.name,
                "complete": series.complete,
                "guarantee": series.promise.as_dict(),
                "periods": [
                    {
                        "period": one["period"],
                        "release": str(series.releases[one["period"]]),
                        "released": one["released"],
                    }
                    for one in series.content["periods"]
                ],
                "warnings": list(series.warnings),
            }
        )
        return
    console.line()
    first, *more = series.promise.sentences()
    console.labelled("Guarantee", first)
    for sentence in more:
        console.labelled("", sentence)
    for warning in series.warnings:
        console.labelled("Warning", warning)
    console.labelled("Next", f"queryveil release verify {series.path}")
    console.labelled(
        "", f"open {series.path}/index.html; {own['private'] or f'{series.path}.private'} is for you alone"
    )


def _refuse_half_a_ledger(own: dict[str, Any]) -> None:
    if (own["ledger"] is None) != (own["source"] is None):
        raise qv.UsageError(
            "charging a ledger needs both the ledger and the name of the source log",
            "pass --ledger FILE and --source NAME",
        )


def _refuse_early(own: dict[str, Any], method: qv.Mechanism) -> None:
    """What would be refused after the log is read is refused before."""
    qv.refuse_unless_understood(method, users=own["users"], i_understand=own["i_understand"])
    output.new_release(own["out"], own["private"])
    _refuse_half_a_ledger(own)
    if own["ledger"] is not None:
        qv.Ledger(own["ledger"]).budget(own["source"])


def show(release: qv.Release) -> None:
    console.line()
    plan.guarantee(release.guarantee)
    for sentence in release.plan.expected:
        console.labelled("Expect", sentence)
    for warning in release.warnings:
        console.labelled("Warning", warning)
    console.labelled("Next", f"queryveil release verify {release.path}")
    console.labelled("", f"open {release.path}/report.html; {release.private_place} is for you alone")
    apart = f" --private {release.private_path}" if release.private_path is not None else ""
    console.labelled("", f"queryveil report {release.path} --curator --log LOG{apart}")
