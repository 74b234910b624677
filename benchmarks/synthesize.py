"""`synthesize`: seconds, peak memory and agreement of query shares, from a published and from a wide click graph.

    python benchmarks/synthesize.py [--rows 1000000] [--formats parquet tsv tsv.gz]

Each run is a process of its own; `cpu_seconds` is what it computed, whatever else the machine had to do. `distance` is
the total variation between the shares of the log's query events and the released shares, `by_chance` what independent
draws of as many events would have on average. The wide graph is made by hand, with many more queries and edges than
the published one.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

WIDE_QUERIES = 100_000
WIDE_URLS = 10
WIDE_NEXT = 5


def published() -> dict[str, pa.Table]:
    """The click graph of a generated log of 620,000 rows."""
    import queryveil as qv

    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.parquet"
        qv.generate(log, qv.LogSettings(version=1, users=20_000, rows=620_000, pool_size=20_000))
        method = qv.ClickGraph(
            epsilon=4,
            delta=1e-5,
            urls="private",
            epsilon_clicks=4,
            delta_clicks=1e-5,
            epsilon_reformulations=4,
            delta_reformulations=1e-5,
        )
        return dict(qv.publish(qv.read(log), method).tables)


def wide() -> dict[str, pa.Table]:
    """Noisy counts with a long tail, ten urls and five next queries for each query."""
    rng = np.random.default_rng(0)
    count = 300_000 / np.arange(1, WIDE_QUERIES + 1) ** 0.7 + 50
    names = pa.array([f"query {n}" for n in range(WIDE_QUERIES)])
    urls = pa.array([f"http://www.site-{n}.example/" for n in range(WIDE_QUERIES)])

    def edges(each: int, share: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        query = np.repeat(np.arange(WIDE_QUERIES), each)
        right = count[query] * share / each
        noisy = np.rint(rng.poisson(right) + rng.laplace(0, 5, len(query)))
        return query, rng.integers(0, WIDE_QUERIES, len(query)), noisy.astype(np.int64)

    def table(target: str, texts: pa.Array, each: int, share: float) -> pa.Table:
        query, at, noisy = edges(each, share)
        columns = {"query": names.take(pa.array(query)), target: texts.take(pa.array(at))}
        return pa.table({**columns, "count": noisy})

    return {
        "queries": pa.table({"query": names, "count": np.rint(count).astype(np.int64)}),
        "clicks": table("url", urls, WIDE_URLS, 0.6),
        "reformulations": table("next_query", names, WIDE_NEXT, 0.3),
    }


def once(graph: str, rows: int, suffix: str, tables: Path) -> dict[str, Any]:
    import queryveil as qv

    inside = {file.stem: pa.ipc.open_file(file).read_all() for file in tables.glob("*.arrow")}
    _ = qv.synthesize  # modules are loaded before the clock starts
    before = peak_mb()
    with tempfile.TemporaryDirectory() as folder:
        start, busy = time.perf_counter(), time.process_time()
        made = qv.synthesize(inside, Path(folder) / f"log.{suffix}", rows=rows)
        seconds, busy = time.perf_counter() - start, time.process_time() - busy
        figures = {
            "graph": graph,
            "format": suffix,
            "rows": made.rows,
            "users": made.users,
            "clicks": made.clicks,
            "seconds": round(seconds, 2),
            "cpu_seconds": round(busy, 2),
            "peak_mb": peak_mb(),
            "peak_mb_before": before,
        }
        return figures | (agreement(made.path, inside["queries"]) if suffix == "parquet" else {})


def peak_mb() -> int:
    """Of this process alone: what `resource` tells includes the process that started it."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="utf-8"))
    return int(found.group(1)) // 1_000 if found else 0


def agreement(log: Path, queries: pa.Table) -> dict[str, float]:
    import duckdb

    con = duckdb.connect()
    con.register("released", queries)
    found, expected = (
        con.execute(
            "WITH events AS (SELECT query, count(*) AS n FROM "
            f"(SELECT DISTINCT user, time, query FROM read_parquet('{log}')) GROUP BY query) "
            "SELECT coalesce(n, 0) AS found, greatest(count, 0) AS expected "
            "FROM released LEFT JOIN events USING (query)"
        )
        .fetchnumpy()
        .values()
    )
    total, share = found.sum(), expected / expected.sum()
    return {
        "queries": len(share),
        "distance": round(float(np.abs(found / total - share).sum() / 2), 5),
        "by_chance": round(float(np.sqrt(share * (1 - share) / (2 * np.pi * total)).sum()), 5),
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--formats", nargs="+", default=["parquet", "tsv", "tsv.gz"])
    parser.add_argument("--graphs", nargs="+", choices=("published", "wide"), default=["published", "wide"])
    parser.add_argument("--once", nargs=4, metavar=("GRAPH", "ROWS", "FORMAT", "TABLES"))
    given = parser.parse_args()
    if given.once:
        graph, rows, suffix, tables = given.once
        print(json.dumps(once(graph, int(rows), suffix, Path(tables))))
        return
    runs = []
    for graph in given.graphs:
        with tempfile.TemporaryDirectory() as folder:
            for name, table in {"published": published, "wide": wide}[graph]().items():
                with pa.ipc.new_file(Path(folder) / f"{name}.arrow", table.schema) as writer:
                    writer.write_table(table)
            for rows in given.rows:
                for suffix in given.formats:
                    command = [sys.executable, __file__, "--once", graph, str(rows), suffix, folder]
                    answer = subprocess.run(command, capture_output=True, text=True, check=True)
                    print(answer.stdout.strip(), file=sys.stderr)
                    runs.append(json.loads(answer.stdout))
    print(json.dumps(runs, indent=2))


if __name__ == "__main__":
    main()
