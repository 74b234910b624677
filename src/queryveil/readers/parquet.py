"""Parquet files, read where they lie if their columns have the right types, converted if not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from queryveil.errors import InputError, UsageError
from queryveil.readers.columns import as_number, by_alias, find, listed
from queryveil.readers.model import Head, Progress, ReadOptions, Source, Staged
from queryveil.readers.staging import CHUNK_ROWS, Stager, conform_sql, connect, no_user_sql
from queryveil.readers.times import impossible_sql, literal

MAGIC = b"PAR1"
_MOST_RANK = 999_999_999
_ROW_PLACE = {"file_index", "file_row_number"}  # columns that DuckDB adds to say where a row is

# Kinds that need no conversion, and kinds that can be converted, per standard column.
_DIRECT = {
    "user": {"text", "integer"},
    "query": {"text"},
    "time": {"timestamp", "date"},
    "url": {"text"},
    "rank": {"integer"},
    "session": {"text", "integer"},
}
_CONVERTIBLE = {
    "user": {"number"},
    "query": {"integer", "number"},
    "time": {"zoned timestamp", "text", "integer", "number"},
    "url": set[str](),
    "rank": {"text", "number"},
    "session": {"number"},
}


class Parquet:
    name: ClassVar[str] = "parquet"
    help: ClassVar[str] = "Parquet files, all with the same columns"
    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq")

    def matches(self, head: Head) -> bool:
        return head.data.startswith(MAGIC)

    def stage(self, source: Source, options: ReadOptions, into: Path, progress: Progress | None) -> Staged:
        names, kinds = _schema(source, options)
        relation = _relation(source, names)
        with connect(into, options) as connection, Stager(into, list(names), source) as stager:
            try:
                # By the schema alone: rows have no say in how they are read.
                if all(kinds[name] in _DIRECT[name] for name in names):
                    staged = _direct(connection, relation, names, source, stager)
                else:
                    staged = _convert(connection, relation, kinds, options.time_format, stager)
            except duckdb.Error:
                raise _damaged(_culprit(connection, source)) from None
        if progress is not None:
            progress(source.size, source.size)
        return staged


def _schema(source: Source, options: ReadOptions) -> tuple[dict[str, str], dict[str, str]]:
    """The source's names of the standard columns, and what kind each has, the same in all files."""
    label = source.files[0].label
    names: dict[str, str] = {}
    types: dict[str, str] = {}
    kinds: dict[str, str] = {}
    for file in source.files:
        schema = _read_schema(file.path, file.label, file.compression)
        if shadowing := _ROW_PLACE & {name.lower() for name in schema.names}:
            raise InputError(
                f"{file.label!r} has a column {min(shadowing)!r}, which hides the number of the row",
                "rename this column",
            )
        if not names:
            names = _names(schema.names, options, repr(label))
        for standard, name in names.items():
            if schema.names.count(name) != 1:
                how_many = "more than one" if name in schema.names else "no"
                raise InputError(
                    f"{file.label!r} has {how_many} column {name!r}",
                    "all files must have the same columns: read them one at a time",
                )
            kind, exact = _kind(schema.field(name).type)
            if types.setdefault(standard, exact) != exact:
                raise InputError(
                    f"column {name!r} is {exact} in {file.label!r} but {types[standard]} in {label!r}",
                    "read them one at a time, or give both the same type",
                )
            if kind not in _DIRECT[standard] | _CONVERTIBLE[standard]:
                raise InputError(
                    f"column {name!r} in {file.label!r} is {exact}, which cannot be a {standard}",
                    "name another column with --columns, or convert it",
                )
            kinds[standard] = kind
    return names, kinds


def _read_schema(path: Path, label: str, compression: str | None) -> Any:
    if compression is not None:
        raise InputError(
            f"{label!r} is Parquet inside {compression}, which cannot be read in place", "decompress it first"
        )
    try:
        return pq.read_schema(path)
    except (pa.ArrowException, OSError):
        raise _damaged(label) from None


def _damaged(label: str) -> InputError:
    return InputError(
        f"{label!r} is damaged, cut short or not Parquet",
        "copy it again from where it came, or name its --format",
    )


def _names(available: list[str], options: ReadOptions, where: str) -> dict[str, str]:
    if options.columns is None:
        return _by_alias(available, where)
    names = {}
    for standard, at in options.columns.items():
        name = find(str(at), available)
        if name is None and as_number(at) is not None:
            raise UsageError("Parquet columns have names", "give names, as in --columns user=user_id")
        if name is None:
            raise InputError(
                f"{where} has no column {str(at)!r}; it has {listed(available)}", "correct --columns"
            )
        names[standard] = name
    return names


def _by_alias(available: list[str], where: str) -> dict[str, str]:
    found = by_alias(available)
    for standard in ("user", "query"):
        if standard not in found:
            raise InputError(
                f"{where} has no column for the {standard}; it has {listed(available)}",
                "say which it is, for example --columns user=...,query=...,time=...",
            )
    return found


