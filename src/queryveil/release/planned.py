"""What the mechanism itself says for the parameters that a manifest states: every sentence and every figure.

The checks of each method compute its numbers a second time, with code of their own. Which sentences a method states,
and with which fields, has no second definition; so here the writer's own are taken, and must be the manifest's exactly.
A manifest then has no place to hide anything.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from queryveil.errors import QueryveilError
from queryveil.files import workspace
from queryveil.mechanisms import MECHANISMS, Mechanism, Plan
from queryveil.mechanisms.selection import listed_items
from queryveil.parameters import Parameter, parameters
from queryveil.privacy.draws import SCORE, Draw, PublicList
from queryveil.release.documents import segmented

_TAXONOMY = "taxonomy"
_FOREIGN = re.compile(r"child/parent file, sha256 [0-9a-f]{16}")
_FILLED_IN = ("domain", "max_clicks", "max_reformulations")
"""Parameters that a plan shows also where they were left out."""
NEAR = ("drawn_true", "drawn_within_1_step", "drawn_within_2_steps")
"""How near draws are to the truth."""
_OF_TAXONOMY = ("concepts", "max_sim", "min_sim", "sensitivity", "certificate", *NEAR)
"""Figures of a calibration that only the taxonomy itself gives."""


def foreign(content: Mapping[str, Any]) -> str | None:
    """The taxonomy that a manifest names, if it is a file and not WordNet."""
    named = str(content.get("taxonomy"))
    return named if _FOREIGN.fullmatch(named) else None


def plans(content: Mapping[str, Any], taxonomy: Path | None) -> Iterator[Plan]:
    """The plans that can have given a manifest: files that were read leave no name in it, so there may be several.

    Without its file, the figures of a taxonomy are taken as they are stated.
    """
    cls = MECHANISMS.built_in[content["method"]]
    given = dict(content["parameters"])
    declared = {one.name: one for one in parameters(cls)}
    users = None if "users" in declared else given.pop("users", None)
    cut = given.pop(segmented.PARAMETER, False)
    if type(cut) is not bool or cut is not (segmented.PARAMETER in content["parameters"]):
        raise TypeError(segmented.PARAMETER)
    if users is not None and type(users) is not int:
        raise TypeError("users")
    named = foreign(content) if _TAXONOMY in declared else None
    with workspace.temporary_folder() as place:
        known = taxonomy if named else None
        for chosen in _parameter_variants(given, declared):
            filled = dict(chosen)
            if named:
                filled[_TAXONOMY] = str(known or _stand_in(place, given, chosen))
            try:
                made: Mechanism = cls(**filled)
                made = _with_list(made, content)
                plan = made.plan(users=users)
            except QueryveilError:
                continue
            stated = _as_stated(plan, content, named) if named and not known else plan
            yield segmented.said(stated, cut)


def _with_list(made: Mechanism, content: Mapping[str, Any]) -> Mechanism:
    """With the public list of items that the manifest states, if it states one: the file itself is not here."""
    stated = [one["public"] for one in content.get("draws") or () if "public" in one]
    return listed_items.with_stated_list(made, PublicList(**stated[0])) if stated else made


def _parameter_variants(
    given: Mapping[str, Any], declared: Mapping[str, Parameter]
) -> Iterator[dict[str, Any]]:
    """Parameters with and without lists that were read from files, and without what a plan fills in."""
    lists = [name for name, one in declared.items() if one.declaration.path and name != _TAXONOMY]
    left_out = [name for name in _FILLED_IN if name in declared and name in given]
    for read, without in itertools.product(_name_subsets(lists), _name_subsets(left_out)):
        kept = {name: value for name, value in given.items() if name not in without}
        yield kept | dict.fromkeys(read, "lists")


def _name_subsets(names: list[str]) -> list[tuple[str, ...]]:
    return [some for size in range(len(names) + 1) for some in itertools.combinations(names, size)]


# -- taxonomies that are not here ----------------------------------------------------------------------------


def _stand_in(place: Path, given: Mapping[str, Any], chosen: Mapping[str, Any]) -> Path:
    """A small taxonomy with the names that the parameters have; what is said of its size is not looked at."""
    domain, topics = given.get("domain"), [str(one) for one in given.get("topics") or ()]
    top = str(domain) if domain not in (None, "per-topic") else "top"
    edges = [(topic, top) for topic in topics] or [("below", top)]
    edges += [(f"{topic} below", topic) for topic in topics]
    if "domain" in chosen and top != "top":
        edges += [(top, "above"), ("beside", "above")]
    if any("\t" in name or "\n" in name for edge in edges for name in edge):
        raise ValueError("a concept has a name that no file can have")
    file = place / f"{len(list(place.iterdir()))}.tsv"
    file.write_text("".join(f"{child}\t{parent}\n" for child, parent in edges), encoding="utf-8")
    return file


def _as_stated(plan: Plan, content: Mapping[str, Any], named: str) -> Plan:
    """A plan with the identity of the taxonomy, and its figures, as the manifest has them."""
    return dataclasses.replace(
        plan,
        taxonomy=named,
        calibration=_taken_over(plan.calibration, content["calibration"]) if plan.calibration else {},
        draws=tuple(_complete_draw(one, content) for one in plan.draws),
    )


def _complete_draw(draw: Draw, content: Mapping[str, Any]) -> Draw:
    """A choice among concepts has the sensitivity of its taxonomy, and a scale that follows from it."""
    stated = next((one for one in content.get("draws") or () if one.get("of") == draw.of), None)
    if stated is None or draw.norm != SCORE:
        return draw
    return dataclasses.replace(draw, sensitivity=stated["sensitivity"], scale=stated.get("scale"))


def _taken_over(made: Mapping[str, Any], stated: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: stated[name]
        if name in _OF_TAXONOMY
        else _taken_over(value, stated[name])
        if isinstance(value, Mapping)
        else value
        for name, value in made.items()
    }
