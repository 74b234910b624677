"""User profiles: counts by topic, and the Jensen-Shannon divergence against values worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import queryveil as qv


def test_a_profile_counts_phrases_by_topic_and_leaves_out_those_of_none() -> None:
    found = qv.profile_counts([0, 0, 0, 2, 2], [1, 1, 0, -1, 2], users=3, number=3)
    assert found.tolist() == [[1, 2, 0], [0, 0, 0], [0, 0, 1]]
    assert qv.profile_counts([], [], users=2, number=2).tolist() == [[0, 0], [0, 0]]


def entropy(*shares: float) -> float:
    return -sum(share * math.log2(share) for share in shares if share)


@pytest.mark.parametrize(
    ("ours", "theirs", "expected"),
    [
        ([3, 1], [3, 1], 0.0),
        ([3, 1], [30, 10], 0.0),
        ([1, 0], [0, 7], 1.0),
        # Half in common: the middle is (3/4, 1/4), so H(3/4, 1/4) - (0 + 1)/2.
        ([2, 0], [1, 1], entropy(0.75, 0.25) - 0.5),
        ([1, 1, 2], [2, 1, 1], entropy(0.375, 0.25, 0.375) - entropy(0.5, 0.25, 0.25)),
    ],
)
def test_divergences_worked_out_by_hand(ours: list[int], theirs: list[int], expected: float) -> None:
    assert qv.profile_divergences([ours], [theirs])[0] == pytest.approx(expected, abs=1e-12)


def test_hand_values_reject_other_definitions() -> None:
    """Natural logarithms and the square root (the distance) are off where the divergence is not 0 or 1."""
    right = entropy(0.75, 0.25) - 0.5
    found = qv.profile_divergences([[2, 0]], [[1, 1]])[0]
    for wrong in (right * math.log(2), math.sqrt(right)):
        assert found != pytest.approx(wrong, abs=1e-3)


def test_who_had_no_profile_does_not_count_and_who_lost_it_counts_fully() -> None:
    original, protected = [[0, 0], [1, 1], [1, 1]], [[5, 5], [0, 0], [3, 3]]
    found = qv.profile_divergences(original, protected)
    assert math.isnan(found[0]) and found[1:].tolist() == [1.0, 0.0]
    assert qv.profile_loss(original, protected) == 0.5
    assert math.isnan(qv.profile_loss([[0, 0]], [[1, 0]]))


COUNTS = arrays(np.int64, (4, 5), elements=st.integers(0, 10**6))


@settings(deadline=None)
@given(ours=COUNTS, theirs=COUNTS)
def test_divergences_are_symmetric_bounded_and_exactly_0_for_equal_profiles(
    ours: np.ndarray, theirs: np.ndarray
) -> None:
    ours[:, 0] += 1
    theirs[:, 1] += 1
    found = qv.profile_divergences(ours, theirs)
    assert ((found >= 0) & (found <= 1)).all()
    assert found == pytest.approx(qv.profile_divergences(theirs, ours), abs=1e-12)
    assert (qv.profile_divergences(ours, ours) == 0).all()


def test_what_does_not_fit_together_is_refused() -> None:
    with pytest.raises(qv.UsageError, match="same length"):
        qv.profile_counts([0, 1], [0], users=2, number=1)
    for owners, topics in (([2], [0]), ([-1], [0]), ([0], [1])):
        with pytest.raises(qv.UsageError, match="number"):
            qv.profile_counts(owners, topics, users=2, number=1)
    with pytest.raises(qv.UsageError, match="same users and topics"):
        qv.profile_divergences([[1, 2]], [[1, 2, 3]])
