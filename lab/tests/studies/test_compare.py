"""compare(): the folder is complete or absent, private, safe to open, and an interrupted study goes on."""

from __future__ import annotations

import csv
import dataclasses
import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
import queryveil_lab as lab
from queryveil_lab.studies import Cell, Given
from tests.conftest import at, many

SMALL: dict[str, Any] = {"d": [1, 2, 5], "delta": [1e-3]}
FORMULA, MARKUP = "=1+1", "</script><script>alert(1)</script>"


@pytest.fixture(scope="module")
def log() -> qv.SearchLog:
    """Every query is as frequent as the others, so that it does not matter which one gets which noise."""
    return qv.read(many(300, ["news", "maps", "fear of dogs", "rain"]))


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_study_writes_table_figures_checks_and_page(log: qv.SearchLog, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "out"
    made = lab.compare(log, "release-d", out=out, repeats=2, vary=SMALL)
    assert made.path == out and made.resumed == 0
    assert sorted(path.name for path in out.iterdir()) == [
        "checks.json",
        "figures",
        "index.html",
        "table.csv",
        "table.parquet",
    ]
    assert sorted(path.name for path in (out / "figures").iterdir()) == [
        f"{name}.{ending}" for name in ("distinct", "impressions") for ending in ("html", "png", "svg")
    ]
    table = pq.read_table(out / "table.parquet")
    assert table.equals(made.table)
    assert table.column_names[:2] == ["study", "mechanism"]
    assert table.column_names[-5:] == ["how", "repeat", "metric", "unit", "value"]
    # Two analyses, three bounds; four figures of two releases, and five that are expected.
    assert table.num_rows == 2 * 3 * (2 * 4 + 5)
    with (out / "table.csv").open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert [float(row["value"]) for row in rows] == table["value"].to_pylist()
    facts = json.loads((out / "checks.json").read_text())
    assert facts["axes"]["d"] == [1, 2, 5]
    assert [check["passes"] for check in facts["checks"]] == [check.passes for check in made.checks]


def test_results_of_a_raw_log_are_for_the_curator_alone(log: qv.SearchLog, tmp_path: Path) -> None:
    out = tmp_path / "out"
    lab.compare(log, "release-d", out=out, vary={**SMALL, "d": [1, 2]})
    assert mode(out) == 0o700
    assert {mode(path) for path in out.rglob("*") if path.is_file()} == {0o600}
    assert "curator alone" in (out / "index.html").read_text()
    assert "curator alone" in json.loads((out / "checks.json").read_text())["for"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"], "finished cells are removed at the end"


def broken_after(cells: int) -> tuple[lab.Study, list[Cell]]:
    """release-d, interrupted when so many cells are done, and the cells that it was asked for."""
    real = lab.STUDIES["release-d"]
    asked: list[Cell] = []

    def measure(prepared: Any, given: Given, cell: Cell) -> Iterator[dict[str, Any]]:
        if len(asked) == cells:
            raise KeyboardInterrupt
        asked.append(cell)
        yield from real.measure(prepared, given, cell)

    return dataclasses.replace(real, measure=measure), asked


def test_an_interrupted_study_goes_on_without_repeating(log: qv.SearchLog, tmp_path: Path) -> None:
    out = tmp_path / "out"
    study, before = broken_after(4)
    with pytest.raises(KeyboardInterrupt):
        lab.compare(log, study, out=out, vary=SMALL, repeats=2)
    assert not out.exists()
    assert mode(tmp_path / "out.partial") == 0o700
    study, after = broken_after(100)
    steps: list[tuple[int, int]] = []
    resumed = lab.compare(
        log, study, out=out, vary=SMALL, repeats=2, progress=lambda *step: steps.append(step)
    )
    assert resumed.resumed == 4 and len(before) == 4 and len(after) == 2
    assert not {cell.name for cell in before} & {cell.name for cell in after}
    assert steps == [(4, 6), (5, 6), (6, 6)]
    whole = lab.compare(log, "release-d", vary=SMALL, repeats=2)
    expected = [[row for row in one.findings if row["how"] == "expected"] for one in (resumed, whole)]
    assert expected[0] == expected[1] and resumed.table.num_rows == whole.table.num_rows
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_cells_of_another_run_are_not_mixed_in(log: qv.SearchLog, tmp_path: Path) -> None:
    study, _ = broken_after(1)
    with pytest.raises(KeyboardInterrupt):
        lab.compare(log, study, out=tmp_path / "out", vary=SMALL)
    other = qv.read(many(300, ["news", "maps", "fear of cats", "rain"]))
    for change in ({"repeats": 2}, {"vary": {"d": [1, 2]}}, {"log": other}):
        asked: dict[str, Any] = {"log": log, "vary": SMALL} | change
        with pytest.raises(qv.UsageError, match="finished cells of another"):
            lab.compare(asked.pop("log"), "release-d", out=tmp_path / "out", **asked)
    assert lab.compare(log, "release-d", out=tmp_path / "out", vary=SMALL).resumed == 1


def snapshot(place: Path) -> dict[str, tuple[int, bytes]]:
    return {file.name: (mode(file), file.read_bytes()) for file in place.rglob("*") if file.is_file()}


@pytest.mark.parametrize("about", [None, "{}", "[1]", '{"study": "release-d", "title": "mine"}', "cut"])
def test_a_folder_of_somebody_else_is_refused_and_left_as_it_is(
    log: qv.SearchLog, tmp_path: Path, about: str | None
) -> None:
    theirs = tmp_path / "out.partial"
    (theirs / "deep").mkdir(parents=True)
    (theirs / "deep" / "thesis.txt").write_text("years of work")
    if about is not None:
        (theirs / "about.json").write_text(about)
    before, rights = snapshot(theirs), mode(theirs)
    with pytest.raises(qv.UsageError, match="is not from an earlier run; move it away"):
        lab.compare(log, "release-d", out=tmp_path / "out", vary=SMALL)
    assert (snapshot(theirs), mode(theirs)) == (before, rights)
    assert [path.name for path in tmp_path.iterdir()] == ["out.partial"]


def test_links_and_files_are_no_place_for_finished_cells(log: qv.SearchLog, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "a.partial").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "b.partial").symlink_to(tmp_path / "nowhere")
    (tmp_path / "c.partial").write_text("mine")
    for name in "abc":
        with pytest.raises(qv.UsageError, match="exists already"):
            lab.compare(log, "release-d", out=tmp_path / name, vary=SMALL)
    assert list((tmp_path / "elsewhere").iterdir()) == [] and not (tmp_path / "nowhere").exists()


def test_finished_cells_are_private_in_a_folder_that_was_there(log: qv.SearchLog, tmp_path: Path) -> None:
    kept = tmp_path / "out.partial"
    kept.mkdir()
    (kept / "about.0123abcd.tmp").write_text("{")  # a first run that was killed at its first file
    kept.chmod(0o755)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            lab.compare(log, broken_after(1)[0], out=tmp_path / "out", vary=SMALL)
        assert mode(kept) == 0o700 and {rights for rights, _ in snapshot(kept).values()} == {0o600}
        for file in (kept, *kept.iterdir()):
            file.chmod(0o777)
    assert lab.compare(log, "release-d", out=tmp_path / "out", vary=SMALL).left is None
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_only_its_own_files_are_removed(log: qv.SearchLog, tmp_path: Path) -> None:
    kept = tmp_path / "out.partial"
    with pytest.raises(KeyboardInterrupt):
        lab.compare(log, broken_after(2)[0], out=tmp_path / "out", vary=SMALL)
    (kept / "thesis.txt").write_text("years of work")
    (kept / f"{'0' * 24}.json").write_text("no cell of this study")
    made = lab.compare(log, "release-d", out=tmp_path / "out", vary=SMALL)
    assert made.resumed == 2 and made.left == kept and made.as_dict()["left"] == str(kept)
    assert sorted(path.name for path in kept.iterdir()) == [f"{'0' * 24}.json", "thesis.txt"]


def damaged(rows: list[dict[str, Any]]) -> list[Any]:
    """What a cell's file may hold by accident, none of it a finished cell."""
    row = rows[0]
    wrong = {"study": "g", "d": 99, "delta": "0.001", "how": None, "repeat": 0.5, "metric": 7, "unit": [1]}
    changed = [[row | {name: value}] for name, value in wrong.items()]
    values = [[row | {"value": value}] for value in (None, "1", True, [1], float("nan"), 10**400)]
    short = [{name: value for name, value in row.items() if name != "unit"}]
    return [{"a": 1}, [1], 5, None, "x", [], [[]], [{"study": "g"}], short, [row, 1], *changed, *values]


def test_a_damaged_cell_is_done_again(log: qv.SearchLog, tmp_path: Path) -> None:
    vary: dict[str, list[Any]] = {"d": [1, 2], "delta": [1e-3], "analysis": ["paper"]}
    kept, whole = tmp_path / "out.partial", lab.compare(log, "release-d", vary=vary)
    with pytest.raises(KeyboardInterrupt):
        lab.compare(log, broken_after(1)[0], out=tmp_path / "out", vary=vary)
    [file] = [one for one in kept.iterdir() if one.name != "about.json"]
    good = file.read_text()
    texts = [json.dumps(content) for content in damaged(json.loads(good))]
    for text in (*texts, "", good[:-5], "[" * 100_000, "\x00"):
        file.write_text(text)
        study, asked = broken_after(1)
        with pytest.raises(KeyboardInterrupt):
            lab.compare(log, study, out=tmp_path / "out", vary=vary)
        assert len(asked) == 1 and json.loads(file.read_text()), text[:80]
    made = lab.compare(log, "release-d", out=tmp_path / "out", vary=vary)
    assert made.resumed == 1 and made.table.num_rows == whole.table.num_rows


def test_a_grid_without_end_is_refused(log: qv.SearchLog) -> None:
    vary = {"d": range(1, 3001), "epsilon": range(1, 3001)}
    with pytest.raises(qv.UsageError, match=r"has [0-9,]+,000,000 cells, and 100,000 are the most"):
        lab.compare(log, "release-d", vary=vary)


def test_an_existing_output_is_left_alone(log: qv.SearchLog, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(qv.UsageError, match="exists already"):
        lab.compare(log, "release-d", out=tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
    (tmp_path / "file").write_text("")
    with pytest.raises(qv.OutputError, match="cannot be written"):
        lab.compare(log, "release-d", out=tmp_path / "file" / "out")


def test_hostile_queries_are_safe_in_spreadsheets_and_pages(tmp_path: Path) -> None:
    fears = ["dogs", FORMULA, MARKUP]
    log = qv.read(many(400, [f"fear of {fear}" for fear in fears]))
    made = lab.compare(log, "common-fears", out=tmp_path / "out", repeats=1)
    assert set(made.table["match"].to_pylist()) == set(fears)
    with (tmp_path / "out" / "table.csv").open(newline="") as lines:
        cells = {row["match"] for row in csv.DictReader(lines)}
    assert cells == {"dogs", f"'{FORMULA}", MARKUP}
    for page in (tmp_path / "out").rglob("*.html"):
        assert "<script>alert(1)" not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"study": "release-x"}, "there is no study"),
        ({"repeats": 0}, "'repeats' must be an int"),
        ({"repeats": 100_001}, "from 1 to 100000"),
        ({"repeats": True}, "'repeats' must be an int"),
        ({"vary": {"k": [1]}}, "does not vary 'k'"),
        ({"vary": {"d": []}}, "whole numbers above 0"),
        ({"vary": {"d": ["many"]}}, "whole numbers above 0"),
        ({"vary": {"d": [0]}}, "whole numbers above 0"),
        ({"vary": {"d": [5, 5]}}, "whole numbers above 0"),
        ({"vary": {"epsilon": ["nan"]}}, "numbers above 0"),
        ({"vary": {"analysis": ["loose"]}}, "analysis"),
        ({"log": None}, "needs a log"),
    ],
)
def test_wrong_requests_say_what_is_wrong(log: qv.SearchLog, change: dict[str, Any], said: str) -> None:
    asked: dict[str, Any] = {"log": log, "study": "release-d"} | change
    with pytest.raises(qv.UsageError, match=said) as refused:
        lab.compare(asked.pop("log"), asked.pop("study"), **asked)
    assert refused.value.hint


def test_a_log_without_the_columns_is_refused() -> None:
    timeless = qv.read(pa.table({"user": ["a"], "query": ["news"]}))
    with pytest.raises(qv.InputError, match="'time' column"):
        lab.compare(timeless, "release-d")
    clickless = qv.read(pa.table({"user": ["a"], "query": ["news"], "time": [at(0)]}))
    with pytest.raises(qv.InputError, match="'url' column"):
        lab.compare(clickless, "keyword-generation")
