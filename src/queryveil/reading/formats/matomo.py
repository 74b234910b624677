"""Matomo: visits with their actions (Live.getLastVisitsDetails), of which the site searches are rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from queryveil.reading.json_documents import objects_in
from queryveil.reading.model import Extraction, Format, Head, ReadOptions, Source, most_are
from queryveil.reading.search_totals import is_totals, refuse_totals
from queryveil.reading.translation import Reject, Row, Skip, extract_translated, text_of
from queryveil.reading.validation import NO_FIELD, NOT_JSON

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
    return extract_translated(_searches, ("user", "time", "query", "session"), options, documents=True)


def _is_visit(document: Mapping[str, Any]) -> bool:
    return "actionDetails" in document and bool({"visitorId", "idVisit"} & document.keys())


def _searches(text: str) -> list[Row] | Skip | Reject:
    try:
        visit = json.loads(text)
    except (ValueError, RecursionError):
        return Reject(NOT_JSON)
    if not isinstance(visit, dict) or not isinstance(visit.get("actionDetails"), list):
        return Reject(NO_FIELD)
    user = text_of(visit.get("userId")) or text_of(visit.get("visitorId"))
    session = text_of(visit.get("idVisit"))
    found: list[Row] = [
        {
            "user": user,
            "time": text_of(action.get("timestamp")) or text_of(action.get("serverTimePretty")),
            "query": text_of(action.get("siteSearchKeyword")),
            "session": session,
        }
        for action in visit["actionDetails"]
        if isinstance(action, dict) and action.get("type") == "search"
    ]
    return found or Skip("visits without a search")


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
