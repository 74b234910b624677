"""The page of the five papers is what its command makes, and leaves out no table and no figure."""

from __future__ import annotations

import dataclasses
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import queryveil_lab as lab

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def command() -> Iterator[Any]:
    """The command as it is run: from its folder."""
    sys.path.insert(0, str(ROOT / "lab" / "benchmarks"))
    try:
        yield importlib.import_module("five_papers")
    finally:
        sys.path.remove(str(ROOT / "lab" / "benchmarks"))


def test_the_page_is_what_the_command_makes(command: Any) -> None:
    assert command.PAGE.read_text(encoding="utf-8") == command.page()


def test_every_study_of_a_paper_shows_the_paper_beside_itself(command: Any) -> None:
    """`python lab/benchmarks/five_papers.py --write` makes it so. Other studies say that no paper has such a figure."""
    shown, evidence = set(command.studies()), command.Evidence()
    for study in lab.STUDIES:
        text = (ROOT / "lab" / "docs" / "studies" / f"{study}.md").read_text(encoding="utf-8")
        if study in shown:
            made = command.block(study, evidence)
            assert made in text and command.with_block(text, made) == text, study
            assert command.with_verdicts(text, evidence) == text, study
        else:
            assert "has no experiment" in " ".join(text.split()), study


def test_every_table_and_figure_is_on_the_page_of_a_study_or_of_no_measurement(command: Any) -> None:
    for paper in command.papers():
        shown = [row for study in set(paper.studies.values()) for row in paper.of_study(study)]
        others = [row for row in paper.rows if row not in shown]
        assert len(shown) == len({id(row) for row in shown}), "a row is on one page"
        for row in others:
            assert row.agrees is None or (paper.key == "goetz-2012" and row.item in ("Table 1", "Table 2"))


def test_a_page_that_was_changed_by_hand_is_seen(command: Any) -> None:
    made = command.block("gap")
    page = command.with_block("# Gap\n\nText.\n", made)
    assert page == f"# Gap\n\nText.\n\n{made}" and command.with_block(page, made) == page
    assert command.with_block(page.replace("0.95", "0.72") + "\nMore.\n", made) == page + "\nMore.\n"


def test_a_figure_that_repeats_one_of_a_paper_has_its_verdict_below(command: Any) -> None:
    evidence = command.Evidence()
    for paper in command.papers():
        for name in paper.drawn:
            assert (ROOT / "lab" / "docs" / "studies" / f"{name}.png").is_file() and paper.of_figure(name), (
                name
            )
            said = command.beside(paper, name, evidence)
            assert any(word in said for word in ("**agrees**", "**differs**", "**not known why**")), name
    page = "![A](gap.png)\n\nText.\n\n![B](other.png)\n"
    made = command.with_verdicts(page, evidence)
    assert made.count("<!-- beside -->") == 1 and made.endswith("Text.\n\n![B](other.png)\n")
    assert command.with_verdicts(made.replace("2007", "2008"), evidence) == made


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
