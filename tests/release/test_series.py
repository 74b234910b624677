"""Recurring releases: a public calendar, periods cut at midnight UTC, budgets, crashes, and an index to check."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import shutil
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from markupsafe import escape

import queryveil as qv
from queryveil.catalog import Sentence
from queryveil.count import item_kinds
from queryveil.errors import BudgetError, CannotBeMet, UsageError
from queryveil.privacy import gaussian
from queryveil.release import clock
from queryveil.release.ledger.ledger import Ledger
from queryveil.release.series.calendar import Calendar
from queryveil.release.series.promise import repeated
from queryveil.verification import composed
from tests.command import command

FIRST = dt.datetime(2026, 1, 1)
STEERED = qv.Steered(epsilon=4, delta=1e-6, max_items=3, items=("queries",))


def log(users: tuple[int, ...] = (60, 0, 70)) -> qv.SearchLog:
    """So many users on each day, who all pose two queries, the second after midnight for one of them."""
    rows = [
        (f"u{user}", FIRST + dt.timedelta(days=day, hours=9, minutes=minute), query)
        for day, many in enumerate(users)
        for user in range(many)
        for minute, query in enumerate(["weather", "flu symptoms"])
    ]
    user, time, query = zip(*rows, strict=True)
    return qv.read(pa.table({"user": list(user), "time": list(time), "query": list(query)}))


def published(out: Path, **changed: Any) -> qv.Series:
    asked: dict[str, Any] = {"name": "daily", "period": "day", "start": "2026-01-01", "end": "2026-01-03"}
    return qv.publish_series(log(), STEERED, out=out, **{**asked, **changed})


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return published(tmp_path_factory.mktemp("series") / "daily").path


@pytest.fixture
def copy(series: Path, tmp_path: Path) -> Path:
    return shutil.copytree(series, tmp_path / "daily")


# -- before anything is read ---------------------------------------------------------------------------------


def test_a_plan_says_what_the_series_then_promises_and_charges(tmp_path: Path) -> None:
    book = Ledger(str(tmp_path / "budget.db"))
    book.open("web", epsilon=9, delta=1e-4, neighbours="add-remove-one-user")
    asked: dict[str, Any] = {"period": "day", "start": "2026-01-01", "end": "2026-01-03"}
    plan = qv.plan_series(STEERED, ledger=book, source="web", **asked)
    assert plan.periods == ("2026-01-01", "2026-01-02", "2026-01-03")
    assert book.budget("web").events == (), "a plan charges nothing"
    made = published(tmp_path / "daily", ledger=book, source="web", about=qv.About(title="By day"))
    assert made.promise == plan.promise
    assert book.budget("web").spent == plan.after.spent and plan.before.events == ()
    assert qv.load(made.releases["2026-01-02"]).about.title == "By day, 2026-01-02"
    with pytest.raises(BudgetError, match="charges 31 times"):
        qv.plan_series(STEERED, ledger=book, source="web", **asked | {"end": "2026-01-31"})
    with pytest.raises(UsageError, match="ends before it begins"):
        qv.plan_series("steered", epsilon=1, delta=1e-6, **asked | {"end": "2025-12-31"})


# -- the calendar --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("period", "first", "last", "names"),
    [
        ("day", "2024-02-28", "2024-03-01", ["2024-02-28", "2024-02-29", "2024-03-01"]),
        ("week", "2025-12-29", "2026-01-11", ["2026-W01", "2026-W02"]),
        ("month", "2025-12-01", "2026-02-28", ["2025-12", "2026-01", "2026-02"]),
    ],
)
def test_periods_follow_each_other_without_a_gap(
    period: str, first: str, last: str, names: list[str]
) -> None:
    found = Calendar.of(period, first, last).periods()
    assert [one.name for one in found] == names
    assert [one.after for one in found[:-1]] == [one.first for one in found[1:]]
    assert (found[0].first.isoformat(), found[-1].after - dt.timedelta(days=1)) == (
        first,
        dt.date.fromisoformat(last),
    )


@pytest.mark.parametrize(
    ("period", "first", "last", "said"),
    [
        (
            "week",
            "2026-01-01",
            "2026-01-11",
            "begins within a week; pass start='2025-12-29' or start='2026-01-05'",
        ),
        ("week", "2026-01-05", "2026-01-10", "ends within a week; pass end='2026-01-11'"),
        ("month", "2026-01-02", "2026-01-31", "begins within a month"),
        ("day", "2026-01-02", "2026-01-01", "ends before it begins"),
        ("day", "1900-01-01", "2026-01-01", "more than 3,700 periods"),
        ("day", "yesterday", "2026-01-01", "start is not a date"),
        ("day", None, "2026-01-01", "a series needs start"),
        ("dya", "2026-01-01", "2026-01-01", "did you mean day?"),
    ],
)
def test_a_calendar_that_is_none_is_refused(period: str, first: Any, last: str, said: str) -> None:
    with pytest.raises(UsageError) as refusal:
        Calendar.of(period, first, last)
    assert said in str(refusal.value)


def test_rows_belong_to_one_period_and_sessions_and_pairs_end_with_it() -> None:
    midnight = FIRST + dt.timedelta(days=1)
    times = [midnight - dt.timedelta(minutes=2), midnight - dt.timedelta(microseconds=1), midnight]
    table = pa.table(
        {"user": ["a"] * 3, "time": times, "query": ["one", "two", "three"], "session": ["s"] * 3}
    )
    for given in (table, table.drop(["session"])):
        whole = qv.read(given)
        parts = [whole.between(FIRST, midnight), whole.between(midnight, midnight + dt.timedelta(days=1))]
        assert [one.rows for one in parts] == [2, 1] and [one.users for one in parts] == [1, 1]

        def pairs(one: qv.SearchLog) -> list[tuple[str, str]]:
            found = one.engine.arrow(item_kinds.kind("query-pairs").rows(one)).to_pylist()
            return sorted((row["query"], row["next_query"]) for row in found)

        assert pairs(whole) == [("one", "two"), ("two", "three")]
        assert [pairs(one) for one in parts] == [[("one", "two")], []]


# -- periods that have not ended, and logs that end too early ------------------------------------------------


def set_clock(monkeypatch: pytest.MonkeyPatch, now: str) -> None:
    monkeypatch.setattr(clock, "utc_now", lambda: dt.datetime.fromisoformat(now).replace(tzinfo=dt.UTC))


def test_a_period_that_has_not_ended_is_refused_before_the_log_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    book = Ledger(str(tmp_path / "budget.db"))
    book.open("web", epsilon=30, delta=1e-4, neighbours="add-remove-one-user")
    charged: dict[str, Any] = {"ledger": book, "source": "web"}
    set_clock(monkeypatch, "2026-01-03T23:59:59")
    with pytest.raises(UsageError, match=r"end='2026-01-02'"):
        qv.plan_series(STEERED, period="day", start="2026-01-01", end="2026-01-03", **charged)
    with pytest.raises(UsageError, match=r"end='2026-01-02'"):
        published(tmp_path / "daily", **charged)
    months = ["--series", "monthly", "--period", "month", "--from", "2025-12-01", "--to", "2026-02-28"]
    given = ["publish", "steered", str(tmp_path / "no-such-log.tsv"), "--epsilon", "1", "--delta", "1e-7"]
    refused = command(*given, *months, "--out", str(tmp_path / "daily"))
    assert refused.code == 2 and "--to 2025-12-31" in refused.err
    assert not book.budget("web").events and not (tmp_path / "daily").exists()
    set_clock(monkeypatch, "2026-01-04T00:00:00")
    assert published(tmp_path / "daily", **charged).complete and len(book.budget("web").events) == 3


@pytest.mark.parametrize(("period", "end"), [("day", "2026-01-04"), ("month", "2026-01-31")])
def test_a_log_that_ends_before_its_last_period_is_refused_unless_that_is_allowed(
    period: str, end: str, tmp_path: Path
) -> None:
    """The log's last row is of January 3."""
    book = Ledger(str(tmp_path / "budget.db"))
    book.open("web", epsilon=30, delta=1e-4, neighbours="add-remove-one-user")
    asked: dict[str, Any] = {"period": period, "end": end, "ledger": book, "source": "web"}
    with pytest.raises(CannotBeMet, match="allow_incomplete_period=True"):
        published(tmp_path / "out", **asked)
    assert not book.budget("web").events and not (tmp_path / "out").exists()
    made = published(tmp_path / "out", allow_incomplete_period=True, **asked)
    assert made.complete and len(made.warnings) == 1
    assert len(book.budget("web").events) == len(made.releases)
    assert qv.verify(made.path).passes
    assert published(tmp_path / "whole").warnings == (), "a row on the last day is enough"


