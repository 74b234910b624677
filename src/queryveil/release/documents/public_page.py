"""The public report: one self-contained page, no script, no network, readable on a phone and in print.

Its first screen, and its first sheet on paper, is a certificate to decide by and to sign. Then come some rows, answers
to a lawyer's questions, what is not promised, and a folded appendix: three sheets in all. It is made from the manifest
and the released tables, and so cannot say more than they do. All text is escaped: a query may be markup.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.display import slopes, svg
from queryveil.display.escaping import cell, escape
from queryveil.files import folder
from queryveil.privacy.declarations import OCCURRENCES
from queryveil.privacy.guarantee import Guarantee
from queryveil.release.about import stated
from queryveil.release.documents import assessment, certificate, page, words
from queryveil.release.documents.chances import chances
from queryveil.release.documents.page import Section

_BEGINNING = 32
"""Characters of a text that nearly always tell it from others, if it is a sealed one or a hash."""
_TOP = 25
_SAMPLED = 10
_NUMBERS = ("count", "deviation")


def write(manifest: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> str:
    """The page as text."""
    software = manifest["software"]
    made = f"Made on {manifest['created']} with {software['name']} {software['version']}"
    sections = [
        Section("sample", _sample_title(tables), _sample(manifest, tables)),
        Section("law", "Three questions of data-protection authorities", _law(manifest)),
        Section("limits", "What is assumed, and what is not promised", [page.listed(words.limits(manifest))]),
        Section("cite", "How to cite", _citation(manifest)),
        Section("appendix", "Technical appendix", _appendix(manifest, tables)),
    ]
    foot = (
        f"{escape(made)}, method {escape(manifest['method'])}. This page shows nothing that is not in the release. It "
        "runs no script and loads nothing."
    )
    return page.document(
        kind="Certificate and report of a release",
        title=words.title(manifest),
        head=certificate.write(manifest),
        sections=sections,
        foot=foot,
        style=certificate.STYLE + slopes.STYLE,
    )


def _appendix(manifest: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> list[str]:
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    odds = chances(guarantee)
    sure = [
        page.paragraphs([odds.says]),
        page.table(odds.heading, [[escape(one) for one in row] for row in odds.rows]),
        page.paragraphs([odds.note]),
        page.listed(words.promises(guarantee)[1:]),
    ]
    return [
        page.folded("publisher", "What the publisher says", page.publisher(words.about(manifest))),
        page.folded("done", "What was done", [page.paragraphs([manifest["how"], words.NORMAL_FORM])]),
        page.folded("chances", "How sure someone can become", sure),
        *(page.folded(one.name, one.title, one.body) for one in _contents(manifest, tables)),
        page.folded("parameters", "Parameters", _parameters(manifest)),
        page.folded("files", "Files", _files(manifest)),
    ]


def _sample_title(tables: Mapping[str, pa.Table]) -> str:
    """How many rows are shown, of how many."""
    table = next(iter(tables.values()), None)
    rows = table.num_rows if table is not None else 0
    return f"{min(rows, _SAMPLED)} of {words.counted(rows, 'rows')}" if rows else "No rows"


def _sample(manifest: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> list[str]:
    """The first rows of the first table, the most frequent first where rows are counted."""
    for name, table in tables.items():
        described = manifest["tables"][name]
        if not table.num_rows:
            return [page.paragraphs(["Nothing was frequent enough to be published."])]
        shown = table
        if "count" in table.column_names:
            texts = [(one, "ascending") for one in table.column_names if one not in _NUMBERS]
            shown = table.sort_by([("count", "descending"), *texts])
        rows = [[_in_cell(value) for value in row.values()] for row in shown.slice(0, _SAMPLED).to_pylist()]
        numbers = [at for at, one in enumerate(table.schema) if pa.types.is_integer(one.type)]
        return [
            page.paragraphs([_each(described["row"])]),
            page.table(table.column_names, rows, numbers=numbers, kind="items sample"),
        ]
    return []


def _in_cell(value: Any) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return cell(_in_a_line(value) if isinstance(value, list) else value)


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
        made[-1].body.insert(0, page.paragraphs([_each(described["row"])]))  # type: ignore[attr-defined]
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
    return [
        certificate.cards(assessment.answers(manifest), assessment.QUESTIONS),
        f'<p class="soft">{escape(assessment.SOURCE)} Whether a release is anonymous in the sense of a law is for its '
        "publisher to decide.</p>",
    ]


def _parameters(manifest: Mapping[str, Any]) -> list[str]:
    def rows(values: list[tuple[str, str]]) -> list[tuple[str, str]]:
        return [(name.replace("_", " "), escape(value)) for name, value in values]

    body = [page.keyed(rows(words.flat(manifest["parameters"])))]
    if manifest["calibration"]:
        body += ["<h3>What follows from them</h3>", page.keyed(rows(words.calibration(manifest)))]
    return body


def _citation(manifest: Mapping[str, Any]) -> list[str]:
    own = stated(manifest, "citation")
    return [
        page.paragraphs([words.citation(manifest)]),
        f"<pre>{escape(words.bibtex(manifest))}</pre>",
        *([page.paragraphs([words.OWN_WORDS]), f"<blockquote>{escape(own)}</blockquote>"] if own else []),
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


def _each(row: str) -> str:
    """What a row is, as a sentence."""
    return f"Each row is {row[:1].lower()}{row[1:]}"
