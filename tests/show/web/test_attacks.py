"""Every attack of the table is tried, answered as it must be, and the page says what was answered."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.show.web.attacks import ATTACKS, HEAD, Attack
from tests.show.web.conftest import Starter

PAGE = Path(__file__).parents[3] / "docs" / "evidence" / "web-attacks.md"


@pytest.mark.parametrize("one", ATTACKS, ids=lambda one: one.name)
def test_an_attack_is_answered_as_the_page_says(one: Attack, start: Starter) -> None:
    answer = one.run(start)
    assert re.search(one.expected, answer), answer
    assert f"| {one.name} | {one.tries} | {answer} |" in PAGE.read_text(encoding="utf-8").splitlines()


def test_the_page_has_these_attacks_and_no_others() -> None:
    rows = PAGE.read_text(encoding="utf-8").removeprefix(HEAD).strip().splitlines()
    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == [one.name for one in ATTACKS]
