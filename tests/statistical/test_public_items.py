"""Public lists at random: every item has the planned noise, and noise only where somebody is breaks delta.

False-alarm rate of every test: 1e-6 (bits are seeded, so a passing test keeps passing).
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy import stats

import queryveil as qv
from queryveil.mechanisms.selection.count_selection import ListedCounts
from tests.seeded import SeededBits

ALPHA = 1e-6
ITEMS = 40_000
DELTA = 1e-6


@pytest.fixture(scope="module")
def listed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Half of the items have one user each, half have none."""
    file = tmp_path_factory.mktemp("lists") / "items.txt"
    file.write_text("".join(f"item {number}\n" for number in range(2 * ITEMS)))
    return file


METHODS: dict[str, tuple[type[qv.Zealous | qv.TruncatedGeometric | qv.ClickGraph], dict[str, Any]]] = {
    "zealous": (qv.Zealous, {"neighbours": "add-remove"}),
    "truncated": (qv.TruncatedGeometric, {}),
    "graph": (qv.ClickGraph, {"max_queries": 1}),
}


def method(which: str, file: Path) -> qv.Mechanism:
    cls, given = METHODS[which]
    made: qv.Mechanism = cls(epsilon=2, delta=DELTA, public=str(file), public_z=3, **given)
    return made


def published(which: str, file: Path) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Noisy counts of published items that one user has, and of those that nobody has."""
    names = [f"item {number}" for number in range(ITEMS)]
    times = ["2006-03-01 10:00:00"] * ITEMS
    log = qv.read(pa.table({"user": names, "query": names, "time": times}))
    noise = qv.Noise(SeededBits(5))
    made = qv.publish(log, method(which, file), noise=noise, allow_empty=True, i_understand=True)
    table = next(iter(made.tables.values()))
    places = np.array([int(one.split()[1]) for one in table["query"].to_pylist()], dtype=np.int64)
    counts = table["count"].to_numpy()
    return counts[places < ITEMS], counts[places >= ITEMS]


SCALE, ABOVE = 0.5, 2  # add-remove, one item, epsilon 2; three standard deviations of 0.63


def chance(which: str, users: int) -> float:
    """That an item of the list with so many users is published."""
    q = math.exp(-1 / SCALE)
    if which == "truncated":
        # At least three noisy users, where off the list an even chance takes eight: the optimum for five users more.
        even = 8
        return DELTA * (q ** -(even - ABOVE - 1 + users) - 1) / (1 / q - 1)
    return q ** (ABOVE + 1 - users) / (1 + q)


def is_rate(expected: float, hits: int) -> bool:
    return bool(stats.binomtest(hits, ITEMS, expected).pvalue > ALPHA)


def within_guarantee(one: int, nobody: int, epsilon: float = 2.0) -> bool:
    """Is P[published | one user] <= e^epsilon P[published | nobody] + delta possible with these hits?"""
    most = stats.beta.ppf(1 - ALPHA / 2, nobody + 1, ITEMS - nobody)
    return bool(stats.binom.sf(one - 1, ITEMS, min(1.0, math.exp(epsilon) * most + DELTA)) > ALPHA / 2)


@pytest.mark.parametrize("which", METHODS)
def test_the_setting_is_the_planned_one(which: str, listed: Path) -> None:
    (draw,) = method(which, listed).plan().draws
    assert draw.public is not None and (draw.scale, draw.public.above) == (SCALE, ABOVE)


@pytest.mark.parametrize("which", METHODS)
def test_items_of_nobody_are_published_as_often_as_planned(
    which: str, listed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, nobody = published(which, listed)
    assert is_rate(chance(which, 1), len(one)) and is_rate(chance(which, 0), len(nobody))
    assert within_guarantee(len(one), len(nobody))
    # The twin draws noise only for items that somebody has.
    survivors = ListedCounts.survivors

    def only_searched(self: ListedCounts) -> tuple[pa.Table, NDArray[np.int64], NDArray[np.int64]]:
        self.noisy[self.true == 0] = 0
        return survivors(self)

    monkeypatch.setattr(ListedCounts, "survivors", only_searched)
    one, nobody = published(which, listed)
    assert len(nobody) == 0 and is_rate(chance(which, 1), len(one))
    assert not within_guarantee(len(one), len(nobody)), "what one user has shows, far more often than delta"


@pytest.mark.parametrize("which", METHODS)
def test_published_counts_have_the_law_of_the_noise(which: str, listed: Path) -> None:
    """Counts above the threshold, given that they are: geometric, for items of one user and of nobody alike."""
    q = math.exp(-1 / SCALE)

    def fits(counts: NDArray[np.int64], ratio: float) -> bool:
        cells = [int((counts == ABOVE + 1 + step).sum()) for step in range(2)]
        observed = [*cells, len(counts) - sum(cells)]
        expected = len(counts) * np.array([1 - ratio, (1 - ratio) * ratio, ratio**2])
        return bool(stats.chisquare(observed, expected).pvalue > ALPHA)

    for counts in published(which, listed):
        assert fits(counts, q)
        assert not fits(counts, math.exp(-1 / (2.5 * SCALE))), "more noise would be seen"
