"""Parquet files that are not what they seem: texts without end, names that engines mix up, footers that lie."""

from __future__ import annotations

import datetime as dt
import random
import resource
import struct
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.errors import InputError, QueryveilError
from tests.command import command
from tests.reading.formats.logs import read, rejected_rows, rows_of, write

MIB = 1024 * 1024


def repeated(file: Path, size: int, times: int, **more: list[Any]) -> Path:
    """A small file in which one text of that size stands so many times, and 50 other rows."""
    codes = pa.array([0] * times + [1] * 50, pa.int32())
    queries = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * size, "roses"]))
    users = [f"u{n}" for n in range(times + 50)]
    table = pa.table(
        {"user": users, "query": queries} | {name: one * len(users) for name, one in more.items()}
    )
    pq.write_table(
        table, file, compression="zstd", dictionary_pagesize_limit=100 * MIB, write_statistics=False
    )
    assert file.stat().st_size < 50_000
    return file


@pytest.mark.parametrize("more", [{}, {"time": ["2026-01-01"]}], ids=["as it is", "converted"])
def test_a_text_that_a_dictionary_repeats_without_end_is_refused(
    more: dict[str, list[Any]], tmp_path: Path
) -> None:
    log = repeated(tmp_path / "x.parquet", 50 * 10**6, 400, **more)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(InputError, match=r"would be 18\.6 GiB of text, .* that is not a search log"):
        read(log, tmp_path / "into")
    # The dictionary itself takes 50 MB in a few copies; the rows would take 20 GB.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 600 * 1024


@pytest.mark.parametrize("more", [{}, {"time": ["2026-01-01"]}], ids=["as it is", "converted"])
@pytest.mark.parametrize(("size", "kept"), [(MIB, True), (MIB + 1, False)])
def test_a_text_beyond_the_limit_is_a_bad_row(
    size: int, kept: bool, more: dict[str, list[Any]], tmp_path: Path
) -> None:
    staged = read(repeated(tmp_path / "x.parquet", size, 2, **more), tmp_path / "into", max_rejected=0.1)
    assert (staged.rows, staged.reasons) == ((52, {}) if kept else (50, {"text too long": 2}))
    assert len(rows_of(staged, "user", "query")) == staged.rows
    assert all(len(row["text"]) <= 1100 for row in rejected_rows(staged))


@pytest.mark.parametrize("column", ["user", "query", "url", "session"])
def test_text_formats_have_the_same_limit(column: str, tmp_path: Path) -> None:
    row = dict.fromkeys(("user", "query", "url", "session"), "a")
    lines = [row, row | {column: "x" * MIB}, row | {column: "x" * (MIB + 1)}]
    text = "".join("\t".join(one.values()) + "\n" for one in lines)
    log = write(tmp_path / "x.tsv", "\t".join(row) + "\n" + text)
    staged = read(log, tmp_path / "into", max_rejected=0.5)
    assert (staged.rows, staged.reasons) == (2, {"text too long": 1})
    assert [len(one["text"]) for one in rejected_rows(staged)] == [1000]


def test_what_memory_cannot_hold_is_said_to_be_too_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "x.parquet"
    table = pa.table({"user": ["u"] * 40, "query": ["x" * 10**6] * 40})
    pq.write_table(table, log, use_dictionary=False, compression="zstd")
    monkeypatch.setattr("queryveil.reading.staging.MEMORY_LIMIT", "10MB")
    with pytest.raises(InputError, match="needs more than 10MB of memory at once"):
        read(log, tmp_path / "into")


ALIKE = {
    "two spellings": (["User", "user", "query"], None),
    "three": (["User", "user", "user_1", "query"], None),
    "the one that DuckDB renames": (["Other", "other", "other_1", "query"], {"user": "other_1"}),
    "one spelling twice": (["user", "user", "query"], {"user": "user"}),
    "by another case": (["user", "USER", "query"], {"user": "User"}),
    "another column": (["user", "query", "URL", "url"], None),
}


@pytest.mark.parametrize("case", ALIKE)
def test_columns_that_engines_mix_up_are_refused(case: str, tmp_path: Path) -> None:
    names, columns = ALIKE[case]
    table = pa.Table.from_arrays([pa.array([f"of column {n}"]) for n in range(len(names))], names=names)
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(InputError, match="columns that engines cannot tell apart"):
        qv.read(tmp_path / "x.parquet", columns=columns and columns | {"query": "query"})


def test_columns_that_are_not_read_may_be_called_as_they_like(tmp_path: Path) -> None:
    names = ["Note", "note", "note_1", "user", "user_2", "query"]
    table = pa.Table.from_arrays([pa.array([name]) for name in names], names=names)
    pq.write_table(table, tmp_path / "x.parquet")
    log = qv.read(tmp_path / "x.parquet")
    rows = log.engine.arrow(log.table.select("user", "query")).to_pylist()
    assert rows == [{"user": "user", "query": "query"}]


