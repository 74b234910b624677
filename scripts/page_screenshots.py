"""Screenshots of a release's pages, for the documentation: python scripts/page_screenshots.py RELEASE OUT."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright


def main(release: Path, out: Path) -> None:
    pages = {
        "certificate": release / "report.html",
        "curator": release.with_name(f"{release.name}.private") / "report.html",
    }
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for name, file in pages.items():
            if file.is_file():
                page = browser.new_page(viewport={"width": 900, "height": 1270})
                page.goto(file.resolve().as_uri())
                page.screenshot(path=out / f"{name}.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
