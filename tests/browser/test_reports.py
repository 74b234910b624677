"""Reports in a real browser: at three widths, in print, with hostile queries, and without a request to anywhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import Opener
from tests.release.documents import pages

WIDTHS = (360, 768, 1440)
OPEN = "document.querySelectorAll('details').forEach(one => one.open = true)"
CUT = """[...document.querySelectorAll('svg text')].filter(one => {
    const inside = one.getBoundingClientRect(), frame = one.ownerSVGElement.getBoundingClientRect();
    return frame.width && (inside.left < frame.left - 1 || inside.right > frame.right + 1);
}).map(one => one.textContent)"""
BROKEN_LINKS = "[...document.links].filter(one => !document.getElementById(one.hash.slice(1))).length"


def overflow(page: Page) -> float:
    """Pixels by which the page is wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth - window.innerWidth")


def figures(page: Page) -> list[int]:
    """The places of the figures that are shown."""
    shown = "[...document.querySelectorAll('svg')].map((one, at) => one.checkVisibility() ? at : -1)"
    return [at for at in page.evaluate(shown) if at >= 0]


def drew(page: Page, at: int) -> bool:
    """Whether the curve of a figure is on the screen: without it, the pixels are others."""
    svg = page.locator("svg").nth(at)
    svg.scroll_into_view_if_needed()
    before = svg.screenshot()
    svg.evaluate(
        "one => one.querySelectorAll('.s0, .up, .there').forEach(it => it.style.visibility = 'hidden')"
    )
    after = svg.screenshot()
    svg.evaluate("one => one.querySelectorAll('.s0, .up, .there').forEach(it => it.style.visibility = '')")
    return before != after


@pytest.mark.parametrize("name", list(pages.METHODS))
def test_public_reports_fit_draw_and_ask_for_nothing(
    name: str, releases: dict[str, Path], look: Opener
) -> None:
    for width in WIDTHS:
        with look(releases[name] / "report.html", width) as seen:
            assert overflow(seen.page) <= 0, width
            assert len(figures(seen.page)) == 1, "one picture until the appendix is opened"
            seen.page.evaluate(OPEN)
            assert overflow(seen.page) <= 0, width
            shown = figures(seen.page)
            assert shown and all(drew(seen.page, at) for at in shown), width
            kinds = {seen.page.locator("svg").nth(at).get_attribute("class") for at in shown}
            assert kinds == {"narrow" if width == 360 else "wide"}
            assert seen.page.evaluate(CUT) == []
            assert seen.page.evaluate(BROKEN_LINKS) == 0 and seen.page.evaluate("document.links.length") == 5
            assert seen.page.evaluate("document.scripts.length") == 0
            assert seen.page.evaluate("window.hacked") is None
            assert seen.asked == [] and seen.said == []


def test_hostile_queries_are_shown_as_they_are(releases: dict[str, Path], look: Opener) -> None:
    with look(releases["probabilistic"] / "report.html") as seen:
        seen.page.evaluate(OPEN)
        assert seen.page.locator("table.sample bdi").count() == 10
        seen.page.locator("table.sample").evaluate("one => one.remove()")
        cells = seen.page.locator("table.items bdi").all_inner_texts()
        assert pages.SCRIPT in cells and "=1+cmd|' /c calc'!a0" in cells
        assert any("[U+202E]gnp.exe[U+2066]" in cell for cell in cells)
        assert any("nonchar[U+FFFE][U+1FFFF] tag[U+E0041]" in cell for cell in cells)
        assert any(cell.startswith("x" * 120 + "…") and "10,000 characters" in cell for cell in cells)
        assert len(cells) == len(pages.HOSTILE)
        direction = "one => getComputedStyle(one).direction"
        hebrew = seen.page.locator("table.items bdi", has_text="שלום")
        assert hebrew.evaluate(direction) == "rtl"
        assert seen.page.locator("table.items bdi", has_text="plain").evaluate(direction) == "ltr"
        # No heap of accents reaches into another row.
        tall = seen.page.locator("table.items bdi", has_text="zalgo").bounding_box()
        assert tall is not None and tall["height"] < 60
    with look(releases["approximate"] / "report.html") as seen:
        seen.page.evaluate(OPEN)
        urls = seen.page.locator("#table-clicks table.items bdi").all_inner_texts()
        assert any('"><script>' in url and "\u2407\u2400[U+009B]" in url for url in urls)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_stands_out_from_its_background(scheme: str, releases: dict[str, Path], look: Opener) -> None:
    """Contrast of 4.5 at least, as WCAG asks for."""
    with look(releases["approximate"] / "report.html", scheme=scheme) as seen:
        for selector in ("p", ".soft", "a", "thead th", "td", ".band .here", ".answer p"):
            ink, paper = seen.page.evaluate(
                """selector => {
                    const one = document.querySelector(selector);
                    let back = one;
                    while (getComputedStyle(back).backgroundColor === 'rgba(0, 0, 0, 0)') back = back.parentElement;
                    return [getComputedStyle(one).color, getComputedStyle(back).backgroundColor];
                }""",
                selector,
            )
            assert contrast(ink, paper) >= 4.5, (selector, ink, paper)


