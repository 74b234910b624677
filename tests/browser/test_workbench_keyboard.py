"""The whole way through the workbench without a mouse: from an upload to a download, and on to the history."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.workbenches import PATIENT, served

_NAME = """() => {
  const one = document.activeElement;
  const label = one.labels && one.labels[0];
  return (label ? label.textContent : "") || one.textContent || one.getAttribute("aria-label") || "";
}"""
_MOST_STOPS = 90


def go_to(page: Page, name: str) -> None:
    """Press Tab until that is where one is; one must see it, and be nowhere trapped on the way."""
    for _ in range(_MOST_STOPS):
        page.keyboard.press("Tab")
        if re.search(name, page.evaluate(_NAME).strip()):
            outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none", f"one does not see that one is at {name}"
            return
    pytest.fail(f"no key leads to {name} on {page.url}")


def press(page: Page, name: str, key: str = "Enter") -> None:
    go_to(page, name)
    page.keyboard.press(key)


def typed(page: Page, name: str, text: str) -> None:
    go_to(page, name)
    page.keyboard.press("Control+a")
    page.keyboard.type(text)


def test_from_upload_to_download_by_keyboard_alone(browser: Browser, tmp_path: Path) -> None:
    with served(tmp_path) as running:
        made = browser.new_context(accept_downloads=True)
        page = running.enter(made)
        page.on(
            "filechooser", lambda _: None
        )  # from here on: a listener of the moment may come after the key
        press(page, "^Skip to content")
        assert page.evaluate("document.activeElement.id") == "main"
        go_to(page, "^A log file")
        with page.expect_file_chooser() as chooser:
            page.keyboard.press("Enter")
        chooser.value.set_files(running.upload)
        press(page, "^Upload$")
        page.get_by_role("button", name="Yes, these columns").wait_for()
        press(page, "^Yes, these columns are right")
        page.wait_for_url("**/risk/*")
        press(page, "^Inspect the log")
        page.get_by_role("link", name="Design a release").wait_for()
        press(page, "^Design a release")
        page.wait_for_url("**/design/*")
        press(page, "^Prepare previews")
        page.locator("[data-figures]").wait_for()
        typed(page, "^epsilon", "2")
        expect(page.locator(".same code").first).to_contain_text("--epsilon 2", timeout=PATIENT)
        go_to(page, "^epsilon, from 0.1 to 10")
        page.keyboard.press("ArrowRight")
        expect(page.locator(".same code").first).to_contain_text("--epsilon 2.2", timeout=PATIENT)
        press(page, "^Continue to publish")
        page.wait_for_url("**/publish/*")
        press(page, "^Set this budget")
        page.get_by_label("Title").wait_for()
        typed(page, "^Title", "By keyboard")
        press(page, "^I have read the promise", "Space")
        press(page, "^Charge the budget and publish")
        page.get_by_role("link", name="Try to break it").wait_for()
        with page.expect_download() as download:
            press(page, "^The release")
        assert download.value.suggested_filename.endswith(".zip")
        press(page, "^Try to break it")
        page.wait_for_url("**/attack/*")
        press(page, "^Attack mine-")
        page.get_by_text("What came of it").wait_for()
        press(page, "^History")
        expect(page.get_by_role("heading", name="What was published")).to_be_visible(timeout=PATIENT)
        made.close()
