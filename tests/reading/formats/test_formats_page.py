"""The page about formats tells what happens: its examples are run, its tables are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from queryveil.reading.columns import ALIASES
from queryveil.reading.formats import FORMATS

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "formats.md").read_text()


def test_examples_print_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
    assert len(examples) == 6
    names: dict[str, object] = {}
    for code, shown in examples:
        exec(code, names)  # noqa: S102 (our own page)
        assert capsys.readouterr().out == shown


def test_tables_list_every_format_and_alias() -> None:
    for name in FORMATS:
        assert f"| `{name}` |" in PAGE
    for column, aliases in ALIASES.items():
        assert f"| {column} | {', '.join(f'`{alias}`' for alias in aliases)} |" in PAGE
