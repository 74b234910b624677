"""How fast each format is read, beside DuckDB's own reader of the same file, in one run.

    python benchmarks/reading.py [--rows 500000] [--seed 1] [--only aol,ubi]

Ours is all that `read` does before anything is counted: every row is parsed, typed, judged, and staged as Parquet; bad
rows are kept aside. DuckDB's is its own reader into a table of its own, without judging: read_csv, read_json,
read_parquet, or the attached database. Where DuckDB has no reader without an extension, two things stand beside ours:
the lines of the text as one column, or the same rows as Parquet, which is less than the job; and the job itself, which
is SQL of DuckDB that takes the same fields out of the same file (`reading_by_duckdb.py`), or Python's sqlite3 that
hands the rows over. `judged_by` names the one that the aim is about. A format of which nothing else is known here is
read from its sample, repeated, beside the lines of the text alone. All are timed by processor seconds, which others
on the machine change little; a ratio is the median of three turns. All use the same threads.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import sqlite3
import statistics
import tempfile
import time
import zipfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus
from xml.sax.saxutils import escape

import duckdb
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet as pq
from pyarrow import feather

import queryveil as qv
from queryveil.reading.log_files import stage
from queryveil.reading.model import ReadOptions
from queryveil.synthetic.generator import LogSettings
from reading_by_duckdb import (
    FIELDS,
    JSON,
    LINES,
    UBI,
    by_attaching,
    by_calamine,
    by_fields,
    by_python,
    by_reader,
)

REPEATS = 3
SAMPLES = Path(__file__).parents[1] / "tests" / "data" / "samples"
BARE, BARE_PARQUET, BARE_SEARCHES = "lines of text", "same rows as Parquet", "read_ndjson without clicks"
LESS = {BARE, BARE_PARQUET, BARE_SEARCHES}
"""What stands beside us and does less than the job."""
EXCEL_COLUMNS = ("user", "time", "query", "url", "rank")
Rows = list[dict[str, Any]]


def generated(folder: Path, rows: int, seed: int) -> Path:
    file = folder / "log.parquet"
    qv.generate(file, LogSettings(rows=rows, users=max(100, rows // 30), seed=seed))
    return file


def text(file: Path, rows: Rows, line: Callable[[int, dict[str, Any]], str]) -> Path:
    with file.open("w", encoding="utf-8") as out:
        out.writelines(line(at, row) + "\n" for at, row in enumerate(rows))
    return file


def as_access_log(_: int, row: dict[str, Any]) -> str:
    request = f"GET /search?q={quote_plus(row['query'])} HTTP/1.1"
    return f'192.0.2.{row["user"]} - - [{row["time"]:%d/%b/%Y:%H:%M:%S +0000}] "{request}" 200 512 "-" "Mozilla/5.0"'


def as_slow_log(_: int, row: dict[str, Any]) -> str:
    source = json.dumps({"query": {"match": {"title": {"query": row["query"]}}}})
    return (
        f"[{row['time']:%Y-%m-%dT%H:%M:%S},123][WARN ][index.search.slowlog.query] [n] [p][0] took[1s], "
        f"took_millis[1000], source[{source}], id[{row['user']}], "
    )


def as_solr(_: int, row: dict[str, Any]) -> str:
    asked = f"q={quote_plus(row['query'])}&rows=10&uid={row['user']}"
    clock = f"{row['time']:%Y-%m-%d %H:%M:%S}.123"
    return f"{clock} INFO (q-1) [ x:p] o.a.s.c.S.Request path=/select params={{{asked}}} hits=1"


def as_algolia(_: int, row: dict[str, Any]) -> str:
    objects = [row["url"] or "A7", "B2"]
    stamp = int(row["time"].timestamp() * 1000)
    return json.dumps(
        {"eventType": "click", "userToken": row["user"], "timestamp": stamp, "objectIDs": objects}
    )


def as_sogou(_: int, row: dict[str, Any]) -> str:
    url = row["url"] or "example.cn"
    return f"{row['time']:%H:%M:%S}\t{row['user']}\t[{row['query']}]\t{row['rank'] or 1} 1\t{url}"


def as_yandex(at: int, row: dict[str, Any]) -> str:
    return f"{at}\tM\t1\t{at % 9999}\n{at}\t0\tQ\t0\t1\t{len(row['query'])},7\t5,1\t6,1\n{at}\t9\tC\t0\t6"


def as_matomo(at: int, row: dict[str, Any]) -> str:
    action = {"type": "search", "timestamp": int(row["time"].timestamp()), "siteSearchKeyword": row["query"]}
    return json.dumps({"idVisit": at, "visitorId": row["user"], "actionDetails": [action]})


def as_google_analytics(at: int, row: dict[str, Any]) -> str:
    known = {"search_term": {"string_value": row["query"]}, "ga_session_id": {"int_value": str(at)}}
    return json.dumps(
        {
            "event_name": "view_search_results",
            "event_timestamp": str(int(row["time"].timestamp() * 1_000_000)),
            "user_pseudo_id": row["user"],
            "event_params": [{"key": key, "value": value} for key, value in known.items()],
        }
    )


def excel_file(file: Path, rows: Rows) -> Path:
    """Write a minimal workbook: one sheet with inline texts."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    links = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006/relationships"

    def line(values: Iterable[Any]) -> str:
        cells = (f'<c t="inlineStr"><is><t>{escape(str(value))}</t></is></c>' for value in values)
        return f"<row>{''.join(cells)}</row>"

    lines = [line(EXCEL_COLUMNS)]
    lines += [line(row[name] or "" for name in EXCEL_COLUMNS) for row in rows]
    parts = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{package}"><Relationship Id="r1" '
        f'Type="{links}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{links}"><sheets>'
        '<sheet name="log" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}"><Relationship Id="r1" '
        f'Type="{links}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{"".join(lines)}</sheetData></worksheet>',
    }
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return file


