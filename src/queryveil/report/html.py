"""The public report: one self-contained page, no script, no network, readable on a phone and in print.

It shows the guarantee in plain words, what was done, the most frequent released items and how counts are
spread; everything on it is in the release. All text is escaped: a query may be markup.
"""

from __future__ import annotations

import html
import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.guarantee import Guarantee
from queryveil.report import datasheet

_TOP = 25

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --soft: #5b6675; --line: #d5dbe3; --bar: #2f6f9f; --paper: #fff; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6eaf0; --soft: #a3afbe; --line: #3a4553; --bar: #6fb0de; --paper: #161b22; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 46rem; padding: 1.5rem 1rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.1rem; margin-top: 2.2rem; }
.promise { border-left: .3rem solid var(--bar); padding: .2rem 0 .2rem 1rem; }
.promise strong { display: block; margin-bottom: .3rem; }
table { border-collapse: collapse; width: 100%; font-size: .92rem; }
th, td { text-align: start; padding: .3rem .5rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.n, th.n { text-align: end; white-space: nowrap; font-variant-numeric: tabular-nums; }
.soft { color: var(--soft); font-size: .9rem; }
svg { width: 100%; height: auto; } svg rect { fill: var(--bar); } svg text { fill: var(--soft); font-size: 11px; }
svg line { stroke: var(--line); }
@media print { body { max-width: none; } .promise { border-color: #000; } }
"""


def write(manifest: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> str:
    """The page as text."""
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    first, *more = datasheet.promises(guarantee)
    body = [
        f"<h1>{_e(datasheet.what_it_is(manifest))}</h1>",
        f'<div class="promise"><strong>{_e(guarantee.headline)}</strong>{_e(first)}</div>',
        *(f"<p>{_e(sentence)}</p>" for sentence in more),
        "<h2>What was done</h2>",
        f"<p>{_e(manifest['how'])}</p>",
    ]
    unit = "times" if manifest["parameters"].get("count") == "occurrences" else "users"
    for name, table in tables.items():
        noisy = any("noise" in one["help"] for one in manifest["tables"][name]["columns"])
        body += _section(name, table, f"{unit}, with noise" if noisy else unit)
    body += ["<h2>What is assumed, and what is not promised</h2>", "<ul>"]
    body += [f"<li>{_e(sentence)}</li>" for sentence in datasheet.limits(guarantee)]
    body += ["</ul>", "<h2>Parameters</h2>", "<table><tbody>"]
    for key, value in manifest["parameters"].items():
        shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        body.append(f'<tr><th scope="row">{_e(key)}</th><td>{_e(shown)}</td></tr>')
    software = manifest["software"]
    body += [
        "</tbody></table>",
        f'<p class="soft">Made on {_e(manifest["created"])} with {_e(software["name"])} {_e(software["version"])}. '
        "The data sheet beside this page has the full account.</p>",
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_e(datasheet.what_it_is(manifest))}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def _section(name: str, table: pa.Table, unit: str) -> list[str]:
    if "count" not in table.column_names:
        return _log_section(name, table)
    table = table.sort_by([("count", "descending"), *((one, "ascending") for one in table.column_names[:-1])])
    return [
        f"<h2>The {min(_TOP, table.num_rows)} most frequent of {table.num_rows:,} {_e(name)}</h2>",
        *_most_frequent(table, unit),
        *_distribution(name, table["count"].to_numpy(), unit),
    ]


def _log_section(name: str, table: pa.Table) -> list[str]:
    """A table that counts nothing, one row per query or group: what its rows are, and which come most often."""
    columns = ", ".join(table.column_names)
    sizes = [f"Columns: {columns}"]
    for key in ("session", "group"):
        if key in table.column_names:
            sizes.append(f"{pc.count_distinct(table[key]).as_py():,} {key}s")
    said = [f"<h2>The {_e(name)}: {table.num_rows:,} rows</h2>", f"<p>{_e('; '.join(sizes))}.</p>"]
    # A row is a query with its session, or items with their group; what it says stands in the last column.
    column = table.column_names[-1]
    values = table[column]
    if not pa.types.is_list(values.type):
        return [*said, *_counted(f"in column {column}", column, values)]
    lists = values.to_pylist()
    single = pa.array([item for one in lists for item in dict.fromkeys(one)], pa.string())
    whole = pa.array([_in_a_line(one) for one in lists], pa.string())
    return [*said, *_counted("single items", "item", single), *_counted(name, column, whole)]


def _counted(of: str, column: str, values: pa.Array | pa.ChunkedArray) -> list[str]:
    """The most frequent of some texts."""
    if len(values) == 0:
        return []
    counted = pa.table({column: values}).group_by(column).aggregate([([], "count_all")])
    counted = counted.rename_columns([column, "count"])
    counted = counted.sort_by([("count", "descending"), (column, "ascending")])
    return [
        f"<h2>The {min(_TOP, counted.num_rows)} most frequent of {counted.num_rows:,} {_e(of)}</h2>",
        *_most_frequent(counted, "rows"),
    ]


def _in_a_line(items: list[str]) -> str:
    """Items one after another; what stands several times stands once, with how often."""
    return ", ".join(item if times == 1 else f"{item} (x {times})" for item, times in Counter(items).items())


def _most_frequent(table: pa.Table, unit: str) -> list[str]:
    """The first rows of a table, with their counts at the right."""
    columns = [column for column in table.column_names if column != "count"]
    head = "".join(f'<th scope="col">{_e(column)}</th>' for column in columns)
    rows = []
    for row in table.slice(0, _TOP).to_pylist():
        cells = "".join(f'<td dir="auto">{_e(row[column])}</td>' for column in columns)
        rows.append(f'<tr>{cells}<td class="n">{row["count"]:,}</td></tr>')
    return [
        f'<table><thead><tr>{head}<th scope="col" class="n">{unit}</th></tr></thead>',
        f"<tbody>{''.join(rows)}</tbody></table>",
    ]


def _distribution(name: str, counts: np.ndarray, unit: str) -> list[str]:
    """How many items have which count, in doubling steps."""
    counts = counts[counts > 0]
    if len(counts) < 2:
        return []
    low, high = int(math.log2(counts.min())), int(math.log2(counts.max()))
    edges = [2.0**power for power in range(low, high + 2)]
    heights = np.histogram(counts, edges)[0]
    width, base, top = 640 / len(heights), 150, 130
    bars = []
    for index, height in enumerate(heights):
        tall = top * height / heights.max()
        middle = (index + 0.5) * width
        bars.append(
            f'<rect x="{index * width + 2:.1f}" y="{base - tall:.1f}" width="{width - 4:.1f}" height="{tall:.1f}"/>'
        )
        bars.append(
            f'<text x="{middle:.1f}" y="{base - tall - 4:.1f}" text-anchor="middle">{height:,}</text>'
        )
        bars.append(f'<text x="{middle:.1f}" y="{base + 14}" text-anchor="middle">{edges[index]:,.0f}</text>')
    most = int(np.argmax(heights))
    of = unit.partition(",")[0]
    verb = "were counted" if of == "times" else "have"
    title = f"Most {name} {verb} {edges[most]:,.0f} to {edges[most + 1]:,.0f} {of}"
    return [
        f"<h2>{_e(title)}</h2>",
        f'<svg viewBox="0 0 640 185" role="img" aria-label="{_e(title)}">{"".join(bars)}'
        f'<line x1="0" x2="640" y1="{base}" y2="{base}"/>'
        f'<text x="320" y="182" text-anchor="middle">{of} of an item{unit.removeprefix(of)} '
        "(each bar up to twice its label); "
        "height: number of items</text></svg>",
    ]


def _e(text: Any) -> str:
    return html.escape(str(text))
