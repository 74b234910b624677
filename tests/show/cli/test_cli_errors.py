"""Wrong input of every kind: one sentence, its exit code, and nothing left behind."""

from __future__ import annotations

import gc
import gzip
import importlib.abc
import json
import resource
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from queryveil.show import cli
from tests.command import Outcome, command

SECRET = "zq-secret-4711"  # noqa: S105 (a query that nobody may see)
PAPER = "--guarantee probabilistic"
PUBLISH = f"publish good.tsv --method zealous {PAPER} --epsilon 2 --delta 1e-3 --max-items 3 --out out"
ZEALOUS = f"--method zealous {PAPER} --epsilon 2 --delta 1e-3 --max-items 3 --out out"
BARE = f"publish good.tsv --method zealous {PAPER} --out out"
PLAN = f"plan zealous {PAPER} --epsilon 1 --delta 1e-3 --users 1000"
OPEN = "ledger open new.db --source s"
GENERATE = "generate new.tsv --users 20"

KINDS = {
    1: {"check-failed"},
    2: {"usage"},
    3: {"input"},
    4: {"budget"},
    5: {"cannot-be-met"},
    6: {"output"},
    130: {"interrupted"},
}

LOGS = [
    ("empty.tsv", "'empty.tsv' is empty"),
    ("blank.tsv", "'blank.tsv' is empty"),
    ("header.tsv", "holds no rows"),
    ("binary.tsv", "is binary"),
    ("columns.tsv", "has a usual name for the user"),
    ("cut.tsv.gz", "damaged or cut short"),
    ("cut.parquet", "damaged, cut short or not Parquet"),
    ("quotes.csv", "unbalanced quote 30"),
    ("rejected.tsv", "10 of 110 rows were rejected"),
    ("surrogate.jsonl", "not JSON 30"),
    ("archive.zip", "its zip data cannot be decompressed"),
    ("folder", "holds no data files"),
    ("missing.tsv", "there is no file or folder"),
    ("'nothing*.tsv'", "no file matches"),
    ("''", "no log was named"),
    ("/dev/null", "is not a regular file"),
    ("taken/file.tsv/x", "taken/file.tsv/x"),
]

READING = [
    ("--format xls", 2, "there is no format 'xls'"),
    ("--format parquet", 3, "not Parquet"),
    ("--format jsonl", 3, "not JSON 1,201"),
    ("--format aol", 3, "wrong number of fields"),
    ("--engine nonsense", 2, "engine 'nonsense'"),
    ("--engine sqlite://", 2, "engine 'sqlite://'"),
    ("--engine foo://me:hunter2@bar", 2, "engine 'foo://...'"),
    ("--columns user", 2, "not a list of name=column"),
    ("--columns usr=1,query=3", 2, "there is no column 'usr' in a search log"),
    ("--columns user=1,user=2,query=3", 2, "names 'user' twice"),
    ("--columns query=3", 3, "has a usual name for the user"),
    ("--columns user=0,query=3", 2, "a number from 1"),
    ("--columns user=1,query=99", 3, "there is no column 99"),
    ("--columns user=²,query=3", 3, "has no column '²'"),
    ("--columns user=nobody,query=query", 3, "has no column 'nobody'"),
    ("--columns user=usr,query=query", 3, "did you mean user?"),
    ("--time-format %Q", 2, "'%Q' is not a time format"),
    ("--time-format %y%m%d%H%M%S", 3, "bad time 1,200"),
    ("--delimiter abc", 2, "the delimiter must be one character"),
    ("--max-rejected nan", 2, "max_rejected"),
    ("--max-rejected -1", 2, "max_rejected"),
    ("--session-gap-minutes 0", 2, "must be an int >= 1; got 0"),
    ("--session-gap-minutes 99999999999999999999", 2, "--session-gap-minutes"),
    ("--bogus", 2, "there is no option --bogus"),
]

