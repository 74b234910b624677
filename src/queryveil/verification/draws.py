"""Every draw that a manifest declares, and the guarantee that they add up to: one recomputation for all of them.

A mechanism that counts and adds noise needs no checks of its own: they follow from its draws.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard

from queryveil.catalog import Sentence
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
    made = [
        judge(
            "draws", Sentence("verify.draws.every-draw-of-noise-is-declared"), lambda: _check_form(manifest)
        )
    ]
    if not made[0].passes:
        return made
    nothing = Sentence("verify.draws.part-of-release-comes-from-log")
    within = Sentence("verify.draws.epsilon-and-delta-computed-anew-from")
    uncovered = any(draw["rows"] == "uncovered" for draw in draws)
    good = nothing if uncovered else within
    return [
        *made,
        judge("guarantee", good, lambda: _check_guarantee(draws, guarantee, uncovered=uncovered)),
        judge(
            "implied-guarantee",
            Sentence("verify.draws.implied-guarantee-follows-from-guarantee"),
            lambda: _check_implied(draws, guarantee),
        ),
        judge(
            "users",
            Sentence("verify.draws.number-of-users-is-declared-public"),
            lambda: _check_users(manifest),
        ),
    ]


# -- each draw -----------------------------------------------------------------------------------------------


def _check_form(manifest: Manifest) -> Iterator[str]:
    draws, tables = manifest.content.get("draws"), manifest.section("tables")
    if not isinstance(draws, list) or not draws:
        yield Sentence("verify.draws.guarantee-rests-on-noise-but-no")
        return
    made: set[str] = set()
    for number, draw in enumerate(draws, 1):
        problems = list(_check_draw(draw, manifest.section("guarantee")))
        if not problems and draw["table"] not in tables:
            problems.append(Sentence("verify.draws.makes-table-release-does-not-have"))
        if not problems and draw["rows"] == "published" and draw["table"] not in made:
            problems.append(Sentence("verify.draws.adds-noise-to-published-rows-but"))
        yield from (Sentence("verify.draws.draw", number=number, problem=problem) for problem in problems)
        made.add(str(draw.get("table")) if isinstance(draw, dict) else "")


def _check_draw(draw: Any, guarantee: Mapping[str, Any]) -> Iterator[str]:
    if not isinstance(draw, dict):
        yield Sentence("verify.draws.is-not-object")
        return
    yield from (
        Sentence("verify.draws.has-unknown-key", one=quoted(one))
        for one in draw
        if one not in (*_TEXTS, *_NUMBERS, *_MAY_BE_TEXTS, "public")
    )
    wrong = [one for one in _TEXTS if not isinstance(draw.get(one), str)]
    wrong += [one for one in _NUMBERS if one in draw and not number(draw[one])]
    wrong += [
        one for one in ("most", "copies", "at_least", "above", "users") if type(draw.get(one, 1)) is not int
    ]
    if wrong:
        yield Sentence("verify.draws.lacks-or-gives-value-of-wrong", wrong=wrong[0])
        return
    if draw["kind"] not in _KINDS.get(draw["rows"], ()):
        yield Sentence("verify.draws.states-kind-of-guarantee-its-rows")
    if draw.get("neighbours") != guarantee.get("neighbours"):
        yield Sentence("verify.draws.compares-logs-in-another-way-than")
    if draw["rows"] != "uncovered" and not (positive(draw.get("epsilon")) and number(draw.get("delta"))):
        yield Sentence("verify.draws.does-not-say-what-costs")
    if ("item_delta" in draw) != (draw["distribution"] == _SELECTION):
        yield Sentence("verify.draws.lacks-delta-of-one-count-or")
    elif _NORMS.get(draw["distribution"]) != draw["norm"]:
        yield Sentence("verify.draws.has-unknown-distribution-or-wrong-norm")
    elif draw["distribution"] == "rounded-normal":
        yield from gaussian.problems(draw)
        yield from _check_public_list(draw) if "public" in draw else ()
    elif draw["kind"] == "gaussian-dp" or any(one in draw for one in ("mu", "p", "rounds", "weights")):
        yield Sentence("verify.draws.states-mu-or-p-but-its")
    elif draw["norm"] == "l1":
        yield from _check_laplace(draw)
        yield from _check_selection(draw) if draw["distribution"] == _SELECTION else ()
        yield from _check_public_list(draw) if "public" in draw else ()
    elif "public" in draw:
        yield Sentence("verify.draws.has-public-list-which-no-proof")
    elif not 0 <= draw["sensitivity"] <= 1 or draw["kind"] != "pure-dp":
        yield Sentence("verify.draws.chooses-among-candidates-but-its-sensitivity")


def _check_public_list(draw: Mapping[str, Any]) -> Iterator[str]:
    """A public list adds no cost: its rows have the draw's own noise, and share the bound that the draw states."""
    listed = draw["public"]
    numbers = ("items", "lines", "above")
    if not isinstance(listed, dict) or set(listed) != {*numbers, "sha256"}:
        yield Sentence("verify.draws.does-not-state-its-public-list")
    elif any(type(listed[one]) is not int or listed[one] < 1 for one in numbers):
        yield Sentence("verify.draws.has-public-list-with-figure-is")
    elif not isinstance(listed["sha256"], str) or not _DIGEST.fullmatch(listed["sha256"]):
        yield Sentence("verify.draws.has-public-list-without-digest")
    if draw["rows"] != "log":
        yield Sentence("verify.draws.has-public-list-which-no-proof")


