"""A release in Python: its tables as data frames and Arrow, one line, a card and a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa

from queryveil.charts.cards import Card, CardTable, Shown, counted
from queryveil.errors import UsageError, instead

if TYPE_CHECKING:
    import pandas as pd

    from queryveil.charts.pictures import Picture
    from queryveil.release.publish import Release

_COUNT = "count"


class ShownRelease(Shown):
    """How a release shows itself, and hands its tables over."""

    def to_arrow(self, table: str | None = None) -> pa.Table:
        """A published table as an Arrow table.

        `table` is its name, one of `release.tables`. It can be left out if the release has one table.
        """
        return _table(cast("Release", self), table)

    def to_pandas(self, table: str | None = None) -> pd.DataFrame:
        """A published table as a pandas data frame.

        `table` is its name, one of `release.tables`. It can be left out if the release has one table.
        """
        frame: pd.DataFrame = _table(cast("Release", self), table).to_pandas()
        return frame

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """The table of a release that has one, for polars, DuckDB and others that read Arrow."""
        return _table(cast("Release", self), None).__arrow_c_stream__(requested_schema)

    def plot(self, table: str | None = None) -> Picture:
        """The 20 largest published counts of a table, as bars.

        `table` is its name, one of `release.tables`. It can be left out if the release has one table of counts.
        """
        return _largest(cast("Release", self), table)

    def _card(self) -> Card:
        return _card(cast("Release", self))


def _table(release: Release, name: str | None) -> pa.Table:
    names = list(release.tables)
    if name is None and len(names) == 1:
        return release.tables[names[0]]
    if name is None:
        raise UsageError(
            f"the release has {len(names)} tables: {', '.join(names)}",
            f"name one, for example table='{names[0]}'",
        )
    if name not in release.tables:
        raise UsageError(f"the release has no table '{name}'", instead(name, names))
    return release.tables[name]


def _largest(release: Release, name: str | None) -> Picture:
    from queryveil.charts import pictures

    counted_tables = [one for one, table in release.tables.items() if _COUNT in table.column_names]
    if name is None and len(counted_tables) == 1:
        name = counted_tables[0]
    table = _table(release, name)
    if _COUNT not in table.column_names:
        raise UsageError("the table has no counts to draw", "look at its rows with to_pandas()")
    kept = table.sort_by([(_COUNT, "descending")]).slice(0, 20)
    texts = [column for column in table.column_names if pa.types.is_string(table.schema.field(column).type)]
    rows = [
        (" | ".join(str(row[column]) for column in texts), float(row[_COUNT]), f"{row[_COUNT]:,}")
        for row in kept.to_pylist()
    ]
    noun = next(one.noun for one in release.plan.tables if one.name == (name or next(iter(release.tables))))
    title = f"{counted(table.num_rows, 'row')} published; the {len(rows)} largest counts"
    noisy = release.plan.table(name or next(iter(release.tables))).noisy
    return pictures.bars(title, rows, f"count of {noun}{', with noise' if noisy else ''}")


def _card(release: Release) -> Card:
    sizes = ", ".join(f"{counted(many, 'row')} of {name}" for name, many in release.released.items())
    facts: list[tuple[str, object]] = [
        ("guarantee", release.guarantee.headline),
        ("published", sizes),
        ("folder", str(release.path) if release.path else "not saved yet: release.save(out)"),
    ]
    tables = [
        CardTable(
            f"{name}: the first rows",
            table.column_names,
            (list(row.values()) for row in table.slice(0, 5).to_pylist()),
            table.num_rows,
        )
        for name, table in release.tables.items()
    ]
    return Card(
        f"Release of {release.plan.method}",
        f"{release.plan.method}, {sizes}; {release.guarantee.headline}",
        facts,
        (release.guarantee.plain_words(),),
        tables,
    )
