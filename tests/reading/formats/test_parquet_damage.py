"""Parquet with damaged or deceptive pages: it is refused without a charge, or read as it says."""

from __future__ import annotations

import dataclasses
import datetime as dt
import random
import struct
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.errors import InputError, QueryveilError
from queryveil.mechanisms import Run
from queryveil.reading.log import SearchLog
from tests.reading.formats.test_parquet_limits import MIB, repeated

METHOD = qv.Zealous(epsilon=8, delta=1e-2, max_items=3)
ROWS = range(400)
TABLE = pa.table(
    {
        "user": [f"u{n % 37}" for n in ROWS],
        "time": [dt.datetime(2026, 1, 1) + dt.timedelta(minutes=n) for n in ROWS],
        "query": [f"Caf\u00e9 {n % 13}" if n % 5 == 0 else f"query {n % 13}" for n in ROWS],
        "url": [None if n % 3 else f"http://x/{n % 11}" for n in ROWS],
    }
)
SHAPES: dict[str, dict[str, Any]] = {
    "as usual": {},
    "small parts": {"row_group_size": 150},
    "no dictionaries": {"use_dictionary": False, "compression": "none"},
    "no compression": {"compression": "none"},
    "newer pages": {"compression": "zstd", "data_page_version": "2.0"},
    "dictionaries given up": {
        "compression": "gzip",
        "data_page_size": 256,
        "dictionary_pagesize_limit": 64,
        "write_batch_size": 16,
    },
    "all by numbers": {"compression": "lz4"},
    "a dictionary of users": {"compression": "brotli", "use_dictionary": ["user"]},
}


def written(folder: Path, **shape: Any) -> Path:
    pq.write_table(TABLE, folder / "x.parquet", **shape)
    return folder / "x.parquet"


@pytest.mark.parametrize("nulls", [True, False])
@pytest.mark.parametrize("column", ["query", "url"])
@pytest.mark.parametrize(("size", "rejected"), [(MIB - 4096, 0), (MIB, 0), (MIB + 1, 1)])
def test_long_texts_are_rejected_to_the_byte(
    size: int, rejected: int, column: str, nulls: bool, tmp_path: Path
) -> None:
    texts = ["roses"] * 60 + ["x" * size] + [None if nulls else "tulips"] * 60
    table = pa.table({"user": ["u"] * 121, "query": ["q"] * 121, "url": ["r"] * 121} | {column: texts})
    pq.write_table(table, tmp_path / "x.parquet", use_dictionary=False, compression="zstd")
    staged = qv.read(tmp_path / "x.parquet").staged
    assert staged is not None and staged.rejected == rejected


def test_a_text_that_a_dictionary_repeats_without_end_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="that is not a search log"):
        qv.publish(repeated(tmp_path / "x.parquet", 50 * 10**6, 400), METHOD)


def charged(file: Path, method: Any, tmp_path: Path) -> tuple[str, int]:
    """What is said when it is published, and how often that is charged."""
    ledger = qv.Ledger(str(tmp_path / "ledger.db"))
    if not (tmp_path / "ledger.db").exists():
        ledger.open("log", epsilon=1e6, delta=0.9)
    before = len(ledger.budget("log").events)
    try:
        qv.publish(file, method, ledger=ledger, source="log", allow_empty=True, i_understand=True)
        said = "published"
    except QueryveilError as error:
        assert error.hint and error.exit_code == 3, error
        said = error.message
    return said, len(ledger.budget("log").events) - before


def broken(folder: Path, text: bytes, by: bytes) -> Path:
    """A file in which one of the texts has other bytes."""
    file = written(folder, use_dictionary=False, compression="none", write_statistics=False)
    data = file.read_bytes()
    assert text in data and len(text) == len(by)
    file.write_bytes(data.replace(text, by, 1))
    return file


BROKEN = {
    "not UTF-8": (b"query 7", b"query \xff"),
    "a user that is not UTF-8": (b"u36", b"u\xff\xff"),
    "a length beyond the page": (
        struct.pack("<I", 7) + b"query 7",
        struct.pack("<I", 70_000) + b"query 7",
    ),
}


CLICKS = qv.ClickGraph(epsilon=4, delta=1e-4, max_queries=2)
METHODS = [METHOD, qv.Steered(epsilon=4, delta=1e-4), qv.WeightedGaussian(epsilon=4, delta=1e-4), CLICKS]


