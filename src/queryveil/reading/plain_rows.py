"""Rows that are plainly good, judged by Arrow: most rows of most logs, several times as fast as by SQL.

A row is plain if a few cheap tests say so: a user that begins with a visible letter of ASCII, a time of a usual shape,
a rank of digits. About other rows nothing is said here: they go to the rules of `staging.py`, which alone decide what
is rejected, and why. So both ways must agree on plain rows; the tests compare them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.reading import compiled_rows
from queryveil.reading.model import COLUMNS, LONGEST_TEXT, NO_VALUE, SPELLED_NULL
from queryveil.reading.text_places import Cut, bytes_of, in_one

Mask = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]

_NOBODY = pa.array(SPELLED_NULL, pa.string())
_NOTHING = pa.array(NO_VALUE, pa.string())
_FIRST_VISIBLE, _LAST_VISIBLE = ord("!"), ord("~")
_LONGEST_RANK = 9
_DAY_LENGTH = 19
_SHAPES = {19: (0, False), 20: (0, True), 23: (3, False), 24: (3, True), 26: (6, False), 27: (6, True)}
"""Length of a time -> digits behind the point, and whether it ends in Z."""
_EPOCHS = {9: 10**6, 10: 10**6, 13: 10**3, 16: 1}
"""Digits of an epoch -> microseconds in its unit."""
_MARKS = {4: "-", 7: "-", 13: ":", 16: ":"}
_FIRST_YEAR = 1000


class Texts:
    """An array of texts, and where each one is in its bytes."""

    def __init__(self, array: Any) -> None:
        self.array = in_one(array)
        _, offsets, data = self.array.buffers()
        size = len(self.array)
        at = np.frombuffer(offsets, np.int32)[self.array.offset : self.array.offset + size + 1]
        self.starts = at[:-1].astype(np.int64)
        self.lengths = np.diff(at).astype(np.int64)
        self.data: Bytes = (
            np.frombuffer(data, np.uint8) if data is not None and data.size else np.zeros(1, np.uint8)
        )
        self.there: Mask = _mask(self.array.is_valid())
        self.lengths[~self.there] = 0

    def byte(self, at: int, rows: Numbers) -> Bytes:
        return self.data[self.starts[rows] + at]

    def begins_visibly(self) -> Mask:
        """Whether the first byte is a visible letter of ASCII: then the text is not blank."""
        rows = np.flatnonzero(self.lengths > 0)
        found = np.zeros(len(self.lengths), np.bool_)
        first = self.byte(0, rows)
        found[rows] = (first >= _FIRST_VISIBLE) & (first <= _LAST_VISIBLE)
        return found


def judged(columns: Mapping[str, Any]) -> tuple[dict[str, Any], Mask, Mask]:
    """Typed columns, which queries are empty, and which rows are plain; of others nothing that is here counts.

    `columns` gives for each standard column its text; times may be timestamps already, of years that are possible.
    """
    texts = {name: Texts(array) for name, array in columns.items() if array.type == pa.string()}
    user = texts["user"]
    plain = user.begins_visibly() & ~_mask(pc.is_in(user.array, _NOBODY))
    for one in texts.values():
        plain &= one.lengths <= LONGEST_TEXT
    query = texts["query"]
    empty = query.lengths == 0
    plain &= empty | query.begins_visibly()
    made: dict[str, Any] = {"user": user.array, "query": pc.fill_null(query.array, "")}
    if "time" in columns and "time" not in texts:
        made["time"] = columns["time"]
    elif "time" in texts:
        made["time"], known = _times(texts["time"])
        plain &= known
    for name in {"url", "session"} & texts.keys():
        array = texts[name].array
        nothing = pc.is_in(array, _NOTHING)
        some = pc.any(nothing).as_py()
        made[name] = pc.if_else(nothing, pa.scalar(None, pa.string()), array) if some else array
    if "rank" in texts:
        made["rank"], known = _ranks(texts["rank"])
        plain &= known
    return made, empty, plain


def _mask(array: Any) -> Mask:
    found: Mask = np.asarray(pc.fill_null(array, False))
    return found


def _ranks(texts: Texts) -> tuple[Any, Mask]:
    """Ranks as numbers, and where they are known: short runs of digits, or a word for none."""
    nothing = ~texts.there | _mask(pc.is_in(texts.array, _NOTHING))
    digits = _mask(pc.ascii_is_decimal(texts.array)) & (texts.lengths <= _LONGEST_RANK)
    typed = pc.cast(pc.if_else(pa.array(digits), texts.array, pa.scalar(None, pa.string())), pa.int32())
    return typed, nothing | digits


def _times(texts: Texts) -> tuple[Any, Mask]:
    """Times in microseconds, and where they are known: one of the usual shapes."""
    micros = np.zeros(len(texts.lengths), np.int64)
    known = np.zeros(len(texts.lengths), np.bool_)
    for length in np.unique(texts.lengths).tolist():
        rows = np.flatnonzero(texts.lengths == length)
        if length in _SHAPES:
            micros[rows], known[rows] = _dates(texts, rows, *_SHAPES[length])
        elif length in _EPOCHS:
            value, good = _number(texts, rows, 0, length)
            micros[rows], known[rows] = value * _EPOCHS[length], good
    return pa.array(micros.view("datetime64[us]"), pa.timestamp("us")), known


def _number(texts: Texts, rows: Numbers, at: int, digits: int) -> tuple[Numbers, Mask]:
    """The number of so many digits, and where there are no others than digits."""
    value = np.zeros(len(rows), np.int64)
    good = np.ones(len(rows), np.bool_)
    for place in range(at, at + digits):
        digit = texts.byte(place, rows) - np.uint8(ord("0"))  # what is below zero wraps to more than nine
        good &= digit <= 9
        value = value * 10 + digit
    return value, good


def _dates(texts: Texts, rows: Numbers, fraction: int, zone: bool) -> tuple[Numbers, Mask]:
    parts = [
        _number(texts, rows, at, digits) for at, digits in ((0, 4), (5, 2), (8, 2), (11, 2), (14, 2), (17, 2))
    ]
    (year, month, day, hour, minute, second), good = (
        [one for one, _ in parts],
        np.logical_and.reduce([g for _, g in parts]),
    )
    for at, mark in _MARKS.items():
        good &= texts.byte(at, rows) == ord(mark)
    between = texts.byte(10, rows)
    good &= (between == ord(" ")) | (between == ord("T"))
    good &= (year >= _FIRST_YEAR) & (month >= 1) & (month <= 12) & (day >= 1)
    good &= (hour <= 23) & (minute <= 59) & (second <= 59)
    behind = np.zeros(len(rows), np.int64)
    if fraction:
        behind, digits = _number(texts, rows, _DAY_LENGTH + 1, fraction)
        behind *= 10 ** (6 - fraction)
        good &= digits & (texts.byte(_DAY_LENGTH, rows) == ord("."))
    if zone:
        last = _DAY_LENGTH + (fraction + 1 if fraction else 0)
        good &= texts.byte(last, rows) == ord("Z")
    months = np.where(good, (year - 1970) * 12 + month - 1, 0)
    first = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    days = (months + 1).astype("datetime64[M]").astype("datetime64[D]").astype(np.int64) - first
    good &= day <= days
    seconds = (first + day - 1) * 86_400 + hour * 3600 + minute * 60 + second
    return np.where(good, seconds * 10**6 + behind, 0), good


# -- chunks of rows ------------------------------------------------------------------------------------------


def quickly(
    chunk: pa.Table,
    columns: Mapping[str, Any],
    sure: Mask,
    carefully: Callable[[pa.Table], pa.Table],
    compiled: bool = False,
) -> pa.Table:
    """All rows of a chunk, judged and in their order: plain ones here or by compiled loops, all others `carefully`.

    `columns` are the texts of each standard column, as far as a row is `sure` to have them where they were looked for.
    """
    typed, empty, plain = compiled_rows.judged(columns) if compiled else judged(columns)
    plain &= sure
    if not plain.any():
        return carefully(chunk)
    rows = len(plain)
    found = as_judged(chunk, typed, empty)
    if plain.all():
        return found
    others = carefully(chunk.filter(pa.array(~plain)))
    if len(others) != rows - int(plain.sum()):
        raise RuntimeError("a row was lost on its way")
    odd = pa.array(~plain)
    mixed = [
        pc.replace_with_mask(in_one(found.column(name)), odd, in_one(others.column(name).cast(kind)))
        for name, kind in zip(found.column_names, found.schema.types, strict=True)
    ]
    return pa.table(mixed, schema=found.schema)


def some_quickly(
    chunk: pa.Table,
    which: Numbers,
    columns: Mapping[str, Any],
    unsure: Mask,
    carefully: Callable[[pa.Table], pa.Table],
) -> pa.Table:
    """Rows of a chunk in their order, by compiled loops: those that `which` names, if they are plain.

    What is `unsure`, or turns out not to be plain, is judged `carefully`; all others are no rows. `columns` are of the
    rows that are named.
    """
    numbers = chunk.select(["file", "line", "lines"])
    if len(which) < chunk.num_rows:
        numbers = numbers.take(pa.array(which))
    typed, empty, plain = compiled_rows.judged(columns)
    found = as_judged(numbers, typed, empty)
    rest = unsure.copy()
    rest[which[~plain]] = True
    if not plain.all():
        found = found.filter(pa.array(plain))
    if not rest.any():
        return found
    others = carefully(chunk.filter(pa.array(rest)))
    both = pa.concat_tables([found, others.select(found.column_names).cast(found.schema)])
    return both.sort_by([("file", "ascending"), ("line", "ascending")])


def as_judged(chunk: pa.Table, typed: Mapping[str, Any], empty: Mask) -> pa.Table:
    """Good rows in the shape in which SQL gives them."""
    nothing = pa.nulls(chunk.num_rows, pa.string())
    return pa.table(
        {
            **{name: chunk.column(name) for name in ("file", "line", "lines")},
            "reason": nothing,
            "text": nothing,
            "empty": pa.array(empty),
            **{name: typed[name] for name in COLUMNS if name in typed},
        }
    )


def cut(chunk: pa.Table, delimiter: str, fields: int, compiled: bool = False, quotes: bool = False) -> Fields:
    """The first fields of each line, cut at every delimiter; by a compiled loop, which has to be loaded, if asked.

    Where fields may stand between `quotes`, lines with quotes that need care are not whole.
    """
    texts = in_one(chunk.column("text"))
    if compiled and delimiter.isascii():
        quick = Cut(texts, ord(delimiter), fields, quotes)
        return Fields(chunk, quick.many, whole(chunk) & (quick.many > 0), quick.at, quick.placed)
    lists = pc.split_pattern(texts, delimiter)
    offsets = np.asarray(lists.offsets).astype(np.int64)
    starts, many = offsets[:-1], np.diff(offsets)

    def at(number: int) -> Any:
        there, places = many >= number, starts + number - 1
        if there.all():
            return lists.values.take(pa.array(places))
        return lists.values.take(pa.array(np.where(there, places, 0), mask=~there))

    parsed = whole(chunk)
    if quotes:
        parsed &= ~_mask(pc.match_substring(texts, '"'))
    return Fields(chunk, many, parsed, at, at)


def whole(chunk: pa.Table) -> Mask:
    """Which lines can be parsed at all: they are text, and not blank."""
    problems = chunk.column("problem")
    _, offsets = bytes_of(in_one(chunk.column("text")))
    there: Mask = np.diff(offsets) > 0
    return there if problems.null_count == len(problems) else there & _mask(in_one(problems).is_null())


def texts_where(sure: Mask, lists: Any) -> Any:
    """The lists of two texts, with two empty ones where that is not sure."""
    return pc.if_else(pa.array(sure), lists, pa.scalar(["", ""], lists.type))


@dataclass(frozen=True)
class Fields:
    """The fields of lines."""

    chunk: pa.Table
    many: Numbers
    """How many fields each line has."""
    whole: Mask
    """Which lines can be parsed at all."""
    at: Callable[[int], Any]
    """The field of this number, from 1, of each line; null where a line has fewer."""
    placed: Callable[[int], Any]
    """The same by its places where lines were cut by a compiled loop, else as well as an array."""
