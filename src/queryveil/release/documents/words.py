"""What a release is and promises, in sentences that data sheet, report and Croissant share.

All of it comes from the manifest, so that it cannot say more than is published. What is particular to a method stands
there in the method's own words, as statements of `assessment` (queryveil.privacy.statements has their codes). Where a
method says nothing, the kind of its guarantee does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from queryveil.privacy import strength
from queryveil.privacy.guarantee import K_ANONYMITY, NONE, PROBABILISTIC, Guarantee, listed
from queryveil.privacy.statements import CHECKED, LEARNT, ON_PURPOSE, WITHHELD, Statement
from queryveil.release.about import NAMES, stated

_MANY_PEOPLE = "Popular searches are published on purpose, whatever they are."
_IN_GENERAL = "Readers may still draw conclusions about a person from what is true of people in general."
_LIMITS = {
    K_ANONYMITY: (
        "What enough people searched for is published on purpose, whatever it is.",
        "Another release of the same log can undo this one: someone can compare the two. That holds for another k, "
        "another method or one more day of searches. k-anonymity does not add up, and a ledger only lists it.",
        "This is not differential privacy: nothing limits what someone with other knowledge learns.",
    ),
    NONE: ("It is meant for studies and attacks. Do not hand it to anyone who may not see the log itself.",),
}
"""What no release of a kind promises."""

NORMAL_FORM = (
    "Before all this, queries were brought to normal form: Unicode NFKC, no capital letters (case folding), single "
    "spaces, no quotes around them."
)

_ONE = {"words and prefixes": "word or prefix"}


def declared(manifest: Mapping[str, Any], code: str) -> list[str]:
    """What the method says of itself under a code."""
    return [one.sentence for one in assessed(manifest) if one.code == code]


def assessed(manifest: Mapping[str, Any]) -> list[Statement]:
    """Everything that the method says of itself."""
    return list(map(Statement.from_dict, manifest.get("assessment") or ()))


def counted(number: int, of: str) -> str:
    """A number and what it is of: '1 query', '2,000 queries'."""
    one = _ONE.get(of) or (of[:-3] + "y" if of.endswith("ies") else of.removesuffix("s"))
    return f"{number:,} {one if number == 1 else of}"


def sizes(manifest: Mapping[str, Any]) -> str:
    """How much the release holds: '7 queries, 70 clicks'."""
    return ", ".join(counted(table["rows"], table["noun"]) for table in manifest["tables"].values())


def what_it_is(manifest: Mapping[str, Any]) -> str:
    """One sentence: what the release holds."""
    return f"{manifest['what']} ({sizes(manifest)})."


def check(manifest: Mapping[str, Any]) -> str:
    """What `release verify` does with such a release, and what it cannot do; begins in mid-sentence."""
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    if guarantee.kind == NONE:
        form = "re-reads the folder and checks files, digests and the form of the tables."
        return f"{form} There is no guarantee to check."
    if guarantee.kind == K_ANONYMITY:
        said = " ".join(declared(manifest, CHECKED)) or (
            f"that every {guarantee.shared} is there often enough. Whether different users searched for it cannot be "
            "seen from a release"
        )
        return f"re-reads the folder and checks files, digests, the form of the tables, and {said}."
    return (
        "re-reads the folder, its digests and its tables, and computes the guarantee anew from the stated parameters. "
        "Nobody can see from one release whether the random numbers were drawn as stated."
    )


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
            f"The guarantee protects one {guarantee.unit} at a time. It compares the log with the same log in which "
            f"one {guarantee.unit} of one user is different."
        )
    change = "replaced by another history" if guarantee.replaces else "added or taken out"
    if guarantee.disclosed:
        return (
            "The guarantee protects what one user searched for, but not the form of these searches. It compares the "
            f"log with the same log in which that user's whole history is {change} that agrees on "
            f"{listed(guarantee.disclosed)}."
        )
    return (
        "The guarantee protects everything that one user ever did in the log. It compares the log with the same log in "
        f"which that user's whole history is {change}."
    )


def withheld(manifest: Mapping[str, Any]) -> list[str]:
    """What someone who reads the release cannot find out."""
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    said = declared(manifest, WITHHELD)
    if said:
        return said
    if guarantee.kind == NONE:
        return ["Nothing is safe from a reader who tries."]
    if guarantee.kind == K_ANONYMITY:
        return [
            f"Which of at least {guarantee.k:,} users a published {guarantee.shared} belongs to, as long as nothing "
            "else is known about them."
        ]
    if guarantee.unit != "user":
        return [
            f"What one single {guarantee.unit} of a person was, beyond the bound above. That holds even for someone "
            f"who knows every other {guarantee.unit} in the log. But a reader can learn what a person's "
            f"{guarantee.unit}s say together.",
        ]
    who = "" if guarantee.replaces else "Whether a certain person is in the log at all, or "
    what = "what a certain person searched for" if who else "What a certain person searched for"
    beyond = "the bound above and what is published unchanged" if guarantee.disclosed else "the bound above"
    found = [
        f"{who}{what}, beyond {beyond}. That holds even for someone who knows everyone else's searches, and has any "
        "other data and any computer."
    ]
    if guarantee.delta and not guarantee.exposing:
        found.append(
            "What only that person searched for. Something that one person alone could bring into the release appears "
            f"with a probability of at most {promised_delta(guarantee)}{which_delta(guarantee)}."
        )
    return found


def learnt(manifest: Mapping[str, Any]) -> list[str]:
    """What someone who reads the release can find out."""
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    said = declared(manifest, LEARNT)
    if guarantee.kind == NONE:
        return said or [
            "Who a row is about, if the row, or how often it appears, gives that person away.",
            "Everything else that the release links to that row.",
        ]
    if guarantee.kind == K_ANONYMITY:
        return [
            *(said or [_of_all_alike(guarantee)]),
            "What the last member of a group did. For that, a reader must know what the others did, or act as them "
            "with made-up accounts.",
            "What two releases say together. That can be more than either says.",
        ]
    found = [
        *(said or ["Popular searches."]),
        "What is true of people in general, and so probably of one person.",
    ]
    found += [f"About every person, with certainty: {one}." for one in guarantee.disclosed]
    if guarantee.unit != "user":
        found.insert(
            0,
            f"More about people with more {guarantee.unit}s: the bound counts for each {guarantee.unit}.",
        )
    return found


def _of_all_alike(guarantee: Guarantee) -> str:
    """What is learnt of people whose number is known."""
    if guarantee.by_majority:
        return (
            f"What most of a group have in common. If a {guarantee.shared} can only come from {guarantee.k:,} certain "
            f"people, at least {guarantee.sure_of:,} of these people searched for each keyword in it."
        )
    return (
        f"What a whole group has in common. If a {guarantee.shared} can only come from {guarantee.k:,} certain people, "
        "it comes from each person in the group."
    )


def limits(manifest: Mapping[str, Any]) -> list[str]:
    """What is assumed and what is not promised."""
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    assumed = [f"Assumed: {one}." for one in guarantee.assumptions]
    of_kind = _LIMITS.get(guarantee.kind) or (
        *(declared(manifest, ON_PURPOSE) or [_MANY_PEOPLE]),
        _IN_GENERAL,
    )
    found = [*assumed, *_sentences(guarantee.caveats), *of_kind, *_taken_out(manifest)]
    if guarantee.private:
        sum_of = "a ledger keeps the sum" if guarantee.composable else "no ledger can say by how much"
        found.append(f"Other releases of the same log add to what can be learnt; {sum_of}.")
    return found


def _taken_out(manifest: Mapping[str, Any]) -> list[str]:
    """That rows are missing which the method would publish, and what that does to the promise."""
    gone = manifest.get("withheld") or {}
    if not gone:
        return []
    said = ", ".join(counted(number, manifest["tables"][name]["noun"]) for name, number in gone.items())
    return [
        f"The publisher read the release and withheld {said}. The counts of others are unchanged. This is processing "
        "of what was already protected: the promise is the same, if the choice was made from the release and not from "
        "the log."
    ]


def _sentences(caveats: Iterable[Statement]) -> list[str]:
    return [one.sentence[:1].upper() + one.sentence[1:] + "." for one in caveats]


# -- how to name it ------------------------------------------------------------------------------------------


def title(manifest: Mapping[str, Any]) -> str:
    """What the release is called: by its publisher, or else by what it holds."""
    return stated(manifest, "title") or str(manifest["what"])


def period(manifest: Mapping[str, Any]) -> str:
    """The time that the searches are of, as people read it: 2026-01-01 to 2026-03-31."""
    first, stroke, last = stated(manifest, "period").partition("/")
    return (
        f"{first} to {last}" if stroke and first and last and "/" not in last else stated(manifest, "period")
    )


def about(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What the publisher says of the release, without its title and how to cite it."""
    names = (name for name in NAMES if name not in ("title", "citation"))
    return [(name, said) for name in names if (said := str((manifest.get("about") or {}).get(name, "")))]


