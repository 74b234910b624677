"""What stands before every page: who calls, by which name, how much and how slowly; and what every answer carries."""

from __future__ import annotations

import asyncio
import ipaddress
import re
from collections.abc import MutableMapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from queryveil.show.web.sessions import Session, Sessions
from queryveil.show.web.settings import Settings

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
REPORT_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; sandbox"
)
"""For the page of a release, which has its styles inside and no script: it can do nothing and is nobody."""
SERIES_POLICY = f"{REPORT_POLICY} allow-same-origin"
"""For the index of a series, whose links lead to pages of ours: they are opened as the person who is in."""
_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}
_OPEN = ("/open", "/enter", "/static/")
"""What is answered before anybody came in."""
_MOST_FORM = 1_000_000
_SLOWEST = 10_000
"""Bytes per second below which a request is cut off, after the first seconds."""
UPLOAD = "/log/upload"


class TooMuch(Exception):
    """More bytes than are allowed."""


class TooSlow(Exception):
    """A client that stopped sending."""


def cookie_name(settings: Settings) -> str:
    """Return a name with the port: browsers share cookies among all ports of an address."""
    return f"queryveil-{settings.port}"


class Guard:
    """Refuses what must not reach a page, and dresses what leaves it."""

    def __init__(self, app: ASGIApp, settings: Settings, sessions: Sessions) -> None:
        self.app, self.settings, self.sessions = app, settings, sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = self._refuse_request(scope, headers)
        path = str(scope["path"])
        scope.setdefault("state", {})["session"] = session = self._find_session(headers)
        if refused is None and session is None and not path.startswith(_OPEN):
            refused = RedirectResponse("/enter", 303)
        dressed = self._add_headers(send, path)
        if refused is not None:
            await refused(scope, receive, dressed)
            return
        begun = False

        async def note_message(message: Message) -> None:
            nonlocal begun
            begun = True
            await dressed(message)

        try:
            await self.app(scope, self._limit_body(receive, path), note_message)
        except (TooMuch, TooSlow) as error:
            if begun:
                raise
            slow = isinstance(error, TooSlow)
            said = (
                "You sent too little for too long."
                if slow
                else f"That is more than {self._size_limit(path):,} bytes."
            )
            await PlainTextResponse(said, 408 if slow else 413, {"connection": "close"})(
                scope, receive, dressed
            )

    def _refuse_request(self, scope: Scope, headers: Headers) -> PlainTextResponse | RedirectResponse | None:
        if not self._is_ours(headers.get("host", "")):
            return PlainTextResponse("This workbench does not answer to that name.", 421)
        verb = str(scope["method"])
        if verb not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("Pages are read and forms are sent; nothing else.", 405)
        if verb == "POST" and not self._from_here(headers):
            return PlainTextResponse("This form came from another site.", 403)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > self._size_limit(str(scope["path"])):
            return PlainTextResponse(
                f"That is more than {self._size_limit(str(scope['path'])):,} bytes.",
                413,
                {"connection": "close"},
            )
        return None

    def _is_ours(self, host: str) -> bool:
        """Whether a name is one of ours: a page of another site whose name points here is not (DNS rebinding)."""
        name, port = _split_host(host)
        if port not in ("", str(self.settings.port)):
            return False
        if name in ("localhost", "127.0.0.1", "[::1]") or name in self.settings.names:
            return True
        return self.settings.remote and _is_address(name)

    def _from_here(self, headers: Headers) -> bool:
        site = headers.get("sec-fetch-site")
        if site is not None and site not in ("same-origin", "none"):
            return False
        origin = headers.get("origin")
        return origin is None or origin.partition("://")[2] == headers.get("host")

    def _find_session(self, headers: Headers) -> Session | None:
        """Return the session of any cookie with our name.

        Other programs on this machine can add cookies that are malformed or have our name and another path. Parsers
        that stop at the first fault, or keep only one value of a name, would sign people out.
        """
        name = cookie_name(self.settings)
        cookies = (
            one.strip().partition("=") for line in headers.getlist("cookie") for one in line.split(";")
        )
        sessions = (self.sessions.find(value) for key, _, value in cookies if key == name)
        return next((one for one in sessions if one is not None), None)

    def _size_limit(self, path: str) -> int:
        return self.settings.most_upload + _MOST_FORM if path == UPLOAD else _MOST_FORM

    def _limit_body(self, receive: Receive, path: str) -> Receive:
        received, complete = 0, False
        start = asyncio.get_running_loop().time()

        async def receive_limited() -> Message:
            nonlocal received, complete
            if complete:
                return await receive()
            elapsed = asyncio.get_running_loop().time() - start
            left = self.settings.seconds_per_chunk + received / _SLOWEST - elapsed
            if left <= 0:
                raise TooSlow
            try:
                message = await asyncio.wait_for(receive(), min(left, self.settings.seconds_per_chunk))
            except TimeoutError:
                raise TooSlow from None
            received += len(message.get("body", b""))
            if received > self._size_limit(path):
                raise TooMuch
            complete = not message.get("more_body", False)
            return message

        return receive_limited

    def _add_headers(self, send: Send, path: str) -> Send:
        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers[name] = value
                headers.setdefault("content-security-policy", _POLICY)
                headers["cache-control"] = "no-cache" if path.startswith("/static/") else "no-store"
            await send(message)

        return send_with_headers


def _split_host(host: str) -> tuple[str, str]:
    found = re.fullmatch(r"(\[[0-9a-fA-F:.]+\]|[^:\s/@]+)(?::(\d{1,5}))?", host)
    return (found[1].lower(), found[2] or "") if found else ("", "none")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
