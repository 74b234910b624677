"""Publish, Attack and History: what is charged stays charged, and what is written is whole."""

from __future__ import annotations

import io
import re
import time
import zipfile
from pathlib import Path
from typing import Any
from unittest import mock

import queryveil as qv
from tests.show.web.conftest import Starter, Visitor
from tests.show.web.test_design import confirmed

SETTING = {
    "method": "zealous",
    "epsilon": "2",
    "delta": "1e-4",
    "items": "queries",
    "neighbours": "add-remove",
}


def asked(log: str, **more: str) -> str:
    return f"/publish/{log}?" + "&".join(f"{name}={value}" for name, value in (SETTING | more).items())


def budgeted(visitor: Visitor, log: str, epsilon: str = "3") -> None:
    given = SETTING | {"source": "people", "budget_epsilon": epsilon, "budget_delta": "1e-3"}
    visitor.look(asked(log))
    assert visitor.submit(f"/publish/{log}/budget", given).status_code == 200


def published(visitor: Visitor, log: str, name: str, **more: str) -> Any:
    given = SETTING | {"source": "people", "name": name, "confirmed": "yes", "title": "Test"} | more
    return visitor.submit(f"/publish/{log}", given)


def test_the_whole_way_to_a_release_an_attack_and_the_history(start: Starter, raw_logs: Path) -> None:
    visitor = start()
    log = confirmed(visitor)
    assert "This log has no budget yet" in visitor.look(asked(log)).text
    budgeted(visitor, log)
    shown = visitor.look(asked(log, source="people")).text
    assert "After this release" in shown and "Charge the budget and publish" in shown
    refused = published(visitor, log, "first", confirmed="")
    assert refused.status_code == 400 and "not confirmed" in refused.text
    answer = published(visitor, log, "first")
    assert answer.status_code == 200 and "job=" in str(answer.url)
    done = visitor.waited(str(answer.url))
    assert done.url.path == "/releases/first" and "checks pass" in done.text

    packed = zipfile.ZipFile(io.BytesIO(visitor.get("/releases/first/release.zip").content))
    assert "first/manifest.json" in packed.namelist()
    assert not [name for name in packed.namelist() if "private" in name or "curator" in name]
    recipe = visitor.get("/releases/first/recipe.yaml").text
    assert "zealous" in recipe and "people" in recipe
    report = visitor.get("/releases/first/report.html")
    assert "sandbox" in report.headers["content-security-policy"]
    folder = visitor.bench.settings.releases / "first"
    assert qv.verify(folder).passes and qv.load(folder).about.title == "Test"

    (folder / "report.html").rename(folder / "elsewhere")
    (folder / "report.html").symlink_to("/etc/hostname")
    assert visitor.get("/releases/first/report.html").status_code == 404, "a link may point to any file"
    (folder / "report.html").unlink()
    (folder / "elsewhere").rename(folder / "report.html")

    again = published(visitor, log, "first")
    assert again.status_code == 400 and "already" in again.text
    short = published(visitor, log, "second")
    assert short.status_code == 409 and "short by" in short.text
    spent = qv.Ledger(visitor.bench.settings.ledger).budget("people").spent
    assert spent.epsilon == 2, "a refused release is not charged"

    attack = visitor.submit(f"/attack/{log}", {"attack": "exposure", "release": "first"})
    assert "Control succeeds" in visitor.waited(str(attack.url)).text
    history = visitor.look("/history").text
    assert "first" in history and "people" in history and "zealous" in history


def test_no_later_request_changes_what_was_confirmed(start: Starter) -> None:
    visitor = start()
    log = confirmed(visitor)
    budgeted(visitor, log, "9")
    jobs = visitor.bench.jobs
    with mock.patch.object(jobs, "_begin_waiting"):  # it waits for a processor
        first = published(visitor, log, "one")
        before = {file: file.read_bytes() for file in visitor.bench.settings.private.rglob("one.yaml")}
        other = published(visitor, log, "one", epsilon="5")
        assert other.status_code == 400 and "under way" in other.text
        assert before and all(file.read_bytes() == content for file, content in before.items())
        assert published(visitor, log, "one").status_code == 200, "the same again is the same job"
    assert visitor.waited(str(first.url)).url.path == "/releases/one"
    assert qv.load(visitor.bench.settings.releases / "one").guarantee.epsilon == 2


def test_a_cancelled_job_really_stops_and_is_not_refunded(start: Starter, tmp_path: Path) -> None:
    visitor = start()
    log = confirmed(visitor)
    budgeted(visitor, log)
    with mock.patch.object(visitor.bench.jobs, "_begin_waiting"):  # it waits for a processor
        answer = published(visitor, log, "stopped")
        job = re.search(r'data-job="(\w+)"', answer.text)[1]
        # Two tabs see the same job.
        assert visitor.get(f"/jobs/{job}").json()["state"] == "waiting"
    until = time.monotonic() + 60
    while visitor.get(f"/jobs/{job}").json()["state"] == "waiting":
        assert time.monotonic() < until
    visitor.submit(f"/jobs/{job}/cancel", {"back": f"/publish/{log}"})
    until = time.monotonic() + 60
    while visitor.get(f"/jobs/{job}").json()["state"] in ("waiting", "running"):
        assert time.monotonic() < until
        time.sleep(0.1)
    running = visitor.bench.jobs.find(job)
    if running.process is not None:
        # A job is done when its result is there, and its process ends a moment later.
        running.process.wait(60 if running.state == "done" else 0)
    state = visitor.get(f"/jobs/{job}").json()["state"]
    assert state in ("cancelled", "done"), "it may just have been ready"
    assert (visitor.bench.settings.releases / "stopped").exists() is (state == "done")
    charged = len(qv.Ledger(visitor.bench.settings.ledger).budget("people").events)
    time.sleep(0.5)
    assert len(qv.Ledger(visitor.bench.settings.ledger).budget("people").events) == charged


def test_a_key_signs(start: Starter, tmp_path: Path) -> None:
    import subprocess

    key = tmp_path / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    visitor = start(key=key)
    log = confirmed(visitor)
    budgeted(visitor, log)
    done = visitor.waited(str(published(visitor, log, "signed").url))
    assert "Published and signed" in done.text
