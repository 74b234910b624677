"""Every draw that a manifest declares, and the guarantee that they add up to: one recomputation for all of them.

A mechanism that counts and adds noise needs no checks of its own: they follow from its draws.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from queryveil.verification import recomputed
from queryveil.verification.manifest import Manifest
from queryveil.verification.outcome import Check, judge, quoted
from queryveil.verification.recomputed import Worth, at_least

_TEXTS = ("of", "table", "bounded", "rule", "norm", "distribution", "rows", "kind")
_NUMBERS = ("most", "copies", "sensitivity", "scale", "at_least", "above", "epsilon", "delta", "users")
_KINDS = {
    # Which guarantee a draw can have, by the rows that get noise.
    "public": {"pure-dp"},
    "published": {"pure-dp"},
    "log": {"approximate-dp", "probabilistic-dp"},
    "uncovered": {"none"},
}
_NORMS = {"discrete-laplace": "l1", "exponential": "score"}
_PRIVATE = ("pure-dp", "probabilistic-dp", "approximate-dp")
"""From the strongest to the weakest."""
_SAME = 1e-12
"""What sums of floats may differ by, relative to them."""


def checks(manifest: Manifest) -> list[Check]:
    """What depends on draws that another check has found wrong is left out, not passed."""
    draws: list[Any] = manifest.content.get("draws") or []
    guarantee = manifest.section("guarantee")
    if not draws and guarantee.get("kind") not in _PRIVATE:
        return []
    made = [judge("draws", "every draw of noise is declared in full", lambda: _formed(manifest))]
    if not made[0].passes:
        return made
    nothing = "part of the release comes from the log unchanged, so nothing is promised"
    within = "epsilon and delta, computed anew from noise and thresholds, are within the guarantee"
    uncovered = any(draw["rows"] == "uncovered" for draw in draws)
    good = nothing if uncovered else within
    return [
        *made,
        judge("guarantee", good, lambda: _guarantee(draws, guarantee, uncovered=uncovered)),
        judge(
            "implied-guarantee",
            "the implied guarantee follows from the guarantee",
            lambda: _implied(draws, guarantee),
        ),
        judge("users", "the number of users is declared public, or is not stated", lambda: _users(manifest)),
    ]


# -- each draw -----------------------------------------------------------------------------------------------


def _formed(manifest: Manifest) -> Iterator[str]:
    draws, tables = manifest.content.get("draws"), manifest.section("tables")
    if not isinstance(draws, list) or not draws:
        yield "the guarantee rests on noise, but no draw of noise is declared"
        return
    made: set[str] = set()
    for number, draw in enumerate(draws, 1):
        problems = list(_problems(draw, manifest.section("guarantee")))
        if not problems and draw["table"] not in tables:
            problems.append("makes a table that is not there")
        if not problems and draw["rows"] == "published" and draw["table"] not in made:
            problems.append("is for published rows, and no draw before it published any")
        yield from (f"draw {number} {problem}" for problem in problems)
        made.add(str(draw.get("table")) if isinstance(draw, dict) else "")


def _problems(draw: Any, guarantee: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(draw, dict):
        yield "is not an object"
        return
    yield from (
        f"has the unknown key {quoted(one)}" for one in draw if one not in (*_TEXTS, *_NUMBERS, "neighbours")
    )
    wrong = [one for one in _TEXTS if not isinstance(draw.get(one), str)]
    wrong += [one for one in _NUMBERS if one in draw and not number(draw[one])]
    wrong += [
        one for one in ("most", "copies", "at_least", "above", "users") if type(draw.get(one, 1)) is not int
    ]
    if wrong:
        yield f"has no proper '{wrong[0]}'"
        return
    if draw["kind"] not in _KINDS.get(draw["rows"], ()):
        yield "has a guarantee that its rows do not allow"
    if draw.get("neighbours") != guarantee.get("neighbours"):
        yield "compares other logs than the guarantee"
    if draw["rows"] != "uncovered" and not (positive(draw.get("epsilon")) and number(draw.get("delta"))):
        yield "does not say what it costs"
    if _NORMS.get(draw["distribution"]) != draw["norm"]:
        yield "has an unknown distribution, or measures sensitivity in another way"
    elif draw["distribution"] == "discrete-laplace":
        yield from _laplace(draw)
    elif not 0 <= draw["sensitivity"] <= 1 or draw["kind"] != "pure-dp":
        yield "chooses among candidates by a score of a sensitivity that is not between 0 and 1"


def _laplace(draw: Mapping[str, Any]) -> Iterator[str]:
    if not positive(draw.get("scale")):
        yield "has no noise scale"
    replaced = str(draw.get("neighbours")).startswith("replace-one-user")
    most = draw.get("most") or 0
    if most < 1 or draw["copies"] not in (1, most):
        yield "does not bound what one user adds"
    if draw.get("sensitivity") != (2 * most if replaced else most):
        yield "has a sensitivity that does not follow from its bound"
    if draw["rows"] != "log":
        if "above" in draw or "at_least" in draw or draw.get("delta", 0):
            yield "has a threshold or a delta, though its rows do not depend on the log"
        return
    if draw.get("at_least", 0) < 1 or draw.get("above", -1) < 0:
        yield "lacks a threshold, though its rows come from the log"
    if draw["copies"] > 1 and (draw.get("at_least") != 1 or replaced):
        yield "has a first threshold that is not proven where one user counts several times"
    if draw["kind"] == "probabilistic-dp" and not (replaced and draw.get("users", 0) >= 1):
        yield "has a guarantee that depends on a public number of users, and does not state it"


# -- what they add up to -------------------------------------------------------------------------------------


def _worth(draw: Mapping[str, Any], *, probabilistic: bool) -> Worth | None:
    """None where the checks of a method compute it: choices among candidates depend on the candidates."""
    if draw["distribution"] != "discrete-laplace":
        return None
    return recomputed.of_draw(draw, probabilistic=probabilistic)


def _guarantee(
    draws: Sequence[Mapping[str, Any]], guarantee: Mapping[str, Any], *, uncovered: bool
) -> Iterator[str]:
    parts = guarantee.get("parts") or []
    if uncovered:
        # A part that was claimed could be handed on without the rest, and would have been charged to nobody.
        if guarantee.get("kind") != "none" or parts or "epsilon" in guarantee or "delta" in guarantee:
            yield "something is promised, though part of the release comes from the log unchanged"
        return
    several = len(draws) > 1
    if len(parts) != (len(draws) if several else 0):
        yield "the guarantee does not have one part for each draw of noise"
        return
    if guarantee.get("kind") != max((draw["kind"] for draw in draws), key=_PRIVATE.index):
        yield "the guarantee is not of the kind of its weakest draw"
    worths = []
    for draw, part in zip(draws, parts or [guarantee], strict=True):
        worths.append(_worth(draw, probabilistic=draw["kind"] == "probabilistic-dp"))
        yield from _paid(draw, part, worths[-1], alone=not several)
    epsilon, delta = guarantee.get("epsilon"), guarantee.get("delta")
    if not (positive(epsilon) and number(delta) and delta <= 1):
        yield "epsilon or delta of the guarantee is not a number"
    elif several:
        yield from _too_strong("the guarantee", guarantee, worths, is_sum=True)
        for name, value, largest in (("epsilon", epsilon, math.inf), ("delta", delta, 1.0)):
            added = math.fsum(part[name] for part in parts)
            if value < min(largest, added) * (1 - _SAME):
                yield f"{name} of the guarantee is below the sum of its parts"


def _paid(
    draw: Mapping[str, Any], part: Mapping[str, Any], worth: Worth | None, *, alone: bool
) -> Iterator[str]:
    """That a part of the guarantee is what its draw costs, and enough for what the draw is worth."""
    where = f"the guarantee of {quoted(draw['of'])}"
    if part.get("of") != (None if alone else draw["of"]):
        yield f"{where} does not say what it is for"
    for name in ("kind", "epsilon", "delta", "neighbours"):
        if part.get(name) != draw.get(name):
            yield f"{name} of {where} is not the one of its draw"
            return
    yield from _too_strong(where, part, [worth], is_sum=False)


def _implied(draws: Sequence[Mapping[str, Any]], guarantee: Mapping[str, Any]) -> Iterator[str]:
    """Probabilistic differential privacy implies the approximate kind; other kinds imply nothing here."""
    parts = guarantee.get("parts") or []
    listed = [("the implied guarantee", guarantee, draws)]
    if parts:
        pairs = zip(parts, draws, strict=True)
        listed += [(f"the implied guarantee of {quoted(draw['of'])}", part, [draw]) for part, draw in pairs]
    for where, one, paid in listed:
        implied = one.get("implies")
        if one.get("kind") != "probabilistic-dp":
            if implied is not None:
                yield f"{where} follows from nothing"
            continue
        if not isinstance(implied, dict) or implied.get("kind") != "approximate-dp":
            yield f"{where} is missing"
        elif not (positive(implied.get("epsilon")) and number(implied.get("delta"))):
            yield f"{where} has no epsilon and delta"
        elif (implied.get("unit"), implied.get("neighbours")) != (one.get("unit"), one.get("neighbours")):
            yield f"{where} compares other logs"
        else:
            worths = [_worth(draw, probabilistic=False) for draw in paid]
            yield from _too_strong(where, implied, worths, is_sum=len(paid) > 1)


def _too_strong(
    where: str, stated: Mapping[str, Any], worths: Sequence[Worth | None], *, is_sum: bool
) -> Iterator[str]:
    known = [one for one in worths if one is not None]
    if not known:
        return
    total = known[0]
    for one in known[1:]:
        total = total + one
    for name, needed in (("epsilon", total.epsilon), ("delta", total.delta)):
        if not at_least(stated[name], needed, is_sum=is_sum):
            yield f"{where} states {name} {stated[name]:.6g}, but noise and thresholds give {needed:.6g}"


def _users(manifest: Manifest) -> Iterator[str]:
    """Neighbours by adding a user differ in the number of users: then nothing is told of it."""
    guarantee = manifest.section("guarantee")
    told = [one for one in guarantee.get("assumptions") or () if "users" in one.get("fields", {})]
    shown = set(_named(manifest.content, "users"))
    if guarantee.get("neighbours") == "add-remove-one-user":
        if shown:
            yield "the number of users is told, though the guarantee is against adding or removing one"
    elif len(shown) > 1:
        yield "the manifest states different numbers of users"
    elif shown and not told:
        yield "the number of users is told, but not among the assumptions"


def _named(value: Any, name: str) -> Iterator[Any]:
    """Every number under a name, wherever it stands."""
    if isinstance(value, dict):
        if isinstance(value.get(name), int | float):
            yield value[name]
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _named(inner, name)


def number(value: object) -> TypeGuard[float]:
    # JSON has no other numbers; a whole number beyond any float counts as none.
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return 0 <= value <= sys.float_info.max


def positive(value: object) -> TypeGuard[float]:
    return number(value) and value > 0
