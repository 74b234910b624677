"""Tables of ratios: each kind of release against the bare aggregation of the same file, and against other libraries.

    python benchmarks/bench.py [--rows 2000000 20000000 100000000] [--small 200000] [--spark-rows 20000000]
                               [--reading-rows 500000] [--runs 5] [--only CASE ...] [--no-peers] [--write]

Every run is a process of its own, between two runs of what it is compared with; its ratio is to their mean. The table
has medians, by the clock and by processor seconds. From 20 million rows on there are three runs at the most; from 100
million on there is one, and `zealous` gets 4 GB of address space and no more. Other libraries do the same job on the
first of `--rows` (see `peers.py`); Spark on this machine is held against DuckDB on `--spark-rows`, once. Readers of all
formats are those of `reading.py`. Other libraries get an environment each, made below benchmarks/data; they need the
network once. All of it takes about a quarter of an hour once logs are generated and environments are there.
`--write` puts figures, machine, and versions into docs/evidence/bench.json, the tables into docs/evidence/bench.md, and
the headline figures into README.md; with `--only`, other cases keep the figures that they have there.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import peers
from peers import PEERS
from publish import DATA, generated, load_modules, now, since

ROOT = Path(__file__).parents[1]
EVIDENCE = ROOT / "docs" / "evidence"
README = ROOT / "README.md"
CUT = (
    "SELECT *, sum(starts) OVER (PARTITION BY user ORDER BY time) AS cut FROM (SELECT *, coalesce(CAST(time - "
    "lag(time) OVER (PARTITION BY user ORDER BY time) > INTERVAL 30 MINUTE AS INT), 0) AS starts FROM log)"
)
"""Sessions, for bare counts that need them."""
QUERIES = "SELECT query, count(DISTINCT user) AS users FROM log GROUP BY query"
CLICKS = "SELECT query, url, count(DISTINCT user) AS users FROM log WHERE url IS NOT NULL GROUP BY ALL"
TRANSACTIONS = "SELECT user, list(DISTINCT query) AS items FROM log GROUP BY user"


@dataclass(frozen=True)
class Case:
    """What is published, and the plain SQL that it is held against.

    `large` cases run on all sizes, `middle` cases on the first of these, and all others on few rows.
    """

    method: str
    given: dict[str, Any]
    bare: str
    large: bool = False
    middle: bool = False
    few_gigabytes: bool = False
    """It has to do with 4 GB from 100 million rows on."""
    is_floor: bool = False
    """The SQL does less than the method has to: reading and writing of the same rows, without the method's own work."""


