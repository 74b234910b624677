"""Releases of the click graph: what the manifest states must follow from its own numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from queryveil.verification.manifest import Manifest
from queryveil.verification.methods.click_graph import stated as graph_stated
from queryveil.verification.methods.click_graph import tables as graph_tables
from queryveil.verification.methods.click_graph import worth as graph_worth
from queryveil.verification.methods.click_graph.stated import Stated, Step, number, positive, whole
from queryveil.verification.outcome import Check, judge, quoted
from queryveil.verification.recomputed import Worth, at_least
from queryveil.verification.tables import Opened

_NEIGHBOURS = "add-remove-one-user"
_SAME = 1e-12
"""What floats of the same figure may differ by, relative to it."""
_CLOSE = 1e-9
"""The same for figures that the writer computes in floats throughout."""
_PART_OF = {
    "selection": "queries",
    "fresh counts": "counts of queries",
    "clicks": "clicks",
    "reformulations": "reformulations",
}
"""What the part of the guarantee for a draw of noise says that it is for."""
_NUMBER_OF_USERS = re.compile(r"\d[.,_' ]*(?:users|people|persons|accounts)\b", re.IGNORECASE)


def checks(manifest: Manifest, opened: Mapping[str, Opened]) -> list[Check]:
    """What depends on figures or tables that another check has found wrong is left out, not passed."""
    parameters, calibration = manifest.section("parameters"), manifest.section("calibration")
    guarantee = manifest.section("guarantee")
    made = [
        judge(
            "parameters",
            "thresholds and noise scales are those of the parameters",
            lambda: graph_stated.problems(parameters, calibration),
        ),
        judge("users", "the number of users is not told", lambda: _users(manifest.content, ())),
    ]
    if not made[0].passed:
        return made
    stated = graph_stated.read(parameters, calibration)
    whole_release = "epsilon and delta, computed anew from noise and thresholds, are within the guarantee"
    nothing = "the clicked urls have no guarantee, and nothing is promised"
    made += [
        judge(
            "promise",
            "kinds, neighbours, assumptions and caveats of the guarantee are those of the method",
            lambda: _promise(guarantee, stated),
        ),
        judge(
            "guarantee",
            nothing if stated.clicked else whole_release,
            lambda: _guarantee(guarantee, stated),
        ),
        judge(
            "calibration",
            "noise, thresholds and the figures beside them are those that were asked for",
            lambda: _calibration(stated),
        ),
    ]
    return made + graph_tables.checks(_expected(stated), named=set(manifest.section("tables")), opened=opened)


# -- the guarantee -------------------------------------------------------------------------------------------


def _promise(guarantee: Mapping[str, Any], stated: Stated) -> Iterator[str]:
    if guarantee.get("kind") != ("none" if stated.clicked else "approximate-dp"):
        yield "the guarantee is not of the kind that the parameters give"
    parts = guarantee.get("parts") or []
    for one in (guarantee, *parts):
        if one.get("neighbours") != _NEIGHBOURS:
            yield "the guarantee is not against one user added or removed"
        if one.get("unit") != "user":
            yield "the guarantee is not per user"
        if one.get("implies") is not None or one.get("k") is not None:
            yield "an approximate guarantee implies no other"
    if any(part.get("parts") for part in parts):
        yield "a part of the guarantee has parts of its own"
    said = " ".join(guarantee.get("assumptions") or ())
    yield from (
        f"the assumptions do not say {what}" for word, what in _assumed(stated).items() if word not in said
    )
    caveats = guarantee.get("caveats") or ()
    if stated.clicked and not any("clicked urls" in one and "not covered" in one for one in caveats):
        yield "the caveats do not say that the clicked urls are not covered"


def _assumed(stated: Stated) -> dict[str, str]:
    """Words of the assumptions that the guarantee stands on, and what they say."""
    needed = {"parsed one by one": "how rows are parsed", "account": "what a user is"}
    clicks, reformulations = stated.step("clicks"), stated.step("reformulations")
    if clicks and clicks.top is None and not stated.clicked:
        needed["result lists are public"] = "that the result lists are public"
    if reformulations and reformulations.top is None:
        needed["suggestion lists are public"] = "that the suggestion lists are public"
    if reformulations:
        needed["session"] = "how sessions are cut"
    return needed


def _guarantee(guarantee: Mapping[str, Any], stated: Stated) -> Iterator[str]:
    steps, parts = stated.covered, guarantee.get("parts") or []
    if stated.clicked:
        # A part that was claimed could be handed on without the rest, and would have been charged to nobody.
        if parts or "epsilon" in guarantee or "delta" in guarantee:
            yield "something is promised, though the clicked urls have no guarantee"
        return
    several = len(steps) > 1
    if len(parts) != (len(steps) if several else 0):
        yield "the guarantee does not have one part for each draw of noise"
        return
    worths = [step.worth() for step in steps]
    listed = parts or [guarantee]
    for part, step, worth in zip(listed, steps, worths, strict=True):
        yield from _part(part, step, worth, alone=not several)
    if several:
        yield from _total(guarantee, parts, graph_worth.total(worths))


def _part(part: Mapping[str, Any], step: Step, worth: Worth, *, alone: bool) -> Iterator[str]:
    where = f"the guarantee of {step.name}"
    epsilon, delta = part.get("epsilon"), part.get("delta")
    if part.get("kind") != step.kind or not (positive(epsilon) and number(delta) and delta <= 1):
        yield f"{where} is not {step.kind} with its numbers"
        return
    yield from _too_strong(where, epsilon, delta, worth, is_sum=False)
    if part.get("of") not in ({None} if alone else {_PART_OF[step.name]}):
        yield f"{where} does not say what it is for"
    for name, value, asked in (("epsilon", epsilon, step.epsilon), ("delta", delta, step.delta)):
        if asked is not None and not math.isclose(value, asked, rel_tol=_SAME):
            yield f"{name} of {where} is not what the parameters ask for"


def _total(guarantee: Mapping[str, Any], parts: list[Mapping[str, Any]], worth: Worth) -> Iterator[str]:
    epsilon, delta = guarantee.get("epsilon"), guarantee.get("delta")
    if not (positive(epsilon) and positive(delta) and delta <= 1):
        yield "epsilon or delta of the guarantee is not a positive number"
        return
    yield from _too_strong("the guarantee", epsilon, delta, worth, is_sum=True)
    for name, value in (("epsilon", epsilon), ("delta", delta)):
        added = math.fsum(part[name] for part in parts)
        if not math.isclose(value, min(1.0, added) if name == "delta" else added, rel_tol=_SAME):
            yield f"{name} of the guarantee is not the sum of its parts"


def _too_strong(where: str, epsilon: float, delta: float, worth: Worth, *, is_sum: bool) -> Iterator[str]:
    for name, value, needed in (("epsilon", epsilon, worth.epsilon), ("delta", delta, worth.delta)):
        if not at_least(value, needed, is_sum=is_sum):
            yield f"{where} states {name} {value:.6g}, but noise and thresholds give {needed:.6g}"


# -- the figures beside it -----------------------------------------------------------------------------------


def _calibration(stated: Stated) -> Iterator[str]:
    for step in stated.steps:
        worth = step.worth()
        for name, exact in (("epsilon", worth.epsilon), ("delta", worth.delta)):
            if name in step.figures and not _rounded_up(step.figures[name], exact):
                yield f"'{name}' of {step.name} is not {exact:.6g}"
        if step.epsilon is not None and step.scale > step.most / step.epsilon * (1 + _SAME):
            yield f"the noise scale of {step.name} is above what epsilon asks for"
        yield from _threshold(step, stated)
    yield from _chances(stated)
    yield from _paper(stated)


def _rounded_up(value: object, exact: Decimal) -> bool:
    return number(value) and at_least(value, exact, is_sum=False) and value <= float(exact) * (1 + _CLOSE)


def _threshold(step: Step, stated: Stated) -> Iterator[str]:
    """A threshold above what delta asks for harms nobody, but then the manifest is not about this release."""
    if step.top is None or step.delta is None or step.epsilon is None:
        return
    if step.name == "selection" and stated.parameters["analysis"] == "paper":
        paper = float(graph_worth.paper_threshold(step.most, step.epsilon, step.delta))
        if not paper * (1 - _SAME) <= step.top <= paper * (1 + _SAME) + 1:
            yield f"the threshold of selection is not the paper's, {paper:.6g}, rounded up"
        return
    least = 1 if step.once else step.most
    if step.top <= least:
        return
    lower = graph_worth.thresholded(step.most, step.scale, step.top - 1, once=step.once).delta
    if lower < Decimal(step.delta) * (1 - Decimal(_CLOSE)):
        yield f"the threshold of {step.name} is above what delta asks for"


def _chances(stated: Stated) -> Iterator[str]:
    """The counts that are published half of the time and nearly always: the smallest that are."""
    selection = stated.steps[0]
    for name, wanted in (("count_for_half", Decimal("0.5")), ("count_for_99_percent", Decimal("0.99"))):
        count = stated.calibration.get(name)
        if name not in stated.calibration:
            continue
        top = selection.top or 0
        if not whole(count, 1, 2**60) or graph_worth.chance(count, selection.scale, top) < wanted:
            yield f"'{name}' is not enough to be published that often"
        elif count > 1 and graph_worth.chance(count - 1, selection.scale, top) >= wanted:
            yield f"'{name}' is more than is needed"


def _paper(stated: Stated) -> Iterator[str]:
    """Theorem 1 of the paper, for continuous noise: for comparison only, but no place for other numbers."""
    figures, (selection, *others) = stated.calibration.get("paper") or {}, stated.steps
    if selection.epsilon is not None and selection.delta is not None:
        top = float(graph_worth.paper_threshold(selection.most, selection.epsilon, selection.delta))
    else:
        top = stated.parameters["threshold"]
    d, scale = selection.most, selection.scale
    expected = {"noise_scale": scale, "threshold": top}
    if top >= d:
        beyond = 1 / (2 * math.exp(min(700.0, (top - 1) / scale)) - 1)
        log_alpha = max(1 / scale, math.log1p(beyond))
        expected["alpha"] = math.exp(min(700.0, log_alpha))
        expected["epsilon"] = d * log_alpha + math.fsum(one.most / one.scale for one in others)
        expected["delta"] = min(1.0, d / 2 * math.exp((d - top) / scale))
    for name, value in figures.items():
        # Where the theorem says nothing its threshold may be negative.
        real = isinstance(value, (int, float)) and not isinstance(value, bool)
        if name not in expected or not real or not math.isclose(value, expected[name], rel_tol=_CLOSE):
            yield f"'{name}' of the paper's figures is not what its formulas give"


def _users(value: Any, at: tuple[str, ...]) -> Iterator[str]:
    """Neighbours differ in the number of users: whatever tells it tells of one user more or less."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _users(inner, (*at, name))
    elif isinstance(value, list):
        for inner in value:
            yield from _users(inner, at)
    elif isinstance(value, str):
        # What a column means may speak of a number of users without telling one.
        declared = "number of users" in value and at[:1] == ("guarantee",)
        if declared or _NUMBER_OF_USERS.search(value):
            yield f"{quoted('.'.join(at[:2]))} tells the number of users, which the guarantee is to hide"


# -- the tables ----------------------------------------------------------------------------------------------


def _expected(stated: Stated) -> graph_tables.Expected:
    reused = stated.parameters["counts"] == "reuse"
    above = {"queries": stated.steps[0].top if reused else None}
    closed: dict[str, tuple[str, ...]] = {}
    for name in ("clicks", "reformulations"):
        step = stated.step(name)
        if step is None:
            continue
        above[name] = step.top
        # A suggestion is public whether or not enough people searched for it.
        pairs = name == "reformulations" and step.top is not None
        closed[name] = ("query", "next_query") if pairs else ("query",)
    return graph_tables.Expected(above, closed, stated.parameters["non_negative"])
