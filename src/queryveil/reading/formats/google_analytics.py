"""Google Analytics 4: events as BigQuery exports them, of which the site searches are rows."""

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

_SEARCHES = ("view_search_results", "search")
_VALUES = ("string_value", "int_value", "float_value", "double_value")
_MAPPING = {
    "user": "user_id, or else user_pseudo_id",
    "time": "event_timestamp",
    "query": "search_term",
    "session": "ga_session_id",
}
_WAY_OUT = (
    "export the events instead: link the property to BigQuery and save the table events_... as JSON lines, which has "
    "user_pseudo_id for each search"
)
_NOTE = "users are accounts where people logged in, and browsers otherwise: one person may be several"


class GoogleAnalytics:
    name: ClassVar[str] = "google-analytics"
    help: ClassVar[str] = "Google Analytics 4: events of BigQuery as JSON"
    suffixes: ClassVar[tuple[str, ...]] = ()

    def matches(self, head: Head) -> bool:
        if totals.is_totals_of_google(head):
            return True
        found = objects_in(head) if head.data.lstrip()[:1] in (b"{", b"[") else []
        return bool(found) and 2 * sum(map(_is_event, found)) > len(found)

    def stage(self, source: Source, options: ReadOptions, into: Path, progress: Progress | None) -> Staged:
        label = source.files[0].label
        if totals.is_totals_of_google(source.head):
            raise totals.refused(label, _WAY_OUT)
        if options.columns is not None:
            raise UsageError(
                f"{label!r} is of Google Analytics, whose columns are known", "leave out --columns"
            )
        return stage_translated(
            source,
            read_documents(source, progress),
            _search,
            options,
            into,
            columns=("user", "time", "query", "session"),
            format=self.name,
            mapping=_MAPPING,
            notes=(_NOTE,),
        )


def _is_event(document: Mapping[str, Any]) -> bool:
    return {"event_name", "event_timestamp"} <= document.keys()


def _search(text: str) -> list[Row] | Passed | Bad:
    try:
        event = json.loads(text)
    except (ValueError, RecursionError):
        return Bad("not JSON")
    if not isinstance(event, dict) or "event_name" not in event:
        return Bad("no such field")
    if event["event_name"] not in _SEARCHES:
        return Passed("other events")
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
