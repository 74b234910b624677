"""Every study has a page: what the paper found, what is found here, and its figures."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import queryveil_lab as lab

ROOT = Path(__file__).parents[3]
PAGES = ROOT / "lab" / "docs" / "studies"


@pytest.mark.parametrize("name", lab.STUDIES)
def test_a_study_has_a_page(name: str) -> None:
    page = (PAGES / f"{name}.md").read_text()
    assert f"--study {name}" in page, "the command"
    told = re.search(r"\*\*The papers?\*\*", page) and "**Here**" in page
    judged = re.search(r"\*\*(?:agrees?|differs?)\*\*", page, re.IGNORECASE)
    assert told or judged, "what the paper found, and whether it is so here"
    shown = re.findall(r"!\[[^\]]+\]\(([^)]+\.png)\)", page)
    assert any(file.startswith(name) for file in shown), "a figure of its own"
    assert all((PAGES / file).is_file() for file in shown)
    assert f"({name}.md)" in (PAGES / "index.md").read_text()
    assert f"studies/{name}.md" in (ROOT / "lab" / "mkdocs.yml").read_text()


def test_every_figure_is_shown() -> None:
    pages = "".join(page.read_text() for page in PAGES.glob("*.md"))
    assert not [file.name for file in PAGES.glob("*.png") if f"({file.name})" not in pages]
