"""`inspect` ends with a command that publishes something when it is run as printed, or says that none would."""

from __future__ import annotations

import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from tests.command import command
from tests.conftest import at, many


def proposed(out: str) -> list[str]:
    """The words of the command that `Next` prints, as a shell reads them."""
    lines = out[out.index("  Next") :].removeprefix("  Next").splitlines()
    first = next(number for number, line in enumerate(lines) if line.strip().startswith("queryveil"))
    taken = [lines[first]]
    while taken[-1].endswith("\\"):
        taken.append(lines[first + len(taken)])
    return shlex.split(" ".join(line.rstrip("\\") for line in taken))


def run_as_printed(log: Path, monkeypatch: pytest.MonkeyPatch, *reading: str) -> tuple[list[str], int]:
    """What `inspect` proposes for a log, and how many rows it publishes."""
    monkeypatch.chdir(log.parent)
    done = command("inspect", log.name, *reading)
    assert done.code == 0, done.err
    name, *words = proposed(done.out)
    assert name == "queryveil" and words[0] == "publish" and log.name in words
    published = command(*words)
    assert published.code == 0, published.err
    return words, pq.read_table(log.parent / "release" / "items.parquet").num_rows


# Five or more are expected, and a share of them is near certain. That none at all passes is below 1e-6 for independent
# noise wherever expected counts are as here.


def test_on_the_tutorials_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    qv.generate(tmp_path / "log.tsv.gz", qv.LogSettings(version=1, rows=155_000, users=5_000, seed=1))
    _, rows = run_as_printed(tmp_path / "log.tsv.gz", monkeypatch)
    assert rows >= 1


def test_on_a_small_log_a_larger_epsilon_is_proposed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Six words of 12 users each: too few at epsilon 1, where the threshold is 14, and enough at 2, where it is 7."""
    words = ["news", "maps", "rain", "cats", "train", "disease"]
    rows = [(f"{word}{n}", at(n), word) for word in words for n in range(12)]
    user, time, query = zip(*rows, strict=True)
    pq.write_table(
        pa.table({"who": list(user), "time": list(time), "query": list(query)}), tmp_path / "log.parquet"
    )
    asked, published = run_as_printed(
        tmp_path / "log.parquet", monkeypatch, "--columns", "user=who,time=time,query=query"
    )
    assert asked[asked.index("--epsilon") + 1] == "2" and "--columns" in asked
    assert published >= 1


def test_on_a_log_that_is_too_small_it_is_said(tmp_path: Path) -> None:
    pq.write_table(many(9, ["news", "maps"]), tmp_path / "log.parquet")
    done = command("inspect", str(tmp_path / "log.parquet"))
    said = " ".join(done.out.split())
    assert done.code == 0 and "Nothing useful can be published from this log with a strong guarantee" in said
    assert "queryveil publish" not in said
    name, *words = proposed(done.out)
    assert name == "queryveil" and words[0] == "advise"
    assert command(*words).code == 0
    document = command("inspect", str(tmp_path / "log.parquet"), "--json").document
    assert document["proposal"]["proposed"] is None


def test_a_log_without_users_has_no_proposal() -> None:
    empty = qv.read(pa.table({"user": pa.array([], pa.string()), "query": pa.array([], pa.string())}))
    assert qv.propose(empty).option is None and "without users" in qv.propose(empty).verdict


def test_it_is_said_that_the_log_was_looked_at(tmp_path: Path) -> None:
    pq.write_table(many(200, ["news", "maps", "rain", "cats", "train", "disease"]), tmp_path / "log.parquet")
    said = " ".join(command("inspect", str(tmp_path / "log.parquet")).out.split())
    assert "were tried on the log" in said and "No guarantee covers" in said
