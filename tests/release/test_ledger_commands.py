"""What people see of a ledger: totals that are explained, refusals in numbers, exports, and tampering that shows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from queryveil.errors import BudgetError, UsageError
from queryveil.mechanisms.zealous.zealous import Zealous
from queryveil.privacy.guarantee import ADD_REMOVE, APPROXIMATE, GAUSSIAN, PURE, REPLACE, Guarantee
from queryveil.release.ledger.ledger import Amount, Ledger
from queryveil.release.ledger.rules import Repeated
from tests.command import command
from tests.release.test_ledger import changed

SOURCE = "web-2006"


def pure(epsilon: float, neighbours: str = REPLACE) -> Guarantee:
    return Guarantee(kind=PURE, epsilon=epsilon, delta=0.0, neighbours=neighbours)


def approximate(epsilon: float, delta: float) -> Guarantee:
    return Guarantee(kind=APPROXIMATE, epsilon=epsilon, delta=delta, neighbours=REPLACE)


@pytest.fixture
def file(tmp_path: Path) -> str:
    return str(tmp_path / "ledger.db")


@pytest.fixture
def ledger(file: str) -> Ledger:
    ledger = Ledger(file)
    ledger.open(SOURCE, epsilon=4, delta=1e-6)
    return ledger


def words(*arguments: str) -> str:
    done = command("ledger", *arguments)
    return " ".join((done.out + done.err).split())


# -- what is shown -------------------------------------------------------------------------------------------


def test_two_entries_of_1_that_count_as_3_say_why(ledger: Ledger, file: str) -> None:
    ledger.charge(SOURCE, "profile-histogram", pure(1), who="anna", recipe="weekly.yaml")
    ledger.charge(SOURCE, "zealous", pure(1, ADD_REMOVE), who="berta")
    said = words("show", file, "--verbose")
    assert "spent epsilon 3 and delta 0, the sum of what each entry below counts as" in said
    assert (
        "UTC by anna: profile-histogram from recipe weekly.yaml - epsilon 1, if one user's history is replaced"
        in said
    )
    assert "- counts as epsilon 1 and delta 0 #2" in said
    assert (
        "UTC by berta: zealous - epsilon 1, if one user is added or removed (differential privacy) - counts as"
        in said
    )
    assert "counts as epsilon 2 and delta 0, if one user's history is replaced" in said
    events = command("ledger", "show", file, "--json").document[0]["events"]
    assert [(one["neighbours"], one["epsilon"], one["who"], one["recipe"]) for one in events] == [
        (REPLACE, 1.0, "anna", "weekly.yaml"),
        (ADD_REMOVE, 2.0, "berta", None),
    ]


def test_who_charged_is_the_account_or_what_the_environment_says(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("QUERYVEIL_WHO", raising=False)
    monkeypatch.setenv("LOGNAME", "carla")
    ledger.charge(SOURCE, "zealous", pure(0.1))
    monkeypatch.setenv("QUERYVEIL_WHO", " nightly\x1b job ")
    ledger.charge(SOURCE, "zealous", pure(0.1))
    assert [one.who for one in ledger.budget(SOURCE).events] == ["carla", "nightly? job"]
    with pytest.raises(UsageError, match="the name of who charges"):
        ledger.charge(SOURCE, "zealous", pure(0.1), who="a\nb")


def test_the_budget_of_one_source(ledger: Ledger, file: str) -> None:
    ledger.charge(SOURCE, "zealous", approximate(1, 1e-7))
    said = words("budget", file, "--source", SOURCE)
    assert "budget epsilon 4 and delta 1e-06 used 25%" in said and "spent" not in said
    said = words("budget", file, "--source", SOURCE, "--verbose")
    assert "spent epsilon 1 and delta 1e-07 left epsilon 3 and delta 9e-07 releases 1" in said
    document = command("ledger", "budget", file, "--source", SOURCE, "--json").document
    assert (document["left"], document["events"]) == ({"epsilon": 3.0, "delta": 9e-07}, 1)
    assert command("ledger", "budget", file, "--source", "web-206").code == 2


def test_a_refusal_has_its_numbers_in_json_too(ledger: Ledger) -> None:
    ledger.charge(SOURCE, "zealous", approximate(3.5, 1e-7))
    with pytest.raises(BudgetError) as refusal:
        ledger.charge(SOURCE, "zealous", approximate(1, 1e-7))
    assert refusal.value.exit_code == 4
    assert refusal.value.as_dict() | {"message": "", "hint": ""} == {
        "kind": "budget",
        "message": "",
        "hint": "",
        "requested": {"epsilon": 1.0, "delta": 1e-07},
        "remaining": {"epsilon": 0.5, "delta": 9e-07},
        "short_by": {"epsilon": 0.5},
    }


# -- exports and tampering -----------------------------------------------------------------------------------


def test_an_export_holds_every_account_and_is_not_overwritten(
    ledger: Ledger, file: str, tmp_path: Path
) -> None:
    ledger.charge(SOURCE, "zealous", pure(1))
    out = tmp_path / "export.json"
    assert command("ledger", "export", file, "--out", str(out)).code == 0
    document = json.loads(out.read_text())
    assert document["sources"] == {SOURCE: {"events": 1, "head": ledger.budget(SOURCE).head}}
    (account,) = document["accounts"]
    assert account["events"][0]["epsilon"] == 1 and 0.99 < account["curve"][-1]["epsilon"] < 1
    assert command("ledger", "export", file, "--out", str(out)).code == 2
    assert command("ledger", "export", file, "--out", str(tmp_path / "no" / "x.json")).code in (2, 6)


@pytest.mark.parametrize(
    ("statement", "where"),
    [
        (
            "UPDATE queryveil_events SET epsilon = '0.5' WHERE id = 2",
            "'web-2006': event #2 is not as it was written",
        ),
        ("UPDATE queryveil_budgets SET epsilon = '40.0'", "'web-2006': the budget is not as it was written"),
        ("DELETE FROM queryveil_seals WHERE number = 3", "event #3 and later ones were added without a seal"),
        ("DELETE FROM queryveil_events WHERE id = 3", "events are missing"),
        ("DELETE FROM queryveil_seals", "has no seals"),
    ],
)
def test_tampering_shows_with_its_place(ledger: Ledger, file: str, statement: str, where: str) -> None:
    for _ in range(3):
        ledger.charge(SOURCE, "zealous", pure(1))
    assert command("ledger", "verify", file).code == 0
    changed(Path(file), statement)
    done = command("ledger", "verify", file)
    assert done.code == 1 and where in " ".join(done.out.split()) and where in done.err
    done = command("ledger", "verify", file, "--json")
    assert done.code == 1 and not done.document["passes"]


def test_a_ledger_that_was_put_back_shows_beside_an_export(ledger: Ledger, file: str, tmp_path: Path) -> None:
    ledger.charge(SOURCE, "zealous", pure(1))
    older = Path(file).read_bytes()
    ledger.charge(SOURCE, "zealous", pure(1))
    out = str(tmp_path / "export.json")
    command("ledger", "export", file, "--out", out)
    ledger.charge(SOURCE, "zealous", pure(1))
    assert command("ledger", "verify", file, "--since", out).code == 0
    Path(file).write_bytes(older)
    assert command("ledger", "verify", file).code == 0  # by itself it is whole
    done = command("ledger", "verify", file, "--since", out)
    assert done.code == 1 and "had 2 events when it was exported and has 1 now" in done.err
    ledger.charge(SOURCE, "zealous", pure(0.5))  # another event in its place
    assert "its first 2 events are not those" in command("ledger", "verify", file, "--since", out).err
    Path(file).unlink()
    Ledger(file).open("maps", epsilon=1, delta=0)
    assert "no longer in the ledger" in command("ledger", "verify", file, "--since", out).err


@pytest.mark.parametrize("content", ["", "[]", '{"format": "x", "sources": {}}', '{"sources": {"a": 1}}'])
def test_what_is_no_export_is_refused(ledger: Ledger, file: str, tmp_path: Path, content: str) -> None:
    (tmp_path / "x.json").write_text(content)
    assert command("ledger", "verify", file, "--since", str(tmp_path / "x.json")).code == 3
    assert command("ledger", "verify", file, "--since", str(tmp_path / "missing.json")).code == 3


# -- together ------------------------------------------------------------------------------------------------


def test_the_total_by_distributions_is_shown_beside_the_sum_and_does_not_replace_it(
    ledger: Ledger, file: str
) -> None:
    for _ in range(30):
        ledger.charge(SOURCE, "zealous", pure(0.1))
    account = ledger.budget(SOURCE)
    assert account.spent == Amount(epsilon=3.0, delta=0.0) and account.left.epsilon == 1
    assert account.together.epsilon == pytest.approx(2.345, abs=0.01) and account.together.delta == 1e-6
    said = words("show", file, "--curve")
    assert "by privacy loss distributions, if nobody looked" in said and "delta epsilon" in said
    curve = command("ledger", "show", file, "--curve", "--json").document[0]["curve"]
    values = [one["epsilon"] for one in curve]
    assert values == sorted(values, reverse=True) and values[0] <= 3 and values[-1] < 2.1


def test_draws_of_a_release_are_kept_and_used(ledger: Ledger) -> None:
    plan = Zealous(epsilon=0.5, delta=1e-9, max_items=10, items=("queries",)).plan(users=10**6)
    for _ in range(7):
        ledger.charge(SOURCE, plan.method, plan.guarantee, draws=plan.draws)
    account = ledger.budget(SOURCE)
    (loss,) = account.events[0].losses
    assert (loss.times, loss.epsilon) == (20, pytest.approx(0.025))
    plain = [Guarantee.from_dict(plan.guarantee.as_dict())] * 7
    assert account.spent.epsilon == 3.5 == sum(one.epsilon for one in plain)
    # Twenty coins of a fortieth are far less than one of a half: 1.5 in all, where coins of a half have 3.5.
    assert account.together.epsilon < 1.7


# -- all alike -----------------------------------------------------------------------------------------------


@pytest.fixture
def repeated(file: str) -> Ledger:
    ledger = Ledger(file)
    ledger.open(SOURCE, epsilon=1.5, delta=1e-3, repeated=True)
    return ledger


def test_more_releases_fit_if_all_are_like_the_first(repeated: Ledger, file: str) -> None:
    assert "the first release decides" in words("show", file, "--verbose")
    repeated.charge(SOURCE, "zealous", pure(0.1))
    account = repeated.budget(SOURCE)
    assert isinstance(account.rule, Repeated)
    times = account.rule.times(account.sums.costs[0])
    assert times > 15  # by sums 15 fit
    for number in range(1, times):
        repeated.charge(SOURCE, "zealous", pure(0.1 if number % 2 else 0.05))
    with pytest.raises(BudgetError, match="short by epsilon") as refusal:
        repeated.charge(SOURCE, "zealous", pure(0.1))
    assert f"enough for {times} releases like the first" in refusal.value.hint
    account = repeated.budget(SOURCE)
    # What was fixed is composed, not what was drawn: smaller releases do not make room.
    assert account.spent.epsilon <= 1.5 and len(account.events) == times
    assert f"0 more releases like the first one; the budget is enough for {times}" in words(
        "show", file, "--verbose"
    )


@pytest.mark.parametrize(
    "other",
    [
        pure(0.100001),
        approximate(0.1, 1e-9),
        pure(0.09, ADD_REMOVE),
        Guarantee(kind=GAUSSIAN, epsilon=0.05, delta=1e-7, mu=0.01, p=1e-9, neighbours=REPLACE),
    ],
    ids=str,
)
def test_a_release_that_is_not_like_the_first_is_refused(repeated: Ledger, other: Guarantee) -> None:
    repeated.charge(SOURCE, "zealous", pure(0.1))
    with pytest.raises(BudgetError, match="was opened for releases like its first one"):
        repeated.charge(SOURCE, "zealous", other)
    assert len(repeated.budget(SOURCE).events) == 1


def test_gaussian_releases_that_are_alike_fit_like_in_a_pool(tmp_path: Path) -> None:
    shift = Guarantee(kind=GAUSSIAN, epsilon=0.55, delta=3.5e-7, mu=0.125, p=1.3e-7, neighbours=REPLACE)
    ledger = Ledger(str(tmp_path / "x.db"))
    ledger.open(SOURCE, epsilon=1, delta=1e-6, repeated=True)
    for _ in range(3):
        ledger.charge(SOURCE, "steered", shift)
    with pytest.raises(BudgetError):
        ledger.charge(SOURCE, "steered", shift)
    assert 0.93 < ledger.budget(SOURCE).spent.epsilon < 0.95


def test_a_sum_just_above_the_budget_does_not_fit_by_rounding(tmp_path: Path) -> None:
    ledger = Ledger(str(tmp_path / "x.db"))
    for source, third, fits in (("above", 0.33333333333333337, 2), ("equal", 0.1, 10)):
        ledger.open(source, epsilon=1, delta=0, repeated=True)
        for _ in range(fits):
            ledger.charge(source, "zealous", pure(third))
        with pytest.raises(BudgetError):
            ledger.charge(source, "zealous", pure(third))


def test_a_first_release_that_is_too_large_is_refused(repeated: Ledger) -> None:
    for too_large in (pure(1.6), approximate(0.1, 2e-3)):
        with pytest.raises(BudgetError, match="short by"):
            repeated.charge(SOURCE, "zealous", too_large)
    assert repeated.budget(SOURCE).events == ()


# -- periods -------------------------------------------------------------------------------------------------


def test_a_budget_for_each_day_counts_days_apart_and_a_person_over_all(tmp_path: Path) -> None:
    file = str(tmp_path / "x.db")
    assert "for each user-day" in words(
        "open", file, "--source", SOURCE, "--epsilon", "1", "--delta", "1e-6", "--unit", "user-day"
    )
    ledger = Ledger(file)
    for day in ("2026-01-01", "2026-01-02", "2026-01-03"):
        ledger.charge(SOURCE, "zealous", pure(0.75), period=day)
    ledger.charge(SOURCE, "zealous", pure(0.25), period="2026-01-02")
    with pytest.raises(BudgetError, match=r"short by epsilon 0\.25"):
        ledger.charge(SOURCE, "zealous", pure(0.5), period="2026-01-01")
    with pytest.raises(UsageError, match="this release is of no period"):
        ledger.charge(SOURCE, "zealous", pure(0.1))
    for other in ("2026-1-1", "2026-01-1", "20260101", "1 January", "2026-02-30"):  # a day has one budget
        with pytest.raises(UsageError, match="there is no such day"):
            ledger.charge(SOURCE, "zealous", pure(0.1), period=other)
    for longer, kind in (("2026-01", "month"), ("2026-W01", "week")):
        with pytest.raises(UsageError, match=f"this release is of a {kind}"):
            ledger.charge(SOURCE, "zealous", pure(0.1), period=longer)
    account = ledger.budget(SOURCE)
    assert (account.unit, account.spent.epsilon, account.left.epsilon) == ("user-day", 1.0, 0.0)
    assert account.every_sum.plain.epsilon == 2.5
    said = words("show", file, "--verbose")
    assert "spent epsilon 1 and delta 0, the sum of what each entry below counts as (in 2026-01-02" in said
    assert "for one person over all 3 periods" in said


def test_other_units_are_refused(tmp_path: Path) -> None:
    for unit in ("user-hour", "row"):
        done = command(
            *("ledger", "open", str(tmp_path / "x.db"), "--source", "a", "--epsilon", "1", "--delta", "0"),
            *("--unit", unit),
        )
        assert done.code == 2
    with pytest.raises(UsageError, match="keeps no share"):
        Ledger(str(tmp_path / "x.db")).open("a", epsilon=1, delta=1e-6, repeated=True, gaussian=0.5)
