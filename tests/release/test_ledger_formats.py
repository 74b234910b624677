"""Ledgers of older formats: read as they are, brought up to date by the next row, and sealed all along."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from queryveil.errors import BudgetError, InputError
from queryveil.privacy.guarantee import APPROXIMATE, GAUSSIAN, PURE, REPLACE, Guarantee
from queryveil.release.ledger import schema, seals
from queryveil.release.ledger.ledger import Amount, Ledger
from tests.release.test_ledger import SOURCE, changed

FORMAT_2 = Path(__file__).parents[1] / "data" / "ledger-format-2.sql"
SHIFT = Guarantee(kind=GAUSSIAN, epsilon=0.3, delta=1e-7, mu=0.06, p=1e-8, neighbours=REPLACE)


def pure(epsilon: float) -> Guarantee:
    return Guarantee(kind=PURE, epsilon=epsilon, delta=0.0, neighbours=REPLACE)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A ledger that was written before events had mu and p: two sources, three events, one of them Gaussian."""
    file = tmp_path / "ledger.db"
    connection = sqlite3.connect(file)
    connection.executescript(FORMAT_2.read_text(encoding="utf-8"))
    connection.close()
    return file


def version(file: Path) -> tuple[int, set[str]]:
    connection = sqlite3.connect(file)
    columns = {row[1] for row in connection.execute("PRAGMA table_info(queryveil_events)")}
    number = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.close()
    return number, columns & set(schema.LATER)


def test_an_older_ledger_is_read_and_not_touched_by_reading(file: Path) -> None:
    before = file.read_bytes()
    maps, web = Ledger(str(file)).show()
    assert web.sealed and web.only_composable and not maps.only_composable
    assert web.spent == web.by_sums == Amount(epsilon=0.5, delta=2e-7)
    assert web.left == Amount(epsilon=0.5, delta=8e-7)
    assert [(one.kind, one.mu, one.p) for one in web.events] == [
        (APPROXIMATE, None, None),
        (GAUSSIAN, None, None),
    ]
    assert (web.mu, web.p, web.rule.code, web.if_looked) == (0, 0, "pooled", None)
    assert file.read_bytes() == before


@pytest.mark.parametrize("row", ["charge", "open"])
def test_the_next_row_brings_it_up_to_date_without_loss(file: Path, row: str) -> None:
    ledger = Ledger(str(file))
    before = {one.source: one for one in ledger.show()}
    assert version(file) == (2, set())
    if row == "charge":
        ledger.charge("maps", "steered", SHIFT)
    else:
        ledger.open("new", epsilon=1, delta=0)
    assert version(file) == (4, set(schema.LATER))
    after = {one.source: one for one in ledger.show()}
    assert after[SOURCE] == before[SOURCE]
    assert after["maps"].events[: len(before["maps"].events)] == before["maps"].events
    # A Gaussian event of before has no mu: it goes on counting by its epsilon and delta.
    ledger.charge(SOURCE, "steered", SHIFT)
    account = ledger.budget(SOURCE)
    assert account.events[:2] == before[SOURCE].events
    assert (account.events[-1].mu, account.events[-1].p) == (0.06, 1e-8)
    assert 0.5 < account.spent.epsilon < 0.8 and account.by_sums.epsilon == 0.8
    with pytest.raises(BudgetError):
        ledger.charge(SOURCE, "zealous", pure(0.5))


def test_an_updated_ledger_is_still_append_only(file: Path) -> None:
    Ledger(str(file)).charge(SOURCE, "steered", SHIFT)
    connection = sqlite3.connect(file)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute("UPDATE queryveil_events SET mu = '0'")
    connection.close()


