"""Pages of studies in a real browser: at three widths, valid, and without a request to anywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

import queryveil_lab as lab
from tests.browser.conftest import Opener, browser, look
from tests.browser.test_reports import WIDTHS, overflow
from tests.browser.test_valid_pages import problems

__all__ = ["browser", "look"]


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a study that needs no log."""
    out = tmp_path_factory.mktemp("study") / "out"
    lab.compare(None, "release-probability", out=out, vary={"frequency": [100, 140, 180]}, repeats=1)
    return out


def test_the_pages_of_a_study_are_valid(study: Path, tmp_path: Path) -> None:
    copies = []
    for file in (study / "index.html", *(study / "figures").glob("*.html")):
        copies.append(tmp_path / file.name)
        copies[-1].write_bytes(file.read_bytes())
    assert problems(copies) == {}


def test_the_page_of_a_study_and_its_charts(study: Path, look: Opener) -> None:
    for width in WIDTHS:
        with look(study / "index.html", width) as seen:
            assert overflow(seen.page) <= 0
            sizes = seen.page.evaluate("[...document.images].map(one => one.naturalWidth)")
            assert sizes and min(sizes) > 100
            assert seen.asked == [] and seen.said == []
    for chart in sorted((study / "figures").glob("*.html")):
        with look(chart) as seen:
            seen.page.wait_for_selector("#figure svg")
            lines = seen.page.locator("#figure svg .mark-line path")
            assert lines.count() >= 1
            drawn = seen.page.locator("#figure svg.marks")
            before = drawn.screenshot()
            drawn.evaluate(
                "one => one.querySelectorAll('.mark-line').forEach(it => it.style.visibility = 'hidden')"
            )
            assert drawn.screenshot() != before
            assert seen.asked == [] and seen.said == []
