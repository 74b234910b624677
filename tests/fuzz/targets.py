"""Everything that reads a file or words of somebody else, a small corpus for each, and changes of it.

A target gets bytes and answers in a word: `read`, `refused` or, for a command, its exit code. Any exception but ours, a
traceback, an answer after more than 20 seconds, or a line that is neither kept nor counted, is a fault.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import io
import random
import shutil
import sqlite3
import time
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet as pq

import queryveil as qv
from queryveil.count import public_items, public_lists
from queryveil.language.taxonomy.model import Taxonomy
from queryveil.measure.document_frequencies import DocumentFrequencies
from queryveil.reading.log_files import stage
from queryveil.reading.model import ReadOptions
from tests.command import command
from tests.reading.formats import test_hostile as hostile

Target = tuple[list[bytes], Callable[[Path, bytes], str]]
DATA = Path(__file__).parents[1] / "data"
FAULT = "FAULT"
SLOWEST_SECONDS = 20.0
CODES = {0, 1, 2, 3, 4, 5, 6}
TOKENS = (
    *(b"\0", b"\xff", b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b"\t", b",", b'"', b"'", b"{", b"}", b"[" * 50),
    *(
        b"null",
        b"true",
        b"NaN",
        b"-1",
        b"1e400",
        b"9" * 40,
        b"0x1f",
        b"\\u0000",
        b"\\ud800",
        b"&a *a",
        b"!!python/x",
    ),
    *(
        b"../../etc/passwd",
        b"=cmd()",
        b"\x1b[2J",
        "\u202e\u0130\ufdfa".encode(),
        b"%s%n",
        b"{{7*7}}",
        b"A" * 3000,
    ),
)
_PAGE = b"PAR1"


def changed(corpus: list[bytes], rng: random.Random) -> bytes:
    """One of the corpus with a few changes."""
    data = bytearray(rng.choice(corpus))
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        at = rng.randrange(len(data) + 1)
        to = min(len(data), at + rng.choice((1, 2, 8, 64, 1000)))
        match rng.randrange(7):
            case 0 if data:
                data[min(at, len(data) - 1)] ^= 1 << rng.randrange(8)
            case 1:
                del data[at:to]
            case 2:
                data[at:at] = data[at:to] * rng.choice((1, 3, 40))
            case 3:
                data[at:at] = rng.choice(TOKENS)
            case 4:
                del data[at:]
            case 5:
                other = rng.choice(corpus)
                start = rng.randrange(len(other) + 1)
                data[at:to] = other[start : start + rng.choice((4, 64, 4000))]
            case _:
                data[at:to] = rng.randbytes(to - at)
    return bytes(data[:200_000])


def answered(call: Callable[[], object]) -> str:
    """`read`, or `refused` with one sentence."""
    try:
        call()
    except qv.QueryveilError as error:
        if "\n" in str(error) or "\x1b" in str(error):
            raise AssertionError("more than one line, or a control character, in a message") from error
        return "refused"
    return "read"


# -- logs ----------------------------------------------------------------------------------------------------

_TABLE = pa.table(
    {
        "user": ["u1", "u2", "u3"],
        "query": ["tea", "caf\u00e9", ""],
        "time": [datetime.datetime(2026, 1, day) for day in (1, 2, 3)],
        "rank": [1, None, 3],
    }
)


def _written(write: Callable[[Any], object]) -> bytes:
    into = io.BytesIO()
    write(into)
    return into.getvalue()


def _sqlite(folder: Path) -> bytes:
    with contextlib.closing(sqlite3.connect(folder / "a.db")) as made:
        made.execute("CREATE TABLE log (user TEXT, query TEXT)")
        made.execute("INSERT INTO log VALUES ('u1', 'tea'), ('u2', NULL)")
        made.commit()
    return (folder / "a.db").read_bytes()


def _duckdb(folder: Path) -> bytes:
    with duckdb.connect(str(folder / "a.duckdb")) as made:
        made.execute("CREATE TABLE log AS SELECT 'u1' AS \"user\", 'tea' AS query")
    return (folder / "a.duckdb").read_bytes()


def _zip() -> bytes:
    """Without compression, so that a change of what is inside is one of a row."""
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w") as made:
        made.writestr("log.csv", "user,query\n" + "u1,tea\n" * 20)
    return into.getvalue()


def text_log(format: str) -> Target:
    """A reader of lines, which must account for each of them."""
    first = hostile.FIRST[format] + b"\n"
    options: dict[str, Any] = dict(hostile.DELIMITED.get(format, {}))
    if format == "access-log":
        options["query_parameter"] = ("q",)
    if format == "solr":
        options["user_field"] = "uid"
    samples = [one.read_bytes()[:20_000] for one in sorted((DATA / "sources").iterdir()) if one.is_file()]

    def ask(folder: Path, data: bytes) -> str:
        file = folder / "log"
        file.write_bytes(first + data)
        try:
            staged = stage(file, ReadOptions(format=format, max_rejected=1.0, **options), folder / "into")
        except qv.QueryveilError as error:
            return answered(functools.partial(_again, error))
        # Compressed or encoded otherwise, by what the first bytes say, it has other lines.
        lines = hostile.lines_in(first + data)
        filled = hostile.lines_in((first + data).rstrip())  # blank lines at the end may be counted, or not
        accounted = staged.rows + staged.rejected + sum(staged.skipped.values())
        if format in hostile.DELIMITED and not filled <= accounted <= lines:
            raise AssertionError(f"{lines} lines, {accounted} accounted for")
        return "read"

    return [first * 4, *samples], ask


def _again(error: Exception) -> None:
    raise error


def _binary_log(corpus: list[bytes]) -> Target:
    def ask(folder: Path, data: bytes) -> str:
        (folder / "log").write_bytes(data)
        return answered(lambda: stage(folder / "log", ReadOptions(max_rejected=1.0), folder / "into"))

    return corpus, ask


# -- other files ---------------------------------------------------------------------------------------------


def _file(corpus: list[bytes], name: str, load: Callable[[Path], object]) -> Target:
    def ask(folder: Path, data: bytes) -> str:
        (folder / name).write_bytes(data)
        return answered(lambda: load(folder / name))

    return corpus, ask


RECIPE = b"""recipe: 1
log:
  files: [log.tsv]
  columns: {user: 1, query: 3}
  columns_confirmed: true
