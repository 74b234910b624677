"""Every draw that a manifest declares, and the guarantee that they add up to: one recomputation for all of them.

A mechanism that counts and adds noise needs no checks of its own: they follow from its draws.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from queryveil.verification import gaussian, recomputed
from queryveil.verification.manifest import Manifest
from queryveil.verification.outcome import Check, judge, quoted
from queryveil.verification.recomputed import Worth, at_least

_TEXTS = ("of", "table", "bounded", "rule", "norm", "distribution", "rows", "kind")
_MAY_BE_TEXTS = ("weights", "neighbours")
_NUMBERS = (
    *("most", "copies", "sensitivity", "scale", "item_delta", "at_least", "above"),
    *("epsilon", "delta", "users", "mu", "p", "rounds"),
)
_KINDS = {
    # Which guarantee a draw can have, by the rows that get noise.
    "public": {"pure-dp", "gaussian-dp"},
    "published": {"pure-dp", "gaussian-dp"},
    "log": {"approximate-dp", "probabilistic-dp", "gaussian-dp"},
    "uncovered": {"none"},
}
_SELECTION = "optimal-selection"
_NORMS = {"discrete-laplace": "l1", _SELECTION: "l1", "rounded-normal": "l2", "exponential": "score"}
_PRIVATE = ("pure-dp", "gaussian-dp", "probabilistic-dp", "approximate-dp")
"""From the strongest to the weakest."""
_DIGEST = re.compile(r"[0-9a-f]{64}")
_MAX_SCALE = 2**40
_SAME = 1e-12
"""What sums of floats may differ by, relative to them."""


def checks(manifest: Manifest) -> list[Check]:
    """What depends on draws that another check has found wrong is left out, not passed."""
    draws: Any = manifest.content.get("draws")
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
            problems.append("makes a table that the release does not have")
        if not problems and draw["rows"] == "published" and draw["table"] not in made:
            problems.append("adds noise to published rows, but no earlier draw published any")
        yield from (f"draw {number} {problem}" for problem in problems)
        made.add(str(draw.get("table")) if isinstance(draw, dict) else "")


def _problems(draw: Any, guarantee: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(draw, dict):
        yield "is not an object"
        return
    yield from (
        f"has the unknown key {quoted(one)}"
        for one in draw
        if one not in (*_TEXTS, *_NUMBERS, *_MAY_BE_TEXTS, "public")
    )
    wrong = [one for one in _TEXTS if not isinstance(draw.get(one), str)]
    wrong += [one for one in _NUMBERS if one in draw and not number(draw[one])]
    wrong += [
        one for one in ("most", "copies", "at_least", "above", "users") if type(draw.get(one, 1)) is not int
    ]
    if wrong:
        yield f"lacks '{wrong[0]}', or gives it a value of the wrong type"
        return
    if draw["kind"] not in _KINDS.get(draw["rows"], ()):
        yield "states a kind of guarantee that its rows cannot have"
    if draw.get("neighbours") != guarantee.get("neighbours"):
        yield "compares logs in another way than the guarantee"
    if draw["rows"] != "uncovered" and not (positive(draw.get("epsilon")) and number(draw.get("delta"))):
        yield "does not say what it costs"
    if ("item_delta" in draw) != (draw["distribution"] == _SELECTION):
        yield "lacks the delta of one count, or states one that its distribution does not have"
    elif _NORMS.get(draw["distribution"]) != draw["norm"]:
        yield "has an unknown distribution, or the wrong norm for it"
    elif draw["distribution"] == "rounded-normal":
        yield from gaussian.problems(draw)
        yield from _public(draw) if "public" in draw else ()
    elif draw["kind"] == "gaussian-dp" or any(one in draw for one in ("mu", "p", "rounds", "weights")):
        yield "states mu or p, but its noise is not Gaussian"
    elif draw["norm"] == "l1":
        yield from _laplace(draw)
        yield from _selection(draw) if draw["distribution"] == _SELECTION else ()
        yield from _public(draw) if "public" in draw else ()
    elif "public" in draw:
        yield "has a public list, which no proof covers here"
    elif not 0 <= draw["sensitivity"] <= 1 or draw["kind"] != "pure-dp":
        yield "chooses among candidates, but its sensitivity is not between 0 and 1, or its guarantee is not pure"


def _public(draw: Mapping[str, Any]) -> Iterator[str]:
    """A public list adds no cost: its rows have the draw's own noise, and share the bound that the draw states."""
    listed = draw["public"]
    numbers = ("items", "lines", "above")
    if not isinstance(listed, dict) or set(listed) != {*numbers, "sha256"}:
        yield "does not state its public list in full"
    elif any(type(listed[one]) is not int or listed[one] < 1 for one in numbers):
        yield "has a public list with a figure that is not a number"
    elif not isinstance(listed["sha256"], str) or not _DIGEST.fullmatch(listed["sha256"]):
        yield "has a public list without a digest"
    if draw["rows"] != "log":
        yield "has a public list, which no proof covers here"


