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

from queryveil.privacy.guarantee import K_ANONYMITY, KIND_IN_WORDS, NONE, Guarantee, listed, rounded_up
from queryveil.privacy.statements import (
    DISCLOSED,
    INFERENCE,
    LIMITED,
    LINKABILITY,
    NO,
    NOT_EXCLUDED,
    SINGLING_OUT,
    VERDICTS,
    Statement,
    codes,
    say,
)
from queryveil.release.about import stated
from queryveil.release.documents import words
from queryveil.release.documents.chances import evenly, is_weak

_NAMES = {SINGLING_OUT: "Singling out", LINKABILITY: "Linkability", INFERENCE: "Inference"}
QUESTIONS = {
    "Singling out": "Can the rows of one person be told apart from all others?",
    "Linkability": "Can two rows be recognised as one person's, in this release or with another data set?",
    "Inference": "Can a reader conclude something about one person with high confidence?",
}

SOURCE = (
    "The three questions come from Opinion 05/2014 on Anonymisation Techniques (WP216). The Article 29 Working Party, "
    "the group of European data-protection authorities, wrote it."
)


@dataclass(frozen=True)
class Part:
    """A part of an impact assessment: its heading, and what is to be said under it."""

    heading: str
    points: tuple[str, ...]


def answers(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Singling out, linkability and inference, each with its answer."""
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    found = [one for one in words.assessed(manifest) if one.code in _NAMES] or _by_guarantee(guarantee)
    said = [(one.code, f"{_verdict(one, guarantee)}. {one.sentence}") for one in found]
    if guarantee.private:
        said = [(code, f"{text} {evenly(guarantee)}" if code == INFERENCE else text) for code, text in said]
    return [(_NAMES[code], text) for code, text in said]


def _verdict(answer: Statement, guarantee: Guarantee) -> str:
    """A bound that allows practical certainty limits nothing."""
    verdict = str(answer.field("verdict"))
    return VERDICTS[NOT_EXCLUDED if verdict == LIMITED and is_weak(guarantee) else verdict]


def _by_guarantee(guarantee: Guarantee) -> list[Statement]:
    if not guarantee.private:
        return [say(code, "This method does not prevent it.", verdict=NOT_EXCLUDED) for code in _NAMES]
    delta = words.promised_delta(guarantee)
    assumed = codes(guarantee.assumptions)
    lists = (
        " Urls come from public result lists, whether clicked or not." if "public-results" in assumed else ""
    )
    if "public-suggestions" in assumed:
        lists += " Reformulations come from public suggestions, whether searched or not."
    bound = f"epsilon {rounded_up(guarantee.epsilon, 6)}"
    bound += f" and delta {rounded_up(guarantee.delta)}" if guarantee.delta else ""
    verdict, alone = (
        LIMITED,
        f"Everything that appears could also appear without any one person's searches, within {bound}.",
    )
    if guarantee.exposing:
        verdict, alone = NOT_EXCLUDED, f"D{guarantee.of_delta()[1:]}."
    elif guarantee.delta:
        verdict, alone = (
            NO,
            "There is a rare exception: something that only one user has in the log appears with a probability of at "
            f"most {delta}{words.which_delta(guarantee)}. Over many users these chances add up.",
        )
    return [
        say(SINGLING_OUT, f"{alone}{lists}", verdict=verdict),
        say(
            LINKABILITY,
            "The release has no user, session or time that could join its rows. If someone joins it with other data "
            "about a person, that person's own searches add no more than the bound allows, whatever else is known.",
            verdict=LIMITED,
        ),
        say(
            INFERENCE,
            "What a reader can conclude about a person from that person's own searches is bounded by "
            f"{bound} of {KIND_IN_WORDS[guarantee.kind]}.",
            verdict=LIMITED,
        ),
    ]


def impact(manifest: Mapping[str, Any]) -> list[Part]:
    """Text for a data-protection impact assessment, in the order of Article 35(7) of the GDPR."""
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    return [
        Part("Description of the processing", _processing(manifest)),
        Part(
            "Necessity and proportionality",
            (
                "[Why this is needed for the purpose, and why less would not do.]",
                *_minimised(manifest, guarantee),
                "[The legal basis under Article 6 of the GDPR, for making the release and for disclosing it.]",
                "[Queries can reveal special categories of personal data, such as health: which exception of Article "
                "9(2) of the GDPR applies.]",
            ),
        ),
        Part("Risks for the people in the log", _risks(manifest)),
        Part("Measures", _measures(manifest, guarantee)),
        Part("What remains", _remains(manifest, guarantee)),
        Part(
            "Who was asked",
            (
                "[The advice of the data protection officer, Article 35(2) of the GDPR.]",
                "[The views of the people in the log or of their representatives, Article 35(9) of the GDPR, or why "
                "they were not sought.]",
            ),
        ),
    ]


def written(manifest: Mapping[str, Any]) -> str:
    """The same as Markdown, for the private folder: what only the controller knows is left open there."""
    lines = [
        f"# Impact assessment: {stated(manifest, 'title') or manifest['what']}",
        "",
        "Text to begin with. Complete what is in square brackets: only the controller knows it.",
        "",
    ]
    for part in impact(manifest):
        lines += [f"## {part.heading}", "", *(f"- {one}" for one in part.points), ""]
    return "\n".join(lines)


def _processing(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    software = manifest["software"]
    tables = (
        f"{table['file']} with {words.counted(table['rows'], 'rows')} of "
        f"{', '.join(one['name'] for one in table['columns'])}"
        for table in manifest["tables"].values()
    )
    controller = stated(manifest, "publisher") or "[Controller]"
    purpose = stated(manifest, "purpose") or "[purpose]"
    period = words.period(manifest)
    return (
        f"{controller} holds a search log{f' ({period})' if period else ''}, has derived a data set from it, and "
        f"discloses the data set to [recipients]. Purpose: {purpose}.",
        f"The data set is: {_inside(manifest['what'])}.",
        *(f"It has {one}." for one in tables),
        f"{manifest['how']} {words.NORMAL_FORM}",
        f"It was made on {manifest['created']} with {software['name']} {software['version']}, method "
        f"{manifest['method']}.",
        "The log itself is not disclosed. Nor is what was measured on it.",
    )


def _inside(sentence: str) -> str:
    """A phrase as it stands inside a sentence."""
    return sentence[:1].lower() + sentence[1:]


def _minimised(manifest: Mapping[str, Any], guarantee: Guarantee) -> tuple[str, ...]:
    said = tuple(words.declared(manifest, DISCLOSED))
    if guarantee.private:
        what = (
            "one person's searches"
            if guarantee.unit == "user"
            else f"one single {guarantee.unit} of a person"
        )
        how_much = [
            f"How much {what} can change the release is limited. The limit follows from parameters that are published "
            "with it."
        ]
        if guarantee.disclosed:
            how_much.append(
                f"Not limited, and published unchanged about every person: {listed(guarantee.disclosed)}."
            )
        return (*how_much, *said)
    if guarantee.kind == K_ANONYMITY:
        return said or (f"{guarantee.crowd}.",)
    return said or ("Nothing limits what is disclosed about single people.",)


def _risks(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        "Search queries can reveal health, beliefs, sexual life, debts, crimes and whereabouts. They often name the "
        "person who searched, or someone close.",
        "The risk is that a reader recognises a person in the release, joins it with other data about that person, or "
        "concludes from it what the person searched for.",
        *(f"A reader of this release can learn: {_inside(one)}" for one in words.learnt(manifest)),
    )


def _measures(manifest: Mapping[str, Any], guarantee: Guarantee) -> tuple[str, ...]:
    said = [f"The release has this guarantee: {guarantee.headline}."] if guarantee.kind != NONE else []
    said.append(guarantee.plain_words())
    said.append(SOURCE)
    said += [f"{name}: {answer}" for name, answer in answers(manifest)]
    said.append(
        "The release has digests of all its files. Anyone can check it with queryveil release verify, which "
        + words.check(manifest)
    )
    return tuple(said)


def _remains(manifest: Mapping[str, Any], guarantee: Guarantee) -> tuple[str, ...]:
    limits = words.limits(manifest)
    if guarantee.private:
        kept = [
            "The remaining risk for each person is the bound above, for this release alone.",
            "[Which other releases of the same log there are, and what their epsilons and deltas add up to.]",
        ]
    elif guarantee.kind == K_ANONYMITY:
        kept = [
            "The remaining risk is not bounded.",
            "[Who receives the release, what they know about the people in it, whether they can open accounts of "
            "their own, and which other releases of the same log there are.]",
        ]
    else:
        return (
            *limits,
            "The release should be treated as personal data, like the log.",
            "[Who has access, under which contract, and until when.]",
        )
    return (
        *limits,
        *kept,
        "[Whether the release is anonymous information in the sense of Recital 26 of the GDPR, and on what grounds.]",
    )
