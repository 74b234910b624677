"""Purposes that a private click graph serves: keywords of a concept, and research on what people search for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal

from queryveil.advice.histograms import mean_or_none
from queryveil.advice.pilot import Pilot
from queryveil.advice.purpose import Advice, Option, Progress, Wanted, against_rule
from queryveil.measure.coverage import covered_share
from queryveil.measure.histograms import Histogram
from queryveil.mechanisms.click_graph.click_graph import ClickGraph

BOUNDS = (1, 5, 10, 20, 40, 80, 160)
_DRAWS = 5
_USUAL = 20
RESULTS = "RESULTS"
"""Stands for a file that no pilot can know, as LOG and DIR do."""


@dataclass(frozen=True)
class GraphPurpose:
    """A purpose that queries, their clicks and what is searched next serve; tried is how many queries a user may add.

    All that the purpose needs is published under one guarantee, so the epsilon that is accepted is shared out in equal
    parts, and so is delta among the tables that have a threshold.
    """

    name: str
    question: str
    rule: str
    score: str
    reformulations: bool = False
    items: str = "queries"
    coarser_items: str = "keywords instead of queries (publish zealous --items keywords)"
    higher: bool = True
    top: int = 100
    most_users: int = 10**9

    @property
    def figures(self) -> Mapping[str, str]:
        return {
            "published": "queries that would be published",
            "searches": "share of all searches that these make up",
            "coverage": "share of the most frequent queries that would be published",
        }

    def check(self, pilot: Pilot) -> None:
        pilot.log.need("time", "keeping each user's first queries")
        if not self.reformulations:
            pilot.log.need("url", "suggesting keywords by clicks")

    def graph_method(self, wanted: Wanted, most: int, *, clicks: bool) -> ClickGraph:
        """The whole graph for what is accepted in total; without clicks if the log has none."""
        epsilon = _equal_part(wanted.epsilon, 1 + clicks + self.reformulations)
        delta = _equal_part(wanted.delta, 1 + self.reformulations)
        return ClickGraph(
            epsilon=epsilon,
            delta=delta,
            max_queries=most,
            epsilon_clicks=epsilon if clicks else None,
            results=RESULTS if clicks else None,
            epsilon_reformulations=epsilon if self.reformulations else None,
            delta_reformulations=delta if self.reformulations else None,
        )

    def options(self, pilot: Pilot, wanted: Wanted, progress: Progress | None) -> Sequence[Option]:
        original = pilot.histogram("queries", "occurrences")
        tried = []
        for number, most in enumerate(BOUNDS, 1):
            method = self.graph_method(wanted, most, clicks="url" in pilot.log.columns)
            thresholds = method.plan(users=pilot.all_users).draws[0].thresholds
            counted = pilot.first_events(most)
            made = [pilot.simulate_release(counted, *thresholds) for _ in range(_DRAWS)]
            found = {
                "published": mean_or_none([len(one) for one in made]),
                "searches": mean_or_none([released_share(original, one) for one in made]),
                "coverage": mean_or_none([covered_share(original, one, wanted.top) for one in made]),
            }
            tried.append(Option(method, "max_queries", found))
            if progress:
                progress(number, len(BOUNDS))
        return tried

    def remarks(self, advice: Advice) -> Sequence[str]:
        return [*self._part_remarks(advice), *against_rule(advice, _USUAL)]

    def _part_remarks(self, advice: Advice) -> Iterator[str]:
        method = advice.best.mechanism if advice.best is not None else None
        if not isinstance(method, ClickGraph):
            return
        clicks = method.results is not None
        tables = ["queries", *(["clicks"] if clicks else [])]
        tables += ["what was searched next"] if self.reformulations else []
        share = {2: "half", 3: "a third"}[len(tables)]
        yield (
            f"Of epsilon {advice.wanted.epsilon:g}, {', '.join(tables[:-1])} and {tables[-1]} have {share} each."
            + (
                f" {RESULTS} is a file of public result lists, in columns query and url. Without one, write --urls "
                "private --delta-clicks D in its place: clicks then need a threshold, and D comes on top of delta."
                if clicks
                else " The log has no clicks."
            )
        )


def released_share(original: Histogram, released: Histogram) -> float:
    """Return the share of the original's total whose items are released; released counts are not used."""
    return float(original.counts[original.found_in(released)].sum()) / max(1, original.total)


def _equal_part(whole: float, parts: int) -> float:
    """An equal part, in three digits and never more: the parts must not add up to more than is accepted."""
    exact = Decimal(repr(whole)) / parts
    return float(Context(prec=3, rounding=ROUND_FLOOR).create_decimal(exact))


KEYWORDS = GraphPurpose(
    name="keywords",
    question="Which other queries lead to sites about a concept?",
    rule="20 queries per user for a week of searches, more for a longer log",
    score="searches",
)
RESEARCH = GraphPurpose(
    name="research",
    question="What do people search for, click on and search for next?",
    rule="20 queries per user for a week of searches, more for a longer log; then queryveil synthesize",
    score="searches",
    reformulations=True,
)
