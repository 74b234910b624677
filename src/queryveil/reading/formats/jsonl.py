"""One JSON object per line; a column is a key, or a path of keys with dots between."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from queryveil.errors import InputError, UsageError
from queryveil.reading import json_values, plain_rows, text_places
from queryveil.reading.columns import ALIASES, as_number
from queryveil.reading.formats import keys
from queryveil.reading.json_loops import ABSENT, OBJECT
from queryveil.reading.lines import read_lines
from queryveil.reading.model import Head, Progress, ReadOptions, Source, Staged
from queryveil.reading.staging import LEFT_OUT, Stager, chunks, conform_sql, connect
from queryveil.reading.times import literal

Rows = Sequence[Mapping[str, Any]]
Carefully = Callable[[pa.Table], pa.Table]

_LOOKED_AT = 100
# What a value must not be, unless it is a string: an object, an array, a truth value, a number JSON lacks.
_SUSPECT = r"(?s)[\[{].*|true|false|-?(NaN|Inf|Infinity)"


class Jsonl:
    name: ClassVar[str] = "jsonl"
    help: ClassVar[str] = "JSON lines: one object per line, columns by key (or path.to.key)"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson")
    takes: ClassVar[tuple[str, ...]] = ("null", "where")

    def matches(self, head: Head) -> bool:
        # The name decides where it can: the first line is somebody's row.
        return head.suffix in self.suffixes or _object(head.first_line.lstrip()) is not None

    def stage(self, source: Source, options: ReadOptions, into: Path, progress: Progress | None) -> Staged:
        pointers = _usual() if options.columns is None else _named(options.columns)
        made: dict[tuple[tuple[str, ...], ...], str] = {}
        left_out = 0
        wanted = _wanted(pointers) if _is_usual(source, options) else None
        with connect(into, options) as connection, Stager(into, list(pointers), source) as stager:

            def carefully(rows: pa.Table) -> pa.Table:
                connection.register("chunk", rows)
                present = _present(connection, pointers)
                if (which := tuple(present.values())) not in made:
                    made[which] = _sql(present, options)
                judged = connection.execute(made[which]).to_arrow_table()
                connection.unregister("chunk")
                return judged

            for chunk in chunks(read_lines(source, None, progress)):
                judged = carefully(chunk) if wanted is None else _quickly(chunk, wanted, carefully)
                left_out += chunk.num_rows - judged.num_rows
                stager.add(judged)
            rows = [row for row in map(_object, source.head.lines[:_LOOKED_AT]) if row is not None]
            _require_filled(options, stager, repr(source.files[0].label), rows)
            return replace(
                stager.finish(self.name),
                ways_out=_ways_out(pointers, options, rows),
                passed_over={LEFT_OUT: left_out} if options.conditions else {},
                mapping={name: str(at) for name, at in (options.columns or {}).items()},
            )


def _is_usual(source: Source, options: ReadOptions) -> bool:
    """Whether nothing is asked for that the rules of plain rows do not know, of enough lines to be worth it."""
    asked = options.time_format or options.null or options.patterns or options.conditions
    return not asked and source.size >= text_places.WORTH_COMPILING


def _quickly(chunk: pa.Table, wanted: json_values.Wanted, carefully: Carefully) -> pa.Table:
    """The rows of a chunk: plain objects by a compiled loop, all others by SQL."""
    found = wanted.find(chunk.column("text"), plain_rows.whole(chunk))
    # Without a key for the query, or with a list or a truth value in a column, SQL says what is wrong.
    sure = found.sure & (found.kind("query") != ABSENT)
    for name in wanted.columns:
        sure &= found.kind(name) < OBJECT
    columns = {name: found.placed(name) for name in wanted.columns}
    return plain_rows.quickly(chunk, columns, sure, carefully, compiled=True)


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


def _wanted(pointers: Pointers) -> json_values.Wanted | None:
    """The same places for the compiled loop; None where one place is for two columns."""
    paths = {name: [_steps(pointer) for pointer in all_of] for name, all_of in pointers.items()}
    places = [tuple(path) for all_of in paths.values() for path in all_of]
    return json_values.Wanted(paths) if len(set(places)) == len(places) else None


def _steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]


def _present(connection: Any, pointers: Pointers) -> Pointers:
    """The places that lead somewhere in some row of `chunk`: a key that no row has need not be looked for in each.

    What is found is the same, and asking for all of two hundred usual spellings takes five times as long.
    """
    found = connection.execute(
        "SELECT DISTINCT unnest(json_keys(j)) FROM (SELECT CASE WHEN problem IS NULL AND json_valid(text) "
        "AND regexp_matches(text, '^\\s*[{]') THEN text END AS j FROM chunk)"
    ).fetchall()
    keys = {str(key) for (key,) in found}

    def leads(pointer: str) -> bool:
        return _steps(pointer)[0] in keys

    # One place stays in any case, so that the column is there.
    return {name: tuple(filter(leads, all_of)) or all_of[:1] for name, all_of in pointers.items()}


def _sql(pointers: Pointers, options: ReadOptions) -> str:
    places = [(name, literal(pointer)) for name, all_of in pointers.items() for pointer in all_of]
    found = [(name, place, f"v[{number}]") for number, (name, place) in enumerate(places, start=1)]
    values = {
        name: f"coalesce({', '.join(value for other, _, value in found if other == name)}, NULL)"
        for name in pointers
    }
    wrong_type = " OR ".join(
        f"regexp_full_match({value}, {literal(_SUSPECT)}) AND json_type(j, {place}) <> 'VARCHAR'"
        for _, place, value in found
    )
    asked = " OR ".join(f"json_exists(j, {place})" for name, place, _ in found if name == "query")
    relation = (
        "(SELECT file, line, lines, text, CASE "  # noqa: S608 (literals are quoted)
        "WHEN problem IS NOT NULL THEN problem "
        "WHEN text = '' THEN 'blank line' "
        # What is valid and starts with a brace is an object; asking for its type would parse it once more.
        "WHEN j IS NULL OR NOT regexp_matches(j, '^\\s*[{]') THEN 'not JSON' "
        f"WHEN {values['query']} IS NULL AND NOT ({asked}) THEN 'no such field' "
        f"WHEN {wrong_type} THEN 'wrong type' END AS problem, v "
        f"FROM (SELECT *, json_extract_string(j, [{', '.join(place for _, place in places)}]) AS v "
        # Functions on JSON raise on text that is none, so they never see any.
        "FROM (SELECT *, CASE WHEN problem IS NULL AND json_valid(text) THEN text END AS j FROM chunk)"
        f"{_where(options)}))"
    )
    return conform_sql(relation, values, time_format=options.time_format, nulls=options.null or ())


def _where(options: ReadOptions) -> str:
    """SQL that leaves out documents for which a condition does not hold; what is no JSON is judged."""
    holds = [
        one.sql(f"json_extract_string(j, {literal(_pointer(one.column.split('.')))})")
        for one in options.conditions
    ]
    return f" WHERE j IS NULL OR ({' AND '.join(holds)})" if holds else ""


def _require_filled(options: ReadOptions, stager: Stager, where: str, rows: Rows) -> None:
    """A key that was named but never seen is a typing error, not an empty column."""
    for name, at in (options.columns or {}).items():
        if stager.rows and name not in stager.filled:
            raise InputError(
                f"no row of {where} has a value at {at!r}", f"correct --columns: {keys.shown(rows)}"
            )


def _ways_out(pointers: Pointers, options: ReadOptions, rows: Rows) -> dict[str, str]:
    """For a column that none of the first rows has: what was looked for, and what there is."""
    found = {}
    for name, reason in (("query", "no such field"), ("user", "no user"), ("time", "bad time")):
        if name not in pointers or any(keys.has_value(row, pointers[name]) for row in rows):
            continue
        named = (options.columns or {}).get(name)
        sought = f"no {named!r}" if named is not None else f"none of {', '.join(ALIASES[name])}"
        found[reason] = (
            f"say where the {name} is with --columns {name}=...: there is {sought} in the first rows; "
            f"{keys.shown(rows)}"
        )
    return found
