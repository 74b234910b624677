"""Text files as Arrow batches of numbered lines, block by block and whatever the size of file or line.

A line ends at `\\n`; one `\\r` before it is taken off. How the blocks fall has no influence on the lines. Blank
lines that follow each other are one row that says how many they are: a small compressed file can hold a billion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from queryveil.reading import text_places
from queryveil.reading.model import Progress, Source, SourceFile
from queryveil.reading.sources import blocks
from queryveil.reading.text_loops import split_lines

BLOCK_BYTES = 4 * 1024 * 1024
LONGEST_LINE = 16 * 1024 * 1024
_KEPT_OF_LONG_LINE = 1000

_Split = Callable[[bytes, int, int], pa.RecordBatch]

NOT_UTF8 = "not UTF-8"
BINARY = "binary data"
TOO_LONG = "line too long"

SCHEMA = pa.schema(
    [
        ("file", pa.int32()),
        ("line", pa.int64()),
        ("text", pa.string()),
        ("problem", pa.string()),
        ("lines", pa.int64()),
    ]
)


def read_lines(source: Source, header: str | None, progress: Progress | None) -> Iterator[pa.RecordBatch]:
    """All lines of all files but their header lines; `problem` says why a line cannot be parsed."""
    before = 0
    for number, file in enumerate(source.files):

        def report(done: int, before: int = before) -> None:
            if progress is not None:
                progress(before + done, source.size)

        yield from lines_of(file, number, report, header, source.size >= text_places.WORTH_COMPILING)
        before += file.size


def lines_of(
    file: SourceFile, number: int, report: Callable[[int], None], header: str | None, compiled: bool = False
) -> Iterator[pa.RecordBatch]:
    """The lines of one file but its header line; by a compiled loop, which has to be loaded, if asked."""
    split = _split_quickly if compiled else _split
    yield from _joined_blanks(_without_header(_lines_of(file, number, report, split), header))


def _lines_of(
    file: SourceFile, number: int, report: Callable[[int], None], split: _Split
) -> Iterator[pa.RecordBatch]:
    line = 1
    carry = bytearray()
    # Set while the rest of an over-long line is thrown away: the beginning that is kept of it.
    dropped: bytes | None = None
    for block, done in blocks(file, BLOCK_BYTES):
        report(done)
        if dropped is not None:
            end = block.find(b"\n")
            if end < 0:
                continue
            yield _long_line(number, line, dropped)
            line, dropped = line + 1, None
        else:
            end = -1
        cut = block.rfind(b"\n") + 1
        if cut > end + 1:
            whole = b"".join((carry, memoryview(block)[end + 1 : cut]))
            batch = split(whole, number, line)
            yield batch
            line = _at(batch, "line", -1) + _at(batch, "lines", -1)
            carry = bytearray()
        carry += block[cut:]
        # One more than the limit, as the last byte may be a `\r` that does not count.
        if len(carry) > LONGEST_LINE + 1:
            dropped, carry = bytes(carry[:_KEPT_OF_LONG_LINE]), bytearray()
    if dropped is not None:
        yield _long_line(number, line, dropped)
    elif carry:
        yield split(bytes(carry) + b"\n", number, line)


def _long_line(number: int, line: int, beginning: bytes) -> pa.RecordBatch:
    at, lines = np.array([line]), np.array([1])
    return _batch(number, at, lines, pa.array([_readable(beginning)], pa.string()), [TOO_LONG])


def _split(data: bytes, number: int, line: int) -> pa.RecordBatch:
    """Lines of `data`, which ends with a line end, as one batch that starts at `line`."""
    buffer = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(buffer == 10)
    starts = np.concatenate(([0], ends[:-1] + 1))
    keep = np.ones(len(buffer), np.bool_)
    keep[ends] = False
    returns = (ends > starts) & (buffer[np.maximum(ends - 1, 0)] == 13)
    keep[ends[returns] - 1] = False
    lengths = ends - starts - returns
    offsets = np.zeros(len(ends) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    content = buffer[keep]
    rows = _first_of_blanks(lengths)
    # What is left out is blank, so each row still ends where the next one starts.
    offsets = np.append(offsets[rows], offsets[-1])
    lines = np.diff(np.append(rows, len(ends)))
    texts = pa.StringArray.from_buffers(len(rows), pa.py_buffer(offsets), pa.py_buffer(content))
    problems = _problems(texts, content, offsets)
    if problems is not None:
        texts = _readable_texts(content, offsets, problems)
    return _batch(number, line + rows, lines, texts, problems)


def _split_quickly(data: bytes, number: int, line: int) -> pa.RecordBatch:
    """The same by a compiled loop."""
    ends = data.count(b"\n")
    content, offsets = np.empty(len(data), np.uint8), np.zeros(ends + 1, np.int32)
    lines: npt.NDArray[np.int64] = np.empty(ends, np.int64)
    rows = split_lines(np.frombuffer(data, np.uint8), content, offsets, lines)
    offsets, lines = offsets[: rows + 1], lines[:rows]
    texts = pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(content))
    problems = None
    if b"\0" in data or not _is_utf8(texts) or int(np.diff(offsets).max()) > LONGEST_LINE:
        content = content[: offsets[-1]]
        problems = _problems(texts, content, offsets)
    if problems is not None:
        texts = _readable_texts(content, offsets, problems)
    return _batch(number, line + np.cumsum(lines) - lines, lines, texts, problems)


def _first_of_blanks(lengths: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The lines that are a row: all but the blank ones that follow a blank one."""
    blank = lengths == 0
    return np.flatnonzero(~(blank & np.concatenate(([False], blank[:-1]))))


