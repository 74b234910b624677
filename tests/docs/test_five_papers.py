"""The page of the five papers is what its command makes, and leaves out no table and no figure."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def command() -> Iterator[Any]:
    """The command as it is run: from its folder."""
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        yield importlib.import_module("five_papers")
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


def test_the_page_is_what_the_command_makes(command: Any) -> None:
    assert command.PAGE.read_text(encoding="utf-8") == command.page()


def test_every_table_and_figure_has_a_row(command: Any) -> None:
    for paper in command.papers():
        assert not paper.missing() and not paper.strangers(), paper.name
        fewer = dataclasses.replace(
            paper, rows=paper.rows[1:], tables=(), figures=(paper.rows[0].item, "Table 99")
        )
        assert "Table 99" in fewer.missing()


def test_a_row_says_why_or_that_it_is_not_known(command: Any) -> None:
    evidence = command.Evidence()
    for paper in command.papers():
        for row in paper.rows:
            if row.agrees is None:
                assert row.left_out and row.ours is None, row.what
            else:
                assert row.ours is not None and not row.left_out, row.what
                assert not (row.agrees(evidence) and row.differs), (
                    f"{row.what}: it agrees, so nothing is to be explained"
                )


def test_papers_are_in_the_references(command: Any) -> None:
    text = (ROOT / "docs" / "references.md").read_text(encoding="utf-8").lower()
    for paper in command.papers():
        assert f"### {paper.key.replace('-', ' ')}\n" in text
