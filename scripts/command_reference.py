"""Writes the option tables of docs/reference/commands.md and the man pages from the declared commands.

    python scripts/command_reference.py            # says whether they are current
    python scripts/command_reference.py --write    # makes them again

What is written by hand on the page stays: a table stands between two comments that name its command.
"""

from __future__ import annotations

import functools
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import typer

import queryveil as qv
from queryveil.errors import QueryveilError
from queryveil.parameters import READING
from queryveil.plugins import Registry
from queryveil.show.cli import help
from queryveil.show.cli.app import app
from queryveil.show.cli.commands import COMMANDS, loaded

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "reference" / "commands.md"
MANUALS = ROOT / "man"
READING_HEADING = "Options for reading a log"
_TABLE = re.compile(r"<!-- options: ([^>]+?) -->\n.*?<!-- end of options -->", re.DOTALL)
_METHODS = {"plan", "publish", "audit"}
"""Groups whose commands are methods; methods.md has a table for each."""


@dataclass(frozen=True)
class Entry:
    """A command with its path, such as `release verify`."""

    path: tuple[str, ...]
    command: Any

    @property
    def name(self) -> str:
        return " ".join(("queryveil", *self.path))

    @property
    def parts(self) -> list[Entry]:
        commands = getattr(self.command, "commands", {})
        names = [name for name in commands if name not in plugins() and not commands[name].hidden]
        return [Entry((*self.path, name), commands[name]) for name in names]

    @property
    def paragraphs(self) -> list[str]:
        """What the command says of itself."""
        text = textwrap.dedent(self.command.help or "").strip()
        return [" ".join(part.split()) for part in text.split("\n\n")]

    @property
    def options(self) -> list[Any]:
        return [
            one
            for one in self.command.params
            if one.param_type_name == "option" and not one.hidden and one.name != "help"
        ]

    @property
    def arguments(self) -> list[Any]:
        return [one for one in self.command.params if one.param_type_name == "argument"]


@functools.cache
def commands() -> list[Entry]:
    """Return the commands, each with all its options; the program itself comes first."""
    root: Any = typer.main.get_command(app)
    return [
        Entry((), root),
        *(Entry((name,), loaded(name)) for name in root.commands if name not in plugins()),
    ]


def plugins() -> set[str]:
    """Return the names of commands, methods, and attacks that other packages add; their own pages document them."""
    registries: tuple[Registry[Any], ...] = (COMMANDS, qv.MECHANISMS, qv.ATTACKS)
    return {name for registry in registries for name in registry.plugins}


def leaves(entries: Iterable[Entry]) -> Iterator[Entry]:
    """Return the commands that have a table of their own."""
    for entry in entries:
        if entry.path[:1] and entry.path[0] in _METHODS and len(entry.path) == 1:
            yield shared_options(entry)
            yield from (one for one in entry.parts if one.path[1] == "all")
        elif entry.path and entry.parts:
            yield from leaves(entry.parts)
        else:
            yield entry


def shared_options(group: Entry) -> Entry:
    """Return a command whose options are those that all methods of a group share."""
    methods = [one for one in group.parts if one.path[1] != "all"]
    names = set.intersection(*({one.name for one in method.options} for method in methods))
    first = methods[0]
    common = [one for one in first.options if one.name in names]
    return Entry(group.path, help.Command(group.path[0], params=common, help=group.command.help))


# -- the page ------------------------------------------------------------------------------------------------


def reading_names() -> set[str]:
    inspect = next(one for one in commands() if one.path == ("inspect",))
    return {one.name for one in inspect.options if one.rich_help_panel == READING}


def table(entry: Entry, left_out: Iterable[str] = ()) -> str:
    """Return the options of a command as a table in Markdown."""
    rows = [one for one in entry.options if one.name not in set(left_out)]
    lines = [f"| `{cell(help.option_names(one))}` | {cell(help.described(one))} |" for one in rows]
    return "\n".join(["| option | does |", "|---|---|", *lines])


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def page(current: str) -> str:
    """Return the page with its tables made again; it must have a table for each command, and for no other."""
    shared = reading_names()
    tables = {}
    for entry in leaves(commands()):
        names = {one.name for one in entry.options}
        takes_all = shared <= names
        made = table(entry, shared if takes_all else ())
        if takes_all:
            anchor = READING_HEADING.lower().replace(" ", "-")
            made += f"\n\nIt also takes the [{READING_HEADING}](#{anchor})."
        tables[entry.name] = made
        if entry.path == ("inspect",):
            tables[READING_HEADING] = table(entry, names - shared)
    marked = _TABLE.findall(current)
    if sorted(marked) != sorted(tables):
        more, less = sorted(set(tables) - set(marked)), sorted(set(marked) - set(tables))
        raise SystemExit(f"{PAGE.name}: no table for {more}; a table for {less}, which does not exist")
    return _TABLE.sub(lambda found: marked_table(found[1], tables[found[1]]), current)


