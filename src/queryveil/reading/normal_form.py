"""Rows in normal form: ASCII by an expression, every other text by one function, once each."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq

from queryveil.reading import engine as engines
from queryveil.reading import segments, text
from queryveil.reading.engine import Engine
from queryveil.reading.engine.base import temporary_name

if TYPE_CHECKING:
    import ibis.expr.types as ir

_FOREIGN = pa.schema([("raw", pa.string()), ("normal", pa.string()), ("words", pa.string())])


def foreign(table: ir.Table, engine: Engine, workspace: Path | None, cut: Any) -> ir.Table | None:
    """Every text beyond ASCII, mapped once to its normal form and words; None if there is none."""
    if workspace is None:
        raise TypeError("a log that has no rows in normal form has a folder to work in")
    raw = table["query"]
    texts = table.filter(raw.notnull() & ~engine.is_ascii(raw)).select(raw=raw).distinct()
    if isinstance(engine, engines.Spark) and engine.spread:
        return engine.mapped(
            texts, functools.partial(_map_batches, cut=cut), "raw string, normal string, words string"
        )
    mapping = _write_foreign(engine, texts, workspace / f"{temporary_name()}.parquet", cut)
    return None if mapping is None else engine.read_parquet([mapping])


def normalised(table: ir.Table, engine: Engine, known: ir.Table | None) -> ir.Table:
    """The table with `query` in normal form and `words`, the text that keywords are cut from.

    ASCII goes by an expression; other texts are mapped once each and looked up. ASCII rows look up a null, which
    costs nothing.
    """
    raw = table["query"]
    if known is None:
        return table.mutate(query=_ascii_normal(raw, engine)).mutate(words=ibis._["query"])
    keyed = table.mutate(foreign=ibis.ifelse(engine.is_ascii(raw), ibis.null("string"), raw))
    joined = keyed.left_join(known, keyed["foreign"] == known["raw"])
    plain = _ascii_normal(joined["query"], engine)
    return joined.mutate(
        query=joined["normal"].fill_null(plain), words=joined["words"].fill_null(plain)
    ).select(*table.columns, "words")


def _ascii_normal(raw: ir.StringValue, engine: Engine) -> ir.StringValue:
    bare = raw.re_replace(text.ASCII_CONTROL, "").re_replace(text.ASCII_SPACE, " ").lower().strip()
    between = "".join(map(engine.group_reference.format, (1, 2)))
    for _ in range(2):  # each of ASCII's two kinds of quotation marks may surround the text once
        bare = bare.re_replace(text.ASCII_QUOTED, between).strip()
    # Most rows are in normal form already: one test instead of four changes.
    return ibis.cases((raw.isnull(), ""), (raw.re_search(text.NOT_NORMAL_ASCII), bare), else_=raw)


def _write_foreign(engine: Engine, texts: ir.Table, file: Path, cut: Any) -> Path | None:
    """Map every text beyond ASCII once, in a stream, to its normal form and words; None if there is none.

    `cut` finds the words of scripts without blanks; None leaves such texts whole.
    """
    writer = None
    for mapped in _map_batches(engine.batches(texts), cut):
        writer = writer or pq.ParquetWriter(file, _FOREIGN)
        writer.write_batch(mapped)
    if writer is None:
        return None
    writer.close()
    return file


def _map_batches(batches: Iterator[pa.RecordBatch], cut: Any) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        raw = batch.column("raw").to_pylist()
        if not raw:
            continue
        normal = [text.normalise(one) for one in raw]
        apart = normal if cut is None else [segments.segmented(one, cut) for one in normal]
        words = [" ".join(text.keywords(one)) for one in apart]
        yield pa.record_batch([pa.array(part, pa.string()) for part in (raw, normal, words)], schema=_FOREIGN)
