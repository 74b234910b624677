"""Slow logs of Elasticsearch and OpenSearch, plain or JSON: the query is inside the search that was sent.

The user is what the application put into the header X-Opaque-Id, or who was logged in: the server knows no other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from queryveil.errors import InputError, argument
from queryveil.reading.json_documents import objects_in
from queryveil.reading.model import Extraction, Format, Head, ReadOptions, Source, Staged, most_are
from queryveil.reading.translation import Reject, Row, Skip, extract_translated, text_of
from queryveil.reading.validation import NO_FIELD, NO_USER, NOT_JSON

_PLAIN = re.compile(r"\[([0-9T:,.+Z -]{19,35})\]\[[A-Z ]{4,6}\]\[([\w.]*slowlog\.(?:query|fetch)\b[\w.]*)")
_TEXTS = (
    *("multi_match", "query_string", "simple_query_string", "match", "match_phrase", "match_phrase_prefix"),
    *("match_bool_prefix", "combined_fields", "neural", "semantic"),
)
"""Clauses of the query language that contain what a user typed, likeliest first."""
_TYPED = ("query", "query_text")
_DEEPEST = 40
_FETCH = Skip("lines of the fetch phase")
_NO_TEXT = Skip("searches without words")
_NOTES = (
    "a slow log holds the searches that took longer than its threshold, once for each shard on which they did",
    "users are what the application sent as X-Opaque-Id, or the account that it used: if that is the same for "
    "everybody, this log knows no users",
)
_NO_SEARCH = "not a search"
_USER_HINT = "let the application send an id of the user in the header X-Opaque-Id"


def _is_slow_log(head: Head) -> bool:
    if head.data.lstrip()[:1] == b"{":
        return most_are(map(_is_slow, objects_in(head)))
    return most_are(_PLAIN.match(line) is not None for line in head.first_lines)


def _extract(source: Source, options: ReadOptions) -> Extraction:
    def require_users(staged: Staged) -> None:
        if not staged.rows and staged.reasons.get(NO_USER) == staged.rejected > 0:
            raise InputError(f"no search of {source.files[0].label!r} says who made it", _USER_HINT)

    return extract_translated(_parse_row, ("user", "time", "query"), options, check=require_users)


def _is_slow(document: Mapping[str, Any]) -> bool:
    names = (document.get("type"), document.get("log.logger"), document.get("event.dataset"))
    return any("slowlog" in str(name) for name in names) and _field_value(document, "source") is not None


def _field_value(document: Mapping[str, Any], name: str) -> Any:
    """Return a field under its name, or under its longer names in newer versions."""
    for key in (f"elasticsearch.slowlog.{name}", f"opensearch.slowlog.{name}", name):
        if key in document:
            return document[key]
    return None


def _parse_row(line: str) -> list[Row] | Skip | Reject:
    found = _parse_json(line) if line.lstrip().startswith("{") else _parse_plain(line)
    if isinstance(found, Skip | Reject):
        return found
    try:
        search = json.loads(found.pop("source") or "")
    except (ValueError, RecursionError):
        return Reject(NOT_JSON)
    words = _query_text(search)
    return _NO_TEXT if words is None else [found | {"query": words}]


def _parse_json(line: str) -> dict[str, str | None] | Skip | Reject:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return Reject(NOT_JSON)
    if not isinstance(document, dict) or _field_value(document, "source") is None:
        return Reject(NO_FIELD)
    if "fetch" in str(document.get("log.logger") or document.get("component") or ""):
        return _FETCH
    user = text_of(_field_value(document, "id")) or text_of(document.get("user.name"))
    time = text_of(document.get("@timestamp") or document.get("timestamp"))
    return {"user": user, "time": _iso_time(time), "source": text_of(_field_value(document, "source"))}


def _parse_plain(line: str) -> dict[str, str | None] | Skip | Reject:
    found = _PLAIN.match(line)
    # The search may hold any characters; the fields behind it are few, so it is cut from both ends.
    _, start, rest = line.partition("source[")
    source, end, tail = rest.rpartition("], id[")
    if found is None or not start:
        return Reject(_NO_SEARCH)
    if ".fetch" in found[2]:
        return _FETCH
    if not end:
        source, tail = rest.rpartition("]")[0], ""
    return {"user": tail.partition("]")[0] or None, "time": _iso_time(found[1]), "source": source}


def _iso_time(time: str | None) -> str | None:
    """Return a time with a point before the fraction, which is written with a comma."""
    return None if time is None else time.strip().replace(",", ".")


def _query_text(search: Any, deep: int = 0) -> str | None:
    """Return what the user typed: the first text in a clause that takes one."""
    if deep > _DEEPEST:
        return None
    if isinstance(search, list):
        return next((one for part in search if (one := _query_text(part, deep + 1)) is not None), None)
    if not isinstance(search, dict):
        return None
    for clause in _TEXTS:
        if clause in search and (words := _clause_text(search[clause], deep + 1)) is not None:
            return words
    return next((one for part in search.values() if (one := _query_text(part, deep + 1)) is not None), None)


def _clause_text(clause: Any, deep: int) -> str | None:
    if isinstance(clause, str):
        return clause
    if not isinstance(clause, dict) or deep > _DEEPEST:
        return None
    for key in _TYPED:
        if isinstance(clause.get(key), str):
            return str(clause[key])
    # {"match": {"title": "tea"}} or {"match": {"title": {"query": "tea"}}}
    return next((one for part in clause.values() if (one := _clause_text(part, deep + 1)) is not None), None)


FORMAT = Format(
    name="slow-log",
    help="search slow logs of Elasticsearch and OpenSearch, plain or JSON",
    recognize=_is_slow_log,
    columns={
        "user": "id (X-Opaque-Id), or else user.name",
        "time": "timestamp",
        "query": "words of the source",
    },
    extract=_extract,
    hints={_NO_SEARCH: f"check {argument('format')}"},
    notes=_NOTES,
)
