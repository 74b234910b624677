"""One JSON object per line; a column is a key, or a path of keys with dots between."""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from queryveil.errors import InputError, UsageError, argument
from queryveil.reading.columns import ALIASES, as_number
from queryveil.reading.json_fields import json_pointer, object_sql, parse_object, texts_sql
from queryveil.reading.model import Extraction, Format, Head, ReadOptions, Source, Staged
from queryveil.reading.times import literal
from queryveil.reading.validation import (
    BAD_TIME,
    BLANK_LINE,
    FILTERED_OUT,
    NO_FIELD,
    NO_USER,
    NOT_JSON,
    WRONG_TYPE,
    validate_sql,
)

Rows = Sequence[Mapping[str, Any]]

_KEY = re.compile(r"[A-Za-z_][A-Za-z_-]{0,29}(\.[A-Za-z_][A-Za-z_-]{0,29}){0,3}")
_MAX_KEYS = 12
_DEEPEST = 3
_MISSING = object()
# What a value must not be, unless it is a string: an object, an array, a truth value, a number JSON lacks.
_SUSPECT = r"(?s)[\[{].*|true|false|-?(NaN|Inf|Infinity)"
_SUSPECT_LINES = ("%{%{%", "%[%", "%true%", "%false%", "%NaN%", "%Inf%")
_OBJECTS = f"(SELECT *, {object_sql('text')} AS j FROM chunk)"  # noqa: S608 (our own expressions)


def _is_jsonl(head: Head) -> bool:
    # The name decides where it can: the first line is a row.
    return head.suffix in FORMAT.suffixes or parse_object(head.first_line.lstrip()) is not None


def _extract(source: Source, options: ReadOptions) -> Extraction:
    pointers = _choose_pointers(options.columns or {})
    rows = [row for row in map(parse_object, source.head.first_lines) if row is not None]
    label = repr(source.files[0].label)
    times = (_value_at(row, pointers["time"]) for row in rows if "time" in pointers)
    return Extraction(
        columns=list(pointers),
        sql=functools.partial(_sql_for_chunk, pointers, options),
        mapping={name: str(at) for name, at in (options.columns or {}).items() if at},
        times=[str(time) for time in times if time is not None],
        hints=_missing_key_hints(pointers, options, rows),
        notes=tuple(_describe_unread_columns(pointers, options, rows)),
        check=lambda staged: _require_filled(options, staged, label, rows),
    )


# Where a column is found must not depend on the rows, or one row could move a column for all others. So each
# column has a fixed list of places, and each row is looked up in all of them, in order.
Pointers = Mapping[str, tuple[str, ...]]


def _usual_pointers() -> Pointers:
    """Return the usual keys of every column, in the usual spellings."""
    return {
        name: tuple(dict.fromkeys(json_pointer([key]) for alias in aliases for key in _key_spellings(alias)))
        for name, aliases in ALIASES.items()
    }


def _choose_pointers(columns: Mapping[str, str | int]) -> Pointers:
    """Return the pointers that the user named, and for other columns those of usual keys that the user did not name."""
    named = _named_pointers({name: at for name, at in columns.items() if at})
    # Without a header, only rows could tell which other columns there are, and no row may decide that.
    if {"user", "query"} <= named.keys():
        return named
    taken = {pointer for pointers in named.values() for pointer in pointers}
    usual = {
        name: tuple(one for one in all_of if one not in taken) for name, all_of in _usual_pointers().items()
    }
    return {**named, **{name: all_of for name, all_of in usual.items() if name not in columns}}


def _key_spellings(alias: str) -> tuple[str, ...]:
    first, *rest = alias.split("_")
    camel = first + "".join(part.capitalize() for part in rest)
    last = camel[:-2] + "ID" if camel.endswith(("Id", "id")) and camel != "sid" else camel
    return alias, camel, camel[:1].upper() + camel[1:], last


