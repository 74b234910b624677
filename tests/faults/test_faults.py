"""One fault a run: no partial release, at most one charge, nothing of the log left behind, one sentence."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.faults import driver
from tests.faults.driver import Outcome, Place

ROOT = Path(__file__).parent.parent.parent
POINTS = 12


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """In a process of its own, which has no threads when it forks. `benchmarks/faults.py` strikes more often."""
    folder = tmp_path_factory.mktemp("faults")
    words = ["-m", "tests.faults.driver", str(folder), "--points", str(POINTS), "--writers", "4"]
    done = subprocess.run([sys.executable, *words], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_no_fault_does_harm(outcomes: list[dict[str, Any]]) -> None:
    assert [one for one in outcomes if one["wrong"]] == []


def test_too_few_descriptors_are_refused_before_an_engine_meets_them(outcomes: list[dict[str, Any]]) -> None:
    found = [(one["code"], one["said"]) for one in outcomes if one["fault"] == "few descriptors"]
    assert [code for code, _ in found] == [5, 5, 0]
    assert "may open 8, and needs 32 or more; raise the limit of open files" in found[0][1]


def test_every_stage_is_struck(outcomes: list[dict[str, Any]]) -> None:
    signals = Counter(one["stage"] for one in outcomes if one["fault"].startswith("SIG"))
    assert set(signals) == set(driver.ROOMS) and sum(signals.values()) >= POINTS
    assert {one["code"] for one in outcomes} >= {0, 3, 6, 130}
    assert {one["charges"] for one in outcomes if one["code"] == 130} == {0, 1}


def test_the_page_of_evidence_says_that_no_run_did_harm() -> None:
    page = (ROOT / "docs" / "evidence" / "faults.md").read_text()
    assert " runs, 0 of them not sound." in page and "## Not sound" not in page
    assert all(f"| {stage} | " in page for stage in driver.ROOMS)


SENTENCE = "Error: interrupted; nothing half-written is left."


@pytest.mark.parametrize(
    ("changes", "wrong"),
    [
        ({}, ""),
        ({"said": f"{SENTENCE}\nTraceback (most recent call last)"}, "a traceback"),
        ({"code": 70}, "exit code 70"),
        ({"said": ""}, "not one sentence"),
        ({"said": f"{SENTENCE} apples"}, "a query is said"),
        ({"charges": 2, "said": f"{SENTENCE} the charge stands"}, "charged 2 times"),
        ({"charges": 1}, "the charge is not said"),
        ({"left": ("scratch/queryveil-1",)}, "left behind: scratch/queryveil-1"),
        ({"code": 0, "said": ""}, "no release, and nothing said"),
    ],
)
def test_harm_is_seen(changes: dict[str, Any], wrong: str, tmp_path: Path) -> None:
    given = {"stage": "read", "fault": "SIGINT", "code": 130, "said": SENTENCE, "release": False}
    found = Outcome(**{**given, "charges": 0, "left": (), **changes})
    assert driver.verdict(found, Place(tmp_path)) == wrong
