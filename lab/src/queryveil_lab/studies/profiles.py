"""What users are interested in, before and after their phrases are replaced: user profiles in four settings.

Profiles are compared where the concepts are drawn, by the mechanisms' own classes: one draw serves several choices of
topics. No log is needed: a population with topical interests is made from the taxonomy. With a log, users of it with
phrases inside the topics are taken instead.
"""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil import (
    CannotBeMet,
    Noise,
    ProfileHistogram,
    SearchLog,
    Semantic,
    Taxonomy,
    profile_counts,
    profile_divergences,
)
from queryveil.language.taxonomy.similarity import Domain
from queryveil.language.taxonomy.topics import Topics, root_named
from queryveil.measure.profiles import SUB_TOPICS
from queryveil.measure.profiles import TOPICS as ROOTS
from queryveil.mechanisms.concept_profiles.domain import WORDNET_DOMAIN, Choice
from queryveil.mechanisms.concept_profiles.draws import NSQC, SQC2, Exponential
from queryveil.mechanisms.concept_profiles.phrases import Phrases, windows
from queryveil_lab.studies import profile_results
from queryveil_lab.studies.declaration import Axis, Cell, Given, Metric, Row, Study
from queryveil_lab.studies.profile_results import (
    CRITERIA,
    DRAWN,
    ERROR,
    HBDP,
    HBDP_PRINTED,
    LOSS,
    NSQC_PRINTED,
    PER_QUERY,
    PER_USER,
)

_FOCUS = 0.3
"""Of the Dirichlet distribution of interests: most of a user's phrases are of three or four of the 19 topics."""
_ANYWHERE = 0.1
"""Share of phrases from anywhere inside the four roots, outside the user's interests too."""
_SPREAD = 0.1
"""Users have up to this share more or fewer phrases than the mean."""

Numbers = npt.NDArray[np.int64]
Key = tuple[str, str, float]


@dataclass(frozen=True)
class Setting:
    """Where concepts are drawn from, and the topics of a profile."""

    whole: bool
    """One domain for all concepts, abstraction; otherwise each of the four roots is one."""
    fine: bool
    """The 19 sub-topics; otherwise the four roots."""


SETTINGS = {
    "D=P": Setting(whole=False, fine=False),
    "A": Setting(whole=False, fine=True),
    "B": Setting(whole=True, fine=True),
    "C": Setting(whole=True, fine=False),
}


@dataclass(frozen=True)
class Prepared:
    """Users and their phrases, the domains, and what was measured already."""

    taxonomy: Taxonomy
    phrases: Phrases
    sizes: dict[str, int] = field(default_factory=dict)
    """How many users and phrases a log has, where they are a log's."""
    found: dict[tuple[Setting, str], dict[Key, list[tuple[float, float]]]] = field(default_factory=dict)
    """By setting and criterion, then by what epsilon is for and how large: loss and its error in each run."""

    @cached_property
    def roots(self) -> Topics:
        return Topics(self.taxonomy, ROOTS)

    @cached_property
    def sub_topics(self) -> Topics:
        return Topics(self.taxonomy, SUB_TOPICS)

    @cached_property
    def domains(self) -> dict[bool, tuple[Domain, ...]]:
        """The one domain, and the four."""
        one = Domain.below(self.taxonomy, root_named(self.taxonomy, WORDNET_DOMAIN))
        four = [Domain(self.taxonomy, self.roots.concepts(number)) for number in range(len(ROOTS))]
        return {True: (one,), False: tuple(four)}

    def topics(self, setting: Setting) -> Topics:
        return self.sub_topics if setting.fine else self.roots

    def counts(self, setting: Setting, phrases: Phrases) -> Numbers:
        """The profiles of all users; what is outside the topics is no part of them."""
        topics = self.topics(setting)
        return profile_counts(
            phrases.owners, topics.topic_of_concept[phrases.concepts], users=phrases.users, number=len(topics)
        )


# -- users ---------------------------------------------------------------------------------------------------


def _prepare_profiles(given: Given) -> Prepared:
    taxonomy = Taxonomy.wordnet()
    users, phrases, seed = (int(given.axes[name][0]) for name in ("users", "phrases", "seed"))
    if given.log is not None:
        found = of_log(given.log, users, seed, taxonomy)
        # What the log has, not what was asked for.
        sizes = {"users": found.users, "phrases": max(1, round(len(found.owners) / found.users))}
        return Prepared(taxonomy, found, sizes)
    return Prepared(taxonomy, generated(users, phrases, seed, taxonomy))


