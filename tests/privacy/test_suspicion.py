"""What a suspicion can become under an approximate guarantee, and once the salt is forgotten: exact, on small laws.

docs/proofs/composition.md, "What a suspicion can become".
"""

from __future__ import annotations

import itertools
import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import queryveil as qv
from queryveil.catalog import open_catalog
from queryveil.catalog.numbers import percent
from queryveil.privacy.guarantee import REPLACE, before_to_after
from queryveil.release.documents.certificate import picture
from queryveil.release.documents.chances import chances, evenly

Laws = NDArray[np.float64]
"""The law of the output, a row for each of Anna's histories."""


def some_laws(seed: int, histories: int = 4, outputs: int = 6) -> Laws:
    """Outputs that are close to each other, and rare ones that tell a lot."""
    rng = np.random.default_rng(seed)
    laws = rng.uniform(1, 1.5, (histories, outputs))
    laws[:, -2:] *= rng.choice([1e-4, 1e-3, 1e-2, 0.0], (histories, 2))
    found: Laws = laws / laws.sum(axis=1, keepdims=True)
    return found


def exact_delta(laws: Laws, epsilon: float) -> float:
    """The smallest delta that holds between any two histories."""
    pairs = itertools.permutations(range(len(laws)), 2)
    return max(float(np.maximum(0, laws[a] - math.exp(epsilon) * laws[b]).sum()) for a, b in pairs)


def most_failures(laws: Laws, factor: float, seed: int) -> float:
    """How often, under the worst history, the odds of some set of histories rise by more than the factor."""
    rng = np.random.default_rng(seed)
    worst = 0.0
    for size in range(1, len(laws)):
        for inside in itertools.combinations(range(len(laws)), size):
            outside = [one for one in range(len(laws)) if one not in inside]
            for _ in range(5):
                belief = rng.random(len(laws)) ** 6 + 1e-9
                first = belief[list(inside)] @ laws[list(inside)] / belief[list(inside)].sum()
                second = belief[outside] @ laws[outside] / belief[outside].sum()
                rises = first > factor * second * (1 + 1e-9)
                worst = max(worst, float(laws[:, rises].sum(axis=1).max()))
    return worst


@pytest.mark.parametrize("times", [1.1, 2, 10])
def test_odds_of_every_set_stay_within_the_bound_but_for_a_chance(times: float) -> None:
    """Under every true history, and for every belief; without the part for delta the bound is wrong somewhere."""
    too_narrow = 0
    for seed, epsilon in itertools.product(range(20), (0.3, 0.5)):
        laws = some_laws(seed)
        delta = exact_delta(laws, epsilon)
        assert 0 < delta < 0.1
        chance = times * delta
        assert most_failures(laws, math.exp(epsilon) / (1 - delta / chance), seed) <= chance * (1 + 1e-9)
        too_narrow += most_failures(laws, math.exp(epsilon) * 0.9, seed) > chance
    assert too_narrow, "no law would show a bound that is too small"


def probabilistic(delta: float, implied: float | None) -> qv.Guarantee:
    common = {"epsilon": 1.0, "neighbours": REPLACE}
    smaller = None if implied is None else qv.Guarantee(kind="approximate-dp", delta=implied, **common)  # type: ignore[arg-type]
    return qv.Guarantee(kind="probabilistic-dp", delta=delta, implies=smaller, **common)  # type: ignore[arg-type]


def test_the_example_holds_for_readers_without_the_salt() -> None:
    with_salt = before_to_after(0.01, 1.0)
    assert probabilistic(1e-6, None).believed(0.01) == with_salt
    told = probabilistic(1e-6, 2e-4).believed(0.01)
    assert told / (1 - told) == pytest.approx(math.e / (1 - 0.2) / 99)
    assert with_salt < probabilistic(1e-6, 1e-7).believed(0.01) < with_salt * (1 + 2e-4)
    assert probabilistic(1e-6, 1e-3).believed(0.01) == probabilistic(2e-3, None).believed(0.01) == 1


@pytest.mark.parametrize("kind", ["pure-dp", "probabilistic-dp", "approximate-dp", "gaussian-dp"])
def test_every_kind_states_the_same_limit_and_one_failure_probability(kind: str) -> None:
    """The card, the sentence, the table, and the certificate have one limit; delta adds no second probability."""
    numbers = {"delta": 0.0 if kind == "pure-dp" else 1e-6} | (
        {"mu": 0.2, "p": 4e-7} if kind == "gaussian-dp" else {}
    )
    guarantee = qv.Guarantee(kind=kind, epsilon=1.0, neighbours=REPLACE, **numbers)  # type: ignore[arg-type]
    limits = [percent(guarantee.believed(prior)) for prior in (0.01, 0.1, 0.5)]
    table = chances(guarantee)
    assert [after for _, after in table.rows] == limits
    assert limits[2] in evenly(guarantee) and limits[1] in picture("belief", guarantee, open_catalog())
    assert percent(guarantee.believed(0.01), 20) in guarantee.plain_words()
    for text in (
        guarantee.plain_words(),
        table.note,
        evenly(guarantee),
        picture("belief", guarantee, open_catalog()),
    ):
        assert re.findall(r"1 in [\d,]+(?: million)?|0\.1%", text) == (
            [] if kind == "pure-dp" else ["1 in 1,000"]
        )


def test_a_sum_implies_more_only_if_a_part_does() -> None:
    plain, better = probabilistic(1e-6, None), probabilistic(1e-6, 1e-9)
    assert (plain + plain).implies is None and "at most 7%" in (plain + plain).plain_words()
    total = better + better
    assert total.implies is not None and total.implies.delta == 2e-9
    assert total.believed(0.01) == pytest.approx(before_to_after(0.01, 2.0), rel=2e-3)


def test_without_a_promise_a_suspicion_can_become_certainty() -> None:
    for promise in (qv.Guarantee(kind="none"), qv.Guarantee(kind="k-anonymity", k=5)):
        assert promise.believed(0.01) == 1


def test_an_approximate_guarantee_bounds_a_suspicion_but_for_one_in_a_thousand() -> None:
    """By hand: with delta at half of 1 in 1,000 the odds of 1 to 99 may rise by 2 e^epsilon, here to 4 to 99."""
    numbers: dict[str, Any] = {"kind": "approximate-dp", "neighbours": REPLACE, "epsilon": math.log(2)}
    assert qv.Guarantee(**numbers, delta=1 / 2000).believed(0.01) == pytest.approx(4 / 103)
    assert qv.Guarantee(**numbers, delta=1 / 1000).believed(0.01) == 1


def test_the_page_about_epsilon_states_the_limits_of_reports() -> None:
    page = (Path(__file__).parents[2] / "docs" / "concepts" / "epsilon.md").read_text(encoding="utf-8")
    epsilons = [float(one) for one in re.findall(r"\| epsilon ([\d.]+)", page)]
    rows = re.findall(r"^\| (\d+)% \|(.*)\|$", page, re.MULTILINE)
    assert len(epsilons) == 5 and len(rows) == 3
    for prior, cells in rows:
        for epsilon, cell in zip(epsilons, cells.split("|"), strict=True):
            guarantee = qv.Steered(epsilon=epsilon, delta=1e-6).plan().guarantee
            assert cell.strip() == percent(guarantee.believed(int(prior) / 100))
