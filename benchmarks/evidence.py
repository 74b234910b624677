"""Full-size evidence: `make evidence` runs what is missing and writes docs/evidence, one JSON file a part.

    python benchmarks/evidence.py [PART ...]

A part that has a file is not run again; remove the file to repeat it. `lab/benchmarks/study_evidence.py` does the same
for the lab.
"""

from __future__ import annotations

import functools
import json
import platform
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import duckdb

import queryveil as qv
from queryveil.count.contribution import Bound
from queryveil.count.histories import collect_user_counts

HERE = Path(__file__).parent
EVIDENCE = HERE.parent / "docs" / "evidence"
SIZES = ("small", "medium", "large")
"""Of version 1 of the generator, as all logs here: so that figures of different parts can be compared."""


def engines() -> dict[str, Any]:
    """1,000,000 rows, every item kind, DuckDB and Spark: equal counts before noise, and a release of each."""
    found: dict[str, Any] = {"rows": 1_000_000, "kinds": {}}
    with tempfile.TemporaryDirectory() as folder:
        log_file = Path(folder) / "log.parquet"
        qv.generate(log_file, qv.LogSettings(version=1, rows=1_000_000, seed=1))
        logs = {name: qv.read(log_file, engine=name) for name in ("duckdb", "spark")}
        for kind in qv.KINDS.values():
            histograms: dict[str, Any] = {}
            row: dict[str, Any] = {}
            for name, log in logs.items():
                start = time.perf_counter()
                bound = Bound(most=5, salt=b"evidence")
                table = collect_user_counts(log, kind, bound).users_per_item()
                row[f"{name}_seconds"] = round(time.perf_counter() - start, 1)
                items = zip(*(table[column].to_pylist() for column in kind.columns), strict=True)
                histograms[name] = dict(zip(items, table["count"].to_pylist(), strict=True))
                method = qv.Zealous(
                    epsilon=4, delta=1e-3, max_items=5, items=(kind.name,), guarantee="probabilistic"
                )
                out = Path(folder) / f"{name}-{kind.name}"
                released = qv.publish(log, method, out=out, allow_empty=True, i_understand=True)
                row[f"{name}_released"] = released.released["items"]
                row[f"{name}_verified"] = qv.verify(out).passes
            row["distinct_items"] = len(histograms["duckdb"])
            row["equal_counts"] = histograms["duckdb"] == histograms["spark"]
            found["kinds"][kind.name] = row
    return found


def generator() -> dict[str, Any]:
    """The three fixed settings: time, size, distinct items, uniqueness."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in SIZES:
            settings = qv.SETTINGS[f"{name}@1"]
            file = Path(folder) / f"{name}.parquet"
            start = time.perf_counter()
            made = qv.generate(file, settings)
            seconds = round(time.perf_counter() - start, 1)
            seen = qv.inspect(qv.read(file))
            found[name] = {"users": made.users, "rows": made.rows, "seconds": seconds, "items": seen.items}
            found[name] |= {"uniqueness": seen.uniqueness, "secrets": sum(made.secrets.values())}
    return found


def script(name: str, *options: str, folder: Path = HERE) -> Callable[[], Any]:
    """Return what runs a benchmark of a folder, and reads what it prints."""

    def run() -> Any:
        done = subprocess.run(
            [sys.executable, folder / name, *options], capture_output=True, text=True, check=True
        )
        try:
            start = re.search(r"[{\[]", done.stdout)
            return json.loads(done.stdout[start.start() :] if start else "")
        except ValueError:  # no document: the lines that people read
            return done.stdout.splitlines()

    return run


PARTS: dict[str, Callable[[], Any]] = {
    "generator": generator,
    "engines": engines,
    "noise": script("noise.py", "--json"),
    "publish": script("publish.py"),
    "publish-large": script(
        "publish.py",
        *("--rows", "10000000", "100000000", "--runs", "1", "--methods", "zealous", "--limit-gb", "4"),
    ),
    "reading": script("reading.py"),
    "transactions": script("transactions.py", "--json"),
    "keyword-speed": script("keyword_generation.py", "--json"),
    "synthesize": script("synthesize.py"),
    "taxonomy": script("taxonomy.py"),
    "measures": script("measures.py"),
    "k-session": script("k_session.py", "--sessions", "1000000", "--k", "5"),
    "scrubbing": script("scrubbing.py"),
    "spotting": script("spotting.py"),
    "language": script("language.py"),
    "semantic": script("semantic.py", "--lengths", "1,4"),
}

PRINTED = {
    "measures": "Every measure on a million rows",
    "keyword-speed": "Keyword generation on a million edges",
    "synthesize": "Synthetic logs",
    "taxonomy": "The taxonomy",
    "k-session": "A million sessions, k-anonymous",
    "scrubbing": "Identifiers found and missed",
    "spotting": "Persons and places found and missed",
    "language": "Queries to concepts",
    "semantic": "Semantic perturbation",
}
"""Parts whose benchmark's own output is shown."""


def figures_of(part: str, folder: Path) -> Any:
    file = folder / f"{part}.json"
    return json.loads(file.read_text())["figures"] if file.exists() else None


