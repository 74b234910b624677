"""Request logs of Solr: the query is a parameter of the request, and so is the user, if the application sends one."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl

from queryveil.errors import InputError, argument
from queryveil.reading.columns import ALIASES
from queryveil.reading.encodings import create_url_decode, url_decode_sql
from queryveil.reading.lines import BINARY, NOT_UTF8
from queryveil.reading.model import Extraction, Format, Head, ReadOptions, Source, most_are
from queryveil.reading.times import literal
from queryveil.reading.validation import BLANK_LINE, validate_sql

_TIME = r"^\[?(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[.,]\d{1,9}Z?)"
_REQUEST = r"\bpath=(\S+) params=\{(.*)\}"
_LINE = re.compile(_TIME + r".*\bpath=\S+ params=\{")
_USUAL = "called like a user, or else like a session"


def _is_solr(head: Head) -> bool:
    # Solr logs much besides requests, so a few of them are enough.
    dated = most_are(re.match(_TIME, line) is not None for line in head.first_lines)
    return dated and any(_LINE.match(line) for line in head.first_lines)


def _extract(source: Source, options: ReadOptions) -> Extraction:
    if options.user_field is None:
        _require_user(source.head, source.files[0].label)
    parameters = options.query_parameter or ("q",)
    return Extraction(
        columns=("user", "time", "query"),
        sql=_extraction_sql(options.user_field, parameters, options),
        prepare=lambda connection: create_url_decode(connection, options.encoding),
        mapping={
            "user": f"parameter {options.user_field or _USUAL}",
            "query": " or ".join(f"parameter {name}" for name in parameters),
        },
    )


def _require_user(head: Head, label: str) -> None:
    """Refuse a log if no parameter of its first requests is called like a user or a session."""
    names = {*ALIASES["user"], *ALIASES["session"]}
    for line in head.first_lines:
        for found in re.findall(r"params=\{([^}]*)\}", line):
            if any(name.lower() in names for name, _ in parse_qsl(found)):
                return
    raise InputError(
        f"nothing in {label!r} says who searched: Solr knows no users, and no parameter is called like one",
        "let the application send a parameter for the user (Solr passes over those that it does not know), and "
        f"name it with {argument('user_field')}",
    )


def _extraction_sql(user: str | None, parameters: tuple[str, ...], options: ReadOptions) -> str:
    """Return SQL that finds time, user, and query of every line, skips lines that are no searches, and validates."""
    names = "|".join(map(re.escape, parameters))

    def value(pattern: str) -> str:
        return f"replace(regexp_extract(params, {literal(f'(?:^|&)(?:{pattern})=([^&]*)')}, 1), '+', ' ')"

    # By each request alone: counting which parameter is usual would let one user decide who all others are.
    by_name, by_session = (value(f"(?i:{'|'.join(ALIASES[one])})") for one in ("user", "session"))
    raw_user = f"coalesce(nullif({by_name}, ''), {by_session})" if user is None else value(re.escape(user))
    has_query = f"regexp_matches(params, {literal(f'(?:^|&)(?:{names})=')})"
    requests = (
        f"(SELECT *, CASE WHEN text = '' THEN '{BLANK_LINE}' END AS blank, "  # noqa: S608 (literals are quoted)
        f"regexp_extract(text, {literal(_TIME)}, 1) AS clock, CASE WHEN contains(text, ' params={{') "
        f"THEN regexp_extract(text, {literal(_REQUEST)}, 2) ELSE '' END AS params FROM chunk)"
    )
    kinds = (
        f"(SELECT * REPLACE (coalesce(problem, blank) AS problem), {value(names)} AS raw, "  # noqa: S608
        "CASE WHEN coalesce(problem, blank) IS NOT NULL THEN NULL "
        f"WHEN NOT {has_query} THEN 'other lines and requests' "
        # Most requests have none of these words, which is faster to find out than a pattern.
        "WHEN (contains(params, 'isShard=true') OR contains(params, 'distrib=false')) "
        "AND regexp_matches(params, '(?:^|&)(?:isShard=true|distrib=false)(?:&|$)') THEN 'requests between shards' "
        "WHEN raw IN ('*:*', '*', '%2A:%2A', '*%3A*', '%2A%3A%2A') THEN 'searches for everything' END AS skipped "
        f"FROM {requests})"
    )
    query, name = (url_decode_sql(one, options.encoding) for one in ("raw", "raw_name"))
    searches = (
        f"(SELECT *, CASE WHEN skipped IS NULL THEN {query} END AS query, {name} AS name FROM "  # noqa: S608
        f"(SELECT *, CASE WHEN skipped IS NULL THEN {raw_user} END AS raw_name FROM {kinds}))"
    )
    relation = (
        f"(SELECT * REPLACE (CASE WHEN problem IS NULL AND skipped IS NULL AND query IS NULL THEN '{NOT_UTF8}' "  # noqa: S608
        f"WHEN problem IS NULL AND contains(query, chr(0)) THEN '{BINARY}' ELSE problem END AS problem) "
        f"FROM {searches})"
    )
    values = {"user": "name", "time": "replace(clock, ',', '.')", "query": "query"}
    return validate_sql(relation, values, time_format=options.time_format, also=("skipped",))


FORMAT = Format(
    name="solr",
    help="request logs of Solr",
    options=("query_parameter", "user_field"),
    recognize=_is_solr,
    columns={"user": f"parameter {_USUAL}", "time": "time of the line", "query": "parameter q"},
    columns_hint=f"leave out {argument('columns')}, and say which parameter is the user with {argument('user_field')}",
    extract=_extract,
    has_encoded_queries=True,
)
