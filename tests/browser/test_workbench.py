"""The workbench in a real browser: the whole way, over reloads and tabs, at all widths and for everybody."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

import queryveil as qv
from tests.browser.workbenches import PATIENT, Running, button, faults, served


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with served(tmp_path_factory.mktemp("workbench")) as made:
        yield made


@pytest.fixture(scope="module")
def context(browser: Browser, running: Running) -> Iterator[BrowserContext]:
    made = browser.new_context(viewport={"width": 1440, "height": 900}, accept_downloads=True)
    yield made
    made.close()


@pytest.fixture(scope="module")
def page(context: BrowserContext, running: Running) -> Page:
    return running.enter(context)


@pytest.fixture(scope="module")
def walked(page: Page, running: Running, tmp_path_factory: pytest.TempPathFactory) -> Running:
    """A workbench in which somebody went all the way from upload to download."""
    from_upload_to_download(page, running, tmp_path_factory.mktemp("downloads"))
    return running


def test_from_upload_to_download(page: Page, walked: Running) -> None:
    page.goto(f"{walked.base}/history")
    expect(page.get_by_role("rowheader").first).to_contain_text("mine-")


def from_upload_to_download(page: Page, running: Running, folder: Path) -> None:
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
    look_around(page)
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
    recipe.value.save_as(folder / "release.yaml")
    assert qv.Recipe.read(folder / "release.yaml").about.title == "Searches of January"
    page.get_by_role("link", name="Try to break it").click()
    page.get_by_label("Attack").select_option("exposure")
    page.get_by_role("button", name=re.compile("^Attack ")).click()
    page.get_by_text("What came of it").wait_for()


def look_around(page: Page) -> None:
    """The figure is there, on wide and on narrow pages, and its numbers are in a table."""
    figure = page.locator("[data-curve] figure")
    expect(figure.locator("svg:visible")).to_have_count(1, timeout=PATIENT)
    page.get_by_text("The same numbers").click()
    expect(page.locator("[data-numbers] tbody tr")).to_have_count(7, timeout=PATIENT)


def addresses(running: Running) -> list[str]:
    log = next(one.id for one in running.bench.logs.uploads())
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
def test_pages_fit_and_everybody_can_use_them(browser: Browser, walked: Running, scheme: Any) -> None:
    """At 360 and 1440 pixels nothing sticks out; axe finds no violation of WCAG A and AA."""
    made = browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme=scheme)
    page = walked.enter(made)
    # Each browser confirms columns for itself; without that, pages lead back to them.
    walked.confirmed(page, walked.upload.name)
    found: dict[str, list[tuple[str, str]]] = {}
    for address in addresses(walked):
        page.goto(walked.base + address)
        assert page.url == walked.base + address
        if wrong := faults(page, scheme):
            found[address] = wrong
    made.close()
    assert found == {}


def test_a_job_is_cancelled_from_the_page(browser: Browser, running: Running) -> None:
    made = browser.new_context()
    page = running.enter(made)
    running.confirmed(page)
    with mock.patch.object(
        running.bench.jobs, "_begin_waiting"
    ):  # it waits for a processor until the page has a button
        button(page, "Inspect the log").click()
        button(page, "Cancel").wait_for()
    button(page, "Cancel").click()
    page.get_by_text("You cancelled this").or_(page.get_by_role("link", name="Design a release")).wait_for()
    until = time.monotonic() + 60
    while running.bench.jobs.running():
        assert time.monotonic() < until
        time.sleep(0.1)
    made.close()


def test_the_page_of_a_release_can_run_nothing(page: Page, walked: Running) -> None:
    address = next(one for one in addresses(walked) if one.startswith("/releases/"))
    answer = page.goto(f"{walked.base}{address}/report.html")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert page.locator("h1").count() == 1
