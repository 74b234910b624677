"""The application: what answers at which address."""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Mount, Route
from starlette.staticfiles import StaticFiles

from queryveil.errors import OutputError, QueryveilError
from queryveil.files.output import reason_of
from queryveil.show import charts
from queryveil.show.web import rendering
from queryveil.show.web.guard import Guard
from queryveil.show.web.jobs import Jobs
from queryveil.show.web.logs import Logs
from queryveil.show.web.pages import MODULES, log
from queryveil.show.web.previews import Previews
from queryveil.show.web.sessions import Sessions
from queryveil.show.web.settings import Settings

Handler = Callable[[Request, FormData], Response]
_MOST_FIELDS = 200


class Bench:
    """Everything that pages share."""

    def __init__(self, settings: Settings, tell: Callable[[str], None]) -> None:
        for folder in (settings.uploads, settings.jobs, settings.pilots):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        settings.releases.mkdir(parents=True, exist_ok=True)
        self.settings = settings
        self.sessions = Sessions(settings.password)
        self.jobs = Jobs(settings)
        self.logs = Logs(settings)
        self.previews = Previews()
        self.tell = tell
        """Prints a new opening link on the terminal."""

    def link(self) -> str:
        """A new opening link."""
        return f"http://{self.settings.host}:{self.settings.port}/open?token={self.sessions.new_token()}"

    def close(self) -> None:
        self.jobs.close()
        self.previews.close()


def posting(handler: Handler) -> Callable[[Request], Any]:
    """A form that is taken only with the session's own token."""

    async def checked(request: Request) -> Response:
        async with request.form(max_files=1, max_fields=_MOST_FIELDS) as form:
            session, given = request.state.session, str(form.get("csrf", ""))
            if session is not None and not hmac.compare_digest(session.csrf.encode(), given.encode()):
                return rendering.page(
                    request,
                    "problem.html",
                    status=403,
                    message="this form is not from your open workbench",
                    hint="load the page again and repeat what you did",
                    back=True,
                )
            return await run_in_threadpool(handler, request, form)

    return checked


def _all_routes() -> list[BaseRoute]:
    made: list[BaseRoute] = [
        Route("/static/figures.css", _figure_style),
        Mount("/static", StaticFiles(directory=rendering.STATIC), name="static"),
    ]
    for name in MODULES:
        module = import_module(f"{log.__package__}.{name}")
        made += [Route(path, handler) for path, handler in module.PAGES.items()]
        made += [Route(path, posting(handler), methods=["POST"]) for path, handler in module.FORMS.items()]
    return made


def _figure_style(_: Request) -> Response:
    """Return the rules of figures, which are those of reports."""
    return Response(charts.STYLE, media_type="text/css")


def _error_page(request: Request, error: Exception) -> Response:
    assert isinstance(error, QueryveilError)  # noqa: S101 (what it is registered for)
    return rendering.refused(request, error)


def _refused_by_disk(request: Request, error: Exception) -> Response:
    assert isinstance(error, OSError)  # noqa: S101 (what it is registered for)
    refused = OutputError(
        f"the disk refused ({reason_of(error)})", "check room and permissions, and try again"
    )
    return rendering.refused(request, refused)


def _ask_to_confirm(_: Request, error: Exception) -> Response:
    assert isinstance(error, log.NotConfirmed)  # noqa: S101 (what it is registered for)
    return RedirectResponse(error.address, 303)


def _missing_page(request: Request, error: Exception) -> Response:
    code = getattr(error, "status_code", 404)
    if code != 404:
        return PlainTextResponse(str(getattr(error, "detail", "")) or "No.", code)
    return rendering.page(
        request,
        "problem.html",
        status=404,
        message="there is no such page",
        hint="it may have been about a log or a release that is gone",
        back=False,
    )


def _failure_page(request: Request, error: Exception) -> Response:
    if os.environ.get("QUERYVEIL_DEBUG"):
        raise error
    return PlainTextResponse(f"queryveil failed in a way it should not ({type(error).__name__}).", 500)


def application(settings: Settings, tell: Callable[[str], None]) -> Starlette:
    """The workbench as an ASGI application; its `state.bench` holds what it knows."""
    bench = Bench(settings, tell)
    app = Starlette(
        routes=_all_routes(),
        exception_handlers={
            QueryveilError: _error_page,
            OSError: _refused_by_disk,
            log.NotConfirmed: _ask_to_confirm,
            HTTPException: _missing_page,
            Exception: _failure_page,
        },
        middleware=[Middleware(Guard, settings=settings, sessions=bench.sessions)],
    )
    app.state.bench = bench
    return app
