"""Workbenches that listen, for a browser to open, and a watch over what their pages do."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import uvicorn
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page

from queryveil.show.web.app import Bench, application
from queryveil.show.web.settings import Settings
from tests.show.web.conftest import small_log

PATIENT = 300_000
"""Milliseconds; a busy machine is slow, which is no failure."""
_REFUSED = "the server responded with a status of 4"
"""What a console says of a page that refuses something; such pages are looked at."""


@dataclass
class Running:
    """A workbench that listens, and what its pages did that they should not."""

    bench: Bench
    base: str
    upload: Path
    server: uvicorn.Server
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
        page.on("console", lambda one: self._heard(one.text) if one.type == "error" else None)
        page.on("pageerror", lambda error: self.said.append(str(error)))

    def _heard(self, text: str) -> None:
        if _REFUSED not in text:
            self.said.append(text)

    def confirmed(self, page: Page, name: str = "web.tsv") -> str:
        """The id of a log whose columns this browser confirmed."""
        page.goto(f"{self.base}/log")
        page.get_by_role("link", name=name).first.click()
        button(page, "Yes, these columns are right").click()
        page.wait_for_url("**/risk/*")
        return page.url.rsplit("/", 1)[1]


@contextlib.contextmanager
def served(place: Path, *, watched: bool = True, **given: Any) -> Iterator[Running]:
    """A workbench with a log and a broken one; what its pages did wrong is an error at the end."""
    logs = place / "logs"
    logs.mkdir()
    (logs / "web.tsv").write_text(small_log())
    (logs / "broken.csv").write_text("a,b\n1,2\n")
    upload = place / "mine.tsv"
    upload.write_text(small_log())
    home, releases = place / "home", place / "releases"
    home.mkdir(mode=0o700)
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    given = {"ledger": str(releases / "ledger.db")} | given
    app = application(
        Settings(home=home, folders=(logs,), releases=releases, port=port, **given), lambda _: None
    )
    server = uvicorn.Server(uvicorn.Config(app, lifespan="off", log_config=None, ws="none"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    made = Running(app.state.bench, f"http://127.0.0.1:{port}", upload, server)
    try:
        yield made
    finally:
        server.should_exit = True
        thread.join()
        app.state.bench.close()
        listening.close()
    if watched:
        assert made.asked == [], "no page asks another host"
        assert made.said == [], "the policy is broken nowhere, and no script fails"


def faults(page: Page, scheme: str = "light") -> list[tuple[str, str]]:
    """What sticks out at 360 and 1,440 pixels, and what axe finds against WCAG A and AA, with all details open.

    A dark page differs from a light one in its colors alone, so only their contrast is checked again.
    """
    found = []
    page.wait_for_load_state("networkidle")
    for details in page.locator("details").all():
        details.evaluate("one => { one.open = true; }")
    for width in (360, 1440):
        page.set_viewport_size({"width": width, "height": 900})
        # Charts are drawn anew, a moment later. Asked from here: a page's policy lets no script wait for it.
        until = time.monotonic() + 5
        while (over := page.evaluate("document.documentElement.scrollWidth - window.innerWidth")) > 0:
            if time.monotonic() > until:
                break
            page.wait_for_timeout(50)
        if over > 0:
            found.append((f"too wide at {width}", f"{over} pixels"))
    tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]
    rules = {"runOnly": tags if scheme == "light" else ["color-contrast"]}
    violations = Axe().run(page, options=rules).response["violations"]
    return found + [(one["id"], one["nodes"][0]["html"][:120]) for one in violations]


def button(page: Page, name: str) -> Any:
    return page.get_by_role("button", name=name)
