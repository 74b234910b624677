"""Learning from one log for another: by hand."""

from __future__ import annotations

import pytest

import queryveil as qv
from queryveil_lab.studies.trained import cache_hits, click_rank, suggestion_hits
from tests.measure.graphs import EMPTY, clicks, pairs, queries

# -- learning from one log for another -----------------------------------------------------------------------

LEARNT = qv.Graph(
    queries=queries({"a": 5, "b": 3, "c": 1, "d": -1}),
    clicks=clicks({("a", "u"): 4, ("a", "v"): 2, ("b", "u"): 1, ("a", "w"): -3}),
    reformulations=pairs({("a", "b"): 4, ("a", "c"): 2, ("b", "a"): 1}),
)
TEST = qv.Graph(
    queries=queries({"a": 6, "b": 2, "e": 2}),
    clicks=clicks({("a", "v"): 3, ("b", "u"): 2, ("a", "w"): 1, ("e", "u"): 4}),
    reformulations=pairs({("a", "c"): 3, ("a", "b"): 1, ("b", "c"): 1}),
)


def test_learning_by_hand() -> None:
    assert suggestion_hits(LEARNT, TEST, 1) == pytest.approx(1 / 5), "of a, only b is first"
    assert suggestion_hits(LEARNT, TEST, 2) == pytest.approx(4 / 5)
    assert cache_hits(LEARNT, TEST, 1) == pytest.approx(6 / 10)
    assert cache_hits(LEARNT, TEST, 2) == pytest.approx(8 / 10)
    # v is second of a, u first of b, w and e are not known.
    assert click_rank(LEARNT, TEST) == pytest.approx((3 / 2 + 2) / 10)
    nothing = qv.Graph(**EMPTY)
    assert (cache_hits(nothing, TEST), click_rank(nothing, TEST), suggestion_hits(nothing, TEST)) == (0, 0, 0)
    assert (cache_hits(TEST, nothing), click_rank(TEST, nothing), suggestion_hits(TEST, nothing)) == (
        None,
    ) * 3
    for call in (cache_hits, suggestion_hits):
        with pytest.raises(qv.UsageError, match="whole number"):
            call(LEARNT, TEST, 0)
