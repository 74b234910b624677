"""What the click graph leaks at random, each test shown to fail for a broken twin.

False-alarm rate of every test: 1e-6 (bits are seeded, so a passing test keeps passing). Delta is large so that leaks
can be seen; one publication of a log with thousands of independent targets gives thousands of trials.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import queryveil as qv
from queryveil.mechanisms.click_graph import theory
from tests.conftest import at
from tests.seeded import SeededBits
from tests.statistical.test_zealous import at_most

ALPHA = 1e-6
TRIALS = 20_000
DELTA = 0.1


def log_of(rows: list[tuple[str, int, str, str | None]]) -> qv.SearchLog:
    user, minute, query, url = zip(*rows, strict=True)
    times = [at(one) for one in minute]
    return qv.read(
        pa.table({"user": list(user), "time": times, "query": list(query), "url": pa.array(url, pa.string())})
    )


def published(log: qv.SearchLog, seed: int = 5, **parameters: Any) -> dict[str, pa.Table]:
    method = qv.ClickGraph(**parameters)
    return qv.publish(
        log, method, noise=qv.Noise(SeededBits(seed)), allow_empty=True, i_understand=True
    ).tables


def attained(d: int, epsilon: float = 1.0, *, once: bool = False) -> float:
    """Just above the delta that the threshold for 0.1 reaches exactly: then one less is seen."""
    return theory.tight_setting(d, epsilon, DELTA, once=once).delta * 1.001


def lower_by_one(monkeypatch: pytest.MonkeyPatch, lower: int = 1) -> None:
    """A broken twin: every threshold is too low."""
    tight = theory.tight_setting

    def broken(*given: Any, **named: Any) -> theory.Setting:
        setting = tight(*given, **named)
        return dataclasses.replace(setting, top=setting.top - lower)

    monkeypatch.setattr(theory, "tight_setting", broken)


@pytest.mark.parametrize("d", [1, 3])
def test_a_query_of_one_user_posed_d_times(monkeypatch: pytest.MonkeyPatch, d: int) -> None:
    log = log_of(
        [(f"u{user}", minute, f"only {user}", None) for user in range(TRIALS) for minute in range(d)]
    )

    # At this epsilon all on one query is the worst split, so its frequency is close to delta.
    delta = attained(d, 3.0)

    def hits() -> int:
        return published(log, epsilon=3.0, delta=delta, max_queries=d)["queries"].num_rows

    assert at_most(delta, hits(), TRIALS)
    lower_by_one(monkeypatch)
    assert not at_most(delta, hits(), TRIALS), "a threshold off by one is seen"


def test_d_new_queries_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any of them counts."""
    d = 4
    delta = attained(d, once=True)
    log = log_of(
        [(f"u{user}", minute, f"only {user} {minute}", None) for user in range(TRIALS) for minute in range(d)]
    )

    def hits() -> int:
        found = published(log, epsilon=1.0, delta=delta, max_queries=d, count_by="users")["queries"]
        return len({query.split()[1] for query in found["query"].to_pylist()})

    assert at_most(delta, hits(), TRIALS)
    lower_by_one(monkeypatch)
    assert not at_most(delta, hits(), TRIALS)
    monkeypatch.undo()
    alone = theory.tight_setting(1, 1 / d, delta, once=True)
    monkeypatch.setattr(theory, "tight_setting", lambda *_, **__: dataclasses.replace(alone, d=d))
    assert not at_most(delta, hits(), TRIALS), "a forgotten factor d is seen"


def test_an_edge_that_one_user_clicked(monkeypatch: pytest.MonkeyPatch) -> None:
    targets = 6_000
    rows: list[tuple[str, int, str, str | None]] = [
        (f"crowd {member}", 0, "known", None) for member in range(200)
    ]
    rows += [(f"u{user}", 0, "known", f"url of {user}") for user in range(targets)]
    log = log_of(rows)
    delta = attained(1)
    parameters: dict[str, Any] = {
        "epsilon": 50.0,
        "delta": 1e-9,
        "max_queries": 1,
        "urls": "private",
        "epsilon_clicks": 1.0,
        "delta_clicks": delta,
        "max_clicks": 1,
    }
    assert at_most(delta, published(log, **parameters)["clicks"].num_rows, targets)
    lower_by_one(monkeypatch)
    assert not at_most(delta, published(log, **parameters)["clicks"].num_rows, targets)


def test_a_reformulation_of_one_user(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of known queries, and thousands of users who each alone went from one of them to another."""
    known = 90
    rows: list[tuple[str, int, str, str | None]] = [
        (f"crowd {number} {member}", 0, f"known {number:02}", None)
        for number in range(known)
        for member in range(30)
    ]
    pairs = [(one, other) for one in range(known) for other in range(known) if one != other]
    for number, (one, other) in enumerate(pairs):
        rows += [(f"u{number}", 0, f"known {one:02}", None), (f"u{number}", 1, f"known {other:02}", None)]
    log = log_of(rows)
    delta = attained(1)
    parameters: dict[str, Any] = {
        "epsilon": 50.0,
        "delta": 1e-9,
        "max_queries": 2,
        "epsilon_reformulations": 1.0,
        "delta_reformulations": delta,
        "max_reformulations": 1,
    }
    assert at_most(delta, published(log, **parameters)["reformulations"].num_rows, len(pairs))
    lower_by_one(monkeypatch)
    assert not at_most(delta, published(log, **parameters)["reformulations"].num_rows, len(pairs))


@pytest.mark.parametrize("d", [5, 20])
def test_queries_are_published_as_often_as_the_curve_says(d: int) -> None:
    """Counts on both sides of the threshold; every frequency is tested, together at 1e-6."""
    method = qv.ClickGraph(epsilon=np.log(10), delta=1e-5, max_queries=d)
    setting = method.setting()
    noise = qv.Noise(SeededBits(11))
    counts = range(setting.top - int(3 * setting.scale), setting.top + int(3 * setting.scale), max(1, d // 4))

    def agrees(shift: int) -> bool:
        worst = 1.0
        for count in counts:
            hits = int((count + noise.discrete_laplace(setting.scale, 50_000) > setting.top).sum())
            worst = min(worst, stats.binomtest(hits, 50_000, float(setting.p(count + shift))).pvalue)
        return bool(worst > ALPHA / len(counts))

    assert agrees(0)
    assert not agrees(round(setting.scale)), "a threshold off by b is seen"
