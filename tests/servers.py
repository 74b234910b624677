"""A PostgreSQL server of the tests' own, started from Debian's packages in a folder that goes away again."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_NOBODY = "nobody"


def _program(name: str) -> str:
    """The newest one that Debian installed, or the one that is found like any other program."""
    installed = sorted(
        Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda one: float(one.parts[-3])
    )
    found = str(installed[-1]) if installed else shutil.which(name)
    assert found, "make postgres installs the server"
    return found


def _run(*command: str, cwd: Path) -> None:
    """As somebody without rights: PostgreSQL refuses to be root."""
    other: dict[str, Any] = {"user": _NOBODY, "group": pwd.getpwnam(_NOBODY).pw_gid, "extra_groups": []}
    who = other if os.getuid() == 0 else {}
    done = subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, env={"LC_ALL": "C"}, **who
    )
    assert done.returncode == 0, done.stderr + done.stdout


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """The address of a server that listens on a socket in its own folder alone."""
    # Not below pytest's folder, which nobody else may enter; and a socket's path must be short.
    place = Path(tempfile.mkdtemp(prefix="qv-pg-"))
    data = place / "data"
    try:
        if os.getuid() == 0:
            shutil.chown(place, _NOBODY)
        _run(
            _program("initdb"),
            "-D",
            str(data),
            "-U",
            "queryveil",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "-N",
            cwd=place,
        )
        settings = f"-c listen_addresses='' -c unix_socket_directories={place} -c max_connections=60"
        start = ("-D", str(data), "-w", "-l", str(place / "log"))
        _run(_program("pg_ctl"), *start, "-o", settings, "start", cwd=place)
        try:
            yield f"postgresql://queryveil@/postgres?host={place}"
        finally:
            _run(_program("pg_ctl"), "-D", str(data), "-w", "-m", "immediate", "stop", cwd=place)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def statement(address: str, *statements: str) -> list[Any]:
    """What the last of some statements answers, as somebody with a database client would get it."""
    import psycopg

    with psycopg.connect(address, autocommit=True) as connection:
        for one in statements:
            cursor = connection.execute(one)  # type: ignore[arg-type]
        return cursor.fetchall() if cursor.description else []
