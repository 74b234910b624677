"""Log: choose a file or upload one, see which column is what, and confirm it."""

from __future__ import annotations

import dataclasses
import shutil
from typing import Any

from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

import queryveil as qv
from queryveil.files import output
from queryveil.show.web import forms, same
from queryveil.show.web.jobs import DONE, Job
from queryveil.show.web.logs import LogSnapshot, freeze
from queryveil.show.web.rendering import page

STANDARD = {
    "user": "who searched: an id, a cookie, an address",
    "query": "what was typed",
    "time": "when",
    "url": "what was clicked",
    "rank": "at which place the clicked result was",
    "session": "which searches belong together",
}
"""The columns of a search log, in words."""


class NotConfirmed(Exception):
    """The columns of a log were not confirmed in this browser, or something has changed since."""

    def __init__(self, log_id: str, *, changed: bool) -> None:
        super().__init__(log_id)
        self.address = f"/log/{log_id}{'?changed=yes' if changed else ''}"


def find_snapshot(request: Request, log_id: str) -> LogSnapshot | None:
    """Return a log as this browser reads it now; None if it is gone. A request takes one snapshot, and no second."""
    bench, session = request.app.state.bench, request.state.session
    log: LogSnapshot | None = bench.logs.snapshot(log_id, session.reading.get(log_id, {}))
    if log is None:
        return None
    job: Job | None = bench.jobs.latest("read", log.reading_key)
    return log.with_columns(job.result) if job is not None and job.state == DONE else log


def named_log(request: Request) -> LogSnapshot:
    """Return the log that the address names, for pages that show its columns and start nothing else."""
    log = find_snapshot(request, request.path_params["log"])
    if log is None:
        raise HTTPException(404)
    return log


def confirmed_log(request: Request) -> LogSnapshot:
    """Return the log that the address names; raise NotConfirmed if this browser did not confirm its columns."""
    return require_confirmed(request, named_log(request))


def require_confirmed(request: Request, log: LogSnapshot) -> LogSnapshot:
    """Return the log; raise NotConfirmed if this browser did not confirm exactly this snapshot."""
    session = request.state.session
    if not session.has_confirmed(log):
        raise NotConfirmed(log.id, changed=log.id in session.confirmed)
    return log


def start_reading(request: Request, log: LogSnapshot) -> Job:
    """Return the job that reads the log: the present one, or a new one."""
    jobs = request.app.state.bench.jobs
    job: Job | None = jobs.latest("read", log.reading_key)
    if job is None or job.state == "cancelled":
        spec = {"log": log.as_dict() | {"columns": None}}
        job = jobs.start("read", f"Reading {log.name}", log.reading_key, spec)
    return job


@dataclasses.dataclass(frozen=True)
class Interrupted:
    """A publication that a restart interrupted, and what is known about it now."""

    title: str
    time: str
    name: str
    series: bool
    published: bool
    charges: int | None
    """How often the ledger was charged for it; None if the ledger cannot be read."""


def interrupted_publications(request: Request) -> list[Interrupted]:
    """Return what became of the publications that a restart interrupted."""
    bench = request.app.state.bench
    found = []
    for past in bench.jobs.interrupted:
        try:
            events = qv.Ledger(bench.settings.ledger).budget(past.source).events
            charges = sum(
                event.recipe == past.recipe and f"{event.time:%Y-%m-%dT%H:%M:%SZ}" >= past.time
                for event in events
            )
        except qv.QueryveilError:
            charges = None
        published = (bench.settings.releases / past.about).is_dir()
        series = past.kind == "series"
        found.append(Interrupted(past.title, past.time, past.about, series, published, charges))
    return found


def overview(request: Request) -> Response:
    bench = request.app.state.bench
    files, unusable = bench.logs.files()
    return page(
        request,
        "log.html",
        step="log",
        files=files,
        unusable=unusable,
        folders=[str(one) for one in bench.settings.folders],
        uploads=bench.logs.uploads(),
        most=bench.settings.most_upload,
        interrupted=interrupted_publications(request),
    )


