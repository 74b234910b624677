"""The purpose that semantically perturbed logs serve: what users are interested in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from queryveil.advice.pilot import Pilot
from queryveil.advice.purpose import Advice, Option, Progress, Wanted
from queryveil.errors import CannotBeMet, argument
from queryveil.measure.evaluation import evaluate
from queryveil.measure.profiles import TOPICS
from queryveil.mechanisms import Mechanism
from queryveil.mechanisms.semantic.semantic import Semantic
from queryveil.release.publish import Release, publish

_MEASURE = "profile-divergence"
_MUCH = 0.5
"""A loss from which on little of a profile is left."""


@dataclass(frozen=True)
class ProfilingPurpose:
    """What is tried is over how many phrases a user's epsilon is spread, and what promising less would bring."""

    name: str = "profiling"
    question: str = "What are users interested in?"
    rule: str = (
        "epsilon per user leaves little of a profile; if topics may be known, --domain per-topic keeps them"
    )
    score: str = "loss"
    higher: bool = False
    top: int = 100
    most_users: int = 1_000
    items: str = "concepts"
    coarser_items: str = ""

    @property
    def figures(self) -> Mapping[str, str]:
        return {
            "loss": "mean Jensen-Shannon divergence of users' profiles over four topics: 0 is equal, 1 is lost",
            "finer": "the same over 19 topics below them",
        }

    def check(self, pilot: Pilot) -> None:
        """Any log with users and queries will do."""

    def options(self, pilot: Pilot, wanted: Wanted, progress: Progress | None) -> Sequence[Option]:
        epsilon = wanted.epsilon
        tried = [
            Option(
                Semantic(epsilon=epsilon, max_phrases=most, pad=True),
                "max_phrases",
                {},
                f"max-phrases {most}, padded",
            )
            for most in (1, 5, 20, 50)
        ]
        tried += [
            Option(
                Semantic(epsilon=epsilon, max_phrases=20),
                "pad",
                {},
                "max-phrases 20, not padded",
                "it is disclosed how many queries and phrases every user has",
            ),
            Option(
                Semantic(epsilon=epsilon, epsilon_per="query"),
                "epsilon_per",
                {},
                "epsilon-per query",
                "epsilon is for each query: a user with many queries has many times epsilon",
            ),
            Option(
                Semantic(epsilon=epsilon, domain="per-topic", topics=TOPICS),
                "domain",
                {},
                "domain per-topic",
                "the topic of every phrase is disclosed",
            ),
        ]
        done = []
        for number, option in enumerate(tried, 1):
            # Every user is perturbed alone, so that a sample's loss is the log's.
            release = self._publish_pilot(pilot, option.mechanism)
            found = evaluate(pilot.log, release, [_MEASURE]).measures
            done.append(
                option.with_figures({"loss": found[_MEASURE], "finer": found[f"{_MEASURE}/sub-topics"]})
            )
            if progress:
                progress(number, len(tried))
        return done

    @staticmethod
    def _publish_pilot(pilot: Pilot, method: Mechanism) -> Release:
        try:
            return publish(pilot.log, method, i_understand=True, noise=pilot.noise)
        except CannotBeMet:
            raise CannotBeMet(
                "profiles are judged by WordNet, which knows hardly any word of this log",
                f"use publish semantic with a {argument('taxonomy')} that knows its words",
            ) from None

    def remarks(self, advice: Advice) -> Sequence[str]:
        loss = advice.score_of(advice.best) if advice.best is not None else None
        if loss is None or loss < _MUCH:
            return []
        return [
            f"A loss of {loss:.2g} out of 1 leaves little of a profile, and with padding part of that is chance. If "
            "this is too little, choose a larger epsilon or a setting that promises less, and say so.",
        ]


PROFILING = ProfilingPurpose()
