"""Every shape has lines that have it, and lines that do not."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import queryveil_lab as lab
from queryveil_lab.studies import shapes
from queryveil_lab.studies.declaration import Findings, Row
from queryveil_lab.studies.expectations import Along, Beside, Expectations, expected
from queryveil_lab.studies.shapes import Line

ONE: dict[str, tuple[list[list[float]], list[list[float]]]] = {
    "falls": ([[3, 2, 2, 1], [2, 1]], [[3, 1, 2], [1, 1], [1, 2], [1]]),
    "grows": ([[1, 2, 2, 3], [1, 2]], [[2, 1, 3], [1, 1], [2, 1], [1]]),
    "ends_lower": ([[2, 9, 1], [2, 1]], [[1, 0, 1], [1, 2]]),
    "ends_higher": ([[1, 9, 2], [1, 2]], [[1, 2, 1], [2, 1]]),
    "stays": ([[1, 1, 1], [0, 0]], [[1, 1, 1.001], [0, 1]]),
    "peaks_inside": ([[1, 2, 1], [1, 3, 2, 3]], [[1, 2], [2, 1, 2], [1, 2, 3], [1]]),
    "falls_from_its_peak": ([[3, 2, 1], [2, 3, 1, 0]], [[1, 2, 3, 2], [3, 1, 2], [1, 1, 1]]),
    "dips_beyond_its_start": ([[2, 1, 3], [2, 1]], [[1, 1], [1, 2]]),
}
TWO: dict[str, tuple[list[tuple[list[float], list[float]]], list[tuple[list[float], list[float]]]]] = {
    "below": ([([1, 2], [1, 3])], [([1, 2], [1, 2]), ([0, 3], [9, 2])]),
    "above": ([([1, 3], [1, 2])], [([1, 2], [1, 2]), ([9, 2], [0, 3])]),
    "below_everywhere": ([([1, 2], [2, 3])], [([1, 2], [1, 3]), ([1, 4], [2, 3])]),
    "never_above": ([([1, 2], [1, 2])], [([1, 2.1], [9, 2])]),
    "never_below": ([([1, 2], [1, 2])], [([9, 2], [1, 2.1])]),
}
OTHER = ("falls_clearly", "within_a_factor")
SLACK: list[tuple[Callable[..., bool], list[float], dict[str, float]]] = [
    (shapes.falls, [3.0, 1.0, 1.1], {"slack": 0.06}),
    (shapes.grows, [1.0, 3.0, 2.9], {"slack": 0.06}),
    (shapes.falls, [3.0, 1.0, 1.1], {"noise": 0.11}),
    (shapes.grows, [1.0, 3.0, 2.9], {"noise": 0.11}),
    (shapes.stays, [1.0, 0.98], {"slack": 0.03}),
    (shapes.stays, [1.0, 0.98], {"noise": 0.03}),
]


def test_every_shape_is_tried_here() -> None:
    every = {
        name
        for name, one in inspect.getmembers(shapes, inspect.isfunction)
        if one.__module__ == shapes.__name__
    }
    assert every == {*ONE, *TWO, *OTHER}


@pytest.mark.parametrize("name", ONE)
def test_a_line_has_a_shape_or_not(name: str) -> None:
    shape: Callable[[list[float]], bool] = getattr(shapes, name)
    having, lacking = ONE[name]
    assert all(map(shape, having))
    assert not any(map(shape, lacking))


@pytest.mark.parametrize("name", TWO)
def test_two_lines_stand_to_each_other_or_not(name: str) -> None:
    shape: Callable[[list[float], list[float]], bool] = getattr(shapes, name)
    having, lacking = TWO[name]
    assert all(shape(*pair) for pair in having)
    assert not any(shape(*pair) for pair in lacking)


@pytest.mark.parametrize(("shape", "line", "allowed"), SLACK)
def test_a_step_within_chance_does_not_spoil_a_shape(
    shape: Callable[..., bool], line: list[float], allowed: dict[str, float]
) -> None:
    assert shape(line, **allowed) and not shape(line)
    assert not shape(line, **{name: value / 3 for name, value in allowed.items()})


def test_noise_between_two_lines() -> None:
    ours, theirs = [1.0, 2.1], [2.0, 2.0]
    assert not shapes.below(ours, theirs) and shapes.below(ours, theirs, noise=0.2)
    assert not shapes.below(ours, theirs, noise=0.05)
    assert not shapes.below([2.1], [2.0], noise=0.2), "lower over all, whatever the noise"


def test_a_fall_may_have_to_be_larger_than_noise() -> None:
    line = [1.0, 0.7, 0.75, 0.8]
    assert shapes.falls_clearly(line, noise=0.1)
    assert not shapes.falls_clearly(line, noise=0.3), "no larger than noise"
    assert not shapes.falls_clearly(line, noise=0.01), "steps up that are no noise"


def test_within_a_factor() -> None:
    close = partial(shapes.within_a_factor, factor=2)
    assert close([1.0], [2.0]) and close([2.0], [1.0])
    assert not close([1.0], [2.1]) and not close([2.1], [1.0]) and not close([0.0], [0.0])


def test_shapes_of_a_file_are_told_apart() -> None:
    rising, falling, flat = (shapes.NAMED[name] for name in ("rising", "falling", "flat"))
    assert rising([1, 2, 3]) and not rising([3, 2, 1]) and not rising([1, 1])
    assert falling([3, 1, 1.01]) and not falling([3, 1, 2]) and not falling([1, 1])
    assert flat([1, 1.01, 1]) and not flat([1, 2, 1])


def test_a_line_knows_its_ends_and_its_extremes() -> None:
    line = Line({1: 2.0, 5: 9.0, 10: 1.0, 20: 9.0})
    assert (line.start, line.first, line.end, line.last) == (1, 2.0, 20, 9.0)
    assert (line.peak, line.highest, line.dip, line.lowest) == (5, 9.0, 10, 1.0)


@pytest.mark.parametrize("name", lab.STUDIES)
def test_every_study_declares_what_it_expects(name: str) -> None:
    checks = lab.STUDIES[name].checks
    assert isinstance(checks, Expectations) and checks.every
    for one in checks.every:
        if isinstance(one, Along | Beside):
            shape = one.shape.func if isinstance(one.shape, partial) else one.shape
            assert shape.__name__ in {*ONE, *TWO, *OTHER}


# -- expectations --------------------------------------------------------------------------------------------


def row(way: str, n: int, value: float, **more: Any) -> Row:
    return {"way": way, "n": n, "metric": "found", "value": value, **more}


def found(*rows: Row) -> Findings:
    return Findings(rows)


FALLS = Along(
    says="{way} falls",
    metric="found",
    along="n",
    by=("way",),
    shape=shapes.falls,
    told="{line.first:g} at {line.start} to {line.last:g} at {line.end}",
)
BESIDE = Beside(
    says="a is below b",
    metric="found",
    column="way",
    ours="a",
    theirs="b",
    at=("n",),
    shape=shapes.below_everywhere,
    told="in {pair.lower} of {of}, by {pair.gaps.least:g} to {pair.gaps.most:g}",
)


def test_one_check_for_each_line_in_the_order_of_its_points() -> None:
    checks = expected(FALLS)(found(row("a", 9, 1), row("a", 1, 3), row("b", 1, 1), row("b", 9, 1)))
    assert [(one.name, one.passes, one.detail) for one in checks] == [
        ("a falls", True, "3 at 1 to 1 at 9"),
        ("b falls", False, "1 at 1 to 1 at 9"),
    ]


def test_of_what_was_not_measured_nothing_is_said() -> None:
    assert expected(FALLS, BESIDE)(found(row("a", 1, 3))) == []
    assert expected(FALLS, BESIDE)(found()) == []


def test_two_ways_are_compared_where_both_were_measured() -> None:
    one = found(row("a", 1, 1), row("a", 2, 3), row("b", 1, 2), row("b", 2, 3), row("b", 9, 0))
    (check,) = expected(BESIDE)(one)
    assert (check.passes, check.detail) == (False, "in 1 of 2, by 0 to 1")
    (check,) = expected(BESIDE)(found(row("a", 1, 1), row("b", 1, 2)))
    assert check.passes


def test_repeats_are_compared_by_their_means() -> None:
    rows = [row("a", 1, value) for value in (0, 3)] + [row("b", 1, value) for value in (2, 2)]
    (check,) = expected(BESIDE)(found(*rows))
    assert check.passes and check.detail == "in 1 of 1, by 0.5 to 0.5"
