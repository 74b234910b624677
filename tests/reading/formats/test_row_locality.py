"""No row changes how another is read: whatever one user's rows are, the others' come out the same.

The guarantees assume it. Each case is a log of well-formed rows and rows of one more user that are odd in a way
that a reader might let decide something: first in the file, of another shape, with other keys or values.
"""

from __future__ import annotations

import codecs
import contextlib
import datetime as dt
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.reading import lines
from queryveil.reading.encodings import ENCODINGS, extends_ascii, resolve_encoding

NOON = dt.datetime(2026, 1, 1, 12)
HERS = "target"


def text_log(rows: list[str]) -> Callable[[Path, str, list[str], bool], Path]:
    def write(folder: Path, name: str, odd: list[str], first: bool) -> Path:
        lines = [*odd, *rows] if first else [*rows, *odd]
        (folder / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        return folder / name

    return write  # type: ignore[return-value]


def others(log: Path, **options: Any) -> list[tuple[object, ...]]:
    """The rows of everybody else, as counting sees them."""
    read = qv.read(log, max_rejected=1.0, **options)
    rows = read.engine.arrow(read.table).to_pylist()
    return sorted(
        tuple(str(row.get(column)) for column in ("user", "time", "query", "url", "rank", "session"))
        for row in rows
        if row["user"] != HERS
    )


TSV = [f"u{n}\t2026-01-01 12:00:0{n}\tflu\thttp://a.example/{n}\t{n + 1}" for n in range(8)]
TSV_ODD = {
    "header-like": ["user\ttime\tquery"],
    "fewer fields": [f"{HERS}\t2026-01-01 12:00:00\tquery"],
    "more fields": ["\t".join([HERS, "2026-01-01 12:00:00", "q", "u", "1", "x", "y", "z"])],
    "commas": [f"{HERS},2026-01-01 12:00:00,flu,u,1"],
    "quotes": [f'{HERS}\t"2026-01-01\t"flu\t"'],
    "json": ['{"user": "x", "query": "y"}'],
    "epoch time": [f"{HERS}\t1136116800\tflu\tu\t1"],
    "empty url": [f"{HERS}\t2026-01-01 12:00:00\tflu\t\t-1"],
    "binary": [f"{HERS}\t\x01\x02\t\x00"],
    "blank": [""],
}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("odd", TSV_ODD)
@pytest.mark.parametrize("name", ["log", "log.tsv"])
def test_tsv_by_number(name: str, odd: str, first: bool, tmp_path: Path) -> None:
    columns = {"user": 1, "time": 2, "query": 3, "url": 4, "rank": 5}
    write = text_log(TSV)
    plain = others(write(tmp_path, f"a-{name}", [], first), columns=columns)
    assert len(plain) == 8
    assert others(write(tmp_path, f"b-{name}", TSV_ODD[odd], first), columns=columns) == plain


def undecodable(encoding: str) -> list[bytes]:
    """Beginnings of characters, escape sequences of stateful encodings, and code units that are no text."""
    if not extends_ascii(encoding):
        pairs = ["\ud800", "\udc00", "\ud800\ud800"]
        return [pair.encode(encoding, "surrogatepass") for pair in pairs]
    leads = [bytes([byte]) for byte in range(0x80, 0x100)]
    more = [
        lead + tail for lead in leads for tail in (b"0", b"\xa1", b"\xff", b"0\x81", b"0\xff", b"\xa1\xa1")
    ]
    return [odd for odd in (*leads, *more) if not decodes(odd, encoding)]


def decodes(data: bytes, encoding: str) -> bool:
    try:
        data.decode(encoding)
    except UnicodeDecodeError:
        return False
    return True


ESCAPES = ("~{", "~", "\x1b$B", "\x1b(I", "\x0e", "+", "+AGE", "\\", "\\N{", "\\u00", "\\x", "xn--")
DISTINCT = sorted({resolve_encoding(one) for one in ENCODINGS} - {"utf-16", "utf-32"})


@pytest.mark.parametrize("block", [7, lines.BLOCK_BYTES])
@pytest.mark.parametrize("encoding", DISTINCT)
def test_undecodable_line_in_every_encoding(
    encoding: str, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each odd line ends in the middle of a character, directly before the line feed."""
    monkeypatch.setattr(lines, "BLOCK_BYTES", block)
    bad = undecodable(encoding)[:: 1 if block > 7 else 50]
    begin, end = (text.encode(encoding) for text in (f"{HERS}\t2026-01-01 12:00:00\tflu", "\n"))
    row = (TSV[0] + "\n").encode(encoding)
    raw = "ascii" if extends_ascii(encoding) else encoding
    escapes = [begin + escape.encode(raw) + end + row for escape in ESCAPES]
    log = tmp_path / "log.tsv"
    log.write_bytes(b"".join([row, *escapes, *(begin + odd + end + row for odd in bad)]))
    read = qv.read(log, columns={"user": 1, "time": 2, "query": 3}, encoding=encoding, max_rejected=1.0)
    users = [line["user"] for line in read.engine.arrow(read.source).to_pylist()]
    assert sorted(users) == [HERS] * len(ESCAPES) + ["u0"] * (1 + len(ESCAPES) + len(bad))
    assert read.staged is not None and read.staged.rejected == len(bad)
    first = 2 + 2 * len(ESCAPES)
    at = [one.line for one in read.staged.examples]
    assert at == [first + 2 * number for number in range(len(bad))][: len(at)]


CSV = [line.replace("\t", ",") for line in TSV]
CSV_ODD = {
    "semicolons": [f"{HERS};2026-01-01 12:00:00;flu;u;1"],
    "open quote": [f'{HERS},2026-01-01 12:00:00,"flu,u,1'],
    "header-like": ["user,time,query"],
    "tabs": [f"{HERS}\t2026-01-01 12:00:00\tflu"],
}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("odd", CSV_ODD)
def test_csv_by_number(odd: str, first: bool, tmp_path: Path) -> None:
    columns = {"user": 1, "time": 2, "query": 3, "url": 4, "rank": 5}
    write = text_log(CSV)
    plain = others(write(tmp_path, "a.csv", [], first), columns=columns)
    assert len(plain) == 8
    assert others(write(tmp_path, "b.csv", CSV_ODD[odd], first), columns=columns) == plain


JSONL = [
    json.dumps({"user_id": f"u{n}", "time": f"2026-01-01T12:00:0{n}", "query": "flu", "click_url": f"u/{n}"})
    for n in range(8)
]
JSONL_ODD = {
    "preferred key": [json.dumps({"user": HERS, "time": "2026-01-01T12:00:00", "query": "q", "url": "x"})],
    "other case": [json.dumps({"USER_ID": HERS, "Time": 0, "Query": "q", "Click_Url": "x"})],
    "nested": [json.dumps({"user": {"id": HERS}, "query": {"text": "q"}})],
    "not JSON": ["user,query"],
    "array": ["[1, 2]"],
    "rank and session": [json.dumps({"user": HERS, "time": 1, "query": "q", "rank": -1, "session": ""})],
}


@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("odd", JSONL_ODD)
def test_jsonl_by_usual_keys(odd: str, first: bool, tmp_path: Path) -> None:
    write = text_log(JSONL)
    plain = others(write(tmp_path, "a.jsonl", [], first))
    assert len(plain) == 8 and "u/0" in plain[0]
    assert others(write(tmp_path, "b.jsonl", JSONL_ODD[odd], first)) == plain


def parquet(folder: Path, name: str, odd: dict[str, Any] | None) -> Path:
    rows = [
        {
            "user": f"u{n}",
            "time": NOON + dt.timedelta(microseconds=n),
            "query": "flu",
            "url": "",
            "rank": n,
            "session": "",
        }
        for n in range(8)
    ]
    if odd is not None:
        rows.append({"user": HERS, "time": NOON, "query": "flu", "url": "x", "rank": 1, "session": "s"} | odd)
    types = dict.fromkeys(("user", "query", "url", "session"), pa.string())
    schema = pa.schema(types | {"time": pa.timestamp("us"), "rank": pa.int64()})
    pq.write_table(pa.Table.from_pylist(rows, schema), folder / name)
    return folder / name


@pytest.mark.parametrize(
    "odd",
    [
        {"time": None},
        {"user": None},
        {"user": " "},
        {"rank": -1},
        {"rank": 10**12},
        {"url": ""},
        {"query": None},
    ],
)
def test_typed_parquet(odd: dict[str, Any], tmp_path: Path) -> None:
    plain = others(parquet(tmp_path, "a.parquet", None))
    assert len(plain) == 8
    assert plain[0][3] == "None" and plain[0][5] == "None", "an empty url or session is none, in every log"
    assert others(parquet(tmp_path, "b.parquet", odd)) == plain


def test_times_of_nanoseconds_are_not_cut_by_anothers_bad_row(tmp_path: Path) -> None:
    def log(name: str, bad: bool) -> Path:
        times = pa.array([1, 2, 3 if not bad else None], pa.timestamp("ns"))
        table = pa.table({"user": ["u", "u", HERS], "time": times, "query": ["x", "y", "z"]})
        pq.write_table(table, tmp_path / name)
        return tmp_path / name

    assert others(log("a.parquet", bad=False)) == others(log("b.parquet", bad=True))


def test_folder_names_are_no_columns(tmp_path: Path) -> None:
    for number in range(3):
        folder = tmp_path / "log" / f"user={number}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"user": ["alice"], "query": ["hers"]}), folder / "part.parquet")
    assert qv.read(tmp_path / "log").users == 1


def searches(queries: list[str]) -> dict[str, list[str]]:
    """Documents of formats that a function translates, one for each query."""
    visit = (
        '{"visitorId": "v%d", "idVisit": %d, "actionDetails": '
        '[{"type": "search", "timestamp": 1733821200, "siteSearchKeyword": "%s"}]}'
    )
    event = (
        '{"event_name": "search", "event_timestamp": 1733821200000000, "user_pseudo_id": "u%d", "event_params": '
        '[{"key": "search_term", "value": {"string_value": "%s"}}]}'
    )
    return {
        "matomo": [visit % (at, at, query) for at, query in enumerate(queries)],
        "google-analytics": [event % (at, query) for at, query in enumerate(queries)],
    }


@pytest.mark.parametrize("encoding", [one for one in DISTINCT if extends_ascii(one)])
def test_undecodable_document_in_every_encoding(encoding: str, tmp_path: Path) -> None:
    """The quote after an incomplete character is kept, or the array would not be JSON."""
    bad = undecodable(encoding)
    flu, odd = (one.encode() for one in searches(["flu", "ODD"])["matomo"])
    log = tmp_path / "log.json"
    log.write_bytes(
        b"[" + b",\n".join([flu, *(odd.replace(b"ODD", one) + b",\n" + flu for one in bad)]) + b"]"
    )
    read = qv.read(log, format="matomo", encoding=encoding, max_rejected=1.0)
    assert read.staged is not None
    assert (read.rows, read.users, read.staged.rejected) == (len(bad) + 1, 1, len(bad))


@pytest.mark.parametrize("format", ["matomo", "google-analytics"])
def test_half_a_character_is_one_bad_document(format: str, tmp_path: Path) -> None:
    file = tmp_path / "log.json"
    file.write_text("\n".join(searches(["flu", r"a\ud800b"])[format]) + "\n", encoding="utf-8")
    log = qv.read(file, format=format, max_rejected=1.0)
    assert log.staged is not None and dict(log.staged.reasons) == {"not JSON": 1}
    assert [row["query"] for row in log.engine.arrow(log.table).to_pylist()] == ["flu"]


def test_a_bad_byte_of_one_user_leaves_the_encoding_of_sogou(tmp_path: Path) -> None:
    rows = [f"2011123000000{n}\tu{n}\t北京\t1\t1\thttp://a.example/".encode() for n in range(5)]
    odd = f"20111230000009\t{HERS}\t".encode() + b"\xff\xfe\t1\t1\thttp://a.example/"
    for name, written in (("plain", rows), ("odd", [odd, *rows])):
        (tmp_path / name).write_bytes(b"\n".join(written) + b"\n")
    plain, beside = (others(tmp_path / name, format="sogou") for name in ("plain", "odd"))
    assert len(plain) == 5 and beside == plain


def test_a_named_encoding_is_that_of_sogou_whatever_most_rows_are(tmp_path: Path) -> None:
    row = "2011123000000{}\t{}\t{}\t1\t1\thttp://a.example/"
    rows = [row.format(n, f"u{n}", "北京").encode() for n in range(5)]
    odd = [row.format(n, HERS, "北京").encode("gb18030") for n in range(9)]
    (tmp_path / "plain").write_bytes(b"\n".join(rows) + b"\n")
    (tmp_path / "odd").write_bytes(b"\n".join([*odd, *rows]) + b"\n")
    plain, beside = (others(tmp_path / name, format="sogou", encoding="utf-8") for name in ("plain", "odd"))
    assert len(plain) == 5 and beside == plain


@pytest.mark.parametrize("encoding", [None, "utf-8"])
@pytest.mark.parametrize("mark", [codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_LE])
def test_a_first_row_that_starts_like_a_byte_order_mark(
    mark: bytes, encoding: str | None, tmp_path: Path
) -> None:
    rows = [line.encode() for line in JSONL]
    (tmp_path / "plain.jsonl").write_bytes(b"\n".join(rows) + b"\n")
    (tmp_path / "odd.jsonl").write_bytes(b"\n".join([mark + HERS.encode("utf-16-le"), *rows]) + b"\n")
    plain, beside = (others(tmp_path / f"{name}.jsonl", encoding=encoding) for name in ("plain", "odd"))
    assert len(plain) == 8 and beside == plain


@pytest.mark.parametrize("odd", ["[", '["a"]', '{"took": 1, "hits": {"hits": []}}'])
@pytest.mark.parametrize("format", ["matomo", "google-analytics"])
def test_a_single_line_does_not_decide_that_documents_are_no_lines(
    format: str, odd: str, tmp_path: Path
) -> None:
    """Two documents on one line are a bad line, and would be two documents in a file that is not lines."""
    first, *documents = searches(["a", "b", "c", "d", "e"])[format]
    documents[0] += first
    for name, written in (("plain", documents), ("odd", [odd, *documents])):
        (tmp_path / name).write_text("\n".join(written) + "\n", encoding="utf-8")
    plain, beside = (others(tmp_path / name, format=format) for name in ("plain", "odd"))
    assert len(plain) == 3 and beside == plain


def test_a_text_of_sqlite_that_is_none_is_read_apart(tmp_path: Path) -> None:
    with contextlib.closing(sqlite3.connect(tmp_path / "log.db")) as made:
        made.execute("CREATE TABLE log (user TEXT, query TEXT)")
        made.execute("INSERT INTO log VALUES ('u', 'flu'), (?, CAST(x'ff61' AS TEXT))", [HERS])
        made.commit()
    log = qv.read(tmp_path / "log.db")
    found = {row["user"]: row["query"] for row in log.engine.arrow(log.table).to_pylist()}
    assert found == {"u": "flu", HERS: "ff61"}


@pytest.mark.parametrize("odd", [2.5, True, "x", None])
def test_numbers_in_a_column_of_objects_are_spelled_by_themselves(odd: Any) -> None:
    import pandas

    frame = pandas.DataFrame({"user": ["u", HERS], "query": pandas.Series([17, odd], dtype=object)})
    log = qv.read(frame)
    found = {row["user"]: row["query"] for row in log.engine.arrow(log.table).to_pylist()}
    assert found["u"] == "17"


@pytest.mark.parametrize("odd", [dt.date(2026, 1, 2), "x", 1767268800, None])
@pytest.mark.parametrize("first", [True, False])
def test_times_in_a_column_of_objects_are_read_by_themselves(odd: Any, first: bool) -> None:
    import pandas

    order = [HERS, "u"] if first else ["u", HERS]
    times = pandas.Series([odd if user == HERS else NOON for user in order], dtype=object)
    log = qv.read(pandas.DataFrame({"user": order, "time": times, "query": "flu"}), max_rejected=1.0)
    found = {row["user"]: row["time"] for row in log.engine.arrow(log.table).to_pylist()}
    assert found["u"].replace(tzinfo=None) == NOON


def test_a_bad_session_of_yandex_takes_no_line_and_gives_none(tmp_path: Path) -> None:
    """A session whose M line is bad is not part of the one above it, even with the same id."""
    own = ["1\tM\t5\tu", "1\t0\tQ\t0\t7\t11,12\t9,1\t8,1", "1\t3\tC\t0\t8"]
    odd = ["1\tM\t5", "1\t4\tQ\t0\t7\t13\t9,1", "1\t5\tC\t0\t8"]
    for name, written in (("plain", own), ("below", [*own, *odd]), ("above", [*odd, *own])):
        (tmp_path / name).write_text("\n".join(written) + "\n", encoding="utf-8")
    plain, below, above = (others(tmp_path / name, format="yandex") for name in ("plain", "below", "above"))
    assert len(plain) == 2 and below == plain and above == plain


def test_a_line_of_yandex_is_of_the_session_that_it_is_in(tmp_path: Path) -> None:
    own = ["1\tM\t5\tu", "1\t0\tQ\t0\t7\t11,12\t9,1\t8,1", "1\t3\tC\t0\t8"]
    hers = [f"2\tM\t5\t{HERS}", "2\t0\tQ\t0\t7\t13\t9,1"]
    (tmp_path / "log").write_text("\n".join([*own[:2], *hers, *own[2:]]) + "\n", encoding="utf-8")
    log = qv.read(tmp_path / "log", format="yandex", max_rejected=1.0)
    assert log.staged is not None and dict(log.staged.reasons) == {"no user": 1}
    assert [one.line for one in log.staged.examples] == [5]
    assert len(others(tmp_path / "log", format="yandex")) == 1
