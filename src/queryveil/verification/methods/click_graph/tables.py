"""The tables of a click graph: theirs alone, thresholded, distinct, and in an order that tells nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from queryveil.verification.outcome import Check, judge, quoted
from queryveil.verification.tables import Opened

_TEXTS = {
    "queries": ("query",),
    "clicks": ("query", "url"),
    "reformulations": ("query", "next_query"),
}
"""The columns of each table; a count follows them."""

_ORDER = {
    "queries": ("count", "query"),
    "clicks": ("query", "count", "url"),
    "reformulations": ("query", "count", "next_query"),
}
"""The larger count first, text by its bytes."""


@dataclass(frozen=True)
class Expected:
    """Which tables there must be, and what their rows must meet."""

    above: Mapping[str, int | None]
    """For each table the threshold that its counts are above, if they have one."""
    closed: Mapping[str, tuple[str, ...]]
    """For each table the columns whose texts must be published queries."""
    non_negative: bool


def checks(expected: Expected, *, named: set[str], opened: Mapping[str, Opened]) -> list[Check]:
    made = [
        judge(
            "columns",
            "the tables are those of the method, with its columns",
            lambda: _columns(set(expected.above), named, opened),
        )
    ]
    if not made[0].passed or not set(expected.above) <= set(opened):
        return made
    tables = {name: opened[name].table for name in expected.above}
    return [
        *made,
        judge("thresholds", _good_thresholds(expected), lambda: _thresholds(expected, tables)),
        judge("distinct", "no query, click or reformulation stands twice", lambda: _distinct(tables)),
        judge("order", "rows are ordered by what they show and nothing else", lambda: _order(tables)),
        judge(
            "published",
            "clicks and reformulations are of published queries only",
            lambda: _published(expected, tables),
        ),
    ]


def _columns(expected: set[str], named: set[str], opened: Mapping[str, Opened]) -> Iterator[str]:
    yield from (f"there is no table '{name}'" for name in sorted(expected - named))
    yield from (f"table {quoted(name)} was not bought" for name in sorted(named - expected))
    for name in sorted(expected & set(opened)):
        wanted = [*((column, pa.string()) for column in _TEXTS[name]), ("count", pa.int64())]
        if [(field.name, field.type) for field in opened[name].table.schema] != wanted:
            yield f"table '{name}' does not have exactly the columns {', '.join(_TEXTS[name])} and count"


def _good_thresholds(expected: Expected) -> str:
    bounded = [f"{name} above {top}" for name, top in expected.above.items() if top is not None]
    if not bounded:
        return "no count has a threshold of its own: all carry fresh noise"
    return f"counts are above their thresholds: {', '.join(bounded)}"


def _thresholds(expected: Expected, tables: Mapping[str, pa.Table]) -> Iterator[str]:
    for name, top in expected.above.items():
        counts = tables[name]["count"]
        low = 0 if top is None else pc.sum(pc.less_equal(counts, top)).as_py() or 0
        if low:
            yield f"{low} counts of table '{name}' are not above the threshold of {top}"
        negative = pc.sum(pc.less(counts, 0)).as_py() or 0
        if expected.non_negative and negative:
            yield f"{negative} counts of table '{name}' are negative, which the parameters exclude"


def _distinct(tables: Mapping[str, pa.Table]) -> Iterator[str]:
    for name, table in tables.items():
        twice = table.num_rows - table.group_by(list(_TEXTS[name])).aggregate([]).num_rows
        if twice:
            yield f"{twice} rows of table '{name}' stand twice"


def _order(tables: Mapping[str, pa.Table]) -> Iterator[str]:
    for name, table in tables.items():
        keys = [(key, "descending" if key == "count" else "ascending") for key in _ORDER[name]]
        # As bytes, so that the order is the same whatever language the reader sorts in.
        plain = pa.table({key: table[key].cast(_sorted_as(table[key])) for key in _ORDER[name]})
        if not plain.equals(plain.sort_by(keys)):
            order = ", ".join(f"{key} (largest first)" if key == "count" else key for key, _ in keys)
            yield f"table '{name}' is not in the order of {order}"


def _sorted_as(column: pa.ChunkedArray) -> pa.DataType:
    return pa.binary() if pa.types.is_string(column.type) else column.type


def _published(expected: Expected, tables: Mapping[str, pa.Table]) -> Iterator[str]:
    published = tables["queries"]["query"].combine_chunks()
    for name, columns in expected.closed.items():
        for column in columns:
            strange = pc.sum(pc.invert(pc.is_in(tables[name][column], published))).as_py() or 0
            if strange:
                yield f"{strange} rows of table '{name}' have a {column} that is not published"
