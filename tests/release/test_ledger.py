"""The budget ledger: what adds up, what is refused, and that no crash, race or hand gives it back."""

from __future__ import annotations

import doctest
import json
import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from queryveil.errors import BudgetError, CannotCompose, InputError, OutputError, QueryveilError, UsageError
from queryveil.privacy.guarantee import (
    ADD_REMOVE,
    APPROXIMATE,
    K_ANONYMITY,
    NONE,
    PROBABILISTIC,
    PURE,
    REPLACE,
    Guarantee,
)
from queryveil.release.ledger import store
from queryveil.release.ledger.ledger import Account, Amount, Ledger
from tests.command import command
from tests.conftest import many

SOURCE = "web-2006"
DOCS = Path(__file__).parents[2] / "docs"


def private(
    epsilon: float, delta: float = 0.0, kind: str = APPROXIMATE, neighbours: str = REPLACE, **more: object
) -> Guarantee:
    return Guarantee(kind=kind, epsilon=epsilon, delta=delta, neighbours=neighbours, **more)  # type: ignore[arg-type]


def pure(epsilon: float, neighbours: str = REPLACE) -> Guarantee:
    return private(epsilon, kind=PURE, neighbours=neighbours)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "ledger.db"


@pytest.fixture
def ledger(file: Path) -> Ledger:
    ledger = Ledger(str(file))
    ledger.open(SOURCE, epsilon=1, delta=1e-6)
    return ledger


# -- sums ----------------------------------------------------------------------------------------------------


def test_ten_tenths_fit_into_one_and_an_eleventh_does_not(ledger: Ledger) -> None:
    for _ in range(10):
        ledger.charge(SOURCE, "zealous", private(0.1, 1e-7))
    assert ledger.budget(SOURCE).left == Amount(epsilon=0.0, delta=0.0)
    with pytest.raises(BudgetError):
        ledger.charge(SOURCE, "zealous", pure(1e-300))


def test_a_tiny_delta_is_not_rounded_away(tmp_path: Path) -> None:
    ledger = Ledger(str(tmp_path / "ledger.db"))
    ledger.open(SOURCE, epsilon=10, delta=0.1)
    ledger.charge(SOURCE, "zealous", private(1, 1e-300))
    with pytest.raises(BudgetError):
        ledger.charge(SOURCE, "zealous", private(1, 0.1))