def _named_pointers(columns: Mapping[str, str | int]) -> Pointers:
    """Return pointers to the keys that the user named: a path of keys, or one key that contains dots."""
    if any(as_number(at) is not None for at in columns.values()):
        raise UsageError(
            "JSON lines have no column numbers",
            f"give keys, as in {argument('columns', {'user': 'user_id'})}",
        )
    return {
        name: tuple(dict.fromkeys((json_pointer(str(at).split(".")), json_pointer([str(at)]))))
        for name, at in columns.items()
    }


def _pointer_steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _sql_for_chunk(pointers: Pointers, options: ReadOptions, cursor: Any) -> str:
    """Return SQL that looks up only the places whose first key occurs in the chunk.

    The result is the same. Looking up all two hundred usual spellings in every row takes five times as long.
    """
    found = cursor.execute(
        "SELECT DISTINCT unnest(TRY(json_keys(text))) FROM chunk WHERE problem IS NULL"
    ).fetchall()
    keys = {str(key) for (key,) in found}
    # One place of each column stays in any case, so that the column exists.
    return _extraction_sql(
        {
            name: tuple(one for one in all_of if _pointer_steps(one)[0] in keys) or all_of[:1]
            for name, all_of in pointers.items()
        },
        options,
    )


def _extraction_sql(pointers: Pointers, options: ReadOptions) -> str:
    places = [(name, literal(pointer)) for name, all_of in pointers.items() for pointer in all_of]
    found = [(name, place, f"v[{number}]") for number, (name, place) in enumerate(places, start=1)]
    values = ", ".join(
        f"coalesce({', '.join(value for other, _, value in found if other == name)}, NULL) AS value_{name}"
        for name in pointers
    )
    # Types are looked up only where the line holds a character or word that a value of a wrong type has.
    suspect = " OR ".join(f"j LIKE '{pattern}'" for pattern in _SUSPECT_LINES)
    wrong_type = " OR ".join(
        f"regexp_full_match({value}, {literal(_SUSPECT)}) AND json_type(j, {place}) <> 'VARCHAR'"
        for _, place, value in found
    )
    has_query = " OR ".join(f"json_exists(j, {place})" for name, place, _ in found if name == "query")
    holds = " AND ".join(
        one.sql(f"json_extract_string(j, {literal(json_pointer(one.column.split('.')))})")
        for one in options.conditions
    )
    # It is not known whether a condition holds of a line that is no JSON object, so such a line is validated.
    skipped = (
        f", CASE WHEN j IS NOT NULL AND NOT ({holds}) THEN '{FILTERED_OUT}' END AS skipped" if holds else ""
    )
    relation = (
        "(SELECT * REPLACE (CASE WHEN problem IS NOT NULL THEN problem "  # noqa: S608 (literals are quoted)
        f"WHEN text = '' THEN '{BLANK_LINE}' WHEN j IS NULL THEN '{NOT_JSON}' "
        f"WHEN value_query IS NULL AND NOT ({has_query}) THEN '{NO_FIELD}' "
        f"WHEN ({suspect}) AND ({wrong_type}) THEN '{WRONG_TYPE}' END AS problem) FROM "
        f"(SELECT *, {values}{skipped} FROM "
        f"(SELECT *, {texts_sql('j', [one for all_of in pointers.values() for one in all_of])} AS v FROM {_OBJECTS})))"
    )
    return validate_sql(
        relation,
        {name: f"value_{name}" for name in pointers},
        time_format=options.time_format,
        nulls=options.null or (),
        also=("skipped",) if holds else (),
    )


def _require_filled(options: ReadOptions, staged: Staged, where: str, rows: Rows) -> None:
    """Refuse a key that the user named and no row has: it is a typing error, not an empty column."""
    for name, at in (options.columns or {}).items():
        if at and staged.rows and name not in staged.filled:
            raise InputError(
                f"no row of {where} has a value at {at!r}",
                f"correct {argument('columns')}: {_describe_keys(rows)}",
            )


