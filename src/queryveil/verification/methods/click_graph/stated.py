"""The numbers in the manifest of a click graph that its guarantee must follow from, step by step."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeGuard

from queryveil.verification.methods.click_graph.worth import thresholded
from queryveil.verification.outcome import quoted
from queryveil.verification.recomputed import Worth, counts_only

_CHOICES: dict[str, tuple[object, ...]] = {
    "count": ("occurrences", "users"),
    "counts": ("reuse", "fresh"),
    "urls": ("public", "private", "clicked"),
    "analysis": ("tight", "paper"),
    "non_negative": (True, False),
}
_MOST = ("max_queries", "max_clicks", "max_reformulations")
_POSITIVE = (
    "epsilon",
    "delta",
    "noise_scale",
    "epsilon_counts",
    "counts_noise_scale",
    "epsilon_clicks",
    "clicks_noise_scale",
    "delta_clicks",
    "epsilon_reformulations",
    "delta_reformulations",
)
_PARAMETERS = {*_CHOICES, *_MOST, *_POSITIVE, "threshold"}
_CALIBRATION = {
    "noise_scale",
    "threshold",
    "epsilon",
    "delta",
    "count_for_half",
    "count_for_99_percent",
    "counts_noise_scale",
    "clicks",
    "reformulations",
    "paper",
}
_PAPER = {"noise_scale", "threshold", "alpha", "epsilon", "delta"}
_PUBLIC_STEP = {"noise_scale", "epsilon"}
_PRIVATE_STEP = {"noise_scale", "epsilon", "threshold", "delta"}

_MOST_COPIES = 10**9
_HIGHEST = 2**53


@dataclass(frozen=True)
class Step:
    """One draw of noise: its bound, scale and threshold, and what was asked of it."""

    name: str
    most: int
    scale: float
    top: int | None
    """Published above this; None where what is published does not depend on the log."""
    once: bool
    epsilon: float | None
    delta: float | None
    """What was asked for; None where a noise scale or a threshold was given instead."""
    figures: Mapping[str, Any]
    """What the calibration says of it."""

    @property
    def kind(self) -> str:
        return "pure-dp" if self.top is None else "approximate-dp"

    def worth(self) -> Worth:
        if self.top is None:
            return counts_only(self.most, self.scale)
        return thresholded(self.most, self.scale, self.top, once=self.once)


@dataclass(frozen=True)
class Stated:
    """Everything that was drawn, in the order of the guarantee's parts."""

    parameters: Mapping[str, Any]
    calibration: Mapping[str, Any]
    steps: tuple[Step, ...]

    def step(self, name: str) -> Step | None:
        return next((one for one in self.steps if one.name == name), None)

    @property
    def clicked(self) -> bool:
        """Urls were taken from the log's own clicks, which no theorem covers."""
        return self.parameters["urls"] == "clicked" and self.step("clicks") is not None

    @property
    def covered(self) -> tuple[Step, ...]:
        return tuple(one for one in self.steps if not (self.clicked and one.name == "clicks"))


def read(parameters: Mapping[str, Any], calibration: Mapping[str, Any]) -> Stated:
    """The steps of a manifest in which `problems` found none."""
    once = parameters["count"] == "users"

    def step(name: str, figures: Mapping[str, Any], asked: str, most: str, *, private: bool) -> Step:
        return Step(
            name=name,
            most=parameters[most],
            scale=float(figures["noise_scale"]),
            top=figures["threshold"] if private else None,
            once=once,
            epsilon=parameters.get(f"epsilon{asked}"),
            delta=parameters.get(f"delta{asked}") if private else 0.0,
            figures=figures,
        )

    steps = [step("selection", calibration, "", "max_queries", private=True)]
    if parameters["counts"] == "fresh":
        fresh = {"noise_scale": calibration["counts_noise_scale"]}
        steps.append(step("fresh counts", fresh, "_counts", "max_queries", private=False))
    if "clicks" in calibration:
        private = parameters["urls"] == "private"
        steps.append(step("clicks", calibration["clicks"], "_clicks", "max_clicks", private=private))
    if "reformulations" in calibration:
        figures, private = calibration["reformulations"], "delta_reformulations" in parameters
        steps.append(
            step("reformulations", figures, "_reformulations", "max_reformulations", private=private)
        )
    return Stated(parameters, calibration, tuple(steps))


# -- what must hold before anything can be computed ----------------------------------------------------------


