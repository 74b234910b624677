"""Spark may be killed or run out of memory while it works: one sentence, and nothing stays behind."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException, PythonException

import queryveil as qv
from queryveil.reading.engine import Spark
from tests.conftest import many

KILLED = """
import os, signal
from pyspark import SparkContext
from queryveil.show import cli
from queryveil.reading.engine import Spark

real = Spark.arrow

def killed(self, table):
    java = SparkContext._gateway.proc
    if java.poll() is None:
        os.kill(java.pid, signal.SIGKILL)
        java.wait()
    return real(self, table)

Spark.arrow = killed
cli.run()
"""


def test_a_java_process_that_is_killed_is_one_sentence(tmp_path: Path) -> None:
    pq.write_table(many(60, ["apples", "pears"]), tmp_path / "log.parquet")
    (tmp_path / "scratch").mkdir()
    publish = "publish log.parquet --method k-query --k 5 --out out --engine spark"
    done = subprocess.run(
        [sys.executable, "-c", KILLED, *publish.split()],
        cwd=tmp_path,
        env=os.environ | {"TMPDIR": str(tmp_path / "scratch")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 5, done
    assert done.stderr.startswith("Error: Spark was lost while it worked"), done.stderr
    assert done.stderr.count("\n") == 1
    assert {one.name for one in tmp_path.iterdir()} == {"log.parquet", "scratch"}
    assert [one.name for one in (tmp_path / "scratch").iterdir() if one.name.startswith("queryveil-")] == []


EXECUTORS_KILLED = """
import os, signal, threading, time
from pathlib import Path
from queryveil.files import interruptions
from queryveil.reading.engine import Spark
from queryveil.show import cli

def kill_forever():
    while True:
        for one in Path("/proc").glob("[0-9]*"):
            try:
                words = (one / "cmdline").read_bytes().split(b"\\0")
                executor = b"org.apache.spark.executor.CoarseGrainedExecutorBackend" in words
                if executor and os.environ["MARK"].encode() in (one / "environ").read_bytes():
                    os.kill(int(one.name), signal.SIGKILL)
            except OSError:
                pass
        time.sleep(0.1)

real, started = Spark.arrow, []

def killed(self, table):
    if interruptions._STANDING.get().charged and not started:
        started.append(threading.Thread(target=kill_forever, daemon=True))
        started[0].start()
    return real(self, table)

Spark.arrow = killed
cli.run()
"""


def test_executors_that_are_killed_are_one_sentence_and_the_charge_is_said(tmp_path: Path) -> None:
    """Real processes of a cluster: killed again and again after the charge, until Spark gives up."""
    pq.write_table(many(60, ["apples", "pears"]), tmp_path / "log.parquet")
    (tmp_path / "scratch").mkdir()
    ledger = qv.Ledger(str(tmp_path / "ledger.db"))
    ledger.open("web", epsilon=100, delta=0.01)
    publish = (
        "publish log.parquet --method zealous --epsilon 4 --delta 1e-6 --guarantee approximate --out out "
        "--ledger ledger.db --source web --engine local-cluster[2,1,1024]"
    )
    soon = "--conf spark.task.maxFailures=1 --conf spark.deploy.maxExecutorRetries=0 pyspark-shell"
    own = {"TMPDIR": str(tmp_path / "scratch"), "SPARK_WORKER_DIR": str(tmp_path / "scratch" / "workers")}
    done = subprocess.run(
        [sys.executable, "-c", EXECUTORS_KILLED, *publish.split()],
        cwd=tmp_path,
        env=os.environ | own | {"PYSPARK_SUBMIT_ARGS": soon, "MARK": f"killed by {tmp_path}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 5, done
    assert done.stderr.startswith("Error: Spark was lost while it worked"), done.stderr
    assert "the charge to the ledger stands" in done.stderr and done.stderr.count("\n") == 1
    assert len(ledger.budget("web").events) == 1
    assert {one.name for one in tmp_path.iterdir()} == {"ledger.db", "log.parquet", "scratch"}


INTERRUPTED = """
import os, signal, threading, time
from queryveil.reading.engine import Spark
from queryveil.show import cli

def interrupt(context):
    while not context.statusTracker().getActiveJobsIds():
        time.sleep(0.05)
    os.kill(os.getpid(), signal.{name})

