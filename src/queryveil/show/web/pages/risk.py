"""Risk: how few searches single a person out, and what queries give away."""

from __future__ import annotations

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from queryveil.show.web import same
from queryveil.show.web.jobs import DONE, Job
from queryveil.show.web.logs import LogSnapshot
from queryveil.show.web.pages.log import confirmed_log
from queryveil.show.web.rendering import page


def inspection(request: Request, log: LogSnapshot) -> Job | None:
    """Return the last inspection of this snapshot; None if there is none."""
    job: Job | None = request.app.state.bench.jobs.latest("inspect", log.digest)
    return job


def shown(request: Request) -> Response:
    log = confirmed_log(request)
    job = inspection(request, log)
    return page(
        request,
        "risk.html",
        step="risk",
        log=log,
        job=job,
        found=job.result if job is not None and job.state == DONE else None,
        same=same.of_log(log, "inspect", "print(qv.inspect(log).as_dict())"),
    )


def start(request: Request, _: FormData) -> Response:
    log = confirmed_log(request)
    jobs = request.app.state.bench.jobs
    jobs.start("inspect", f"Inspecting {log.name}", log.digest, {"log": log.as_dict()})
    return RedirectResponse(f"/risk/{log.id}", 303)


PAGES = {"/risk/{log}": shown}
FORMS = {"/risk/{log}": start}
