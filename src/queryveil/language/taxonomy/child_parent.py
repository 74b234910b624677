"""A taxonomy from a file of two columns, child and parent.

Names in such a file are public, so errors quote them.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from queryveil.errors import InputError, argument
from queryveil.language.taxonomy.morphology import lookup_key

LAYOUT = "each line has a child, a tab or comma, and its parent"


@dataclass(frozen=True)
class ChildParent:
    """What such a file says: names along the tree, their parents' numbers, and the file's digest."""

    names: list[str]
    parents: list[int]
    digest: str


@dataclass(frozen=True)
class _Row:
    line: int
    child: str
    parent: str
    """Empty for a root that has a line of its own."""


def read_child_parent(path: str | os.PathLike[str]) -> ChildParent:
    """Read and check: one root, one parent per child, no cycle."""
    try:
        content = Path(path).read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise InputError(
            f"the taxonomy '{Path(path).name or path}' cannot be read ({error.strerror})",
            f"name a file of child and parent in two columns, or leave {argument('taxonomy')} out for WordNet's nouns",
        ) from None
    except UnicodeDecodeError:
        raise InputError(f"the taxonomy {Path(path).name} is not UTF-8 text", "save it as UTF-8") from None
    parent_of = _read_parents(list(_read_rows(text)))
    root = _find_root(parent_of)
    names, parents = _along_the_tree(root, parent_of)
    if len(names) < len(parent_of):
        raise _cycle_error({child: row.parent for child, row in parent_of.items()}, set(names))
    return ChildParent(names, parents, hashlib.sha256(content).hexdigest())


def _read_rows(text: str) -> Iterator[_Row]:
    used = [
        (number, line)
        for number, line in enumerate(io.StringIO(text, newline=None), start=1)
        if line.strip() and not line.startswith("#")
    ]
    delimiter = "\t" if used and "\t" in used[0][1] else ","
    for place, (number, line) in enumerate(used):
        fields = [" ".join(field.split()) for field in _split_line(line, delimiter)]
        if len(fields) != 2:
            raise InputError(f"line {number} of the taxonomy has {len(fields)} fields instead of 2", LAYOUT)
        if not fields[0]:
            raise InputError(f"line {number} of the taxonomy has no child", LAYOUT)
        if place or [field.casefold() for field in fields] != ["child", "parent"]:
            yield _Row(number, *fields)


def _split_line(line: str, delimiter: str) -> list[str]:
    # In a tab-separated line quotes are part of a name; a name in a CSV file may have a comma between quotes.
    return line.split(delimiter) if delimiter == "\t" else next(csv.reader([line]))


def _read_parents(rows: list[_Row]) -> dict[str, _Row]:
    """Every name -> the row that says its parent; a parent without a row comes with an empty one."""
    if not rows:
        raise InputError("the taxonomy has no lines", LAYOUT)
    spelt: dict[str, tuple[str, int]] = {}
    parent_of: dict[str, _Row] = {}
    for row in rows:
        for name in filter(None, (row.child, row.parent)):
            known, line = spelt.setdefault(lookup_key(name), (name, row.line))
            if known != name:
                raise InputError(
                    f"{_printable_name(known)} (line {line}) and {_printable_name(name)} (line {row.line}) of the "
                    "taxonomy are the same name",
                    "case, spaces and underscores make no difference to words: spell them alike",
                )
        earlier = parent_of.setdefault(row.child, row)
        if earlier.parent != row.parent:
            raise InputError(
                f"{_printable_name(row.child)} has two parents in the taxonomy: {_printable_name(earlier.parent)} (line"
                f" {earlier.line}) and {_printable_name(row.parent)} (line {row.line})",
                "a tree has one parent for each child: remove one of the lines",
            )
    return parent_of


def _find_root(parent_of: dict[str, _Row]) -> str:
    """The only name without a parent. Parents without a line of their own are added to the names."""
    told = [child for child, row in parent_of.items() if not row.parent]
    untold: dict[str, int] = {}
    for row in parent_of.values():
        if row.parent and row.parent not in parent_of:
            untold.setdefault(row.parent, row.line)
    if told and untold:
        name, line = next(iter(untold.items()))
        raise InputError(
            f"the parent {_printable_name(name)} in line {line} of the taxonomy is unknown",
            f"give it a line of its own; the root is {_printable_name(told[0])}, which has one with an empty parent",
        )
    lines = {**{name: parent_of[name].line for name in told}, **untold}
    if len(lines) > 1:
        (one, line), (other, other_line), *more = lines.items()
        raise InputError(
            f"the taxonomy has {2 + len(more)} roots: {_printable_name(one)} (line {line}), {_printable_name(other)} "
            f"(line {other_line}){', ...' if more else ''}",
            "give all but one a parent",
        )
    if not lines:
        raise _cycle_error({child: row.parent for child, row in parent_of.items()}, set())
    parent_of |= {name: _Row(line, name, "") for name, line in untold.items()}
    return next(iter(lines))


def _along_the_tree(root: str, parent_of: Mapping[str, _Row]) -> tuple[list[str], list[int]]:
    """Names so that each is followed by all below it, siblings in file order; and the numbers of their parents."""
    children: dict[str, list[str]] = {}
    for child, row in parent_of.items():
        children.setdefault(row.parent, []).append(child)
    names: list[str] = []
    parents: list[int] = []
    waiting = [(root, -1)]
    while waiting:
        name, parent = waiting.pop()
        number = len(names)
        names.append(name)
        parents.append(parent)
        waiting.extend((child, number) for child in reversed(children.get(name, [])))
    return names, parents


def _cycle_error(parent_of: Mapping[str, str], reached: set[str]) -> InputError:
    """The error that names a cycle among the names that do not lead to the root."""
    name = next(child for child in parent_of if child not in reached)
    seen: dict[str, int] = {}
    while name not in seen:
        seen[name] = len(seen)
        name = parent_of[name]
    cycle = list(seen)[seen[name] :]
    shown = [_printable_name(one) for one in cycle[:10]] + (["..."] if len(cycle) > 10 else [])
    return InputError(
        f"the taxonomy has a cycle of {len(cycle)}: {' -> '.join([*shown, _printable_name(cycle[0])])}",
        "break it; the root is the child of no line, or of one with an empty parent",
    )


def _printable_name(name: str) -> str:
    """A name as errors quote it: printable, and no longer than a line."""
    short = name if len(name) <= 40 else name[:39] + "…"
    return "'" + "".join(letter if letter.isprintable() else "?" for letter in short) + "'"
