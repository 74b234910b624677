"""The page of repairs has a row for every finding, and names tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "evidence" / "repairs.md").read_text(encoding="utf-8")
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if re.match(r"\| \d+ \|", line)
]


def functions(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}


def test_every_finding_has_a_row() -> None:
    assert [int(row[0]) for row in ROWS] == sorted({int(row[0]) for row in ROWS})
    assert {int(row[0]) for row in ROWS} == set(range(1, 35))
    assert all(len(row) == 6 and all(row) for row in ROWS)


def test_every_test_that_is_named_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", PAGE)
    assert len(named) > len(ROWS)
    for file, function in named:
        assert (ROOT / file).is_file(), file
        assert not function or function in functions(ROOT / file), function


def test_every_commit_is_named_by_its_digits() -> None:
    assert all(re.fullmatch(r"[0-9a-f]{7}( [0-9a-f]{7})*", row[5]) for row in ROWS)
