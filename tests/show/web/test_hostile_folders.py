"""Folders that other people may write to: no file in them can stop pages, hang them, or lead out of the folder."""

from __future__ import annotations

import json
import os
import shutil
import signal
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import queryveil as qv
from queryveil.show.web.logs import Logs
from tests.show.web.conftest import Starter, Visitor, small_log
from tests.show.web.test_log_and_risk import addresses
from tests.show.web.test_publish import budgeted, published
from tests.show.web.test_serving import served

OUTSIDE = "user\ttime\tquery\turl\n" + "1\t2026-01-01 10:00:00\tsecret\t\n" * 9


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    (folder / "inner").mkdir(parents=True)
    (folder / "log.tsv").write_text(small_log())
    (folder / "inner" / "log.tsv").write_text(small_log())
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "log.tsv").write_text(OUTSIDE)
    return folder


def confirmed(visitor: Visitor, name: str) -> str:
    address = addresses(visitor)[name]
    visitor.waited(address)
    assert visitor.submit(f"{address}/confirm").status_code == 200
    return address.removeprefix("/log/")


# -- logs ----------------------------------------------------------------------------------------------------


def test_names_that_are_not_utf_8_stop_no_page(start: Starter, logs: Path) -> None:
    bad = os.fsencode(logs)
    with open(bad + b"/bad\xff.tsv", "wb") as file:  # noqa: PTH123 (a name in bytes)
        file.write(small_log().encode())
    os.mkdir(bad + b"/folder\xfe")  # noqa: PTH102 (a name in bytes)
    shutil.copy(os.fsencode(logs / "log.tsv"), bad + b"/folder\xfe/log.tsv")
    visitor = start(folders=(logs,))
    shown = visitor.look("/log")
    assert shown.status_code == 200 and set(addresses(visitor)) == {"log.tsv", "inner/log.tsv"}
    log = confirmed(visitor, "log.tsv")
    assert all(
        visitor.get(f"/{one}/{log}").status_code == 200 for one in ("log", "risk", "design", "publish")
    )


def replace_file(folder: Path) -> None:
    (folder / "inner" / "log.tsv").unlink()
    (folder / "inner" / "log.tsv").symlink_to(folder.parent / "elsewhere" / "log.tsv")


def replace_folder(folder: Path) -> None:
    (folder / "inner").rename(folder.parent / "moved")
    (folder / "inner").symlink_to(folder.parent / "elsewhere")


@pytest.mark.parametrize("replace", [replace_file, replace_folder])
def test_a_link_swapped_in_after_the_choice_is_not_followed(
    start: Starter, logs: Path, replace: Callable[[Path], None]
) -> None:
    visitor = start(folders=(logs,))
    log = confirmed(visitor, "inner/log.tsv")
    replace(logs)
    for step in ("log", "risk", "design", "publish", "attack"):
        assert visitor.get(f"/{step}/{log}").status_code == 404, step
    assert visitor.submit(f"/log/{log}/rows").status_code == 404
    assert visitor.submit(f"/risk/{log}").status_code == 404
    assert not visitor.bench.jobs.of_kind("inspect")


@pytest.mark.parametrize("replace", [replace_file, replace_folder])
def test_a_link_swapped_in_before_the_job_begins_is_not_followed(
    start: Starter, logs: Path, replace: Callable[[Path], None]
) -> None:
    visitor = start(folders=(logs,))
    log = confirmed(visitor, "inner/log.tsv")
    budgeted(visitor, log)
    with mock.patch.object(visitor.bench.jobs, "_begin_waiting"):  # they wait for a processor
        visitor.submit(f"/risk/{log}")
        published(visitor, log, "one")
        replace(logs)
    jobs = [visitor.bench.jobs.of_kind(kind)[0] for kind in ("inspect", "publish")]
    for job in jobs:
        while not visitor.bench.jobs.find(job.id).over:
            visitor.bench.jobs._closing.wait(0.1)
        done = visitor.bench.jobs.find(job.id)
        assert done.state == "failed" and done.error["kind"] == "input" and not done.error["charged"]
    assert not (visitor.bench.settings.releases / "one").exists()
    assert not qv.Ledger(visitor.bench.settings.ledger).budget("people").events


