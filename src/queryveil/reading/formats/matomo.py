"""Matomo: visits with their actions (Live.getLastVisitsDetails), of which the site searches are rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from queryveil.errors import UsageError
from queryveil.reading.formats import totals
from queryveil.reading.json_documents import objects_in, read_documents
from queryveil.reading.model import Head, Progress, ReadOptions, Source, Staged
from queryveil.reading.translated import Bad, Passed, Row, stage_translated, text_of

_MAPPING = {
    "user": "userId, or else visitorId",
    "time": "timestamp of the search",
    "query": "siteSearchKeyword",
    "session": "idVisit",
}
_WAY_OUT = (
    "export the visits instead: the API's method Live.getLastVisitsDetails with format=JSON, which has a visitor for "
    "each search"
)
_NOTE = "users are Matomo's visitors, browsers as a rule: one person may be several"


class Matomo:
    name: ClassVar[str] = "matomo"
    help: ClassVar[str] = "Matomo: visits as JSON, with their site searches"
    suffixes: ClassVar[tuple[str, ...]] = ()

    def matches(self, head: Head) -> bool:
        if totals.is_totals_of_matomo(head):
            return True
        found = objects_in(head) if head.data.lstrip()[:1] in (b"{", b"[") else []
        return bool(found) and 2 * sum(map(_is_visit, found)) > len(found)

    def stage(self, source: Source, options: ReadOptions, into: Path, progress: Progress | None) -> Staged:
        label = source.files[0].label
        if totals.is_totals_of_matomo(source.head):
            raise totals.refused(label, _WAY_OUT)
        if options.columns is not None:
            raise UsageError(f"{label!r} is of Matomo, whose columns are known", "leave out --columns")
        return stage_translated(
            source,
            read_documents(source, progress),
            _searches,
            options,
            into,
            columns=("user", "time", "query", "session"),
            format=self.name,
            mapping=_MAPPING,
            notes=(_NOTE,),
        )


def _is_visit(document: Mapping[str, Any]) -> bool:
    return "actionDetails" in document and bool({"visitorId", "idVisit"} & document.keys())


def _searches(text: str) -> list[Row] | Passed | Bad:
    try:
        visit = json.loads(text)
    except (ValueError, RecursionError):
        return Bad("not JSON")
    if not isinstance(visit, dict) or not isinstance(visit.get("actionDetails"), list):
        return Bad("no such field")
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
    return found or Passed("visits without a search")
