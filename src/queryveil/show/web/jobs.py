"""Long work in processes of its own: started, watched, cancelled; and a journal of it that outlives a restart.

A job writes how far it is into its folder, so that any tab can ask, and a page that is loaded again finds it. A process
ends when the workbench does. What a ledger was charged stays charged, whatever becomes of a job.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from queryveil.errors import QueryveilError, UsageError
from queryveil.files import confined
from queryveil.files.appearing import claim_paths
from queryveil.files.folder import private_folder
from queryveil.show.web.settings import Settings

WAITING, RUNNING, DONE, FAILED, CANCELLED = "waiting", "running", "done", "failed", "cancelled"
PUBLICATIONS = ("publish", "series")
"""Kinds of jobs that charge a ledger."""
_AT_ONCE = 2
_MOST_WAITING = 20
_LARGEST_JOURNAL = 50_000_000
_PATIENCE = 8.0
"""Seconds that a cancelled job has to tidy up."""
LOST = {
    "kind": "interrupted",
    "message": "the work ended before it was done, because its process or the workbench was stopped",
    "hint": "nothing half-written is left; if the ledger lists the charge, it stands. Start again when you like",
    "charged": False,
}


@dataclass
class Job:
    """One piece of work."""

    id: str
    kind: str
    title: str
    about: str
    """What it is of: the digest of a snapshot of a log, or the name of a release."""
    folder: Path
    spec: dict[str, Any]
    who: str | None = None
    started: float = field(default_factory=time.time)
    process: subprocess.Popen[bytes] | None = None
    cancelled: float | None = None
    noted: bool = False
    """Whether its end is in the journal."""
    seen: str | None = None
    """Its state when somebody looked, so that one page does not tell of two."""

    @property
    def state(self) -> str:
        return self.seen or self._current_state()

    def _current_state(self) -> str:
        if (self.folder / "result.json").is_file():
            return DONE
        if self.process is None:
            return CANCELLED if self.cancelled else WAITING
        if self.process.poll() is None:
            return RUNNING
        # Written just before the process ended, or never.
        if (self.folder / "result.json").is_file():
            return DONE
        return CANCELLED if self.cancelled else FAILED

    def looked_at(self) -> Job:
        """The job as it is now; later changes do not show in it."""
        return dataclasses.replace(self, seen=self._current_state())

    @property
    def over(self) -> bool:
        return self.state in (DONE, FAILED, CANCELLED)

    def read(self, name: str) -> Any:
        """A document that the process wrote; None if there is none."""
        try:
            return json.loads((self.folder / f"{name}.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    @property
    def result(self) -> Any:
        return self.read("result")

    @property
    def error(self) -> dict[str, Any]:
        return self.read("error") or LOST

    def as_dict(self) -> dict[str, Any]:
        """What a page that watches it needs."""
        progress = self.read("progress") or {}
        shown = {
            "id": self.id,
            "state": self.state,
            "title": self.title,
            "stages": progress.get("stages", []),
        }
        shown |= {"share": progress.get("share"), "seconds": round(time.time() - self.started)}
        return shown | {"stopping": self.cancelled is not None and not self.over}


@dataclass(frozen=True, kw_only=True)
class PastJob:
    """A publication in the journal."""

    job: str
    kind: str
    title: str
    about: str
    """The name of the release or series."""
    time: str
    source: str
    recipe: str
    """The label of its recipe, which its charge in the ledger has too."""


class Jobs:
    """All jobs since the start, and the journal of those before it."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._all: dict[str, Job] = {}
        self.interrupted = tuple(self._read_interrupted())
        self._finish_outputs()
        self._lock = threading.RLock()
        self._closing = threading.Event()
        self._watch = threading.Thread(target=self._watch_jobs, daemon=True)
        self._watch.start()

    def start(
        self,
        kind: str,
        title: str,
        about: str,
        spec: dict[str, Any],
        *,
        who: str | None = None,
        noted: bool = False,
    ) -> Job:
        """Begin as soon as a processor is free; a job for the same that is not over is taken instead."""
        with self._lock:
            same = [
                one for one in self._all.values() if (one.kind, one.about) == (kind, about) and not one.over
            ]
            if same:
                if same[-1].spec != spec:
                    raise UsageError(
                        "work on the same thing is under way already",
                        "wait until it is done, or cancel it first",
                    )
                return same[-1].looked_at()
            if sum(not one.over for one in self._all.values()) >= _MOST_WAITING:
                raise UsageError("too much work is waiting already", "wait until some of it is done")
            id = secrets.token_hex(8)
            folder = self.settings.jobs / id
            folder.mkdir(mode=0o700, parents=True)
            (folder / "spec.json").write_text(json.dumps({"kind": kind, **spec}), encoding="utf-8")
            job = Job(id, kind, title, about, folder, spec, who, noted=not noted)
            if noted:
                self._write_state(job, "started")
            self._all[id] = job
            self._begin_waiting()
            return job.looked_at()

    def find(self, id: str) -> Job | None:
        job = self._all.get(id)
        return job.looked_at() if job is not None else None

    def latest(self, kind: str, about: str) -> Job | None:
        """The last job of that kind about that thing."""
        with self._lock:
            same = [one for one in self._all.values() if (one.kind, one.about) == (kind, about)]
        return same[-1].looked_at() if same else None

    def running(self) -> list[Job]:
        with self._lock:
            return [one for one in self._all.values() if not one.over]

    def of_kind(self, kind: str) -> list[Job]:
        with self._lock:
            return [one.looked_at() for one in self._all.values() if one.kind == kind]

    def cancel(self, job: Job) -> None:
        """Ask the process to stop; one that does not is ended. Nothing is refunded."""
        with self._lock:
            job = self._all[job.id]
            if job.over or job.cancelled is not None:
                return
            job.cancelled = time.monotonic()
            if job.process is not None:
                _send_signal(job.process, signal.SIGINT)

    def forget(self, log_id: str) -> None:
        """Cancel and delete all jobs of a deleted log with their results, except publications."""
        with self._lock:
            gone = [
                one
                for one in self._all.values()
                if one.spec["log"]["id"] == log_id and one.kind not in PUBLICATIONS
            ]
            for one in gone:
                self.cancel(one)
                _wait_for_end(one.process)
                shutil.rmtree(one.folder, ignore_errors=True)
                del self._all[one.id]

    def close(self) -> None:
        """Stop everything."""
        self._closing.set()
        for one in self.running():
            self.cancel(one)
        until = time.monotonic() + _PATIENCE
        for one in self._all.values():
            _wait_for_end(one.process, max(0.1, until - time.monotonic()))
        self._watch.join()
        self._note_ends()
        with contextlib.suppress(OSError):  # they are shown once more
            for past in self.interrupted:
                self._write_line(dataclasses.asdict(past) | {"state": "interrupted"})  # it has been shown

    # -- inside ----------------------------------------------------------------------------------------------

    def _watch_jobs(self) -> None:
        while not self._closing.wait(0.2):
            with self._lock:
                self._begin_waiting()
                self._note_ends()
                for one in self._all.values():
                    late = one.cancelled is not None and time.monotonic() - one.cancelled > _PATIENCE
                    if late and one.process is not None and one.process.poll() is None:
                        _send_signal(one.process, signal.SIGKILL)

    def _begin_waiting(self) -> None:
        busy = sum(one.process is not None and one.process.poll() is None for one in self._all.values())
        for one in self._all.values():
            if busy >= _AT_ONCE:
                return
            if one.process is None and one.cancelled is None:
                # Without memory or descriptors for a process, the job waits.
                with contextlib.suppress(OSError):
                    one.process = _start_process(one)
                    busy += 1

    def _note_ends(self) -> None:
        for one in self._all.values():
            if not one.over:
                continue
            if one.process is not None and one.process.stdin is not None:
                one.process.stdin.close()
            if not one.noted:
                # While the disk is full, it is tried again.
                with contextlib.suppress(OSError):
                    self._write_state(one, one.state)
                    one.noted = True

    def _write_state(self, job: Job, state: str) -> None:
        past = PastJob(
            job=job.id,
            kind=job.kind,
            title=job.title,
            about=job.about,
            time=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            source=str(job.spec["source"]),
            recipe=str(job.spec["label"]),
        )
        self._write_line(dataclasses.asdict(past) | {"state": state, "who": job.who})

    def _write_line(self, line: dict[str, str | None]) -> None:
        self.settings.private.mkdir(mode=0o700, parents=True, exist_ok=True)
        with (self.settings.private / "jobs.jsonl").open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(line) + "\n")

    def _read_interrupted(self) -> Iterator[PastJob]:
        """Yield the publications of an earlier start that never ended, because the workbench was killed."""
        private = self.settings.private
        try:
            text = confined.read_bytes(private, private / "jobs.jsonl", _LARGEST_JOURNAL)
        except OSError:
            return
        names = [one.name for one in dataclasses.fields(PastJob)]
        found: dict[str, tuple[PastJob, str]] = {}
        for line in text.splitlines():
            try:
                content = json.loads(line)
                past = PastJob(**{name: str(content[name]) for name in names})
                found[past.job] = past, str(content["state"])
            except (ValueError, KeyError, TypeError):
                continue  # a line that a power cut left
        yield from (past for past, state in found.values() if state == "started")

    def _finish_outputs(self) -> None:
        """Complete what an interrupted job had finished but for the renaming, and delete everything else of it."""
        for past in self.interrupted:
            place = self.settings.releases / past.about
            # Its process may still be ending, and does this itself.
            with contextlib.suppress(QueryveilError, OSError), claim_paths(private_folder(place), place):
                pass


def _start_process(job: Job) -> subprocess.Popen[bytes]:
    """A fresh interpreter that knows its folder and nothing else; the end of its input is the end of the workbench."""
    environment = dict(os.environ) | ({"QUERYVEIL_WHO": job.who} if job.who else {})
    said = None if os.environ.get("QUERYVEIL_DEBUG") else subprocess.DEVNULL
    return subprocess.Popen(  # noqa: S603 (our own module; -P: nothing of the working folder is imported)
        [sys.executable, "-P", "-m", "queryveil.show.web.worker", str(job.folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=said,
        start_new_session=True,
        env=environment,
    )


def _wait_for_end(process: subprocess.Popen[bytes] | None, patience: float = _PATIENCE) -> None:
    """Wait until a process that was told to stop has stopped."""
    if process is not None:
        try:
            process.wait(patience)
        except subprocess.TimeoutExpired:
            _send_signal(process, signal.SIGKILL)
            process.wait()
        if process.stdin is not None:
            process.stdin.close()


def _send_signal(process: subprocess.Popen[bytes], number: int) -> None:
    if process.poll() is None:
        process.send_signal(number)
