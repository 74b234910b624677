"""What every engine can do, in portable definitions."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import ibis
import pyarrow as pa

if TYPE_CHECKING:
    import ibis.expr.types as ir

T = TypeVar("T")

BLANK = r"^[\s\x0B\x1C-\x1F\x{85}\p{Z}]*$"
"""What Unicode calls white space, for engines whose own letter for it knows only a part: RE2 and Java."""

UserMap = Callable[[Iterator[pa.RecordBatch]], Iterator[T]]
"""From batches in which the rows of each user stand together, in order, to any number of values."""


class Engine:
    """An Ibis engine, with portable definitions. Subclasses replace them with faster ones."""

    name: str
    inside = False
    """Whether it runs inside this process, so that all rows may come here without a detour."""

    group_reference = "\\{}"
    """How a group of a pattern is named in the text that replaces a match."""

    def __init__(self, con: Any) -> None:
        self.con = con

    @property
    def spread(self) -> bool:
        """Whether its workers are other machines, which see shared storage and nothing that only this process has."""
        return False

    # -- tables ------------------------------------------------------------------------------------------

    def read_parquet(self, files: Sequence[Path], columns: Sequence[str] | None = None) -> ir.Table:
        """Parquet files as one table: these columns, or all of files that were written here."""
        table = self.con.read_parquet([str(file) for file in files])
        return table.select(*dict.fromkeys(columns)) if columns else table

    def register(self, table: pa.Table) -> ir.Table:
        """A small Arrow table as a table of this engine."""
        return self.con.create_table(temporary_name(), table, temp=True)

    def keep(self, table: ir.Table) -> ir.Table:
        """Evaluate an expression now and keep its rows in the engine until it closes."""
        with self.errors():
            return self.con.create_table(temporary_name(), table, temp=True)

    def put_aside(self, table: ir.Table, folder: Path | None) -> ir.Table:
        """Evaluate an expression now, for a table that is read many times and may not fit into memory."""
        return self.keep(table)

    def drop(self, kept: ir.Table) -> None:
        """Free what `keep`, `put_aside` or `register` holds."""
        self.con.drop_table(kept.op().name, force=True)

    def arrow(self, table: ir.Table) -> pa.Table:
        """Evaluate an expression once."""
        with self.errors():
            return table.to_pyarrow()

    def batches(self, table: ir.Table) -> Iterator[pa.RecordBatch]:
        with self.errors():
            yield from table.to_pyarrow_batches()

    def exact_texts(self, table: ir.Table, columns: Sequence[str]) -> ir.Table:
        """Return the same rows, with columns in which two texts are equal only if their bytes are."""
        return table

    def map_users(
        self, table: ir.Table, order: Sequence[str], columns: Sequence[str], function: UserMap[T]
    ) -> Iterator[T]:
        """What a function makes of the rows of all users, each user's in this order, in one place.

        It is called once for all users here; an engine with workers calls it in each of them, for its share of the
        users. So it must not matter to it who else is there. What comes back is evaluated once.
        """
        rows = table.order_by(["user", *order]).select(*columns)
        yield from function(self.batches(rows))

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Turn an engine's errors into ours; theirs may quote rows."""
        yield

    def close(self) -> None:
        """Disconnect. Tables of this engine can no longer be read."""
        self.con.disconnect()

    # -- definitions -------------------------------------------------------------------------------------

    def is_ascii(self, text: ir.StringValue) -> ir.BooleanValue:
        return ~text.re_search(r"[^\x00-\x7F]")

    def is_blank(self, text: ir.StringValue) -> ir.BooleanValue:
        """Whether nothing or only white space stands there."""
        return ~text.re_search(r"\S")

    def sha256(self, text: ir.StringValue) -> ir.StringValue:
        """Return the SHA-256 in hexadecimal digits."""
        return text.hashbytes("sha256").cast("string")

    def fast_hash(self, text: ir.StringValue) -> ir.IntegerValue:
        """The engine's own 64-bit hash."""
        return text.hash()

    def keyed_hash(self, key: str, first: ir.StringValue, second: ir.StringValue) -> ir.Value:
        """Return the engine's own fast hash of a key and two texts."""
        apart = ibis.literal("\x1f")
        return self.fast_hash(ibis.literal(key) + apart + first + apart + second)


def temporary_name() -> str:
    """A name for a table that nobody else uses."""
    return f"queryveil_{os.urandom(8).hex()}"
