"""The guarantee as chances: how sure someone can become, in a table that a person can read.

Differential privacy bounds what a suspicion can become. Approximate differential privacy bounds how often guesses and
accusations are right, not what one output can do, and so it has a table of its own. k-anonymity bounds nothing of the
kind from above: its table says what someone learns at the least.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

from queryveil.privacy import strength
from queryveil.privacy.guarantee import (
    APPROXIMATE,
    K_ANONYMITY,
    NONE,
    PRACTICALLY_CERTAIN,
    PROBABILISTIC,
    SO_WEAK,
    Guarantee,
    before_to_after,
    listed,
    rounded_up,
)

_PRIORS = (0.01, 0.1, 0.5)
_WRONG = (0.01, 0.1)
_CROWDS = (1, 2, 10, 100)
_NEARLY = Decimal("99.9")
"""What is above it is not told from certainty."""
_SO_WEAK = f"{SO_WEAK[0].upper()}{SO_WEAK[1:]}."
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
    between = guarantee.between_histories()
    return _of_tests(guarantee, between) if guarantee.kind == APPROXIMATE else _of_beliefs(guarantee, between)


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
        f"Someone{_knowing(guarantee)} suspects something about {_subject(guarantee)}, and then reads this release:",
        ("sure before reading", "sure after reading, at most"),
        rows,
        note,
    )


def _of_tests(guarantee: Guarantee, between: tuple[float, float]) -> Chances:
    epsilon, delta = between
    power = math.exp(min(epsilon, 700))
    rows = [
        (
            "guess which of two equally likely histories it is",
            f"{_percent(strength.guessed_right(*between))} of the time",
        )
    ]
    for wrong in _WRONG:
        right = min(1.0, power * wrong + delta, 1 - (1 - wrong - delta) / power)
        rows.append(
            (
                f"accuse people of one of them, {_percent(wrong)} of the innocent too",
                f"{_percent(right)} of the others found",
            )
        )
    return Chances(
        f"Someone{_knowing(guarantee)} tries to find out {_subject(guarantee)}. Two histories are possible. They read "
        "this release:",
        ("what they do", "how often they are right, at most"),
        tuple(rows),
        f"How often is over the randomness of the release; delta, {rounded_up(guarantee.delta)}, is part of it. "
        f"{_what_is_bounded(guarantee)}",
    )


def _what_is_bounded(guarantee: Guarantee) -> str:
    unit = guarantee.unit
    weak = f"{_SO_WEAK} " if is_weak(guarantee) else ""
    if unit == "user":
        return weak + _OWN_SEARCHES
    return (
        f"{weak}The bound is on what this one {unit} adds: it holds for someone who knows every other {unit} in the "
        f"log, also those of the same person, and has any other data and any computer. What several {unit}s of a "
        f"person say together is not bounded by it: epsilon counts once for each of them, and one can be concluded "
        "from others."
    )


def _subject(guarantee: Guarantee) -> str:
    """What the chances are about."""
    return "what one person searched for" if guarantee.unit == "user" else f"one {guarantee.unit} of a person"


def _knowing(guarantee: Guarantee) -> str:
    """What is published as it is can be known for certain, and the chances are those of someone who knows it."""
    if not guarantee.disclosed:
        return ""
    return f" who knows, for each user, {listed(guarantee.disclosed)},"


def is_weak(guarantee: Guarantee) -> bool:
    """Whether a reader may become practically certain: by epsilon, or because delta alone permits it."""
    if not guarantee.private:
        return False
    return guarantee.exposing or strength.guessed_right(*guarantee.between_histories()) >= PRACTICALLY_CERTAIN


def evenly(guarantee: Guarantee) -> str:
    """What an even chance can become, in a sentence."""
    if guarantee.exposing:
        return f"{_SO_WEAK} D{guarantee.of_delta()[1:]}."
    if is_weak(guarantee):
        return _SO_WEAK
    between = guarantee.between_histories()
    every = "what everyone else searched for" if guarantee.unit == "user" else f"every other {guarantee.unit}"
    known = f" and, for each user, {listed(guarantee.disclosed)}" if guarantee.disclosed else ""
    if guarantee.kind == APPROXIMATE:
        return (
            f"Someone who knows {every}{known}, and holds two histories of a person for equally likely, guesses the "
            f"right one at most {_percent(strength.guessed_right(*between))} of the time."
        )
    after = _percent(before_to_after(0.5, between[0]))
    but = (
        f", except with probability {rounded_up(guarantee.delta)}" if guarantee.kind == PROBABILISTIC else ""
    )
    return (
        f"A suspicion of 50 % becomes one of at most {after}{but}: a suspicion about {_subject(guarantee)}, of someone "
        f"who knows {every}{known}."
    )


def _of_crowds(guarantee: Guarantee) -> Chances:
    k, sure = int(guarantee.k or 0), guarantee.sure_of
    rows = tuple((f"{k * times:,}", _at_least(sure, k * times)) for times in _CROWDS)
    about = "about each of these people"
    if guarantee.by_majority:
        about = "of each keyword that each of these people searched for it"
    return Chances(
        f"{guarantee.crowd}. Someone who knows of how many people they must be, such as the staff of one company, is "
        f"then so sure {about}, at the least:",
        ("people it can be", "sure about each of them, at least"),
        rows,
        "No upper limit holds: with other knowledge, someone may be certain.",
    )


def _at_least(some: int, people: int) -> str:
    """A share of 100 from below, never rounded up."""
    exact = Decimal(100 * some) / people
    for digits in (0, 1, 2):
        down = exact.quantize(Decimal(1).scaleb(-digits), ROUND_FLOOR)
        if down and exact - down <= exact / 100:
            break
    return f"{down.normalize():f} %"


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
