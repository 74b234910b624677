"""Files that nobody would write on purpose: whatever they hold, every row is kept, rejected, or counted otherwise."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import queryveil as qv
from tests.reading.formats.logs import read, rejections, rows_of, write

CORPUS = Path(__file__).parents[2] / "data" / "sources"


def test_a_truncated_archive_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(b"user,query\n" + b"".join(b"u%d,tea %d\n" % (at, at) for at in range(9_999)))
    with pytest.raises(qv.InputError, match="damaged or cut short"):
        read(write(tmp_path / "log.csv.gz", whole[: len(whole) // 2]), tmp_path / "into")


def test_line_ends_may_be_mixed(tmp_path: Path) -> None:
    log = write(tmp_path / "log.csv", b"user,query\r\nann,tea\r\nbob,mug\ncid,cup\r\n\r\n")
    staged = read(log, tmp_path / "into", max_rejected=0.5)
    assert rows_of(staged, "user", "query") == [("ann", "tea"), ("bob", "mug"), ("cid", "cup")]
    assert staged.rejected <= 1


def test_a_line_of_ten_megabytes_is_one_bad_row(tmp_path: Path) -> None:
    long = b"eve," + b"x" * 10_000_000
    log = write(tmp_path / "log.csv", b"user,query\nann,tea\n" + long + b"\nbob,mug\n")
    staged = read(log, tmp_path / "into", max_rejected=0.5)
    assert (staged.rows, rejections(staged)) == (2, [("log.csv", 3, "text too long")])


@pytest.mark.parametrize(
    ("content", "options", "rows", "rejected"),
    [
        (b"user,query\nann,tea\nbob,m\0g\n", {}, 1, {"binary data": 1}),
        ("user,query\nann,caf\u00e9\nbob,tea\n".encode("latin-1"), {}, 1, {"not UTF-8": 1}),
        ("user,query\nann,caf\u00e9\nbob,tea\n".encode("latin-1"), {"encoding": "latin-1"}, 2, {}),
        ("user,query\nann,caf\u00e9\n".encode("utf-16"), {}, 1, {}),
        (b'user,query\nann,"say ""tea"" twice"\nbob,"open\n', {}, 1, {"unbalanced quote": 1}),
        (b'user,query\nann,"a ""b ""c"" d"" e"\n', {}, 1, {}),
        (b"user,query,time\nann,tea,2999-01-01\nbob,mug,99999-01-01\n", {}, 1, {"bad time": 1}),
        (b"user,query,rank\nann,tea,3\nbob,mug,-3\n", {}, 1, {"bad rank": 1}),
    ],
)
def test_odd_rows(
    content: bytes, options: dict[str, str], rows: int, rejected: dict[str, int], tmp_path: Path
) -> None:
    staged = read(write(tmp_path / "log.csv", content), tmp_path / "into", max_rejected=0.9, **options)
    assert (staged.rows, dict(staged.reasons)) == (rows, rejected)


@pytest.mark.parametrize("format", ["ubi", "algolia", "matomo", "google-analytics", "slow-log"])
def test_a_key_with_a_line_end_in_it_is_no_traceback(format: str, tmp_path: Path) -> None:
    """A lost quote makes one of the rest of the line; found by changing exports at random."""
    log = write(tmp_path / "log.json", b'{"took": 3, "hits": {"max_score2: 1.0,\n "hits": [{"a": 1}]}}')
    with pytest.raises(qv.InputError) as told:
        read(log, tmp_path / "into", format=format, max_rejected=1.0)
    assert "\n" not in str(told.value)


def test_a_name_that_appears_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(qv.InputError, match="more than one column 'user'"):
        read(write(tmp_path / "log.csv", "user,query,User\nann,tea,bob\n"), tmp_path / "into")


# Pieces of every format, and bytes that belong to none.
PIECES = st.sampled_from(
    [
        *(
            b"ann",
            b"bob",
            b"2006-03-01 12:00:00",
            b"1141214400",
            b"tea",
            b"-3",
            b"\t",
            b",",
            b";",
            b'"',
            b"'",
        ),
        *(
            b"{",
            b"}",
            b"[",
            b"]",
            b":",
            b" ",
            b"\0",
            b"\xff\xfe",
            b"\xe9",
            b"\r",
            b"null",
            b"NULL",
            b"\\N",
            b"1e9",
        ),
        *(
            b'{"user": "ann", "query": "tea"}',
            b'{"index": {}}',
            b"params={q=tea&uid=7}",
            b"source[{",
            b"], id[",
        ),
        "稀有兰花".encode("gb18030"),
    ]
)
lines = st.lists(PIECES, max_size=6).map(b"".join)
texts = st.lists(lines, min_size=1, max_size=12)


def lines_in(content: bytes) -> int:
    """Lines as editors count them: a line end at the end begins no new one."""
    return content.count(b"\n") + (not content.endswith(b"\n"))


DELIMITED: dict[str, dict[str, Any]] = {
    "aol": {},
    "tsv": {"columns": {"user": 1, "query": 2}},
    "csv": {"columns": {"user": 1, "query": 2}},
    "jsonl": {"columns": {"user": "user", "query": "query"}},
    "sogou": {},
}
WHOLE_LINES = ("ubi", "slow-log", "solr", "algolia", "matomo", "google-analytics", "yandex", "access-log")


@pytest.mark.parametrize("format", [*DELIMITED, *WHOLE_LINES])
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(made=texts)
def test_every_line_is_accounted_for(
    format: str, made: list[bytes], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("hostile")
    # A line that the format knows comes first, so that the file is taken for what it is, and a row is left.
    first = FIRST[format]
    content = first + b"\n" + b"\n".join(made) + b"\nend\n"
    options: dict[str, Any] = (
        {"query_parameter": ("q",)} if format == "access-log" else DELIMITED.get(format, {})
    )
    if format == "solr":
        options = {"user_field": "uid"}
    log = write(folder / "log", content)
    try:
        staged = read(log, folder / "into", format=format, max_rejected=1.0, **options)
    except qv.InputError as error:
        # Refused as a whole, in one sentence: brackets that do not match, or nothing that is left.
        assert "\n" not in str(error)
        return
    accounted = staged.rows + staged.rejected + sum(staged.skipped.values())
    assert accounted == lines_in(content)


REQUEST = b'1.2.3.4 - - [10/Dec/2024:10:00:00 +0000] "GET /?q=tea HTTP/1.1" 200 5 "-" "M"'
FIRST = {
    "aol": b"1\ttea\t2006-03-01 07:17:12\t\t",
    "tsv": b"ann\ttea",
    "csv": b"ann,tea",
    "jsonl": b'{"user": "ann", "query": "tea"}',
    "sogou": b"00:00:00\t17\t[tea]\t8 3\texample.cn",
    "ubi": b'{"query_id": "q1", "client_id": "c1", "user_query": "tea", "timestamp": 1733821200000}',
    "slow-log": b"[2024-12-10T09:00:00,123][WARN ][index.search.slowlog.query] [n] [p][0] source["
    b'{"query":{"match":{"t":"tea"}}}], id[v], ',
    "solr": b"2024-12-10 09:00:00.123 INFO x path=/select params={q=tea&uid=17} hits=1",
    "algolia": b'{"eventType": "click", "userToken": "a", "timestamp": 1733821230000, "objectIDs": ["A7"]}',
    "matomo": b'{"idVisit": "1", "visitorId": "c", "actionDetails": [{"type": "search", "siteSearchKeyword": "tea", '
    b'"timestamp": 1733821230}]}',
    "google-analytics": b'{"event_name": "search", "event_timestamp": "1733821230000000", "user_pseudo_id": "1.2", '
    b'"event_params": [{"key": "search_term", "value": {"string_value": "tea"}}]}',
    "yandex": b"0\tM\t5\t17\n0\t0\tQ\t0\t101\t7,8\t501,51",
    "access-log": REQUEST,
}
