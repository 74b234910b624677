"""Tables that stay in Spark, where expressions validate their rows.

Rows cannot be numbered there, so a rejected one is kept with its reason and no line.
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
from queryveil.reading.formats import require_rows
from queryveil.reading.formats.parquet import MOST_RANK
from queryveil.reading.model import LONGEST_TEXT, SPELLED_NULL, Head, ReadOptions, Source, SourceFile, Staged
from queryveil.reading.staging import KEPT_ASIDE, REJECTED
from queryveil.reading.tables import LABEL
from queryveil.reading.times import FIRST_YEAR, LAST_YEAR
from queryveil.reading.validation import KEPT_OF_LONG_TEXT, TEXT_TOO_LONG

if TYPE_CHECKING:
    import ibis.expr.types as ir

ODD_RANK = "odd_rank"
"""A column that says whether a rank is none; the rank itself is null there."""


def stays(source: ir.Table, names: Mapping[str, str]) -> bool:
    """Whether the types alone say how the columns are read; otherwise rows are copied, and read as text is."""
    kinds = {name: source[column].type() for name, column in names.items() if column in source.columns}
    if "time" in kinds and not (kinds["time"].is_timestamp() or kinds["time"].is_date()):
        return False
    if "rank" in kinds and not kinds["rank"].is_integer():
        return False
    texts = (kinds[name] for name in ("user", "query", "url", "session") if name in kinds)
    return all(kind.is_string() or kind.is_integer() for kind in texts)


def safe_rank(rank: ir.IntegerValue) -> tuple[ir.Value, ir.BooleanValue]:
    """A rank, null where it is none that can be; and whether that is so."""
    odd = (rank.notnull() & ~rank.between(0, MOST_RANK)).fill_null(False)
    return ibis.ifelse(odd, ibis.null("int32"), rank.cast("int32")), odd


def judged(
    table: ir.Table,
    engine: Engine,
    names: Mapping[str, str],
    ignored: Sequence[str],
    options: ReadOptions,
    into: Path,
) -> tuple[ir.Table, Staged]:
    """The good rows of a table with our columns, still lazy; and what was counted of all, in one go."""
    reason = _reason(table, engine)
    marked = table.mutate(reason=reason)
    per_reason = marked.group_by("reason").aggregate(n=marked.count())
    counts = {row["reason"]: int(row["n"]) for row in engine.arrow(per_reason).to_pylist()}
    rows = counts.pop(None, 0)
    kept_aside = _keep_aside(marked, engine, into) if counts else None
    staged = Staged(
        files=(),
        names={name: name for name in names},
        direct=True,
        rows=rows,
        empty_queries=None,
        rejected=sum(counts.values()),
        reasons=dict(sorted(counts.items(), key=lambda one: -one[1])),
        examples=(),
        rejected_file=kept_aside,
        format=LABEL,
        mapping=dict(names),
        ignored=tuple(ignored),
    )
    nowhere = Path(LABEL)
    source = Source((SourceFile(nowhere, LABEL, None, ""),), Head(nowhere, b"", None, whole=True), ())
    if rows or counts:
        require_rows(staged, options.max_rejected, source)
    good = marked.filter(marked["reason"].isnull()) if counts else table
    return good.drop(*(one for one in ("reason", ODD_RANK) if one in good.columns)), staged


def _reason(table: ir.Table, engine: Engine) -> ir.StringValue:
    """Why a row is kept aside; null if it is good."""
    user = table["user"]
    nobody = user.isnull() | engine.is_blank(user)
    for word in SPELLED_NULL:
        nobody |= user == word
    texts = [table[name] for name in ("user", "query", "url", "session") if name in table.columns]
    long = ibis.or_(*((one.length() > LONGEST_TEXT).fill_null(False) for one in texts))
    cases: list[tuple[Any, str]] = [(long, TEXT_TOO_LONG), (nobody, "no user")]
    if "time" in table.columns:
        possible = table["time"].year().between(FIRST_YEAR, LAST_YEAR).fill_null(False)
        cases.append((~possible, "bad time"))
    if ODD_RANK in table.columns:
        cases.append((table[ODD_RANK], "bad rank"))
    return ibis.cases(*cases, else_=ibis.null("string"))


def _keep_aside(marked: ir.Table, engine: Engine, into: Path) -> Path:
    """The rejected rows with their reasons, in a file for the curator."""
    bad = marked.filter(marked["reason"].notnull()).limit(KEPT_ASIDE)
    texts = {
        name: bad[name].substr(0, KEPT_OF_LONG_TEXT)
        for name in ("user", "query", "url", "session")
        if name in bad.columns
    }
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
                        [_text(row) for row in rows],
                    ],
                    schema=REJECTED,
                )
            )
    return file


def _text(row: Mapping[str, Any]) -> str:
    shown = {name: value for name, value in row.items() if name not in ("reason", ODD_RANK)}
    return json.dumps(shown, default=str, ensure_ascii=False)
