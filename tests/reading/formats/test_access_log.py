"""Access logs: which requests are searches, who asked, and what is said about it."""

from __future__ import annotations

import datetime as dt
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil as qv
from tests.reading.formats.logs import read, rejections, rows_of, write

DATA = Path(__file__).parents[2] / "data" / "sources"
BROWSER, PHONE = "Mozilla/5.0 (X11; Linux x86_64)", 'Mozilla/5.0 (iPhone; \\"x\\")'
TEN = dt.datetime(2024, 12, 10, 9, 0)


def staged_of(tmp_path: Path, *lines: str, **options: Any) -> Any:
    log = write(tmp_path / "access.log", "".join(line + "\n" for line in lines))
    return read(log, tmp_path / "into", **{"query_parameter": ("q",), "max_rejected": 1, **options})


def line(target: str, ip: str = "192.0.2.1", name: str = "-", status: int = 200, method: str = "GET") -> str:
    return (
        f'{ip} - {name} [10/Dec/2024:10:00:00 +0100] "{method} {target} HTTP/1.1" {status} 1 "-" "{BROWSER}"'
    )


@pytest.mark.parametrize("shape", ["combined.log", "vhost.log", "common.log", "nginx.json"])
def test_every_shape_gives_the_same_searches(shape: str, tmp_path: Path) -> None:
    staged = read(DATA / f"access-{shape}", tmp_path / "into", query_parameter=("q",), max_rejected=1)
    assert staged.format == "access-log"
    assert rows_of(staged, "time", "query") == [
        (TEN, "rare orchids"),
        (TEN.replace(second=30), "rare orchids"),
        (TEN.replace(minute=5), "café crème"),
        (TEN.replace(minute=6), ""),
    ]
    assert [one[1:] for one in rejections(staged)] == [(7, "not UTF-8")]
    assert dict(staged.skipped) == {"other requests": 3, "requests that failed or were redirected": 1}
    users = [user for (user,) in rows_of(staged, "user")]
    if shape == "common.log":
        assert users == ["192.0.2.1", "192.0.2.1", "2001:db8::7", "198.51.100.9"]
    else:
        phone = PHONE.replace("\\", "") if shape == "nginx.json" else PHONE
        assert users[:3] == [f"192.0.2.1 {BROWSER}", f"192.0.2.1 {phone}", f"2001:db8::7 {BROWSER}"]
    assert "IP addresses" in staged.notes[0]


@pytest.mark.parametrize(
    ("encoding", "target", "query"),
    [
        ("latin-1", "/s?q=%E9t%E9", "été"),
        ("latin-1", "/s?q=%C3%A9t%C3%A9", "été"),
        ("gb18030", "/s?q=%B1%B1%BE%A9", "北京"),
        ("latin-1", "/s?q=\\xE9t\\xE9+a", "été a"),
    ],
)
def test_the_named_encoding_is_that_of_addresses_too(
    encoding: str, target: str, query: str, tmp_path: Path
) -> None:
    """What the message about such a row advises helps."""
    staged = staged_of(tmp_path, line(target), encoding=encoding)
    assert rows_of(staged, "query") == [(query,)]


def test_a_format_that_takes_no_columns_does_not_ask_for_them(tmp_path: Path) -> None:
    for name in (
        "solr.log",
        "slow-plain.log",
        "google-analytics-events.json",
        "access_log.20080601.decode.filter",
    ):
        with pytest.raises(qv.InputError, match="rows were rejected") as caught:
            read(DATA / name, tmp_path / name)
        assert "columns" not in str(caught.value), name


def test_where_the_query_is_must_be_said(tmp_path: Path) -> None:
    with pytest.raises(qv.InputError, match=r"query_parameter='q' \(the first requests have q\)"):
        staged_of(tmp_path, line("/s?q=private&secret=1"), query_parameter=None)
    referred = line("/cart").replace('"-"', '"https://example.org/?q=private"', 1)
    assert referred != line("/cart")
    as_json = json.dumps(
        {
            "remote_addr": "::1",
            "status": 200,
            "request": "GET /a?s=x HTTP/1.1",
            "http_referer": "https://e.org/?q=x",
        }
    )
    for text, parameter in ((referred, None), (as_json, "s")):
        with pytest.raises(qv.InputError) as refused:
            staged_of(tmp_path, text, query_parameter=None)
        assert re.findall(r"requests have ([\w, ]+)", str(refused.value)) == (
            [parameter] if parameter else []
        )
    with pytest.raises(qv.InputError, match="nothing says where the query is"):
        staged_of(tmp_path, line("/search/private"), query_parameter=None, query_path="/search")
    with pytest.raises(qv.InputError, match="has a query"):
        staged_of(tmp_path, line("/s?query=private"))


