"""Files: marked, read back as they are, the same for the same seed, and nothing half-written."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import queryveil as qv
from queryveil.synthetic.synthesis import write
from tests.command import command
from tests.conftest import many
from tests.synthetic.synthesis.graphs import drawn, graph

TABLES = graph(
    {"new york": 90, 'he said "no"': 60, "café münchen": 40, "a\\b": 30},
    {("new york", "http://a.example/?q=1"): 70, ("café münchen", "http://b.example"): 60},
    {("new york", "café münchen"): 30},
)
AOL = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL"


def rows_of(log: qv.SearchLog) -> list[tuple[object, ...]]:
    table = log.engine.arrow(log.table.select("user", "time", "query", "url", "rank"))
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=lambda row: tuple(map(str, row)))


@pytest.mark.parametrize("name", ["log.tsv", "log.txt", "log.tsv.gz", "log.txt.zst"])
def test_both_formats_read_back_as_the_same_rows(tmp_path: Path, name: str) -> None:
    seen: list[tuple[int, int]] = []
    made = qv.synthesize(TABLES, tmp_path / name, rows=3_000, seed=8, progress=lambda *at: seen.append(at))
    log = qv.read(tmp_path / name)
    assert log.staged is not None
    assert (log.staged.format, log.staged.rejected) == ("aol", 0)
    other = qv.synthesize(TABLES, tmp_path / "log.parquet", rows=3_000, seed=8)
    assert rows_of(log) == rows_of(qv.read(other.path))
    assert (made.rows, made.users, made.format, other.format) == (3_000, 96, "aol", "parquet")
    assert (log.rows, log.users) == (made.rows, made.users)
    found = qv.inspect(log).as_dict()
    assert (found["queries"], found["clicks"]) == (made.queries, made.clicks)
    assert seen[-1] == (3_000, 3_000)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "log.parquet"])


def test_every_row_is_marked(tmp_path: Path) -> None:
    file = qv.synthesize(TABLES, tmp_path / "log.parquet", rows=500).path
    table = pq.read_table(file)
    assert set(table["source"].to_pylist()) == {"synthetic"}
    assert all(user.startswith("synthetic-") for user in table["user"].to_pylist())
    mark = json.loads(pq.read_schema(file).metadata[b"queryveil.synthetic"])
    assert mark["synthetic"] is True and (mark["rows"], mark["users"], mark["seed"]) == (500, 16, 0)

    qv.synthesize(TABLES, tmp_path / "log.tsv.gz", rows=500)
    head, *lines = gzip.decompress((tmp_path / "log.tsv.gz").read_bytes()).decode().splitlines()
    assert head == AOL and len(lines) == 500
    assert all(line.startswith("synthetic-") and line.count("\t") == 4 for line in lines)
    qv.synthesize(TABLES, tmp_path / "log.tsv.zst", rows=500)
    packed = (tmp_path / "log.tsv.zst").read_bytes()
    assert zstandard.ZstdDecompressor().decompressobj().decompress(packed).decode().splitlines()[1:] == lines


def test_rows_lie_within_the_days(tmp_path: Path) -> None:
    options = {"rows": 2_000, "users": 100, "days": 3, "start": dt.date(2026, 2, 27)}
    log = drawn(TABLES, tmp_path, **options)
    times = log["time"].to_pylist()
    assert dt.datetime(2026, 2, 27) <= min(times) and max(times) < dt.datetime(2026, 3, 2)
    assert max(times) - min(times) > dt.timedelta(days=2)


def test_as_many_rows_as_fit(tmp_path: Path) -> None:
    # Everyone's queries are sessions of their own, half of what a day has room for.
    log = drawn(graph({"a": 1}), tmp_path, rows=23 * 40, users=40, days=1)
    assert max(log["time"].to_pylist()) < dt.datetime(2000, 1, 2)
    assert log.num_rows == 920


def test_the_same_seed_gives_the_same_rows_chunk_by_chunk(tmp_path: Path) -> None:
    seen: list[int] = []
    first = qv.synthesize(
        TABLES, tmp_path / "a.parquet", rows=250_000, seed=3, progress=lambda done, _: seen.append(done)
    )
    again = qv.synthesize(TABLES, tmp_path / "b.parquet", rows=250_000, seed=3)
    other = qv.synthesize(TABLES, tmp_path / "c.parquet", rows=250_000, seed=4)
    tables = [pq.read_table(made.path) for made in (first, again, other)]
    assert tables[0].equals(tables[1]) and not tables[0].equals(tables[2])
    # Written as they are drawn: a chunk is all that memory holds.
    assert pq.ParquetFile(first.path).num_row_groups == len(seen) == 3
    assert seen[-1] == 250_000 and max(seen[0], seen[1] - seen[0]) <= 100_100
    users = tables[0]["user"].to_pylist()
    assert len(set(users)) == first.users == sum(a != b for a, b in pairwise(users)) + 1


def test_sizes_that_are_left_out(tmp_path: Path) -> None:
    assert qv.synthesize(TABLES, tmp_path / "a.tsv").rows == 90 + 60 + 40 + 30
    by_users = qv.synthesize(TABLES, tmp_path / "b.tsv", users=10)
    assert (by_users.rows, by_users.users) == (310, 10)
    # A day has no room for 31 sessions of everyone.
    short = qv.synthesize(TABLES, tmp_path / "c.tsv", rows=3_100, days=1)
    assert (short.rows, short.users) == (3_100, 135)


def test_a_failure_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(write, "draw_parts", broken)
    with pytest.raises(KeyboardInterrupt):
        qv.synthesize(TABLES, tmp_path / "log.parquet", rows=100)
    assert not any(tmp_path.iterdir())


# -- releases, and the command -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A click graph of 400 users who pose the same three queries, with public results and private pairs."""
    folder = tmp_path_factory.mktemp("graph")
    results = folder / "results.tsv"
    results.write_text("query\turl\nnew york\thttp://a\nnew york\thttp://b\nhotels\thttp://a\n")
    log = many(400, ["new york", "new york hotels", "hotels"])
    log = log.append_column("url", pa.array(["http://a", None, None] * 400, pa.string()))
    method = qv.ClickGraph(
        epsilon=8,
        delta=4e-4,
        max_queries=3,
        results=str(results),
        epsilon_clicks=8,
        epsilon_reformulations=8,
        delta_reformulations=4e-4,
    )
    qv.publish(qv.read(log), method, out=folder / "release")
    return folder / "release"


