"""Google Analytics 4: events as BigQuery exports them, of which the site searches are rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from queryveil.reading.json_documents import objects_in
from queryveil.reading.model import Extraction, Format, Head, ReadOptions, Source, most_are
from queryveil.reading.search_totals import is_totals, refuse_totals
from queryveil.reading.translation import Reject, Row, Skip, extract_translated, text_of
from queryveil.reading.validation import NO_FIELD, NOT_JSON

_SEARCHES = ("view_search_results", "search")
_VALUES = ("string_value", "int_value", "float_value", "double_value")
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
    return extract_translated(_search, ("user", "time", "query", "session"), options, documents=True)


def _is_event(document: Mapping[str, Any]) -> bool:
    return {"event_name", "event_timestamp"} <= document.keys()


def _search(text: str) -> list[Row] | Skip | Reject:
    try:
        event = json.loads(text)
    except (ValueError, RecursionError):
        return Reject(NOT_JSON)
    if not isinstance(event, dict) or "event_name" not in event:
        return Reject(NO_FIELD)
    if event["event_name"] not in _SEARCHES:
        return Skip("other events")
    known = _parameters(event.get("event_params"))
    session = known.get("ga_session_id")
    user = text_of(event.get("user_id")) or text_of(event.get("user_pseudo_id"))
    return [
        {
            "user": user,
            "time": text_of(event.get("event_timestamp")),
            "query": known.get("search_term"),
            # The number is a time, and unique for one user only.
            "session": None if session is None or user is None else f"{user} {session}",
        }
    ]


def _parameters(listed: Any) -> dict[str, str | None]:
    """`[{"key": ..., "value": {"string_value": ...}}]` as key -> text."""
    found: dict[str, str | None] = {}
    for one in listed if isinstance(listed, list) else []:
        value = one.get("value") if isinstance(one, dict) else None
        if isinstance(value, dict):
            texts = (text_of(value.get(kind)) for kind in _VALUES)
            found[str(one.get("key"))] = next((text for text in texts if text is not None), None)
    return found


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