@settings(max_examples=15, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(1, 40).map(lambda n: n / 100), st.integers(0, 40).map(lambda n: n / 10**8)),
        max_size=8,
    )
)
def test_what_is_accepted_is_what_exact_fractions_allow(charges: list[tuple[float, float]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(str(Path(folder) / "ledger.db"))
        ledger.open(SOURCE, epsilon=1, delta=1e-6)
        spent = [Fraction(0), Fraction(0)]
        for epsilon, delta in charges:
            after = [spent[0] + Fraction(repr(epsilon)), spent[1] + Fraction(repr(delta))]
            if after[0] <= 1 and after[1] <= Fraction("1e-6"):
                ledger.charge(SOURCE, "zealous", private(epsilon, delta))
                spent = after
            else:
                with pytest.raises(BudgetError):
                    ledger.charge(SOURCE, "zealous", private(epsilon, delta))
        assert ledger.budget(SOURCE).spent == Amount(epsilon=float(spent[0]), delta=float(spent[1]))


def test_a_refusal_says_needed_left_and_short(ledger: Ledger) -> None:
    ledger.charge(SOURCE, "zealous", private(0.6, 1e-7))
    with pytest.raises(BudgetError) as refusal:
        ledger.charge(SOURCE, "zealous", private(1, 1e-6))
    assert refusal.value.exit_code == 4
    assert refusal.value.message == (
        "the release needs epsilon 1 and delta 1e-06, the ledger has epsilon 0.4 and delta 9e-07 left "
        "for 'web-2006' (short by epsilon 0.6 and delta 1e-07)"
    )
    assert refusal.value.hint == "lower epsilon, or open a new ledger for new data"
    assert len(ledger.budget(SOURCE).events) == 1


def test_a_refusal_for_delta_alone_says_so(ledger: Ledger) -> None:
    with pytest.raises(BudgetError, match=r"\(short by delta 1e-06\); lower delta"):
        ledger.charge(SOURCE, "zealous", private(0.1, 2e-6))


def test_sources_do_not_share_a_budget(ledger: Ledger) -> None:
    ledger.open("maps", epsilon=2, delta=0)
    ledger.charge("maps", "click-graph", pure(2))
    ledger.charge(SOURCE, "zealous", pure(1))
    assert [(one.source, one.spent.epsilon) for one in ledger.show()] == [("maps", 2.0), (SOURCE, 1.0)]


# -- kinds ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kinds", "total"),
    [
        ((), None),
        ((PURE,), PURE),
        ((PURE, PROBABILISTIC), PROBABILISTIC),
        ((PROBABILISTIC, PROBABILISTIC), PROBABILISTIC),
        ((APPROXIMATE, PROBABILISTIC, PURE), APPROXIMATE),
    ],
)
def test_the_total_has_the_weakest_kind(ledger: Ledger, kinds: tuple[str, ...], total: str | None) -> None:
    for kind in kinds:
        ledger.charge(SOURCE, "zealous", private(0.1, 0 if kind == PURE else 1e-8, kind))
    assert ledger.budget(SOURCE).kind == total


def test_totals_that_hold_approximately_are_not_called_more(ledger: Ledger) -> None:
    ledger.open("alike", epsilon=1, delta=1e-6, repeated=True)
    ledger.charge("alike", "zealous", pure(0.1))
    assert ledger.budget("alike").kind == PURE
    ledger.charge("alike", "zealous", pure(0.1))
    assert ledger.budget("alike").kind == APPROXIMATE and ledger.budget("alike").spent.delta == 1e-6
    ledger.open("days", epsilon=1, delta=1e-6, unit="user-day")
    for day in (
        "2026-01-01",
        "2026-01-02",
    ):  # each has a bad set of its own: together delta would count twice
        ledger.charge("days", "zealous", private(0.1, 1e-6, PROBABILISTIC), period=day)
    assert ledger.budget("days").kind == APPROXIMATE and ledger.budget("days").spent.delta == 1e-6


def test_releases_that_do_not_compose_are_listed_and_cost_nothing(ledger: Ledger) -> None:
    ledger.charge(SOURCE, "k-query", Guarantee(kind=K_ANONYMITY, k=50))
    ledger.charge(SOURCE, "token-hash", Guarantee(kind=NONE))
    account = ledger.budget(SOURCE)
    assert [(one.method, one.headline, one.composable, one.epsilon) for one in account.events] == [
        ("k-query", "k = 50 (k-anonymity)", False, None),
        ("token-hash", "no guarantee", False, None),
    ]
    assert (account.spent, account.kind, account.not_composable) == (Amount(epsilon=0, delta=0), None, 2)


def test_add_remove_costs_double_in_a_replace_ledger(ledger: Ledger) -> None:
    ledger.charge(SOURCE, "click-graph", private(0.25, 1e-7, neighbours=ADD_REMOVE))
    event = ledger.budget(SOURCE).events[0]
    assert event.epsilon == 0.5
    assert event.delta == pytest.approx((1 + 2.718281828459045**0.25) * 1e-7)
    assert event.headline.startswith("epsilon 0.25,")


def test_a_probabilistic_release_is_restated_through_what_it_implies(ledger: Ledger) -> None:
    implied = private(0.25, 1e-9, neighbours=ADD_REMOVE)
    ledger.charge(SOURCE, "zealous", private(0.25, 1e-7, PROBABILISTIC, ADD_REMOVE, implies=implied))
    event = ledger.budget(SOURCE).events[0]
    assert (event.kind, event.epsilon) == (APPROXIMATE, 0.5)
    assert event.delta == pytest.approx(2.284e-9, rel=1e-3)


@pytest.mark.parametrize("kind", [PROBABILISTIC, APPROXIMATE, PURE])
def test_replace_one_is_refused_by_an_add_remove_ledger(file: Path, kind: str) -> None:
    ledger = Ledger(str(file))
    ledger.open(SOURCE, epsilon=5, delta=1e-3, neighbours=ADD_REMOVE)
    with pytest.raises(CannotCompose, match="cannot be restated against 'add-remove-one-user'"):
        ledger.charge(SOURCE, "zealous", private(0.1, 0 if kind == PURE else 1e-7, kind))
    ledger.charge(SOURCE, "click-graph", private(1, 1e-4, neighbours=ADD_REMOVE))
    assert ledger.budget(SOURCE).spent == Amount(epsilon=1, delta=1e-4)


@pytest.mark.parametrize(
    "given_one",
    [
        pure(-1),
        pure(float("nan")),
        pure(float("inf")),
        private(0.1, -1e-7),
        private(0.1, float("nan")),
        private(0.1, 1e-7, PURE),
        private(0.1, 1e-7, unit="user-day"),
        private(0.1, 1e-7, neighbours=None),  # type: ignore[arg-type]
    ],
)
def test_numbers_that_would_be_a_refund_or_mean_nothing_are_refused(
    ledger: Ledger, given_one: Guarantee
) -> None:
    with pytest.raises(UsageError):
        ledger.charge(SOURCE, "zealous", given_one)
    assert ledger.budget(SOURCE).events == ()


# -- opening -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta"),
    [(0, 0), (-1, 0), (float("nan"), 0), (float("inf"), 0), (1, -1e-9), (1, 1), (1, float("nan")), (None, 0)],
)
def test_budgets_out_of_range_are_refused_and_leave_no_file(file: Path, epsilon: float, delta: float) -> None:
    with pytest.raises(UsageError, match=r"epsilon must|delta must"):
        Ledger(str(file)).open(SOURCE, epsilon=epsilon, delta=delta)
    assert not file.exists()


