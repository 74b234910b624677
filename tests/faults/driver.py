"""Publishes a small log again and again, each time with one fault, and looks at what is left.

    python -m tests.faults.driver FOLDER [--points 400] [--writers 32] [--all] [--kept FILE]

A process without threads loads everything once, and forks a child for each fault: a signal at a chosen line, a disk
that is full, a place that cannot be written, a log that changes, too few descriptors, too little memory. It prints one
JSON line for each, and leaves out those whose lines are in the file `--kept`. `verdict` says what is wrong, or nothing.
"""

from __future__ import annotations

import argparse
import atexit
import contextlib
import ctypes
import datetime
import gc
import importlib
import json
import os
import resource
import shutil
import signal
import sqlite3
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any
from unittest import mock

LINE = (
    "publish zealous log.tsv --epsilon 8 --delta 1e-6 --max-items 2 --out out/release "
    "--ledger books/ledger.db --source web"
)
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGKILL")
ROOMS = {
    "read": ("reading",),
    "count and protect": ("count", "mechanisms", "privacy"),
    "charge": ("release/ledger",),
    "write": ("release", "files", "display", "language"),
}
"""What a line does, by the room it stands in; the first that fits."""
_EARLY = {-signal.SIGTERM, -signal.SIGHUP}
CODES = {0, 2, 3, 4, 5, 6, 130}
_PACKAGE = "/queryveil/"
_LONGEST_SECONDS = 60.0


@dataclass(frozen=True)
class Outcome:
    """What became of one run."""

    stage: str
    fault: str
    code: int
    said: str
    release: bool
    charges: int
    left: tuple[str, ...]
    wrong: str = ""


Run = Callable[[], Outcome]


def stage_of(file: str) -> str:
    inner = file.partition(_PACKAGE)[2]
    if inner.startswith(ROOMS["charge"]):
        return "charge"
    return next((stage for stage, rooms in ROOMS.items() if inner.startswith(rooms)), "")


class Lines:
    """Calls a function at one of the lines that a run goes through."""

    def __init__(self, at: int, strike: Callable[[], None]) -> None:
        self.at, self.strike, self.seen = at, strike, 0
        self.stages: list[tuple[str, int]] = []

    def start(self) -> None:
        sys.settrace(self._call)

    def _call(self, frame: FrameType, event: str, _: Any) -> Any:
        if _PACKAGE not in frame.f_code.co_filename:
            return None
        stage = stage_of(frame.f_code.co_filename)
        if not stage:
            return None

        def line(_frame: FrameType, event: str, _: Any) -> Any:
            if event == "line":
                self.seen += 1
                if not self.stages or self.stages[-1][0] != stage:
                    self.stages.append((stage, self.seen))
                if self.seen == self.at:
                    self.strike()
            return line

        return line


