"""The page of the first time comes from a run that ended as it should; its log is as odd as it says."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

import queryveil as qv

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "evidence" / "first-time.md"


def test_the_log_cannot_be_read_without_being_told_how(tmp_path: Path) -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "first_time.py"))
    log = tmp_path / "suchprotokoll.csv"
    script["odd_log"](log, users=50)
    with pytest.raises(qv.InputError, match="semicolons seem to separate the columns"):
        qv.read(log)
    columns = dict(one.split("=") for one in script["COLUMNS"].split(","))
    read = qv.read(log, delimiter=";", encoding="latin-1", time_format="%d.%m.%Y %H:%M", columns=columns)
    assert read.users == 50 and read.staged is not None and read.staged.rejected == 0


def test_the_page_shows_a_run_that_verified() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w ]+) \| (\d+) \| ([\d.]+) \|.*$", page, re.MULTILINE)
    steps = {name: int(code) for name, code, _ in rows}
    assert steps == {
        "build the wheel": 0,
        "install it": 0,
        "try it as it is": 3,
        "say how it is written": 0,
        "publish": 0,
        "check": 0,
    }
    typed = page.partition("```sh\n")[2].partition("```")[0].splitlines()
    assert [one.split()[0] for one in typed] == [
        "pip",
        "pip",
        "queryveil",
        "queryveil",
        "queryveil",
        "queryveil",
    ]
    assert typed[-2:] == ["queryveil publish release.yaml", "queryveil release verify release"]