# -- what is published ---------------------------------------------------------------------------------------


def test_every_period_is_a_release_an_empty_one_too(series: Path) -> None:
    content = json.loads((series / "series.json").read_text())
    assert [(one["period"], one["released"]["items"]) for one in content["periods"]] == [
        ("2026-01-01", 2),
        ("2026-01-02", 0),
        ("2026-01-03", 2),
    ]
    assert content["complete"] and content["calendar"]["time_zone"] == "UTC"
    assert [one["item"] for one in content["over_time"]["items"]] in (
        ["weather", "flu symptoms"],
        ["flu symptoms", "weather"],
    )
    assert set(content["over_time"]["items"][0]["counts"]) == {"2026-01-01", "2026-01-03"}
    for one in content["periods"]:
        assert qv.verify(series / one["folder"]).passes
    found = qv.verify(series)
    assert found.passes, [check.detail for check in found.failed]
    assert sum(check.name.startswith("release ") for check in found.checks) == 3


def test_the_index_holds_only_what_is_published_and_the_rest_is_private(series: Path) -> None:
    assert {one.name for one in series.iterdir()} == {
        "series.json",
        "index.html",
        "2026-01-01",
        "2026-01-02",
        "2026-01-03",
    }
    private = series.with_name("daily.private")
    assert stat.S_IMODE(private.stat().st_mode) == 0o700
    facts = json.loads((private / "curator.json").read_text())
    assert (facts["rows"], facts["users"], facts["rows_outside"]) == (260, 70, 0)
    assert stat.S_IMODE((private / "curator.json").stat().st_mode) == 0o600


