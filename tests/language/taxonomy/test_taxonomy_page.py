"""The page about taxonomies: its examples are run, its errors are the real ones, its names exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import queryveil as qv

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "reference" / "taxonomy.md").read_text(encoding="utf-8")


def test_the_examples_print_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
    assert len(examples) == 2
    names: dict[str, object] = {}
    for code, shown in examples:
        exec(code, names)  # noqa: S102 (our own page)
        assert capsys.readouterr().out == shown


def test_the_page_lists_what_a_taxonomy_has() -> None:
    table = PAGE[PAGE.index("| `Taxonomy` |") : PAGE.index("## Your own taxonomy")]
    first = " ".join(line.split("|")[1] for line in table.splitlines() if line.startswith("|"))
    listed = set(re.findall(r"`(?:Taxonomy\.)?(\w+)", first)) - {"Taxonomy"}
    public = {
        name
        for name in {*vars(qv.Taxonomy), *qv.Taxonomy.__dataclass_fields__}
        if not name.startswith("_") and name != "lexicon"
    }
    assert listed == public


def test_the_errors_on_the_page_are_tested() -> None:
    shown = re.findall(r"^\| [^|]* \| `([^|]*(?:taxonomy)[^|]*)` \|$", PAGE, re.MULTILINE)
    tested = (Path(__file__).parent / "test_taxonomy.py").read_text(encoding="utf-8")
    assert len(shown) == 6
    assert [message for message in shown if f'"{message}"' not in tested] == []