@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.parametrize("method", METHODS, ids=lambda one: one.name)
def test_damaged_texts_are_not_charged(method: Any, what: str, tmp_path: Path) -> None:
    message, charges = charged(broken(tmp_path, *BROKEN[what]), method, tmp_path)
    assert charges == 0 and message.startswith("'x.parquet' is damaged")


def test_damaged_texts_of_an_unused_column_are_not_charged(tmp_path: Path) -> None:
    message, charges = charged(broken(tmp_path, b"http://x/7", b"http://x/\xff"), METHOD, tmp_path)
    assert charges == 0 and message.startswith("'x.parquet' is damaged")


def test_the_file_that_is_damaged_is_named(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    for name in ("a", "b"):
        (logs / name).mkdir(parents=True)
    written(logs / "a")
    broken(logs / "b", *BROKEN["not UTF-8"])
    message, charges = charged(logs, METHOD, tmp_path)
    assert "b/x.parquet' is damaged" in message and charges == 0


def test_a_number_beyond_a_dictionary_of_queries(tmp_path: Path) -> None:
    """Arrow takes the numbers of a categorical column as they are."""
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 0] * 10, pa.int8()), ["tea", "tulips", "roses"])
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"user": ["u"] * 40, "query": coded}), file, compression="none")
    data = bytearray(file.read_bytes())
    (footer,) = struct.unpack("<I", data[-8:-4])
    end = len(data) - 8 - footer  # 40 numbers of two bits each stand before it, behind how many there are
    assert data[end - 11 : end] == bytes([11]) + b"\x24" * 10
    data[end - 1] = 0xFF
    file.write_bytes(bytes(data))
    message, charges = charged(file, METHOD, tmp_path)
    assert message.startswith("'x.parquet' is damaged") and charges == 0


def varint(number: int) -> bytes:
    made = bytearray()
    while number > 127:
        made.append(number & 127 | 128)
        number >>= 7
    return bytes([*made, number])


def field(step: int, kind: int, number: int) -> bytes:
    """A whole number of the compact protocol; kind 5 has 32 bits, kind 6 has 64."""
    return bytes([step << 4 | kind]) + varint(2 * number if number >= 0 else -2 * number - 1)


SIZE = 5 * MIB
HEADERS = {
    "as it is": lambda size, packed: _first_page(field(1, 5, size), field(1, 5, packed), field(1, 5, 10)),
    "values of more than 32 bits": lambda size, packed: _first_page(
        field(1, 5, size), field(1, 5, packed), field(1, 5, 2**32 + 10)
    ),
    "values twice": lambda size, packed: _first_page(
        field(1, 5, size), field(1, 5, packed), field(1, 5, 10) + b"\x06\x02" + varint(2 * 10**8)
    ),
    "size twice": lambda size, packed: _first_page(
        field(1, 5, size) + b"\x06\x04" + varint(200), field(1, 5, packed), field(1, 5, 10)
    ),
    "values below 0": lambda size, packed: _first_page(
        field(1, 5, size), field(1, 5, packed), field(1, 5, -(2**21))
    ),
}
"""What stands before a page of ten queries, the first of them too long: all but one are lies."""


def _first_page(size: bytes, packed: bytes, values: bytes) -> bytes:
    kinds = field(1, 5, 0) + field(1, 5, 3) + field(1, 5, 3)
    return field(1, 5, 0) + size + packed + b"\x2c" + values + kinds + b"\0" + b"\0"


