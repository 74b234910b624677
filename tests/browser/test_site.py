"""The documentation as a site: built strictly, maths drawn, tabs and cards there, and no request leaves."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Browser, Page, Route

from tests import sizes

ROOT = Path(__file__).parents[2]
PROOFS = ROOT / "docs" / "proofs"
WITH_MATHS = sorted(one.stem for one in PROOFS.glob("*.md") if re.search(r"\$[^$`]+\$", one.read_text()))
RAW = re.compile(r"\\\(|\\\[|\$\$|\\(?:frac|tau|lambda|mathrm|sum|le|ge)\b")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Nothing is printed."""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("site")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(place)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    running = threading.Thread(target=server.serve_forever, daemon=True)
    running.start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()
    running.join()


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[tuple[Page, list[str]]]:
    """A page without a network: what is asked of anyone but our own server is refused, and noted."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.set_default_timeout(120_000)
    asked: list[str] = []

    def judge(route: Route) -> None:
        if route.request.url.startswith((address, "data:", "blob:")):
            route.continue_()
        else:
            asked.append(route.request.url)
            route.abort()

    context.route("**/*", judge)
    page = context.new_page()
    page.on("pageerror", lambda error: asked.append(f"error: {error}"))
    page.on("response", lambda one: asked.append(f"{one.status} {one.url}") if one.status >= 400 else None)
    yield page, asked
    context.close()


def visible(page: Page) -> str:
    """The text of a page, without code and without what KaTeX keeps for readers of screens."""
    return str(
        page.evaluate(
            "() => { const copy = document.querySelector('article').cloneNode(true);"
            " copy.querySelectorAll('code, pre, .katex').forEach(one => one.remove()); return copy.textContent; }"
        )
    )


def test_maths_is_drawn_on_every_proof_without_a_network(
    opened: tuple[Page, list[str]], address: str, tmp_path: Path
) -> None:
    page, asked = opened
    assert len(WITH_MATHS) >= 3
    for name in sizes.chosen(WITH_MATHS, WITH_MATHS[::4]):
        page.goto(f"{address}proofs/{name}/", wait_until="load")
        assert (
            page.locator(".arithmatex").count()
            == page.locator(".arithmatex > .katex, .katex-display").count()
            > 0
        )
        assert page.locator(".katex-error").count() == 0, name
        assert RAW.search(visible(page)) is None, name
    loaded = page.evaluate("document.fonts.ready.then(() => document.fonts.check('16px KaTeX_Main'))")
    assert loaded
    page.screenshot(path=tmp_path / "proof.png")
    assert asked == []


def test_the_home_page_has_one_button_and_every_page_a_tab(
    opened: tuple[Page, list[str]], address: str
) -> None:
    page, asked = opened
    page.goto(address, wait_until="load")
    assert page.locator(".md-button--primary").count() == 1
    assert page.locator(".md-content ol > li").count() == 3
    assert page.locator(".md-content img").evaluate("image => image.naturalWidth") > 0
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"]
    tabs = page.locator(".md-tabs__link").all_inner_texts()
    assert [one.strip() for one in tabs] == [name for section in nav for name in section]
    assert asked == []


def test_no_page_names_a_file_elsewhere(site: Path) -> None:
    loads = re.compile(r"<(?:script|img|iframe|link)\b[^>]*?(?:src|href)=[\"']?(https?:)?//[^>]*>")
    found = [
        (page.relative_to(site), one.group()[:120])
        for page in site.rglob("*.html")
        for one in loads.finditer(page.read_text(encoding="utf-8"))
        if 'rel="canonical"' not in one.group()
    ]
    assert found == []


def test_katex_comes_with_its_licence_and_fonts() -> None:
    home = ROOT / "docs" / "assets" / "katex"
    assert "The MIT License" in (home / "LICENSE.txt").read_text()
    wanted = set(re.findall(r"url\((fonts/[^)]+)\)", (home / "katex.min.css").read_text()))
    assert wanted == {f"fonts/{one.name}" for one in (home / "fonts").iterdir()}
