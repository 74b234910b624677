"""Files: formats, the list of secrets, and nothing half-written."""

from __future__ import annotations

import csv
import gzip
import json
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
import zstandard

from queryveil.errors import OutputError, UsageError
from queryveil.synthetic.generator import (
    SCHEMA,
    LogSettings,
    generate,
    generate_batches,
    results_table,
    write_results,
)

SETTINGS = LogSettings(users=400, rows=8_000, seed=11, pool_size=2_000)
Row = tuple[str, datetime, str, str | None, int | None]


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    return [tuple(row.values()) for batch in generate_batches(SETTINGS) for row in batch.to_pylist()]


def text_of(path: Path) -> str:
    data = path.read_bytes()
    if path.suffix == ".gz":
        data = gzip.decompress(data)
    elif path.suffix == ".zst":
        data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
    return data.decode()


def row(user: str, time: str, query: str, url: Any, rank: Any) -> Row:
    return user, datetime.fromisoformat(time), query, url or None, int(rank) if rank else None


def read_aol(path: Path) -> list[Row]:
    head, *lines = text_of(path).removesuffix("\n").split("\n")
    assert head == "AnonID\tQuery\tQueryTime\tItemRank\tClickURL"
    fields = (line.split("\t") for line in lines)
    return [row(user, time, query, url, rank) for user, query, time, rank, url in fields]


def read_csv(path: Path) -> list[Row]:
    lines = csv.DictReader(text_of(path).splitlines())
    return [row(**line) for line in lines]


def read_jsonl(path: Path) -> list[Row]:
    return [row(**json.loads(line)) for line in text_of(path).splitlines()]


def read_parquet(path: Path) -> list[Row]:
    table = pyarrow.parquet.read_table(path)
    assert table.schema == SCHEMA
    return [tuple(line.values()) for line in table.to_pylist()]


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("log.parquet", read_parquet),
        ("log.tsv", read_aol),
        ("log.txt.gz", read_aol),
        ("log.csv", read_csv),
        ("log.csv.zst", read_csv),
        ("log.jsonl", read_jsonl),
        ("log.jsonl.gz", read_jsonl),
    ],
)
def test_every_format_holds_the_same_rows(
    tmp_path: Path, rows: list[Row], name: str, read: Callable[[Path], list[Row]]
) -> None:
    seen: list[tuple[int, int]] = []
    made = generate(tmp_path / name, SETTINGS, progress=lambda done, total: seen.append((done, total)))
    assert read(tmp_path / name) == rows
    assert (made.rows, made.users) == (8_000, 400)
    assert made.queries == len({(user, time) for user, time, *_ in rows})
    assert made.clicks == sum(url is not None for *_, url, _ in rows)
    assert seen[-1] == (8_000, 8_000)
    assert sorted(p.name for p in tmp_path.iterdir()) == [name, f"{name}.secrets.tsv"]


def test_the_format_can_be_said(tmp_path: Path, rows: list[Row]) -> None:
    generate(tmp_path / "log", SETTINGS, format="csv")
    assert read_csv(tmp_path / "log") == rows


@pytest.mark.parametrize(
    ("name", "format"),
    [("log", None), ("log.xlsx", None), ("log.gz", None), ("log.tsv", "xlsx"), ("log.parquet.gz", None)],
)
def test_an_unknown_format_is_refused(tmp_path: Path, name: str, format: str | None) -> None:
    with pytest.raises(UsageError):
        generate(tmp_path / name, SETTINGS, format=format)
    assert not any(tmp_path.iterdir())


def luhn_valid(digits: str) -> bool:
    doubled = [int(d) * (1 + i % 2) for i, d in enumerate(reversed(digits))]
    return sum(d - 9 if d > 9 else d for d in doubled) % 10 == 0


def test_the_secrets_file_says_where_each_secret_is(tmp_path: Path) -> None:
    settings = LogSettings(users=2_000, rows=20_000, secrets=600, pool_size=2_000)
    listing = tmp_path / "where.tsv"
    made = generate(tmp_path / "log.tsv", settings, secrets_file=listing)
    head, *lines = listing.read_text(encoding="utf-8").splitlines()
    assert head.split("\t") == ["user", "time", "query", "kind"]
    secrets = [line.split("\t") for line in lines]
    assert len(secrets) == 600 == sum(made.secrets.values())
    assert Counter(kind for *_, kind in secrets) == made.secrets
    assert len(made.secrets) == 6

    users = defaultdict(list)
    for user, time, query, url, _ in read_aol(tmp_path / "log.tsv"):
        users[query].append((user, str(time), url))
    # Each is one row of one user, without a click; no user has two.
    assert all(users[query] == [(user, time, None)] for user, time, query, _ in secrets)
    assert len({user for user, *_ in secrets}) == 600

    by_kind = defaultdict(list)
    for _, _, query, kind in secrets:
        by_kind[kind].append(query)
    cards = [query.replace(" ", "") for query in by_kind["card"]]
    assert all(len(card) == 16 and card.startswith("9999") and luhn_valid(card) for card in cards)
    assert not luhn_valid("9999000000000001")
    assert all("555-01" in query for query in by_kind["phone"])
    assert all("@example." in query for query in by_kind["email"])
    assert all(query.startswith("666-") for query in by_kind["national-id"])


def test_no_two_secrets_are_the_same(tmp_path: Path) -> None:
    settings = LogSettings(users=50_000, rows=50_000, secrets=50_000, pool_size=200, click_rate=0)
    generate(tmp_path / "log.csv", settings)
    texts = [line.split("\t")[2] for line in (tmp_path / "log.csv.secrets.tsv").read_text().splitlines()[1:]]
    assert len(set(texts)) == len(texts) == 50_000


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_write_leaves_nothing(tmp_path: Path, error: type[BaseException]) -> None:
    def stop(done: int, total: int) -> None:
        assert any(tmp_path.iterdir())
        raise error

    with pytest.raises(error):
        generate(tmp_path / "log.parquet", SETTINGS, progress=stop)
    assert not any(tmp_path.iterdir())


def test_an_existing_output_is_kept(tmp_path: Path) -> None:
    for name in ("log.tsv", "log.tsv.secrets.tsv"):
        (tmp_path / name).write_text("mine")
        with pytest.raises(UsageError, match="exists"):
            generate(tmp_path / "log.tsv", SETTINGS)
        assert (tmp_path / name).read_text() == "mine"
        (tmp_path / name).unlink()
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["log.tsv", "log.parquet"])
def test_folders_are_made_and_a_file_in_the_way_is_an_output_error(tmp_path: Path, name: str) -> None:
    assert generate(tmp_path / "none" / name, SETTINGS).path.exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(OutputError, match="cannot be"):
        generate(tmp_path / "file" / name, SETTINGS)


@pytest.mark.parametrize("name", ["results.parquet", "results.tsv", "results.csv"])
def test_the_public_results_can_be_written(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    expected = results_table(SETTINGS)
    assert write_results(path, SETTINGS) == expected.num_rows
    if path.suffix == ".parquet":
        assert pyarrow.parquet.read_table(path).equals(expected)
    else:
        delimiter = "," if path.suffix == ".csv" else "\t"
        lines = list(csv.DictReader(path.read_text(encoding="utf-8").splitlines(), delimiter=delimiter))
        found = pa.table(
            {
                "query": [line["query"] for line in lines],
                "url": [line["url"] for line in lines],
                "rank": pa.array([int(line["rank"]) for line in lines], pa.int32()),
            }
        )
        assert found.equals(expected)
    with pytest.raises(UsageError, match="exists"):
        write_results(path, SETTINGS)
