"""Whether a small Arrow table holds no bad row, seen at a glance: then the reader of Parquet need not be asked.

Programs that try things hand over thousands of small tables, and a reader of files costs more than such a table. What
is not plainly sound is not judged here.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from queryveil.reading.formats.parquet import MOST_RANK
from queryveil.reading.model import SPELLED_NULL, Staged
from queryveil.reading.times import FIRST_YEAR, LAST_YEAR

MOST_ROWS = 100_000
_MOST_BYTES = 512 * 1024
_PLAIN = r"^[!-~]"
"""A user that begins with a visible letter of ASCII is not blank."""


def plainly_sound(table: pa.Table, names: Mapping[str, str]) -> bool:
    """Whether every row is good, and every column has the type that it is read in."""
    if not 0 < table.num_rows <= MOST_ROWS:
        return False
    return all(_IS_SOUND[standard](table.column(name)) for standard, name in names.items())


def staged(table: pa.Table, names: Mapping[str, str], file: Path) -> Staged:
    """What a reader would say of such a table, which was written to a file."""
    return Staged(
        files=(file,),
        names=dict(names),
        direct=True,
        rows=table.num_rows,
        empty_queries=None,
        rejected=0,
        reasons={},
        examples=(),
        rejected_file=None,
        format="",
        mapping=dict(names),
    )


def _short(texts: Any) -> bool:
    if not pa.types.is_string(texts.type):
        return False
    return (pc.max(pc.binary_length(texts)).as_py() or 0) <= _MOST_BYTES


def _users(users: Any) -> bool:
    if users.null_count or not _short(users):
        return False
    different = users.unique()
    spelled = pc.any(pc.is_in(different, pa.array(SPELLED_NULL))).as_py()
    return not spelled and bool(pc.all(pc.match_substring_regex(different, _PLAIN)).as_py())


def _times(times: Any) -> bool:
    if times.null_count or not pa.types.is_timestamp(times.type) or times.type.tz is not None:
        return False
    ends = pc.min_max(pc.year(times)).as_py()
    return bool(ends["min"] >= FIRST_YEAR and ends["max"] <= LAST_YEAR)


def _ranks(ranks: Any) -> bool:
    if not pa.types.is_integer(ranks.type):
        return False
    ends = pc.min_max(ranks).as_py()
    return ends["min"] is None or (ends["min"] >= 0 and ends["max"] <= MOST_RANK)


_IS_SOUND = {
    "user": _users,
    "time": _times,
    "query": _short,
    "url": _short,
    "rank": _ranks,
    "session": _short,
}
