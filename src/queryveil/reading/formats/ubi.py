"""OpenSearch User Behavior Insights: documents of searches, and documents of what people did with the results.

Searches and clicks are rows. Everything else (impressions, carts, filters) is counted and skipped.

Each document names its own user: its user_id, or else its client_id. A click takes its time, and its query if it has
none of its own, only from a search that names the same user, so adding or removing a user changes no row of another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from queryveil.errors import UsageError, argument
from queryveil.reading.json_documents import objects_in
from queryveil.reading.json_fields import is_wrong_type_sql, object_sql, texts_sql, types_sql
from queryveil.reading.model import (
    CLICK,
    COLUMNS,
    ORPHAN_CLICK,
    SEARCH,
    Extraction,
    Format,
    Head,
    ReadOptions,
    Source,
    most_are,
)
from queryveil.reading.times import literal
from queryveil.reading.validation import (
    BLANK_LINE,
    CLICK_WITHOUT_USER,
    NO_FIELD,
    NOT_JSON,
    WRONG_TYPE,
    blank_sql,
    no_user_sql,
    validate_sql,
)

_CLICKS = ("click", "click_through")
_BULK = ("index", "create")
_NO_OBJECT = "no object"

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
_PLAIN_BULK = r'\{"(?:index|create)" *: *\{(?: *"_(?:index|id)" *: *"[\w .:-]*" *,?)* *\} *\}'
"""What bulk lines usually look like."""
_SKIPPED = {"other": "other events", "impression": "impressions", "bulk": "lines of the bulk format"}
USER_FIELDS = ("user_id", "client_id")


def _is_ubi_log(head: Head) -> bool:
    if head.data.lstrip()[:1] not in (b"{", b"[") and b"\t{" not in head.data[:1000]:
        return False
    return most_are(_is_ubi(_unwrap_document(one)) for one in objects_in(head) if not _is_bulk(one))


def _extract(_: Source, options: ReadOptions) -> Extraction:
    user_field = check_user_field(options.user_field, USER_FIELDS)
    parsed = _parse_sql(options.click_actions or _CLICKS)
    return extract_documents(options, parsed, user_field, {"user": user_field} if user_field else {})


def extract_documents(
    options: ReadOptions, parsed: str, user_field: str | None, mapping: Mapping[str, str]
) -> Extraction:
    """Return how searches, and clicks with their searches, are extracted from documents of this schema.

    Args:
        options: The user's options.
        parsed: SQL for the columns that `_parse_sql` returns.
        user_field: The field that names users; None for the user_id, or else the client_id.
        mapping: Standard column -> what the source calls it, where the user's options decide.
    """
    return Extraction(
        columns=COLUMNS,
        documents=True,
        sql=_extraction_sql(options, parsed, user_field),
        combine=(_join_sql(),),
        separates_clicks=True,
        mapping=mapping,
    )


def check_user_field(given: str | None, known: Sequence[str]) -> str | None:
    """Return the field that names users, or None for the first of `known` that a document has."""
    if given is not None and given not in known:
        raise UsageError(
            f"the user cannot be read from the field {given!r}",
            f"say {argument('user_field')} {'|'.join(known)}",
        )
    return given


def _unwrap_document(document: Mapping[str, Any]) -> Mapping[str, Any]:
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


def values_sql(values: Mapping[str, str]) -> str:
    """Return SQL for the list of values by their names in `_PLACES`."""
    return f"[{', '.join(values.get(name, 'NULL') for name in _PLACES)}]"


def kind_sql(action: str, click_actions: Sequence[str]) -> str:
    """Return SQL for the kind of an event; null for null."""
    actions = ", ".join(map(literal, click_actions))
    return (
        f"CASE WHEN {action} IN ({actions}) THEN 'click' WHEN {action} = 'impression' THEN 'impression' "
        f"WHEN {action} IS NOT NULL THEN 'other' END"
    )


def _parse_sql(click_actions: Sequence[str]) -> str:
    """Return SQL that parses each document of `chunk`, and says what kind it is."""
    simple = [_PLACES[name] for name in _MUST_BE_SIMPLE]
    begins = " OR ".join(f"starts_with(text, {literal(f'{{{chr(34)}{one}{chr(34)}')})" for one in _BULK)
    bulk = f"problem IS NULL AND ({begins}) AND regexp_full_match(text, {literal(_PLAIN_BULK)})"
    kind = (
        # Half of a file in the bulk format: these lines are recognized without parsing them.
        f"CASE WHEN bulk THEN 'bulk' WHEN {_AT['action']} IS NOT NULL THEN {kind_sql(_AT['action'], click_actions)} "
        # Looked up again only where it is null: then it may exist, as a null.
        f"WHEN {_AT['query']} IS NOT NULL THEN 'query' "
        "WHEN json_exists(d, '/user_query') THEN 'query' "
        f"WHEN regexp_matches(d, '^\\s*\\{{\\s*\"({'|'.join(_BULK)})\"\\s*:\\s*\\{{') THEN 'bulk' END"
    )
    unprefixed = "regexp_replace(text, '^[^\\t{\\[\"]*\\t\\{', '{')"
    body = f"CASE WHEN bulk THEN NULL WHEN text LIKE '{{%' THEN text ELSE {unprefixed} END"
    return (
        "SELECT file, line, lines, text, problem, v, d IS NOT NULL AS is_json, "  # noqa: S608 (literals are quoted)
        f"{types_sql('d', simple)} AS types, {kind} AS kind "
        f"FROM (SELECT *, {texts_sql('d', list(_PLACES.values()))} AS v FROM (SELECT *, "
        # The document inside what an export wraps around it; looked up only where the word is.
        "CASE WHEN contains(j, '\"_source\"') AND json_type(j, '/_source') = 'OBJECT' "
        "THEN CAST(json_extract(j, '/_source') AS VARCHAR) ELSE j END AS d "
        f"FROM (SELECT *, {object_sql('body')} AS j FROM "
        f"(SELECT *, {body} AS body FROM (SELECT *, {bulk} AS bulk FROM chunk)))))"
    )


def _extraction_sql(options: ReadOptions, parsed: str, user_field: str | None) -> str:
    """Return SQL that validates searches and clicks, and skips all other documents."""
    wrong_type = is_wrong_type_sql("types")
    names_user = f"NOT {no_user_sql(_AT['user_id'])}"
    user = f"CASE WHEN {names_user} THEN {_AT['user_id']} ELSE {_AT['client_id']} END"
    if user_field is not None:
        names_user, user = str(user_field == "user_id"), _AT[user_field]
    skipped = " ".join(f"WHEN kind = '{kind}' THEN '{name}'" for kind, name in _SKIPPED.items())
    documents = (
        # Without values, nothing of a skipped document is validated.
        "(SELECT * REPLACE (CASE WHEN skipped IS NULL THEN v END AS v) FROM "  # noqa: S608 (literals are quoted)
        f"(SELECT *, CASE {skipped} END AS skipped FROM ({parsed})))"
    )
    relation = (
        "(SELECT file, line, lines, text, v, kind, skipped, CASE "  # noqa: S608 (literals are quoted)
        f"WHEN problem IS NOT NULL THEN problem WHEN skipped IS NOT NULL THEN NULL WHEN text = '' THEN '{BLANK_LINE}' "
        f"WHEN NOT is_json THEN '{NOT_JSON}' WHEN kind IS NULL THEN '{NO_FIELD}' WHEN {wrong_type} THEN '{WRONG_TYPE}' "
        f"WHEN kind = 'click' AND {blank_sql(_OBJECT)} THEN '{_NO_OBJECT}' "
        f"WHEN kind = 'click' AND {no_user_sql(user)} THEN {literal(CLICK_WITHOUT_USER)} END AS problem, "
        f"{_AT['query_id']} AS query_id, {names_user} AS has_user_id FROM {documents})"
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
    also = ("kind", "query_id", "has_user_id", "skipped")
    return validate_sql(relation, raw, time_format=options.time_format, also=also)


def _join_sql() -> str:
    """Return SQL for all rows: each click takes time, query, and session from its search.

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
        "WITH documents AS (SELECT *, rowid AS seq FROM parsed), "  # noqa: S608 (only our own expressions)
        f"searches AS (SELECT *, '{SEARCH}' AS role FROM documents WHERE kind = 'query'), "
        "first AS (SELECT * FROM searches QUALIFY row_number() OVER "
        f"(PARTITION BY {', '.join(same)}, time ORDER BY seq) = 1), "
        f"clicks AS (SELECT c.* EXCLUDE ({', '.join(COLUMNS)}), {columns}, "
        f"CASE WHEN s.seq IS NULL THEN '{ORPHAN_CLICK}' ELSE '{CLICK}' END AS role FROM documents c "
        f"ASOF LEFT JOIN first s ON {' AND '.join(f'c.{key} = s.{key}' for key in same)} AND c.time >= s.time "
        "WHERE c.kind = 'click'), "
        "rows AS (SELECT * FROM searches UNION ALL BY NAME SELECT * FROM clicks) "
        f"SELECT * REPLACE ({blank_sql('query')} AS empty) FROM rows ORDER BY seq"
    )


FORMAT = Format(
    name="ubi",
    help="OpenSearch User Behavior Insights: queries and events, as exported or as bulk",
    options=("click_actions", "user_field"),
    recognize=_is_ubi_log,
    columns={
        "user": "user_id, or else client_id",
        "time": "timestamp",
        "query": "user_query",
        "url": "object_id of clicks",
        "rank": "position.ordinal of clicks",
        "session": "session_id",
    },
    columns_hint=(
        f"leave out {argument('columns')}; {argument('format', 'jsonl')} reads "
        "every line as one row, events as searches too"
    ),
    extract=_extract,
    hints={CLICK_WITHOUT_USER: "let each click be logged with its user or client"},
)