ZEALOUS = {"epsilon": 2, "delta": 1e-3, "max_items": 5}
WORDS = "SELECT user, unnest(string_split(lower(query), ' ')) AS word FROM log"
CASES = {
    "zealous queries": Case(
        "zealous",
        {**ZEALOUS, "guarantee": "probabilistic", "items": ("queries",)},
        QUERIES,
        large=True,
        few_gigabytes=True,
    ),
    "steered queries": Case(
        "steered", {"epsilon": 1, "delta": 1e-7, "items": ("queries",)}, QUERIES, large=True
    ),
    "truncated-geometric queries": Case(
        "truncated-geometric", {"epsilon": 4, "delta": 1e-4, "items": ("queries",)}, QUERIES
    ),
    "weighted-gaussian queries": Case(
        "weighted-gaussian", {"epsilon": 4, "delta": 1e-4, "items": ("queries",)}, QUERIES
    ),
    "zealous keywords": Case(
        "zealous",
        {**ZEALOUS, "items": ("keywords",)},
        f"SELECT word, count(DISTINCT user) AS users FROM ({WORDS}) GROUP BY word",
        middle=True,
    ),
    "zealous query-pairs": Case(
        "zealous",
        {**ZEALOUS, "items": ("query-pairs",)},
        "SELECT query, after, count(DISTINCT user) AS users FROM (SELECT user, query, lead(query) OVER "
        f"(PARTITION BY user, cut ORDER BY time) AS after FROM ({CUT})) WHERE after <> query GROUP BY ALL",
        middle=True,
    ),
    "zealous clicks": Case("zealous", {**ZEALOUS, "items": ("clicks",)}, CLICKS, middle=True),
    "zealous itemsets": Case(
        "zealous",
        {**ZEALOUS, "items": ("itemsets",)},
        f"WITH s AS (SELECT DISTINCT user, cut, query FROM ({CUT})) SELECT a.query, b.query AS other, "
        "count(DISTINCT a.user) AS users FROM s a JOIN s b ON a.user = b.user AND a.cut = b.cut "
        "AND a.query < b.query GROUP BY ALL",
    ),
    "click-graph": Case(
        "click-graph",
        {"epsilon": 4, "delta": 1e-3, "max_queries": 5},
        f"SELECT query, NULL AS url, users FROM ({QUERIES}) UNION ALL {CLICKS}",
        middle=True,
    ),
    "k-query": Case(
        "k-query",
        {"k": 50},
        f"SELECT * FROM log SEMI JOIN ({QUERIES} HAVING users >= 50) USING (query)",
        middle=True,
    ),
    "k-session": Case(
        "k-session",
        {"k": 3},
        f"SELECT user, cut, list(query ORDER BY time) AS queries FROM ({CUT}) GROUP BY ALL",
        is_floor=True,
    ),
    "token-hash": Case(
        "token-hash",
        {},
        "SELECT user, time, list_transform(string_split(lower(query), ' '), lambda one: sha256(one)) AS words FROM log",
        is_floor=True,
    ),
    "semantic": Case("semantic", {"epsilon": 4}, "SELECT user, query FROM log", is_floor=True),
    "clump": Case("clump", {"k": 5}, TRANSACTIONS, is_floor=True),
    "partition": Case("partition", {"k": 5}, TRANSACTIONS, is_floor=True),
    "k-keyword": Case(
        "k-keyword",
        {"k": 5},
        f"SELECT word, count(DISTINCT user) AS users FROM ({WORDS}) GROUP BY word",
        is_floor=True,
    ),
    "profile-histogram": Case(
        "profile-histogram",
        {"epsilon": 4, "max_queries": 3, "domain": "disease"},
        "SELECT user, query FROM log",
        is_floor=True,
    ),
    "ad-hoc": Case(
        "ad-hoc",
        {"steps": ("scrub", "drop-infrequent", "hash-users"), "min_users": 2},
        f"SELECT sha256(user), query, time FROM log SEMI JOIN ({QUERIES} HAVING users >= 2) USING (query)",
        is_floor=True,
    ),
}

SAME_JOB = {"epsilon": peers.EPSILON, "delta": peers.DELTA, "neighbours": "add-remove", "items": ("queries",)}
BASELINE = "zealous"
OURS = {
    BASELINE: Case("zealous", {**SAME_JOB, "max_items": peers.MAX_QUERIES}, QUERIES),
    "steered": Case("steered", {**SAME_JOB, "max_items": peers.MAX_QUERIES}, QUERIES),
    "steered, 100 queries of a user": Case("steered", {**SAME_JOB, "max_items": 100}, QUERIES),
}
"""The job of other libraries by our methods. All but the first are held against the first."""
SAME_JOB_CASES = (*(name for name in OURS if name != BASELINE), *PEERS)

SPARK = "zealous queries on Spark (local)"
READING = "reading"
LIMIT = 4_000_000_000
"""Bytes of address space for a case of few gigabytes."""
FEWER_FROM, ONCE_FROM = 20_000_000, 100_000_000
"""From so many rows on there are three runs at the most, or one."""


def bare(sql: str, log: Path) -> dict[str, float]:
    import duckdb

    spill = tempfile.mkdtemp()
    con = duckdb.connect()
    con.execute(f"SET memory_limit = '3GB'; SET temp_directory = '{spill}'")
    con.execute(f"CREATE VIEW log AS SELECT * FROM read_parquet('{log}')")
    begun = now()
    con.execute(f"COPY ({sql}) TO '{spill}/made.parquet'")
    figures = since(begun)
    shutil.rmtree(spill)
    return figures