def _laplace(draw: Mapping[str, Any]) -> Iterator[str]:
    if not positive(draw.get("scale")):
        yield "has no noise scale"
    replaced = str(draw.get("neighbours")).startswith("replace-one-user")
    most = draw.get("most") or 0
    if most < 1 or draw["copies"] not in (1, most):
        yield "does not limit what one user adds"
    if draw.get("sensitivity") != (2 * most if replaced else most):
        yield "has a sensitivity that does not follow from its limit per user"
    if draw["rows"] != "log":
        if "above" in draw or "at_least" in draw or draw.get("delta", 0):
            yield "has a threshold or a delta, but its rows do not depend on the log"
        return
    if draw.get("at_least", 0) < 1 or draw.get("above", -1) < 0:
        yield "lacks a threshold, but its rows come from the log"
    if draw["copies"] > 1 and (draw.get("at_least") != 1 or replaced):
        yield "counts a user several times, and no proof covers its first threshold"
    if draw["kind"] == "probabilistic-dp" and not (replaced and draw.get("users", 0) >= 1):
        yield "has a guarantee that needs a public number of users, but does not state one"


def _selection(draw: Mapping[str, Any]) -> Iterator[str]:
    """Check the conditions of docs/proofs/truncated-geometric.md."""
    if draw["rows"] != "log" or draw["kind"] != "approximate-dp":
        yield "has optimal selection noise, which is proven only for rows of a log and approximate privacy"
    if draw["copies"] != 1 or draw.get("at_least") != 1:
        yield "has optimal selection noise, and counts users several times or has a first threshold"
    if not (0 < draw["item_delta"] < 1 and 0 < draw.get("scale", 0) <= _MAX_SCALE):
        yield "has a delta of one count that is not between 0 and 1, or no noise scale"
    elif draw.get("above", -1) + 1 < recomputed.even_chance(draw["scale"], draw["item_delta"]):
        yield "has a threshold that noise alone exceeds"


# -- what they add up to -------------------------------------------------------------------------------------


def _worth(draw: Mapping[str, Any], *, probabilistic: bool) -> Worth | None:
    """None where the checks of a method compute it: choices among candidates depend on the candidates."""
    if draw["distribution"] == _SELECTION:
        return recomputed.of_selection(draw)
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
            yield "the guarantee promises something, but part of the release comes from the log unchanged"
        return
    if all(draw["distribution"] == "rounded-normal" for draw in draws):
        if guarantee.get("kind") != "gaussian-dp" or not all(
            number(one.get(name)) for one in (guarantee, *parts) for name in ("epsilon", "delta", "mu", "p")
        ):
            yield "the guarantee of Gaussian noise lacks mu, p, epsilon or delta"
            return
        yield from gaussian.findings(draws, guarantee)
        return
    if "mu" in guarantee or "p" in guarantee or any("mu" in part or "p" in part for part in parts):
        yield "the guarantee states mu or p, but some of its noise is not Gaussian"
    several = len(draws) > 1
    if len(parts) != (len(draws) if several else 0):
        yield "the guarantee does not have one part for each draw of noise"
        return
    if guarantee.get("kind") != max((draw["kind"] for draw in draws), key=_PRIVATE.index):
        yield "the kind of the guarantee is not the kind of its weakest draw"
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
            figures = [part.get(name) for part in parts]
            # A part without a figure was found above.
            if all(map(number, figures)) and value < min(largest, math.fsum(figures)) * (1 - _SAME):
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
            yield f"{where} and its draw state different values of {name}"
            return
    yield from _too_strong(where, part, [worth], is_sum=False)


def _implied(draws: Sequence[Mapping[str, Any]], guarantee: Mapping[str, Any]) -> Iterator[str]:
    """Probabilistic differential privacy implies the approximate kind; other kinds imply nothing here."""
    parts = guarantee.get("parts")
    listed = [("the implied guarantee", guarantee, draws)]
    if parts and len(parts) != len(draws):
        yield "the guarantee does not have one part for each draw of noise"
        return
    if parts:
        pairs = zip(parts, draws, strict=True)
        listed += [(f"the implied guarantee of {quoted(draw['of'])}", part, [draw]) for part, draw in pairs]
    for where, one, paid in listed:
        implied = one.get("implies")
        if one.get("kind") != "probabilistic-dp":
            if implied is not None:
                yield f"{where} does not follow from this kind of guarantee"
            continue
        if not isinstance(implied, dict) or implied.get("kind") != "approximate-dp":
            yield f"{where} is missing"
        elif not (positive(implied.get("epsilon")) and number(implied.get("delta"))):
            yield f"{where} has no epsilon and delta"
        elif (implied.get("unit"), implied.get("neighbours")) != (one.get("unit"), one.get("neighbours")):
            yield f"{where} compares logs in another way"
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
            yield "the manifest states the number of users, which a guarantee for a user added or removed must hide"
    elif len(shown) > 1:
        yield "the manifest states different numbers of users"
    elif shown and not told:
        yield "the manifest states the number of users, but no assumption says that it is public"


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