@pytest.mark.parametrize("name", ["", " web", "a\nb", "\x1b[31m", "x" * 201, "\udc80"])
def test_odd_names_are_refused(ledger: Ledger, name: str) -> None:
    with pytest.raises(UsageError, match="printable"):
        ledger.open(name, epsilon=1, delta=0)
    with pytest.raises(UsageError, match="printable"):
        ledger.charge(name, "zealous", pure(1))
    with pytest.raises(UsageError, match="printable"):
        ledger.charge(SOURCE, name, pure(1))


def test_a_neighbour_relation_must_exist(file: Path) -> None:
    with pytest.raises(UsageError, match="add-remove-one-user"):
        Ledger(str(file)).open(SOURCE, epsilon=1, delta=0, neighbours="one-row")


def test_opening_twice_is_refused_and_changes_nothing(ledger: Ledger) -> None:
    with pytest.raises(UsageError, match="has a budget already"):
        ledger.open(SOURCE, epsilon=100, delta=0.5)
    assert ledger.budget(SOURCE).budget == Amount(epsilon=1, delta=1e-6)


def test_the_file_is_for_its_owner_only(ledger: Ledger, file: Path) -> None:
    assert file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["a b?c#d%20.db", "Bücher.db", os.fsdecode(b"caf\xe9.db")])
def test_any_file_name_will_do(tmp_path: Path, name: str) -> None:
    Ledger(str(tmp_path / name)).open(SOURCE, epsilon=1, delta=0)
    assert [one.name for one in tmp_path.iterdir()] == [name]
    assert Ledger(str(tmp_path / name)).budget(SOURCE).left.epsilon == 1


def test_a_url_names_the_same_file(ledger: Ledger, file: Path) -> None:
    assert Ledger(f"sqlite:///{file}").show() == ledger.show()


# -- what people and scripts read ----------------------------------------------------------------------------


def test_an_account_is_plain_json_with_utc_times(ledger: Ledger) -> None:
    number = ledger.charge(SOURCE, "zealous", private(0.25, 1e-7, PROBABILISTIC))
    account = json.loads(json.dumps(ledger.budget(SOURCE).as_dict(), allow_nan=False))
    time = datetime.fromisoformat(account["events"][0].pop("time"))
    assert account["events"][0].pop("who") and len(account.pop("head")) == 64
    assert abs(datetime.now(UTC) - time) < timedelta(minutes=5)
    assert account == {
        "source": SOURCE,
        "neighbours": REPLACE,
        "kind": PROBABILISTIC,
        "budget": {"epsilon": 1.0, "delta": 1e-6},
        "used": 0.25,
        "more_like_last": 3,
        "spent": {"epsilon": 0.25, "delta": 1e-7},
        "left": {"epsilon": 0.75, "delta": 9e-7},
        "rule": "pooled",
        "gaussian_share": None,
        "by_sums": {"epsilon": 0.25, "delta": 1e-7},
        "together": {"epsilon": 0.25, "delta": 1e-7},
        "unit": "user",
        "mu": 0.0,
        "p": 0.0,
        "mu_left": account["mu_left"],
        "if_looked": None,
        "not_composable": 0,
        "only_composable": False,
        "events": [
            {
                "id": number,
                "method": "zealous",
                "headline": "epsilon 0.25, delta 1e-07, if one user's history is replaced "
                "(probabilistic differential privacy)",
                "kind": PROBABILISTIC,
                "epsilon": 0.25,
                "delta": 1e-7,
                "mu": None,
                "p": None,
                "composable": True,
                "neighbours": REPLACE,
                "recipe": None,
                "period": None,
                "losses": None,
            }
        ],
    }


