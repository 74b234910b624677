"""OpenSearch User Behavior Insights: documents of searches, and documents of what people did with the results.

A search is a row. A click is a row too: it takes time and query of the search that it belongs to, so that both are one
query event. Everything else (impressions, carts, filters) is counted and passed over.

A click belongs to a search of the same query_id if both have the same user; or else the same client, and no two
different users are named: then it is a row of the user who searched. So whoever is taken out of the log takes the own
clicks along, and no other row changes. A click that names nobody is known by its query_id alone. If several users
have that one, it is nobody's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.errors import UsageError
from queryveil.reading.json_documents import objects_in, read_documents
from queryveil.reading.model import COLUMNS, Head, Progress, ReadOptions, Source, Staged
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
_ALSO = ("kind", "query_id", "client", "nobody", "spare", "seq")
_DOCUMENTS = (
    'file INTEGER, line BIGINT, lines BIGINT, reason VARCHAR, text VARCHAR, empty BOOLEAN, "user" VARCHAR, '
    "time TIMESTAMP, query VARCHAR, url VARCHAR, rank INTEGER, session VARCHAR, kind VARCHAR, query_id VARCHAR, "
    "client VARCHAR, nobody BOOLEAN, spare VARCHAR, seq BIGINT"
)
"""Columns of searches and clicks that are good rows."""


class Ubi:
    name: ClassVar[str] = "ubi"
    help: ClassVar[str] = "OpenSearch User Behavior Insights: queries and events, as exported or as bulk"
    suffixes: ClassVar[tuple[str, ...]] = ()
    takes: ClassVar[tuple[str, ...]] = ("click_actions",)

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
        documents = read_documents(source, progress)
        return stage_documents(documents, source, options, into, format=self.name, mapping=_MAPPING)


def stage_documents(
    documents: Iterator[pa.RecordBatch],
    source: Source,
    options: ReadOptions,
    into: Path,
    *,
    format: str,
    mapping: Mapping[str, str],
) -> Staged:
    """Searches and clicks of documents in UBI's schema, wherever they come from."""
    passed: Counter[str] = Counter()
    orphans = 0
    with connect(into, options) as connection, Stager(into, list(COLUMNS), source) as stager:
        _parse(connection, documents, options, stager, passed)
        searches, clicks = _counted(connection)
        for table in _joined(connection, clicks) if searches + clicks else ():
            orphans += pc.sum(table.column("orphan")).as_py() or 0
            stager.add(table)
        return replace(
            stager.finish(format),
            mapping=mapping,
            searches=searches,
            orphan_clicks=orphans,
            passed_over={_PASSED[kind]: count for kind, count in passed.most_common()},
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
) -> None:
    """Judge every document by itself. Good ones go into a table of the engine."""
    sql, parse = _judge_sql(options), _parse_sql(options)
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


def _judge_sql(options: ReadOptions) -> str:
    """SQL that judges each document of `parsed` that is a search, a click, or nothing that is known."""
    suspect = literal(r"^[\[{]|^(true|false)$")
    values = ", ".join(_AT[name] for name in _MUST_BE_SIMPLE)
    typed = " OR ".join(
        f"regexp_matches({_AT[name]}, {suspect}) AND json_type(d, {literal(_PLACES[name])}) <> 'VARCHAR'"
        for name in _MUST_BE_SIMPLE
    )
    # One look at all of them first: next to no document has such a value.
    wrong_type = f"regexp_matches(concat_ws(chr(10), {values}), {literal(_SUSPECT_LINE)}) AND ({typed})"
    nobody = f"({no_user_sql(_AT['user_id'])} AND {no_user_sql(_AT['client_id'])})"
    relation = (
        "(SELECT file, line, lines, text, seq, v, kind, CASE "  # noqa: S608 (literals are quoted)
        "WHEN problem IS NOT NULL THEN problem WHEN text = '' THEN 'blank line' WHEN d IS NULL THEN 'not JSON' "
        f"WHEN kind IS NULL THEN 'no such field' WHEN {wrong_type} THEN 'wrong type' "
        f"WHEN kind = 'click' AND {blank_sql(_OBJECT)} THEN 'no object' END AS problem, "
        f"{_AT['query_id']} AS query_id, "
        f"CASE WHEN NOT {no_user_sql(_AT['client_id'])} THEN {_AT['client_id']} END AS client, "
        f"kind = 'click' AND {nobody} AND {_AT['query_id']} IS NOT NULL AS nobody, "
        f"CASE WHEN kind = 'click' AND {nobody} THEN text END AS spare "
        "FROM parsed WHERE kind IS NULL OR kind IN ('click', 'query'))"
    )
    user = f"CASE WHEN {no_user_sql(_AT['user_id'])} THEN {_AT['client_id']} ELSE {_AT['user_id']} END"
    session = f"coalesce({_AT['session']}, {_AT['page_session']})"
    click = "CASE WHEN kind = 'click' THEN {} END"
    raw = {
        # Whose click it is will be known from its search.
        "user": f"CASE WHEN nobody THEN '-' ELSE {user} END",
        "time": _AT["time"],
        "query": _AT["query"],
        "url": click.format(_OBJECT),
        "rank": click.format(
            f"CASE WHEN {_AT['ordinal']} LIKE '{{%' THEN {_AT['index']} ELSE {_AT['ordinal']} END"
        ),
        "session": session,
    }
    return judge_sql(relation, raw, time_format=options.time_format, also=_ALSO)


