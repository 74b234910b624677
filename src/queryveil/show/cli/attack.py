"""`queryveil attack NAME ...`: break a release or a log, beside a control."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

import queryveil as qv
from queryveil.parameters import OUTPUT
from queryveil.show.cli import console, help, options, releases

_LOGS = ("log", "log-or-release")
_RELEASES = ("release", "log-or-release")
_Apart = dict[Path, Path | None]
"""Private folders that are not beside their releases."""
Save = Annotated[
    bool,
    typer.Option(
        "--save",
        rich_help_panel=OUTPUT,
        help="save the result in the private folder of each release that you name",
    ),
]


class Attacks(help.Lazy):
    """The attacks."""

    listing = "Attacks"

    def later(self) -> Mapping[str, Callable[[help.App], None]]:
        return {name: partial(_add_attack, name) for name in qv.ATTACKS}


def add_to(app: typer.Typer) -> None:
    attacks = help.App(
        cls=Attacks, help="Attack a release or a log, and compare with a control.", no_args_is_help=True
    )

    @attacks.callback()
    def group() -> None:
        """Attack a release or a log, beside a control, and say what that means."""

    app.add_typer(attacks, name="attack")


def _add_attack(name: str, app: help.App) -> None:
    cls = qv.ATTACKS[name]
    made = [_attack_parameter(one) for one in cls.inputs] + options.declared([cls], required=True)
    if any(one.kind in _LOGS for one in cls.inputs):
        made += options.reading_parameters()
    if _takes_releases(cls):
        made += options.own_parameters([("save", Save, False), ("private", releases.Private, None)])
    made += options.own_parameters([("as_json", options.Json, False)])
    app.command(name, help=cls.__doc__)(options.with_signature(_attack_command(cls), made))


def _takes_releases(cls: type[qv.Attack]) -> bool:
    return any(one.kind in _RELEASES for one in cls.inputs)


def _attack_parameter(one: qv.AttackInput) -> inspect.Parameter:
    kind: Any = str if one.kind in _LOGS else Path
    kind = list[kind] if one.many else kind
    metavar = one.name.upper().replace("_", "-") + ("..." if one.many else "")
    shown = (
        typer.Option(f"--{one.name.replace('_', '-')}", metavar=metavar, help=one.help, show_default=False)
        if one.option
        else typer.Argument(metavar=metavar, help=one.help, show_default=False)
    )
    return inspect.Parameter(
        one.name,
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[kind if one.needed else kind | None, shown],
        default=inspect.Parameter.empty if one.needed else None,
    )


def _attack_command(cls: type[qv.Attack]) -> Any:
    def attack(**given: Any) -> None:
        as_json, keep = given.pop("as_json"), given.pop("save", False)
        private = given.pop("private", None)
        how = options.reading(given) if any(one.kind in _LOGS for one in cls.inputs) else {}
        made = cls(**options.given(cls, given))
        named = [(one.kind, each) for one in cls.inputs for each in _as_list(given[one.name])]
        folders = [
            near for kind, each in named if kind != "file" and (near := _release_folder(kind, Path(each)))
        ]
        apart = dict(releases.paired(folders, private))
        # Logs come last: what can be refused is refused before a long one is read.
        order = sorted(
            cls.inputs, key=lambda one: any(_is_log(one.kind, each) for each in _as_list(given[one.name]))
        )
        loaded = {one.name: _load_input(one, given[one.name], how, keep, apart) for one in order}
        inputs = [loaded[one.name] for one in cls.inputs]
        beside = _named_releases(inputs) if keep else []
        with console.progress("attacking") as progress:
            found = made.run(*inputs, progress=progress)
        kept = [str(qv.keep_attack(one, made, found)) for one in beside]
        if as_json:
            console.as_json(found.as_dict() | ({"saved": kept} if keep else {}))
        else:
            show(cls, found)
            for one, file in zip(beside, kept, strict=True):
                console.labelled("Saved", file)
                console.typed(
                    "Next", shlex.join(["queryveil", "report", str(one.path), "--curator", "--log", "LOG"])
                )

    return attack


def _named_releases(inputs: list[Any]) -> list[qv.Release]:
    """The releases that were named, beside which a result can be kept."""
    named = [one for given in inputs for one in _as_list(given) if isinstance(one, qv.Release)]
    if not named:
        raise qv.UsageError("there is no release to save the result with", "name one, or leave out --save")
    return named


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [] if value is None else [value]


def _load_input(one: qv.AttackInput, value: Any, how: dict[str, Any], keep: bool, apart: _Apart) -> Any:
    """What the attack receives for what was typed."""
    found = [_load_one(one.kind, each, how, keep, apart) for each in _as_list(value)]
    return found if one.many else found[0] if found else None


def _load_one(kind: str, value: Any, how: dict[str, Any], keep: bool, apart: _Apart) -> Any:
    if kind == "file":
        return Path(value)
    folder = _release_folder(kind, Path(value))
    if folder is not None:
        found = releases.load(folder, apart[folder])
        if keep:
            qv.private_folder(found)
        return found
    with console.progress("reading") as progress:
        return qv.read(value, progress=progress, **how)


def _is_log(kind: str, value: Any) -> bool:
    return kind in _LOGS and _release_folder(kind, Path(value)) is None


def _release_folder(kind: str, path: Path) -> Path | None:
    """The release folder that was named, itself or by one of its tables; None for a log."""
    if kind == "release":
        return path
    near = (path, path.parent) if path.is_file() else (path,)
    return next((one for one in near if kind in _RELEASES and (one / "manifest.json").is_file()), None)


def show(cls: type[qv.Attack], found: qv.AttackResult) -> None:
    console.line(f"{found.attack}: {cls.__doc__}")
    console.line()
    for title, rows in (("", found.table), *found.more):
        if not rows:
            continue
        if title:
            console.line(f"  {title}")
        console.table(rows, right=tuple(range(1, len(rows[0]))))
        console.line()
    for label, sentence in (*found.words, *found.examples):
        console.labelled(label, sentence)