def test_events_keep_their_order_and_numbers(ledger: Ledger) -> None:
    numbers = [ledger.charge(SOURCE, "zealous", pure(0.1)) for _ in range(3)]
    assert numbers == sorted(set(numbers)) == [one.id for one in ledger.budget(SOURCE).events]


def test_accounts_are_frozen_values(ledger: Ledger) -> None:
    assert ledger.budget(SOURCE) == ledger.show(SOURCE)[0]
    assert isinstance(ledger.budget(SOURCE), Account)
    with pytest.raises(AttributeError):
        ledger.budget(SOURCE).source = "other"  # type: ignore[misc]


def test_the_python_example_of_the_reference_page_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page = DOCS / "reference" / "ledger.md"
    text = page.read_text(encoding="utf-8").replace("```", "\n")  # a fence is not part of the output above it
    example = doctest.DocTestParser().get_doctest(text, {}, page.name, str(page), 0)
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0


# -- nothing is given back -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE queryveil_events SET epsilon = '0'",
        "DELETE FROM queryveil_events",
        "INSERT OR REPLACE INTO queryveil_events SELECT id, source, time, method, headline, kind, '0', '0', '0', '0', "
        "who, recipe, period, neighbours, losses FROM queryveil_events",
        "UPDATE queryveil_budgets SET epsilon = '100'",
        "DELETE FROM queryveil_budgets",
        "INSERT OR REPLACE INTO queryveil_budgets SELECT source, neighbours, '100', '0', opened "
        "FROM queryveil_budgets",
    ],
)
def test_the_file_itself_refuses_changes(ledger: Ledger, file: Path, statement: str) -> None:
    ledger.charge(SOURCE, "zealous", pure(0.7))
    before = ledger.show()
    connection = sqlite3.connect(file)
    try:
        with pytest.raises(sqlite3.IntegrityError, match="append-only"):
            connection.execute(statement)
    finally:
        connection.close()
    assert ledger.show() == before


PRELUDE = """
import os, signal, sys, time
from pathlib import Path
from queryveil.errors import BudgetError
from queryveil.privacy.guarantee import PURE, REPLACE, Guarantee
from queryveil.release.ledger.ledger import Ledger
ledger = Ledger(sys.argv[1])
tenth = Guarantee(kind=PURE, epsilon=0.1, delta=0.0, neighbours=REPLACE)
"""


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", PRELUDE + script, *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_killed_process_gets_no_refund(ledger: Ledger, file: Path) -> None:
    process = start(
        f"ledger.charge('{SOURCE}', 'zealous', tenth); os.kill(os.getpid(), signal.SIGKILL)", file
    )
    process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL
    assert ledger.budget(SOURCE).spent.epsilon == 0.1


