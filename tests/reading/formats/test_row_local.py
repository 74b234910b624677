"""How a file is cut into blocks changes nothing, and neither does one row change how others are read."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.reading import lines
from tests.reading.formats.logs import read, rejected_rows, rows_of, write

COLUMNS = {"user": 1, "query": 2, "time": 3}
PIECES = st.sampled_from(
    [
        b"u",
        b"\t",
        b",",
        b'"',
        b"\n",
        b"\r",
        b"\r\n",
        b"\n\n",
        b"\0",
        b"\xff",
        "é".encode(),
        b"{",
        b"1141214400",
    ]
)
LINE = st.lists(PIECES.filter(lambda piece: b"\n" not in piece), max_size=8).map(b"".join)


def outcome(data: bytes, **options: Any) -> tuple[dict[int, Any], list[Any]]:
    """Rejected rows by line, and accepted rows, for a log that surely starts with a good row."""
    with tempfile.TemporaryDirectory() as folder:
        log = write(Path(folder, "x"), data)
        staged = read(log, Path(folder, "into"), columns=COLUMNS, header=False, max_rejected=1, **options)
        rejected = {
            line: (row["reason"], row["text"])
            for row in rejected_rows(staged)
            for line in range(row["line"], row["line"] + row["lines"])
        }
        assert staged.rows + staged.rejected == len(rejected) + len(rows_of(staged, "user"))
        return rejected, rows_of(staged, "user", "query", "time")


@settings(max_examples=40, deadline=None)
@given(
    st.lists(PIECES, max_size=30).map(b"".join),
    st.integers(1, 40),
    st.sampled_from([("tsv", b"\t"), ("csv", b",")]),
)
def test_blocks_of_any_size_give_the_same_rows(data: bytes, block: int, kind: tuple[str, bytes]) -> None:
    data = kind[1].join([b"first", b"q", b"1141214400"]) + b"\n" + data
    with patch.object(lines, "LONGEST_LINE", 30), patch.object(lines, "KEPT_OF_LONG_LINE", 20):
        whole = outcome(data, format=kind[0])
        with patch.object(lines, "BLOCK_BYTES", block):
            assert outcome(data, format=kind[0]) == whole


@settings(max_examples=40, deadline=None)
@given(st.lists(LINE, min_size=2, max_size=6), st.data(), st.sampled_from([("tsv", b"\t"), ("csv", b",")]))
def test_corrupting_one_line_changes_no_other(
    rows: list[bytes], data: st.DataObject, kind: tuple[str, bytes]
) -> None:
    # Good rows between the drawn ones carry their line number, so that one lost or changed shows.
    good = [kind[1].join([f"u{at}".encode(), b"q", b"1141214400"]) for at in range(len(rows))]
    mixed = [line for pair in zip(good, rows, strict=True) for line in pair] + [good[0]]
    at = data.draw(st.integers(1, len(rows) - 1)) * 2 + 1
    changed = [*mixed[:at], data.draw(LINE), *mixed[at + 1 :]]
    before, after = (outcome(b"\n".join(log), format=kind[0]) for log in (mixed, changed))
    assert {k: v for k, v in before[0].items() if k != at + 1} == {
        k: v for k, v in after[0].items() if k != at + 1
    }
    # The changed line is one row or none in either log; all other accepted rows are the same, in order.
    position = at - sum(line <= at for line in before[0])
    rest = [
        accepted[:position] + accepted[position + (at + 1 not in rejected) :]
        for rejected, accepted in (before, after)
    ]
    assert rest[0] == rest[1]


@pytest.mark.parametrize("block", [7, 64, 10_000])
def test_a_line_too_long_is_dropped_without_its_neighbours(block: int, tmp_path: Path) -> None:
    exact = b"b\t" + b"x" * 98
    data = b"\n".join([b"a\tq", exact, exact + b"x", exact + b"\r", b"x" * 999, b"c\tq", b"y" * 500])
    log = write(tmp_path / "x", data)
    with patch.object(lines, "BLOCK_BYTES", block), patch.object(lines, "LONGEST_LINE", 100):
        staged = read(log, tmp_path / "into", columns={"user": 1, "query": 2}, max_rejected=1)
    assert [(row["line"], row["reason"]) for row in rejected_rows(staged)] == [
        (3, "line too long"),
        (5, "line too long"),
        (7, "line too long"),
    ]
    assert [user for (user,) in rows_of(staged, "user")] == ["a", "b", "b", "c"]
