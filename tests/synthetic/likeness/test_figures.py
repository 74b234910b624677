"""Figures of a log, computed by hand."""

from __future__ import annotations

import datetime as dt

import pyarrow as pa
import pytest

import queryveil as qv
from queryveil.reading.engine.base import Engine

MONDAY = dt.datetime(2026, 1, 5, 10)


def at(hours: float) -> dt.datetime:
    return MONDAY + dt.timedelta(hours=hours)


LOG = pa.table(
    {
        "user": ["a", "a", "a", "a", "b", "b", "c"],
        # The second row is a second click of the first search; the third comes in the same session.
        "time": [at(0), at(0), at(0.1), at(5), at(24), at(24.2), at(48)],
        "query": ["Cat  ", "cat", "www.dog.com", "cat", "cat", "small red bird", ""],
        "url": ["u1", "u2", None, "u1", None, None, None],
        "rank": [1, 3, None, 1, None, None, None],
    }
)


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_a_tiny_log(engine: str, request: pytest.FixtureRequest) -> None:
    used: str | Engine = request.getfixturevalue("spark") if engine == "spark" else engine
    found = qv.figures_of(qv.read(LOG, engine=used))
    assert (found.rows, found.users, found.events, found.days) == (7, 3, 5, 2)
    assert found.top == {1: 3 / 5}  # cat, three times
    assert found.distinct == 3 / 5
    assert found.once == 2 / 3  # the dog's site, the bird
    assert (found.rows_mean, found.rows_median, found.rows_one, found.rows_five) == (7 / 3, 2, 1 / 3, 0)
    assert found.heavy == 4 / 7
    assert found.queries_one == 0  # c posed none, and is not counted
    assert found.repeats == pytest.approx(1 / 5)  # a's second cat
    assert found.words == pytest.approx((3 * 1 + 1 + 3) / 5)
    assert found.addresses == pytest.approx(1 / 5)
    assert found.clicks == pytest.approx(3 / 7)
    assert found.ranks is not None
    assert found.ranks[:3] == pytest.approx((2 / 3, 0, 1 / 3))
    assert found.session_mean == pytest.approx(5 / 3)
    assert found.session_one == pytest.approx(1 / 3)
    assert found.hours is not None
    assert {hour: share for hour, share in enumerate(found.hours) if share} == pytest.approx(
        {10: 0.8, 15: 0.2}
    )
    assert (found.weekdays, found.drift) == (None, None)


def test_a_log_without_times_ranks_and_clicks() -> None:
    found = qv.figures_of(qv.read(LOG.select(["user", "query"])))
    assert (found.clicks, found.ranks, found.hours, found.session_mean, found.days) == (None,) * 5
    assert found.events == 6  # without times, two clicks look like two searches


def test_a_week_has_weekdays() -> None:
    times = [MONDAY + dt.timedelta(days=day) for day in (0, 1, 2, 3, 4, 5, 6, 7, 7)]
    table = pa.table({"user": ["a"] * 9, "time": times, "query": [f"q{n}" for n in range(9)]})
    found = qv.figures_of(qv.read(table)).weekdays
    # Two Mondays with three searches, one of every other day with one.
    assert found == pytest.approx((1.5 / 7.5, *[1 / 7.5] * 6))


def test_a_log_without_a_query_is_refused() -> None:
    with pytest.raises(qv.CannotBeMet, match="no query"):
        qv.figures_of(qv.read(pa.table({"user": ["a"], "query": [""]})))
