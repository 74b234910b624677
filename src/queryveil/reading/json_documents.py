"""JSON files that are not lines: arrays, answers of a search engine, objects over several lines, read as a stream.

Each document becomes one row of the batches that `lines.py` makes, with the line on which it starts. A file whose
brackets do not match cannot be cut into documents, so it is refused as a whole: nothing of it is lost in silence.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from queryveil.errors import InputError
from queryveil.reading import lines
from queryveil.reading.model import Head, Progress, Source, SourceFile
from queryveil.reading.sources import blocks, read_head

_ANSWER = re.compile(
    r'\s{0,99}+\{\s{0,99}+"(?:took|_scroll_id|pit_id|timed_out|terminated_early|num_reduce_phases|_shards|_clusters|hits)"\s{0,99}+:'
)
"""How an answer of OpenSearch or Elasticsearch begins."""
_ANSWER_BEGINS_WITHIN = 200
_BATCH = 10_000
_LOOKED_AT = 100
_PREFIX = re.compile(r"\A[^\t{\[\"]*\t(?=\{)")
"""The name of an index and a tab, which some tools write before each document."""

_decode = json.JSONDecoder(strict=False).raw_decode


class _BrokenError(Exception):
    """What stands here is no JSON."""


def objects_in(head: Head) -> list[dict[str, object]]:
    """The first documents of a file, as far as its beginning holds whole ones."""
    if in_lines(head):
        texts = [_PREFIX.sub("", text, count=1) for text in head.lines[:_LOOKED_AT]]
    else:
        texts = []
        stream = _Stream(iter([(head.data, 0)]), lambda _: None)
        try:
            for _, text in stream.documents():
                texts.append(text)
                if len(texts) == _LOOKED_AT:
                    break
        except _BrokenError:
            pass  # the beginning of a file ends in the middle of a document
    return [found for found in map(_parse_object, texts) if found is not None]


def in_lines(head: Head) -> bool:
    """Whether each line is a document: not in an array, in an answer, nor where objects take several lines.

    Most of the first lines decide, because a single one may be an odd row.
    """
    text = head.data.decode("utf-8", "replace").lstrip()
    found = [_PREFIX.sub("", line, count=1) for line in head.lines[:_LOOKED_AT]]
    whole = sum(_parse_object(line) is not None and not _ANSWER.match(line) for line in found)
    if text.startswith("[") or _ANSWER.match(text):
        return 2 * whole > len(found)
    return not text.startswith("{") or 2 * whole >= len(found)


def read_documents(source: Source, progress: Progress | None) -> Iterator[pa.RecordBatch]:
    """Yield all documents of all files: line by line where they are lines."""

    def read_file(file: SourceFile, number: int, report: lines.Report) -> Iterator[pa.RecordBatch]:
        whole_lines = in_lines(read_head(file.path, file.member, file.encoding))
        return (lines.lines_of if whole_lines else _documents_of)(file, number, report)

    return lines.read_files(source, progress, read_file)


def _parse_object(text: str) -> dict[str, object] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and value else None


def _documents_of(file: SourceFile, number: int, report: Callable[[int], None]) -> Iterator[pa.RecordBatch]:
    stream = _Stream(blocks(file, lines.BLOCK_BYTES), report)
    found: list[tuple[int, str]] = []
    try:
        for one in stream.documents():
            found.append(one)
            if len(found) == _BATCH:
                yield _make_batch(number, found)
                found = []
    except _BrokenError:
        raise InputError(
            f"{file.label!r} is not JSON, or is cut short, in the document that starts on line {stream.at_line()}",
            "copy it again from where it came, or write one document per line, where a bad one harms no other",
        ) from None
    if found:
        yield _make_batch(number, found)


def _make_batch(number: int, found: list[tuple[int, str]]) -> pa.RecordBatch:
    problems = [_document_problem(text) for _, text in found]
    texts = [text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace") for _, text in found]
    return pa.record_batch(
        [
            pa.array([number] * len(found), pa.int32()),
            pa.array([line for line, _ in found], pa.int64()),
            pa.array(texts, pa.string()),
            pa.array(problems, pa.string()),
            pa.array([1] * len(found), pa.int64()),
        ],
        schema=lines.SCHEMA,
    )


def _document_problem(text: str) -> str | None:
    if "\0" in text:
        return lines.BINARY
    try:
        text.encode()
    except UnicodeEncodeError:
        return lines.NOT_UTF8
    return None


@dataclass
class _Stream:
    """Text that comes block by block, cut into JSON values."""

    blocks: Iterator[tuple[bytes, int]]
    report: Callable[[int], None]
    text: str = ""
    at: int = 0
    line: int = 1
    counted: int = 0
    """Up to here the lines were counted."""
    ended: bool = False

    def __post_init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def at_line(self) -> int:
        self.line += self.text.count("\n", self.counted, self.at)
        self.counted = self.at
        return self.line

    def documents(self) -> Iterator[tuple[int, str]]:
        """Each document with the line on which it starts."""
        while first := self._next_character():
            if first == "[":
                yield from self._read_array()
            elif first == "{" and self._is_answer():
                yield from self._read_path(("hits", "hits"))
            else:
                yield self._read_value()

    def _read_array(self) -> Iterator[tuple[int, str]]:
        self.at += 1
        while (mark := self._next_character()) != "]":
            if mark == ",":
                self.at += 1
            else:
                yield self._read_value()
        self.at += 1

    def _read_path(self, path: tuple[str, ...]) -> Iterator[tuple[int, str]]:
        """The documents at the end of a path of keys; all other values are skipped."""
        self.at += 1
        while (mark := self._next_character()) != "}":
            if mark == ",":
                self.at += 1
                continue
            key = json.loads(self._read_value()[1], strict=False) if mark == '"' else None
            if self._next_character() != ":" or not isinstance(key, str):
                raise _BrokenError
            self.at += 1
            mark = self._next_character()
            if path[:1] == (key,) and mark == ("{" if path[1:] else "["):
                yield from self._read_path(path[1:]) if path[1:] else self._read_array()
            else:
                self._read_value()
        self.at += 1

    def _is_answer(self) -> bool:
        while not self.ended and len(self.text) - self.at < _ANSWER_BEGINS_WITHIN:
            self._read_more()
        return _ANSWER.match(self.text, self.at) is not None

    def _next_character(self) -> str:
        """The next character that is no white space; nothing at the end of the file."""
        while True:
            while self.at < len(self.text):
                mark = self.text[self.at]
                if mark not in " \t\r\n\x1e\ufeff":
                    return mark
                self.at += 1
            if self.ended:
                return ""
            self._read_more()

    def _read_value(self) -> tuple[int, str]:
        """The next value as it stands, with the line on which it starts."""
        if not self._next_character():
            raise _BrokenError
        while True:
            try:
                _, end = _decode(self.text, self.at)
                # A number may go on in the next block.
                if end < len(self.text) or self.ended or self.text[end - 1] in '}]"':
                    break
            except RecursionError:
                raise _BrokenError from None
            except ValueError:
                if self.ended or len(self.text) - self.at > lines.LONGEST_LINE:
                    raise _BrokenError from None
            self._read_more(len(self.text) - self.at)
        found = self.at_line(), self.text[self.at : end]
        self.at = end
        return found

    def _read_more(self, much: int = 1) -> None:
        """Read on, by as much at least: who tries again twice as late tries seldom."""
        self.at_line()
        parts = [self.text[self.at :]]
        self.at = self.counted = 0
        while not self.ended and much > 0:
            block, done = next(self.blocks, (b"", 0))
            self.ended = not block
            if block:
                self.report(done)
            parts.append(self._decoder.decode(block, self.ended))
            much -= len(parts[-1])
        self.text = "".join(parts)
