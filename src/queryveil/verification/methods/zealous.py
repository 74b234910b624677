"""Releases of ZEALOUS: what the manifest states must follow from its own numbers."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from queryveil.verification import histogram
from queryveil.verification.manifest import Manifest
from queryveil.verification.outcome import Check, judge, quoted
from queryveil.verification.recomputed import Setting, Worth, at_least, counts_only
from queryveil.verification.tables import Opened

_MOST_USERS = 10**12
_PARAMETERS = frozenset(
    {
        "epsilon",
        "delta",
        "max_items",
        "items",
        "epsilon_split",
        "keep",
        "promise",
        "analysis",
        "neighbours",
        "tau",
        "noise_scale",
        "second_threshold",
        "then_clicks",
        "max_clicks",
        "epsilon_clicks",
        "users",
    }
)
_CALIBRATION = frozenset(
    {
        "noise_scale",
        "threshold",
        "second_threshold",
        "epsilon",
        "delta",
        "delta_indistinguishable",
        "users_for_half",
        "users_for_99_percent",
        "clicks_noise_scale",
        "pure_dp",
        "paper",
    }
)
_PAPER = frozenset({"noise_scale", "threshold", "second_threshold", "delta", "delta_indistinguishable"})
_PURE = frozenset({"users", "frequent", "accuracy", "domain_bound"})

_KINDS = {"probabilistic": "probabilistic-dp", "approximate": "approximate-dp"}
_NEIGHBOURS = {"replace": "replace-one-user", "add-remove": "add-remove-one-user"}
_USERS_WORDS = "number of users"


@dataclass(frozen=True)
class Stated:
    """The numbers of a manifest that everything else must follow from."""

    kinds: tuple[str, ...]
    settings: tuple[Setting, ...]
    probabilistic: bool
    users: int
    clicks: Worth | None

    def parts(self) -> list[Worth]:
        return [*(self._worth(one) for one in self.settings), *([self.clicks] if self.clicks else [])]

    def implied_parts(self) -> list[Worth]:
        return [*(one.approximate() for one in self.settings), *([self.clicks] if self.clicks else [])]

    def _worth(self, setting: Setting) -> Worth:
        return setting.probabilistic(self.users) if self.probabilistic else setting.approximate()


def checks(manifest: Manifest, opened: Mapping[str, Opened]) -> list[Check]:
    """What depends on figures or tables that another check has found wrong is left out, not passed."""
    parameters, calibration = manifest.section("parameters"), manifest.section("calibration")
    guarantee = manifest.section("guarantee")
    made = [
        judge(
            "parameters",
            "thresholds and noise scale are those of the parameters",
            lambda: _parameters(parameters, calibration),
        )
    ]
    if not made[0].passed:
        return made
    stated = _stated(parameters, calibration)
    made += [
        judge(
            "promise",
            "kind, neighbours and assumptions of the guarantee are those of the method",
            lambda: _promise(parameters, guarantee, stated),
        ),
        judge(
            "guarantee",
            "epsilon and delta, computed anew from noise and thresholds, are within the guarantee",
            lambda: _guarantee(parameters, guarantee, stated),
        ),
        judge(
            "implied-guarantee",
            "what is said to follow from the guarantee follows",
            lambda: _implied(guarantee, stated),
        ),
        judge(
            "calibration",
            "the figures beside the thresholds are no better than they should be",
            lambda: _figures(calibration, stated),
        ),
        judge(
            "users",
            "the number of users is declared public, or not told",
            lambda: _users(parameters, calibration, guarantee),
        ),
    ]
    tops = {kind: setting.top for kind, setting in zip(stated.kinds, stated.settings, strict=True)}
    return made + histogram.checks(
        tops, clicks=stated.clicks is not None, named=set(manifest.section("tables")), opened=opened
    )


# -- parameters and thresholds -------------------------------------------------------------------------------


def _parameters(parameters: Mapping[str, Any], calibration: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"there is no parameter {quoted(name)}" for name in parameters if name not in _PARAMETERS)
    kinds = parameters.get("items")
    if not isinstance(kinds, list) or not kinds or any(kind not in histogram.COLUMNS for kind in kinds):
        yield "'items' is not a list of item kinds"
        return
    if len(set(kinds)) < len(kinds):
        yield "an item kind is named twice"
        return
    yield from _choices(parameters)
    if parameters.get("promise") == "probabilistic" and not _whole(parameters.get("users"), 1, _MOST_USERS):
        yield "'users' is not a number of users, which a probabilistic guarantee depends on"
    yield from _asked(parameters)
    found = _by_kind(kinds, calibration)
    if set(found) != set(kinds):
        yield "the calibration is not one for each item kind"
        return
    for kind in kinds:
        yield from (f"{problem} (for {kind})" for problem in _thresholds(parameters, found[kind]))


def _choices(parameters: Mapping[str, Any]) -> Iterator[str]:
    if parameters.get("promise") not in _KINDS:
        yield "'promise' is neither probabilistic nor approximate"
    if parameters.get("neighbours") not in _NEIGHBOURS:
        yield "'neighbours' is neither replace nor add-remove"
    if parameters.get("promise") == "probabilistic" and parameters.get("neighbours") == "add-remove":
        yield "probabilistic differential privacy is proven for a replaced history only"
    for name in ("max_items", "max_clicks"):
        if (name == "max_items" or name in parameters) and not _whole(parameters.get(name), 1, 10**9):
            yield f"'{name}' is not a number of items"
    if not isinstance(parameters.get("then_clicks", False), bool):
        yield "'then_clicks' is neither true nor false"
    elif parameters.get("then_clicks") and parameters["items"] != ["queries"]:
        yield "click counts belong to published queries only"


def _asked(parameters: Mapping[str, Any]) -> Iterator[str]:
    """Either epsilon and delta were asked for, or a noise scale and a second threshold were given."""
    asked = [name in parameters for name in ("epsilon", "delta")]
    given = [name in parameters for name in ("noise_scale", "second_threshold")]
    if not ((all(asked) and not any(given)) or (all(given) and not any(asked))):
        yield "the parameters have neither epsilon and delta nor noise scale and second threshold alone"
    for name in ("epsilon", "delta", "noise_scale", "epsilon_clicks"):
        if name in parameters and not _positive(parameters[name]):
            yield f"'{name}' is not a positive number"


def _thresholds(parameters: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    for where, entry, known in (
        ("the calibration", found, _CALIBRATION),
        ("its paper's figures", found.get("paper", {}), _PAPER),
        ("its note on pure differential privacy", found.get("pure_dp", {}), _PURE),
    ):
        yield from (f"{where} has the unknown key {quoted(name)}" for name in entry if name not in known)
    scale, tau, top = (found.get(name) for name in ("noise_scale", "threshold", "second_threshold"))
    if not _positive(scale):
        yield "the noise scale is not a positive number"
    elif "noise_scale" in parameters and scale != parameters["noise_scale"]:
        yield "the noise scale is not the one among the parameters"
    if not _whole(tau, 1, _MOST_USERS):
        yield "the first threshold is not a number of users"
    elif tau != parameters.get("tau", tau):
        yield "the first threshold is not the one among the parameters"
    if not _whole(top, 0, 2**53):
        yield "the second threshold is not a whole number of users"
    elif "second_threshold" in parameters and top != math.floor(parameters["second_threshold"]):
        yield "the second threshold is not the one among the parameters"
    if parameters.get("then_clicks") and not _positive(found.get("clicks_noise_scale")):
        yield "the noise scale of click counts is not a positive number"


def _stated(parameters: Mapping[str, Any], calibration: Mapping[str, Any]) -> Stated:
    kinds = tuple(parameters["items"])
    found = _by_kind(list(kinds), calibration)
    replace = parameters["neighbours"] == "replace"
    m = parameters["max_items"]
    settings = tuple(
        Setting(
            m=m,
            scale=float(found[kind]["noise_scale"]),
            tau=found[kind]["threshold"],
            top=found[kind]["second_threshold"],
            replace=replace,
        )
        for kind in kinds
    )
    clicks = None
    if parameters.get("then_clicks"):
        moves = (2 if replace else 1) * parameters.get("max_clicks", m)
        clicks = counts_only(moves, float(calibration["clicks_noise_scale"]))
    probabilistic = parameters["promise"] == "probabilistic"
    return Stated(kinds, settings, probabilistic, parameters["users"] if probabilistic else 0, clicks)


def _by_kind(kinds: list[str], calibration: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    if len(kinds) == 1:
        return {kinds[0]: dict(calibration)}
    return {kind: found for kind, found in calibration.items() if isinstance(found, dict)}


# -- the guarantee -------------------------------------------------------------------------------------------


def _promise(parameters: Mapping[str, Any], guarantee: Mapping[str, Any], stated: Stated) -> Iterator[str]:
    if guarantee.get("kind") != _KINDS[parameters["promise"]]:
        yield "the guarantee is not of the kind among the parameters"
    neighbours = _NEIGHBOURS[parameters["neighbours"]]
    parts = [*(guarantee.get("parts") or ()), *filter(None, [guarantee.get("implies")])]
    for one in (guarantee, *parts):
        if one.get("neighbours") != neighbours:
            yield "the guarantee is not against the neighbours among the parameters"
        if one.get("unit") != "user":
            yield "the guarantee is not per user"
    said = " ".join(guarantee.get("assumptions") or ())
    needed = {"row": "how rows are parsed", "account": "what a user is"}
    if "query-pairs" in stated.kinds:
        needed["session"] = "how sessions are cut"
    if stated.clicks:
        needed["result lists"] = "that the result lists are public"
    yield from (f"the assumptions do not say {what}" for word, what in needed.items() if word not in said)


def _guarantee(parameters: Mapping[str, Any], guarantee: Mapping[str, Any], stated: Stated) -> Iterator[str]:
    recomputed = stated.parts()
    total = recomputed[0]
    for one in recomputed[1:]:
        total = total + one
    several = len(recomputed) > 1
    epsilon, delta = guarantee.get("epsilon"), guarantee.get("delta")
    if not (_positive(epsilon) and _positive(delta)):
        yield "epsilon or delta of the guarantee is not a positive number"
        return
    yield from _too_strong("the guarantee", epsilon, delta, total, is_sum=several)
    if "epsilon" in parameters:
        clicks = parameters.get("epsilon_clicks", parameters["epsilon"]) if stated.clicks else 0
        if not math.isclose(epsilon, parameters["epsilon"] + clicks, rel_tol=1e-12):
            yield "epsilon of the guarantee is not what the parameters ask for"
        if not math.isclose(delta, parameters["delta"], rel_tol=1e-12):
            yield "delta of the guarantee is not what the parameters ask for"
    parts = guarantee.get("parts") or []
    if len(parts) != (len(recomputed) if several else 0):
        yield "the guarantee does not have one part for each table"
        return
    kinds = [_KINDS[parameters["promise"]]] * len(stated.settings) + ["pure-dp"] * bool(stated.clicks)
    names = [*stated.kinds, "clicks"] if several else []
    if [part.get("of") for part in parts] != names[: len(parts)]:
        yield "the parts of the guarantee do not say what each is for"
    for number, (part, worth, kind) in enumerate(zip(parts, recomputed, kinds, strict=False), 1):
        if part.get("kind") != kind or not (_positive(part.get("epsilon")) and _number(part.get("delta"))):
            yield f"part {number} of the guarantee is not {kind} with its numbers"
            continue
        yield from _too_strong(
            f"part {number} of the guarantee", part["epsilon"], part["delta"], worth, is_sum=False
        )


def _implied(guarantee: Mapping[str, Any], stated: Stated) -> Iterator[str]:
    if not stated.probabilistic:
        if guarantee.get("implies") is not None:
            yield "an approximate guarantee implies no other"
        return
    worths = stated.implied_parts()
    total = worths[0]
    for one in worths[1:]:
        total = total + one
    parts = guarantee.get("parts") or []
    whole = ("the implied guarantee", guarantee, total, len(worths) > 1)
    listed = [
        (f"the implied guarantee of part {number}", part, worth, False)
        for number, (part, worth) in enumerate(zip(parts, worths, strict=False), 1)
        if part.get("kind") != "pure-dp"
    ]
    for where, one, worth, is_sum in (whole, *listed):
        implied = one.get("implies")
        if not isinstance(implied, dict) or implied.get("kind") != "approximate-dp":
            yield f"{where} is missing"
        elif not (_positive(implied.get("epsilon")) and _positive(implied.get("delta"))):
            yield f"{where} has no epsilon and delta"
        else:
            yield from _too_strong(where, implied["epsilon"], implied["delta"], worth, is_sum=is_sum)


def _too_strong(where: str, epsilon: float, delta: float, worth: Worth, *, is_sum: bool) -> Iterator[str]:
    for name, value, needed in (("epsilon", epsilon, worth.epsilon), ("delta", delta, worth.delta)):
        if not at_least(value, needed, is_sum=is_sum):
            yield f"{where} states {name} {value:.6g}, but noise and thresholds give {needed:.6g}"


def _figures(calibration: Mapping[str, Any], stated: Stated) -> Iterator[str]:
    found = _by_kind(list(stated.kinds), calibration)
    for kind, setting in zip(stated.kinds, stated.settings, strict=True):
        figures, approximate = found[kind], setting.approximate()
        worth = setting.probabilistic(stated.users) if stated.probabilistic else approximate
        for name, needed in (
            ("epsilon", worth.epsilon),
            ("delta", worth.delta),
            ("delta_indistinguishable", approximate.delta),
        ):
            if name in figures and not (
                _number(figures[name]) and at_least(figures[name], needed, is_sum=False)
            ):
                yield f"'{name}' for {kind} is below {needed:.6g}"


def _users(
    parameters: Mapping[str, Any], calibration: Mapping[str, Any], guarantee: Mapping[str, Any]
) -> Iterator[str]:
    """Neighbours by adding a user differ in the number of users: then nothing is told of it."""
    told = [text for text in guarantee.get("assumptions") or () if _USERS_WORDS in text]
    figures = list(_by_kind(parameters["items"], calibration).values())
    shown = {parameters["users"]} if "users" in parameters else set()
    shown |= {one["pure_dp"].get("users") for one in figures if "pure_dp" in one}
    if parameters["neighbours"] == "add-remove":
        if shown or told:
            yield "the number of users is told, though the guarantee is against adding or removing one"
        if any(_tells_users(one.get("paper", {}), parameters) for one in figures):
            yield "the paper's figures tell the number of users, though it is not public"
    elif len(shown) > 1:
        yield "the manifest states different numbers of users"
    elif shown and not any(f"{number}" in text for number in shown for text in told):
        yield "the number of users is told, but not among the assumptions"


def _tells_users(paper: Mapping[str, Any], parameters: Mapping[str, Any]) -> bool:
    """Whether the paper's figures are such as need the number of users, or none that follow from the parameters."""
    if "delta" in paper:
        return True
    if "second_threshold" not in paper or "second_threshold" in parameters:
        return False
    # The paper's threshold for indistinguishability has no number of users in it, its other one has.
    m, scale, top = parameters["max_items"], paper.get("noise_scale"), paper["second_threshold"]
    if not (_number(parameters.get("delta")) and parameters["delta"] and _number(scale) and _number(top)):
        return True
    return not math.isclose(top, m + scale * math.log(m / (2 * parameters["delta"])), rel_tol=1e-9)


def _number(value: object) -> TypeGuard[float]:
    # JSON has no other numbers; a whole number beyond any float counts as none.
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return 0 <= value <= sys.float_info.max


def _positive(value: object) -> TypeGuard[float]:
    return _number(value) and value > 0


def _whole(value: object, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most
