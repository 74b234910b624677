"""OpenSearch User Behavior Insights: documents of searches, and documents of what people did with the results.

Searches and clicks are rows. Everything else (impressions, carts, filters) is counted and skipped.

Each document names its own user: its user_id, or else its client_id. A click takes its time, and its query if it has
none of its own, only from a search that names the same user, so adding or removing a user changes no row of another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.errors import UsageError
from queryveil.reading.json_documents import objects_in, read_documents
from queryveil.reading.model import (
    CLICK_WITHOUT_USER,
    COLUMNS,
    Head,
    Progress,
    ReadOptions,
    Source,
    Staged,
)
from queryveil.reading.staging import CHUNK_ROWS, Stager, chunks, connect
from queryveil.reading.times import literal
from queryveil.reading.validation import blank_sql, judge_sql, no_user_sql

_CLICKS = ("click", "click_through")
_BULK = ("index", "create")

# Where things are, in schemas 1.0 to 1.3: an ordinal was an object first and is a number now.
_PLACES = {
    "action": "/action_name",
    "user_id": "/user_id",
    "client_id": "/client_id",
    "query_id": "/query_id",
    "query": "/user_query",
    "time": "/timestamp",
    "session": "/session_id",
    "page_session": "/event_attributes/session_id",
    "object": "/event_attributes/object/object_id",
    "internal": "/event_attributes/object/internal_id",
    "ordinal": "/event_attributes/position/ordinal",
    "index": "/event_attributes/position/ordinal/index",
}
_AT = {name: f"v[{number}]" for number, name in enumerate(_PLACES, start=1)}
_OBJECT = f"coalesce({_AT['object']}, {_AT['internal']})"
_MUST_BE_SIMPLE = ("user_id", "client_id", "query_id", "query", "time", "session", "object")
_SUSPECT_LINE = r"(?m)^[\[{tf]"
_PLAIN_BULK = r'\{"(?:index|create)" *: *\{(?: *"_(?:index|id)" *: *"[\w .:-]*" *,?)* *\} *\}'
"""What bulk lines look like as a rule."""
_PASSED = {"other": "other events", "impression": "impressions", "bulk": "lines of the bulk format"}
_MAPPING = {
    "user": "user_id, or else client_id",
    "time": "timestamp",
    "query": "user_query",
    "url": "object_id of clicks",
    "rank": "position.ordinal of clicks",
    "session": "session_id",
}
_ALSO = ("kind", "query_id", "has_user_id", "seq")
_DOCUMENTS = (
    'file INTEGER, line BIGINT, lines BIGINT, reason VARCHAR, text VARCHAR, empty BOOLEAN, "user" VARCHAR, '
    "time TIMESTAMP, query VARCHAR, url VARCHAR, rank INTEGER, session VARCHAR, kind VARCHAR, query_id VARCHAR, "
    "has_user_id BOOLEAN, seq BIGINT"
)
"""Columns of searches and clicks that are good rows."""
USER_FIELDS = ("user_id", "client_id")
_WITHOUT_USER_HINT = "let each click be logged with its user or client"


class Ubi:
    name: ClassVar[str] = "ubi"
    help: ClassVar[str] = "OpenSearch User Behavior Insights: queries and events, as exported or as bulk"
    suffixes: ClassVar[tuple[str, ...]] = ()
    takes: ClassVar[tuple[str, ...]] = ("click_actions", "user_field")

    def matches(self, head: Head) -> bool:
        if head.data.lstrip()[:1] not in (b"{", b"[") and b"\t{" not in head.data[:1000]:
            return False
        documents = [_inner(one) for one in objects_in(head) if not _is_bulk(one)]
        return bool(documents) and 2 * sum(map(_is_ubi, documents)) > len(documents)

    def stage(self, source: Source, options: ReadOptions, into: Path, progress: Progress | None) -> Staged:
        if options.columns is not None:
            raise UsageError(
                f"{source.files[0].label!r} is OpenSearch UBI, whose columns are known",
                "leave out --columns; --format jsonl reads every line as one row, events as searches too",
            )
        user_field = checked_user_field(options.user_field, USER_FIELDS)
        documents = read_documents(source, progress)
        staged = stage_documents(documents, source, options, into, format=self.name, user_field=user_field)
        return replace(staged, mapping=_MAPPING | ({"user": user_field} if user_field else {}))


def checked_user_field(given: str | None, known: Sequence[str]) -> str | None:
    """Return the field that names users, or None for the first of `known` that a document has."""
    if given is not None and given not in known:
        raise UsageError(
            f"the user cannot be read from the field {given!r}", f"say --user-field {'|'.join(known)}"
        )
    return given


def stage_documents(
    documents: Iterator[pa.RecordBatch],
    source: Source,
    options: ReadOptions,
    into: Path,
    *,
    format: str,
    user_field: str | None,
) -> Staged:
    """Stage searches and clicks from documents in UBI's schema, whatever they were exported as."""
    passed: Counter[str] = Counter()
    orphans = 0
    with connect(into, options) as connection, Stager(into, list(COLUMNS), source) as stager:
        _parse(connection, documents, options, stager, passed, user_field)
        searches, clicks = _counted(connection)
        for table in _joined(connection) if searches + clicks else ():
            orphans += pc.sum(table.column("orphan")).as_py() or 0
            stager.add(table)
        return replace(
            stager.finish(format),
            searches=searches,
            orphan_clicks=orphans,
            passed_over={_PASSED[kind]: count for kind, count in passed.most_common()},
            ways_out={CLICK_WITHOUT_USER: _WITHOUT_USER_HINT},
        )


