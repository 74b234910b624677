"""The ledger of a team: the same on SQLite and on PostgreSQL, under 32 processes, kill -9 and tampering."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest

from queryveil.errors import BudgetError, InputError, OutputError, UsageError
from queryveil.privacy.guarantee import ADD_REMOVE, GAUSSIAN, PURE, REPLACE, Guarantee
from queryveil.release.ledger.ledger import Amount, Ledger
from tests.command import command
from tests.servers import statement

SOURCE = "web-2006"
PROCESSES, CHARGES, PAID = 32, 2, 40
"""32 processes try 2 charges of a tenth each; the budget of 4 pays for 40 of the 64."""


def pure(epsilon: float, neighbours: str = REPLACE) -> Guarantee:
    return Guarantee(kind=PURE, epsilon=epsilon, delta=0.0, neighbours=neighbours)


@pytest.fixture(params=["sqlite", "postgresql"])
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A ledger that does not exist yet, in a file and on a server."""
    return str(tmp_path / "ledger.db") if request.param == "sqlite" else request.getfixturevalue("postgres")


# -- the same on both ----------------------------------------------------------------------------------------


def test_both_keep_the_same_account(tmp_path: Path, postgres: str) -> None:
    shift = Guarantee(kind=GAUSSIAN, epsilon=0.3, delta=1e-7, mu=0.06, p=1e-8, neighbours=REPLACE)
    seen = []
    for where in (str(tmp_path / "ledger.db"), postgres):
        ledger = Ledger(where)
        ledger.open("maps", epsilon=5, delta=0, neighbours=ADD_REMOVE, only_composable=True)
        ledger.open(SOURCE, epsilon=2, delta=1e-6)
        numbers = [ledger.charge(SOURCE, "zealous", pure(0.1), who="anna", recipe="weekly")]
        numbers += [ledger.charge("maps", "click-graph", pure(1, ADD_REMOVE), who="berta")]
        numbers += [ledger.charge(SOURCE, "steered", shift, who="anna")]
        assert numbers == [1, 2, 3]
        with pytest.raises(BudgetError, match="short by epsilon 1"):
            ledger.charge("maps", "click-graph", pure(5, ADD_REMOVE))
        with pytest.raises(UsageError, match=f"did you mean {SOURCE}"):
            ledger.charge("web-206", "zealous", pure(0.1))
        accounts = [one.as_dict() for one in ledger.show()]
        for one in accounts:
            one.pop("head")
            for event in one["events"]:
                event.pop("time")
        seen.append(accounts)
        assert ledger.verify().passes
    assert seen[0] == seen[1]


def test_ten_tenths_fit_and_an_eleventh_does_not(address: str) -> None:
    ledger = Ledger(address)
    ledger.open(SOURCE, epsilon=1, delta=0)
    for _ in range(10):
        ledger.charge(SOURCE, "zealous", pure(0.1))
    with pytest.raises(BudgetError):
        ledger.charge(SOURCE, "zealous", pure(1e-300))
    assert ledger.budget(SOURCE).left == Amount(epsilon=0, delta=0)


def test_a_ledger_is_opened_before_it_is_used_and_once(address: str) -> None:
    with pytest.raises(InputError, match="open it first"):
        Ledger(address).show()
    Ledger(address).open(SOURCE, epsilon=1, delta=0)
    with pytest.raises(UsageError, match="has a budget already"):
        Ledger(address).open(SOURCE, epsilon=100, delta=0)
    assert Ledger(address).budget(SOURCE).budget.epsilon == 1


# -- processes -----------------------------------------------------------------------------------------------

# Forked, not started: 32 interpreters would spend the test's time on imports.
_MANY = f"""
import os, sys
from queryveil.errors import BudgetError
from queryveil.privacy.guarantee import PURE, REPLACE, Guarantee
from queryveil.release.ledger.ledger import Ledger
import sqlalchemy, psycopg
tenth = Guarantee(kind=PURE, epsilon=0.1, delta=0.0, neighbours=REPLACE)
start, go = os.pipe()
told, tell = os.pipe()
for number in range({PROCESSES}):
    if os.fork() == 0:
        os.close(go)
        os.read(start, 1)
        paid = 0
        for _ in range({CHARGES}):
            try:
                Ledger(sys.argv[1], wait=300).charge("{SOURCE}", "zealous", tenth, who=f"process {{number}}")
                paid += 1
            except BudgetError:
                pass
        os.write(tell, bytes([paid]))
        os._exit(0)
os.close(go)
codes = [os.waitstatus_to_exitcode(os.wait()[1]) for _ in range({PROCESSES})]
assert codes == [0] * {PROCESSES}, codes
print(sum(os.read(told, 1000)))
"""


