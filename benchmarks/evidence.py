"""Full-size evidence: `make evidence` runs what is missing and writes docs/evidence, one JSON file a part.

    python benchmarks/evidence.py [PART ...]
    python benchmarks/evidence.py --reduced PART ...   the same calls at a reduced size, into benchmarks/data/evidence

A part that has a file is not run again; remove the file to repeat it. Parts that are studies go on where they were
interrupted (benchmarks/data/studies), and are made from docs/evidence/findings if their study is kept there.
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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

import queryveil as qv
import study_runs
from queryveil.count.contribution import Bound
from queryveil.count.histories import collect_user_counts

HERE = Path(__file__).parent
EVIDENCE = HERE.parent / "docs" / "evidence"
REDUCED = HERE / "data" / "evidence"
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


def zealous() -> dict[str, Any]:
    """Published items against m on the three settings (delta 0.001, epsilon 2): the paper's table 3 in shape."""
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in SIZES:
            settings = qv.SETTINGS[f"{name}@1"]
            file = Path(folder) / f"{name}.parquet"
            qv.generate(file, settings)
            log = qv.read(file)
            for kind in qv.KINDS:
                for m in (1, 4, 8, 20, 40):
                    method = qv.Zealous(
                        epsilon=2, delta=1e-3, max_items=m, items=(kind,), guarantee="probabilistic"
                    )
                    released = qv.publish(log, method, allow_empty=True, i_understand=True)
                    found.setdefault(name, {}).setdefault(kind, {})[str(m)] = released.released["items"]
    return found


def script(name: str, *options: str) -> Callable[[], Any]:
    def run() -> Any:
        done = subprocess.run(
            [sys.executable, HERE / name, *options], capture_output=True, text=True, check=True
        )
        try:
            start = re.search(r"[{\[]", done.stdout)
            return json.loads(done.stdout[start.start() :] if start else "")
        except ValueError:  # no document: the lines that people read
            return done.stdout.splitlines()

    return run


RESUMED = ("paper-zealous", "paper-clump")
INVERSION = ("hash-inversion", "expansion", "gap")
SHARES = ("release-d", "release-epsilon-delta", "release-span", "keyword-generation")
STUDIED = (*SHARES, *INVERSION, "profiles", "exposure", "clump-version-2")
"""Parts that can be run at a reduced size."""
UNTIMED = (*RESUMED, *STUDIED, "set-union")
"""Parts that go on where an earlier run stopped, so that their time says nothing."""
PARTS: dict[str, Callable[[], Any]] = {
    "generator": generator,
    "engines": engines,
    "zealous": zealous,
    "noise": script("noise.py", "--json"),
    "publish": script("publish.py"),
    "publish-large": script(
        "publish.py",
        *("--rows", "10000000", "100000000", "--runs", "1", "--methods", "zealous", "--limit-gb", "4"),
    ),
    "reading": script("reading.py"),
    "transactions": script("transactions.py", "--json"),
    **{name: study_runs.evidence(name) for name in SHARES},
    "release-versions": script(
        "versions.py",
        *("release-d", "--json", "--vary", "d=1,5,10,20,40,80,160", "--vary", "analysis=tight"),
        *("--set", "days=7", "--set", "users=170000"),
    ),
    "release-people": script(
        "versions.py",
        *(
            "release-d",
            "--json",
            "--versions",
            "2",
            "--rows",
            "62500,250000,1000000",
            "--rows-per-user",
            "5.88",
        ),
        *("--set", "days=7", "--vary", "d=20", "--vary", "analysis=tight"),
    ),
    "short-ids": script("short_ids.py", "--json"),
    "short-ids-large": script(
        "short_ids.py", "--json", *("--rows", "3000000", "--users", "15000", "--lifetimes", "3650")
    ),
    "profiles": study_runs.profiles,
    **{name: study_runs.inversion(name) for name in INVERSION},
    "hash-inversion-speed": script("hash_inversion.py"),
    "inversion-choices": script("inversion_choices.py"),
    "inversion-large": script("inversion_choices.py", "--largest", "64000"),
    "keyword-speed": script("keyword_generation.py", "--json"),
    "synthesize": script("synthesize.py"),
    "taxonomy": script("taxonomy.py"),
    "measures": script("measures.py"),
    "active-attack": script("active_attack.py"),
    "k-session": script("k_session.py", "--sessions", "1000000", "--k", "5"),
    "scrubbing": script("scrubbing.py"),
    "spotting": script("spotting.py"),
    "exposure": study_runs.exposure,
    "set-union": study_runs.set_union,
    **{
        part: script(
            "papers.py",
            part.removeprefix("paper-"),
            *("--json", "--out", str(HERE / "data" / part)),
            *(("--keep",) if part == "paper-clump" else ()),  # the docs' figures are of the same log
        )
        for part in RESUMED
    },
    "clump-version-2": study_runs.clump_version_2,
    "profile-interests": script("profile_interests.py", "--json"),
    "profile-choices": script("profile_choices.py", "--json"),
    "count-units": script("count_units.py", "--json", *("--rows", "2000000", "--users", "100000")),
    "hit-shares": script("hit_shares.py", "--json"),
    "clump-shapes": script("clump_shapes.py", "--json"),
    "drift-distances": script("drift_distances.py", "--json"),
    "heap-chance": script("heap_chance.py", "--json"),
    "heap-readings": script("heap_readings.py", "--json"),
    "language": script("language.py"),
    "semantic": script("semantic.py", "--lengths", "1,4"),
    "audit": script("audit.py", "--runs", "200000"),
    "audit-power": script("audit_power.py"),
    "audit-peers": script("audit_peers.py"),
    "audit-planted": script("audit_planted.py"),
}

