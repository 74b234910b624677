"""A great many inputs: by several processes, with a state that is gone on with, and no input that ends it all.

The inputs are numbered; a number says which target is asked and how its input is changed, so that each can be made
again. A process gets a block of numbers and hands back what was answered. One that dies, or says nothing for long, is
a fault of the input that it was at; the block is done again without that one.
"""

from __future__ import annotations

import functools
import json
import random
import shutil
import signal
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from multiprocessing import connection, get_context
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb

from queryveil.reading import staging
from queryveil.show.cli import commands
from tests.fuzz import targets as fuzz
from tests.fuzz.engine import one_engine

BLOCK = 1000
BLOCKS_OF_A_PROCESS = 50
"""After so many it makes room for a new one: what libraries forget to give back is given back."""
START = "spawn"
"""How processes begin: libraries with threads do not stand a fork."""
ENDED_SECONDS = 60
"""Processor seconds after which an input is ended, if need be inside a library."""
SILENT_SECONDS = 900.0
CHECKED_EVERY = 499
"""Of so many inputs one is asked again by an engine of its own, which must answer the same."""

Make = Callable[[Path], Mapping[str, fuzz.Target]]


@dataclass
class State:
    """What has been asked and answered so far."""

    seed: int
    order: list[str]
    done: int = 0
    seconds: float = 0.0
    answers: dict[str, dict[str, int]] = field(default_factory=dict)
    faults: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def kept(cls, file: Path, seed: int, order: list[str]) -> State:
        """That of the file, if it is of the same inputs; a new one if not."""
        found = cls(**json.loads(file.read_text())) if file.exists() else cls(seed, order)
        return found if (found.seed, found.order) == (seed, order) else cls(seed, order)

    def keep(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        beside = file.with_suffix(".new")
        beside.write_text(json.dumps(asdict(self), indent=1) + "\n")
        beside.replace(file)

    def add(self, last: int, found: Found) -> None:
        for name, answers in found.answers.items():
            self.answers[name] = dict(Counter(self.answers.get(name, {})) + Counter(answers))
        self.faults += found.faults
        self.seconds = round(self.seconds + found.seconds, 1)
        self.done = max(self.done, last)

    def forget(self, number: int) -> None:
        """The fault of an input that has been asked again."""
        for one in [one for one in self.faults if one["number"] == number]:
            self.faults.remove(one)
            mine = Counter(self.answers[one["name"]]) - Counter([fuzz.FAULT])
            self.answers[one["name"]] = dict(mine)


@dataclass
class Found:
    """What came of a block."""

    answers: dict[str, Counter[str]] = field(default_factory=dict)
    faults: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0

    def note(self, name: str, number: int, answer: str) -> None:
        wrong = answer.startswith(fuzz.FAULT)
        self.answers.setdefault(name, Counter())[fuzz.FAULT if wrong else answer] += 1
        if wrong:
            self.faults.append({"name": name, "number": number, "answer": answer})


@dataclass
class Block:
    """Numbers of inputs, and what is known of some of them already."""

    first: int
    last: int
    known: dict[int, str] = field(default_factory=dict)


def ask_many(state: State, count: int, *, make: Make, processes: int, place: Path) -> Iterator[None]:
    """Ask until `count` inputs have been answered, block by block, and note it in the state.

    What was a fault before is asked again first.
    """
    blocks = [Block(one["number"], one["number"] + 1) for one in state.faults]
    again = len(blocks)
    blocks += [Block(at, min(at + BLOCK, count)) for at in range(state.done, count, BLOCK)]
    waiting, ready = deque(enumerate(blocks)), dict[int, Found]()
    workers = [_Worker(state, make, place / f"process-{one}") for one in range(processes)]
    merged = 0
    try:
        while merged < len(blocks):
            for worker in workers:
                if worker.block is None and waiting:
                    worker.give(*waiting.popleft())
            for worker in workers:
                if worker.block is None:
                    continue
                found = worker.answer()
                if found is not None:
                    ready[worker.take()] = found
            # In their order, so that all up to some number are done.
            while merged in ready:
                if merged < again:
                    state.forget(blocks[merged].first)
                state.add(blocks[merged].last, ready.pop(merged))
                merged += 1
                yield
    finally:
        for worker in workers:
            worker.end()


class _Worker:
    """A process, started anew when it died."""

    def __init__(self, state: State, make: Make, place: Path) -> None:
        self._given = (state.seed, state.order, make, place)
        self._context: Any = get_context(START)
        self._at = self._context.Value("q", -1, lock=False)
        self._process: Any = None
        self._pipe: Any = None
        self._blocks = 0
        self._seen: tuple[int, float] = (-1, 0.0)
        self._job = -1
        self.block: Block | None = None

    def give(self, job: int, block: Block) -> None:
        if self._process is None or self._blocks >= BLOCKS_OF_A_PROCESS:
            self.end()
            self._start()
        self._blocks += 1
        self._job, self.block = job, block
        self._at.value, self._seen = -1, (-1, time.monotonic())
        self._pipe.send(block)

    def take(self) -> int:
        """The job that is done."""
        self.block = None
        return self._job

    def answer(self) -> Found | None:
        """What came of the block, or nothing yet."""
        assert self.block is not None
        if connection.wait([self._pipe], timeout=0.2):
            try:
                found = self._pipe.recv()
            except (EOFError, ConnectionResetError):
                self._process.join()
                code = self._process.exitcode
                self._again(f"the process ended ({signal.Signals(-code).name if code < 0 else code})")
                return None
            assert isinstance(found, Found)
            return found
        number, since = self._seen
        if self._at.value != number:
            self._seen = self._at.value, time.monotonic()
        elif time.monotonic() - since > SILENT_SECONDS:
            self._process.kill()
            self._again(f"no answer for {SILENT_SECONDS:.0f} seconds")
        return None

    def _again(self, why: str) -> None:
        """The same block without the input that ended it."""
        assert self.block is not None
        if self._at.value < 0:
            raise RuntimeError(f"a process did not come to its first input: {why}")
        self.block.known[self._at.value] = f"{fuzz.FAULT} {why}"
        self._process = None
        self.give(self._job, self.block)

    def _start(self) -> None:
        self._pipe, theirs = self._context.Pipe()
        self._process = self._context.Process(
            target=_work, args=(*self._given, theirs, self._at), daemon=True
        )
        self._process.start()
        theirs.close()
        self._blocks = 0

    def end(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process = None


def _work(seed: int, order: list[str], make: Make, place: Path, pipe: Any, at: Any) -> None:
    # What is on the terminal is for the process that gives the work; its end ends this one.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    with quick():
        known = make(place / "corpus")
        while True:
            block = pipe.recv()
            began = time.process_time()
            found = Found()
            for number in range(block.first, block.last):
                at.value = number
                name = order[number % len(order)]
                answer = block.known.get(number) or ask(known[name], name, number, seed, place / "at")
                found.note(name, number, answer)
            found.seconds = time.process_time() - began
            pipe.send(found)


def ask(target: fuzz.Target, name: str, number: int, seed: int, place: Path) -> str:
    """The answer to the input of this number."""
    # Without a handler the signal ends the process, also inside a library that never comes back.
    signal.setitimer(signal.ITIMER_PROF, ENDED_SECONDS)
    try:
        answer = fuzz.ask_one(target, place, random.Random(f"{seed} {name} {number}"))[0]
        if number % CHECKED_EVERY == 0:
            with mock.patch.object(staging, "duckdb", duckdb):
                alone = fuzz.ask_one(target, place, random.Random(f"{seed} {name} {number}"))[0]
            if alone != answer:
                return f"{fuzz.FAULT} {answer}, but {alone} by an engine of its own"
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return answer


@contextmanager
def quick() -> Iterator[None]:
    """What is the same for all inputs is made once: the engine, and the commands with their options."""
    with one_engine(), mock.patch.object(commands, "loaded", functools.cache(commands.loaded)):
        yield
