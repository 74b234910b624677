"""Where concepts are drawn from: one domain for all, or each topic by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from queryveil.errors import UsageError, argument
from queryveil.language.taxonomy import Taxonomy
from queryveil.language.taxonomy.similarity import Domain
from queryveil.language.taxonomy.topics import Topics, root_named
from queryveil.mechanisms.concept_profiles.draws import SQC2, Exponential
from queryveil.mechanisms.concept_profiles.nearness import Nearness, Shares
from queryveil.privacy.noise import Noise

PER_TOPIC = "per-topic"
WORDNET_DOMAIN = "abstraction"
SEPARATOR = ", "
"""Between the labels of a query's concepts."""

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Choice:
    """The domains that phrases are replaced in. A concept belongs to one of them, or is left out."""

    taxonomy: Taxonomy
    samplers: tuple[Exponential, ...]
    labels: tuple[str, ...]
    """The root of each domain."""
    topics: tuple[str, ...] = ()
    """The roots of the topics."""

    @staticmethod
    def of(
        file: str | None,
        domain: str | None,
        topics: Sequence[str] | None,
        criterion: str,
        *,
        tight: bool = False,
    ) -> Choice:
        """The choice that parameters name; that of WordNet is kept."""
        if file is None:
            return _of_wordnet(domain or WORDNET_DOMAIN, tuple(topics or ()), criterion, tight)
        taxonomy = Taxonomy.from_file(Path(file))
        if any(SEPARATOR in name for name in taxonomy.labels(range(len(taxonomy)))):
            raise UsageError(
                "a name in the taxonomy has a comma and a space, which separate the concepts of a query",
                "rename it in the file",
            )
        return _make_choice(taxonomy, domain or taxonomy.label(0), tuple(topics or ()), criterion, tight)

    @property
    def domain(self) -> Domain:
        """The one domain, where there is one for all."""
        return self.samplers[0].domain

    def locate(self, concepts: Numbers) -> tuple[Numbers, Numbers]:
        """Concepts -> which domain, and which place in it; -1 for none."""
        which = np.full(len(concepts), -1, dtype=np.int64)
        places = np.full(len(concepts), -1, dtype=np.int64)
        for number, sampler in enumerate(self.samplers):
            here = sampler.domain.places(concepts)
            which[here >= 0], places[here >= 0] = number, here[here >= 0]
        return which, places

    def draw(self, concepts: Numbers, epsilons: list[Fraction], shares: Numbers, noise: Noise) -> Numbers:
        """For each concept, all of them inside, another one; `shares` says which of the epsilons it has."""
        which, places = self.locate(concepts)
        drawn = np.empty(len(concepts), dtype=np.int64)
        for number, sampler in enumerate(self.samplers):
            here = np.flatnonzero(which == number)
            found = sampler.draw(places[here], epsilons, shares[here], noise)
            drawn[here] = sampler.domain.concepts[found]
        return drawn

    def uniform(self, size: int, noise: Noise) -> Numbers:
        """Concepts of the one domain that depend on nothing."""
        places = noise.below(np.full(size, len(self.domain), dtype=np.int64))
        return self.domain.concepts[places].astype(np.int64)

    @cached_property
    def near(self) -> tuple[Nearness, ...]:
        return tuple(Nearness(sampler) for sampler in self.samplers)

    def shares(self, epsilon: Fraction) -> Shares:
        """How near draws are with so much epsilon, over the concepts of all domains."""
        return Shares.mean((len(one.sampler.domain), one.shares(epsilon)) for one in self.near)

    def calibration(self, epsilon: Fraction) -> dict[str, Any]:
        """Size and sensitivity of each domain, and how near draws are with so much epsilon a phrase."""
        figures: list[dict[str, Any]] = []
        for sampler, near in zip(self.samplers, self.near, strict=True):
            shown: dict[str, Any] = {"concepts": len(sampler.domain), **sampler.calibration()}
            if sampler.tight:
                shown["certificate"] = sampler.certificate(epsilon).as_dict()
            figures.append(shown | near.shares(epsilon).as_dict())
        if len(figures) == 1:
            return figures[0]
        return dict(zip(self.labels, figures, strict=True))


@lru_cache(maxsize=8)
def _of_wordnet(domain: str, topics: tuple[str, ...], criterion: str, tight: bool) -> Choice:
    return _make_choice(Taxonomy.wordnet(), domain, topics, criterion, tight)


def _make_choice(
    taxonomy: Taxonomy, domain: str, names: tuple[str, ...], criterion: str, tight: bool
) -> Choice:
    topics = Topics(taxonomy, names) if names else None
    if domain == PER_TOPIC:
        if topics is None:
            raise UsageError(
                "a domain per topic needs topics", f"name them with {argument('topics', 'disease,sport')}"
            )
        domains = [Domain(taxonomy, topics.concepts(number)) for number in range(len(topics))]
        # Inside of a topic everything is in the same topic.
        samplers = tuple(Exponential(one, criterion, tight=tight) for one in domains)
        return Choice(taxonomy, samplers, topics.labels, topics.labels)
    root = root_named(taxonomy, domain)
    one, label = Domain.below(taxonomy, root), taxonomy.label(root)
    if criterion != SQC2:
        if topics is not None:
            raise UsageError(
                f"topics have no effect on criterion {criterion} in one domain",
                f"leave out {argument('topics')}, or pass {argument('criterion', 'sqc2')} "
                f"or {argument('domain', 'per-topic')}",
            )
        return Choice(taxonomy, (Exponential(one, criterion, tight=tight),), (label,))
    if topics is None:
        raise UsageError(
            "criterion sqc2 needs topics", f"name them with {argument('topics', 'disease,sport')}"
        )
    for top, name in zip(topics.roots, topics.labels, strict=True):
        if one.places(np.array([top]))[0] < 0:
            raise UsageError(
                f"topic '{name}' is outside the domain '{label}'",
                f"choose topics inside the domain, or a wider {argument('domain')}",
            )
    sampler = Exponential(one, criterion, topics.topic_of_concept[one.concepts], tight=tight)
    return Choice(taxonomy, (sampler,), (label,), topics.labels)
