"""What the public report and the data sheet of a release show, as values that templates put on a page.

The first screen of the report, and its first sheet on paper, is a certificate to decide by and to sign. Then come some
rows, answers to a lawyer's questions, what is not promised, and a folded appendix: three sheets in all. All of it
follows from the manifest and the released tables, so that it cannot say more than they do.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from markupsafe import Markup

from queryveil.catalog import Catalog, Sentence, count, term
from queryveil.display import slopes, svg
from queryveil.display.escaping import cell
from queryveil.files import folder
from queryveil.privacy.declarations import OCCURRENCES
from queryveil.privacy.guarantee import Guarantee
from queryveil.release.about import stated
from queryveil.release.documents import assessment, certificate, citation, page, parameter_values, sentences
from queryveil.release.documents.chances import chances

PAGE: dict[str, Any] = {"policy": page.POLICY, "figure_style": svg.STYLE + slopes.STYLE}
"""What every report has."""
_BEGINNING = 32
"""Characters of a text that nearly always tell it from others, if it is a sealed one or a hash."""
_TOP = 25
_SAMPLED = 10
_NUMBERS = ("count", "deviation")


def describe(manifest: Mapping[str, Any], tables: Mapping[str, pa.Table], catalog: Catalog) -> dict[str, Any]:
    """Return the values of the report and the data sheet."""
    guarantee = Guarantee.from_dict(manifest["guarantee"])
    software = manifest["software"]
    file, digest = citation.first_digest(manifest)
    answers = assessment.answers(manifest)
    return {
        "title": sentences.title(manifest),
        "what": sentences.what_it_is(manifest),
        "how": sentences.how(manifest),
        "sizes": sentences.in_a_row(sentences.sizes(manifest)),
        "made": Sentence(
            "release.made-with",
            day=manifest["created"],
            software=software["name"],
            version=software["version"],
            method=manifest["method"],
        ),
        "facts": {
            "publisher": stated(manifest, "publisher"),
            "period": sentences.period(manifest),
            "licence": stated(manifest, "licence"),
        },
        "digest": digest,
        "digest_file": file,
        "steps": certificate.STEPS,
        "strength": certificate.strength_of(guarantee),
        "suspicion": certificate.suspicion(guarantee),
        "picture": Markup(certificate.picture("belief", guarantee, catalog)),
        "promises": sentences.promises(guarantee),
        "chances": chances(guarantee),
        "withheld": sentences.withheld(manifest),
        "learnt": sentences.learnt(manifest),
        "limits": sentences.limits(manifest),
        "assumptions": [one.sentence for one in guarantee.assumptions],
        "answers": answers,
        "answer_lines": [assessment.in_a_line(one) for one in answers],
        "about": [(Sentence(f"about.{name}"), said) for name, said in citation.about(manifest)],
        "citation": citation.citation(manifest),
        "bibtex": citation.bibtex(manifest, catalog),
        "own_citation": stated(manifest, "citation"),
        "check": sentences.check(manifest),
        "sample": _sample(manifest, tables),
        "tables": [_table(name, manifest["tables"][name], table, catalog) for name, table in tables.items()],
        "parameter_rows": _rows(parameter_values.flat(manifest["parameters"]), catalog),
        "calibration_rows": _rows(parameter_values.calibration(manifest), catalog),
        "parameters": _spaced_rows(parameter_values.flat(manifest["parameters"]), catalog),
        "calibration": _spaced_rows(parameter_values.calibration(manifest), catalog),
        "column_rows": {
            name: [(one["name"], one["type"], one["help"]) for one in table["columns"]]
            for name, table in manifest["tables"].items()
        },
        "files": [
            (
                _code(name),
                Markup('<code class="digest">{}</code>').format(entry["sha256"]),
                Sentence("number.whole", number=entry["bytes"]),
            )
            for name, entry in manifest.get("files", {}).items()
            if name != folder.REPORT
        ],
    }


def _rows(values: list[tuple[list[str], str]], catalog: Catalog) -> list[tuple[str, str]]:
    return [(": ".join(map(catalog.text, names)), value) for names, value in values]


def _spaced_rows(values: list[tuple[list[str], str]], catalog: Catalog) -> list[tuple[str, str]]:
    return [(name.replace("_", " "), value) for name, value in _rows(values, catalog)]


def _code(text: str) -> Markup:
    return Markup("<code>{}</code>").format(text)


# -- tables --------------------------------------------------------------------------------------------------


def _sample(manifest: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> dict[str, Any] | None:
    """The first rows of the first table, the most frequent first where rows are counted."""
    for name, table in tables.items():
        shown = table
        if "count" in table.column_names:
            texts = [(one, "ascending") for one in table.column_names if one not in _NUMBERS]
            shown = table.sort_by([("count", "descending"), *texts])
        return {
            "size": count(table.num_rows, "rows"),
            "row": manifest["tables"][name]["row"],
            "heading": table.column_names,
            "rows": [
                [_in_cell(value) for value in row.values()] for row in shown.slice(0, _SAMPLED).to_pylist()
            ],
            "numbers": [at for at, one in enumerate(table.schema) if pa.types.is_integer(one.type)],
        }
    return None


def _in_cell(value: Any) -> str:
    if isinstance(value, int):
        return Sentence("number.whole", number=value)
    return Markup(cell(_in_a_line(value) if isinstance(value, list) else value))


def _in_a_line(items: list[str]) -> str:
    """Items one after another; what stands several times stands once, with how often."""
    return ", ".join(item if times == 1 else f"{item} (x {times})" for item, times in Counter(items).items())


def _table(name: str, described: Mapping[str, Any], table: pa.Table, catalog: Catalog) -> dict[str, Any]:
    """What the appendix has of a table: what a row is, and which rows or values come most often."""
    shown: dict[str, Any] = {
        "name": name,
        "noun": name,
        "size": count(table.num_rows, "rows"),
        "row": described["row"],
        "columns": [(_code(one["name"]), one["type"], one["help"]) for one in described["columns"]],
        "facts": "",
    }
    place = f"t-{name}"
    if "count" not in table.column_names:
        return shown | {"facts": _facts(table), "parts": list(_values(place, name, table, catalog))}
    unit = "times" if described["counts"] == OCCURRENCES else described["counts"]
    ordered = table.sort_by(
        [("count", "descending"), *((one, "ascending") for one in table.column_names[:-1])]
    )
    noun = term("noun", described["noun"])
    return shown | {
        "noun": noun,
        "parts": [_frequent(place, noun, ordered, unit, described["noisy"], catalog)],
    }


def _facts(table: pa.Table) -> Sentence:
    """The columns of a table that counts nothing, and how many people, sessions or groups it has."""
    facts = Sentence("report.columns", columns=", ".join(table.column_names))
    for key in ("user", "session", "group"):
        if key in table.column_names:
            sizes = count(pc.count_distinct(table[key]).as_py(), f"{key}s")
            facts = Sentence("list.facts", first=facts, rest=sizes)
    return facts


def _values(place: str, name: str, table: pa.Table, catalog: Catalog) -> Iterator[dict[str, Any]]:
    """The most frequent values of a table whose rows are a query with its session, or items with their group."""
    column = table.column_names[-1]
    values = table[column]
    if not pa.types.is_list(values.type):
        yield _tally_values(place, Sentence("report.values", column=column), column, values, catalog)
        return
    lists = values.to_pylist()
    single = pa.array([item for one in lists for item in dict.fromkeys(one)], pa.string())
    whole = pa.array([_in_a_line(one) for one in lists], pa.string())
    yield _tally_values(
        f"{place}-items", Sentence("report.single-items"), catalog.say("report.item"), single, catalog
    )
    yield _tally_values(place, Sentence("report.different", noun=term("noun", name)), column, whole, catalog)


def _tally_values(
    place: str, of: Sentence, column: str, values: pa.Array | pa.ChunkedArray, catalog: Catalog
) -> dict[str, Any]:
    """The most frequent of some texts."""
    alone = {"alone": True, "number": len(values), "of": of}
    if len(values) > 1 and _begin_differently(values):
        return alone
    counted = pa.table({column: values}).group_by(column).aggregate([([], "count_all")])
    counted = counted.rename_columns([column, "count"])
    if counted.num_rows > 1 and pc.max(counted["count"]).as_py() == 1:
        return alone
    counted = counted.sort_by([("count", "descending"), (column, "ascending")])
    return _frequent(place, of, counted, "rows", noisy=False, catalog=catalog)


def _begin_differently(values: pa.Array | pa.ChunkedArray) -> bool:
    """Whether no two texts begin alike, so that none comes twice: counting long ones would need twice their memory."""
    if not pa.types.is_string(values.type):
        return False
    found: int = pc.count_distinct(pc.utf8_slice_codeunits(values, 0, _BEGINNING)).as_py()
    return found == len(values)


def _frequent(
    place: str, of: str, table: pa.Table, unit: str, noisy: bool, catalog: Catalog
) -> dict[str, Any]:
    """How counts are spread, and the first rows of a table."""
    columns = [column for column in table.column_names if column != "count"]
    units = Sentence("report.unit-noisy" if noisy else "report.unit", unit=term("unit-of-count", unit))
    rows = [
        [
            *(Markup(cell(row[column])) for column in columns),
            Sentence("number.whole", number=row["count"]),
        ]
        for row in table.slice(0, _TOP).to_pylist()
    ]
    counts = table["count"].to_numpy()
    picture = _distribution(place, of, counts, unit, units, noisy, catalog) if rows else ""
    return {
        "alone": False,
        "of": of,
        "number": table.num_rows,
        "heading": (*columns, units),
        "rows": rows,
        "picture": Markup(picture),
    }


def _distribution(
    place: str,
    of: str,
    counts: npt.NDArray[np.int64],
    unit: str,
    units: Sentence,
    noisy: bool,
    catalog: Catalog,
) -> str:
    """How many items have at least which count."""
    positive = counts[counts > 0]
    points = svg.at_least(positive)
    if len(points) < 2:
        return ""
    left = len(counts) - len(positive)
    note = (
        Sentence("spread.left-out", left=left, rows=len(counts)) if left else Sentence("spread.logarithmic")
    )
    or_more = Sentence("spread.or-more", of=of, unit=term("unit-of-count", unit))
    return svg.figure(
        place,
        catalog.text(_half(positive, of, unit, noisy)),
        [svg.Series(catalog.text(of), points)],
        svg.Axis(catalog.text(units), log=True, wording=page.wording(catalog)),
        svg.Axis(catalog.text(or_more), log=True, wording=page.wording(catalog)),
        note=catalog.text(note),
    )


def _half(positive: npt.NDArray[np.int64], of: str, unit: str, noisy: bool) -> Sentence:
    """What the lower half of some counts has, and what the largest is. A count with noise is no number of anything."""
    # The lower middle of all, so that the sentence is about a count that is there.
    middle, most = int(np.sort(positive)[(len(positive) - 1) // 2]), int(positive.max())
    said = {"number": len(positive), "of": of, "most": most}
    if noisy:
        return Sentence("spread.noisy", **said, middle=middle)
    few = count(middle, unit)
    if middle > positive.min():
        few = Sentence("spread.or-fewer", count=few)
    return Sentence(f"spread.{unit if unit in ('times', 'rows') else 'users'}", **said, few=few)
