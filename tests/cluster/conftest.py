"""A real Spark cluster: a master and two workers as processes of their own, from the PySpark that is installed."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

import pyspark
import pytest

from tests.cluster import jobs

Ask = Callable[..., Future[Any]]
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
SUBMIT = (
    f'--conf spark.executor.memory=512m --conf "spark.executor.extraJavaOptions={QUICK}" '
    "--conf spark.sql.shuffle.partitions=4 pyspark-shell"
)
"""How a driver is started that asks for little."""
_SECONDS = 120


@dataclass
class Cluster:
    address: str
    folder: Path
    environment: dict[str, str]
    workers: list[subprocess.Popen[bytes]]
    master: subprocess.Popen[bytes]

    def start_worker(self) -> None:
        # A folder of its own: what a worker leaves is looked for there.
        where = self.folder / f"worker-{len(self.workers)}"
        where.mkdir()
        options = f"--host 127.0.0.1 --cores 1 --memory 1g --webui-port 0 --work-dir {where}"
        self.workers.append(
            _java(
                self.environment,
                f"org.apache.spark.deploy.worker.Worker {options} {self.address}",
                where / "log",
            )
        )
        _wait_for(where / "log", "Successfully registered with master")

    def kill_worker(self, number: int) -> None:
        """A worker and its executors, at once."""
        killed = self.workers[number]
        os.killpg(killed.pid, signal.SIGKILL)
        killed.wait()

    def kill_master(self) -> None:
        os.killpg(self.master.pid, signal.SIGKILL)
        self.master.wait()

    def kill_all_workers(self) -> None:
        for number, worker in enumerate(self.workers):
            if worker.poll() is None:
                self.kill_worker(number)


def _java(environment: dict[str, str], words: str, log: Path) -> subprocess.Popen[bytes]:
    home = Path(pyspark.__file__).parent
    with log.open("wb") as into:
        return subprocess.Popen(
            [home / "bin" / "spark-class", *words.split()],
            env=environment,
            stdout=into,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _wait_for(log: Path, words: str) -> str:
    until = time.monotonic() + _SECONDS
    while time.monotonic() < until:
        if found := re.search(words, log.read_text(errors="replace")):
            return found[0]
        time.sleep(0.1)
    raise TimeoutError(log.read_text(errors="replace")[-2000:])


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running_cluster(tmp_path_factory.mktemp("cluster")) as made:
        yield made


@contextlib.contextmanager
def running_cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """A master and its workers, which are killed at the end."""
    environment = os.environ | {
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK,
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_NO_DAEMONIZE": "1",
        "PYSPARK_PYTHON": sys.executable,
    }
    words = "org.apache.spark.deploy.master.Master --host 127.0.0.1 --port 0 --webui-port 0"
    made = Cluster("", folder, environment, [], _java(environment, words, folder / "log"))
    try:
        made.address = _wait_for(folder / "log", r"spark://127\.0\.0\.1:[1-9][0-9]*")
        for _ in range(workers):
            made.start_worker()
        yield made
    finally:
        for one in [*made.workers, made.master]:
            if one.poll() is None:
                os.killpg(one.pid, signal.SIGKILL)
            one.wait()


@pytest.fixture(scope="session")
def driver(cluster: Cluster) -> Iterator[Ask]:
    """A process with a session at the cluster, which runs functions of `jobs`: Spark allows one session a process."""
    added = {"PYSPARK_SUBMIT_ARGS": SUBMIT, "PYSPARK_PYTHON": sys.executable}
    with (
        mock.patch.dict(os.environ, added),
        ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool,
    ):
        yield lambda job, *given: pool.submit(job, cluster.address, *given)
        pool.submit(jobs.stop).result()