def _inner(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """A document as it was stored, without what an export wraps around it."""
    source = document.get("_source")
    return source if isinstance(source, dict) else document


def _is_bulk(document: Mapping[str, Any]) -> bool:
    return (
        len(document) == 1
        and isinstance(next(iter(document.values())), dict)
        and next(iter(document)) in _BULK
    )


def _is_ubi(document: Mapping[str, Any]) -> bool:
    if "action_name" in document:
        return (
            bool({"query_id", "event_attributes", "client_id"} & document.keys()) and "timestamp" in document
        )
    return {"query_id", "user_query"} <= document.keys()


def _parse(
    connection: Any,
    documents: Iterator[pa.RecordBatch],
    options: ReadOptions,
    stager: Stager,
    passed: Counter[str],
    user_field: str | None,
) -> None:
    """Judge every document by itself. Good ones go into a table of the engine."""
    sql, parse = _judge_sql(options, user_field), _parse_sql(options)
    connection.execute(f"CREATE TABLE documents ({_DOCUMENTS})")
    seen = 0
    for chunk in chunks(documents):
        rows = chunk.append_column("seq", pa.array(np.arange(seen, seen + chunk.num_rows)))
        seen += chunk.num_rows
        connection.register("chunk", rows)
        connection.execute(f"CREATE OR REPLACE TEMP TABLE parsed AS {parse}")
        counts = connection.execute("SELECT kind, count(*) FROM parsed GROUP BY kind").fetchall()
        passed.update({kind: count for kind, count in counts if kind in _PASSED})
        # Plain lines of the bulk format were left out by their shape.
        passed["bulk"] += rows.num_rows - sum(count for _, count in counts)
        connection.execute(f"CREATE OR REPLACE TEMP TABLE judged AS {sql}")
        connection.unregister("chunk")
        rejected = connection.execute(
            "SELECT * FROM judged WHERE reason IS NOT NULL ORDER BY seq"
        ).to_arrow_table()
        if rejected.num_rows:
            stager.reject(rejected)
        connection.execute("INSERT INTO documents BY NAME SELECT * FROM judged WHERE reason IS NULL")
    for kind in [kind for kind, count in passed.items() if not count]:
        del passed[kind]


def _counted(connection: Any) -> tuple[int, int]:
    """How many searches there are, and how many clicks."""
    counts = dict(connection.execute("SELECT kind, count(*) FROM documents GROUP BY kind").fetchall())
    clicks = counts.pop("click", 0)
    return sum(counts.values()), clicks


def _parse_sql(options: ReadOptions) -> str:
    """SQL that takes each document of `chunk` apart, and says what kind it is."""
    actions = ", ".join(map(literal, options.click_actions or _CLICKS))
    places = ", ".join(map(literal, _PLACES.values()))
    begins = " OR ".join(f"starts_with(text, {literal(f'{{{chr(34)}{one}{chr(34)}')})" for one in _BULK)
    bulk = f"problem IS NULL AND ({begins}) AND regexp_full_match(text, {literal(_PLAIN_BULK)})"
    kind = (
        f"CASE WHEN {_AT['action']} IN ({actions}) THEN 'click' WHEN {_AT['action']} = 'impression' THEN 'impression' "
        # Asked for once more only where it is null: then it may be there, as a null.
        f"WHEN {_AT['action']} IS NOT NULL THEN 'other' WHEN {_AT['query']} IS NOT NULL THEN 'query' "
        "WHEN json_exists(d, '/user_query') THEN 'query' "
        f"WHEN regexp_matches(d, '^\\s*\\{{\\s*\"({'|'.join(_BULK)})\"\\s*:\\s*\\{{') THEN 'bulk' END"
    )
    return (
        f"SELECT file, line, lines, text, problem, seq, d, v, {kind} AS kind "  # noqa: S608 (literals are quoted)
        f"FROM (SELECT *, json_extract_string(d, [{places}]) AS v FROM (SELECT *, "
        # A document inside what an export wraps around it; asked for only where the word is there.
        "CASE WHEN contains(j, '\"_source\"') AND json_type(j, '/_source') = 'OBJECT' "
        "THEN CAST(json_extract(j, '/_source') AS VARCHAR) ELSE j END AS d "
        # Functions on JSON raise on text that is none, so they never see any.
        "FROM (SELECT *, CASE WHEN problem IS NULL AND json_valid(body) AND regexp_matches(body, '^\\s*\\{') "
        "THEN body END AS j FROM (SELECT *, CASE WHEN text LIKE '{%' THEN text "
        "ELSE regexp_replace(text, '^[^\\t{\\[\"]*\\t\\{', '{') END AS body FROM chunk "
        # Half of a file in the bulk format: told by their shape, they need not be taken apart.
        f"WHERE NOT ({bulk})))))"
    )


def _judge_sql(options: ReadOptions, user_field: str | None) -> str:
    """SQL that judges each document of `parsed` that is a search, a click, or nothing that is known."""
    suspect = literal(r"^[\[{]|^(true|false)$")
    values = ", ".join(_AT[name] for name in _MUST_BE_SIMPLE)
    typed = " OR ".join(
        f"regexp_matches({_AT[name]}, {suspect}) AND json_type(d, {literal(_PLACES[name])}) <> 'VARCHAR'"
        for name in _MUST_BE_SIMPLE
    )
    # One look at all of them first: next to no document has such a value.
    wrong_type = f"regexp_matches(concat_ws(chr(10), {values}), {literal(_SUSPECT_LINE)}) AND ({typed})"
    names_user = f"NOT {no_user_sql(_AT['user_id'])}"
    user = f"CASE WHEN {names_user} THEN {_AT['user_id']} ELSE {_AT['client_id']} END"
    if user_field is not None:
        names_user, user = str(user_field == "user_id"), _AT[user_field]
    relation = (
        "(SELECT file, line, lines, text, seq, v, kind, CASE "  # noqa: S608 (literals are quoted)
        "WHEN problem IS NOT NULL THEN problem WHEN text = '' THEN 'blank line' WHEN d IS NULL THEN 'not JSON' "
        f"WHEN kind IS NULL THEN 'no such field' WHEN {wrong_type} THEN 'wrong type' "
        f"WHEN kind = 'click' AND {blank_sql(_OBJECT)} THEN 'no object' "
        f"WHEN kind = 'click' AND {no_user_sql(user)} THEN {literal(CLICK_WITHOUT_USER)} END AS problem, "
        f"{_AT['query_id']} AS query_id, {names_user} AS has_user_id "
        "FROM parsed WHERE kind IS NULL OR kind IN ('click', 'query'))"
    )
    session = f"coalesce({_AT['session']}, {_AT['page_session']})"
    click = "CASE WHEN kind = 'click' THEN {} END"
    raw = {
        "user": user,
        "time": _AT["time"],
        "query": _AT["query"],
        "url": click.format(_OBJECT),
        "rank": click.format(
            f"CASE WHEN {_AT['ordinal']} LIKE '{{%' THEN {_AT['index']} ELSE {_AT['ordinal']} END"
        ),
        "session": session,
    }
    return judge_sql(relation, raw, time_format=options.time_format, also=_ALSO)


def _joined(connection: Any) -> Iterator[pa.Table]:
    """Yield searches, and clicks with their searches, in the order of the files."""
    reader = connection.execute(_join_sql()).to_arrow_reader(CHUNK_ROWS)
    for batch in reader:
        yield pa.Table.from_batches([batch])


def _join_sql() -> str:
    """SQL for all rows: each click takes time, query and session from its search.

    The search of a click is the latest with its user and query_id that is not after it. Of several at that time, it is
    the first in the files: the order of a user's own documents does not depend on others. A user_id and a client_id
    with the same text are two users here.
    """
    same = ("query_id", "has_user_id", '"user"')
    from_search = {
        "time": "coalesce(s.time, c.time)",
        "query": f"CASE WHEN {blank_sql('c.query')} THEN coalesce(s.query, c.query) ELSE c.query END",
        "session": "CASE WHEN s.seq IS NULL THEN c.session ELSE s.session END",
    }
    own = {name: f'c."{name}"' for name in COLUMNS}
    columns = ", ".join(f'{value} AS "{name}"' for name, value in (own | from_search).items())
    return (
        "WITH searches AS (SELECT * FROM documents WHERE kind = 'query'), "  # noqa: S608 (only our own expressions)
        "first AS (SELECT * FROM searches QUALIFY row_number() OVER "
        f"(PARTITION BY {', '.join(same)}, time ORDER BY seq) = 1), "
        f"clicks AS (SELECT c.* EXCLUDE ({', '.join(COLUMNS)}), {columns}, s.seq IS NULL AS orphan FROM documents c "
        f"ASOF LEFT JOIN first s ON {' AND '.join(f'c.{key} = s.{key}' for key in same)} AND c.time >= s.time "
        "WHERE c.kind = 'click'), "
        "rows AS (SELECT *, false AS orphan FROM searches UNION ALL BY NAME SELECT * FROM clicks) "
        f"SELECT * REPLACE ({blank_sql('query')} AS empty) FROM rows ORDER BY seq"
    )
