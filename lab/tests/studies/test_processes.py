"""Several processes: each engine spills to a folder of its own, and none outlives the study."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import queryveil as qv
import queryveil_lab as lab
from queryveil_lab.studies import Axis, Cell, Check, Findings, Given, Metric, Study
from tests.conftest import many


def prepared(given: Given) -> Given:
    return given


def measured(prepared: Given, given: Given, cell: Cell) -> Iterator[dict[str, Any]]:
    time.sleep(2)  # so that both processes get a cell
    spill = given.the_log.engine.con.raw_sql("SELECT current_setting('temp_directory')").fetchone()[0]
    for metric, value in (("process", os.getpid()), ("spill", zlib.crc32(spill.encode()))):
        yield {"how": "measured", "repeat": 0, "metric": metric, "value": float(value)}


def nothing_expected(found: Findings) -> list[Check]:
    return []


STUDY = Study(
    name="spilling",
    question="Where does each process spill to?",
    paper="",
    mechanism="",
    axes=(Axis("part", (1, 2, 3, 4), "of the work"),),
    metrics=(Metric("process", "id", "who"), Metric("spill", "digest", "where")),
    repeats=1,
    prepare=prepared,
    measure=measured,
    figures=(),
    checks=nothing_expected,
    needs=(),
)


def test_processes_do_not_share_pages() -> None:
    """Engines that spill to one folder overwrite each other's pages: wrong figures, or a crash."""
    made = lab.compare(qv.read(many(5, ["news", "maps"])), STUDY, workers=2)
    places: dict[float, set[float]] = {}
    for part in (1, 2, 3, 4):
        here = made.findings.where(part=part)
        process, spill = (here.where(metric=metric).value for metric in ("process", "spill"))
        places.setdefault(process, set()).add(spill)
    assert len(places) == 2 and float(os.getpid()) not in places
    assert all(len(folders) == 1 for folders in places.values())
    assert len(set.union(*places.values())) == 2


def endless(prepared: Given, given: Given, cell: Cell) -> Iterator[dict[str, Any]]:
    Path(os.environ["STARTED"], str(os.getpid())).touch()
    time.sleep(600)
    yield {}


KILLED = """
import dataclasses
import queryveil as qv
import queryveil_lab as lab
from tests.conftest import many
from lab.tests.studies.test_processes import STUDY, endless

if __name__ == "__main__":
    lab.compare(qv.read(many(5, ["news"])), dataclasses.replace(STUDY, measure=endless), workers=2)
"""


def test_nothing_outlives_a_study_that_was_killed(tmp_path: Path) -> None:
    """Killed outright it cleans up nothing itself; its processes do, which hold a copy of the log."""
    started, temporary, script = tmp_path / "started", tmp_path / "temporary", tmp_path / "killed.py"
    started.mkdir()
    temporary.mkdir()
    script.write_text(KILLED)
    root = str(Path(__file__).parents[3])
    given = os.environ | {"STARTED": str(started), "TMPDIR": str(temporary), "PYTHONPATH": root}
    with subprocess.Popen([sys.executable, str(script)], env=given) as study:
        waited(lambda: len(list(started.iterdir())) == 2)
        assert list(temporary.rglob("log.parquet"))
        study.kill()
    workers = [int(one.name) for one in started.iterdir()]
    waited(lambda: not any(running(one) for one in workers))
    waited(lambda: not list(temporary.rglob("log.parquet")))


def waited(done: Callable[[], bool]) -> None:
    for _ in range(1200):
        if done():
            return
        time.sleep(0.1)
    raise AssertionError("two minutes were not enough")


def running(process: int) -> bool:
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return "zombie" not in status  # nobody may be there to take note of its end