def test_a_published_release_becomes_a_log(release: Path, tmp_path: Path) -> None:
    made = qv.synthesize(release, tmp_path / "log.parquet", rows=4_000)
    log = pq.read_table(made.path)
    assert set(log["query"].to_pylist()) == {"new york", "new york hotels", "hotels"}
    assert "http://a" in log["url"].to_pylist()
    # Each user's three queries were one session, and nearly all of them stay so.
    assert made.queries / made.sessions > 2
    mark = json.loads(pq.read_schema(made.path).metadata[b"queryveil.synthetic"])
    assert mark["drawn_from"]["method"] == "click-graph"
    assert mark["drawn_from"]["guarantee"] == qv.load(release).guarantee.as_dict()
    by_value = qv.synthesize(qv.load(release), tmp_path / "again.parquet", rows=4_000)
    assert pq.read_table(by_value.path).equals(log)


def test_the_command_says_what_it_wrote(release: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "log.parquet")
    done = command("synthesize", str(release), "--out", out, "--rows", "2000", "--users", "50", "--days", "9")
    assert done.code == 0, done.err
    for words in ("2,000 rows, 50 users", "'synthetic-'", "the same as the release", "epsilon 24"):
        assert words in " ".join(done.out.split())
    assert pq.read_metadata(out).num_rows == 2_000


def test_the_command_answers_in_json(release: Path, tmp_path: Path) -> None:
    options = ("--rows", "700", "--seed", "5", "--format", "aol", "--json")
    done = command("synthesize", str(release), "--out", str(tmp_path / "log"), *options)
    assert done.code == 0, done.err
    answer = done.document
    assert answer["guarantee"]["epsilon"] == 24 and answer["synthetic"] is True
    assert (answer["rows"], answer["users"], answer["seed"]) == (700, 22, 5)
    assert (tmp_path / "log").read_text(encoding="utf-8").startswith(AOL + "\nsynthetic-1\t")


def test_the_command_refuses_with_the_exit_code_of_the_cause(release: Path, tmp_path: Path) -> None:
    log = many(400, ["new york"])
    qv.publish(
        qv.read(log),
        qv.Zealous(epsilon=2, delta=1e-3, max_items=1, guarantee="probabilistic"),
        out=tmp_path / "zealous",
    )
    (tmp_path / "there.tsv").write_text("")
    for arguments, code in (
        ((str(tmp_path / "zealous"), "--out", str(tmp_path / "a.tsv")), 3),
        ((str(tmp_path / "nowhere"), "--out", str(tmp_path / "a.tsv")), 3),
        ((str(release), "--out", str(tmp_path / "there.tsv")), 2),
        ((str(release), "--out", str(tmp_path / "a.tsv"), "--rows", "0"), 2),
        ((str(release), "--out", str(tmp_path / "a.tsv"), "--rows", "many"), 2),
        ((str(release), "--out", str(tmp_path / "a.tsv"), "--format", "xlsx"), 2),
        ((str(release), "--out", str(tmp_path / "there.tsv" / "a.tsv")), 6),
    ):
        done = command("synthesize", *arguments)
        assert (done.code, done.out) == (code, ""), done.err
        assert done.err.count("\n") == 1
    assert "zealous" in command("synthesize", str(tmp_path / "zealous"), "--out", str(tmp_path / "a.tsv")).err
    assert not (tmp_path / "a.tsv").exists()
