"""What is expected of user profiles, and their figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

from queryveil.charts import figures
from queryveil.charts.figures import Scale, Words
from queryveil.mechanisms.semantic.draws import NSQC, SQC1, SQC2
from queryveil.study.declaration import Check, Findings

LOSS, ERROR = "profile-divergence", "standard-error"
DRAWN = "drawn"
HBDP = "hbdp"
PER_QUERY, PER_USER = "query", "user"
CRITERIA = (SQC1, SQC2, NSQC, HBDP)
_PERTURBED = (SQC1, SQC2, NSQC)
_ERRORS = 6
"""Standard errors of a difference that count as noise: over all checks together a false alarm of less than 1e-6."""
_FLAT_TO = 10.0
"""The largest epsilon per user at which 100 phrases leave nothing to see."""
_FLAT_PHRASES = 16
"""Users of a log may have fewer phrases: below so many this epsilon is not spread thinly."""

Curve = Mapping[float, float]


def checks_of(found: Findings) -> list[Check]:
    """The shapes that must hold, those that the results have anything to say about."""
    return [*_nothing_lost(found), *_falling(found), *_below(found), *_flat(found)]


def curve(found: Findings, setting: str, criterion: str, per: str) -> Curve:
    """Loss against epsilon, means over the runs; empty if it was not measured."""
    return found.where(metric=LOSS, setting=setting, criterion=criterion, epsilon_per=per).along("epsilon")


def noise_of(found: Findings, setting: str, criterion: str) -> float:
    """A difference of two mean losses up to this one is noise.

    The errors count how users differ too, who are the same in both, so it is on the safe side.
    """
    errors = found.where(metric=ERROR, setting=setting, criterion=criterion)
    runs = len(errors.values("repeat"))
    return _ERRORS * float(max(row["value"] for row in errors)) * math.sqrt(2 / runs)


def _curves(found: Findings, settings: tuple[str, ...], per: str) -> Iterator[tuple[str, str, Curve]]:
    for setting in settings:
        for criterion in _PERTURBED:
            if len(points := curve(found, setting, criterion, per)):
                yield setting, criterion, points


def _nothing_lost(found: Findings) -> list[Check]:
    """Exactly 0: what is drawn inside of a topic is of that topic."""
    runs = [row["value"] for row in found.where(metric=LOSS, setting="D=P") if row["criterion"] in _PERTURBED]
    if not runs:
        return []
    wrong = sum(value != 0 for value in runs)
    return [
        Check(
            "nothing at all is lost where topics are the domains (D = P)",
            wrong == 0,
            f"loss exactly 0 in {len(runs) - wrong} of {len(runs)} runs, largest {max(runs):.3g}",
        )
    ]


def _falling(found: Findings) -> list[Check]:
    checks = []
    for setting, criterion, points in _curves(found, ("A", "B", "C"), PER_QUERY):
        values, noise = list(points.values()), noise_of(found, setting, criterion)
        if len(values) < 2:
            continue
        steps = all(later <= earlier + noise for earlier, later in pairwise(values))
        checks.append(
            Check(
                f"with epsilon per query the loss falls (setting {setting}, {criterion})",
                steps and values[-1] < values[0] - noise,
                f"from {values[0]:.3f} at {min(points):g} to {values[-1]:.3f} at {max(points):g}",
            )
        )
    return checks


def _below(found: Findings) -> list[Check]:
    """A and C below B: never above it by more than noise, and below it over all."""
    checks = []
    for lower in ("A", "C"):
        for criterion in CRITERIA:
            ours = curve(found, lower, criterion, PER_QUERY)
            theirs = curve(found, "B", criterion, PER_QUERY)
            gaps = [theirs[point] - loss for point, loss in ours.items() if point in theirs]
            if not gaps:
                continue
            noise = noise_of(found, "B", criterion)
            checks.append(
                Check(
                    f"setting {lower} loses less than B ({criterion})",
                    min(gaps) >= -noise and sum(gaps) / len(gaps) > 0,
                    f"by {min(gaps):.3f} to {max(gaps):.3f} at {len(gaps)} epsilons per query",
                )
            )
    return checks


def _flat(found: Findings) -> list[Check]:
    checks = []
    for setting, criterion, points in _curves(found, ("A", "B", "C"), PER_USER):
        values = [loss for epsilon, loss in points.items() if epsilon <= _FLAT_TO]
        noise = noise_of(found, setting, criterion)
        if len(values) < 2 or max(found.values("phrases")) < _FLAT_PHRASES:
            continue
        checks.append(
            Check(
                f"with epsilon per user the loss is flat up to {_FLAT_TO:g} (setting {setting}, {criterion})",
                max(values) - min(values) <= noise,
                f"between {min(values):.3f} and {max(values):.3f}; noise up to {noise:.3f}",
            )
        )
    return checks


# -- figures -------------------------------------------------------------------------------------------------

_SAID = {
    "D=P": "D = P",
    "A": "A: 4 domains, 19 topics",
    "B": "B: abstraction, 19 topics",
    "C": "C: abstraction, 4 topics",
}


def figures_of(found: Findings) -> dict[str, Any]:
    return {
        f"per-{per}": _figure(found.where(epsilon_per=per, metric=LOSS), per)
        for per in found.values("epsilon_per")
    }


def _title(found: Findings, per: str) -> str:
    """What becomes of the hardest setting that was measured."""
    setting = "B" if "B" in found.values("setting") else found.values("setting")[-1]
    criterion = SQC2 if SQC2 in found.values("criterion") else found.values("criterion")[0]
    points = curve(found, setting, criterion, per)
    first, last = min(points), max(points)
    whose = {PER_QUERY: "for each query", PER_USER: "for a whole user"}[per]
    return (
        f"Epsilon {whose}: the loss goes from {points[first]:.2f} at {first:g} to {points[last]:.2f} at {last:g} "
        f"({criterion.upper()}, setting {setting})"
    )


def _figure(found: Findings, per: str) -> Any:
    ticks = tuple(sorted(found.values("epsilon")))

    def row(setting: str, criterion: str, epsilon: float, loss: float) -> dict[str, Any]:
        return {
            "setting": _SAID.get(setting, setting),
            "criterion": criterion.upper(),
            "epsilon": epsilon,
            "loss": loss,
        }

    lines = [
        row(setting, criterion, epsilon, loss)
        for setting in found.values("setting")
        for criterion in found.values("criterion")
        for epsilon, loss in curve(found, setting, criterion, per).items()
    ]
    points = [row(one["setting"], one["criterion"], one["epsilon"], one["value"]) for one in found]
    whose = {PER_QUERY: "of each query", PER_USER: "of a user's whole history"}[per]
    sizes = [f"{found.values(name)[0]:,} {name}" for name in ("users", "phrases")]
    return figures.curves(
        lines,
        points,
        x=Scale("epsilon", "epsilon", log=True, ticks=ticks if len(ticks) < 4 else (0.1, 1, 10), format="~g"),
        y=Scale("loss", "loss (Jensen-Shannon divergence, bits)", top=1.0),
        by="criterion",
        by_title="criterion",
        panel="setting",
        words=Words(_title(found, per), f"epsilon {whose}; {sizes[0]} of about {sizes[1]}; lines are means"),
    )