PARAMETERS = [
    *((f"{BARE} --delta 1e-3 --epsilon {bad}", 2, "'epsilon' must be") for bad in ("nan", "inf", "-1", "0")),
    *((f"plan zealous --users 9 --delta 1e-3 --epsilon {bad}", 2, "'epsilon'") for bad in ("nan", "-1", "0")),
    *((f"{OPEN} --delta 1e-3 --epsilon {bad}", 2, "epsilon must be") for bad in ("nan", "inf", "-1", "0")),
    *((f"{BARE} --epsilon 1 --delta {bad}", 2, "'delta' must be") for bad in ("nan", "-1", "1", "2")),
    *((f"plan zealous --users 9 --epsilon 1 --delta {bad}", 2, "'delta' must be") for bad in ("nan", "1")),
    *((f"{OPEN} --epsilon 1 --delta {bad}", 2, "delta must be") for bad in ("nan", "-1", "1")),
    (f"{BARE} --epsilon 1 --delta 0", 2, "delta 0 asks for pure differential privacy"),
    ("plan zealous --users 9 --epsilon 1 --delta 0", 2, "delta 0 asks for pure differential privacy"),
    (f"{BARE} --epsilon abc --delta 1e-3", 2, "--epsilon must be a number; got 'abc'; see --help"),
    (f"{BARE} --epsilon 1 --delta 1e-320", 5, "nothing is frequent enough"),
    (f"{PUBLISH} --max-items 0", 2, "'max_items' must be an int >= 1"),
    (f"{PLAN} --max-items 0", 2, "'max_items' must be an int >= 1"),
    (f"{PLAN} --max-items 1000000000000", 2, "'max_items' must be an int"),
    (f"{PUBLISH} --tau 0", 2, "'tau' must be an int >= 1"),
    (f"{PUBLISH} --tau 2000", 5, "nothing is frequent enough"),
    *((f"{PUBLISH} --users {bad}", 2, "'users' must be an int >= 1") for bad in ("0", "-1")),
    (f"{PUBLISH} --users 1e30", 2, "--users must be an int; got '1e30'"),
    *(
        (f"plan {method} --users 0", 2, "'users' must be an int >= 1")
        for method in (
            "zealous --epsilon 1 --delta 1e-3",
            "steered --epsilon 1 --delta 1e-6",
            "k-query --k 20",
        )
    ),
    (f"{PLAN} --users {'9' * 60}x", 2, "got '999999999999999999999999999999999999..."),
    ("plan k-query --k 2.5", 2, "--k must be an int; got '2.5'"),
    ("generate new.tsv --zipf steep", 2, "--zipf must be a number; got 'steep'"),
    (f"{OPEN} --epsilon one --delta 0", 2, "--epsilon must be a number; got 'one'"),
    ("inspect good.tsv --max-rejected few", 2, "--max-rejected must be a number; got 'few'"),
    ("attack linkage good.tsv out --trials many", 2, "--trials must be an int; got 'many'"),
    ("evaluate good.tsv out --top 0", 2, "--top must be >= 1; got '0'"),
    (f"{PLAN} --users 99999999999999999999", 2, "'users' must be an int"),
    (f"{PUBLISH} --users 299", 5, "more than the 299 users that you declared"),
    (f"{PUBLISH} --items nothing", 2, "user-itemsets-of-3; got 'nothing'"),
    (f"{PUBLISH} --items queries,queries", 2, "named twice"),
    (f"{PUBLISH} --keep last", 2, "random, first, frequent; got 'last'"),
    *(
        (line, 2, f"did you mean {meant}?")
        for line, meant in (
            ("publish good.tsv --method zealus --out out", "zealous"),
            ("publish good.tsv --method Zealous --out out", "zealous"),
            (f"{PUBLISH} --items querys", "queries"),
            (f"{PUBLISH} --keep randm", "random"),
            (f"{PUBLISH} --epsilom 1", "--epsilon"),
            ("inspect good.tsv --columns usr=1,query=3", "user"),
            ("inspect good.tsv --format tvs", "tsv"),
            ("generate new.tsv --setting smal", "small"),
            ("advise good.tsv --purpose coverag", "coverage"),
            ("evaluate good.tsv out --metric coverge", "coverage"),
            (f"{OPEN} --epsilon 1 --delta 0 --neighbours replce", "replace"),
            ("publsh good.tsv", "publish"),
            ("plan zealus", "zealous"),
            ("publish zealus good.tsv --out out", "zealous"),
            ("publish zealous good.tsv --out out --epsilom 1", "--epsilon"),
            ("release verfy out", "verify"),
            ("attack linkag", "linkage"),
            ("attack linkage good.tsv --trails 5", "--trials"),
        )
    ),
    (f"{PUBLISH} --guarantee x", 2, "got 'x'"),
    (f"{PUBLISH} --neighbours add-remove", 2, "for a replaced history only"),
    (f"{PUBLISH} --items queries,keywords --epsilon-split 1,2,3", 2, "3 shares for 2 item kinds"),
    (f"{PUBLISH} --items queries,keywords --epsilon-split 1,x", 2, "list of numbers separated by commas"),
    (f"{PUBLISH} --items queries,keywords --epsilon-split 1,nan", 2, "got nan"),
    (f"{BARE} --noise-scale 3", 2, "needs epsilon and delta, or a noise scale and a second threshold"),
    (f"{BARE} --noise-scale nan --second-threshold 3", 2, "'noise_scale' must be a number > 0"),
    (f"{BARE} --noise-scale 3 --second-threshold inf", 2, "'second_threshold' must be a number >= 0"),
    (f"{PUBLISH} --noise-scale 3 --second-threshold 9", 2, "needs epsilon and delta, or"),
    ("publish good.tsv --method nothing --out out", 2, "there is no method 'nothing'"),
    (f"publish plain.parquet {ZEALOUS} --items clicks", 3, "needs a 'url' column"),
    (f"publish plain.parquet {ZEALOUS} --items query-pairs", 3, "needs a 'time' column"),
    (f"publish one.tsv {ZEALOUS}", 5, "nothing is frequent enough"),
    (f"{PUBLISH} --then-clicks", 2, "name the lists with --results"),
    (f"{PUBLISH} --then-clicks --results missing.tsv", 3, "cannot be read (FileNotFoundError)"),
    (f"{PUBLISH} --then-clicks --results binary.tsv", 3, "cannot be read (UnicodeDecodeError)"),
    (f"{PUBLISH} --then-clicks --results urlless.tsv", 3, "line 1 of the public lists"),
    ("plan zealous --epsilon 1 --delta 1e-3 --guarantee probabilistic", 2, "depends on the number of users"),
    ("plan nothing", 2, "there is no method 'nothing'"),
    ("nothing", 2, "there is no command 'nothing'"),
    ("ledger opne", 2, "did you mean open?"),
    ("inspect", 2, "Missing argument 'LOG...'"),
    ("inspect good.tsv none.tsv", 3, "there is no file or folder 'none.tsv'"),
    ("publish good.tsv --out out", 2, "no method is named; write queryveil publish METHOD LOG --out DIR"),
    ("publish --out out good.tsv", 2, "no method is named"),
    ("publish zealous good.tsv --method k-query --method zealous --out out", 2, "named twice"),
    ("publish zealous good.tsv --out out --epsilon 1 --delta 1e-3 --k 3", 2, "method zealous takes no --k"),
    *((f"generate new.tsv --{name} 0", 2, f"'{name}' must be") for name in ("users", "rows", "days")),
    *((f"{GENERATE} --{name} nan", 2, "must be a number") for name in ("zipf", "one-off", "drift")),
    ("generate new.tsv --users 99999999999999999999999", 2, "'users' must be an int"),
    ("generate new.tsv --rows 99999999999999999999999", 2, "'rows' must be an int"),
    (f"{GENERATE} --seed 99999999999999999999999", 2, "'seed' must be an int"),
    (f"{GENERATE} --secrets 21", 2, "'secrets' must be an int"),
    (f"{GENERATE} --setting huge", 2, "there is no setting 'huge'"),
    (f"{GENERATE} --format xls", 2, "format 'xls' is unknown"),
    ("generate new.xls --users 20", 2, "the format of new.xls is unknown"),
    ("demo --out out --users 0", 2, "'users' must be an int >= 1"),
    ("demo --out out --users 1", 5, "pass more --users"),
]

