"""Precision, count differences and distributions, inaccuracy, and what is released: by hand, and what must hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import queryveil as qv
from queryveil.measure.count_difference import count_differences
from queryveil.measure.count_distribution import count_distribution
from queryveil.measure.coverage import covered_share, missing_top_items
from queryveil.measure.histograms import Histogram
from queryveil.measure.inaccuracy import measure_inaccuracy
from queryveil.measure.precision import kl_divergence, l1_among, l1_distance, l1_of_exact_counts
from tests.measure.graphs import EMPTY, clicks, identity, log, queries, release

LOG = {"a": 5, "b": 3, "c": 3, "d": 1}
EVENTS = [(query, None, count) for query, count in LOG.items()]


def histogram(counts: Mapping[str, int]) -> Histogram:
    return Histogram.of(queries(counts))


# -- histograms ----------------------------------------------------------------------------------------------


def test_a_histogram_is_in_order_of_count_and_then_item_and_never_below_zero() -> None:
    made = Histogram.of(clicks({("q", "y"): 2, ("q", "x"): 2, ("p", "x"): 7, ("r", "x"): -4}))
    assert made.counts.tolist() == [7, 2, 2, 0] and made.total == 11
    assert [text.split("\x1f") for text in made.items.to_pylist()[:3]] == [
        ["p", "x"],
        ["q", "x"],
        ["q", "y"],
    ]
    assert made.top(2).counts.tolist() == [7, 2] and made.top(2).total == 11
    other = Histogram.of(clicks({("q", "x"): 9, ("q x", ""): 1}))
    assert made.counts_in(other).tolist() == [0, 9, 0, 0]
    assert made.found_in(Histogram.of(EMPTY["clicks"])).tolist() == [False] * 4


def test_a_table_without_counts_or_items_is_refused() -> None:
    for table in (pa.table({"query": ["a"]}), pa.table({"count": [1]})):
        with pytest.raises(qv.InputError, match="needs their columns and a column 'count'"):
            Histogram.of(table)


# -- by hand -------------------------------------------------------------------------------------------------


def test_precision_by_hand() -> None:
    ours, theirs = histogram(LOG), histogram({"a": 6, "d": 2, "x": 2})
    # Shares 5/12, 3/12 of the log; 6/10, 0 of the release, whose total has x too.
    assert l1_distance(ours, theirs, 2) == pytest.approx((abs(5 / 12 - 6 / 10) + 3 / 12) / 2)
    # Of the top 2 alone: (6, 4)/10 against (7, 1)/8.
    assert kl_divergence(ours, theirs, 2) == pytest.approx(
        0.6 * math.log(0.6 / (7 / 8)) + 0.4 * math.log(0.4 / (1 / 8))
    )
    # Beyond the items that there are, all of them count.
    assert l1_distance(ours, theirs, 99) == pytest.approx(
        (abs(5 / 12 - 0.6) + 2 * 3 / 12 + abs(1 / 12 - 0.2)) / 4
    )


def test_two_ways_to_take_shares_by_hand() -> None:
    """Of 5, 3, 3, 1 the release has the first and the last, as 6 and 2, and an item that the log does not have."""
    ours, theirs = histogram(LOG), histogram({"a": 6, "d": 2, "x": 2})
    # Shares among the top 2 alone: 5/8, 3/8 and 1, 0.
    assert l1_among(ours, theirs, 2) == pytest.approx(3 / 8)
    # With exact counts a and d would be 5/6 and 1/6 of the release: of the top 2, a is off by 5/12 and b by 3/12.
    assert l1_of_exact_counts(ours, theirs, 2) == pytest.approx((5 / 12 + 3 / 12) / 2)
    # Nothing missing, nothing to see: noise is not in it.
    assert l1_of_exact_counts(ours, histogram(dict.fromkeys(LOG, 9)), 4) == 0
    for nothing in (histogram({}), histogram({"x": 5})):
        assert l1_among(ours, nothing, 2) is None and l1_of_exact_counts(ours, nothing, 2) is None


def test_a_release_without_the_top_has_no_frequencies_of_it() -> None:
    """Where no item is frequent, frequencies of 0 are nearly right: that must not look like precision."""
    ours = histogram({f"q{place}": 2 for place in range(500)})
    for theirs in (histogram({}), histogram({"unknown": 900})):
        assert l1_distance(ours, theirs, 100) is None and kl_divergence(ours, theirs, 100) is None
    assert kl_divergence(ours, histogram({"q7": 0, "unknown": 1}), 500) == 0, "it is there, if only in noise"


def test_frequencies_that_are_worse_than_none_are_noted() -> None:
    original = log([("a", None, 2), ("b", None, 1), ("c", None, 1)])
    worse = release(queries=queries({"a": 9}))
    found = qv.evaluate(original, worse, ["precision-l1@3"])
    # 1/2, 1/4, 1/4 against 1, 0, 0; an all-zero guess is 1/3 off on average, and so is this.
    assert found.measures == {"precision-l1@3": pytest.approx(1 / 3)}
    said = "'click-graph' has 1 of these 3 items, and scores 0.33; a release without any of them would score 0.33"
    assert found.notes["precision-l1"] == said
    good = qv.evaluate(original, release(queries=queries({"a": 2, "b": 1})), ["precision-l1@3"])
    assert good.notes == {}
    nothing = qv.evaluate(original, release(**EMPTY), ["precision-l1@3", "precision-kl@3"])
    assert set(nothing.measures.values()) == {None} and nothing.notes == {}


def test_the_unit_of_differences_is_said() -> None:
    original, made = log(EVENTS), release(queries=queries({"a": 2, "d": 1}))
    assert (
        "numbers of occurrences" in qv.evaluate(original, made, "count-difference").notes["count-difference"]
    )
    users = qv.publish(
        original, qv.Zealous(epsilon=20, delta=1e-3, max_items=1, guarantee="probabilistic"), allow_empty=True
    )
    assert "numbers of users" in qv.evaluate(original, users, "count-difference").notes["count-difference"]


def test_count_differences_by_hand() -> None:
    found = count_differences(histogram(LOG), histogram({"a": 2, "d": 1, "x": 1}))
    # Scaled by 12/4: a 6, d 3. Differences -1, 3, 3, -2.
    assert found is not None
    assert found.mean == pytest.approx(9 / 4)
    assert found.rms == pytest.approx(math.sqrt((1 + 9 + 9 + 4) / 4))
    assert found.total_variation == pytest.approx(6 / 12)


def test_the_total_variation_is_that_of_the_two_distributions() -> None:
    ours, theirs = {"a": 3, "b": 1}, {"b": 1, "x": 1}
    found = count_differences(histogram(ours), histogram(theirs))
    half = sum(abs(ours.get(one, 0) / 4 - theirs.get(one, 0) / 2) for one in "abx") / 2
    assert found is not None and found.total_variation == pytest.approx(half)


def test_count_distribution_by_hand() -> None:
    counts = {"a": 1, "b": 9, "c": 10, "d": 99, "e": 100, "f": 5000, "g": -3, "h": 0}
    assert count_distribution(histogram(counts)) == {1: 2, 10: 2, 100: 1, 1000: 1}
    assert count_distribution(histogram({"a": 1, "b": 2, "c": 3, "d": 8}), base=2) == {1: 1, 2: 2, 4: 0, 8: 1}
    assert count_distribution(histogram({})) == {}
    with pytest.raises(qv.UsageError, match="whole number from 2"):
        count_distribution(histogram({}), base=1)


def test_inaccuracy_is_strict_on_both_sides() -> None:
    users = histogram({"a": 9, "b": 8, "c": 6, "d": 4, "e": 3})
    # Threshold 6, slack 2: very frequent above 8, very infrequent below 4.
    found = measure_inaccuracy(users, histogram({"d": 1, "e": 1}), 6, 2)
    assert (found.lost, found.published, found.items) == (1, 1, 2)
    # Something that nobody in the log has is very infrequent, unless nothing is.
    assert measure_inaccuracy(users, histogram({"a": 1, "x": 1}), 6, 2).published == 1
    assert measure_inaccuracy(users, histogram({"a": 1, "x": 1}), 2, 2).published == 0


def test_all_of_it_as_measures() -> None:
    made = release(queries=queries({"a": 2, "d": 1}))
    found = qv.evaluate(
        log(EVENTS),
        made,
        ["precision-l1@2", "precision-kl@1", "count-difference", "count-distribution@4", "distinct", "total"],
    )
    assert found.measures == {
        "precision-l1@2": pytest.approx((abs(5 / 12 - 2 / 3) + 3 / 12) / 2),
        "precision-kl@1": 0,
        "count-difference/mean": pytest.approx((3 + 3 + 3 + 3) / 4),
        "count-difference/rms": pytest.approx(3),
        "count-difference/total-variation": pytest.approx(6 / 12),
        "count-distribution@4/from-1/original": 3,
        "count-distribution@4/from-1/released": 2,
        "count-distribution@4/from-4/original": 1,
        "count-distribution@4/from-4/released": 0,
        "distinct": 2,
        "total": 3,
    }
    assert found.figures["count-difference/total-variation"].unit == "share"
    assert found.figures["count-distribution@4/from-1/released"].unit == "items"
    assert found.figures["precision-kl@1"].direction == "lower is better"


def test_inaccuracy_does_not_take_a_sum_of_weights_for_a_number_of_users() -> None:
    log = qv.read(pa.table({"user": [f"u{n}" for n in range(200)], "query": ["news"] * 200}))
    release = qv.publish(log, qv.Steered(epsilon=10, delta=1e-4), items="queries")
    assert release.released["items"] == 1
    with pytest.raises(qv.InputError, match="states no threshold in users"):
        qv.evaluate(log, release, "inaccuracy")


def test_inaccuracy_counts_users_and_takes_the_releases_own_threshold() -> None:
    rows = [("1", "x")] * 3 + [("2", "y"), ("3", "y"), ("4", "y")]
    original = qv.read(
        pa.table(
            {
                "user": [user for user, _ in rows],
                "time": pa.array(range(len(rows)), pa.timestamp("s")),
                "query": [query for _, query in rows],
            }
        )
    )
    of_occurrences = release(queries=queries({"x": 3}))
    # x has one user, though it occurs three times; y has three and is lost.
    asked = qv.evaluate(original, of_occurrences, "inaccuracy@0", frequent=2)
    assert asked.measures == {
        "inaccuracy@0": 2,
        "inaccuracy@0/lost": 1,
        "inaccuracy@0/published": 1,
        "inaccuracy@0/threshold": 2,
    }
    assert asked.figures["inaccuracy@0/threshold"].unit == "users"
    with pytest.raises(qv.InputError, match="states no threshold in users; name a number of users"):
        qv.evaluate(original, of_occurrences, "inaccuracy")
    assert "frequent" in qv.evaluate(original, of_occurrences).left_out["inaccuracy"]
    plan = qv.Zealous(epsilon=1, delta=1e-6, max_items=1, guarantee="approximate").plan()
    of_users = qv.Release(plan=plan, tables={"items": queries({"y": 3})})
    found = qv.evaluate(original, of_users, "inaccuracy@0").measures
    assert found["inaccuracy@0/threshold"] == plan.calibration["second_threshold"]
    k_anonymous = qv.publish(original, qv.KQuery(k=3))
    changed = replace(k_anonymous, plan=replace(k_anonymous.plan, parameters={"k": "many"}))
    assert "inaccuracy" not in qv.evaluate(original, changed).left_out, "the promised k counts, no parameter"
    assert qv.evaluate(original, k_anonymous, "inaccuracy@0").measures == {
        "inaccuracy@0": 0,
        "inaccuracy@0/lost": 0,
        "inaccuracy@0/published": 0,
        "inaccuracy@0/threshold": 3,
        "inaccuracy@0/keywords": 0,
        "inaccuracy@0/lost/keywords": 0,
        "inaccuracy@0/published/keywords": 0,
        "inaccuracy@0/threshold/keywords": 3,
        "inaccuracy@0/query-pairs": 0,
        "inaccuracy@0/lost/query-pairs": 0,
        "inaccuracy@0/published/query-pairs": 0,
        "inaccuracy@0/threshold/query-pairs": 3,
    }


# -- what must hold ------------------------------------------------------------------------------------------

COUNTS = st.dictionaries(st.text("abcdef", min_size=1, max_size=2), st.integers(-3, 50), max_size=12)


@given(COUNTS, st.integers(1, 15))
def test_everything_released_is_perfect(counts: dict[str, int], most: int) -> None:
    whole = histogram(counts)
    assert missing_top_items(whole, whole, most) == 0
    assert covered_share(whole, whole, most) == (1 if counts else None)
    assert l1_distance(whole, whole, most) in (0, None)
    assert kl_divergence(whole, whole, most) == (0 if counts else None)
    found = count_differences(whole, whole)
    assert found is None or (found.mean, found.rms, found.total_variation) == pytest.approx((0, 0, 0))
    assert measure_inaccuracy(whole, whole, 0, 0).items == 0


@given(COUNTS.filter(lambda counts: any(count > 0 for count in counts.values())), st.integers(1, 15))
def test_nothing_released_covers_nothing(counts: dict[str, int], most: int) -> None:
    whole, nothing = histogram(counts), histogram({})
    assert covered_share(whole, nothing, most) == 0 and missing_top_items(whole, nothing, most) == min(
        most, len(counts)
    )
    found = count_differences(whole, nothing)
    assert found is not None and found.total_variation == pytest.approx(1)
    assert found.mean == pytest.approx(whole.total / (whole.counts > 0).sum())


@given(COUNTS, COUNTS, st.integers(1, 15), st.integers(-2, 60), st.integers(0, 9))
def test_figures_stay_inside_their_ranges(
    one: dict[str, int], other: dict[str, int], most: int, threshold: int, slack: int
) -> None:
    ours, theirs = histogram(one), histogram(other)
    for value, largest in (
        (covered_share(ours, theirs, most), 1),
        (l1_distance(ours, theirs, most), 1),
        (kl_divergence(ours, theirs, most), math.inf),
    ):
        assert value is None or 0 <= value <= largest
    found = count_differences(ours, theirs)
    assert found is None or (0 <= found.mean <= found.rms + 1e-9 and 0 <= found.total_variation <= 1)
    wrong = measure_inaccuracy(ours, theirs, threshold, slack)
    # By the definition, item by item.
    everything = set(one) | set(other)
    users = {item: max(0, one.get(item, 0)) for item in everything}
    assert wrong.lost == sum(users[item] > threshold + slack and item not in other for item in one)
    assert wrong.published == sum(users[item] < threshold - slack for item in other)
    assert sum(count_distribution(ours, 3).values()) == sum(count >= 1 for count in one.values())


@given(COUNTS, st.integers(2, 9))
def test_scaling_a_release_changes_no_relative_figure(counts: dict[str, int], factor: int) -> None:
    ours = histogram({"a": 7, "b": 2, "cc": 1})
    small, large = histogram(counts), histogram({item: factor * count for item, count in counts.items()})
    assert l1_distance(ours, small, 3) == pytest.approx(l1_distance(ours, large, 3))
    one, other = count_differences(ours, small), count_differences(ours, large)
    assert one is not None and other is not None
    assert (one.mean, one.rms, one.total_variation) == pytest.approx(
        (other.mean, other.rms, other.total_variation)
    )


def test_the_identity_as_measures_has_no_error_and_no_nan() -> None:
    original = log([("red hat", "u", 4), ("blue hat", "v", 2), ("x", None, 1)])
    found = qv.evaluate(original, identity(original), frequent=2).measures
    for name in ("missing@100", "precision-l1@100", "precision-kl@100", "inaccuracy@10"):
        assert found[name] == found[f"{name}/clicks"] == 0
    assert found["count-difference/mean"] == found["count-difference/mean/clicks"] == 0
    assert all(value is None or math.isfinite(value) for value in found.values())
    nothing = qv.evaluate(original, release(**EMPTY), frequent=2, pattern="*").measures
    assert nothing["distinct"] == nothing["total"] == 0 and nothing["coverage@100"] == 0
    assert all(value is None or math.isfinite(value) for value in nothing.values())