def test_several_processes_cannot_overspend(file: Path) -> None:
    # 4 processes try 15 charges each, started together by a flag file; the budget pays for 25 of the 60.
    ledger, flag = Ledger(str(file)), file.with_name("go")
    ledger.open(SOURCE, epsilon=2.5, delta=0)
    script = f"""
ledger.budget('{SOURCE}')
print("ready", flush=True)
while not Path(sys.argv[2]).exists():
    time.sleep(0.001)
paid = 0
for _ in range(15):
    try:
        ledger.charge('{SOURCE}', 'zealous', tenth)
        paid += 1
    except BudgetError:
        pass
print(paid)
"""
    processes = [start(script, file, flag) for _ in range(4)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    flag.touch()
    paid = [int(process.communicate(timeout=300)[0]) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4
    assert sum(paid) == 25
    assert ledger.budget(SOURCE).spent.epsilon == 2.5
    assert len(ledger.budget(SOURCE).events) == 25


# -- errors --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("typed", "way"),
    [
        ("web-206", "did you mean web-2006?"),
        ("WEB-2006", "did you mean web-2006?"),
        ("maps", "use one of web-2006"),
    ],
)
def test_an_unknown_source_gets_a_name_that_exists_and_no_new_budget(
    ledger: Ledger, typed: str, way: str
) -> None:
    for use in (lambda: ledger.charge(typed, "zealous", pure(1)), lambda: ledger.budget(typed)):
        with pytest.raises(UsageError, match=f"has no source '{typed}'") as refusal:
            use()
        assert refusal.value.hint == way


def test_a_missing_ledger_is_not_made_by_using_it(file: Path) -> None:
    ledger = Ledger(str(file))
    for use in (lambda: ledger.charge(SOURCE, "zealous", pure(1)), ledger.show):
        with pytest.raises(InputError, match=r"does not exist; open it first: queryveil\.Ledger"):
            use()
    assert not file.exists()


@pytest.mark.parametrize("content", [b"just some text, long enough to be read as a page\n" * 50, b"short"])
def test_a_text_file_is_not_a_ledger_and_is_left_alone(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    ledger = Ledger(str(file))
    uses = (
        lambda: ledger.open(SOURCE, epsilon=1, delta=0),
        lambda: ledger.charge(SOURCE, "zealous", pure(1)),
        ledger.show,
    )
    for use in uses:
        with pytest.raises(InputError, match="is not a ledger"):
            use()
    assert file.read_bytes() == content


def test_another_programs_database_is_not_a_ledger(file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.execute("CREATE TABLE bookmarks (url TEXT)")
    connection.commit()
    connection.close()
    ledger, before = Ledger(str(file)), file.read_bytes()
    for use in (lambda: ledger.open(SOURCE, epsilon=1, delta=0), ledger.show):
        with pytest.raises(InputError, match="is not a queryveil ledger"):
            use()
    assert file.read_bytes() == before


def test_a_newer_format_is_refused(ledger: Ledger, file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.execute("PRAGMA user_version = 99")
    connection.commit()
    connection.close()
    with pytest.raises(InputError, match="format"):
        ledger.charge(SOURCE, "zealous", pure(0.1))


def test_a_negative_event_slipped_in_by_hand_is_damage(ledger: Ledger, file: Path) -> None:
    connection = sqlite3.connect(file)
    connection.execute(
        "INSERT INTO queryveil_events (source, time, method, headline, kind, epsilon, delta) "
        "VALUES (?, '2026-01-01T00:00:00Z', 'gift', '', 'pure-dp', '-5', '0')",
        (SOURCE,),
    )
    connection.commit()
    connection.close()
    with pytest.raises(InputError, match="damaged"):
        ledger.charge(SOURCE, "zealous", pure(0.1))


def test_a_folder_that_cannot_be_written_is_an_output_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "missing" / "ledger.db", tmp_path / "file" / "ledger.db", tmp_path / ("x" * 300)):
        with pytest.raises(OutputError, match="cannot be written"):
            Ledger(str(path)).open(SOURCE, epsilon=1, delta=0)


def test_a_folder_is_not_a_ledger(tmp_path: Path) -> None:
    for use in (Ledger(str(tmp_path)).show, lambda: Ledger(str(tmp_path)).open(SOURCE, epsilon=1, delta=0)):
        with pytest.raises(InputError, match="is not a file"):
            use()


def test_a_lock_held_too_long_is_said(ledger: Ledger, file: Path) -> None:
    other = sqlite3.connect(file, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(OutputError, match=r"locked by another process for 0\.1 s"):
            Ledger(str(file), wait=0.1).charge(SOURCE, "zealous", pure(0.1))
        assert ledger.budget(SOURCE).events == ()  # reading goes on
    finally:
        other.close()
    ledger.charge(SOURCE, "zealous", pure(0.1))


@pytest.mark.parametrize(
    "address",
    [
        "postgresql+nosuchdriver://anna:hunter2@db/ledger?password=hunter2",
        "nosuch://anna:hunter2@db/ledger",
        "postgresql://anna:hunter2@db:notaport/ledger",
        "://hunter2",
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///x.db?mode=hunter2",
    ],
)
def test_bad_addresses_are_refused_without_their_secrets(address: str) -> None:
    with pytest.raises(QueryveilError) as error:
        Ledger(address).open(SOURCE, epsilon=1, delta=0)
    assert error.value.hint
    assert "hunter2" not in str(error.value)
    assert error.value.__suppress_context__ or error.value.__context__ is None


@pytest.mark.parametrize("address", ["", "a\0b"])
def test_an_address_must_be_one(address: str) -> None:
    with pytest.raises(UsageError):
        Ledger(address)


def test_importing_the_ledger_does_not_import_the_database_library() -> None:
    script = "import sys, queryveil.release.ledger.ledger; sys.exit('sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


# -- what happens to a file ----------------------------------------------------------------------------------


def changed(file: Path, *statements: str) -> None:
    """As somebody with a database browser would, who takes the triggers away first."""
    connection = sqlite3.connect(file)
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.fixture
def charged(ledger: Ledger) -> Ledger:
    ledger.open("maps", epsilon=5, delta=0)
    for method in ("zealous", "click-graph"):
        ledger.charge(SOURCE, method, pure(0.25))
        ledger.charge("maps", method, pure(0.5))
    return ledger


@pytest.mark.parametrize("size", [0, 1, 100, 4096, 8192, -4096])
def test_a_ledger_that_was_cut_off_gives_no_fresh_budget(charged: Ledger, file: Path, size: int) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:size])
    again = Ledger(str(file))
    for use in (
        lambda: again.open(SOURCE, epsilon=100, delta=0.5),
        lambda: again.open("new", epsilon=100, delta=0.5),
        lambda: again.charge(SOURCE, "zealous", pure(0.25)),
        again.show,
    ):
        with pytest.raises(InputError, match=r"empty|damaged|not a (queryveil )?ledger") as error:
            use()
        assert "backup" in error.value.hint


@pytest.mark.parametrize(
    "statements",
    [
        ["DELETE FROM queryveil_events"],
        ["DELETE FROM queryveil_events WHERE id = 4"],
        ["DELETE FROM queryveil_events", "DELETE FROM queryveil_budgets"],
        ["DELETE FROM queryveil_events", "DELETE FROM queryveil_budgets", "DELETE FROM queryveil_seals"],
        ["DELETE FROM queryveil_budgets WHERE source = 'web-2006'"],
        ["DELETE FROM queryveil_seals WHERE source = 'web-2006' AND number = 2"],
        ["DELETE FROM queryveil_seals"],
        ["DROP TABLE queryveil_seals"],
        ["UPDATE queryveil_events SET epsilon = '0.05' WHERE id = 1"],
        ["UPDATE queryveil_events SET epsilon = NULL, delta = NULL WHERE id = 1"],
        ["UPDATE queryveil_events SET source = 'maps' WHERE id = 1"],
        ["UPDATE queryveil_events SET headline = 'nothing' WHERE id = 3"],
        ["UPDATE queryveil_events SET id = 40 WHERE id = 4"],
        ["UPDATE queryveil_budgets SET epsilon = '9.0' WHERE source = 'web-2006'"],
        ["UPDATE queryveil_seals SET terms = 'x' WHERE number = 0"],
        ["UPDATE sqlite_sequence SET seq = 9"],
    ],
    ids=str,
)
def test_a_row_that_was_changed_or_lost_is_noticed(
    charged: Ledger, file: Path, statements: list[str]
) -> None:
    changed(file, *statements)
    for use in (charged.show, lambda: charged.charge("maps", "zealous", pure(0.1))):
        with pytest.raises(InputError, match="damaged"):
            use()
    with pytest.raises(InputError, match="damaged"):
        charged.open("new", epsilon=100, delta=0.5)


def test_a_flipped_byte_is_noticed_or_changes_nothing(charged: Ledger, file: Path) -> None:
    content, before = file.read_bytes(), charged.show()
    rows = [at for word in (b"0.25", b"0.5", b"5.0", SOURCE.encode()) for at in places(content, word)]
    assert len(rows) > 10
    found = 0
    for at in {*rows, *range(0, len(content), 97)}:
        file.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
        try:
            assert charged.show() == before, at
        except QueryveilError:
            found += 1
    assert found >= len(rows)


def places(content: bytes, word: bytes) -> list[int]:
    found, at = [], content.find(word)
    while at >= 0:
        found.append(at)
        at = content.find(word, at + 1)
    return found


def test_opening_that_is_killed_leaves_no_ledger_behind(file: Path) -> None:
    script = f"""
from queryveil.release.ledger import schema, store
store._link_into_place = lambda *paths: os.kill(os.getpid(), signal.SIGKILL)
ledger.open('{SOURCE}', epsilon=1, delta=0)
"""
    process = start(script, file)
    process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL and not file.exists()
    Ledger(str(file)).open(SOURCE, epsilon=1, delta=0)


def test_two_that_open_at_once_make_one_ledger(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = store._link_into_place

    def late(temporary: Path, path: Path) -> None:
        monkeypatch.setattr(store, "_link_into_place", real)
        Ledger(str(file)).open("maps", epsilon=2, delta=0)
        real(temporary, path)

    monkeypatch.setattr(store, "_link_into_place", late)
    Ledger(str(file)).open(SOURCE, epsilon=1, delta=0)
    assert [one.source for one in Ledger(str(file)).show()] == ["maps", SOURCE]
    assert [one.name for one in file.parent.iterdir()] == [file.name]


# -- what no budget limits -----------------------------------------------------------------------------------

UNLIMITED = {
    "given the shape": private(1, kind=PURE, neighbours=f"{REPLACE}-equal-shape"),
    "k-anonymity": Guarantee(kind=K_ANONYMITY, k=5),
    "nothing": Guarantee(kind=NONE),
}


@pytest.mark.parametrize("promise", UNLIMITED.values(), ids=list(UNLIMITED))
def test_a_source_may_refuse_what_no_budget_limits(file: Path, promise: Guarantee) -> None:
    ledger = Ledger(str(file))
    ledger.open("strict", epsilon=1, delta=0, only_composable=True)
    ledger.open("loose", epsilon=1, delta=0)
    with pytest.raises(BudgetError, match=r"no budget limits .* 'strict' was opened"):
        ledger.charge("strict", "semantic", promise)
    assert ledger.budget("strict").events == () and ledger.budget("strict").only_composable
    ledger.charge("strict", "zealous", pure(0.5))
    ledger.charge("loose", "semantic", promise)
    assert ledger.budget("loose").not_composable == 1 and not ledger.budget("loose").only_composable


def test_the_command_shows_them_as_what_they_are(file: Path) -> None:
    asked = ["--epsilon", "3", "--delta", "1e-6"]
    assert command("ledger", "open", str(file), "--source", "strict", *asked, "--only-composable").code == 0
    assert command("ledger", "open", str(file), "--source", "loose", *asked).code == 0
    ledger = Ledger(str(file))
    for promise in UNLIMITED.values():
        ledger.charge("loose", "semantic", promise)
    ledger.charge("loose", "click-graph", private(1, 1e-7, neighbours=ADD_REMOVE))
    said = " ".join(command("ledger", "show", str(file), "--verbose").out.split())
    assert said.count("not limited by the budget: it cannot be added up with other releases") == 3
    assert "how many queries have a phrase inside the domain" in said
    assert "Warning 3 releases are not limited by this budget" in said
    assert (
        "if one user is added or removed (approximate differential privacy) - counts as epsilon 2 and delta"
        in said
    )
    assert "strict (epsilon and delta if one user's history is replaced)" in said
    assert "Note only releases that add up are taken" in said
    table = many(30, ["measles"])
    pq.write_table(table, file.with_name("log.parquet"))
    refused = command(
        *("publish", str(file.with_name("log.parquet")), "--method", "semantic", "--epsilon", "1"),
        *("--ledger", str(file), "--source", "strict", "--out", str(file.with_name("out"))),
    )
    assert refused.code == 4 and "no budget limits" in refused.err
    assert not file.with_name("out").exists() and ledger.budget("strict").events == ()


def test_names_that_differ_in_case_are_not_two_budgets(tmp_path: Path) -> None:
    book = Ledger(str(tmp_path / "ledger.db"))
    book.open("web-2006", epsilon=1, delta=1e-6)
    for name in ("Web-2006", "WEB-2006", "ｗeb-2006"):
        with pytest.raises(UsageError, match="has the source 'web-2006' already"):
            book.open(name, epsilon=1, delta=1e-6)
    assert [one.source for one in book.show()] == ["web-2006"]
    book.open("web-2007", epsilon=1, delta=1e-6)
