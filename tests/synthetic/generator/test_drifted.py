"""Logs of distant days are those of one world whose popularity drifted between them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import queryveil as qv
from queryveil.synthetic.generator import LogSettings, generate_batches
from queryveil.synthetic.generator.histories import Popularity
from queryveil.synthetic.generator.pool import make_pool

SMALL: dict[str, Any] = {"users": 40, "rows": 400, "pool_size": 500}


def rows(**settings: Any) -> pa.Table:
    return pa.Table.from_batches(generate_batches(LogSettings(**{**SMALL, **settings})))


def test_without_drift_no_day_is_different() -> None:
    assert rows(drift=0.0, drifted=30).equals(rows(drift=0.0))


def test_a_log_of_later_days_has_the_popularity_of_these_days() -> None:
    pool = make_pool(500, 0)
    settings = LogSettings(**SMALL, days=9, drift=0.5)
    whole = Popularity(pool, settings)
    later = Popularity(pool, LogSettings(**SMALL, days=3, drift=0.5, drifted=6))
    chance = np.linspace(0.001, 0.999, 200)
    anywhere = np.full(200, -1)
    for day in range(3):
        found = later.draw_queries(np.full(200, day), anywhere, chance)
        assert (found == whole.draw_queries(np.full(200, day + 6), anywhere, chance)).all()
        assert (found != whole.draw_queries(np.full(200, day + 5), anywhere, chance)).any()


def test_one_day_that_drifted_is_different_from_one_that_did_not() -> None:
    assert not rows(days=1, drift=0.5, drifted=6)["query"].equals(rows(days=1, drift=0.5)["query"])


@pytest.mark.parametrize("wrong", [-1, 0.5, True, 4000])
def test_wrong_days_are_refused(wrong: float) -> None:
    with pytest.raises(qv.UsageError, match="'drifted' must be an int"):
        LogSettings(drifted=wrong)  # type: ignore[arg-type]
