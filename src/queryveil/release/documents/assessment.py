"""For the lawyer: the three questions about anonymity, answered for this release, and text for an impact assessment.

The three questions are those that European data-protection authorities ask of an anonymisation technique: can a person
be singled out, can records about a person be linked, can something be inferred about a person? Each answer begins with
a verdict: yes, no, limited, or not excluded. Text in square brackets is for the controller to write; whether a release
is anonymous in the sense of a law is theirs to decide.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from queryveil.privacy.guarantee import K_ANONYMITY, KIND_IN_WORDS, NONE, Guarantee, listed, rounded_up
from queryveil.release.documents import words
from queryveil.release.documents.chances import evenly, is_weak

QUESTIONS = {
    "Singling out": "Can the rows of one person be told apart from all others?",
    "Linkability": "Can two rows be recognised as those of one person, here or with another data set?",
    "Inference": "Can something about one person be concluded with high confidence?",
}

SOURCE = (
    "The three questions are those of Opinion 05/2014 on Anonymisation Techniques (WP216) of the Article 29 Working "
    "Party, in which the European data-protection authorities met."
)


@dataclass(frozen=True)
class Paragraph:
    """A part of an impact assessment, with its heading."""

    heading: str
    text: str


def answers(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Singling out, linkability and inference, each with its answer."""
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    found = [(name, said) for name in QUESTIONS for said in words.declared(manifest, name)]
    found = found or _by_guarantee(guarantee)
    if is_weak(guarantee):
        # A bound that allows practical certainty limits nothing.
        found = [(name, re.sub(r"^Limited\.", "Not excluded.", said)) for name, said in found]
    if not guarantee.private:
        return found
    return [(name, f"{said} {evenly(guarantee)}" if name == "Inference" else said) for name, said in found]


def _by_guarantee(guarantee: Guarantee) -> list[tuple[str, str]]:
    if not guarantee.private:
        return [(name, "Not excluded by this method.") for name in QUESTIONS]
    delta = words.promised_delta(guarantee)
    said = " ".join(guarantee.assumptions)
    lists = (
        " Urls come from public result lists, clicked or not." if "result lists are public" in said else ""
    )
    if "suggestion lists are public" in said:
        lists += " Reformulations come from public suggestions, searched or not."
    bound = f"epsilon {rounded_up(guarantee.epsilon, 6)}"
    bound += f" and delta {rounded_up(guarantee.delta)}" if guarantee.delta else ""
    alone = f"Limited. What appears could appear without any one person's searches too, within {bound}."
    if guarantee.exposing:
        alone = f"Not excluded. D{guarantee.of_delta()[1:]}."
    elif guarantee.delta:
        alone = (
            f"No, except with a probability of at most {delta} for each user{words.which_delta(guarantee)}: so "
            "probable it is that anything appears which that user alone has in the log. Over many users such cases add "
            "up."
        )
    return [
        ("Singling out", f"{alone}{lists}"),
        (
            "Linkability",
            "Limited. The release has no user, session or time by which rows could be joined. Joined with other data "
            "about a person, that person's own searches add no more to it than the bound allows: that holds whatever "
            "else is known.",
        ),
        (
            "Inference",
            "Limited. What is concluded about a person from that person's own searches is bounded by "
            f"{bound} of {KIND_IN_WORDS[guarantee.kind]}.",
        ),
    ]


def impact(manifest: Mapping[str, Any]) -> list[Paragraph]:
    """Text for a data-protection impact assessment, in the order of Article 35(7) of the GDPR."""
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    software = manifest["software"]
    tables = "; ".join(
        f"{table['file']} with {words.counted(table['rows'], 'rows')} of "
        f"{', '.join(one['name'] for one in table['columns'])}"
        for table in manifest["tables"].values()
    )
    return [
        Paragraph(
            "Description of the processing",
            f"From a search log held by [controller], the following was derived and is disclosed to [recipients] for "
            f"[purpose]: {_inside(manifest['what'])} ({tables}). {manifest['how']} {words.NORMAL_FORM} It was made on "
            f"{manifest['created']} with {software['name']} {software['version']}, method {manifest['method']}. The "
            "log itself, and what was measured on it, are not disclosed.",
        ),
        Paragraph(
            "Necessity and proportionality",
            f"[Why this is needed for the purpose, and why less would not do.] {_minimised(manifest, guarantee)} "
            "[The legal basis under Article 6 of the GDPR, for making the release and for disclosing it. Queries can "
            "reveal special categories of personal data, such as health: which exception of Article 9(2) applies.]",
        ),
        Paragraph("Risks for the people in the log", _risks(manifest)),
        Paragraph("Measures", _measures(manifest, guarantee)),
        Paragraph("What remains", _remains(manifest, guarantee)),
        Paragraph(
            "Who was asked",
            "[The advice of the data protection officer, Article 35(2) of the GDPR. The views of the people in the log "
            "or of their representatives, Article 35(9), or why they were not sought.]",
        ),
    ]


def _inside(sentence: str) -> str:
    """A phrase as it stands inside a sentence."""
    return sentence[:1].lower() + sentence[1:]


def _minimised(manifest: Mapping[str, Any], guarantee: Guarantee) -> str:
    said = " ".join(words.declared(manifest, words.DISCLOSED))
    if guarantee.private:
        what = (
            "one person's searches"
            if guarantee.unit == "user"
            else f"one single {guarantee.unit} of a person"
        )
        how_much = (
            f"How much {what} can change the release is limited, and the limit follows from parameters that are "
            "published with it."
        )
        if guarantee.disclosed:
            how_much += (
                f" Not limited, and published of every person as it is: {listed(guarantee.disclosed)}."
            )
        return f"{how_much} {said}".strip()
    if guarantee.kind == K_ANONYMITY:
        return said or f"{guarantee.crowd}."
    return said or "No limit holds on what is disclosed about single people."


def _risks(manifest: Mapping[str, Any]) -> str:
    return (
        "Search queries can tell of health, beliefs, sexual life, debts, crimes and whereabouts, and often name the "
        "person who searched or someone close. The risk is that a reader recognises a person in the release, joins it "
        "with other data about that person, or concludes from it what the person searched for. "
        + "From this release a reader can learn the following. "
        + " ".join(words.learnt(manifest))
    )


def _measures(manifest: Mapping[str, Any], guarantee: Guarantee) -> str:
    said = [f"The release has this guarantee: {guarantee.headline}."] if guarantee.kind != NONE else []
    said.append(guarantee.plain_words())
    said.append(SOURCE)
    said += [f"{name}: {answer}" for name, answer in answers(manifest)]
    said.append(
        "The release carries digests of all its files. Anyone can check it with queryveil release verify, which "
        + words.check(manifest)
    )
    return " ".join(said)


def _remains(manifest: Mapping[str, Any], guarantee: Guarantee) -> str:
    listed_limits = " ".join(words.limits(manifest))
    if guarantee.private:
        kept = (
            "The remaining risk for each person is the bound above, for this release alone. [Which other releases of "
            "the same log there are, and what their epsilons and deltas add up to.]"
        )
    elif guarantee.kind == K_ANONYMITY:
        kept = (
            "The remaining risk is not bounded. [Who receives the release, what they know about the people in it, "
            "whether they can open accounts of their own, and which other releases of the same log there are.]"
        )
    else:
        return (
            f"{listed_limits} The release should be treated as personal data, like the log. [Who has access, under "
            "which contract, and until when.]"
        )
    return (
        f"{listed_limits} {kept} [Whether the release is anonymous information in the sense of Recital 26 of the GDPR, "
        "and on what grounds.]"
    )