def test_32_processes_cannot_overspend_and_every_charge_is_there(address: str) -> None:
    ledger = Ledger(address)
    ledger.open(SOURCE, epsilon=PAID / 10, delta=0)
    done = subprocess.run(
        [sys.executable, "-c", _MANY, address], capture_output=True, text=True, check=False, timeout=550
    )
    assert done.returncode == 0, done.stderr
    account = ledger.budget(SOURCE)
    assert int(done.stdout) == len(account.events) == PAID
    assert account.spent == account.budget == Amount(epsilon=PAID / 10, delta=0)
    assert [one.id for one in account.events] == list(range(1, PAID + 1))
    assert len({one.who for one in account.events}) > 1
    assert ledger.verify().passes


_KILLED = """
import os, signal, sys
import queryveil as qv
from queryveil.privacy.noise import SystemBits
from tests.conftest import many
def die(self, n):
    os.kill(os.getpid(), signal.SIGKILL)
log = qv.read(many(30, ["measles"]))
method = qv.Zealous(epsilon=1, delta=1e-4, max_items=1, items=("queries",))
charge = qv.Ledger.charge
def then_die(self, *given, **named):
    charge(self, *given, **named)
    SystemBits.words = die
qv.Ledger.charge = then_die
qv.publish(log, method, out=sys.argv[2], ledger=sys.argv[1], source="web-2006")
"""


def test_a_run_that_is_killed_between_charge_and_draw_is_charged_and_not_refunded(
    address: str, tmp_path: Path
) -> None:
    ledger = Ledger(address)
    ledger.open(SOURCE, epsilon=2, delta=1e-2)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "-c", _KILLED, address, str(tmp_path / "out")],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=550,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not (tmp_path / "out").exists()
    assert [one.cost.epsilon for one in ledger.budget(SOURCE).events] == [1.0]
    ledger.charge(SOURCE, "zealous", pure(1))
    with pytest.raises(BudgetError):
        ledger.charge(SOURCE, "zealous", pure(0.1))


# -- a server ------------------------------------------------------------------------------------------------


@pytest.fixture
def charged(postgres: str) -> Ledger:
    ledger = Ledger(postgres)
    ledger.open(SOURCE, epsilon=1, delta=0)
    ledger.open("maps", epsilon=5, delta=0)
    for _ in range(2):
        ledger.charge(SOURCE, "zealous", pure(0.25))
        ledger.charge("maps", "zealous", pure(0.5))
    return ledger


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE queryveil_events SET epsilon = '0'",
        "DELETE FROM queryveil_events",
        "TRUNCATE queryveil_events",
        "TRUNCATE queryveil_budgets CASCADE",
        "UPDATE queryveil_budgets SET epsilon = '100'",
        "DELETE FROM queryveil_seals",
        "INSERT INTO queryveil_budgets SELECT source, neighbours, '100', delta, opened FROM queryveil_budgets "
        "ON CONFLICT (source) DO UPDATE SET epsilon = '100'",
        "UPDATE queryveil_ledger SET events = 0",
        "DELETE FROM queryveil_ledger",
        "INSERT INTO queryveil_ledger VALUES (4, 0)",
    ],
)
def test_a_server_refuses_changes_itself(charged: Ledger, postgres: str, change: str) -> None:
    before = charged.show()
    with pytest.raises(psycopg.errors.RaiseException, match="append-only"):
        statement(postgres, change)
    assert charged.show() == before


def unguarded(table: str, *then: str) -> list[str]:
    return [f"ALTER TABLE {table} DISABLE TRIGGER ALL", *then]


