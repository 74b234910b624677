"""Help as it is printed: options in the groups that they declare, every name whole, in as few lines as it takes."""

from __future__ import annotations

import re
from collections import UserDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from queryveil.parameters import GROUPS, OUTPUT, READING
from queryveil.show.cli import console

_WIDEST_NAME = 26
_ARGUMENTS = "What it works on"
_OTHERS = "Options"
COMMON_READING = ("format", "columns", "engine", "session_gap_minutes")
"""Ways to read a log that every help explains; it names the others, which the help of `inspect` explains."""
_MANY = 6
_MORE_READING = "see queryveil inspect --help"
_CAPITAL = re.compile(r"^[A-Z](?=[a-z ])")
_HYPHEN = re.compile(r"(?<=\w)-(?=\w)")
_NOUNS = {"int": "N", "float": "NUMBER", "str": "TEXT", "Path": "FILE"}


class Command(TyperCommand):
    """A command whose help stands in groups."""

    def __init__(self, *given: Any, **named: Any) -> None:
        super().__init__(*given, **named | {"rich_markup_mode": None})

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        formatter.write_usage(ctx.command_path, " ".join(usage(self)))

    def format_options(self, ctx: Any, formatter: Any) -> None:
        _write_groups(self.get_params(ctx), formatter, whole=self.name == "inspect")


class Group(TyperGroup):
    """A group of commands, with one sentence for each."""

    listing = "Commands"

    def __init__(self, **named: Any) -> None:
        super().__init__(**named | {"rich_markup_mode": None})

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        formatter.write_usage(ctx.command_path, self.subcommand_metavar)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        self.format_commands(ctx, formatter)
        _write_groups(self.get_params(ctx), formatter)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        rows = [
            (name, _command_summary(self.commands[name]))
            for name in self.list_commands(ctx)
            if not self.commands[name].hidden
        ]
        with formatter.section(console.heading(self.listing)):
            _write_rows(rows, formatter)


class Lazy(Group):
    """A group some of whose commands are names until one of them is called, or all are listed."""

    def __init__(self, **named: Any) -> None:
        super().__init__(**named)
        self.commands: Any = _Made(self.commands, self.later())

    def later(self) -> Mapping[str, Callable[[App], None]]:
        """What adds the command of each name."""
        return {}

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)


class _Made(UserDict[str, Any]):
    """Commands by name, each made when it is asked for."""

    def __init__(self, made: Mapping[str, Any], later: Mapping[str, Callable[[App], None]]) -> None:
        super().__init__(made)
        self._later = later
        self.data.update(dict.fromkeys(later))

    def __getitem__(self, name: str) -> Any:
        if self.data[name] is None:
            self.data[name] = alone(name, self._later[name])
        return self.data[name]


def alone(name: str, add: Callable[[App], None]) -> Any:
    """One command with all its options, and no other."""
    group = App()
    # With a callback it stays a group, of which the command is one.
    group.callback()(_placeholder)
    add(group)
    return typer.main.get_command(group).commands[name]  # type: ignore[attr-defined] # it is a group


def _placeholder() -> None:
    """Stands for a command that is not loaded."""


class App(typer.Typer):
    """Typer whose commands and groups print their help as above."""

    def __init__(self, *, cls: type[Group] = Group, **named: Any) -> None:
        # Tracebacks with local variables would print queries.
        super().__init__(cls=cls, pretty_exceptions_enable=False, **named)

    def command(self, name: str | None = None, **named: Any) -> Callable[[Any], Any]:
        return super().command(name, **{"cls": Command} | named)


def _command_summary(command: Any) -> str:
    return " ".join((command.help or "").split("\n\n")[0].split())


def usage(command: Any) -> list[str]:
    """Return what has to be typed after the name of a command: arguments, and options that must be there."""
    if isinstance(command, TyperGroup):
        return [command.subcommand_metavar]
    arguments, needed = [], []
    for one in command.params:
        if one.param_type_name == "argument":
            arguments.append(_argument_text(one) if one.required else f"[{_argument_text(one)}]")
        elif one.required:
            needed.append(f"{one.opts[0]} {_value_placeholder(one)}")
    return [*arguments, *needed, "[OPTIONS]"]


def _argument_text(one: Any) -> str:
    return str(one.metavar or one.name.upper()).strip("[]")


_WHOLE = "\u2011"
"""A hyphen at which no line breaks: names such as add-remove stay whole. It is never printed."""


def _write_rows(rows: Iterable[tuple[str, str]], formatter: Any, **named: Any) -> None:
    start = len(formatter.buffer)
    formatter.write_dl([(first, _HYPHEN.sub(_WHOLE, second)) for first, second in rows], **named)
    formatter.buffer[start:] = [part.replace(_WHOLE, "-") for part in formatter.buffer[start:]]


def groups(params: Iterable[Any]) -> dict[str, list[Any]]:
    """Return the visible parameters of a command by what they are about; those that must be given come first."""
    found: dict[str, list[Any]] = {name: [] for name in (_ARGUMENTS, _OTHERS, *GROUPS)}
    for one in params:
        if one.hidden:
            continue
        if one.param_type_name == "argument":
            found[_ARGUMENTS].append(one)
        else:
            # Typer's own option has a sentence of its own.
            found[OUTPUT if one.name == "help" else one.rich_help_panel or _OTHERS].append(one)
    return {name: sorted(some, key=lambda one: not one.required) for name, some in found.items() if some}


def _write_groups(params: Iterable[Any], formatter: Any, *, whole: bool = True) -> None:
    shown = groups(params)
    more = [one for one in shown.get(READING, ()) if one.name not in COMMON_READING]
    if whole or len(more) < _MANY:
        more = []
    rows = {
        title: [(option_names(one), described(one)) for one in some if one not in more]
        for title, some in shown.items()
    }
    if more:
        names = (name for one in more for name in (*one.opts, *one.secondary_opts))
        rows[READING].append(("...", f"{', '.join(names)}: {_MORE_READING}"))
    widest = max(min(_WIDEST_NAME, len(name)) for some in rows.values() for name, _ in some)
    for title, some in rows.items():
        with formatter.section(console.heading(title)):
            # All groups have one second column, where the widest name of any of them ends.
            _write_rows([(first.ljust(widest), second) for first, second in some], formatter, col_max=widest)


def option_names(one: Any) -> str:
    """Return an option with its short form and its value, or an argument, as help lists it."""
    if one.param_type_name == "argument":
        return _argument_text(one)
    names = [*sorted(one.opts, key=len), *one.secondary_opts]
    value = _value_placeholder(one)
    return f"{', '.join(names)} {value}".rstrip()


def _value_placeholder(one: Any) -> str:
    """What stands for the value of an option."""
    if one.is_flag or one.count:
        return ""
    if one.metavar is not None:
        return str(one.metavar)
    described = one.type_descriptor
    if described.is_choice:
        return "|".join(map(str, described.choices or ()))
    return _NOUNS.get(one.bare_type(), "TEXT")


def described(one: Any) -> str:
    """Return what an option or an argument is, with its default."""
    text = _CAPITAL.sub(lambda first: first[0].lower(), (one.help or "").rstrip("."))
    if one.param_type_name == "argument":
        return text
    if one.required:
        return f"{text} (required)"
    plain = one.show_default and one.default not in (None, False, True) and not callable(one.default)
    return f"{text} (default: {one.default})" if plain else text
