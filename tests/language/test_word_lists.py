"""Word lists are data: text files with sections, and nothing in them twice or lost on the way."""

from __future__ import annotations

from pathlib import Path

import pytest

import queryveil
from queryveil.data import word_lists

FILES = sorted((Path(queryveil.__file__).parent / "data" / "words").glob("*.txt"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_section_has_entries_without_blanks_at_their_ends(file: Path) -> None:
    sections = word_lists(file.stem)
    assert len(sections) == file.read_text(encoding="utf-8").count("\n[")
    for name, entries in sections.items():
        assert name == name.strip() != ""
        assert all(entry == " ".join(entry.split()) != "" for entry in entries)
        assert all("#" not in entry and "]" not in entry for entry in entries)


@pytest.mark.parametrize("file", ["language", "spotting"])
def test_no_word_is_listed_twice_where_order_says_nothing(file: str) -> None:
    for entries in word_lists(file).values():
        assert len(set(entries)) == len(entries)
