"""Make the stored cases of the readers.

    python -m tests.frozen.make_readers                        add new cases, with the answers of the code that runs
    python -m tests.frozen.make_readers --declare REASON ID... declare that cases differ from their frozen answers

Inputs are handwritten, taken from `tests/data/sources`, or changed at random from a seed. A case that is stored already
keeps its input and its answer: delete it from the store by hand to make it anew. The first answers are those of version
0.3.0.
"""

# Values stand in lists as wide as they are.
# ruff: noqa: E501
# fmt: off
# mypy: disable-error-code="arg-type, assignment, var-annotated"

from __future__ import annotations

import bz2
import contextlib
import datetime as dt
import gzip
import io
import itertools
import json
import lzma
import random
import sqlite3
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import duckdb
import pyarrow as pa
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet as pq
import zstandard

from tests.frozen.reader_cases import GROUPS, answer
from tests.frozen.store import (
    FOLDER,
    declare,
    load_group,
    save_group,
)

SOURCES = Path(__file__).parents[1] / "data" / "sources"
Case = dict[str, Any]
NAMED = Iterator[tuple[str, Case]]
NUMBERED = {"columns": {"user": 1, "time": 2, "query": 3, "url": 4, "rank": 5}}
Q = {"query_parameter": ["q"]}


def case(files: dict[str, Any], log: Any = None, **options: Any) -> Case:
    """A case with one file, or with several of which `log` names the source."""
    stored = {name: data.decode("latin-1") if isinstance(data, bytes) else data for name, data in files.items()}
    return {"files": stored, "log": log or next(iter(files)), "options": options}