method: zealous
parameters: {epsilon: 1, delta: 1.0e-6, max_items: 5}
out: release
about: {title: not stated, publisher: not stated}
"""
_JSON = b'{"terms": [{"term": "tea", "doc_count": 12}], "aggregations": {"a": {"buckets": [{"key": "x"}]}}}'


def _release(folder: Path) -> Target:
    """A manifest that is anything, beside tables that are whole; and the other way round."""
    users = [f"u{number}" for number in range(60)]
    log = qv.read(pa.table({"user": users * 2, "query": ["tea"] * 60 + ["mugs"] * 60}))
    made = folder / "made"
    qv.publish(log, qv.Zealous(epsilon=8, delta=1e-6, max_items=2), out=made)
    manifest, table = (made / "manifest.json").read_bytes(), (made / "items.parquet").read_bytes()

    def ask(folder: Path, data: bytes) -> str:
        copy = folder / "release"
        shutil.copytree(made, copy)
        (copy / ("items.parquet" if data.startswith(_PAGE) else "manifest.json")).write_bytes(data)
        return answered(lambda: (qv.verify(copy), qv.load(copy)))

    return [manifest, table], ask


# -- the command line ----------------------------------------------------------------------------------------

WORDS = b"""
publish plan inspect evaluate attack advise ledger release verify sign diff report convert generate
zealous steered click-graph k-query clump semantic --epsilon --delta --k --items --out --json --engine --columns
--max-items --users --ledger --source --taxonomy --help 1 0 -1 1e400 nan inf 1e-6 keywords --format
user=1,query=2 nowhere.tsv log.tsv . / .. duckdb sqlite://x spark://x ../x -- - = \xff \x1b[31m '' --period --series
queries,clicks
""".split()


def _words() -> Target:
    corpus = [
        b"publish zealous log.tsv --epsilon 1 --delta 1e-6 --out /proc/nowhere",
        b"plan zealous --epsilon 1 --delta 1e-6 --json",
        b"inspect nowhere.tsv --columns user=1,query=2",
        b"ledger show nowhere.db",
        *(b" ".join(WORDS[at : at + 5]) for at in range(0, len(WORDS) - 5, 3)),
    ]

    def ask(folder: Path, data: bytes) -> str:
        words = [word.decode("utf-8", "surrogateescape") for word in data.replace(b"\0", b"").split()[:12]]
        if {"demo", "serve", "generate", "-"} & set(words):
            words = ["plan", *words]  # these take long, or wait for somebody
        with contextlib.chdir(folder):
            done = command(*words)
        code = 0 if done.code is None else done.code
        if code not in CODES or "Traceback" in done.err + done.out:
            raise AssertionError(f"exit code {code}: {done.err[-300:]}")
        return f"exit {code}"

    return corpus, ask


def targets(folder: Path) -> dict[str, Target]:
    """Name -> corpus, and what asks."""
    folder.mkdir(parents=True, exist_ok=True)
    feather = _written(lambda into: pyarrow.feather.write_feather(_TABLE, into))
    orc = _written(lambda into: pyarrow.orc.write_table(_TABLE, into))
    parquet = _written(lambda into: pq.write_table(_TABLE, into))
    archive = (DATA / "sources" / "ubi.zip").read_bytes()
    return {
        **{format: text_log(format) for format in (*hostile.DELIMITED, *hostile.WHOLE_LINES)},
        "parquet": _binary_log([parquet]),
        "feather": _binary_log([feather]),
        "orc": _binary_log([orc]),
        "sqlite": _binary_log([_sqlite(folder)]),
        "duckdb": _binary_log([_duckdb(folder)]),
        "zip": _binary_log([archive, _zip()]),
        "taxonomy": _file(
            [b"dog\tanimal\ncat\tanimal\nanimal\tthing\n", b"a,b\nb,c\n"], "t.tsv", Taxonomy.from_file
        ),
        "recipe": _file([RECIPE], "release.yaml", qv.Recipe.read),
        "results file": _file(
            [b"query\turl\trank\ntea\ta.org\t1\ntea\tb.org\t2\n"], "results.tsv", public_lists.read
        ),
        "public list": _file(
            [b"tea\nmugs\ncaf\xc3\xa9\n", b"query\turl\ntea\ta.org\n"],
            "list.txt",
            lambda file: public_items.read(file, qv.KINDS["queries"]),
        ),
        "document frequencies": _file(
            [b"tea\t12\nmug\t3\n", b"term,df\ntea,4\n", _JSON], "df", DocumentFrequencies.of_file
        ),
        "release": _release(folder),
        "command line": _words(),
    }


TURNS = {
    **dict.fromkeys(("zip", "taxonomy", "results file", "public list", "document frequencies"), 16),
    **dict.fromkeys(("feather", "orc"), 8),
    **dict.fromkeys(("parquet", "recipe", "command line"), 6),
    "sqlite": 4,
    **dict.fromkeys(("duckdb", "release"), 2),
}
"""How often a target is asked while one that takes long is asked once: each gets about the same time."""


def order(names: Iterable[str]) -> list[str]:
    """The targets by turns, each spread over the round."""
    turns = [((at + 0.5) / TURNS.get(name, 1), name) for name in names for at in range(TURNS.get(name, 1))]
    return [name for _, name in sorted(turns)]


def ask_one(target: Target, place: Path, rng: random.Random) -> tuple[str, bytes]:
    """One changed input, and the answer to it; a fault begins with `FAULT`."""
    corpus, ask = target
    data = changed(corpus, rng)
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    start = time.process_time()
    try:
        answer = ask(place, data)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return f"{FAULT} {type(error).__name__}: {str(error)[:300]}", data
    if time.process_time() - start > SLOWEST_SECONDS:
        return f"{FAULT} took more than {SLOWEST_SECONDS:.0f} processor seconds", data
    return answer, data
