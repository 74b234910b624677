"""Studies of hash inversion have runs: other halves of a log, or logs of other people."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import queryveil as qv
import queryveil_lab as lab
from queryveil_lab.studies import hash_inversion
from queryveil_lab.studies import hashed_halves as halves
from queryveil_lab.studies.declaration import Findings, Given


@pytest.fixture(scope="module")
def log() -> qv.SearchLog:
    users = [f"u{number}" for number in range(60)]
    rows = [(user, f"2006-03-01 10:{number % 60:02}:00", "a query") for number, user in enumerate(users)]
    columns = dict(zip(("user", "time", "query"), map(list, zip(*rows, strict=True)), strict=True))
    return qv.read(pa.table(columns))


def _users(log: qv.SearchLog) -> set[str]:
    return set(log.engine.arrow(log.table.select("user"))["user"].to_pylist())


def test_every_run_splits_all_users_in_its_own_way(log: qv.SearchLog) -> None:
    made = [tuple(map(_users, halves.split(log, run))) for run in range(3)]
    for one, other in made:
        assert one | other == _users(log)
        assert not one & other
    assert made[0] != made[1] != made[2] != made[0]
    assert made[0] == tuple(map(_users, halves.split(log)))


@pytest.mark.parametrize("study", ["hash-inversion", "expansion"])
def test_more_runs_than_splits_are_refused(study: str, log: qv.SearchLog) -> None:
    with pytest.raises(qv.UsageError, match="there are 64 ways; pass repeats=64 or fewer"):
        lab.compare(log, study, repeats=65)


def test_large_vocabularies_are_looked_for_in_one_split() -> None:
    given = Given(log=None, axes={"n": (1_000, 2_000, 4_000)}, repeats=3)
    made: Any = ("first", "second", "third")
    runs = {n: [run for run, _ in halves.in_splits(made, given, n, 2_000)] for n in (1_000, 2_000, 4_000)}
    assert runs == {1_000: [0, 1, 2], 2_000: [0, 1, 2], 4_000: [0]}
    # The smallest is always repeated.
    assert [run for run, _ in halves.in_splits(made, Given(None, {"n": (5_000,)}, 3), 5_000, 2_000)] == [
        0,
        1,
        2,
    ]


def test_a_run_that_is_done_stays_where_it_was() -> None:
    """By hand: one run ends at 0.6 after one update, the other at 0.8 after two, so the mean ends at 0.7."""
    found = Findings(
        tuple(
            {
                "way": "score-greedy",
                "n": 10,
                "metric": halves.BY_ITERATION,
                "repeat": run,
                "at": str(at),
                "value": one,
            }
            for run, line in enumerate([(0.2, 0.6), (0.4, 0.6, 0.8)])
            for at, one in enumerate(line)
        )
    )
    assert hash_inversion.by_iteration(found, "score-greedy", 10) == pytest.approx([0.3, 0.6, 0.7])


def test_a_figure_says_how_often_the_log_was_split() -> None:
    def found(*runs: tuple[int, int]) -> Findings:
        return Findings(tuple({"n": n, "repeat": run} for n, run in runs))

    assert halves.told_splits(found((10, 0), (20, 0))) == "one split"
    assert halves.told_splits(found((10, 0), (10, 1), (20, 0), (20, 1))) == "means of 2 splits"
    assert (
        halves.told_splits(found((10, 0), (10, 1), (20, 0))) == "means of 2 splits up to n = 10, one beyond"
    )


def test_runs_of_gap_have_logs_of_the_next_seeds() -> None:
    def found(seed: int, repeats: int) -> list[float]:
        few: dict[str, list[Any]] = {
            "interval": [6],
            "gap": [1],
            "update": ["score-greedy"],
            "rows": [4_000],
            "n": [40],
            "seed": [seed],
        }
        made = lab.compare(None, "gap", vary=few, repeats=repeats).findings
        return [row["value"] for row in made.where(metric="queries")]

    assert found(1, 2) == [*found(1, 1), *found(2, 1)]
