"""Parquet files, read in place."""

from __future__ import annotations

from queryveil.reading.model import Format
from queryveil.reading.typed_tables import has_same_schemas

FORMAT = Format(
    name="parquet",
    help="Parquet files, all with the same columns",
    suffixes=(".parquet", ".pq"),
    recognize=lambda head: head.data.startswith(b"PAR1"),
    can_split=lambda source, _: has_same_schemas(source),
)
