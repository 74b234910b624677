"""What README says about speed is what was measured last."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]


def missing(readme: str) -> list[str]:
    """What must stand in README, by what is kept, and does not: lines of the table, and words behind it."""
    cases: list[dict[str, Any]] = json.loads((ROOT / "docs" / "evidence" / "bench.json").read_text())["cases"]
    found = {(one["case"], one["rows"]): one["seconds_ratio"] for one in cases}
    lines = [
        f"| {rows:,} | {found['zealous queries', rows]:.2f} | {found['steered queries', rows]:.2f} |"
        for rows in (2_000_000, 20_000_000, 100_000_000)
    ]
    lines.append(f"OpenDP with Polars takes {found['OpenDP (Polars)', 2_000_000]:.1f} times as long")
    lines.append(f"PipelineDP's local engine {found['PipelineDP (local)', 2_000_000]:.1f} times")
    text = " ".join(readme.split())
    return [line for line in lines if line not in text]


@pytest.fixture(scope="module")
def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def test_readme_has_the_ratios_that_were_measured(readme: str) -> None:
    assert missing(readme) == []


def test_a_ratio_that_was_not_measured_is_seen(readme: str) -> None:
    assert "| 100,000,000 | 0." in readme
    assert len(missing(readme.replace("| 100,000,000 | 0.", "| 100,000,000 | 1."))) == 1