@pytest.mark.parametrize("format", ["tsv", "parquet", "sqlite", "duckdb"])
def test_a_link_swapped_in_while_the_log_is_read_is_not_followed(
    start: Starter, logs: Path, tmp_path: Path, format: str
) -> None:
    name = f"log.{format}"
    write_log(logs / "inner" / name, ["alice", "bob"], format)
    write_log(logs.parent / "elsewhere" / name, ["secret"], format)
    visitor = start(folders=(logs,))
    log = addresses(visitor)[f"inner/{name}"].removeprefix("/log/")
    snapshot = Logs(visitor.bench.settings).snapshot(log, {})
    read = qv.read

    def replace_and_read(*given: Any, **named: Any) -> Any:
        replace_folder(logs)
        return read(*given, **named)

    with mock.patch.object(qv, "read", replace_and_read):
        found = snapshot.read(tmp_path)
    assert set(found.engine.arrow(found.source.select("user"))["user"].to_pylist()) == {"alice", "bob"}


def write_log(path: Path, users: list[str], format: str) -> None:
    import sqlite3

    import duckdb
    import pyarrow as pa
    import pyarrow.parquet as pq

    if format == "tsv":
        path.write_text("user\tquery\n" + "".join(f"{user}\tcats\n" for user in users))
    elif format == "parquet":
        pq.write_table(pa.table({"user": users, "query": ["cats"] * len(users)}), path)
    else:
        connect: Any = sqlite3.connect if format == "sqlite" else duckdb.connect
        database = connect(str(path))
        database.execute("CREATE TABLE log (user TEXT, query TEXT)".replace("user", '"user"'))
        for user in users:
            database.execute("INSERT INTO log VALUES (?, 'cats')", (user,))
        database.commit()
        database.close()


# -- releases ------------------------------------------------------------------------------------------------

MANIFEST: dict[str, Any] = {
    "format": "queryveil-release",
    "method": "zealous",
    "created": "2026-01-01T00:00:00Z",
}
CALENDAR = {"period": "day", "periods": 3, "from": "2026-01-01", "to": "2026-01-03"}
SERIES: dict[str, Any] = {
    "method": "steered",
    "complete": True,
    "calendar": CALENDAR,
    "guarantee": {"sentences": []},
    "periods": [{"period": "2026-01-01", "folder": "2026-01-01", "released": {"items": 5}}],
}
HOSTILE = {
    "manifest.json": {
        "no object": "[]",
        "cut short": '{"tables": ',
        "deep": "[" * 200_000,
        "tables 5": json.dumps(MANIFEST | {"tables": 5}),
        "no tables": json.dumps(MANIFEST),
        "a table 5": json.dumps(MANIFEST | {"tables": {"items": 5}}),
        "rows 1e400": json.dumps(MANIFEST | {"tables": {"items": {"rows": 0}}}).replace(" 0", " 1e400"),
        "rows NaN": json.dumps(MANIFEST | {"tables": {"items": {"rows": float("nan")}}}),
        "many rows": json.dumps(MANIFEST | {"tables": {"items": {"rows": 10**400}}}),
        "negative rows": json.dumps(MANIFEST | {"tables": {"items": {"rows": -1}}}),
        "a lone surrogate": json.dumps(MANIFEST | {"tables": {}, "method": "\ud800", "created": "\udfff"}),
        "not UTF-8": '{"method": "\udcff"}',
    },
    "series.json": {
        "empty": "{}",
        "no periods": json.dumps({name: value for name, value in SERIES.items() if name != "periods"}),
        "periods 5": json.dumps(SERIES | {"periods": 5}),
        "a period 5": json.dumps(SERIES | {"periods": [5]}),
        "released 1e400": json.dumps(SERIES).replace('"items": 5', '"items": 1e400'),
        "no calendar": json.dumps(SERIES | {"calendar": None}),
        "calendar of infinity": json.dumps(SERIES | {"calendar": CALENDAR | {"periods": float("inf")}}),
        "not complete": json.dumps(SERIES | {"complete": "no", "periods": []}),
        "sentences": json.dumps(SERIES | {"guarantee": {"sentences": {"a": 1}}}),
        "surrogates": json.dumps(SERIES | {"method": "\ud800"}),
        "outside": json.dumps(SERIES | {"periods": [SERIES["periods"][0] | {"folder": "../../.."}]}),
    },
}
CASES = [(file, name) for file, cases in HOSTILE.items() for name in cases]


