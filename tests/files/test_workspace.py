"""Where raw rows lie while a log is in use: where TMPDIR says, for their owner alone, and gone also after a kill."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.files import workspace
from tests.command import command
from tests.conftest import many

HOLDS = "import sys, time, queryveil as qv; log = qv.read(sys.argv[1]); print('holds', flush=True); time.sleep(600)"
ZEALOUS = ("--method", "zealous", "--epsilon", "100", "--delta", "1e-6", "--max-items", "1")


@pytest.fixture
def log(tmp_path: Path) -> Path:
    pq.write_table(many(60, ["weather", "news"]), tmp_path / "log.parquet")
    return tmp_path / "log.parquet"


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of our own for temporary files, here and in other processes."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setenv("TMPDIR", str(folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    return folder


def holder(log: Path) -> subprocess.Popen[str]:
    """Another process that has read the log and lives."""
    process = subprocess.Popen([sys.executable, "-c", HOLDS, str(log)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline() == "holds\n"
    return process


def left(temporary: Path) -> list[Path]:
    return sorted(temporary.glob("queryveil-*"))


def test_the_next_run_removes_what_a_killed_one_left(log: Path, temporary: Path) -> None:
    for _ in range(2):
        process = holder(log)
        process.kill()
        process.communicate()
    assert len(left(temporary)) == 2
    found = command("inspect", str(log))
    assert found.code == 0 and not left(temporary)
    assert found.err.count("\n") == 1 and "2 temporary folders" in found.err, found.err
    again = command("inspect", str(log))
    assert again.code == 0 and not again.err


def test_a_run_that_starts_before_a_folder_is_held_neither_takes_it_nor_warns(
    log: Path, temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by another run that starts between making a folder and holding it."""
    swept: list[int] = []

    def late(lock: int, how: int, flock: Callable[[int, int], None] = fcntl.flock) -> None:
        if not swept:
            swept.append(-1)
            swept[0] = workspace.sweep_leftovers()
        flock(lock, how)

    monkeypatch.setattr("fcntl.flock", late)
    assert qv.read(log).rows == 120 and swept == [0]


def test_a_folder_that_was_never_held_goes_after_an_hour_without_a_word(log: Path, temporary: Path) -> None:
    fresh, old = (temporary / f"queryveil-{digit * 16}.new" for digit in "01")
    for folder in (fresh, old):
        folder.mkdir()
        (folder / "owner.lock").touch()
    os.utime(old, (1, 1))
    found = command("inspect", str(log))
    assert found.code == 0 and not found.err and left(temporary) == [fresh]


def test_under_json_it_is_one_warning(log: Path, temporary: Path) -> None:
    process = holder(log)
    process.kill()
    process.communicate()
    found = command("inspect", str(log), "--json")
    assert found.code == 0 and found.document and found.err.startswith('{"warning": ')
    assert not left(temporary)


def test_folders_of_living_processes_of_strangers_and_links_stay(log: Path, temporary: Path) -> None:
    process = holder(log)
    try:
        target = temporary / "elsewhere"
        target.mkdir()
        (target / "owner.lock").touch()
        (temporary / "queryveil-0123456789abcdef").symlink_to(target)
        (temporary / "queryveil-mine").mkdir()
        inside = temporary / "queryveil-0000000000000000"
        inside.mkdir()
        (inside / "owner.lock").symlink_to(log)
        held = left(temporary)
        found = command("inspect", str(log))
        assert found.code == 0 and not found.err
        assert left(temporary) == held and (target / "owner.lock").exists() and log.exists()
    finally:
        process.kill()
        process.communicate()


def test_a_folder_is_gone_after_an_interrupt(log: Path, temporary: Path) -> None:
    process = holder(log)
    assert stat.S_IMODE(left(temporary)[0].stat().st_mode) == 0o700
    process.send_signal(signal.SIGINT)
    process.communicate()
    assert not left(temporary)


@pytest.mark.parametrize("kind", ["missing", "file", "full"])
def test_a_temporary_folder_that_cannot_be_used_is_refused(
    log: Path, tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = {"missing": tmp_path / "nowhere", "file": log, "full": tmp_path / "full"}[kind]
    if kind == "full":
        place.mkdir()
        write = os.write
        monkeypatch.setattr(os, "write", lambda fd, data: _full() if len(data) == 4096 else write(fd, data))
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr("tempfile.tempdir", None)
    found = command("publish", str(log), *ZEALOUS, "--out", str(tmp_path / "out"))
    assert found.code == 6, found.err
    assert f"no working folder can be made in '{place}'" in found.err and "TMPDIR" in found.err
    assert not (tmp_path / "out").exists()
    if kind == "full":
        assert not list(place.iterdir())


def _full() -> int:
    raise OSError(28, "No space left on device")


def test_spark_shuffles_into_a_folder_for_its_user_alone(log: Path, temporary: Path) -> None:
    work = """
import os, sys, pathlib, stat
import queryveil as qv
from queryveil.files import workspace
engine = qv.connect("spark")
engine.con._session.range(1000).repartition(3).localCheckpoint().count()
files = [one for one in pathlib.Path(os.environ["TMPDIR"]).rglob("*") if one.is_file()]
loose = [str(one) for one in files if stat.S_IMODE(one.stat().st_mode) & 0o077]
print(any("shuffle" in one.name for one in files), loose)
"""
    done = subprocess.run([sys.executable, "-c", work], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True []"
    for _ in range(50):
        if not left(temporary):
            break
        time.sleep(0.1)
    assert not left(temporary)


def test_a_folder_is_gone_also_without_descriptors_to_spare(temporary: Path) -> None:
    """`rmtree` needs two for each level: without them it left the rows of a log where they were."""
    folder = workspace.new_name()
    workspace.make_folder(folder)
    (folder / "spill" / "deep").mkdir(parents=True)
    for name in ("rows.parquet", "spill/part", "spill/deep/part"):
        (folder / name).write_text("rows")
    (folder / "link").symlink_to(temporary)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken: list[int] = []
    try:
        resource.setrlimit(
            resource.RLIMIT_NOFILE,
            (max(int(one.name) for one in Path("/proc/self/fd").iterdir()) + 2, limit[1]),
        )
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        workspace.remove_folder(folder)
    finally:
        for one in taken:
            os.close(one)
        resource.setrlimit(resource.RLIMIT_NOFILE, limit)
    assert left(temporary) == [] and temporary.is_dir()
