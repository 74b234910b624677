"""A workbench to ask, and browsers that are in or not."""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from queryveil.show.web.app import Bench, application
from queryveil.show.web.settings import Settings

BASE = "http://127.0.0.1:8765"


class Visitor(TestClient):
    """A browser that knows the token of the page it saw last, and what that page showed of a log."""

    token = ""
    seen = ""

    def look(self, address: str, **how: Any) -> Any:
        """Open a page, and remember its token."""
        answer = self.get(address, **how)
        found = re.search(r'name="csrf" value="([^"]+)"', answer.text)
        self.token = found[1] if found else self.token
        shown = re.search(r'name="seen" value="([^"]+)"', answer.text)
        self.seen = shown[1] if shown else self.seen
        return answer

    def submit(self, address: str, data: dict[str, Any] | None = None, **how: Any) -> Any:
        """Send a form as a page of ours would."""
        headers = {"origin": BASE, "sec-fetch-site": "same-origin", **how.pop("headers", {})}
        return self.post(
            address, data={"csrf": self.token, "seen": self.seen, **(data or {})}, headers=headers, **how
        )

    @property
    def bench(self) -> Bench:
        app: Any = self.app
        return app.state.bench

    def waited(self, address: str, seconds: float = 120) -> Any:
        """The page at an address once no job is shown on it."""
        until = time.monotonic() + seconds
        while "data-job" in (answer := self.look(address)).text:
            assert time.monotonic() < until, answer.text
            time.sleep(0.1)
        return answer


Starter = Callable[..., Visitor]


def small_log(users: int = 600) -> str:
    """Rows of people who share much: a release of them holds something."""
    rows = ["user\ttime\tquery\turl"]
    for user in range(users):
        for number in range(6):
            query = f"word{(user * 7 + number * number) % 12} thing{number % 3}"
            rows.append(
                f"u{user}\t2026-01-{1 + number:02} 10:00:{user % 60:02}\t{query}\thttp://site{number}.example/"
            )
    return "\n".join(rows) + "\n"


def write_logs(folder: Path) -> Path:
    """A log, a broken one, and what must not be seen."""
    (folder / "log.tsv").write_text(small_log())
    (folder / "broken.csv").write_text("a,b\n1,2\n")
    (folder / "log.tsv.secrets.tsv").write_text("user\tquery\n1\tplanted\n")
    inside = folder / "inner"
    inside.mkdir()
    (inside / "more.csv").write_text("user,time,query\n1,2026-01-01 10:00:00,cats\n2,nonsense,dogs\n")
    (folder.parent / "outside.tsv").write_text("user\tquery\n1\tsecret\n")
    (folder / "link.tsv").symlink_to(folder.parent / "outside.tsv")
    return folder


@contextlib.contextmanager
def opened_benches(logs: Path, place: Path) -> Iterator[Starter]:
    """A way to start workbenches, and let a browser in unless `inside` is false; all are closed at the end."""
    begun: list[Bench] = []

    def started(*, inside: bool = True, **given: Any) -> Visitor:
        home = place / f"home{len(begun)}"
        home.mkdir(mode=0o700, parents=True)
        given.setdefault("folders", (logs,))
        releases = place / "releases"
        app = application(
            Settings(home=home, releases=releases, ledger=str(releases / "ledger.db"), **given),
            lambda _: None,
        )
        begun.append(app.state.bench)
        visitor = Visitor(app, base_url=BASE, raise_server_exceptions=False)
        if inside:
            visitor.get(f"/open?token={app.state.bench.sessions.new_token()}")
            visitor.look("/log")
        return visitor

    try:
        yield started
    finally:
        for one in begun:
            one.close()


@pytest.fixture(scope="session")
def raw_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_logs(tmp_path_factory.mktemp("logs"))


@pytest.fixture
def start(raw_logs: Path, tmp_path: Path) -> Iterator[Starter]:
    with opened_benches(raw_logs, tmp_path) as started:
        yield started
