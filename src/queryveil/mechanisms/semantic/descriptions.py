"""What a semantically perturbed log is called, how it was made and what it gives away, in words for its readers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from queryveil.catalog import Sentence, count, paragraph
from queryveil.errors import Message, argument
from queryveil.mechanisms.concept_profiles.descriptions import (
    ROWS_ARE_LINKED,
    answers_for_each_person,
    assess_equal_rows,
    bound,
)
from queryveil.mechanisms.concept_profiles.nearness import NOISE, in_draws
from queryveil.mechanisms.semantic.semantic_parameters import SemanticParameters
from queryveil.privacy import statements
from queryveil.privacy.statements import LIMITED, NOT_EXCLUDED, YES, Statement, say

if TYPE_CHECKING:
    from queryveil.mechanisms.concept_profiles.domain import Choice

USERS_INSIDE_ARE_PUBLIC = say("users-inside-are-public")
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


def what(method: SemanticParameters) -> Sentence:
    """Return what the release holds."""
    topics = ".topics" if method.per_topic else ""
    return Sentence(f"semantic.what.{_replaced(method)}{topics}")


def how(method: SemanticParameters, labels: Sequence[str]) -> str:
    """Return what is done, for readers of the release."""
    close = Sentence(f"semantic.close.{method.criterion}")
    drawn = (
        Sentence("semantic.how.drawn.topics", topics=", ".join(labels), close=close)
        if method.per_topic
        else Sentence("semantic.how.drawn", concept=labels[0], close=close)
    )
    return paragraph(
        Sentence(f"semantic.how.{_replaced(method)}"),
        drawn,
        *_spent(method),
        Sentence(f"semantic.how.left-out.{_replaced(method)}"),
        Sentence("semantic.how.since", since=str(method.since)) if method.since is not None else "",
        Sentence("semantic.how.follows") if method.follows is not None else "",
        Sentence("semantic.how.padded", queries=count(method.max_phrases or 0, "queries"))
        if method.pad
        else "",
        Sentence("semantic.how.kept", words=_kept(method)) if method.keep_words != "none" else "",
        Sentence("semantic.how.order"),
    )


def _replaced(method: SemanticParameters) -> str:
    return "queries" if method.whole_queries else "phrases"


def _kept(method: SemanticParameters) -> Sentence:
    return Sentence(f"semantic.words.{method.keep_words}")


def _spent(method: SemanticParameters) -> Iterator[str]:
    """Yield how epsilon is divided."""
    if method.max_phrases is not None:
        yield Sentence("semantic.how.epsilon.first", phrases=count(method.max_phrases, "phrases"))
    else:
        unit = "user" if method.epsilon_per == "user" else "phrase"
        yield Sentence(f"semantic.how.epsilon.{unit}", epsilon=method.epsilon)
    if method.reserve is not None:
        yield Sentence(
            "semantic.how.epsilon.reserved", epsilon=method.epsilon, reserved=count(method.reserve, "phrases")
        )


def caveats(method: SemanticParameters) -> tuple[Statement, ...]:
    """Return what readers and curators must know."""
    found = [] if method.pad else [say("shape-is-published", _shape(method))]
    if method.per_topic:
        found.append(say("topics-are-published"))
    if method.keep_words != "none":
        published = Sentence(f"statement.words-are-published.{method.keep_words}", words=_kept(method))
        found.append(say("words-are-published", published))
    if method.epsilon_per == "query":
        phrases = method.max_phrases
        limited = phrases is not None and Sentence(
            "statement.epsilon-per-phrase.limited", phrases=count(phrases, "phrases")
        )
        found.append(say("epsilon-per-phrase", limited or ""))
    if method.goes_on:
        followed = Sentence("statement.releases-go-on.follows") if method.follows is not None else ""
        found.append(say("releases-go-on", followed))
    if not method.pad:
        found.append(say("no-sum", Sentence("statement.no-sum.semantic")))
    found.append(say("rows-say-little"))
    return tuple(found)


def _shape(method: SemanticParameters) -> Sentence:
    unrelated = "" if method.per_topic else Sentence("semantic.example.unrelated")
    if method.per_single_phrase:
        bounded = Sentence("semantic.bounded.phrases")
    else:
        unchanged = method.per_topic or method.keep_words != "none"
        bounded = Sentence("semantic.bounded.except" if unchanged else "semantic.bounded")
    whole = ".queries" if method.whole_queries else ""
    return Sentence(
        f"statement.shape-is-published{whole}",
        example=Sentence(f"semantic.example.{_replaced(method)}", unrelated=unrelated),
        bounded=bounded,
    )


def assessment(method: SemanticParameters, labels: Sequence[str]) -> tuple[Statement, ...]:
    """The three answers name what is disclosed with certainty."""
    near = Sentence("concepts.near")
    if method.pad:
        linked = Sentence("concepts.linked.continued") if method.goes_on else ROWS_ARE_LINKED
        return assess_equal_rows(method.total(), near, linked)
    kept = Sentence("semantic.kept") if method.keep_words != "none" else ""
    certain = _certain_disclosures(method, labels)
    single = method.per_single_phrase
    # Phrases add up, so that a bound for each of them is none for a person.
    limited = NOT_EXCLUDED if single else LIMITED
    return statements.assessment(
        singling_out=(YES, paragraph(kept, Sentence(f"semantic.counts.{_replaced(method)}"))),
        linkability=(YES, paragraph(ROWS_ARE_LINKED, Sentence("semantic.linkability"))),
        inference=(
            YES if kept or certain else limited,
            paragraph(kept, *certain, _bound_text(method, more=bool(certain or kept))),
        ),
        disclosed=Sentence("semantic.disclosed"),
        **answers_for_each_person(near, one_phrase=single),
    )


def _certain_disclosures(method: SemanticParameters, labels: Sequence[str]) -> list[Sentence]:
    """What a row says with certainty: its topic, or that a narrow domain was searched for."""
    if not method.per_topic and method.domain is None:
        return []
    certain = (
        Sentence("semantic.certain.topics", topics=", ".join(labels))
        if method.per_topic
        else Sentence("semantic.certain", concept=labels[0])
    )
    return [certain, Sentence("semantic.certain.special")]


def _bound_text(method: SemanticParameters, *, more: bool) -> Sentence:
    limit = bound(method.total())
    if method.per_single_phrase:
        return Sentence("semantic.inference.phrase", bound=limit)
    return Sentence("semantic.inference.else" if more else "semantic.inference", bound=limit)


_SOME_PHRASES = 10
"""A user to have in mind where epsilon is spread over whatever a user has."""


def expected(method: SemanticParameters, choice: Choice) -> tuple[str, ...]:
    """How near draws are to the truth, in words."""
    looked = sum(len(one.places) for one in choice.near)
    many = sum(len(one.sampler.domain) for one in choice.near)
    said: dict[str, Any] = {
        "nearness": in_draws(choice.shares(method.per_phrase(1))),
        "over": Sentence("plan.nearness.all")
        if looked == many
        else Sentence("plan.nearness.some", some=looked, all=many),
        "padding": Sentence("plan.nearness.padding") if method.pad else "",
    }
    if method.fixed:
        return (Sentence("plan.nearness", **said),)
    more = in_draws(choice.shares(method.per_phrase(_SOME_PHRASES)))
    return (Sentence("plan.nearness.more", **said, phrases=_SOME_PHRASES, more=more),)


def _mostly_noise(method: SemanticParameters, choice: Choice) -> list[str]:
    """For one phrase or for some: whether, and in which topics, draws say next to nothing of the truth."""
    for phrases in (1,) if method.fixed else (1, _SOME_PHRASES):
        each = method.per_phrase(phrases)
        labels = [
            label for label, near in zip(choice.labels, choice.near, strict=True) if near.shares(each).noise
        ]
        if labels:
            where = Sentence("plan.mostly-noise.topics", topics=", ".join(labels)) if method.per_topic else ""
            who = Sentence("plan.mostly-noise.who", phrases=phrases) if phrases > 1 else ""
            parameter = "topics" if method.per_topic else "domain"
            narrower = Sentence(f"plan.mostly-noise.{parameter}.narrower", **{parameter: argument(parameter)})
            return [
                _warning(
                    "mostly-noise",
                    draws=round(1 / NOISE),
                    where=where,
                    who=who,
                    fewer=_fewer_phrases_hint(method, phrases),
                    epsilon=argument("epsilon"),
                    narrower=narrower,
                )
            ]
    return []


def _fewer_phrases_hint(method: SemanticParameters, phrases: int) -> str:
    """Where fewer phrases would leave each of them more of epsilon."""
    if method.epsilon_per == "query" or max(phrases, method.max_phrases or 1) == 1:
        return ""
    id = "plan.mostly-noise.lower" if method.max_phrases else "plan.mostly-noise.pass"
    return Sentence(id, max_phrases=argument("max_phrases"))


def _warning(id: str, **fields: Any) -> str:
    """Return a warning that can name parameters."""
    return Message(Sentence(f"plan.warning.{id}", **fields))


def warnings(method: SemanticParameters, choice: Choice) -> tuple[str, ...]:
    found = _mostly_noise(method, choice)
    if method.epsilon_per == "user" and method.max_phrases is None:
        found.append(_warning("epsilon-spread", max_phrases=argument("max_phrases")))
    if method.reserve is not None:
        reserved = count(method.reserve, "phrases")
        epsilon = argument("epsilon", method.epsilon)
        found.append(_warning("reserve", epsilon=epsilon, own=method.total(), reserved=reserved))
    if method.follows is not None:
        found.append(_warning("follows"))
    if method.total() > 20:
        found.append(_warning("large-epsilon", epsilon=method.total()))
    return tuple(found)
