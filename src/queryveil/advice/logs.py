"""Purposes that a private click graph serves: keywords of a concept, and research on what people search for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from queryveil.advice.frame import Option, Progress, Wanted
from queryveil.advice.histograms import mean
from queryveil.advice.pilot import Pilot
from queryveil.mechanisms import ClickGraph
from queryveil.utility.coverage import coverage

BOUNDS = (1, 5, 10, 20, 40, 80, 160)
_DRAWS = 5


@dataclass(frozen=True)
class GraphPurpose:
    """A purpose that queries and their clicks serve; what is tried is how many queries a user may add."""

    name: str
    question: str
    rule: str
    score: str
    clicks: bool = False
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
        if self.clicks:
            pilot.log.need("url", "suggesting keywords by clicks")

    def options(self, pilot: Pilot, wanted: Wanted, progress: Progress | None) -> Sequence[Option]:
        original = pilot.histogram("queries", "occurrences")
        tried = []
        for number, most in enumerate(BOUNDS, 1):
            method = ClickGraph(epsilon=wanted.epsilon, delta=wanted.delta, max_queries=most)
            setting = method.selection()
            counted = pilot.first_events(most)
            made = [pilot.released(counted, setting.scale, 1, setting.top) for _ in range(_DRAWS)]
            found = {
                "published": mean([len(one) for one in made]),
                "searches": mean([one.total / max(1, original.total) for one in made]),
                "coverage": mean([coverage(original, one, wanted.top) for one in made]),
            }
            tried.append(Option(method, "max_queries", found))
            if progress:
                progress(number, len(BOUNDS))
        return tried


KEYWORDS = GraphPurpose(
    name="keywords",
    question="Which other queries lead to the sites of a concept?",
    rule="20 queries per user for a week of searches, more for a longer log",
    score="searches",
    clicks=True,
)
RESEARCH = GraphPurpose(
    name="research",
    question="What do people search for, click on and search for next?",
    rule="20 queries per user for a week of searches, more for a longer log; then queryveil synthesize",
    score="searches",
)
