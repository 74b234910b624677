"""The documentation of the lab is run, and names every command, option, and name."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import queryveil as qv
import queryveil_lab as lab
from queryveil.show.cli.commands import COMMANDS, loaded
from tests.docs import test_docs as product
from tests.docs.test_docs import folder

__all__ = ["folder"]

LAB = Path(__file__).parents[2]
DOCS = LAB / "docs"


@pytest.mark.parametrize("page", sorted((DOCS / "how-to").glob("*.md")), ids=lambda page: page.stem)
def test_pages_show_what_happens(page: Path, folder: Path) -> None:
    product.check_page(page, folder)


def sections() -> dict[str, str]:
    found = re.split(
        r"^## `queryveil ([^`]*)`$", (DOCS / "commands.md").read_text("utf-8"), flags=re.MULTILINE
    )
    return dict(zip(found[1::2], found[2::2], strict=True))


def test_every_command_of_the_lab_and_its_options_are_documented() -> None:
    page = sections()
    attacks = loaded("attack").commands
    names: dict[tuple[str, ...], Any] = {("attack", name): attacks[name] for name in qv.ATTACKS.plugins}
    names |= {(name,): loaded(name) for name in COMMANDS.plugins}
    names["audit", "all"] = loaded("audit").commands["all"]
    reading = (LAB.parent / "docs" / "reference" / "commands.md").read_text("utf-8")
    shared = set(re.findall(r"`(--[\w-]+)", reading.partition("## Options for reading a log")[2]))
    assert set(page) == {" ".join(path) for path in names}
    # A group: its methods have the options of `plan` besides.
    names["audit",] = names["audit",].commands["steered"]
    for path, command in names.items():
        text = page[" ".join(path)]
        flags = {one for param in command.params for one in param.opts if one.startswith("--")} - {"--help"}
        known = set(re.findall(r"`(--[\w-]+)", text)) | shared
        if path == ("audit",):
            known |= {flag for one in loaded("plan").commands["steered"].params for flag in one.opts}
        assert flags <= known, f"{path}: {sorted(flags - known)}"


def test_every_public_name_is_documented() -> None:
    page = (DOCS / "python.md").read_text("utf-8")
    assert [name for name in lab.__all__ if not re.search(rf"`{name}\b", page)] == []


def test_every_page_is_in_the_navigation() -> None:
    nav = (LAB / "mkdocs.yml").read_text("utf-8")
    pages = [page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md")]
    assert [page for page in pages if f" {page}\n" not in nav] == []


def test_the_site_is_built(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(words, cwd=LAB, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "studies" / "release-d" / "index.html").read_text("utf-8")
    assert "references.md" not in page
