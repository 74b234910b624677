"""Users keep the numbers that they have in an earlier release, so that new queries of known users are known as theirs.

The numbers are those of the earlier release's private folder. New users get numbers after them, in random order.
Only a padded release that told its readers so can go on: of an unpadded one the numbers would say who had a phrase.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from queryveil.errors import InputError, argument

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog

_FILE = "user-map.parquet"
_GOES_ON = {b"queryveil:numbers-go-on": b"yes"}
"""In the file of a release that is padded, and that says that another may have the same numbers."""
_WAY_OUT = f"name the private folder of a semantic release, which has {_FILE}"


def numbers(place: Path) -> pa.Table:
    """The users of an earlier release in the order of their numbers, which are 0, 1, 2 and so on."""
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    file = place / _FILE if place.is_dir() else place
    try:
        table = pq.read_table(file, columns=["user", "original"])
        said = table.schema.metadata or {}
        table = table.cast(pa.schema([("user", pa.int64()), ("original", pa.string())])).sort_by("user")
    except (OSError, pa.ArrowException, KeyError, ValueError):  # what these say may quote a user
        raise InputError("the numbers of an earlier release cannot be read", _WAY_OUT) from None
    own = table["user"].to_numpy()
    names = table["original"].combine_chunks()
    if not np.array_equal(own, np.arange(len(own))) or pc.count_distinct(names).as_py() != len(own):
        raise InputError("the numbers of an earlier release are not one for each user, from 0 on", _WAY_OUT)
    if not _GOES_ON.items() <= said.items():
        raise InputError(
            "the earlier release did not say that others may have its numbers, and may not be padded",
            f"leave out {argument('follows')}, or follow a release that was made with "
            f"{argument('reserve')} or {argument('follows')}",
        )
    return table


def going_on(names: pa.Table) -> pa.Table:
    """The map of a padded release that says that its numbers may come again: it can be followed."""
    return names.replace_schema_metadata(_GOES_ON)


def require_all(log: SearchLog, before: pa.Table) -> None:
    """Refuse a log that lacks users of the earlier release; who is in a log is not hidden."""
    known = log.engine.register(before.select(["original"]).rename_columns(["user"]))
    try:
        gone = known.anti_join(log.source, "user")
        missing = int(log.engine.arrow(gone.aggregate(n=gone.count()))["n"][0].as_py())
    finally:
        log.engine.drop(known)
    _refuse_missing(missing)


def _refuse_missing(users: int) -> None:
    if users:
        raise InputError(
            f"{users:,} users of the earlier release are not in this log",
            f"publish from a log that still has them, with {argument('since')} for their new queries",
        )


def renumbered(log: pa.Table, names: pa.Table, before: pa.Table) -> tuple[pa.Table, pa.Table]:
    """The same rows and the same map, with the numbers that users had before."""
    import pyarrow.compute as pc

    place = pc.index_in(names["original"], value_set=before["original"].combine_chunks())
    known = np.asarray(pc.is_valid(place))
    _refuse_missing(len(before) - int(known.sum()))
    given = np.empty(len(known), dtype=np.int64)
    given[known] = pc.drop_null(place).to_numpy()
    given[~known] = len(before) + np.arange(int((~known).sum()))
    owners = given[log["user"].to_numpy()]
    rows = log.set_column(0, "user", pa.array(owners)).take(pa.array(np.argsort(owners, kind="stable")))
    whose = names.set_column(0, "user", pa.array(given)).sort_by("user")
    return rows, whose
