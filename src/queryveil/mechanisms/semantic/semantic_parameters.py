"""The parameters of semantic perturbation, and what follows from them alone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction

from queryveil.errors import UsageError, argument
from queryveil.mechanisms.base import Mechanism
from queryveil.mechanisms.concept_profiles.domain import PER_TOPIC
from queryveil.mechanisms.concept_profiles.draws import CRITERIA, NSQC, SQC1
from queryveil.parameters import COUNTED, PROMISES, param, validate

_MOST_EPSILON = 1e6
_MOST_PHRASES = 10**6
_DOWN = Context(prec=15, rounding=ROUND_FLOOR)


@dataclass(frozen=True, kw_only=True)
class SemanticParameters(Mechanism):
    """What a semantic release is asked to be."""

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
        "queries](../how-to/publish-a-perturbed-log.md)",
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
        moment_of(self.since)

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

    @property
    def per_topic(self) -> bool:
        return self.domain == PER_TOPIC


def moment_of(since: str | None) -> datetime | None:
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
