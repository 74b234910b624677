"""A request to stop, at any moment: a complete release or none, no trace of the log, a last sentence that is true."""

from __future__ import annotations

import gc
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import queryveil as qv
from queryveil.files import interruptions
from queryveil.mechanisms.k_session import grouping as k_session_grouping
from queryveil.mechanisms.k_session import loops as k_session_loops
from tests import sizes
from tests.command import Outcome, command
from tests.conftest import many

LINE = "publish log.tsv --method zealous --guarantee probabilistic --epsilon 2 --delta 1e-3 --max-items 2 --out out"
PUBLISH = shlex.split(LINE)
CHARGED = shlex.split(f"{LINE} --ledger ledger.db --source web")
FILE_EVENTS = {
    *("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.listdir", "os.scandir"),
    *("shutil.rmtree", "shutil.copyfile", "fcntl.flock"),
}


class Strike:
    """Sends a signal to this process at one of the file system calls that follow the first one on an output."""

    def __init__(self) -> None:
        self.at: int | None = None
        self.near = ""
        self.how: Callable[[], None] = lambda: None
        self.seen = 0
        self.watching = False
        sys.addaudithook(self)

    def __call__(self, event: str, given: tuple[Any, ...]) -> None:
        if self.at is None or event not in FILE_EVENTS:
            return
        self.watching = self.watching or any(self.near in str(one) for one in given[:2])
        if self.watching:
            self.seen += 1
            if self.seen == self.at:
                self.how()

    def arm(self, near: str, at: int, how: Callable[[], None]) -> None:
        self.near, self.at, self.how, self.seen, self.watching = near, at, how, 0, False

    def disarm(self) -> int:
        """How many calls there were."""
        self.at = None
        return self.seen


@pytest.fixture(scope="module")
def strikes() -> Strike:
    # An audit hook cannot be taken away again: one is enough.
    return Strike()


@pytest.fixture
def strike(strikes: Strike) -> Iterator[Strike]:
    yield strikes
    strikes.disarm()


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a log and a ledger, and a place of its own for temporary files."""
    work, scratch = tmp_path / "work", tmp_path / "scratch"
    work.mkdir()
    scratch.mkdir()
    rows = many(300, ["apples", "pears"]).to_pylist()
    lines = [f"{row['user']}\t{row['time']}\t{row['query']}\n" for row in rows]
    (work / "log.tsv").write_text("user\ttime\tquery\n" + "".join(lines))
    monkeypatch.chdir(work)
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    qv.Ledger("ledger.db").open("web", epsilon=1e6, delta=0.9)
    return work


def names(folder: Path) -> set[str]:
    return {one.name for one in folder.iterdir() if not one.name.startswith("ledger.db")}


def charges() -> int:
    return len(qv.Ledger("ledger.db").budget("web").events)


def assert_true(done: Outcome, here: Path, charged: int) -> bool:
    """Whether the release stands, after making sure that everything said of it is so."""
    assert "Traceback" not in done.err and "Exception ignored" not in done.err, done.err
    gc.collect()
    assert list((here.parent / "scratch").iterdir()) == [], "the parsed log stays behind"
    stands = (here / "out").exists()
    if stands:
        assert names(here) == {"log.tsv", "out", "out.private"}
        assert qv.verify(here / "out").passes and (here / "out.private" / "curator.json").exists()
    else:
        assert names(here) == {"log.tsv"}
    if done.code == 130:
        said = "the release stands complete in 'out'" if stands else "nothing half-written is left"
        assert done.err.startswith(f"Error: interrupted; {said}"), (stands, done.err)
        assert ("charge to the ledger stands" in done.err) == (charged == 1), (charged, done.err)
    else:
        assert (done.code, stands, charged) == (0, True, 1), done
    return stands


def clear(here: Path) -> None:
    for name in ("out", "out.private"):
        shutil.rmtree(here / name, ignore_errors=True)


# -- at every file system call -------------------------------------------------------------------------------


def test_a_signal_at_any_call_leaves_all_or_nothing_and_says_so(here: Path, strike: Strike) -> None:
    strike.arm(".out.", 0, lambda: None)
    assert command(*CHARGED).code == 0
    calls = strike.disarm()
    clear(here)
    assert calls > 40, "nothing is tested if nothing is seen"
    outcomes = set()
    before = charges()
    # Every second call; `make evidence` strikes at all of them.
    for at in range(1, calls + 1, 1 if sizes.FULL else 4):
        one = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[at % 3]
        strike.arm(".out.", at, lambda one=one: os.kill(os.getpid(), one))  # type: ignore[misc]
        done = command(*CHARGED)
        strike.disarm()
        now = charges()
        outcomes.add((done.code, assert_true(done, here, now - before)))
        before = now
        clear(here)
    assert {(130, False), (130, True)} <= outcomes
    assert command(*CHARGED).code == 0


KILLED = """
import os, signal, sys
seen = 0
def strike(event, given):
    global seen
    if event == "os.rename" and ".writing" in str(given[0]):
        seen += 1
        if seen == {at}:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(strike)
