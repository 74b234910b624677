"""Plain rows are judged by Arrow and all others by SQL: nobody may be able to tell by which, whatever a file holds."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from queryveil.errors import QueryveilError
from queryveil.reading import compiled_rows, plain_rows, text_places
from queryveil.reading.formats import ReadOptions, delimited, stage
from queryveil.reading.plain_rows import Texts, _times
from queryveil.reading.staging import blank_sql, connect
from queryveil.reading.times import time_sql

CORPUS = Path(__file__).parents[2] / "data" / "sources"

users = st.sampled_from(
    [
        "17",
        "ann",
        "",
        " ",
        "NULL",
        "null",
        "\\N",
        "-",
        " ann",
        "ann ",
        "\u00a0",
        "\u1680 ",
        "\u3000",
        "\u3000a",
        "\u3001",
        "\x1f",
        "ä",
        "~",
        "\x7f",
        '"q"',
        "None",
    ]
)
queries = st.sampled_from(
    [
        "tea",
        "-",
        "",
        "  ",
        "\u2003",
        " tea",
        "ツ",
        "NULL",
        "[tea]",
        "[",
        "]",
        "[]",
        "\x85",
        '"',
        'a""b',
        "x" * 30,
    ]
)
clocks = st.sampled_from(
    [
        *(
            "2006-03-01 10:11:12",
            "2006-03-01T10:11:12Z",
            "2006-03-01T10:11:12.5Z",
            "2006-03-01T10:11:12.123456Z",
        ),
        *("2006-03-01 10:11:12.123", "2006-02-29 10:11:12", "2004-02-29 10:11:12", "1900-02-29 00:00:00"),
        *(
            "2006-03-01",
            "2006-03-01 24:00:00",
            "2006-03-01 23:59:60",
            "2006-03-01 10:60:00",
            "2006-13-01 10:00:00",
        ),
        *(
            "0999-12-31 00:00:00",
            "1000-01-01 00:00:00",
            "9999-12-31 23:59:59",
            "2006-03-00 00:00:00",
            "2006-00-01 00:00:00",
        ),
        *(
            "2006-03-01x10:11:12",
            "2006-03-01t10:11:12",
            "2006-03-01T10:11:12z",
            "2006-03-01T10:11+01",
            "2006-03-01 10:11:12+0",
        ),
        *(
            " 2006-03-01 10:11:1",
            "2006-03-01 10:11:1 ",
            "2006/03/01 10:11:12",
            "2006-03-01 10:11:１2",
            "2006-03-01 10:11:12 ",
        ),
        *(
            "1141207872",
            "114120787",
            "1141207872123",
            "1141207872123456",
            "060301101112",
            "11412078721",
            "-141207872",
            "+141207872",
        ),
        *(
            "",
            "NULL",
            "epoch",
            "infinity",
            "10:11:12",
            "20060301101112",
            "٢٠٠٦-03-01 10:11:12",
            "0000000000",
            "9999999999999",
        ),
    ]
)
ranks = st.sampled_from(
    [
        "1",
        "",
        "007",
        "999999999",
        "1000000000",
        "3.0",
        " 3",
        "3 1",
        "8 3",
        "-1",
        "+1",
        "0x1",
        "٣",
        "NULL",
        "-",
        " - ",
        "1e3",
        "a b",
    ]
)
urls = st.sampled_from(["http://a.example", "", "-", "NULL", "None", "n/a", "N/A", " ", "a b", "\x00", "ü"])


def outcome(file: Path, into: Path, **options: Any) -> Any:
    """All that a reader finds: rows in their order, rejected rows with line, reason and text, and the counts."""
    try:
        staged = stage(file, ReadOptions(max_rejected=1.0, **options), into)
    except QueryveilError as error:
        return type(error), str(error)
    rows = [pq.read_table(one).to_pylist() for one in staged.files]
    aside = pq.read_table(staged.rejected_file).to_pylist() if staged.rejected_file else []
    counts = (
        staged.rows,
        staged.rejected,
        staged.empty_queries,
        dict(staged.reasons),
        dict(staged.passed_over),
    )
    return rows, aside, counts, staged.examples, dict(staged.mapping)


def both(file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[Any, Any]:
    """By Arrow, by compiled loops, and by SQL alone: the first two are the same, so one stands for both."""
    quick = outcome(file, folder / "quick", **options)
    with monkeypatch.context() as patched:
        patched.setattr(text_places, "WORTH_COMPILING", 0)
        assert outcome(file, folder / "compiled", **options) == quick
        patched.setattr(delimited, "_is_usual", lambda *_: False)
        return quick, outcome(file, folder / "careful", **options)


def line(kind: str, row: tuple[str, str, str, str, str]) -> str:
    user, clock, query, rank, url = row
    if kind == "aol":
        return "\t".join((user, query, clock, rank, url))
    if kind == "sogou":
        return "\t".join((clock, user, query, rank, url))
    return {"tsv": "\t", "csv": ",", "semicolons": ";"}[kind].join((user, clock, query, rank, url))


HEADERS = {
    "aol": "AnonID\tQuery\tQueryTime\tItemRank\tClickURL",
    "tsv": "user\ttime\tquery\trank\turl",
    "csv": "user,time,query,rank,url",
    "semicolons": "user;time;query;rank;url",
}
GOOD = ("17", "2006-03-01 10:11:12", "tea", "1", "http://a.example")
GOOD_SOGOU = ("17", "10:11:12", "[tea]", "1 1", "http://a.example")
rows = st.lists(st.tuples(users, clocks, queries, ranks, urls), min_size=1, max_size=25)
odd_lines = st.sampled_from(
    [
        "",
        "x",
        "\t\t",
        "a\tb\tc\td\te\t",
        "a,b,c,d,e,",
        "a,b,c,d,e,f",
        '"a",2006-03-01 10:11:12,"b,c",1,d',
        '"a","2006-03-01 10:11:12","b",1,""',
        'a,2006-03-01 10:11:12,"b ""c""",1,d',
        'a,2006-03-01 10:11:12,b"c,1,d',
        'a,2006-03-01 10:11:12,"b"c,1,d',
        'a,2006-03-01 10:11:12,"b,1,d',
        'a,2006-03-01 10:11:12,"b\rc",1,d',
        "a,2006-03-01 10:11:12,b\rc,1,d",
        '"a","2006-03-01 10:11:12","b",1,"c",',
        'a,2006-03-01 10:11:12,"',
        "\r",
        "a\tb\tc",
    ]
)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["aol", "tsv", "csv", "semicolons", "sogou"]),
    rows,
    st.lists(odd_lines, max_size=3),
    st.booleans(),
)
@example("tsv", [GOOD] * 3, [], False)
def test_any_lines(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    made: list[tuple[str, str, str, str, str]],
    odd: list[str],
    windows: bool,
) -> None:
    folder = tmp_path_factory.mktemp("lines")
    good = GOOD_SOGOU if kind == "sogou" else GOOD
    texts = [line(kind, one) for one in [good, *made, good]] + odd + [line(kind, good)]
    head = [HEADERS[kind]] if kind in HEADERS else []
    file = folder / ("log.csv" if kind in ("csv", "semicolons") else "log.20080601.txt")
    file.write_bytes(("\r\n" if windows else "\n").join([*head, *texts]).encode())
    quick, careful = both(file, folder, monkeypatch, format={"semicolons": "csv"}.get(kind, kind))
    assert quick == careful


