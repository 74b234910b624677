"""The guarantee as chances: how sure someone can become, in a table that a person can read.

Differential privacy of every kind bounds what a suspicion can become. k-anonymity bounds nothing of the kind from
above: its table says what someone learns at the least.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from queryveil.catalog import Sentence, term
from queryveil.privacy.guarantee import (
    K_ANONYMITY,
    NONE,
    PRACTICALLY_CERTAIN,
    Guarantee,
    following_limit,
    limit_holds,
    protected_unit,
)

_PRIORS = (0.01, 0.1, 0.5)
_CROWDS = (1, 2, 10, 100)


@dataclass(frozen=True)
class Chances:
    """A table of chances, with the sentence before it and the one after."""

    says: str
    heading: tuple[str, str]
    rows: tuple[tuple[str, str], ...]
    note: str = ""


def chances(guarantee: Guarantee) -> Chances:
    """How sure someone who reads the release can become."""
    if guarantee.kind == K_ANONYMITY:
        return _of_crowds(guarantee)
    rows = tuple((_percent(prior), _percent(guarantee.believed(prior))) for prior in _PRIORS)
    heading = (Sentence("chances.before"), Sentence("chances.after"))
    if guarantee.kind == NONE:
        return Chances(Sentence("chances.none"), heading, rows)
    known = Sentence("chances.known", disclosed=guarantee.disclosed) if guarantee.disclosed else ""
    says = Sentence("chances.user", known=known)
    if guarantee.unit != "user":
        says = Sentence("chances.unit", known=known, unit=term("unit", guarantee.unit))
    return Chances(says, heading, rows, _note(guarantee))


def _percent(share: float) -> Sentence:
    return Sentence("number.percent", share=share)


def _note(guarantee: Guarantee) -> str:
    """What is bounded, and how often the bound holds."""
    note = Sentence("chances.own")
    if guarantee.unit != "user":
        note = Sentence("chances.one-unit", **protected_unit(guarantee))
    if is_weak(guarantee):
        note = Sentence("chances.notes", first=Sentence("bound.so-weak"), rest=note)
    limit = limit_holds(guarantee)
    return Sentence("chances.notes", first=limit, rest=note) if limit else note


def is_weak(guarantee: Guarantee) -> bool:
    """Whether a reader may become practically certain: by epsilon, or because delta alone permits it."""
    if not guarantee.private:
        return False
    return guarantee.exposing or guarantee.believed(0.5) >= PRACTICALLY_CERTAIN


def evenly(guarantee: Guarantee) -> Sentence:
    """What an even chance can become, in a sentence."""
    weak = Sentence("bound.so-weak")
    if guarantee.exposing:
        return Sentence("evenly.exposing", weak=weak, of_delta=guarantee.of_delta())
    if is_weak(guarantee):
        return weak
    said = {
        "known": Sentence("evenly.known", disclosed=guarantee.disclosed) if guarantee.disclosed else "",
        "before": 0.5,
        "after": guarantee.believed(0.5),
        "limit": following_limit(guarantee),
    }
    if guarantee.unit == "user":
        return Sentence("evenly.user", **said)
    return Sentence("evenly.unit", **said, unit=term("unit", guarantee.unit))


def _of_crowds(guarantee: Guarantee) -> Chances:
    k, sure = int(guarantee.k or 0), guarantee.sure_of
    rows = tuple(
        (
            Sentence("number.whole", number=k * times),
            Sentence("chances.crowd.share", share=Fraction(sure, k * times)),
        )
        for times in _CROWDS
    )
    about = Sentence("chances.crowd.keyword" if guarantee.by_majority else "chances.crowd.each")
    return Chances(
        Sentence("chances.crowd", crowd=guarantee.crowd, about=about),
        (Sentence("chances.crowd.people"), Sentence("chances.crowd.sure")),
        rows,
        Sentence("chances.crowd.note"),
    )
