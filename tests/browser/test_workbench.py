"""The workbench in a real browser: the whole way, its errors, by keyboard, over reloads and tabs, at all widths."""

from __future__ import annotations

import re
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvicorn
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserContext, Page, expect

import queryveil as qv
from queryveil.show.web.app import Bench, application
from queryveil.show.web.settings import Settings
from tests.show.web.conftest import small_log

PATIENT = 300_000
"""Milliseconds; a busy machine is slow, which is no failure."""


@dataclass
class Running:
    """A workbench that listens, and what its pages did that they should not."""

    bench: Bench
    base: str
    upload: Path
    asked: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)

    def enter(self, context: BrowserContext) -> Page:
        """A new browser that came in by a link of its own."""
        context.set_default_timeout(PATIENT)
        page = context.new_page()
        self.watch(page)
        page.goto(f"{self.base}/open?token={self.bench.sessions.new_token()}")
        page.wait_for_url("**/log")
        return page

    def watch(self, page: Page) -> None:
        page.on("request", lambda one: None if one.url.startswith(self.base) else self.asked.append(one.url))
        page.on("console", lambda one: self.said.append(one.text) if one.type == "error" else None)
        page.on("pageerror", lambda error: self.said.append(str(error)))


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    place = tmp_path_factory.mktemp("workbench")
    logs = place / "logs"
    logs.mkdir()
    (logs / "web.tsv").write_text(small_log())
    (logs / "broken.csv").write_text("a,b\n1,2\n")
    upload = place / "mine.tsv"
    upload.write_text(small_log())
    home = place / "home"
    home.mkdir(mode=0o700)
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    releases = place / "releases"
    settings = Settings(
        home=home, folders=(logs,), releases=releases, ledger=str(releases / "ledger.db"), port=port
    )
    app = application(settings, lambda _: None)
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None, ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    made = Running(app.state.bench, f"http://127.0.0.1:{port}", upload)
    yield made
    server.should_exit = True
    thread.join()
    app.state.bench.close()
    listening.close()
    assert made.asked == [], "no page asks another host"
    assert made.said == [], "the policy is broken nowhere, and no script fails"


@pytest.fixture(scope="module")
def context(browser: Browser, running: Running) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1440, "height": 900}, accept_downloads=True)
    yield made
    made.close()


@pytest.fixture(scope="module")
def page(context: BrowserContext, running: Running) -> Page:
    return running.enter(context)


def button(page: Page, name: str) -> Any:
    return page.get_by_role("button", name=name)


def test_from_upload_to_download(page: Page, running: Running, tmp_path: Path) -> None:
    page.get_by_label("A log file").set_input_files(running.upload)
    button(page, "Upload").click()
    button(page, "Yes, these columns are right").click()
    button(page, "Inspect the log").click()
    page.get_by_role("link", name="Design a release").click()
    button(page, "Prepare previews").click()
    page.locator("[data-figures]").wait_for()
    # What is typed is followed: words, figures, price and command.
    before = page.locator("[data-plain]").inner_text()
    page.locator("#f-epsilon").fill("3")
    expect(page.locator("[data-plain]")).not_to_have_text(before, timeout=PATIENT)
    expect(page.locator("[data-price]")).to_contain_text("2 settings", timeout=PATIENT)
    expect(page.locator(".same code").first).to_contain_text("--epsilon 3", timeout=PATIENT)
    button(page, "Put beside others").click()
    expect(page.locator("#compare td").filter(has_text="epsilon 3").first).to_be_visible(timeout=PATIENT)
    button(page, "Draw it over epsilon").click()
    page.locator(".chart svg").wait_for()
    page.get_by_role("link", name="Continue to publish").click()
    button(page, "Set this budget").click()
    page.get_by_label("Title").fill("Searches of January")
    page.get_by_label("I have read the promise").check()
    button(page, "Charge the budget and publish").click()
    # A reload in the middle of the job, and a second tab, find the same job.
    page.reload()
    other = page.context.new_page()
    running.watch(other)
    other.goto(page.url)
    page.get_by_role("link", name="Try to break it").wait_for()
    expect(other.get_by_role("link", name="Try to break it")).to_be_visible(timeout=PATIENT)
    other.close()
    with page.expect_download() as download:
        page.get_by_role("link", name="The release").click()
    assert re.fullmatch(r"mine-[\d-]+\.zip", download.value.suggested_filename)
    with page.expect_download() as recipe:
        page.get_by_role("link", name="The recipe").click()
    recipe.value.save_as(tmp_path / "release.yaml")
    assert qv.Recipe.read(tmp_path / "release.yaml").about.title == "Searches of January"
    page.get_by_role("link", name="Try to break it").click()
    page.get_by_label("Attack").select_option("exposure")
    page.get_by_role("button", name=re.compile("^Attack ")).click()
    page.get_by_text("What came of it").wait_for()
    page.goto(f"{running.base}/history")
    expect(page.get_by_role("rowheader").first).to_contain_text("mine-")


