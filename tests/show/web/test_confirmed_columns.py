"""Only the columns that a person confirmed are published, charged, and worked on, whatever other requests do."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import queryveil as qv
from tests.show.web.conftest import BASE, Starter, Visitor
from tests.show.web.test_log_and_risk import addresses

USERS = tuple(f"user{number}" for number in range(60))
QUERIES = tuple(f"query{number}" for number in range(60))
SETTING = {"method": "zealous", "epsilon": "50", "delta": "1e-4", "items": "queries", "max_items": "60"}
SETTING |= {"neighbours": "add-remove"}
RIGHT = {"column-user": "user", "column-query": "query"}
SWAPPED = {"column-user": "query", "column-query": "user"}


@pytest.fixture
def symmetric(tmp_path: Path) -> Path:
    """A folder with a log that could be published either way: each of 60 users searches for each of 60 queries."""
    folder = tmp_path / "symmetric"
    folder.mkdir()
    rows = [f"{user}\t{query}" for user in USERS for query in QUERIES]
    (folder / "log.tsv").write_text("\n".join(("user\tquery", *rows, "")))
    return folder


def another(visitor: Visitor, *, same_session: bool = False) -> Visitor:
    """Another browser in the same workbench, or another tab of the same one."""
    made = Visitor(visitor.app, base_url=BASE, raise_server_exceptions=False)
    if same_session:
        made.cookies.update(visitor.cookies)
    else:
        made.get(f"/open?token={visitor.bench.sessions.new_token()}")
    made.look("/log")
    return made


def swap(visitor: Visitor, log: str, columns: dict[str, str]) -> None:
    answer = visitor.submit(f"/log/{log}/read", columns, follow_redirects=False)
    assert answer.status_code == 303


def confirm(visitor: Visitor, log: str) -> None:
    """Confirm the right columns, and make sure that the swapped ones can be read too."""
    for columns in (SWAPPED, RIGHT):
        swap(visitor, log, columns)
        visitor.waited(f"/log/{log}")
    assert visitor.submit(f"/log/{log}/confirm").url.path == f"/risk/{log}"


def prepared(start: Starter, folder: Path) -> tuple[Visitor, str]:
    visitor = start(folders=(folder,))
    log = addresses(visitor)["log.tsv"].removeprefix("/log/")
    confirm(visitor, log)
    given = SETTING | {"source": "people", "budget_epsilon": "1000", "budget_delta": "0.1"}
    assert visitor.submit(f"/publish/{log}/budget", given).status_code == 200
    return visitor, log


def publish(visitor: Visitor, log: str, name: str) -> Any:
    given = SETTING | {"source": "people", "name": name, "confirmed": "yes", "understood": "yes"}
    return visitor.submit(f"/publish/{log}", given, follow_redirects=False)


def publication(visitor: Visitor, name: str) -> Any:
    return visitor.bench.jobs.latest("publish", name)


def wait_for(visitor: Visitor, log: str, name: str) -> Any:
    visitor.waited(f"/publish/{log}?job={publication(visitor, name).id}")
    return publication(visitor, name)


def published_queries(visitor: Visitor, name: str) -> set[str]:
    release = qv.load(visitor.bench.settings.releases / name)
    return set(next(iter(release.tables.values()))["query"].to_pylist())


@pytest.mark.parametrize("same_session", [False, True], ids=["another session", "another tab"])
def test_columns_swapped_in_a_loop_are_never_published(
    start: Starter, symmetric: Path, same_session: bool
) -> None:
    visitor, log = prepared(start, symmetric)
    other = another(visitor, same_session=same_session)
    stop = threading.Event()

    def swap_forever() -> None:
        while not stop.is_set():
            swap(other, log, SWAPPED)
            swap(other, log, RIGHT)

    swapping = threading.Thread(target=swap_forever)
    swapping.start()
    names: list[str] = []
    try:
        tries = 0
        while len(names) < 16:
            # Columns that another tab has just swapped are not confirmed, and the publication is refused.
            tries += 1
            assert tries < 2000
            name = f"r{len(names)}"
            answer = publish(visitor, log, name)
            assert answer.status_code == 303
            if "job=" in answer.headers["location"]:
                names.append(name)
                wait_for_room(visitor)
    finally:
        stop.set()
        swapping.join()
    swap(visitor, log, RIGHT)
    states = {name: wait_for(visitor, log, name).state for name in names}
    assert set(states.values()) == {"done"}
    for name in names:
        found = published_queries(visitor, name)
        assert found and found <= set(QUERIES), f"{name} publishes ids of users"
    assert len(qv.Ledger(visitor.bench.settings.ledger).budget("people").events) == 16


def wait_for_room(visitor: Visitor) -> None:
    """Wait while more publications are under way than are worked on at a time."""
    pause = threading.Event()
    while len(visitor.bench.jobs.running()) > 3:
        pause.wait(0.05)


@pytest.mark.parametrize("same_session", [False, True], ids=["another session", "another tab"])
def test_a_swap_in_the_middle_of_a_publication_changes_nothing(
    start: Starter, symmetric: Path, same_session: bool
) -> None:
    visitor, log = prepared(start, symmetric)
    other = another(visitor, same_session=same_session)
    after = qv.Ledger.after

    def swap_and_ask(*given: Any, **named: Any) -> Any:
        swap(other, log, SWAPPED)
        return after(*given, **named)

    with mock.patch.object(qv.Ledger, "after", swap_and_ask):
        publish(visitor, log, "one")
    swap(visitor, log, RIGHT)
    job = wait_for(visitor, log, "one")
    assert job.state == "done", job.error
    assert published_queries(visitor, "one") <= set(QUERIES)
    recipe = visitor.get("/releases/one/recipe.yaml").text
    assert "user: user" in recipe and "query: query" in recipe


def test_a_job_that_finds_other_columns_charges_nothing(start: Starter, symmetric: Path) -> None:
    visitor, log = prepared(start, symmetric)
    with mock.patch.object(visitor.bench.jobs, "_begin_waiting"):  # it waits for a processor
        publish(visitor, log, "one")
        file = publication(visitor, "one").folder / "spec.json"
        spec = json.loads(file.read_text())
        spec["log"]["options"]["columns"] = {"user": "query", "query": "user"}
        file.write_text(json.dumps(spec))
    job = wait_for(visitor, log, "one")
    assert job.state == "failed" and job.error["kind"] == "input" and not job.error["charged"]
    assert not qv.Ledger(visitor.bench.settings.ledger).budget("people").events


FORMS = {
    "/risk/{}": {},
    "/design/{}/pilot": {},
    "/design/{}/advise": {"purpose": "popular-queries", "epsilon": "1", "delta": "1e-6"},
    "/design/{}/keep": SETTING,
    "/publish/{}": SETTING | {"source": "people", "name": "x", "confirmed": "yes"},
    "/publish/{}/budget": SETTING | {"source": "new", "budget_epsilon": "1", "budget_delta": "1e-4"},
    "/attack/{}": {"attack": "exposure", "release": "one"},
}
PAGES = ("/risk/{}", "/design/{}", "/design/{}/preview", "/design/{}/curve", "/publish/{}", "/attack/{}")


@pytest.mark.parametrize("changed", ["never confirmed", "columns", "file"])
def test_no_work_starts_on_columns_that_were_not_confirmed(
    start: Starter, symmetric: Path, changed: str
) -> None:
    visitor, log = prepared(start, symmetric)
    publish(visitor, log, "one")
    job = wait_for(visitor, log, "one")
    assert job.state == "done", job.error
    jobs = {one.id for one in visitor.bench.jobs._all.values()}
    if changed == "never confirmed":
        visitor = another(visitor)
    elif changed == "columns":
        swap(visitor, log, SWAPPED)
    else:
        (symmetric / "log.tsv").write_text("user\tquery\n1\tcats\n2\tdogs\n")
    for address, given in FORMS.items():
        answer = visitor.submit(address.format(log), given, follow_redirects=False)
        assert (answer.status_code, answer.headers["location"].split("?")[0]) == (303, f"/log/{log}"), address
    for address in PAGES:
        answer = visitor.get(address.format(log), follow_redirects=False)
        assert (answer.status_code, answer.headers["location"].split("?")[0]) == (303, f"/log/{log}"), address
    assert {one.id for one in visitor.bench.jobs._all.values()} == jobs
    assert [one.source for one in qv.Ledger(visitor.bench.settings.ledger).show()] == ["people"]


def test_results_with_other_columns_are_not_shown(start: Starter, symmetric: Path) -> None:
    visitor, log = prepared(start, symmetric)
    for address in ("/risk/{}", "/design/{}/pilot"):
        visitor.submit(address.format(log))
    before = visitor.waited(f"/risk/{log}").text
    assert 'class="verdict"' in before
    visitor.waited(f"/design/{log}")
    assert visitor.get(f"/design/{log}/preview", params=SETTING).json()["figures"] is not None
    swap(visitor, log, SWAPPED)
    visitor.waited(f"/log/{log}")
    assert visitor.submit(f"/log/{log}/confirm").url.path == f"/risk/{log}"
    assert 'class="verdict"' not in visitor.look(f"/risk/{log}").text
    assert visitor.get(f"/design/{log}/preview", params=SETTING).json()["figures"] is None


# -- series --------------------------------------------------------------------------------------------------

DAYS = {"every": "day", "first": "2026-01-01", "last": "2026-01-03", "unit": "user"}
STEERED = {"method": "steered", "epsilon": "2", "delta": "1e-6", "items": "queries"}


@pytest.fixture
def dated(tmp_path: Path) -> Path:
    folder = tmp_path / "dated"
    folder.mkdir()
    rows = [
        f"{user}\t2026-01-0{day} 10:00:00\t{query}"
        for user in USERS
        for day in (1, 2, 3)
        for query in QUERIES[:20]
    ]
    (folder / "log.tsv").write_text("\n".join(("user\ttime\tquery", *rows, "")))
    return folder


def prepared_series(start: Starter, folder: Path) -> tuple[Visitor, str]:
    visitor = start(folders=(folder,))
    log = addresses(visitor)["log.tsv"].removeprefix("/log/")
    for columns in (SWAPPED, RIGHT):
        swap(visitor, log, columns | {"column-time": "time"})
        visitor.waited(f"/log/{log}")
    assert visitor.submit(f"/log/{log}/confirm").url.path == f"/risk/{log}"
    given = STEERED | DAYS | {"source": "people", "budget_epsilon": "100", "budget_delta": "1e-3"}
    assert visitor.submit(f"/publish/{log}/budget", given).status_code == 200
    return visitor, log


def publish_series(visitor: Visitor, log: str) -> Any:
    given = STEERED | DAYS | {"source": "people", "name": "daily", "confirmed": "yes", "title": "By day"}
    return visitor.submit(f"/publish/{log}", given, follow_redirects=False)


@pytest.mark.parametrize("same_session", [False, True], ids=["another session", "another tab"])
def test_a_swap_in_the_middle_of_a_series_changes_nothing(
    start: Starter, dated: Path, same_session: bool
) -> None:
    visitor, log = prepared_series(start, dated)
    other = another(visitor, same_session=same_session)
    plan = qv.plan_series

    def swap_and_plan(*given: Any, **named: Any) -> Any:
        swap(other, log, SWAPPED | {"column-time": "time"})
        return plan(*given, **named)

    with mock.patch.object(qv, "plan_series", swap_and_plan):
        publish_series(visitor, log)
    swap(visitor, log, RIGHT | {"column-time": "time"})
    job = visitor.bench.jobs.latest("series", "daily")
    visitor.waited(f"/publish/{log}?job={job.id}")
    for day in (1, 2, 3):
        assert published_queries(visitor, f"daily/2026-01-0{day}") <= set(QUERIES)


def test_a_series_is_resumed_only_with_the_columns_that_it_began_with(start: Starter, dated: Path) -> None:
    visitor, log = prepared_series(start, dated)
    # The job waits for a processor, and is canceled while it waits.
    with mock.patch.object(visitor.bench.jobs, "_begin_waiting"):
        publish_series(visitor, log)
        job = visitor.bench.jobs.latest("series", "daily")
        visitor.submit(f"/jobs/{job.id}/cancel", {"back": "/log"})
    folder = visitor.bench.settings.releases / "daily"
    interrupt_series(visitor, dated, folder)
    # Not confirmed in this browser.
    other = another(visitor)
    answer = other.submit("/series/daily/resume", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"].split("?")[0]) == (303, f"/log/{log}")
    # Confirmed, but not what the series began with.
    swap(visitor, log, SWAPPED | {"column-time": "time"})
    visitor.waited(f"/log/{log}")
    visitor.submit(f"/log/{log}/confirm")
    assert visitor.submit("/series/daily/resume").status_code == 400
    events = len(qv.Ledger(visitor.bench.settings.ledger).budget("people").events)
    assert events == 1
    swap(visitor, log, RIGHT | {"column-time": "time"})
    visitor.waited(f"/log/{log}")
    visitor.submit(f"/log/{log}/confirm")
    answer = visitor.submit("/series/daily/resume")
    assert visitor.waited(str(answer.url)).url.path == "/series/daily"
    assert published_queries(visitor, "daily/2026-01-03") <= set(QUERIES)


def test_a_refused_series_does_not_change_how_the_first_one_is_resumed(start: Starter, dated: Path) -> None:
    visitor, log = prepared_series(start, dated)
    with mock.patch.object(visitor.bench.jobs, "_begin_waiting"):  # it waits for a processor
        publish_series(visitor, log)
        kept = visitor.bench.settings.private / "daily.series.json"
        before = kept.read_bytes()
        swap(visitor, log, SWAPPED | {"column-time": "time"})
        visitor.look(f"/log/{log}")
    visitor.waited(f"/log/{log}")
    with mock.patch.object(visitor.bench.jobs, "_begin_waiting"):
        job = visitor.bench.jobs.latest("series", "daily")
        visitor.submit(f"/log/{log}/confirm")
        if not job.over:
            assert publish_series(visitor, log).status_code == 400
    assert kept.read_bytes() == before


def interrupt_series(visitor: Visitor, folder: Path, out: Path) -> None:
    """Publish the first day, and stop there."""

    def stop(stage: str, _: str) -> None:
        if stage == "write":
            raise KeyboardInterrupt

    about = dict.fromkeys(qv.About().missing, "not stated")
    about |= {"title": "By day", "period": "2026-01-01/2026-01-03"}
    with pytest.raises(KeyboardInterrupt):
        qv.publish_series(
            qv.read(folder / "log.tsv"),
            qv.Steered(epsilon=2, delta=1e-6),
            name="daily",
            period="day",
            start="2026-01-01",
            end="2026-01-03",
            out=out,
            ledger=visitor.bench.settings.ledger,
            source="people",
            about=qv.About(**about),
            told=stop,
        )
