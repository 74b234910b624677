"""The Parquet files: readable, shaped as the manifest says, and with nothing tucked away in them."""

from __future__ import annotations

import base64
import mmap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from queryveil.catalog import Sentence
from queryveil.files import folder, tables, workspace
from queryveil.verification import parquet_bytes
from queryveil.verification.manifest import Manifest
from queryveil.verification.outcome import Check, is_local, judge, quoted

_ARROW_SCHEMA = b"ARROW:schema"


@dataclass(frozen=True)
class Opened:
    """A table file as it was read."""

    file: Path
    table: pa.Table
    metadata: Mapping[bytes, bytes]


def read(release: Path, manifest: Manifest) -> tuple[dict[str, Opened], dict[str, str]]:
    """The tables that can be read, and why the others cannot."""
    opened: dict[str, Opened] = {}
    broken: dict[str, str] = {}
    for name in manifest.section("tables"):
        file = folder.file_inside(release, folder.table_file(name))
        if file is None:
            broken[name] = "is missing"
            continue
        try:
            # Page headers and not the footer, which the decoder does not believe either.
            with _map_file(file) as content, memoryview(content) as view:
                tables.require_bounded(parquet_bytes.count_values(view), file)
            opened[name] = Opened(file, *tables.read_table(file))
        except Exception as error:
            if is_local(error):
                raise
            broken[name] = Sentence("verify.tables.cannot-be-read", name=type(error).__name__)
    return opened, broken


def checks(manifest: Manifest, opened: Mapping[str, Opened], broken: Mapping[str, str]) -> list[Check]:
    rows = sum(one.table.num_rows for one in opened.values())
    some = "1 table" if len(opened) == 1 else Sentence("verify.tables.tables", opened=len(opened))
    return [
        judge(
            "tables",
            Sentence(
                "verify.tables.columns-types-and-numbers-of-rows",
                some=some,
                rows=rows,
                value="row" if rows == 1 else "rows",
            ),
            lambda: _check_shapes(manifest, opened, broken),
        ),
        judge("cells", Sentence("verify.tables.no-cell-is-empty"), lambda: _check_nulls(opened)),
        judge(
            "parquet-metadata",
            Sentence("verify.tables.tables-have-no-metadata-beyond-their"),
            lambda: _check_metadata(opened),
        ),
        judge(
            "parquet-bytes",
            Sentence("verify.tables.table-files-hide-nothing-written-again"),
            lambda: _check_bytes(opened),
        ),
    ]


def _check_shapes(
    manifest: Manifest, opened: Mapping[str, Opened], broken: Mapping[str, str]
) -> Iterator[str]:
    if not manifest.section("tables"):
        yield Sentence("verify.tables.manifest-names-no-table")
    for name, reason in broken.items():
        yield Sentence("verify.tables.table", name=quoted(name), reason=reason)
    for name, one in opened.items():
        stated = manifest.section("tables")[name]
        listed = manifest.section("files").get(folder.table_file(name))
        if not isinstance(stated, dict):
            yield Sentence("verify.tables.table-is-not-described", name=quoted(name))
            continue
        if stated.get("file") != folder.table_file(name):
            yield Sentence("verify.tables.table-is-not-in-stated-file", name=quoted(name))
        for rows in (stated.get("rows"), listed.get("rows") if isinstance(listed, dict) else None):
            if type(rows) is not int or rows != one.table.num_rows:
                yield Sentence(
                    "verify.tables.table-has-rows-and-manifest-states",
                    name=quoted(name),
                    num_rows=one.table.num_rows,
                )
                break
        if _stated_columns(stated) != [(field.name, str(field.type)) for field in one.table.schema]:
            yield Sentence("verify.tables.table-does-not-have-stated-columns", name=quoted(name))


def _stated_columns(stated: Mapping[str, Any]) -> list[tuple[Any, Any]]:
    return [(column.get("name"), column.get("type")) for column in stated.get("columns", ())]


def _check_nulls(opened: Mapping[str, Opened]) -> Iterator[str]:
    for name, one in opened.items():
        for field, column in zip(one.table.schema, one.table.columns, strict=True):
            if column.null_count:
                yield Sentence(
                    "verify.tables.column-of-table-has-empty-cells",
                    name=quoted(field.name),
                    name_2=quoted(name),
                )


def _check_metadata(opened: Mapping[str, Opened]) -> Iterator[str]:
    for name, one in opened.items():
        for key, value in one.metadata.items():
            if key != _ARROW_SCHEMA:
                yield Sentence(
                    "verify.tables.table-carries-metadata",
                    name=quoted(name),
                    decode=quoted(key.decode(errors="replace")),
                )
                continue
            # The schema is stored a second time in Arrow's own form, which has room for metadata of its own.
            schema = pa.ipc.read_schema(pa.py_buffer(base64.b64decode(value)))
            if schema.metadata or any(field.metadata for field in schema):
                yield Sentence("verify.tables.table-carries-metadata-inside-its-schema", name=quoted(name))
            if schema.names != one.table.column_names:
                yield Sentence("verify.tables.table-stores-two-different-schemas", name=quoted(name))


def _check_bytes(opened: Mapping[str, Opened]) -> Iterator[str]:
    for name, one in opened.items():
        if not one.table.num_columns:
            yield Sentence("verify.tables.table-has-no-column", name=quoted(name))
            continue
        with workspace.temporary_folder() as place:
            again = place / "again.parquet"
            folder.write_table(one.table, again)
            with _map_file(one.file) as found, _map_file(again) as written:
                if found[:] == written[:]:
                    continue
                yield from (
                    Sentence("verify.tables.table-2", name=quoted(name), problem=problem)
                    for problem in _byte_differences(found, written)
                )


def _byte_differences(found: mmap.mmap, again: mmap.mmap) -> list[str]:
    with memoryview(found) as theirs, memoryview(again) as ours:
        try:
            layout = parquet_bytes.layout(theirs)
        except (ValueError, IndexError, KeyError, TypeError, AttributeError) as error:
            # Only our own sentences are told: others may quote what the file holds.
            return [
                str(error)
                if type(error) is ValueError
                else Sentence("verify.tables.is-not-laid-out-as-parquet")
            ]
        return list(parquet_bytes.differences(layout, parquet_bytes.layout(ours)))


def _map_file(file: Path) -> mmap.mmap:
    with file.open("rb") as content:
        return mmap.mmap(content.fileno(), 0, access=mmap.ACCESS_READ)