class Place:
    """A folder with a log, a ledger, an output and a temporary folder, each of them made anew."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.noted = root / "noted"
        self.pipe = 2

    def make(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        for name in ("out", "scratch", "books"):
            (self.root / name).mkdir(parents=True)
        rows = [
            f"u{user}\t2026-01-01 00:0{n}:00\t{q}\n" for user in range(120) for n, q in enumerate(QUERIES)
        ]
        (self.root / "log.tsv").write_text("user\ttime\tquery\n" + "".join(rows))
        shutil.copyfile(self.root.parent / "ledger.db", self.root / "books" / "ledger.db")

    def charges(self) -> int:
        with contextlib.closing(sqlite3.connect(self.root / "books" / "ledger.db")) as books:
            return int(books.execute("SELECT count(*) FROM queryveil_events").fetchone()[0])

    def left(self) -> tuple[str, ...]:
        """Everything that should not be there."""
        found = [f"scratch/{one.name}" for one in (self.root / "scratch").iterdir()]
        found += [f"out/{one.name}" for one in (self.root / "out").iterdir() if one.name not in RELEASE]
        names = ("log.tsv", "out", "scratch", "books", "noted")
        found += [one.name for one in self.root.iterdir() if one.name not in names]
        return tuple(sorted(found))


LOADED = (
    "ibis.backends.duckdb",
    "pyarrow.dataset",
    "sqlalchemy.dialects.sqlite",
    "queryveil.show.cli.publish",
)
QUERIES = ("apples", "pears", "secret plums")
RELEASE = {"release", "release.private"}


def run(place: Place, arm: Callable[[], None], words: str = LINE, *, anew: bool = False) -> tuple[int, str]:
    """The command in a child with a fault; its exit code (negative: the signal that ended it) and what it said.

    With `anew` the child is a new Python, in which nothing is loaded yet.
    """
    # Through a pipe: a limit on files must not be one on what is said.
    read, place.pipe = os.pipe()
    child = os.fork()
    if child == 0:
        _child(place, arm, words, anew=anew)
    os.close(place.pipe)
    until = time.monotonic() + _LONGEST_SECONDS
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > until:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(read)
            return -999, "it did not end"
        time.sleep(0.005)
    with os.fdopen(read, errors="replace") as said:
        return os.waitstatus_to_exitcode(status), said.read()


def _child(place: Place, arm: Callable[[], None], words: str, *, anew: bool = False) -> None:
    code: Any = 70
    try:
        # A driver that runs in the background may have been told to ignore them, and a child would, too.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
        os.chdir(place.root)
        os.environ["TMPDIR"] = str(place.root / "scratch")
        os.dup2(place.pipe, 2)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w", buffering=1)
        sys.argv = ["queryveil", *words.split()]
        from queryveil.show import cli

        arm()
        if anew:
            started = "from queryveil.show import cli; cli.run()"
            os.execv(sys.executable, [sys.executable, "-c", started, *words.split()])  # noqa: S606
        try:
            cli.run()
        except SystemExit as ended:
            code = ended.code
        finally:
            sys.settrace(None)
    except BaseException:  # noqa: BLE001 (whatever it is, it must not come out of a command)
        traceback.print_exc()
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
        atexit._run_exitfuncs()
        gc.collect()
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def judge(
    place: Place,
    stage: str,
    fault: str,
    arm: Callable[[], None],
    *,
    lift: Callable[[], None] = lambda: None,
    anew: bool = False,
) -> Outcome:
    """One run with a fault, and, once the fault is gone, what the next run makes of it."""
    code, said = run(place, arm, anew=anew)
    lift()
    if place.noted.exists():
        stage = place.noted.read_text()
    charges = place.charges()
    release = (place.root / "out" / "release").exists()
    # A process that was killed takes nothing away: the next one does.
    if code < 0 and release:
        run(place, lambda: None, "release verify out/release")
    elif code < 0:
        run(place, lambda: None, LINE.partition(" --ledger")[0])
        for name in RELEASE:
            shutil.rmtree(place.root / "out" / name, ignore_errors=True)
    left = place.left()
    found = Outcome(stage, fault, code, said.strip(), release, charges, left)
    return Outcome(**{**asdict(found), "left": left, "wrong": verdict(found, place)})


def verdict(found: Outcome, place: Place) -> str:
    """What must not be."""
    sentences = sum(line.startswith("Error") for line in found.said.splitlines())
    failed = found.code > 0
    # A signal before the first handler stands ends a process that has done nothing.
    ended = found.code == -signal.SIGKILL or (found.code in _EARLY and not found.charges)
    unsaid = failed and found.charges and not found.release and "charge" not in found.said
    faults = {
        "a traceback": "Traceback" in found.said or "Exception ignored" in found.said,
        f"exit code {found.code}": found.code not in CODES and not ended,
        "not one sentence": failed and sentences != 1,
        "a query is said": any(word in found.said for word in QUERIES),
        f"charged {found.charges} times": found.charges > 1 or (found.release and not found.charges),
        "no release, and nothing said": found.code == 0 and not found.release,
        "the charge is not said": bool(unsaid),
        f"left behind: {', '.join(found.left)}": bool(found.left),
    }
    wrong = [words for words, is_so in faults.items() if is_so]
    if found.release and not complete(place):
        wrong.append("a partial release")
    return "; ".join(wrong)


def complete(place: Place) -> bool:
    """Whether a release passes its own verification."""
    return run(place, lambda: None, "release verify out/release")[0] == 0 or verified_by_hand(place)


def verified_by_hand(place: Place) -> bool:
    """Files and their digests, for a release that says of itself that it may be checked no further."""
    import hashlib

    folder = place.root / "out" / "release"
    stated = json.loads((folder / "manifest.json").read_text())["files"]
    files = stated.items() if isinstance(stated, dict) else ((one["name"], one) for one in stated)
    return all(
        hashlib.sha256((folder / name).read_bytes()).hexdigest() in json.dumps(one) for name, one in files
    )


# -- faults --------------------------------------------------------------------------------------------------


def lines_of(place: Place) -> dict[str, list[int]]:
    """Stage -> the numbers of the lines that a run without a fault goes through there."""
    place.make()
    counter = Lines(0, lambda: None)

    def count() -> None:
        atexit.register(lambda: place.noted.write_text(json.dumps([counter.seen, counter.stages])))
        counter.start()

    run(place, count)
    total, stages = json.loads(place.noted.read_text())
    found: dict[str, list[int]] = {}
    for (stage, start), (_, end) in zip(stages, [*stages[1:], ("", total)], strict=True):
        found.setdefault(stage, []).extend(range(start, max(end, start + 1)))
    return found


def signals(place: Place, points: int, seed: int = 0) -> Iterator[Run]:
    """Signals at lines that are spread over the stages: as many in each."""
    stages = lines_of(place)
    each = max(1, points // len(stages))
    struck = []
    for stage, lines in stages.items():
        step = max(1, len(lines) // each)
        struck += [(at, stage, line) for at, line in enumerate(lines[seed % step :: step][:each])]
    # Stage by turns, so that a run that is stopped early has seen all of them.
    for at, stage, line in sorted(struck):
        yield partial(struck_at, place, stage, SIGNALS[at % len(SIGNALS)], line)


def struck_at(place: Place, stage: str, name: str, line: int) -> Outcome:
    """A signal at one line."""

    def strike() -> None:
        place.noted.write_text(stage)
        os.kill(os.getpid(), getattr(signal, name))

    place.make()
    return judge(place, stage, name, Lines(line, strike).start)


def limited(place: Place, what: int, sizes: list[int], fault: str) -> Iterator[Run]:
    """A limit of this process, from so little that nothing works to so much that all does."""
    for size in sizes:
        yield partial(with_limit, place, what, size, fault)


def with_limit(place: Place, what: int, size: int, fault: str) -> Outcome:
    def arm() -> None:
        # Python and DuckDB have opened and mapped what they need; the limit is on what comes.
        resource.setrlimit(what, (size, resource.getrlimit(what)[1]))

    place.make()
    # Memory that is loaded into already would not be counted.
    return judge(place, "any", fault, arm, anew=what == resource.RLIMIT_AS)


def full(place: Place) -> Iterator[Run]:
    """Real file systems of little room; needs the right to mount."""
    place.make()
    if os.system(f"mount -t tmpfs -o size=4k none {place.root / 'out'} 2>/dev/null"):  # noqa: S605
        return
    os.system(f"umount {place.root / 'out'}")  # noqa: S605
    for where, sizes in (("scratch", (-4, 0, 8)), ("out", (0, 16, 48)), ("books", (0, 8))):
        for room in sizes:
            yield partial(with_little_room, place, where, room)


def with_little_room(place: Place, where: str, room: int) -> Outcome:
    """A run with so many kilobytes of room, besides what is there, at one of its places."""
    place.make()
    at = place.root / where
    kept = at.with_name(f"{where}.kept")
    shutil.copytree(at, kept)
    held = sum(one.stat().st_size for one in kept.rglob("*")) // 1024 + 8
    os.system(f"mount -t tmpfs -o size={max(held + room, 4)}k none {at}")  # noqa: S605
    shutil.copytree(kept, at, dirs_exist_ok=True)
    shutil.rmtree(kept)
    # What is read afterwards is a copy: the file system goes away.
    code, said = run(place, lambda: None)
    saved = place.root / "saved"
    shutil.copytree(at, saved)
    os.system(f"umount {at}")  # noqa: S605
    shutil.copytree(saved, at, dirs_exist_ok=True)
    shutil.rmtree(saved)
    release = (place.root / "out" / "release").exists()
    stage = {"scratch": "read", "out": "write", "books": "charge"}[where]
    fault = f"disk full at {NAMES[where]}"
    found = Outcome(stage, fault, code, said.strip(), release, place.charges(), place.left())
    return Outcome(**{**asdict(found), "left": found.left, "wrong": verdict(found, place)})


NAMES = {"scratch": "the temporary folder", "out": "the output", "books": "the ledger"}


def read_only(place: Place) -> Iterator[Run]:
    """Folders without permission to write, also for root."""
    for where, stage in (("scratch", "read"), ("out", "write"), ("books", "charge")):
        yield partial(with_read_only, place, where, stage)


def with_read_only(place: Place, where: str, stage: str) -> Outcome:
    place.make()
    at = place.root / where
    at.chmod(0o555)
    file = at / "ledger.db"
    if file.exists():
        file.chmod(0o444)
    return judge(place, stage, f"{NAMES[where]} is read-only", obey_permissions, lift=lambda: at.chmod(0o755))


def obey_permissions() -> None:
    """Take from root the right to pass over permissions."""
    if os.geteuid() != 0:
        return
    libc = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    data = (ctypes.c_uint32 * 6)()
    if libc.capget(header, data):
        raise OSError(ctypes.get_errno(), "capget")
    for at in (0, 1):  # effective and permitted
        data[at] &= ~0b110
    if libc.capset(header, data):
        raise OSError(ctypes.get_errno(), "capset")


def changed(place: Place, points: int) -> Iterator[Run]:
    """The log grows, shrinks or is gone while it is read, or just before or after."""
    lines = lines_of(place)["read"]
    for number in range(points):
        how = ("grows", "is cut", "is deleted")[number % 3]
        yield partial(
            with_changed_log, place, how, lines[len(lines) * (points + number + 1) // (2 * points + 1)]
        )


def with_changed_log(place: Place, how: str, line: int) -> Outcome:
    log = place.root / "log.tsv"

    def strike() -> None:
        place.noted.write_text("read")
        if how == "grows":
            with log.open("a") as more:
                more.write("u1\t2026-01-01 00:00:00\tapples\n")
        elif how == "is cut":
            os.truncate(log, 200)
        else:
            log.unlink()

    place.make()
    return judge(place, "read", f"the log {how}", Lines(line, strike).start)


def with_the_clock_back(place: Place) -> Outcome:
    """An earlier charge has a time that is still to come."""
    from queryveil.release import clock

    place.make()
    ahead = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=400)

    def patched() -> None:
        mock.patch.object(clock, "utc_now", lambda: ahead).start()

    code, _ = run(place, patched, LINE.replace("out/release", "out/first"))
    for name in ("first", "first.private"):
        shutil.rmtree(place.root / "out" / name)
    before = place.charges()
    found = judge(place, "charge", "the clock goes back 400 days", lambda: None)
    wrong = found.wrong if found.charges != before + 1 or code else ""
    kept = run(place, lambda: None, "ledger verify books/ledger.db")[0] if not wrong else 0
    return Outcome(
        **{
            **asdict(found),
            "charges": found.charges - before,
            "wrong": wrong or ("" if kept in (0, 2) else "the ledger"),
        }
    )


def at_once(place: Place, lines: list[str]) -> tuple[list[int], list[str]]:
    """Commands side by side: their exit codes, and what they said."""
    children, pipes = [], []
    for line in lines:
        read, place.pipe = os.pipe()
        child = os.fork()
        if child == 0:
            _child(place, lambda: None, line)
        os.close(place.pipe)
        pipes.append(read)
        children.append(child)
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    texts = []
    for one in pipes:
        with os.fdopen(one) as said:
            texts.append(said.read())
    return codes, texts


def writers_on_one_output(place: Place, many: int) -> Outcome:
    """So many at once on one output and one ledger: one release, and each that was charged says so."""
    place.make()
    codes, texts = at_once(place, [LINE] * many)
    charged = sum("charge" in text for text in texts) + codes.count(0)
    wrong = ""
    if codes.count(0) != 1 or not set(codes) <= {0, 2}:
        wrong = f"exit codes {sorted(set(codes))}"
    elif place.charges() != charged:
        wrong = f"{place.charges()} charges, {charged} said"
    elif not complete(place) or place.left():
        wrong = f"left {place.left()}"
    sentence = next((text.strip() for text in texts if text.startswith("Error")), "")
    return Outcome(
        "write", f"{many} writers on one output", 0, sentence, True, place.charges(), place.left(), wrong
    )


def writers_on_one_ledger(place: Place, many: int) -> Outcome:
    """So many at once, each with an output of its own, and a budget for some of them: these are charged and published.

    The others say that the budget is spent, and leave nothing.
    """
    import queryveil as qv

    place.make()
    enough = many * 5 // 8
    books = place.root / "books" / "ledger.db"
    qv.Ledger(str(books)).open("team", epsilon=8.0 * enough, delta=1e-6 * many)
    line = LINE.replace("--source web", "--source team")
    codes, texts = at_once(place, [line.replace("out/release", f"out/release{n}") for n in range(many)])
    made = [n for n in range(many) if (place.root / "out" / f"release{n}").exists()]
    unverified = [n for n in made if run(place, lambda: None, f"release verify out/release{n}")[0]]
    private = sum(one.name.endswith(".private") for one in (place.root / "out").iterdir())
    faults = {
        f"exit codes {sorted(set(codes))}": not set(codes) <= {0, 4},
        f"{codes.count(0)} of {many} published": codes.count(0) != enough,
        f"{len(made)} releases": [n for n in range(many) if codes[n] == 0] != made or private != len(made),
        f"{place.charges()} charges": place.charges() != enough,
        "not one sentence each": any(
            text.count("Error") != (codes[n] != 0) or "Traceback" in text for n, text in enumerate(texts)
        ),
        f"{len(unverified)} releases do not verify": bool(unverified),
        "the ledger does not verify": run(place, lambda: None, f"ledger verify {books}")[0] not in (0, 2),
        "something is left behind": any((place.root / "scratch").iterdir()),
    }
    sentence = next((text.strip() for text in texts if text.startswith("Error")), "")
    return Outcome(
        "charge",
        f"{many} writers on one ledger, with a budget for {enough}",
        max(codes),
        sentence,
        bool(made),
        place.charges(),
        (),
        "; ".join(words for words, is_so in faults.items() if is_so),
    )


def load_all(place: Place) -> None:
    """Import what a run imports, once: a child that has it already is there in half of the time."""
    for name in LOADED:
        importlib.import_module(name)
    before = frozenset(sys.modules)

    def note() -> None:
        atexit.register(
            lambda: place.noted.write_text(json.dumps([name for name in sys.modules if name not in before]))
        )

    place.make()
    run(place, note)
    for name in json.loads(place.noted.read_text()):
        with contextlib.suppress(ImportError):  # some modules are no files
            importlib.import_module(name)


def every(root: Path, points: int, many: int, more: bool) -> dict[str, Callable[[], Iterator[Run]]]:
    """All faults by their part; with `more` also those that take long or need rights."""
    import queryveil as qv

    if not (root / "ledger.db").exists():
        qv.Ledger(str(root / "ledger.db")).open("web", epsilon=1e6, delta=0.9)
    place = Place(root / "place")
    load_all(place)
    sizes = [0, 2_000, 8_000, 40_000, 200_000] if more else [0, 8_000]
    handles = [4, 8, 16, 24, 31, 32, 40, 64] if more else [8, 31, 32]
    room = [0.3, 1, 1.4, 1.5, 1.6, 1.8, 2.2, 3] if more else [1, 1.5]
    return {
        "signals": lambda: signals(place, points),
        "places": lambda: read_only(place),
        "log": lambda: changed(place, 6 if more else 3),
        "clock": lambda: iter([partial(with_the_clock_back, place)]),
        "bytes": lambda: limited(place, resource.RLIMIT_FSIZE, sizes, "no file above some bytes"),
        "descriptors": lambda: limited(place, resource.RLIMIT_NOFILE, handles, "few descriptors"),
        "memory": lambda: limited(
            place, resource.RLIMIT_AS, [int(one * 10**9) for one in room], "little memory"
        ),
        "output": lambda: iter([partial(writers_on_one_output, place, many)]),
        "ledger": lambda: iter([partial(writers_on_one_ledger, place, many)]),
        **({"full": lambda: full(place)} if more else {}),
    }


def outcomes(
    parts: dict[str, Callable[[], Iterator[Run]]], only: list[str], known: set[str]
) -> Iterator[dict[str, Any]]:
    """What became of each run that is not known yet, under a name that stays the same."""
    for part in only or parts:
        for number, one in enumerate(parts[part]()):
            if f"{part} {number}" not in known:
                yield {"run": f"{part} {number}", **asdict(one())}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--points", type=int, default=400)
    parser.add_argument("--writers", type=int, default=32)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--kept", type=Path, help="lines of an earlier call")
    given = parser.parse_args()
    root = given.folder.resolve()
    root.mkdir(parents=True, exist_ok=True)
    lines = given.kept.read_text().splitlines() if given.kept else []
    known = {json.loads(line)["run"] for line in lines}
    wrong = 0
    for outcome in outcomes(every(root, given.points, given.writers, given.all), given.only, known):
        sys.stdout.write(json.dumps(outcome) + "\n")
        sys.stdout.flush()
        wrong += bool(outcome["wrong"])
    return 1 if wrong else 0


if __name__ == "__main__":
    # Threads of libraries would not be there in a child; these are read when numpy is loaded.
    os.environ |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    sys.exit(main())