def open_everything(visitor: Visitor, log: str) -> None:
    """No page may fail because of the folder 'hostile', and the release 'good' is still listed."""
    history = visitor.get("/history")
    assert history.status_code == 200 and 'href="/releases/good"' in history.text
    assert visitor.get(f"/attack/{log}").status_code == 200
    kinds = ("/releases/hostile", "/series/hostile")
    ends = ("", "/report.html", "/index.html", "/release.zip", "/series.zip", "/2026-01-01/report.html")
    for address in (one + end for one in kinds for end in ends):
        assert visitor.get(address).status_code < 500, address


def with_good_release(start: Starter, logs: Path) -> tuple[Visitor, str, Path]:
    visitor = start(folders=(logs,))
    log = confirmed(visitor, "log.tsv")
    releases = visitor.bench.settings.releases
    qv.publish(qv.read(logs / "log.tsv"), qv.Zealous(epsilon=2, delta=1e-4), out=releases / "good")
    (releases / "hostile").mkdir()
    return visitor, log, releases


def test_no_hostile_document_stops_a_page(start: Starter, logs: Path) -> None:
    visitor, log, releases = with_good_release(start, logs)
    for file, name in CASES:
        place = releases / "hostile" / file
        place.write_bytes(
            HOSTILE[file][name].encode("utf-8", "surrogateescape" if "UTF-8" in name else "strict")
        )
        open_everything(visitor, log)
        place.unlink()


def test_no_hostile_value_of_a_whole_manifest_stops_a_page(start: Starter, logs: Path) -> None:
    visitor, _, releases = with_good_release(start, logs)
    shutil.rmtree(releases / "hostile")
    shutil.copytree(releases / "good", releases / "hostile")
    file = releases / "hostile" / "manifest.json"
    whole = json.loads(file.read_text())
    for name in whole:
        hostile: tuple[object, ...] = (None, 5, "\ud800", [], {}, float("inf"))
        for value in hostile:
            file.write_text(json.dumps(whole | {name: value}))
            history = visitor.get("/history")
            assert history.status_code == 200 and 'href="/releases/good"' in history.text
            assert visitor.get("/releases/hostile").status_code < 500, (name, value)


@pytest.mark.parametrize("file", ["manifest.json", "series.json"])
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda place: place.symlink_to("/dev/zero")])
def test_no_pipe_folder_or_device_stops_a_page(
    start: Starter, logs: Path, file: str, make: Callable[[Path], None]
) -> None:
    visitor, log, releases = with_good_release(start, logs)
    make(releases / "hostile" / file)
    open_everything(visitor, log)


def test_a_pipe_among_the_releases_hangs_neither_pages_nor_the_end(tmp_path: Path) -> None:
    place = tmp_path / "releases" / "hostile"
    place.mkdir(parents=True)
    os.mkfifo(place / "manifest.json")
    with served(tmp_path) as (begun, link):
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        opener.open(link, timeout=60)
        for address in ("/history", "/releases/hostile"):
            try:
                opener.open(link.partition("/open")[0] + address, timeout=60)
            except urllib.error.HTTPError as error:
                assert error.code == 404
        begun.send_signal(signal.SIGINT)
        begun.communicate(timeout=60)
        assert begun.returncode == 0


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda place: place.symlink_to("/dev/zero")])
def test_no_pipe_folder_or_device_in_place_of_a_file_stops_a_page(
    start: Starter, logs: Path, make: Callable[[Path], None]
) -> None:
    visitor, log, releases = with_good_release(start, logs)
    files = [one.name for one in (releases / "good").iterdir()] + ["manifest.json.sig"]
    for name in files:
        shutil.rmtree(releases / "hostile")
        shutil.copytree(releases / "good", releases / "hostile")
        (releases / "hostile" / name).unlink(missing_ok=True)
        make(releases / "hostile" / name)
        open_everything(visitor, log)