OUTPUTS = [
    (PUBLISH.replace("--out out", "--out taken"), 2, "output 'taken' exists already"),
    (PUBLISH.replace("--out out", "--out good.tsv"), 2, "output 'good.tsv' exists already"),
    (PUBLISH.replace("--out out", "--out kept"), 2, "output 'kept.private' exists already"),
    (PUBLISH.replace("--out out", "--out dangling"), 2, "output 'dangling' exists already"),
    (PUBLISH.replace("--out out", "--out good.tsv/out"), 6, "output 'good.tsv/out' cannot be written"),
    (PUBLISH.replace("--out out", "--out /proc/out"), 6, "output '/proc/out' cannot be written"),
    (PUBLISH.replace("--out out", "--out ''"), 2, "not the name of a new folder"),
    (PUBLISH.replace("--out out", "--out /"), 2, "not the name of a new folder"),
    (PUBLISH.replace("--out out", f"--out {'x' * 300}"), 6, "File name too long"),
    (PUBLISH.replace("--out out", "--out $'\udcff'"), 2, "not in UTF-8"),
    ("generate good.tsv --users 20", 2, "good.tsv exists"),
    ("generate good.tsv --users 20 --results-out new.tsv", 2, "good.tsv exists"),
    ("generate new.tsv --users 20 --results-out good.tsv", 2, "good.tsv exists"),
    ("generate new.tsv --users 20 --results-out new.tsv", 2, "new.tsv exists"),
    ("generate good.tsv/new.tsv --users 20", 6, "its folder is a file"),
    ("generate /proc/new.tsv --users 20", 6, "/proc/new.tsv cannot be written"),
    ("demo --out taken", 2, "output 'taken' exists already"),
    ("demo --out good.tsv/out", 6, "output 'good.tsv/out' cannot be written"),
    ("demo --out /proc/out", 6, "output '/proc/out' cannot be written"),
    ("ledger open good.tsv/l.db --source s --epsilon 1 --delta 0", 6, "cannot be written"),
    ("ledger open missing/l.db --source s --epsilon 1 --delta 0", 6, "cannot be written"),
]