def _problems(
    texts: Any, content: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int32]
) -> list[str | None] | None:
    """Why single lines cannot be parsed, or None when all can: the usual case, and a fast one."""
    binary = np.flatnonzero(content == 0)
    too_long = np.flatnonzero(np.diff(offsets) > LONGEST_LINE)
    if _is_utf8(texts) and not len(binary) and not len(too_long):
        return None
    problems: list[str | None] = [None] * len(texts)
    raw = content.tobytes()
    for at in range(len(texts)):
        try:
            raw[offsets[at] : offsets[at + 1]].decode()
        except UnicodeDecodeError:
            problems[at] = NOT_UTF8
    for row in np.unique(np.searchsorted(offsets, binary, side="right") - 1):
        problems[row] = BINARY
    for row in too_long:
        problems[row] = TOO_LONG
    return problems


def _is_utf8(texts: Any) -> bool:
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _readable_texts(
    content: npt.NDArray[np.uint8], offsets: npt.NDArray[np.int32], problems: list[str | None]
) -> Any:
    raw = content.tobytes()
    texts = []
    for at, problem in enumerate(problems):
        text = raw[offsets[at] : offsets[at + 1]]
        texts.append(_readable(text[:_KEPT_OF_LONG_LINE] if problem == TOO_LONG else text))
    return pa.array(texts, pa.string())


def _readable(text: bytes) -> str:
    return text.decode("utf-8", "backslashreplace")


def _batch(
    number: int,
    at: npt.NDArray[np.int64],
    lines: npt.NDArray[np.int64],
    texts: Any,
    problems: list[str | None] | None,
) -> pa.RecordBatch:
    rows = len(texts)
    return pa.record_batch(
        [
            pa.array(np.full(rows, number, np.int32)),
            pa.array(at, pa.int64()),
            texts,
            pa.nulls(rows, pa.string()) if problems is None else pa.array(problems, pa.string()),
            pa.array(lines, pa.int64()),
        ],
        schema=SCHEMA,
    )


def _without_header(batches: Iterator[pa.RecordBatch], header: str | None) -> Iterator[pa.RecordBatch]:
    """Leave out the first line that is neither blank nor binary if it is the header."""
    looking = header is not None
    for batch in batches:
        if not looking:
            yield batch
            continue
        texts, problems = batch.column("text"), batch.column("problem")
        rows = range(len(texts))
        at = next((n for n in rows if texts[n].as_py().strip() and problems[n].as_py() != BINARY), None)
        if at is None:
            yield batch
            continue
        looking = False
        if texts[at].as_py() == header:
            yield batch.slice(0, at)
            yield batch.slice(at + 1)
        else:
            yield batch


def _joined_blanks(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Put blank lines together that fell into two blocks, and leave out the last line of a file if it is blank.

    Editors and exports add that one, and it says nothing.
    """
    held: pa.RecordBatch | None = None
    for batch in batches:
        rest = batch
        if held is not None and rest.num_rows and _follows(held, rest):
            held = _longer(held, _at(rest, "lines", 0))
            rest = rest.slice(1)
        if not rest.num_rows:
            continue
        if held is not None:
            yield held
            held = None
        last = rest.num_rows - 1
        if _at(rest, "text", last) == "":
            held, rest = rest.slice(last), rest.slice(0, last)
        if rest.num_rows:
            yield rest
    if held is not None and _at(held, "lines", 0) > 1:
        yield _longer(held, -1)


def _at(batch: pa.RecordBatch, column: str, row: int) -> Any:
    return batch.column(column)[row].as_py()


def _follows(blank: pa.RecordBatch, batch: pa.RecordBatch) -> bool:
    """Whether the batch starts with the next blank lines."""
    end = _at(blank, "line", 0) + _at(blank, "lines", 0)
    return bool(_at(batch, "text", 0) == "" and _at(batch, "line", 0) == end)


def _longer(blank: pa.RecordBatch, lines: int) -> pa.RecordBatch:
    more = pa.array([_at(blank, "lines", 0) + lines], pa.int64())
    return blank.set_column(blank.schema.get_field_index("lines"), "lines", more)
