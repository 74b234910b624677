"""Releases that are not what a command thinks: changed, of another log, or in the place of a log."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from tests.command import command
from tests.conftest import many

LOG = many(6, ["apples", "pears"])
SAME_SIZE = many(6, ["apples", "plums"])
"""As many rows and users, and as many letters."""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two logs, and of the first one a k-anonymous release, a hashed one and a click graph."""
    place = tmp_path_factory.mktemp("releases")
    pq.write_table(LOG, place / "log.parquet")
    pq.write_table(SAME_SIZE, place / "other.parquet")
    log = qv.read(place / "log.parquet")
    qv.publish(log, qv.KQuery(k=2), out=place / "release")
    qv.publish(log, qv.TokenHash(), out=place / "hashed", i_understand=True)
    graph = qv.ClickGraph(epsilon=100, delta=0.5, max_queries=5)
    qv.publish(log, graph, out=place / "graph", allow_empty=True, i_understand=True)
    return place


@pytest.fixture
def folder(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of them, to be spoilt."""
    monkeypatch.chdir(shutil.copytree(made, tmp_path / "copy"))
    return tmp_path / "copy"


COMMANDS = {
    "evaluate": "evaluate log.parquet release --metric coverage",
    "linkage": "attack linkage log.parquet release",
    "homogeneity": "attack homogeneity release --query apples --size 10",
    "exposure": "attack exposure release",
    "export": "release export release --out csv",
    "report": "report release --curator",
    "synthesize": "synthesize graph --out made.tsv --rows 20",
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_release_that_was_changed_is_used_with_a_warning(name: str, folder: Path) -> None:
    whole = command(*COMMANDS[name].replace("out csv", "out whole").replace("made", "whole").split())
    assert whole.code == 0 and whole.err == ""
    changed = "graph" if name == "synthesize" else "release"
    Path(changed, "DATASHEET.md").write_text("All is well.")
    done = command(*COMMANDS[name].split())
    assert done.code == 0 and done.out
    assert done.err.count("\n") == 1
    assert all(word in done.err for word in ("digests", "documents", f"queryveil release verify {changed}"))


def test_a_warning_in_json_is_one_line_of_it(folder: Path) -> None:
    Path("release/DATASHEET.md").write_text("All is well.")
    done = command("evaluate", "log.parquet", "release", "--json")
    assert done.document["measures"] and "digests" in json.loads(done.err)["warning"]["message"]


@pytest.mark.parametrize("release", ["release", "hashed", "graph"])
@pytest.mark.parametrize(
    "line", ["evaluate {log} {}", "attack linkage {log} {}", "report {} --curator --log {log}"]
)
def test_a_release_of_another_log_is_refused_everywhere(line: str, release: str, folder: Path) -> None:
    assert command(*line.format(release, log="log.parquet").split()).code == 0
    done = command(*line.format(release, log="other.parquet").split())
    assert done.code == 3 and f"'{release}' is a release of another log" in done.err and done.out == ""
    assert "plums" not in done.err


def test_without_the_private_folder_what_is_published_tells(folder: Path) -> None:
    Path("release.private").rename("elsewhere")
    for line in ("evaluate {} release", "attack linkage {} release"):
        done = command(*line.format("other.parquet").split())
        assert done.code == 0 and "1 of the 2 published queries are not in this log" in " ".join(
            done.out.split()
        )
        pq.write_table(many(6, ["figs"]), "foreign.parquet")
        done = command(*line.format("foreign.parquet").split())
        assert done.code == 3 and "it is a release of another log" in done.err


def test_what_is_noted_of_a_log_is_not_published(folder: Path) -> None:
    noted = json.loads(Path("release.private/curator.json").read_text())["fingerprint"]
    assert noted == qv.read(LOG).fingerprint("user", "query")
    for file in Path("release").iterdir():
        assert str(noted["sum"]).encode() not in file.read_bytes(), file
    # What another engine, or another version of it, made of the log says nothing here.
    other = {**noted, "sum": 1, "engine": "other 1.0"}
    Path("release.private/curator.json").write_text(json.dumps({"fingerprint": other}))
    assert command("evaluate", "log.parquet", "release").code == 0


def test_a_fingerprint_is_that_of_the_rows_in_any_order() -> None:
    backwards = LOG.take(pa.array(range(LOG.num_rows))[::-1])
    made = [qv.read(one).fingerprint("user", "query") for one in (LOG, backwards, SAME_SIZE)]
    assert made[0] == made[1] != made[2]
    empty = pa.table({"user": ["a", "a"], "query": pa.array([None, ""], pa.string())})
    assert qv.read(empty).fingerprint("user", "query")["rows"] == 2


@pytest.mark.parametrize("place", ["release", ".", "rel*"])
def test_a_release_is_no_log(place: str, folder: Path) -> None:
    done = command("inspect", place)
    assert done.code == 3 and "is a release, and a raw log is needed there" in done.err
    assert "queryveil release verify" in done.err and "DATASHEET" not in done.err
