"""Algolia: its log of searches, and the events of its Insights API, in which a click names a list of objects.

Both are translated into documents of UBI's schema, one for each object of a list, and read like them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs

import pyarrow as pa

from queryveil.reading.formats import ubi
from queryveil.reading.json_documents import objects_in
from queryveil.reading.lines import SCHEMA
from queryveil.reading.model import Extraction, Format, Head, ReadOptions, Source, most_are
from queryveil.reading.translation import parse_object

_KINDS = {"click": "click", "conversion": "conversion", "view": "impression"}
_CLICKS = ("click", "conversion")
_USER_FIELDS = {"authenticatedUserToken": "user_id", "userToken": "client_id"}


def _is_algolia(head: Head) -> bool:
    if head.data.lstrip()[:1] not in (b"{", b"["):
        return False
    return most_are(_is_document(one) for found in objects_in(head) for one in _inner(found))


def _extract(_: Source, options: ReadOptions) -> Extraction:
    user_field = ubi.check_user_field(options.user_field, tuple(_USER_FIELDS))
    extraction = ubi.extract_documents(
        options,
        options.click_actions or _CLICKS,
        _USER_FIELDS.get(user_field or ""),
        {"user": user_field} if user_field else {},
    )
    return replace(extraction, transform=_translate_chunk)


_encode = json.JSONEncoder(separators=(",", ":")).encode


def _inner(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
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


def _translate_chunk(chunk: pa.Table) -> pa.Table:
    """Translate Algolia's documents into those of UBI."""
    made: list[str] = []
    places: list[int] = []
    given = zip(chunk.column("text").to_pylist(), chunk.column("problem").to_pylist(), strict=True)
    for place, (text, problem) in enumerate(given):
        found = parse_object(text) if problem is None else None
        texts = [_encode(new) for new in _documents(found)] if found is not None else []
        # Without a translation, the document stays as it is, and is rejected later.
        made += texts or [text]
        places += [place] * max(1, len(texts))
    rows = chunk.take(pa.array(places, pa.int64()))
    return rows.set_column(SCHEMA.get_field_index("text"), SCHEMA.field("text"), pa.array(made, pa.string()))


def _documents(document: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for one in _inner(document):
        if "eventType" in one:
            yield from _events(one)
        elif _is_document(one):
            yield from _searches(one)


def _events(event: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield one document for each object that was clicked or bought."""
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
    """Yield one document for each query of a request; a request may hold several."""
    parameters = parse_qs(str(entry.get("query_params") or ""), keep_blank_values=True)
    inner = entry.get("inner_queries")
    queries = [one for one in inner if isinstance(one, dict)] if isinstance(inner, list) else []
    for one in queries or [{}]:
        token = one.get("user_token") or next(iter(parameters.get("userToken", [])), None)
        yield {
            "user_query": one.get("query") or next(iter(parameters.get("query", [])), None),
            "query_id": one.get("query_id"),
            "client_id": token,
            "timestamp": entry.get("timestamp"),
        }


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
