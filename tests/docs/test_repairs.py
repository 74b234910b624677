"""The page of repairs has a row for every defect, and names tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "evidence" / "repairs.md").read_text(encoding="utf-8")
DEFECTS = {"0.3": tuple(range(1, 20)), "0.2": tuple(range(1, 35))}
"""The numbers of the defects of each version."""


def rows_of(version: str) -> list[list[str]]:
    """Return the rows of all tables below the heading of a version."""
    section = PAGE.split(f"\n## Version {version}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if re.match(r"\| \d+ \|", line)]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def functions(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("version", DEFECTS)
def test_every_defect_has_a_row(version: str) -> None:
    rows = rows_of(version)
    assert tuple(int(row[0]) for row in rows) == DEFECTS[version]
    columns = {"0.3": 4, "0.2": 6}[version]
    assert all(len(row) == columns and all(row) for row in rows)
    assert all(re.search(r"`(?:lab/)?tests/", " ".join(row)) for row in rows)


def test_every_test_that_is_named_exists() -> None:
    named = re.findall(r"`((?:lab/)?tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)
    assert len(named) > sum(map(len, DEFECTS.values()))
    for file, function in named:
        assert (ROOT / file).is_file(), file
        assert not function or function in functions(ROOT / file), function


def test_every_commit_is_named_by_its_digits() -> None:
    assert all(re.fullmatch(r"[0-9a-f]{7}( [0-9a-f]{7})*", row[5]) for row in rows_of("0.2"))
