"""Log: choose a file or upload one, see which column is what, and confirm it."""

from __future__ import annotations

import shutil
from typing import Any

from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

import queryveil as qv
from queryveil.files import output
from queryveil.show.web import confirming, same
from queryveil.show.web.jobs import DONE, Job
from queryveil.show.web.logs import ChosenLog
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


def chosen(request: Request) -> ChosenLog:
    """The log that the address names."""
    found: ChosenLog | None = request.app.state.bench.logs.find(request.path_params["log"])
    if found is None:
        raise HTTPException(404)
    return found


def reading(request: Request, log: ChosenLog) -> Job:
    """The job that reads the log: the one there is, or a new one."""
    jobs = request.app.state.bench.jobs
    job: Job | None = jobs.latest("read", log.id)
    if job is None or job.spec != log.spec or job.state == "cancelled":
        job = jobs.start("read", f"Reading {log.name}", log.id, log.spec)
    return job


def confirmed(request: Request, log: ChosenLog) -> bool:
    """Whether the person who asks confirmed the columns of this log."""
    return confirming.confirmed(request.app.state.bench.jobs, request.state.session, log)


def overview(request: Request) -> Response:
    bench = request.app.state.bench
    return page(
        request,
        "log.html",
        step="log",
        files=bench.logs.files(),
        folders=[str(one) for one in bench.settings.folders],
        uploads=[one for one in bench.logs.chosen() if one.uploaded],
        most=bench.settings.most_upload,
        cut_short=bench.jobs.cut_short(),
    )


def one(request: Request) -> Response:
    log = chosen(request)
    return _shown(request, log, reading(request, log))


def _shown(request: Request, log: ChosenLog, job: Job, *, revealed: bool = False) -> Response:
    facts: dict[str, Any] | None = job.result if job.state == DONE else None
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
        samples=(facts["samples"] if revealed else [_masked(row) for row in facts["samples"]])
        if facts
        else [],
        revealed=revealed,
        seen=confirming.seen(request.app.state.bench.jobs, log),
        changed="changed" in request.query_params,
        same=same.of_log(log, "inspect", "print(log.rows, log.users, log.staged.reasons)"),
    )


def _masked(row: dict[str, str | None]) -> dict[str, str | None]:
    """What may be seen over a shoulder: how long a text is, never what it says."""
    return {name: value and _mask(name, value) for name, value in row.items()}


def _mask(name: str, value: str) -> str:
    if name in ("time", "rank"):
        return "".join("0" if one.isdigit() else one for one in value)
    words = len(value.split())
    long = f"{len(value):,} character{'s' if len(value) != 1 else ''}"
    return f"{words} word{'s' if words != 1 else ''}, {long}" if name == "query" else long


def reveal(request: Request, _: FormData) -> Response:
    """The first rows as they are: asked for each time, and kept by nobody."""
    log = chosen(request)
    return _shown(request, log, reading(request, log), revealed=True)


def read_again(request: Request, form: FormData) -> Response:
    """Read with what was said about columns and format."""
    log = chosen(request)
    how = {name: value for name in ("format", "time_format") if (value := str(form.get(name, "")).strip())}
    delimiter = str(form.get("delimiter", ""))
    columns = {name: str(form.get(f"column-{name}", "")).strip() for name in STANDARD}
    columns = {name: value for name, value in columns.items() if value}
    if columns:
        numbers = {name: int(value) if value.isdecimal() else value for name, value in columns.items()}
        how["columns"] = numbers  # type: ignore[assignment]  # the one that is no text
    if delimiter:
        how["delimiter"] = "\t" if delimiter == "\\t" else delimiter
    qv.ReadOptions(**how)  # type: ignore[arg-type]  # refused here if it is wrong, before anything is started
    log.how = dict(how)
    return RedirectResponse(f"/log/{log.id}", 303)


def confirm(request: Request, form: FormData) -> Response:
    """For this person alone, and for what was on the page: another may have changed it since."""
    log = chosen(request)
    now = confirming.seen(request.app.state.bench.jobs, log)
    if now is None or str(form.get("seen", "")) != now:
        return RedirectResponse(f"/log/{log.id}?changed=yes", 303)
    request.state.session.confirmed[log.id] = now
    return RedirectResponse(f"/risk/{log.id}", 303)


def upload(request: Request, form: FormData) -> Response:
    bench = request.app.state.bench
    given = form.get("file")
    if not isinstance(given, UploadFile) or not given.filename:
        raise qv.UsageError("no file was chosen", "choose a file first, then send it")
    id, place = bench.logs.place_for_upload(given.filename)
    with output.disk_errors(place), place.open("xb") as copy:
        shutil.copyfileobj(given.file, copy, 1 << 20)
    log = bench.logs.uploaded(id, place)
    return RedirectResponse(f"/log/{log.id}", 303)


def forget(request: Request, _: FormData) -> Response:
    """Take an upload away before the end."""
    bench, log = request.app.state.bench, chosen(request)
    bench.jobs.forget(log.id)
    bench.logs.forget(log)
    return RedirectResponse("/log", 303)


PAGES = {"/log": overview, "/log/{log}": one}
FORMS = {
    "/log/upload": upload,
    "/log/{log}/rows": reveal,
    "/log/{log}/read": read_again,
    "/log/{log}/confirm": confirm,
    "/log/{log}/forget": forget,
}