@pytest.mark.parametrize(
    ("statements", "where"),
    [
        (
            unguarded("queryveil_events", "UPDATE queryveil_events SET epsilon = '0.1' WHERE id = 1"),
            "event #1",
        ),
        (unguarded("queryveil_events", "UPDATE queryveil_events SET who = 'x' WHERE id = 3"), "event #3"),
        (
            unguarded(
                "queryveil_budgets", "UPDATE queryveil_budgets SET epsilon = '9' WHERE source = 'maps'"
            ),
            "the budget",
        ),
        (unguarded("queryveil_seals", "DELETE FROM queryveil_seals WHERE source = 'maps'"), "has no seals"),
        (unguarded("queryveil_events", "DELETE FROM queryveil_events WHERE id = 4"), "events are missing"),
        (unguarded("queryveil_ledger", "DELETE FROM queryveil_ledger"), "its format is gone"),
    ],
)
def test_what_was_changed_behind_its_back_shows(
    charged: Ledger, postgres: str, statements: list[str], where: str
) -> None:
    assert command("ledger", "verify", postgres).code == 0
    statement(postgres, *statements)
    said = command("ledger", "verify", postgres)
    assert said.code == 1 and where in " ".join(said.err.split())
    for use in (charged.show, lambda: charged.charge("maps", "zealous", pure(0.1))):
        with pytest.raises(InputError, match="damaged"):
            use()


def test_a_server_that_is_not_there_is_said_without_the_password(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be reached") as error:
        Ledger(f"postgresql://anna:hunter2@/ledger?host={tmp_path}").show()
    assert "hunter2" not in str(error.value) and error.value.exit_code == 6


def test_a_mistyped_port_can_be_seen() -> None:
    with pytest.raises(OutputError, match=r"ledger 'postgresql://127\.0\.0\.1:1/ledger' cannot be reached"):
        Ledger("postgresql://anna:hunter2@127.0.0.1:1/ledger").show()


def test_a_turn_that_does_not_come_is_said(charged: Ledger, postgres: str) -> None:
    with psycopg.connect(postgres) as other:
        other.execute("SELECT pg_advisory_xact_lock(1364610119)")
        with pytest.raises(OutputError, match=r"locked by another process for 0\.1 s"):
            Ledger(postgres, wait=0.1).charge(SOURCE, "zealous", pure(0.1))
        assert len(charged.budget(SOURCE).events) == 2  # reading goes on
    charged.charge(SOURCE, "zealous", pure(0.1))


def test_the_defaults_of_a_server_do_not_matter(postgres: str) -> None:
    strict = postgres.replace("options=", "options=-cdefault_transaction_isolation%3Dserializable%20")
    strict = strict.replace("options=", "options=-csynchronous_commit%3Doff%20")
    ledger = Ledger(strict)
    ledger.open(SOURCE, epsilon=1, delta=0)
    with psycopg.connect(postgres) as other:
        other.execute("SELECT pg_advisory_xact_lock(1364610119)")
        waiting = threading.Thread(target=lambda: Ledger(strict).charge(SOURCE, "zealous", pure(0.75)))
        waiting.start()
        while not statement(postgres, "SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"):
            time.sleep(0.01)
    waiting.join()
    with pytest.raises(BudgetError):
        ledger.charge(SOURCE, "zealous", pure(0.5))


def test_other_tables_of_the_database_are_left_alone(postgres: str) -> None:
    statement(postgres, "CREATE TABLE bookmarks (url TEXT)", "INSERT INTO bookmarks VALUES ('x')")
    Ledger(postgres).open(SOURCE, epsilon=1, delta=0)
    assert statement(postgres, "SELECT * FROM bookmarks") == [("x",)]


def test_a_foreign_table_of_our_name_is_no_ledger(postgres: str) -> None:
    statement(postgres, "CREATE TABLE queryveil_events (url TEXT)")
    for use in (Ledger(postgres).show, lambda: Ledger(postgres).open(SOURCE, epsilon=1, delta=0)):
        with pytest.raises(InputError, match="is not a queryveil ledger"):
            use()


@pytest.mark.parametrize("use", [lambda one: one.show(), lambda one: one.open("x", epsilon=1, delta=0)])
def test_other_databases_are_refused(use: Callable[[Ledger], object]) -> None:
    with pytest.raises(UsageError, match="a SQLite file or a PostgreSQL database"):
        use(Ledger("mysql://anna@db/ledger"))
