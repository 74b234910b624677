"""Memory: every odd limit is refused in a sentence, and too little of it is not the fault of the files."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

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
