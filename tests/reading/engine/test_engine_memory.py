"""Memory: every odd limit is refused in a sentence, and too little of it is not the fault of the files."""

from __future__ import annotations

import errno
import os
import resource
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from tests.command import command
from tests.conftest import many

ODD = (
    "-3GB", "GB", "0GB", "0.0GB", "nan", "nanGB", "infGB", "1e9", "1e9GB", "", " ", "3 GB", "3GiB", "3", ".GB",
    "1..5GB", "\u0663GB", "\u00b2GB", "\uff13GB", "99999999999999TB", "9" * 400 + "GB", "3GB'; SELECT 1", "0.0001KB",
)  # fmt: skip


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("memory") / "log.parquet"
    pq.write_table(many(400, [f"query {number}" for number in range(200)]), file)
    return file


@pytest.mark.parametrize("value", ODD)
def test_an_odd_limit_is_refused_in_a_sentence(
    log: Path, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QUERYVEIL_MEMORY", value)
    found = command("inspect", str(log))
    assert found.code == 2 and found.err.startswith(
        f"Error: QUERYVEIL_MEMORY '{value[:40]}' is not a size; write it"
    )
    assert found.err.count("\n") == 1


@pytest.mark.parametrize("value", ["500MB", "500mb", ".5GB", "1.GB", "0.001TB"])
def test_sizes_are_taken(log: Path, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUERYVEIL_MEMORY", value)
    assert command("inspect", str(log)).code == 0


@pytest.mark.parametrize("value", ["1KB", "1MB", "5MB"])
def test_too_low_a_limit_is_said_to_be_so(log: Path, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUERYVEIL_MEMORY", value)
    found = command(
        "publish", str(log), "--method", "k-session", "--k", "5", "--out", str(log.parent / "out")
    )
    assert found.code == 5, found.err
    assert f"does not fit into the engine's memory limit of {value}; raise QUERYVEIL_MEMORY" in found.err
    assert "complete" not in found.err


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        pa.ArrowMemoryError("malloc of size 64 failed"),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        ImportError("libarrow.so: failed to map segment from shared object"),
        ImportError("libgomp.so.1: cannot allocate memory in static TLS block"),
        RuntimeError("can't start new thread"),
        RuntimeError("std::bad_alloc"),
        OSError("libllvmlite.so: failed to map segment from shared object"),
    ],
    ids=repr,
)
def test_memory_that_runs_out_anywhere_is_one_sentence(log: Path, error: Exception) -> None:
    with mock.patch.object(qv, "read", side_effect=error):
        found = command("inspect", str(log))
    assert (found.code, found.err.count("\n")) == (5, 1), found
    assert found.err.startswith("Error: there is not enough memory for this")


def test_other_errors_are_not_blamed_on_memory(log: Path) -> None:
    for error, code in ((RuntimeError("no"), 70), (ImportError("no"), 70), (OSError(errno.ENOSPC, "no"), 6)):
        with mock.patch.object(qv, "read", side_effect=error):
            assert command("inspect", str(log)).code == code


# -- a limit of address space --------------------------------------------------------------------------------


def limited(gigabytes: float, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A command under `ulimit -v`."""
    most = int(gigabytes * 1e9)
    return subprocess.run(
        [sys.executable, "-c", "from queryveil.show import cli; cli.run()", *words],
        cwd=cwd,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.fixture(scope="module")
def release(log: Path) -> Path:
    out = log.parent / "release"
    qv.publish(qv.read(log), qv.KQuery(k=5), out=out)
    return out


@pytest.mark.parametrize("gigabytes", [0.25, 0.6, 0.9, 1.2])
@pytest.mark.parametrize("asked", ["inspect log.parquet", "release verify release"])
def test_a_low_limit_is_refused_before_libraries_end_the_process(
    gigabytes: float, asked: str, log: Path, release: Path
) -> None:
    """They would abort, call themselves interrupted, or make a sound release fail its checks."""
    done = limited(gigabytes, *asked.split(), cwd=log.parent)
    assert done.returncode == 5, (done.returncode, done.stderr)
    assert done.stderr.startswith("Error: there is not enough memory for this: the process may use")
    assert done.stderr.count("\n") == 1


def test_under_the_least_limit_all_is_well_or_memory_is_named(log: Path, release: Path) -> None:
    from queryveil.files import memory

    publish = "publish zealous log.parquet --epsilon 4 --delta 1e-6 --max-items 1 --allow-empty --out least"
    for words in (["inspect", "log.parquet"], ["release", "verify", "release"], publish.split()):
        done = limited(memory.minimum_memory() / 1e9, *words, cwd=log.parent)
        assert done.returncode == 0 or (done.returncode == 5 and "memory" in done.stderr), done.stderr


def test_a_check_that_memory_cut_short_is_no_failure_of_the_release(
    release: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only where memory is limited: a damaged file may ask for any amount, and is damaged then."""
    with mock.patch("queryveil.verification.tables._check_nulls", side_effect=MemoryError):
        assert not qv.verify(release).passes
        monkeypatch.setattr("queryveil.files.memory.address_space_limit", lambda: 2 * 10**9)
        with pytest.raises(MemoryError):
            qv.verify(release)


def test_the_engine_takes_less_where_the_process_may_have_little(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def limit() -> str:
        said = qv.read(log).engine.con.raw_sql("SELECT current_setting('memory_limit')").fetchone()
        return str(said[0])

    usual = limit()
    monkeypatch.setattr("queryveil.files.memory.address_space_limit", lambda: 2 * 10**9)
    assert limit() != usual == "2.7 GiB"


def test_libraries_start_no_threads_that_would_interrupt_us(log: Path) -> None:
    """OpenBLAS sends the process an interrupt where it cannot start a thread."""
    said = "print(os.environ['OPENBLAS_NUM_THREADS'])"
    code = f"import os; from queryveil.show.cli import app; app.app = lambda **_: {said}; app.run()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "1\n", done.stderr