def sqlite_file(file: Path, rows: Rows) -> Path:
    with sqlite3.connect(file) as con:
        con.execute("CREATE TABLE log (user, time, query, url, rank)")
        values = [(row["user"], str(row["time"]), row["query"], row["url"], row["rank"]) for row in rows]
        con.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?)", values)
    con.close()
    return file


def duckdb_file(file: Path, parquet: Path) -> Path:
    with duckdb.connect(str(file)) as con:
        con.execute(f"CREATE TABLE log AS SELECT * FROM '{parquet}'")
    return file


def sources(folder: Path, parquet: Path) -> dict[str, tuple[Path, str, dict[str, Any]]]:
    """For each format its file, what DuckDB reads beside it, and options."""
    log = qv.read(parquet)
    for name, file in {"aol": "aol.txt", "tsv": "log.tsv", "ubi": "ubi.ndjson"}.items():
        qv.convert(log, folder / file, name)
    table = pq.read_table(parquet)
    rows: Rows = table.to_pylist()
    columns = "user, time, query, url, rank"
    with duckdb.connect() as con:
        con.execute(f"COPY (SELECT {columns} FROM '{parquet}') TO '{folder / 'log.csv'}' (HEADER)")
        con.execute(f"COPY (SELECT {columns} FROM '{parquet}') TO '{folder / 'log.jsonl'}' (FORMAT json)")
    feather.write_feather(table, folder / "log.feather")
    pyarrow.orc.write_table(pa.table(table.to_pydict()), folder / "log.orc")
    same = f"read_parquet('{parquet}')"
    tabs = "read_csv('{}', delim = chr(9), quote = '', escape = '', header = true)"
    q = {"query_parameter": ("q",)}
    made: dict[str, tuple[Path, str, dict[str, Any]]] = {
        "aol": (folder / "aol.txt", tabs, {}),
        "tsv": (folder / "log.tsv", tabs, {}),
        "csv": (folder / "log.csv", "read_csv('{}', header = true)", {}),
        "jsonl": (folder / "log.jsonl", JSON, {}),
        "ubi": (folder / "ubi.ndjson", JSON, {}),
        "parquet": (parquet, "read_parquet('{}')", {}),
        "feather": (folder / "log.feather", same, {}),
        "orc": (folder / "log.orc", same, {}),
        "sqlite": (sqlite_file(folder / "log.sqlite", rows), same, {}),
        "duckdb": (duckdb_file(folder / "log.duckdb", parquet), same, {}),
        "access-log": (text(folder / "access.log", rows, as_access_log), LINES, q),
        "slow-log": (text(folder / "slow.log", rows, as_slow_log), LINES, {}),
        "solr": (text(folder / "solr.log", rows, as_solr), LINES, {}),
        "algolia": (text(folder / "algolia.jsonl", rows, as_algolia), JSON, {}),
        "sogou": (text(folder / "sogou.txt", rows, as_sogou), LINES, {}),
        "yandex": (text(folder / "yandex.txt", rows, as_yandex), LINES, {}),
        "matomo": (text(folder / "matomo.jsonl", rows, as_matomo), JSON, {}),
        "google-analytics": (text(folder / "analytics.jsonl", rows, as_google_analytics), JSON, {}),
        "excel": (excel_file(folder / "log.xlsx", rows), same, {}),
    }
    for name in set(qv.FORMATS) - set(made):
        made[name] = (repeated(next(SAMPLES.glob(f"{name}.*")), folder, len(rows)), LINES, {})
    return made


