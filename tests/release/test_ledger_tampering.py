"""A ledger refuses other formats and notices every column that was changed by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from queryveil.errors import InputError
from queryveil.privacy.guarantee import GAUSSIAN, PURE, REPLACE, Guarantee
from queryveil.release.ledger import schema, seals
from queryveil.release.ledger.ledger import Ledger
from tests.release.test_ledger import SOURCE, changed

SHIFT = Guarantee(kind=GAUSSIAN, epsilon=0.3, delta=1e-7, mu=0.06, p=1e-8, neighbours=REPLACE)
PURE_QUARTER = Guarantee(kind=PURE, epsilon=0.25, delta=0.0, neighbours=REPLACE)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A ledger with two sources; the second event of the first source is Gaussian."""
    file = tmp_path / "ledger.db"
    ledger = Ledger(str(file))
    ledger.open(SOURCE, epsilon=1, delta=1e-6)
    ledger.open("maps", epsilon=1, delta=1e-6, gaussian=0.5)
    ledger.charge(SOURCE, "zealous", PURE_QUARTER)
    ledger.charge(SOURCE, "steered", SHIFT)
    return file


TAMPERED = [
    ["UPDATE queryveil_events SET mu = '0.006' WHERE id = 2"],
    ["UPDATE queryveil_events SET p = '0.0' WHERE id = 2"],
    ["UPDATE queryveil_events SET mu = NULL, p = NULL WHERE id = 2"],
    ["UPDATE queryveil_events SET mu = NULL WHERE id = 2"],
    ["UPDATE queryveil_events SET mu = '0.001', p = '0.0' WHERE id = 1"],
    ["UPDATE queryveil_events SET mu = p, p = mu WHERE id = 2"],
    ["UPDATE queryveil_events SET epsilon = x'302e35' WHERE id = 1"],
    *([f"ALTER TABLE queryveil_events DROP COLUMN {name}"] for name in schema.OPTIONAL),
    ["ALTER TABLE queryveil_events ADD COLUMN note TEXT"],
    ["UPDATE queryveil_events SET who = 'another name' WHERE id = 2"],
    ["UPDATE queryveil_events SET who = NULL, neighbours = NULL WHERE id = 2"],
    ["UPDATE queryveil_events SET losses = '[]' WHERE id = 2"],
    ["UPDATE queryveil_seals SET terms = 'gaussian=1.0' WHERE source = 'maps' AND number = 0"],
    ["DROP TABLE queryveil_seals"],
]


@pytest.mark.parametrize("statements", TAMPERED, ids=str)
def test_a_changed_column_is_noticed(file: Path, statements: list[str]) -> None:
    changed(file, *statements)
    ledger = Ledger(str(file))
    for use in (ledger.show, lambda: ledger.charge("maps", "zealous", PURE_QUARTER)):
        with pytest.raises(InputError, match="damaged"):
            use()


def test_seals_without_mu_would_not_notice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seals, "_EVENT", tuple(name for name in seals._EVENT if name != "mu"))
    file = tmp_path / "ledger.db"
    ledger = Ledger(str(file))
    ledger.open(SOURCE, epsilon=1, delta=1e-6)
    ledger.charge(SOURCE, "steered", SHIFT)
    changed(file, "UPDATE queryveil_events SET mu = '0.006' WHERE id = 1")
    assert ledger.budget(SOURCE).mu == pytest.approx(0.006)


@pytest.mark.parametrize("version", [0, 4, 99])
def test_another_format_is_refused_and_not_touched(file: Path, version: int) -> None:
    changed(file, f"PRAGMA user_version = {version}")
    before = file.read_bytes()
    ledger = Ledger(str(file))
    for use in (ledger.show, lambda: ledger.charge("maps", "zealous", PURE_QUARTER)):
        with pytest.raises(InputError, match="format"):
            use()
    assert file.read_bytes() == before