PRINTED = {
    "release-versions": "Released shares of a week by both versions of the generator",
    "release-people": "Released shares by the number of people",
    "short-ids": "Released shares of a year whose ids do not last",
    "short-ids-large": "Released shares of a large year",
    "profile-interests": "Losses of user profiles by how many interests users have",
    "profile-choices": "Losses of user profiles by what counts as an ancestor and as a topic",
    "count-units": "ZEALOUS and k-query anonymity beside one histogram of the log",
    "hit-shares": "Hits of an index by shares of the log and of the release",
    "clump-shapes": "Clump and Partition on transactions of several shapes",
    "drift-distances": "Distances of words in logs of different times",
    "heap-chance": "The continuous update of hash inversion by chance and by size",
    "heap-readings": "The continuous update of hash inversion by how its step is read",
    "hash-inversion-speed": "Hash inversion",
    "inversion-choices": "Choices of hash inversion",
    "inversion-large": "Hash inversion of 64,000 words",
    "measures": "Every measure on a million rows",
    "active-attack": "Fake accounts against every method, on a million rows",
    "keyword-speed": "Keyword generation on a million edges",
    "synthesize": "Synthetic logs",
    "taxonomy": "The taxonomy",
    "k-session": "A million sessions, k-anonymous",
    "scrubbing": "Identifiers found and missed",
    "spotting": "Persons and places found and missed",
    "language": "Queries to concepts",
    "semantic": "Semantic perturbation",
    "clump-version-2": "Clump on a log of version 2",
    "audit": "Every private method audited",
    "audit-power": "What an audit sees, for noise scaled by 0.5 to 1.5",
    "audit-peers": "Thresholding of other libraries audited",
    "audit-planted": "Planted defects, and the runs that it takes to catch each",
}
"""Parts whose benchmark's own output is shown."""


READ_AS = {"ceiling": "all others known"}
"""What figures are called where people read them: matching one to one can exceed first choices among known others."""


def figures_of(part: str) -> Any:
    file = EVIDENCE / f"{part}.json"
    return json.loads(file.read_text())["figures"] if file.exists() else None


def table(head: str, rows: list[str]) -> list[str]:
    return ["", head, "|" + "---|" * (head.count("|") - 1), *rows, ""]


def page() -> str:
    """docs/evidence/index.md from the JSON files."""
    lines = [
        "# Evidence",
        "",
        "Figures of full-size runs on a machine with 2 cores, written by `make evidence` from the JSON files here.",
        "Generated logs are those of [version 1](../reference/generator.md#versions), but for `release-d`,",
        "`release-epsilon-delta` and `release-span`, whose logs are of version 2.",
        "",
    ]
    for part, section in sections().items():
        if found := figures_of(part):
            lines += section(found)
    return "\n".join(lines).rstrip() + "\n"


