"""A guarantee in a terminal, in a notebook and as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from queryveil.charts.cards import Card, Shown
from queryveil.errors import UsageError
from queryveil.privacy.kinds import KIND_IN_WORDS
from queryveil.privacy.strength import percent

if TYPE_CHECKING:
    from queryveil.charts.pictures import Picture
    from queryveil.privacy.guarantee import Guarantee

_PRIORS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.99)
_SHOWN = (0.01, 0.1, 0.5)


class ShownGuarantee(Shown):
    """How a guarantee shows itself."""

    def _card(self) -> Card:
        return card(cast("Guarantee", self))

    def plot(self) -> Picture:
        """What a suspicion about a person can become once the release is read, beside what it is without it.

        Only differential privacy bounds that: for other guarantees it is a `UsageError`.
        """
        return _belief(cast("Guarantee", self))


def card(guarantee: Guarantee) -> Card:
    numbers = (("epsilon", guarantee.epsilon), ("delta", guarantee.delta), ("k", guarantee.k))
    facts: list[tuple[str, object]] = [("kind", KIND_IN_WORDS[guarantee.kind])]
    facts += [(name, value if name == "k" else f"{value:g}") for name, value in numbers if value is not None]
    if guarantee.private:
        facts.append(("compared", guarantee.compared))
        for prior in _SHOWN:
            facts.append(
                (f"a suspicion of {percent(prior)}", f"rises to {percent(guarantee.believed(prior))} at most")
            )
    facts += [("caveat", one.sentence) for one in guarantee.caveats]
    return Card("Guarantee", guarantee.headline, facts, (guarantee.plain_words(),))


def _belief(guarantee: Guarantee) -> Picture:
    from queryveil.charts import pictures
    from queryveil.charts.svg import Axis, Series

    if not guarantee.private:
        raise UsageError(
            f"'{guarantee.headline}' bounds no suspicion, so there is nothing to draw",
            "choose a method with differential privacy, such as queryveil.Steered",
        )
    after = [(prior, guarantee.believed(prior)) for prior in _PRIORS]
    title = f"A suspicion of 10 % rises to {percent(guarantee.believed(0.1))} at most"
    return pictures.curves(
        title,
        [
            Series("after reading the release, at most", after),
            Series("without it", [(one, one) for one in _PRIORS]),
        ],
        Axis("suspicion before", top=1.0, percent=True),
        Axis("suspicion after", top=1.0, percent=True),
    )
