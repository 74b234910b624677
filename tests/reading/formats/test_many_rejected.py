"""Very many bad rows are counted to the last one, and take little room: small files can hold a billion of them."""

from __future__ import annotations

import gzip
from pathlib import Path
from unittest.mock import patch

import pytest

from queryveil.reading import lines, staging
from tests.reading.formats.logs import read, rejected_rows, rows_of, write

MANY = 30_000_000


def test_compressed_newlines_are_counted_and_not_stored_one_by_one(tmp_path: Path) -> None:
    good = "user\tquery\nu\tq\n"
    # Two members one after the other: the blank lines in the middle of the second belong to nobody else.
    packed = gzip.compress(good.encode()) + gzip.compress(b"\n" * MANY + b"v\tr\n\n\n")
    log = write(tmp_path / "x.tsv.gz", packed)
    assert log.stat().st_size < 100_000
    staged = read(log, tmp_path / "into", max_rejected=1)
    assert (staged.rows, staged.reasons, staged.rejected) == (2, {"blank line": MANY + 1}, MANY + 1)
    assert rows_of(staged, "user", "query") == [("u", "q"), ("v", "r")]
    assert [(row["line"], row["lines"], row["text"]) for row in rejected_rows(staged)] == [
        (3, MANY, ""),
        (MANY + 4, 1, ""),
    ]
    assert sum(file.stat().st_size for file in (tmp_path / "into").glob("*.parquet")) < 10_000


@pytest.mark.parametrize("block", [1, 3, 7, 1000])
def test_runs_of_blank_lines_are_the_same_for_any_block(block: int, tmp_path: Path) -> None:
    log = write(tmp_path / "x.tsv", "\n\nuser\tquery\n\n\n\nu\tq\n\r\n\nu\tr\n\n\n\n\n")
    with patch.object(lines, "BLOCK_BYTES", block):
        staged = read(log, tmp_path / "into", max_rejected=1)
    assert [(row["line"], row["lines"]) for row in rejected_rows(staged)] == [(1, 2), (4, 3), (8, 2), (11, 3)]
    assert (staged.rows, staged.rejected) == (2, 10)


def test_beyond_a_bound_only_places_and_reasons_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "MAX_REJECTED_TEXTS", 3)
    bad = ["one", "two", "", "", "three", "four", "five", "u\tq", "six", "\tno user", "\tno user"]
    log = write(tmp_path / "x.tsv", "user\tquery\nu\tq\n" + "\n".join(bad) + "\n")
    staged = read(log, tmp_path / "into", max_rejected=1)
    assert staged.reasons == {"wrong number of fields": 6, "blank line": 2, "no user": 2}
    kept = [(row["line"], row["lines"], row["reason"], row["text"]) for row in rejected_rows(staged)]
    assert kept == [
        (3, 1, "wrong number of fields", "one"),
        (4, 1, "wrong number of fields", "two"),
        (5, 2, "blank line", ""),
        (7, 3, "wrong number of fields", None),
        (11, 1, "wrong number of fields", None),
        (12, 2, "no user", None),
    ]
    assert len(staged.examples) == 6