@pytest.mark.parametrize(
    ("options", "found"),
    [
        ({"query_path": "/search/{query}", "query_parameter": None}, ["tea pot"]),
        ({"query_path": "/{lang}/find/{query}", "query_parameter": None}, ["thé"]),
        ({"query_path": "/search", "query_parameter": ("q",)}, ["mug"]),
        ({"query_parameter": ("q", "text")}, ["mug", "cup", "jar"]),
    ],
)
def test_places_of_the_query(options: dict[str, Any], found: list[str], tmp_path: Path) -> None:
    targets = [
        "/search/tea%20pot?page=2",
        r"/fr/find/th\xC3\xA9/",
        "/search?q=mug",
        "/other?text=cup",
        "/?a=1&q=jar#x",
    ]
    staged = staged_of(tmp_path, *map(line, targets), **options)
    assert [query for (query,) in rows_of(staged, "query")] == found
    assert staged.skipped["other requests"] == len(targets) - len(found)


def test_users_can_be_named(tmp_path: Path) -> None:
    lines = [line("/?q=a", name="ann lee"), line("/?q=b")]
    staged = staged_of(tmp_path, *lines, user_field="remote-user")
    assert rows_of(staged, "user", "query") == [("ann lee", "a")]
    assert (dict(staged.reasons), staged.notes) == ({"no user": 1}, ())
    assert rows_of(staged_of(tmp_path / "ip", *lines, user_field="ip"), "user") == [("192.0.2.1",)] * 2
    with pytest.raises(qv.UsageError, match="has no field 'cookie'"):
        staged_of(tmp_path / "cookie", *lines, user_field="cookie")


def test_json_may_name_any_key(tmp_path: Path) -> None:
    rows = [
        {
            "ts": 1733821200.5,
            "request": {"remote_ip": "192.0.2.1", "uri": "/?q=a", "method": "GET"},
            "status": 200,
        }
        | {"visitor": {"id": "v1"}},
        {
            "time_iso8601": "2024-12-10T10:00:00+01:00",
            "remote_addr": "192.0.2.2",
            "uri": "/",
            "args": "q=b",
            "status": 200,
        },
    ]
    staged = staged_of(tmp_path, *map(json.dumps, rows), user_field="visitor.id")
    assert rows_of(staged, "user", "time", "query") == [("v1", TEN.replace(microsecond=500_000), "a")]
    assert rejections(staged) == [("access.log", 2, "no user")]
    by_ip = staged_of(tmp_path / "ip", *map(json.dumps, rows), user_field="ip")
    assert rows_of(by_ip, "user", "query") == [("192.0.2.1", "a"), ("192.0.2.2", "b")]


def test_bad_lines_are_kept_aside(tmp_path: Path) -> None:
    bad_time = line("/?q=x").replace("10/Dec/2024", "42/Dec/2024")
    staged = staged_of(tmp_path, line("/?q=a"), "no request", bad_time, "", line("/?q=a%00b"), line("/?q=b"))
    assert [one[1:] for one in rejections(staged)] == [
        (2, "not a request"),
        (3, "bad time"),
        (4, "blank line"),
        (5, "binary data"),
    ]
    assert staged.rows == 2


def test_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(qv.UsageError, match="leave out columns"):
        staged_of(tmp_path, line("/?q=a"), columns={"user": 1, "query": 2}, format="access-log")


@settings(max_examples=40, deadline=None)
@given(texts=st.lists(st.text(st.sampled_from('q=&?%20E9[]" \\x+\t/{}GET'), max_size=25), max_size=6))
def test_every_line_is_a_row_rejected_or_skipped(
    texts: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    lines = [line("/?q=first"), *(line(text) for text in texts), *(text + "." for text in texts)]
    staged = staged_of(tmp_path_factory.mktemp("log"), *lines, format="access-log")
    assert staged.rows + staged.rejected + sum(staged.skipped.values()) == len(lines)
