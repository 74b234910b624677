"""Memory: every odd limit is refused in a sentence, and too little of it is not the fault of the files."""

from __future__ import annotations

import errno
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
