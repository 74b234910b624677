"""Figures of the docs are drawn from what is kept of their studies, by the code of today; no failure is left out."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import queryveil_lab as lab

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "lab" / "docs" / "studies"
NAMES = sorted(file.stem for file in (ROOT / "lab" / "docs" / "evidence" / "findings").glob("*.json"))


@pytest.fixture(scope="module")
def kept() -> Iterator[Any]:
    sys.path.insert(0, str(ROOT / "lab" / "benchmarks"))
    try:
        yield importlib.import_module("kept_findings")
    finally:
        sys.path.remove(str(ROOT / "lab" / "benchmarks"))


def test_every_study_has_findings() -> None:
    assert set(lab.STUDIES) == set(NAMES), "run them: python lab/benchmarks/figures.py --docs STUDY"


@pytest.mark.parametrize("name", NAMES)
def test_figures_show_what_was_found(kept: Any, name: str) -> None:
    """Words and data; `python lab/benchmarks/figures.py --redraw` makes them so."""
    charts = kept.drawn(name)
    files = {file.stem for file in PAGES.glob("*.png") if file.stem == name or _study(file.stem) == name}
    assert files == set(charts), "a figure is missing, or the study no longer has it"
    for title, chart in charts.items():
        assert kept.stamp((PAGES / f"{title}.png").read_bytes()) == kept.digest(chart), title


def _study(stem: str) -> str:
    """The study that a figure is of: the one with the longest name that it begins with."""
    return max((name for name in lab.STUDIES if stem.startswith(f"{name}-")), key=len, default="")


@pytest.mark.parametrize("name", NAMES)
def test_no_title_calls_a_measurement_a_bound(kept: Any, name: str) -> None:
    """What was measured may be larger the next time."""
    for chart in kept.drawn(name).values():
        title = " ".join(chart.to_dict()["title"]["text"])
        assert "at most" not in title and "no more than" not in title, title


@pytest.mark.parametrize("name", NAMES)
def test_a_page_names_every_check_that_fails(kept: Any, name: str) -> None:
    page = " ".join((PAGES / f"{name}.md").read_text(encoding="utf-8").split())
    failed = [one.name for one in lab.STUDIES[name].checks(kept.read(name)) if one.fails]
    assert not [one for one in failed if one not in page], "say on the page that it fails, and why"


def test_computed_advantages_are_those_of_computed_successes(kept: Any) -> None:
    """`python lab/benchmarks/active_attack.py --computed` runs all of them again."""
    found = kept.read("active-attack").where(how="expected")
    advantages = found.where(metric="advantage")
    assert len(advantages) == 20
    for one in advantages:
        own = found.where(method=one["method"], epsilon=one["epsilon"])
        success, control = (own.where(metric=name).value for name in ("success", "control"))
        assert one["value"] == pytest.approx(success - control, abs=2e-6)


def test_other_data_or_other_words_have_another_mark(kept: Any) -> None:
    """What the test above goes by can fail: one value, and one word."""
    name = "profiles"
    chart = next(iter(kept.drawn(name).values()))
    mark = kept.digest(chart)
    spec = chart.to_dict()

    class Changed:
        def __init__(self, spec: dict[str, Any]) -> None:
            self.spec = spec

        def to_dict(self) -> dict[str, Any]:
            return self.spec

    assert kept.digest(Changed(spec)) == mark
    title = {**spec["title"], "text": ["Other words"]}
    assert kept.digest(Changed({**spec, "title": title})) != mark
    rows = next(iter(spec["datasets"].values()))
    other = [{**rows[0], "value": rows[0]["value"] + 1}, *rows[1:]]
    assert kept.digest(Changed({**spec, "datasets": {"data": other}})) != mark
    png = b"\x89PNG\r\n\x1a\n" + bytes(60)
    assert kept.stamp(png) is None and kept.stamp(kept.stamped(png, mark)) == mark
