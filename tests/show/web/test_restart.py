"""A workbench that is killed during a publication: the charge stands, and nothing half-written is left or lost."""

from __future__ import annotations

import http.cookiejar
import json
import os
import re
import signal
import time
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any

import pytest

import queryveil as qv
from tests.show.web.conftest import Starter, small_log
from tests.show.web.test_design import confirmed
from tests.show.web.test_publish import budgeted, published
from tests.show.web.test_serving import served

SETTING = {"method": "zealous", "epsilon": "2", "delta": "1e-4", "items": "queries", "source": "people"}


class Browser:
    """A browser in a workbench that runs as a process of its own."""

    def __init__(self, link: str) -> None:
        self.base = link.partition("/open")[0]
        self.opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        )
        self.token = ""
        self.get(link.removeprefix(self.base))

    def get(self, address: str, data: bytes | None = None) -> Any:
        headers = {"Origin": self.base} if data is not None else {}
        asked = urllib.request.Request(self.base + address, data, headers)  # noqa: S310 (our own)
        with self.opener.open(asked, timeout=60) as answer:
            self.url, text = answer.url, answer.read().decode()
        found = re.search(r'name="csrf" value="([^"]+)"', text)
        self.token = found[1] if found else self.token
        return text

    def submit(self, address: str, **given: str) -> Any:
        return self.get(address, urllib.parse.urlencode({"csrf": self.token} | given).encode())

    def waited(self, address: str) -> Any:
        until = time.monotonic() + 120
        while "data-job" in (text := self.get(address)):
            assert time.monotonic() < until
            time.sleep(0.1)
        return text

    def confirmed_log(self) -> str:
        log = re.search(r'href="/log/(\w+)"', self.get("/log"))[1]
        seen = re.search(r'name="seen" value="([^"]+)"', self.waited(f"/log/{log}"))[1]
        self.submit(f"/log/{log}/confirm", seen=seen)
        return log

    def publish(self, log: str, name: str) -> str:
        """Start a publication; return the id of its job."""
        text = self.submit(f"/publish/{log}", **SETTING, name=name, confirmed="yes")
        return re.search(r'data-job="(\w+)"', text)[1]


def processes_of(parent: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


def wait_until_gone(processes: list[int]) -> None:
    until = time.monotonic() + 120
    while any(Path(f"/proc/{one}/stat").exists() and not is_zombie(one) for one in processes):
        assert time.monotonic() < until
        time.sleep(0.05)


def is_zombie(process: int) -> bool:
    try:
        return ") Z " in Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return True


def charges(ledger: Path) -> int:
    return len(qv.Ledger(str(ledger)).budget("people").events)


def note(text: str) -> dict[str, str] | None:
    found = re.search(r'data-interrupted="(.*?)" data-published="(.*?)" data-charges="(.*?)"', text)
    return dict(zip(("name", "published", "charges"), found.groups(), strict=True)) if found else None


@pytest.mark.parametrize("worker", ["ends by itself", "is killed too"])
@pytest.mark.parametrize("moment", ["before the charge", "after the charge"])
def test_a_killed_workbench_says_what_became_of_its_job(tmp_path: Path, moment: str, worker: str) -> None:
    logs, releases = tmp_path / "logs", tmp_path / "releases"
    logs.mkdir()
    (logs / "log.tsv").write_text(small_log())
    words = ("--folder", str(logs), "--releases", str(releases))
    ledger = releases / "ledger.db"
    with served(tmp_path, *words) as (begun, link):
        browser = Browser(link)
        log = browser.confirmed_log()
        given = SETTING | {"budget_epsilon": "100", "budget_delta": "1e-2"}
        browser.submit(f"/publish/{log}/budget", **given)
        job = browser.publish(log, "one")
        until = time.monotonic() + 120
        while moment == "after the charge" and not charges(ledger):
            assert time.monotonic() < until
        while not json.loads(browser.get(f"/jobs/{job}"))["stages"]:
            assert time.monotonic() < until
        workers = processes_of(begun.pid)
        begun.send_signal(signal.SIGKILL)
        for one in workers if worker == "is killed too" else []:
            os.kill(one, signal.SIGKILL)
        begun.wait()
        wait_until_gone(workers)
    before = charges(ledger)
    with served(tmp_path, *words) as (_, link):
        browser = Browser(link)
        found = note(browser.get("/log"))
        appeared = (releases / "one").exists()
        assert found is not None or appeared, "a job may have ended just before"
        if found is not None:
            expected = {"name": "one", "published": "yes" if appeared else "no", "charges": str(before)}
            assert found == expected and note(browser.get("/history")) == expected
        assert charges(ledger) == before, "budget is never given back"
        assert before >= (appeared or moment == "after the charge")
        assert not appeared or qv.verify(releases / "one").passes
        left = {one.name for one in releases.iterdir()} - {"one", "one.private"}
        assert left == {one for one in left if one.startswith("ledger.db") or one == "workbench.private"}
        log = browser.confirmed_log()
        name = "two" if appeared else "one"
        job = browser.publish(log, name)
        browser.waited(f"/publish/{log}?job={job}")
        assert qv.verify(releases / name).passes and charges(ledger) == before + 1


def test_a_release_that_was_finished_but_not_renamed_appears_after_a_restart(start: Starter) -> None:
    visitor = start()
    log = confirmed(visitor)
    budgeted(visitor, log)
    visitor.waited(str(published(visitor, log, "one").url))
    releases = visitor.bench.settings.releases
    journal = releases / "workbench.private" / "jobs.jsonl"
    # As if the machine had lost power between the two steps: no end is noted, and the folders have their first names.
    visitor.bench.close()
    journal.write_text(journal.read_text().splitlines()[0] + "\n")
    places = [str(releases / "one.private"), str(releases / "one")]
    for place in map(Path, places):
        folder = place.with_name(f".{place.name}.writing")
        folder.mkdir(mode=0o700)
        place.rename(folder / "content")
        (folder / "complete.json").write_text(json.dumps(places))
    again = start()
    assert note(again.look("/log").text) == {"name": "one", "published": "yes", "charges": "1"}
    assert qv.verify(releases / "one").passes and (releases / "one.private").is_dir()
    again.bench.close()
    assert note(start().look("/log").text) is None, "it has been shown"