@pytest.mark.parametrize("header", HEADERS)
def test_headers_that_lie_do_not_let_a_text_pass(header: str, tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    table = pa.table(
        {"user": [f"u{n}" for n in range(10)], "query": pa.array(["x" * SIZE] + ["roses"] * 9)},
        schema=pa.schema([pa.field("user", pa.string()), pa.field("query", pa.string())]),
    )
    pq.write_table(table, file, use_dictionary=False, compression="zstd", data_page_size=2**30)
    found = pq.ParquetFile(file).metadata.row_group(0).column(1)
    data = file.read_bytes()
    size = found.total_uncompressed_size
    start, end = found.data_page_offset, found.data_page_offset + found.total_compressed_size
    body = data.index(b"\x28\xb5\x2f\xfd", start)  # where a frame of zstd begins
    size -= body - start
    made = HEADERS[header](size, end - body)
    changed = data[:start] + made + data[body:end]
    grown = len(changed) - end
    footer = bytearray(data[end:-8])
    was, now = (field(1, 6, found.total_compressed_size + more) for more in (0, grown))
    assert len(was) == len(now) and footer.count(was) >= 1
    place = footer.rfind(was)
    footer[place : place + len(was)] = now
    file.write_bytes(changed + bytes(footer) + struct.pack("<I", len(footer)) + b"PAR1")
    staged = qv.read(file, max_rejected=0.5).staged
    assert staged is not None and dict(staged.reasons) == {"text too long": 1}


def test_a_column_that_says_it_is_another_one(tmp_path: Path) -> None:
    """Names in parts of a file mean nothing to readers, who go by places."""
    file = tmp_path / "x.parquet"
    texts = {"extra": ["e"] * 10, "query": ["x" * SIZE] + ["roses"] * 9}
    pq.write_table(pa.table({"user": ["u"] * 10} | texts), file, use_dictionary=False, store_schema=False)
    data = bytearray(file.read_bytes())
    places = data.rfind(b"\x05query"), data.rfind(b"\x05extra")
    for place, name in zip(places, (b"\x05extra", b"\x05query"), strict=True):
        data[place : place + 6] = name
    file.write_bytes(bytes(data))
    staged = qv.read(file, max_rejected=0.5).staged
    assert staged is not None and dict(staged.reasons) == {"text too long": 1}


def test_many_pages_of_long_texts_are_too_much(tmp_path: Path) -> None:
    """Each is just short enough. Together they are more than a log has."""
    file, rows = tmp_path / "x.parquet", 1100
    schema = pa.schema([("user", pa.string()), ("query", pa.string())])
    with pq.ParquetWriter(
        file, schema, compression="zstd", use_dictionary=["user"], data_page_size=1, write_batch_size=1
    ) as writer:
        text = "x" * (MIB - 100)
        for _ in range(rows // 100):
            writer.write_table(pa.table({"user": ["u"] * 100, "query": [text] * 100}, schema=schema))
    with pytest.raises(InputError, match="that is not a search log"):
        qv.read(file)


class Half(qv.Zealous):
    """It publishes another log than the one that was gone over."""

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        some = log.table.filter(log.table["user"] < "u2")
        return super().protect(
            dataclasses.replace(log, normal=some, source=some.drop("words"), staged=None), run
        )


def test_what_was_found_for_one_log_is_not_taken_for_another(tmp_path: Path) -> None:
    file = tmp_path / "x.parquet"
    pq.write_table(pa.table({"user": [f"u{n}" for n in range(37)], "query": ["tea"] * 37}), file)
    found = [
        qv.publish(file, method, i_understand=True).private["queries-true-counts"]["users"].to_pylist()
        for method in (qv.Zealous(epsilon=8, delta=1e-2), Half(epsilon=8, delta=1e-2))
    ]
    assert found == [[37], [12]]  # the names of twelve begin with u0 or u1


def test_rows_are_not_gone_over_for_a_budget_that_is_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = qv.Ledger(str(tmp_path / "ledger.db"))
    ledger.open("log", epsilon=1, delta=1e-6)
    asked: list[Any] = []
    monkeypatch.setattr(SearchLog, "raw_rows", lambda *given: asked.append(given))
    with pytest.raises(qv.BudgetError):
        qv.publish(written(tmp_path), METHOD, ledger=ledger, source="log", i_understand=True)
    assert not asked and ledger.budget("log").events == ()


OUTCOMES = {"published, charged once", "refused, not charged"}


def outcome(file: Path) -> str:
    """What becomes of a file when it is published, with a ledger of its own."""
    with tempfile.TemporaryDirectory() as books:
        said, charges = charged(file, METHOD, Path(books))
    if (said == "published") != (charges == 1):
        return f"charged {charges} times: {said}"
    return "published, charged once" if charges else "refused, not charged"


def test_damaged_pages_are_refused_without_a_charge_or_published_with_one(tmp_path: Path) -> None:
    """Seeded, so that the same damage is done each time; `benchmarks/fuzz.py` does more."""
    rng = random.Random(3)
    found: Counter[str] = Counter()
    for shape in SHAPES.values():
        file = written(tmp_path, **shape)
        data = file.read_bytes()
        (footer,) = struct.unpack("<I", data[-8:-4])
        for _ in range(12):
            changed = bytearray(data)
            for _ in range(rng.choice([1, 2, 4])):
                changed[rng.randrange(4, len(data) - 8 - footer)] = rng.randrange(256)
            file.write_bytes(bytes(changed))
            found[outcome(file)] += 1
    assert set(found) == OUTCOMES
