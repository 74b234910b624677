"""What a release is and promises, in sentences that data sheet, report and Croissant share.

All of it comes from the manifest, so that it cannot say more than is published.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from queryveil.guarantee import K_ANONYMITY, NONE, PROBABILISTIC, Guarantee, rounded_up

_LIMITS_OF_PRIVACY = (
    "What many people searched for is published on purpose, whatever it is.",
    "Conclusions about a person from what is true of people in general are not prevented.",
)
_LIMITS = {
    K_ANONYMITY: (
        "What enough people searched for is published on purpose, whatever it is.",
        "Another release of the same log, with another k, another method or a day more of searches, can undo this one "
        "by comparison: k-anonymity does not add up, and a ledger only lists it.",
        "This is not differential privacy: no bound holds on what someone with other knowledge learns.",
    ),
    NONE: ("It is meant for studies and attacks. Do not hand it to anyone who may not see the log itself.",),
}
"""What no release of a kind promises."""

NORMAL_FORM = (
    "Queries were brought to normal form first: Unicode NFKC, case-folded, white space collapsed, surrounding "
    "quotes removed."
)
CHECK = "re-reads the folder, its digests and thresholds, and recomputes the guarantee."

_NOUNS = {
    ("keyword",): "keywords",
    ("query",): "queries",
    ("query", "next_query"): "query pairs",
    ("query", "url"): "clicks",
    ("prefix",): "words and prefixes",
}


def noun(name: str, columns: Sequence[str]) -> str:
    """What the rows of a counted table are called."""
    return name if name != "items" else _NOUNS.get(tuple(columns[:-1]), name)


def what_it_is(manifest: Mapping[str, Any]) -> str:
    """One sentence: what the release holds."""
    nouns = {"log": "rows"}
    sizes = ", ".join(
        f"{table['rows']:,} {nouns.get(name, name)}" for name, table in manifest["tables"].items()
    )
    return f"{manifest['what']} ({sizes})."


def promises(guarantee: Guarantee) -> list[str]:
    """What holds, in sentences."""
    listed = [guarantee.plain_words()]
    if guarantee.private:
        listed.append(_compared(guarantee))
    if guarantee.kind == PROBABILISTIC:
        listed.append(guarantee.after_processing())
    return listed


def _compared(guarantee: Guarantee) -> str:
    """Which two logs the promise is about."""
    if guarantee.unit != "user":
        return (
            f"Protected is one {guarantee.unit} at a time: the comparison is with the same log in which one "
            f"{guarantee.unit} of one user is another one."
        )
    change = "replaced by another history" if guarantee.replaces else "added to or taken out of the log"
    if guarantee.disclosed:
        return (
            "Protected is what one user searched for, not the form that it had: the comparison is with the same log "
            f"in which that user's whole history is {change} that agrees on {' and on '.join(guarantee.disclosed)}."
        )
    return (
        "Protected is everything that one user ever did in the log: the comparison is with the same log in which "
        f"that user's whole history is {change}."
    )


def withheld(guarantee: Guarantee) -> list[str]:
    """What someone who reads the release cannot find out."""
    if guarantee.kind == NONE:
        return ["Nothing is kept from a reader who tries."]
    if guarantee.kind == K_ANONYMITY:
        return [
            f"Which of at least {guarantee.k:,} users a published {guarantee.shared} belongs to, as long as nothing "
            "else is known about them."
        ]
    if guarantee.unit != "user":
        return [
            f"What one single {guarantee.unit} of a person was, beyond the bound above, for someone who knows every "
            f"other {guarantee.unit} in the log. What a person's {guarantee.unit}s say together is not kept back.",
        ]
    who = "" if guarantee.replaces else "Whether a certain person is in the log at all, or "
    what = "what a certain person searched for" if who else "What a certain person searched for"
    found = [
        f"{who}{what}, beyond the bound above: also for someone who knows what everyone else searched for, and has "
        "any other data and any computer."
    ]
    if guarantee.delta:
        found.append(
            "What only that person searched for: anything that can be in the release because of one person alone is "
            f"there with a probability of at most {promised_delta(guarantee)}."
        )
    return found


def learnt(guarantee: Guarantee) -> list[str]:
    """What someone who reads the release can find out."""
    if guarantee.kind == NONE:
        return [
            "Who a row is about, if what stands in it, or how often it does, gives that person away.",
            "Everything else in the rows that belong to the same person.",
        ]
    if guarantee.kind == K_ANONYMITY:
        return [
            f"What a group has in common, about each of its members: if all {guarantee.k:,} searched for it, each did.",
            "What the last one of a group did, by someone who knows the others or poses as them with accounts of "
            "their own.",
            "What two releases say together, which can be more than either says.",
        ]
    found = [
        "What many people searched for.",
        "What is true of people in general, and so probably of one of them.",
    ]
    found += [f"{one[0].upper()}{one[1:]}, of every person, as it is." for one in guarantee.disclosed]
    if guarantee.unit != "user":
        found.insert(
            0, f"More about a person the more there is of them: the bound counts for each {guarantee.unit}."
        )
    return found


def limits(guarantee: Guarantee) -> list[str]:
    """What is assumed and what is not promised."""
    assumed = [f"Assumed: {one}." for one in guarantee.assumptions]
    found = [*assumed, *_sentences(guarantee.caveats), *_LIMITS.get(guarantee.kind, _LIMITS_OF_PRIVACY)]
    if guarantee.private:
        sum_of = "a ledger keeps the sum" if guarantee.composable else "no ledger can say by how much"
        found.append(f"Other releases of the same log add to the loss; {sum_of}.")
    return found


def _sentences(phrases: tuple[str, ...]) -> list[str]:
    return [phrase[0].upper() + phrase[1:] + "." for phrase in phrases]


# -- how to name it ------------------------------------------------------------------------------------------


def citation(manifest: Mapping[str, Any]) -> str:
    """One line to refer to exactly this release."""
    software, guarantee = manifest["software"], Guarantee.from_dict(manifest["guarantee"])
    return (
        f"[publisher]: {manifest['what']}. Data set, {manifest['created']}. Made with {software['name']} "
        f"{software['version']}, method {manifest['method']}: {guarantee.headline}.{_known_by(manifest)}"
    )


def bibtex(manifest: Mapping[str, Any]) -> str:
    """The same for BibTeX. What a release says of itself has no braces or backslashes to escape."""
    software, guarantee = manifest["software"], Guarantee.from_dict(manifest["guarantee"])
    year = manifest["created"][:4]
    note = (
        f"Made with {software['name']} {software['version']}, method {manifest['method']}: {guarantee.headline}."
        f"{_known_by(manifest)}"
    )
    fields = {
        "author": "[publisher]",
        "title": f"{{{_plain_tex(manifest['what'])}}}",
        "year": year,
        "howpublished": "Data set",
        "note": _plain_tex(note),
    }
    inside = ",\n".join(f"  {name} = {{{value}}}" for name, value in fields.items())
    return f"@misc{{queryveil-{manifest['method']}-{manifest['created']},\n{inside}\n}}"


def _known_by(manifest: Mapping[str, Any]) -> str:
    """The digest of the first table: whoever has another one has another release."""
    for table in manifest["tables"].values():
        entry = manifest.get("files", {}).get(table["file"])
        if entry:
            return f" SHA-256 of {table['file']}: {entry['sha256']}."
    return ""


def _plain_tex(text: str) -> str:
    return "".join(f"\\{one}" if one in "&%$#_" else one for one in text if one not in "{}\\~^")


# -- values --------------------------------------------------------------------------------------------------


def flat(values: Mapping[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    """Parameters or calibration as rows of text, however deep they are nested."""
    rows: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            rows += flat(value, f"{prefix}{name}: ")
        else:
            rows.append((prefix + name, plain(value)))
    return rows


def plain(value: Any) -> str:
    """A parameter as people write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, (list, tuple)) and all(isinstance(one, str | int | float) for one in value):
        return ", ".join(plain(one) for one in value)
    return str(value) if isinstance(value, (str, int)) else json.dumps(value)


def promised_delta(guarantee: Guarantee) -> str:
    """The delta that survives any processing."""
    return rounded_up(guarantee.approximate().delta)