def one(request: Request) -> Response:
    return _columns_page(request, named_log(request))


def _columns_page(request: Request, log: LogSnapshot, *, revealed: bool = False) -> Response:
    job = start_reading(request, log)
    facts: dict[str, Any] | None = job.result if job.state == DONE else None
    log = log.with_columns(facts) if facts else log
    names = [*facts["columns"].values(), *facts["ignored"]] if facts else []
    return page(
        request,
        "columns.html",
        step="log",
        log=log,
        job=job,
        facts=facts,
        names=list(dict.fromkeys(names)),
        standard=STANDARD,
        reading=forms.fields(qv.ReadOptions, log.options),
        samples=(facts["samples"] if revealed else [_mask_row(row) for row in facts["samples"]])
        if facts
        else [],
        revealed=revealed,
        seen=log.digest,
        changed="changed" in request.query_params,
        same=same.of_log(log, "inspect", "print(log.rows, log.users, log.staged.reasons)"),
    )


def _mask_row(row: dict[str, str | None]) -> dict[str, str | None]:
    """What may be seen over a shoulder: how long a text is, never what it says."""
    return {name: value and _mask_value(name, value) for name, value in row.items()}


def _mask_value(name: str, value: str) -> str:
    if name in ("time", "rank"):
        return "".join("0" if one.isdigit() else one for one in value)
    words = len(value.split())
    long = f"{len(value):,} character{'s' if len(value) != 1 else ''}"
    return f"{words} word{'s' if words != 1 else ''}, {long}" if name == "query" else long


def reveal(request: Request, _: FormData) -> Response:
    """The first rows as they are: asked for each time, and kept by nobody."""
    return _columns_page(request, named_log(request), revealed=True)


def read_again(request: Request, form: FormData) -> Response:
    """Read with what was said about columns and format."""
    log = named_log(request)
    options = forms.given(qv.ReadOptions, form)
    if (delimiter := str(form.get("delimiter", ""))).isspace():
        options["delimiter"] = delimiter
    columns = {name: str(form.get(f"column-{name}", "")).strip() for name in STANDARD}
    if any(columns.values()):
        columns = {name: value for name, value in columns.items() if value or name not in ("user", "query")}
        options["columns"] = {
            name: int(value) if value.isdecimal() else value for name, value in columns.items()
        }
    qv.ReadOptions(**options)  # refused here if it is wrong, before anything is started
    request.state.session.reading[log.id] = freeze(options)
    return RedirectResponse(f"/log/{log.id}", 303)


def confirm(request: Request, form: FormData) -> Response:
    """Confirm for this browser only, and only what its page showed: the file or the options may have changed since."""
    log = named_log(request)
    if not log.digest or str(form.get("seen", "")) != log.digest:
        return RedirectResponse(f"/log/{log.id}?changed=yes", 303)
    request.state.session.confirmed[log.id] = log.digest
    return RedirectResponse(f"/risk/{log.id}", 303)


def upload(request: Request, form: FormData) -> Response:
    bench = request.app.state.bench
    given = form.get("file")
    if not isinstance(given, UploadFile) or not given.filename:
        raise qv.UsageError("no file was chosen", "choose a file first, then send it")
    id, place = bench.logs.place_for_upload(given.filename)
    with output.disk_errors(place), place.open("xb") as copy:
        shutil.copyfileobj(given.file, copy, 1 << 20)
    bench.logs.add_upload(id, place)
    return RedirectResponse(f"/log/{id}", 303)


def forget(request: Request, _: FormData) -> Response:
    """Take an upload away before the end."""
    bench, log_id = request.app.state.bench, request.path_params["log"]
    if bench.logs.is_upload(log_id):
        bench.jobs.forget(log_id)
        bench.logs.forget(log_id)
    return RedirectResponse("/log", 303)


PAGES = {"/log": overview, "/log/{log}": one}
FORMS = {
    "/log/upload": upload,
    "/log/{log}/rows": reveal,
    "/log/{log}/read": read_again,
    "/log/{log}/confirm": confirm,
    "/log/{log}/forget": forget,
}