LEDGERS = [
    (f"{PUBLISH} --ledger ledger.db", 2, "needs both the ledger and the name of the source log"),
    (f"{PUBLISH} --source web", 2, "needs both the ledger and the name of the source log"),
    (f"{PUBLISH} --ledger ledger.db --source other", 2, "has no source 'other'"),
    (f"{PUBLISH} --ledger ledger.db --source wbe", 2, "has no source 'wbe'; did you mean web?"),
    (f"{PUBLISH} --ledger missing.db --source web", 3, "ledger 'missing.db' does not exist"),
    (f"{PUBLISH} --ledger text.db --source web", 3, "not a ledger, or is damaged"),
    (f"{PUBLISH} --ledger folder --source web", 3, "is not a file"),
    (f"{PUBLISH} --ledger ledger.db --source web --epsilon 3", 4, "short by epsilon 2"),
    ("ledger open ledger.db --source web --epsilon 1 --delta 0", 2, "has a budget already"),
    ("ledger open ledger.db --source '' --epsilon 1 --delta 0", 2, "1 to 200 printable characters"),
    (f"{OPEN} --epsilon 1 --delta 0 --neighbours x", 2, "no neighbour relation 'x'"),
    ("ledger open text.db --source web --epsilon 1 --delta 0", 3, "not a ledger, or is damaged"),
    ("ledger open new.db --source web", 2, "--epsilon is missing; pass --epsilon"),
    ("ledger show missing.db", 3, "does not exist"),
    ("ledger show text.db", 3, "not a ledger, or is damaged"),
    ("ledger show ledger.db --source other", 2, "has no source 'other'"),
]

