"""Request logs of Solr: the query is a parameter of the request, and so is the user, if the application sends one."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qsl

from queryveil.errors import InputError, UsageError
from queryveil.reading.columns import ALIASES
from queryveil.reading.formats import decoding
from queryveil.reading.lines import BINARY, NOT_UTF8, read_lines
from queryveil.reading.model import Head, Progress, ReadOptions, Source, Staged
from queryveil.reading.staging import Stager, chunks, connect
from queryveil.reading.times import literal
from queryveil.reading.validation import judge_sql

_TIME = r"^\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,]\d{1,9}Z?)"
_REQUEST = r"\bpath=(\S+) params=\{(.*)\}"
_LINE = re.compile(_TIME + r".*\bpath=\S+ params=\{")
_LOOKED_AT = 100
_USUAL = "called like a user, or else like a session"
_PASSED = {
    "other": "other lines and requests",
    "shard": "requests between shards",
    "all": "searches for everything",
}


class Solr:
    name: ClassVar[str] = "solr"
    help: ClassVar[str] = "request logs of Solr"
    suffixes: ClassVar[tuple[str, ...]] = ()
    takes: ClassVar[tuple[str, ...]] = ("query_parameter", "user_field")

    def matches(self, head: Head) -> bool:
        # Solr logs much else beside requests, so a few are enough.
        lines = head.lines[:_LOOKED_AT]
        dated = sum(re.match(_TIME, line) is not None for line in lines)
        return 2 * dated > len(lines) and any(_LINE.match(line) for line in lines)

    def stage(self, source: Source, options: ReadOptions, into: Path, progress: Progress | None) -> Staged:
        label = source.files[0].label
        if options.columns is not None:
            raise UsageError(
                f"{label!r} is a log of Solr, whose columns are known",
                "leave out --columns, and say which parameter is the user with --user-field",
            )
        if options.user_field is None:
            _require_user(source.head, label)
        parse = _parse_sql(options.user_field, options.query_parameter or ("q",))
        raw = {"user": "who", "time": "replace(clock, ',', '.')", "query": "query"}
        judge = judge_sql(_judged(options), raw, time_format=options.time_format)
        passed: Counter[str] = Counter()
        with connect(into, options) as connection, Stager(into, list(raw), source) as stager:
            decoding.prepare(connection, options)
            for chunk in chunks(read_lines(source, None, progress)):
                connection.register("chunk", chunk)
                connection.execute(f"CREATE OR REPLACE TEMP TABLE parsed AS {parse}")
                connection.unregister("chunk")
                kinds = connection.execute("SELECT kind, sum(lines) FROM parsed GROUP BY kind").fetchall()
                passed.update({kind: int(n) for kind, n in kinds if kind in _PASSED})
                stager.add(connection.execute(judge).to_arrow_table())
            staged = stager.finish(self.name)
        return replace(
            staged,
            passed_over={_PASSED[kind]: count for kind, count in passed.most_common() if count},
            mapping={
                "user": f"parameter {options.user_field or _USUAL}",
                "time": "time of the line",
                "query": _place(options),
            },
        )


def _judged(options: ReadOptions) -> str:
    query, who = (decoding.decoded_sql(name, options) for name in ("raw", "user"))
    return (
        "(SELECT * REPLACE (CASE WHEN problem IS NULL AND query IS NULL THEN "  # noqa: S608 (our own words)
        f"'{NOT_UTF8}' WHEN problem IS NULL AND contains(query, chr(0)) THEN '{BINARY}' ELSE problem END AS problem) "
        f"FROM (SELECT *, {query} AS query, {who} AS who FROM parsed WHERE kind IS NULL OR kind = 'search'))"
    )


def _place(options: ReadOptions) -> str:
    return " or ".join(f"parameter {name}" for name in options.query_parameter or ("q",))


def _require_user(head: Head, label: str) -> None:
    """Refuse a log if no parameter of its first requests is called like a user or a session."""
    names = {*ALIASES["user"], *ALIASES["session"]}
    for line in head.lines[:_LOOKED_AT]:
        for found in re.findall(r"params=\{([^}]*)\}", line):
            if any(name.lower() in names for name, _ in parse_qsl(found)):
                return
    raise InputError(
        f"nothing in {label!r} says who searched: Solr knows no users, and no parameter is called like one",
        "let the application send a parameter for the user (Solr passes over those that it does not know), and "
        "name it with --user-field",
    )


def _parse_sql(user: str | None, parameters: tuple[str, ...]) -> str:
    """SQL that finds time, user and query of every line, and says which lines are searches."""
    names = "|".join(map(re.escape, parameters))

    def value(pattern: str) -> str:
        return f"replace(regexp_extract(params, {literal(f'(?:^|&)(?:{pattern})=([^&]*)')}, 1), '+', ' ')"

    # By each request alone: counting which parameter is usual would let one user decide who all others are.
    by_name, by_session = (value(f"(?i:{'|'.join(ALIASES[one])})") for one in ("user", "session"))
    who = f"coalesce(nullif({by_name}, ''), {by_session})" if user is None else value(re.escape(user))
    has = f"regexp_matches(params, {literal(f'(?:^|&)(?:{names})=')})"
    return (
        "SELECT file, line, lines, text, CASE WHEN problem IS NOT NULL THEN problem "  # noqa: S608 (literals are quoted)
        "WHEN text = '' THEN 'blank line' END AS problem, clock, "
        f"{value(names)} AS raw, {who} AS user, "
        "CASE WHEN problem IS NOT NULL OR text = '' THEN NULL "
        f"WHEN NOT {has} THEN 'other' "
        # Words that are not there need no pattern.
        "WHEN (contains(params, 'isShard=true') OR contains(params, 'distrib=false')) "
        "AND regexp_matches(params, '(?:^|&)(?:isShard=true|distrib=false)(?:&|$)') THEN 'shard' "
        f"WHEN {value(names)} IN ('*:*', '*', '%2A:%2A', '*%3A*', '%2A%3A%2A') THEN 'all' ELSE 'search' END AS kind "
        f"FROM (SELECT *, regexp_extract(text, {literal(_TIME)}, 1) AS clock, "
        f"CASE WHEN contains(text, ' params={{') THEN regexp_extract(text, {literal(_REQUEST)}, 2) ELSE '' END "
        "AS params FROM chunk)"
    )
