"""Documents that Python translates into rows: each by itself, into any number of rows.

For formats whose documents contain a language of their own. Fields of JSON are faster in SQL (`json_fields`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from queryveil.reading.model import COLUMNS, Extraction, ReadOptions
from queryveil.reading.validation import BLANK_LINE, NOT_JSON, validate_sql


@dataclass(frozen=True)
class Skip:
    """A document that is neither a search nor a click, and what it is counted as."""

    kind: str


@dataclass(frozen=True)
class Reject:
    """A document that cannot be read, and the reason."""

    reason: str


Row = Mapping[str, str | None]
"""Standard column -> its text."""
Translate = Callable[[str], Sequence[Row] | Skip | Reject]


def extract_translated(
    translate: Translate, columns: Sequence[str], options: ReadOptions, **more: Any
) -> Extraction:
    """Return how documents become the rows that a function makes of each, or are skipped or rejected."""
    values = {name: f'"{name}"' for name in columns}
    return Extraction(
        columns=columns,
        sql=validate_sql("chunk", values, time_format=options.time_format, also=("skipped",)),
        transform=functools.partial(_translate_chunk, translate),
        **more,
    )


def _translate_chunk(translate: Translate, chunk: pa.Table) -> pa.Table:
    # Lists by column are faster to put together than rows.
    places: list[int] = []
    problems: list[str | None] = []
    skipped: list[str | None] = []
    rows: list[Row] = []
    texts, given = chunk.column("text").to_pylist(), chunk.column("problem").to_pylist()
    for place, (text, problem) in enumerate(zip(texts, given, strict=True)):
        found = _translate_one(text, problem, translate)
        one_of = [{}] if isinstance(found, Skip | Reject) else found
        rows += one_of
        places += [place] * len(one_of)
        problems += [found.reason if isinstance(found, Reject) else None] * len(one_of)
        skipped += [found.kind if isinstance(found, Skip) else None] * len(one_of)
    kept = chunk.select(["file", "line", "lines", "text"]).take(pa.array(places, pa.int64()))
    added = {name: [row.get(name) for row in rows] for name in COLUMNS} | {
        "problem": problems,
        "skipped": skipped,
    }
    for name, values in added.items():
        kept = kept.append_column(name, pa.array(values, pa.string()))
    return kept


def _translate_one(text: str, problem: str | None, translate: Translate) -> Sequence[Row] | Skip | Reject:
    if problem is not None:
        return Reject(problem)
    if text == "":
        return Reject(BLANK_LINE)
    found = translate(text)
    if isinstance(found, Skip | Reject) or all(map(_is_encodable, found)):
        return found
    return Reject(NOT_JSON)


def _is_encodable(row: Row) -> bool:
    """Return whether no text has half of a surrogate pair, which only JSON can hold ("\\ud800")."""
    try:
        "".join(filter(None, row.values())).encode()
    except UnicodeEncodeError:
        return False
    return True


def text_of(value: Any) -> str | None:
    """Return a text or number of JSON as text; None for any other value."""
    if value is None or isinstance(value, bool | list | dict):
        return None
    return str(value)
