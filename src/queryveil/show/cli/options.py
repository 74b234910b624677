"""Options that several commands share, and options made from declared parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from queryveil.errors import UsageError, shown_address
from queryveil.files import output
from queryveil.parameters import Parameter, parameters
from queryveil.show.cli.usage import shortened

_LONGEST_GAP = 10**9

Log = Annotated[str, typer.Argument(metavar="LOG", help="A file, a folder or a glob.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Format = Annotated[
    str | None, typer.Option("--format", help="aol, tsv, csv, jsonl or parquet; detected if left out.")
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="user=...,query=...",
        help="Where user, query, time, url, rank, session are: by name, or by number from 1.",
    ),
]
TimeFormat = Annotated[
    str | None, typer.Option("--time-format", help="How times are written, as for strptime.")
]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether the first line names the columns.")
]
Delimiter = Annotated[str | None, typer.Option("--delimiter", help="What separates columns.")]
MaxRejected = Annotated[
    float, typer.Option("--max-rejected", help="Stop if more than this share of rows is rejected.")
]
Engine = Annotated[str, typer.Option("--engine", help="duckdb, spark, spark://host:port, or an Ibis URL.")]
SessionGap = Annotated[
    int,
    typer.Option("--session-gap-minutes", max=_LONGEST_GAP, help="A longer pause starts a new session."),
]

_READING: dict[str, tuple[Any, Any]] = {
    "format": (Format, None),
    "columns": (Columns, None),
    "time_format": (TimeFormat, None),
    "header": (Header, None),
    "delimiter": (Delimiter, None),
    "max_rejected": (MaxRejected, 0.05),
    "engine": (Engine, "duckdb"),
    "session_gap_minutes": (SessionGap, 30),
}


def own_parameters(own: Iterable[tuple[str, Any, Any]]) -> list[inspect.Parameter]:
    """A command's own arguments and options: name, annotation and default of each."""
    return [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
        for name, kind, default in own
    ]


def reading_parameters() -> list[inspect.Parameter]:
    """The options that say how a log is read."""
    return own_parameters((name, kind, default) for name, (kind, default) in _READING.items())


def reading(options: dict[str, Any]) -> dict[str, Any]:
    """Take the reading options out of a command's arguments, as `queryveil.read` wants them."""
    taken = {name: options.pop(name) for name in _READING}
    taken["columns"] = column_map(taken["columns"]) if taken["columns"] else None
    if taken["delimiter"] == "\\t":
        taken["delimiter"] = "\t"
    return taken


def reading_words(options: Mapping[str, Any]) -> list[str]:
    """The reading options that were given, as they were typed: a command that is printed reads the log as it was read.

    To be asked before `reading` takes them out. An engine's address may hold a password, which is not repeated.
    """
    words: list[str] = []
    for name, (_, default) in _READING.items():
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
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise UsageError(
                "--columns is not a list of name=column", "write it like --columns user=1,time=2,query=3"
            )
        if name.strip() in columns:
            raise UsageError(f"--columns names '{name.strip()}' twice", "name each column once")
        # Not every digit of Unicode is a number: int() refuses a superscript.
        columns[name.strip()] = int(value) if value.strip().isdecimal() else value.strip()
    return columns


def declared(classes: Iterable[type], *, required: bool, seen: Iterable[str] = ()) -> list[inspect.Parameter]:
    """Command-line options for the declared parameters of classes; one option for equal names."""
    found: dict[str, list[tuple[str, Parameter]]] = {}
    for cls in classes:
        for one in parameters(cls):
            if one.name not in seen:
                found.setdefault(one.name, []).append((getattr(cls, "name", ""), one))
    return [_option(same, required=required) for same in found.values()]


def _option(same: list[tuple[str, Parameter]], *, required: bool) -> inspect.Parameter:
    """One option for parameters of one name; where classes mean different things by it, the help says which."""
    one = same[0][1]
    kind: Any = str if any(other.declaration.many for _, other in same) else one.type
    texts: dict[str, list[str]] = {}
    for owner, other in same:
        texts.setdefault(_help(other), []).append(owner)
    text = next(iter(texts))
    if len(texts) > 1:
        text = "; ".join(f"{', '.join(owners)}: {words}" for words, owners in texts.items())
    choices = {other.declaration.choices for _, other in same}
    few = len(choices) == 1 and one.declaration.choices and len(one.declaration.choices) < 4
    metavar = "|".join(one.declaration.choices or ()) if few else None
    return inspect.Parameter(
        one.name,
        inspect.Parameter.KEYWORD_ONLY,
        annotation=Annotated[
            kind | None, typer.Option(*_flags(one), help=text, metavar=metavar, show_default=False)
        ],
        default=inspect.Parameter.empty if required and one.required else None,
    )


def _flags(one: Parameter) -> tuple[str, ...]:
    return (one.flag, one.declaration.short) if one.declaration.short else (one.flag,)


def _help(one: Parameter) -> str:
    shown = None if one.default is None or one.required else one.default
    if shown in (None, False):
        return one.help
    return f"{one.help} (default: {','.join(map(str, shown)) if isinstance(shown, tuple) else shown})"


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


def foreign(cls: type, classes: Iterable[type], options: dict[str, Any]) -> list[str]:
    """Options that were given but belong to other classes."""
    own = {one.name for one in parameters(cls)}
    found = []
    for other in classes:
        for one in parameters(other):
            if one.name not in own and options.get(one.name) is not None and one.flag not in found:
                found.append(one.flag)
    return found


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