RELEASES = [
    ("release verify missing", 3, "there is no release folder 'missing'"),
    ("release verify good.tsv", 3, "there is no release folder 'good.tsv'"),
    ("release verify folder", 3, "it has no manifest.json"),
    ("release verify garbled", 3, "cannot be read (UnicodeDecodeError)"),
    ("release verify", 2, "Missing argument 'DIR'"),
    ("release verify folder --taxonomy missing.tsv", 3, "there is no taxonomy file 'missing.tsv'"),
    ("release diff missing folder", 3, "'missing' is not a release: there is no such folder"),
    ("release diff folder missing", 3, "it has no manifest.json"),
    ("release diff series folder", 3, "'series' is a series of releases; name one of the folders in it"),
    ("convert missing.tsv folder", 2, "output 'folder' exists already; choose another OUT"),
    ("convert missing.tsv new.docx", 2, "the name 'new.docx' does not say which format to write"),
    ("convert missing.tsv .", 2, "output '.' is not the name of a new file; choose another OUT"),
    ("convert missing.tsv taken/file.tsv", 2, "output 'taken/file.tsv' exists already; choose another OUT"),
    ("convert good.tsv", 2, "Missing argument 'LOG...'; write queryveil convert LOG... OUT, or see --help"),
]

CASES = [
    *((f"{given} {log}", 3, words) for log, words in LOGS for given in ("inspect", f"publish {ZEALOUS}")),
    *((f"inspect good.tsv {options}", code, words) for options, code, words in READING),
    *((f"{PUBLISH} {options}", code, words) for options, code, words in READING[::3]),
    *PARAMETERS,
    *OUTPUTS,
    *LEDGERS,
    *RELEASES,
]


def rows(users: int) -> str:
    queries = ("news", "weather", "maps", SECRET)
    lines = [
        f"u{user}\t2026-01-01 00:0{minute}:00\t{query}{f' {user}' * (query == SECRET)}\t"
        for user in range(users)
        for minute, query in enumerate(queries)
    ]
    return "\n".join(["user\ttime\tquery\turl", *lines, ""])


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Everything that a command can be given and should not."""
    folder = tmp_path_factory.mktemp("inputs")
    text = rows(300)
    lines = text.splitlines(keepends=True)
    for name, content in {
        "good.tsv": text,
        "one.tsv": "".join(lines[:5]),
        "empty.tsv": "",
        "blank.tsv": "\n \n\n",
        "header.tsv": lines[0],
        "columns.tsv": f"a\tb\tc\n{f'1{chr(9)}2{chr(9)}{SECRET}{chr(10)}' * 9}",
        "quotes.csv": "user,time,query\n" + f'u,2026-01-01,"{SECRET}\n' * 30,
        "rejected.tsv": "".join(lines[:101]) + f"u\tno time\t{SECRET}\t\n" * 10,
        "surrogate.jsonl": f'{{"user": "u", "query": "{SECRET} \\ud800"}}\n' * 30,
        "huge.tsv": f"{text}u\t2026-01-01\t{SECRET} {'x' * 1_000_000}\t\n",
        "urlless.tsv": f"{SECRET}\n{SECRET}\n",
        "text.db": f"no ledger, but {SECRET}",
    }.items():
        (folder / name).write_text(content, encoding="utf-8")
    (folder / "binary.tsv").write_bytes(bytes(range(256)) * 50)
    (folder / "archive.zip").write_bytes(b"PK\x03\x04" + bytes(100))
    (folder / "cut.tsv.gz").write_bytes(gzip.compress(text.encode())[:900])
    table = pa.table({"user": [f"u{n}" for n in range(300)], "query": [f"{SECRET} {n}" for n in range(300)]})
    pq.write_table(table, folder / "plain.parquet")
    whole = (folder / "plain.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    for name in ("folder", "taken", "kept.private", "garbled", "series"):
        (folder / name).mkdir()
    (folder / "taken" / "file.tsv").write_text("")
    (folder / "series" / "series.json").write_text("{}")
    (folder / "garbled" / "manifest.json").write_bytes(b"\xff\x00{")
    (folder / "dangling").symlink_to("nowhere")
    return folder


@pytest.fixture
def here(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory that shows the inputs; a command that fails must leave it as it was."""
    work, scratch = tmp_path / "work", tmp_path / "scratch"
    work.mkdir()
    scratch.mkdir()
    for one in inputs.iterdir():
        (work / one.name).symlink_to(one.readlink() if one.is_symlink() else one)
    monkeypatch.chdir(work)
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    yield work
    if any(scratch.iterdir()):
        gc.collect()  # the working folder of a log goes with the log, at the end of a process at last
    assert list(scratch.iterdir()) == []


