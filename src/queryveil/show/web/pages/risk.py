"""Risk: how few searches single a person out, and what queries give away."""

from __future__ import annotations

from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from queryveil.show.web import same
from queryveil.show.web.jobs import DONE, Job
from queryveil.show.web.pages.log import chosen, confirmed
from queryveil.show.web.rendering import page


def inspection(request: Request, log_id: str, spec: dict[str, Any]) -> Job | None:
    """The inspection of this log as it is read now; None if nobody asked for one."""
    job: Job | None = request.app.state.bench.jobs.latest("inspect", log_id)
    return job if job is not None and job.spec == spec else None


def shown(request: Request) -> Response:
    log = chosen(request)
    if not confirmed(request, log):
        return RedirectResponse(f"/log/{log.id}", 303)
    job = inspection(request, log.id, log.spec)
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
    log = chosen(request)
    request.app.state.bench.jobs.start("inspect", f"Inspecting {log.name}", log.id, log.spec)
    return RedirectResponse(f"/risk/{log.id}", 303)


PAGES = {"/risk/{log}": shown}
FORMS = {"/risk/{log}": start}
