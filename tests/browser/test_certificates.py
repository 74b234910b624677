"""The public page as people get it: one sheet to sign, three in all, and nothing that a screen reader trips over."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]

import queryveil as qv
from tests.browser.conftest import Opener
from tests.release.documents import pages

ABOUT = qv.About(
    title="Frequent searches of Example Search, with a title that is about as long as anyone would wish for",
    publisher="Example Search Ltd, Department of Open Data and Statistics",
    contact="data@search.example",
    licence="CC-BY-4.0",
    purpose="research on suggestions",
    period="2026-01-01/2026-03-31",
    language="en",
)
SHEET = (297 - 26) / 25.4 * 96
"""Pixels from the top to the bottom margin of A4."""


def sheets(pdf: bytes) -> int:
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf))


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory, releases: dict[str, Path]) -> dict[str, Path]:
    """A release of every method, with all that a publisher can say; and those with hostile queries."""
    folder = tmp_path_factory.mktemp("every")
    log = qv.read(pages.hostile_log())
    made = dict(releases)
    methods: dict[str, qv.Mechanism] = {
        "steered": qv.Steered(epsilon=1, delta=1e-6, max_items=20),
        "semantic": qv.Semantic(epsilon=5, max_phrases=3),
        "ad-hoc": qv.AdHoc(steps=("delete-users", "scrub")),
        "clump": qv.Clump(k=3),
    }
    for name, method in methods.items():
        made[name] = (
            qv.publish(log, method, out=folder / name, i_understand=True, allow_empty=True, about=ABOUT).path
            or folder
        )
    return made


def test_three_sheets_of_paper_the_first_to_sign(every: dict[str, Path], look: Opener) -> None:
    for name, release in every.items():
        with look(release / "report.html", 680) as seen:
            assert sheets(seen.page.pdf(format="A4", prefer_css_page_size=True)) == 3, name
            seen.page.emulate_media(media="print")
            ends = seen.page.evaluate("document.querySelector('.certificate').getBoundingClientRect().bottom")
            assert 300 < ends <= SHEET, name
            for inside in (".band .here", ".slopes svg.wide", ".bounded", ".open", ".sign"):
                assert seen.page.locator(f".certificate {inside}").is_visible(), (name, inside)


@pytest.mark.parametrize(("scheme", "widths"), [("light", (360, 1440)), ("dark", (768,))])
def test_axe_finds_nothing(
    scheme: str, widths: tuple[int, ...], every: dict[str, Path], curators: Path, look: Opener
) -> None:
    files = {name: every[name] / "report.html" for name in ("nothing", "steered")}
    for name, file in (files | {"curator": curators}).items():
        for width in widths:
            with look(file, width, scheme) as seen:
                seen.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
                found = Axe().run(seen.page).response["violations"]
                said = [(one["id"], one["nodes"][0]["html"][:120]) for one in found]
                assert said == [], (name, width)
                assert seen.asked == [] and seen.said == []


def test_axe_does_look(tmp_path: Path, look: Opener) -> None:
    (tmp_path / "bad.html").write_text(
        "<!DOCTYPE html><title>x</title><p style='color: #999'>pale</p><img src='a'>"
    )
    with look(tmp_path / "bad.html") as seen:
        found = {one["id"] for one in Axe().run(seen.page).response["violations"]}
        assert {"color-contrast", "image-alt", "html-has-lang"} <= found


def test_a_weak_promise_looks_weak(every: dict[str, Path], look: Opener) -> None:
    colours = {}
    for name, step in (("steered", "Strong"), ("crowd", "Weak"), ("nothing", "None")):
        with look(every[name] / "report.html") as seen:
            here = seen.page.locator(".band .here")
            assert here.locator("b").inner_text() == step
            colours[step] = here.evaluate("one => getComputedStyle(one).backgroundColor")
            after = seen.page.locator(".three .big").first.inner_text()
            assert (after == "100%, certainty") is (step != "Strong")
    assert len(set(colours.values())) == 3