def table(head: str, rows: list[str]) -> list[str]:
    return ["", head, "|" + "---|" * (head.count("|") - 1), *rows, ""]


HEAD = """# Evidence

Figures of full-size runs on a machine with 2 cores, written by `make evidence` from the JSON files here.
Generated logs are those of [version 1](../reference/generator.md#versions).
"""


def page(head: str, sections: Mapping[str, Callable[[Any], list[str]]], folder: Path) -> str:
    """Return the page of a folder of JSON files."""
    lines = [*head.splitlines(), ""]
    for part, section in sections.items():
        if found := figures_of(part, folder):
            lines += section(found)
    return "\n".join(lines).rstrip() + "\n"


def sections() -> dict[str, Callable[[Any], list[str]]]:
    """How each part is shown, in the order of the page."""
    return {
        "publish": publish_section,
        "publish-large": publish_large_section,
        "reading": reading_section,
        "engines": engines_section,
        "noise": noise_section,
        "generator": generator_section,
        "transactions": transactions_section,
        **{part: functools.partial(printed_section, title) for part, title in PRINTED.items()},
    }


def publish_section(found: dict[str, Any]) -> list[str]:
    lines = [
        "## Publishing 20 million rows",
        "",
        f"`benchmarks/publish.py`: medians of {found['runs']} runs, each a process between two bare counts: DuckDB's",
        "`count(DISTINCT user)` by query of the same file. Ratios are to the mean of these two. All stages of",
        "publishing are inside, text normalisation among them. `zealous` keeps",
        f"{found['max_items']} queries of a user, `steered` 100. Aims at 20 million rows: 1.0 for `zealous`, 3 for",
        "`steered`, and at most 2 GB.",
    ]
    lines += publish_table(found)
    low, high = (edge(one["load"][at] for one in found["sizes"]) for at, edge in ((0, min), (1, max)))
    return [
        *lines,
        f"Meanwhile {low} to {high} processes wanted one of the 2 cores; above 2, seconds say little. In the smaller",
        "log, what every run has to do once weighs more.",
        "",
    ]


def publish_table(found: dict[str, Any]) -> list[str]:
    """A row for the bare count and for each method, size by size."""
    rows = []
    for size in found["sizes"]:
        for method in (one for one in ("bare", "zealous", "steered") if one in size):
            one = size[method]
            ratios = [
                f"{one[name]:.2f}" if name in one else "" for name in ("seconds_ratio", "cpu_seconds_ratio")
            ]
            name = "bare count" if method == "bare" else f"`publish {method}`"
            rows.append(
                f"| {size['rows']:,} | {name} | {one['seconds']} | {ratios[0]} | {one['cpu_seconds']} | {ratios[1]} "
                f"| {one['peak_gb']} GB |"
            )
    return table("| rows | | seconds | ratio | processor seconds | ratio | peak memory |", rows)


def publish_large_section(found: dict[str, Any]) -> list[str]:
    grown, bare = found["growth"]["zealous"], found["growth"]["bare"]
    return [
        "## Publishing 100 million rows in 4 GB",
        "",
        f"The same with no more than {found['limit_gb']:g} GB of address space for `publish`; runs of each:",
        f"{found['runs']}.",
        *publish_table(found),
        f"From the smallest to the largest log, time grows with the power {grown['seconds']} of the rows by the clock",
        f"and {grown['cpu_seconds']} in processor time (the aim is 1.1); that of the bare count with",
        f"{bare['seconds']} and {bare['cpu_seconds']}.",
        "",
    ]


READING_AIM = 0.5
SLOWER_BECAUSE = {
    "jsonl": "documents with escapes are parsed a second time, and every row is judged and written",
    "ubi": "fifteen places of each document are looked up and judged, and clicks are joined with their searches",
    "algolia": "a document becomes a row for each of its objects, and rows are joined as those of UBI",
    "duckdb": "rows are copied to Parquet, judged there, and DuckDB judges none",
}
"""Why a format may be slower than half of what stands beside it."""


def reading_section(found: dict[str, Any]) -> list[str]:
    lines = [
        "## Reading each format",
        "",
        f"`benchmarks/reading.py`: {found['rows']:,} rows in each format. Ours parses, judges and stages every row;",
        "DuckDB loads the same file with its own reader into a table, and judges nothing. Where it has no reader",
        "of the format, lines of text as one column, or the same rows as Parquet, are less than the job: their ratio",
        "is shown, but the aim is about SQL of DuckDB that takes the same fields out of the same file, or about",
        "Python's sqlite3 that hands DuckDB the rows. A ratio is DuckDB's processor seconds over ours, by turns,",
        f"median of three: above 1 we are faster. The aim is {READING_AIM} of DuckDB's reader where it has one,",
        "else of the job done by SQL.",
    ]
    head = "| format | rows per processor second | ratio | beside | other ratios | aim |"
    return [*lines, *table(head, [reading_row(name, one) for name, one in found["formats"].items()])]