def sample(file: Path, **options: Any) -> bytes:
    rows = range(60)
    table = pa.table(
        {
            "user": [f"u{n % 7}" for n in rows],
            "time": [dt.datetime(2026, 1, 1) + dt.timedelta(minutes=n) for n in rows],
            "query": [f"query {n % 13}" for n in rows],
            "rank": pa.array([n % 10 for n in rows], pa.int32()),
        }
    )
    pq.write_table(table, file, **options)
    return file.read_bytes()


def test_a_column_name_that_is_not_utf8(tmp_path: Path) -> None:
    data = sample(tmp_path / "x.parquet", store_schema=False)
    write(tmp_path / "x.parquet", data.replace(b"rank", b"r\xffnk"))
    found = command("inspect", str(tmp_path / "x.parquet"))
    assert found.code == 3 and "has a column whose name is not UTF-8" in found.err


def thrift_varint(number: int) -> bytes:
    zigzag, made = number * 2, bytearray()
    while zigzag > 127:
        made.append(zigzag & 127 | 128)
        zigzag >>= 7
    return bytes([*made, zigzag])


@pytest.mark.parametrize("place", range(3))
def test_a_footer_that_disagrees_on_the_number_of_rows(place: int, tmp_path: Path) -> None:
    """The number of rows stands in the footer, in its row group, and in each column: one of them is changed."""
    file = tmp_path / "x.parquet"
    data = sample(file, store_schema=False, write_statistics=False)
    (length,) = struct.unpack("<I", data[-8:-4])
    start = len(data) - 8 - length
    # A 64-bit field of the compact protocol (type 6), then 60: in columns, in the file, in the row group.
    spots = [
        at
        for at in range(start, len(data) - 8)
        if data[at + 1 : at + 2] == thrift_varint(60) and data[at] & 15 == 6
    ]
    assert len(spots) >= 6
    outcomes: set[str | int] = set()
    for spot in spots[place::3]:
        write(file, data[: spot + 1] + thrift_varint(54) + data[spot + 2 :])
        try:
            outcomes.add(qv.read(file).rows)
        except InputError as error:
            outcomes.add(error.message.partition(":")[0])
    assert outcomes <= {"'x.parquet' is damaged", "'x.parquet' is damaged, cut short or not Parquet"}, (
        outcomes
    )


SHAPES: list[dict[str, Any]] = [
    {"row_group_size": 25},
    {"use_dictionary": False, "compression": "none"},
    {"compression": "zstd", "data_page_version": "2.0"},
]


OUTCOMES = {"refused", "60 rows"}


def damaged(data: bytes, rng: random.Random) -> bytes:
    """Some bits and bytes changed: mostly of the footer, where one byte decides much, or a piece cut out or put in."""
    (length,) = struct.unpack("<I", data[-8:-4])
    changed = bytearray(data)
    first = 0 if rng.random() < 0.25 else len(data) - 8 - length
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(first, len(changed) - 4)
        way = rng.random()
        if way < 0.45:
            changed[at] ^= 1 << rng.randrange(8)
        elif way < 0.9:
            changed[at] = rng.randrange(256)
        elif way < 0.95:
            del changed[at : at + rng.randrange(1, 9)]
        else:
            changed[at:at] = rng.randbytes(rng.randrange(1, 9))
    return bytes(changed)


def outcome(file: Path) -> str:
    """What becomes of a file when it is read."""
    try:
        log = qv.read(file)
        counted = log.engine.arrow(log.table.aggregate(n=log.table.count()))["n"][0].as_py()
    except QueryveilError as error:
        return "refused" if error.exit_code == 3 and error.hint else f"exit code {error.exit_code}: {error}"
    except Exception as error:  # noqa: BLE001 (this is what is looked for)
        return f"{type(error).__name__}: {error}"
    return f"{counted} rows" if counted == log.rows else f"{log.rows} rows, of which {counted} counted"


@pytest.mark.parametrize("shape", range(len(SHAPES)))
def test_damaged_files_are_refused_or_read_to_the_last_row(shape: int, tmp_path: Path) -> None:
    """Seeded, so that the same damage is done each time; `benchmarks/fuzz.py` does more."""
    file = tmp_path / "x.parquet"
    data = sample(file, **SHAPES[shape])
    rng = random.Random(shape)
    found: Counter[str] = Counter()
    for _ in range(120):
        file.write_bytes(damaged(data, rng))
        found[outcome(file)] += 1
    assert set(found) == OUTCOMES
