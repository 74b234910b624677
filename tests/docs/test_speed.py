"""Benchmarks cover every method and format, and README states the ratios that were measured last."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import queryveil as qv
from queryveil.reading.formats import READERS

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


@pytest.fixture(scope="module")
def _benchmarks() -> Iterator[None]:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        yield
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


@pytest.mark.usefixtures("_benchmarks")
def test_every_method_has_a_ratio() -> None:
    cases = importlib.import_module("bench").CASES
    assert {case.method for case in cases.values()} == set(qv.MECHANISMS)


@pytest.mark.usefixtures("_benchmarks")
def test_every_format_has_a_ratio_to_a_reader_that_does_the_same_job(tmp_path: Path) -> None:
    reading = importlib.import_module("reading")
    files = reading.sources(tmp_path, reading.generated(tmp_path, 300, 1))
    assert set(files) == set(READERS)
    for name, (file, reader, options) in files.items():
        others = {who: run() for who, run in reading.beside(name, file, reader).items()}
        same_job = {rows for who, rows in others.items() if who not in reading.LESS}
        staged = reading.read_by_us(file, name, options)
        assert same_job and max(same_job) > 0 and staged > 0, name
