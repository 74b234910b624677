"""What cannot be read at all ends in one sentence with a way out, and never shows a row."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from queryveil.errors import InputError, QueryveilError, UsageError
from tests.reading.formats.logs import read, write

TSV = "user\tquery\n" + "u\tq\n" * 5000


def parquet(path: Path, **columns: Any) -> bytes:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns or {"user": ["u"] * 9999, "query": ["q"] * 9999}), path)
    return path.read_bytes()


CONTENTS: dict[str, tuple[bytes, str]] = {
    "empty.tsv": (b"", "'empty.tsv' is empty"),
    "blank.tsv": (b"\n \n", "'blank.tsv' is empty"),
    "nothing.tsv.gz": (gzip.compress(b""), "is empty"),
    "header.tsv": (b"user\tquery\n", "holds no rows"),
    "cut.tsv.gz": (gzip.compress(TSV.encode())[:-9], "'cut.tsv.gz' is damaged or cut short"),
    "cut.tsv.zst": (zstandard.compress(TSV.encode())[:-1], "'cut.tsv.zst' is damaged or cut short"),
    "wrong.tsv.gz": (b"\x1f\x8b" + b"x" * 99, "'wrong.tsv.gz' is damaged"),
    "picture.png": (b"\x89PNG\r\n\x1a\n\0\0\0", "is binary"),
    "archive.zip": (b"PK\x03\x04xxxx", "its zip data cannot be decompressed"),
    "archive.7z": (b"7z\xbc\xaf\x27\x1cxx", "a 7z archive"),
    "wide.csv": ("user,query\na,b\n".encode("utf-16-le"), "is binary"),
    "words.txt": (b"secret words without any column\n", "format of 'words.txt' is not recognized"),
    "array.json": (b'[\n {"user": 1}\n]\n', "not recognized"),
    "headerless.tsv": (b"secret-u\tsecret-q\n", "has a usual name"),
    "headerless.txt": (b"secret-u;secret-q\nu;q\n", "has a usual name"),
    "fake.parquet": (b"PAR1" + b"x" * 99, "'fake.parquet' is damaged, cut short or not Parquet"),
    "nouser.csv": (b"time,query\n1,q\n", "has a usual name"),
    "nokeys.jsonl": (b'{"who": 1, "query": "secret", "time": 0}\n', "1 of 1 rows were rejected"),
}


@pytest.mark.parametrize("name", CONTENTS)
def test_unreadable_content(name: str, tmp_path: Path) -> None:
    content, says = CONTENTS[name]
    with pytest.raises(InputError) as caught:
        read(write(tmp_path / name, content), tmp_path / "into")
    assert says in caught.value.message
    assert caught.value.hint
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None  # what lies below may quote rows


@pytest.mark.parametrize("damage", ["cut", "scrambled"])
def test_damaged_parquet(damage: str, tmp_path: Path) -> None:
    whole = parquet(tmp_path / "logs" / "a.parquet", user=[str(n) for n in range(9999)], query=["q"] * 9999)
    broken = whole[:-500] if damage == "cut" else whole[:4] + b"\xff" * 2000 + whole[2004:]
    write(tmp_path / "logs" / "b.parquet", broken)
    with pytest.raises(InputError, match=r"'b\.parquet' is damaged"):
        read(tmp_path / "logs", tmp_path / "into")


def test_paths_that_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "hollow").mkdir()
    (tmp_path / "hollow" / "_SUCCESS").touch()
    os.mkfifo(tmp_path / "pipe")
    says = {
        tmp_path / "missing.tsv": "there is no file or folder",
        tmp_path / "*.tsv": "no file matches",
        tmp_path / "hollow": "holds no data files",
        tmp_path / "pipe": "is not a regular file",
        tmp_path / ("x" * 300): "cannot read",
    }
    for log, text in says.items():
        with pytest.raises(InputError, match=text):
            read(log, tmp_path / "into")
    with pytest.raises(InputError, match="no log was named"):
        read([], tmp_path / "into")


def test_no_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = write(tmp_path / "x.tsv", TSV)

    # Tests may run as root, whom no mode stops.
    def refuse(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(InputError, match="no permission to read"):
        read(log, tmp_path / "into")


def test_mixed_formats_name_two_files(tmp_path: Path) -> None:
    write(tmp_path / "logs" / "a.tsv", TSV)
    write(tmp_path / "logs" / "b.jsonl", '{"user": "u", "query": "q"}\n')
    with pytest.raises(InputError, match=r"'a\.tsv' is tsv but 'b\.jsonl' is jsonl"):
        read(tmp_path / "logs", tmp_path / "into")


def test_different_headers_name_two_files(tmp_path: Path) -> None:
    write(tmp_path / "logs" / "a.tsv", TSV)
    write(tmp_path / "logs" / "b.tsv", "query\tuser\nq\tu\n")
    with pytest.raises(InputError, match=r"'a\.tsv' and 'b\.tsv' have different headers"):
        read(tmp_path / "logs", tmp_path / "into")


def test_different_parquet_schemas_name_column_and_file(tmp_path: Path) -> None:
    parquet(tmp_path / "logs" / "a.parquet", user=["u"], query=["q"])
    parquet(tmp_path / "logs" / "b.parquet", user=[1], query=["q"])
    with pytest.raises(
        InputError, match=r"column 'user' is int64 in 'b\.parquet' but string in 'a\.parquet'"
    ):
        read(tmp_path / "logs", tmp_path / "into")
    parquet(tmp_path / "logs" / "b.parquet", user=["u"], q=["q"])
    with pytest.raises(InputError, match=r"'b\.parquet' has no column 'query'"):
        read(tmp_path / "logs", tmp_path / "into")
    parquet(tmp_path / "c.parquet", user=["u"], query=[["q"]])
    with pytest.raises(InputError, match="cannot be a query"):
        read(tmp_path / "c.parquet", tmp_path / "into")


@pytest.mark.parametrize(
    ("options", "error", "says"),
    [
        (
            {"columns": {"user": "user", "query": "text"}},
            InputError,
            "no column 'text' among the 2 fields of its first line; it has user, query",
        ),
        ({"columns": {"user": 1, "query": 3}}, InputError, "has 2 columns, so there is no column 3"),
        ({"columns": {"user": 1, "query": 0}}, UsageError, "number from 1"),
        ({"columns": {"user": 1, "query": 2, "who": 3}}, UsageError, "no column 'who'"),
        ({"columns": {"user": "user", "query": 2}, "header": False}, UsageError, "no header"),
        ({"format": "xml"}, UsageError, "no format 'xml'"),
        ({"format": "jsonl", "delimiter": ";"}, UsageError, "no meaning in jsonl"),
        ({"delimiter": "ab"}, UsageError, "one character"),
        ({"max_rejected": float("nan")}, UsageError, "max_rejected"),
        ({"format": "parquet"}, InputError, "not Parquet"),
    ],
)
def test_options_that_do_not_fit(
    options: dict[str, Any], error: type[QueryveilError], says: str, tmp_path: Path
) -> None:
    with pytest.raises(error) as caught:
        read(write(tmp_path / "x.tsv", TSV), tmp_path / "into", **options)
    assert says in caught.value.message


def test_names_for_a_file_without_header_do_not_show_its_first_row(tmp_path: Path) -> None:
    log = write(tmp_path / "x.tsv", "secret-u\tsecret-q\n")
    with pytest.raises(InputError) as caught:
        read(log, tmp_path / "into", columns={"user": "user", "query": "query"})
    assert "secret" not in str(caught.value)
    assert "numbers from 1" in caught.value.hint


def test_a_json_key_that_no_row_has(tmp_path: Path) -> None:
    log = write(tmp_path / "x.jsonl", '{"user": "u", "query": "q"}\n')
    with pytest.raises(InputError, match="no such field 1"):
        read(log, tmp_path / "into", columns={"user": "user", "query": "typo"})
    with pytest.raises(InputError, match="has a value at 'typo'"):
        read(log, tmp_path / "into", columns={"user": "user", "query": "query", "url": "typo"})


def test_a_short_first_row_does_not_decide_how_many_columns_there_are(tmp_path: Path) -> None:
    log = write(tmp_path / "x.tsv", "cut\tshort\n" + "u\tx\tq\n" * 99)
    staged = read(log, tmp_path / "into", columns={"user": 1, "query": 3})
    assert (staged.rows, staged.rejected) == (99, 1)


def test_another_delimiter_is_proposed_together_with_columns_if_those_are_needed_too(tmp_path: Path) -> None:
    for names, also in (("Kunde;Suche", True), ("user;query", False)):
        log = write(tmp_path / f"{also}.csv", names + "\n" + "ann;tea\n" * 9)
        with pytest.raises(InputError) as caught:
            read(log, tmp_path / f"into-{also}", delimiter=",")
        assert "semicolons seem to separate the columns: try delimiter=';'" in caught.value.hint
        assert ("name the columns" in caught.value.hint) == also
