"""How far a job is, for pages that watch it; and the button that stops it."""

from __future__ import annotations

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from queryveil.show.web.jobs import Job


def _find_job(request: Request) -> Job:
    found: Job | None = request.app.state.bench.jobs.find(request.path_params["job"])
    if found is None:
        raise HTTPException(404)
    return found


def state(request: Request) -> Response:
    return JSONResponse(_find_job(request).as_dict())


def cancel(request: Request, form: FormData) -> Response:
    job = _find_job(request)
    request.app.state.bench.jobs.cancel(job)
    back = str(form.get("back", "/log"))
    return RedirectResponse(back if back.startswith("/") and not back.startswith("//") else "/log", 303)


PAGES = {"/jobs/{job}": state}
FORMS = {"/jobs/{job}/cancel": cancel}
