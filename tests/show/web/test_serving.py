"""The command as it is run: one line with the link, slow clients cut off, everything gone at the end."""

from __future__ import annotations

import contextlib
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

import pytest

from queryveil.show.web import serving
from tests.command import command
from tests.show.web.conftest import Starter


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
    assert serving._FIRST_WORDS <= 20
    with served(tmp_path, "--json") as (_, line):
        port = int(json.loads(line)["link"].split(":")[2].split("/")[0])
        with socket.create_connection(("127.0.0.1", port)) as slow:
            slow.settimeout(serving._FIRST_WORDS + 30)
            slow.sendall(b"GET /log HTTP/1.1\r\nHost: ")
            begun = time.monotonic()
            assert slow.recv(1) == b"", "the connection was closed"
            assert time.monotonic() - begun < serving._FIRST_WORDS + 25


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
