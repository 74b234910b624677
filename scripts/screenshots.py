"""Make the pictures of the documentation that show what people see: python scripts/screenshots.py

Cards and plots come from a release of a generated log; a browser without a network draws them. Noise is the system's,
so that numbers in the pictures differ from run to run.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

import queryveil as qv

PLACE = Path(__file__).resolve().parents[1] / "docs" / "assets" / "screens"
_LOOK = (
    "body{font:14px/1.45 sans-serif;margin:16px;width:720px} td,th{padding:2px 10px 2px 0} p{margin:.4em 0}"
)


def shown() -> dict[str, str]:
    """Pages by the name of their picture."""
    with tempfile.TemporaryDirectory() as place:
        qv.generate(Path(place) / "log.tsv.gz", qv.LogSettings(users=3_000, seed=1))
        log = qv.read(Path(place) / "log.tsv.gz")
        release = qv.publish(log, "steered", epsilon=2, delta=1e-6, items="keywords")
        cards = log._repr_html_() + release._repr_html_()
        return {"card-of-a-release": cards, "plot-of-a-guarantee": release.guarantee.plot().svg}


def main() -> int:
    program = shutil.which("chromium")
    if program is None:
        raise SystemExit("chromium is missing: make setup-dev installs it")
    PLACE.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as started:
        browser = started.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": 780, "height": 400})
        page.route("**/*", lambda route: route.abort())
        for name, body in shown().items():
            page.set_content(f"<!DOCTYPE html><meta charset='utf-8'><style>{_LOOK}</style><body>{body}")
            page.locator("body").screenshot(path=PLACE / f"{name}.png")
            sys.stdout.write(f"docs/assets/screens/{name}.png\n")
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