def repeated(sample: Path, folder: Path, rows: int) -> Path:
    """Write the records of a format's sample, which begin with the first line that names a user, again and again."""
    lines = sample.read_text(encoding="utf-8").splitlines(keepends=True)
    top = next(number for number, line in enumerate(lines) if "user-" in line)
    file = folder / sample.name
    with file.open("w", encoding="utf-8") as out:
        out.writelines(lines[:top])
        out.writelines(itertools.islice(itertools.cycle(lines[top:]), rows))
    return file


def timed(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Seconds of the processor and of the clock, and what came out."""
    processor, clock = time.process_time(), time.perf_counter()
    found = work()
    return time.process_time() - processor, time.perf_counter() - clock, found


def compared(ours: Callable[[], int], others: dict[str, Callable[[], int]]) -> dict[str, Any]:
    """All by turns, so that what else the machine does meets all; a ratio is the median of those of each turn."""
    turns = [[timed(one) for one in (ours, *others.values())] for _ in range(REPEATS)]
    taken = [statistics.median(turn[who][0] for turn in turns) for who in range(len(others) + 1)]
    documents = turns[-1][0][2]
    ratios, clock_ratios = (
        {
            name: round(statistics.median(turn[who][unit] / turn[0][unit] for turn in turns), 3)
            for who, name in enumerate(others, start=1)
        }
        for unit in (0, 1)
    )
    return {
        "documents": documents,
        "per_second": round(documents / taken[0]),
        "ratios": ratios,
        "clock_ratios": clock_ratios,
        "judged_by": next((name for name in ratios if name not in LESS), None),
        "processor_seconds": dict(zip(["ours", *others], (round(one, 3) for one in taken), strict=True)),
    }


def beside(format_: str, file: Path, reader: str) -> dict[str, Callable[[], int]]:
    """What stands beside us, by what it is called: DuckDB's reader, or else less than the job and then the job."""
    if format_ == "duckdb":
        return {"attached database": functools.partial(by_attaching, file)}
    name = BARE if reader == LINES else reader.partition("(")[0]
    found: dict[str, Callable[[], int]] = {name: functools.partial(by_reader, file, reader)}
    if format_ == "sqlite":
        return {BARE_PARQUET: found[name], "rows by Python's sqlite3": functools.partial(by_python, file)}
    if format_ == "excel":
        return {BARE_PARQUET: found[name], "rows by calamine": functools.partial(by_calamine, file)}
    if format_ == "ubi":
        found = {BARE_SEARCHES: found[name], "read_ndjson": functools.partial(by_reader, file, UBI)}
    if format_ in FIELDS:
        found["same fields by SQL"] = functools.partial(by_fields, file, format_)
    return found


def read_by_us(file: Path, name: str, options: dict[str, Any]) -> int:
    with tempfile.TemporaryDirectory() as into:
        staged = stage(file, ReadOptions(format=name, max_rejected=1.0, **options), Path(into))
        return staged.rows + staged.rejected + sum(staged.skipped.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="")
    given = parser.parse_args()
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        parquet = generated(folder, given.rows, given.seed)
        for format_, (file, reader, options) in sources(folder, parquet).items():
            if given.only and format_ not in given.only.split(","):
                continue
            results[format_] = compared(
                functools.partial(read_by_us, file, format_, options), beside(format_, file, reader)
            )
    print(json.dumps({"rows": given.rows, "formats": results}, indent=2))


if __name__ == "__main__":
    main()