def text(lines: Iterable[str | bytes], end: bytes = b"\n", last: bool = True) -> bytes:
    made = [line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass") for line in lines]
    return end.join(made) + (end if last else b"")


# -- random changes ------------------------------------------------------------------------------------------

TOKENS = (
    *(b"\0", b"\xff", b"\xef\xbb\xbf", b"\r", b"\n", b"\r\n", b"\n\n", b"\t", b",", b'"', b'""', b"'", b"{", b"}"),
    *(b"[" * 50, b"]", b":", b"null", b"NULL", b"\\N", b"true", b"NaN", b"-1", b"1e400", b"9" * 40, b"1.0", b" "),
    *(b"\\u0000", b"\\ud800", b"\\", b"\x85", "\u2028\u3000".encode(), "\u202e\u0130\ufdfa".encode(), b"A" * 300),
    *("稀有兰花".encode("gb18030"), "稀有兰花".encode(), b"2006-03-01 12:00:00", b"1141214400", b"%C3%28", b"\x0b"),
)


def mutate(corpus: Sequence[bytes], rng: random.Random) -> bytes:
    """One of the corpus with a few random changes."""
    data = bytearray(rng.choice(corpus))
    for _ in range(rng.choice((1, 1, 2, 4))):
        at = rng.randrange(len(data) + 1)
        to = min(len(data), at + rng.choice((1, 2, 8, 64)))
        match rng.randrange(6):
            case 0 if data:
                data[min(at, len(data) - 1)] ^= 1 << rng.randrange(8)
            case 1:
                del data[at:to]
            case 2:
                data[at:at] = data[at:to] * rng.choice((1, 3, 20))
            case 3 | 4:
                data[at:at] = rng.choice(TOKENS)
            case _:
                other = rng.choice(corpus)
                start = rng.randrange(len(other) + 1)
                data[at:to] = other[start : start + rng.choice((4, 64, 400))]
    return bytes(data)


def shapes(base: bytes, name: str, encoding: str | None = None, **options: Any) -> NAMED:
    """A text log as it may lie on disk: line ends, blank lines, marks, compression, encodings, bad bytes."""
    lines = base.splitlines()
    plain = case({name: base}, **options)
    yield "plain", plain
    yield "without a line end at the end", case({name: base.rstrip(b"\n")}, **options)
    yield "CRLF", case({name: text(lines, b"\r\n")}, **options)
    yield "one CRLF", case({name: lines[0] + b"\n" + lines[1] + b"\r\n" + text(lines[2:])}, **options)
    yield "CR only", case({name: text(lines, b"\r")}, **options)
    yield ("CR inside a line", case({name: text([*lines, lines[-1].replace(b"e", b"\r", 1), lines[0]])}, **options))
    yield "blank lines before", case({name: b"\n  \n\r\n" + base}, **options)
    yield "blank lines between", case({name: text([*lines[:2], b"", b" \t ", b"", *lines[2:]])}, **options)
    yield "blank lines after", case({name: base + b"\n\n\r\n \n\n"}, **options)
    yield "byte order mark", case({name: b"\xef\xbb\xbf" + base}, **options)
    yield ("byte order mark inside", case({name: text([lines[0], b"\xef\xbb\xbf" + lines[-1], *lines])}, **options))
    yield ("binary data", case({name: text([*lines, lines[-1][:9] + b"\0" + lines[-1][9:], lines[-1]])}, **options))
    yield ("not UTF-8", case({name: text([*lines, lines[-1][:9] + b"\xff\xfe" + lines[-1][9:], lines[-1]])}, **options))
    yield ("half a character", case({name: text([*lines, lines[-1][:12] + b"\xe4\xb8" + lines[-1][12:], lines[-1]])}, **options))
    yield ("surrogate", case({name: text([*lines, lines[-1][:12] + b"\xed\xa0\x80" + lines[-1][12:]])}, **options))
    yield ("other line ends", case({name: text([*lines, *(lines[-1] + mark.encode() for mark in "\x0b\x0c\x1c\x1e\x85\u2028")])}, **options))
    yield "cut short", case({name: base[: len(base) * 2 // 3]}, **options)
    yield "gzip", case({name + ".gz": gzip.compress(base, mtime=0)}, **options)
    yield "two gzip members", case({name + ".gz": gzip.compress(base, mtime=0) * 2}, **options)
    yield "damaged gzip", case({name + ".gz": gzip.compress(base, mtime=0)[:-9]}, **options)
    yield "zstandard", case({name + ".zst": zstandard.compress(base)}, **options)
    yield "bzip2 under a plain name", case({name: bz2.compress(base)}, **options)
    yield "xz", case({name + ".xz": lzma.compress(base)}, **options)
    yield "zip", case({"log.zip": zipped({name: base})}, **options)
    if encoding is None:
        decoded = base.decode("utf-8", "replace")
        yield "UTF-16 with a mark", case({name: decoded.encode("utf-16")}, **options)
        yield ("UTF-16 big-endian", case({name: decoded.encode("utf-16-be")}, **{**options, "encoding": "utf-16-be"}))
        latin = text(decoded.encode("latin-1", "replace").splitlines()).replace(b"orchid", b"orch\xefd")
        yield "Latin-1", case({name: latin}, **{**options, "encoding": "latin-1"})
        gb = decoded.replace("orchid", "稀有兰花").replace("tea", "汶川").encode("gb18030", "replace")
        yield "GB18030", case({name: gb}, **{**options, "encoding": "gb18030"})
        yield ("GB18030 with a bad byte", case({name: gb[:-40] + b"\xff" + gb[-40:]}, **{**options, "encoding": "gbk"}))


def zipped(files: dict[str, bytes]) -> bytes:
    into = io.BytesIO()
    with zipfile.ZipFile(into, "w", zipfile.ZIP_DEFLATED) as made:
        for name, data in files.items():
            made.writestr(zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0)), data)
    return into.getvalue()


def random_cases(first: bytes, corpus: Sequence[bytes], group: str, name: str, mutated: int = 18, pieced: int = 12, **options: Any) -> NAMED:
    """Files that begin with a good row: a corpus changed at random, and pieces of all formats put together."""
    rng = random.Random(f"frozen {group}")
    for number in range(mutated):
        data = first + b"\n" + mutate(corpus, rng) + b"\n" + first + b"\n"
        yield f"mutated {number}", case({name: data}, format=group, **options)
    for number in range(pieced):
        lines = [b"".join(rng.choices(PIECES, k=rng.randrange(7))) for _ in range(rng.randrange(1, 14))]
        yield f"pieces {number}", case({name: text([first, *lines, b"end"])}, format=group, **options)


PIECES = [
    *(b"ann", b"bob", b"2006-03-01 12:00:00", b"1141214400", b"tea", b"-3", b"\t", b"\t", b",", b",", b";", b'"'),
    *(b"'", b"{", b"}", b"[", b"]", b":", b" ", b"\0", b"\xff\xfe", b"\xe9", b"\r", b"null", b"NULL", b"\\N", b"1e9"),
    *(b'{"user": "ann", "query": "tea"}', b'{"index": {}}', b"params={q=tea&uid=7}", b"source[{", b"], id["),
    "稀有兰花".encode("gb18030"),
]

# -- values that decide whether a row is valid ---------------------------------------------------------------

USERS = [
    *("17", "ann", "", " ", "NULL", "null", "Null", "\\N", "(null)", "<null>", "-", "None", "NaN", " ann", "ann "),
    *("\u00a0", "\u1680 ", "\u3000", "\u3000a", "\u3001", "\x1f", "\x1c", "\u200b", "ä", "~", "\x7f", '"q"', "'", "ﬁ"),
]
QUERIES = [
    *("tea", "-", "", "  ", "\u2003", " tea", "tea ", "ツ", "NULL", "None", "[tea]", "[", "]", "[]", "\x85", '"'),
    *('a""b', '"tea"', "x" * 30, "Tea  POT", "CAFÉ", "İ", "ß", "a,b", "a;b", "e\u0301", "\u00ad", "😀", "{1}", "\\"),
]
TIMES = [
    *("2006-03-01 10:11:12", "2006-03-01T10:11:12Z", "2006-03-01T10:11:12.5Z", "2006-03-01T10:11:12.123456Z"),
    *("2006-03-01 10:11:12.123", "2006-02-29 10:11:12", "2004-02-29 10:11:12", "1900-02-29 00:00:00", "2006-03-01"),
    *("2006-03-01 24:00:00", "2006-03-01 23:59:60", "2006-03-01 10:60:00", "2006-13-01 10:00:00", "0999-12-31 00:00:00"),
    *("1000-01-01 00:00:00", "9999-12-31 23:59:59", "2006-03-00 00:00:00", "2006-00-01 00:00:00", "2006-3-1 1:2:3"),
    *("2006-03-01x10:11:12", "2006-03-01t10:11:12", "2006-03-01T10:11:12z", "2006-03-01T10:11+01", "2006-03-01 10:11:12+0"),
    *(" 2006-03-01 10:11:1", "2006-03-01 10:11:1 ", "2006/03/01 10:11:12", "2006-03-01 10:11:１2", "2006-03-01 10:11:12 "),
    *("1141207872", "114120787", "1141207872123", "1141207872123456", "1141207872123456789", "060301101112", "11412078721"),
    *("-141207872", "+141207872", "", "NULL", "epoch", "infinity", "-infinity", "now", "10:11:12", "20060301101112"),
    *("٢٠٠٦-03-01 10:11:12", "0000000000", "9999999999999", "2006-03-01 10:11:12-08:00", "2006-03-01 10:11:12 UTC"),
    *("2006-03-01 10:11:12 Europe/Berlin", "2006-03-01 10:11", "2006-03-01 10", "2006-060", "2999-01-01", "99999-01-01"),
    *("2006-03-01 10:11:12.1234567", "Wed Mar 01 10:11:12 2006", "01/Mar/2006:10:11:12 +0100", "1e9", "1141207872.0"),
]
RANKS = [
    *("1", "", "007", "999999999", "1000000000", "3.0", "3.00", "3.", "1.5", " 3", "3 ", "3 1", "8 3", "-1", "+1", "0"),
    *("0x1", "٣", "NULL", "-", " - ", "1e3", "a b", "None", "N/A", "nan", "\\N", "0.0", "-0", "\t", "1,0", "²"),
]
URLS = [*("http://a.example", "", "-", "NULL", "None", "none", "n/a", "N/A", "NaN", " ", "a b", "\x01", "ü", "(null)", "x" * 40)]
GOOD = ["17", "2006-03-01 10:11:12", "tea", "http://a.example", "1"]


def combinations(count: int, seed: str) -> list[list[str]]:
    """Every value at least once beside good values, and then rows of any values."""
    rng = random.Random(seed)
    rows = [[value if at == place else good for at, good in enumerate(GOOD)] for place, values in enumerate((USERS, TIMES, QUERIES, URLS, RANKS)) for value in values]
    rows += [[rng.choice(one) for one in (USERS, TIMES, QUERIES, URLS, RANKS)] for _ in range(count)]
    return [GOOD, *rows, GOOD]


# -- delimited texts -----------------------------------------------------------------------------------------

HEADER = ["user", "time", "query", "url", "rank"]
TABLE = [
    ["17", "2006-03-01 12:00:00", "rare orchids", "http://orchids.example", "2"],
    ["17", "2006-03-01 12:00:05", "orchid shop", "", ""],
    ["u2", "2006-03-01 15:00:00", "", "", ""],
    ["u2", "2006-03-01 16:00:00", "crème brûlée", "http://a.example/?q=1&b=2", "1"],
    ["ann", "2006-03-02", "tea", "-", "NULL"],
]


def joined(rows: Iterable[Sequence[str]], mark: str) -> bytes:
    return text(mark.join(row) for row in rows)


def tsv() -> NAMED:
    base = joined([HEADER, *TABLE], "\t")
    yield from shapes(base, "log.tsv")
    yield "combinations", case({"log.tsv": joined(combinations(400, "tsv"), "\t")}, format="tsv", **NUMBERED)
    yield ("combinations CRLF", case({"log.tsv": text(["\t".join(row) for row in combinations(50, "crlf")], b"\r\n")}, format="tsv", **NUMBERED))
    yield from odd_tables("tsv", "\t")
    lines = [
        *("user\ttime\tquery\turl\trank", "u1\t2006-03-01 12:00:00\tgood\thttp://a\t1", "u2\t2006-03-01 12:00:00"),
        *("\t2006-03-01 12:00:00\tq\t\t", "  \t2006-03-01 12:00:00\tq\t\t", "u3\tyesterday\tq\t\t"),
        *("u4\t2006-03-01 12:00:00\tq\thttp://a\tfirst", "u5\t2006-03-01 12:00:00\tq\thttp://a\t-1"),
        *(b"u6\t2006-03-01 12:00:00\tcaf\xe9\t\t", b"u7\t2006-03-01 12:00:00\tnul\x00\t\t", "", '"u"\t"\t"\t"'),
        *("u8\t2006-03-01 12:00:00\tshifted\tby a tab\thttp://a\t1", "u9\t2006-03-01 12:00:00\tone more\thttp://a\t1\t"),
        *("", ""),
    ]
    yield "every reason", case({"log.tsv": text(lines)})
    for number, end in enumerate(("", "\n", "\n\n", "\r\n\r\n", "\n\n\n", "\n\r\n\n\n", "\n \n", "\r", "\n\0\n")):
        yield f"end {number}", case({"log.tsv": ("user\tquery\nu\tq" + end).encode()})
    for number, field in enumerate((1023, 1024 * 1024, 1024 * 1024 + 1)):
        long = [{"line": "x", "count": field}]
        yield (f"long text {number}", case({"log.tsv": ["user\tquery\nann\ttea\nbob\t", *long, "\ncid\tcup\n"]}))
        yield (f"long user {number}", case({"log.tsv": ["user\tquery\nann\ttea\n", *long, "\ttea\ncid\tcup\n"]}))
    yield from random_cases(b"ann\ttea", [base, text(lines)], "tsv", "log", columns={"user": 1, "query": 2})


def odd_tables(format: str, mark: str) -> NAMED:
    """Headers, columns, and options of delimited texts."""
    name = f"log.{format}"
    rows = joined(TABLE, mark)
    by_number = {"columns": {"user": 1, "time": 2, "query": 3}}
    yield "no header", case({name: rows}, **by_number)
    yield "no header, not said", case({name: rows})
    yield ("header said", case({name: joined([["a", "b", "c", "d", "e"], *TABLE], mark)}, header=True, **by_number))
    yield "header denied", case({name: joined([HEADER, *TABLE], mark)}, header=False, **by_number)
    yield ("names", case({name: joined([["Who", "When", "What", "x", "y"], *TABLE], mark)}, columns={"user": "who", "time": "When", "query": "WHAT"}))
    yield ("usual names", case({name: joined([["User ID", "Created-At", "Search Term", "Click URL", "position"], *TABLE], mark)}))
    yield "a name twice", case({name: joined([["user", "query", "User"], ["a", "b", "c"]], mark)})
    yield ("a name twice, by number", case({name: joined([["user", "query", "User"], ["a", "b", "c"]], mark)}, columns={"user": 3, "query": 2}, header=True))
    yield "only a header", case({name: joined([HEADER], mark)})
    yield "a header with blanks", case({name: joined([[f" {one} " for one in HEADER], *TABLE], mark)})
    yield "a header with quotes", case({name: joined([[f'"{one}"' for one in HEADER], *TABLE], mark)})
    yield "one column", case({name: b"user\nann\n"}, columns={"user": 1, "query": 1})
    yield ("one column for both", case({name: joined([["q"], ["tea"], [""], [" "]], mark)}, columns={"user": 1, "query": 1}, header=True))
    yield "far column", case({name: rows}, columns={"user": 1, "query": 9})
    yield ("more and fewer fields", case({name: joined([HEADER, *TABLE, TABLE[0][:3], TABLE[0][:2], [*TABLE[0], ""], [*TABLE[0], "", ""], [*TABLE[0], "x"]], mark)}))
    yield "null words", case({name: joined([HEADER, *TABLE], mark)}, null=["tea", "ann", "2"])
    yield "where", case({name: joined([HEADER, *TABLE], mark)}, where=["user=17"])
    yield "where not", case({name: joined([HEADER, *TABLE, ["x"]], mark)}, where=["query!=tea", "rank!=1"])
    yield "where unknown", case({name: joined([HEADER, *TABLE], mark)}, where=["other=1"])
    yield ("time format", case({name: joined([["user", "query", "time"], ["a", "tea", "060301101112"], ["b", "tea", "1141214400"], ["c", "x", "06"]], mark)}, time_format="%y%m%d%H%M%S"))
    yield ("clock only", case({name: joined([["user", "query", "time"], ["a", "tea", "10:11:12"], ["b", "tea", "25:00:00"]], mark)}, time_format="%H:%M:%S"))
    yield (
        "pattern",
        case(
            {name: joined([["id=17", "[tea pot]", "8 3"], ["id=x", "[mug]", "1 1"], ["", "cup", "1"]], mark)}, columns={"user": r"1:/id=(\w+)/", "query": r"2:/\[(.*)\]/", "rank": r"3:/^(\d+) \d+$/"}
        ),
    )
    yield ("session", case({name: joined([["user", "query", "session"], ["a", "tea", "s1"], ["a", "tea", ""], ["a", "tea", "-"], ["b", "x", " "]], mark)}))
    yield ("most rows rejected", case({name: joined([HEADER, TABLE[0], ["", "", "", "", ""], *[["x"]] * 4], mark)}, max_rejected=0.5))
    yield "none left", case({name: joined([HEADER, ["x"]], mark)})
    yield "empty", case({name: b""})
    yield "blank", case({name: b"\n \n\n"})
    yield ("sample of users", case({name: joined([["user", "query"], *([f"u{n}", f"q{n}"] for n in range(40))], mark)}, sample_users=0.3))
    yield "other delimiter said", case({name: joined([HEADER, *TABLE], "|")}, delimiter="|")
    for number, other in enumerate(("\t", ";", "|", ",")):
        yield f"delimiter {number} found", case({"log": joined(TABLE[:3], other)}, **by_number)
        yield f"delimiter {number} with a header", case({name: joined([HEADER, *TABLE], other)})
    yield "two delimiters", case({"log": b"1;a,x;private\n2;c,y;private\n"}, columns={"user": 1, "query": 2})
    yield "one odd line first", case({"log": b"a,b,c\n" + b"u;2006-03-01;tea\n" * 30}, **by_number)


def csv() -> NAMED:
    base = joined([HEADER, *TABLE, ["q", "2006-03-02", '"tea, ""green"""', '"http://x"', "3"]], ",")
    yield from shapes(base, "log.csv")
    clean = [row for row in combinations(400, "csv") if not any("," in value for value in row)]
    yield "combinations", case({"log.csv": joined(clean, ",")}, format="csv", **NUMBERED)
    quoted = [[f'"{value}"' for value in row] for row in combinations(60, "quoted")]
    yield "combinations in quotes", case({"log.csv": joined(quoted, ",")}, format="csv", **NUMBERED)
    yield from odd_tables("csv", ",")
    odd = [
        *('"a",2006-03-01 10:11:12,"b,c",1,d', '"a","2006-03-01 10:11:12","b","",1', 'a,2006-03-01 10:11:12,"b ""c""",d,1'),
        *('a,2006-03-01 10:11:12,b"c,d,1', 'a,2006-03-01 10:11:12,"b"c,d,1', 'a,2006-03-01 10:11:12,"b,d,1'),
        *('a,2006-03-01 10:11:12,"b\rc",d,1', "a,2006-03-01 10:11:12,b\rc,d,1", '"a","2006-03-01 10:11:12","b","c",'),
        *('a,2006-03-01 10:11:12,"', 'a,2006-03-01 10:11:12,"""",x,1', 'a,2006-03-01 10:11:12,"""tea",x,1', '"a'),
        *('a,2006-03-01 10:11:12, "tea",x,1', 'a,2006-03-01 10:11:12,"tea" ,x,1', "a,2006-03-01 10:11:12,'tea',x,1"),
        *('a,2006-03-01 10:11:12,"x\\"y",u,1', 'a,2006-03-01 10:11:12,"""",,1', 'a,2006-03-01 10:11:12,"a""b ""c"" d",,1'),
        *('"""a""",2006-03-01 10:11:12,t,,', '"",2006-03-01 10:11:12,t,,', '" ",2006-03-01 10:11:12,t,,', '"a"",x'),
        *('u1,"2006-03-01 10:11:12",5" disk,x,1', 'u2,2006-03-01 10:11:12,"never closed,x,1', ",,,,", '"","","","",""'),
    ]
    good = ",".join(GOOD)
    for number, line in enumerate(odd):
        yield f"quotes {number}", case({"log.csv": text([good, line, good])}, **NUMBERED)
    yield "all quotes", case({"log.csv": text([good, *odd, good])}, **NUMBERED)
    yield "all quotes, CRLF", case({"log.csv": text([good, *odd, good], b"\r\n")}, **NUMBERED)
    yield ("quotes and semicolons", case({"log.csv": text([line.replace(",", ";") for line in [good, *odd, good]])}, delimiter=";", **NUMBERED))
    yield ("a quote over two lines", case({"log.csv": b'user,query\n"u1","q1"\nu2,"open\nu3,closed"\n"u4","q4"\n'}))
    yield "one CRLF among quotes", case({"log.csv": b'user,query\nann,"tea"\r\nbob,"m,ug"\ncid,"c""up"\n'})
    yield from random_cases(b"ann,tea", [base, text(odd)], "csv", "log", columns={"user": 1, "query": 2})


AOL = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL"


def aol() -> NAMED:
    rows = [AOL, "1\trare orchids\t2006-03-01 12:00:00\t2\thttp://a.example", "1\ttea\t2006-03-01 12:00:00", "2\t-\t2006-03-01 12:00:00\t\t", "3\tmug\t2006-03-02 01:02:03\t\t"]
    base = text(rows)
    yield from shapes(base, "user-ct-test.txt")
    made = ["\t".join((row[0], row[2], row[1], row[4], row[3])) for row in combinations(300, "aol")]
    yield "combinations", case({"log.txt": text([AOL, *made])})
    odd = [f"1\tq\t2006-03-01 12:00:00{more}" for more in ("", "\t", "\t\t", "\t4", "\t4\t", "\t\thttp://a", "\t4\thttp://a", "\t4\thttp://a\tx", "\t4\thttp://a\t")]
    yield "numbers of fields", case({"log.txt": text([AOL, *odd])})
    yield "without a header", case({"log.txt": text(rows[1:])}, format="aol")
    yield "a header twice", case({"log.txt": text([*rows, *rows])})
    yield "other columns", case({"log.txt": base}, columns={"user": 1, "query": 2})
    yield ("several files", case({"logs/user-ct-01.txt": base, "logs/user-ct-02.txt.gz": gzip.compress(base, mtime=0)}, "logs"))
    yield from random_cases(b"1\ttea\t2006-03-01 07:17:12\t\t", [base, text(odd)], "aol", "log")


def sogou() -> NAMED:
    old = (SOURCES / "access_log.20080601.decode.filter").read_bytes()
    new = (SOURCES / "sogou-2012.txt").read_bytes()
    yield "corpus of 2008", case({"access_log.20080601.decode.filter": old})
    yield "corpus of 2008 without a date", case({"log": old}, format="sogou")
    yield from shapes(new, "sogou-2012.txt", format="sogou")
    made = [f"{row[1]}\t{row[0]}\t{row[2]}\t{row[4]} {row[4]}\t{row[3]}" for row in combinations(200, "sogou")]
    yield ("combinations", case({"access_log.20080601.txt": text([new.splitlines()[0], *made])}, format="sogou"))
    odd = [
        "00:00:00\t17\t[tea]\t8 3\ta.cn",
        "24:00:00\t17\t[tea]\t8 3\ta.cn",
        "00:00:00\t17\ttea\t8 3\ta.cn",
        "00:00:00\t17\t[[tea]]\t8 3\ta.cn",
        "00:00:00\t17\t[]\t8 3\ta.cn",
        "00:00:00\t17\t[tea\t8 3\ta.cn",
        "00:00:00\t17\t[tea]\t8\t3\ta.cn",
        "00:00:00\t17\t[tea]\t8  3\ta.cn",
        "00:00:00\t\t[tea]\t8 3\t",
        "00:00:00\t17\t[tea]\tx y\ta.cn",
        "0:0:0\t17\t[tea]\t1 1\ta.cn",
        "00:00:00\t17\t[te]a]\t1 1\t ",
    ]
    for name in ("access_log.20080601", "access_log.20081301", "SogouQ.reduced"):
        yield f"odd rows, {name}", case({name: text([odd[0], *odd])}, format="sogou")
    yield from random_cases(b"00:00:00\t17\t[tea]\t8 3\texample.cn", [new, text(odd)], "sogou", "log")


# -- JSON ----------------------------------------------------------------------------------------------------

JSONL = [
    {"user": "17", "time": "2006-03-01 12:00:00", "query": "rare orchids", "url": "http://a.example", "rank": 2},
    {"user": 18, "time": 1141214400, "query": "orchid shop", "session": "s1"},
    {"user": "ann", "time": "2006-03-01T12:00:00Z", "query": "crème brûlée", "rank": None},
    {"user": "bob", "time": "1141214400123", "query": ""},
    {"user": "eve", "time": "2006-03-01", "query": "tea", "url": "", "rank": "3"},
]
BROKEN = [
    *("", " ", "{", "{}", "[]", "null", '{"user":"a"}', '{"user":"a","query":"b","time":1141207872,}', "text"),
    *('{"user":"a","query":"b","time":1141207872} ', ' {"user":"a","query":"b","time":1141207872}', "[1, 2]"),
    *('{"user":"a","query":"b","time":1141207872}}', '{"user":"a","query":"b","time":01141207872}'),
    *('{"user":"a","query":"b","time":1141207872.}', '{"user":"a","query":"b","time":+1141207872}'),
    *('{"user":"a","query":"b","time":1141207872.5}', '{"user":"a","query":"b","time":1141207872,"rank":1e2}'),
    *('{"user":"a","query":"b","time":1141207872,"rank":-0}', '{"user":"a","user":"c","query":"b","time":1141207872}'),
    *('{"user":"a","user_id":"c","query":"b","q":7,"time":1141207872}', '{"user":{"id":1},"query":"q","time":1141207872}'),
    *('{"user":null,"user_id":"c","query":null,"q":"x","time":1141207872}', '{"user":true,"query":"q","time":1141207872}'),
    *('{"user":NaN,"query":"q","time":1141207872}', '{"user":"NaN","query":null,"time":1141214400}', '{"user":1.5,"query":"q","time":1}'),
    *('{"user":"a","query":"b","time":1141207872,"more":[1,2,]}', '{"user":"a","query":["b"],"time":1141207872}'),
    *('{"user":"a","query":"b","time":1141207872,"more":[{"user":"z"},[[]]],"x":{"query":{}}}', '{"USER":"a","Query":"b","TIME":1141207872}'),
    '{"user":"a","query":"b","time":1141207872,"more":' + "[" * 20 + "]" * 20 + "}",
    '{"user":"a","query":"b","time":1141207872,"more":' + "[" * 2000 + "]" * 2000 + "}",
    *('{"user":"a","query":"b","time":1141207872,"more":tru}', '{"user":"a","query":"b" "time":1141207872}'),
    *('{"user" :\t"a" , "query": "b","time":1141207872\t}', "{'user':'a'}", '{"user":"a","query":"tab\tinside","time":1141207872}'),
    *('{"user":"a","query":"b","time":1141207872} {"user":"a"}', '{"\\u0075ser":"a","query":"b","time":1141207872}'),
    *('{"user":"a","query":"\\ud800","time":1141207872}', '{"":1,"user":"a","query":"b","time":1141207872}'),
    *(
        f'{{"user":"a","query":"b {one} c","time":1141207872}}'
        for one in (
            "\\/",
            '\\"',
            "\\\\",
            "\\n",
            "\\t",
            "\\b",
            "\\x",
            "\\u0000",
            "\\u001f",
            "\\u0041",
            "\\u00e4",
            "\\u20AC",
            "\\u3000",
            "\\ud83d\\ude00",
            "\\ude00\\ud83d",
            "\\ud83dx",
            "\\u12G4",
            "\\u12",
            "\\U0041",
        )
    ),
    '{"user":"\\u00e4","query":"a","time":"2006-03-01\\u002010:11:12","rank":"\\u0033","url":"http:\\/\\/a"}',
    *('{"user":1e400,"query":"q","time":1}', '{"user":12345678901234567890123,"query":"q","time":1141207872}', '{"user":-0,"query":"q","time":1141207872}'),
    *('{"user":1.0,"query":17,"time":1141207872}', '{"user":"a","query":false,"time":1141207872}', '{"user":"a","query":{},"time":1141207872}'),
    *('\ufeff{"user":"a","query":"b","time":1141207872}', '{"user":"a","query":"b","time":1141207872,"url":7,"session":8.5}', '{"user":"a","query":"b","time":null}'),
    *('{"user":"a","query":"b","time":true}', '{"user":"a","query":"b","time":{"$date":1141207872}}', '{"user":"a","query":"b","time":1141207872,"rank":[]}'),
]


def dumped(rows: Iterable[Any], **how: Any) -> list[str]:
    return [json.dumps(row, **how) for row in rows]


def jsonl() -> NAMED:
    base = text(dumped(JSONL, ensure_ascii=False))
    yield from shapes(base, "log.jsonl")
    good = json.dumps(JSONL[0])
    for number, line in enumerate(BROKEN):
        yield f"line {number}", case({"log.jsonl": text([good, line, good])}, format="jsonl")
    yield "all lines", case({"log.jsonl": text([good, *BROKEN, good])})
    yield "all lines, CRLF", case({"log.jsonl": text([good, *BROKEN, good], b"\r\n")})
    rng = random.Random("jsonl")
    odd: list[Any] = ["ann", 17, 1.5, True, False, None, {}, [1], "true", "{", "NULL", "\u3000", 10**20, -1, 0, "", 1e400, "\x00", 'a"b\\']
    rows = []
    for _ in range(500):
        values = {"user": [*odd, *USERS], "time": [*odd, *TIMES], "query": [*odd, *QUERIES], "rank": [*odd, *RANKS], "url": [*odd, *URLS], "session": odd, "user_id": odd}
        keep = {"user": 0.95, "time": 0.95, "query": 0.95, "user_id": 0.1, "session": 0.3}
        rows.append({key: rng.choice(many) for key, many in values.items() if rng.random() < keep.get(key, 0.5)})
    yield "combinations", case({"log.jsonl": text([good, *dumped(rows), good])})
    yield ("combinations, compact", case({"log.jsonl": text([good, *dumped(rows[:200], separators=(",", ":"), ensure_ascii=False), good])}))
    nested = [
        '{"a":{"b":"ann"},"c":"tea","t":1141207872,"l":["x","y"]}',
        '{"a.b":"bob","c":"tea","t":1141207872,"l":{"0":"z","1":"w"}}',
        '{"a":{"b":{"c":1}},"c":"tea","t":1141207872}',
        '{"a":{"x":1},"a.b":"cleo","c":"tea","t":1141207872,"l.0":"v","l.1":"u"}',
        '{"a":{"b":"dan"},"a":{"b":"eve"},"c":"tea","t":1141207872}',
        '{"A":{"B":"fay"},"c":"tea"}',
    ]
    for number, columns in enumerate(
        (
            {"user": "a.b", "query": "c", "time": "t"},
            {"user": "l.0", "query": "l.1"},
            {"user": "a", "query": "c"},
            {"user": "a.b", "query": "typo"},
            {"user": "a.b", "query": "c", "url": "typo"},
            {"user": 1, "query": 2},
        )
    ):
        yield f"paths {number}", case({"log.jsonl": text(nested)}, columns=columns)
    for number, names in enumerate(
        (["userID", "when", "tag"], ["User_Id", "Created-At", "search_term"], ["visitor_id", "event_time", "searchQuery"], ["client_id", "timestamp", "q"], ["who", "at", "typed"])
    ):
        yield (f"usual keys {number}", case({"log.jsonl": text(dumped([dict(zip(names, ("ann", "2006-03-01", "tea"), strict=True))] * 2))}))
    for number, rows in enumerate(([{"user": "x", "query": "y"}], [{"USER_ID": "x", "Query": "y", "Time": 0}], [{"user": {"id": "x"}, "query": {"text": "q"}}], [{"rank": -1, "session": ""}])):
        others = dumped({"user_id": f"u{n}", "time": f"2026-01-01T12:00:0{n}", "query": "flu", "click_url": f"u/{n}"} for n in range(8))
        yield f"odd row first {number}", case({"log.jsonl": text([*dumped(rows), *others])})
        yield f"odd row last {number}", case({"log.jsonl": text([*others, *dumped(rows)])})
    yield "null words", case({"log.jsonl": base}, null=["tea", "bob"])
    yield "where", case({"log.jsonl": base}, where=["query!=tea"])
    yield (
        "time format",
        case(
            {"log.jsonl": text(['{"user":"a","query":"b","time":"060301101112"}', '{"user":"a","query":"b","time":60301101112}', '{"user":"a","query":"b","time":1141214400}'])},
            time_format="%y%m%d%H%M%S",
        ),
    )
    yield "an array", case({"log.json": json.dumps(JSONL).encode()})
    yield "an array over lines", case({"log.json": json.dumps(JSONL, indent=1).encode()})
    yield ("an array over lines, said", case({"log.json": json.dumps(JSONL, indent=1).encode()}, format="jsonl"))
    yield "a pretty document", case({"log.json": json.dumps(JSONL[0], indent=1).encode()})
    long = {"line": "x", "count": 1024 * 1024 + 1}
    yield ("long text", case({"log.jsonl": [good + '\n{"user":"a","time":1141207872,"query":"', long, '"}\n' + good + "\n"]}))
    yield ("long other value", case({"log.jsonl": [good + '\n{"user":"a","time":1141207872,"query":"b","x":"', long, '"}\n' + good + "\n"]}))
    yield "delimiter", case({"log.jsonl": base}, delimiter=";")
    yield from random_cases(b'{"user": "ann", "query": "tea"}', [base, text(BROKEN[:40])], "jsonl", "log", columns={"user": "user", "query": "query"})
    yield from (("usual " + name, one) for name, one in random_cases(good.encode(), [base], "jsonl", "log", 12, 0))


def ubi_query(**more: Any) -> dict[str, Any]:
    return {"query_id": "q", "client_id": "c", "user_query": "x", "timestamp": "2024-12-10T09:00:00Z"} | more


def ubi_click(**more: Any) -> dict[str, Any]:
    attributes = {"object": {"object_id": "A"}, "position": {"ordinal": 1}}
    return {"action_name": "click", "query_id": "q", "client_id": "c", "timestamp": "2024-12-10T09:00:05Z", "event_attributes": attributes} | more


def ubi() -> NAMED:
    shapes_of = ["ubi-bulk.ndjson", "ubi-lines.jsonl", "ubi-source-lines.json", "ubi-search.json", "ubi-scroll.ndjson", "ubi-array.json", "ubi-tabs.txt", "ubi.zip"]
    for name in shapes_of:
        yield f"corpus {name}", case({name: (SOURCES / name).read_bytes()})
    two = {f"ubi-two/{file.name}": file.read_bytes() for file in sorted((SOURCES / "ubi-two").iterdir())}
    yield "corpus of two files", case(two, "ubi-two")
    lines = (SOURCES / "ubi-lines.jsonl").read_bytes()
    yield from shapes(lines, "ubi.ndjson", format="ubi")
    bulk = (SOURCES / "ubi-bulk.ndjson").read_bytes()
    yield from ((f"bulk, {name}", one) for name, one in itertools.islice(shapes(bulk, "ubi.ndjson"), 2, 9))
    array = (SOURCES / "ubi-array.json").read_bytes()
    for cut in (1, 2, 50, 200):
        yield f"array cut by {cut}", case({"ubi.json": array[:-cut]}, format="ubi")
    yield "array with a bad byte", case({"ubi.json": array.replace(b"garden hose", b"gard\xffn hose", 1)})
    yield "array with a NUL", case({"ubi.json": array.replace(b"garden hose", b"gard\0n hose", 1)})
    yield "array, CRLF", case({"ubi.json": array.replace(b"\n", b"\r\n")})
    yield "array, compact", case({"ubi.json": json.dumps(json.loads(array)).encode()})
    yield "array with a wrong comma", case({"ubi.json": array.replace(b"},", b"},,", 1)}, format="ubi")
    documents: dict[str, list[Any]] = {
        "users": [ubi_query(user_id=one) for one in (None, "", " ", "NULL", "u", 17, True, ["a"])],
        "clicks of a named user": [ubi_query(), ubi_click(user_id="u"), ubi_click(user_id="u", query_id="other")],
        "click of another client": [ubi_query(user_query="private"), ubi_click(client_id="d", user_query="own")],
        "click of no one": [ubi_query(), ubi_click(client_id=None), ubi_click(client_id=None, query_id="other")],
        "query id of two users": [ubi_query(), ubi_query(client_id="d", timestamp="2024-12-10T09:00:03Z"), ubi_click(client_id=None)],
        "two users of one client": [ubi_query(user_id="u", user_query="own"), ubi_query(user_id="v", user_query="hers", timestamp="2024-12-10T09:00:03Z"), ubi_click(user_id="u")],
        "click before its search": [ubi_query(), ubi_click(timestamp="2024-12-10T08:59:59Z", user_query="own")],
        "click at the time of its search": [ubi_query(), ubi_click(timestamp="2024-12-10T09:00:00Z")],
        "repeated searches": [*[ubi_query()] * 5, ubi_click(), ubi_click()],
        "searches with one id": [ubi_query(user_query=str(n), timestamp=f"2024-12-10T09:00:0{n}Z") for n in range(5)] + [ubi_click(timestamp=f"2024-12-10T09:00:0{n}Z") for n in range(7)],
        "every reason": [
            ubi_query(),
            ubi_query(client_id=None),
            ubi_query(timestamp="yesterday"),
            ubi_query(user_query={"match": "x"}),
            {"something": "else"},
            ubi_click(event_attributes=None),
            ubi_click(event_attributes={"object": {"object_id": "A"}, "position": {"ordinal": -1}}),
            ubi_query(),
            [],
            7,
            "x",
            None,
        ],
        "actions": [ubi_query(), *(ubi_click(action_name=one) for one in ("click", "CLICK", "click_through", "impression", "view", "add_to_cart", "", None, 5, "open"))],
        "objects": [
            ubi_query(),
            *(ubi_click(event_attributes={"object": one}) for one in ({"object_id": ""}, {"object_id": 5}, {"internal_id": "i"}, {"object_id": None, "internal_id": "i"}, {}, None, 3, [])),
        ],
        "positions": [
            ubi_query(),
            *(
                ubi_click(event_attributes={"object": {"object_id": "A"}, "position": one})
                for one in ({"ordinal": 3}, {"ordinal": {"index": 2}}, {"ordinal": {}}, {"ordinal": "4"}, {"ordinal": 0}, {"ordinal": 1.5}, {"ordinal": 10**12}, {}, None, 3)
            ),
        ],
        "times": [ubi_query(timestamp=one) for one in ("2024-12-10T09:00:00Z", 1733821200, 1733821200000, "1733821200000", 1733821200.5, "", None, "x", "2024-12-10T09:00:00.250+0100", {})],
        "sessions": [ubi_query(session_id=one) for one in ("s", "", None, 5, "-", [])],
        "wrapped": [
            {"_source": ubi_query(), "_id": "1"},
            {"_source": ubi_click(), "_id": "2"},
            {"_source": None},
            {"_source": {"x": 1}},
            {"hits": {"hits": [{"_source": ubi_query(user_query="in hits")}]}},
        ],
        "null words": [ubi_query(client_id="NULL"), ubi_query(user_query="NULL"), ubi_query(user_query="-"), ubi_query(user_query=None), ubi_query(user_query=5)],
    }
    for name, rows in documents.items():
        yield name, case({"ubi.ndjson": text(dumped(rows))}, format="ubi")
        if name != "every reason":
            yield (f"{name}, in an array", case({"ubi.json": json.dumps(rows, indent=1).encode()}, format="ubi"))
    yield ("actions named", case({"ubi.ndjson": text(dumped(documents["actions"]))}, click_actions=["open", "view"]))
    yield "columns named", case({"ubi.ndjson": lines}, columns={"user": "client_id", "query": "user_query"})
    action = [
        '{"index":{}}',
        json.dumps(ubi_query()),
        '{"create": {"_id": 1}}',
        json.dumps(ubi_click()),
        '{"delete":{"_id":"1"}}',
        '{"update":{}}',
        '{"doc":{}}',
        '{"index":{"x":1},"user_query":"a"}',
        '{"index":{}}',
    ]
    yield "bulk actions", case({"ubi.ndjson": text(action)}, format="ubi")
    rng = random.Random("ubi")
    made: list[Any] = []
    for number in range(400):
        client, query = rng.choice(("a", "b", "c", None)), rng.choice(("q", "r", "s", None))
        at = 1733821200000 + 1000 * rng.randrange(6)
        user = rng.choice((None, None, "", "u"))
        made.append(
            ubi_query(client_id=client, user_id=user, query_id=query, timestamp=at, user_query=f"tea {number}")
            if rng.random() < 0.5
            else ubi_click(client_id=client, user_id=user, query_id=query, timestamp=at, user_query=rng.choice(("own", None)), event_attributes={"object": {"object_id": number}})
        )
    for number in range(8):
        yield (f"clicks and searches {number}", case({"ubi.ndjson": text(dumped(made[50 * number : 50 * number + 50]))}, format="ubi"))
    first = dumped([ubi_query(query_id="first")])[0].encode()
    yield from random_cases(first, [lines, bulk, text(dumped(documents["every reason"]))], "ubi", "log")
    rng = random.Random("ubi arrays")
    for number in range(10):
        yield (f"mutated array {number}", case({"log.json": mutate([array, (SOURCES / "ubi-search.json").read_bytes(), (SOURCES / "ubi-scroll.ndjson").read_bytes()], rng)}, format="ubi"))


def algolia() -> NAMED:
    logs, events = (SOURCES / f"algolia-{one}.json" for one in ("logs", "events"))
    yield "corpus of logs", case({"logs.json": logs.read_bytes()})
    yield "corpus of events", case({"events.json": events.read_bytes()})
    yield ("corpus of both", case({"a.json": logs.read_bytes(), "b.json": events.read_bytes()}, ["a.json", "b.json"]))
    lines = text(dumped(json.loads(events.read_bytes())["events"]))
    yield from shapes(lines, "events.jsonl", format="algolia")
    event = {"eventType": "click", "userToken": "ann", "timestamp": 1709287872000, "objectIDs": ["A7", 7], "positions": [1, 2], "queryID": "q1"}
    variants: dict[str, list[Any]] = {
        "types": [event | {"eventType": one} for one in ("click", "conversion", "view", "impression", "", None, 5, "cä", "Click")],
        "users": [event | {"userToken": one} for one in ("ann", "", " ", None, "NULL", 5, ["a"], "ä", 'a"b')] + [event | {"authenticatedUserToken": one} for one in ("bob", "", None, 7)],
        "times": [event | {"timestamp": one} for one in (1709287872000, "2024-03-01T10:11:12Z", 1709287873, 1.5, None, "x", 17092878720000000)],
        "objects": [event | {"objectIDs": one} for one in ([], ["A"], ["A", ""], [" "], [5, 10**20, -1, 1.5], [None], [True], [["x"]], [{}], None, "A7", 5, {})],
        "positions": [event | {"positions": one} for one in ([], [1], [1, 2, 3], ["4"], [None, 1], [1.0], [-1], [10**9], [10**16], None, "1", 5, {})],
        "query ids": [event | {"queryID": one} for one in ("q1", "q2", "", None, 7)],
    }
    for name, rows in variants.items():
        yield name, case({"events.jsonl": text(dumped(rows))}, format="algolia")
        yield (f"{name}, in a document", case({"events.json": json.dumps({"events": rows}, indent=1).encode()}, format="algolia"))
    search = {"timestamp": "2024-12-10T09:00:00Z", "query_params": "query=tea&userToken=ann", "inner_queries": [{"query_id": "q1", "user_token": "ann"}]}
    searches = [
        search,
        *(search | {"query_params": one} for one in ("query=x", "", None, "query=%C3%A4+b", "query=%ff", "q=1", "query=&userToken=eve", 5)),
        *(search | {"inner_queries": one} for one in ([], None, [{"user_token": "bob"}], [{"query_id": "q2"}], [{"query_id": "q1", "user_token": ""}], 5)),
    ]
    yield "searches", case({"logs.json": text(dumped(searches))}, format="algolia")
    yield ("searches and events", case({"logs.json": text(dumped([*searches, *itertools.chain(*variants.values())]))}, format="algolia"))
    for number, actions in enumerate((["click"], ["view"], ["impression", "conversion"])):
        yield (f"actions {number}", case({"events.jsonl": text(dumped(variants["types"]))}, format="algolia", click_actions=actions))
    broken = [
        '{"eventType":"click","eventType":"view"}',
        '{"eventType":"click","objectIDs":["a",]}',
        '{"eventType":"click","userToken":"ann","timestamp":1709287872000,"objectIDs":["a\\/b", "\\u0041" ],"positions":[ 1 ,2]}',
        '{"eventType":"click","userToken":"ann","timestamp":1709287872000,"objectIDs":["\\n"]}',
        "{}",
        "[]",
        "{",
        "5",
    ]
    for number, line in enumerate(broken):
        yield (f"line {number}", case({"events.jsonl": text([*dumped([event]), line, *dumped([event])])}, format="algolia"))
    yield from random_cases(dumped([event])[0].encode(), [lines, text(dumped(searches))], "algolia", "log")


def access_log() -> NAMED:
    for name in ("access-combined.log", "access-common.log", "access-vhost.log", "access-nginx.json"):
        yield f"corpus {name}", case({name: (SOURCES / name).read_bytes()}, **Q)
    base = (SOURCES / "access-combined.log").read_bytes()
    yield from shapes(base, "access.log", format="access-log", **Q)
    yield from (("nginx, " + name, one) for name, one in itertools.islice(shapes((SOURCES / "access-nginx.json").read_bytes(), "access.json", **Q), 1, 9))
    yield "no parameter", case({"access.log": base})
    for user in ("ip-and-agent", "ip", "remote-user", "nothing"):
        yield f"user {user}", case({"access.log": base}, user_field=user, **Q)
    yield "two parameters", case({"access.log": base}, query_parameter=["page", "q"])
    yield ("query in the path", case({"access.log": base.replace(b"/search?q=", b"/search/")}, query_path="/search/{query}"))
    yield ("nginx, user of a key", case({"access.json": (SOURCES / "access-nginx.json").read_bytes()}, user_field="remote_user", **Q))
    addresses = ["192.0.2.7", "2001:db8::1", "host:80 192.0.2.8", "host:80", "-", "", "a b", "NULL"]
    stamps = [
        "04/Mar/2006:15:39:22 +0000",
        "29/Feb/2004:23:59:59 +0130",
        "29/Feb/2006:00:00:00 +0000",
        "04/mar/2006:15:39:22 +0000",
        "4/Mar/2006:15:39:22 +0000",
        "04/Mar/2006:24:39:22 +0000",
        "31/Dec/9999:23:59:59 -0100",
        "01/Jan/1000:00:00:00 +0100",
        "04/Mar/2006:15:39:22 +9900",
        "1141207872",
        "04/Mar/2006:15:39:22 -0800",
        "04/Mar/2006:15:39:22",
        "2006-03-04T15:39:22Z",
        "",
        "04/Mar/2006:15:39:60 +0000",
        "31/Dec/2000:23:59:59 -1400",
    ]
    queries = [
        "tea",
        "a+b%20c&x=1",
        "%C3%A4",
        "%E3%83%84",
        "%f0%9f%98%80",
        "%E0%A4%B9",
        "%ED%A0%80",
        "%F0%8F%80%80",
        "%F4%90%80%80",
        "%C1%81",
        "%E4%B8",
        "",
        "%",
        "%4",
        "%zz",
        "%00",
        "%0A",
        "%ff",
        "%C3a",
        "a b",
        "\\xE4",
        "\\xC3\\xA4",
        '\\"x',
        "%2B+",
        "ä",
        "+",
        "a#b",
        "a&q=b",
        "%26",
    ]
    targets = [f"/search?q={one}" for one in queries] + ["/?q", "/?qq=1", "/?xq=1", "/a&q=1", "/", "http://a.example/?q=z", "*", "/search?x=1&q=late", "/?Q=tea", "/?q=1;q=2"]
    requests = ["GET {} HTTP/1.1", "POST {}", "HEAD {} HTTP/1.0", "get {} HTTP/1.1", "GET {} HTTP/", "{}", "GET {} HTTP/1.1x"]
    statuses = ["200", "304", "301", "404", "500", "-", "20", "2000"]
    rests = ['5 "-" "Mozilla/5.0"', "5", '- "-" "-"', '5 "r" ""', '5 "-"', '5 "a\\"b" "c"', '5 "-" "M" 0.1', "", '5  "-" "M"', '5 "-" "M']
    good = ["192.0.2.7", "ann", stamps[0], "GET {} HTTP/1.1", "/?q=tea", "200", '5 "-" "M"']
    choices = [addresses, ["-", "ann", "a b", ""], stamps, requests, targets, statuses, rests]
    rng = random.Random("access")
    rows = [[value if at == place else usual for at, usual in enumerate(good)] for place, values in enumerate(choices) for value in values]
    rows += [[rng.choice(one) for one in choices] for _ in range(300)]
    rows += [[rng.choice(one) if rng.random() < 0.2 else usual for usual, one in zip(good, choices, strict=True)] for _ in range(300)]
    lines = [f'{ip} - {name} [{stamp}] "{request.format(target)}" {status} {rest}' for ip, name, stamp, request, target, status, rest in [good, *rows, good]]
    for user in ("ip-and-agent", "ip", "remote-user"):
        yield (f"combinations, {user}", case({"access.log": text([*lines, "x", "{}", '192.0.2.1 - - ["', '192.0.2.1 - - [] "" 200 5'])}, format="access-log", user_field=user, **Q))
    yield from random_cases(lines[0].encode(), [base, text(lines[:60])], "access-log", "log", **Q)


def solr() -> NAMED:
    base = (SOURCES / "solr.log").read_bytes()
    yield "corpus", case({"solr.log": base})
    yield from shapes(base, "solr.log", format="solr", user_field="uid")
    yield "no user", case({"solr.log": base.replace(b"uid=", b"n=")})
    yield "another user", case({"solr.log": base.replace(b"uid=", b"n=")}, user_field="n")
    yield ("another parameter", case({"solr.log": base.replace(b"q=", b"qq=")}, query_parameter=["qq"], user_field="uid"))
    starts = [
        "2024-12-10 09:00:00.123 INFO  x",
        "2024-12-10 09:00:00 INFO x",
        "2024-12-10T09:00:00.123Z INFO x",
        "INFO  - 2024-12-10 09:00:00.123; x",
        "2024-13-10 09:00:00.123 INFO x",
        "",
        "x",
        "2024-12-10 09:00:00.123 WARN x",
    ]
    paths = ["path=/select", "path=/query", "path=/update", "path=/admin/ping", "", "webapp=/solr path=/select"]
    params = [
        "q=tea&uid=17",
        "q=tea+%C3%A4&rows=10&uid=17",
        "q=*:*&uid=17",
        "q=&uid=17",
        "uid=17",
        "q=tea",
        "q=tea&uid=",
        "q=tea&isShard=true&uid=17",
        "q=%ff&uid=17",
        "q=a%26b&uid=17",
        "q=a}b&uid=17",
        "q=a&q=b&uid=17",
        "q=tea&uid=17&uid=18",
        "uid=17&q={!edismax qf=a}tea",
        "q=tea&uid=NULL",
        "q=te%20a&uid=%20",
        "Q=tea&uid=17",
        "q=%7B&uid=17",
        "q=a=b&uid=17",
        "q=%",
        "q=tea&distrib=false&uid=17",
    ]
    ends = ["} hits=1 status=0 QTime=1", "}", "", "} hits=1 status=400", "} hits={1}", "}}", "} status=0"]
    good = (starts[0], paths[0], params[0], ends[0])
    rng = random.Random("solr")
    rows = [tuple(value if at == place else usual for at, usual in enumerate(good)) for place, values in enumerate((starts, paths, params, ends)) for value in values]
    rows += [(rng.choice(starts), rng.choice(paths), rng.choice(params), rng.choice(ends)) for _ in range(300)]
    lines = [f"{start} {path} params={{{param}{end}" for start, path, param, end in rows]
    yield "combinations", case({"solr.log": text(lines)}, format="solr", user_field="uid")
    yield ("combinations, two parameters", case({"solr.log": text(lines)}, format="solr", user_field="uid", query_parameter=["qq", "q"]))
    yield from random_cases(b"2024-12-10 09:00:00.123 INFO x path=/select params={q=tea&uid=17} hits=1", [base, text(lines[:30])], "solr", "log", user_field="uid")


def slow_log() -> NAMED:
    plain = (SOURCES / "slow-plain.log").read_bytes()
    for name in ("slow-plain.log", "slow-elasticsearch.json", "slow-opensearch.json"):
        yield f"corpus {name}", case({name: (SOURCES / name).read_bytes()})
    yield from shapes(plain, "slow.log", format="slow-log")
    yield from (("elasticsearch, " + name, one) for name, one in itertools.islice(shapes((SOURCES / "slow-elasticsearch.json").read_bytes(), "slow.json"), 1, 9))
    yield "no user", case({"slow.log": plain.replace(b"visitor-17", b"").replace(b"visitor-18", b"")})
    heads = [
        "[2024-03-01T10:11:12,123][WARN ][index.search.slowlog.query]",
        "[2024-03-01T10:11:12,123][INFO][i.slowlog.fetch]",
        "[2024-03-01T10:11:12,123][TRACE][slowlog.query]",
        "[2024-03-01T10:11:12,123][WARN][slowlog.query.x]",
        "[2024-03-01T10:11:12.123Z][WARN ][slowlog.query]",
        "[2024-03-01 10:11:12,123][WARN ][x.slowlog.query]",
        "[2024-13-01T10:11:12,123][WARN ][slowlog.query]",
        "[2024-03-01T10:11:12,123][W][slowlog.query]",
        "",
        "x",
        "[2024-03-01T10:11:12,123][WARN ][a.fetch.slowlog.query]",
        "[2024-03-01T10:11:12,123][WARN ][slowlog.querys]",
        "[2024-03-01T10:11:12,123 ][WARN ][slowlog.query]",
        "[2024-03-01x10:11:12,123][WARN ][slowlog.query]",
    ]
    sources = [
        *('{"query":{"match":{"title":{"query":"tea"}}},"size":10}', '{"query":{"bool":{"must":[{"multi_match":{"query":"\\"green\\" tea","fields":["a","b"]}}],"filter":[]}}}'),
        *('{"query":{"match_all":{}}}', '{"query":{"bool":{"should":[{"match":{"a":"x"}},{"match":{"b":"y"}}]}}}', "", "{", "{}", "[]", "{}}", '{"a":}', '{"query":{"match":{"a":"b"}},"query":5}'),
        *('{"a":01}', '{"a":NaN}', '{"query":5,"query":{"match":{"a":"b"}}}', '{"a":{"match":"x"},"b":{"a":{"match":"y"}}}', '{"match":{"query":"a","query":"b"}}', '{"m\\u0061tch":"a"}'),
        *(
            '{"match":"a\\u0041b\\u000a"}',
            '{"match":"\\ud83d\\ude00"}',
            '{"match":"\\ud800"}',
            '{"match":"\\x"}',
            '{"a":' + "[" * 17 + '{"match":"deep"}' + "]" * 17 + "}",
            '{"query":{"term":{"a":"tea"}}}',
        ),
        *(
            '{"query":{"query_string":{"query":"tea AND mug"}}}',
            '{"query":{"simple_query_string":{"query":"tea"}}}',
            '{"query":{"match_phrase":{"a":"green tea"}}}',
            '{"query":{"neural":{"v":{"query_text":"tea","k":5}}}}',
        ),
        *(
            '{"query":{"match":{"a":7}}}',
            '{"query":{"match":{"a":""}}}',
            '{"query":{"match":{"a":true}}}',
            '{"query":{"match":{"a":"], id[z]"}}}',
            '{"query":{"match":{"a":"source["}}}',
            '{"match":"a"} ',
            '{"query":{"knn":{"v":[1,2]}}}',
        ),
        "{" + f'"a":{"9" * 500}' + ',"match":"a"}',
    ]
    ends = ["], id[ann], ", "], id[], ", "], id[NULL]", "], id[a", "]", "", "], id[ä b], id[c]", "], id[ ]"]
    middles = [" [n] [p][0] took[1s], source[", " source[", " sources[", " source[source["]
    good = (heads[0], middles[0], sources[0], ends[0])
    rng = random.Random("slow")
    rows = [tuple(value if at == place else usual for at, usual in enumerate(good)) for place, values in enumerate((heads, middles, sources, ends)) for value in values]
    rows += [(rng.choice(heads), rng.choice(middles), rng.choice(sources), rng.choice(ends)) for _ in range(300)]
    lines = ["".join(row) for row in rows]
    yield "combinations", case({"slow.log": text(lines)}, format="slow-log")
    inner = [
        {"type": "index_search_slowlog", "timestamp": "2024-12-10T10:00:00,123+01:00", "id": who, "source": one}
        for who, one in [*(("ann", one) for one in sources), ("", sources[0]), (None, sources[0]), (5, sources[0])]
    ]
    yield "combinations in JSON", case({"slow.json": text(dumped(inner))}, format="slow-log")
    yield from random_cases(lines[0].encode(), [plain, text(lines[:60]), text(dumped(inner[:10]))], "slow-log", "log")


def yandex() -> NAMED:
    base = (SOURCES / "yandex.txt").read_bytes()
    yield from shapes(base, "yandex.txt", format="yandex")
    yield "recognized", case({"train": base})
    own = ["1\tM\t5\tu", "1\t0\tQ\t0\t7\t11,12\t9,1\t8,1", "1\t3\tC\t0\t8"]
    hers = ["2\tM\t5\tv", "2\t0\tQ\t0\t7\t13\t9,1"]
    orders = [own + hers, [*own[:2], *hers, *own[2:]], [own[1], own[0], own[2]], own[::-1], [*own, *own], [*own, "1\tM\t6\tw"], hers + own[1:], [*own, "", *hers], [own[0], own[2], own[1]]]
    for number, lines in enumerate(orders):
        yield (f"order {number}", case({"train": text(["0\tM\t5\t17", "0\t0\tQ\t0\t101\t7,8\t501,51", *lines])}, format="yandex"))
    rng = random.Random("yandex")
    sessions, moments = (["0", "1", "1", "2", "01", "", "NULL", "ä"], ["0", "9", "", "-1", "1e3", "999999999", "9999999999"])
    for number in range(20):
        lines = ["0\tM\t5\t17", "0\t0\tQ\t0\t101\t7,8\t501,51"]
        for _ in range(25):
            session = rng.choice(sessions)
            match rng.randrange(5):
                case 0:
                    lines.append(f"{session}\tM\t{rng.choice(('5', '', 'x', '99999', '100000', '007', '5.5', ' 5'))}\t{rng.choice(('17', 'ann', '', 'NULL', ' '))}")
                case 1 | 2:
                    lines.append(
                        "\t".join(
                            (
                                session,
                                rng.choice(moments),
                                rng.choice("QQTCM"),
                                rng.choice(("0", "1", "")),
                                "101",
                                rng.choice(("7,8", "", ",", "7", " ", "ä,ö")),
                                rng.choice(("501,51\t502,52", "502\t501,51", "", "\t", "501,51\t\t501", ",\t502")),
                            )
                        )
                    )
                case 3:
                    lines.append(f"{session}\t9\tC\t{rng.choice(('0', '1', '', '2'))}\t{rng.choice(('501', '502', '', '-', '9'))}")
                case _:
                    lines.append(rng.choice(("", "x", "1\tM\t5", "1\tM\t5\t6\t7", "1\t9\tC\t0", "1\t0\tQ\t0\t1")))
        yield f"sessions {number}", case({"train": text(lines)}, format="yandex")
    yield from random_cases(b"0\tM\t5\t17\n0\t0\tQ\t0\t101\t7,8\t501,51", [base], "yandex", "log")


def matomo() -> NAMED:
    base = (SOURCES / "matomo-visits.json").read_bytes()
    visits = json.loads(base)
    yield "corpus", case({"visits.json": base})
    yield "corpus of totals", case({"totals.csv": (SOURCES / "matomo-totals.csv").read_bytes()})
    yield from shapes(text(dumped(visits)), "visits.jsonl", format="matomo")
    visit = {"idVisit": 1, "visitorId": "v", "actionDetails": [{"type": "search", "timestamp": 1733821200, "siteSearchKeyword": "tea"}]}
    action = visit["actionDetails"][0]  # type: ignore[index]
    variants: dict[str, list[Any]] = {
        "users": [visit | {"visitorId": one} for one in ("v", "", " ", None, "NULL", 17, [])] + [visit | {"userId": one} for one in ("u", "", None, 5)] + [{"idVisit": 1, "actionDetails": [action]}],
        "actions": [visit | {"actionDetails": one} for one in ([], None, {}, "x", [None], [5], [action] * 3, [action, {"type": "action"}], [{"type": "goal"}, {"type": 5}, {}])],
        "times": [visit | {"actionDetails": [action | {"timestamp": one}]} for one in (1733821200, "1733821200", 1733821200000, None, "", "x", 1.5, "2024-12-10 09:00:00")],
        "queries": [visit | {"actionDetails": [action | {"siteSearchKeyword": one}]} for one in ("tea", "", None, " ", "ä", 5, ["a"], "NULL", "a\nb", "\ud800")],
        "ids": [visit | {"idVisit": one} for one in (1, "1", None, "", [])],
    }
    for name, rows in variants.items():
        yield name, case({"visits.jsonl": text(dumped(rows))}, format="matomo")
        yield (f"{name}, in an array", case({"visits.json": json.dumps(rows, indent=1).encode()}, format="matomo"))
    yield from random_cases(dumped([visit])[0].encode(), [text(dumped(visits)), text(dumped(variants["users"]))], "matomo", "log")
    rng = random.Random("matomo arrays")
    for number in range(6):
        yield f"mutated array {number}", case({"log.json": mutate([base], rng)}, format="matomo")


def google_analytics() -> NAMED:
    base = (SOURCES / "google-analytics-events.json").read_bytes()
    yield "corpus of totals", case({"totals.csv": (SOURCES / "google-analytics-totals.csv").read_bytes()})
    yield from shapes(base, "events.json", format="google-analytics")
    yield "recognized", case({"events.json": base})
    event: dict[str, Any] = {"event_name": "search", "event_timestamp": "1733821230000000", "user_pseudo_id": "1.2", "event_params": [{"key": "search_term", "value": {"string_value": "tea"}}]}
    param = event["event_params"][0]
    variants: dict[str, list[Any]] = {
        "names": [event | {"event_name": one} for one in ("search", "view_search_results", "page_view", "", None, 5, "Search")],
        "users": [event | {"user_pseudo_id": one} for one in ("1.2", 1.2, 5, "", " ", None, "NULL", [])] + [event | {"user_id": one} for one in ("u", "", None, 7)],
        "times": [event | {"event_timestamp": one} for one in ("1733821230000000", 1733821230000000, 1733821230, "", None, "x", 1.5)],
        "parameters": [
            event | {"event_params": one}
            for one in (
                [],
                None,
                {},
                "x",
                [None],
                [5],
                [param, param],
                [{"key": "ga_session_id", "value": {"int_value": "7"}}, param],
                [{"key": "search_term"}],
                [{"key": "search_term", "value": None}],
                [{"key": "search_term", "value": {"int_value": 7}}],
                [{"key": "search_term", "value": {"string_value": 7}}],
                [{"key": "search_term", "value": {"string_value": ""}}],
                [{"key": "term", "value": {"string_value": "x"}}],
            )
        ],
    }
    for name, rows in variants.items():
        yield name, case({"events.jsonl": text(dumped(rows))}, format="google-analytics")
        yield (f"{name}, in an array", case({"events.json": json.dumps(rows, indent=1).encode()}, format="google-analytics"))
    yield from random_cases(dumped([event])[0].encode(), [base, text(dumped(variants["parameters"]))], "google-analytics", "log")


# -- binary formats ------------------------------------------------------------------------------------------

NOON = dt.datetime(2006, 3, 1, 12)


def typed_tables() -> Iterator[tuple[str, pa.Table, dict[str, Any]]]:
    """Tables whose columns have every type that may be a user, time, query, url, rank or session."""
    users = ["u1", "u2", "", " ", None, "NULL", "ä", "\u3000", "-", "u1"]
    queries = ["tea", "Green  TEA", "", None, "mug", "cup", "NULL", "x", " ", "İ"]
    times = [NOON + dt.timedelta(seconds=n, microseconds=123456) for n in range(9)] + [None]
    urls = ["http://a", "", None, "-", "NULL", "x", "None", " ", "N/A", "y"]
    ranks = [1, 2, None, 0, -1, 10**9, 999999999, 4, 5, 6]
    full = pa.table({"user": users, "time": pa.array(times, pa.timestamp("us")), "query": queries, "url": urls, "rank": ranks, "session": urls[::-1]})
    yield "plain", full, {}
    yield "strict", full, {"max_rejected": 0.05}
    yield ("named columns", full.rename_columns(["a", "b", "c", "d", "e", "f"]), {"columns": {"user": "a", "time": "b", "query": "c"}})
    yield ("numbered columns", full.rename_columns(["a", "b", "c", "d", "e", "f"]), {"columns": {"user": 1, "query": 3}})
    yield "missing column", full.drop_columns(["user"]), {}
    yield "no time", full.select(["user", "query"]), {}
    yield "empty", full.slice(0, 0), {}
    yield "none left", pa.table({"user": pa.nulls(3, pa.string()), "query": ["a", "b", "c"]}), {}

    def column(name: str, values: pa.Array) -> pa.Table:
        rows = len(values)
        base = {"user": pa.array(["ann"] * rows), "query": pa.array(["tea"] * rows)}
        return pa.table({**base, name: values})

    yield "text times", column("time", pa.array(TIMES)), {}
    yield "text ranks", column("rank", pa.array(RANKS)), {}
    yield "text urls", column("url", pa.array(URLS)), {}
    yield "text users", column("user", pa.array(USERS)), {}
    yield "text queries", column("query", pa.array(QUERIES)), {}
    for unit in ("s", "ms", "us", "ns"):
        yield (f"times in {unit}", column("time", pa.array([NOON, None, NOON + dt.timedelta(days=1)], pa.timestamp("us")).cast(pa.timestamp(unit))), {})
        yield (f"times in {unit} with a zone", column("time", pa.array([NOON, None], pa.timestamp("us", "Europe/Berlin")).cast(pa.timestamp(unit, "Europe/Berlin"))), {})
    yield "dates", column("time", pa.array([dt.date(2006, 3, 1), None, dt.date(2006, 3, 2)])), {}
    for number, kind in enumerate((pa.int32(), pa.int64(), pa.float64())):
        yield (f"numeric times {number}", column("time", pa.array([1141214400, None, 0, -1, 2**31 - 1], kind)), {})
    yield "times in milliseconds", column("time", pa.array([1141214400123, 1141214400, 1141214400123456])), {}
    for kind in (pa.int8(), pa.int32(), pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(30, 2), pa.bool_()):
        values: list[Any] = [True, False, None] if kind == pa.bool_() else [1, 2, None, 0, 100]
        for name in ("user", "query", "rank", "session"):
            yield f"{name} as {kind}", column(name, pa.array(values).cast(kind)), {}
    yield ("fractional ranks", column("rank", pa.array([1.0, 1.5, None, float("nan"), float("inf"), -1.0, 1e10])), {})
    yield ("fractional users", column("user", pa.array([1.0, 1.5, None, float("nan"), float("inf"), 1e300])), {})
    for name in ("user", "query", "url"):
        texts = ["ann", None, "", "bob", "ann"]
        yield f"{name} as large text", column(name, pa.array(texts, pa.large_string())), {}
        yield f"{name} as a dictionary", column(name, pa.array(texts).dictionary_encode()), {}
        yield (f"{name} as bytes", column(name, pa.array([None if one is None else one.encode() for one in texts], pa.binary())), {})
    yield "bytes that are no text", column("query", pa.array([b"tea", b"\xff\xfe", b"a\0b"], pa.binary())), {}
    yield "a list of queries", column("query", pa.array([["a"], ["b"]])), {}
    yield "other columns", full.append_column("other", pa.array([[n] for n in range(10)])), {}
    yield "a long text", column("query", pa.array(["x" * (1024 * 1024), "x" * (1024 * 1024 + 1), "tea"])), {}
    yield "NUL in a text", column("query", pa.array(["a\0b", "tea", "\0"])), {}


def binary_group(group: str, suffix: str, encode: Any) -> NAMED:
    corpus = []
    for name, table, options in typed_tables():
        with contextlib.suppress(pa.ArrowException, OverflowError):
            data = encode(table)
            if name in ("plain", "text times"):
                corpus.append(data)
            yield name, case({f"log{suffix}": data}, **options)
    yield "under a text name", case({"log.tsv": corpus[0]})
    yield "an encoding", case({f"log{suffix}": corpus[0]}, encoding="latin-1")
    yield "cut short", case({f"log{suffix}": corpus[0][: len(corpus[0]) // 2]}, format=group)
    yield "compressed", case({f"log{suffix}.gz": gzip.compress(corpus[0], mtime=0)})
    yield "in an archive", case({"log.zip": zipped({f"log{suffix}": corpus[0]})})
    table = next(typed_tables())[1]
    parts = {f"logs/{n}{suffix}": encode(table.slice(n * 5, 5)) for n in range(2)}
    yield "two files", case(parts, "logs")
    yield ("two files of other columns", case({f"logs/a{suffix}": encode(table), f"logs/b{suffix}": encode(table.rename_columns(["user", "time", "q", "url", "rank", "session"]))}, "logs"))
    yield (
        "two files of other types",
        case(
            {
                f"logs/a{suffix}": encode(table),
                f"logs/b{suffix}": encode(pa.table({"user": [1], "time": ["2006"], "query": ["x"], "url": pa.array([None], pa.string()), "rank": [1], "session": ["x"]})),
            },
            "logs",
        ),
    )
    rng = random.Random(group)
    for number in range(24):
        yield f"mutated {number}", case({"log": mutate(corpus, rng)})


def written(write: Any) -> bytes:
    into = io.BytesIO()
    write(into)
    return into.getvalue()


def parquet() -> NAMED:
    yield from binary_group("parquet", ".parquet", lambda table: written(lambda into: pq.write_table(table, into)))
    table = next(typed_tables())[1]
    for name, how in {
        "row groups": {"row_group_size": 3},
        "no dictionary": {"use_dictionary": False},
        "zstd": {"compression": "zstd"},
        "no statistics": {"write_statistics": False},
        "version 1": {"version": "1.0"},
        "pages of version 2": {"data_page_version": "2.0"},
        "small pages": {"data_page_size": 8, "write_batch_size": 2},
        "no compression": {"compression": "none"},
    }.items():
        yield name, case({"log.parquet": written(lambda into, how=how: pq.write_table(table, into, **how))})
    plain = pa.table({"user": [f"u{n % 7}" for n in range(40)], "query": [f"q{n % 11}" for n in range(40)], "time": [NOON] * 40})
    yield ("nothing to reject", case({"log.parquet": written(lambda into: pq.write_table(plain, into, row_group_size=9))}))
    yield ("a partitioned folder", case({f"log/user={n}/part.parquet": written(lambda into: pq.write_table(pa.table({"user": ["alice"], "query": ["hers"]}), into)) for n in range(3)}, "log"))
    yield ("sample of users", case({"log.parquet": written(lambda into: pq.write_table(plain, into))}, sample_users=0.5))


def feather() -> NAMED:
    yield from binary_group("feather", ".feather", lambda table: written(lambda into: pa.feather.write_feather(table, into)))
    table = next(typed_tables())[1]
    yield ("no compression", case({"log.feather": written(lambda into: pa.feather.write_feather(table, into, compression="uncompressed"))}))

    def stream(into: Any) -> None:
        with pa.ipc.new_stream(into, table.schema) as writer:
            writer.write_table(table, max_chunksize=3)

    yield "a stream", case({"log.arrows": written(stream)})
    yield ("a name twice", case({"log.arrow": written(lambda into: _ipc(into, pa.Table.from_arrays([pa.array(["a", "b"])] * 4, names=["user", "query", "time", "time"])))}))
    yield ("another name twice", case({"log.arrow": written(lambda into: _ipc(into, pa.Table.from_arrays([pa.array(["a", "b"])] * 4, names=["user", "query", "x", "x"])))}))


def _ipc(into: Any, table: pa.Table) -> None:
    with pa.ipc.new_file(into, table.schema) as writer:
        writer.write_table(table)


def orc() -> NAMED:
    yield from binary_group("orc", ".orc", lambda table: written(lambda into: pa.orc.write_table(table, into)))


DATABASE = [
    ("17", "2006-03-01", "tea", 1),
    ("", "2006-03-01", "mug", 1),
    ("eve", "yesterday", "jug", 2),
    ("18", "2006-03-01 10:11:12", None, None),
    (17.0, 1141214400, "CUP", 3),
    (None, None, None, None),
    ("x", "2006-03-01", "\u3000", 1),
]


def sqlite() -> NAMED:
    def made(*statements: Any, tables: Sequence[str] = ("log",)) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            with contextlib.closing(sqlite3.connect(f"{folder}/a.db")) as con:
                for table in tables:
                    con.execute(f'CREATE TABLE "{table}" (visitor_id, searched_at, search_term, shop)')
                    con.executemany(f'INSERT INTO "{table}" VALUES (?, ?, ?, ?)', DATABASE)  # noqa: S608
                for statement in statements:
                    con.execute(*statement) if isinstance(statement, tuple) else con.execute(statement)
                con.commit()
            return Path(folder, "a.db").read_bytes()

    log = made("CREATE TABLE shops (id, name)")
    yield "plain", case({"log.db": log})
    yield "strict", case({"log.db": log}, max_rejected=0.05)
    two = made(tables=("january", "february"))
    yield "two tables", case({"log.db": two})
    yield "two tables, one named", case({"log.db": two}, table="February")
    yield "two tables, another named", case({"log.db": two}, table="march")
    yield "a table without columns", case({"log.db": log}, table="shops")
    yield ("columns", case({"log.db": log}, columns={"user": "visitor_id", "query": "search_term", "rank": "shop"}))
    yield "columns by number", case({"log.db": log}, columns={"user": 1, "query": 3})
    yield ("a text that is none", case({"log.db": made(("INSERT INTO log VALUES (?, '2006-03-01', CAST(x'ff61' AS TEXT), 1)", ("b",)), "INSERT INTO log VALUES (x'61', '2006-03-01', x'62', 1)")}))
    yield ("numbers", case({"log.db": made("INSERT INTO log VALUES (1e300, 1.5, 2.50, 3)", "INSERT INTO log VALUES (9223372036854775807, -1, 0, 3)")}))
    yield "a view", case({"log.db": made("CREATE VIEW seen AS SELECT * FROM log")}, table="seen")
    yield "no rows", case({"log.db": made("DELETE FROM log")})
    yield "cut short", case({"log.db": log[: len(log) // 2]})
    yield "compressed", case({"log.db.gz": gzip.compress(log, mtime=0)})
    rng = random.Random("sqlite")
    for number in range(12):
        yield f"mutated {number}", case({"log.db": mutate([log], rng)})


def duckdb_files() -> NAMED:
    def made(*statements: str, tables: Sequence[str] = ("log",)) -> bytes:
        with tempfile.TemporaryDirectory() as folder:
            with duckdb.connect(f"{folder}/a.duckdb") as con:
                for table in tables:
                    con.execute(f'CREATE TABLE "{table}" (visitor_id VARCHAR, searched_at VARCHAR, search_term VARCHAR, shop INT)')
                    con.executemany(f'INSERT INTO "{table}" VALUES (?, ?, ?, ?)', [(None if row[0] is None else str(row[0]), None if row[1] is None else str(row[1]), *row[2:]) for row in DATABASE])  # noqa: S608
                for statement in statements:
                    con.execute(statement)
            return Path(folder, "a.duckdb").read_bytes()

    log = made("CREATE TABLE shops (id INT, name VARCHAR)")
    yield "plain", case({"log.duckdb": log})
    yield "two tables", case({"log.duckdb": made(tables=("january", "february"))})
    yield "one table named", case({"log.duckdb": made(tables=("january", "february"))}, table="February")
    yield (
        "typed",
        case(
            {
                "log.duckdb": made(
                    "CREATE TABLE typed AS SELECT 7::BIGINT AS user, TIMESTAMP '2006-03-01 12:00:00' AS time, 'tea' AS query, 3::TINYINT AS rank UNION ALL SELECT NULL, NULL, NULL, NULL UNION ALL SELECT 8, '2006-03-02', 'x', -1"
                )
            },
            table="typed",
        ),
    )
    yield ("columns", case({"log.duckdb": log}, columns={"user": "visitor_id", "query": "search_term", "rank": "shop"}))
    yield "cut short", case({"log.duckdb": log[: len(log) // 2]})


def workbook(sheets: dict[str, list[tuple[Any, ...]]]) -> bytes:
    """The least that is a workbook, with texts in place."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    links = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006/relationships"

    def cell(value: Any) -> str:
        if value is None:
            return "<c/>"
        if isinstance(value, bool):
            return f'<c t="b"><v>{int(value)}</v></c>'
        return f"<c><v>{value}</v></c>" if isinstance(value, int | float) else f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'

    parts = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{package}"><Relationship Id="r1" Type="{links}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{links}"><sheets>'
        + "".join(f'<sheet name="{one}" sheetId="{n}" r:id="r{n}"/>' for n, one in enumerate(sheets, 1))
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}">'
        + "".join(f'<Relationship Id="r{n}" Type="{links}/worksheet" Target="worksheets/sheet{n}.xml"/>' for n, _ in enumerate(sheets, 1))
        + "</Relationships>",
    }
    for number, rows in enumerate(sheets.values(), 1):
        lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
        parts[f"xl/worksheets/sheet{number}.xml"] = f'<worksheet xmlns="{main}"><sheetData>{lines}</sheetData></worksheet>'
    return zipped({name: data.encode() for name, data in parts.items()})


def excel() -> NAMED:
    header = ("visitor_id", "searched_at", "search_term", "shop")
    rows: list[tuple[Any, ...]] = [header, *DATABASE, (None,) * 4]
    log = workbook({"log": rows, "shops": [("id", "name")]})
    yield "plain", case({"log.xlsx": log})
    yield "strict", case({"log.xlsx": log}, max_rejected=0.05)
    yield "two sheets", case({"log.xlsx": workbook({"january": rows, "february": rows})})
    yield ("one sheet named", case({"log.xlsx": workbook({"january": rows, "february": rows})}, table="February"))
    yield "blank rows above", case({"log.xlsx": workbook({"log": [(None,) * 4, (None,) * 4, *rows]})})
    yield ("blank rows between", case({"log.xlsx": workbook({"log": [*rows[:3], (None,) * 4, (None,) * 4, *rows[3:]]})}))
    yield "no header", case({"log.xlsx": workbook({"log": rows[1:]})})
    yield ("no header, numbers", case({"log.xlsx": workbook({"log": rows[1:]})}, columns={"user": 1, "query": 3}))
    yield ("columns", case({"log.xlsx": log}, columns={"user": "visitor_id", "query": "search_term", "rank": "shop"}))
    yield (
        "kinds of cells",
        case(
            {
                "log.xlsx": workbook(
                    {
                        "log": [
                            ("user", "query", "rank", "time"),
                            (1, 2, 3, 38777.5),
                            (1.5, True, "3", "2006-03-01"),
                            (True, "x", 2.5, 1141214400),
                            ("a", 1e300, -1, None),
                            (17.0, "tea", None, "2006-03-01 12:00:00"),
                        ]
                    }
                )
            }
        ),
    )
    yield "under a text name", case({"log.csv": log})
    yield ("another office document", case({"letter.docx": zipped({"[Content_Types].xml": b"<Types/>", "word/document.xml": b"<document/>"})}))
    yield "cut short", case({"log.xlsx": log[: len(log) // 2]})


# -- folders, archives, several files ------------------------------------------------------------------------


def sources() -> NAMED:
    tsv_file, other = (joined([HEADER, *TABLE], "\t"), joined([HEADER, ["z", "2006-03-05", "late", "", ""], ["x"]], "\t"))
    files = {"logs/a.tsv": tsv_file, "logs/b.tsv": other}
    yield "a folder", case(files, "logs")
    yield "a list", case(files, ["logs/b.tsv", "logs/a.tsv"])
    yield "a list with a file twice", case(files, ["logs/a.tsv", "logs/a.tsv", "logs"])
    yield "a glob", case(files, "logs/*.tsv")
    yield "a glob that matches nothing", case(files, "logs/*.csv")
    yield "a recursive glob", case({"logs/a/x.tsv": tsv_file, "logs/b/c/x.tsv": other}, "logs/**/*.tsv")
    yield "files of one name", case({"logs/a/x.tsv": tsv_file, "logs/b/x.tsv": other}, "logs/a")
    yield ("hidden files", case({**files, "logs/.hidden": b"x", "logs/_SUCCESS": b"", "logs/_old/a.tsv": b"x"}, "logs"))
    yield "only hidden files", case({"logs/_SUCCESS": b""}, "logs")
    yield "an empty file among others", case({**files, "logs/c.tsv": b"", "logs/d.tsv": b"\n\n"}, "logs")
    yield "other headers", case({"logs/a.tsv": tsv_file, "logs/b.tsv": b"query\tuser\nq\tu\n"}, "logs")
    yield ("a header without rows", case({"logs/a.tsv": tsv_file, "logs/b.tsv": joined([HEADER], "\t")}, "logs"))
    yield "other formats", case({"logs/a.tsv": tsv_file, "logs/b.jsonl": text(dumped(JSONL))}, "logs")
    yield ("other compressions", case({"logs/a.tsv.gz": gzip.compress(tsv_file, mtime=0), "logs/b.tsv.zst": zstandard.compress(other), "logs/c.tsv": tsv_file}, "logs"))
    yield "no file", case({"a.tsv": tsv_file}, "missing.tsv")
    yield "no log", case({"a.tsv": tsv_file}, [])
    yield ("an archive of several", case({"log.zip": zipped({"a/x.tsv": tsv_file, "b/x.tsv": other, "_skip": b"x", ".skip": b"x", "c/": b""})}))
    yield ("an archive beside a file", case({"logs/log.zip": zipped({"x.tsv": tsv_file}), "logs/y.tsv": other}, "logs"))
    yield ("an archive of other formats", case({"log.zip": zipped({"a.tsv": tsv_file, "b.jsonl": text(dumped(JSONL))})}))
    yield "an empty archive", case({"log.zip": zipped({})})
    yield "an archive in an archive", case({"log.zip": zipped({"a.zip": zipped({"a.tsv": tsv_file})})})
    yield ("a compressed file in an archive", case({"log.zip": zipped({"a.tsv.gz": gzip.compress(tsv_file, mtime=0)})}))
    yield "an archive with a way out", case({"log.zip": zipped({"../../escaped.tsv": tsv_file})})
    yield "a damaged archive", case({"log.zip": zipped({"a.tsv": tsv_file})[:-30]})
    yield "a tar archive", case({"log.tar": _tar({"a.tsv": tsv_file})})
    yield "a compressed tar archive", case({"log.tar.gz": gzip.compress(_tar({"a.tsv": tsv_file}), mtime=0)})
    yield "a 7z archive", case({"log.7z": b"7z\xbc\xaf\x27\x1cxx"})
    yield "a picture", case({"picture.png": b"\x89PNG\r\n\x1a\n\0\0\0"})
    yield "words", case({"words.txt": b"secret words without any column\n"})
    yield "an unknown format", case({"a.tsv": tsv_file}, format="xml")
    yield "an unknown encoding", case({"a.tsv": tsv_file}, encoding="nothing")
    yield "an unknown column", case({"a.tsv": tsv_file}, columns={"user": 1, "query": 2, "who": 3})
    yield "no query column", case({"a.tsv": tsv_file}, columns={"user": 1})
    for number, options in enumerate(
        (
            {"table": "x"},
            {"click_actions": ["x"]},
            {"query_parameter": ["q"]},
            {"user_field": "ip"},
            {"query_path": "/{query}"},
            {"max_rejected": 2.0},
            {"delimiter": "ab"},
            {"sample_users": 0.0},
            {"where": ["x"]},
            {"null": []},
            {"format": "parquet"},
        )
    ):
        yield f"an option without meaning {number}", case({"a.tsv": tsv_file}, **options)
    for format in ("csv", "jsonl", "aol", "ubi", "algolia", "access-log", "solr", "slow-log", "yandex", "matomo", "google-analytics", "sogou"):
        yield f"read as {format}", case({"a.tsv": tsv_file}, format=format)
    nested = ['{"user": "ann", "query": "tea", "time": 1141214400}\n{"user": ', {"line": "[", "count": 100_000}, {"line": "]", "count": 100_000}, ', "query": "x"}\n']
    yield "deep nesting", case({"log.jsonl": nested})
    yield ("many columns", case({"log.csv": joined([["user", "query", *(f"c{n}" for n in range(2000))], *[["x"] * 2002] * 3], ",")}))
    yield "zeros", case({"log.tsv": ["user\tquery\nann\ttea\n", {"line": "\0", "count": 3_000_000}]})
    yield ("many blank lines", case({"log.tsv": ["user\tquery\nann\ttea\n", {"line": "\n", "count": 500_000}, "bob\ttea\n"]}))
    yield ("many rejected lines", case({"log.tsv": ["user\tquery\nann\ttea\n", {"line": "x{n}\n", "count": 30_000}, "bob\ttea\n"]}))


def _tar(files: dict[str, bytes]) -> bytes:
    import tarfile

    into = io.BytesIO()
    with tarfile.open(fileobj=into, mode="w") as made:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            made.addfile(info, io.BytesIO(data))
    return into.getvalue()


def tables() -> NAMED:
    """Tables in memory, of every kind that programs hand over."""
    for name, table, options in typed_tables():
        kinds = (
            ("arrow", "pandas", "polars", "rows", "duckdb", "batches")
            if name
            in (
                "plain",
                "named columns",
                "no time",
                "empty",
                "text times",
                "text ranks",
                "fractional ranks",
                "fractional users",
                "other columns",
                "missing column",
                "user as bool",
                "user as int64",
                "dates",
                "times in ns with a zone",
                "times in us",
                "a long text",
                "NUL in a text",
            )
            else ("arrow", "pandas")
        )
        data = written(lambda into, table=table: pa.feather.write_feather(table, into))
        for kind in kinds:
            yield (f"{name} as {kind}", case({"table.feather": data}, {"as": kind, "file": "table.feather"}, **options))
    many = pa.table({"user": [f"u{n % 17}" for n in range(1200)], "query": [f"q{n % 101}" for n in range(1200)]})
    data = written(lambda into: pa.feather.write_feather(many, into))
    for kind in ("arrow", "pandas", "polars", "rows", "duckdb", "batches"):
        yield f"more rows as {kind}", case({"table.feather": data}, {"as": kind, "file": "table.feather"})


def large() -> NAMED:
    """Files beyond every internal size: chunks of rows and bytes, and what was worth compiling code for."""
    rows = 310_000
    yield ("tsv by rows", case({"log.tsv": ["user\tquery\ttime\n", {"line": "u{n}\tq\t1141214400\n", "count": rows}, "\tbad\t1\nlast\ttea\t1141214401\n"]}))
    yield ("tsv by bytes", case({"log.tsv": ["user\tquery\n", {"line": "u{n}\t" + "green tea " * 40 + "\n", "count": 45_000}, "bad\nlast\ttea\n"]}))
    yield ("csv by bytes", case({"log.csv": ["user,query\n", {"line": 'u{n},"green, tea"\n', "count": 1}, {"line": "u{n}," + "green tea " * 40 + "\n", "count": 42_000}, 'bad,"x\nlast,"t,ea"\n']}))
    yield ("csv with quotes", case({"log.csv": ["user,query,time\n", {"line": 'u{n},"green, ""tea""",2006-03-01 12:00:00\n', "count": 60_000}, 'bad,"x\nlast,"t,ea",2006-03-01\n']}))
    good = '"time":"2006-03-01 12:00:00","pad":"' + "x" * 300 + '"}\n'
    yield (
        "jsonl by bytes",
        case({"log.jsonl": [{"line": '{"user":"u{n}","query":"tea {n}",' + good, "count": 50_000}, '{"user":"","query":"x","time":1}\n{\n{"user":"last","query":"x","time":1141214400}\n']}),
    )
    yield ("aol by rows", case({"log.txt": [AOL + "\n", {"line": "{n}\ttea\t2006-03-01 12:00:00\t\t\n", "count": 100_000}, "1\tx\n"]}))
    access = '192.0.2.{n} - - [10/Dec/2024:10:00:00 +0100] "GET /search?q=rare+orchids{n} HTTP/1.1" 200 512 "https://shop.example/" "Mozilla/5.0 (X11; Linux x86_64) ' + "x" * 120 + '"\n'
    yield "access-log by bytes", case({"access.log": [{"line": access, "count": 70_000}, "bad\n"]}, **Q)
    ubi_line = '{"query_id":"q{n}","client_id":"c{n}","user_query":"tea {n}","timestamp":"2024-12-10T09:00:00Z","pad":"' + "x" * 300 + '"}\n'
    ubi_clicks = '{"action_name":"click","query_id":"q{n}","client_id":"c{n}","timestamp":"2024-12-10T09:00:05Z","event_attributes":{"object":{"object_id":"A{n}"}}}\n'
    yield ("ubi by bytes", case({"ubi.ndjson": [{"line": ubi_line, "count": 40_000}, {"line": ubi_clicks, "count": 20_000}, "{\n"]}))
    solr_line = "2024-12-10 09:00:00.123 INFO x path=/select params={q=tea+{n}&uid=u{n}} hits=1 " + "x" * 250 + "\n"
    yield ("solr by bytes", case({"solr.log": [{"line": solr_line, "count": 52_000}, "2024-12-10 09:00:00.123 INFO x path=/select params={q=tea} hits=1\n"]}, user_field="uid"))
    slow_line = '[2024-03-01T10:11:12,123][WARN ][index.search.slowlog.query] [n] [p][0] took[1s], source[{"query":{"match":{"title":{"query":"tea {n}"}}},"pad":"' + "x" * 300 + '"}], id[u{n}], \n'
    yield "slow-log by bytes", case({"slow.log": [{"line": slow_line, "count": 38_000}, "bad\n"]})


MAKERS = {
    "tsv": tsv, "csv": csv, "aol": aol, "sogou": sogou, "jsonl": jsonl, "ubi": ubi, "algolia": algolia,
    "access-log": access_log, "solr": solr, "slow-log": slow_log, "yandex": yandex, "matomo": matomo,
    "google-analytics": google_analytics, "parquet": parquet, "feather": feather, "orc": orc, "sqlite": sqlite,
    "duckdb": duckdb_files, "excel": excel, "sources": sources, "tables": tables, "large": large,
}  # fmt: skip


def answer_of(one: Case) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return answer(one, Path(folder))


def add_missing() -> None:
    """Store the cases that are not stored yet, with their answers."""
    for group in GROUPS:
        stored = load_group(f"readers/{group}") if (FOLDER / f"readers/{group}.json.xz").exists() else {}
        before = len(stored)
        for name, one in MAKERS[group]():
            case_id = f"{group}/{name}"
            if case_id not in stored:
                stored[case_id] = {**one, "answer": answer_of(one)}
        if len(stored) > before:
            save_group(f"readers/{group}", stored)
        refused = sum("refused" in one["answer"] for one in stored.values())
        size = (FOLDER / f"readers/{group}.json.xz").stat().st_size
        sys.stdout.write(f"{group}: {len(stored)} cases, {refused} refused, {size:,} bytes\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--declare"]:
        declare(sys.argv[2], sys.argv[3:], "readers", answer_of)
    else:
        add_missing()
