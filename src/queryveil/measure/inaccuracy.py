"""Which items a release gets wrong: very frequent ones that it lost, very infrequent ones that it published.

An item is frequent if enough different users have it. Whoever is close to that number, by no more than the slack, is
not counted either way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from queryveil.errors import argument
from queryveil.measure.histograms import Histogram
from queryveil.measure.measure import LOWER, NEITHER, OfItems, Original, Released, Stated
from queryveil.parameters import param
from queryveil.privacy.declarations import SESSIONS, USERS


@dataclass(frozen=True)
class Wrong:
    """Items that a release gets wrong."""

    lost: int
    """Items of more users than the threshold and the slack together that were not published."""
    published: int
    """Published items of fewer users than the threshold less the slack."""

    @property
    def items(self) -> int:
        return self.lost + self.published


def measure_inaccuracy(original: Histogram, released: Histogram, threshold: float, slack: float) -> Wrong:
    """Compare what was published with the original's counts of different users; both inequalities are strict."""
    there = original.found_in(released)
    very_frequent, very_infrequent = original.counts > threshold + slack, original.counts < threshold - slack
    # What is published and unknown to the log has no user at all.
    unknown = len(released) - int(there.sum()) if threshold - slack > 0 else 0
    return Wrong(int((very_frequent & ~there).sum()), int((very_infrequent & there).sum()) + unknown)


@dataclass(frozen=True, kw_only=True)
class Inaccuracy(OfItems):
    """inaccuracy@xi: very frequent items lost plus very infrequent ones published, with a slack of xi users."""

    name: ClassVar[str] = "inaccuracy"
    help: ClassVar[str] = (
        "very frequent items that are lost and very infrequent ones that are published, with a slack of xi users"
    )
    unit: ClassVar[str] = "items"
    direction: ClassVar[str] = LOWER
    parts: ClassVar[dict[str, Stated]] = {
        "lost": Stated("items", LOWER, "items of more users than threshold + xi that are not published"),
        "published": Stated("items", LOWER, "published items of fewer users than threshold - xi"),
        "threshold": Stated("users", NEITHER, "how many users an item needs to be published"),
    }
    defaults: ClassVar[tuple[float, ...]] = (10,)
    least: ClassVar[int] = 0
    topped: ClassVar[bool] = False

    frequent: int | None = param(
        "how many users an item needs to be published; the release's own threshold if left out",
        ge=1,
        default=None,
    )

    def unmet_requirement(self, original: Original, release: Released) -> tuple[str, str] | None:
        if all(self._threshold(release, kind) is None for kind in release.kinds):
            return (
                "the release states no threshold in users",
                f"name a number of users with {argument('frequent')}",
            )
        return None

    def of_kind(self, original: Original, release: Released, kind: str) -> dict[str, float | None]:
        threshold = self._threshold(release, kind)
        if threshold is None:
            return {}
        slack = self.at or 0
        found = measure_inaccuracy(original.histogram(kind, USERS), release.histogram(kind), threshold, slack)
        figures = {"": found.items, "lost": found.lost, "published": found.published, "threshold": threshold}
        return dict(figures)

    def _threshold(self, release: Released, kind: str) -> float | None:
        if self.frequent is not None:
            return self.frequent
        plan = release.release.plan
        counts_users = all(one.counts == USERS for one in plan.tables if one.noisy)
        # Thresholds of Gaussian draws are for sums of weights, not for users.
        above = (
            one.above
            for one in plan.draws
            if one.bounded == kind and one.above is not None and one.mu is None
        )
        found = next(above, None) if counts_users else None
        if found is None and release.unit != SESSIONS:  # there k is of whole sets
            found = release.release.guarantee.k
        return found
