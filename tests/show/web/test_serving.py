"""The command as it is run: one line with the link, slow clients cut off, everything gone at the end."""

from __future__ import annotations

import asyncio
import contextlib
import http.cookiejar
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from queryveil.show.web import serving
from tests.command import command
from tests.show.web.conftest import BASE, Starter, Visitor


@contextlib.contextmanager
def served(place: Path, *words: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A workbench of its own process, and its opening link."""
    environment = dict(os.environ) | {"TMPDIR": str(place)}
    begun = subprocess.Popen(
        [str(Path(sys.executable).with_name("queryveil")), "serve", "--port", "0", "--no-browser", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=place,
        env=environment,
    )
    try:
        yield begun, begun.stdout.readline().strip()
    finally:
        if begun.poll() is None:
            begun.send_signal(signal.SIGKILL)
        begun.communicate()


def test_one_line_is_printed_and_nothing_is_left_at_the_end(tmp_path: Path) -> None:
    with served(tmp_path) as (begun, link):
        assert link.startswith("http://127.0.0.1:") and "/open?token=" in link
        with urllib.request.urlopen(link) as answer:  # noqa: S310 (our own link)
            assert answer.status == 200
        assert list(tmp_path.glob("queryveil-*")), "uploads would be here"
        begun.send_signal(signal.SIGINT)
        more, said = begun.communicate(timeout=60)
        assert (begun.returncode, more, said) == (0, "", "")
    assert not list(tmp_path.glob("queryveil-*"))


def test_a_client_that_says_nothing_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert serving.HEAD_SECONDS <= 20
    with served(tmp_path, "--json") as (_, line):
        port = int(json.loads(line)["link"].split(":")[2].split("/")[0])
        with socket.create_connection(("127.0.0.1", port)) as slow:
            slow.settimeout(serving.HEAD_SECONDS + 30)
            slow.sendall(b"GET /log HTTP/1.1\r\nHost: ")
            begun = time.monotonic()
            assert slow.recv(1) == b"", "the connection was closed"
            assert time.monotonic() - begun < serving.HEAD_SECONDS + 25


HALVES = {
    "head": b"GET /log HTTP/1.1\r\nHost: ",
    "body": b"POST /enter HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Type: application/x-www-form-urlencoded\r\n"
    b"Content-Length: 1000\r\n\r\npassword=",
    "silence": b"",
    "second head": b"GET /enter HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n\r\nGET /log HTTP/1.1\r\nHost: ",
}


@pytest.mark.parametrize("half", HALVES)
def test_half_sent_requests_lock_nobody_out(half: str, tmp_path: Path) -> None:
    with served(tmp_path) as (_, link), contextlib.ExitStack() as stack:
        port = int(link.split(":")[2].split("/")[0])
        for _ in range(250):
            connection = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            with contextlib.suppress(ConnectionError):
                connection.sendall(HALVES[half].replace(b"PORT", str(port).encode()))
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        for address in (link, link.partition("/open")[0] + "/log"):
            with opener.open(address, timeout=60) as answer:
                assert answer.status == 200


@pytest.mark.parametrize("half", ["head", "second head"])
def test_a_head_that_drips_is_cut_off(half: str, tmp_path: Path) -> None:
    with served(tmp_path) as (_, link):
        port = int(link.split(":")[2].split("/")[0])
        with socket.create_connection(("127.0.0.1", port)) as slow:
            slow.settimeout(1)
            slow.sendall(HALVES[half].replace(b"PORT", str(port).encode()))
            sent = 0
            with contextlib.suppress(ConnectionError):
                while not is_closed(slow):
                    slow.sendall(b"a")
                    sent += 1
                    assert sent < 90


def is_closed(connection: socket.socket) -> bool:
    """Read for a second at most; whether the other side has closed the connection."""
    try:
        return connection.recv(1 << 16) == b""
    except TimeoutError:
        return False


def test_a_body_that_drips_is_cut_off(start: Starter) -> None:
    app: Any = start(inside=False, seconds_per_chunk=0.5).app
    headers = [(b"host", b"127.0.0.1:8765"), (b"content-type", b"application/x-www-form-urlencoded")]
    scope = {"type": "http", "method": "POST", "path": "/enter", "query_string": b"", "headers": headers}
    sent: list[Any] = []

    async def drip() -> dict[str, Any]:
        await asyncio.sleep(0.1)
        assert not sent
        return {"type": "http.request", "body": b"a", "more_body": True}

    async def note(message: Any) -> None:
        sent.append(message)

    asyncio.run(asyncio.wait_for(app(scope, drip, note), 60))
    assert sent[0]["status"] == 408


def test_wrong_passwords_block_their_own_address_only(start: Starter) -> None:
    secret = "correct horse battery"  # noqa: S105 (of this test)
    app: Any = start(inside=False, password=secret).app

    def sign_in(address: str, password: str) -> int:
        visitor = Visitor(app, base_url=BASE, client=(address, 40_000))
        given = {"password": password, "who": "Ann"}
        return visitor.submit("/enter", given, follow_redirects=False).status_code

    guesses = [sign_in("203.0.113.5", f"guess {number}") for number in range(7)]
    assert guesses[:4] == [403] * 4 and set(guesses[4:]) == {429}
    assert sign_in("203.0.113.5", secret) == 429
    assert sign_in("203.0.113.6", secret) == 303
    # One customer has all addresses of a network of IPv6.
    assert [sign_in(f"2001:db8::{number:x}", "guess") for number in range(7)][-1] == 429
    assert sign_in("2001:db8::ffff", secret) == 429
    assert sign_in("2001:db8:0:1::1", secret) == 303


@pytest.mark.parametrize(
    "theirs",
    [
        'settings={"a": 1, "b": "c"}',
        'a[1]=x; b@c="d; e',
        "queryveil-8765=theirs",
        "queryveil-80=theirs; =; ;;",
        "queryveil-8765",
    ],
)
def test_cookies_of_other_programs_sign_nobody_out(start: Starter, theirs: str) -> None:
    visitor = start()
    ours = f"queryveil-8765={visitor.cookies['queryveil-8765']}"
    for cookie in (f"{theirs}; {ours}", f"{ours}; {theirs}"):
        fresh = Visitor(visitor.app, base_url=BASE)
        assert fresh.get("/log", headers={"cookie": cookie}, follow_redirects=False).status_code == 200


def test_long_cookies_of_other_programs_are_accepted(tmp_path: Path) -> None:
    with served(tmp_path) as (_, link):
        jar = http.cookiejar.CookieJar()
        urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar)).open(link)
        cookies = [f"x={'y' * 20_000}", *(f"{one.name}={one.value}" for one in jar)]
        asked = urllib.request.Request(  # noqa: S310 (our own link)
            link.partition("/open")[0] + "/log", headers={"Cookie": "; ".join(cookies)}
        )
        with urllib.request.urlopen(asked) as answer:  # noqa: S310
            assert answer.status == 200 and answer.url.endswith("/log")


def test_a_used_link_brings_one_new_link_and_a_wrong_one_none(start: Starter) -> None:
    visitor = start(inside=False)
    told: list[str] = []
    visitor.bench.tell = told.append
    token = visitor.bench.sessions.new_token()
    visitor.get(f"/open?token={token}")
    visitor.cookies.clear()
    assert "opens nothing" in visitor.get("/open?token=wrong").text and told == []
    for _ in range(2):
        assert "used already" in visitor.get(f"/open?token={token}").text
    assert len(told) == 1, "the new link waits, and stays good"
    assert "Welcome" in visitor.get(told[0]).text


WRONG = {
    "--allow-remote": "needs a password",
    "--host 0.0.0.0": "--allow-remote",
    "--folder nowhere": "no folder",
    "--key nowhere": "no key",
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_wrong_is_said_before_anything_is_served(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = command("serve", "--no-browser", *words.split())
    assert done.code == 2 and WRONG[words] in done.err


def test_without_the_packages_there_is_a_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from queryveil.errors import UsageError
    from queryveil.show.cli import serve

    monkeypatch.setattr(serve, "_NEEDED", ("starlette", "no_such_package"))
    with pytest.raises(UsageError, match=r"pip install 'queryveil\[web\]'"):
        serve.serve()
