"""For the lawyer: the three questions about anonymity, answered for this release, and text for an impact assessment.

The three questions are those that European data-protection authorities ask of an anonymisation technique: can a person
be singled out, can records about a person be linked, can something be inferred about a person? Text in square brackets
is for the controller to write; whether a release is anonymous in the sense of a law is theirs to decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from queryveil.guarantee import K_ANONYMITY, NONE, Guarantee, rounded_up
from queryveil.report import words
from queryveil.report.chances import evenly

QUESTIONS = {
    "Singling out": "Can the rows of one person be told apart from all others?",
    "Linkability": "Can two rows be recognised as those of one person, here or with another data set?",
    "Inference": "Can something about one person be concluded with high confidence?",
}


@dataclass(frozen=True)
class Paragraph:
    """A part of an impact assessment, with its heading."""

    heading: str
    text: str


def answers(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Singling out, linkability and inference, each with its answer."""
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    lines = manifest.get("assessment") or _by_guarantee(guarantee)
    found = [(name, answer) for name, _, answer in (line.partition(": ") for line in lines)]
    if not guarantee.private:
        return found
    return [(name, f"{said} {evenly(guarantee)}" if name == "Inference" else said) for name, said in found]


def _by_guarantee(guarantee: Guarantee) -> list[str]:
    if not guarantee.private:
        return [f"{name}: not excluded by this method." for name in QUESTIONS]
    delta = words.promised_delta(guarantee)
    said = " ".join(guarantee.assumptions)
    lists = (
        " Urls come from public result lists, clicked or not." if "result lists are public" in said else ""
    )
    if "suggestion lists are public" in said:
        lists += " Reformulations come from public suggestions, searched or not."
    return [
        f"Singling out: no row is about one person. For each user, that anything appears which that user alone has in "
        f"the log has a probability of at most {delta}; over many users such cases add up.{lists}",
        "Linkability: the release has no user, session or time by which rows could be joined. Joined with other data "
        "about a person, that person's own searches add no more to it than the bound allows: that holds whatever else "
        "is known.",
        f"Inference: bounded for each person by epsilon {rounded_up(guarantee.epsilon, 6)} and delta {delta}, in the "
        "sense said above.",
    ]


def impact(manifest: Mapping[str, Any]) -> list[Paragraph]:
    """Text for a data-protection impact assessment, in the order of Article 35(7) of the GDPR."""
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    software = manifest["software"]
    tables = "; ".join(
        f"{table['file']} with {table['rows']:,} rows of {', '.join(one['name'] for one in table['columns'])}"
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
            f"[Why this is needed for the purpose, and why less would not do.] {_minimised(guarantee)}",
        ),
        Paragraph("Risks for the people in the log", _risks(guarantee)),
        Paragraph("Measures", _measures(manifest, guarantee)),
        Paragraph("What remains", _remains(guarantee)),
    ]


def _inside(sentence: str) -> str:
    """A phrase as it stands inside a sentence."""
    return sentence[:1].lower() + sentence[1:]


def _minimised(guarantee: Guarantee) -> str:
    if guarantee.private:
        return (
            "How much one person's searches can change the release is limited, and the limit follows from parameters "
            "that are published with it."
        )
    if guarantee.kind == K_ANONYMITY:
        return f"What fewer than {guarantee.k:,} users have in common is not disclosed."
    return "Rows of single people are disclosed. [Why nothing less will do.]"


def _risks(guarantee: Guarantee) -> str:
    return (
        "Search queries can tell of health, beliefs, sexual life, debts, crimes and whereabouts, and often name the "
        "person who searched or someone close. The risk is that a reader recognises a person in the release, joins it "
        "with other data about that person, or concludes from it what the person searched for. "
        + "From this release a reader can learn the following. "
        + " ".join(words.learnt(guarantee))
    )


def _measures(manifest: Mapping[str, Any], guarantee: Guarantee) -> str:
    said = [f"The release has this guarantee: {guarantee.headline}."] if guarantee.kind != NONE else []
    said.append(guarantee.plain_words())
    said += [f"{name}: {answer}" for name, answer in answers(manifest)]
    said.append(
        "The release carries digests of all its files. Anyone can check it with queryveil release verify, which "
        + words.CHECK
    )
    return " ".join(said)


def _remains(guarantee: Guarantee) -> str:
    listed = " ".join(words.limits(guarantee))
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
        kept = (
            "The release should be treated as personal data, like the log. [Who has access, under which contract, and "
            "until when.]"
        )
    return (
        f"{listed} {kept} [Whether the release is anonymous information in the sense of Recital 26 of the GDPR, and on "
        "what grounds.]"
    )