def test_the_page_says_the_guarantee_first_and_draws_the_figures(series: Path) -> None:
    page = (series / "index.html").read_text()
    said = page.index("This series protects a person over all 3 days together: epsilon")
    assert said < page.index("single day have stronger protection") < page.index("<figure>")
    assert page.count("<figure>") == 2 and 'href="2026-01-02/report.html"' in page


ABOUT = {
    "title": "Searches by day",
    "publisher": "Example Search",
    "contact": "data@example.org",
    "licence": "CC-BY-4.0",
    "purpose": "research on spelling",
    "language": "en",
    "citation": "Example Search (2026), Searches by day",
}


def test_every_release_and_the_index_say_who_publishes_them(tmp_path: Path) -> None:
    made = published(tmp_path / "daily", about=qv.About(**ABOUT))
    assert made.content["about"] == {**ABOUT, "period": "2026-01-01/2026-01-03"}
    page = (made.path / "index.html").read_text(encoding="utf-8")
    assert "<h1>Searches by day</h1>" in page
    for text in (*list(ABOUT.values())[1:], "In the publisher's own words"):
        assert escape(text) in page, text
    for period, folder in made.releases.items():
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        assert manifest["about"] == {**ABOUT, "title": f"Searches by day, {period}", "period": period}
        sheet = (folder / "DATASHEET.md").read_text(encoding="utf-8")
        assert f"Searches by day, {period}" in sheet and "data@example.org" in sheet
        assert "CC-BY-4.0" in (folder / "CITATION.cff").read_text(encoding="utf-8")
        for document in folder.iterdir():
            if document.suffix in (".md", ".cff", ".html"):
                # What a form would leave to be written by hand.
                text = re.sub(
                    r"<style>.*?</style>", "", document.read_text(encoding="utf-8"), flags=re.DOTALL
                )
                assert not re.search(r"\[[A-Za-z ]+\](?!\()", text), document
    assert qv.verify(made.path).passes


def test_a_release_that_says_something_else_than_its_series_shows(tmp_path: Path) -> None:
    made = published(tmp_path / "daily", about=qv.About(**ABOUT))
    index = made.path / "series.json"
    content = json.loads(index.read_text(encoding="utf-8"))
    content["about"]["publisher"] = "Somebody Else"
    index.write_text(json.dumps(content), encoding="utf-8")
    failed = {one.name for one in qv.verify(made.path).failed}
    assert {"series-alike", "series-page"} <= failed
    with pytest.raises(qv.UsageError, match="begun with another about"):
        published(made.path, about=qv.About(**ABOUT), resume=True)


