"""What a semantically perturbed log is called, how it was made and what it gives away, in words for its readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from queryveil.mechanisms.semantic.near import NOISE, Shares
from queryveil.privacy import statements
from queryveil.privacy.declarations import LABELS, OCCURRENCES, USER, PublishedTable, columns
from queryveil.privacy.guarantee import rounded_up
from queryveil.privacy.statements import LIMITED, NOT_EXCLUDED, YES, Statement, say

if TYPE_CHECKING:
    from queryveil.mechanisms.semantic.domain import Choice
    from queryveil.mechanisms.semantic.semantic import Semantic

USERS_ARE_PUBLIC = say(
    "users-are-public", "the number of users is public, and that a person is in the log is not hidden"
)
USERS_INSIDE_ARE_PUBLIC = say(
    "users-inside-are-public",
    "the number of users with a phrase inside the domain is public, and that somebody is among these people is not "
    "hidden",
)
TAXONOMY_IS_PUBLIC = say(
    "taxonomy-is-public", "taxonomy, domain and topics were chosen without looking at the log"
)
_COLUMNS = {
    "user": "a random number that stands for one user",
    "number": "which of the user's published queries it is, from 0, in the order of their times; queries of the same "
    "time, or of a log without times, are in random order",
    "query": "labels of the concepts that were drawn for the query's phrases, with a comma and a blank between them",
}
FIGURES = {
    "concepts": "concepts to draw from",
    "max_sim": "largest similarity of two of them",
    "min_sim": "smallest similarity of two of them",
    "sensitivity": "sensitivity of the criterion",
    "epsilon_per_phrase": "epsilon per phrase",
    "drawn_true": "share of draws that are the true concept",
    "drawn_within_1_step": "share at most 1 step away from it",
    "drawn_within_2_steps": "share at most 2 steps away from it",
    "drawn_for_phrases": "these shares are for a user with so many phrases",
    "exponent": "largest exponent found (half of epsilon without search)",
    "ratio_of_weights": "largest ratio of two weights",
    "ratio_of_sums": "largest ratio of two concepts' sums of weights",
    "log_ratio": "logarithm of their product, at most epsilon per phrase",
}
_CLOSE = {
    "sqc1": "more probably the more similar it is in meaning",
    "sqc2": "more probably the more similar it is in meaning, if it is of the same topic",
    "nsqc": "the phrase's own concept with a higher probability than each of the others, which are all alike",
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
    "how many queries a user has, and how many phrases each of them, is published as it is, counting phrases "
    "that the domain has a concept for and no others: that someone has a row says for certain that they "
    "searched for something inside the domain, which tells much if it is narrow. A made-up example: someone "
    "who asked for 'measles', then for 'measles and fever' and then for 'tennis lessons' has three rows, "
    "of one, two and one concept"
)
_SHAPE_OF_WHOLE = (
    "how many queries a user has is published as it is, counting queries that are names of concepts of the domain "
    "and no others: that someone has a row says for certain that they searched for something inside the domain, "
    "which tells much if it is narrow. A made-up example: someone who asked for 'measles', then for 'fever', then "
    "for 'smith tennis lessons near here' and then for 'tennis' has three rows, of one concept each"
)


def table(row: str, helps: Mapping[str, str] | None = None) -> PublishedTable:
    """A log of labels, one row for each query of each user."""
    return PublishedTable(
        name="log",
        noun="rows",
        row=row,
        columns=columns(("user", "number", "query"), _COLUMNS | dict(helps or {})),
        counts=OCCURRENCES,
        texts=LABELS,
        links=USER,
        unique=("user", "number"),
        order=("user", "number"),
    )


def what(method: Semantic) -> str:
    where = " of its topic" if method.per_topic else ""
    replaced = "query" if method.whole_queries else "phrase"
    return f"A search log with a random concept{where} in place of every {replaced}, and random numbers for users"


def how(method: Semantic, taxonomy: str, labels: Sequence[str]) -> str:
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
        f"Each user's first {method.max_phrases or 0:,} phrases count, later ones are dropped, and each has the same "
        "share of epsilon.",
    )
    padded = (
        f" Every user has exactly {method.max_phrases:,} queries of one phrase; what is missing was drawn uniformly."
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
            f"Each query as a whole was one phrase, and was looked up in a taxonomy ({taxonomy}).",
            "Queries that are no name of a concept were left out.",
        )
        if method.whole_queries
        else (
            f"Queries were cut into noun phrases, and each phrase was looked up in a taxonomy ({taxonomy}).",
            "Phrases without a concept, and queries without a phrase, were left out.",
        )
    )
    return (
        f"{cut} It was replaced by a concept drawn at random from {place}, {_CLOSE[method.criterion]}. {spent} "
        f"{left_out}{padded}{kept} Users are in the order of "
        "random numbers; times, urls and ranks were left out."
    )


def caveats(method: Semantic) -> tuple[Statement, ...]:
    """What readers and curators must know."""
    found = [] if method.pad else [say("shape-is-published", _of_shape(method))]
    if method.per_topic:
        found.append(
            say(
                "topics-are-published",
                "the topic of every phrase is published as it is, and only what is inside of a topic is hidden. A "
                "made-up example with the topics disease and sport: for 'measles' some disease is published, the right "
                "one or another, and never a sport; so its row says for certain that this person searched for a "
                "disease",
            )
        )
    if method.keep_words != "none":
        found.append(
            say(
                "words-are-published",
                f"the words that were kept have no protection at all: {_KEPT[method.keep_words]} are published as they "
                "were typed, and a rare one, such as a name, or a rare row of common ones says whose query it is. A "
                f"made-up example: 'smith tennis lessons near here' {_KEPT_EXAMPLE[method.keep_words]}",
            )
        )
    if method.epsilon_per == "query":
        found.append(
            say(
                "epsilon-per-phrase",
                "epsilon is spent on every phrase: a user with m of them has m times epsilon"
                + (
                    f", which is stated for the {method.max_phrases:,} that are allowed"
                    if method.max_phrases is not None
                    else "; with 100 phrases at epsilon 1 this is 100, and promises nothing about the user as a whole"
                ),
            )
        )
    if not method.pad:
        found.append(
            say(
                "no-sum",
                "it has no sum with other releases of this log: a ledger lists it as not composable",
            )
        )
    found.append(
        say(
            "rows-say-little",
            "single rows say little: with a small epsilon most drawn concepts have nothing to do with what was "
            "searched for",
        )
    )
    return tuple(found)


def _of_shape(method: Semantic) -> str:
    health = "" if method.per_topic else ", none of which needs to be about health or sport"
    as_it_is = ", but for what is published as it is"
    bounded = (
        "what each phrase says of that person is then bounded by epsilon, and what all of them say by their number "
        "times epsilon"
        if method.per_single_phrase
        else "what they say of that person is then bounded by epsilon alone"
        + (as_it_is if method.per_topic or method.keep_words != "none" else "")
    )
    shape = _SHAPE_OF_WHOLE if method.whole_queries else _SHAPE
    return (
        f"{shape}{health}. Whoever knows that this person posed three such queries finds the rows by counting, and "
        f"{bounded}. Releases made with --max-phrases N --pad do not give these numbers away"
    )


_LINKS = (
    "The rows of a user are linked by a random number that no other release has. Which user it stands for is written "
    "to the publisher's private folder only, for measurements, and can be deleted there."
)


def _of_each_person(what: str, sure: str = "how sure a reader can be of that") -> dict[str, Any]:
    """Rows are made for each person apart: that many people share something plays no role."""
    return {
        "learnt": (f"A concept {what}, however few share it; {sure} is limited by the bound above.",),
        "on_purpose": f"A concept {what} can be published, however few share it.",
    }


def of_equal_rows(epsilon: float, what: str) -> tuple[Statement, ...]:
    """Where every user has the same number of rows, and nothing of anybody is published as it is."""
    bound = f"epsilon {rounded_up(epsilon, 6)}"
    return statements.assessment(
        singling_out=(
            LIMITED,
            "The rows of one number are made from one person; what they say of that person is limited by "
            f"{bound}.",
        ),
        linkability=(
            YES,
            f"Within the release. {_LINKS} With another data set it is limited: what the rows say of a person, "
            f"whatever else is known, is bounded by {bound}.",
        ),
        inference=(LIMITED, f"What the rows say of a person is bounded by {bound}."),
        disclosed="Rows are made for every user, so that the number of users is disclosed exactly.",
        **_of_each_person(what),
    )


def assessment(method: Semantic, labels: Sequence[str]) -> tuple[Statement, ...]:
    """The three answers name what is disclosed with certainty."""
    near = "near what one single person searched for"
    if method.pad:
        return of_equal_rows(method.total(), near)
    kept = "By the words that were kept, which stand as typed. " if method.keep_words != "none" else ""
    counts = (
        "By the number of queries, which is published as it is."
        if method.whole_queries
        else "By the number of queries, and of phrases in each of them, which are published as they are."
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
            f"{_LINKS} Someone who knows how many queries a person posed may find which number it is.",
        ),
        inference=(
            YES if kept or certain else limited,
            kept
            + "".join(f"{one} " for one in certain)
            + _bounded(method, "else " if certain or kept else ""),
        ),
        disclosed="Rows are made for every user with a phrase inside the domain.",
        **(
            _of_each_person(near, "how sure a reader can be of one single phrase")
            if single
            else _of_each_person(near)
        ),
    )


def _certain(method: Semantic, labels: Sequence[str]) -> list[str]:
    """What a row says with certainty: its topic, or that a narrow domain was searched for."""
    if not method.per_topic and method.domain is None:
        return []
    inside = f"of a topic ({', '.join(labels)})" if method.per_topic else f"at or below {labels[0]}"
    return [
        f"That a person searched for something {inside} is learnt with certainty.",
        "If that is a disease, a belief or the like, it is of the special categories of personal data (Article 9 of "
        "the GDPR).",
    ]


def _bounded(method: Semantic, other: str) -> str:
    bound = f"epsilon {rounded_up(method.total(), 6)}"
    if method.per_single_phrase:
        return (
            f"What a single phrase was is bounded by {bound}. What all phrases of a person say together is "
            "bounded only by their number times epsilon, which for most people is no bound at all. How many there are, "
            "and in what form, is not bounded."
        )
    return f"What {other}a person searched for is bounded by {bound}; how much, and in what form, is not."


_SOME_PHRASES = 10
"""A user to have in mind where epsilon is spread over whatever a user has."""


def expected(method: Semantic, choice: Choice) -> tuple[str, ...]:
    """How near draws are to the truth, in words."""
    first = f"A drawn concept is {_in_draws(choice.shares(method.per_phrase(1)))}"
    if not method.fixed:
        more = _in_draws(choice.shares(method.per_phrase(_SOME_PHRASES)))
        first += f", if the user has one phrase. With {_SOME_PHRASES} phrases it is {more}"
    looked = sum(len(one.places) for one in choice.near)
    many = sum(len(one.sampler.domain) for one in choice.near)
    over = "all concepts" if looked == many else f"{looked:,} of {many:,} concepts, evenly spaced"
    padding = " Padding is not counted." if method.pad else ""
    return (
        f"{first}. A step goes from a concept to one that it is a kind of, or back. This is the mean over {over}, as "
        f"if each were searched for equally often.{padding}",
    )


def _in_draws(shares: Shares) -> str:
    base = 100
    while base < 10**6 and shares.steps[0] * base < 1:
        base *= 10
    same, one, two = (_of(share, base) for share in shares.steps)
    return (
        f"the true one in {same} of {base:,} draws, at most one step away in {one}, and at most two steps away in "
        f"{two}"
    )


def _of(share: float, base: int) -> str:
    if share * base < 1:
        return "fewer than 1"
    rounded = round(share * base)
    return f"more than {base - 1:,}" if rounded == base and share < 1 else f"{rounded:,}"


def _mostly_noise(method: Semantic, choice: Choice) -> list[str]:
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
                "rely on nothing in single rows"
            ]
    return []


def _fewer(method: Semantic, phrases: int) -> str:
    """Where fewer phrases would leave each of them more of epsilon."""
    if method.epsilon_per == "query" or max(phrases, method.max_phrases or 1) == 1:
        return ""
    return "lower --max-phrases, " if method.max_phrases else "pass --max-phrases, "


def warnings(method: Semantic, choice: Choice) -> tuple[str, ...]:
    found = _mostly_noise(method, choice)
    if method.epsilon_per == "user" and method.max_phrases is None:
        found.append(
            "epsilon is spread over all phrases of a user: with 100 of them at epsilon 1 each draw is nearly uniform; "
            "--max-phrases spends it on the first ones"
        )
    if method.total() > 20:
        found.append(f"epsilon {method.total():g} per user is too large to promise anything in practice")
    return tuple(found)
