"""Every method keeps the same items and publishes the same tables for stored rows, a fixed key, and test noise."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import queryveil as qv
from tests.frozen.method_cases import GROUPS, answer
from tests.frozen.store import expected_answer, load_group


@cache
def cases_of(group: str) -> dict[str, Any]:
    return load_group(f"methods/{group}")


def ids() -> Iterator[Any]:
    """Yield every case; nine of ten are left to the full suite."""
    cases = (case_id for group in GROUPS for case_id in cases_of(group))
    for number, case_id in enumerate(cases):
        yield pytest.param(case_id, marks=[pytest.mark.slow] if number % 10 else [])


@pytest.mark.parametrize("case_id", list(ids()))
def test_method_answers_as_frozen(case_id: str, tmp_path: Path) -> None:
    case = cases_of(case_id.partition("/")[0])[case_id]
    assert answer(case, tmp_path) == expected_answer(case_id, case["answer"])


def test_every_method_publishes_something_in_a_frozen_case() -> None:
    tables = [
        (case["method"], table)
        for case in cases_of("published").values()
        for table in case["answer"].get("tables", {}).values()
    ]
    assert {name for name, table in tables if table.get("rows") or table.get("count")} == set(qv.MECHANISMS)