def published(case: Case, log: Path, engine: str = "duckdb") -> dict[str, float]:
    """One publication. Spark is started before the clock, as modules are loaded; its own processor time counts."""
    import queryveil as qv
    from queryveil.files import memory

    memory.limit_reservations()  # as the command line does, before anything loads Arrow
    load_modules()
    from queryveil.mechanisms import mechanism

    method = mechanism(case.method)(**case.given)
    out = Path(tempfile.mkdtemp())
    where = qv.connect(engine)
    begun, others = now(), of_children()[0]
    release = qv.publish(
        qv.read(log, engine=where),  # as the command line does
        method,
        out=out / "release",
        allow_empty=True,
        i_understand=True,
    )
    figures = since(begun)
    seconds, memory = of_children()
    figures["cpu_seconds"] += seconds - others
    where.close()
    shutil.rmtree(out)
    return {**figures, "released": float(sum(release.released.values())), "of_children_gb": memory}


def of_children() -> tuple[float, float]:
    """Processor seconds and memory (GB) of processes that this one started: Java, and Spark's Python."""
    import psutil

    seconds = memory = 0.0
    for one in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.Error):
            times = one.cpu_times()
            seconds += times.user + times.system + times.children_user + times.children_system
            memory += one.memory_info().rss / 1e9
    return seconds, memory


def own_process(command: list[str]) -> dict[str, float]:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr[-2000:]}")
    print(
        *command[command.index("--once") if "--once" in command else -1 :],
        done.stdout.strip().splitlines()[-1],
        file=sys.stderr,
        flush=True,
    )
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def between(
    run: Callable[[], dict[str, float]], other: Callable[[], dict[str, float]], runs: int
) -> dict[str, Any]:
    """Medians of interleaved runs: other, run, other, run, ..., other."""
    others, mine = [other()], []
    for _ in range(runs):
        found = run()
        others.append(other())
        for what in ("seconds", "cpu_seconds"):
            found[f"{what}_ratio"] = 2 * found[what] / (others[-2][what] + others[-1][what])
        mine.append(found)
    names = ("seconds", "cpu_seconds", "seconds_ratio", "cpu_seconds_ratio", "released")
    made: dict[str, Any] = {
        name: round(statistics.median(one[name] for one in mine), 2) for name in names if name in mine[0]
    }
    made["peak_gb"] = round(max(one["peak_gb"] for one in mine), 2)
    for what in ("seconds", "cpu_seconds", "peak_gb", "released"):
        if what in others[0]:
            made[f"other_{what}"] = round(statistics.median(one[what] for one in others), 2)
    return made


def compared(name: str, rows: int, runs: int) -> dict[str, Any]:
    log = generated(rows)

    def run(what: str, *limit: str) -> dict[str, float]:
        return own_process(
            [*limit, sys.executable, __file__, "--once", what, "--case", name, "--log", str(log)]
        )

    limit = ("prlimit", f"--as={LIMIT}") if CASES[name].few_gigabytes and rows >= ONCE_FROM else ()
    made = between(lambda: run("method", *limit), lambda: run("bare"), runs)
    return {"case": name, "against": "floor" if CASES[name].is_floor else "bare", "rows": rows, **made}


def environment(name: str) -> Path:
    """A virtual environment with one library in it."""
    where = DATA / "environments" / name
    python = where / "bin" / "python"
    if not (where / "ready").exists():
        shutil.rmtree(where, ignore_errors=True)
        venv.create(where, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PEERS[name].packages], check=True)
        (where / "ready").touch()
    return python


def compare_same_job(name: str, rows: int, runs: int) -> dict[str, Any]:
    """Another library or method over our baseline: how many times longer it takes for the same job."""
    log = generated(rows)

    def ours(case: str) -> dict[str, float]:
        return own_process([sys.executable, __file__, "--once", "method", "--case", case, "--log", str(log)])

    def theirs() -> dict[str, float]:
        return own_process([str(environment(name)), *PEERS[name].arguments(str(log))])

    made = between(theirs if name in PEERS else lambda: ours(name), lambda: ours(BASELINE), runs)
    return {"case": name, "against": BASELINE, "rows": rows, **made}


