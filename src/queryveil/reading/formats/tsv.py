"""Tab-separated text, without any quoting: a quote is a character like others."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from queryveil.reading.formats.delimited import extract_fields, lay_out
from queryveil.reading.model import Head, Progress, ReadOptions, Source, Staged
from queryveil.reading.staging import stage_lines


class Tsv:
    name: ClassVar[str] = "tsv"
    help: ClassVar[str] = "tab-separated text, one row per line, no quoting"
    suffixes: ClassVar[tuple[str, ...]] = (".tsv", ".tab")
    takes: ClassVar[tuple[str, ...]] = ("null", "where")

    def matches(self, head: Head) -> bool:
        return "\t" in head.first_line

    def stage(self, source: Source, options: ReadOptions, into: Path, progress: Progress | None) -> Staged:
        delimiter = options.delimiter or "\t"
        layout = lay_out(source, options, delimiter, lambda line: line.split(delimiter))
        return stage_lines(source, extract_fields(layout, options), options, into, progress, self.name)
