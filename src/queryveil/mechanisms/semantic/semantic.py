"""Semantically perturbed logs: every phrase of every query is replaced by a concept close in meaning.

The exponential mechanism draws the concept; users get random numbers, and times, urls and ranks are left out. What
epsilon means here is in docs/decisions/0009-what-epsilon-means.md, the proof in docs/proofs/semantic.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from queryveil.catalog import Sentence
from queryveil.errors import UsageError, argument
from queryveil.mechanisms.base import ROW_LOCAL, USER_IS_ACCOUNT, Plan, Run, public_parameters
from queryveil.mechanisms.concept_profiles import descriptions as shared
from queryveil.mechanisms.concept_profiles.concept_drawing import drawn
from queryveil.mechanisms.concept_profiles.domain import Choice
from queryveil.mechanisms.concept_profiles.phrases import Phrases, Tally
from queryveil.mechanisms.concept_profiles.profile_rows import Rows
from queryveil.mechanisms.semantic import descriptions, earlier
from queryveil.mechanisms.semantic.semantic_parameters import SemanticParameters, moment_of
from queryveil.privacy.draws import ALL, EXPONENTIAL, PUBLIC, SCORE, Draw
from queryveil.privacy.guarantee import PURE, Guarantee, replace_if_equal
from queryveil.privacy.noise import Noise

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog


@dataclass(frozen=True, kw_only=True)
class Semantic(SemanticParameters):
    """Every phrase replaced by a concept close in meaning.

    Replace every phrase of every query by a concept close in meaning, user by user.
    """

    name: ClassVar[str] = "semantic"
    needs_users: ClassVar[bool] = False
    example: ClassVar[Mapping[str, Any]] = {"epsilon": 4}

    # -- before data ---------------------------------------------------------------------------------------------

    def choice(self) -> Choice:
        """The domains, and how concepts are drawn from them."""
        return Choice.of(self.taxonomy, self.domain, self.topics, self.criterion, tight=self.tight)

    def plan(self, *, users: int | None = None) -> Plan:
        """What is promised; it does not depend on the number of users."""
        choice, promise = self.choice(), self._guarantee()
        shown = public_parameters(self) | {"domain": self.domain if self.per_topic else choice.labels[0]}
        if self.topics:
            shown["topics"] = list(choice.topics)
        return Plan(
            method=self.name,
            parameters=shown,
            calibration=self._calibration(choice),
            guarantee=promise,
            tables=(shared.drawn_log(Sentence("semantic.row")),),
            draws=(self._declare_draw(promise, choice),),
            what=descriptions.what(self),
            how=descriptions.how(self, choice.labels),
            taxonomy=choice.taxonomy.identity,
            expected=descriptions.expected(self, choice),
            labels=descriptions.FIGURES,
            assessment=descriptions.assessment(self, choice.labels),
            warnings=descriptions.warnings(self, choice),
        )

    def _calibration(self, choice: Choice) -> dict[str, Any]:
        # Where it is spread over all phrases of a user, figures are those of a user with one: others have less.
        each = self.per_phrase(1)
        shown = choice.calibration(each)
        if any(not sampler.exponent(each) for sampler in choice.samplers):
            raise UsageError(
                f"epsilon {self.epsilon:g} spread over {self.max_phrases or 1:,} phrases is too small to draw with",
                f"raise {argument('epsilon')} or lower {argument('max_phrases')}",
            )
        if not self.fixed:
            return shown | {"drawn_for_phrases": 1}
        return shown | {"epsilon_per_phrase": float(each)}

    def _declare_draw(self, promise: Guarantee, choice: Choice) -> Draw:
        """A concept for every phrase; its scale differs by topic, and by user if epsilon is spread over all phrases."""
        sensitivity = max(one.calibration()["sensitivity"] for one in choice.samplers)
        exponent = choice.samplers[0].exponent(self.per_phrase(1))
        alike = self.fixed and len(choice.samplers) == 1 and exponent > 0
        return Draw(
            of="phrases",
            table="log",
            bounded="queries" if self.whole_queries else "phrases",
            rule=ALL if self.max_phrases is None else "first",
            most=self.max_phrases,
            sensitivity=sensitivity,
            norm=SCORE,
            distribution=EXPONENTIAL,
            scale=sensitivity / float(exponent) if alike else None,
            rows=PUBLIC,
            **promise.cost,
        )

    def _guarantee(self) -> Guarantee:
        equal = [] if self.pad else ["shape"]
        equal += ["topics"] if self.per_topic else []
        equal += ["words"] if self.keep_words != "none" else []
        return Guarantee(
            kind=PURE,
            epsilon=self.total(),
            delta=0.0,
            unit="phrase" if self.per_single_phrase else "user",
            neighbours=replace_if_equal(*equal),
            assumptions=(
                ROW_LOCAL,
                USER_IS_ACCOUNT,
                shared.TAXONOMY_IS_PUBLIC,
                shared.USERS_ARE_PUBLIC if self.pad else descriptions.USERS_INSIDE_ARE_PUBLIC,
            ),
            caveats=descriptions.caveats(self),
        )

    # -- with data -----------------------------------------------------------------------------------------------

    def check(self, log: SearchLog) -> None:
        """Any log with users and queries will do; new queries are told by their times."""
        if self.since is not None:
            log.need("time", argument("since"))
        if self.follows is not None:
            # Asked before the charge: what cannot be published must not be paid for.
            earlier.require_all(log, earlier.numbers(Path(self.follows)))

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        with run.stage("protect") as say, Rows(log, self.choice().taxonomy, run.noise, self.slots) as rows:
            for some in drawn(
                log,
                self,
                run.noise,
                keep=self.keep_words,
                whole=self.whole_queries,
                since=moment_of(self.since),
            ):
                rows.add(some)
            run.private["phrases"] = rows.tally.table()
            rows.tally.warn(run, "queries" if self.whole_queries else "phrases")
            counts = rows.tally.counts
            replaced = counts.get("phrases replaced", 0)
            say(
                f"{replaced:,} of {counts.get('phrases', 0):,} phrases replaced by concepts; the others have no "
                "concept, or none inside the domain, and are left out (phrases.parquet in the private folder)"
            )
            rows.found(replaced, padded=self.pad, say=say)
            table, names = rows.tables()
            if self.follows is not None:
                table, names = earlier.renumbered(table, names, earlier.numbers(Path(self.follows)))
            run.private["user-map"] = earlier.going_on(names) if self.goes_on else names
            return {"log": table}

    def replaced(self, found: Phrases, choice: Choice, noise: Noise, tally: Tally) -> Phrases:
        """The same phrases with drawn concepts; padded if asked for."""
        topics = choice.locate(found.concepts)[0]
        inside = topics >= 0
        phrases = found.only(inside).ordered(topics[inside], noise)
        tally.add("phrases outside the domain", int((~inside).sum()))
        if self.max_phrases is not None:
            kept = phrases.first(self.max_phrases)
            tally.add("phrases beyond max-phrases", len(phrases.owners) - len(kept.owners))
            phrases = kept
        tally.add("phrases replaced", len(phrases.owners))
        numbers = np.zeros(1, dtype=np.int64) if self.fixed else np.unique(phrases.counts())
        epsilons = [self.per_phrase(max(1, number)) for number in numbers.tolist()]
        shares = np.zeros(len(phrases.owners), dtype=np.int64)
        if not self.fixed:
            shares = np.searchsorted(numbers, phrases.counts())[phrases.owners]
        concepts = choice.draw(phrases.concepts, epsilons, shares, noise)
        if self.pad and self.max_phrases is not None:
            return self._pad_queries(phrases, concepts, choice, noise, self.max_phrases)
        return dataclasses.replace(phrases, concepts=concepts)

    def _pad_queries(
        self, phrases: Phrases, own: np.ndarray, choice: Choice, noise: Noise, most: int
    ) -> Phrases:
        """Exactly so many queries of one phrase for every user, what she lacks drawn uniformly."""
        slots = np.arange(phrases.users * most)
        concepts = choice.uniform(len(slots), noise)
        concepts[phrases.owners * most + phrases.ranks()] = own
        return Phrases(phrases.users, slots // most, slots, concepts)
