"""A Spark cluster: whether its master answers, and what its workers need of queryveil."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import sys
import threading
import time
import zipfile
from pathlib import Path
from typing import Any

from queryveil.errors import UsageError, argument

_MASTERS = re.compile(r"spark://(.+)")
_ANSWER_SECONDS = 5.0
_WORKERS_SECONDS = 30.0
"""How long a program waits for a first worker, and for another one if its last worker is lost."""
_POLL_SECONDS = 0.5
_SHIPPED = "queryveil_shipped"
_LOOPBACK = ("localhost", "127.0.0.1")


def require_reachable(master: str) -> None:
    """Refuse a master that nobody answers at: Spark itself would try for a minute."""
    found = _MASTERS.fullmatch(master)
    for one in found[1].split(",") if found else ():
        host, _, port = one.rpartition(":")
        if not host or not port.isdecimal():
            raise UsageError(
                f"Spark's master '{master}' is no host and port", "write it like spark://host:7077"
            )
        with (
            contextlib.suppress(OSError, OverflowError),
            socket.create_connection((host.strip("[]"), int(port)), timeout=_ANSWER_SECONDS),
        ):
            return
    if found:
        raise UsageError(
            f"no Spark master answers at '{master}'",
            "check host and port (the master's page shows them) and that it "
            f"runs, or use {argument('engine', 'duckdb')}",
        )


def settings(master: str, folder: Path) -> dict[str, str]:
    """What a session at a master needs beyond what every session has: above all this package for its workers."""
    archive = folder / "queryveil.zip"
    _pack_package(archive)
    found = {
        "spark.archives": f"{archive.as_uri()}#{_SHIPPED}",
        # Below the folder that an executor works in. It comes before what is installed there: one version everywhere.
        "spark.executorEnv.PYTHONPATH": _SHIPPED,
        # The largest result is taken part by part; how much that is depends on the log.
        "spark.driver.maxResultSize": "0",
        # What a lost worker had is read and counted again, and not given up after the fourth time on a bad machine.
        "spark.excludeOnFailure.enabled": "true",
    }
    if any(f"//{host}:" in master for host in _LOOPBACK):
        # Workers on this machine have the Python that is here.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        found |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
    return found


def _pack_package(archive: Path) -> None:
    """This package as it is installed here, with its data: not what it imports."""
    package = Path(__file__).parents[2]
    with zipfile.ZipFile(archive, "x", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for file in sorted(package.rglob("*")):
            if file.is_file() and "__pycache__" not in file.parts:
                packed.write(file, Path("queryveil") / file.relative_to(package))


def require_workers(session: Any, master: str) -> None:
    """Refuse a cluster that gives this program no executor: every question to it would wait for ever."""
    context = session.sparkContext._jsc.sc()
    until = time.monotonic() + _WORKERS_SECONDS
    while not _has_executor(context):
        if time.monotonic() > until:
            session.stop()
            raise UsageError(
                f"the Spark master '{master}' gave this program no worker within {_WORKERS_SECONDS:.0f} seconds",
                "start workers, wait until others are done, or ask for less with spark.executor.memory and "
                "spark.cores.max",
            )
        time.sleep(0.2)


def stop_without_workers(session: Any) -> None:
    """Stop the session once its jobs have waited too long for an executor; Spark itself would wait forever.

    A daemon thread polls until the session ends. The job that waits then fails, because its context was shut down.
    """
    context = session.sparkContext._jsc.sc()

    def watch() -> None:
        last = time.monotonic()
        # The session, or the process of Spark, may end at any call.
        with contextlib.suppress(Exception):
            while not context.isStopped():
                if _has_executor(context) or not len(context.statusTracker().getActiveJobIds()):
                    last = time.monotonic()
                elif time.monotonic() - last > _WORKERS_SECONDS:
                    session.stop()
                    return
                time.sleep(_POLL_SECONDS)

    threading.Thread(target=watch, name="queryveil-spark-workers", daemon=True).start()


def _has_executor(context: Any) -> bool:
    return bool(context.getExecutorMemoryStatus().size() > 1)  # the driver is one
