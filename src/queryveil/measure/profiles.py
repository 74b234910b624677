"""User profiles: over which topics a user's phrases spread, and how far a protected profile is from the original.

A profile is a row of counts, one for each topic. What belongs to no topic is not part of it. In a semantic release
users have random numbers; which user a number stands for is in the curator's private folder.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from queryveil.errors import UsageError

Counts = npt.NDArray[np.int64]
Shares = npt.NDArray[np.float64]

TOPICS = ("disease", "scientific discipline", "sport", "social event")
"""Concepts of WordNet, as the paper names them."""
SUB_TOPICS = (
    "natural_science.n.01",
    "contest.n.01",
    "communicable_disease.n.01",
    "show.n.03",
    "skin_disease.n.01",
    "plant_disease.n.01",
    "athletic_game.n.01",
    "animal_disease.n.01",
    "genetic_disease.n.01",
    "malignancy.n.01",
    "mathematics.n.01",
    "affair.n.03",
    "social_science.n.01",
    "inflammatory_disease.n.01",
    "respiratory_disease.n.01",
    "linguistics.n.01",
    "water_sport.n.01",
    "contact_sport.n.01",
    "eye_disease.n.01",
)
"""Of all direct specialisations of these those with most concepts below them, the largest first; ties by name."""


def profile_counts(owners: npt.ArrayLike, topics: npt.ArrayLike, *, users: int, number: int) -> Counts:
    """Phrases by user (a row) and topic (a column); a topic of -1 is none, and does not count."""
    whose, what = np.asarray(owners, dtype=np.int64), np.asarray(topics, dtype=np.int64)
    if whose.shape != what.shape or whose.ndim != 1:
        raise UsageError(
            "owners and topics must be two columns of the same length", "give one of each per phrase"
        )
    if len(whose) and (whose.min() < 0 or whose.max() >= users or what.max() >= number):
        raise UsageError(
            "a number of an owner or a topic is too large, or the number of an owner is below 0",
            "number users and topics from 0",
        )
    counted = what >= 0
    cells = whose[counted] * number + what[counted]
    return np.bincount(cells, minlength=users * number).reshape(users, number)


def profile_divergences(original: npt.ArrayLike, protected: npt.ArrayLike) -> Shares:
    """The Jensen-Shannon divergence in bits, from 0 to 1, of each user's two profiles.

    A user without an original profile has nothing to lose, and gets NaN. One whose protected profile is empty has
    lost all of it, and gets 1.
    """
    try:
        before, after = (np.asarray(counts, dtype=np.float64) for counts in (original, protected))
    except (TypeError, ValueError):
        raise UsageError("profiles are arrays of numbers", "count both with profile_counts") from None
    if before.shape != after.shape or before.ndim != 2:
        raise UsageError(
            "profiles to compare must be of the same users and topics", "count both with profile_counts"
        )
    found = np.full(len(before), np.nan)
    known, kept = before.sum(axis=1) > 0, after.sum(axis=1) > 0
    found[known & ~kept] = 1.0
    both = known & kept
    ours, theirs = (side[both] / side[both].sum(axis=1, keepdims=True) for side in (before, after))
    middle = (ours + theirs) / 2
    # Rounding may lead a hair beyond the ends. Equal profiles give exactly 0: their middle is themselves.
    found[both] = np.clip((_relative_entropy(ours, middle) + _relative_entropy(theirs, middle)) / 2, 0.0, 1.0)
    return found


def _relative_entropy(one: Shares, other: Shares) -> Shares:
    """Relative entropy in bits, row by row; a share of 0 adds nothing."""
    ratio = np.divide(one, other, out=np.ones_like(one), where=one > 0)
    entropy: Shares = (one * np.log2(ratio)).sum(axis=1)
    return entropy


def profile_loss(original: npt.ArrayLike, protected: npt.ArrayLike) -> float:
    """The mean divergence over the users who have an original profile; NaN if nobody has."""
    found = profile_divergences(original, protected)
    found = found[~np.isnan(found)]
    return float(found.mean()) if len(found) else float("nan")
