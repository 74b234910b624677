"""Coming in: by the opening link, or by password where people come from elsewhere."""

from __future__ import annotations

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from queryveil.show.web.guard import cookie_name
from queryveil.show.web.rendering import page
from queryveil.show.web.sessions import Session


def _let_in(request: Request, response: Response, session: Session) -> Response:
    response.set_cookie(
        cookie_name(request.app.state.bench.settings), session.id, httponly=True, samesite="strict", path="/"
    )
    return response


def home(_: Request) -> Response:
    return RedirectResponse("/log", 303)


def opened(request: Request) -> Response:
    """Exchange the token of the link for a cookie, once."""
    bench, token = request.app.state.bench, request.query_params.get("token", "")
    session = bench.sessions.redeem(token)
    if session is not None:
        # A page and not a redirect: a browser that came from elsewhere sends strict cookies only from here on.
        return _let_in(request, page(request, "opened.html"), session)
    if request.state.session is not None:
        return RedirectResponse("/log", 303)
    # A link that was never printed changes nothing: else anybody could take the printed one away, or flood a terminal.
    used = bench.sessions.was_used(token)
    if used and not bench.settings.remote and not bench.sessions.link_waits:
        bench.tell(bench.link())
    return page(request, "enter.html", status=403, link="used" if used else "unknown", wrong=False)


def enter(request: Request) -> Response:
    """What somebody sees who is not in."""
    if request.state.session is not None:
        return RedirectResponse("/log", 303)
    return page(request, "enter.html", status=403, link="", wrong=False)


def login(request: Request, form: FormData) -> Response:
    sessions = request.app.state.bench.sessions
    who = " ".join(str(form.get("who", "")).split())[:80]
    address = request.client.host if request.client is not None else ""
    session = sessions.login(str(form.get("password", "")), who if who.isprintable() else "", address)
    if session is None:
        status = 429 if sessions.is_blocked(address) else 403
        return page(request, "enter.html", status=status, link="", wrong=True)
    return _let_in(request, RedirectResponse("/log", 303), session)


def leave(request: Request, _: FormData) -> Response:
    bench = request.app.state.bench
    if request.state.session is not None:
        bench.sessions.leave(request.state.session)
    response = RedirectResponse("/enter", 303)
    response.delete_cookie(cookie_name(bench.settings), path="/")
    return response


PAGES = {"/": home, "/open": opened, "/enter": enter}
FORMS = {"/enter": login, "/leave": leave}
