"""The guarantee as chances: how sure someone can become, in a table that a person can read.

Differential privacy of every kind bounds what a suspicion can become. k-anonymity bounds nothing of the kind from
above: its table says what someone learns at the least.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal

from queryveil.privacy import strength
from queryveil.privacy.guarantee import (
    K_ANONYMITY,
    NONE,
    PRACTICALLY_CERTAIN,
    SO_WEAK,
    Guarantee,
    limit_holds,
    listed,
)

_PRIORS = (0.01, 0.1, 0.5)
_CROWDS = (1, 2, 10, 100)
_OWN_SEARCHES = (
    "The bound limits what this one person's searches add. It holds against an attacker who knows everyone else's "
    "searches, and who has any other data and any computer. It does not limit what the release suggests about people "
    "in general, and so about this person."
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
            tuple((strength.percent(prior), "100 %") for prior in _PRIORS),
        )
    if guarantee.kind == K_ANONYMITY:
        return _of_crowds(guarantee)
    return _of_beliefs(guarantee)


def _of_beliefs(guarantee: Guarantee) -> Chances:
    rows = tuple((strength.percent(prior), strength.percent(guarantee.believed(prior))) for prior in _PRIORS)
    note = f"{limit_holds(guarantee)} {_what_is_bounded(guarantee)}".strip()
    return Chances(
        f"An attacker{_knowing(guarantee)} suspects something about {_subject(guarantee)}, and then reads this "
        "release:",
        ("sure before reading", "sure after reading, at most"),
        rows,
        note,
    )


def _what_is_bounded(guarantee: Guarantee) -> str:
    unit = guarantee.unit
    weak = f"{SO_WEAK} " if is_weak(guarantee) else ""
    if unit == "user":
        return weak + _OWN_SEARCHES
    return (
        f"{weak}The bound limits what this one {unit} adds. It holds against an attacker who knows every other {unit} "
        "in the log, even the same person's, and who has any other data and any computer. It does not limit what "
        f"several {unit}s of a person say together: epsilon counts once for each {unit}, and one {unit} can suggest "
        "another."
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
    return guarantee.exposing or guarantee.believed(0.5) >= PRACTICALLY_CERTAIN


def evenly(guarantee: Guarantee) -> str:
    """What an even chance can become, in a sentence."""
    if guarantee.exposing:
        return f"{SO_WEAK} D{guarantee.of_delta()[1:]}."
    if is_weak(guarantee):
        return SO_WEAK
    every, suspected = "everyone else's searches", "Anna searched for X"
    if guarantee.unit != "user":
        every = f"every other {guarantee.unit} in the log"
        suspected = f"one {guarantee.unit} of Anna's searches is X"
    known = f" and, for each user, {listed(guarantee.disclosed)}" if guarantee.disclosed else ""
    after = strength.percent(guarantee.believed(0.5))
    return (
        f"Suppose an attacker knows {every}{known}, and thinks there is a 50 % chance that {suspected}. After reading "
        f"this release that can rise to at most {after}. {limit_holds(guarantee)}"
    ).rstrip()


def _of_crowds(guarantee: Guarantee) -> Chances:
    k, sure = int(guarantee.k or 0), guarantee.sure_of
    rows = tuple((f"{k * times:,}", _at_least(sure, k * times)) for times in _CROWDS)
    about = "about each person in the group"
    if guarantee.by_majority:
        about = "that each person in the group searched for a certain keyword of the set"
    return Chances(
        f"{guarantee.crowd}. Suppose someone knows that these users all belong to one group of people, such as the "
        f"staff of a company. This table says how sure they can be {about}, at the least:",
        ("people in the group", "sure about each person, at least"),
        rows,
        "There is no upper limit: with other knowledge, someone may be certain.",
    )


def _at_least(some: int, people: int) -> str:
    """A share of 100 from below, never rounded up."""
    exact = Decimal(100 * some) / people
    for digits in (0, 1, 2):
        down = exact.quantize(Decimal(1).scaleb(-digits), ROUND_FLOOR)
        if down and exact - down <= exact / 100:
            break
    return f"{down.normalize():f} %"
