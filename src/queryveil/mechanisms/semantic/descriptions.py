"""What a semantically perturbed log is called, how it was made and what it gives away, in words for its readers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from queryveil.catalog.numbers import round_up as rounded_up
from queryveil.mechanisms.concept_profiles.descriptions import (
    ROWS_ARE_LINKED,
    answers_for_each_person,
    assess_equal_rows,
)
from queryveil.mechanisms.concept_profiles.nearness import NOISE, in_draws
from queryveil.mechanisms.semantic.semantic_parameters import SemanticParameters
from queryveil.privacy import statements
from queryveil.privacy.statements import LIMITED, NOT_EXCLUDED, YES, Statement, say

if TYPE_CHECKING:
    from queryveil.mechanisms.concept_profiles.domain import Choice

USERS_INSIDE_ARE_PUBLIC = say(
    "users-inside-are-public",
)
FIGURES = {
    "concepts": "concepts to draw from",
    "max_sim": "largest similarity of two concepts",
    "min_sim": "smallest similarity of two concepts",
    "sensitivity": "sensitivity of the criterion",
    "epsilon_per_phrase": "epsilon per phrase",
    "drawn_true": "share of draws that are the true concept",
    "drawn_within_1_step": "share at most 1 step away from it",
    "drawn_within_2_steps": "share at most 2 steps away from it",
    "drawn_for_phrases": "phrases of a user for which these shares hold",
    "exponent": "largest exponent found (half of epsilon without search)",
    "ratio_of_weights": "largest ratio of two weights",
    "ratio_of_sums": "largest ratio of two concepts' sums of weights",
    "log_ratio": "logarithm of their product, at most epsilon per phrase",
}
_CLOSE = {
    "sqc1": "more probably if it is similar in meaning",
    "sqc2": "more probably if it is similar in meaning and of the same topic",
    "nsqc": "the phrase's own concept more probably than any other, and all others equally",
}
_KEPT = {
    "function": "function words, such as 'of' and 'near', before and after a replaced phrase",
    "modifiers": "function words and modifiers, such as 'of' and 'cheap', before and after a replaced phrase",
}

_KEPT_EXAMPLE = {
    "function": "becomes a random concept and the words 'near here'",
    "modifiers": "becomes the surname, a random concept and the words 'near here'",
}


_SHAPE = (
    "how many queries a user has, and how many phrases each query has, is published unchanged; only phrases with a "
    "concept in the domain count. Someone who has a row certainly searched for something inside the domain, which "
    "tells much if the domain is narrow. A made-up example: someone who searched for 'measles', then for 'measles and "
    "fever' and then for 'tennis lessons' has three rows, of one, two and one concept"
)
_SHAPE_OF_WHOLE = (
    "how many queries a user has is published unchanged; only queries that are names of concepts in the domain count. "
    "Someone who has a row certainly searched for something inside the domain, which tells much if the domain is "
    "narrow. A made-up example: someone who searched for 'measles', then for 'fever', then for 'smith tennis lessons "
    "near here' and then for 'tennis' has three rows, of one concept each"
)


def what(method: SemanticParameters) -> str:
    where = " of its topic" if method.per_topic else ""
    replaced = "query" if method.whole_queries else "phrase"
    return f"A search log with a random concept{where} in place of every {replaced}, and random numbers for users"


def how(method: SemanticParameters, taxonomy: str, labels: Sequence[str]) -> str:
    """What is done, for readers of the release."""
    place = (
        f"the topic that it belongs to ({', '.join(labels)})"
        if method.per_topic
        else f"all concepts at or below {labels[0]}"
    )
    spent = {
        (False, "user"): f"A user's epsilon of {method.epsilon:g} is spread evenly over all their phrases.",
        (False, "query"): f"Each phrase has an epsilon of {method.epsilon:g} of its own.",
    }.get(
        (method.max_phrases is not None, method.epsilon_per),
        f"Only each user's first {method.max_phrases or 0:,} phrases count. Each has the same share of epsilon.",
    )
    if method.reserve is not None:
        spent += (
            f" An epsilon of {method.epsilon:g} is for these and for {method.reserve:,} phrases more, which later "
            "releases may publish. This release spends its own part of it."
        )
    padded = (
        f" Every user has exactly {method.max_phrases:,} queries of one phrase. Missing ones were drawn uniformly."
        if method.pad
        else ""
    )
    kept = (
        f" {_KEPT[method.keep_words].capitalize()} were put back as they were."
        if method.keep_words != "none"
        else ""
    )
    cut, left_out = (
        (
            f"Each whole query was treated as one phrase, and looked up in a taxonomy ({taxonomy}).",
            "Queries that are not the name of a concept were left out.",
        )
        if method.whole_queries
        else (
            f"Queries were cut into noun phrases, and each phrase was looked up in a taxonomy ({taxonomy}).",
            "Phrases without a concept, and queries without a phrase, were left out.",
        )
    )
    if method.since is not None:
        left_out += f" Queries before {method.since} were left out too; their users were not."
    if method.follows is not None:
        left_out += " Users who are in an earlier release have the numbers that they have there."
    return (
        f"{cut} It was replaced by a concept drawn at random from {place}, {_CLOSE[method.criterion]}. {spent} "
        f"{left_out}{padded}{kept} Users are in the order of "
        "random numbers. Times, urls and ranks were left out."
    )


def caveats(method: SemanticParameters) -> tuple[Statement, ...]:
    """What readers and curators must know."""
    found = [] if method.pad else [say("shape-is-published", _of_shape(method))]
    if method.per_topic:
        found.append(
            say(
                "topics-are-published",
            )
        )
    if method.keep_words != "none":
        found.append(
            say(
                "words-are-published",
                f"the words that were kept have no protection at all: {_KEPT[method.keep_words]} are published as "
                "they were typed. A rare word, such as a name, or a rare combination of common words tells whose "
                f"query it is. A made-up example: 'smith tennis lessons near here' {_KEPT_EXAMPLE[method.keep_words]}",
            )
        )
    if method.epsilon_per == "query":
        found.append(
            say(
                "epsilon-per-phrase",
                "epsilon is spent on every phrase: a user with m phrases has m times epsilon"
                + (
                    f"; the guarantee states it for the {method.max_phrases:,} phrases that are allowed"
                    if method.max_phrases is not None
                    else "; with 100 phrases at epsilon 1 this is 100, which promises nothing about the user as a whole"
                ),
            )
        )
    if method.goes_on:
        came = (
            "; who has a number that is not in the earlier release came to the log after it, and that is not hidden"
            if method.follows is not None
            else ""
        )
        found.append(
            say(
                "releases-go-on",
                "users may have the same numbers in an earlier or a later release, so that the rows of all of them can "
                "be put together: what they say about a person together is bounded by the sum of their epsilons, which "
                f"a ledger keeps{came}",
            )
        )
    if not method.pad:
        found.append(
            say(
                "no-sum",
                "it cannot be added up with other releases of this log: a ledger lists it as not composable",
            )
        )
    found.append(
        say(
            "rows-say-little",
        )
    )
    return tuple(found)


def _of_shape(method: SemanticParameters) -> str:
    health = "" if method.per_topic else ", none of which needs to be about health or sport"
    as_it_is = ", except for what is published unchanged"
    bounded = (
        "epsilon then bounds what each phrase says about that person, and only their number times epsilon bounds what "
        "all phrases say"
        if method.per_single_phrase
        else "what they say about that person is then bounded by epsilon alone"
        + (as_it_is if method.per_topic or method.keep_words != "none" else "")
    )
    shape = _SHAPE_OF_WHOLE if method.whole_queries else _SHAPE
    return (
        f"{shape}{health}. Someone who knows that this person made three such queries finds the rows by counting; "
        f"{bounded}. Releases made with --max-phrases N --pad do not give these numbers away"
    )


_LINKS_ON = (
    "A random number links the rows of a user, and may be the same in an earlier or a later release. Only the "
    "publisher's private folder says which user it stands for."
)


def assessment(method: SemanticParameters, labels: Sequence[str]) -> tuple[Statement, ...]:
    """The three answers name what is disclosed with certainty."""
    near = "near what one single person searched for"
    if method.pad:
        return assess_equal_rows(method.total(), near, _LINKS_ON if method.goes_on else ROWS_ARE_LINKED)
    kept = "The words that were kept are published as typed. " if method.keep_words != "none" else ""
    counts = (
        "The number of queries is published unchanged."
        if method.whole_queries
        else "The number of queries, and of phrases in each query, is published unchanged."
    )
    certain = _certain(method, labels)
    single = method.per_single_phrase
    # Phrases add up, so that a bound for each of them is none for a person.
    limited = NOT_EXCLUDED if single else LIMITED
    return statements.assessment(
        singling_out=(
            YES,
            f"{kept}{counts}",
        ),
        linkability=(
            YES,
            f"{ROWS_ARE_LINKED} Someone who knows how many queries a person made may find that person's number.",
        ),
        inference=(
            YES if kept or certain else limited,
            kept
            + "".join(f"{one} " for one in certain)
            + _bounded(method, "else " if certain or kept else ""),
        ),
        disclosed="Rows are made for every user with a phrase inside the domain.",
        **(
            answers_for_each_person(near, "how sure a reader can be of one single phrase")
            if single
            else answers_for_each_person(near)
        ),
    )


def _certain(method: SemanticParameters, labels: Sequence[str]) -> list[str]:
    """What a row says with certainty: its topic, or that a narrow domain was searched for."""
    if not method.per_topic and method.domain is None:
        return []
    inside = f"of a topic ({', '.join(labels)})" if method.per_topic else f"at or below {labels[0]}"
    return [
        f"Readers learn with certainty that a person searched for something {inside}.",
        "If that is a disease, a belief or the like, it belongs to the special categories of personal data (Article 9 "
        "of the GDPR).",
    ]


def _bounded(method: SemanticParameters, other: str) -> str:
    bound = f"epsilon {rounded_up(method.total(), 6)}"
    if method.per_single_phrase:
        return (
            f"What a reader learns about a single phrase is bounded by {bound}. What all phrases of a person say "
            "together is bounded only by their number times epsilon, which for most people is no bound at all. Nothing "
            "bounds what is learnt about their number and form."
        )
    return (
        f"What a reader learns about what {other}a person searched for is bounded by {bound}. How much the person "
        "searched, and in what form, is not bounded."
    )


_SOME_PHRASES = 10
"""A user to have in mind where epsilon is spread over whatever a user has."""


def expected(method: SemanticParameters, choice: Choice) -> tuple[str, ...]:
    """How near draws are to the truth, in words."""
    first = f"A drawn concept is {in_draws(choice.shares(method.per_phrase(1)))}"
    if not method.fixed:
        more = in_draws(choice.shares(method.per_phrase(_SOME_PHRASES)))
        first += f", if the user has one phrase. With {_SOME_PHRASES} phrases it is {more}"
    looked = sum(len(one.places) for one in choice.near)
    many = sum(len(one.sampler.domain) for one in choice.near)
    over = "all concepts" if looked == many else f"{looked:,} of {many:,} concepts, evenly spaced"
    padding = " Padding is not counted." if method.pad else ""
    return (
        f"{first}. A step goes from a concept to one that it is a kind of, or back. This is the mean over {over}, as "
        f"if each were searched for equally often.{padding}",
    )


def _mostly_noise(method: SemanticParameters, choice: Choice) -> list[str]:
    """For one phrase or for some: whether, and in which topics, draws say next to nothing of the truth."""
    for phrases in (1,) if method.fixed else (1, _SOME_PHRASES):
        each = method.per_phrase(phrases)
        labels = [
            label for label, near in zip(choice.labels, choice.near, strict=True) if near.shares(each).noise
        ]
        if labels:
            where = f" of {', '.join(labels)}" if method.per_topic else ""
            who = f" for users with {phrases} phrases or more" if phrases > 1 else ""
            narrower = "narrower --topics" if method.per_topic else "a narrower --domain"
            return [
                f"this is mostly noise: of the concepts drawn{where}{who}, fewer than 1 in {round(1 / NOISE)} are "
                f"within two steps of the true one; {_fewer(method, phrases)}raise --epsilon or choose {narrower}, or "
                "do not rely on single rows"
            ]
    return []


def _fewer(method: SemanticParameters, phrases: int) -> str:
    """Where fewer phrases would leave each of them more of epsilon."""
    if method.epsilon_per == "query" or max(phrases, method.max_phrases or 1) == 1:
        return ""
    return "lower --max-phrases, " if method.max_phrases else "pass --max-phrases, "


def warnings(method: SemanticParameters, choice: Choice) -> tuple[str, ...]:
    found = _mostly_noise(method, choice)
    if method.epsilon_per == "user" and method.max_phrases is None:
        found.append(
            "epsilon is spread over all phrases of a user: with 100 phrases at epsilon 1 each draw is nearly uniform; "
            "--max-phrases spends it on the first ones only"
        )
    if method.reserve is not None:
        found.append(
            f"only a ledger keeps what is reserved: open one with --epsilon {method.epsilon:g}, and charge this "
            f"release (epsilon {method.total():g}) and those of the {method.reserve:,} phrases to come to it"
        )
    if method.follows is not None:
        found.append(
            "readers can put this release and the earlier one together: charge both to the same source of one ledger, "
            "or nothing keeps the sum"
        )
    if method.total() > 20:
        found.append(f"epsilon {method.total():g} per user is too large to promise anything in practice")
    return tuple(found)
