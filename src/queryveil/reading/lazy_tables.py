"""Lazy tables of engines: the standard columns as expressions, and validation of tables that stay in Spark.

Rows cannot be numbered in Spark, so a rejected one is kept with its reason and no line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq

from queryveil.reading.engine import Engine
from queryveil.reading.log_files import require_rows
from queryveil.reading.model import (
    LONGEST_TEXT,
    NO_VALUE,
    SPELLED_NULL,
    Head,
    ReadOptions,
    Source,
    SourceFile,
    Staged,
)
from queryveil.reading.staging import MAX_REJECTED_TEXTS, REJECTED
from queryveil.reading.tables import LABEL
from queryveil.reading.times import FIRST_YEAR, LAST_YEAR
from queryveil.reading.typed_tables import MOST_RANK
from queryveil.reading.validation import BAD_RANK, BAD_TIME, KEPT_OF_LONG_TEXT, NO_USER, TEXT_TOO_LONG

if TYPE_CHECKING:
    import ibis.expr.types as ir

BAD_RANK_COLUMN = "odd_rank"
"""A flag for invalid ranks, which are null."""
TEXTS = ("user", "query", "url", "session")
_STANDARD_TYPES = {"user": "string", "query": "string", "url": "string", "rank": "int32", "session": "string"}


def select_standard_columns(
    source: ir.Table, names: Mapping[str, str], engine: Engine, *, validates: bool = False
) -> ir.Table:
    """Return the standard columns in their types, with texts compared byte by byte.

    `validates` adds a flag for invalid ranks.
    """
    chosen = {name: source[column] for name, column in names.items()}
    if validates and "rank" in chosen:
        chosen["rank"], chosen[BAD_RANK_COLUMN] = safe_rank(chosen["rank"])
    for name, kind in _STANDARD_TYPES.items():
        if name in chosen and str(chosen[name].type()).lstrip("!") != kind:
            chosen[name] = chosen[name].cast(kind)
    if "time" in chosen and not (
        chosen["time"].type().is_timestamp() and chosen["time"].type().timezone is None
    ):
        chosen["time"] = chosen["time"].cast("timestamp")
    # The one gate: behind it two texts are the same only if their bytes are, whatever the source declared.
    table = engine.exact_texts(source.select(**chosen), [name for name in TEXTS if name in chosen])
    texts = {name: table[name] for name in ("url", "session") if name in chosen}
    # Case by case: DuckDB makes a join of a long list of words, which costs more.
    words = [(word, ibis.null("string")) for word in NO_VALUE]
    known = {name: one.cases(*words, else_=one) for name, one in texts.items()}
    return table.mutate(**known) if known else table


def has_known_types(source: ir.Table, names: Mapping[str, str]) -> bool:
    """Return whether the types decide how columns are read; otherwise rows are copied, and read like text."""
    kinds = {name: source[column].type() for name, column in names.items() if column in source.columns}
    if "time" in kinds and not (kinds["time"].is_timestamp() or kinds["time"].is_date()):
        return False
    if "rank" in kinds and not kinds["rank"].is_integer():
        return False
    texts = (kinds[name] for name in TEXTS if name in kinds)
    return all(kind.is_string() or kind.is_integer() for kind in texts)


def safe_rank(rank: ir.IntegerValue) -> tuple[ir.Value, ir.BooleanValue]:
    """Return the rank, null if it is not a possible one; and a flag for that."""
    odd = (rank.notnull() & ~rank.between(0, MOST_RANK)).fill_null(False)
    return ibis.ifelse(odd, ibis.null("int32"), rank.cast("int32")), odd


def validate_table(
    table: ir.Table,
    engine: Engine,
    names: Mapping[str, str],
    ignored: Sequence[str],
    options: ReadOptions,
    into: Path,
) -> tuple[ir.Table, Staged]:
    """Return the valid rows of a table with the standard columns, still lazy, and the counts of all rows."""
    reason = _reject_reason(table, engine)
    marked = table.mutate(reason=reason)
    per_reason = marked.group_by("reason").aggregate(n=marked.count())
    counts = {row["reason"]: int(row["n"]) for row in engine.arrow(per_reason).to_pylist()}
    rows = counts.pop(None, 0)
    rejected_file = _write_rejected(marked, engine, into) if counts else None
    staged = Staged(
        files=(),
        names={name: name for name in names},
        direct=True,
        rows=rows,
        empty_queries=None,
        rejected=sum(counts.values()),
        reasons=dict(sorted(counts.items(), key=lambda one: -one[1])),
        examples=(),
        rejected_file=rejected_file,
        format=LABEL,
        mapping=dict(names),
        ignored=tuple(ignored),
    )
    nowhere = Path(LABEL)
    source = Source((SourceFile(nowhere, LABEL, None, ""),), Head(nowhere, b"", None, whole=True), ())
    if rows or counts:
        require_rows(staged, options.max_rejected, source)
    good = marked.filter(marked["reason"].isnull()) if counts else table
    return good.drop(*(one for one in ("reason", BAD_RANK_COLUMN) if one in good.columns)), staged


def _reject_reason(table: ir.Table, engine: Engine) -> ir.StringValue:
    """Return why a row is rejected; null for a valid row."""
    user = table["user"]
    no_user = user.isnull() | engine.is_blank(user)
    for word in SPELLED_NULL:
        no_user |= user == word
    texts = [table[name] for name in TEXTS if name in table.columns]
    long = ibis.or_(*((one.length() > LONGEST_TEXT).fill_null(False) for one in texts))
    cases: list[tuple[Any, str]] = [(long, TEXT_TOO_LONG), (no_user, NO_USER)]
    if "time" in table.columns:
        possible = table["time"].year().between(FIRST_YEAR, LAST_YEAR).fill_null(False)
        cases.append((~possible, BAD_TIME))
    if BAD_RANK_COLUMN in table.columns:
        cases.append((table[BAD_RANK_COLUMN], BAD_RANK))
    return ibis.cases(*cases, else_=ibis.null("string"))


def _write_rejected(marked: ir.Table, engine: Engine, into: Path) -> Path:
    """Write the rejected rows with their reasons to a file for the curator."""
    bad = marked.filter(marked["reason"].notnull()).limit(MAX_REJECTED_TEXTS)
    texts = {name: bad[name].substr(0, KEPT_OF_LONG_TEXT) for name in TEXTS if name in bad.columns}
    file = into / "rejected.parquet"
    with pq.ParquetWriter(file, REJECTED) as writer:
        for batch in engine.batches(bad.mutate(**texts)):
            rows = batch.to_pylist()
            writer.write_table(
                pa.table(
                    [
                        [LABEL] * len(rows),
                        [None] * len(rows),
                        [1] * len(rows),
                        [row["reason"] for row in rows],
                        [_row_text(row) for row in rows],
                    ],
                    schema=REJECTED,
                )
            )
    return file


def _row_text(row: Mapping[str, Any]) -> str:
    shown = {name: value for name, value in row.items() if name not in ("reason", BAD_RANK_COLUMN)}
    return json.dumps(shown, default=str, ensure_ascii=False)