def _joined(connection: Any, clicks: int) -> Iterator[pa.Table]:
    """Searches, and clicks with the search that they belong to, in the order of the files."""
    connection.execute(
        'CREATE VIEW clicks AS SELECT * REPLACE (CASE WHEN nobody THEN NULL ELSE "user" END AS "user") '
        "FROM documents WHERE kind = 'click'"
    )
    connection.execute("CREATE VIEW queries AS SELECT * FROM documents WHERE kind = 'query'")
    columns = ", ".join(f'"{name}"' for name in COLUMNS)
    plain = f"SELECT seq, file, line, lines, reason, text, empty, {columns}, 0 AS orphan FROM queries"  # noqa: S608
    # A join that can find nothing more is left out: that everybody is called as their client, and nobody is unknown,
    # is the usual case.
    unlike, unknown = connection.execute(
        'SELECT bool_or(NOT nobody AND "user" IS DISTINCT FROM client), bool_or(nobody) FROM documents'
    ).fetchone()
    found = f"{plain} UNION ALL {_clicks_sql(unlike, unknown)}" if clicks else plain
    reader = connection.execute(f"SELECT * FROM ({found}) ORDER BY seq").to_arrow_reader(CHUNK_ROWS)  # noqa: S608
    for batch in reader:
        yield pa.Table.from_batches([batch])


def _clicks_sql(by_user: bool, by_id: bool) -> str:
    """SQL for the clicks, each once, with its search: the latest of its query_id that is not after it.

    It is looked for by client; also by user, and by query_id alone for clicks that name nobody, where this is asked.
    """

    def latest(name: str, key: str | None) -> str:
        same = [f'c."{key}" = {name}."{key}"'] if key else ["c.nobody"]
        keys = ", ".join(["query_id", "time", *([f'"{key}"'] if key else [])])
        # Several searches of one time would be several candidates: the first in the file stands for them.
        known = (
            "queries" if key else "(SELECT * FROM queries WHERE query_id IN (SELECT query_id FROM queries "
        )
        known += "" if key else 'GROUP BY query_id HAVING count(DISTINCT "user") = 1))'
        one_each = f"SELECT * FROM {known} QUALIFY row_number() OVER (PARTITION BY {keys} ORDER BY seq) = 1"  # noqa: S608
        on = " AND ".join([f"c.query_id = {name}.query_id", *same, f"c.time >= {name}.time"])
        return f"ASOF LEFT JOIN ({one_each}) {name} ON {on}"

    def of(column: str) -> str:
        whens = [f'WHEN c.nobody THEN by_id."{column}"'] if by_id else []
        if by_user:
            # By user and by client it is the same search as a rule; otherwise one's own, and never that of another
            # user who is named as the click's own is.
            whens.append(f'WHEN by_user.seq IS NOT NULL THEN by_user."{column}"')
            unnamed = 'c."user" = c.client OR by_client."user" = by_client.client'
            whens.append(f"WHEN NOT ({unnamed}) THEN NULL")
        return f'CASE {" ".join([*whens, "WHEN true THEN"])} by_client."{column}" END'

    taken = ", ".join(f"{of(name)} AS found_{name}" for name in ("seq", "user", "time", "query", "session"))
    joins = " ".join(
        [
            latest("by_client", "client"),
            *([latest("by_user", "user")] if by_user else []),
            *([latest("by_id", None)] if by_id else []),
        ]
    )
    outputs = {name: f'coalesce(found_{name}, "{name}")' for name in ("user", "time")}
    outputs |= {
        name: f'CASE WHEN found_seq IS NULL THEN "{name}" ELSE found_{name} END'
        for name in ("query", "session")
    }
    columns = ", ".join(f'{outputs.get(name, _quoted(name))} AS "{name}"' for name in COLUMNS)
    reason = "CASE WHEN coalesce(found_user, \"user\") IS NULL THEN 'no user' END"
    return (
        f"SELECT seq, file, line, lines, {reason} AS reason, spare AS text, "  # noqa: S608
        f'{blank_sql(outputs["query"])} AND coalesce(found_user, "user") IS NOT NULL AS empty, {columns}, '
        f'CAST(found_seq IS NULL AND coalesce(found_user, "user") IS NOT NULL AS INTEGER) AS orphan '
        f"FROM (SELECT c.*, {taken} FROM clicks c {joins})"
    )


def _quoted(name: str) -> str:
    return f'"{name}"'