from queryveil.show import cli
cli.run()
"""


def test_what_a_killed_run_had_completed_is_there_after_the_next(here: Path) -> None:
    """Two notes that everything is on disk, then the private folder, then the release."""
    for at, finished in ((1, False), (2, True), (3, True), (4, True)):
        killed = subprocess.run(
            [sys.executable, "-c", KILLED.format(at=at), *PUBLISH], capture_output=True, check=False
        )
        assert killed.returncode == -signal.SIGKILL
        assert not (here / "out").exists()
        done = command(*PUBLISH)
        if finished:
            assert done.code == 2, done
            assert "exists already: an earlier run completed it before it was killed" in done.err
        else:
            assert done.code == 0, done
        assert names(here) == {"log.tsv", "out", "out.private"}
        assert qv.verify("out").passes and Path("out.private/curator.json").exists()
        assert command(*PUBLISH).code == 2
        clear(here)
        for left in (here.parent / "scratch").iterdir():
            left.rename(here.parent / left.name)  # a killed process removes nothing


def test_a_release_that_cannot_appear_takes_its_private_folder_back(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.rename

    def refuse(path: Path, target: Path) -> Path:
        if Path(target).name == "out":
            raise PermissionError(13, "Permission denied")
        return real(path, target)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "rename", refuse)
        done = command(*CHARGED)
    assert (
        done.code == 6
        and "cannot be written (Permission denied) (the charge to the ledger stands)" in done.err
    )
    assert names(here) == {"log.tsv"}
    assert command(*CHARGED).code == 0


def test_a_leftover_without_a_note_is_swept_away(here: Path) -> None:
    left = here / ".out.writing"
    (left / "content").mkdir(mode=0o700, parents=True)
    left.chmod(0o700)
    (left / "content" / "half.parquet").write_text("half")
    (left / "complete.json.draft").write_text("[")
    assert command(*PUBLISH).code == 0
    assert names(here) == {"log.tsv", "out", "out.private"}
    assert not (here / "out" / "half.parquet").exists()


def test_a_folder_of_somebody_else_is_not_believed(here: Path) -> None:
    """In a shared folder anyone could say what goes where."""
    left = here / ".out.writing"
    left.mkdir(mode=0o777)
    left.chmod(0o777)
    (left / "content").write_text("planted")
    (left / "complete.json").write_text(f'["{here / "victim"}", "{here / "out"}"]')
    done = command(*PUBLISH)
    assert done.code == 2 and "is in the way, and is not a folder of yours alone" in done.err
    assert not (here / "victim").exists() and not (here / "out").exists()


def test_the_loops_of_k_session_answer_between_their_steps(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [f"u{n}\t2026-01-01 00:00:00\tw{n % 17} x{n % 23} y{n % 7}\n" for n in range(300)]
    (here / "log.tsv").write_text("user\ttime\tquery\n" + "".join(lines))
    real, steps = k_session_loops.form, []

    def struck(*given: Any) -> Any:
        found = real(*given)
        steps.append(found)
        if len(steps) == 3:  # as if it had come while the compiled loop ran
            os.kill(os.getpid(), signal.SIGTERM)
        return found

    monkeypatch.setattr(k_session_grouping, "EFFORT", 1)
    monkeypatch.setattr(k_session_loops, "form", struck)
    done = command(*shlex.split("publish log.tsv --method k-session --k 5 --out out"))
    assert done.code == 130 and not assert_true(done, here, 0)
    assert len(steps) == 3, "it went on"
    steps.extend([(0, 0, 0)] * 3)
    assert command(*shlex.split("publish log.tsv --method k-session --k 5 --out out")).code == 0
    assert len(steps) > 60, "the first three were a small part of the work"


# -- from Python ---------------------------------------------------------------------------------------------


@pytest.fixture(autouse=True)
def pythons_own_answer() -> Iterator[None]:
    """Spark puts a handler of its own in place, and it stays after the test that started Spark."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_signals_that_are_held_back_are_answered_afterwards() -> None:
    done: list[str] = []
    with pytest.raises(KeyboardInterrupt), interruptions.hold_signals(), interruptions.hold_signals():
        os.kill(os.getpid(), signal.SIGINT)
        done.append("whole")
    assert done == ["whole"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_signal_that_ends_the_process_waits_too() -> None:
    script = (
        "import os, signal\nfrom queryveil.files import interruptions\n"
        "with interruptions.hold_signals():\n    os.kill(os.getpid(), signal.SIGTERM)\n    print('whole', flush=True)\n"
        "print('not here')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (-signal.SIGTERM, "whole\n")


def test_a_thread_publishes_while_the_main_thread_is_interrupted(here: Path) -> None:
    log = qv.read(many(300, ["apples", "pears"]))
    thread = threading.Thread(
        target=lambda: qv.publish(
            log, qv.Zealous(epsilon=2, delta=1e-3, max_items=2, guarantee="probabilistic"), out="out"
        )
    )
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
    thread.join()
    assert qv.verify("out").passes and names(here) == {"log.tsv", "out", "out.private"}