@pytest.mark.parametrize(
    "name",
    [
        "access_log.20080601.decode.filter",
        "sogou-2012.txt",
        "google-analytics-totals.csv",
        "matomo-totals.csv",
    ],
)
def test_the_corpus(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick, careful = both(CORPUS / name, tmp_path, monkeypatch)
    assert quick == careful


def test_most_rows_are_plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rules of SQL see the one odd row, and not the thousand others."""
    seen: list[int] = []
    asked = plain_rows.quickly

    def watched(chunk: Any, columns: Any, sure: Any, carefully: Any, compiled: bool = False) -> Any:
        def by_sql(rest: Any) -> Any:
            seen.append(len(rest))
            return carefully(rest)

        return asked(chunk, columns, sure, by_sql, compiled)

    monkeypatch.setattr(plain_rows, "quickly", watched)
    texts = [line("tsv", GOOD)] * 1000 + [line("tsv", ("", *GOOD[1:]))] + [line("tsv", GOOD)] * 1000
    (tmp_path / "log.tsv").write_text("\n".join([HEADERS["tsv"], *texts]))
    staged = stage(tmp_path / "log.tsv", ReadOptions(), tmp_path / "into")
    assert (seen, staged.rows, staged.rejected, staged.examples[0].line) == ([1], 2000, 1, 1002)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        clocks
        | st.datetimes(dt.datetime(1, 1, 1)).map(str)
        | st.datetimes(dt.datetime(1, 1, 1)).map(lambda one: one.isoformat(timespec="milliseconds") + "Z")
        | st.text("0123456789-:T Z.", min_size=19, max_size=20),
        min_size=1,
    )
)
def test_times_are_those_of_sql(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    array = pa.array(texts, pa.string())
    made, known = _times(Texts(array))
    someone = pa.array(["ann"] * len(texts))
    by_loops, _, plain = compiled_rows.judged({"user": someone, "query": someone, "time": array})
    assert known.tolist() == plain.tolist()
    assert made.filter(pa.array(known)) == by_loops["time"].filter(pa.array(known))
    with connect(tmp_path_factory.mktemp("times"), ReadOptions()) as connection:
        connection.register("given", pa.table({"text": array, "place": range(len(texts))}))
        found = connection.execute(f"SELECT {time_sql('text', None)} FROM given ORDER BY place").fetchall()  # noqa: S608
    for text, ours, sure, (theirs,) in zip(texts, made.to_pylist(), known.tolist(), found, strict=True):
        assert not sure or ours == theirs, text


def test_blank_is_what_sql_calls_blank(tmp_path: Path) -> None:
    """Every blank of Unicode beside letters that begin with the same bytes: never plain, or never blank."""
    texts = [
        chr(code) for code in [*range(1, 0x3100), 0x4E2D, 0xFEFF, 0x1F600] if not 0xD800 <= code < 0xE000
    ]
    queries = pa.array(texts, pa.string())
    _, empty, plain = compiled_rows.judged({"user": pa.array(["ann"] * len(texts)), "query": queries})
    with connect(tmp_path, ReadOptions()) as connection:
        connection.register("given", pa.table({"text": queries, "place": range(len(texts))}))
        found = connection.execute(f"SELECT {blank_sql('text')} FROM given ORDER BY place").fetchall()  # noqa: S608
    assert not empty.any()
    assert not [text for text, sure, (blank,) in zip(texts, plain, found, strict=True) if sure and blank]
    assert plain.sum() > len(texts) / 4
