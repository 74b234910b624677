"""A real browser, pages to open in it, and a watch over what they ask for."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Dialog, Page, Route, sync_playwright

import queryveil as qv
from tests.release.documents import pages


@dataclass
class Watched:
    """A page, and what it did that it should not."""

    page: Page
    asked: list[str] = field(default_factory=list)
    """Requests for anything outside the page's own folder."""
    said: list[str] = field(default_factory=list)
    """Errors of the console, errors of scripts, dialogs."""


Opener = Callable[..., contextlib.AbstractContextManager[Watched]]


@pytest.fixture(scope="package")  # its event loop would stop tests that run one of their own
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium")
    assert program, "chromium is missing: make setup-dev installs it"
    with sync_playwright() as started:
        opened = started.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.fixture(scope="package")
def look(browser: Browser) -> Opener:
    """Open a file at a width, and watch it."""

    @contextlib.contextmanager
    def opened(file: Path, width: int = 1280, scheme: Any = "light") -> Iterator[Watched]:
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        context.set_default_timeout(120_000)  # a busy machine is slow, which is no failure
        watched = Watched(context.new_page())
        inside = file.parent.resolve().as_uri() + "/"

        def judge(route: Route) -> None:
            if route.request.url.startswith((inside, "data:", "blob:")):
                route.continue_()
            else:
                watched.asked.append(route.request.url)
                route.abort()

        def dismiss(dialog: Dialog) -> None:
            watched.said.append("dialog")
            dialog.dismiss()

        context.route("**/*", judge)
        watched.page.on("console", lambda one: watched.said.append(one.text) if one.type == "error" else None)
        watched.page.on("pageerror", lambda error: watched.said.append(str(error)))
        watched.page.on("dialog", dismiss)
        watched.page.goto(file.resolve().as_uri())
        yield watched
        context.close()

    return opened


@pytest.fixture(scope="session")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return pages.publish_all(tmp_path_factory.mktemp("releases"))


@pytest.fixture(scope="session")
def curators(releases: dict[str, Path]) -> Path:
    """The curator's report of the release with the most in it, an attack included."""
    release = qv.load(releases["approximate"])
    attack = qv.SybilAttack(trials=5)
    qv.keep_attack(release, attack, attack.run(release))
    return qv.write_curator_report(
        releases["approximate"], qv.read(pages.hostile_log()), metrics=("coverage", "released-share")
    )