def spark_against_duckdb(rows: int, runs: int) -> dict[str, Any]:
    """The same publication on Spark inside one machine, over that on DuckDB."""
    log = generated(rows)

    def run(what: str) -> dict[str, float]:
        return own_process(
            [sys.executable, __file__, "--once", what, "--case", "zealous queries", "--log", str(log)]
        )

    made = between(lambda: run("spark"), lambda: run("method"), runs)
    return {"case": SPARK, "against": "zealous queries", "rows": rows, **made}


def reading_each_format(rows: int) -> list[dict[str, Any]]:
    """How long our readers take, over DuckDB doing the same job; all by turns in one process."""
    command = [sys.executable, str(Path(__file__).with_name("reading.py")), "--rows", str(rows)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    made = []
    for name, one in json.loads(done.stdout)["formats"].items():
        beside = one["judged_by"]
        made.append(
            {
                "case": f"{READING} {name}",
                "against": beside,
                "rows": rows,
                "seconds_ratio": round(1 / one["clock_ratios"][beside], 2),
                "cpu_seconds_ratio": round(1 / one["ratios"][beside], 2),
                "cpu_seconds": one["processor_seconds"]["ours"],
                "other_cpu_seconds": one["processor_seconds"][beside],
            }
        )
    return made


def versions() -> dict[str, str]:
    names = ("queryveil", "duckdb", "ibis-framework", "numba", "numpy", "pyarrow")
    return {"python": platform.python_version()} | {name: metadata.version(name) for name in names}


def machine() -> dict[str, Any]:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    cores = len(os.sched_getaffinity(0))
    return {
        "cores": cores,
        "memory_gb": round(memory / 1e9),
        "system": platform.system(),
        "cpu": platform.machine(),
    }


def peak(case: dict[str, Any]) -> str:
    return f"{case['peak_gb']} GB" if "peak_gb" in case else ""


def baseline(same: list[dict[str, Any]]) -> dict[str, Any]:
    """Our own row in the table of other libraries: medians over all cases that were held against it."""
    medians = {
        what: statistics.median(one[f"other_{what}"] for one in same)
        for what in ("released", "cpu_seconds", "peak_gb")
    }
    unchanged = {"case": BASELINE, "seconds_ratio": 1.0, "cpu_seconds_ratio": 1.0, "runs": same[0]["runs"]}
    return unchanged | {name: round(value, 2) for name, value in medians.items()}


def same_job_table(cases: list[dict[str, Any]]) -> list[str]:
    """The lines of Markdown that compare libraries, and methods of ours, at one guarantee."""
    same = [one for one in cases if one["case"] in SAME_JOB_CASES]
    if not same:
        return []
    return [
        "## Other libraries",
        "",
        f"The same job on {same[0]['rows']:,} rows: noisy numbers of users for queries that enough users share, at",
        f"epsilon {peers.EPSILON:g} and delta {peers.DELTA:g}, for neighboring logs with one user added or removed,",
        f"with at most {peers.MAX_QUERIES} queries of a user unless the row says otherwise. Ratios are to `zealous`.",
        "",
        "| | published queries | ratio of wall-clock time | ratio of processor time | processor seconds | peak "
        "| runs |",
        "|---|---|---|---|---|---|---|",
        *(
            f"| {one['case']} | {one['released']:,.0f} | {one['seconds_ratio']:.2f} | {one['cpu_seconds_ratio']:.2f} | "
            f"{one['cpu_seconds']} | {peak(one)} | {one['runs']} |"
            for one in (baseline(same), *same)
        ),
        "",
        *(f"- {peer.note}" for peer in PEERS.values()),
        "",
    ]


def page(found: dict[str, Any]) -> str:
    """The page of all figures in Markdown."""
    rows = [
        f"| {one['case']} | {one['against']} | {one['rows']:,} | {one['seconds_ratio']:.2f} | "
        f"{one['cpu_seconds_ratio']:.2f} | {one['cpu_seconds']} | {one['other_cpu_seconds']} | {peak(one)} | "
        f"{one['runs']} |"
        for one in found["cases"]
        if one["case"] not in SAME_JOB_CASES
    ]
    low, high = (pick(one["load"] for one in found["cases"]) for pick in (min, max))
    versions = ", ".join(f"{name} {version}" for name, version in found["versions"].items())
    return "\n".join(
        [
            "# Benchmarks",
            "",
            "`make bench` made these tables: medians of interleaved runs, each a process of its own between two runs",
            "of what it is compared with (readers: by turns in one process). All stages of publishing are inside. A",
            "ratio of 1 is as fast as the other side, and less is faster. A *floor* does less than the method has to.",
            "At 100 million rows, `zealous` had 4 GB of address space. [Reading each",
            "format](index.md#reading-each-format) says what readers are compared with.",
            "",
            f"Machine: {found['machine']['cores']} cores, {found['machine']['memory_gb']} GB. Versions: {versions}.",
            f"The load was between {low} and {high} processes; if that is more than there are cores, ratios of",
            "wall-clock time say little.",
            "",
            *same_job_table(found["cases"]),
            "## Each kind of release, Spark, and readers",
            "",
            "| case | against | rows | ratio of wall-clock time | ratio of processor time | processor seconds "
            "| of the other | peak | runs |",
            "|---|---|---|---|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


HEADLINE_ROWS = (2_000_000, 20_000_000)
_HEADLINE = re.compile(r"(<!-- speed -->\n).*?(<!-- end of speed -->)", re.DOTALL)


def headline_cases() -> set[tuple[str, int]]:
    """The cases and sizes that README states."""
    ours = {(f"{method} queries", rows) for method in ("zealous", "steered") for rows in HEADLINE_ROWS}
    return ours | {(name, HEADLINE_ROWS[0]) for name in SAME_JOB_CASES}


def headline(cases: list[dict[str, Any]]) -> str:
    """What README says of speed."""
    found = {(one["case"], one["rows"]): one for one in cases}
    smallest = HEADLINE_ROWS[0]
    zealous = baseline([found[name, smallest] for name in SAME_JOB_CASES])
    opendp, pipelinedp, steered = (
        found[name, smallest]
        for name in ("OpenDP (Polars)", "PipelineDP (local)", "steered, 100 queries of a user")
    )
    sizes = [
        f"| {rows:,} | {found['zealous queries', rows]['seconds_ratio']:.2f} "
        f"| {found['steered queries', rows]['seconds_ratio']:.2f} |"
        for rows in HEADLINE_ROWS
    ]
    return "\n".join(
        [
            "| rows | `publish zealous` | `publish steered` |",
            "|---|---|---|",
            *sizes,
            "",
            f"On {smallest:,} rows, with the same epsilon ({peers.EPSILON:g}), delta "
            f"(1 in {1 / peers.DELTA:,.0f}), neighboring logs, and contribution bound, OpenDP with Polars",
            f"takes {opendp['seconds_ratio']:.1f} times as long as `zealous` and publishes {opendp['released']:,.0f} "
            f"queries to its {zealous['released']:,.0f}. PipelineDP's local engine takes "
            f"{pipelinedp['seconds_ratio']:.1f} times",
            f"as long and publishes {pipelinedp['released']:,.0f}. `steered`, with up to 100 queries per user, "
            f"publishes {steered['released']:,.0f}.",
            "",
        ]
    )


def require_headline(readme: str, cases: set[tuple[str, int]]) -> None:
    """Refuse, before anything is measured, what README's figures could not be written from."""
    if lacking := headline_cases() - cases:
        raise SystemExit(
            f"README.md states figures that are neither measured now nor recorded: {sorted(lacking)}"
        )
    if len(_HEADLINE.findall(readme)) != 1:
        raise SystemExit(
            "README.md has no lines <!-- speed --> and <!-- end of speed --> to write figures between"
        )


def with_headline(readme: str, cases: list[dict[str, Any]]) -> str:
    """README with these figures between its markers."""
    return _HEADLINE.sub(lambda match: match[1] + headline(cases) + match[2], readme)


def write(found: dict[str, Any]) -> None:
    """Write everything that states these figures."""
    (EVIDENCE / "bench.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    (EVIDENCE / "bench.md").write_text(page(found), encoding="utf-8")
    README.write_text(with_headline(README.read_text(encoding="utf-8"), found["cases"]), encoding="utf-8")


def once(given: argparse.Namespace) -> None:
    case = (CASES | OURS)[given.case]
    if given.once == "bare":
        figures = bare(case.bare, given.log)
    else:
        figures = published(case, given.log, "spark" if given.once == "spark" else "duckdb")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6 + figures.pop("of_children_gb", 0.0)
    print(json.dumps({**figures, "peak_gb": peak}))


def sizes(name: str, given: argparse.Namespace) -> list[int]:
    if name == SPARK:
        return [given.spark_rows]
    if name == READING:
        return [given.reading_rows]
    if name in SAME_JOB_CASES or CASES[name].middle:
        return list(given.rows[:1])
    return list(given.rows) if CASES[name].large else [given.small]


def cases_of(name: str, rows: int, runs: int) -> list[dict[str, Any]]:
    """What a case measures. What takes long is run once."""
    if name == READING:
        from reading import REPEATS

        found, runs = reading_each_format(rows), REPEATS
    elif name == SPARK:
        found, runs = [spark_against_duckdb(rows, 1)], 1
    else:
        runs = 1 if rows >= ONCE_FROM else min(runs, 3) if rows >= FEWER_FROM else runs
        found = [(compared if name in CASES else compare_same_job)(name, rows, runs)]
    return [one | {"runs": runs, "load": round(os.getloadavg()[0], 1)} for one in found]


def recorded_cases() -> list[dict[str, Any]]:
    """What was measured before."""
    cases: list[dict[str, Any]] = json.loads((EVIDENCE / "bench.json").read_text(encoding="utf-8"))["cases"]
    return cases


def merged(cases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was measured before, with these in its place."""
    made = {(one["case"], one["rows"]): one for one in (*recorded_cases(), *cases)}
    order = [*CASES, *SAME_JOB_CASES, SPARK]
    readers = [one["case"] for one in cases if one["case"] not in order]
    order += readers or [name for name, _ in made if name not in order]
    return sorted(
        (one for one in made.values() if one["case"] in order),
        key=lambda one: (order.index(one["case"]), one["rows"]),
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[*HEADLINE_ROWS, 100_000_000])
    parser.add_argument("--small", type=int, default=200_000, help="rows of all other cases")
    parser.add_argument("--spark-rows", type=int, default=20_000_000)
    parser.add_argument("--reading-rows", type=int, default=500_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=(*CASES, *SAME_JOB_CASES, SPARK, READING))
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--once", choices=("bare", "method", "spark"), help=argparse.SUPPRESS)
    parser.add_argument("--case", choices=(*CASES, *OURS), help=argparse.SUPPRESS)
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.once:
        once(given)
        return
    wanted = given.only or [*CASES, *([] if given.no_peers else SAME_JOB_CASES), SPARK, READING]
    planned = [(name, rows) for name in wanted for rows in sizes(name, given)]
    if given.write:
        recorded = recorded_cases() if given.only else []
        known = {*planned, *((one["case"], one["rows"]) for one in recorded)}
        require_headline(README.read_text(encoding="utf-8"), known)
    cases = [one for name, rows in planned for one in cases_of(name, rows, given.runs)]
    found = {
        "machine": machine(),
        "versions": versions(),
        "cases": merged(cases) if given.only and given.write else cases,
    }
    if given.write:
        write(found)
    print(page(found))


if __name__ == "__main__":
    main()
