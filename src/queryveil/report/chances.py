"""The guarantee as chances: how sure someone can become, in a table that a person can read.

Differential privacy bounds what a suspicion can become. Approximate differential privacy bounds how often guesses and
accusations are right, not what one output can do, and so it has a table of its own. k-anonymity bounds nothing of the
kind from above: its table says what someone learns at the least.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal

from queryveil.guarantee import (
    ADD_REMOVE,
    APPROXIMATE,
    K_ANONYMITY,
    NONE,
    PROBABILISTIC,
    REPLACE,
    Guarantee,
    before_to_after,
    rounded_up,
)

_PRIORS = (0.01, 0.1, 0.5)
_WRONG = (0.01, 0.1)
_CROWDS = (1, 2, 10, 100)
_NEARLY = Decimal("99.99")
_OWN_SEARCHES = (
    "The bound is on what the searches of this one person add: it holds for someone who knows everyone else's, and has "
    "any other data and any computer. What the release says of people in general may be concluded of each of them "
    "besides."
)


@dataclass(frozen=True)
class Chances:
    """A table of chances, with the sentence before it and the one after."""

    says: str
    heading: tuple[str, str]
    rows: tuple[tuple[str, str], ...]
    note: str = ""


def chances(guarantee: Guarantee) -> Chances:
    """How sure someone who reads the release can become."""
    if guarantee.kind == NONE:
        return Chances(
            "Nothing limits how sure someone can become:",
            ("sure before reading", "sure after reading, at most"),
            tuple((_percent(prior), "100 %") for prior in _PRIORS),
        )
    if guarantee.kind == K_ANONYMITY:
        return _of_crowds(guarantee)
    between = _between_histories(guarantee)
    return _of_tests(guarantee, between) if guarantee.kind == APPROXIMATE else _of_beliefs(guarantee, between)


def _between_histories(guarantee: Guarantee) -> tuple[float, float]:
    """Epsilon and delta between two histories of one person, both in the log."""
    if guarantee.neighbours == ADD_REMOVE and guarantee.kind != PROBABILISTIC:
        guarantee = guarantee.against(REPLACE)
    epsilon = float(guarantee.epsilon or 0)
    if not guarantee.replaces:
        epsilon *= 2
    return epsilon, float(guarantee.delta or 0)


def _of_beliefs(guarantee: Guarantee, between: tuple[float, float]) -> Chances:
    epsilon, delta = between
    rows = tuple((_percent(prior), _percent(before_to_after(prior, epsilon))) for prior in _PRIORS)
    note = _what_is_bounded(guarantee)
    if guarantee.kind == PROBABILISTIC:
        note = (
            f"With probability {rounded_up(delta)} at most, the randomness of this release falls so that the bound "
            f"does not hold. {note}"
        )
    return Chances(
        f"Someone suspects something about {_subject(guarantee)}, and then reads this release:",
        ("sure before reading", "sure after reading, at most"),
        rows,
        note,
    )


def _of_tests(guarantee: Guarantee, between: tuple[float, float]) -> Chances:
    epsilon, delta = between
    power = math.exp(min(epsilon, 700))
    rows = [("guess which of two equally likely histories it is", f"{_percent(_coin(between))} of the time")]
    for wrong in _WRONG:
        right = min(1.0, power * wrong + delta, 1 - (1 - wrong - delta) / power)
        rows.append(
            (
                f"accuse people of one of them, {_percent(wrong)} of the innocent too",
                f"{_percent(right)} of the others found",
            )
        )
    return Chances(
        f"Someone tries to find out {_subject(guarantee)}, two histories being possible, and reads this release:",
        ("what they do", "how often they are right, at most"),
        tuple(rows),
        f"How often is over the randomness of the release; delta, {rounded_up(guarantee.delta)}, is part of it. "
        f"{_what_is_bounded(guarantee)}",
    )


def _what_is_bounded(guarantee: Guarantee) -> str:
    unit = guarantee.unit
    if unit == "user":
        return _OWN_SEARCHES
    return (
        f"The bound is on what this one {unit} adds: it holds for someone who knows every other {unit} in the log, "
        f"also those of the same person, and has any other data and any computer. What several {unit}s of a person say "
        "together is not bounded by it: epsilon counts once for each of them, and one can be concluded from others."
    )


def _subject(guarantee: Guarantee) -> str:
    """What the chances are about; what is published as it is can be known for certain."""
    of = "what one person searched for" if guarantee.unit == "user" else f"one {guarantee.unit} of a person"
    return of + (f", {' and '.join(guarantee.disclosed)} being known" if guarantee.disclosed else "")


def _coin(between: tuple[float, float]) -> float:
    """How often a guess between two equally likely histories is right, at most."""
    epsilon, delta = between
    return 0.5 + (math.tanh(epsilon / 2) + 2 * delta / (math.exp(min(epsilon, 700)) + 1)) / 2


def evenly(guarantee: Guarantee) -> str:
    """What an even chance can become, in a sentence."""
    between = _between_histories(guarantee)
    if guarantee.kind == APPROXIMATE:
        return (
            "A guess between two histories of a person that are equally likely, given what everyone else searched for, "
            f"is right at most {_percent(_coin(between))} of the time."
        )
    after = _percent(before_to_after(0.5, between[0]))
    but = (
        f", except with probability {rounded_up(guarantee.delta)}" if guarantee.kind == PROBABILISTIC else ""
    )
    return (
        f"A suspicion of 50 % becomes one of at most {after}{but}: a suspicion about {_subject(guarantee)}, of someone "
        "who knows what everyone else searched for."
    )


def _of_crowds(guarantee: Guarantee) -> Chances:
    k = int(guarantee.k or 0)
    rows = tuple((f"{k * times:,}", _percent(1 / times)) for times in _CROWDS)
    return Chances(
        f"Every published {guarantee.shared} is that of at least {k:,} users. Someone who knows of how many people "
        "they must be, such as the staff of one company, is then so sure about each of these people, at the least:",
        ("people it can be", "sure about each of them, at least"),
        rows,
        "No upper limit holds: with other knowledge, someone may be certain.",
    )


def _percent(share: float) -> str:
    """A share of 100, never rounded down, and never rounded to certainty."""
    if share >= 1:
        return "100 %"
    exact = Decimal(repr(share)) * 100
    for digits in (0, 1, 2):
        up = exact.quantize(Decimal(1).scaleb(-digits), ROUND_CEILING)
        # As few digits as keep it within a hundredth of what it is.
        if up - exact <= exact / 100 and up < 100:
            break
    return "nearly 100 %" if up > _NEARLY else f"{up.normalize():f} %"
