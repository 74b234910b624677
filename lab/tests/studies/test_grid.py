"""A study of methods over a grid: registered ones, functions of its own, several runs, and intervals over them."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import queryveil as qv
import queryveil_lab as lab
from queryveil.measure.measure import Original, Released
from queryveil.privacy.declarations import USERS
from queryveil_lab.charts.figures import Scale
from queryveil_lab.studies import Axis, Cell, Findings, Metric, grid, shapes
from queryveil_lab.studies.declaration import Interval
from queryveil_lab.studies.drawing import Curves
from queryveil_lab.studies.expectations import Along, Beside, expected, spread
from queryveil_lab.studies.grid import Counted, Entry, Function, Grid, method_axis, row
from tests.conftest import many

QUERIES = ["news", "maps", "rain"]
CALLS: list[tuple[float, int]] = []


def everything(original: Original, cell: Cell, run: int) -> Released:
    """A baseline without any privacy: the log's queries, and in later runs one less."""
    CALLS.append((cell["epsilon"], run))
    queries = QUERIES[: len(QUERIES) - min(run, 1)]
    return Counted("queries", pa.table({"query": queries, "count": [400] * len(queries)}))


def distinct(original: Original, side: Released, cell: Cell, run: int) -> Iterator[dict[str, Any]]:
    ours = original.histogram("queries", side.unit)
    yield row("distinct", int(side.histogram("queries").found_in(ours).sum()), part=cell.values.get("part"))


ZEALOUS = Entry(
    "zealous",
    "zealous",
    {"items": ("queries",), "guarantee": "probabilistic", "delta": 1e-3},
    {"epsilon": "epsilon", "m": "max_items"},
)
BASELINE = Function("everything", everything, axes=("epsilon",))
FIGURE = Curves(
    name="distinct",
    title="Every method over epsilon {epsilon}",
    metric="distinct",
    x=Scale("epsilon", "epsilon"),
    y=Scale("value", "different queries"),
    by="method",
    intervals=True,
)
CHECK = Beside(
    says="the baseline publishes most",
    metric="distinct",
    column="method",
    ours="everything",
    theirs="zealous",
    shape=shapes.above,
    noise=spread("distinct"),
    told="{pair.ours[0]:.1f} against {pair.theirs[0]:.1f}",
)


def made(*methods: Entry | Function, axes: tuple[Axis, ...] = (), **more: Any) -> lab.Study:
    return grid.study(
        Grid(methods, (distinct,), **more),
        name="union",
        question="Which method publishes most?",
        paper="none",
        axes=(method_axis(methods), Axis("epsilon", (1.0, 20.0), "privacy loss per user"), *axes),
        metrics=(Metric("distinct", "queries", "different queries published"),),
        repeats=5,
        figures=(FIGURE,),
        checks=expected(CHECK),
        labels=("part",) if not axes else (),
        needs=(),
    )


@pytest.fixture(scope="module")
def log() -> qv.SearchLog:
    return qv.read(many(400, QUERIES))


def test_functions_are_measured_beside_registered_methods(log: qv.SearchLog, tmp_path: Path) -> None:
    CALLS.clear()
    found = lab.compare(log, made(ZEALOUS, BASELINE), out=tmp_path / "out")
    assert [(epsilon, run) for epsilon in (1.0, 20.0) for run in range(5)] == CALLS
    own = found.findings.where(method="everything", epsilon=1.0)
    assert [one["repeat"] for one in own] == [0, 1, 2, 3, 4]
    assert [one["value"] for one in own] == [3, 2, 2, 2, 2]
    assert {one["mechanism"] for one in found.findings} == {"zealous", "none"}
    drawn = json.dumps(found.study.drawn(found.findings)["distinct"].to_dict())
    assert '"rule"' in drawn and "Every method over epsilon 1, 20" in drawn
    assert [file.name for file in found.figures] == ["distinct.png"]


def test_what_makes_no_difference_to_a_function_is_run_once(log: qv.SearchLog) -> None:
    CALLS.clear()
    still = Function("everything", everything, random=False)
    found = lab.compare(log, made(ZEALOUS, still), repeats=2)
    assert CALLS == [(1.0, 0)]
    assert len(found.findings.where(method="zealous")) == 4


def test_cells_that_differ_in_what_is_measured_share_their_releases(log: qv.SearchLog) -> None:
    for shared, calls in ((True, 2), (False, 4)):
        CALLS.clear()
        part = Axis("part", ("all", "some"), "what is looked at")
        study = made(BASELINE, axes=(part,), further=("part",), shared=shared)
        assert len(lab.compare(log, study, repeats=1).findings) == 4 and len(CALLS) == calls


def test_an_interval_is_students() -> None:
    """By hand: mean 3, standard deviation sqrt(2.5), and 2.776 for four degrees of freedom."""
    one = Interval.of([1.0, 2.0, 3.0, 4.0, 5.0])
    assert one.mean == 3 and one.high == pytest.approx(3 + 2.7764 * (2.5 / 5) ** 0.5, abs=1e-3)
    assert one.low == pytest.approx(6 - one.high)
    assert Interval.of([2.0]) == (2.0, 2.0, 2.0)


def test_a_difference_inside_the_interval_is_chance() -> None:
    def rows(**values: list[float]) -> Findings:
        return Findings(
            tuple(
                {"method": name, "repeat": run, "metric": "distinct", "value": value}
                for name, runs in values.items()
                for run, value in enumerate(runs)
            )
        )

    noise = spread("distinct")
    assert noise(rows(everything=[1.0, 2.0, 3.0, 4.0, 5.0]), {}) == pytest.approx(3.926, abs=1e-3)
    assert noise(rows(everything=[1.0]), {}) == 0
    (check,) = expected(CHECK)(rows(everything=[9.0, 9.5], zealous=[4.0, 4.0]))
    assert check.passes
    (check,) = expected(CHECK)(rows(everything=[3.0, 3.5], zealous=[4.0, 4.0]))
    assert not check.passes, "lower over all, whatever the noise"


def test_the_study_of_the_guide_runs(log: qv.SearchLog, tmp_path: Path) -> None:
    guide = (Path(__file__).parents[3] / "lab" / "docs" / "studies" / "index.md").read_text(encoding="utf-8")
    known = {**vars(grid), "grid": grid, "shapes": shapes, "Metric": Metric, "USERS": USERS}
    known |= {"Curves": Curves, "Scale": Scale, "Along": Along, "expected": expected}
    exec(guide.split("```python\n")[1].split("```")[0], known)  # noqa: S102 (the page's own example)
    found = lab.compare(
        log, known["SET_UNION"], out=tmp_path / "out", vary={"epsilon": [1.0, 50.0]}, repeats=2
    )
    assert found.findings.where(method="top ten").value == len(QUERIES)
    assert (
        len(found.findings.where(method="zealous")) == 4 and len(found.findings.where(method="top ten")) == 1
    )
    assert [check.name for check in found.checks] == ["zealous publishes more with epsilon"]
    drawn = json.dumps(found.study.drawn(found.findings)["distinct"].to_dict())
    assert "zealous publishes" in drawn and "at epsilon 1" in drawn


@pytest.mark.parametrize("name", lab.STUDIES)
def test_every_study_can_go_to_other_processes(name: str) -> None:
    """A lambda in a declaration would make a study run on one core, and say nothing."""
    pickle.dumps(lab.STUDIES[name])
