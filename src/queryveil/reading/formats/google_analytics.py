"""Google Analytics 4: events as BigQuery exports them, of which the site searches are rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queryveil.reading.json_documents import objects_in
from queryveil.reading.json_fields import object_sql, scalars_sql
from queryveil.reading.model import Extraction, Format, Head, ReadOptions, Source, most_are
from queryveil.reading.search_totals import is_totals, refuse_totals
from queryveil.reading.validation import BLANK_LINE, NO_FIELD, NOT_JSON, validate_sql

_TOTALS = {
    *("event count", "total users", "total unique searches", "results page views / search", "active users"),
    *("search exits", "event count per user", "% search exits"),
}
_TOTALS_HINT = (
    "export the events instead: link the property to BigQuery and save the table events_... as JSON lines, which has "
    "user_pseudo_id for each search"
)
_NOTE = "users are accounts where people logged in, and browsers otherwise: one person may be several"


def _is_google_analytics(head: Head) -> bool:
    if is_totals(head, _TOTALS):
        return True
    return head.data.lstrip()[:1] in (b"{", b"[") and most_are(map(_is_event, objects_in(head)))


def _extract(source: Source, options: ReadOptions) -> Extraction:
    if is_totals(source.head, _TOTALS):
        raise refuse_totals(source.files[0].label, _TOTALS_HINT)
    return Extraction(
        columns=tuple(_VALUES),
        documents=True,
        sql=validate_sql(_EVENTS, _VALUES, time_format=options.time_format, also=("skipped",)),
    )


def _is_event(document: Mapping[str, Any]) -> bool:
    return {"event_name", "event_timestamp"} <= document.keys()


def _parameter_sql(key: str) -> str:
    """Return SQL for a parameter: `[{"key": ..., "value": {"string_value": ...}}]`, of which the last counts."""
    kinds = [f"/value/{kind}_value" for kind in ("string", "int", "float", "double")]
    has_key = f"json_extract_string(one, '/key') = '{key}' AND json_type(one, '/value') = 'OBJECT'"
    value = scalars_sql(f"list_filter(parameters, lambda one: {has_key})[-1]", kinds)
    return f"list_filter({value}, lambda one: one IS NOT NULL)[1]"


_EVENTS = (
    f"(SELECT *, CASE WHEN skipped IS NULL THEN {_parameter_sql('search_term')} END AS query, "  # noqa: S608 (literals are quoted)
    f"CASE WHEN skipped IS NULL THEN {_parameter_sql('ga_session_id')} END AS session FROM (SELECT *, "
    "CASE WHEN problem IS NULL AND coalesce(json_extract_string(j, '/event_name'), '') "
    "NOT IN ('view_search_results', 'search') THEN 'other events' END AS skipped, "
    f"{scalars_sql('j', ('/user_id', '/user_pseudo_id', '/event_timestamp'))} AS event, "
    "json_extract(j, '$.event_params[*]') AS parameters FROM (SELECT * REPLACE "
    f"(CASE WHEN problem IS NOT NULL THEN problem WHEN text = '' THEN '{BLANK_LINE}' "
    f"WHEN j IS NULL AND NOT json_valid(text) THEN '{NOT_JSON}' "
    f"WHEN NOT coalesce(json_exists(j, '/event_name'), false) THEN '{NO_FIELD}' END AS problem) "
    f"FROM (SELECT *, {object_sql('text')} AS j FROM chunk))))"
)
"""SQL for the fields of each event."""
_USER = "coalesce(nullif(event[1], ''), event[2])"
_VALUES = {
    "user": _USER,
    "time": "event[3]",
    "query": "query",
    # The number is a time, and unique for one user only.
    "session": f"{_USER} || ' ' || session",
}

FORMAT = Format(
    name="google-analytics",
    help="Google Analytics 4: events of BigQuery as JSON",
    recognize=_is_google_analytics,
    columns={
        "user": "user_id, or else user_pseudo_id",
        "time": "event_timestamp",
        "query": "search_term",
        "session": "ga_session_id",
    },
    extract=_extract,
    notes=(_NOTE,),
)
