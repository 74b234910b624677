"""Two releases side by side: what they promise together, and changes that noise does not explain."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import queryveil as qv
from queryveil.privacy.guarantee import ADD_REMOVE, APPROXIMATE, GAUSSIAN, REPLACE
from queryveil.release.difference import apart
from tests.command import command
from tests.conftest import many

LAPLACE = "discrete-laplace"


def release(searched: dict[str, int], method: Any = None, **named: Any) -> qv.Release:
    """Each query has so many users of its own."""
    import pyarrow as pa

    table = pa.concat_tables(many(count, [query], prefix=query) for query, count in searched.items())
    method = method or qv.Zealous(epsilon=2, delta=1e-6, max_items=1, neighbours="add-remove")
    named |= {} if isinstance(method, qv.KQuery) else {"items": "queries"}
    return qv.publish(qv.read(table), method, **named)


BEFORE, AFTER = {"weather": 300, "flu": 250, "asthma": 200}, {"weather": 300, "flu": 150, "snow": 220}


@pytest.fixture(scope="module")
def both() -> tuple[qv.Release, qv.Release]:
    return release(BEFORE), release(AFTER)


# -- noise ---------------------------------------------------------------------------------------------------


def tail(scale: float, other: float, beyond: int) -> float:
    """P[|X - Y| > beyond] by going through all pairs."""

    def chances(one: float) -> dict[int, float]:
        q = math.exp(-1 / one)
        return {x: (1 - q) / (1 + q) * q ** abs(x) for x in range(-120, 121)}

    mine, others = chances(scale), chances(other)
    return math.fsum(
        p * r for (x, p), (y, r) in itertools.product(mine.items(), others.items()) if abs(x - y) > beyond
    )


@pytest.mark.parametrize(("scale", "other"), [(1.5, 1.5), (0.5, 3.0), (4.0, 2.0)])
def test_how_far_apart_noise_comes_is_exact(scale: float, other: float) -> None:
    found = apart((LAPLACE, scale, 0), (LAPLACE, other, 0), 1e-4)
    assert tail(scale, other, found) <= 1e-4 < tail(scale, other, found - 1)
    # Too small a scale would call noise a change.
    assert tail(scale, other, apart((LAPLACE, 0.7 * scale, 0), (LAPLACE, 0.7 * other, 0), 1e-4)) > 1e-4


@pytest.mark.parametrize("scale", [1e3, 1e6, 1e9])
def test_wide_noise_is_not_called_a_change(scale: float) -> None:
    """As good as continuous: P[|X - Y| > t] = (1 + t/2) exp(-t) for t in scales."""
    far = apart((LAPLACE, scale, 0), (LAPLACE, scale, 0), 1e-4) / scale
    assert (1 + far / 2) * math.exp(-far) <= 1.01e-4
    assert apart((LAPLACE, scale, 0), ("optimal-selection", 1.0, 1e-6), 1e-4) <= 11 * scale + 14


def test_limited_and_normal_noise() -> None:
    selected = ("optimal-selection", 1.0, 1e-6)
    assert apart(selected, selected, 1e-9) <= 27
    assert apart(("normal", 3.0, 0), ("normal", 4.0, 0), 0.0027) == pytest.approx(5 * 3 + 1, abs=1)
    mixed = apart(("normal", 3.0, 0), (LAPLACE, 0.1, 0), 0.0027)
    assert mixed == pytest.approx(3 * 3, abs=1)


def test_equal_counts_are_named_no_more_often_than_stated() -> None:
    # 20,000 pairs at a rate of 1e-3: more than 45 come with a probability below 1e-6. Half the distance is caught.
    scale, rate, pairs = 5.0, 1e-3, 20_000
    noise = qv.Noise()
    gaps = np.abs(noise.discrete_laplace(scale, pairs) - noise.discrete_laplace(scale, pairs))
    explained = apart((LAPLACE, scale, 0), (LAPLACE, scale, 0), rate)
    assert (gaps > explained).sum() <= 45 < (gaps > explained / 2).sum()


# -- changes -------------------------------------------------------------------------------------------------


def test_changes_are_found_and_what_stayed_is_not_named(both: tuple[qv.Release, qv.Release]) -> None:
    found = qv.diff(*both, false_alarm=1e-7)
    (table,) = found.tables
    assert (table.both, table.only_first, table.only_second) == (2, ("asthma",), ("snow",))
    assert {one.item for one in table.changed} == {"flu", "asthma", "snow"}
    by_item = {one.item: one for one in table.changed}
    assert by_item["asthma"].second is None and by_item["snow"].first is None
    assert by_item["flu"].first - by_item["flu"].second == pytest.approx(100, abs=30)
    again = qv.diff(both[0], release(BEFORE), false_alarm=1e-7)
    assert again.tables[0].changed == () and again.tables[0].both == 3


def test_an_item_just_above_a_threshold_may_vanish_by_noise() -> None:
    few = qv.Zealous(epsilon=2, delta=1e-6, max_items=1, neighbours="add-remove")
    near = few.plan().draws[0].above + 2
    one = release({"weather": 300, "rare": near + 4}, few)
    other = release({"weather": 300}, few)
    (table,) = qv.diff(one, other, false_alarm=1e-9).tables
    assert table.changed == ()


def test_gaussian_counts_are_compared_by_their_deviations() -> None:
    steered = qv.Steered(epsilon=4, delta=1e-6, max_items=2)
    one, other = (
        release({"weather": 900, "flu": 900}, steered),
        release({"weather": 900, "flu": 100}, steered),
    )
    (table,) = qv.diff(one, other, false_alarm=1e-7).tables
    assert [each.item for each in table.changed] == ["flu"]


@pytest.mark.parametrize(
    ("method", "why"),
    [
        (
            qv.Zealous(epsilon=2, delta=1e-6, max_items=2, neighbours="add-remove"),
            "bounded in different ways",
        ),
        (qv.KQuery(k=3), "no counts with noise"),
    ],
)
def test_counts_that_mean_other_things_are_not_compared(
    both: tuple[qv.Release, qv.Release], method: Any, why: str
) -> None:
    first = release(AFTER, method) if isinstance(method, qv.KQuery) else both[0]
    (table,) = qv.diff(first, release(BEFORE, method)).tables
    assert why in table.not_compared and table.changed == ()


def test_other_columns_are_other_tables(both: tuple[qv.Release, qv.Release]) -> None:
    log = qv.read(many(300, ["weather"]))
    words = qv.publish(
        log, qv.Zealous(epsilon=2, delta=1e-6, max_items=1, neighbours="add-remove"), items="keywords"
    )
    found = qv.diff(both[0], words)
    assert (found.tables, found.others) == ((), ("items",))


# -- together ------------------------------------------------------------------------------------------------


def test_together_is_the_sum_or_less(both: tuple[qv.Release, qv.Release]) -> None:
    found = qv.diff(*both).together
    assert (found.kind, found.delta, found.neighbours) == (APPROXIMATE, 2e-6, ADD_REMOVE)
    assert 3.9 < found.epsilon <= 4
    steered = qv.Steered(epsilon=4, delta=1e-6, max_items=1)
    pair = [release({"weather": 900}, steered) for _ in range(2)]
    joint = qv.diff(*pair).together
    assert joint.kind == GAUSSIAN and joint.mu == pytest.approx(math.sqrt(2) * pair[0].guarantee.mu)
    assert joint.epsilon < 6.5


def test_different_neighbours_are_restated_for_replaced_histories(
    both: tuple[qv.Release, qv.Release],
) -> None:
    replaced = release(BEFORE, qv.Zealous(epsilon=2, delta=1e-6, max_items=1), users=1000)
    found = qv.diff(both[0], replaced).together
    assert found.neighbours == REPLACE and 5.5 < found.epsilon <= 6


def test_the_same_release_counts_once_and_what_has_no_sum_says_so(
    both: tuple[qv.Release, qv.Release],
) -> None:
    assert qv.diff(both[0], both[0]).together == both[0].guarantee
    found = qv.diff(both[0], release(BEFORE, qv.KQuery(k=3)))
    assert found.together is None and "cannot be added up" in found.reason


def test_two_empty_releases_are_two(tmp_path: Path) -> None:
    """They agree in every byte, and yet each tells that nothing was frequent."""
    few = qv.Zealous(epsilon=2, delta=1e-6, max_items=1, neighbours="add-remove")
    one, other = (release({"rare": 2}, few, out=tmp_path / name, allow_empty=True) for name in ("mon", "tue"))
    assert one.tables == other.tables and one.manifest() == other.manifest()
    found = qv.diff(qv.load(tmp_path / "mon"), qv.load(tmp_path / "tue")).together
    assert found.delta == 2e-6 and 3.9 < found.epsilon <= 4
    assert qv.diff(one, qv.load(tmp_path / "mon")).together == one.guarantee


# -- the command ---------------------------------------------------------------------------------------------


def test_the_command(both: tuple[qv.Release, qv.Release], tmp_path: Path) -> None:
    paths = [str(one.save(tmp_path / name).path) for one, name in zip(both, "ab", strict=True)]
    done = command("release", "diff", *paths)
    said = " ".join(done.out.split())
    assert done.code == 0 and "if both are about the same people, and nobody read one before" in said
    assert (
        "items: 2 rows in both, 1 only in A, 1 only in B" in said
        and "3 rows differ by more than noise" in said
    )
    short = command("release", "diff", *paths, "--most", "1")
    assert "and 2 more" in short.out
    document = command("release", "diff", *paths, "--json", "--false-alarm", "1e-6").document
    assert document["false_alarm"] == 1e-6 and len(document["tables"]["items"]["changed"]) == 3
    assert document["together"]["delta"] == 2e-6
    assert command("release", "diff", *paths, "--false-alarm", "0").code == 2
    assert command("release", "diff", paths[0], str(tmp_path)).code == 3
