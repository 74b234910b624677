"""The figures of a certificate: how strong a promise is, and what a suspicion can become."""

from __future__ import annotations

from typing import Final

from queryveil.catalog import Catalog, Sentence
from queryveil.display import slopes
from queryveil.privacy import strength
from queryveil.privacy.guarantee import K_ANONYMITY, Guarantee, limit_holds
from queryveil.release.documents.chances import is_weak

STEPS: Final = ("strong", "moderate", "weak", "none")
"""How much a release promises, from the most to the least; the catalog has the limit of each step."""
_PRIORS = (0.01, 0.1, 0.5)


def strength_of(guarantee: Guarantee) -> str:
    """How much a guarantee promises: `strong`, `moderate`, `weak` or `none`, by limits that the public page states.

    `guarantee`: of a plan, a release, or a whole series.
    """
    if guarantee.kind == K_ANONYMITY:
        return "weak"
    if not guarantee.private or guarantee.exposing or strength.voids(guarantee.between_histories()[1]):
        return "none"
    if guarantee.unit != "user" or is_weak(guarantee):
        return "weak"
    reached = guarantee.guessed_right, guarantee.believed(0.01)
    if strength.within(strength.STRONG, *reached):
        return "strong"
    return "moderate" if strength.within(strength.MODERATE, *reached) else "weak"


def suspicion(guarantee: Guarantee) -> Sentence:
    """What a suspicion of 10 % can become."""
    after = guarantee.believed(0.1)
    if after >= 1:
        return Sentence("certificate.suspicion.certain")
    return Sentence("certificate.suspicion.most", after=after)


def picture(name: str, guarantee: Guarantee, catalog: Catalog) -> str:
    """What suspicions of 1, 10 and 50 % can become, drawn with the words of a catalog."""
    rises = []
    for before in _PRIORS:
        after = guarantee.believed(before)
        said = [catalog.say("number.percent", {"share": share}) for share in (before, after)]
        rises.append(slopes.Rise(before, min(1.0, after), *said))
    figures = {"before": rises[1].before, "after": guarantee.believed(rises[1].before)}
    certain = not guarantee.private or rises[1].after >= 1
    note = limit_holds(guarantee)
    if guarantee.kind == K_ANONYMITY:
        note = Sentence("rise.no-limit")
    pairs = [Sentence("rise.from-to", before=before, after=guarantee.believed(before)) for before in _PRIORS]
    described = "; ".join(map(catalog.text, pairs))
    words = slopes.Words(
        described=catalog.say("rise.described", {"rises": described}),
        **{
            name: catalog.say(f"rise.{name.replace('_', '-')}")
            for name in ("before", "after", "before_reading", "without", "no_release")
        },
    )
    title = catalog.say("rise.can-become" if certain else "rise.at-most", figures)
    return slopes.figure(name, title, rises, words, note=catalog.text(note))