def sections() -> dict[str, Callable[[Any], list[str]]]:
    """How each part is shown, in the order of the page."""
    own = {
        "publish": publish_section,
        "publish-large": publish_large_section,
        "reading": reading_section,
        "engines": engines_section,
        "noise": noise_section,
        "generator": generator_section,
        "zealous": zealous_section,
    }
    return {
        **own,
        **{name: functools.partial(study_section, name) for name in SHARES},
        **{name: functools.partial(inversion_section, name) for name in INVERSION},
        "profiles": profiles_section,
        "transactions": transactions_section,
        "exposure": exposure_section,
        "set-union": union_section,
        **dict.fromkeys(RESUMED, paper_section),
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


def zealous_section(found: dict[str, Any]) -> list[str]:
    lines = ["## Published items against items per user", "", "Epsilon 2, delta 0.001, probabilistic."]
    rows = [
        f"| {name} | {kind} | {' | '.join(f'{number:,}' for number in counts.values())} |"
        for name, kinds in found.items()
        for kind, counts in kinds.items()
    ]
    return lines + table("| setting | items | m = 1 | 4 | 8 | 20 | 40 |", rows)


def printed_section(title: str, found: Any) -> list[str]:
    """What a benchmark printed, or its document."""
    printed = isinstance(found, list) and all(isinstance(one, str) for one in found)
    shown = found if printed else json.dumps(found, indent=2).splitlines()
    return [f"## {title}", "", *(f"    {line}".rstrip() for line in shown), ""]


def profiles_section(found: dict[str, Any]) -> list[str]:
    lines = [
        "## Study: profiles",
        "",
        f"{found['users']:,} users of about {found['phrases']} phrases, means of {found['repeats']} runs, "
        f"{found['seconds']:.0f} s. Losses in bits;",
        f"their standard error is {found['largest_standard_error']:.3f} at most. [What the paper found, and why it "
        "differs](../studies/profiles.md).",
    ]
    for per, settings in found["losses"].items():
        rows = [
            f"| {setting} | {criterion} | {' | '.join(f'{loss:.3f}' for loss in losses.values())} |"
            for setting, criteria in settings.items()
            for criterion, losses in criteria.items()
        ]
        epsilons = list(next(iter(next(iter(settings.values())).values())))
        lines += table(f"| setting | criterion | epsilon per {per} {' | '.join(epsilons)} |", rows)
    lines += [f"- {_verdict(check)}: {check['name']} ({check['detail']})" for check in found["checks"]]
    return [*lines, ""]


def inversion_section(name: str, found: dict[str, Any]) -> list[str]:
    """A study of hash inversion: what has one value a point in a table, the rest in the JSON file."""
    shown = (
        "accuracy",
        "matchable",
        "ceiling",
        "iterations",
        "seconds",
        "top-half",
        "bottom-half",
        "before-update",
    )
    columns = [*found["axes"], *(key for key in shown if any(key in point for point in found["points"]))]

    def cell(value: Any) -> str:
        shown = value.get("l1") if isinstance(value, dict) else value
        return _cell(int(shown) if isinstance(shown, float) and shown >= 100 else shown)

    rows = [
        f"| {' | '.join(cell(point.get(column)) for column in columns)} |"
        for point in found["points"]
        if "accuracy" in point
    ]
    return [
        f"## Study: {name}",
        "",
        f"[What the paper found, and why it differs](../studies/{name}.md). Further figures of each point are in "
        f"`{name}.json`.",
        *table(f"| {' | '.join(READ_AS.get(column, column) for column in columns)} |", rows),
        *(f"- {_verdict(check)}: {check['name']} ({check['detail']})" for check in found["checks"]),
        "",
    ]


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
        "[What they keep of a log](../studies/clump-quality.md).",
        "",
    ]


def exposure_section(found: dict[str, Any]) -> list[str]:
    """Different queries by what they hold, a column for each method."""
    methods = list(found["queries"])
    rows = [
        f"| {category} | {' | '.join(_cell(found['queries'][method].get(category)) for method in methods)} |"
        for category in next(iter(found["queries"].values()))
    ]
    return [
        "## Study: exposure",
        "",
        f"{found['rows']:,} rows, {found['users']:,} users, generated with seed 1. Different queries; the most of "
        "several releases. Sessions and",
        "occurrences are in `exposure.json`. [What the paper found, and why it differs](../studies/exposure.md).",
        *table(f"| | {' | '.join(methods)} |", rows),
        *(f"- {_verdict(check)}: {check['name']} ({check['detail']})" for check in found["checks"]),
        "",
    ]


