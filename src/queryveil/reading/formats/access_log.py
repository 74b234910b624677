"""Access logs of web servers: common, combined and JSON lines, of nginx, Apache and their kin.

A request is a search if it has a query in the parameter, or at the place in the path, that the user named. All other
requests are skipped and counted.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from queryveil.errors import InputError, UsageError, argument
from queryveil.reading.encodings import create_url_decode, url_decode_sql
from queryveil.reading.json_fields import json_pointer, parse_object
from queryveil.reading.lines import BINARY, NOT_UTF8
from queryveil.reading.model import Extraction, Format, Head, ReadOptions, Source, Staged, most_are
from queryveil.reading.times import literal
from queryveil.reading.validation import BLANK_LINE, NOT_JSON, validate_sql

_QUOTED = r'"((?:[^"\\]|\\.)*)"'
_LINE = (
    # Some servers write the virtual host and its port first; an IPv6 address has more than one colon.
    r"^(?:[^\s:]+:\d+ )?(\S+) \S+ (.*?) \[([^\]]+)\] "
    + _QUOTED
    + r' (\d{3}|-) \S+(?: "(?:[^"\\]|\\.)*" '
    + _QUOTED
    + ")?"
)
_FIELDS = ("ip", "name", "time", "request", "status", "agent")
# Where JSON logs have these, in the spellings of nginx, Apache, Caddy, Traefik and Logstash.
_KEYS = {
    "ip": ("remote_addr", "remote_ip", "client_ip", "clientip", "ip", "request.remote_ip", "ClientHost"),
    "name": ("remote_user", "auth", "user", "request.user", "ClientUsername"),
    "time": ("time_iso8601", "@timestamp", "timestamp", "time", "time_local", "msec", "ts", "StartUTC"),
    "request": ("request", "request_line"),
    "status": ("status", "status_code", "response", "DownstreamStatus"),
    "agent": ("http_user_agent", "user_agent", "agent", "useragent", "request.headers.User-Agent.0"),
    "target": ("request_uri", "request.uri", "uri", "url", "path", "RequestPath"),
    "arguments": ("args", "query_string"),
    "method": ("request_method", "method", "request.method", "RequestMethod"),
}
_USERS = ("ip-and-agent", "ip", "remote-user")
_NOTES = {
    "ip-and-agent": "users are IP addresses with their browsers: people who share both are one, and one person may be "
    "several",
    "ip": "users are IP addresses: people who share one are one user, and one person may be several",
}
_USUAL_PARAMETERS = (
    "q",
    "query",
    "s",
    "search",
    "text",
    "term",
    "keyword",
    "keywords",
    "k",
    "p",
    "wd",
    "search_query",
)
_CLOCK = "%d/%b/%Y:%H:%M:%S %z"
_OTHER, _FAILED = "other requests", "requests that failed or were redirected"
_ESCAPED = r"\\x([0-9A-Fa-f]{2})"


def _extract(source: Source, options: ReadOptions) -> Extraction:
    label = source.files[0].label
    if options.query_parameter is None and "{query}" not in (options.query_path or ""):
        raise InputError(
            f"{label!r} is an access log, and nothing says where the query is",
            f"name its parameter, as in {argument('query_parameter', 'q')}"
            f"{_usual_parameters(source.head)}, or its place in the path, "
            f"as in {argument('query_path', '/search/{query}')}; addresses of referrers are not searched",
        )
    is_json = most_are(line.lstrip().startswith("{") for line in source.head.first_lines)
    user = options.user_field or _USERS[0]
    if not is_json and user not in _USERS:
        raise UsageError(
            f"an access log of this kind has no field {user!r}",
            f"say {argument('user_field')} {'|'.join(_USERS)}",
        )

    def require_requests(staged: Staged) -> None:
        if not staged.rows + staged.rejected:
            raise InputError(
                f"no request of {label!r} has a query in the named place",
                f"check {argument('query_parameter')} and {argument('query_path')}",
            )

    return Extraction(
        columns=("user", "time", "query"),
        sql=_extraction_sql(_json_sql(user) if is_json else _TEXT_SQL, user, options),
        prepare=lambda connection: create_url_decode(connection, options.encoding),
        mapping={"user": user, "query": _log_location(options)},
        notes=(_NOTES[user],) if user in _NOTES else (),
        check=require_requests,
    )


def _log_location(options: ReadOptions) -> str:
    names = [f"parameter {name}" for name in options.query_parameter or ()]
    return " or ".join([*names, *([options.query_path] if options.query_path else [])])


def _is_request(line: str) -> bool:
    if not line.lstrip().startswith("{"):
        return re.match(_LINE, line) is not None
    found = parse_object(line)

    def has(name: str) -> bool:
        return any(_is_prefix(found, key.split(".")) for key in _KEYS[name])

    return found is not None and has("ip") and has("status") and (has("request") or has("target"))


def _is_prefix(found: Any, steps: Sequence[str]) -> bool:
    if not steps:
        return True
    return isinstance(found, dict) and steps[0] in found and _is_prefix(found[steps[0]], steps[1:])


def _usual_parameters(head: Head) -> str:
    """Name the usual parameters of the first requests; other names, and referrers, are not shown."""
    names: Counter[str] = Counter()
    for line in head.first_lines:
        try:
            query = urlsplit(_request_target(line)).query
        except ValueError:
            continue
        names.update({name for name, _ in parse_qsl(query, keep_blank_values=True)})
    found = [name for name, _ in names.most_common() if name in _USUAL_PARAMETERS]
    return f" (the first requests have {', '.join(found[:3])})" if found else ""


def _request_target(line: str) -> str:
    """Return the address that a line requests; empty if there is none."""
    if not line.lstrip().startswith("{"):
        found = re.match(_LINE, line)
        request = found[_FIELDS.index("request") + 1] if found else ""
    else:
        values = parse_object(line)
        request, target, arguments = (
            _first_value(values, _KEYS[key]) for key in ("request", "target", "arguments")
        )
        request = request or f"GET {target}{'?' if arguments and '?' not in target else ''}{arguments}"
    return request.split(" ")[1] if " " in request else ""


def _first_value(values: Any, keys: Sequence[str]) -> str:
    for key in keys:
        found = values
        for step in key.split("."):
            found = found.get(step) if isinstance(found, dict) else None
        if isinstance(found, str):
            return found
    return ""


_REQUEST = r"^([A-Z]+) (.*?)(?: HTTP/[\d.]+)?$"
_TEXT_SQL = (
    "SELECT *, problem AS trouble, r.ip AS ip, r.name AS name, r.time AS clock, "  # noqa: S608 (quoted)
    "r.status AS status, r.agent AS agent, t.method AS method, t.target AS target, r.time <> '' AS whole, "
    f"NULL AS own_user FROM (SELECT *, regexp_extract(r.request, {literal(_REQUEST)}, ['method', 'target']) AS t FROM "
    f"(SELECT *, regexp_extract(text, {literal(_LINE)}, [{', '.join(map(literal, _FIELDS))}]) AS r FROM chunk))"
)
"""SQL for the fields of lines in common or combined format."""


def _json_sql(user: str) -> str:
    """SQL for the fields of JSON lines."""
    places = {name: [json_pointer(key.split(".")) for key in keys] for name, keys in _KEYS.items()}
    places["own"] = [json_pointer(user.split("."))]
    flat = [place for all_of in places.values() for place in all_of]
    at = {place: f"v[{number}]" for number, place in enumerate(flat, start=1)}
    value = {
        name: f"coalesce({', '.join(at[place] for place in all_of)}, NULL)" for name, all_of in places.items()
    }
    target = (
        f"coalesce(nullif(regexp_extract({value['request']}, {literal(_REQUEST)}, 2), ''), {value['target']})"
    )
    method = (
        f"coalesce(nullif(regexp_extract({value['request']}, {literal(_REQUEST)}, 1), ''), "
        f"{value['method']}, 'GET')"
    )
    # Some write what stands behind the question mark into a field of its own.
    whole = f"{target} || coalesce('?' || {value['arguments']}, '')"
    full_target = f"CASE WHEN contains({target}, '?') THEN {target} ELSE {whole} END"
    return (
        f"SELECT *, CASE WHEN j IS NULL THEN coalesce(problem, '{NOT_JSON}') END AS trouble, "  # noqa: S608 (quoted)
        f"{value['ip']} AS ip, "
        f"{value['name']} AS name, {value['time']} AS clock, {value['status']} AS status, {value['agent']} AS agent, "
        f"{method} AS method, {full_target} AS target, "
        f"coalesce({value['request']}, {value['target']}) IS NOT NULL AS whole, {value['own']} AS own_user "
        f"FROM (SELECT *, json_extract_string(j, [{', '.join(map(literal, flat))}]) AS v FROM "
        "(SELECT *, CASE WHEN problem IS NULL AND json_valid(text) AND text LIKE '{%' THEN text END AS j FROM chunk))"
    )


def _extraction_sql(fields: str, user: str, options: ReadOptions) -> str:
    """Return SQL that finds queries, skips requests that are no searches, and validates the others."""
    patterns = []
    if options.query_parameter:
        names = "|".join(map(re.escape, options.query_parameter))
        patterns.append(rf"[?&](?:{names})=([^&#]*)")
    path = _path_pattern(options.query_path) if options.query_path else None
    if path is not None and "{query}" in str(options.query_path):
        patterns.insert(0, path)
    has_query = " OR ".join(f"regexp_matches(target, {literal(one)})" for one in patterns)
    if path is not None and path not in patterns:
        has_query = f"({has_query}) AND regexp_matches(target, {literal(path)})"
    value = " ".join(
        f"WHEN regexp_matches(target, {literal(one)}) THEN regexp_extract(target, {literal(one)}, 1)"
        for one in patterns
    )
    # nginx writes bytes beyond ASCII as \xE4.
    unescaped = f"regexp_replace(value, {literal(_ESCAPED)}, '%\\1', 'g')"
    raw = f"CASE WHEN contains(value, '\\x') THEN {unescaped} ELSE value END"
    problem = (
        f"CASE WHEN trouble IS NOT NULL THEN trouble WHEN text = '' THEN '{BLANK_LINE}' "
        "WHEN NOT coalesce(whole, false) THEN 'not a request' END"
    )
    skipped = (
        f"CASE WHEN problem IS NOT NULL THEN NULL "
        f"WHEN method NOT IN ('GET', 'POST') OR NOT coalesce({has_query}, false) THEN '{_OTHER}' "
        f"WHEN regexp_matches(status, '^[345]') AND status <> '304' THEN '{_FAILED}' END"
    )
    requests = (
        f"(SELECT *, {skipped} AS skipped FROM (SELECT * REPLACE ({problem} AS problem) FROM ({fields})))"  # noqa: S608
    )
    value = f"CASE WHEN problem IS NULL AND skipped IS NULL THEN CASE {value} END END"
    searches = f"(SELECT *, {value} AS value FROM {requests})"  # noqa: S608
    return _validate_sql(searches, f"replace({raw}, '+', ' ')", user, options)


def _path_pattern(path: str) -> str:
    """A regular expression for a path in which {query} is the query, and other {names} and * are anything."""
    parts = re.split(r"(\{\w+\}|\*)", path)
    named = {"{query}": r"([^/?#]+)"}
    made = [
        named.get(part, r"[^/?#]*") if part[:1] in ("{", "*") else re.escape(part) for part in parts if part
    ]
    # A full address, as proxies log it, has a host before the path.
    return rf"^(?:https?://[^/?#]*)?{''.join(made)}/?(?:[?#]|$)"


def _validate_sql(searches: str, raw: str, user: str, options: ReadOptions) -> str:
    relation = (
        "(SELECT * REPLACE (CASE WHEN problem IS NULL AND skipped IS NULL AND query IS NULL THEN "  # noqa: S608
        f"'{NOT_UTF8}' WHEN problem IS NULL AND contains(query, chr(0)) THEN '{BINARY}' ELSE problem END AS problem) "
        f"FROM (SELECT *, {url_decode_sql('raw', options.encoding)} AS query FROM "
        f"(SELECT *, {raw} AS raw FROM {searches})))"
    )
    agent = "CASE WHEN nullif(nullif(agent, ''), '-') IS NULL THEN '' ELSE ' ' || agent END"
    someone = {"ip": "ip", "ip-and-agent": f"ip || {agent}", "remote-user": "nullif(name, '-')"}
    day = r"^\[?\d\d/[A-Z][a-z]{2}/\d{4}:"
    parsed = f"make_timestamp(epoch_us(try_strptime(trim(clock, '[] '), '{_CLOCK}')))"
    iso = f"strftime({parsed}, '%Y-%m-%d %H:%M:%S')"
    clock = f"CASE WHEN regexp_matches(clock, {literal(day)}) THEN {iso} ELSE clock END"
    values = {
        "user": someone.get(user, "own_user"),
        "time": clock if options.time_format is None else "clock",
        "query": "query",
    }
    return validate_sql(relation, values, time_format=options.time_format, also=("skipped",))


FORMAT = Format(
    name="access-log",
    help="access logs of web servers: common, combined or JSON lines",
    options=("query_parameter", "query_path", "user_field"),
    recognize=lambda head: most_are(map(_is_request, head.first_lines)),
    columns={
        "user": _USERS[0],
        "time": "time of the request",
        "query": "the named parameter or place in the path",
    },
    columns_hint=f"leave out {argument('columns')}, and say where the query is with {argument('query_parameter')}",
    extract=_extract,
    can_split=lambda *_: True,
    has_encoded_queries=True,
    users_have_blanks=True,
)
