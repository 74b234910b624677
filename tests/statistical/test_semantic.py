"""The exponential mechanism: exact ratios for all inputs and outputs, and draws that follow the exact distribution.

Every test that draws has a false-alarm rate of about 1e-6 and is shown to fail on a broken twin.
"""

from __future__ import annotations

import dataclasses
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chi2

import queryveil as qv
from queryveil.language.taxonomy.topics import Topics
from queryveil.mechanisms.concept_profiles.draws import CRITERIA, Exponential
from queryveil.privacy.noise import Noise
from tests.seeded import SeededBits
from tests.semantic_worlds import food_file, history, probabilities, sampler, weights

__all__ = ["food_file"]

FALSE_ALARM = 1e-6
EPSILONS = [
    Fraction(1, 1000),
    Fraction(1, 7),
    Fraction(1),
    Fraction(5),
    Fraction(10),
    Fraction(39),
    Fraction(200),
]


def of_food(file: Path, criterion: str, *, tight: bool = False) -> Exponential:
    food = qv.Taxonomy.from_file(file)
    topics = Topics(food, ["fruit", "drink"]).topic_of_concept if criterion == "sqc2" else None
    return sampler(food, "food", criterion, topics, tight=tight)


def worst_log_ratio(one: Exponential, epsilon: Fraction) -> Decimal:
    """ln of the largest P[o | i] / P[o | i'] over all inputs and outputs, from the integers that are drawn by."""
    table = [weights(one, place, epsilon) for place in range(len(one.domain))]
    ratios = [
        Fraction(mine[o] * sum(theirs), theirs[o] * sum(mine))
        for mine in table
        for theirs in table
        for o in range(len(table))
    ]
    with localcontext(prec=60):
        worst = max(ratios)
        return (Decimal(worst.numerator) / Decimal(worst.denominator)).ln()


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_no_output_tells_inputs_apart_by_more_than_epsilon(
    food_file: Path, criterion: str, epsilon: Fraction
) -> None:
    worst = worst_log_ratio(of_food(food_file, criterion), epsilon)
    with localcontext(prec=60):
        allowed = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
        assert 0 < worst <= allowed
        if criterion == "nsqc" and epsilon < 20:
            assert worst > allowed * (1 - Decimal("1e-9")), "all of epsilon is used"


@pytest.mark.parametrize("criterion", ["sqc1", "sqc2"])
@pytest.mark.parametrize("epsilon", EPSILONS, ids=str)
def test_the_largest_exponent_holds_and_is_larger_than_half(
    food_file: Path, criterion: str, epsilon: Fraction
) -> None:
    one = of_food(food_file, criterion, tight=True)
    found = one.certificate(epsilon)
    worst = worst_log_ratio(one, epsilon)
    with localcontext(prec=60):
        allowed = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
        assert worst <= found.log_ratio <= allowed
        assert found.exponent > of_food(food_file, criterion).exponent(epsilon) * Decimal("0.999999")


def test_sums_that_are_forgotten_are_noticed(food_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Exponential, "exponent", lambda one, epsilon: Decimal(float(epsilon)))
    assert worst_log_ratio(of_food(food_file, "sqc1"), Fraction(1)) > 1


@pytest.mark.parametrize("root", ["sport", "skin disease"])
def test_every_concept_looks_like_a_representative(root: str) -> None:
    one = sampler(qv.Taxonomy.wordnet(), root, "sqc1")
    many = len(one.distances)

    def seen(place: int) -> tuple[int, ...]:
        return tuple(np.bincount(one.codes(place), minlength=many).tolist())

    chosen = one.domain.representatives(np.zeros(len(one.domain), dtype=np.int32))
    assert len(chosen) < len(one.domain)
    assert {seen(place) for place in range(len(one.domain))} == {seen(place) for place in chosen}


@pytest.mark.parametrize("criterion", ["sqc1", "sqc2"])
def test_half_the_sensitivity_is_noticed(food_file: Path, criterion: str) -> None:
    one = of_food(food_file, criterion)
    one.distances = [2 * distance for distance in one.distances]
    assert worst_log_ratio(one, Fraction(10)) > 10


def test_the_ratio_holds_in_wordnet_too() -> None:
    one = sampler(qv.Taxonomy.wordnet(), "athletic game", "sqc1", tight=True)
    assert worst_log_ratio(one, Fraction(3)) <= 3
    assert min(min(weights(one, place, Fraction(3))) for place in range(len(one.domain))) > 0


# -- draws -----------------------------------------------------------------------------------------------------


def fit(drawn: np.ndarray, expected: list[Fraction]) -> float:
    counts = np.bincount(drawn, minlength=len(expected))
    hoped = np.array([float(p) for p in expected]) * len(drawn)
    assert hoped.min() > 5
    return float(chi2.sf(((counts - hoped) ** 2 / hoped).sum(), len(expected) - 1))