def generated(
    users: int,
    phrases: int,
    seed: int,
    taxonomy: Taxonomy,
    *,
    focus: float = _FOCUS,
    anywhere_share: float = _ANYWHERE,
) -> Phrases:
    """Users with interests and about this many phrases each, nearly all from a few of the sub-topics.

    A phrase is the first word of a concept. Only concepts that this word is mapped to can be posed.
    """
    random = np.random.default_rng(seed)
    words = [taxonomy.word(concept) for concept in range(len(taxonomy))]
    posed = taxonomy.lookup(words) == np.arange(len(taxonomy))
    topics, roots = Topics(taxonomy, SUB_TOPICS), Topics(taxonomy, ROOTS)
    choices = [np.flatnonzero((topics.topic_of_concept == topic) & posed) for topic in range(len(topics))]
    anywhere = np.flatnonzero((roots.topic_of_concept >= 0) & posed)
    spread = int(_SPREAD * phrases)
    counts = random.integers(phrases - spread, phrases + spread, size=users, endpoint=True)
    owners = np.repeat(np.arange(users), counts)
    interests = np.cumsum(random.dirichlet(np.full(len(topics), focus), size=users), axis=1)
    chosen = (interests[owners, :-1] < random.random(len(owners))[:, np.newaxis]).sum(axis=1)
    concepts = random.choice(anywhere, size=len(owners))
    focused = random.random(len(owners)) >= anywhere_share
    for topic, own in enumerate(choices):
        here = np.flatnonzero(focused & (chosen == topic))
        concepts[here] = random.choice(own, size=len(here))
    return Phrases(users, owners, np.arange(len(owners)), concepts.astype(np.int64))


def of_log(log: SearchLog, most: int, seed: int, taxonomy: Taxonomy) -> Phrases:
    """The phrases of a log that are inside the four roots, for at most this many of the users who have any.

    A hash of seed and user chooses them, so that the same log gives the same users on every engine.
    """
    inside = Topics(taxonomy, ROOTS).topic_of_concept >= 0
    chosen: list[tuple[bytes, Numbers]] = []
    for names, found in windows(log, taxonomy):
        kept = found.only(inside[found.concepts])
        if not len(kept.owners):
            continue
        present, starts = np.unique(kept.owners, return_index=True)
        own = np.split(kept.concepts, starts[1:])
        keys = (_user_key(seed, name) for name in names.take(pa.array(present)).to_pylist())
        chosen = heapq.nsmallest(most, [*chosen, *zip(keys, own, strict=True)], key=lambda one: one[0])
    if not chosen:
        raise CannotBeMet("no query of this log is about one of the topics", "leave LOG out")
    whose = np.repeat(np.arange(len(chosen)), [len(concepts) for _, concepts in chosen])
    concepts = np.concatenate([concepts for _, concepts in chosen])
    return Phrases(len(chosen), whose, np.arange(len(whose)), concepts)


def _user_key(seed: int, user: str) -> bytes:
    return hashlib.sha256(f"{seed} {user}".encode()).digest()


# -- drawing -------------------------------------------------------------------------------------------------


def _measure_cell(prepared: Prepared, given: Given, cell: Cell) -> Iterator[Row]:
    setting, criterion = SETTINGS[cell["setting"]], cell["criterion"]
    if (setting, criterion) not in prepared.found:
        _draw_all(prepared, given, setting, criterion)
    runs = prepared.found[setting, criterion][criterion, cell["epsilon_per"], cell["epsilon"]]
    for repeat, (loss, error) in enumerate(runs):
        row = {"how": DRAWN, "repeat": repeat, **prepared.sizes}
        yield {**row, "metric": LOSS, "value": loss}
        yield {**row, "metric": ERROR, "value": error}


def _draw_all(prepared: Prepared, given: Given, setting: Setting, criterion: str) -> None:
    """Draw for every epsilon together, so that the candidates of a concept are sorted once; and for two settings."""
    settings = [setting]
    if criterion != SQC2:  # what is drawn does not depend on the topics of the profile
        settings = [one for one in SETTINGS.values() if one.whole == setting.whole]
    for one in settings:
        prepared.found[one, criterion] = {}
    draws = _replace_by_histograms if criterion in (HBDP, HBDP_PRINTED) else _replace_phrases
    original = {one: prepared.counts(one, prepared.phrases) for one in settings}
    for key, protected in draws(prepared, given, setting, criterion):
        for one in settings:
            lost = profile_divergences(original[one], prepared.counts(one, protected))
            lost = lost[~np.isnan(lost)]
            error = float(lost.std() / np.sqrt(len(lost)))
            prepared.found[one, criterion].setdefault(key, []).append((float(lost.mean()), error))


def _criterion_variants(given: Given) -> list[tuple[str, float]]:
    return [(str(per), float(size)) for per in given.axes["epsilon_per"] for size in given.axes["epsilon"]]


