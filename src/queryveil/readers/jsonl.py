"""One JSON object per line; a column is a key, or a path of keys with dots between."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from queryveil.errors import UsageError
from queryveil.readers.columns import as_number, find, no_such_column, require_aliases
from queryveil.readers.lines import read_lines
from queryveil.readers.model import Head, Progress, ReadOptions, Source, Staged
from queryveil.readers.staging import Stager, chunks, conform_sql, connect
from queryveil.readers.times import literal

# What a value must not be, unless it is a string: an object, an array, a truth value, a number JSON lacks.
_SUSPECT = r"(?s)[\[{].*|true|false|-?(NaN|Inf|Infinity)"
_OPTIONAL = ("url", "rank", "session")


class Jsonl:
    name: ClassVar[str] = "jsonl"
    help: ClassVar[str] = "JSON lines: one object per line, columns by key (or path.to.key)"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".ndjson")

    def matches(self, head: Head) -> bool:
        line = head.first_line.lstrip()
        return line.startswith("{") and (head.suffix in self.suffixes or _object(line) is not None)

    def stage(self, source: Source, options: ReadOptions, into: Path, progress: Progress | None) -> Staged:
        where = repr(source.files[0].label)
        keys = _keys(source.head.lines)
        if options.columns is None:
            pointers = {name: _pointer(keys[key]) for name, key in require_aliases(list(keys), where).items()}
        else:
            pointers = {name: _locate(name, at, keys, where) for name, at in options.columns.items()}
        sql = _sql(pointers, options.time_format)
        with connect(into, options) as connection, Stager(into, list(pointers), source) as stager:
            for chunk in chunks(read_lines(source, None, progress)):
                connection.register("chunk", chunk)
                stager.add(connection.execute(sql).to_arrow_table())
                connection.unregister("chunk")
            _require_filled(options, stager, keys, where)
            return stager.finish(self.name)


def _object(line: str) -> dict[str, Any] | None:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


Keys = dict[str, tuple[str, ...]]
"""Path with dots -> its steps; the two differ where a key itself holds a dot."""


def _keys(lines: Iterable[str]) -> Keys:
    """All keys of the first rows: a row may leave out what it has not, so one row is not enough."""
    found: Keys = {}
    for line in lines:
        _collect(_object(line) or {}, (), found)
    return found


def _collect(value: Mapping[str, Any], above: tuple[str, ...], found: Keys) -> None:
    for key, inner in value.items():
        steps = (*above, key)
        found.setdefault(".".join(steps), steps)
        if isinstance(inner, dict):
            _collect(inner, steps, found)


def _locate(standard: str, at: str | int, keys: Keys, where: str) -> str:
    """The pointer to a column that the user named."""
    key = find(str(at), list(keys))
    if key is not None:
        return _pointer(keys[key])
    if as_number(at) is not None:
        raise UsageError("JSON lines have no column numbers", "give keys, as in --columns user=user_id")
    # Keys of url, rank and session may first appear late; whether they ever did is checked at the end.
    if standard not in _OPTIONAL:
        raise no_such_column(str(at), list(keys), where)
    return _pointer(str(at).split("."))


def _pointer(steps: Sequence[str]) -> str:
    """An RFC 6901 pointer, in which every key can be written."""
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)


def _sql(pointers: Mapping[str, str], time_format: str | None) -> str:
    paths = {name: literal(pointer) for name, pointer in pointers.items()}
    values = {name: f"v[{number}]" for number, name in enumerate(paths, start=1)}
    wrong_type = " OR ".join(
        f"regexp_full_match({value}, {literal(_SUSPECT)}) AND json_type(j, {paths[name]}) <> 'VARCHAR'"
        for name, value in values.items()
    )
    query = values["query"]
    relation = (
        "(SELECT file, line, text, CASE "  # noqa: S608 (literals are quoted)
        "WHEN problem IS NOT NULL THEN problem "
        "WHEN text = '' THEN 'blank line' "
        # What is valid and starts with a brace is an object; asking for its type would parse it once more.
        "WHEN j IS NULL OR NOT regexp_matches(j, '^\\s*[{]') THEN 'not JSON' "
        f"WHEN {query} IS NULL AND NOT json_exists(j, {paths['query']}) THEN 'no such field' "
        f"WHEN {wrong_type} THEN 'wrong type' END AS problem, v "
        f"FROM (SELECT *, json_extract_string(j, [{', '.join(paths.values())}]) AS v "
        # Functions on JSON raise on text that is none, so they never see any.
        "FROM (SELECT *, CASE WHEN problem IS NULL AND json_valid(text) THEN text END AS j FROM chunk)))"
    )
    return conform_sql(relation, values, time_format=time_format)


def _require_filled(options: ReadOptions, stager: Stager, keys: Keys, where: str) -> None:
    """A key that was named but never seen is a typing error, not an empty column."""
    for name, at in (options.columns or {}).items():
        if stager.rows and name not in stager.filled and find(str(at), list(keys)) is None:
            raise no_such_column(str(at), list(keys), where)
