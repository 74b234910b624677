"""Numbers in tables of study pages are those that are kept, so that none of them grows stale unseen."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "lab" / "docs" / "studies"
NAMES = sorted(file.stem for file in (ROOT / "lab" / "docs" / "evidence" / "findings").glob("*.json"))
KNOWN = {"profiles": ["39914"]}
"""The number of concepts below a root, which is a property of WordNet and of no run."""


@pytest.fixture(scope="module")
def command() -> Iterator[Any]:
    sys.path.insert(0, str(ROOT / "lab" / "benchmarks"))
    try:
        yield importlib.import_module("page_numbers")
    finally:
        sys.path.remove(str(ROOT / "lab" / "benchmarks"))


@pytest.mark.parametrize("name", NAMES)
def test_tables_show_what_is_kept(command: Any, name: str) -> None:
    """`python lab/benchmarks/page_numbers.py` lists what does not."""
    strange = [one for _, numbers in command.unexplained(name) for one in numbers]
    assert strange == KNOWN.get(name, [])


def test_a_stale_number_is_seen(command: Any) -> None:
    page = (PAGES / "release-d.md").read_text(encoding="utf-8")
    assert page.count("| 0.279 | 0.117 |") == 2
    stale = page.replace("| 0.279 | 0.117 |", "| 0.299 | 0.117 |", 1)
    assert [numbers for _, numbers in command.unexplained("release-d", stale)] == [["0.299"]]


def test_a_number_is_read_with_the_step_of_its_last_digit(command: Any) -> None:
    assert command.numbers("1,024 and 0.50 %") == [(1024.0, 0.5), (0.5, 0.005)]
    known = command.Known([0.5042, 3.0])
    assert known.explain((0.5, 0.005), "") and not known.explain((0.51, 0.005), "")
    assert known.explain((50.42, 0.005), "in %") and not known.explain((50.42, 0.005), "")