def union_section(found: dict[str, Any]) -> list[str]:
    """Every method at its best number of items per user: queries with their interval, and the share of events."""
    lines = [
        "## Study: set-union",
        "",
        "Different queries published (95 % interval over the runs), the share of query events, and the items per user",
        "(d) that are best on that log; steered has its default. [What it means](../studies/set-union.md).",
    ]
    for setting, one in found.items():
        lines += ["", f"{setting}: {one['users']:,} users, {one['rows']:,} rows, delta {one['delta']:g}."]
        epsilons = list(dict.fromkeys(point["epsilon"] for point in one["points"]))
        head = " | ".join(f"epsilon {epsilon:.4g}" for epsilon in epsilons)
        rows = []
        for method in dict.fromkeys(point["method"] for point in one["points"]):
            own = {point["epsilon"]: point for point in one["points"] if point["method"] == method}
            rows.append(f"| {method} | {' | '.join(_union_cell(own.get(at)) for at in epsilons)} |")
        lines += table(f"| method | {head} |", rows)
        errors = [
            f"| {point['epsilon']:.4g} | {' | '.join(f'{point[key][0]:.1f}' for key in _ERRORS)} |"
            for point in one["points"]
            if _ERRORS[0] in point
        ]
        lines += ["Counts of steered, in percent:"]
        lines += table("| epsilon | median error | of the top 100 | bias | useless |", errors)
        lines += [f"- {_verdict(check)}: {check['name']} ({check['detail']})" for check in one["checks"]]
    return [*lines, ""]


_ERRORS = ("count-error", "count-error-top", "count-bias", "counts-useless")


def _union_cell(point: dict[str, Any] | None) -> str:
    if point is None:
        return ""
    mean, low, high = point["distinct"]
    return f"{mean:,.0f} ({low:,.0f} to {high:,.0f}), {point['events'][0]:.1f} %, d {point['d']}, {point['runs']} runs"


def paper_section(found: dict[str, Any]) -> list[str]:
    """All studies of one paper: whether the expected shapes are there. The figures are in the JSON file."""
    paper = found["paper"]
    lines = [
        f"## All studies of a paper: {paper}",
        "",
        f"`benchmarks/papers.py {paper}`: {found['rows']:,} rows, {found['users']:,} users. Every figure is in "
        f"`paper-{paper}.json`.",
        "",
    ]
    for name, study in found["studies"].items():
        lines += [f"[{name}](../studies/{name}.md)", ""]
        lines += [f"- {_verdict(check)}: {check['name']} ({check['detail']})" for check in study["checks"]]
        lines += [""]
    return lines


def study_section(name: str, found: dict[str, Any]) -> list[str]:
    """A study: its figures point by point, and whether the expected shapes are there."""
    lines = [
        f"## Study: {name}",
        "",
        f"{found['rows']:,} rows, {found['users']:,} users, generated with seed 1.",
    ]
    lines += [
        f"[What the paper found, and why it differs](../studies/{name}.md).",
        "'expected' is exact, over the noise; 'released' is a mean of real releases.",
    ]
    columns = [*found["axes"], *(key for key in found["points"][0] if key not in found["axes"])]
    points = [" | ".join(_cell(point.get(column)) for column in columns) for point in found["points"]]
    lines += table(f"| {' | '.join(columns)} |", [f"| {point} |" for point in points])
    lines += [f"- {_verdict(check)}: {check['name']} ({check['detail']})" for check in found["checks"]]
    return [*lines, ""]


def _verdict(check: dict[str, Any]) -> str:
    return "too small to tell" if check.get("undecided") else "pass" if check["passes"] else "FAIL"


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return value.partition(":")[0]
    return "" if value is None else f"{value:.3g}" if isinstance(value, float) else f"{value:,}"


def write(name: str, folder: Path, part: Callable[[], Any]) -> None:
    """The file of a part, unless it is there."""
    file = folder / f"{name}.json"
    if file.exists():
        print(f"{name}: kept {file.name}")
        return
    start = time.perf_counter()
    figures = part()
    seconds = round(time.perf_counter() - start, 1)
    about: dict[str, Any] = {"part": name, "python": platform.python_version()}
    if name not in UNTIMED:
        about["seconds"] = seconds
    about |= {"duckdb": duckdb.__version__, "figures": figures}
    folder.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(about, indent=2) + "\n")
    print(f"{name}: wrote {file.name} in {seconds} s")


def main() -> int:
    reduced = "--reduced" in sys.argv[1:]
    names = [name for name in sys.argv[1:] if name != "--reduced"] or list(STUDIED if reduced else PARTS)
    if strange := [name for name in names if name not in (STUDIED if reduced else PARTS)]:
        print(
            f"there is no part {', '.join(strange)}: use some of {', '.join(STUDIED if reduced else PARTS)}"
        )
        return 2
    for name in names:
        if reduced:
            write(name, REDUCED, functools.partial(PARTS[name], reduced=True))
        else:
            write(name, EVIDENCE, PARTS[name])
    if not reduced:
        (EVIDENCE / "index.md").write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
