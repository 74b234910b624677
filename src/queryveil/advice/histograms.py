"""Purposes that private histograms serve: covering the head, true frequencies, caching, suggestions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from queryveil.advice import selected
from queryveil.advice.pilot import Pilot
from queryveil.advice.purpose import Advice, Option, Progress, Wanted, against_rule
from queryveil.count import item_kinds
from queryveil.measure.coverage import covered_share
from queryveil.measure.document_frequencies import DocumentFrequencies
from queryveil.measure.histograms import Histogram
from queryveil.measure.index_caching import Index
from queryveil.measure.precision import kl_divergence
from queryveil.mechanisms.zealous.zealous import Zealous

BOUNDS = (1, 2, 4, 6, 8, 12, 20, 40)
_DRAWS = 5
"""Releases whose figures are averaged."""
_KEYWORDS = "keywords instead of queries (publish --items keywords)"

Judge = Callable[[Histogram, Histogram, int], float | None]


@dataclass(frozen=True)
class HistogramPurpose:
    """A purpose that one private histogram serves; what is tried is how many items a user may add."""

    name: str
    question: str
    rule: str
    kind: str
    score: str
    higher: bool
    top: int = 100
    most_users: int = 10**9
    caches: bool = False
    usual: int | None = 1
    """The number of items that the rule says; None if it is what an average user has."""
    coarser_items: str = _KEYWORDS

    @property
    def figures(self) -> Mapping[str, str]:
        said = {
            "published": f"{item_kinds.kind(self.kind).name} that would be published",
            "coverage": "share of the most frequent ones that would be published",
            "kl": (
                "relative entropy of their frequencies: 0 if the release has them in the same proportions; none if "
                "the release has none of them"
            ),
        }
        return said | (
            {"hit": "probability that a keyword's posting list is in memory"} if self.caches else {}
        )

    @property
    def items(self) -> str:
        return item_kinds.kind(self.kind).name

    def check(self, pilot: Pilot) -> None:
        item_kinds.kind(self.kind).rows(pilot.log)
        if self.caches:
            pilot.log.need("url", "counting documents by clicks")

    def options(self, pilot: Pilot, wanted: Wanted, progress: Progress | None) -> Sequence[Option]:
        original = pilot.histogram(self.kind)
        judges: dict[str, Callable[[Histogram], float | None]] = {
            "published": len,
            "coverage": lambda made: covered_share(original, made, wanted.top),
            "kl": lambda made: kl_divergence(original, made, wanted.top),
        }
        if self.caches:
            index = Index.from_log(
                pilot.histogram(self.kind, "occurrences"), DocumentFrequencies.of_log(pilot.log)
            )
            judges["hit"] = lambda made: index.simulate_cache(made).hit_probability
        tried = []

        def simulate_release(made: Sequence[Histogram]) -> dict[str, float | None]:
            return {name: mean_or_none([judge(one) for one in made]) for name, judge in judges.items()}

        modern = selected.method_for(
            wanted.items_per_user, epsilon=wanted.epsilon, delta=wanted.delta, kind=self.kind
        )
        if modern is not None:
            tried.append(
                Option(
                    modern, "max_items", simulate_release(selected.simulate_releases(pilot, modern, _DRAWS))
                )
            )
        for number, most in enumerate(BOUNDS, 1):
            # The same neighbours for all: an epsilon means another thing for others.
            method = Zealous(
                epsilon=wanted.epsilon,
                delta=wanted.delta,
                max_items=most,
                items=(self.kind,),
                neighbours="add-remove",
            )
            thresholds = method.plan(users=pilot.all_users).draws[0].thresholds
            counted = pilot.bounded_counts(self.kind, most)
            made = [pilot.simulate_release(counted, *thresholds) for _ in range(_DRAWS)]
            tried.append(Option(method, "max_items", simulate_release(made)))
            if progress:
                progress(number, len(BOUNDS))
        return tried

    def remarks(self, advice: Advice) -> Sequence[str]:
        usual = self.usual or max(1.0, advice.facts[f"{self.kind}_per_user"])
        return [selected.guess_in_words(advice.wanted.items_per_user), *against_rule(advice, usual)]


def mean_or_none(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


COVERAGE = HistogramPurpose(
    name="coverage",
    question="Which queries are frequent?",
    rule="steered with its own defaults if users have more than about two queries each, truncated-geometric if they "
    "have fewer; with zealous one item per user, because thresholds grow faster than counts",
    kind="queries",
    score="coverage",
    higher=True,
)
PRECISION = HistogramPurpose(
    name="precision",
    question="How frequent are the most frequent queries, as precisely as possible?",
    rule="about as many items as an average user has, if the log has enough users to keep the most frequent items far "
    "above the threshold (see plan); fewer if not",
    kind="queries",
    score="kl",
    higher=False,
    top=10,
    usual=None,
)
CACHING = HistogramPurpose(
    name="caching",
    question="Which posting lists should be kept in memory?",
    rule="about six keywords per user: popular ones must be counted well, rare ones need little memory",
    kind="keywords",
    score="hit",
    higher=True,
    caches=True,
    usual=6,
    coarser_items="",
)
SUGGESTIONS = HistogramPurpose(
    name="suggestions",
    question="Which query follows which?",
    rule="steered with its own defaults if users have more than about two query pairs each, truncated-geometric if "
    "they have fewer; with zealous one query pair per user",
    kind="query-pairs",
    score="published",
    higher=True,
    coarser_items="queries or keywords instead of query pairs (publish --items queries)",
)
