"""Documents that a function turns into rows: each by itself, each into any number of them.

For formats whose documents hold lists of things, or a language of their own. What is in usual columns is faster by SQL.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from queryveil.reading.model import COLUMNS, ReadOptions, Source, Staged
from queryveil.reading.staging import Stager, chunks, connect
from queryveil.reading.validation import judge_sql


@dataclass(frozen=True)
class Passed:
    """A document that is neither a search nor a click: what to call it when such are counted."""

    what: str


@dataclass(frozen=True)
class Bad:
    """A document that cannot be read: the reason."""

    reason: str


Row = Mapping[str, str | None]
"""Standard column -> its text."""
Translate = Callable[[str], Sequence[Row] | Passed | Bad]


_SCHEMA = pa.schema(
    [
        ("file", pa.int32()),
        ("line", pa.int64()),
        ("lines", pa.int64()),
        ("problem", pa.string()),
        ("text", pa.string()),
        *((name, pa.string()) for name in COLUMNS),
    ]
)


def stage_translated(
    source: Source,
    documents: Iterator[pa.RecordBatch],
    translate: Translate,
    options: ReadOptions,
    into: Path,
    *,
    columns: Sequence[str],
    format: str,
    mapping: Mapping[str, str],
    notes: Sequence[str] = (),
) -> Staged:
    """Judge the rows that the documents become; one that becomes none is rejected, or counted and passed over."""
    passed: Counter[str] = Counter()
    sql = judge_sql("chunk", {name: f'"{name}"' for name in columns}, time_format=options.time_format)
    with connect(into, options) as connection, Stager(into, list(columns), source) as stager:
        # A document may become many rows, so they are put together when they are rows.
        for chunk in chunks(_rows(batch, translate, passed) for batch in documents):
            connection.register("chunk", chunk)
            stager.add(connection.execute(sql).to_arrow_table())
            connection.unregister("chunk")
        return replace(
            stager.finish(format),
            mapping=mapping,
            passed_over={what: count for what, count in passed.most_common() if count},
            notes=tuple(notes),
        )


def _rows(batch: pa.RecordBatch, translate: Translate, passed: Counter[str]) -> pa.RecordBatch:
    # Which document each row is of, what is wrong with it, and its values: columns are faster to put together.
    places: list[int] = []
    problems: list[str | None] = []
    rows: list[Row] = []
    texts, given = batch.column("text").to_pylist(), batch.column("problem").to_pylist()
    for place, (text, problem) in enumerate(zip(texts, given, strict=True)):
        made = _made(text, problem, translate)
        if isinstance(made, Passed):
            passed[made.what] += 1
        elif isinstance(made, Bad):
            places.append(place)
            problems.append(made.reason)
            rows.append({})
        else:
            for row in made:
                places.append(place)
                problems.append(None)
                rows.append(row)
    kept = batch.select(["file", "line", "lines", "text"]).take(pa.array(places, pa.int64()))
    columns = {name: kept.column(name) for name in kept.schema.names}
    columns |= {name: pa.array([row.get(name) for row in rows], pa.string()) for name in COLUMNS}
    columns["problem"] = pa.array(problems, pa.string())
    return pa.record_batch([columns[name] for name in _SCHEMA.names], schema=_SCHEMA)


def _made(text: str, problem: str | None, translate: Translate) -> Sequence[Row] | Passed | Bad:
    if problem is not None:
        return Bad(problem)
    if text == "":
        return Bad("blank line")
    made = translate(text)
    if isinstance(made, Passed | Bad) or all(map(_encodable, made)):
        return made
    return Bad("not JSON")


def _encodable(row: Row) -> bool:
    """Whether no text has half of a character, which JSON can write ("\\ud800") and nothing else can hold."""
    try:
        "".join(filter(None, row.values())).encode()
    except UnicodeEncodeError:
        return False
    return True


def text_of(value: Any) -> str | None:
    """A value of JSON as text; None for what is no text or number."""
    if value is None or isinstance(value, bool | list | dict):
        return None
    return str(value)
