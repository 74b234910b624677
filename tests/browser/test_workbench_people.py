"""What goes wrong is said on the page where it did; and people who work at once do not get in each other's way."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from playwright.sync_api import Browser, Page, Route, expect

import queryveil as qv
from tests.browser.workbenches import PATIENT, Running, button, faults, served

ADD_REMOVE = "add-remove-one-user"
SETTING = "method=zealous&epsilon=2&delta=1e-4&items=queries&neighbours=add-remove"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with served(tmp_path_factory.mktemp("people")) as made:
        ledger = qv.Ledger(made.bench.settings.ledger)
        ledger.open("one", epsilon=3, delta=1e-3, neighbours=ADD_REMOVE)
        yield made


@pytest.fixture(scope="module")
def page(browser: Browser, running: Running) -> Iterator[Page]:
    made = browser.new_context()
    yield running.enter(made)
    made.close()


def killed(running: Running, kind: str) -> None:
    """End the process of the job of a kind that is under way, as a machine without memory would."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        mine = [one.process for one in running.bench.jobs._all.values() if one.kind == kind]
        under_way = [one for one in mine if one is not None and one.poll() is None]
        if under_way:
            under_way[-1].kill()
            return
        time.sleep(0.02)
    pytest.fail(f"no job {kind} was started")


@pytest.fixture(scope="module")
def published(browser: Browser, running: Running) -> str:
    """The release of the one whom the budget was enough for."""
    two_people_publish_at_once_and_the_budget_is_enough_for_one(browser, running)
    (found,) = running.bench.settings.releases.glob("person-?")
    return found.name


def test_two_people_publish_at_once_and_the_budget_is_enough_for_one(
    running: Running, published: str
) -> None:
    assert qv.verify(running.bench.settings.releases / published).passes


def two_people_publish_at_once_and_the_budget_is_enough_for_one(browser: Browser, running: Running) -> None:
    contexts = [browser.new_context() for _ in range(2)]
    pages = [running.enter(one) for one in contexts]
    for number, page in enumerate(pages):
        log = running.confirmed(page)
        page.goto(f"{running.base}/publish/{log}?{SETTING}&source=one")
        page.get_by_label("Name of the folder").fill(f"person-{number}")
        page.get_by_label("I have read the promise").check()
    with mock.patch.object(running.bench.jobs, "_begin_waiting"):  # both are sent before either is charged
        for page in pages:
            button(page, "Charge the budget and publish").click()
            page.locator("[data-job]").wait_for()
    # The one is led to the release, the other to a refusal that says what is missing.
    released: list[Page] = []
    refused: list[Page] = []
    for page in pages:
        over = page.get_by_role("link", name="Try to break it").or_(page.get_by_text("That did not work"))
        over.first.wait_for()
        (released if "/releases/" in page.url else refused).append(page)
    assert len(released) == len(refused) == 1
    expect(released[0].get_by_role("heading", name=re.compile("^Published"))).to_be_visible(timeout=PATIENT)
    alert = refused[0].get_by_role("alert").first
    expect(alert).to_contain_text("has epsilon 1", timeout=PATIENT)
    expect(alert).to_contain_text("What to do:", timeout=PATIENT)
    assert refused[0].get_by_text("The ledger was charged").count() == 0
    assert len(qv.Ledger(running.bench.settings.ledger).budget("one").events) == 1
    assert len(list(running.bench.settings.releases.glob("person-?"))) == 1
    for one in contexts:
        one.close()


def test_a_log_that_cannot_be_read_and_an_upload_of_nothing(page: Page, running: Running) -> None:
    page.goto(f"{running.base}/log")
    button(page, "Upload").click()
    assert page.evaluate("document.querySelector('input[type=file]').validity.valueMissing")
    assert page.url.endswith("/log"), "nothing was sent"
    page.get_by_role("link", name=re.compile("broken.csv")).click()
    page.get_by_text("That did not work").wait_for()
    assert page.get_by_text("Say how to read it").is_visible()
    button(page, "Read it again").click()
    page.get_by_text("That did not work").wait_for()


