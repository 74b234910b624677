"""The same rows come out of every format, wherever and however they are stored."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from queryveil.reading.formats import FORMATS
from tests.reading.formats.logs import ROWS, as_fields, read, rows_of, write

HEADER = ("user", "time", "query", "url", "rank")
BY_NUMBER = {name: number for number, name in enumerate(HEADER, start=1)}


def aol(folder: Path) -> Path:
    lines = ["AnonID\tQuery\tQueryTime\tItemRank\tClickURL"]
    for user, time, query, url, rank in ROWS:
        click = "" if url is None else f"\t{rank}\t{url}"
        lines.append(f"{user}\t{query or '-'}\t{time}{click}")
    return write(folder / "log.txt", "\n".join(lines) + "\n")


def jsonl(folder: Path) -> Path:
    keep = [{k: v for k, v in zip(HEADER, row, strict=True) if v is not None} for row in ROWS]
    return write(folder / "log.jsonl", "".join(json.dumps(row, default=str) + "\n" for row in keep))


def columns() -> dict[str, Any]:
    return {name: [row[at] for row in ROWS] for at, name in enumerate(HEADER)}


def parquet(folder: Path) -> Path:
    pq.write_table(pa.table(columns()), folder / "log.parquet")
    return folder / "log.parquet"


def parquet_of_text(folder: Path) -> Path:
    table = pa.table({name: [None if v is None else str(v) for v in vs] for name, vs in columns().items()})
    pq.write_table(table, folder / "log.parquet")
    return folder / "log.parquet"


def parquet_with_zone(folder: Path) -> Path:
    made = columns()
    times = pa.array([t.replace(tzinfo=dt.UTC) for t in made["time"]], pa.timestamp("ms", "America/New_York"))
    encoded = pa.array(made["query"]).dictionary_encode()
    pq.write_table(pa.table(made | {"time": times, "query": encoded}), folder / "log.parquet")
    return folder / "log.parquet"


MAKERS: dict[str, tuple[Callable[[Path], Path], dict[str, Any], str]] = {
    "aol": (aol, {}, "aol"),
    "tsv with header": (
        lambda f: write(f / "log.tsv", "\t".join(HEADER) + "\n" + as_fields("\t")),
        {},
        "tsv",
    ),
    "tsv without header": (
        lambda f: write(f / "log", as_fields("\t")),
        {"columns": BY_NUMBER},
        "tsv",
    ),
    "csv": (
        lambda f: write(f / "log.csv", ",".join(HEADER) + "\n" + as_fields(",", quote=True)),
        {},
        "csv",
    ),
    "csv with semicolons": (
        lambda f: write(f / "log.csv", ";".join(HEADER) + "\n" + as_fields(";", quote=True)),
        {},
        "csv",
    ),
    "csv, delimiter named": (
        lambda f: write(f / "log.txt", as_fields("~", quote=True)),
        {"columns": BY_NUMBER, "delimiter": "~"},
        "csv",
    ),
    "windows line ends and a byte order mark": (
        lambda f: write(
            f / "log.tsv",
            b"\xef\xbb\xbf" + ("\t".join(HEADER) + "\n" + as_fields("\t")).replace("\n", "\r\n").encode(),
        ),
        {},
        "tsv",
    ),
    "no line end at the end": (
        lambda f: write(f / "log.tsv", "\t".join(HEADER) + "\n" + as_fields("\t").rstrip("\n")),
        {},
        "tsv",
    ),
    "jsonl": (jsonl, {}, "jsonl"),
    "parquet": (parquet, {}, "parquet"),
    "parquet of text": (parquet_of_text, {}, "parquet"),
    "parquet with zone and dictionary": (parquet_with_zone, {}, "parquet"),
}


@pytest.mark.parametrize("case", MAKERS)
def test_every_format_gives_the_same_rows(case: str, tmp_path: Path) -> None:
    make, options, name = MAKERS[case]
    staged = read(make(tmp_path), tmp_path / "into", **options)
    assert rows_of(staged) == ROWS
    assert (staged.rows, staged.empty_queries, staged.rejected) == (4, None if staged.direct else 1, 0)
    assert staged.rejected_file is None
    assert staged.format == name


def test_every_reader_is_covered_and_says_what_it_reads() -> None:
    assert {name for _, _, name in MAKERS.values()} <= FORMATS.keys()
    assert all(reader.help and reader.name == name for name, reader in FORMATS.items())


@pytest.mark.parametrize("compress", [gzip.compress, zstandard.compress], ids=["gz", "zst"])
def test_compressed_text(compress: Callable[[bytes], bytes], tmp_path: Path) -> None:
    plain = aol(tmp_path).read_bytes()
    # Two members or frames one after the other, as `cat a.gz b.gz` makes them.
    middle = len(plain) // 2
    packed = write(tmp_path / "log.txt.packed", compress(plain[:middle]) + compress(plain[middle:]))
    staged = read(packed, tmp_path / "into")
    assert (staged.format, rows_of(staged)) == ("aol", ROWS)


def test_folder_glob_and_list_give_all_files_in_order(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    parts = as_fields("\t").splitlines(keepends=True)
    header = "\t".join(HEADER) + "\n"
    write(folder / "a.tsv", header + parts[0])
    write(folder / "b" / "c.tsv.gz", gzip.compress((header + parts[1]).encode()))
    write(folder / "d.tsv", header + "".join(parts[2:]))
    write(folder / ".hidden.tsv", "not\tread")
    write(folder / "_SUCCESS", "")
    write(folder / "_temporary" / "part.tsv", "not\tread")
    write(folder / "empty.tsv", "")
    asked = {
        "folder": folder,
        "glob": str(folder / "**" / "*.tsv*"),
        "list": [folder / "a.tsv", folder / "b", folder / "d.tsv", folder / "a.tsv"],
    }
    for name, log in asked.items():
        staged = read(log, tmp_path / name)
        assert sorted(rows_of(staged)) == sorted(ROWS), name
    assert rows_of(read(folder, tmp_path / "again")) == ROWS


def test_parquet_with_the_right_types_is_read_where_it_lies(tmp_path: Path) -> None:
    staged = read(
        parquet(tmp_path),
        tmp_path / "into",
        columns={"user": "USER", "query": "query", "time": "", "url": "", "rank": ""},
    )
    assert staged.direct
    assert staged.files == (tmp_path / "log.parquet",)
    assert staged.names == {"user": "user", "query": "query"}
    assert not read(parquet_of_text(tmp_path), tmp_path / "into2").direct


def test_parquet_file_names_are_not_taken_for_globs(tmp_path: Path) -> None:
    odd = parquet(tmp_path).rename(tmp_path / "a[1]*'?.parquet")
    assert read(odd, tmp_path / "into").rows == len(ROWS)


def test_parquet_numbers_as_users_and_gaps_in_ranks(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    pq.write_table(pa.table({"uid": [1.0, 2.0], "q": ["a", "b"], "position": [3.0, None]}), log)
    staged = read(log, tmp_path / "into")
    assert rows_of(staged, "user", "query", "rank") == [("1", "a", 3), ("2", "b", None)]


def test_a_log_without_time_or_clicks(tmp_path: Path) -> None:
    staged = read(write(tmp_path / "x.csv", "uid,q\n1,a\n"), tmp_path / "into")
    assert dict(staged.names) == {"user": "user", "query": "query"}
    assert rows_of(staged, "user", "query") == [("1", "a")]


def test_staged_types(tmp_path: Path) -> None:
    log = write(tmp_path / "x.csv", "user,ts,query,url,position,session\na,2006-03-01,q,,,s1\n")
    staged = read(log, tmp_path / "into")
    schema = pq.read_schema(staged.files[0])
    assert {field.name: str(field.type) for field in schema} == {
        "user": "string",
        "time": "timestamp[us]",
        "query": "string",
        "url": "string",
        "rank": "int32",
        "session": "string",
    }


def test_json_paths_keys_with_dots_and_numbers(tmp_path: Path) -> None:
    rows = [
        {"event": {"user": 123456789012345678901234567890, "at": 1141214400}, "a.b": "one", "x/~y": "u"},
        {"event": {"user": "t", "at": "2006-03-01T12:00:00Z"}, "a.b": None, "late": 7},
    ]
    log = write(tmp_path / "log.json", "".join(json.dumps(row) + "\n" for row in rows))
    at = {"user": "event.user", "query": "a.b", "time": "event.at", "url": "x/~y", "rank": "late"}
    staged = read(log, tmp_path / "into", columns=at)
    noon = dt.datetime(2006, 3, 1, 12)
    assert rows_of(staged) == [
        ("123456789012345678901234567890", noon, "one", "u", None),
        ("t", noon, "", None, 7),
    ]
    assert staged.empty_queries == 1


def test_a_very_long_query_is_a_query(tmp_path: Path) -> None:
    long = "x" * 1_000_000
    logs = {
        "a.tsv": f"user\tquery\nu\t{long}\n",
        "b.csv": f'user,query\nu,"{long}"\n',
        "c.jsonl": json.dumps({"user": "u", "query": long}) + "\n",
    }
    for name, text in logs.items():
        columns = {"user": "user", "query": "query"}
        staged = read(write(tmp_path / name, text), tmp_path / name.replace(".", "-"), columns=columns)
        assert rows_of(staged, "query")[-1] == (long,), name


def test_query_text_is_kept_as_it_is(tmp_path: Path) -> None:
    odd = ["  Two  Spaces ", 'a "quote', "\uff26ull width", "tab", "-", "\u3000\u00a0", "e\u0301"]
    lines = "".join(f"{number}\t{query}\n" for number, query in enumerate(odd))
    staged = read(write(tmp_path / "x", lines), tmp_path / "into", columns={"user": 1, "query": 2})
    assert [query for (query,) in rows_of(staged, "query")] == odd
    assert staged.empty_queries == 1  # only white space, if not of the ASCII kind


def test_progress_counts_the_bytes_on_disk(tmp_path: Path) -> None:
    from queryveil.reading.log_files import stage
    from queryveil.reading.model import ReadOptions

    for log in (aol(tmp_path), parquet(tmp_path)):
        seen: list[tuple[int, int]] = []
        stage(log, ReadOptions(), tmp_path / f"into-{log.name}", lambda *at, seen=seen: seen.append(at))
        assert seen[-1] == (log.stat().st_size, log.stat().st_size)
