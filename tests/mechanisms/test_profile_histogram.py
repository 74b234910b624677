"""Profile histograms: noise on every concept, the same number of rows for everyone, a pure guarantee."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

import queryveil as qv
from queryveil.privacy.noise import Noise
from tests.seeded import SeededBits
from tests.semantic_worlds import food_file, history

__all__ = ["food_file"]

FALSE_ALARM = 1e-6
PEOPLE = {"ann": ["apple", "tea and coffee", "veal"], "bob": ["zzyzx"], "kim": [""]}


def test_everyone_has_the_same_number_of_rows(food_file: Path, tmp_path: Path) -> None:
    method = qv.ProfileHistogram(epsilon=1, max_queries=5, taxonomy=str(food_file))
    release = qv.publish(qv.read(history(**PEOPLE)), method, out=tmp_path / "out")
    table = release.tables["log"]
    assert table["user"].to_pylist() == [user for user in range(3) for _ in range(5)]
    assert table["number"].to_pylist() == [0, 1, 2, 3, 4] * 3
    food = qv.Taxonomy.from_file(food_file)
    assert set(table["query"].to_pylist()) <= set(food.labels(range(len(food))))
    assert qv.verify(tmp_path / "out").passes


def test_a_replaced_history_moves_two_counts_per_phrase() -> None:
    plan = qv.ProfileHistogram(epsilon=0.3, max_queries=7).plan()
    scale = plan.calibration["noise_scale"]
    assert Fraction(scale) >= Fraction(14) / Fraction(0.3) and scale == pytest.approx(14 / 0.3)
    promise = plan.guarantee
    assert (promise.kind, promise.epsilon, promise.neighbours) == ("pure-dp", 0.3, "replace-one-user")
    assert promise.composable


def test_a_large_epsilon_gives_the_profile_back_and_the_cap_holds(food_file: Path) -> None:
    method = qv.ProfileHistogram(epsilon=1e6, max_queries=2, taxonomy=str(food_file))
    release = qv.publish(qv.read(history(**{f"u{n}": ["apple", "veal", "tea"] for n in range(20)})), method)
    assert set(release.tables["log"]["query"].to_pylist()) == {"apple", "veal"}


def test_noise_has_the_stated_scale(food_file: Path) -> None:
    """One query per user: it is drawn from positive noisy counts, whose law is simulated with other randomness."""
    method = qv.ProfileHistogram(epsilon=2, max_queries=1, taxonomy=str(food_file))
    users = 20_000
    log = qv.read(history(**{f"u{n}": ["veal"] for n in range(users)}))
    labels = (
        qv.publish(log, method, noise=Noise(SeededBits(3)), i_understand=True)
        .tables["log"]["query"]
        .to_pylist()
    )
    own = labels.count("veal")
    food = qv.Taxonomy.from_file(food_file)

    def expected(scale: float) -> float:
        draw = np.random.default_rng(1)
        q = np.exp(-1 / scale)
        shape = (200_000, len(food))
        counts = draw.geometric(1 - q, shape) - draw.geometric(1 - q, shape)
        counts[:, 0] += 1
        counts = np.maximum(counts, 0)
        counts[counts.sum(axis=1) == 0] = 1
        return float((counts[:, 0] / counts.sum(axis=1)).mean())

    def fit(p: float) -> float:
        hoped = np.array([p, 1 - p]) * users
        return float(chi2.sf(((np.array([own, users - own]) - hoped) ** 2 / hoped).sum(), 1))

    assert fit(expected(method.scale)) > FALSE_ALARM
    assert fit(expected(0.7 * method.scale)) < FALSE_ALARM
    assert fit(expected(1.4 * method.scale)) < FALSE_ALARM


def test_refused() -> None:
    with pytest.raises(qv.UsageError, match="one domain"):
        qv.ProfileHistogram(epsilon=1, max_queries=3, domain="per-topic")
    with pytest.raises(qv.UsageError, match="more than can be drawn"):
        qv.ProfileHistogram(epsilon=1e-6, max_queries=10**6)


def test_that_there_is_a_release_says_nothing_of_anybody(food_file: Path) -> None:
    """Refused without a single concept, a release would say for certain that somebody had one."""
    method = qv.ProfileHistogram(epsilon=1, max_queries=3, taxonomy=str(food_file))
    assert qv.publish(qv.read(history(bob=["zzyzx"])), method).tables["log"].num_rows == 3