def test_the_guarantee_of_a_person_and_of_a_period() -> None:
    one = STEERED.plan().guarantee
    found = repeated(one, STEERED.plan().draws, 30)
    assert found.mu == pytest.approx(30**0.5 * one.mu) and found.delta == pytest.approx(3e-5)
    assert found.epsilon == pytest.approx(gaussian.epsilon_of(found.mu, found.p, found.delta))
    zealous = qv.Zealous(epsilon=0.2, delta=1e-8, max_items=5).plan(users=1000)
    together = repeated(zealous.guarantee, zealous.draws, 30)
    assert together.delta == pytest.approx(6e-7) and together.epsilon < 0.75 * 30 * 0.2
    pure = qv.ProfileHistogram(epsilon=0.1, max_queries=1, domain="disease").plan()
    assert repeated(pure.guarantee, pure.draws, 30).headline.startswith("epsilon 3, if one user's history")


def test_a_weaker_unit_says_that_it_is_weaker_and_what_a_month_means(tmp_path: Path) -> None:
    found = published(tmp_path / "out", unit="user-day", end="2026-01-02")
    first, then = found.promise.sentences()
    assert (first.id, then.id) == ("series.period", "series.period.whole")
    assert first.fields["headline"].fields["compared"].id == "compared.period.add-remove"
    # For a reader of all days, the figure of one day is about one day, and for whoever knows the others.
    words = first.fields["words"].fields
    assert words["searches"].id == "scope.searches.day" and words["example"].id == "example.period"
    assert words["amount"].fields["scope"].id == "scope.series"
    assert then.fields["periods"].fields == {"number": 2}
    assert found.promise.stated == found.promise.one == STEERED.plan().guarantee
    assert "card warn" in (found.path / "index.html").read_text()
    assert qv.verify(found.path).passes


@pytest.mark.parametrize("unit", ["user", "user-period"])
def test_a_series_of_probabilistic_releases_promises_what_they_imply(unit: str, tmp_path: Path) -> None:
    """One bad set for every neighbour would have to hold those of all periods: delta n times."""
    zealous = qv.Zealous(epsilon=1, delta=1e-4, max_items=1, guarantee="probabilistic")
    made = qv.publish_series(
        log((0, 40)), zealous, name="x", period="day", start="2026-01-01", end="2026-01-02",
        out=tmp_path / "out", users=500, unit=unit,
    )  # fmt: skip
    one, own = made.promise.one, zealous.plan(users=500).guarantee
    assert own.kind == "probabilistic-dp" and own.implies is not None
    assert one.bare == own.implies and made.promise.whole.kind == "approximate-dp"
    assert made.promise.whole.delta <= 4 * own.implies.delta
    assert "probabilistic differential privacy" not in (made.path / "index.html").read_text()
    found = qv.verify(made.path)
    assert found.passes, [check.detail for check in found.failed]
    content = json.loads((made.path / "series.json").read_text())
    content["guarantee"]["one_period"] = own.as_dict()
    (made.path / "series.json").write_text(json.dumps(content))
    assert {"series-alike", "series-guarantee"} <= {check.name for check in qv.verify(made.path).failed}


PRIVATE: dict[str, dict[str, Any]] = {
    "steered": {},
    "weighted-gaussian": {},
    "zealous": {"users": 500},
    "click-graph": {},
    "truncated-geometric": {},
}


@pytest.mark.parametrize("name", PRIVATE)
def test_methods_that_publish_noisy_counts_make_a_series_that_verifies(name: str, tmp_path: Path) -> None:
    cls = qv.MECHANISMS[name]
    made = qv.publish_series(
        log((0, 40)), cls(**cls.example), name="x", period="day", start="2026-01-01", end="2026-01-02",
        out=tmp_path / "out", i_understand=True, **PRIVATE[name],
    )  # fmt: skip
    assert made.content["periods"][0]["released"] == dict.fromkeys(made.content["periods"][0]["released"], 0)
    found = qv.verify(made.path)
    assert found.passes, [check.detail for check in found.failed]