def reading_row(name: str, one: dict[str, Any]) -> str:
    ratios = one.get("ratios") or {
        one["beside"]: one["ratio"]
    }  # figures of before the job stood beside us, too
    beside = one.get("judged_by") or one["beside"]
    short = ratios[beside] < READING_AIM
    why = SLOWER_BECAUSE.get(name, "every row is judged and written, and DuckDB judges none")
    missed = f"missed, {READING_AIM / ratios[beside]:.1f} times too slow: {why}" if short else "reached"
    others = ", ".join(f"{ratio:.2f} ({what})" for what, ratio in ratios.items() if what != beside)
    return f"| {name} | {one['per_second']:,} | {ratios[beside]:.2f} | {beside} | {others} | {missed} |"


def engines_section(found: dict[str, Any]) -> list[str]:
    lines = [
        "## Two engines, one histogram",
        "",
        "A million rows, five items per user, portable key; counts before noise are compared item by item.",
    ]
    rows = [
        f"| {kind} | {one['distinct_items']:,} | {'yes' if one['equal_counts'] else 'NO'} "
        f"| {one['duckdb_seconds']} | {one['spark_seconds']} |"
        for kind, one in found["kinds"].items()
    ]
    return lines + table("| items | distinct | equal | DuckDB, s | Spark (local), s |", rows)


def noise_section(found: dict[str, Any]) -> list[str]:
    lines = ["## Noise", "", "Exact discrete Laplace draws per second on one core, in one run."]
    rows = [
        f"| {one['scale']:g} | {one['queryveil'] / 1e6:.1f} million | {one['opendp'] / 1e3:.0f} thousand "
        f"| {one['ratio']:.0f} |"
        for one in found["draws_per_second"]
    ]
    return lines + table("| scale | queryveil | OpenDP | ratio |", rows)


def generator_section(found: dict[str, Any]) -> list[str]:
    lines = ["## The three generated logs"]
    rows = [
        f"| {name} | {one['users']:,} | {one['rows']:,} | {one['seconds']} "
        f"| {one['items']['queries']['distinct']:,} "
        f"| {', '.join(f'{100 * share:.0f} %' for share in one['uniqueness'].values())} |"
        for name, one in found.items()
    ]
    return lines + table(
        "| setting | users | rows | seconds | distinct queries | unique by 1, 2, 3 queries |", rows
    )


def printed_section(title: str, found: Any) -> list[str]:
    """What a benchmark printed, or its document."""
    printed = isinstance(found, list) and all(isinstance(one, str) for one in found)
    shown = found if printed else json.dumps(found, indent=2).splitlines()
    return [f"## {title}", "", *(f"    {line}".rstrip() for line in shown), ""]


def transactions_section(found: dict[str, Any]) -> list[str]:
    head, growth = found["headline"], found["growth"]
    rows = [
        f"| {int(size):,} | {seconds['processor_seconds']:.2f} "
        f"| {growth['partition'][size]['processor_seconds']:.2f} |"
        for size, seconds in growth["clump"].items()
    ]
    ratios = [one["partition_to_clump"] for one in found["wide-nodes"].values()]
    return [
        "## Clump and Partition",
        "",
        f"`benchmarks/transactions.py`: random transactions of {head['mean_length']:g} WordNet nouns, k = 5, r = 10, "
        "one core.",
        f"Clump on {head['transactions']:,} of them: {head['processor_seconds']:.1f} s (the aim is 10), "
        f"{head['peak_gb']:.2f} GB in all (the aim is 1).",
        *table("| transactions | Clump, s | Partition, s |", rows),
        f"Time grows with the power {growth['clump_exponent']:.2f} of their number (the aim is 1.1), Partition's with "
        f"{growth['partition_exponent']:.2f}.",
        f"On trees with wide nodes Partition takes {min(ratios):.2f} to {max(ratios):.2f} of Clump's time.",
        "[What they keep of a log](../../lab/docs/studies/clump-quality.md).",
        "",
    ]


def write(name: str, folder: Path, part: Callable[[], Any], *, timed: bool = True) -> None:
    """Write the file of a part, unless it exists."""
    file = folder / f"{name}.json"
    if file.exists():
        print(f"{name}: kept {file.name}")
        return
    start = time.perf_counter()
    figures = part()
    seconds = round(time.perf_counter() - start, 1)
    about: dict[str, Any] = {"part": name, "python": platform.python_version()}
    if timed:
        about["seconds"] = seconds
    about |= {"duckdb": duckdb.__version__, "figures": figures}
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(about, indent=2) + "\n")
    print(f"{name}: wrote {file.name} in {seconds} s")


def unknown(names: list[str], known: Iterable[str]) -> bool:
    """Say which of the names are not those of parts."""
    strange = [name for name in names if name not in known]
    if strange:
        print(f"there is no part {', '.join(strange)}: use some of {', '.join(known)}")
    return bool(strange)


def main() -> int:
    names = sys.argv[1:] or list(PARTS)
    if unknown(names, PARTS):
        return 2
    for name in names:
        write(name, EVIDENCE, PARTS[name])
    (EVIDENCE / "index.md").write_text(page(HEAD, sections(), EVIDENCE))
    return 0


if __name__ == "__main__":
    sys.exit(main())
