"""Previews from counts of a pilot: about what a release would hold, without a text of the log."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import queryveil as qv
from queryveil.mechanisms.selection import steering

ROWS = [
    {
        "user": f"u{user}",
        "time": f"2026-01-{1 + number:02} 10:00:00",
        "query": f"zebra{(user * 7 + number**2) % 12}",
    }
    for user in range(600)
    for number in range(6)
]


@pytest.fixture(scope="module")
def log() -> qv.SearchLog:
    return qv.read(ROWS)


@pytest.fixture(scope="module")
def counts(log: qv.SearchLog) -> qv.PilotCounts:
    return qv.PilotCounts.count_pilot(log)


@pytest.mark.parametrize(
    "method",
    [
        qv.Zealous(epsilon=4, delta=1e-4, max_items=2),
        qv.Zealous(epsilon=0.05, delta=1e-6),
        qv.TruncatedGeometric(epsilon=2, delta=1e-4),
        qv.WeightedGaussian(epsilon=4, delta=1e-4, max_items=2),
        qv.Steered(epsilon=4, delta=1e-4),
        qv.KQuery(k=100),
    ],
    ids=lambda one: f"{one.name}",
)
def test_a_preview_is_about_what_is_published(
    method: qv.Mechanism, log: qv.SearchLog, counts: qv.PilotCounts
) -> None:
    """Of 12 queries with some 250 users each, all or none would be published: noise decides nothing here."""
    found = counts.preview(method)
    release = qv.publish(log, method, allow_empty=True, i_understand=True)
    table = next(iter(release.tables.values()))
    different = len(set(table["query"].to_pylist()))
    assert found.items == "queries" and found.published == pytest.approx(different, abs=1e-3)
    assert found.coverage == pytest.approx(different / 12, abs=1e-3)
    assert found.released_share == pytest.approx(different / 12, abs=0.1)


def test_more_epsilon_never_publishes_less(counts: qv.PilotCounts) -> None:
    sizes = [counts.preview(qv.Zealous(epsilon=e, delta=1e-6)).published for e in (0.05, 0.2, 0.5, 1, 4)]
    assert sizes == sorted(sizes) and sizes[0] < 0.1 and sizes[-1] > 11.9


def test_the_file_holds_numbers_alone_and_gives_the_same(counts: qv.PilotCounts, tmp_path: Path) -> None:
    file = tmp_path / "pilot.npz"
    counts.save(file)
    assert b"zebra" not in file.read_bytes() and b"u599" not in file.read_bytes()
    assert file.stat().st_mode & 0o077 == 0
    method = qv.Zealous(epsilon=1, delta=1e-4)
    assert qv.PilotCounts.load(file).preview(method) == counts.preview(method)
    file.write_bytes(b"nonsense")
    with pytest.raises(qv.InputError, match="make them again"):
        qv.PilotCounts.load(file)


def test_what_cannot_be_previewed_says_why(counts: qv.PilotCounts) -> None:
    for method in (qv.TokenHash(), qv.Zealous(epsilon=1, delta=1e-4, items=("clicks",))):
        found = counts.preview(method)
        assert found.published is None and found.why_not


def test_tables_of_previews_are_nearly_those_of_releases() -> None:
    setting = steering.calibrate(qv.Steered(epsilon=1, delta=1e-6).account().noise("queries"))
    for exact, about in zip(
        steering.score_tables(setting), steering.approximate_score_tables(setting), strict=True
    ):
        assert exact.width == about.width and abs(exact.first - about.first) <= 1
        many = min(len(exact.paces), len(about.paces))
        assert abs(len(exact.paces) - len(about.paces)) <= 1
        assert np.abs(exact.paces[:many] - about.paces[:many]).max() <= 2


def test_a_ledger_says_what_would_be_after_a_release(tmp_path: Path) -> None:
    ledger = qv.Ledger(str(tmp_path / "ledger.db"))
    ledger.open("people", epsilon=1, delta=1e-3)
    plan = qv.Zealous(epsilon=0.4, delta=1e-4).plan(users=600)
    after = ledger.after("people", plan.method, plan.guarantee, draws=plan.draws)
    assert ledger.budget("people").events == (), "nothing is written"
    ledger.charge("people", plan.method, plan.guarantee, draws=plan.draws)
    assert ledger.budget("people").spent == after.spent
    much = qv.Zealous(epsilon=0.7, delta=1e-4).plan(users=600)
    with pytest.raises(qv.BudgetError, match="short by"):
        ledger.after("people", much.method, much.guarantee, draws=much.draws)