def names(folder: Path) -> set[str]:
    return {str(one.relative_to(folder)) for one in folder.rglob("*")}


def assert_refused(outcome: Outcome, code: int, words: str) -> None:
    """One printable sentence with cause and way out."""
    assert (outcome.code, outcome.err.count("\n")) == (code, 1), outcome
    sentence = outcome.err.removesuffix("\n")
    assert sentence.startswith("Error: ")
    assert sentence.endswith("?" if "did you mean" in sentence else ".")
    assert "; " in sentence
    assert words in sentence
    assert sentence.isprintable()
    for never in (SECRET, "hunter2", "Traceback", "QUERYVEIL_DEBUG=1 for details"):
        assert never not in outcome.err
    assert SECRET not in outcome.out


def assert_refused_in_json(outcome: Outcome, code: int, words: str) -> None:
    """The same fields as a document on standard error, and nothing on standard output."""
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (code, "", 1), outcome
    document = json.loads(outcome.err)
    assert document.keys() == {"error"}
    assert document["error"].keys() == {"kind", "message", "hint"}
    assert document["error"]["kind"] in KINDS[code]
    assert document["error"]["hint"]
    assert words in f"{document['error']['message']}; {document['error']['hint']}"
    assert SECRET not in outcome.err


def arguments(line: str) -> list[str]:
    return [one.removeprefix("$") for one in shlex.split(line)]


def open_ledger() -> None:
    assert command(*arguments("ledger open ledger.db --source web --epsilon 1 --delta 0.5")).code == 0


@pytest.mark.parametrize(("line", "code", "words"), CASES)
def test_wrong_input_is_one_sentence(line: str, code: int, words: str, here: Path) -> None:
    if "ledger.db" in line:
        open_ledger()
    before = names(here)
    assert_refused(command(*arguments(line)), code, words)
    assert names(here) == before


# Every sixth case, and one of every exit code at least: the fields are the same as of the sentence.
@pytest.mark.parametrize(("line", "code", "words"), [*CASES[::6], *LEDGERS[6:7], *OUTPUTS[:5:2]])
def test_wrong_input_is_one_document(line: str, code: int, words: str, here: Path) -> None:
    if "ledger.db" in line:
        open_ledger()
    before = names(here)
    assert_refused_in_json(command(*arguments(line), "--json"), code, words)
    assert names(here) == before


@pytest.mark.parametrize("group", [[], ["plan"], ["ledger"], ["release"]])
def test_a_group_without_a_command_shows_its_commands(group: list[str]) -> None:
    outcome = command(*group)
    assert_refused(outcome, 2, f"no {'method' if group == ['plan'] else 'command'} was given")
    assert "Usage" in outcome.out


def test_a_budget_that_refused_is_not_charged(here: Path) -> None:
    """Exit 4, no release; what is smaller still fits, and what failed before the charge cost nothing."""
    open_ledger()
    charge = f"{PUBLISH} --ledger ledger.db --source web"
    assert command(*arguments(f"{charge} --epsilon 3")).code == 4
    assert command(*arguments(f"{charge} --epsilon 1 --users 299")).code == 5
    assert command(*arguments(f"{charge} --epsilon 1 --keep x")).code == 2
    assert command(*arguments(f"{charge} --epsilon 1 --out /proc/out")).code == 6
    assert not (here / "out").exists()
    assert command(*arguments(f"{charge} --epsilon 1")).code == 0
    (account,) = command("ledger", "show", "ledger.db", "--json").document
    assert (account["spent"]["epsilon"], len(account["events"])) == (1, 1)