OWN_WORDS = (
    "The publisher asks to be cited with the words that follow. They are the publisher's own, and nothing here checks "
    "them: guarantee and digest of this release are those above."
)
"""What stands before a citation that the publisher wrote: it could name another guarantee, or another digest."""


def citation(manifest: Mapping[str, Any]) -> str:
    """One line to refer to exactly this release, none of it by the publisher but name and title."""
    software, guarantee = manifest["software"], Guarantee.from_dict(manifest["guarantee"])
    publisher = stated(manifest, "publisher")
    by = f"{publisher}: " if publisher else ""
    return (
        f"{by}{title(manifest)}. Data set, {manifest['created']}. Made with {software['name']} "
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
    publisher = stated(manifest, "publisher")
    fields = {
        **({"author": f"{{{_plain_tex(publisher)}}}"} if publisher else {}),
        "title": f"{{{_plain_tex(title(manifest))}}}",
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


_GROUPS = {"paper": "by the paper's formulas", "pure_dp": "if delta were 0"}
_FIGURES = {
    "delta_indistinguishable": "delta of approximate differential privacy",
    "domain_bound": "above this number of possible items, no such method is better than publishing nothing",
    "frequent": "users of an item that you want to see published",
    "accuracy": "probability with which you want to see it published",
    "drawn_true": "share of draws that are the true concept, if all are searched for equally often",
    "drawn_within_1_step": "share of draws that are at most one step from it, up or down in the taxonomy",
    "drawn_within_2_steps": "share of draws that are at most two steps from it",
    "drawn_for_phrases": "number of phrases per user that these shares assume; more phrases make them smaller",
    "users_for_half": "users of an item that is published with a probability of 50 %",
    "users_for_99_percent": "users of an item that is published with a probability of 99 %",
}
"""What figures of a calibration mean, where their names do not say it."""


def calibration(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """What follows from the parameters, with the meaning of names that do not say it."""
    of = "probabilistic" if manifest["guarantee"]["kind"] == PROBABILISTIC else "approximate"
    return _glossed(manifest["calibration"], _FIGURES | {"delta": f"of {of} differential privacy"}, "")


def _glossed(values: Mapping[str, Any], meant: Mapping[str, str], prefix: str) -> list[tuple[str, str]]:
    rows: list[tuple[str, str]] = []
    for name, value in values.items():
        if isinstance(value, Mapping):
            rows += _glossed(value, meant, f"{prefix}{_GROUPS.get(name, name)}: ")
        else:
            said = f"{name} ({meant[name]})" if name in meant else name
            rows.append((prefix + said, plain(value)))
    return rows


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
    """The delta that survives any processing, as people say it."""
    return strength.probability(guarantee.approximate().delta)


def which_delta(guarantee: Guarantee) -> str:
    """Behind that delta, where the guarantee has another one: which of them it is."""
    return " (delta of approximate differential privacy)" if guarantee.kind == PROBABILISTIC else ""
