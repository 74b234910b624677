"""The arithmetic of ZEALOUS: the paper's tables, the discrete thresholds, and exact divergences by enumeration."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import queryveil as qv
from queryveil.mechanisms.zealous import theory

USERS = 500_000


@pytest.mark.parametrize(
    ("scale", "second", "delta", "approximate"),
    [
        (1, 50, "6.6e-16", "7.2e-20"),
        (1, 100, "1.3e-37", "1.4e-41"),
        (1, 150, "2.4e-59", "2.7e-63"),
        (1, 200, "4.7e-81", "5.1e-85"),
        (5, 50, "1.0e+00", "3.1e-04"),
        (5, 100, "3.1e-03", "1.4e-08"),
        (5, 150, "1.4e-07", "6.4e-13"),
        (5, 200, "6.5e-12", "2.9e-17"),
    ],
)
def test_table_1_of_the_paper(scale: float, second: float, delta: str, approximate: str) -> None:
    method = qv.Zealous(
        noise_scale=scale, second_threshold=second, max_items=5, tau=1, guarantee="probabilistic"
    )
    paper = method.plan(users=USERS).calibration["paper"]
    assert f"{paper['delta']:.1e}" == delta
    assert f"{paper['delta_indistinguishable']:.1e}" == approximate
    assert method.plan(users=USERS).guarantee.epsilon == 10 / scale


@pytest.mark.parametrize(
    ("tau", "second"), [(1, 81.1205), (3, 78.7260), (5, 78.6827), (7, 79.3368), (9, 80.3316)]
)
def test_table_2_of_the_paper(tau: int, second: float) -> None:
    plan = qv.Zealous(epsilon=1, delta=1e-3, max_items=2, tau=tau, guarantee="probabilistic").plan(
        users=USERS
    )
    assert round(plan.calibration["paper"]["second_threshold"], 4) == second


def test_the_papers_threshold_is_least_at_four() -> None:
    least = min(range(1, 20), key=lambda tau: theory.paper_threshold(2, 4, USERS, 1e-3, tau))
    plan = qv.Zealous(epsilon=1, delta=1e-3, max_items=2, guarantee="probabilistic").plan(users=USERS)
    assert least == plan.calibration["paper"]["threshold"] == 4


@pytest.mark.parametrize(("m", "epsilon", "tau", "top"), [(5, 2, 1, 106), (5, 2, 5, 102), (2, 1, 4, 79)])
def test_discrete_thresholds(m: int, epsilon: float, tau: int, top: int) -> None:
    plan = qv.Zealous(epsilon=epsilon, delta=1e-3, max_items=m, tau=tau, guarantee="probabilistic").plan(
        users=USERS
    )
    assert plan.calibration["second_threshold"] == top


def test_corollary_1() -> None:
    assert f"{theory.impossibility(10**6, 10, 50, 1)['domain_bound']:.2e}" == "1.04e+29"
    assert f"{(900_000**3) ** 2:.1e}" == "5.3e+35"
    with pytest.raises(qv.UsageError, match=r"1\.04e\+29 possible items"):
        qv.Zealous(epsilon=1, delta=0, max_items=10, tau=50, guarantee="probabilistic")


def test_corollary_1_is_about_the_second_threshold() -> None:
    """The paper's tau* + xi: 79 users where tau is 4. By hand: 1e6/79 (e^79/0.01 + 1) is 2.58e40."""
    method = qv.Zealous(epsilon=1, delta=1e-3, max_items=2, tau=4, guarantee="probabilistic")
    plan = method.plan(users=USERS)
    stated = plan.calibration["pure_dp"]
    assert stated["frequent"] == plan.calibration["second_threshold"] == 79
    assert f"{stated['domain_bound']:.2e}" == "2.58e+40"


PARAMETERS = {
    "m": st.integers(1, 60),
    "epsilon": st.floats(0.01, 20),
    "delta": st.floats(1e-12, 0.9),
    "users": st.integers(1, 10**9),
}


@given(**PARAMETERS)
def test_probabilistic_thresholds_meet_the_conditions_and_no_smaller_one_does(
    m: int, epsilon: float, delta: float, users: int
) -> None:
    made = theory.probabilistic(m, epsilon, delta, users, tau=None, paper=False)
    assert made.epsilon_probabilistic <= epsilon and made.delta_probabilistic(users) <= delta
    for tau in {1, 2, made.tau, made.tau + 1, math.ceil(made.scale)}:
        other = theory.probabilistic(m, epsilon, delta, users, tau=tau, paper=False)
        assert other.top >= made.top, "the chosen first threshold gives the smallest second one"
        less = theory.Setting(m=m, scale=other.scale, tau=tau, top=other.top - 1, replace=True)
        assert less.delta_probabilistic(users) > delta or less.epsilon_probabilistic > epsilon * (1 + 1e-9)


@given(**PARAMETERS)
def test_the_first_threshold_is_the_smallest_that_attains_the_second(
    m: int, epsilon: float, delta: float, users: int
) -> None:
    made = theory.probabilistic(m, epsilon, delta, users, tau=None, paper=False)
    if made.tau > 1:
        before = theory.probabilistic(m, epsilon, delta, users, tau=made.tau - 1, paper=False)
        assert before.top > made.top


