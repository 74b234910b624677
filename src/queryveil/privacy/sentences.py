"""What a guarantee says to people: sentences, and numbers as people read them."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal, localcontext
from typing import TYPE_CHECKING

from queryveil.privacy import strength
from queryveil.privacy.kinds import (
    BELIEF_FAILS,
    K_ANONYMITY,
    NONE,
    PRACTICALLY_CERTAIN,
)

if TYPE_CHECKING:
    from queryveil.privacy.guarantee import Guarantee


def plain_words(promise: Guarantee) -> str:
    """What an attacker can and cannot learn, in words, with an example in odds."""
    if promise.kind == NONE:
        return (
            "This release promises nothing. Someone who knows a little about a person may recognise that person "
            "in it, and learn everything else that it says about them."
        )
    if promise.kind == K_ANONYMITY:
        members = (
            "A reader may believe that each member did what most of the group did"
            if promise.by_majority
            else "A reader learns that each member did what the whole group did"
        )
        return (
            f"{promise.crowd}. On its own it does not say which of these users it came from. But this does not stop "
            "an attacker who knows more. An attacker who knows what the other users did, or who poses as them, "
            f"can learn what the last one did. {members}."
        )
    beyond = (
        f", beyond what it publishes about every user unchanged ({listed(promise.disclosed)})"
        if promise.disclosed
        else ""
    )
    reader_learns = strength.amount(
        promise.guessed_right,
        promise.believed(0.01),
        promise.between_histories()[1],
        too_large=promise.exposing,
    )
    besides = f" But {promise.of_delta()}." if promise.exposing else ""
    if promise.unit != "user":
        return (
            f"{reader_learns} about any single {promise.unit} of one person's searches{beyond}. "
            f"{_example(promise)} Epsilon counts once for every {promise.unit}. A person with a hundred "
            f"{promise.unit}s is protected only by epsilon {rounded_up(100 * float(promise.epsilon or 0))}, which for "
            f"most purposes is no protection.{besides}"
        )
    return (
        f"{reader_learns} about one person's searches{beyond}. {_example(promise)}{besides} This release does not "
        "hide popular searches, or what they suggest about people in general."
    )


def _example(promise: Guarantee) -> str:
    """The bound as an example: docs/proofs/composition.md, "what a suspicion can become"."""
    # What is published as it is may by itself say what Anna did; the bound is for whoever knows it already.
    known = f" and, for each user, {listed(promise.disclosed)}," if promise.disclosed else ""
    knows, thinks = "everyone else's searches", "Anna searched for X"
    if promise.unit != "user":
        knows = f"every other {promise.unit} in the log"
        thinks = f"one {promise.unit} of Anna's searches is X"
    after = promise.believed(1 / 100)
    most = "practical certainty" if after >= PRACTICALLY_CERTAIN else f"at most {strength.percent(after, 20)}"
    return (
        f"Suppose an attacker knows {knows}{known} and thinks there is a 1 % chance that {thinks}. After reading "
        f"this release that can rise to {most}. {limit_holds(promise)}".rstrip()
    )


def limit_holds(promise: Guarantee) -> str:
    """Return how often the limit on a suspicion holds; empty if it always does."""
    if not promise.private or not promise.delta or promise.believed(0.5) >= PRACTICALLY_CERTAIN:
        return ""
    rare = f"1 in {1 / BELIEF_FAILS:,.0f}"
    return f"At most {rare} releases can exceed this limit, and this figure already includes delta."


def listed(parts: Sequence[str]) -> str:
    """Parts of a sentence one after another: 'a', 'a and b', 'a, b and c'."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def rounded_up(number: float | None, digits: int = 3) -> str:
    """A promised number in few digits, never below what it is."""
    value = Decimal(repr(float(number or 0)))
    if value == 0:
        return "0"
    step = Decimal(1).scaleb(value.adjusted() - digits + 1)
    with localcontext(prec=50):
        shown = (value / step).to_integral_value(ROUND_CEILING) * step
    if 1000 <= shown < 10**15:
        return f"{shown:,.0f}" if shown == shown.to_integral_value() else f"{shown.normalize():,f}"
    return f"{float(shown):.{digits}g}"
