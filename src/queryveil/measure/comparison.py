"""How lists and rankings of the release agree with those of the original."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

import numpy as np
from numpy.typing import NDArray

from queryveil.measure.measure import HIGHER, Stated

Lists = Mapping[str, Sequence[str]]

LIST_PARTS = {
    "among-released": Stated("share", HIGHER, "the same if the log had only the released queries"),
    "answered": Stated(
        "share", HIGHER, "share of the queries with a list in the log that also have one in the release"
    ),
}
"""What is said beside a measure of lists."""


def list_agreement(name: str, released: Lists, original: Lists, among: Lists) -> dict[str, float | None]:
    """Figures of a measure of lists: against those of the log, and those of its released queries."""
    by_log, inside = ({query: set(listed) for query, listed in lists.items()} for lists in (original, among))
    return {
        name: mean_overlap(released, by_log),
        f"{name}/among-released": mean_overlap(released, inside),
        f"{name}/answered": answered_share(released, by_log),
    }


def mean_overlap(released: Mapping[str, Sequence[str]], original: Mapping[str, Set[str]]) -> float | None:
    """Of what the release lists for a query, the share that the original lists too, averaged over queries.

    Queries for which the release lists nothing do not count; None if that is all of them.
    """
    shares = [
        sum(one in original.get(query, ()) for one in listed) / len(listed)
        for query, listed in released.items()
        if listed
    ]
    return sum(shares) / len(shares) if shares else None


def answered_share(released: Mapping[str, Sequence[str]], original: Mapping[str, Set[str]]) -> float | None:
    """Of the queries for which the original lists something, the share for which the release does."""
    asked = [query for query, listed in original.items() if listed]
    return sum(bool(released.get(query)) for query in asked) / len(asked) if asked else None


def spearman_correlation(first: Sequence[float], second: Sequence[float]) -> float | None:
    """Spearman's rank correlation, ties at their mean rank; None below two items or if all of one side tie.

    scipy.stats has it too, but takes a second to import.
    """
    if len(first) < 2:
        return None
    one, other = _mean_ranks(first), _mean_ranks(second)
    one, other = one - one.mean(), other - other.mean()
    scale = float(np.sqrt((one @ one) * (other @ other)))
    return float(one @ other) / scale if scale else None


def _mean_ranks(values: Sequence[float]) -> NDArray[np.float64]:
    _, place, times = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    ends = np.cumsum(times)
    mean: NDArray[np.float64] = (ends - (times - 1) / 2)[place]
    return mean
