"""Options that several commands share, and options made from declared parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

import queryveil as qv
from queryveil.errors import UsageError, shown_address
from queryveil.files import output
from queryveil.parameters import OUTPUT, READING, Parameter, as_read, parameters
from queryveil.show.cli.usage import shortened

NOTHING = inspect.Parameter.empty
"""The default of what has to be given."""
_LONGEST_GAP = 10**9
_LONGEST_CHOICES = 26


def _reading_option(*names: str, **named: Any) -> Any:
    """An option that says how a log is read."""
    return typer.Option(*names, rich_help_panel=READING, show_default=False, **named)


def completed(known: Iterable[str]) -> Callable[[str], list[str]]:
    """Completes a value that is one of these, or the last of several with commas."""
    names = list(known)

    def complete(incomplete: str) -> list[str]:
        before, comma, last = incomplete.rpartition(",")
        return [f"{before}{comma}{name}" for name in names if name.startswith(last)]

    return complete


Log = Annotated[
    str,
    typer.Argument(metavar="LOG", help="a file, folder or glob, or - for standard input", show_default=False),
]
Logs = Annotated[
    list[str],
    typer.Argument(
        metavar="LOG...", help="files, folders, globs, or - for standard input", show_default=False
    ),
]
"""One log in one or several parts."""
Json = Annotated[
    bool, typer.Option("--json", rich_help_panel=OUTPUT, help="print one JSON document and nothing else")
]
Columns = Annotated[
    str | None,
    _reading_option(
        "--columns",
        metavar="user=...,query=...",
        help="where user, query, time, url, rank, session are: by name, or by number from 1",
    ),
]
Engine = Annotated[
    str,
    _reading_option(
        "--engine",
        metavar="ENGINE",
        autocompletion=completed(("duckdb", "spark")),
        help="duckdb (default), spark, or spark://host:port",
    ),
]
SessionGap = Annotated[
    int,
    _reading_option(
        "--session-gap-minutes",
        metavar="N",
        max=_LONGEST_GAP,
        help="a longer pause ends a session (default: 30)",
    ),
]

_READING: dict[str, tuple[Any, Any]] = {
    "columns": (Columns, None),
    "engine": (Engine, "duckdb"),
    "session_gap_minutes": (SessionGap, 30),
}


def called(logs: list[str]) -> tuple[str, list[str]]:
    """The first part of a log, and the words that follow it in a command: the other parts."""
    return logs[0], logs[1:]


def own_parameters(own: Iterable[tuple[str, Any, Any]]) -> list[inspect.Parameter]:
    """A command's own arguments and options: name, annotation and default of each."""
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        for name, kind, default in own
    ]


def reading_parameters() -> list[inspect.Parameter]:
    """The options that say how a log is read: those above, and those that `ReadOptions` declares."""
    above = own_parameters((name, kind, default) for name, (kind, default) in _READING.items())
    return [_format_option(), *above, *declared([qv.ReadOptions], required=False, seen=("format", *_READING))]


def _format_option() -> inspect.Parameter:
    """The option that names a format; listing the names loads no format."""
    shown = _reading_option(
        "--format",
        metavar="FORMAT",
        autocompletion=completed(qv.FORMATS),
        help=f"{', '.join(qv.FORMATS)}; detected if left out",
    )
    return inspect.Parameter(
        "format", inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[str | None, shown], default=None
    )


def reading(options: dict[str, Any]) -> dict[str, Any]:
    """Take the reading options out of a command's arguments, as `queryveil.read` wants them."""
    taken = given(qv.ReadOptions, options) | {name: options.pop(name) for name in _READING}
    for one in parameters(qv.ReadOptions):
        options.pop(one.name, None)
    taken["columns"] = column_map(taken["columns"]) if taken["columns"] else None
    return taken


def reading_words(options: Mapping[str, Any]) -> list[str]:
    """The reading options that were given, as they were typed: a command that is printed reads the log as it was read.

    To be asked before `reading` takes them out. An engine's address may hold a password, which is not repeated.
    """
    words: list[str] = []
    defaults: dict[str, Any] = {one.name: one.default for one in parameters(qv.ReadOptions)}
    for name, default in (defaults | {name: default for name, (_, default) in _READING.items()}).items():
        value = options.get(name, default)
        if value is None or value == default:
            continue
        flag = "--" + name.replace("_", "-")
        if isinstance(value, bool):
            words.append(flag if value else f"--no-{flag[2:]}")
        elif name == "engine" and shown_address(value) != value:
            words += [flag, "ENGINE"]
        elif name == "delimiter" and value == "\t":
            words += [flag, "\\t"]  # a tab that is printed is no longer one
        else:
            words += [flag, str(value)]
    return words


def column_map(text: str) -> dict[str, str | int]:
    """`user=1,query=3` as a mapping; numbers are positions."""
    columns: dict[str, str | int] = {}
    # A pattern may hold commas itself; then only those before a name of a column count.
    for part in re.split(r",(?=\s*\w+\s*=)", text) if "/" in text else text.split(","):
        name, equals, value = part.partition("=")
        if not equals or not name.strip():
            raise UsageError(
                "--columns is not a list of name=column", "write it like --columns user=1,time=2,query=3"
            )
        if name.strip() in columns:
            raise UsageError(f"--columns names '{name.strip()}' twice", "name each column once")
        # Not every digit of Unicode is a number: int() refuses a superscript.
        column = value.strip()
        columns[name.strip()] = int(column) if column.isdecimal() else column
    return columns


