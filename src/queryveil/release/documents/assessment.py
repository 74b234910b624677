"""For the lawyer: the three questions about anonymity, answered for this release, and text for an impact assessment.

The three questions are those that European data-protection authorities ask of an anonymisation technique: can a person
be singled out, can records about a person be linked, can something be inferred about a person? Each answer begins with
a verdict: yes, no, limited, or not excluded. The text for an impact assessment goes to the private folder. What is in
square brackets there is for the controller to write; whether a release is anonymous in the sense of a law is theirs to
decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from queryveil.catalog import Sentence, count, term
from queryveil.privacy.guarantee import K_ANONYMITY, NONE, Guarantee
from queryveil.privacy.statements import (
    DISCLOSED,
    INFERENCE,
    LIMITED,
    LINKABILITY,
    NO,
    NOT_EXCLUDED,
    QUESTIONS,
    SINGLING_OUT,
)
from queryveil.release.about import stated
from queryveil.release.documents import sentences
from queryveil.release.documents.chances import evenly, is_weak


@dataclass(frozen=True)
class Answer:
    """The answer to one of the three questions: a verdict, and the reason for it."""

    question: str
    """One of QUESTIONS."""
    verdict: str
    """One of VERDICTS."""
    reason: str


@dataclass(frozen=True)
class Part:
    """A part of an impact assessment: its heading, and the points under it."""

    heading: str
    points: tuple[str, ...]


def answers(manifest: Mapping[str, Any]) -> list[Answer]:
    """Singling out, linkability and inference, each with its answer."""
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    found = [
        Answer(one.code, str(one.field("verdict")), one.sentence)
        for one in sentences.assessed(manifest)
        if one.code in QUESTIONS
    ] or _by_guarantee(guarantee)
    return [_with_chance(one, guarantee) for one in found]


def _with_chance(answer: Answer, guarantee: Guarantee) -> Answer:
    """The answer, where a bound that allows practical certainty limits nothing, with what an even chance can become."""
    verdict, reason = answer.verdict, answer.reason
    if verdict == LIMITED and is_weak(guarantee):
        verdict = NOT_EXCLUDED
    if guarantee.private and answer.question == INFERENCE:
        reason = Sentence("answer.with-chance", answer=reason, chance=evenly(guarantee))
    return Answer(answer.question, verdict, reason)


def _by_guarantee(guarantee: Guarantee) -> list[Answer]:
    if not guarantee.private:
        return [Answer(one, NOT_EXCLUDED, Sentence("answer.not-prevented")) for one in QUESTIONS]
    assumed = {one.code for one in guarantee.assumptions}
    lists = {
        name: Sentence(f"answer.public-{name}") if f"public-{name}" in assumed else ""
        for name in ("results", "suggestions")
    }
    bound = Sentence("answer.bound", epsilon=guarantee.epsilon)
    if guarantee.delta:
        bound = Sentence("answer.bound-and-delta", epsilon=guarantee.epsilon, delta=guarantee.delta)
    verdict, alone = LIMITED, Sentence("answer.singling-out", bound=bound, **lists)
    if guarantee.exposing:
        verdict = NOT_EXCLUDED
        alone = Sentence("answer.singling-out.exposing", of_delta=guarantee.of_delta(), **lists)
    elif guarantee.delta:
        verdict, alone = NO, Sentence("answer.singling-out.rare", **sentences.rare(guarantee), **lists)
    kind = Sentence(f"kind.{guarantee.kind}")
    return [
        Answer(SINGLING_OUT, verdict, alone),
        Answer(LINKABILITY, LIMITED, Sentence("answer.linkability")),
        Answer(INFERENCE, LIMITED, Sentence("answer.inference", bound=bound, kind=kind)),
    ]


def impact(manifest: Mapping[str, Any]) -> list[Part]:
    """Text for a data-protection impact assessment, in the order of Article 35(7) of the GDPR."""
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    return [
        Part(Sentence("impact.processing"), _processing(manifest)),
        Part(
            Sentence("impact.necessity"),
            (
                Sentence("impact.necessity.why"),
                *_minimization_text(manifest, guarantee),
                Sentence("impact.necessity.basis"),
                Sentence("impact.necessity.special"),
            ),
        ),
        Part(Sentence("impact.risks"), _risks(manifest)),
        Part(Sentence("impact.measures"), _measures(manifest, guarantee)),
        Part(Sentence("impact.remains"), _remains(manifest, guarantee)),
        Part(Sentence("impact.asked"), (Sentence("impact.asked.officer"), Sentence("impact.asked.people"))),
    ]


def _processing(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    software = manifest["software"]
    period = sentences.period(manifest)
    return (
        Sentence(
            "impact.processing.log",
            controller=stated(manifest, "publisher") or Sentence("impact.processing.controller"),
            period=Sentence("impact.processing.period", period=period) if period else "",
            purpose=stated(manifest, "purpose") or Sentence("impact.processing.purpose"),
        ),
        Sentence("impact.processing.data", what=manifest["what"]),
        *(
            Sentence(
                "impact.processing.table",
                file=table["file"],
                rows=count(table["rows"], "rows"),
                columns=", ".join(one["name"] for one in table["columns"]),
            )
            for table in manifest["tables"].values()
        ),
        sentences.how(manifest),
        Sentence(
            "impact.processing.made",
            day=manifest["created"],
            software=software["name"],
            version=software["version"],
            method=manifest["method"],
        ),
        Sentence("impact.processing.undisclosed"),
    )


def _minimization_text(manifest: Mapping[str, Any], guarantee: Guarantee) -> tuple[str, ...]:
    said = tuple(sentences.declared(manifest, DISCLOSED))
    if guarantee.private:
        limited = Sentence("impact.minimized.user")
        if guarantee.unit != "user":
            limited = Sentence("impact.minimized.unit", unit=term("unit", guarantee.unit))
        disclosed = guarantee.disclosed
        more = (Sentence("impact.minimized.disclosed", disclosed=disclosed),) if disclosed else ()
        return (limited, *more, *said)
    if guarantee.kind == K_ANONYMITY:
        return said or (Sentence("impact.minimized.crowd", crowd=guarantee.crowd),)
    return said or (Sentence("impact.minimized.none"),)


def _risks(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        Sentence("impact.risks.queries"),
        Sentence("impact.risks.reader"),
        *(Sentence("impact.risks.learnt", learnt=one) for one in sentences.learnt(manifest)),
    )


def _measures(manifest: Mapping[str, Any], guarantee: Guarantee) -> tuple[str, ...]:
    stated_guarantee = Sentence("impact.measures.guarantee", headline=guarantee.headline)
    return (
        *([stated_guarantee] if guarantee.kind != NONE else []),
        guarantee.plain_words(),
        Sentence("question.source"),
        *map(in_a_line, answers(manifest)),
        Sentence("impact.measures.verify", verify=sentences.check(manifest)),
    )


def in_a_line(answer: Answer) -> Sentence:
    """A question and its answer as one paragraph."""
    return Sentence(
        "answer.line",
        question=Sentence(f"question.{answer.question}"),
        verdict=Sentence(f"verdict.{answer.verdict}"),
        reason=answer.reason,
    )


def _remains(manifest: Mapping[str, Any], guarantee: Guarantee) -> tuple[str, ...]:
    limits = sentences.limits(manifest)
    kept: tuple[str, ...]
    if guarantee.private:
        kept = ("impact.remains.private", "impact.remains.releases", "impact.remains.anonymous")
    elif guarantee.kind == K_ANONYMITY:
        kept = ("impact.remains.crowd", "impact.remains.receivers", "impact.remains.anonymous")
    else:
        kept = ("impact.remains.none", "impact.remains.access")
    return (*limits, *map(Sentence, kept))
