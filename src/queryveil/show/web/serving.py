"""Start the workbench: a socket, the application behind it, and everything gone at the end."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import signal
import socket
import threading
import webbrowser
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from queryveil.errors import OutputError
from queryveil.show.web.app import application
from queryveil.show.web.settings import Settings

_FIRST_WORDS = 15.0
"""Seconds in which a client has to say what it wants."""
_MOST_AT_ONCE = 200


class Patient(H11Protocol):
    """Cuts off whoever connects and does not ask for anything."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._late = self.loop.call_later(_FIRST_WORDS, self._judge)

    def _judge(self) -> None:
        asked: Any = self.cycle  # none before the first request
        if asked is None and not self.transport.is_closing():
            self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._late.cancel()
        super().connection_lost(exc)


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
            "another program may have it; pass another --port, or --port 0 for any that is free",
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
        http=Patient,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        limit_concurrency=_MOST_AT_ONCE,
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
            link = bench.link() if not settings.remote else _address(settings)
            ready(link)
            if browser:
                threading.Thread(target=webbrowser.open, args=(link,), daemon=True).start()
        await task

    try:
        asyncio.run(run())
    finally:
        bench.close()
        listening.close()


def _address(settings: Settings) -> str:
    name = settings.names[0] if settings.names else settings.host
    return f"http://{f'[{name}]' if ':' in name else name}:{settings.port}/"