def reading_option(name: str) -> Any:
    """Return the option of one declared way to read a log, for commands that take few of them."""
    one = next(one for one in parameters(qv.ReadOptions) if one.name == name)
    return _typer_option(one, _help_text(one))


def declared(
    classes: Iterable[type], *, required: bool, seen: Iterable[str] = (), only: Iterable[str] = ()
) -> list[inspect.Parameter]:
    """Command-line options for the declared parameters of classes; one option for equal names."""
    found: dict[str, list[tuple[str, Parameter]]] = {}
    for cls in classes:
        for one in parameters(cls):
            if one.name not in seen and (not only or one.name in only):
                found.setdefault(one.name, []).append((str(vars(cls).get("name", "")), one))
    return [_declared_option(same, required=required) for same in found.values()]


def _declared_option(same: list[tuple[str, Parameter]], *, required: bool) -> inspect.Parameter:
    """One option for parameters of one name; where classes mean different things by it, the help says which."""
    one = same[0][1]
    kind: Any = str if any(other.declaration.many for _, other in same) else one.type
    texts: dict[str, list[str]] = {}
    for owner, other in same:
        texts.setdefault(_help_text(other), []).append(owner)
    text = next(iter(texts))
    if len(texts) > 1:
        text = "; ".join(f"{', '.join(owners)}: {words}" for words, owners in texts.items())
    choices = list(dict.fromkeys(name for _, other in same for name in other.declaration.choices or ()))
    shown = _typer_option(one, text, choices)
    return inspect.Parameter(
        one.name,
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[kind | None, shown],
        default=inspect.Parameter.empty if required and one.required else None,
    )


def _typer_option(one: Parameter, text: str, choices: Iterable[str] = ()) -> Any:
    names = list(choices)
    return typer.Option(
        *_option_flags(one),
        help=text,
        metavar=_value_placeholder(one),
        show_default=False,
        rich_help_panel=one.declaration.group,
        autocompletion=completed(names) if names else None,
    )


def _option_flags(one: Parameter) -> tuple[str, ...]:
    if one.type is bool and one.optional:  # left out, it is neither
        return (f"{one.flag}/--no-{one.flag.removeprefix('--')}",)
    return (one.flag, one.declaration.short) if one.declaration.short else (one.flag,)


def _value_placeholder(one: Parameter) -> str | None:
    """What stands for the value in help: the choices if they are few and short."""
    if one.type is bool or one.declaration.metavar:
        return one.declaration.metavar
    if _shown_as_choices(one):
        return "|".join(one.declaration.choices or ())
    if one.declaration.path:
        return "FILE"
    noun = {int: "N", float: "NUMBER", str: "NAME" if one.declaration.choices else "TEXT"}[one.type]
    return f"{noun},..." if one.declaration.many else noun


def _shown_as_choices(one: Parameter) -> bool:
    choices = one.declaration.choices or ()
    return not one.declaration.many and 0 < len("|".join(choices)) <= _LONGEST_CHOICES


def _help_text(one: Parameter) -> str:
    said = [] if _shown_as_choices(one) else [one.limits(below=_LONGEST_GAP)]
    if one.default is not None and not one.required and one.default is not False:
        values = one.default if isinstance(one.default, tuple) else [one.default]
        said.append(f"default: {', '.join(map(as_read, values))}")
    notes = "; ".join(note for note in said if note)
    return f"{one.declaration.help} ({notes})" if notes else one.declaration.help


def given(cls: type, options: dict[str, Any]) -> dict[str, Any]:
    """The declared parameters of `cls` that were given, with lists cut at commas."""
    chosen: dict[str, Any] = {}
    for one in parameters(cls):
        value = options.get(one.name)
        if value is None:
            if one.required:
                raise UsageError(f"parameter '{one.name}' is missing", f"pass {one.flag}: {one.help}")
            continue
        if one.declaration.many:
            try:
                value = tuple(one.type(part.strip()) for part in str(value).split(","))
            except ValueError:
                raise UsageError(
                    f"{one.flag} must be a list of numbers separated by commas; got {shortened(value)}",
                    "see --help",
                ) from None
        if one.declaration.writes:
            output.new_file(Path(str(value)), one.flag)  # before a long log is read
        chosen[one.name] = value
    return chosen


def taken(cls: type, options: dict[str, Any]) -> dict[str, Any]:
    """Take the declared parameters of `cls` that were given out of a command's arguments."""
    found = given(cls, options) if any(options.get(one.name) is not None for one in parameters(cls)) else {}
    for one in parameters(cls):
        options.pop(one.name, None)
    return found


def method(cls: type[qv.Mechanism], options: dict[str, Any], users: int | None) -> qv.Mechanism:
    """A mechanism with the options that were given; a public number of users may stand for some that were not."""
    chosen: Mapping[str, Any] = given(cls, options)
    return cls(**(chosen if users is None else cls.with_users(chosen)))


def with_signature(function: Callable[..., None], made: list[inspect.Parameter]) -> Callable[..., None]:
    """A command whose options are `made`; it receives them as keyword arguments."""

    def command(**options: Any) -> None:
        function(**options)

    command.__doc__ = function.__doc__
    command.__name__ = function.__name__
    # Typer reads the signature: positional arguments first, as Python demands.
    command.__signature__ = inspect.Signature(made)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in made}
    return command