def marked_table(name: str, made: str) -> str:
    return f"<!-- options: {name} -->\n{made}\n<!-- end of options -->"


# -- manuals -------------------------------------------------------------------------------------------------


def manuals() -> dict[str, str]:
    """Return the man pages by file name: one of the program, and one of each command."""
    entries = commands()
    pages = {}
    for entry in entries:
        name = "-".join(("queryveil", *entry.path))
        others = [f"queryveil-{one.path[0]}" for one in entries if one.path and one.path != entry.path]
        seen = others if not entry.path else ["queryveil"]
        pages[f"{name}.1"] = "\n".join([*manual(name, entry), *see_also(seen)]) + "\n"
    return pages


def manual(name: str, entry: Entry) -> Iterator[str]:
    version = metadata.version("queryveil")
    yield f'.TH "{name.upper()}" "1" "" "queryveil {version}" "queryveil"'
    yield from (".SH NAME", f"{roff(name)} \\- {roff(entry.paragraphs[0].rstrip('.'))}")
    yield from (".SH SYNOPSIS", f".B {roff(entry.name)}", roff(" ".join(help.usage(entry.command))))
    yield ".SH DESCRIPTION"
    for paragraph in entry.paragraphs:
        yield from (".PP", roff(paragraph))
    if not entry.path:
        yield ".SH COMMANDS"
        for other in commands()[1:]:
            yield from (".TP", f".B {roff(other.path[0])}", roff(other.paragraphs[0]))
        yield from option_list(entry, ".SH")
    elif entry.path[0] in _METHODS:
        yield from option_list(shared_options(entry), ".SH")
        yield ".SH METHODS"
        common = {one.name for one in shared_options(entry).options}
        for method in entry.parts:
            yield from subcommand(method, common)
    elif entry.parts:
        yield ".SH COMMANDS"
        for other in entry.parts:
            yield from subcommand(other, ())
    else:
        yield from option_list(entry, ".SH")
    yield from exit_status()


def subcommand(entry: Entry, left_out: Iterable[str]) -> Iterator[str]:
    yield f'.SS "{roff(" ".join((entry.path[-1], *help.usage(entry.command))))}"'
    for paragraph in entry.paragraphs:
        yield from (".PP", roff(paragraph))
    for one in [*entry.arguments, *entry.options]:
        if one.name not in left_out:
            yield from item(one)


def option_list(entry: Entry, heading: str) -> Iterator[str]:
    for title, params in help.groups([*entry.arguments, *entry.options]).items():
        if params:
            yield f"{heading} {roff(title.upper())}"
            for one in params:
                yield from item(one)


def item(one: Any) -> Iterator[str]:
    yield from (".TP", f".B {roff(help.option_names(one))}", roff(help.described(one)))


def exit_status() -> Iterator[str]:
    """Return the exit codes and the kinds of error that they stand for."""
    kinds: dict[int, list[str]] = {}
    for error in descendants(QueryveilError):
        kinds.setdefault(error.exit_code, []).append(error.kind)
    yield from (".SH EXIT STATUS", ".TP", ".B 0", "done")
    for code, names in sorted(kinds.items()):
        yield from (".TP", f".B {code}", roff(", ".join(sorted(set(names)))))


def descendants(cls: type[QueryveilError]) -> Iterator[type[QueryveilError]]:
    for one in cls.__subclasses__():
        yield one
        yield from descendants(one)


def see_also(names: Iterable[str]) -> Iterator[str]:
    yield from (".SH SEE ALSO", ", ".join(rf"\fB{roff(name)}\fR(1)" for name in names))


def roff(text: str) -> str:
    """Return text as roff prints it: no escapes, no requests at the beginning of a line, hyphens that are hyphens."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return re.sub(r"^([.'])", r"\\&\1", escaped, flags=re.MULTILINE)


# -- both ----------------------------------------------------------------------------------------------------


def files() -> dict[Path, str]:
    """Return what each generated file should hold."""
    made = {PAGE: page(PAGE.read_text(encoding="utf-8"))}
    return made | {MANUALS / name: text for name, text in manuals().items()}


def main(words: list[str]) -> int:
    made = files()
    extra = [file for file in MANUALS.glob("*.1") if file not in made]
    if "--write" in words:
        MANUALS.mkdir(exist_ok=True)
        for file, text in made.items():
            file.write_text(text, encoding="utf-8")
        for file in extra:
            file.unlink()
        return 0
    stale = [
        file.name for file, text in made.items() if not file.is_file() or file.read_text("utf-8") != text
    ]
    stale += [file.name for file in extra]
    told = f"not current: {', '.join(stale)}; run python scripts/command_reference.py --write"
    sys.stdout.write(f"{told if stale else 'current'}\n")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