@pytest.mark.parametrize(
    ("method", "said"),
    [
        (qv.Zealous(epsilon=1, delta=1e-6, max_items=1), "must not tell how many users a period has"),
        (qv.ProfileHistogram(epsilon=1, max_queries=1, domain="disease"), "has rows for every user"),
        (qv.Semantic(epsilon=1, pad=True, max_phrases=1), "has rows for every user"),
        (qv.KQuery(k=3), "a series needs releases that add up"),
        (qv.Semantic(epsilon=1), "a series needs releases that add up"),
        (qv.Steered(epsilon=1, delta=5e-4, max_items=1), "over 3 days delta"),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
def test_what_cannot_be_promised_over_several_periods_is_refused(
    method: qv.Mechanism, said: str, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as refusal:
        qv.publish_series(
            log(), method, name="x", period="day", start="2026-01-01", end="2026-01-03", out=tmp_path / "out"
        )
    assert said in str(refusal.value) and not (tmp_path / "out").exists()


def test_a_period_with_more_users_than_declared_stops_the_series_before_it_begins(tmp_path: Path) -> None:
    zealous = qv.Zealous(epsilon=1, delta=1e-6, max_items=1)
    with pytest.raises(CannotBeMet, match="more than the 65 users"):
        qv.publish_series(
            log(), zealous, name="x", period="day", start="2026-01-01", end="2026-01-03", out=tmp_path / "o", users=65
        )  # fmt: skip
    assert not (tmp_path / "o").exists()


def test_a_log_without_a_row_in_these_days_stops_the_series_before_it_is_charged(
    ledger: Ledger, tmp_path: Path
) -> None:
    ledger.open("web", epsilon=30, delta=1e-3, neighbours="add-remove-one-user")
    wrong_year = {"start": "2002-01-01", "end": "2002-01-02", "ledger": ledger, "source": "web"}
    with pytest.raises(CannotBeMet, match="no row from 2002-01-01 to 2002-01-02; check start and end"):
        published(tmp_path / "out", **wrong_year)
    assert not (tmp_path / "out").exists() and not ledger.budget("web").events
    made = published(tmp_path / "out", allow_empty=True, **wrong_year)
    assert made.complete and len(ledger.budget("web").events) == 2


def test_the_curator_is_told_how_many_rows_are_of_other_days(tmp_path: Path) -> None:
    said: list[tuple[str, str]] = []
    published(tmp_path / "out", end="2026-01-01", told=lambda *words: said.append(words))
    assert ("read", "260 rows, 70 users, 0 rejected; 140 of the rows are of other days and left out") in said


def test_a_mistyped_unit_gets_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(qv.UsageError, match="did you mean user-day"):
        published(tmp_path / "out", unit="user-dya")


# -- the ledger ----------------------------------------------------------------------------------------------


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(str(tmp_path / "ledger.db"))


def test_each_period_is_charged_and_a_budget_that_would_end_in_the_middle_is_refused_first(
    ledger: Ledger, tmp_path: Path
) -> None:
    ledger.open("web", epsilon=5, delta=1e-5, neighbours="add-remove-one-user")
    with pytest.raises(BudgetError, match="the series charges 3 times") as refusal:
        published(tmp_path / "out", ledger=ledger, source="web", name="x", unit="user")
    assert refusal.value.exit_code == 4 and not ledger.budget("web").events
    assert not (tmp_path / "out").exists() and not (tmp_path / "out.private").exists()
    with pytest.raises(BudgetError, match="which no epsilon covers at delta 1e-05") as refusal:
        published(tmp_path / "out", end="2026-02-28", ledger=ledger, source="web")
    assert "Infinity" not in json.dumps(refusal.value.as_dict())
    ledger.open("more", epsilon=9, delta=1e-5, neighbours="add-remove-one-user")
    found = published(tmp_path / "other", ledger=ledger, source="more", recipe="daily.yaml")
    assert [(one.period, one.recipe) for one in ledger.budget("more").events] == [
        (day, "daily.yaml") for day in ("2026-01-01", "2026-01-02", "2026-01-03")
    ]
    assert ledger.budget("more").mu == pytest.approx(found.promise.whole.mu)


def test_a_budget_for_each_day_takes_a_series_by_day_that_promises_no_more(
    ledger: Ledger, tmp_path: Path
) -> None:
    ledger.open("days", epsilon=4, delta=1e-6, neighbours="add-remove-one-user", unit="user-day")
    ledger.open("weeks", epsilon=4, delta=1e-6, neighbours="add-remove-one-user", unit="user-week")
    with pytest.raises(UsageError, match="the series promises more"):
        published(tmp_path / "a", ledger=ledger, source="days")
    with pytest.raises(UsageError, match="the series is by day"):
        published(tmp_path / "b", ledger=ledger, source="weeks", unit="user-period")
    published(tmp_path / "c", ledger=ledger, source="days", unit="user-period")
    account = ledger.budget("days")
    assert account.spent.epsilon == 4 and len(account.periods) == 3
    assert 4 < account.together.epsilon < 12
    with pytest.raises(BudgetError):
        published(tmp_path / "d", ledger=ledger, source="days", unit="user-period")


def test_what_is_charged_for_a_period_is_of_that_period_alone(ledger: Ledger, tmp_path: Path) -> None:
    """Under a budget for each day a release of the whole log must not pass for that of one day."""
    ledger.open("days", epsilon=4, delta=1e-6, neighbours="add-remove-one-user", unit="user-day")
    asked: dict[str, Any] = {"ledger": ledger, "source": "days", "allow_empty": True}
    empty = qv.publish(log(), STEERED, period="2026-01-02", **asked)
    assert empty.released == {"items": 0} and empty.private["curator"]["rows"] == 0
    other = qv.publish(log(), STEERED, period="2026-01-03", **asked)
    assert other.private["curator"]["users"] == 70
    with pytest.raises(UsageError, match="must not tell how many users a period has"):
        qv.publish(log(), qv.Zealous(epsilon=1, delta=1e-6, max_items=1), period="2026-01-01", **asked)
    with pytest.raises(UsageError, match="has rows for every user"):
        method = qv.ProfileHistogram(epsilon=1, max_queries=1, domain="disease")
        qv.publish(log(), method, period="2026-01-01", **asked)
    with pytest.raises(UsageError, match="there is no such day"):
        qv.publish(log(), STEERED, period="monday", **asked)
    assert [one.period for one in ledger.budget("days").events] == ["2026-01-02", "2026-01-03"]


# -- cut short -----------------------------------------------------------------------------------------------


def test_a_series_that_was_cut_short_goes_on_and_pays_again_for_what_was_lost(
    ledger: Ledger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger.open("web", epsilon=100, delta=1e-3, neighbours="add-remove-one-user")
    out, protect = tmp_path / "out", qv.Steered.protect
    days: list[int] = []

    def once(self: qv.Steered, part: qv.SearchLog, run: Any) -> Any:
        days.append(part.users)
        if len(days) == 2:
            raise KeyboardInterrupt  # after the charge of the second day
        return protect(self, part, run)

    monkeypatch.setattr(qv.Steered, "protect", once)
    with pytest.raises(KeyboardInterrupt):
        published(out, ledger=ledger, source="web")
    assert sorted(one.name for one in out.iterdir()) == ["2026-01-01", "index.html", "series.json"]
    assert qv.verify(out / "2026-01-01").passes
    whole = qv.verify(out)
    (check,) = whole.failed
    said = Sentence("verify.series.of-periods-are-missing-was-cut", missing=2, planned=3)
    assert (check.name, check.detail) == ("series-calendar", said)
    first = (out / "2026-01-01" / "manifest.json").read_bytes()
    with pytest.raises(UsageError, match="holds a series already; go on with it by resume=True"):
        published(out, ledger=ledger, source="web")
    with pytest.raises(UsageError, match="was begun with another unit"):
        published(out, ledger=ledger, source="web", unit="user-period", resume=True)
    with pytest.raises(UsageError, match="was begun with another to"):
        published(out, ledger=ledger, source="web", end="2026-01-02", resume=True)
    assert len(ledger.budget("web").events) == 2
    done = published(out, ledger=ledger, source="web", resume=True)
    assert done.complete and qv.verify(out).passes
    assert (out / "2026-01-01" / "manifest.json").read_bytes() == first
    assert [one.period for one in ledger.budget("web").events] == [
        "2026-01-01",
        "2026-01-02",
        "2026-01-02",
        "2026-01-03",
    ]
    with pytest.raises(UsageError, match="no series"):
        published(tmp_path / "none", resume=True)


def test_a_release_that_appeared_before_the_index_knew_is_kept(copy: Path) -> None:
    content = json.loads((copy / "series.json").read_text())
    content["periods"].pop()
    (copy / "series.json").write_text(json.dumps(content))
    before = (copy / "2026-01-03" / "manifest.json").read_bytes()
    assert published(copy, resume=True).complete and qv.verify(copy).passes
    assert (copy / "2026-01-03" / "manifest.json").read_bytes() == before


def test_a_period_that_was_published_and_is_gone_is_not_drawn_again(copy: Path) -> None:
    content = json.loads((copy / "series.json").read_text())
    content["periods"].pop()
    (copy / "series.json").write_text(json.dumps(content))
    shutil.rmtree(copy / "2026-01-03")  # cut short before the third day
    kept = copy.with_name("moved")
    (copy / "2026-01-01").rename(kept)  # and the first was moved to where it is read
    with pytest.raises(UsageError, match="has published 2026-01-01 already") as refusal:
        published(copy, resume=True)
    assert "put it back" in str(refusal.value) and not (copy / "2026-01-03").exists()
    kept.rename(copy / "2026-01-01")
    assert published(copy, resume=True).complete and qv.verify(copy).passes


def test_a_series_of_known_noise_does_not_go_on_as_a_private_one(tmp_path: Path) -> None:
    class Known(qv.Noise):
        """Whatever is not the system's own generator may be known to somebody."""

    published(tmp_path / "out", noise=Known(), i_understand=True)
    shutil.rmtree(tmp_path / "out" / "2026-01-03")
    with pytest.raises(UsageError, match="was begun with another guarantee"):
        published(tmp_path / "out", resume=True)


# -- what was changed shows ----------------------------------------------------------------------------------


def edited(change: Callable[[dict[str, Any]], Any]) -> Callable[[Path], None]:
    def act(series: Path) -> None:
        content = json.loads((series / "series.json").read_text())
        change(content)
        (series / "series.json").write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n")

    return act


TAMPERED: dict[str, tuple[Callable[[Path], Any], str]] = {
    "epsilon": (edited(lambda one: one["guarantee"]["whole_series"].update(epsilon=0.1)), "series-guarantee"),
    "mu": (edited(lambda one: one["guarantee"]["whole_series"].update(mu=0.1)), "series-guarantee"),
    "unit": (edited(lambda one: one["guarantee"].update(unit="user-period")), "series-index"),
    "sentence": (edited(lambda one: one["guarantee"]["sentences"].reverse()), "series-index"),
    "one": (edited(lambda one: one["guarantee"]["one_period"].update(epsilon=1)), "series-alike"),
    "count": (edited(lambda one: one["periods"][0]["totals"].update(items=1)), "series-index"),
    "over": (edited(lambda one: one["over_time"]["items"][0].update(item="secret")), "series-index"),
    "period": (edited(lambda one: one["periods"].pop(1)), "series-calendar"),
    "calendar": (edited(lambda one: one["calendar"].update(to="2026-01-04")), "series-calendar"),
    "digest": (edited(lambda one: one["periods"][0].update(manifest_sha256="0" * 64)), "series-digests"),
    "link": (edited(lambda one: one["periods"][0].update(folder="../x")), "release"),
    "key": (edited(lambda one: one.update(salt="x")), "series-index"),
    "name": (edited(lambda one: one.update(name="other")), "series-page"),
    "page": (lambda one: (one / "index.html").write_text("<p>x</p>"), "series-page"),
    "stray": (lambda one: (one / "raw.csv").write_text("x"), "series-folder"),
    "table": (lambda one: (one / "2026-01-01" / "items.parquet").write_bytes(b"x"), "release 2026-01-01"),
    "gone": (lambda one: shutil.rmtree(one / "2026-01-02"), "release 2026-01-02"),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_what_was_changed_shows(copy: Path, name: str) -> None:
    act, expected = TAMPERED[name]
    act(copy)
    assert expected in [check.name for check in qv.verify(copy).failed]


def test_a_missing_release_is_said_to_be_missing(copy: Path) -> None:
    shutil.rmtree(copy / "2026-01-02")
    said = {check.name: check.detail for check in qv.verify(copy).failed}
    assert said["release 2026-01-02"] == "its folder is missing"
    assert "series-index" in said
    assert said["series-digests"] == "'2026-01-02' has no release"


def test_a_total_by_coins_is_computed_anew(tmp_path: Path) -> None:
    """Of ZEALOUS over 30 days: epsilon is far below the sum, and a little less no longer follows."""
    plan = qv.Zealous(epsilon=0.2, delta=1e-8, max_items=5).plan(users=1000)
    one, draws = plan.guarantee.as_dict(), [draw.as_dict() for draw in plan.draws]
    whole = repeated(plan.guarantee, plan.draws, 30)
    assert whole.epsilon < 0.75 * 30 * 0.2
    assert list(composed.findings(one, draws, whole.as_dict(), 30)) == []
    for changed in ({"epsilon": whole.epsilon * 0.98}, {"delta": 1e-7}, {"kind": "pure-dp"}, {"unit": "row"}):
        assert list(composed.findings(one, draws, whole.as_dict() | changed, 30))
    pair = [draws[0], draws[0]]
    double = repeated(plan.guarantee + plan.guarantee, [*plan.draws, *plan.draws], 30)
    stated = (plan.guarantee + plan.guarantee).as_dict()
    assert list(composed.findings(stated, pair, double.as_dict(), 30)) == []
    assert list(composed.findings(stated, pair, double.as_dict() | {"epsilon": double.epsilon * 0.98}, 30))


# -- the command ---------------------------------------------------------------------------------------------


def test_the_command_publishes_and_verifies_a_series(tmp_path: Path) -> None:
    import pyarrow.parquet as pq

    given = log()
    pq.write_table(given.engine.arrow(given.source), tmp_path / "log.parquet")
    asked = ["publish", "steered", str(tmp_path / "log.parquet"), "--epsilon", "4", "--delta", "1e-6"]
    asked += ["--items", "queries", "--max-items", "3", "--out", str(tmp_path / "out")]
    when = ["--period", "day", "--from", "2026-01-01", "--to", "2026-01-03"]
    for missing in ("--period", "--from", "--to"):
        at = when.index(missing)
        refused = command(*asked, "--series", "daily", *when[:at], *when[at + 2 :])
        assert refused.code == 2 and missing in refused.err
    assert command(*asked, "--from", "2026-01-01").code == 2
    assert command(*asked, "--allow-incomplete-period").code == 2
    said = ("--about", "title=By day", "--about", "publisher=Example Search")
    assert "is not NAME=TEXT" in command(*asked, "--series", "daily", *when, "--about", "title").err
    claimed = command(*asked, "--series", "daily", *when, "--about", "title=By day, epsilon 0.1")
    assert claimed.code == 2 and "states itself" in claimed.err and not (tmp_path / "out").exists()
    done = command(*asked, "--series", "daily", *when, "--unit", "user-period", *said, "--json")
    assert done.code == 0, done.err
    third = json.loads((tmp_path / "out" / "2026-01-03" / "manifest.json").read_text(encoding="utf-8"))
    assert third["about"] == {
        "title": "By day, 2026-01-03",
        "publisher": "Example Search",
        "period": "2026-01-03",
    }
    assert done.document["complete"] and [one["released"] for one in done.document["periods"]] == [
        {"items": 2},
        {"items": 0},
        {"items": 2},
    ]
    assert done.document["guarantee"]["unit"] == "user-period"
    assert command("release", "verify", str(tmp_path / "out")).code == 0
    unread = command("release", "verify", str(tmp_path / "out"), "--key", str(tmp_path / "missing.pub"))
    assert unread.code == 3 and "there is no key file" in unread.err
    os.remove(tmp_path / "out" / "index.html")  # noqa: PTH107
    assert command("release", "verify", str(tmp_path / "out")).code == 1


def test_what_needs_no_log_is_refused_before_it_is_read(tmp_path: Path) -> None:
    """A missing file would be exit 3: the log is not opened before dates, promise, output and budget are right."""
    ledger = tmp_path / "ledger.db"
    book = Ledger(str(ledger))
    book.open("web", epsilon=1, delta=1e-6)
    common = [
        *("publish", "steered", str(tmp_path / "no-such-log.tsv"), "--epsilon", "1", "--delta", "1e-7"),
        *("--series", "daily", "--period", "day", "--from", "2026-01-01"),
    ]
    charged = ("--ledger", str(ledger), "--source", "web")
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").write_text("x")
    for to, out, more, code, said in (
        ("2025-12-01", "new", (), 2, "ends before it begins"),
        ("2026-01-32", "new", (), 2, "--to is not a date"),
        ("2026-01-03", "new", charged, 4, "left for 'web'"),
        ("2026-01-03", "new", ("--ledger", str(ledger), "--source", "Web"), 2, "did you mean web?"),
        ("2026-01-03", "new", ("--resume",), 2, "no series"),
        ("2026-01-03", "taken", (), 2, "exists already"),
        ("2026-01-03", "new", (), 3, "no file or folder"),
    ):
        done = command(*common, "--to", to, "--out", str(tmp_path / out), *more)
        assert (done.code, said in done.err) == (code, True), (to, out, more, done.code, done.err)
        assert not (tmp_path / "new").exists()
    assert not book.budget("web").events
    read = []
    with pytest.raises(BudgetError):
        qv.publish_series(
            lambda: read.append(1) or log(),  # type: ignore[func-returns-value]
            STEERED,
            name="daily",
            period="day",
            start="2026-01-01",
            end="2026-01-03",
            out=tmp_path / "new",
            ledger=ledger,
            source="web",
        )
    assert not read
