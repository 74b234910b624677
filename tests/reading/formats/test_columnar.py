"""Feather and ORC give the rows that Parquet gives."""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import feather, orc

import queryveil as qv
from tests.reading.formats.logs import read, rejections, rows_of, write

Write = Callable[[pa.Table, str], None]
WRITERS: dict[str, Write] = {"feather": feather.write_feather, "orc": orc.write_table}
NOON = dt.datetime(2006, 3, 1, 12)
TABLE = pa.table(
    {
        "user_id": pa.array([17, None, 18], pa.int64()),
        "when": pa.array([NOON, NOON, NOON], pa.timestamp("us")),
        "query": ["tea", "mug", None],
        "url": ["http://a.example", None, None],
        "other": [[1], [2], [3]],
    }
)


@pytest.mark.parametrize("kind", WRITERS)
def test_the_same_rows_as_parquet(kind: str, tmp_path: Path) -> None:
    pq.write_table(TABLE, tmp_path / "log.parquet")
    WRITERS[kind](TABLE, str(tmp_path / "log.data"))
    staged, parquet = (
        read(tmp_path / name, tmp_path / f"into-{name}", max_rejected=1)
        for name in ("log.data", "log.parquet")
    )
    assert (staged.format, staged.ignored) == (kind, ("other",))
    assert rows_of(staged, "user", "time", "query", "url") == rows_of(parquet, "user", "time", "query", "url")
    assert rejections(staged) == [("log.data", 2, "no user")]
    assert qv.read(tmp_path / "log.data", max_rejected=1).users == 2


@pytest.mark.parametrize("kind", WRITERS)
def test_damaged_files_are_refused(kind: str, tmp_path: Path) -> None:
    WRITERS[kind](TABLE, str(tmp_path / "whole"))
    data = (tmp_path / "whole").read_bytes()
    with pytest.raises(qv.InputError, match="damaged, cut short or not"):
        read(write(tmp_path / "cut", data[: len(data) // 2]), tmp_path / "into", format=kind)
    with pytest.raises(qv.UsageError, match="an encoding has no meaning"):
        read(tmp_path / "whole", tmp_path / "into2", encoding="latin-1")


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    """Which of them holds the times cannot be known; others may be there twice."""
    texts = pa.array(["a", "b"])
    for names, wrong in ((["user", "query", "time", "time"], True), (["user", "query", "x", "x"], False)):
        with pa.ipc.new_file(
            str(tmp_path / "log.arrow"), pa.schema([(name, pa.string()) for name in names])
        ) as into:
            into.write_table(pa.Table.from_arrays([texts] * 4, names=names))
        if wrong:
            with pytest.raises(qv.InputError, match="cannot tell apart: 'time', 'time'; rename all but one"):
                qv.read(tmp_path / "log.arrow")
        else:
            assert qv.read(tmp_path / "log.arrow").users == 2


def test_a_column_that_lacks_values_although_it_says_that_it_does_not(tmp_path: Path) -> None:
    """As a fuzzer found it. Rows are judged one by one, whatever the file says of all of them."""
    fields = [pa.field(name, pa.string(), nullable=False) for name in ("user", "query")]
    with pa.ipc.new_file(str(tmp_path / "log.arrow"), pa.schema(fields)) as into:
        into.write_table(pa.table([["a", None, "c"], ["tea", "mug", None]], schema=pa.schema(fields)))
    log = qv.read(tmp_path / "log.arrow", max_rejected=1)
    assert (log.rows, log.users, log.staged.reasons) == (2, 2, {"no user": 1})


def test_a_text_that_begins_like_orc_is_a_text(tmp_path: Path) -> None:
    log = write(tmp_path / "log", "ORCHIDS\t1\nORCHARDS\t2\n")
    assert rows_of(read(log, tmp_path / "into", columns={"user": 2, "query": 1}), "query") == [
        ("ORCHIDS",),
        ("ORCHARDS",),
    ]


def test_a_file_that_states_nulls_without_room_for_them_is_damaged(tmp_path: Path) -> None:
    """As a fuzzer found it: what says which rows are null has no bytes."""
    table = pa.table({"user": list("abc"), "query": ["tea"] * 3, "time": [dt.datetime(2026, 1, 1)] * 3})
    file = tmp_path / "log.feather"
    feather.write_feather(table, file, compression="uncompressed")
    nodes = struct.pack("<6q", 3, 0, 3, 0, 3, 0)  # rows and nulls of each column
    written = file.read_bytes()
    assert written.count(nodes) == 1
    file.write_bytes(written.replace(nodes, struct.pack("<6q", 3, 0, 3, 0, 3, 1)))
    with pytest.raises(qv.InputError, match="damaged, cut short or not Feather"):
        qv.read(file)


def test_a_file_whose_texts_end_before_they_begin_is_damaged(tmp_path: Path) -> None:
    """As a fuzzer found it: where one text begins, which is behind the end of it."""
    table = pa.table({"user": ["ann", "bob", "cid"], "query": ["tea"] * 3})
    file = tmp_path / "log.feather"
    feather.write_feather(table, file, compression="uncompressed")
    places = struct.pack("<4i", 0, 3, 6, 9)
    written = file.read_bytes()
    assert written.count(places) == 2
    file.write_bytes(written.replace(places, struct.pack("<4i", 0, 7, 6, 9)))
    with pytest.raises(qv.InputError, match="damaged, cut short or not Feather"):
        qv.read(file)


@pytest.mark.parametrize("write", [feather.write_feather, orc.write_table])
def test_a_file_whose_columns_have_names_in_no_encoding_is_damaged(
    write: Callable[..., None], tmp_path: Path
) -> None:
    file = tmp_path / "log"
    write(pa.table({"user": ["ann"], "query": ["tea"], "colour": ["red"]}), file)
    written = file.read_bytes()
    assert b"colour" in written
    file.write_bytes(written.replace(b"colour", b"col\xed\xffr"))
    with pytest.raises(qv.InputError, match="damaged, cut short or not"):
        qv.read(file)
