"""Algolia: its log of searches, and the events of its Insights API, in which a click names a list of objects.

Both are translated into documents of UBI's schema, one for each object of a list, and read like them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qs

import pyarrow as pa

from queryveil.errors import UsageError
from queryveil.reading.formats.ubi import checked_user_field, stage_documents
from queryveil.reading.json_documents import objects_in, read_documents
from queryveil.reading.lines import SCHEMA
from queryveil.reading.model import Head, Progress, ReadOptions, Source, Staged

_KINDS = {"click": "click", "conversion": "conversion", "view": "impression"}
_CLICKS = ("click", "conversion")
_USER_FIELDS = {"authenticatedUserToken": "user_id", "userToken": "client_id"}
_MAPPING = {
    "user": "authenticatedUserToken, or else userToken",
    "time": "timestamp",
    "query": "query of the search with the same user and queryID",
    "url": "objectIDs of clicks and conversions, one row each",
    "rank": "positions",
}


class Algolia:
    name: ClassVar[str] = "algolia"
    help: ClassVar[str] = "Algolia: log of searches, and Insights events"
    suffixes: ClassVar[tuple[str, ...]] = ()
    takes: ClassVar[tuple[str, ...]] = ("click_actions", "user_field")

    def matches(self, head: Head) -> bool:
        if head.data.lstrip()[:1] not in (b"{", b"["):
            return False
        documents = [one for found in objects_in(head) for one in _inner(found)]
        return bool(documents) and 2 * sum(map(_is_ours, documents)) > len(documents)

    def stage(self, source: Source, options: ReadOptions, into: Path, progress: Progress | None) -> Staged:
        if options.columns is not None:
            raise UsageError(
                f"{source.files[0].label!r} is of Algolia, whose columns are known", "leave out --columns"
            )
        actions = replace(options, click_actions=options.click_actions or _CLICKS)
        user_field = checked_user_field(options.user_field, tuple(_USER_FIELDS))
        documents = map(_as_ubi, read_documents(source, progress))
        staged = stage_documents(
            documents, source, actions, into, format=self.name, user_field=_USER_FIELDS.get(user_field or "")
        )
        return replace(staged, mapping=_MAPPING | ({"user": user_field} if user_field else {}))


_dumped = json.JSONEncoder(separators=(",", ":")).encode


def _inner(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The documents inside what the API wraps around them."""
    for key in ("events", "logs"):
        inside = document.get(key)
        if isinstance(inside, list):
            return [one for one in inside if isinstance(one, dict)]
    return [document]


def _is_ours(document: Mapping[str, Any]) -> bool:
    event = "eventType" in document and bool({"userToken", "authenticatedUserToken"} & document.keys())
    return (
        event
        or {"query_params", "inner_queries"} <= document.keys()
        or {"query_body", "url"} <= document.keys()
    )


def _as_ubi(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A batch of Algolia's documents as one of UBI's."""
    made: list[str] = []
    places: list[int] = []
    given = zip(batch.column("text").to_pylist(), batch.column("problem").to_pylist(), strict=True)
    for place, (text, problem) in enumerate(given):
        try:
            found = json.loads(text) if problem is None and text else None
        except (ValueError, RecursionError):
            found = None
        texts = [_dumped(new) for new in _documents(found)] if isinstance(found, dict) else []
        # What cannot be translated goes through as it is, and is rejected there.
        made += texts or [text]
        places += [place] * max(1, len(texts))
    rows = batch.take(pa.array(places, pa.int64()))
    return rows.set_column(SCHEMA.get_field_index("text"), SCHEMA.field("text"), pa.array(made, pa.string()))


def _documents(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for one in _inner(document):
        if "eventType" in one:
            yield from _events(one)
        elif _is_ours(one):
            yield from _searches(one)


def _events(event: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One document for each object that was clicked or bought."""
    objects, places = event.get("objectIDs"), event.get("positions")
    listed = objects if isinstance(objects, list) else []
    ranks = places if isinstance(places, list) and len(places) == len(listed) else [None] * len(listed)
    kind = event.get("eventType")
    common = {
        "action_name": _KINDS.get(str(kind), str(kind)),
        "query_id": event.get("queryID"),
        "user_id": event.get("authenticatedUserToken"),
        "client_id": event.get("userToken"),
        "timestamp": event.get("timestamp"),
    }
    if not listed:
        yield common | {"action_name": f"{kind} without objects"}  # on a filter, as a rule
    for thing, rank in zip(listed, ranks, strict=True):
        about = {"object": {"object_id": thing}, "position": {"ordinal": rank}}
        yield common | {"event_attributes": about}


def _searches(entry: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """One document for each query of a request; a request may hold several."""
    asked = parse_qs(str(entry.get("query_params") or ""), keep_blank_values=True)
    inner = entry.get("inner_queries")
    queries = [one for one in inner if isinstance(one, dict)] if isinstance(inner, list) else []
    for one in queries or [{}]:
        token = one.get("user_token") or next(iter(asked.get("userToken", [])), None)
        yield {
            "user_query": one.get("query") or next(iter(asked.get("query", [])), None),
            "query_id": one.get("query_id"),
            "client_id": token,
            "timestamp": entry.get("timestamp"),
        }