def _kind(type_: Any) -> tuple[str, str]:
    """What the column is for us, and its type as other files must have it (however strings are encoded)."""
    if pa.types.is_dictionary(type_):
        type_ = type_.value_type
    if pa.types.is_string(type_) or pa.types.is_large_string(type_) or pa.types.is_string_view(type_):
        return "text", "string"
    if pa.types.is_integer(type_):
        return "integer", str(type_)
    if pa.types.is_floating(type_) or pa.types.is_decimal(type_):
        return "number", str(type_)
    if pa.types.is_timestamp(type_):
        return ("zoned timestamp" if type_.tz else "timestamp"), str(type_)
    return ("date" if pa.types.is_date(type_) else "other"), str(type_)


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _escaped(path: Path) -> str:
    """The path such that DuckDB takes it for itself and not for a glob."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path))


def _relation(source: Source, names: Mapping[str, str]) -> str:
    """SQL for the rows with file number, line and problem, and the standard columns under standard names."""
    paths = ", ".join(literal(_escaped(file.path)) for file in source.files)
    columns = ", ".join(f'{_quoted(name)} AS "{standard}"' for standard, name in names.items())
    return (
        "(SELECT CAST(file_index AS INTEGER) AS file, file_row_number + 1 AS line, "  # noqa: S608 (names are quoted)
        f"CAST(NULL AS VARCHAR) AS problem, {columns} "
        f"FROM read_parquet([{paths}], hive_partitioning = false))"
    )


def _text(names: Mapping[str, str]) -> str:
    """SQL for what is kept of a bad row."""
    return "CAST(to_json({" + ", ".join(f"'{name}': \"{name}\"" for name in names) + "}) AS VARCHAR)"


def _direct(
    connection: Any, relation: str, names: Mapping[str, str], source: Source, stager: Stager
) -> Staged:
    """The files as they are if every row is good; otherwise the good rows copied, with values as they are.

    Which of the two it is must make no difference to a good row, or one row could change how others are read.
    """
    user = 'CAST("user" AS VARCHAR)'
    # Users repeat: judged once each, from the column's own dictionary, they cost next to nothing. Least and
    # greatest values come from the files' statistics. So a sound log is not read before it is counted.
    total, userless = connection.execute(
        f"SELECT sum(n), sum(n) FILTER ({no_user_sql(user)}) "  # noqa: S608 (our own names)
        f"FROM (SELECT user, count(*) AS n FROM {relation} GROUP BY user)"
    ).fetchone()
    checks = ["true"]
    if "time" in names:
        ends = f"""{impossible_sql('min("time")')} OR {impossible_sql('max("time")')}"""
        checks.append(f'(count(*) = 0 OR NOT ({ends})) AND count("time") = count(*)')
    if "rank" in names:
        checks.append(f'coalesce(min("rank") >= 0 AND max("rank") <= {_MOST_RANK}, true)')
    (sound,) = connection.execute(f"SELECT {' AND '.join(checks)} FROM {relation}").fetchone()  # noqa: S608
    stager.rows = int(total or 0)
    if sound and not userless:
        return stager.finish_direct(Parquet.name, source, names)
    reasons = [f"WHEN {no_user_sql(user)} THEN 'no user'"]
    if "time" in names:
        reasons.append(f"""WHEN {impossible_sql('"time"')} THEN 'bad time'""")
    if "rank" in names:
        reasons.append(f"""WHEN "rank" NOT BETWEEN 0 AND {_MOST_RANK} THEN 'bad rank'""")
    judged = f"(SELECT *, CASE {' '.join(reasons)} END AS reason FROM {relation})"  # noqa: S608
    bad = connection.execute(
        f"SELECT file, line, reason, {_text(names)} AS text FROM {judged} WHERE reason IS NOT NULL"  # noqa: S608
    )
    for batch in bad.to_arrow_reader(CHUNK_ROWS):
        if batch.num_rows:
            stager.reject(pa.Table.from_batches([batch]))
    columns = ", ".join(f'"{name}"' for name in names)
    good = f"SELECT {columns} FROM {judged} WHERE reason IS NULL"  # noqa: S608
    (stager.rows,) = connection.execute(
        f"COPY ({good}) TO {literal(str(stager.rows_file))} (FORMAT parquet)"
    ).fetchone()
    return stager.finish_copy(Parquet.name, names)


def _convert(
    connection: Any, relation: str, kinds: Mapping[str, str], time_format: str | None, stager: Stager
) -> Staged:
    """Copy into a staged file with the standard types, by the same rules as for text."""
    raw = {name: f'CAST("{name}" AS VARCHAR)' for name in kinds}
    typed_time = kinds.get("time") in {"timestamp", "zoned timestamp", "date"}
    if typed_time:
        instant = '"time"' if kinds["time"] == "zoned timestamp" else 'TRY_CAST("time" AS TIMESTAMP)'
        raw["time"] = f'CASE WHEN isfinite("time") THEN make_timestamp(epoch_us({instant})) END'
    if kinds["user"] == "number":
        # A column of whole numbers with gaps becomes floating in a data frame; 17.0 is user 17.
        raw["user"] = f"regexp_replace({raw['user']}, '\\.0+$', '')"
    sql = conform_sql(relation, raw, time_format=time_format, typed_time=typed_time, text=_text(kinds))
    for batch in connection.execute(sql).to_arrow_reader(CHUNK_ROWS):
        stager.add(pa.Table.from_batches([batch]))
    return stager.finish(Parquet.name)


def _culprit(connection: Any, source: Source) -> str:
    """Which file it was that could not be read to its end."""
    for file in source.files:
        try:
            pq.ParquetFile(file.path).read(columns=[])
            connection.execute("SELECT * FROM read_parquet([?])", [_escaped(file.path)]).fetchall()
        except (pa.ArrowException, OSError, duckdb.Error):
            return file.label
    return source.files[0].label
