"""Counts of published items after Gaussian selection: whole histories count, and the norm alone bounds a user."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from pyarrow import parquet as pq

import queryveil as qv
from queryveil.count.histories import Histories
from queryveil.mechanisms.steered import Steered
from queryveil.mechanisms.weighted_gaussian import WeightedGaussian
from queryveil.reading.engine.base import Engine
from tests.command import command
from tests.conftest import at, many
from tests.seeded import SeededBits

USERS, QUERIES = 400, ("rain", "snow", "wind")
MADE: dict[str, qv.Mechanism] = {
    "steered": Steered(epsilon=4, delta=1e-6, max_items=1),
    "weighted": WeightedGaussian(epsilon=4, delta=1e-6, max_items=1),
    "graph": qv.ClickGraph(selection="steered", epsilon=4, delta=1e-6, max_queries=1, shares=(100, 0, 0)),
}


class NoNoise(qv.Noise):
    def rounded_normal(self, scale: int, size: int) -> NDArray[np.int64]:
        return np.zeros(size, np.int64)


def log(**given: Any) -> qv.SearchLog:
    """Every user has three queries, one of them twice, and may add one."""
    asked = [*QUERIES, QUERIES[0].upper()]
    table = pa.table(
        {
            "user": [f"u{number}" for number in range(USERS) for _ in asked],
            "time": [at(place) for _ in range(USERS) for place in range(len(asked))],
            "query": asked * USERS,
        }
    )
    return qv.read(table, **given)


def counts(which: str, noise: qv.Noise | None = None, **given: Any) -> dict[str, int]:
    made = qv.publish(
        log(**given),
        MADE[which],
        noise=noise or NoNoise(SeededBits(1)),
        i_understand=True,
        allow_empty=True,
    )
    (table,) = made.tables.values()
    return {row["query"]: row["count"] for row in table.to_pylist()}


@pytest.mark.parametrize("which", MADE)
def test_what_the_bound_left_out_counts_too(which: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each user adds one of three queries to the selection, and is counted for all three, once each.

    The twin counts what was kept: about a third.
    """
    found = counts(which)
    # Rounding of parts loses less than a user.
    assert set(found) == set(QUERIES) and all(abs(one - USERS) <= 1 for one in found.values())

    def kept(self: Histories, texts: pa.Table) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        known = self.texts(np.arange(self.different))["query"].to_pylist()
        places = np.array([texts["query"].to_pylist().index(one) for one in known], np.int32)
        return self.starts, places[self.items]

    monkeypatch.setattr(Histories, "among", kept)
    fewer = counts(which)
    assert sum(fewer.values()) == pytest.approx(USERS, abs=3) and max(fewer.values()) < USERS / 2


@pytest.mark.parametrize("which", ["steered", "graph"])
def test_engines_count_the_same(which: str, spark: Engine) -> None:
    here = counts(which, qv.Noise(SeededBits(3)))
    assert len(here) == len(QUERIES) and here == counts(which, qv.Noise(SeededBits(3)), engine=spark)


@pytest.mark.parametrize("which", MADE)
def test_the_draw_says_that_all_rows_count(which: str) -> None:
    selecting, counting = MADE[which].plan().draws
    assert (selecting.rule, selecting.most) == ("random", 1)
    assert (counting.rule, counting.most) == ("all", None)


@pytest.mark.parametrize("method", ["steered", "weighted-gaussian", "truncated-geometric"])
def test_an_epsilon_at_which_nothing_can_pass_is_exit_5_with_the_smallest_that_could(
    method: str, tmp_path: Any
) -> None:
    source = many(300, ["a"])
    pq.write_table(source, tmp_path / "log.parquet")
    done = command(
        *("publish", method, str(tmp_path / "log.parquet"), "--epsilon", "0.01", "--delta", "1e-6"),
        *("--out", str(tmp_path / "out")),
    )
    assert done.code == 5 and "nothing can be published with epsilon 0.01" in done.err
    assert not (tmp_path / "out").exists()
    told = float(" ".join(done.err.split()).split("epsilon of at least ")[1].split(",")[0])
    cls: Any = {
        "steered": Steered,
        "weighted-gaussian": WeightedGaussian,
        "truncated-geometric": qv.TruncatedGeometric,
    }[method]
    cls(epsilon=told, delta=1e-6).check(qv.read(source))
    with pytest.raises(qv.CannotBeMet):
        cls(epsilon=0.98 * told, delta=1e-6).check(qv.read(source))


@pytest.mark.parametrize(("method", "most"), [("steered", 10**6 + 1), ("weighted-gaussian", 1_001)])
def test_more_items_per_user_than_can_be_held_are_refused(method: str, most: int) -> None:
    done = command("plan", method, "--epsilon", "1", "--delta", "1e-6", "--max-items", str(most))
    assert done.code == 2 and "max_items" in done.err and str(most) in done.err, done.err
