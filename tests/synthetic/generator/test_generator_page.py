"""The page about the generator: its example is run, its tables are those of the code."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from queryveil.synthetic.generator import SETTINGS, LogSettings

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "generator.md").read_text(encoding="utf-8")


def test_the_example_prints_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    examples = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
    assert len(examples) == 1
    for code, shown in examples:
        exec(code, {})  # noqa: S102 (our own page)
        assert capsys.readouterr().out == shown


def test_every_option_is_listed() -> None:
    listed = set(
        re.findall(r"`(\w+)`", "\n".join(line.split("|")[1] for line in PAGE.splitlines() if "|" in line))
    )
    assert {field.name for field in dataclasses.fields(LogSettings)} <= listed


def test_the_fixed_settings_are_those_of_the_code() -> None:
    three = [SETTINGS[name] for name in ("small", "medium", "large")]
    for label, name in (("users", "users"), ("rows", "rows"), ("planted secrets", "secrets")):
        figures = " | ".join(f"{getattr(setting, f'total_{name}'):,}" for setting in three)
        assert f"| {label} | {figures} |" in PAGE
