"""Expected shares are exact: against sums, against a count by hand, and against real releases."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import queryveil as qv
from queryveil_lab.studies import exact_release
from tests.conftest import at


@pytest.mark.parametrize("scale", [0.43, 2.17, 34.74])
def test_formulas_equal_sums_over_the_noise(scale: float) -> None:
    noise = np.arange(-int(60 * scale) - 60, int(60 * scale) + 61)
    q = math.exp(-1 / scale)
    mass = (1 - q) / (1 + q) * q ** np.abs(noise)
    counts = np.arange(1, 41)
    for threshold in (5, 28):
        above = counts[:, None] + noise > threshold
        chance = (mass * above).sum(axis=1)
        mean = (mass * above * (counts[:, None] + noise)).sum(axis=1)
        assert exact_release.release_probability(counts, scale, threshold) == pytest.approx(chance, rel=1e-9)
        assert exact_release.mean_published(counts, scale, threshold) == pytest.approx(mean, rel=1e-9)


def little() -> pa.Table:
    """Two users over three days; a repeated line, a click row of the same event, an empty query, equal times."""
    rows = [
        ("a", at(0), "News", None),
        ("a", at(0), "news", "u1"),
        ("a", at(1), "maps", None),
        ("a", at(1), "cars", None),
        ("a", at(1500), "news", None),
        ("a", at(3000), "rare", None),
        ("b", at(2), "", None),
        ("b", at(5), "news", None),
        ("b", at(5), "news", None),
        ("b", at(2000), "maps", None),
    ]
    columns = zip(*rows, strict=True)
    return pa.table(
        {name: list(part) for name, part in zip(("user", "time", "query", "url"), columns, strict=True)}
    )


BY_HAND = {
    (1, 1): {"news": 2},
    (1, 3): {"news": 2, "cars": 1, "maps": 1},
    (2, 4): {"news": 3, "cars": 1, "maps": 2},
    (3, 3): {"news": 2, "cars": 1, "maps": 2},
    (3, 5): {"news": 3, "cars": 1, "maps": 2, "rare": 1},
}


def test_bounded_counts_by_hand() -> None:
    found = exact_release.bounded_counts(qv.read(little()), [1, 3, 4, 5], [1, 2, 3])
    for place, counts in BY_HAND.items():
        assert found.bounded[place].numbers == dict(Counter(counts.values())), place
    assert (found.whole[3].distinct, found.whole[3].events) == (4, 7)
    assert (found.whole[1].distinct, found.whole[1].events) == (3, 4)


def test_counts_are_those_of_the_mechanism(generated: Path) -> None:
    """With noise of next to nothing a release shows the bounded counts above its threshold."""
    log = qv.read(generated)
    found = exact_release.bounded_counts(log, [3, 20])
    for d in (3, 20):
        method = qv.ClickGraph(noise_scale=0.01, threshold=d, max_queries=d)
        table = qv.publish(log, method).tables["queries"]
        shown = Counter(table["count"].to_pylist())
        counted = found.bounded[None, d].numbers
        assert shown == {count: number for count, number in counted.items() if count > d}
        share = found.bounded[None, d].share(0.01, d)
        assert share.queries == pytest.approx(table.num_rows)
        assert share.impressions == pytest.approx(sum(table["count"].to_pylist()))


def test_expected_shares_are_means_of_real_releases(generated: Path) -> None:
    log = exact_release.only_events(qv.read(generated))
    method = qv.ClickGraph(epsilon=math.log(10), delta=1e-3, max_queries=5)
    setting, repeats = method.setting(), 40
    share = exact_release.bounded_counts(log, [5]).bounded[None, 5].share(setting.scale, setting.top)
    made = [qv.publish(log, method, i_understand=True) for _ in range(repeats)]
    tables = [one.tables["queries"] for one in made]
    queries = np.array([table.num_rows for table in tables])
    impressions = np.array([sum(table["count"].to_pylist()) for table in tables])
    # 6 standard errors: a false alarm below 1e-6, also where the error is estimated from 40 releases (Student's t).
    allowed = 6 / math.sqrt(repeats)
    assert abs(queries.mean() - share.queries) < allowed * share.deviation
    assert abs(impressions.mean() - share.impressions) < allowed * impressions.std(ddof=1)
    wrong = exact_release.bounded_counts(log, [5]).bounded[None, 5].share(setting.scale, setting.top + 3)
    assert abs(queries.mean() - wrong.queries) > allowed * share.deviation
    assert abs(impressions.mean() - wrong.impressions) > allowed * impressions.std(ddof=1)


def test_a_log_without_queries_is_refused() -> None:
    log = qv.read(pa.table({"user": ["a"], "time": [at(0)], "query": [""]}))
    with pytest.raises(qv.CannotBeMet, match="no query"):
        exact_release.span_of(log)
