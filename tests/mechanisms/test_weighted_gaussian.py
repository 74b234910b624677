"""Weighted Gaussian selection: its figures, its threshold for any number of items, and what it does at random.

False-alarm rate of the statistical tests: 1e-6 (bits are seeded, so a passing test keeps passing).
"""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import queryveil as qv
from queryveil.mechanisms.selection import gaussian_account, gaussian_rounds, steering
from queryveil.mechanisms.selection.gaussian_account import GRID, Noise, Share
from queryveil.mechanisms.selection.steering import Setting
from queryveil.mechanisms.weighted_gaussian import WeightedGaussian
from queryveil.privacy.draws import EQUAL
from queryveil.verification import gaussian as anew
from tests import copies
from tests.conftest import many


def noise(epsilon: float, delta: float, most: int) -> Noise:
    share = Share(of="queries", weight=1.0, weights=EQUAL, times=most)
    return gaussian_account.open_account(epsilon, delta, (share,), replace=False, p_share=0.5).noise(
        "queries"
    )


def test_the_figures_of_the_literature() -> None:
    shown = WeightedGaussian(epsilon=1, delta=1e-6).plan().calibration
    assert f"{shown['noise_scale'] / GRID:.3f}" == "4.365" and f"{shown['threshold'] / GRID:.2f}" == "23.57"
    assert shown["p"] == 5e-7 and f"{shown['mu']:.6f}" == "0.229087"


@pytest.mark.parametrize("most", [1, 2, 10, 300])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-9), (1, 1e-6), (8, 0.1)])
def test_the_threshold_keeps_back_any_number_of_items(most: int, epsilon: float, delta: float) -> None:
    """By the verifier's own arithmetic, for every number of items up to the bound; 3e-6 of it less does not."""
    given = noise(epsilon, delta, most)
    above = steering.calibrate(given).tau
    draw: dict[str, Any] = {"rows": "log", "weights": EQUAL, "neighbours": "add-remove-one-user", "rounds": 1}
    draw |= {"most": most, "sensitivity": GRID, "scale": given.scale}
    assert anew.p_of(draw | {"above": above}) <= given.p
    assert anew.p_of(draw | {"above": above - math.ceil(3e-6 * above)}) > given.p


@pytest.mark.parametrize("most", [1, 2, 3, 10, 300])
def test_the_weights_of_a_user_have_a_norm_below_the_grid(most: int) -> None:
    """In whole numbers: t items have at most grid / root t each."""
    weight = GRID * GRID // (math.isqrt(most * GRID * GRID) + 1)
    assert most * weight * weight < GRID * GRID and weight * weight * most > 0.99 * GRID * GRID


@pytest.mark.parametrize(("most", "held"), [(1, 1), (10, 1), (10, 10)])
def test_items_of_one_user_are_published_with_probability_p_at_most(most: int, held: int) -> None:
    """Delta is large so that p can be seen. The twin lowers the threshold by half a deviation."""
    given, runs = noise(1, 0.2, most), 60_000 // held
    histories = copies.copies([range(held)], runs)

    def hits(setting: Setting) -> int:
        chosen = gaussian_rounds.select(histories, setting, copies.noise(most + held))
        return len(np.unique(chosen.codes // held))

    setting = steering.calibrate(given)
    assert given.p == 0.1 and copies.at_most(given.p, hits(setting), runs)
    lower = dataclasses.replace(setting, tau=setting.tau - round(0.5 * given.scale))
    assert not copies.at_most(given.p, hits(lower), runs)


def test_candidates_are_what_somebody_holds() -> None:
    """Items that the bound left out have a number, and neither noise nor a chance."""
    given, runs = noise(1, 0.2, 1), 5_000
    histories = copies.copies([[0]], runs, items=20)
    low = dataclasses.replace(given, scale=1_000 * GRID)
    chosen = gaussian_rounds.select(histories, steering.calibrate(low), copies.noise(1))
    assert chosen.codes.size > 0 and (chosen.codes % 20 == 0).all()


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_release_verifies(neighbours: str, tmp_path: Path) -> None:
    """200 users are far above the threshold at epsilon 6: an item is missed with a chance below 1e-9."""
    method = WeightedGaussian(epsilon=6, delta=1e-6, max_items=3, neighbours=neighbours)
    release = qv.publish(qv.read(many(200, ["a", "b"])), method, out=tmp_path / "out", i_understand=True)
    assert sorted(release.tables["items"]["query"].to_pylist()) == ["a", "b"]
    assert qv.verify(tmp_path / "out").passes
    assert method.plan(users=500_000).as_dict() == method.plan().as_dict()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"max_items": 1_001}, "parameter 'max_items' must be"),
        ({"items": "queries,queries"}, "named twice"),
        ({"epsilon": 0}, "parameter 'epsilon' must be"),
    ],
)
def test_wrong_values_are_refused_by_name(given: dict[str, Any], words: str) -> None:
    with pytest.raises(qv.UsageError, match=words) as raised:
        WeightedGaussian(**{"epsilon": 1.0, "delta": 1e-6, **given})
    assert raised.value.hint


@pytest.mark.parametrize(
    ("given", "error"), [({"delta": 1e-300}, qv.UsageError), ({"epsilon": 1e-9}, qv.CannotBeMet)]
)
def test_extremes_are_refused_before_data(given: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error, match=r"use a delta|use an epsilon"):
        WeightedGaussian(**{"epsilon": 1.0, "delta": 1e-6, **given}).plan()
