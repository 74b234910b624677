"""A NUL byte makes a row bad, the first one like any other; a file that consists of them is no text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from queryveil.errors import InputError
from tests.reading.formats.logs import read, rejections, rows_of, write

ROW = json.dumps({"user": "u", "query": "q", "time": 1141214400}).encode()
LOGS: dict[str, tuple[bytes, list[tuple[str, str]], int]] = {
    "x.jsonl": (ROW[:-1] + b"\0}\n" + ROW + b"\n" + ROW + b"\n", [("u", "q")] * 2, 1),
    "x.json": (b"\0\n" + ROW + b"\n" + ROW + b"\n", [("u", "q")] * 2, 1),
    "x.tsv": (b"a\tq\0\nuser\tquery\nu\tq\n", [("u", "q")], 1),
    "x.txt": (b"\0\tq\nuser\tquery\nu\tq\n", [("u", "q")], 1),
    "x.csv": (b"\nuser,\0\nuser,query\nu,q\n", [("u", "q")], 2),
    "late.tsv": (b"user\tquery\nu\t\0\nu\tq\n", [("u", "q")], 2),
}


@pytest.mark.parametrize("name", LOGS)
def test_a_nul_byte_in_a_first_line_is_a_bad_row(name: str, tmp_path: Path) -> None:
    data, rows, line = LOGS[name]
    staged = read(write(tmp_path / name, data), tmp_path / "into", max_rejected=0.7)
    assert rows_of(staged, "user", "query") == rows
    assert (name, line, "binary data") in rejections(staged)


@pytest.mark.parametrize("name", ["x", "x.txt", "x.tsv", "x.csv", "x.jsonl", "x.parquet"])
@pytest.mark.parametrize(
    "data",
    [
        bytes(range(256)) * 40,
        b"\x7fELF" + b"\0\1\2\n" * 500,
        "user\tquery\nu\tq\n".encode("utf-16-le"),
        b"SQLite format 3\0" + b"\0" * 4000,
    ],
    ids=["all bytes", "program", "utf-16", "database"],
)
def test_what_is_no_text_is_refused(data: bytes, name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"is binary|is damaged"):
        read(write(tmp_path / name, data), tmp_path / "into")
