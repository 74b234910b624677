"""Some thousands of changed inputs for everything that reads what others wrote: an answer or one sentence, each time.

`benchmarks/fuzz.py inputs` does the same a million times.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from queryveil.measure.document_frequencies import DocumentFrequencies
from queryveil.show.cli.options import column_map
from tests.fuzz import targets as fuzz
from tests.fuzz.many import quick
from tests.reading.formats import test_hostile as hostile

QUICK = 300
SLOW = 25
"""Inputs for a target that takes microseconds, and for one that starts an engine."""
LIGHT = ("taxonomy", "recipe", "results file", "document frequencies", "public list")
NAMES = (
    *(
        *hostile.DELIMITED,
        *hostile.WHOLE_LINES,
        "parquet",
        "feather",
        "orc",
        "sqlite",
        "duckdb",
        "zip",
    ),
    *(*LIGHT, "release", "command line"),
)


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, fuzz.Target]]:
    with quick():
        yield dict(fuzz.targets(tmp_path_factory.mktemp("corpus")))


def test_all_targets_are_asked(known: dict[str, fuzz.Target]) -> None:
    assert set(known) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_changed_inputs(name: str, known: dict[str, fuzz.Target], tmp_path: Path) -> None:
    answers = set()
    for number in range(QUICK if name in LIGHT else SLOW):
        answer, data = fuzz.ask_one(known[name], tmp_path / "place", random.Random(f"1 {name} {number}"))
        assert not answer.startswith("FAULT"), (number, answer, data[:500])
        answers.add(answer)
    # Checksums of DuckDB's own files and of archives find nearly every change.
    assert answers - {"refused"} or name in {"duckdb", "zip"}, "a corpus that is always refused tests little"


@pytest.mark.parametrize("wrong", [ValueError("x"), AssertionError("y"), SystemExit(3), RecursionError()])
def test_a_fault_is_seen(wrong: BaseException, tmp_path: Path) -> None:
    def ask(folder: Path, data: bytes) -> str:
        raise wrong

    answer, _ = fuzz.ask_one(([b"data"], ask), tmp_path / "place", random.Random(1))
    assert answer.startswith(f"FAULT {type(wrong).__name__}")


def test_changes_change(tmp_path: Path) -> None:
    made = {fuzz.changed([b"user\tquery\nann\ttea\n"], random.Random(number)) for number in range(200)}
    assert len(made) > 100 and max(map(len, made)) <= 200_000


@pytest.mark.parametrize("number", ["\x1d6", "3\x1c", " 3"])
def test_a_number_between_separators_is_one(number: str, tmp_path: Path) -> None:
    """As the fuzzer found it: Python takes them off a text, and does not pass over them in a number."""
    (tmp_path / "df").write_text(f"tea\t12\nmug\t{number}\n")
    DocumentFrequencies.of_file(tmp_path / "df")
    assert column_map(f"user=1,query={number}") == {"user": 1, "query": int(number.strip())}
