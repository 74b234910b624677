"""Semantically perturbed logs: every phrase of every query is replaced by a concept close in meaning.

The exponential mechanism draws the concept; users get random numbers, and times, urls and ranks are left out. What
epsilon means here is in docs/decisions/0009-what-epsilon-means.md, the proof in docs/proofs/semantic.md.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from queryveil.errors import UsageError, argument
from queryveil.mechanisms.base import ROW_LOCAL, USER_IS_ACCOUNT, Mechanism, Plan, Run, public_parameters
from queryveil.mechanisms.concept_profiles import descriptions as shared
from queryveil.mechanisms.concept_profiles.concept_drawing import drawn
from queryveil.mechanisms.concept_profiles.domain import PER_TOPIC, Choice
from queryveil.mechanisms.concept_profiles.draws import CRITERIA, NSQC, SQC1
from queryveil.mechanisms.concept_profiles.phrases import Phrases, Tally
from queryveil.mechanisms.concept_profiles.profile_rows import Rows
from queryveil.mechanisms.semantic import descriptions, earlier
from queryveil.parameters import COUNTED, PROMISES, param, validate
from queryveil.privacy.draws import ALL, EXPONENTIAL, PUBLIC, SCORE, Draw
from queryveil.privacy.guarantee import PURE, Guarantee, replace_if_equal
from queryveil.privacy.noise import Noise

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog

_MOST_EPSILON = 1e6
_MOST_PHRASES = 10**6
_DOWN = Context(prec=15, rounding=ROUND_FLOOR)


@dataclass(frozen=True, kw_only=True)
class Semantic(Mechanism):
    """Every phrase replaced by a concept close in meaning.

    Replace every phrase of every query by a concept close in meaning, user by user.
    """

    name: ClassVar[str] = "semantic"
    needs_users: ClassVar[bool] = False
    example: ClassVar[Mapping[str, Any]] = {"epsilon": 4}

    epsilon: float = param("privacy loss per user, or per query", gt=0, le=_MOST_EPSILON, group=PROMISES)
    criterion: str = param(
        "what is close: similar in meaning (sqc1), similar and of the same topic (sqc2), equal (nsqc)",
        choices=CRITERIA,
        default=SQC1,
        details="`sqc2` needs `--topics`; `nsqc` is a baseline",
    )
    domain: str | None = param(
        "concept above all drawn ones, or per-topic; if left out, abstraction or the file's root",
        default=None,
        group=COUNTED,
        details="A label, or a word, whose sense with the most concepts below it counts: `abstraction` is "
        "`abstraction.n.06`, and `entity` is everything",
    )
    topics: tuple[str, ...] | None = param(
        "concepts, none below another",
        many=True,
        default=None,
        group=COUNTED,
        details="For example `disease,sport`",
    )
    epsilon_per: str = param(
        "spread epsilon over all phrases of a user, or spend it on each phrase",
        choices=("user", "query"),
        default="user",
        group=PROMISES,
    )
    max_phrases: int | None = param(
        "most phrases per user; later ones are dropped, and epsilon is spread over this number",
        ge=1,
        le=_MOST_PHRASES,
        default=None,
        group=PROMISES,
    )
    pad: bool = param(
        "give every user exactly max-phrases queries of one phrase",
        default=False,
        group=PROMISES,
        details="The only way to hide how many phrases a user has, and to add up in a ledger",
    )
    tight: bool = param(
        "search for the largest exponent that the taxonomy allows, and draw with it",
        default=False,
        group=PROMISES,
        details="In `abstraction` the exponent is then 1.5 to 1.8 times half of epsilon, for the same "
        "guarantee. Needs one epsilon for all phrases (`--max-phrases` or `--epsilon-per query`). The "
        "search takes about 10 s, and the calibration has its `certificate`",
    )
    keep_words: str = param(
        "put back words that were not replaced, without protection: function words, or modifiers too",
        choices=("none", "function", "modifiers"),
        default="none",
        group=PROMISES,
    )
    reserve: int | None = param(
        "phrases of each user that epsilon is for too, and that later releases may publish (with --pad)",
        ge=1,
        le=_MOST_PHRASES,
        default=None,
        group=PROMISES,
        details="This release costs its own part only. Needs a ledger that keeps the rest: [publish new "
        "queries](../how-to/publish-new-queries.md)",
    )
    since: str | None = param(
        "replace only queries from this day or time on, such as 2026-05-01; all users stay (with --pad)",
        default=None,
        group=COUNTED,
        details="A day, or a day and a time, in UTC if no time zone is given. Users without such queries get "
        "random ones",
    )
    follows: str | None = param(
        "private folder of an earlier release, whose numbers for users are kept (with --pad)",
        path=True,
        default=None,
        group=COUNTED,
        details="The earlier release must have been made with `--reserve` or `--follows`",
    )
    whole_queries: bool = param(
        "treat a query as one phrase, not as words",
        default=False,
        group=COUNTED,
        details="A query that is a name of the taxonomy is replaced, and any other is left out. For logs in "
        "which a query is a product or a tag, with a taxonomy of these. Not with `--keep-words`",
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
        if self.pad and self.max_phrases is None:
            raise UsageError("padding needs a number of phrases", f"pass {argument('max_phrases', 'N')} too")
        if self.pad and self.domain == PER_TOPIC:
            raise UsageError(
                "padding is drawn from one domain, and per-topic has several",
                f"drop {argument('pad')}, or name one {argument('domain')}",
            )

        if self.tight and (not self.fixed or self.criterion == NSQC):
            raise UsageError(
                "the search for the largest exponent needs one epsilon for all phrases, and a criterion of similarity",
                f"pass {argument('max_phrases')} or {argument('epsilon_per', 'query')}, "
                "and sqc1 or sqc2; nsqc is tight already",
            )
        if self.pad and self.keep_words != "none":
            raise UsageError(
                "padding has no words to keep", f"drop {argument('pad')} or {argument('keep_words')}"
            )
        if self.whole_queries and self.keep_words != "none":
            raise UsageError(
                "whole queries leave no words to keep",
                f"drop {argument('whole_queries')} or {argument('keep_words')}",
            )

        self._check_later()

    def _check_later(self) -> None:
        """New queries of known users: what only a padded release can promise."""
        for name in ("reserve", "since", "follows"):
            if getattr(self, name) is not None and not self.pad:
                raise UsageError(
                    f"--{name} is for releases that add up, and only padded ones do",
                    f"pass {argument('max_phrases', 'N')} {argument('pad', True)} too",
                )
        if self.reserve is not None and self.epsilon_per == "query":
            raise UsageError(
                "an epsilon per query has nothing to reserve: later releases cost what they cost",
                f"drop {argument('reserve')} or {argument('epsilon_per', 'query')}",
            )
        _moment(self.since)

    # -- before data ---------------------------------------------------------------------------------------------

    def choice(self) -> Choice:
        """The domains, and how concepts are drawn from them."""
        return Choice.of(self.taxonomy, self.domain, self.topics, self.criterion, tight=self.tight)

    @property
    def fixed(self) -> bool:
        """Whether every phrase has the same epsilon, whoever's it is."""
        return self.epsilon_per == "query" or self.max_phrases is not None

    @property
    def slots(self) -> int | None:
        """Queries of every user in a padded release."""
        return self.max_phrases if self.pad else None

    @property
    def goes_on(self) -> bool:
        """Whether another release may have the same numbers for users, which readers of this one are told."""
        return self.reserve is not None or self.follows is not None

    @property
    def per_single_phrase(self) -> bool:
        """Whether epsilon is promised for one phrase, because a user may have any number of them."""
        return self.epsilon_per == "query" and self.max_phrases is None

    def total(self) -> float:
        """The epsilon that is promised: per user, or per phrase where users may have any number of them."""
        if self.epsilon_per == "query" and self.max_phrases is not None:
            return float(Decimal(repr(self.epsilon)) * self.max_phrases)
        if self.reserve is not None and self.max_phrases is not None:
            # Rounded down, so that the parts of a reserve never add up to more than the whole.
            share = Fraction(self.max_phrases, self.max_phrases + self.reserve)
            return float(_DOWN.divide(Decimal(repr(self.epsilon)) * share.numerator, share.denominator))
        return self.epsilon

    def per_phrase(self, phrases: int) -> Fraction:
        """The epsilon of one phrase of a user who has so many."""
        if self.max_phrases is not None:
            return Fraction(self.total()) / self.max_phrases
        return Fraction(self.epsilon) / (phrases if self.epsilon_per == "user" else 1)

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
            tables=(shared.drawn_log("A query of one user, with a drawn concept in place of every phrase."),),
            draws=(self._draw(promise, choice),),
            what=descriptions.what(self),
            how=descriptions.how(self, choice.taxonomy.identity, choice.labels),
            expected=descriptions.expected(self, choice),
            labels=descriptions.FIGURES,
            assessment=descriptions.assessment(self, choice.labels),
            warnings=descriptions.warnings(self, choice),
        )

    @property
    def per_topic(self) -> bool:
        return self.domain == PER_TOPIC

    def _calibration(self, choice: Choice) -> dict[str, Any]:
        # Where it is spread over all phrases of a user, figures are those of a user with one: others have less.
        each = self.per_phrase(1)
        shown = {"taxonomy": choice.taxonomy.identity, **choice.calibration(each)}
        if any(not sampler.exponent(each) for sampler in choice.samplers):
            raise UsageError(
                f"epsilon {self.epsilon:g} spread over {self.max_phrases or 1:,} phrases is too small to draw with",
                f"raise {argument('epsilon')} or lower {argument('max_phrases')}",
            )
        if not self.fixed:
            return shown | {"drawn_for_phrases": 1}
        return shown | {"epsilon_per_phrase": float(each)}

    def _draw(self, promise: Guarantee, choice: Choice) -> Draw:
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
                since=_moment(self.since),
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
            return self._padded(phrases, concepts, choice, noise, self.max_phrases)
        return dataclasses.replace(phrases, concepts=concepts)

    def _padded(self, phrases: Phrases, own: np.ndarray, choice: Choice, noise: Noise, most: int) -> Phrases:
        """Exactly so many queries of one phrase for every user, what she lacks drawn uniformly."""
        slots = np.arange(phrases.users * most)
        concepts = choice.uniform(len(slots), noise)
        concepts[phrases.owners * most + phrases.ranks()] = own
        return Phrases(phrases.users, slots // most, slots, concepts)


def _moment(since: str | None) -> datetime | None:
    """From when on queries are replaced, in UTC as all times of a log."""
    if since is None:
        return None
    try:
        given = datetime.fromisoformat(since)
        return given.astimezone(UTC).replace(tzinfo=None) if given.tzinfo else given
    except (ValueError, OverflowError):  # the first and the last day may be none in UTC
        raise UsageError(
            f"{argument('since')} is not a day or a time", "write it like 2026-05-01 or 2026-05-01T12:00:00"
        ) from None