def _check_laplace(draw: Mapping[str, Any]) -> Iterator[str]:
    if not positive(draw.get("scale")):
        yield Sentence("verify.draws.has-no-noise-scale")
    replaced = str(draw.get("neighbours")).startswith("replace-one-user")
    most = draw.get("most") or 0
    if most < 1 or draw["copies"] not in (1, most):
        yield Sentence("verify.draws.does-not-limit-what-one-user")
    if draw.get("sensitivity") != (2 * most if replaced else most):
        yield Sentence("verify.draws.has-sensitivity-does-not-follow-from")
    if draw["rows"] != "log":
        if "above" in draw or "at_least" in draw or draw.get("delta", 0):
            yield Sentence("verify.draws.has-threshold-or-delta-but-its")
        return
    if draw.get("at_least", 0) < 1 or draw.get("above", -1) < 0:
        yield Sentence("verify.draws.lacks-threshold-but-its-rows-come")
    if draw["copies"] > 1 and (draw.get("at_least") != 1 or replaced):
        yield Sentence("verify.draws.counts-user-several-times-and-no")
    if draw["kind"] == "probabilistic-dp" and not (replaced and draw.get("users", 0) >= 1):
        yield Sentence("verify.draws.has-guarantee-needs-public-number-of")


def _check_selection(draw: Mapping[str, Any]) -> Iterator[str]:
    """Check the conditions of docs/proofs/truncated-geometric.md."""
    if draw["rows"] != "log" or draw["kind"] != "approximate-dp":
        yield Sentence("verify.draws.has-optimal-selection-noise-which-is")
    if draw["copies"] != 1 or draw.get("at_least") != 1:
        yield Sentence("verify.draws.has-optimal-selection-noise-and-counts")
    if not (0 < draw["item_delta"] < 1 and 0 < draw.get("scale", 0) <= _MAX_SCALE):
        yield Sentence("verify.draws.has-delta-of-one-count-is")
    elif draw.get("above", -1) + 1 < recomputed.even_chance(draw["scale"], draw["item_delta"]):
        yield Sentence("verify.draws.has-threshold-noise-alone-exceeds")


# -- what they add up to -------------------------------------------------------------------------------------


def _draw_cost(draw: Mapping[str, Any], *, probabilistic: bool) -> Worth | None:
    """None where the checks of a method compute it: choices among candidates depend on the candidates."""
    if draw["distribution"] == _SELECTION:
        return recomputed.of_selection(draw)
    if draw["distribution"] != "discrete-laplace":
        return None
    return recomputed.of_draw(draw, probabilistic=probabilistic)


def _check_guarantee(
    draws: Sequence[Mapping[str, Any]], guarantee: Mapping[str, Any], *, uncovered: bool
) -> Iterator[str]:
    parts = guarantee.get("parts") or []
    if uncovered:
        # A part that was claimed could be handed on without the rest, and would have been charged to nobody.
        if guarantee.get("kind") != "none" or parts or "epsilon" in guarantee or "delta" in guarantee:
            yield Sentence("verify.draws.guarantee-promises-something-but-part-of")
        return
    if all(draw["distribution"] == "rounded-normal" for draw in draws):
        if guarantee.get("kind") != "gaussian-dp" or not all(
            number(one.get(name)) for one in (guarantee, *parts) for name in ("epsilon", "delta", "mu", "p")
        ):
            yield Sentence("verify.draws.guarantee-of-gaussian-noise-lacks-mu")
            return
        yield from gaussian.findings(draws, guarantee)
        return
    if "mu" in guarantee or "p" in guarantee or any("mu" in part or "p" in part for part in parts):
        yield Sentence("verify.draws.guarantee-states-mu-or-p-but")
    several = len(draws) > 1
    if len(parts) != (len(draws) if several else 0):
        yield Sentence("verify.draws.guarantee-does-not-have-one-part")
        return
    if guarantee.get("kind") != max((draw["kind"] for draw in draws), key=_PRIVATE.index):
        yield Sentence("verify.draws.kind-of-guarantee-is-not-kind")
    worths = []
    for draw, part in zip(draws, parts or [guarantee], strict=True):
        worths.append(_draw_cost(draw, probabilistic=draw["kind"] == "probabilistic-dp"))
        yield from _check_payment(draw, part, worths[-1], alone=not several)
    epsilon, delta = guarantee.get("epsilon"), guarantee.get("delta")
    if not (positive(epsilon) and number(delta) and delta <= 1):
        yield Sentence("verify.draws.epsilon-or-delta-of-guarantee-is")
    elif several:
        yield from _too_strong("the guarantee", guarantee, worths, is_sum=True)
        for name, value, largest in (("epsilon", epsilon, math.inf), ("delta", delta, 1.0)):
            figures = [part.get(name) for part in parts]
            # A part without a figure was found above.
            if all(map(number, figures)) and value < min(largest, math.fsum(figures)) * (1 - _SAME):
                yield Sentence("verify.draws.of-guarantee-is-below-sum-of", name=name)


