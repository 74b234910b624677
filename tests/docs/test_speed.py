"""Benchmarks cover every method and format, and pages state the figures that were measured last."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import queryveil as qv
from queryveil.reading.formats import FORMATS

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def _benchmarks() -> Iterator[None]:
    sys.path.insert(0, str(ROOT / "benchmarks"))
    try:
        yield
    finally:
        sys.path.remove(str(ROOT / "benchmarks"))


@pytest.mark.usefixtures("_benchmarks")
def test_pages_state_the_figures_that_were_measured() -> None:
    bench = importlib.import_module("bench")
    readme = bench.README.read_text(encoding="utf-8")
    found = json.loads((bench.EVIDENCE / "bench.json").read_text(encoding="utf-8"))
    assert bench.with_headline(readme, found["cases"]) == readme
    assert bench.page(found) == (bench.EVIDENCE / "bench.md").read_text(encoding="utf-8")
    others = [one | {"seconds_ratio": one["seconds_ratio"] + 1} for one in found["cases"]]
    assert bench.with_headline(readme, others) != readme


@pytest.mark.usefixtures("_benchmarks")
def test_figures_that_readme_needs_are_required_before_anything_is_measured() -> None:
    bench = importlib.import_module("bench")
    readme, cases = bench.README.read_text(encoding="utf-8"), bench.headline_cases()
    bench.require_headline(readme, cases)
    with pytest.raises(SystemExit):
        bench.require_headline(readme.replace("<!-- speed -->", ""), cases)
    with pytest.raises(SystemExit):
        bench.require_headline(readme, cases - {("zealous queries", 20_000_000)})


@pytest.mark.usefixtures("_benchmarks")
def test_every_method_has_a_ratio() -> None:
    cases = importlib.import_module("bench").CASES
    assert {case.method for case in cases.values()} == set(qv.MECHANISMS)


@pytest.mark.usefixtures("_benchmarks")
def test_every_format_has_a_ratio_to_a_reader_that_does_the_same_job(tmp_path: Path) -> None:
    reading = importlib.import_module("reading")
    samples = {file.name for file in reading.SAMPLES.iterdir()}
    files = reading.sources(tmp_path, reading.generated(tmp_path, 300, 1))
    assert set(files) == set(FORMATS)
    for name, (file, reader, options) in files.items():
        others = {who: run() for who, run in reading.beside(name, file, reader).items()}
        same_job = {rows for who, rows in others.items() if who not in reading.LESS}
        staged = reading.read_by_us(file, name, options)
        assert staged > 0, name
        assert (same_job and max(same_job) > 0) or file.name in samples, name
