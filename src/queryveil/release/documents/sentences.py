"""What a release is and promises: sentences that data sheet, report and Croissant share.

All of it comes from the manifest, so that it cannot say more than is published. What is particular to a method stands
there in the method's own words, as statements of `assessment` (queryveil.privacy.statements has their codes). Where a
method says nothing, the kind of its guarantee does.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queryveil.catalog import Sentence, count, paragraph, term
from queryveil.privacy.guarantee import K_ANONYMITY, NONE, PROBABILISTIC, Guarantee, protected_unit
from queryveil.privacy.statements import CHECKED, LEARNT, ON_PURPOSE, WITHHELD, Statement
from queryveil.release.about import stated

_LIMITS = {
    K_ANONYMITY: ("limits.crowd.popular", "limits.crowd.releases", "limits.crowd.knowledge"),
    NONE: ("limits.none",),
}
"""What no release of a kind promises."""


def declared(manifest: Mapping[str, Any], code: str) -> list[str]:
    """What the method says of itself under a code."""
    return [one.sentence for one in assessed(manifest) if one.code == code]


def assessed(manifest: Mapping[str, Any]) -> list[Statement]:
    """Everything that the method says of itself."""
    return list(map(Statement.from_dict, manifest.get("assessment") or ()))


def title(manifest: Mapping[str, Any]) -> str:
    """What the release is called: by its publisher, or else by what it holds."""
    return stated(manifest, "title") or str(manifest["what"])


def period(manifest: Mapping[str, Any]) -> str:
    """The time that the searches are of, as people read it: 2026-01-01 to 2026-03-31."""
    first, stroke, last = stated(manifest, "period").partition("/")
    if stroke and first and last and "/" not in last:
        return Sentence("period.from-to", first=first, last=last)
    return stated(manifest, "period")


def sizes(manifest: Mapping[str, Any]) -> list[Sentence]:
    """How much the release holds: '7 queries', '70 clicks'."""
    return [count(table["rows"], table["noun"]) for table in manifest["tables"].values()]


def what_it_is(manifest: Mapping[str, Any]) -> Sentence:
    """One sentence: what the release holds."""
    return Sentence("release.what", what=manifest["what"], sizes=in_a_row(sizes(manifest)))


def in_a_row(parts: list[Sentence]) -> str:
    """Parts with commas between them, without an 'and'."""
    if not parts:
        return ""
    first, *others = parts
    return Sentence("list.more", first=first, rest=in_a_row(others)) if others else first


def how(manifest: Mapping[str, Any]) -> str:
    """What was done, from queries to tables."""
    taxonomy = manifest.get("taxonomy")
    said = Sentence("how.taxonomy", taxonomy=taxonomy) if taxonomy else ""
    return paragraph(manifest["how"], said, Sentence("normal-form"))


def check(manifest: Mapping[str, Any]) -> Sentence:
    """What `release verify` does with such a release, and what it cannot do; begins in mid-sentence."""
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    if guarantee.kind == NONE:
        return Sentence("verify.none")
    if guarantee.kind == K_ANONYMITY:
        often = Sentence("verify.crowd.often", shared=term("shared", guarantee.shared))
        return Sentence("verify.crowd", crowd=paragraph(*declared(manifest, CHECKED)) or often)
    return Sentence("verify.private")


def promises(guarantee: Guarantee) -> list[str]:
    """What holds, in sentences."""
    found: list[str] = [guarantee.plain_words()]
    if guarantee.private:
        found.append(_neighbor_sentence(guarantee))
    if guarantee.kind == PROBABILISTIC:
        found.append(guarantee.after_processing())
    return found


def _neighbor_sentence(guarantee: Guarantee) -> Sentence:
    """Which two logs the promise is about."""
    if guarantee.unit != "user":
        return Sentence("neighbors.unit", unit=term("unit", guarantee.unit))
    change = Sentence("neighbors.replaced" if guarantee.replaces else "neighbors.added")
    if guarantee.disclosed:
        return Sentence("neighbors.disclosed", change=change, disclosed=guarantee.disclosed)
    return Sentence("neighbors.user", change=change)


def withheld(manifest: Mapping[str, Any]) -> list[str]:
    """What someone who reads the release cannot find out."""
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    said = declared(manifest, WITHHELD)
    if said:
        return said
    if guarantee.kind == NONE:
        return [Sentence("withheld.none")]
    if guarantee.kind == K_ANONYMITY:
        return [Sentence("withheld.crowd", k=guarantee.k, shared=term("shared", guarantee.shared))]
    if guarantee.unit != "user":
        return [Sentence("withheld.unit", **protected_unit(guarantee))]
    bound = Sentence("withheld.bound-and-disclosed" if guarantee.disclosed else "withheld.bound")
    found: list[str] = [
        Sentence("withheld.replaced" if guarantee.replaces else "withheld.added", bound=bound),
    ]
    if guarantee.delta and not guarantee.exposing:
        found.append(Sentence("withheld.rare", **rare(guarantee)))
    return found


def learnt(manifest: Mapping[str, Any]) -> list[str]:
    """What someone who reads the release can find out."""
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    said = declared(manifest, LEARNT)
    if guarantee.kind == NONE:
        return said or [Sentence("learnt.none.person"), Sentence("learnt.none.rest")]
    if guarantee.kind == K_ANONYMITY:
        return [
            *(said or [_of_all_alike(guarantee)]),
            Sentence("learnt.crowd.last"),
            Sentence("learnt.crowd.releases"),
        ]
    found = [*(said or [Sentence("learnt.popular")]), Sentence("learnt.general")]
    found += [Sentence("learnt.disclosed", disclosed=one) for one in guarantee.disclosed]
    if guarantee.unit != "user":
        found.insert(0, Sentence("learnt.units", **protected_unit(guarantee)))
    return found


def _of_all_alike(guarantee: Guarantee) -> Sentence:
    """What is learnt of people whose number is known."""
    shared = term("shared", guarantee.shared)
    if guarantee.by_majority:
        return Sentence("learnt.crowd.majority", shared=shared, k=guarantee.k, most=guarantee.sure_of)
    return Sentence("learnt.crowd.all", shared=shared, k=guarantee.k)


def limits(manifest: Mapping[str, Any]) -> list[str]:
    """What is assumed and what is not promised."""
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    found: list[str] = [Sentence("limits.assumed", assumption=one.sentence) for one in guarantee.assumptions]
    found += [Sentence("limits.caveat", caveat=one.sentence) for one in guarantee.caveats]
    if guarantee.kind in _LIMITS:
        found += map(Sentence, _LIMITS[guarantee.kind])
    else:
        found += [
            *(declared(manifest, ON_PURPOSE) or [Sentence("limits.popular")]),
            Sentence("limits.general"),
        ]
    if gone := manifest.get("withheld"):
        rows = [count(number, manifest["tables"][name]["noun"]) for name, number in gone.items()]
        found.append(Sentence("limits.withheld", rows=in_a_row(rows)))
    if guarantee.private:
        kept = "limits.releases.ledger" if guarantee.composable else "limits.releases.no-ledger"
        found.append(Sentence(kept))
    return found


def rare(guarantee: Guarantee) -> dict[str, Any]:
    """The delta that survives any processing, and which one it is if the guarantee has another, as fields."""
    which = Sentence("delta.which") if guarantee.kind == PROBABILISTIC else ""
    return {"delta": guarantee.approximate().delta, "which": which}
