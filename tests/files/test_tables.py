"""A table of a release that would fill the memory of whoever reads it is refused, by every command."""

from __future__ import annotations

import json
import resource
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.files import folder, tables
from tests.command import command
from tests.conftest import many

MIB = 1024 * 1024


def repeated(text: str, rows: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([text]))


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A release whose one table has a text of 20 MB in 400 rows, and whose manifest fits it."""
    release = tmp_path / "release"
    qv.publish(qv.read(many(20, ["roses"])), qv.KQuery(k=5), out=release)
    file = release / "log.parquet"
    schema = pq.read_schema(file)
    made = {name: pa.array([0] * 400, pa.int64()) for name in schema.names}
    made["query"] = repeated("x" * 20 * 10**6, 400)
    table = pa.table({name: made[name] for name in schema.names})
    pq.write_table(
        table, file, compression="zstd", dictionary_pagesize_limit=100 * MIB, write_statistics=False, store_schema=False
    )  # fmt: skip
    assert file.stat().st_size < 50_000
    state(release, "log", 400)
    return release


@pytest.mark.parametrize(
    ("asked", "code"),
    [("report", 3), ("release export --out csv", 3), ("release verify", 1), ("attack exposure", 3)],
)
def test_a_text_that_is_repeated_without_end_is_refused(
    asked: str, code: int, hostile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(hostile.parent)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    words = asked.split()
    place = 2 if words[0] in {"release", "attack"} else 1
    done = command(*words[:place], "release", *words[place:])
    assert done.code == code, done.err
    assert "far larger than its file" in done.err or code == 1
    # The text itself takes 20 MB in a few copies; the rows would take 8 GB.
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 * 1024


def test_numbers_that_are_repeated_without_end_are_refused(tmp_path: Path) -> None:
    file, zeros = tmp_path / "x.parquet", pa.array(np.zeros(10**7, np.int64))
    schema = pa.schema({"a": pa.int64(), "b": pa.int64()})
    with pq.ParquetWriter(
        file, schema, compression="zstd", use_dictionary=False, max_rows_per_page=10**7
    ) as writer:
        for _ in range(7):
            writer.write_table(pa.table({"a": zeros, "b": zeros}), row_group_size=10**7)
    assert file.stat().st_size < 200_000
    with pytest.raises(tables.TooMuch):
        tables.read_table(file)


def test_different_texts_that_nearly_vanish_in_the_file_are_refused(tmp_path: Path) -> None:
    """No row is long, so only the size of the file shows that 144 MB are too much."""
    file = tmp_path / "x.parquet"
    table = pa.table({"query": [f"{number}{'x' * 16_000}" for number in range(9_000)]})
    pq.write_table(table, file, compression="zstd", use_dictionary=False, write_statistics=False)
    assert file.stat().st_size < 100_000
    with pytest.raises(tables.TooMuch):
        tables.read_table(file)


MANY = 10_000_000


@pytest.fixture
def sets(tmp_path: Path) -> Path:
    """A release whose one table has 20 sets of half a million items each, and whose manifest fits it."""
    release = tmp_path / "release"
    qv.publish(
        qv.read(many(20, ["roses"]).append_column("session", pa.array(["a"] * 20))),
        qv.KSession(k=5),
        out=release,
    )
    offsets = pa.array([MANY // 20 * place for place in range(21)], pa.int32())
    items = pa.ListArray.from_arrays(offsets, repeated("roses", MANY))
    table = pa.table({"group": pa.array([0] * 20, pa.int64()), "items": items})
    pq.write_table(table, release / "transactions.parquet", compression="zstd", store_schema=False)
    state(release, "transactions", 20)
    return release


def state(release: Path, table: str, rows: int) -> None:
    """State digest, size, and rows of a table."""
    file = release / f"{table}.parquet"
    content = json.loads((release / "manifest.json").read_text())
    content["tables"][table]["rows"] = rows
    digest = {"sha256": folder.file_digest(file), "bytes": file.stat().st_size, "rows": rows}
    content["files"][file.name] |= digest
    (release / "manifest.json").write_text(folder.as_json(content))


def varint(number: int, size: int) -> bytes:
    """A positive number as Thrift writes it, in this many bytes."""
    parts = [(2 * number >> 7 * place) & 127 | 128 for place in range(size)]
    return bytes([*parts[:-1], parts[-1] & 127])


@pytest.mark.parametrize("stated", [MANY, 20])
def test_items_that_are_repeated_without_end_are_refused(stated: int, sets: Path) -> None:
    """Also if the footer states only a few of them: the headers of pages tell."""
    file = sets / "transactions.parquet"
    content = file.read_bytes()
    assert len(content) < 2_000 and content.count(varint(MANY, 4)) >= 2
    head, _, footer = content.rpartition(varint(MANY, 4))
    file.write_bytes(head + varint(stated, 4) + footer)
    state(sets, "transactions", 20)
    assert "tables" in {check.name for check in qv.verify(sets).failed}
    if stated == MANY:
        with pytest.raises(tables.TooMuch):
            tables.read_table(file)


def test_what_is_read_is_what_was_written(tmp_path: Path) -> None:
    table = pa.table(
        {
            "group": pa.array([0, 0, 1], pa.int64()),
            "items": pa.array([["a", "b"], ["a"], []], pa.list_(pa.string())),
            "query": ["x", "é", "x"],
            "bytes": pa.array([b"\xff", b"", b"a"], pa.binary()),
            "time": pa.array([1, 2, 3], pa.timestamp("us")),
        }
    )
    pq.write_table(table, tmp_path / "x.parquet")
    found, metadata = tables.read_table(tmp_path / "x.parquet")
    assert found.equals(table) and b"ARROW:schema" in metadata
    pq.write_table(table.slice(0, 0), tmp_path / "empty.parquet")
    assert tables.read_table(tmp_path / "empty.parquet")[0].schema == table.schema
