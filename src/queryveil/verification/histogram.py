"""Tables of items with noisy user counts: named, thresholded, distinct and in an order that tells nothing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from queryveil.verification.outcome import Check, judge, quoted
from queryveil.verification.tables import Opened

COLUMNS = {
    "keywords": ("keyword",),
    "queries": ("query",),
    "query-pairs": ("query", "next_query"),
    "clicks": ("query", "url"),
}
"""The columns of each item kind; a count follows them."""

_CLICKS = ("query", "url")


def checks(
    tops: Mapping[str, int], *, clicks: bool, named: set[str], opened: Mapping[str, Opened]
) -> list[Check]:
    """`tops` is the second threshold of each item kind; with `clicks`, click counts follow the queries."""
    expected = {"items" if len(tops) == 1 else kind: COLUMNS[kind] for kind in tops}
    above = dict(zip(expected, tops.values(), strict=True))
    if clicks:
        expected["clicks"] = _CLICKS
    made = [
        judge(
            "columns",
            "the tables are those of the method, with its columns",
            lambda: _columns(expected, named, opened),
        )
    ]
    if not made[0].passed or not set(expected) <= set(opened):
        return made
    tables = {name: opened[name].table for name in expected}
    made += [
        judge(
            "thresholds",
            "every count is above the second threshold",
            lambda: _thresholds(tables, above),
        ),
        judge("distinct", "no item stands twice", lambda: _distinct(tables, expected)),
        judge(
            "order",
            "rows are ordered by what they show and nothing else",
            lambda: _order(tables, expected, with_clicks=clicks),
        ),
    ]
    if clicks:
        made.append(
            judge(
                "clicks", "clicks are counted for published queries only", lambda: _published_queries(tables)
            )
        )
    return made


def _columns(
    expected: Mapping[str, tuple[str, ...]], named: set[str], opened: Mapping[str, Opened]
) -> Iterator[str]:
    yield from (f"there is no table '{name}'" for name in expected if name not in named)
    yield from (
        f"table {quoted(name)} does not belong to the method"
        for name in sorted(named)
        if name not in expected
    )
    for name, columns in expected.items():
        wanted = [*((column, pa.string()) for column in columns), ("count", pa.int64())]
        if name in opened and [(field.name, field.type) for field in opened[name].table.schema] != wanted:
            yield f"table '{name}' does not have exactly the columns {', '.join(columns)} and count"


def _thresholds(tables: Mapping[str, pa.Table], above: Mapping[str, int]) -> Iterator[str]:
    for name, top in above.items():
        low = pc.sum(pc.less_equal(tables[name]["count"], top)).as_py() or 0
        if low:
            yield f"{low} counts of table '{name}' are not above the second threshold of {top}"


def _distinct(tables: Mapping[str, pa.Table], expected: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
    for name, columns in expected.items():
        table = tables[name]
        twice = table.num_rows - table.group_by(list(columns)).aggregate([]).num_rows
        if twice:
            yield f"{twice} items of table '{name}' stand twice"


def _order(
    tables: Mapping[str, pa.Table], expected: Mapping[str, tuple[str, ...]], *, with_clicks: bool
) -> Iterator[str]:
    for name, columns in expected.items():
        keys: tuple[str, ...] = ("count", *columns)
        if with_clicks and name == "clicks":
            keys = ("query", "count", "url")
        if not _ordered(tables[name], keys):
            order = ", ".join(f"{key} (largest first)" if key == "count" else key for key in keys)
            yield f"table '{name}' is not in the order of {order}"


def _ordered(table: pa.Table, keys: tuple[str, ...]) -> bool:
    """Whether each row is at or after the one before it, text being compared by its bytes."""
    if table.num_rows < 2:
        return True
    tied: pa.ChunkedArray | None = None
    for key in keys:
        column = table[key] if key == "count" else table[key].cast(pa.binary())
        before, after = column.slice(0, len(column) - 1), column.slice(1)
        wrong = pc.less(before, after) if key == "count" else pc.greater(before, after)
        if pc.any(wrong if tied is None else pc.and_(tied, wrong)).as_py():
            return False
        same = pc.equal(before, after)
        tied = same if tied is None else pc.and_(tied, same)
    return True


def _published_queries(tables: Mapping[str, pa.Table]) -> Iterator[str]:
    published = pc.is_in(tables["clicks"]["query"], tables["items"]["query"])
    strange = pc.sum(pc.invert(published)).as_py() or 0
    if strange:
        yield f"{strange} rows of table 'clicks' are of queries that are not published"
