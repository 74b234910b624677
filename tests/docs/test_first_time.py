"""The log of the first time is as odd as it says."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import queryveil as qv

ROOT = Path(__file__).parents[2]


def test_the_log_cannot_be_read_without_being_told_how(tmp_path: Path) -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "first_time.py"))
    log = tmp_path / "suchprotokoll.csv"
    script["odd_log"](log, users=50)
    with pytest.raises(qv.InputError, match="semicolons seem to separate the columns"):
        qv.read(log)
    columns = dict(one.split("=") for one in script["COLUMNS"].split(","))
    read = qv.read(log, delimiter=";", encoding="latin-1", time_format="%d.%m.%Y %H:%M", columns=columns)
    assert read.users == 50 and read.staged is not None and read.staged.rejected == 0
