"""What is expected of user profiles, and their figures."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from queryveil.charts import figures
from queryveil.charts.figures import Scale, Words
from queryveil.mechanisms.semantic.draws import NSQC, SQC1, SQC2
from queryveil.study import shapes
from queryveil.study.declaration import Check, Findings, Row
from queryveil.study.expectations import Along, Beside, expected
from queryveil.study.shapes import Line

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


def curve(found: Findings, setting: str, criterion: str, per: str) -> Line:
    """Loss against epsilon, means over the runs; empty if it was not measured."""
    return found.where(metric=LOSS, setting=setting, criterion=criterion, epsilon_per=per).along("epsilon")


def noise_of(found: Findings, at: Row) -> float:
    """A difference of two mean losses up to this one is noise; of two settings, B decides.

    The errors count how users differ too, who are the same in both, so it is on the safe side.
    """
    chosen = {"setting": at.get("setting", "B"), "criterion": at["criterion"]}
    errors = found.where(metric=ERROR, **chosen)
    runs = len(errors.values("repeat"))
    return _ERRORS * float(max(row["value"] for row in errors)) * math.sqrt(2 / runs)


def _perturbed(found: Findings) -> Findings:
    """Phrases that are replaced by others near them, from domains that are not the topics."""
    return Findings(
        tuple(row for row in found if row["criterion"] in _PERTURBED and row["setting"] in ("A", "B", "C"))
    )


def _thinly_spread(found: Findings) -> Findings:
    """As far as an epsilon per user leaves nothing to see of a user's many phrases."""
    many = max(found.values("phrases"), default=0) >= _FLAT_PHRASES
    return Findings(tuple(row for row in _perturbed(found) if many and row["epsilon"] <= _FLAT_TO))


def _nothing_lost(found: Findings) -> Iterator[Check]:
    """Exactly 0: what is drawn inside of a topic is of that topic."""
    runs = [row["value"] for row in found.where(metric=LOSS, setting="D=P") if row["criterion"] in _PERTURBED]
    if runs:
        wrong = sum(value != 0 for value in runs)
        yield Check(
            "nothing at all is lost where topics are the domains (D = P)",
            wrong == 0,
            f"loss exactly 0 in {len(runs) - wrong} of {len(runs)} runs, largest {max(runs):.3g}",
        )


def _below_b(setting: str) -> Beside:
    return Beside(
        says=f"setting {setting} loses less than B ({{criterion}})",
        metric=LOSS,
        column="setting",
        ours=setting,
        theirs="B",
        at=("epsilon",),
        by=("criterion",),
        where={"epsilon_per": PER_QUERY},
        shape=shapes.below,
        noise=noise_of,
        told="by {pair.gaps.least:.3f} to {pair.gaps.most:.3f} at {of} epsilons per query",
    )


CHECKS = expected(
    _nothing_lost,
    Along(
        says="with epsilon per query the loss falls (setting {setting}, {criterion})",
        metric=LOSS,
        along="epsilon",
        by=("setting", "criterion"),
        where={"epsilon_per": PER_QUERY},
        among=_perturbed,
        shape=shapes.falls_clearly,
        noise=noise_of,
        told="from {line.first:.3f} at {line.start:g} to {line.last:.3f} at {line.end:g}",
    ),
    _below_b("A"),
    _below_b("C"),
    Along(
        says=f"with epsilon per user the loss is flat up to {_FLAT_TO:g} (setting {{setting}}, {{criterion}})",
        metric=LOSS,
        along="epsilon",
        by=("setting", "criterion"),
        where={"epsilon_per": PER_USER},
        among=_thinly_spread,
        shape=shapes.stays,
        noise=noise_of,
        told="between {line.lowest:.3f} and {line.highest:.3f}; noise up to {noise:.3f}",
    ),
)


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