def test_an_inspection_that_is_killed_can_be_tried_again(page: Page, running: Running) -> None:
    running.confirmed(page)
    button(page, "Inspect the log").click()
    killed(running, "inspect")
    expect(page.get_by_role("alert")).to_contain_text("ended before it was done", timeout=PATIENT)
    button(page, "Try again").click()
    page.get_by_role("link", name="Design a release").wait_for()


def test_design_says_what_is_wrong_with_a_number_and_with_previews(page: Page, running: Running) -> None:
    log = running.confirmed(page)
    page.goto(f"{running.base}/design/{log}")
    page.locator("#f-epsilon").fill("-1")
    expect(page.locator("[data-plain]")).to_contain_text("must be", timeout=PATIENT)
    button(page, "Put beside others").click()
    expect(page.get_by_role("alert")).to_contain_text("must be", timeout=PATIENT)
    page.goto(f"{running.base}/design/{log}")
    button(page, "Prepare previews").click()
    killed(running, "pilot")
    expect(page.get_by_role("alert")).to_contain_text("ended before it was done", timeout=PATIENT)
    button(page, "Try again").click()
    page.locator("[data-figures]").wait_for()
    # A preview that fails is said, and the promise stays.
    with mock.patch.object(
        running.bench.previews, "ask", side_effect=qv.CannotBeMet("no preview", "ask again")
    ):
        page.locator("#f-epsilon").fill("1.5")
        expect(page.locator("[data-why]")).to_contain_text("no preview; ask again", timeout=PATIENT)


def test_what_is_typed_before_the_script_is_there_is_followed(page: Page, running: Running) -> None:
    log = running.confirmed(page)
    held: list[Route] = []
    page.route("**/workbench.js*", lambda route: held.append(route))  # noqa: PLW0108 (it must be a function)
    page.goto(f"{running.base}/design/{log}", wait_until="commit")
    page.locator("#f-epsilon").fill("-1")
    expect(page.locator("[data-plain]")).not_to_contain_text("must be")
    assert held, "the script has not come yet"
    for one in held:
        one.continue_()
    page.unroute("**/workbench.js*")  # the page is that of all tests here
    expect(page.locator("[data-plain]")).to_contain_text("must be", timeout=20_000)


def test_publish_refuses_what_it_must_before_anything_is_charged(page: Page, running: Running) -> None:
    log = running.confirmed(page)
    ledger = qv.Ledger(running.bench.settings.ledger)
    ledger.open("rich", epsilon=9, delta=1e-3, neighbours=ADD_REMOVE)
    page.goto(f"{running.base}/publish/{log}?{SETTING.replace('epsilon=2', 'epsilon=20')}&source=rich")
    expect(page.get_by_role("alert")).to_contain_text("short by", timeout=PATIENT)
    assert button(page, "Charge the budget and publish").count() == 0
    page.goto(f"{running.base}/publish/{log}?{SETTING}&source=rich")
    button(page, "Charge the budget and publish").click()
    assert page.get_by_label("I have read the promise").evaluate("one => one.validity.valueMissing")
    page.get_by_label("I have read the promise").check()
    page.get_by_label("Publisher").fill("[to do]")
    button(page, "Charge the budget and publish").click()
    expect(page.get_by_role("alert")).to_contain_text("publisher", timeout=PATIENT)
    assert ledger.budget("rich").events == ()
    # A job that is killed tells where it stands, and the page can be used again.
    page.goto(f"{running.base}/publish/{log}?{SETTING}&source=rich")
    page.get_by_label("I have read the promise").check()
    button(page, "Charge the budget and publish").click()
    killed(running, "publish")
    expect(page.get_by_role("alert").first).to_contain_text("ended before it was done", timeout=PATIENT)
    expect(button(page, "Charge the budget and publish")).to_be_visible(timeout=PATIENT)


