"""Slow logs of Elasticsearch and OpenSearch, plain or JSON: the query is inside the search that was sent.

The user is what the application put into the header X-Opaque-Id, or who was logged in: the server knows no other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from queryveil.errors import InputError, UsageError
from queryveil.reading.json_documents import objects_in
from queryveil.reading.lines import read_lines
from queryveil.reading.model import Head, Progress, ReadOptions, Source, Staged
from queryveil.reading.translated import Bad, Passed, Row, stage_translated, text_of

_PLAIN = re.compile(r"\[([0-9T:,.+Z -]{19,35})\]\[[A-Z ]{4,6}\]\[([\w.]*slowlog\.(?:query|fetch)\b[\w.]*)")
_LOOKED_AT = 100
_TEXTS = (
    *("multi_match", "query_string", "simple_query_string", "match", "match_phrase", "match_phrase_prefix"),
    *("match_bool_prefix", "combined_fields", "neural", "semantic"),
)
"""Clauses of the query language that hold what somebody typed, likeliest first."""
_TYPED = ("query", "query_text")
_DEEPEST = 40
_FETCH = Passed("lines of the fetch phase")
_NO_TEXT = Passed("searches without words")
_NOTES = (
    "a slow log holds the searches that took longer than its threshold, once for each shard on which they did",
    "users are what the application sent as X-Opaque-Id, or the account that it used: if that is the same for "
    "everybody, this log knows no users",
)
_MAPPING = {
    "user": "id (X-Opaque-Id), or else user.name",
    "time": "timestamp",
    "query": "words of the source",
}
_WAY_OUT = "let the application send an id of the user in the header X-Opaque-Id"


class SlowLog:
    name: ClassVar[str] = "slow-log"
    help: ClassVar[str] = "search slow logs of Elasticsearch and OpenSearch, plain or JSON"
    suffixes: ClassVar[tuple[str, ...]] = ()

    def matches(self, head: Head) -> bool:
        lines = head.lines[:_LOOKED_AT]
        if head.data.lstrip()[:1] == b"{":
            found = objects_in(head)
            return bool(found) and 2 * sum(_is_slow(one) for one in found) > len(found)
        return bool(lines) and 2 * sum(_PLAIN.match(line) is not None for line in lines) > len(lines)

    def stage(self, source: Source, options: ReadOptions, into: Path, progress: Progress | None) -> Staged:
        label = source.files[0].label
        if options.columns is not None:
            raise UsageError(f"{label!r} is a slow log, whose columns are known", "leave out --columns")
        staged = stage_translated(
            source,
            read_lines(source, None, progress),
            _row,
            options,
            into,
            columns=("user", "time", "query"),
            format=self.name,
            mapping=_MAPPING,
            notes=_NOTES,
        )
        if not staged.rows and staged.reasons.get("no user") == staged.rejected > 0:
            raise InputError(f"no search of {label!r} says who made it", _WAY_OUT)
        return staged


def _is_slow(document: Mapping[str, Any]) -> bool:
    names = (document.get("type"), document.get("log.logger"), document.get("event.dataset"))
    return any("slowlog" in str(name) for name in names) and _of(document, "source") is not None


def _of(document: Mapping[str, Any], name: str) -> Any:
    """A field under its name, or under the longer ones of newer versions."""
    for key in (f"elasticsearch.slowlog.{name}", f"opensearch.slowlog.{name}", name):
        if key in document:
            return document[key]
    return None


def _row(line: str) -> list[Row] | Passed | Bad:
    found = _json(line) if line.lstrip().startswith("{") else _plain(line)
    if isinstance(found, Passed | Bad):
        return found
    try:
        search = json.loads(found.pop("source") or "")
    except (ValueError, RecursionError):
        return Bad("not JSON")
    words = _words(search)
    return _NO_TEXT if words is None else [found | {"query": words}]


def _json(line: str) -> dict[str, str | None] | Passed | Bad:
    try:
        document = json.loads(line)
    except (ValueError, RecursionError):
        return Bad("not JSON")
    if not isinstance(document, dict) or _of(document, "source") is None:
        return Bad("no such field")
    if "fetch" in str(document.get("log.logger") or document.get("component") or ""):
        return _FETCH
    user = text_of(_of(document, "id")) or text_of(document.get("user.name"))
    time = text_of(document.get("@timestamp") or document.get("timestamp"))
    return {"user": user, "time": _iso(time), "source": text_of(_of(document, "source"))}


def _plain(line: str) -> dict[str, str | None] | Passed | Bad:
    found = _PLAIN.match(line)
    # The search may hold any characters; the fields behind it are few, so it is cut from both ends.
    _, start, rest = line.partition("source[")
    source, end, tail = rest.rpartition("], id[")
    if found is None or not start:
        return Bad("not a search")
    if ".fetch" in found[2]:
        return _FETCH
    if not end:
        source, tail = rest.rpartition("]")[0], ""
    return {"user": tail.partition("]")[0] or None, "time": _iso(found[1]), "source": source}


def _iso(time: str | None) -> str | None:
    """Times are written with a comma before the fraction."""
    return None if time is None else time.strip().replace(",", ".")


def _words(search: Any, deep: int = 0) -> str | None:
    """What somebody typed: the first text in a clause that takes one."""
    if deep > _DEEPEST:
        return None
    if isinstance(search, list):
        return next((one for part in search if (one := _words(part, deep + 1)) is not None), None)
    if not isinstance(search, dict):
        return None
    for clause in _TEXTS:
        if clause in search and (words := _typed(search[clause], deep + 1)) is not None:
            return words
    return next((one for part in search.values() if (one := _words(part, deep + 1)) is not None), None)


def _typed(clause: Any, deep: int) -> str | None:
    if isinstance(clause, str):
        return clause
    if not isinstance(clause, dict) or deep > _DEEPEST:
        return None
    for key in _TYPED:
        if isinstance(clause.get(key), str):
            return str(clause[key])
    # {"match": {"title": "tea"}} or {"match": {"title": {"query": "tea"}}}
    return next((one for part in clause.values() if (one := _typed(part, deep + 1)) is not None), None)
