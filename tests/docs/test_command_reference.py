"""The option tables of the commands page and the man pages are those that the commands declare."""

from __future__ import annotations

import re
import runpy
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "command_reference.py"))


def test_page_and_manuals_are_current(script: dict[str, Any]) -> None:
    made: dict[Path, str] = script["files"]()
    stale = [file.name for file, text in made.items() if file.read_text(encoding="utf-8") != text]
    assert stale == [], "run python scripts/command_reference.py --write"
    assert {file for file in made if file.suffix == ".1"} == set((ROOT / "man").glob("*.1"))


def test_a_changed_table_is_written_again(script: dict[str, Any]) -> None:
    current = script["PAGE"].read_text(encoding="utf-8")
    row = next(line for line in current.splitlines() if line.startswith("| `--false-alarm"))
    assert script["page"](current.replace(row, "| `--false-alarm` | other |")) == current


@pytest.mark.parametrize("wrong", ["", "queryveil nothing"])
def test_a_missing_or_unknown_table_is_refused(script: dict[str, Any], wrong: str) -> None:
    current = script["PAGE"].read_text(encoding="utf-8")
    marker = "<!-- options: queryveil demo -->"
    other = f"<!-- options: {wrong} -->" if wrong else "<!-- -->"
    with pytest.raises(SystemExit):
        script["page"](current.replace(marker, other))


def all_flags(entry: Any) -> set[str]:
    own = {flag for one in entry.options for flag in (*one.opts, *one.secondary_opts)}
    return own.union(*(all_flags(part) for part in entry.parts)) if entry.path else own


def test_each_section_has_its_own_table_and_remarks_on_its_options(script: dict[str, Any]) -> None:
    page = script["PAGE"].read_text(encoding="utf-8").partition(f"## {script['READING_HEADING']}")[0]
    entries = {entry.name: entry for entry in script["leaves"](script["commands"]())}
    parts = re.split(r"^## `(queryveil[^`]*)`$", page, flags=re.MULTILINE)
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        tables = re.findall(r"<!-- options: (queryveil[^>]*?) -->", text)
        assert tables == ([name] if name in entries else []), name
        if name in entries:
            assert set(re.findall(r"^- `(--?[\w-]+)", text, re.MULTILINE)) <= all_flags(entries[name]), name


def test_a_manual_has_every_option_of_its_command(script: dict[str, Any]) -> None:
    manuals = script["manuals"]()
    entries = script["commands"]()
    assert len(manuals) == len(entries)

    for entry in entries:
        text = manuals["-".join(("queryveil", *entry.path)) + ".1"].replace("\\-", "-")
        listed = {
            flag
            for line in re.findall(r"^\.B (-.*)$", text, re.MULTILINE)
            for flag in re.findall(r"--?[\w-]+", line)
        }
        assert all_flags(entry) <= listed, entry.name


def test_text_is_escaped_for_roff(script: dict[str, Any]) -> None:
    assert script["roff"](".TH x") == "\\&.TH x" and script["roff"]("'s") == "\\&'s"
    assert script["roff"]("a-b\\c") == "a\\-b\\ec"