def test_an_update_that_is_cut_off_leaves_the_older_ledger(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger, before = Ledger(str(file)), Ledger(str(file)).show()

    def stopped(*given: object) -> None:
        assert schema.tables()  # the columns are there by now, inside the transaction
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(seals, "add", stopped)
        with pytest.raises(KeyboardInterrupt):
            ledger.charge(SOURCE, "steered", SHIFT)
    assert version(file) == (2, set()) and ledger.show() == before


TAMPERED = [
    ["UPDATE queryveil_events SET mu = '0.006' WHERE id = 4"],
    ["UPDATE queryveil_events SET p = '0.0' WHERE id = 4"],
    ["UPDATE queryveil_events SET mu = NULL, p = NULL WHERE id = 4"],
    ["UPDATE queryveil_events SET mu = NULL WHERE id = 4"],
    ["UPDATE queryveil_events SET mu = '0.001', p = '0.0' WHERE id = 3"],
    ["UPDATE queryveil_events SET mu = p, p = mu WHERE id = 4"],
    ["ALTER TABLE queryveil_events DROP COLUMN mu", "ALTER TABLE queryveil_events DROP COLUMN p"],
    [
        *(f"ALTER TABLE queryveil_events DROP COLUMN {name}" for name in schema.LATER),
        "PRAGMA user_version = 2",
    ],
    ["UPDATE queryveil_events SET who = 'somebody else' WHERE id = 4"],
    ["UPDATE queryveil_events SET who = NULL, neighbours = NULL WHERE id = 4"],
    ["UPDATE queryveil_events SET losses = '[]' WHERE id = 4"],
    ["UPDATE queryveil_seals SET terms = 'gaussian=1.0' WHERE source = 'maps' AND number = 0"],
]


@pytest.mark.parametrize("statements", TAMPERED, ids=str)
def test_a_mu_or_p_that_was_changed_is_noticed(file: Path, statements: list[str]) -> None:
    ledger = Ledger(str(file))
    ledger.charge(SOURCE, "steered", SHIFT)
    changed(file, *statements)
    for use in (ledger.show, lambda: ledger.charge("maps", "zealous", pure(0.1))):
        with pytest.raises(InputError, match="damaged"):
            use()


def test_seals_without_mu_and_p_would_not_notice(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seals, "_SHIFT", ())
    ledger = Ledger(str(file))
    ledger.charge(SOURCE, "steered", SHIFT)
    changed(file, *TAMPERED[0])
    assert ledger.budget(SOURCE).mu == pytest.approx(0.006)


def test_what_is_no_text_is_damage_and_no_crash(file: Path) -> None:
    changed(file, "UPDATE queryveil_events SET epsilon = x'302e35' WHERE id = 1")
    with pytest.raises(InputError, match="damaged"):
        Ledger(str(file)).show()


FORMAT_3 = FORMAT_2.with_name("ledger-format-3.sql")


@pytest.fixture
def former(tmp_path: Path) -> Path:
    """A ledger that was written before events had who, recipe, period, neighbours and losses."""
    file = tmp_path / "former.db"
    connection = sqlite3.connect(file)
    connection.executescript(FORMAT_3.read_text(encoding="utf-8"))
    connection.close()
    return file


def test_a_ledger_of_format_3_is_read_as_it_is_and_charged_like_before(former: Path) -> None:
    ledger, before = Ledger(str(former)), former.read_bytes()
    maps, web = ledger.show()
    assert former.read_bytes() == before and version(former) == (3, {"mu", "p"})
    assert (web.spent, maps.spent) == (Amount(epsilon=0.431552, delta=1e-6), Amount(epsilon=1.0, delta=0.0))
    assert (maps.gaussian_share, web.only_composable, web.mu) == (0.5, True, pytest.approx(0.06))
    assert {(one.who, one.recipe, one.period, one.losses) for one in web.events} == {(None,) * 4}
    assert ledger.verify().passes
    ledger.charge("maps", "zealous", pure(0.25), who="anna", recipe="weekly")
    assert version(former) == (4, set(schema.LATER)) and ledger.verify().passes
    after = ledger.budget("maps")
    assert after.events[:-1] == maps.events and ledger.budget(SOURCE).events == web.events
    assert (after.events[-1].who, after.events[-1].recipe) == ("anna", "weekly")