def drawn_by(one: Exponential, place: int, epsilon: Fraction, size: int, seed: int) -> np.ndarray:
    nothing = np.zeros(size, dtype=np.int64)
    return one.draw(nothing + place, [epsilon], nothing, Noise(SeededBits(seed)))


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("label", ["fruit", "blood orange", "coffee"])
def test_draws_follow_the_exact_distribution(food_file: Path, criterion: str, label: str) -> None:
    one = of_food(food_file, criterion)
    place = int(one.domain.taxonomy.find_concept(label))
    found = drawn_by(one, place, Fraction(4), 400_000, 3)
    assert fit(found, probabilities(one, place, Fraction(4))) > FALSE_ALARM
    for off in (Fraction(10, 7), Fraction(10, 13)):  # a sensitivity that is 30 % too small or too large
        assert fit(found, probabilities(one, place, 4 * off)) < FALSE_ALARM


def test_draws_of_wordnet_follow_the_exact_distribution() -> None:
    one = sampler(qv.Taxonomy.wordnet(), "disease", "sqc1")
    for place in (0, 100, 400):
        found = drawn_by(one, place, Fraction(6), 600_000, place)
        assert fit(found, probabilities(one, place, Fraction(6))) > FALSE_ALARM
        assert fit(found, probabilities(one, place, Fraction(60, 7))) < FALSE_ALARM


def test_draws_with_different_epsilons_do_not_mix(food_file: Path) -> None:
    one = of_food(food_file, "sqc1")
    epsilons = [Fraction(8) / m for m in range(1, 6)]
    which = np.arange(500_000) % 5
    places = (np.arange(500_000) // 5) % 3 + 4
    found = one.draw(places, epsilons, which, Noise(SeededBits(5)))
    for number, epsilon in enumerate(epsilons):
        for place in (4, 5, 6):
            mine = found[(which == number) & (places == place)]
            assert fit(mine, probabilities(one, place, epsilon)) > FALSE_ALARM
    assert fit(found[(which == 0) & (places == 4)], probabilities(one, 4, epsilons[1])) < FALSE_ALARM


# -- the whole mechanism ---------------------------------------------------------------------------------------


def published(method: qv.Semantic, users: int, queries: list[str], seed: int) -> list[str]:
    """The concepts drawn for users who all posed the same queries."""
    log = qv.read(history(**{f"u{user}": queries for user in range(users)}))
    release = qv.publish(log, method, noise=Noise(SeededBits(seed)), i_understand=True)
    return [label for text in release.tables["log"]["query"].to_pylist() for label in text.split(", ")]


def own_share(labels: list[str], own: str) -> float:
    return labels.count(own) / len(labels)


def test_epsilon_is_spread_over_phrases_and_not_over_queries(food_file: Path) -> None:
    # Two queries of two phrases each: four phrases share epsilon. By queries each would have twice as much.
    method = qv.Semantic(epsilon=16, criterion="nsqc", taxonomy=str(food_file))
    labels = published(method, 5_000, ["tea for coffee", "tea with coffee"], 6)
    assert len(labels) == 20_000 and method.per_phrase(4) == 4
    one = sampler(qv.Taxonomy.from_file(food_file), "food", "nsqc")
    place = one.domain.taxonomy.find_concept("tea")
    right, twice = (float(probabilities(one, place, Fraction(e))[place]) for e in (4, 8))
    # Of 10,000 draws for tea and 10,000 for coffee; five standard deviations are a false alarm of 6e-7.
    others = (1 - right) / (len(one.domain) - 1)
    expected = (right + others) / 2
    allowed = 5 * (expected * (1 - expected) / len(labels)) ** 0.5
    assert abs(own_share(labels, "tea") - expected) < allowed
    defect = published(
        dataclasses.replace(method, epsilon=32), 5_000, ["tea for coffee", "tea with coffee"], 7
    )
    assert abs(own_share(defect, "tea") - expected) > allowed and twice > right


def test_padding_is_uniform(food_file: Path) -> None:
    method = qv.Semantic(epsilon=20, max_phrases=2, pad=True, taxonomy=str(food_file), criterion="nsqc")
    log = qv.read(history(**{f"u{user}": ["veal"] for user in range(20_000)}))
    table = qv.publish(log, method, noise=Noise(SeededBits(8)), i_understand=True).tables["log"].to_pandas()
    food = qv.Taxonomy.from_file(food_file)
    names = food.labels(range(len(food)))
    second = table[table["number"] == 1]["query"].map(names.index).to_numpy()
    first = table[table["number"] == 0]["query"].map(names.index).to_numpy()
    even = [Fraction(1, len(names))] * len(names)
    assert fit(second, even) > FALSE_ALARM
    assert fit(first, even) < FALSE_ALARM
