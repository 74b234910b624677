"""A real Spark cluster counts, reads and publishes what DuckDB does, also when a worker dies."""

from __future__ import annotations

import gzip
import json
import pickle
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.files import workspace
from queryveil.reading import by_workers
from queryveil.reading.engine import cluster as clusters
from queryveil.reading.log_files import open_log
from queryveil.reading.model import ReadOptions
from queryveil.reading.pinning import pin
from tests.cluster import jobs
from tests.cluster.conftest import Ask, Cluster
from tests.conftest import at

QUERIES = ("Café MÜNCHEN", "new  YORK", '"apples"', "pears and plums", "東京 天気", "")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """900 users in three files of Parquet, with clicks and texts beyond ASCII."""
    folder = tmp_path_factory.mktemp("shared") / "log"
    folder.mkdir()
    for part in range(3):
        rows = [
            (f"u{user}", at(minute), QUERIES[(user + minute) % 6], f"u{(user * minute) % 4}.org")
            for user in range(part * 300, part * 300 + 300)
            for minute in range(user % 4 + 1)
        ]
        user, time_, query, url = (list(one) for one in zip(*rows, strict=True))
        pq.write_table(
            pa.table({"user": user, "time": time_, "query": query, "url": url}), folder / f"{part}.parquet"
        )
    return folder


def test_every_kind_of_item_is_counted_as_duckdb_counts_it(driver: Ask, log: Path) -> None:
    there = driver(jobs.histograms, log).result()
    here = jobs.histograms("duckdb", log)
    assert set(here) == set(jobs.KINDS) and all(len(one) > 3 for one in here.values())
    assert there == here


METHODS = (
    qv.Zealous(epsilon=4, delta=1e-3, max_items=3, items=("queries",)),
    qv.KQuery(k=20),
    qv.TruncatedGeometric(epsilon=4, delta=1e-3, items=("queries",)),
    qv.ClickGraph(epsilon=4, delta=1e-3, max_queries=3, urls="private", epsilon_clicks=4, delta_clicks=1e-3),
    qv.KKeyword(k=20),
)


@pytest.mark.parametrize("method", METHODS, ids=lambda one: str(one.name))
def test_a_release_is_the_same_and_no_row_of_a_user_comes_to_the_driver(
    driver: Ask, log: Path, method: Any, tmp_path: Path
) -> None:
    there = driver(jobs.release, log, method, tmp_path / "out").result()
    here = jobs.release("duckdb", log, method, None)
    assert there["tables"] == here["tables"] and sum(map(len, here["tables"].values())) > 2
    assert (tmp_path / "out" / "manifest.json").is_file()
    if here["private"]:
        assert "user" not in there["seen"] and "count" in there["seen"]