@pytest.mark.parametrize("line", ["inspect huge.tsv --json", f"publish huge.tsv {ZEALOUS} --json"])
def test_a_query_of_a_million_characters_is_a_query(line: str, here: Path) -> None:
    outcome = command(*arguments(line))
    assert (outcome.code, outcome.err) == (0, "")
    assert len(outcome.out) < 10_000


def test_a_failed_check_is_exit_1_with_its_document(here: Path) -> None:
    assert command(*arguments(PUBLISH)).code == 0
    (here / "out" / "extra").write_text(SECRET)
    outcome = command("release", "verify", "out")
    assert_refused(outcome, 1, "fails 1 of")
    assert "FAILED    folder" in outcome.out
    outcome = command("release", "verify", "out", "--json")
    assert outcome.code == 1
    assert outcome.document["passes"] is False
    assert json.loads(outcome.err)["error"]["kind"] == "check-failed"


def test_no_permission_to_write(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may write anywhere, so the refusal is put in place of the real call."""
    real = Path.mkdir

    def refuse(path: Path, *given: Any, **more: Any) -> None:
        if path.name.startswith(".out"):
            raise PermissionError(13, "Permission denied")
        real(path, *given, **more)

    monkeypatch.setattr(Path, "mkdir", refuse)
    before = names(here)
    assert_refused(command(*arguments(PUBLISH)), 6, "output 'out' cannot be written (Permission denied)")
    assert names(here) == before


@pytest.mark.parametrize("line", ["inspect good.tsv", PUBLISH])
def test_no_permission_to_read(line: str, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    assert_refused(command(*arguments(line)), 3, "no permission to read 'good.tsv'")


def test_what_a_terminal_obeys_does_not_reach_it(here: Path) -> None:
    """Escape codes in names: in the figures of a log, and in a refusal."""
    name = "log\x1b[31m\u202e.tsv"
    (here / name).write_text(rows(300) + "u\tno time\tx\t\n", encoding="utf-8")
    outcome = command("inspect", name)
    assert outcome.code == 0
    assert "line 1202: bad time" in outcome.out
    assert outcome.out.replace("\n", "").isprintable()
    assert_refused(command(*arguments(PUBLISH), "--out", name), 2, "exists already")


def test_an_unknown_failure_says_nothing_of_the_log(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import queryveil as qv

    def fail(*_: Any, **__: Any) -> None:
        raise ValueError(SECRET)

    monkeypatch.setattr(qv, "inspect", fail)
    outcome = command("inspect", "good.tsv")
    assert outcome.code == 70
    assert "(ValueError)" in outcome.err
    assert SECRET not in outcome.err + outcome.out


def test_an_interrupt_while_loading(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupting(importlib.abc.MetaPathFinder):
        def find_spec(self, name: str, *_: Any) -> None:
            if name == "queryveil.show.cli.app":
                raise KeyboardInterrupt

    command("--version")  # so that there is a loaded module to put back
    monkeypatch.delitem(sys.modules, "queryveil.show.cli.app")
    monkeypatch.delattr(cli, "app")
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        cli.run()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "Error: interrupted; run it again when you like.\n"
    monkeypatch.setattr(sys, "argv", ["queryveil", "demo", "--json"])
    with pytest.raises(SystemExit) as ended:
        cli.run()
    assert ended.value.code == 130
    assert json.loads(capsys.readouterr().err)["error"]["kind"] == "interrupted"


def test_an_interrupt_before_it_can_be_answered(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """All is loaded, and the first handler does not stand yet."""

    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("queryveil.files.memory.limit_reservations", interrupted)
    with pytest.raises(SystemExit) as ended:
        cli.run()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "Error: interrupted; run it again when you like.\n"


# -- in a process of its own ---------------------------------------------------------------------------------


def start(line: str, **how: Any) -> subprocess.Popen[str]:
    executable = Path(sys.executable).with_name("queryveil")
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **how}
    return subprocess.Popen([executable, *arguments(line)], **pipes)


def finish(process: subprocess.Popen[str]) -> Outcome:
    out, err = process.communicate(timeout=300)
    return Outcome(process.returncode, out or "", err)


def _heed_signals() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_publish_leaves_nothing(ending: signal.Signals, here: Path, generated: Path) -> None:
    before = names(here)
    kinds = "--items keywords,queries,query-pairs,clicks"
    line = f"publish {generated} --method zealous --epsilon 2 --delta 1e-4 --out out {kinds}"
    # A shell that starts a job in the background lets it ignore SIGINT, and nohup SIGHUP; this one shall not.
    process = start(line, preexec_fn=_heed_signals)
    while not list(here.glob(".out.*")):  # from here on there is something to leave behind
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(ending)
    assert_refused(finish(process), 130, "interrupted; nothing half-written is left")
    assert names(here) == before


def test_a_reader_that_goes_away_does_not_stop_the_work(here: Path) -> None:
    process = start(PUBLISH)
    assert process.stdout is not None
    process.stdout.close()
    process.stdout = None
    assert finish(process) == Outcome(0, "", "")
    assert (here / "out" / "manifest.json").exists()


def test_standard_output_without_room(here: Path) -> None:
    with Path("/dev/full").open("w") as full:
        outcome = finish(start(f"{PLAN} --json", stdout=full))
    assert_refused_in_json(outcome, 6, "No space left on device")


@pytest.mark.parametrize(
    ("line", "code", "closing"),
    [
        (f"{PLAN} --json", 0, ">&-"),
        (f"{PLAN} --json", 0, "<&- >&- 2>&-"),
        ("release verify nowhere", 3, "2>&-"),
        ("release verify nowhere", 3, "<&- >&- 2>&-"),
        ("nonsense", 2, ">&- 2>&-"),
        (f"{PUBLISH} --ledger ledger.db --source web --epsilon 3", 4, "<&- >&- 2>&-"),
    ],
)
def test_closed_standard_streams_do_not_change_the_exit_code(
    line: str, code: int, closing: str, here: Path
) -> None:
    if "ledger.db" in line:
        open_ledger()
    words = [sys.executable, "-c", "from queryveil.show import cli; cli.run()", *line.split()]
    assert subprocess.run(["sh", "-c", f'exec "$@" {closing}', "sh", *words], check=False).returncode == code


def test_an_error_that_cannot_be_shown_keeps_its_exit_code(here: Path) -> None:
    words = [
        sys.executable,
        "-c",
        "from queryveil.show import cli; cli.run()",
        "release",
        "verify",
        "nowhere",
    ]
    with Path("/dev/full").open("w") as full:
        assert subprocess.run(words, stdout=full, stderr=full, check=False).returncode == 3


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (PUBLISH, "cannot be written (File too large)"),
        ("generate new.tsv --users 500", "new.tsv cannot be written (File too large)"),
        ("demo --out out --users 500", "out/log.tsv.gz cannot be written (File too large)"),
    ],
)
def test_a_disk_without_room(line: str, words: str, here: Path) -> None:
    def little_room() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))

    before = names(here)
    assert_refused(finish(start(line, preexec_fn=little_room)), 6, words)
    assert names(here) == before


def test_a_character_set_without_the_characters(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("PYTHONIOENCODING", "latin-1")
    line = "generate 東京.tsv --users 20"
    outcome = finish(start(line))
    assert (outcome.code, outcome.err) == (0, "")
    assert "\\u6771\\u4eac.tsv" in outcome.out
    assert finish(start("generate 大阪.tsv --users 20 --json")).document["log"] == "大阪.tsv"
    assert_refused(finish(start(line)), 2, "\\u6771\\u4eac.tsv exists")
