"""Addresses of engines and ledgers may hold passwords and tokens: no message and no printed command repeats one."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.errors import shown_address
from queryveil.show.cli.options import reading_words
from tests.command import Outcome, command
from tests.conftest import many

SECRET = "s3cr3t"  # noqa: S105 (that is the point)
ENGINES = (
    f"postgres://me:{SECRET}@host/db",
    f"postgres://{SECRET}@host/db",
    f"postgres://me:pa/{SECRET}@host/db",
    f"postgres://me:pa ss{SECRET}@host/db",
    f"trino://host/db?token={SECRET}",
    f"trino://host/db?mail=me@home&token={SECRET}",
    f"mssql://host/db;password={SECRET}",
    f"nowhere://host/db#{SECRET}",
    f"sqlite://?password={SECRET}",
    f"md:db?motherduck_token={SECRET}",
    f"host=h password={SECRET}",
    f"postgres:/me:{SECRET}@host/db",
    f"spark://me:{SECRET}@host:7077",
    f"spark://host:7077?token={SECRET}",
    f"spark://host:7077;password={SECRET}",
    f"spark://host:7077#{SECRET}",
    f"local;password={SECRET}",
)
LEDGERS = (
    f"postgresql://me:{SECRET}@host/db",
    f"postgresql://me:pa/{SECRET}@host/db",
    f"nowhere://me:{SECRET}@host/db",
    f"://me:{SECRET}@host/db",
    f"sqlite://me:{SECRET}@host/ledger.db",
    f"sqlite:///ledger.db?password={SECRET}",
    f"sqlite:///ledger.db;password={SECRET}",
    f"sqlite:///ledger.db#{SECRET}",
    f"sqlite:/me:{SECRET}@host/ledger.db",
    f"postgresql:me:{SECRET}@host",
    f"host=h password={SECRET}",
)
ZEALOUS = ("--method", "zealous", "--epsilon", "1", "--delta", "1e-6", "--max-items", "1")


@pytest.fixture(autouse=True)
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pq.write_table(many(40, ["apples", "pears"]), tmp_path / "log.parquet")
    monkeypatch.chdir(tmp_path)


def assert_silent(found: Outcome, code: int | None = None) -> None:
    assert SECRET not in found.out + found.err, found
    assert found.code not in (0, 70) and found.err.startswith(("Error: ", '{"error"')), found
    assert found.err.count("\n") == 1
    assert code is None or found.code == code, found


@pytest.mark.parametrize("engine", ENGINES)
def test_no_command_repeats_the_secret_of_an_engine(engine: str) -> None:
    assert_silent(command("inspect", "log.parquet", "--engine", engine), 2)
    assert_silent(command("inspect", "log.parquet", "--engine", engine, "--json"), 2)


@pytest.mark.parametrize(
    "words",
    [
        ("publish", "log.parquet", *ZEALOUS, "--out", "out"),
        ("advise", "log.parquet", "--purpose", "coverage"),
        ("attack", "exposure", "log.parquet"),
        ("attack", "linkage", "log.parquet"),
        ("evaluate", "log.parquet", "out"),
        ("report", "out", "--curator", "--log", "log.parquet"),
    ],
    ids=lambda words: words[0],
)
def test_every_command_that_takes_an_engine_keeps_its_secret(words: tuple[str, ...]) -> None:
    if words[0] in ("evaluate", "report"):
        assert command("publish", "log.parquet", "--method", "k-query", "--k", "5", "--out", "out").code == 0
    for engine in (ENGINES[0], ENGINES[4], ENGINES[-1]):
        found = command(*words, "--engine", engine)
        assert_silent(found, 2)
        assert "engine '" in found.err or "Spark's master" in found.err


@pytest.mark.parametrize("ledger", LEDGERS)
def test_no_command_repeats_the_secret_of_a_ledger(ledger: str) -> None:
    named = ("--source", "web", "--epsilon", "1", "--delta", "1e-6")
    assert_silent(command("ledger", "show", ledger))
    assert_silent(command("ledger", "show", ledger, "--json"))
    publish = ("publish", "log.parquet", *ZEALOUS, "--out", "out", "--source", "web")
    assert_silent(command(*publish, "--ledger", ledger))
    opened = command("ledger", "open", ledger, *named)
    if opened.code:  # what is no URL may be the name of a file
        assert_silent(opened)
    assert SECRET not in opened.out + opened.err


@pytest.mark.parametrize("debug", ["", "1"])
def test_a_secret_in_the_wrong_place_is_not_repeated_either(
    debug: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"postgres://me:{SECRET}@host/db?token={SECRET}"
    assert_silent(command("inspect", "log.parquet", address), 3)
    assert_silent(command("inspect", address), 3)
    assert_silent(command("publish", "log.parquet", "--epsilon", address), 2)
    monkeypatch.setenv("QUERYVEIL_DEBUG", debug)
    with pytest.raises(qv.QueryveilError) as refused:
        qv.read("log.parquet", engine=address)
    assert SECRET not in f"{refused.value}{refused.value.as_dict()}{refused.value.__cause__}"


@pytest.mark.parametrize("engine", ENGINES)
def test_a_printed_command_names_no_secret(engine: str) -> None:
    assert reading_words({"engine": engine}) == ["--engine", "ENGINE"]


@pytest.mark.parametrize(
    "address",
    ["duckdb", "spark", "local[4]", "local[*]", "spark://one:7077,two:7077", "duckdb:///folder/my-log.db"],
)
def test_an_address_without_a_secret_is_shown(address: str) -> None:
    assert shown_address(address) == address
    assert reading_words({"engine": address})[1:] in ([address], [])


def test_what_is_shown_of_others_is_the_kind_of_engine() -> None:
    assert shown_address(ENGINES[0]) == "postgres://..."
    found = command("inspect", "log.parquet", "--engine", ENGINES[0])
    assert "'postgres://...'" in found.err
    assert "'duckbd'" in command("inspect", "log.parquet", "--engine", "duckbd").err


def test_other_sentences_stay_as_they_are() -> None:
    for words in (
        "write user=1,query=3",
        "see postgresql://host/database",
        "C:/a b",
        "a key = b",
        "me@home: 3",
    ):
        assert qv.UsageError(words).message == words
