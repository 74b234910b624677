"""Matomo: visits with their actions (Live.getLastVisitsDetails), of which the site searches are rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queryveil.reading.json_documents import objects_in
from queryveil.reading.json_fields import object_sql, scalars_sql
from queryveil.reading.model import Extraction, Format, Head, ReadOptions, Source, most_are
from queryveil.reading.search_totals import is_totals, refuse_totals
from queryveil.reading.validation import BLANK_LINE, NO_FIELD, NOT_JSON, validate_sql

_TOTALS = {
    "nb_visits",
    "nb_hits",
    "nb_actions",
    "searches",
    "search results pages",
    "unique searches",
    "visits",
}
_TOTALS_HINT = (
    "export the visits instead: the API's method Live.getLastVisitsDetails with format=JSON, which has a visitor for "
    "each search"
)
_NOTE = "users are Matomo's visitors, browsers as a rule: one person may be several"


def _is_matomo(head: Head) -> bool:
    if is_totals(head, _TOTALS):
        return True
    return head.data.lstrip()[:1] in (b"{", b"[") and most_are(map(_is_visit, objects_in(head)))


def _extract(source: Source, options: ReadOptions) -> Extraction:
    if is_totals(source.head, _TOTALS):
        raise refuse_totals(source.files[0].label, _TOTALS_HINT)
    return Extraction(
        columns=tuple(_VALUES),
        documents=True,
        sql=validate_sql(_SEARCHES, _VALUES, time_format=options.time_format, also=("skipped",)),
    )


def _is_visit(document: Mapping[str, Any]) -> bool:
    return "actionDetails" in document and bool({"visitorId", "idVisit"} & document.keys())


_VISITS = (
    f"(SELECT *, {scalars_sql('j', ('/userId', '/visitorId', '/idVisit'))} AS visit, "  # noqa: S608 (literals are quoted)
    "list_filter(json_extract(j, '$.actionDetails[*]'), lambda one: json_extract_string(one, '/type') = 'search') AS s "
    f"FROM (SELECT *, {object_sql('text')} AS j FROM chunk))"
)
_SEARCHES = (
    f"(SELECT *, {scalars_sql('search', ('/timestamp', '/serverTimePretty', '/siteSearchKeyword'))} AS action, "  # noqa: S608
    "CASE WHEN problem IS NULL AND search IS NULL THEN 'visits without a search' END AS skipped FROM (SELECT * REPLACE "
    f"(CASE WHEN problem IS NOT NULL THEN problem WHEN text = '' THEN '{BLANK_LINE}' "
    f"WHEN j IS NULL AND NOT json_valid(text) THEN '{NOT_JSON}' "
    f"WHEN coalesce(json_type(j, '/actionDetails'), '') <> 'ARRAY' THEN '{NO_FIELD}' END AS problem), "
    f"unnest(CASE WHEN len(s) > 0 THEN s ELSE [NULL] END) AS search FROM {_VISITS}))"
)
"""SQL for the site searches of all visits; a visit without a search is one row."""
_VALUES = {
    "user": "coalesce(nullif(visit[1], ''), visit[2])",
    "time": "coalesce(nullif(action[1], ''), action[2])",
    "query": "action[3]",
    "session": "visit[3]",
}

FORMAT = Format(
    name="matomo",
    help="Matomo: visits as JSON, with their site searches",
    recognize=_is_matomo,
    columns={
        "user": "userId, or else visitorId",
        "time": "timestamp of the search",
        "query": "siteSearchKeyword",
        "session": "idVisit",
    },
    extract=_extract,
    notes=(_NOTE,),
)
