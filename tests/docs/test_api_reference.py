"""The page of names and parameters is made from the code, and leaves nothing out."""

from __future__ import annotations

import inspect
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

import queryveil as qv

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


@pytest.fixture(scope="module")
def made() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "scripts" / "api_reference.py"))


@pytest.fixture(scope="module")
def entries() -> dict[str, str]:
    parts = re.split(
        r"^### `(\w+)`$", (DOCS / "reference" / "api.md").read_text(encoding="utf-8"), flags=re.MULTILINE
    )
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_page_is_current(made: dict[str, Any]) -> None:
    page = (DOCS / "reference" / "api.md").read_text(encoding="utf-8")
    assert page == made["page"](), "run python scripts/api_reference.py --write"


def test_every_public_name_has_every_parameter_with_its_meaning(entries: dict[str, str]) -> None:
    assert set(entries) == set(qv.__all__)
    parameters = 0
    for name, text in entries.items():
        value = getattr(qv, name)
        rows = dict(re.findall(r"^\| `\**(\w+)` \|.*\| ([^|]*) \|$", text, re.MULTILINE))
        assert [one for one, meaning in rows.items() if not meaning.strip()] == [], name
        if not callable(value) or getattr(value, "_is_protocol", False):
            continue
        for one in inspect.signature(value).parameters:
            assert one.startswith("_") or one in rows, f"{name}: {one}"
            parameters += 1
    assert parameters > 500


def test_methods_have_theirs_too(made: dict[str, Any], entries: dict[str, str]) -> None:
    for name in ("Release", "Guarantee", "Ledger", "SearchLog", "Taxonomy", "LinkageAttack", "Steered"):
        for method, function in made["called"](getattr(qv, name)):
            assert f"**`{method}(" in entries[name], f"{name}.{method}"
            for one in inspect.signature(function).parameters:
                assert one in ("self", "cls") or one.startswith("_") or f"`{one}`" in entries[name], (
                    f"{name}.{method}: {one}"
                )


def test_the_table_of_suspicions_is_computed_and_never_rounded_down() -> None:
    page = (DOCS / "concepts" / "epsilon.md").read_text(encoding="utf-8")
    heading = next(line for line in page.splitlines() if line.startswith("| suspicion before"))
    epsilons = [float(one) for one in re.findall(r"epsilon ([\d.]+)", heading)]
    rows = re.findall(r"^\| (\d+)% \|(.*)\|$", page, re.MULTILINE)
    assert len(epsilons) == 5 and len(rows) == 3
    for prior, cells in rows:
        for epsilon, cell in zip(epsilons, cells.split("|"), strict=True):
            guarantee = qv.Steered(epsilon=epsilon, delta=1e-6).plan().guarantee
            exact = 100 * guarantee.believed(int(prior) / 100)
            assert exact <= float(cell.strip(" %")) <= exact + max(0.1, exact / 90)
