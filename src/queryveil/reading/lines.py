"""Text files as Arrow batches of numbered lines, block by block and whatever the size of file or line.

A line ends at `\\n`; one `\\r` before it is removed. The boundaries of blocks do not affect the lines. A run of blank
lines is one row with their number, because a small compressed file can hold a billion of them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.reading.model import Progress, Source, SourceFile
from queryveil.reading.sources import blocks

BLOCK_BYTES = 4 * 1024 * 1024
LONGEST_LINE = 16 * 1024 * 1024
KEPT_OF_LONG_LINE = 1000

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
"""A line or document: its file by number, its first line, its text, why it cannot be parsed, and its blank lines."""

Report = Callable[[int], None]
"""Called with the bytes of one file that have been read."""


def read_files(
    source: Source,
    progress: Progress | None,
    read_file: Callable[[SourceFile, int, Report], Iterator[pa.RecordBatch]],
) -> Iterator[pa.RecordBatch]:
    """Yield the batches of all files, and report progress over all of them."""
    before = 0
    for number, file in enumerate(source.files):

        def report(done: int, before: int = before) -> None:
            if progress is not None:
                progress(before + done, source.size)

        yield from read_file(file, number, report)
        before += file.size


def read_lines(source: Source, header: str | None, progress: Progress | None) -> Iterator[pa.RecordBatch]:
    """Yield the lines of all files except their header lines; `problem` says why a line cannot be parsed."""
    return read_files(source, progress, functools.partial(lines_of, header=header))


def lines_of(
    file: SourceFile, number: int, report: Report, header: str | None = None
) -> Iterator[pa.RecordBatch]:
    """Yield the lines of one file except its header line."""
    return _join_blank_lines(_drop_header(_lines_of(file, number, report), header))


def _lines_of(file: SourceFile, number: int, report: Report) -> Iterator[pa.RecordBatch]:
    line = 1
    carry = bytearray()
    # The kept beginning of an over-long line, while the rest of the line is skipped.
    dropped: bytes | None = None
    for block, done in blocks(file, BLOCK_BYTES):
        report(done)
        if dropped is not None:
            end = block.find(b"\n")
            if end < 0:
                continue
            yield _make_batch(number, [line], [1], [_escape_undecodable(dropped)], [TOO_LONG])
            line, dropped = line + 1, None
        else:
            end = -1
        cut = block.rfind(b"\n") + 1
        if cut > end + 1:
            batch = _split_lines(b"".join((carry, memoryview(block)[end + 1 : cut])), number, line)
            yield batch
            line = _value_at(batch, "line", -1) + _value_at(batch, "lines", -1)
            carry = bytearray()
        carry += block[cut:]
        # One more than the limit, because the last byte may be a `\r` that does not count.
        if len(carry) > LONGEST_LINE + 1:
            dropped, carry = bytes(carry[:KEPT_OF_LONG_LINE]), bytearray()
    if dropped is not None:
        yield _make_batch(number, [line], [1], [_escape_undecodable(dropped)], [TOO_LONG])
    elif carry:
        yield _split_lines(bytes(carry) + b"\n", number, line)


def _split_lines(data: bytes, number: int, line: int) -> pa.RecordBatch:
    """Return the lines of data that ends with a line end, numbered from `line`."""
    if b"\r" in data:
        data = data.replace(b"\r\n", b"\n")
    block = pa.BinaryArray.from_buffers(
        pa.binary(), 1, [None, *map(pa.py_buffer, (np.array([0, len(data) - 1], np.int32), data))]
    )
    _, offset_buffer, content = pc.split_pattern(block, b"\n").values.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)
    is_blank = offsets[1:] == offsets[:-1]
    # Keep only the first of a run of blank lines. The others have no content, so the offsets still fit.
    first = np.flatnonzero(~(is_blank & np.append(False, is_blank[:-1])))
    lines = np.diff(np.append(first, len(is_blank)))
    offsets = np.append(offsets[first], offsets[-1])
    texts = pa.StringArray.from_buffers(len(first), pa.py_buffer(offsets), content)
    if b"\0" not in data and np.diff(offsets).max() <= LONGEST_LINE and _is_utf8(texts):
        return _make_batch(number, line + first, lines, texts)
    checked = [_check_line(raw) for raw in texts.cast(pa.binary()).to_pylist()]
    return _make_batch(number, line + first, lines, *zip(*checked, strict=True))


def _is_utf8(texts: Any) -> bool:
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _check_line(raw: bytes) -> tuple[str, str | None]:
    """Return the text of a line, with escapes for undecodable bytes, and why the line cannot be parsed."""
    if len(raw) > LONGEST_LINE:
        return _escape_undecodable(raw[:KEPT_OF_LONG_LINE]), TOO_LONG
    try:
        return raw.decode(), BINARY if b"\0" in raw else None
    except UnicodeDecodeError:
        return _escape_undecodable(raw), BINARY if b"\0" in raw else NOT_UTF8


def _escape_undecodable(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _make_batch(number: int, at: Any, lines: Any, texts: Any, problems: Any = None) -> pa.RecordBatch:
    rows = len(texts)
    return pa.record_batch(
        [
            pa.array(np.full(rows, number, np.int32)),
            pa.array(at, pa.int64()),
            pa.array(texts, pa.string()),
            pa.nulls(rows, pa.string()) if problems is None else pa.array(problems, pa.string()),
            pa.array(lines, pa.int64()),
        ],
        schema=SCHEMA,
    )


def _drop_header(batches: Iterator[pa.RecordBatch], header: str | None) -> Iterator[pa.RecordBatch]:
    """Drop the first line that is neither blank nor binary if it is the header."""
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


def _join_blank_lines(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Join runs of blank lines that were split between blocks, and drop one blank line at the end of a file.

    Editors and exports add that line.
    """
    held: pa.RecordBatch | None = None
    for batch in batches:
        rest = batch
        if held is not None and rest.num_rows and _continues_blank_run(held, rest):
            held = _extend_blank_run(held, _value_at(rest, "lines", 0))
            rest = rest.slice(1)
        if not rest.num_rows:
            continue
        if held is not None:
            yield held
            held = None
        last = rest.num_rows - 1
        if _value_at(rest, "text", last) == "":
            held, rest = rest.slice(last), rest.slice(0, last)
        if rest.num_rows:
            yield rest
    if held is not None and _value_at(held, "lines", 0) > 1:
        yield _extend_blank_run(held, -1)


def _value_at(batch: pa.RecordBatch, column: str, row: int) -> Any:
    return batch.column(column)[row].as_py()


def _continues_blank_run(blank: pa.RecordBatch, batch: pa.RecordBatch) -> bool:
    """Return whether the batch starts with the next blank lines."""
    end = _value_at(blank, "line", 0) + _value_at(blank, "lines", 0)
    return bool(_value_at(batch, "text", 0) == "" and _value_at(batch, "line", 0) == end)


def _extend_blank_run(blank: pa.RecordBatch, lines: int) -> pa.RecordBatch:
    more = pa.array([_value_at(blank, "lines", 0) + lines], pa.int64())
    return blank.set_column(blank.schema.get_field_index("lines"), "lines", more)