def endless(self, table):
    session = self.con._session
    threading.Thread(target=interrupt, args=(session.sparkContext,), daemon=True).start()
    with self.errors():
        return session.range(10**15).filter("hash(id) = 7").{call}()

Spark.arrow = endless
cli.run()
"""


@pytest.mark.parametrize("call", ["count", "toArrow", "localCheckpoint"])
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_cancels_the_jobs_of_spark(name: str, call: str, tmp_path: Path) -> None:
    pq.write_table(many(60, ["apples", "pears"]), tmp_path / "log.parquet")
    publish = "publish log.parquet --method k-query --k 5 --out out --engine spark"
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(name=name, call=call), *publish.split()],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 130, done
    assert done.stderr.startswith("Error: interrupted") and done.stderr.count("\n") == 1, done.stderr


def test_an_error_that_follows_from_an_interrupt_is_the_interrupt() -> None:
    def interrupt() -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise PySparkException("Job 3 cancelled as part of cancellation of all jobs")

    with pytest.raises(KeyboardInterrupt), Spark(None).errors():
        interrupt()


def test_a_spark_that_has_given_up_is_lost_whatever_it_says() -> None:
    con = mock.MagicMock()
    con._session.sparkContext._jsc.sc().isStopped.return_value = True
    with pytest.raises(qv.CannotBeMet, match="Spark was lost while it worked"), Spark(con).errors():
        raise PySparkException("Exception thrown in awaitResult: apples")
    con._session.sparkContext._jsc.sc().isStopped.return_value = False
    with pytest.raises(qv.InputError, match="could not read or process the log"), Spark(con).errors():
        raise PySparkException("Exception thrown in awaitResult: apples")


@pytest.mark.parametrize(
    "error",
    [
        Py4JNetworkError("Answer from Java side is empty"),
        Py4JError("An error occurred while calling o1.sql"),
        ConnectionRefusedError(111, "Connection refused"),
        ConnectionResetError(104, "Connection reset by peer"),
        EOFError(),
        PySparkException("Job aborted: ExecutorLostFailure (executor 1 exited): apples"),
        PySparkException("Job 3 cancelled because SparkContext was shut down: apples"),
        PySparkException("Python worker exited unexpectedly (crashed): apples"),
    ],
    ids=repr,
)
def test_whatever_says_that_spark_is_gone_is_the_same_sentence(error: Exception) -> None:
    with pytest.raises(qv.CannotBeMet, match="Spark was lost while it worked") as told, Spark(None).errors():
        raise error
    assert "apples" not in str(told.value)


def test_want_of_memory_in_spark_is_said_to_be_so() -> None:
    with (
        pytest.raises(qv.CannotBeMet, match="does not fit into Spark's memory") as told,
        Spark(None).errors(),
    ):
        raise PySparkException("java.lang.OutOfMemoryError: Java heap space: apples")
    assert "apples" not in str(told.value)


def test_another_python_on_the_workers_is_said_to_be_so() -> None:
    with pytest.raises(qv.UsageError) as told, Spark(None).errors():
        raise PythonException("Job aborted: [PYTHON_VERSION_MISMATCH] Python in worker has another: apples")
    assert "PYSPARK_PYTHON" in told.value.hint and "apples" not in str(told.value)


def test_workers_without_queryveil_are_said_to_be_so() -> None:
    with pytest.raises(qv.UsageError) as told, Spark(None).errors():
        raise PythonException("apples\nModuleNotFoundError: No module named 'queryveil'")
    assert "PYSPARK_PYTHON" in told.value.hint and "apples" not in str(told.value)


def test_other_failures_of_spark_are_about_the_files() -> None:
    with pytest.raises(qv.InputError, match="could not read or process the log"), Spark(None).errors():
        raise PySparkException("not a Parquet file: apples")


@pytest.mark.parametrize(
    "method", ["read_parquet", "exact_texts", "keep", "drop", "arrow", "table", "register", "map_batches"]
)
def test_every_call_of_spark_is_guarded(method: str) -> None:
    class Gone:
        def __getattr__(self, name: str) -> object:
            raise ConnectionRefusedError(111, "Connection refused")

    more: dict[str, list[Any]] = {"exact_texts": [["query"]], "map_batches": [len, "user string"]}
    given: object = [Path("log.parquet")] if method == "read_parquet" else Gone()
    with pytest.raises(qv.CannotBeMet, match="Spark was lost"):
        getattr(Spark(Gone()), method)(given, *more.get(method, ()))