def addresses(running: Running) -> list[str]:
    log = next(one.id for one in running.bench.logs.chosen() if one.uploaded)
    release = next(
        one.name for one in running.bench.settings.releases.iterdir() if one.name.startswith("mine")
    )
    return [
        "/log",
        f"/log/{log}",
        f"/risk/{log}",
        f"/design/{log}",
        f"/publish/{log}",
        f"/attack/{log}?attack=exposure",
        f"/releases/{release.removesuffix('.private')}",
        "/history",
        "/nothing-here",
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_and_everybody_can_use_them(browser: Browser, running: Running, scheme: Any) -> None:
    """At 360 and 1440 pixels nothing sticks out; axe finds no violation of WCAG A and AA."""
    made = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme=scheme)
    page = running.enter(made)
    found: dict[str, list[tuple[str, str]]] = {}
    for address in addresses(running):
        page.goto(running.base + address)
        page.wait_for_load_state("networkidle")
        for details in page.locator("details").all():
            details.evaluate("one => { one.open = true; }")
        for width in (360, 1440):
            page.set_viewport_size({"width": width, "height": 900})
            over = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            if over > 0:
                found[f"{address} at {width}"] = [("too wide", f"{over} pixels")]
        rules = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
        result = Axe().run(page, options=rules)
        if result.violations_count:
            found[address] = [
                (one["id"], one["nodes"][0]["html"][:120]) for one in result.response["violations"]
            ]
    made.close()
    running.said[:] = [one for one in running.said if "404" not in one]
    assert found == {}


def test_by_keyboard_alone(browser: Browser, running: Running) -> None:
    made = browser.new_context()
    page = running.enter(made)
    page.keyboard.press("Tab")
    expect(page.get_by_text("Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    for _ in range(20):
        page.keyboard.press("Tab")
        if "web.tsv" in page.evaluate("document.activeElement.textContent"):
            break
    page.keyboard.press("Enter")
    button(page, "Yes, these columns are right").wait_for()
    button(page, "Yes, these columns are right").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/risk/*")
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate(outline) != "none", "one sees where one is"
    made.close()


def test_what_is_wrong_is_said_on_the_page(browser: Browser, running: Running) -> None:
    made = browser.new_context()
    page = running.enter(made)
    page.get_by_role("link", name=re.compile("broken.csv")).click()
    page.get_by_text("That did not work").wait_for()
    assert page.get_by_text("Say how to read it").is_visible()
    log = next(one.id for one in running.bench.logs.chosen() if one.uploaded)
    page.goto(f"{running.base}/design/{log}")
    page.locator("#f-epsilon").fill("-1")
    expect(page.locator("[data-plain]")).to_contain_text("must be", timeout=PATIENT)
    # A budget that is too small is said before anything is charged.
    page.goto(f"{running.base}/publish/{log}?method=steered&epsilon=9&delta=1e-6&source=mine")
    assert page.get_by_text("short by").count() == 1
    assert button(page, "Charge the budget and publish").count() == 0
    made.close()


def test_a_job_is_cancelled_from_the_page(browser: Browser, running: Running) -> None:
    made = browser.new_context()
    page = running.enter(made)
    log = next(one.id for one in running.bench.logs.chosen() if not one.uploaded and one.name == "web.tsv")
    page.goto(f"{running.base}/risk/{log}")
    button(page, "Inspect the log").click()
    button(page, "Cancel").click()
    page.get_by_text("You cancelled this").or_(page.get_by_role("link", name="Design a release")).wait_for()
    until = time.monotonic() + 60
    while running.bench.jobs.running():
        assert time.monotonic() < until
        time.sleep(0.1)
    made.close()


def test_the_page_of_a_release_can_run_nothing(page: Page, running: Running) -> None:
    address = next(one for one in addresses(running) if one.startswith("/releases/"))
    answer = page.goto(f"{running.base}{address}/report.html")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert page.locator("h1").count() == 1