def problems(parameters: Mapping[str, Any], calibration: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"there is no parameter {quoted(name)}" for name in parameters if name not in _PARAMETERS)
    for name, values in _CHOICES.items():
        value = parameters.get(name)
        if not any(type(value) is type(one) and value == one for one in values):
            yield f"'{name}' is none of {', '.join(str(one).lower() for one in values)}"
    for name in _MOST:
        if (name == "max_queries" or name in parameters) and not whole(parameters.get(name), 1, _MOST_COPIES):
            yield f"'{name}' is not a contribution bound"
    for name in _POSITIVE:
        if name in parameters and not positive(parameters[name]):
            yield f"'{name}' is not a positive number"
        elif name in parameters and name.startswith("delta") and parameters[name] >= 1:
            yield f"'{name}' is not below 1"
    yield from _selection(parameters, calibration)
    yield from _counts(parameters, calibration)
    yield from _clicks(parameters, calibration)
    yield from _reformulations(parameters, calibration)


def _selection(parameters: Mapping[str, Any], calibration: Mapping[str, Any]) -> Iterator[str]:
    yield from _unknown("the calibration", calibration, _CALIBRATION)
    yield from _unknown("its paper's figures", calibration.get("paper", {}), _PAPER)
    asked = [name in parameters for name in ("epsilon", "delta")]
    given = [name in parameters for name in ("noise_scale", "threshold")]
    if not ((all(asked) and not any(given)) or (all(given) and not any(asked))):
        yield "the parameters have neither epsilon and delta nor noise scale and threshold alone"
    yield from _scale("selection", parameters.get("noise_scale"), calibration.get("noise_scale"))
    yield from _threshold("selection", calibration.get("threshold"))
    top = parameters.get("threshold")
    if "threshold" in parameters and not (number(top) and math.floor(top) == calibration.get("threshold")):
        yield "the threshold is not the one among the parameters"


def _counts(parameters: Mapping[str, Any], calibration: Mapping[str, Any]) -> Iterator[str]:
    scales = [name for name in ("epsilon_counts", "counts_noise_scale") if name in parameters]
    if parameters.get("counts") != "fresh":
        if scales or "counts_noise_scale" in calibration:
            yield "noise for fresh counts is stated, but counts are reused"
        return
    if len(scales) != 1:
        yield "fresh counts have neither an epsilon nor a noise scale alone"
    yield from _scale(
        "fresh counts", parameters.get("counts_noise_scale"), calibration.get("counts_noise_scale")
    )


def _clicks(parameters: Mapping[str, Any], calibration: Mapping[str, Any]) -> Iterator[str]:
    private = parameters.get("urls") == "private"
    bought = [name for name in ("epsilon_clicks", "clicks_noise_scale") if name in parameters]
    if "delta_clicks" in parameters and not private:
        yield "clicks on public urls have a delta"
    if not bought:
        if "clicks" in calibration or "delta_clicks" in parameters:
            yield "clicks are calibrated that were not bought"
        return
    if len(bought) > 1 or (private and "delta_clicks" not in parameters):
        yield "clicks have neither an epsilon nor a noise scale alone, or lack the delta of private urls"
    if "max_clicks" not in parameters:
        yield "clicks have no contribution bound"
    yield from _step(
        "clicks", calibration.get("clicks"), parameters.get("clicks_noise_scale"), private=private
    )


def _reformulations(parameters: Mapping[str, Any], calibration: Mapping[str, Any]) -> Iterator[str]:
    private = "delta_reformulations" in parameters
    if "epsilon_reformulations" not in parameters:
        if "reformulations" in calibration or private:
            yield "reformulations are calibrated that were not bought"
        return
    if "max_reformulations" not in parameters:
        yield "reformulations have no contribution bound"
    yield from _step("reformulations", calibration.get("reformulations"), None, private=private)


def _step(name: str, figures: object, given: object, *, private: bool) -> Iterator[str]:
    if not isinstance(figures, dict):
        yield f"the calibration says nothing of {name}"
        return
    yield from _unknown(f"the calibration of {name}", figures, _PRIVATE_STEP if private else _PUBLIC_STEP)
    yield from _scale(name, given, figures.get("noise_scale"))
    if private:
        yield from _threshold(name, figures.get("threshold"))


def _scale(name: str, given: object, stated: object) -> Iterator[str]:
    if not positive(stated):
        yield f"the noise scale of {name} is not a positive number"
    elif given is not None and stated != given:
        yield f"the noise scale of {name} is not the one among the parameters"


def _threshold(name: str, stated: object) -> Iterator[str]:
    if not whole(stated, 0, _HIGHEST):
        yield f"the threshold of {name} is not a whole number"


def _unknown(where: str, entry: Mapping[str, Any], known: set[str]) -> Iterator[str]:
    yield from (f"{where} has the unknown key {quoted(name)}" for name in entry if name not in known)


def number(value: object) -> TypeGuard[float]:
    # JSON has no other numbers; a whole number beyond any float counts as none.
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return False
    return 0 <= value <= sys.float_info.max


def positive(value: object) -> TypeGuard[float]:
    return number(value) and value > 0


def whole(value: object, least: int, most: int) -> TypeGuard[int]:
    return type(value) is int and least <= value <= most