def _replace_phrases(
    prepared: Prepared, given: Given, setting: Setting, criterion: str
) -> Iterator[tuple[Key, Phrases]]:
    """Every phrase replaced, once for every epsilon and repeat."""
    phrases, variants = prepared.phrases, _criterion_variants(given)
    choice = sampling(prepared, setting, NSQC if criterion == NSQC_PRINTED else criterion)
    # NSQC may use all of epsilon, and does; equation (2) gives every criterion half.
    used = Fraction(1, 2) if criterion == NSQC_PRINTED else Fraction(1)
    numbers = phrases.counts()
    epsilons: dict[Fraction, int] = {}
    shares = np.empty((len(variants), len(phrases.owners)), dtype=np.int64)
    for row, (per, size) in enumerate(variants):
        method = Semantic(epsilon=size, epsilon_per=per)
        each = {int(number): used * method.per_phrase(int(number)) for number in np.unique(numbers) if number}
        known = {number: epsilons.setdefault(share, len(epsilons)) for number, share in each.items()}
        shares[row] = np.array([known.get(int(number), 0) for number in numbers])[phrases.owners]
    noise = Noise()
    for _ in range(given.repeats):
        tiled = np.tile(phrases.concepts, len(variants))
        drawn = choice.draw(tiled, list(epsilons), shares.ravel(), noise).reshape(len(variants), -1)
        for (per, size), concepts in zip(variants, drawn, strict=True):
            yield ((criterion, per, size), Phrases(phrases.users, phrases.owners, phrases.queries, concepts))


def sampling(prepared: Prepared, setting: Setting, criterion: str) -> Choice:
    """The mechanism's choice, except that SQC2 goes by the topics of the profile also where each root is a domain."""
    topics, domains = prepared.topics(setting), prepared.domains[setting.whole]
    samplers = tuple(
        Exponential(
            domain, criterion, topics.topic_of_concept[domain.concepts] if criterion == SQC2 else None
        )
        for domain in domains
    )
    return Choice(prepared.taxonomy, samplers, (WORDNET_DOMAIN,) if setting.whole else ROOTS, topics.labels)


def _replace_by_histograms(
    prepared: Prepared, given: Given, setting: Setting, criterion: str
) -> Iterator[tuple[Key, Phrases]]:
    """HBDP over the same concepts, those of the four roots as one domain.

    At the same epsilon for a whole user; or as printed: an epsilon for a whole user that is as large as that of one
    query of the others, and noise for a sensitivity of `most`, which is half of what a replaced history needs.
    """
    phrases, noise = prepared.phrases, Noise()
    domain = Domain(
        prepared.taxonomy, np.sort(np.concatenate([one.concepts for one in prepared.domains[setting.whole]]))
    )
    most = int(phrases.counts().max())
    places = domain.places(phrases.concepts)
    slots = np.arange(phrases.users * most)
    for per, size in _criterion_variants(given):
        times = 2 if criterion == HBDP_PRINTED else most if per == PER_QUERY else 1
        method = ProfileHistogram(epsilon=size * times, max_queries=most)
        histograms = method.histograms(len(domain), noise)
        for _ in range(given.repeats):
            drawn = histograms.drawn(phrases.users, phrases.owners, places)
            concepts = domain.concepts[drawn].astype(np.int64)
            yield (criterion, per, size), Phrases(phrases.users, slots // most, slots, concepts)


PROFILES = Study(
    name="profiles",
    question="Do users keep their interests when every phrase is replaced by one close in meaning?",
    paper="nothing is lost if topics are the domains (D = P); otherwise the loss falls steeply up to epsilon 10, A and "
    "C lose less than B, SQC2 is best above epsilon 1, and HBDP is worst, in C by an order of magnitude",
    mechanism="semantic",
    axes=(
        Axis(
            "setting",
            tuple(SETTINGS),
            "where concepts are drawn from, and the topics of a profile",
            closed=True,
        ),
        Axis(
            "criterion",
            CRITERIA,
            "what is close; hbdp makes noisy histograms instead; -printed: with the paper's noise",
            closed=True,
        ),
        Axis(
            "epsilon_per",
            (PER_QUERY, PER_USER),
            "whether epsilon is for a phrase or for a whole user",
            closed=True,
        ),
        Axis("epsilon", (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0), "privacy loss of a phrase, or of a user"),
        Axis("users", (1000,), "users to make, or the most users to take from a log", single=True),
        Axis("phrases", (100,), "phrases of a user, on average; a log has its own", single=True),
        Axis("seed", (1,), "seed of the users that are made or taken; the noise has no seed", single=True),
    ),
    metrics=(
        Metric(LOSS, "bits", "mean Jensen-Shannon divergence of a user's profile before and after, 0 to 1"),
        Metric(ERROR, "bits", "standard error of this mean, over users"),
    ),
    repeats=3,
    prepare=_prepare_profiles,
    measure=_measure_cell,
    figures=profile_results.FIGURES,
    checks=profile_results.CHECKS,
    needs_log=False,
    takes_log=True,
    needs=(),
)