@given(**PARAMETERS, replace=st.booleans())
def test_approximate_thresholds_are_smallest(
    m: int, epsilon: float, delta: float, users: int, replace: bool
) -> None:
    made = theory.approximate(m, epsilon, delta, tau=None, replace=replace, paper=False)
    assert made.epsilon_approximate <= epsilon and made.delta_approximate <= delta
    if made.top > made.tau:
        less = theory.Setting(m=m, scale=made.scale, tau=1, top=made.top - 1, replace=replace)
        assert less.delta_approximate > delta


@given(**PARAMETERS, replace=st.booleans())
def test_the_papers_thresholds_hold_for_our_noise(
    m: int, epsilon: float, delta: float, users: int, replace: bool
) -> None:
    made = theory.probabilistic(m, epsilon, delta, users, tau=None, paper=True)
    assert made.delta_probabilistic(users) <= delta and made.epsilon_probabilistic <= epsilon
    assert (
        theory.approximate(m, epsilon, delta, tau=None, replace=replace, paper=True).delta_approximate
        <= delta
    )


# -- exact divergences ------------------------------------------------------------------------------------


def outcomes(count: int, setting: theory.Setting) -> dict[int | None, float]:
    """The exact distribution of what is published of an item of that count."""
    if count < setting.tau:
        return {None: 1.0}
    q = math.exp(-1 / setting.scale)
    reach = int(40 * setting.scale) + 5
    values = {
        value: (1 - q) / (1 + q) * q ** abs(value - count) for value in range(count - reach, count + reach)
    }
    shown: dict[int | None, float] = {
        value: chance for value, chance in values.items() if value > setting.top
    }
    return {**shown, None: 1 - sum(shown.values())}


def excess(before: list[int], after: list[int], setting: theory.Setting, epsilon: float) -> float:
    """max over sets O of P[O] - e^epsilon P'[O], for items that are independent."""
    pairs = []
    for one, other in zip(before, after, strict=True):
        left, right = outcomes(one, setting), outcomes(other, setting)
        pairs.append([(left.get(v, 0.0), right.get(v, 0.0)) for v in left.keys() | right.keys()])
    total = 0.0
    for combination in itertools.product(*pairs):
        p = math.prod(one for one, _ in combination)
        total += max(0.0, p - math.exp(epsilon) * math.prod(other for _, other in combination))
    return total


@pytest.mark.parametrize("scale", [0.7, 2.0, 3.0])
@pytest.mark.parametrize("above", [0, 1, 3, 6])
@pytest.mark.parametrize("tau", [1, 3])
def test_delta_is_the_exact_divergence_for_one_item(scale: float, above: int, tau: int) -> None:
    """Replaced: one item falls, another rises. On both sides of p = 1 - e^(-2/scale); no condition is needed."""
    setting = theory.Setting(m=1, scale=scale, tau=tau, top=tau + above, replace=True)
    counts = sorted({*range(tau - 1, tau + 4), tau + above, tau + above + 1, tau + above + 2})
    worst = max(
        excess([falls, rises], [falls - 1, rises + 1], setting, 2 / scale)
        for falls in counts
        if falls >= 1
        for rises in counts
    )
    assert worst <= setting.delta_approximate * (1 + 1e-9)
    assert worst >= setting.delta_approximate * 0.99, "and no smaller delta holds"


@pytest.mark.parametrize("above", [0, 2, 5])
def test_delta_is_the_exact_divergence_for_two_items_of_a_removed_user(above: int) -> None:
    setting = theory.Setting(m=2, scale=1.5, tau=2, top=2 + above, replace=False)
    counts = range(1, 6 + above)
    worst = max(
        excess(list(before), [one + step for one in before], setting, 2 / 1.5)
        for before in itertools.combinations_with_replacement(counts, 2)
        for step in (-1, 1)
    )
    assert setting.delta_approximate * 0.99 <= worst <= setting.delta_approximate * (1 + 1e-9)


@pytest.mark.parametrize("scale", [1.0, 4.0])
@pytest.mark.parametrize("above", [0, 2, 8, 20])
def test_ratios_outside_the_bad_set_are_within_epsilon(scale: float, above: int) -> None:
    """Theorem 1 for one moved item: every outcome but publishing an item of tau users or fewer."""
    tau = 3
    setting = theory.Setting(m=1, scale=scale, tau=tau, top=tau + above, replace=True)
    per_item = setting.epsilon_probabilistic / 2
    largest = 0.0
    for count, other in itertools.product(range(tau - 1, tau + above + 6), (-1, 1)):
        left, right = outcomes(count, setting), outcomes(count + other, setting)
        for value in left.keys() | right.keys():
            if value is not None and (count <= tau or left.get(value, 0) < 1e-13):
                continue
            if count < tau and count + other < tau:
                continue
            largest = max(largest, abs(math.log(left[value] / right[value])))
    assert largest <= per_item + 1e-9
    assert largest >= per_item * 0.99


@given(st.integers(1, 20), st.floats(0.1, 50), st.integers(0, 30))
def test_accuracy(margin: int, scale: float, above: int) -> None:
    """An item of count T + s is missed with probability at most q^s/(1+q)."""
    setting = theory.Setting(m=1, scale=scale, tau=1, top=1 + above, replace=True)
    q = math.exp(-1 / scale)
    from queryveil.privacy.calibration import tail

    missed = 1 - float(tail(scale, setting.top + 1 - (setting.top + margin)))
    assert missed <= q**margin / (1 + q) + 1e-12
