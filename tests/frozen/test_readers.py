"""Every reader accepts and rejects the rows that it accepted and rejected in version 0.3.0."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.frozen.reader_cases import GROUPS, answer
from tests.frozen.store import expected_answer, load_group


@cache
def cases_of(group: str) -> dict[str, Any]:
    return load_group(f"readers/{group}")


def ids() -> Iterator[Any]:
    """Yield every case; nine of ten are left to the full suite."""
    cases = (case_id for group in GROUPS for case_id in cases_of(group))
    for number, case_id in enumerate(cases):
        yield pytest.param(case_id, marks=[pytest.mark.slow] if number % 10 else [])


@pytest.mark.parametrize("case_id", list(ids()))
def test_reader_answers_as_frozen(case_id: str, tmp_path: Path) -> None:
    case = cases_of(case_id.partition("/")[0])[case_id]
    assert answer(case, tmp_path) == expected_answer(case_id, case["answer"])
