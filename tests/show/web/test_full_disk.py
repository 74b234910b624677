"""A disk that is full for a while: requests are refused, nothing is charged, and the workbench goes on afterwards."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

import queryveil as qv
from queryveil.show.web import jobs
from tests.show.web.conftest import Starter, Visitor
from tests.show.web.test_design import confirmed
from tests.show.web.test_publish import budgeted, published


@pytest.fixture
def prepared(start: Starter) -> tuple[Visitor, str]:
    visitor = start()
    log = confirmed(visitor)
    budgeted(visitor, log)
    return visitor, log


def fill_disk(visitor: Visitor) -> Path:
    """Let every write to the journal fail as on a full disk; return the file that makes it so."""
    private = visitor.bench.settings.private
    private.mkdir(mode=0o700, exist_ok=True)
    journal = private / "jobs.jsonl"
    if journal.exists():
        journal.rename(private / "kept")
    journal.symlink_to("/dev/full")
    return journal


def make_room(journal: Path) -> None:
    journal.unlink()
    if (kept := journal.with_name("kept")).exists():
        kept.rename(journal)


def charges(visitor: Visitor) -> int:
    return len(qv.Ledger(visitor.bench.settings.ledger).budget("people").events)


def test_a_publication_that_cannot_be_noted_is_refused(prepared: tuple[Visitor, str]) -> None:
    visitor, log = prepared
    journal = fill_disk(visitor)
    answer = published(visitor, log, "one")
    assert answer.status_code == 507 and "No space left on device" in answer.text
    assert not visitor.bench.jobs.of_kind("publish") and not charges(visitor)
    make_room(journal)
    visitor.waited(str(published(visitor, log, "one").url))
    assert charges(visitor) == 1 and (visitor.bench.settings.releases / "one").is_dir()


def test_jobs_go_on_after_the_end_of_one_could_not_be_noted(prepared: tuple[Visitor, str]) -> None:
    visitor, log = prepared
    address = str(published(visitor, log, "one").url)
    journal = fill_disk(visitor)
    visitor.waited(address)
    visitor.submit(f"/risk/{log}")
    assert 'class="verdict"' in visitor.waited(f"/risk/{log}").text
    make_room(journal)
    until = time.monotonic() + 60
    while json.loads(journal.read_text().splitlines()[-1])["state"] != "done":
        assert time.monotonic() < until
        time.sleep(0.1)


def test_jobs_wait_while_no_process_can_be_started(
    prepared: tuple[Visitor, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor, log = prepared
    make, refusals = jobs._start_process, [OSError(24, "Too many open files")] * 3

    def refuse(job: jobs.Job) -> Any:
        if refusals:
            raise refusals.pop()
        return make(job)

    monkeypatch.setattr(jobs, "_start_process", refuse)
    visitor.waited(str(published(visitor, log, "one").url))
    assert not refusals and (visitor.bench.settings.releases / "one").is_dir()
