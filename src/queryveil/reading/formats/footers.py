"""What a Parquet file says of itself, and whether it says one thing only."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from queryveil.errors import InputError
from queryveil.files import memory
from queryveil.reading.formats.pages import Chunk
from queryveil.reading.model import SourceFile

_ROW_PLACE = {"file_index", "file_row_number"}  # columns that DuckDB adds to say where a row is


def read_schema(file: SourceFile) -> Any:
    """The Arrow schema of a file."""
    if file.compression is not None:
        raise InputError(
            f"{file.label!r} is Parquet inside {file.compression}, which cannot be read in place",
            "decompress it first",
        )
    try:
        schema = pq.read_schema(file.path)
        names = schema.names
    except UnicodeDecodeError:
        raise InputError(
            f"{file.label!r} has a column whose name is not UTF-8, or is damaged",
            "rename the column, or copy the file again from where it came",
        ) from None
    except Exception as error:
        if memory.short(error):
            raise
        raise damaged(file.label) from None
    if shadowing := _ROW_PLACE & {name.lower() for name in names}:
        raise InputError(
            f"{file.label!r} has a column {min(shadowing)!r}, which hides the number of the row",
            "rename this column",
        )
    return schema


def damaged(label: str) -> InputError:
    return InputError(
        f"{label!r} is damaged, cut short or not Parquet",
        "copy it again from where it came, or name its --format",
    )


def disagrees(label: str) -> InputError:
    return InputError(
        f"{label!r} is damaged: its footer disagrees with itself or with the pages on how many rows there are",
        "copy it again from where it came",
    )


def lies(label: str) -> InputError:
    return InputError(
        f"{label!r} has a text that is longer than its pages say",
        "copy it again from where it came, or convert it",
    )


def require_one_each(chosen: Mapping[str, str], names: Sequence[str], label: str) -> None:
    """Refuse columns of which an engine could read another: engines take no notice of case.

    DuckDB moreover calls the second of two such columns `name_1`, which a third one may be called itself.
    """
    folded = [name.casefold() for name in names]
    twice = {name for name in folded if folded.count(name) > 1}
    for name in chosen.values():
        same = name.casefold()
        stem, _, number = same.rpartition("_")
        if same in twice or (number.isdigit() and stem in twice):
            alike = [repr(names[at]) for at, other in enumerate(folded) if other in (same, stem)]
            raise InputError(
                f"{label!r} has columns that engines cannot tell apart: {', '.join(alike[:5])}",
                "rename all but one; case makes no difference",
            )


def stated(
    connection: Any, file: SourceFile, path: str, columns: Collection[str]
) -> tuple[int, dict[str, list[Chunk]]]:
    """How many rows the file says that it has, if all its parts say the same, and where its columns are.

    `path` is as DuckDB wants it. It is asked, and not Arrow, which ends the whole process on some damaged parts of a
    footer that it reads only when asked. A column whose parts are not where its schema has them is left out: readers
    go by places, whatever names stand there.
    """
    places = _places(read_schema(file))
    try:
        (rows,) = connection.execute("SELECT num_rows FROM parquet_file_metadata(?)", [path]).fetchone()
        found = connection.execute(
            "SELECT row_group_id, row_group_num_rows, num_values, path_in_schema, column_id, "
            "coalesce(nullif(dictionary_page_offset, 0), data_page_offset), data_page_offset, total_compressed_size, "
            "compression, stats_null_count FROM parquet_metadata(?) WHERE list_contains(?, path_in_schema)",
            [path, list(columns)],
        ).fetchall()
    except duckdb.Error:
        raise damaged(file.label) from None
    groups: dict[int, list[tuple[int, int]]] = {}
    chunks: dict[str, list[Chunk]] = {name: [] for name in columns}
    for group, in_group, values, name, place, start, pages, size, codec, nulls in found:
        groups.setdefault(group, []).append((in_group, values))
        if place == places.get(name) and name in chunks:
            chunks[name].append(Chunk(file.path, min(start, pages), size, codec, values, nulls))
        else:
            chunks.pop(name, None)
    for parts in groups.values():
        (in_group, _), *_ = parts
        if in_group < 0 or len(parts) != len(columns) or {*parts} != {(in_group, in_group)}:
            raise disagrees(file.label)
    if sum(parts[0][0] for parts in groups.values()) != rows:
        raise disagrees(file.label)
    return int(rows), chunks


def _places(schema: Any) -> dict[str, int]:
    """Which of a file's columns each field is; a field with fields of its own has several."""
    made, place = {}, 0
    for field in schema:
        made[field.name] = place
        place += _leaves(field.type)
    return made


def _leaves(kind: Any) -> int:
    if not pa.types.is_nested(kind):
        return 1
    return sum(_leaves(kind.field(at).type) for at in range(kind.num_fields))