def _texts(folder: Path, kind: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    rows = [(f"u{n}", f"2026-01-01 00:{n % 60:02}:00", QUERIES[n % 5].replace('"', "")) for n in range(240)]
    bad, names = ("", "no time", "x"), ("user", "time", "query")
    for part in range(2):
        mine = [*rows[part::2], bad] if part else rows[part::2]
        if kind == "jsonl":
            lines = [json.dumps(dict(zip(names, row, strict=True))) for row in mine]
        else:
            cut = "," if kind == "csv" else "\t"
            lines = [cut.join(names), *(cut.join(row) for row in mine)]
        text = "\n".join(lines).encode() + b"\n"
        name = folder / f"{part}.{kind}"
        if part:
            name.with_suffix(f".{kind}.gz").write_bytes(gzip.compress(text))
        else:
            name.write_bytes(text)
    yield folder, {}


@pytest.mark.parametrize("kind", ["tsv", "csv", "jsonl"])
def test_texts_are_read_by_the_workers_as_they_are_here(driver: Ask, kind: str, tmp_path: Path) -> None:
    ((folder, options),) = _texts(tmp_path, kind)
    there = driver(jobs.reading, folder, options).result()
    here = jobs.reading("duckdb", folder, options)
    for name in ("rows", "counts", "examples"):
        assert there[name] == here[name], name
    assert len(here["rows"]) == 240 and here["counts"][2] == 1
    # Only where rejected rows stand, and why: nothing of the log was staged here.
    assert there["here"] == ["rejected.parquet"] and "rows.parquet" in here["here"]


@pytest.mark.parametrize("kind", ["tsv", "parquet"])
def test_workers_find_a_log_that_is_named_from_the_drivers_folder(
    driver: Ask, kind: str, tmp_path: Path
) -> None:
    log = tmp_path / "logs"
    log.mkdir()
    if kind == "tsv":
        (log / "log.tsv").write_text("user\tquery\nu\tcats\nv\tcats\n")
    else:
        pq.write_table(pa.table({"user": ["u", "v"], "query": ["cats", "cats"]}), log / "log.parquet")
    there = driver(jobs.reading_in, tmp_path, "logs").result()
    assert there["counts"][:2] == (2, 2)


def test_a_log_that_cannot_be_read_is_the_same_sentence(driver: Ask, tmp_path: Path) -> None:
    (tmp_path / "log.tsv").write_text("user\ttime\tquery\n" + "\t\t\n" * 30)
    there, here = driver(jobs.reading, tmp_path, {}).result(), jobs.reading("duckdb", tmp_path, {})
    assert there == here and here["kind"] == "InputError"


def test_files_with_different_headers_are_refused_as_they_are_here(driver: Ask, tmp_path: Path) -> None:
    """Each read on its own by the columns of the first, users would be queries."""
    (tmp_path / "a.tsv").write_text("user\tquery\n" + "".join(f"u{one}\tcats\n" for one in range(9)))
    (tmp_path / "b.tsv").write_text("query\tuser\n" + "".join(f"secret{one}\tu{one}\n" for one in range(9)))
    there, here = driver(jobs.reading, tmp_path, {}).result(), jobs.reading("duckdb", tmp_path, {})
    assert there == here and "different headers" in here["error"]


def test_a_worker_that_fails_later_loses_no_row_in_silence(tmp_path: Path) -> None:
    """Rows may be made again after a worker died; what goes wrong then must end the work."""
    file = tmp_path / "log.tsv"
    file.write_text("user\tquery\nu\tcats\n")
    source, format = open_log(file, ReadOptions(), tmp_path)
    share = by_workers._Share(source, ReadOptions(), format.name)
    batch = pa.record_batch([pa.array([pickle.dumps(share)], pa.binary())], names=["share"])
    rows = by_workers._rows_alone(by_workers._read_share(iter([batch])))
    assert sum(one.num_rows for one in rows) == 1
    file.unlink()
    with pytest.raises(RuntimeError, match="could not be read a second time"):
        list(by_workers._rows_alone(by_workers._read_share(iter([batch]))))


def test_workers_have_this_version_of_queryveil(driver: Ask) -> None:
    files = driver(jobs.where_queryveil_is).result()
    assert files and all("queryveil_shipped/queryveil/__init__.py" in one for one in files)


def test_a_worker_that_is_killed_changes_no_count(
    driver: Ask, cluster: Cluster, log: Path, tmp_path: Path
) -> None:
    sign = tmp_path / "sign"
    asked = driver(jobs.slow_counts, log, sign)
    while not sign.exists() and not asked.done():
        time.sleep(0.05)
    cluster.kill_worker(0)
    cluster.start_worker()
    sign.with_suffix(".killed").write_text("")
    found = asked.result()
    here = qv.read(log)
    table = here.engine.arrow(
        here.queries.select("user", "query").distinct().group_by("query").aggregate(n=lambda t: t.count())
    )
    assert found == dict(zip(table["query"].to_pylist(), table["n"].to_pylist(), strict=True))


def test_work_without_workers_ends_and_the_next_session_works(
    driver: Ask, cluster: Cluster, log: Path, tmp_path: Path
) -> None:
    sign = tmp_path / "sign"
    asked = driver(jobs.counts_with_patience, log, sign, 3.0)
    while not sign.exists() and not asked.done():
        time.sleep(0.05)
    cluster.kill_all_workers()
    sign.with_suffix(".killed").write_text("")
    assert asked.result(timeout=120) == "CannotBeMet"
    cluster.start_worker()
    cluster.start_worker()
    assert driver(jobs.reading, log, {}).result()["counts"][1] == 900


@pytest.mark.parametrize("address", ["spark://127.0.0.1:1", "spark://127.0.0.1:1,127.0.0.1:2"])
def test_a_master_that_is_not_there_is_one_sentence_in_seconds(address: str) -> None:
    start = time.monotonic()
    with pytest.raises(qv.UsageError, match="no Spark master answers at"):
        clusters.require_reachable(address)
    assert time.monotonic() - start < 10


def test_an_address_without_a_port_is_refused() -> None:
    with pytest.raises(qv.UsageError, match="is no host and port"):
        clusters.require_reachable("spark://nowhere")


def test_a_cluster_without_free_workers_is_refused() -> None:
    stopped = mock.Mock()
    context = SimpleNamespace(getExecutorMemoryStatus=lambda: SimpleNamespace(size=lambda: 1))
    session = SimpleNamespace(
        sparkContext=SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: context)), stop=stopped
    )
    with (
        mock.patch.object(clusters, "_WORKERS_SECONDS", 0.3),
        pytest.raises(qv.UsageError, match="gave this program no worker within"),
    ):
        clusters.require_workers(session, "spark://host:7077")
    stopped.assert_called_once()


def test_a_worker_that_sees_another_file_or_none_says_so(tmp_path: Path) -> None:
    file = tmp_path / "log.tsv"
    file.write_text("user\tquery\n")
    seen = pin(file, "log.tsv")
    by_workers._require_same([seen])
    file.write_text("user\tquery\nanother\tone\n")
    with pytest.raises(qv.InputError, match="a worker of the cluster sees another"):
        by_workers._require_same([seen])
    file.unlink()
    with pytest.raises(qv.InputError, match="a worker of the cluster cannot read"):
        by_workers._require_same([seen])


def test_a_file_of_this_process_is_known(tmp_path: Path) -> None:
    assert not workspace.is_inside(tmp_path / "log.tsv")
    folder = workspace.new_name()
    workspace.make_folder(folder)
    assert workspace.is_inside(folder / "standard-input")
    workspace.remove_folder(folder)
    assert not workspace.is_inside(folder / "standard-input")
