"""What the proofs say about the code exists: conditions, files, and functions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "queryveil"
PROOFS = sorted((ROOT / "docs" / "proofs").glob("*.md"))
RANGE = re.compile(r"(\*\*)?\[[A-Z]\d\](\*\*)? to (\*\*)?\[[A-Z]\d\](\*\*)?( of \[[\w -]+\])?")
LABEL = re.compile(r"\[([A-Z]\d(?:, [A-Z]\d)*)\]")
FILE = re.compile(r"`([\w/]+\.py)`")
FUNCTION = re.compile(r"`([a-z_]\w*)\.([a-z_]\w*)`")


def labels(text: str) -> set[str]:
    """Return the conditions that a text marks one by one; a range such as "[C1] to [C9]" marks none."""
    return {label for found in LABEL.findall(RANGE.sub("", text)) for label in found.split(", ")}


def missing_marks(proof: str, page: str, sources: Iterable[str]) -> set[str]:
    """Return the conditions of a proof that no source naming this proof marks."""
    own = {label for text in sources if f"docs/proofs/{page}" in text for label in labels(text)}
    return labels(proof) - own


@cache
def sources() -> dict[Path, str]:
    return {file: file.read_text(encoding="utf-8") for file in SOURCE.rglob("*.py")}


@cache
def defined_names() -> dict[str, set[str]]:
    """Return the names that modules define, by the module's own name; classes stand for their methods too."""
    found: dict[str, set[str]] = {}
    for file, text in sources().items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.setdefault(file.stem, set()).add(node.name)
            elif isinstance(node, ast.AnnAssign | ast.Assign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = {one.id for one in targets if isinstance(one, ast.Name)}
                found.setdefault(file.stem, set()).update(names)
    return found


@pytest.mark.parametrize("page", PROOFS, ids=lambda page: page.stem)
def test_every_condition_of_a_proof_is_marked_in_the_source(page: Path) -> None:
    assert missing_marks(page.read_text(encoding="utf-8"), page.name, sources().values()) == set()


def test_every_condition_in_the_source_is_on_a_page_that_the_module_names() -> None:
    on_page = {page.name: labels(page.read_text(encoding="utf-8")) for page in PROOFS}
    stray = {}
    for file, text in sources().items():
        named = {name for name in on_page if f"docs/proofs/{name}" in text}
        left = labels(text) - {label for name in named for label in on_page[name]}
        if left:
            stray[str(file.relative_to(SOURCE))] = sorted(left)
    assert stray == {}


@pytest.mark.parametrize("page", PROOFS, ids=lambda page: page.stem)
def test_every_file_that_a_proof_names_exists(page: Path) -> None:
    roots = (ROOT, SOURCE, ROOT / "docs")
    stems = {file.name for folder in (SOURCE, ROOT / "tests") for file in folder.rglob("*.py")}
    named = set(FILE.findall(page.read_text(encoding="utf-8")))
    lost = {
        name
        for name in named
        if not any((root / name).is_file() for root in roots) and ("/" in name or name not in stems)
    }
    assert lost == set()


@pytest.mark.parametrize("page", PROOFS, ids=lambda page: page.stem)
def test_every_function_that_a_proof_names_exists(page: Path) -> None:
    known = defined_names()
    text = FILE.sub("", page.read_text(encoding="utf-8"))
    pairs = {
        (module, name)
        for module, name in FUNCTION.findall(text)
        if module in known and name not in ("parquet", "json", "md")
    }
    assert {f"{module}.{name}" for module, name in pairs if name not in known[module]} == set()


def test_a_missing_condition_is_noticed() -> None:
    proof = (
        "Items count once **[C1]**. Noise is fresh **[C2]**. Labels **[C1]** to **[C3]** stand in the code."
    )
    marked = '"""Rounds: docs/proofs/a.md."""\n# [C1] Each item once.\n'
    assert missing_marks(proof, "a.md", [marked]) == {"C2"}
    assert missing_marks(proof, "b.md", [marked]) == {"C1", "C2"}
    assert missing_marks(proof, "a.md", [marked, "docs/proofs/a.md [C2, C4]"]) == set()