def contrast(one: str, other: str) -> float:
    def light(colour: str) -> float:
        parts = [int(part) / 255 for part in colour[4:-1].split(",")]
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


def test_print_shows_everything_on_paper(releases: dict[str, Path], look: Opener) -> None:
    with look(releases["approximate"] / "report.html", 360, "dark") as seen:
        seen.page.emulate_media(media="print", color_scheme="light")
        assert not seen.page.locator("nav").is_visible()
        assert {seen.page.locator("svg").nth(at).get_attribute("class") for at in figures(seen.page)} == {
            "wide"
        }
        assert seen.page.evaluate("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
        size = "one => parseFloat(getComputedStyle(one).fontSize)"
        text, note, cell = (
            seen.page.locator(one).first.evaluate(size) for one in (".two li", ".soft", ".sample td")
        )
        assert note < text and cell < text, "notes are smaller than what they are about"
        printed = seen.page.pdf(format="A4")
        assert printed.startswith(b"%PDF") and len(printed) > 20_000
        assert seen.asked == [] and seen.said == []


@pytest.mark.parametrize("width", WIDTHS)
def test_the_curators_report(width: int, curators: Path, look: Opener) -> None:
    with look(curators, width) as seen:
        assert overflow(seen.page) <= 0
        shown = figures(seen.page)
        # Who is found; the first hundred, coverage and counts, of queries and of clicks.
        assert len(shown) == 7 and all(drew(seen.page, at) for at in shown)
        assert seen.page.evaluate(CUT) == []
        assert (
            seen.page.locator(".scroll:has(table.measures)").evaluate(
                "one => one.scrollWidth - one.clientWidth"
            )
            <= 1
        )
        assert seen.page.locator("#attacks h3").all_inner_texts() == ["sybil"]
        assert seen.page.locator("svg.wide .s1 path").count() >= 2
        assert seen.page.evaluate("[document.scripts.length, window.hacked]") == [0, None]
        assert seen.asked == [] and seen.said == []


def test_the_watch_sees_what_it_should(tmp_path: Path, look: Opener) -> None:
    """A page that does all of it is caught."""
    page = tmp_path / "bad.html"
    page.write_text(
        "<!DOCTYPE html><title>bad</title><div style='width: 3000px'>wide</div><svg><g class='s0'></g></svg>"
        "<img src='http://example.org/x.png'><script>window.hacked = 1; alert(1); undefined_name()</script>"
    )
    with look(page, 360) as seen:
        assert overflow(seen.page) > 2000
        assert seen.page.evaluate("window.hacked") == 1
        assert not drew(seen.page, 0)
        assert any("example.org" in one for one in seen.asked)
        assert "dialog" in seen.said and len(seen.said) >= 2
    assert contrast("rgb(0, 0, 0)", "rgb(255, 255, 255)") == 21.0
    assert contrast("rgb(150, 150, 150)", "rgb(255, 255, 255)") < 4.5
