"""The public report: one self-contained page, no script, no network, readable on a phone and in print.

It shows the guarantee in plain words, what was done, the most frequent released items and how counts are spread, and
answers a lawyer's questions. It is made from the manifest and the released tables, and so cannot say more than they
do. All text is escaped: a query may be markup.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.charts import svg
from queryveil.charts.escaping import cell, escape
from queryveil.files import folder
from queryveil.privacy.declarations import OCCURRENCES
from queryveil.privacy.guarantee import NONE, Guarantee
from queryveil.release.documents import assessment, page, words
from queryveil.release.documents.chances import chances
from queryveil.release.documents.page import Section

_BEGINNING = 32
"""Characters of a text that nearly always tell it from others, if it is a sealed one or a hash."""
_TOP = 25


def write(manifest: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> str:
    """The page as text."""
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    software = manifest["software"]
    made = f"Made on {manifest['created']} with {software['name']} {software['version']}"
    first, *more = words.promises(guarantee)
    odds = chances(guarantee)
    warn = " warn" if guarantee.kind == NONE else ""
    head = [
        page.keyed([(name.capitalize(), escape(said)) for name, said in words.about(manifest)]),
        f'<p class="soft">{escape(_sizes(manifest))} {escape(made)}, method {escape(manifest["method"])}.</p>',
        f'<div class="card{warn}"><p>{escape(first)}</p><p class="soft">{escape(guarantee.headline)}</p></div>',
        page.paragraphs([odds.says]),
        page.table(odds.heading, [[escape(one) for one in row] for row in odds.rows]),
        f'<p class="soft">{escape(odds.note)}</p>' if odds.note else "",
        '<div class="two">',
        f"<div><h3>A reader cannot learn</h3>{page.listed(words.withheld(manifest))}</div>",
        f"<div><h3>A reader can learn</h3>{page.listed(words.learnt(manifest))}</div>",
        "</div>",
        page.paragraphs(more),
    ]
    sections = [
        Section("done", "What was done", [page.paragraphs([manifest["how"], words.NORMAL_FORM])]),
        *_contents(manifest, tables),
        Section("limits", "What is assumed, and what is not promised", [page.listed(words.limits(manifest))]),
        Section("law", "For an assessment under data-protection law", _law(manifest)),
        Section("parameters", "Parameters", _parameters(manifest)),
        Section("cite", "How to cite", _citation(manifest)),
        Section("files", "Files", _files(manifest)),
    ]
    foot = f"{escape(made)}. This page shows nothing that is not in the release. It runs no script and loads nothing."
    return page.document(
        kind="Report of a release", title=words.title(manifest), head=head, sections=sections, foot=foot
    )


def _sizes(manifest: Mapping[str, Any]) -> str:
    said = words.sizes(manifest)
    return f"{said[:1].upper()}{said[1:]}."


# -- what is inside ------------------------------------------------------------------------------------------


def _contents(manifest: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> list[Section]:
    made = []
    for name, table in tables.items():
        described = manifest["tables"][name]
        unit = "times" if described["counts"] == OCCURRENCES else described["counts"]
        if "count" in table.column_names:
            noisy = ", with noise" if described["noisy"] else ""
            made.append(_counted_section(name, described["noun"], table, unit, noisy))
        else:
            made.append(_log_section(name, table))
        made[-1].body.insert(0, page.paragraphs([described["row"]]))  # type: ignore[attr-defined]
        columns = [
            [f"<code>{escape(one['name'])}</code>", escape(one["type"]), escape(one["help"])]
            for one in described["columns"]
        ]
        made[-1].body.append(page.table(("column", "type", "meaning"), columns))  # type: ignore[attr-defined]
    return made


def _counted_section(name: str, of: str, table: pa.Table, unit: str, noisy: str) -> Section:
    table = table.sort_by([("count", "descending"), *((one, "ascending") for one in table.column_names[:-1])])
    return Section(
        f"table-{name}",
        f"The {of}: {words.counted(table.num_rows, 'rows')}",
        [*_frequent(f"t-{name}", of, table, unit, noisy)],
    )


def _log_section(name: str, table: pa.Table) -> Section:
    """A table that counts nothing, one row per query or group: what its rows are, and which come most often."""
    sizes = [f"Columns: {', '.join(table.column_names)}"]
    for key in ("user", "session", "group"):
        if key in table.column_names:
            sizes.append(words.counted(pc.count_distinct(table[key]).as_py(), f"{key}s"))
    body = [page.paragraphs([f"{'; '.join(sizes)}."])]
    # A row is a query with its session, or items with their group; what it says stands in the last column.
    column = table.column_names[-1]
    values = table[column]
    if not pa.types.is_list(values.type):
        body += _tallied(f"t-{name}", f"values of column {column}", column, values)
    else:
        lists = values.to_pylist()
        single = pa.array([item for one in lists for item in dict.fromkeys(one)], pa.string())
        whole = pa.array([_in_a_line(one) for one in lists], pa.string())
        body += _tallied(f"t-{name}-items", "single items", "item", single)
        body += _tallied(f"t-{name}", f"different {name}", column, whole)
    return Section(f"table-{name}", f"The {name}: {words.counted(table.num_rows, 'rows')}", body)


def _tallied(place: str, of: str, column: str, values: pa.Array | pa.ChunkedArray) -> list[str]:
    """The most frequent of some texts."""
    alone = [page.paragraphs([f"Each of the {len(values):,} {of} is in only one row."])]
    if len(values) > 1 and _begin_differently(values):
        return alone
    counted = pa.table({column: values}).group_by(column).aggregate([([], "count_all")])
    counted = counted.rename_columns([column, "count"])
    if counted.num_rows > 1 and pc.max(counted["count"]).as_py() == 1:
        return alone
    counted = counted.sort_by([("count", "descending"), (column, "ascending")])
    return _frequent(place, of, counted, "rows", "")


def _begin_differently(values: pa.Array | pa.ChunkedArray) -> bool:
    """Whether no two texts begin alike, so that none comes twice: counting long ones would need twice their memory."""
    if not pa.types.is_string(values.type):
        return False
    found: int = pc.count_distinct(pc.utf8_slice_codeunits(values, 0, _BEGINNING)).as_py()
    return found == len(values)


def _in_a_line(items: list[str]) -> str:
    """Items one after another; what stands several times stands once, with how often."""
    return ", ".join(item if times == 1 else f"{item} (x {times})" for item, times in Counter(items).items())


def _frequent(place: str, of: str, table: pa.Table, unit: str, noisy: str) -> list[str]:
    """How counts are spread, and the first rows of a table."""
    if table.num_rows == 0:
        return [page.paragraphs(["Nothing was frequent enough to be published."])]
    columns = [column for column in table.column_names if column != "count"]
    rows = [
        [*(cell(row[column]) for column in columns), f"{row['count']:,}"]
        for row in table.slice(0, _TOP).to_pylist()
    ]
    return [
        _distribution(place, of, table["count"].to_numpy(), unit, noisy),
        f"<h3>The most frequent {escape(of)} ({min(_TOP, table.num_rows)} of {table.num_rows:,})</h3>",
        page.table((*columns, f"{unit}{noisy}"), rows, numbers=[len(columns)], kind="items"),
    ]


def _distribution(place: str, of: str, counts: npt.NDArray[np.int64], unit: str, noisy: str) -> str:
    """How many items have at least which count."""
    positive = counts[counts > 0]
    points = svg.at_least(positive)
    if len(points) < 2:
        return ""
    title = f"Half of the {len(positive):,} {of} {_half(positive, unit, bool(noisy))}"
    left = len(counts) - len(positive)
    return svg.figure(
        place,
        title,
        [svg.Series(of, points)],
        svg.Axis(f"{unit}{noisy}", log=True),
        svg.Axis(f"{of} with as many {unit} or more", log=True),
        note=f"Both axes are logarithmic. Rows with a count of 0 or less are not drawn ({left:,} of {len(counts):,})."
        if left
        else "Both axes are logarithmic.",
    )


def _half(positive: npt.NDArray[np.int64], unit: str, noisy: bool) -> str:
    """What the lower half of some counts has, and what the largest is. A count with noise is no number of anything."""
    # The lower middle of all, so that the sentence is about a count that is there.
    middle, most = int(np.sort(positive)[(len(positive) - 1) // 2]), int(positive.max())
    if noisy:
        return f"have noisy counts of {middle:,} or less, the most frequent {most:,}"
    were = {"times": "were counted", "rows": "are in"}.get(unit, "have")
    few = words.counted(middle, unit) + (" or fewer" if middle > positive.min() else "")
    return f"{were} {few}, the most frequent {most:,}"


# -- for the lawyer, the engineer and the librarian ----------------------------------------------------------


def _law(manifest: Mapping[str, Any]) -> list[str]:
    answered = "".join(
        f'<dt>{escape(name)}</dt><dd><span class="soft">{escape(assessment.QUESTIONS.get(name, ""))}</span><br>'
        f"{escape(answer[:1].upper() + answer[1:])}</dd>"
        for name, answer in assessment.answers(manifest)
    )
    return [
        f"<p>{escape(assessment.SOURCE)}</p>",
        f"<dl>{answered}</dl>",
    ]


def _parameters(manifest: Mapping[str, Any]) -> list[str]:
    def rows(values: list[tuple[str, str]]) -> list[tuple[str, str]]:
        return [(name.replace("_", " "), escape(value)) for name, value in values]

    body = [page.keyed(rows(words.flat(manifest["parameters"])))]
    if manifest["calibration"]:
        body += ["<h3>What follows from them</h3>", page.keyed(rows(words.calibration(manifest)))]
    return body


def _citation(manifest: Mapping[str, Any]) -> list[str]:
    return [
        page.paragraphs([words.citation(manifest)]),
        f"<pre>{escape(words.bibtex(manifest))}</pre>",
    ]


def _files(manifest: Mapping[str, Any]) -> list[str]:
    rows = [
        [
            f"<code>{escape(name)}</code>",
            f'<code class="digest">{escape(entry["sha256"])}</code>',
            f"{entry['bytes']:,}",
        ]
        for name, entry in manifest.get("files", {}).items()
        if name != folder.REPORT
    ]
    return [
        page.table(("file", "SHA-256", "bytes"), rows, numbers=[2]),
        f"<p>{folder.MANIFEST} has the digests of all files, including this page. "
        f"<code>queryveil release verify DIR</code> {escape(words.check(manifest))}</p>",
    ]
