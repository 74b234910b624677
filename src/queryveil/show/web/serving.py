"""Start the workbench: a socket, the application behind it, and everything gone at the end."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import signal
import socket
import threading
import webbrowser
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from queryveil.errors import OutputError, argument
from queryveil.show.web.app import application
from queryveil.show.web.settings import Settings

HEAD_SECONDS = 15.0
"""Seconds in which a client has to send the head of each request."""
MOST_CONNECTIONS = 100
"""Connections at a time, beyond which the one that waits longest is closed for a new one."""
_MOST_AT_ONCE = 200
"""Requests at a time, and connections with requests of people who are signed in."""
_LARGEST_HEAD = 65_536
"""Bytes of a head: cookies of all programs on this machine are in it."""


class LimitedProtocol(H11Protocol):
    """Closes connections that wait too long, so that unfinished requests cannot lock anyone out.

    A connection without a request of a signed-in person can be closed for a new one. The address with the most
    connections loses one first, and of these the oldest. A person's request is complete in an instant, so it is
    always among the newest.
    """

    _timer: asyncio.TimerHandle | None = None
    _since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._since = self.loop.time()
        self._limit_head()
        others = [one for one in self.connections if one is not self and not one.transport.is_closing()]
        if len(others) >= MOST_CONNECTIONS:
            self._make_room([one for one in others if isinstance(one, LimitedProtocol)])

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._limit_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._since = self.loop.time()
        self._limit_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        super().connection_lost(exc)

    @property
    def _is_idle(self) -> bool:
        cycle: Any = self.cycle  # none before the first request
        return cycle is None or cycle.response_complete

    @property
    def _is_signed_in(self) -> bool:
        return not self._is_idle and self.scope.get("state", {}).get("session") is not None

    def _limit_head(self) -> None:
        """Start the timer when the next request is waited for, and stop it when its head is complete."""
        if not self._is_idle:
            self._stop_timer()
        elif self._timer is None and not self.transport.is_closing():
            self._timer = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _make_room(self, others: list[LimitedProtocol]) -> None:
        waiting = [one for one in others if not one._is_signed_in]
        connections = Counter(one._peer_address for one in waiting)
        if waiting:
            max(waiting, key=lambda one: (connections[one._peer_address], -one._since)).transport.abort()

    @property
    def _peer_address(self) -> str:
        return self.client[0] if self.client else ""


class _Server(uvicorn.Server):
    """Leaves signals to us: a request to stop is how a workbench ends, and no failure."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def bound(host: str, port: int) -> socket.socket:
    """A socket at that address; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        raise OutputError(
            f"port {port} of {host} cannot be used ({error.strerror or type(error).__name__})",
            f"another program may have it; pass another {argument('port')}, or "
            f"{argument('port', 0)} for any that is free",
        ) from None
    return made


def serve(
    settings: Settings, *, ready: Callable[[str], None], tell: Callable[[str], None], browser: bool = False
) -> None:
    """Serve until somebody asks to stop; `ready` is called with the opening link once pages are answered."""
    listening = bound(settings.host, settings.port)
    settings = dataclasses.replace(settings, port=listening.getsockname()[1])
    app = application(settings, tell)
    bench = app.state.bench
    config = uvicorn.Config(
        app,
        http=LimitedProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        limit_concurrency=_MOST_AT_ONCE,
        h11_max_incomplete_event_size=_LARGEST_HEAD,
        timeout_keep_alive=10,
        timeout_graceful_shutdown=2,
        proxy_headers=False,
    )
    server = _Server(config)

    def stop() -> None:
        server.should_exit = True

    async def run() -> None:
        for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(one, stop)
        task = asyncio.create_task(server.serve(sockets=[listening]))
        while not server.started and not task.done():
            await asyncio.sleep(0.02)
        if not task.done():
            link = bench.link() if not settings.remote else _server_address(settings)
            ready(link)
            if browser:
                threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()
        await task

    try:
        asyncio.run(run())
    finally:
        bench.close()
        listening.close()


def _server_address(settings: Settings) -> str:
    name = settings.names[0] if settings.names else settings.host
    return f"http://{f'[{name}]' if ':' in name else name}:{settings.port}/"
