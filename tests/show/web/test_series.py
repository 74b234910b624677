"""A series from the workbench: planned in words, charged period by period, shown, and taken up again."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any
from unittest import mock

import pytest

import queryveil as qv
from tests.show.web.conftest import Starter, Visitor
from tests.show.web.test_design import confirmed

SETTING = {"method": "steered", "epsilon": "2", "delta": "1e-6", "items": "queries"}
SERIES = {"every": "day", "first": "2026-01-01", "last": "2026-01-03", "unit": "user"}


def asked(log: str, **more: str) -> str:
    return f"/publish/{log}?" + "&".join(
        f"{name}={value}" for name, value in (SETTING | SERIES | more).items()
    )


def budgeted(visitor: Visitor, log: str, epsilon: str = "9", **more: str) -> None:
    given = {"source": "people", "budget_epsilon": epsilon, "budget_delta": "1e-4"} | more
    visitor.look(asked(log))
    answer = visitor.submit(f"/publish/{log}/budget", SETTING | SERIES | given)
    assert answer.status_code == 200 and answer.url.params["every"] == "day", "what was chosen is kept"


def begun(visitor: Visitor, log: str, name: str = "daily", **more: str) -> Any:
    given = {"source": "people", "name": name, "confirmed": "yes", "title": "By day"} | more
    return visitor.submit(f"/publish/{log}", SETTING | SERIES | given)


def test_a_series_is_planned_published_shown_and_downloaded(start: Starter) -> None:
    visitor = start()
    log = confirmed(visitor)
    assert "Choose the first and the last day" in visitor.look(asked(log, first="")).text
    budgeted(visitor, log)
    shown = visitor.look(asked(log, source="people")).text
    assert "protects a person over all 3 days together" in shown and "After the series" in shown
    assert "--series" in shown and "qv.publish_series(" in shown
    done = visitor.waited(str(begun(visitor, log).url))
    assert done.url.path == "/series/daily" and "All 3 days are published" in done.text
    folder = visitor.bench.settings.releases / "daily"
    assert qv.verify(folder).passes
    assert qv.load(folder / "2026-01-02").about.title == "By day, 2026-01-02"
    events = qv.Ledger(visitor.bench.settings.ledger).budget("people").events
    assert [one.period for one in events] == ["2026-01-01", "2026-01-02", "2026-01-03"]
    packed = zipfile.ZipFile(io.BytesIO(visitor.get("/series/daily/series.zip").content))
    assert {"daily/series.json", "daily/2026-01-03/manifest.json"} <= set(packed.namelist())
    assert not [one for one in packed.namelist() if "private" in one or "curator" in one]
    assert "2026-01-02/report.html" in visitor.get("/series/daily/index.html").text
    report = visitor.get("/series/daily/2026-01-02/report.html")
    assert report.status_code == 200 and "sandbox" in report.headers["content-security-policy"]
    assert visitor.get("/series/daily/2026-01-09/report.html").status_code == 404
    assert visitor.get("/series/..%2Fhome0/series.zip").status_code == 404
    history = visitor.look("/history").text
    assert '<a href="/series/daily">daily</a>' in history and "all 3 days from 2026-01-01" in history


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"last": "2025-12-31"}, "The series ends before it begins"),
        ({"every": "week"}, "Pass from 2025-12-29 or from 2026-01-05"),
        ({"last": "soon"}, "To is not a date"),
        ({"first": "2025-01-01", "last": "2025-12-31"}, "The series charges 365 times"),
        ({"first": "2999-12-31", "last": "2999-12-31"}, "has not ended"),
        ({"most_users": "many"}, "not a number"),
        ({"method": "k-query", "k": "20"}, "A series needs releases that add up"),
    ],
)
def test_a_series_that_cannot_be_is_refused_before_anything_is_charged(
    start: Starter, changed: dict[str, str], sentence: str
) -> None:
    visitor = start()
    log = confirmed(visitor)
    budgeted(visitor, log)
    shown = visitor.look(asked(log, source="people", **changed))
    assert sentence in shown.text and "Charge the budget" not in shown.text
    refused = begun(visitor, log, **changed)
    assert refused.status_code in (400, 409) and "That did not work" in refused.text
    assert not qv.Ledger(visitor.bench.settings.ledger).budget("people").events


def test_a_budget_for_each_period_can_be_given(start: Starter) -> None:
    visitor = start()
    log = confirmed(visitor)
    budgeted(visitor, log, "3", unit="user-period", budget_unit="user-day")
    assert qv.Ledger(visitor.bench.settings.ledger).budget("people").unit == "user-day"
    shown = visitor.look(asked(log, source="people", unit="user-period")).text
    assert re.findall(r'data-sentence="([^"]+)"', shown) == ["series.period", "series.period.whole"]
    assert "Charge the budget and publish the series" in shown


def test_a_series_that_was_cut_short_goes_on(start: Starter) -> None:
    visitor = start()
    log = confirmed(visitor)
    budgeted(visitor, log, "30")
    # The job waits for a processor, and is canceled while it waits.
    with mock.patch.object(visitor.bench.jobs, "_begin_waiting"):
        job = re.search(r'data-job="(\w+)"', begun(visitor, log).text)[1]
        visitor.submit(f"/jobs/{job}/cancel", {"back": "/log"})

    def stop(stage: str, _: str) -> None:
        if stage == "write":
            raise KeyboardInterrupt

    chosen = visitor.bench.logs.find(log)
    settings = visitor.bench.settings
    told = dict.fromkeys(qv.About().missing, "not stated")
    told |= {"title": "By day", "period": "2026-01-01/2026-01-03"}
    with pytest.raises(KeyboardInterrupt):
        qv.publish_series(
            qv.read(chosen.path),
            qv.Steered(epsilon=2, delta=1e-6),
            name="daily",
            period="day",
            start="2026-01-01",
            end="2026-01-03",
            out=settings.releases / "daily",
            ledger=settings.ledger,
            source="people",
            about=qv.About(**told),
            told=stop,
        )
    history = visitor.look("/history").text
    assert 'href="/series/daily"' in history
    shown = visitor.look("/series/daily").text
    assert "of 3 days are published" in shown and "Go on with it" in shown
    answer = visitor.submit("/series/daily/resume")
    assert visitor.waited(str(answer.url)).url.path == "/series/daily"
    assert qv.verify(settings.releases / "daily").passes
    assert visitor.submit("/series/daily/resume").status_code == 404, "it is complete"
