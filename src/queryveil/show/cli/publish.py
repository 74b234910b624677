"""`queryveil publish METHOD LOG --out DIR`: the main job. `publish LOG --method METHOD` says the same."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import queryveil as qv
from queryveil.errors import instead
from queryveil.files import output
from queryveil.parameters import OUTPUT, parameters
from queryveil.show.cli import console, help, options, plan, recipes

_WAY = "queryveil publish METHOD LOG --out DIR"


def _output_option(*names: str, **named: Any) -> Any:
    return typer.Option(*names, rich_help_panel=OUTPUT, show_default=False, **named)


Out = Annotated[Path, _output_option("--out", metavar="DIR", help="folder to write; it must not exist")]
RecipeOut = Annotated[
    Path | None, _output_option("--out", metavar="DIR", help="another folder to write than the recipe's")
]
Stated = Annotated[
    list[str] | None,
    _output_option(
        "--about",
        metavar="NAME=TEXT",
        help="said of the release; NAME as in a recipe",
    ),
]
_OWN: tuple[tuple[str, Any, Any], ...] = (("about", Stated, None), ("as_json", options.Json, False))


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
    own = options.own_parameters([("file", recipes.File, options.NOTHING), ("out", RecipeOut, None)])
    own += options.declared([qv.PublishOptions], required=False, only=recipes.TAKEN)
    own += options.own_parameters([("as_json", options.Json, False)])
    methods.command(recipes.NAME, hidden=True)(options.with_signature(publish_recipe, own))
    app.add_typer(methods, name="publish")


def _add_method(name: str, app: help.App) -> None:
    cls = qv.MECHANISMS[name]
    log = [("log", options.Logs, options.NOTHING), ("out", Out, options.NOTHING)]
    made = options.own_parameters(log) + options.declared([cls], required=True)
    made += options.declared([qv.PublishOptions, qv.SeriesOptions], required=False)
    made += options.own_parameters(_OWN) + options.reading_parameters()
    command = options.with_signature(_publish_command(cls), made)
    app.command(name, help=cls.__doc__)(command)


def _method_first(args: list[str]) -> list[str]:
    """The arguments with the method before the log, wherever it was named."""
    named, rest = _method_names(args)
    if len(named) > 1:
        raise qv.UsageError("the method is named twice", f"name it once: {_WAY}")
    if named:
        return [_known_method(named[0]), *rest]
    if not args or args[0] in ("-h", "--help", recipes.NAME):
        return args
    if args[0].startswith("-"):
        raise _none_named()
    return [_known_method(args[0]), *args[1:]]


def _method_names(args: list[str]) -> tuple[list[str], list[str]]:
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


def _known_method(name: str) -> str:
    if name in qv.MECHANISMS:
        return name
    # A log where the method should be: a name that is a path, or that no method is like.
    if Path(name).exists() or "/" in name or "." in name or "*" in name:
        raise _none_named()
    raise qv.UsageError(f"there is no method '{name}'", instead(name, qv.MECHANISMS))


def _none_named() -> qv.UsageError:
    return qv.UsageError("no method is named", f"write {_WAY}; METHOD is one of {', '.join(qv.MECHANISMS)}")


def _publish_command(cls: type[qv.Mechanism]) -> Any:
    def publish_with(**given: Any) -> None:
        publish(cls, given)

    return publish_with


def publish(cls: type[qv.Mechanism], given: dict[str, Any]) -> None:
    """Publish a log privately: a release folder with tables, manifest, data sheet and report."""
    out, as_json = given.pop("out"), given.pop("as_json")
    about = stated(given.pop("about"))
    series = {one.name: given.pop(one.name) for one in parameters(qv.SeriesOptions)}
    asked = qv.PublishOptions(**options.taken(qv.PublishOptions, given))
    own = dataclasses.asdict(asked) | {"out": out, "about": about}
    method = options.method(cls, given, asked.users)
    how = options.reading(given)
    if series["name"] is not None:
        _publish_series(method, given["log"], how, own, series, as_json=as_json)
        return
    if (first := next((one for one in parameters(qv.SeriesOptions) if series[one.name]), None)) is not None:
        raise qv.UsageError(f"{first.flag} only applies to a series", "name it with --series NAME")
    _refuse_early(own, method)
    with console.progress("reading") as progress:
        log = qv.read(given["log"], progress=progress, **how)
    with console.waiting("counting"):
        release = qv.publish(log, method, told=None if as_json else console.labelled, **own)
    _progress_printer(release, as_json)


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
    _progress_printer(recipes.publish(own), own["as_json"])


def _progress_printer(release: qv.Release, as_json: bool) -> None:
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
    method: qv.Mechanism,
    log: list[str],
    how: dict[str, Any],
    own: dict[str, Any],
    series: dict[str, Any],
    *,
    as_json: bool,
) -> None:
    parts = options.given(qv.SeriesOptions, series)
    qv.refuse_unless_understood(method, users=own["users"], i_understand=own["i_understand"])
    _refuse_half_a_ledger(own)
    with contextlib.ExitStack() as stack:

        def read() -> qv.SearchLog:
            """Called when all has been refused that can be without the log."""
            with console.progress("reading") as progress:
                found = qv.read(log, progress=progress, **how)
            stack.enter_context(console.waiting("publishing"))
            return found

        made = qv.publish_series(read, method, told=None if as_json else console.labelled, **parts, **own)
    if as_json:
        console.as_json(
            {
                "series": str(made.path),
                "name": made.name,
                "complete": made.complete,
                "guarantee": made.promise.as_dict(),
                "periods": [
                    {
                        "period": one["period"],
                        "release": str(made.releases[one["period"]]),
                        "released": one["released"],
                    }
                    for one in made.content["periods"]
                ],
                "warnings": list(made.warnings),
            }
        )
        return
    console.line()
    first, *more = made.promise.sentences()
    console.labelled("Guarantee", first)
    for sentence in more:
        console.labelled("", sentence)
    for warning in made.warnings:
        console.labelled("Warning", warning)
    console.labelled("Next", f"queryveil release verify {made.path}")
    console.labelled(
        "", f"open {made.path}/index.html; {own['private'] or f'{made.path}.private'} is for you alone"
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
    output.new_release(own["out"], Path(own["private"]) if own["private"] else None)
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
