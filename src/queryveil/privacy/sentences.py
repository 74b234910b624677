"""The sentences about a guarantee: what it lets an attacker learn, in words that follow from its numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from queryveil.catalog import Sentence, numbers, term
from queryveil.privacy import strength
from queryveil.privacy.kinds import (
    BELIEF_FAILS,
    GAUSSIAN,
    K_ANONYMITY,
    NONE,
    PRACTICALLY_CERTAIN,
    PROBABILISTIC,
)

if TYPE_CHECKING:
    from queryveil.privacy.guarantee import Guarantee

rounded_up = numbers.round_up
_SUSPICION = 0.01


def headline(promise: Guarantee) -> Sentence:
    """One line: numbers, what is compared, and kind."""
    if promise.kind == NONE:
        return Sentence("headline.none")
    if promise.kind == K_ANONYMITY:
        return Sentence("headline.crowd", k=promise.k)
    return Sentence(
        "headline.private",
        epsilon=promise.epsilon,
        delta=Sentence("headline.delta", delta=promise.delta) if promise.delta else "",
        compared=compared(promise),
        kind=Sentence(f"kind.{promise.kind}"),
        given=Sentence("headline.given", disclosed=promise.disclosed) if promise.disclosed else "",
    )


def part(promise: Guarantee) -> Sentence:
    """As a part of a whole: what it takes of it."""
    if promise.kind != GAUSSIAN:
        return headline(promise)
    return Sentence("headline.part", mu=promise.mu, p=promise.p)


def compared(promise: Guarantee) -> Sentence:
    """Which change of the log the numbers are about."""
    if promise.unit != "user":
        return Sentence("compared.unit", unit=term("unit", promise.unit))
    if promise.neighbours is None:
        return Sentence("compared.user")
    return Sentence("compared.replace" if promise.replaces else "compared.add-remove")


def crowd(promise: Guarantee) -> Sentence:
    """Under k-anonymity: what holds of everything published, in a sentence without its end."""
    shared = term("shared", promise.shared)
    if not promise.by_majority:
        return Sentence("crowd.all", shared=shared, k=promise.k)
    return Sentence("crowd.majority", shared=shared, k=promise.k, most=promise.sure_of)


def plain_words(promise: Guarantee) -> Sentence:
    """What an attacker can and cannot learn, in words, with an example in odds."""
    if promise.kind == NONE:
        return Sentence("plain.none")
    if promise.kind == K_ANONYMITY:
        members = Sentence("plain.crowd.majority" if promise.by_majority else "plain.crowd.all")
        return Sentence("plain.crowd", crowd=crowd(promise), members=members)
    amount = strength.amount(
        promise.guessed_right,
        promise.believed(_SUSPICION),
        promise.between_histories()[1],
        too_large=promise.exposing,
    )
    said = {
        "amount": Sentence(f"amount.{amount}"),
        "beyond": Sentence("plain.beyond", disclosed=promise.disclosed) if promise.disclosed else "",
        "example": _example(promise),
        "besides": Sentence("plain.besides", of_delta=of_delta(promise)) if promise.exposing else "",
    }
    if promise.unit == "user":
        return Sentence("plain.user", **said)
    return Sentence("plain.unit", **said, **units(promise), epsilon=100 * float(promise.epsilon or 0))


def units(promise: Guarantee) -> dict[str, str]:
    """What is protected, as the fields `unit` and `units` of a sentence."""
    return {"unit": term("unit", promise.unit), "units": term("unit", f"{promise.unit}s")}


def _example(promise: Guarantee) -> Sentence:
    """The bound as an example: docs/proofs/composition.md, "what a suspicion can become"."""
    after = promise.believed(_SUSPICION)
    certain = after >= PRACTICALLY_CERTAIN
    said = {
        # What is published as it is may by itself say what Anna did; the bound is for whoever knows it already.
        "known": Sentence("example.known", disclosed=promise.disclosed) if promise.disclosed else "",
        "before": _SUSPICION,
        "most": Sentence("example.certain") if certain else Sentence("example.most", after=after),
        "limit": following_limit(promise),
    }
    if promise.unit == "user":
        return Sentence("example.user", **said)
    return Sentence("example.unit", **said, unit=term("unit", promise.unit))


def limit_holds(promise: Guarantee) -> str:
    """Return how often the limit on a suspicion holds; empty if it always does."""
    if not promise.private or not promise.delta or promise.believed(0.5) >= PRACTICALLY_CERTAIN:
        return ""
    return Sentence("limit.holds", releases=round(1 / BELIEF_FAILS))


def following_limit(promise: Guarantee) -> str:
    """Return `limit_holds` as it follows another sentence."""
    limit = limit_holds(promise)
    return Sentence("limit.follows", limit=limit) if limit else ""


def of_delta(promise: Guarantee, users: int | None = None) -> Sentence:
    """What a delta that is too large permits, as a phrase."""
    delta = float(promise.delta or 0)
    if promise.kind == PROBABILISTIC:
        return Sentence("delta.probabilistic", delta=delta)
    exposed: str = ""
    if users and users * delta >= 1:
        exposed = Sentence("delta.exposed", exposed=min(users, math.ceil(delta * users)), users=users)
    return Sentence("delta.approximate", delta=delta, exposed=exposed)


def after_processing(promise: Guarantee) -> Sentence:
    """What remains however the release is processed further."""
    kept = promise.approximate()
    return Sentence("processing.after", epsilon=kept.epsilon, delta=kept.delta, compared=compared(kept))
