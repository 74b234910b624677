"""A first-time user, scripted: from an empty environment to a signed-off release through the workbench.

    python benchmarks/first_time_workbench.py                  # a new environment, pip, the demo's log, a browser
    python benchmarks/first_time_workbench.py --here           # the environment that is there, a small log
    python benchmarks/first_time_workbench.py --screenshots    # the same, and pictures for docs/screenshots

Every click, every field that is filled in and every minute is counted. With `--write` the figures go to
docs/evidence/first-time-workbench.md.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
SHOTS = ROOT / "docs" / "screenshots"
PATIENT = 300_000
WIDE: Any = {"width": 1440, "height": 900}


class User:
    """Counts what a person has to do."""

    def __init__(self, page: Page, *, pictures: bool, look: Path | None) -> None:
        self.page, self.pictures, self.look = page, pictures, look
        self.clicks = 0
        self.fields = 0
        self.steps: list[tuple[str, float, int]] = []
        self.begun = time.monotonic()

    def click(self, role: Any, name: str) -> None:
        self.page.get_by_role(role, name=re.compile(name)).first.click()
        self.clicks += 1

    def fill(self, label: str, text: str) -> None:
        self.page.get_by_label(label).first.fill(text)
        self.fields += 1

    def wait(self, role: Any, name: str) -> None:
        self.page.get_by_role(role, name=re.compile(name)).first.wait_for()

    def done(self, step: str, picture: str = "") -> None:
        """A step is over."""
        self.steps.append((step, time.monotonic() - self.begun, self.clicks))
        if self.pictures and picture:
            self.picture(picture)

    def picture(self, name: str) -> None:
        """For the documentation, and, if somebody wants to look, at both widths and in both schemes."""
        page = self.page
        page.wait_for_load_state("networkidle")
        page.set_viewport_size({"width": 1180, "height": 800})
        page.screenshot(path=SHOTS / f"{name}.png", full_page=True)
        for scheme in ("light", "dark") if self.look else ():
            page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # one of the two
            for width in (360, 1440):
                page.set_viewport_size({"width": width, "height": 900})
                page.screenshot(path=self.look / f"{name}-{scheme}-{width}.png", full_page=True)  # type: ignore[operator]
        page.emulate_media(color_scheme="light")
        page.set_viewport_size(WIDE)


@contextmanager
def served(program: Path, place: Path, log: Path) -> Iterator[str]:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(place / "key")], check=True)
    words = [
        "serve",
        "--folder",
        str(log.parent),
        "--releases",
        str(place / "releases"),
        "--key",
        str(place / "key"),
    ]
    begun = subprocess.Popen(
        [str(program), *words, "--port", "0", "--no-browser"], stdout=subprocess.PIPE, text=True, cwd=place
    )
    try:
        yield begun.stdout.readline().strip() if begun.stdout else ""
    finally:
        begun.send_signal(signal.SIGINT)
        begun.communicate(timeout=60)


def installed(place: Path) -> Path:
    """A new environment, with the wheel of this repository and what the workbench needs in it, and nothing else."""
    quiet = ["--quiet", "--disable-pip-version-check"]
    build = [sys.executable, "-m", "pip", "wheel", *quiet, "--no-deps", "--wheel-dir", str(place), str(ROOT)]
    subprocess.run(build, check=True)
    wheel = next(place.glob("queryveil-*.whl"))
    venv.create(place / "environment", with_pip=True)
    python = place / "environment" / "bin" / "python"
    pinned = ["-c", str(ROOT / "constraints.txt")]
    subprocess.run([str(python), "-m", "pip", "install", *quiet, *pinned, f"{wheel}[web]"], check=True)
    return python.with_name("queryveil")


def way(user: User, link: str, log: str) -> None:
    """What a person does, page by page."""
    page = user.page
    page.goto(link)
    page.wait_for_url("**/log")
    user.done("opened the link", "log")
    user.click("link", re.escape(log))
    user.wait("button", "^Yes, these columns")
    user.done("saw the columns", "columns")
    user.click("button", "^Yes, these columns")
    user.click("button", "^Inspect the log")
    user.wait("link", "^Design a release")
    user.done("saw the risk", "risk")
    user.click("link", "^Design a release")
    user.click("button", "^Prepare previews")
    page.locator("[data-figures]").wait_for()
    if user.pictures:
        compared(page)
    user.done("saw promise and previews", "design")
    user.click("link", "^Continue to publish")
    user.click("button", "^Set this budget")
    user.fill("Title", "Searches of a month")
    user.fill("Publisher", "Example Search")
    page.get_by_label("I have read the promise").check()
    user.clicks += 1
    user.done("set the budget, read the promise", "publish")
    user.click("button", "^Charge the budget")
    if user.pictures:
        user.picture("progress")
    user.wait("link", "^Try to break it")
    page.get_by_text("Published and signed").wait_for()
    user.done("has a signed-off release", "release")
    with page.expect_download():
        user.click("link", "^The release")
    user.done("downloaded it")


def compared(page: Page) -> None:
    """For the picture: two settings side by side, and the curve."""
    for epsilon in ("1", "4"):
        page.locator("#f-epsilon").fill(epsilon)
        page.locator(".same code").first.filter(has_text=f"--epsilon {epsilon}").wait_for(state="attached")
        page.get_by_role("button", name="Put beside others").click()
        page.locator("#compare td").filter(has_text=f"epsilon {epsilon}").first.wait_for()
    page.get_by_role("button", name="Draw it over").click()
    page.locator(".chart svg").wait_for()


def more_pictures(user: User, base: str) -> None:
    """Attack, a series, history, and a narrow dark page."""
    page = user.page
    page.get_by_role("link", name="Try to break it").click()
    page.get_by_role("button", name=re.compile("^Attack ")).click()
    page.get_by_text("What came of it").wait_for()
    user.picture("attack")
    log = page.url.partition("/attack/")[2].partition("?")[0]
    setting = "method=steered&epsilon=0.5&delta=1e-06&items=keywords"
    dates = "every=week&first=2006-03-06&last=2006-04-02"
    page.goto(f"{base}/publish/{log}?{setting}&{dates}")
    page.get_by_label("Name of the folder").fill("by-week")
    page.get_by_label("I have read the promise").check()
    user.picture("publish-series")
    page.get_by_role("button", name="Charge the budget and publish the series").click()
    page.get_by_role("heading", name=re.compile("weeks are published")).wait_for()
    page.locator(".chart svg").wait_for()
    user.picture("series")
    page.goto(f"{base}/history")
    page.locator(".chart svg").first.wait_for()
    user.picture("history")
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 360, "height": 800})
    page.goto(f"{base}/design/{log}?{setting}")
    page.wait_for_load_state("networkidle")
    page.screenshot(path=SHOTS / "design-narrow-dark.png", full_page=True)


def run(*, here: bool, users: int, pictures: bool, look: Path | None) -> str:
    with tempfile.TemporaryDirectory() as name:
        place, begun = Path(name), time.monotonic()
        program = Path(sys.executable).with_name("queryveil") if here else installed(place)
        install = time.monotonic() - begun
        log = place / "logs" / "log.tsv.gz"
        log.parent.mkdir()
        made = [str(program), "generate", str(log), "--users", str(users)]
        subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
        log.with_name(f"{log.name}.secrets.tsv").unlink()
        with served(program, place, log) as link, sync_playwright() as started:
            chromium = started.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            context = chromium.new_context(viewport=WIDE)
            context.set_default_timeout(PATIENT)
            user = User(context.new_page(), pictures=pictures, look=look)
            way(user, link, log.name)
            page = told(user, install, here=here, users=users)
            if pictures:
                more_pictures(user, link.partition("/open")[0])
            chromium.close()
        return page


def told(user: User, install: float, *, here: bool, users: int) -> str:
    """The page of the evidence."""
    rows = [f"| {step} | {seconds / 60:.1f} | {clicks} |" for step, seconds, clicks in user.steps]
    setting = (
        "the environment that was there"
        if here
        else f"a new environment ({install / 60:.1f} minutes for the wheel and pip)"
    )
    return "\n".join(
        (
            "# A first-time user, scripted",
            "",
            "`benchmarks/first_time_workbench.py` does what a person would who opens the workbench for the first",
            "time: from the opening link to a release that is published, verified and signed. It reads nothing",
            f"and hesitates nowhere, so the minutes are those of the machine. It ran in {setting}, with a log of "
            f"{users:,} users; the load of the "
            f"machine was {os.getloadavg()[0]:.0f} on {os.cpu_count()} processors.",
            "",
            "| step | minutes since the link was opened | clicks so far |",
            "|---|---:|---:|",
            *rows,
            "",
            f"{user.clicks} clicks and {user.fields} fields in all.",
            "",
        )
    )


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--here", action="store_true", help="use this environment and a small log")
    asked.add_argument("--users", type=int, help="users of the log (default: 65,000, or 3,000 with --here)")
    asked.add_argument("--screenshots", action="store_true", help="keep pictures for the documentation")
    asked.add_argument(
        "--look", type=Path, help="a folder for pictures of all pages, at two widths, light and dark"
    )
    asked.add_argument("--write", action="store_true", help="write docs/evidence/first-time-workbench.md")
    given = asked.parse_args()
    SHOTS.mkdir(exist_ok=True)
    if given.look:
        given.look.mkdir(parents=True, exist_ok=True)
    users = given.users or (3_000 if given.here else 65_000)
    page = run(
        here=given.here, users=users, pictures=given.screenshots or given.look is not None, look=given.look
    )
    print(page)
    if given.write:
        (ROOT / "docs" / "evidence" / "first-time-workbench.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
