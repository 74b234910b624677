"""One JSON object per line; a column is a key, or a path of keys with dots between."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from queryveil.errors import InputError, UsageError
from queryveil.reading.columns import ALIASES, as_number
from queryveil.reading.formats import keys
from queryveil.reading.model import Head, Progress, ReadOptions, Source, Staged
from queryveil.reading.staging import LEFT_OUT, Extraction, stage_lines
from queryveil.reading.times import literal
from queryveil.reading.validation import BLANK_LINE, judge_sql

Rows = Sequence[Mapping[str, Any]]

_LOOKED_AT = 100
# What a value must not be, unless it is a string: an object, an array, a truth value, a number JSON lacks.
_SUSPECT = r"(?s)[\[{].*|true|false|-?(NaN|Inf|Infinity)"
_SUSPECT_PARTS = ("[", "true", "false", "NaN", "Inf")
# Functions on JSON raise an error for text that is not JSON. Valid text that starts with a brace is an object; asking
# for its type would parse it once more.
_OBJECTS = (
    "(SELECT *, CASE WHEN problem IS NULL AND json_valid(text) AND regexp_matches(text, '^\\s*[{]') THEN text END AS j "
    "FROM chunk)"
)
NOT_JSON = "not JSON"


class Jsonl:
    name: ClassVar[str] = "jsonl"
    help: ClassVar[str] = "JSON lines: one object per line, columns by key (or path.to.key)"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson")
    takes: ClassVar[tuple[str, ...]] = ("null", "where")

    def matches(self, head: Head) -> bool:
        # The name decides where it can: the first line is somebody's row.
        return head.suffix in self.suffixes or _object(head.first_line.lstrip()) is not None

    def stage(self, source: Source, options: ReadOptions, into: Path, progress: Progress | None) -> Staged:
        pointers = _places(options.columns or {})
        rows = [row for row in map(_object, source.head.lines[:_LOOKED_AT]) if row is not None]
        times = (keys.value_at(row, pointers["time"]) for row in rows if "time" in pointers)
        extraction = Extraction(
            columns=list(pointers),
            sql=functools.partial(_sql_for_chunk, pointers, options),
            mapping={name: str(at) for name, at in (options.columns or {}).items() if at},
            times=[str(time) for time in times if time is not None],
        )
        staged = stage_lines(source, extraction, options, into, progress, self.name)
        _require_filled(options, staged, repr(source.files[0].label), rows)
        return replace(
            staged,
            ways_out={**staged.ways_out, **_ways_out(pointers, options, rows)},
            notes=tuple(_unread_columns(pointers, options, rows)),
        )


def _object(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


# Where a column is found must not depend on the rows, or one row could move a column for all others. So each
# column has a fixed list of places, and each row is looked up in all of them, in order.
Pointers = Mapping[str, tuple[str, ...]]


def _usual() -> Pointers:
    """The usual keys of every column, in the usual spellings."""
    return {
        name: tuple(dict.fromkeys(_pointer([key]) for alias in aliases for key in _spellings(alias)))
        for name, aliases in ALIASES.items()
    }


def _places(columns: Mapping[str, str | int]) -> Pointers:
    """Where the user says, and for columns that are not named, under the usual keys that are not named either."""
    named = _named({name: at for name, at in columns.items() if at})
    # Without a header, only rows could tell which other columns there are, and no row may decide that.
    if {"user", "query"} <= named.keys():
        return named
    taken = {pointer for pointers in named.values() for pointer in pointers}
    usual = {name: tuple(one for one in all_of if one not in taken) for name, all_of in _usual().items()}
    return {**named, **{name: all_of for name, all_of in usual.items() if name not in columns}}


def _spellings(alias: str) -> tuple[str, ...]:
    first, *rest = alias.split("_")
    camel = first + "".join(part.capitalize() for part in rest)
    last = camel[:-2] + "ID" if camel.endswith(("Id", "id")) and camel != "sid" else camel
    return alias, camel, camel[:1].upper() + camel[1:], last


def _named(columns: Mapping[str, str | int]) -> Pointers:
    """Where the user says: a path of keys, or one key that holds dots itself."""
    if any(as_number(at) is not None for at in columns.values()):
        raise UsageError("JSON lines have no column numbers", "give keys, as in --columns user=user_id")
    return {
        name: tuple(dict.fromkeys((_pointer(str(at).split(".")), _pointer([str(at)]))))
        for name, at in columns.items()
    }


def _pointer(steps: Sequence[str]) -> str:
    """An RFC 6901 pointer, in which every key can be written."""
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)


def _steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _sql_for_chunk(pointers: Pointers, options: ReadOptions, cursor: Any) -> str:
    """Return SQL that looks up only the places whose first key occurs in the chunk.

    The result is the same. Looking up all two hundred usual spellings in every row takes five times as long.
    """
    found = cursor.execute(
        f"SELECT DISTINCT unnest(k) FROM (SELECT DISTINCT json_keys(j) AS k FROM {_OBJECTS} WHERE j IS NOT NULL)"  # noqa: S608
    ).fetchall()
    keys = {str(key) for (key,) in found}
    # One place of each column stays in any case, so that the column exists.
    return _sql(
        {
            name: tuple(one for one in all_of if _steps(one)[0] in keys) or all_of[:1]
            for name, all_of in pointers.items()
        },
        options,
    )


def _sql(pointers: Pointers, options: ReadOptions) -> str:
    places = [(name, literal(pointer)) for name, all_of in pointers.items() for pointer in all_of]
    found = [(name, place, f"v[{number}]") for number, (name, place) in enumerate(places, start=1)]
    values = ", ".join(
        f"coalesce({', '.join(value for other, _, value in found if other == name)}, NULL) AS value_{name}"
        for name in pointers
    )
    # Types are looked up only where the line holds a character or word that a value of a wrong type has.
    suspect = " OR ".join(
        ["contains(substr(j, 2), '{')", *(f"contains(j, '{one}')" for one in _SUSPECT_PARTS)]
    )
    wrong_type = " OR ".join(
        f"regexp_full_match({value}, {literal(_SUSPECT)}) AND json_type(j, {place}) <> 'VARCHAR'"
        for _, place, value in found
    )
    asked = " OR ".join(f"json_exists(j, {place})" for name, place, _ in found if name == "query")
    holds = " AND ".join(
        one.sql(f"json_extract_string(j, {literal(_pointer(one.column.split('.')))})")
        for one in options.conditions
    )
    # A line that is no JSON object is judged: it is not known whether a condition holds of it.
    skipped = f", CASE WHEN j IS NOT NULL AND NOT ({holds}) THEN '{LEFT_OUT}' END AS skipped" if holds else ""
    relation = (
        "(SELECT * REPLACE (CASE WHEN problem IS NOT NULL THEN problem "  # noqa: S608 (literals are quoted)
        f"WHEN text = '' THEN '{BLANK_LINE}' WHEN j IS NULL THEN '{NOT_JSON}' "
        f"WHEN value_query IS NULL AND NOT ({asked}) THEN 'no such field' "
        f"WHEN ({suspect}) AND ({wrong_type}) THEN 'wrong type' END AS problem) FROM "
        f"(SELECT *, {values}{skipped} FROM "
        f"(SELECT *, json_extract_string(j, [{', '.join(place for _, place in places)}]) AS v FROM {_OBJECTS})))"
    )
    return judge_sql(
        relation,
        {name: f"value_{name}" for name in pointers},
        time_format=options.time_format,
        nulls=options.null or (),
        also=("skipped",) if holds else (),
    )


def _require_filled(options: ReadOptions, staged: Staged, where: str, rows: Rows) -> None:
    """A key that was named but never seen is a typing error, not an empty column."""
    for name, at in (options.columns or {}).items():
        if at and staged.rows and name not in staged.filled:
            raise InputError(
                f"no row of {where} has a value at {at!r}", f"correct --columns: {keys.shown(rows)}"
            )


def _unread_columns(pointers: Pointers, options: ReadOptions, rows: Rows) -> Iterator[str]:
    """Yield columns that most of the first rows have under a usual key, and that are not read."""
    for name, usual in _usual().items():
        if name in pointers or name in (options.columns or {}):
            continue
        key = next(
            (one for one in usual if 2 * sum(keys.has_value(row, [one]) for row in rows) > len(rows)), None
        )
        if key is not None:
            path = ".".join(_steps(key))
            yield (
                f"the key {path!r} is not read, because user and query are both named; to read it, add "
                f"--columns {name}={path} to them"
            )


def _ways_out(pointers: Pointers, options: ReadOptions, rows: Rows) -> dict[str, str]:
    """For a column that none of the first rows has: what was looked for, and what there is."""
    found = {}
    for name, reason in (("query", "no such field"), ("user", "no user"), ("time", "bad time")):
        if name not in pointers or any(keys.has_value(row, pointers[name]) for row in rows):
            continue
        named = (options.columns or {}).get(name)
        sought = f"no {named!r}" if named is not None else f"none of {', '.join(ALIASES[name])}"
        or_none = (
            " (or time= if the log has no times)"
            if name == "time" and "time" not in (options.columns or {})
            else ""
        )
        found[reason] = (
            f"say where the {name} is with --columns {name}=...{or_none}: there is {sought} in the first rows; "
            f"{keys.shown(rows)}"
        )
    return found