def test_a_series_is_published_from_the_page(page: Page, running: Running) -> None:
    log = running.confirmed(page)
    qv.Ledger(running.bench.settings.ledger).open("series", epsilon=30, delta=1e-3, neighbours=ADD_REMOVE)
    page.goto(f"{running.base}/publish/{log}?method=steered&epsilon=2&delta=1e-6&source=series")
    page.get_by_label("How many releases").select_option("day")
    page.get_by_label("First day").fill("2026-01-02")
    page.get_by_label("Last day").fill("2026-01-01")
    button(page, "Show what that promises").click()
    expect(page.get_by_role("alert")).to_contain_text("ends before it begins", timeout=PATIENT)
    page.get_by_label("Last day").fill("2026-01-04")
    page.get_by_label("What a person did in one period").check()
    button(page, "Show what that promises").click()
    promise = page.locator("[data-series-promise]")
    expect(promise.locator("[data-sentence='series.period.whole']")).to_be_visible(timeout=PATIENT)
    assert faults(page) == []
    page.get_by_label("Name of the folder").fill("by-day")
    page.get_by_label("I have read the promise").check()
    button(page, "Charge the budget and publish the series").click()
    page.get_by_role("heading", name="All 3 days are published").wait_for()
    expect(page.locator("figure svg:visible")).to_have_count(1, timeout=PATIENT)  # once styles are applied
    assert faults(page) == []
    # The index is a page of its own that runs nothing, and whose links lead on.
    page.goto(f"{running.base}/series/by-day/index.html")
    page.get_by_role("link", name="2026-01-03").first.click()
    page.wait_for_url("**/series/by-day/2026-01-03/report.html")
    assert page.locator("h1").count() == 1
    page.goto(f"{running.base}/history")
    expect(page.get_by_role("link", name="by-day")).to_be_visible(timeout=PATIENT)


def test_attack_and_release_say_what_is_wrong(page: Page, running: Running, published: str) -> None:
    log = running.confirmed(page)
    page.goto(f"{running.base}/attack/{log}?attack=exposure&release={published}")
    button(page, f"Attack {published}").click()
    killed(running, "attack")
    expect(page.get_by_role("alert")).to_contain_text("ended before it was done", timeout=PATIENT)
    sheet = running.bench.settings.releases / published / "DATASHEET.md"
    text = sheet.read_text()
    sheet.write_text(f"{text}changed\n")
    page.goto(f"{running.base}/releases/{published}")
    expect(page.get_by_text("checks failed")).to_be_visible(timeout=PATIENT)
    expect(page.get_by_text("This release is not what it says it is")).to_be_visible(timeout=PATIENT)
    sheet.write_text(text)
    page.goto(f"{running.base}/releases/no-such-release")
    expect(page.get_by_role("alert")).to_contain_text("no such page", timeout=PATIENT)


def test_an_empty_workbench_a_broken_ledger_and_one_that_has_ended(browser: Browser, tmp_path: Path) -> None:
    ledger = tmp_path / "ledger.db"
    ledger.write_bytes(b"this is no ledger" * 100)
    with served(tmp_path, ledger=str(ledger), watched=False) as running:
        made = browser.new_context()
        page = running.enter(made)
        log = running.confirmed(page)
        page.goto(f"{running.base}/attack/{log}")
        expect(page.get_by_text("There is no release to attack yet")).to_be_visible(timeout=PATIENT)
        page.goto(f"{running.base}/history")
        expect(page.get_by_text("Nothing was published yet")).to_be_visible(timeout=PATIENT)
        expect(page.get_by_role("alert")).to_contain_text("ledger", timeout=PATIENT)
        page.goto(f"{running.base}/publish/{log}?{SETTING}")
        expect(page.get_by_role("alert")).to_contain_text("ledger", timeout=PATIENT)
        stranger = browser.new_context().new_page()
        stranger.goto(f"{running.base}/open?token=wrong")
        expect(stranger.get_by_role("heading")).to_contain_text("This link opens nothing", timeout=PATIENT)
        stranger.context.close()
        page.goto(f"{running.base}/design/{log}")
        page.route("**/preview?*", lambda route: route.abort())
        page.locator("#f-epsilon").fill("2")
        expect(page.locator("[data-plain]")).to_contain_text("does not answer", timeout=PATIENT)
        made.close()
