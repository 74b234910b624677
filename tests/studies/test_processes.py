"""Several processes: each engine spills to a folder of its own."""

from __future__ import annotations

import os
import time
import zlib
from collections.abc import Iterator
from typing import Any

import queryveil as qv
from queryveil.studies import Axis, Cell, Check, Findings, Given, Metric, Study
from tests.conftest import many


def prepared(given: Given) -> Given:
    return given


def measured(prepared: Given, given: Given, cell: Cell) -> Iterator[dict[str, Any]]:
    time.sleep(2)  # so that both processes get a cell
    spill = given.the_log.engine.con.raw_sql("SELECT current_setting('temp_directory')").fetchone()[0]
    for metric, value in (("process", os.getpid()), ("spill", zlib.crc32(spill.encode()))):
        yield {"how": "measured", "repeat": 0, "metric": metric, "value": float(value)}


def nothing_drawn(found: Findings) -> dict[str, Any]:
    return {}


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
    figures=nothing_drawn,
    checks=nothing_expected,
    needs=(),
)


def test_processes_do_not_share_pages() -> None:
    """Engines that spill to one folder overwrite each other's pages: wrong figures, or a crash."""
    made = qv.compare(qv.read(many(5, ["news", "maps"])), STUDY, workers=2)
    places: dict[float, set[float]] = {}
    for part in (1, 2, 3, 4):
        here = made.findings.where(part=part)
        process, spill = (here.where(metric=metric).value for metric in ("process", "spill"))
        places.setdefault(process, set()).add(spill)
    assert len(places) == 2 and float(os.getpid()) not in places
    assert all(len(folders) == 1 for folders in places.values())
    assert len(set.union(*places.values())) == 2