def _describe_unread_columns(pointers: Pointers, options: ReadOptions, rows: Rows) -> Iterator[str]:
    """Yield columns that most of the first rows have under a usual key, and that are not read."""
    for name, usual in _usual_pointers().items():
        if name in pointers or name in (options.columns or {}):
            continue
        key = next(
            (one for one in usual if 2 * sum(_has_value(row, [one]) for row in rows) > len(rows)), None
        )
        if key is not None:
            path = ".".join(_pointer_steps(key))
            yield (
                f"the key {path!r} is not read, because user and query are both named; to read it, add "
                f"{argument('columns', {str(name): str(path)})} to them"
            )


def _missing_key_hints(pointers: Pointers, options: ReadOptions, rows: Rows) -> dict[str, str]:
    """Return hints for columns that none of the first rows has: the keys that were looked up, and those that exist."""
    found = {}
    for name, reason in (("query", NO_FIELD), ("user", NO_USER), ("time", BAD_TIME)):
        if name not in pointers or any(_has_value(row, pointers[name]) for row in rows):
            continue
        named = (options.columns or {}).get(name)
        sought = f"no {named!r}" if named is not None else f"none of {', '.join(ALIASES[name])}"
        or_none = (
            " (or time= if the log has no times)"
            if name == "time" and "time" not in (options.columns or {})
            else ""
        )
        found[reason] = (
            f"say where the {name} is with {argument('columns', {name: '...'})}{or_none}: "
            f"there is {sought} in the first rows; "
            f"{_describe_keys(rows)}"
        )
    return found


def _common_keys(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the keys, and paths of keys, that messages may quote: usual names, and names in most rows, two at least.

    Some logs have a query or a user as a key. Such a key is not in most rows.
    """
    counts = Counter(path for row in rows for path in set(_key_paths(row)))
    usual = {alias for aliases in ALIASES.values() for alias in aliases}
    return [
        path
        for path, count in counts.items()
        if path.lower() in usual or (_KEY.fullmatch(path) and count > 1 and 2 * count > len(rows))
    ]


def _describe_keys(rows: Sequence[Mapping[str, Any]]) -> str:
    """Describe the keys for a message, which never quotes a value."""
    keys = sorted(_common_keys(rows))
    if not keys:
        return "no key of the first rows looks like the name of a column"
    more = " and more" if len(keys) > _MAX_KEYS else ""
    return (
        f"the first rows have {', '.join(keys[:_MAX_KEYS])}{more} (only names that most rows share are shown)"
    )


def _has_value(row: Mapping[str, Any], pointers: Iterable[str]) -> bool:
    """Return whether one of these RFC 6901 pointers leads to a value."""
    return any(_value_by_pointer(row, pointer) is not _MISSING for pointer in pointers)


def _value_at(row: Mapping[str, Any], pointers: Iterable[str]) -> Any:
    """Return the first value to which one of these RFC 6901 pointers leads; None if there is none."""
    values = (_value_by_pointer(row, pointer) for pointer in pointers)
    return next((value for value in values if value is not _MISSING), None)


def _value_by_pointer(row: Any, pointer: str) -> Any:
    for step in _pointer_steps(pointer):
        if not isinstance(row, Mapping) or step not in row:
            return _MISSING
        row = row[step]
    return row


def _key_paths(row: Mapping[str, Any], before: str = "", deep: int = 1) -> Iterator[str]:
    for key, value in row.items():
        if isinstance(value, Mapping) and value and deep < _DEEPEST:
            yield from _key_paths(value, f"{before}{key}.", deep + 1)
        else:
            yield f"{before}{key}"


FORMAT = Format(
    name="jsonl",
    help="JSON lines: one object per line, columns by key (or path.to.key)",
    suffixes=(".jsonl", ".ndjson"),
    options=("null", "where"),
    recognize=_is_jsonl,
    precedence=1,
    extract=_extract,
    # A key that the user named must have a value in some file, not in each.
    can_split=lambda _, options: not options.columns,
)
