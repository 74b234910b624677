"""Algolia: its log of searches, and the events of its Insights API, in which a click names a list of objects.

Both are translated into documents of UBI's schema, one for each object of a list, and read like them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from queryveil.reading.formats import ubi
from queryveil.reading.json_documents import objects_in
from queryveil.reading.json_fields import object_sql, texts_sql, types_sql
from queryveil.reading.lines import NOT_UTF8
from queryveil.reading.model import Extraction, Format, Head, ReadOptions, Source, most_are
from queryveil.reading.times import literal

_CLICKS = ("click", "conversion")
_USER_FIELDS = {"authenticatedUserToken": "user_id", "userToken": "client_id"}


def _is_algolia(head: Head) -> bool:
    if head.data.lstrip()[:1] not in (b"{", b"["):
        return False
    return most_are(_is_document(one) for found in objects_in(head) for one in _unwrap_documents(found))


def _extract(_: Source, options: ReadOptions) -> Extraction:
    user_field = ubi.check_user_field(options.user_field, tuple(_USER_FIELDS))
    return ubi.extract_documents(
        options,
        _parse_sql(options.click_actions or _CLICKS),
        _USER_FIELDS.get(user_field or ""),
        {"user": user_field} if user_field else {},
    )


def _unwrap_documents(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the documents inside what the API wraps around them."""
    for key in ("events", "logs"):
        inside = document.get(key)
        if isinstance(inside, list):
            return [one for one in inside if isinstance(one, dict)]
    return [document]


def _is_document(document: Mapping[str, Any]) -> bool:
    event = "eventType" in document and bool({"userToken", "authenticatedUserToken"} & document.keys())
    return (
        event
        or {"query_params", "inner_queries"} <= document.keys()
        or {"query_body", "url"} <= document.keys()
    )


_INNER = (
    f"(SELECT *, unnest(CASE WHEN len(inside) > 0 THEN inside ELSE [CAST(j AS JSON)] END) AS one FROM "  # noqa: S608 (our own expressions)
    "(SELECT *, CASE WHEN kinds[1] = 'ARRAY' THEN json_extract(j, '$.events[*]') "
    "WHEN kinds[2] = 'ARRAY' THEN json_extract(j, '$.logs[*]') END AS inside FROM "
    "(SELECT *, json_type(j, ['/events', '/logs']) AS kinds FROM "
    f"(SELECT *, {object_sql('text')} AS j FROM chunk))))"
)
"""SQL for documents, out of what the API wraps around them."""
_FIELDS = (
    *("/eventType", "/authenticatedUserToken", "/userToken", "/queryID", "/timestamp"),
    *("/query_params", "/inner_queries", "/query_body", "/url"),
)
_OF_QUERY = ("/query", "/query_id", "/user_token")
_DOCUMENTS = (
    "(SELECT *, CASE WHEN t[1] IS NOT NULL THEN 'event' WHEN t[6] IS NOT NULL AND t[7] IS NOT NULL "  # noqa: S608
    "OR t[8] IS NOT NULL AND t[9] IS NOT NULL THEN 'request' END AS category FROM "
    f"(SELECT *, {texts_sql('one', _FIELDS)} AS v, {types_sql('one', _FIELDS)} AS t FROM {_INNER}))"
)
_PARTS = (
    "(SELECT * EXCLUDE (v, t), v AS e, t AS e_types, "  # noqa: S608
    "unnest(CASE WHEN len(parts) > 0 THEN parts ELSE [NULL] END) AS part, "
    "unnest(CASE WHEN len(parts) = len(positions) THEN positions ELSE [NULL] END) AS position FROM "
    "(SELECT *, CASE category WHEN 'event' THEN json_extract(one, '$.objectIDs[*]') WHEN 'request' THEN list_filter("
    "json_extract(one, '$.inner_queries[*]'), lambda query: json_type(query) = 'OBJECT') END AS parts, "
    f"CASE category WHEN 'event' THEN json_extract_string(one, '$.positions[*]') END AS positions FROM {_DOCUMENTS}))"
)
"""SQL for each object of an event that was clicked or bought, and for each query of a request."""


def _parameter_sql(name: str) -> str:
    """Return SQL for a parameter of a request, as it is written; null if it is empty."""
    return f"nullif(replace(regexp_extract(e[6], {literal(f'(?:^|&){name}=([^&]*)')}, 1), '+', ' '), '')"


def _parse_sql(click_actions: Sequence[str]) -> str:
    """Return SQL that brings each part of each document into UBI's schema."""
    event = {
        # Events without objects are about a filter, as a rule.
        "action": (
            "CASE WHEN part IS NULL THEN 'no object' WHEN e[1] = 'view' THEN 'impression' "
            "ELSE coalesce(e[1], 'null') END"
        ),
        "user_id": "e[2]",
        "client_id": "e[3]",
        "query_id": "e[4]",
        "time": "e[5]",
        "object": "json_extract_string(part, '$')",
        "ordinal": "position",
    }
    search = {
        "query": "coalesce(nullif(q[1], ''), TRY(url_decode(raw_query)))",
        "query_id": "q[2]",
        "client_id": f"coalesce(nullif(q[3], ''), TRY(url_decode({_parameter_sql('userToken')})))",
        "time": "e[5]",
    }
    action_kind = ubi.kind_sql(event["action"], click_actions)
    types = (
        "CASE category WHEN 'event' THEN list_append(e_types[2:5], json_type(part)) "
        f"WHEN 'request' THEN list_append({types_sql('part', _OF_QUERY)}, e_types[5]) END"
    )
    return (
        f"SELECT file, line, lines, text, j IS NOT NULL AS is_json, {types} AS types, "  # noqa: S608
        f"CASE WHEN category = 'request' AND {search['query']} IS NULL AND raw_query IS NOT NULL THEN '{NOT_UTF8}' "
        "ELSE problem END AS problem, "
        f"CASE category WHEN 'event' THEN {ubi.values_sql(event)} "
        f"WHEN 'request' THEN {ubi.values_sql(search)} END AS v, "
        f"CASE category WHEN 'event' THEN {action_kind} WHEN 'request' THEN 'query' END AS kind "
        f"FROM (SELECT *, {texts_sql('part', _OF_QUERY)} AS q, {_parameter_sql('query')} AS raw_query FROM {_PARTS})"
    )


FORMAT = Format(
    name="algolia",
    help="Algolia: log of searches, and Insights events",
    options=("click_actions", "user_field"),
    recognize=_is_algolia,
    columns={
        "user": "authenticatedUserToken, or else userToken",
        "time": "timestamp",
        "query": "query of the search with the same user and queryID",
        "url": "objectIDs of clicks and conversions, one row each",
        "rank": "positions",
    },
    extract=_extract,
    hints=ubi.FORMAT.hints,
)
