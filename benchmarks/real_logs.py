"""Generated logs beside published figures of real ones: what docs/reference/generated-and-real.md shows.

    python benchmarks/real_logs.py [--write] [--excite FILE]

`--write` puts the tables into the page. FILE is the sample of Excite's log that comes with Apache Pig's tutorial
(excite-small.log), which is not in this repository: its table is left as it is without it.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import queryveil as qv
from queryveil.synthetic.generator import generate_batches
from queryveil.synthetic.generator.pool import make_pool

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "generated-and-real.md"
NEAR = 0.2
# A thirty-third of AOL's users with as many rows each over as many days; and a day of Excite, a fifth of it.
AOL = {"users": 20_000, "rows": 1_107_000, "days": 92, "seed": 1}
EXCITE = {"users": 42_000, "rows": 204_000, "days": 1, "seed": 1}
SAMPLE = {"user": 1, "time": 2, "query": 3}


@dataclass(frozen=True)
class Seen:
    """A generated log, measured."""

    figures: qv.LogStatistics
    navigational: float

    @classmethod
    def of(cls, settings: qv.LogSettings) -> Seen:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "log.parquet"
            qv.generate(file, settings)
            pool = make_pool(settings.total_pool, settings.world, settings.version)
            sought = pool.text.filter(pool.navigational)
            queries = pc.utf8_lower(pq.read_table(file, columns=["query"])["query"])
            share = pc.mean(pc.is_in(queries, value_set=sought)).as_py()
            return cls(qv.figures_of(qv.read(file)), share)


@dataclass(frozen=True)
class Published:
    """A figure of a real log, and the same of ours."""

    name: str
    value: float
    of: str  # whose, and when
    source: str
    ours: Callable[[Seen], float]
    day: bool = False  # compared with the log of one day
    why: str = ""  # why it differs, where it does
    share: bool = True


def _rank(number: int) -> Callable[[Seen], float]:
    return lambda seen: seen.figures.ranks[number - 1] if seen.figures.ranks else 0.0


ROWS = (
    Published(
        "share of the most frequent query",
        0.009,
        "AOL 2006",
        "memory",
        lambda seen: seen.figures.top[1],
    ),
    Published(
        "share of the 10 most frequent queries",
        0.031,
        "AOL 2006",
        "memory",
        lambda seen: seen.figures.top[10],
        why="the pool's sites follow each other more closely than AOL's, whose first is far ahead",
    ),
    Published(
        "share of the 25 most frequent queries",
        0.015,
        "AltaVista 1998",
        "S",
        lambda seen: seen.figures.top[25],
        why="heads seem to have grown since 1998: the default follows AOL, eight years later, and `zipf=0.7` comes "
        "nearer to AltaVista",
    ),
    Published(
        "different queries per query",
        10_154_742 / 21_011_340,
        "AOL 2006, 21 million queries",
        "A",
        lambda seen: seen.figures.distinct,
    ),
    Published(
        "... of one day",
        0.646,
        "Excite 1999, 2.5 million queries",
        "memory",
        lambda seen: seen.figures.distinct,
        day=True,
    ),
    Published(
        "share of different queries made once",
        0.637,
        "AltaVista 1998",
        "memory",
        lambda seen: seen.figures.once,
    ),
    Published(
        "rows per user, median (55 on average)",
        17,
        "AOL 2006",
        "E",
        lambda seen: seen.figures.rows_median,
        share=False,
    ),
    Published(
        "users with one row",
        0.087,
        "AOL 2006",
        "E",
        lambda seen: seen.figures.rows_one,
        why="one spread of activity for all: AOL has some more users who came just once",
    ),
    Published("users with five rows or more", 0.77, "AOL 2006", "E", lambda seen: seen.figures.rows_five),
    Published("share of the busiest fifth of users", 0.70, "AOL 2006", "L", lambda seen: seen.figures.heavy),
    Published(
        "users with one query in a day",
        0.484,
        "Excite 1997",
        "memory",
        lambda seen: seen.figures.queries_one,
        day=True,
        why="one spread of activity fits both AOL's three months and Excite's day only roughly",
    ),
    Published(
        "queries that repeat one of the same user",
        0.33,
        "Yahoo 2004 to 2005",
        "T",
        lambda seen: seen.figures.repeats,
    ),
    Published(
        "words per query",
        2.35,
        "AltaVista 1998",
        "S",
        lambda seen: seen.figures.words,
        share=False,
    ),
    Published(
        "queries per session",
        2.91,
        "AltaVista 2002",
        "memory",
        lambda seen: seen.figures.session_mean or 0,
        share=False,
    ),
    Published(
        "sessions of one query",
        0.476,
        "AltaVista 2002",
        "memory",
        lambda seen: seen.figures.session_one or 0,
    ),
    Published(
        "sessions of one query, cut after 5 minutes",
        0.776,
        "AltaVista 1998",
        "S",
        lambda seen: seen.figures.session_one or 0,
        why="ours are cut after 30 minutes, and 2002 is followed where the two differ",
    ),
    Published(
        "rows with a click",
        19_442_629 / 36_389_567,
        "AOL 2006",
        "A",
        lambda seen: seen.figures.clicks or 0,
    ),
    Published("clicks of the first page: rank 1", 0.472, "AOL 2006", "D", _rank(1)),
    Published("... rank 2", 0.133, "AOL 2006", "D", _rank(2)),
    Published("... rank 3", 0.094, "AOL 2006", "D", _rank(3)),
    Published("... rank 10", 0.033, "AOL 2006", "D", _rank(10)),
    Published(
        "busiest hour",
        0.067,
        "AOL 2003",
        "memory",
        lambda seen: max(seen.figures.hours or (0,)),
    ),
    Published(
        "quietest hour",
        0.0075,
        "AOL 2003",
        "memory",
        lambda seen: min(seen.figures.hours or (0,)),
    ),
    Published(
        "queries that look for a site",
        0.20,
        "AltaVista 2001",
        "memory",
        lambda seen: seen.navigational,
        why="only the plain names and addresses of sites are counted here, and only if they are in the pool; people "
        "who judge queries also count brands, and words around a site's name. Of the 10 most frequent queries all are "
        "sites, of the 100 most frequent 70",
    ),
)


def cell(value: float, share: bool) -> str:
    return f"{100 * value:.3g} %" if share else f"{value:.3g}"


def compared() -> list[str]:
    """The table of published figures, with version 2 and version 1 beside them."""
    seen = {
        (version, day): Seen.of(qv.LogSettings(version=version, **(EXCITE if day else AOL)))
        for version in (2, 1)
        for day in (False, True)
    }
    lines = [
        "| figure | real | whose | ours | off by | version 1 |",
        "|---|---|---|---|---|---|",
    ]
    notes = []
    for row in ROWS:
        ours, former = (row.ours(seen[version, row.day]) for version in (2, 1))
        off = ours / row.value - 1
        mark = ""
        if abs(off) > NEAR:
            notes.append(f"{len(notes) + 1}. **{row.name.lstrip('. ')}**: {row.why or 'NOT EXPLAINED'}.")
            mark = f" ({len(notes)})"
        real, here, before = (cell(value, row.share) for value in (row.value, ours, former))
        whose = f"{row.of} [{row.source}]"
        lines.append(f"| {row.name} | {real} | {whose} | {here} | {100 * off:+.0f} %{mark} | {before} |")
    near = sum("%" in line and "(" not in line.split("|")[5] for line in lines[2:])
    return [
        *lines,
        "",
        f"{near} of {len(ROWS)} are within {100 * NEAR:.0f} %. Those that are not:",
        "",
        *notes,
    ]


NAMES = {
    "top 1": "share of the most frequent query",
    "top 10": "... of the 10 most frequent",
    "top 100": "... of the 100 most frequent",
    "distinct": "different queries per query",
    "once": "share of different queries made once",
    "rows_one": "users with one row",
    "heavy": "share of the busiest fifth of users",
    "repeats": "queries that repeat one of the same user",
    "words": "words per query",
    "session_mean": "queries per session",
    "session_one": "sessions of one query",
    "busiest hour": "busiest hour",
}


def excite(file: Path) -> list[str]:
    """The sample of Excite's log, a log of its size by default, and one that was made like it."""
    log = qv.read(file, columns=SAMPLE, time_format="%y%m%d%H%M%S")
    fitted = qv.fit_generator(log)
    plain = Seen.of(qv.LogSettings(users=log.users, rows=log.rows, days=1, click_rate=0.0)).figures
    default = {f"top {most}": share for most, share in plain.top.items()}
    default |= {name: getattr(plain, name, None) for name in NAMES if not name.startswith("top")}
    default["busiest hour"] = max(plain.hours or (0,))
    lines = ["| figure | sample | default | made like it |", "|---|---|---|---|"]
    for name, shown in NAMES.items():
        share = name not in {"words", "session_mean"}
        found = [cell(value, share) for value in (fitted.wanted[name], default[name], fitted.made[name])]
        lines.append(f"| {shown} | {' | '.join(found)} |")
    made = (qv.LogSettings(users=log.users, rows=log.rows, days=1, click_rate=0.0), fitted.settings)
    shared = [shared_queries(log), *(shared_queries(qv.read(table_of(one))) for one in made)]
    return [*lines, f"| queries of two users or more | {' | '.join(map(str, shared))} |"]