def _check_payment(
    draw: Mapping[str, Any], part: Mapping[str, Any], worth: Worth | None, *, alone: bool
) -> Iterator[str]:
    """That a part of the guarantee is what its draw costs, and enough for what the draw is worth."""
    where = Sentence("verify.draws.guarantee-of", of=quoted(draw["of"]))
    if part.get("of") != (None if alone else draw["of"]):
        yield Sentence("verify.draws.does-not-say-what-is-for", where=where)
    for name in ("kind", "epsilon", "delta", "neighbours"):
        if part.get(name) != draw.get(name):
            yield Sentence("verify.draws.and-its-draw-state-different-values", where=where, name=name)
            return
    yield from _too_strong(where, part, [worth], is_sum=False)


def _check_implied(draws: Sequence[Mapping[str, Any]], guarantee: Mapping[str, Any]) -> Iterator[str]:
    """Probabilistic differential privacy implies the approximate kind; other kinds imply nothing here."""
    parts = guarantee.get("parts")
    listed: list[tuple[str, Any, Sequence[Mapping[str, Any]]]] = [
        (Sentence("verify.draws.implied-guarantee"), guarantee, draws)
    ]
    if parts and len(parts) != len(draws):
        yield Sentence("verify.draws.guarantee-does-not-have-one-part")
        return
    if parts:
        pairs = zip(parts, draws, strict=True)
        listed += [
            (Sentence("verify.draws.implied-guarantee-of", of=quoted(draw["of"])), part, [draw])
            for part, draw in pairs
        ]
    for where, one, paid in listed:
        implied = one.get("implies")
        if one.get("kind") != "probabilistic-dp":
            if implied is not None:
                yield Sentence("verify.draws.does-not-follow-from-kind-of", where=where)
            continue
        if not isinstance(implied, dict) or implied.get("kind") != "approximate-dp":
            yield Sentence("verify.draws.is-missing", where=where)
        elif not (positive(implied.get("epsilon")) and number(implied.get("delta"))):
            yield Sentence("verify.draws.has-no-epsilon-and-delta", where=where)
        elif (implied.get("unit"), implied.get("neighbours")) != (one.get("unit"), one.get("neighbours")):
            yield Sentence("verify.draws.compares-logs-in-another-way", where=where)
        else:
            worths = [_draw_cost(draw, probabilistic=False) for draw in paid]
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
            yield Sentence(
                "verify.draws.states-but-noise-and-thresholds-give",
                where=where,
                name=name,
                stated=f"{stated[name]:.6g}",
                needed=f"{needed:.6g}",
            )


def _check_users(manifest: Manifest) -> Iterator[str]:
    """Neighbours by adding a user differ in the number of users: then nothing is told of it."""
    guarantee = manifest.section("guarantee")
    told = [one for one in guarantee.get("assumptions") or () if "users" in one.get("fields", {})]
    shown = set(_values_named(manifest.content, "users"))
    if guarantee.get("neighbours") == "add-remove-one-user":
        if shown:
            yield Sentence("verify.draws.manifest-states-number-of-users-which")
    elif len(shown) > 1:
        yield Sentence("verify.draws.manifest-states-different-numbers-of-users")
    elif shown and not told:
        yield Sentence("verify.draws.manifest-states-number-of-users-but")


def _values_named(value: Any, name: str) -> Iterator[Any]:
    """Every number under a name, wherever it stands."""
    if isinstance(value, dict):
        if isinstance(value.get(name), int | float):
            yield value[name]
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from _values_named(inner, name)


def number(value: object) -> TypeGuard[float]:
    # JSON has no other numbers; a whole number beyond any float counts as none.
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return 0 <= value <= sys.float_info.max


def positive(value: object) -> TypeGuard[float]:
    return number(value) and value > 0
