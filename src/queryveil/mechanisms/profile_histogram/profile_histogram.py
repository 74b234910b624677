"""HBDP: a noisy histogram of concepts for every user, and a log regenerated from it.

The baseline that semantic perturbation is compared with. Each user has a count for every concept of the domain, and
noise that hides her whole history lies on each of them. The proof is in docs/proofs/profile-histogram.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from queryveil.catalog import Sentence, count
from queryveil.errors import UsageError, argument
from queryveil.mechanisms.base import ROW_LOCAL, USER_IS_ACCOUNT, Mechanism, Plan, Run, public_parameters
from queryveil.mechanisms.concept_profiles import descriptions
from queryveil.mechanisms.concept_profiles.concept_drawing import drawn
from queryveil.mechanisms.concept_profiles.domain import PER_TOPIC, Choice
from queryveil.mechanisms.concept_profiles.draws import NSQC
from queryveil.mechanisms.concept_profiles.phrases import Phrases, Tally
from queryveil.mechanisms.concept_profiles.profile_rows import Rows
from queryveil.mechanisms.profile_histogram.noisy_histograms import NoisyHistograms
from queryveil.parameters import COUNTED, PROMISES, param, validate
from queryveil.privacy import calibration
from queryveil.privacy.draws import PUBLIC, Draw
from queryveil.privacy.guarantee import PURE, REPLACE, Guarantee
from queryveil.privacy.noise import Noise
from queryveil.privacy.statements import say

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog

_MOST_QUERIES = 10**6
_LARGEST_SCALE = 2.0**30


@dataclass(frozen=True, kw_only=True)
class ProfileHistogram(Mechanism):
    """Queries drawn from noisy histograms of users' concepts.

    Publish for every user queries drawn from a noisy histogram of their concepts; for comparisons.
    """

    name: ClassVar[str] = "profile-histogram"
    needs_users: ClassVar[bool] = False
    example: ClassVar[Mapping[str, Any]] = {"epsilon": 4, "max_queries": 3, "domain": "disease"}

    epsilon: float = param("privacy loss per user", gt=0, le=1e6, group=PROMISES)
    max_queries: int = param(
        "how many phrases of each user count (the first ones), and how many queries each user gets",
        ge=1,
        le=_MOST_QUERIES,
        group=COUNTED,
    )
    domain: str | None = param(
        "concept above all counted ones; if left out, abstraction or the file's root",
        default=None,
        group=COUNTED,
    )
    taxonomy: str | None = param(
        "file of child and parent in two columns; WordNet's nouns if left out",
        details="[Your own taxonomy](taxonomy.md#your-own-taxonomy)",
        path=True,
        default=None,
        group=COUNTED,
    )

    def __post_init__(self) -> None:
        validate(self)
        if self.domain == PER_TOPIC:
            raise UsageError("a histogram has one domain", f"name a concept with {argument('domain')}")
        if self.scale > _LARGEST_SCALE:
            raise UsageError(
                f"noise of scale {self.scale:.3g} is more than can be drawn",
                f"raise {argument('epsilon')} or lower {argument('max_queries')}",
            )

    @property
    def slots(self) -> int:
        """Queries of every user in the release."""
        return self.max_queries

    @property
    def scale(self) -> float:
        """Of two histories each can have all its phrases where the other has none."""
        return calibration.float_at_least(Fraction(2 * self.max_queries) / Fraction(self.epsilon))

    def choice(self) -> Choice:
        return Choice.of(self.taxonomy, self.domain, None, NSQC)

    def plan(self, *, users: int | None = None) -> Plan:
        """Noise and guarantee; they do not depend on the number of users."""
        choice = self.choice()
        promise = Guarantee(
            kind=PURE,
            epsilon=self.epsilon,
            delta=0.0,
            neighbours=REPLACE,
            assumptions=(
                ROW_LOCAL,
                USER_IS_ACCOUNT,
                descriptions.TAXONOMY_IS_PUBLIC,
                descriptions.USERS_ARE_PUBLIC,
            ),
            caveats=(say("mostly-noise"),),
        )
        return Plan(
            method=self.name,
            parameters=public_parameters(self) | {"domain": choice.labels[0]},
            calibration={
                "concepts": len(choice.domain),
                "noise_scale": self.scale,
            },
            guarantee=promise,
            tables=(
                descriptions.drawn_log(
                    Sentence("histogram.row"),
                    {name: Sentence(f"histogram.column.{name}") for name in ("number", "query")},
                ),
            ),
            draws=(
                Draw(
                    of="concepts",
                    table="log",
                    bounded="phrases",
                    rule="first",
                    most=self.max_queries,
                    copies=self.max_queries,
                    sensitivity=2 * self.max_queries,
                    scale=self.scale,
                    rows=PUBLIC,
                    **promise.cost,
                ),
            ),
            what=Sentence("histogram.what"),
            how=Sentence(
                "histogram.how",
                phrases=count(self.max_queries, "phrases"),
                concept=choice.labels[0],
                queries=count(self.max_queries, "queries"),
            ),
            taxonomy=choice.taxonomy.identity,
            labels={"concepts": "concepts that are counted", "noise_scale": "noise scale"},
            assessment=descriptions.assess_equal_rows(self.epsilon, Sentence("concepts.searched")),
        )

    def check(self, log: SearchLog) -> None:
        """Any log with users and queries will do."""

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        choice = self.choice()
        with run.stage("protect") as say, Rows(log, choice.taxonomy, run.noise, self.slots) as rows:
            for some in drawn(log, self, run.noise):
                rows.add(some)
            run.private["phrases"] = rows.tally.table()
            rows.tally.warn(run)
            counted = rows.tally.counts.get("phrases counted", 0)
            say(
                f"{counted:,} phrases counted; {rows.tally.users:,} histograms of {len(choice.domain):,} concepts "
                "with noise"
            )
            rows.found(counted, padded=True, say=say)
            table, run.private["user-map"] = rows.tables()
            return {"log": table}

    def replaced(self, found: Phrases, choice: Choice, noise: Noise, tally: Tally) -> Phrases:
        """For every user as many queries of one concept as all have, drawn from her noisy histogram."""
        inside = choice.locate(found.concepts)[0] >= 0
        phrases = found.only(inside).first(self.max_queries)
        tally.add("phrases outside the domain", int((~inside).sum()))
        tally.add("phrases counted", len(phrases.owners))
        places = choice.locate(phrases.concepts)[1]
        queries = self.histograms(len(choice.domain), noise).drawn(phrases.users, phrases.owners, places)
        slots = np.arange(phrases.users * self.max_queries)
        concepts = choice.domain.concepts[queries].astype(np.int64)
        return Phrases(phrases.users, slots // self.max_queries, slots, concepts)

    def histograms(self, concepts: int, noise: Noise) -> NoisyHistograms:
        """Noisy histograms over so many concepts, and as many draws from each; these cost nothing after the noise."""
        return NoisyHistograms.of(noise, self.scale, concepts, self.max_queries)