def table_of(settings: qv.LogSettings) -> pa.Table:
    return pa.Table.from_batches(generate_batches(settings))


def shared_queries(log: qv.SearchLog) -> int:
    pairs = log.queries.select("user", "query").distinct()
    users = pairs.group_by("query").aggregate(n=pairs.count())
    return int((log.engine.arrow(users)["n"].to_numpy() > 1).sum())


def settings() -> list[str]:
    """The three named settings."""
    names = ("small", "medium", "large")
    made = {name: qv.SETTINGS[name] for name in names}
    seen = {name: Seen.of(one).figures for name, one in made.items()}
    rows: list[tuple[str, Callable[[str], str]]] = [
        ("users", lambda name: f"{made[name].total_users:,}"),
        ("rows", lambda name: f"{made[name].total_rows:,}"),
        ("query events", lambda name: f"{seen[name].events:,}"),
        ("rows with a click", lambda name: cell(seen[name].clicks or 0, True)),
        ("rows per user, median", lambda name: cell(seen[name].rows_median, False)),
        ("different queries", lambda name: f"{round(seen[name].distinct * seen[name].events):,}"),
        ("... made once", lambda name: cell(seen[name].once, True)),
        *(
            (f"share of the {most:,} most frequent", lambda name, most=most: cell(seen[name].top[most], True))
            for most in (10, 100, 1_000)
        ),
        ("planted secrets", lambda name: f"{made[name].total_secrets:,}"),
    ]
    lines = [f"| | {' | '.join(f'`{name}`' for name in names)} |", "|---|---|---|---|"]
    return [*lines, *(f"| {label} | {' | '.join(map(shown, names))} |" for label, shown in rows)]


def put(name: str, lines: list[str]) -> None:
    """Between the two marks of this name, in whichever page has them."""
    for page in (PAGE, PAGE.with_name("generator.md")):
        text = page.read_text(encoding="utf-8")
        marks = rf"(<!-- {name}: benchmarks/real_logs.py --write -->\n).*?(<!-- end of {name} -->)"
        content = "\n".join(lines).replace("\\", r"\\")
        changed = re.sub(marks, rf"\g<1>\n{content}\n\n\g<2>", text, flags=re.DOTALL)
        page.write_text(changed, encoding="utf-8")


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--write", action="store_true", help="put the tables into the page")
    asked.add_argument("--excite", type=Path, help="the sample of Excite's log")
    given = asked.parse_args()
    np.seterr(all="raise")
    parts: dict[str, Callable[[], list[str]]] = {"published": compared, "settings": settings}
    if given.excite:
        parts["excite"] = lambda: excite(given.excite)
    for name, part in parts.items():
        lines = part()
        print("\n".join(lines), end="\n\n")
        if given.write:
            put(name, lines)
        if any("NOT EXPLAINED" in line for line in lines):
            sys.exit("a figure differs and nothing says why")


if __name__ == "__main__":
    main()
