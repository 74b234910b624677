"""Many inputs by several processes: each counted once, whatever dies or is stopped; one engine answers as many do."""

from __future__ import annotations

import os
import random
import signal
from pathlib import Path

import duckdb
import pytest

from queryveil.reading import staging
from queryveil.reading.model import ReadOptions
from tests.fuzz import many
from tests.fuzz import targets as fuzz
from tests.fuzz.engine import one_engine

SEED = 5
ORDER = ["plain", "odd", "plain"]


def made(folder: Path) -> dict[str, fuzz.Target]:
    """One target that answers, and one that fails in every way."""

    def plain(folder: Path, data: bytes) -> str:
        return "read"

    def odd(folder: Path, data: bytes) -> str:
        match sum(data) % 10:
            case 0:
                raise ValueError("not ours")
            case 1:
                os.kill(os.getpid(), signal.SIGKILL)
        return "refused"

    return {"plain": ([b"abc"], plain), "odd": ([b"abcdef"], odd)}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(many, "BLOCK", 20)
    monkeypatch.setattr(many, "START", "fork")


def asked(state: many.State, count: int, place: Path, make: many.Make = made) -> None:
    for _ in many.ask_many(state, count, make=make, processes=2, place=place):
        pass


# A child that was forked asks nothing but the targets above.
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_each_input_is_counted_once_whatever_dies_or_is_stopped(tmp_path: Path) -> None:
    whole = many.State(SEED, ORDER)
    asked(whole, 60, tmp_path / "whole")
    kinds = {one["answer"].partition(":")[0] for one in whole.faults}
    assert kinds == {"FAULT ValueError", "FAULT the process ended (SIGKILL)"}
    assert (whole.done, sum(whole.answers["plain"].values()), sum(whole.answers["odd"].values())) == (
        60,
        40,
        20,
    )
    assert whole.answers["odd"]["FAULT"] == len(whole.faults)

    parts, file = many.State(SEED, ORDER), tmp_path / "kept.json"
    for _ in many.ask_many(parts, 60, make=made, processes=2, place=tmp_path / "parts"):
        parts.keep(file)
        break
    again = many.State.kept(file, SEED, ORDER)
    assert again.done == 20
    asked(again, 60, tmp_path / "parts")
    assert (again.answers, again.done) == (whole.answers, 60)
    assert sorted(map(str, again.faults)) == sorted(map(str, whole.faults))


def repaired(folder: Path) -> dict[str, fuzz.Target]:
    known = made(folder)
    return {**known, "odd": (known["odd"][0], known["plain"][1])}


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fault_that_is_repaired_is_one_no_more(tmp_path: Path) -> None:
    state = many.State(SEED, ORDER)
    asked(state, 20, tmp_path)
    faults = len(state.faults)
    assert faults
    asked(state, 20, tmp_path, repaired)
    assert state.faults == [] and state.answers["odd"]["read"] == faults
    assert sum(state.answers["odd"].values()) == len(range(1, 20, 3))


def test_other_inputs_begin_anew(tmp_path: Path) -> None:
    state = many.State(SEED, ORDER, done=40)
    state.keep(tmp_path / "kept.json")
    assert many.State.kept(tmp_path / "kept.json", SEED, ORDER).done == 40
    assert many.State.kept(tmp_path / "kept.json", SEED + 1, ORDER).done == 0
    assert many.State.kept(tmp_path / "kept.json", SEED, ["plain"]).done == 0


def test_an_answer_that_depends_on_the_engine_is_a_fault(tmp_path: Path) -> None:
    def ask(folder: Path, data: bytes) -> str:
        return "read" if vars(staging)["duckdb"] is duckdb else "refused"

    with one_engine():
        answers = [many.ask(([b"abc"], ask), "odd", number, SEED, tmp_path / "at") for number in (0, 1)]
    assert answers[0].startswith("FAULT refused, but read") and answers[1] == "refused"


@pytest.mark.parametrize("name", ["ubi", "yandex"])
def test_one_engine_answers_as_many_do(name: str, tmp_path: Path) -> None:
    """Also those that make tables and views in it."""
    target = fuzz.text_log(name)

    def answers() -> list[str]:
        return [fuzz.ask_one(target, tmp_path / "at", random.Random(f"{name} {at}"))[0] for at in range(3)]

    alone = answers()
    with one_engine() as shared:
        assert answers() == alone
        assert shared.engines == 1


def test_an_engine_that_failed_inside_is_not_used_again(tmp_path: Path) -> None:
    with one_engine() as shared:
        for error in (duckdb.BinderException("x"), duckdb.FatalException("x"), duckdb.BinderException("x")):
            with (
                pytest.raises(Exception, match="could not be read"),
                staging.connect(tmp_path, ReadOptions()),
            ):
                raise error
        assert shared.engines == 2
