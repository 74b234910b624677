"""The staging engine for tables with types: Parquet in place or converted, other tables as a copy in Parquet."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from queryveil.errors import InputError, UsageError, argument, nearest
from queryveil.files import memory
from queryveil.reading.columns import (
    as_number,
    choose_columns,
    find,
    is_header,
    listed,
    look_like_names,
    nearest_column,
    usual,
)
from queryveil.reading.model import (
    LONGEST_TEXT,
    Format,
    OpenedTable,
    Progress,
    ReadOptions,
    Source,
    SourceFile,
    Staged,
)
from queryveil.reading.staging import (
    CHUNK_ROWS,
    StagedWriter,
    connect,
    not_writable,
)
from queryveil.reading.times import impossible_sql, literal
from queryveil.reading.validation import (
    KEPT_OF_LONG_TEXT,
    TEXT_TOO_LONG,
    no_user_sql,
    reject_reason_sql,
    too_long_sql,
    validate_sql,
)

MOST_RANK = 999_999_999
_MUCH_TEXT = 2**30
_MOST_TEXT_PER_ROW = 16 * 1024
"""Bytes of text per row on average. Beyond much text, more is refused: a dictionary can repeat one long text in every
row, so that a small file would fill the memory."""
_ROW_PLACE = {"file_index", "file_row_number"}
"""Columns that DuckDB adds to say where a row is."""


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


def stage_table(
    source: Source, format: Format, options: ReadOptions, into: Path, progress: Progress | None
) -> Staged:
    """Validate the rows of tables with types, and stage the tables as Parquet.

    Parquet files are read in place if all rows are valid. Of other files, the columns that are read are copied first.
    """
    ignored: tuple[str, ...] = ()
    rows_above = [0] * len(source.files)
    if format.open_table is not None:
        source, columns, ignored, rows_above = _copy_tables(source, format, format.open_table, options, into)
        options = replace(options, columns=columns)
    names, kinds = _read_schema(source, options)
    texts = [name for name, kind in kinds.items() if kind == "text"]
    with connect(into, options) as connection, StagedWriter(into, list(names), source, format) as writer:
        try:
            chosen = set(names.values())
            rows = sum(_count_rows(connection, file, chosen) for file in source.files)
            # By the schema alone: rows do not decide how other rows are read.
            direct = all(kinds[name] in _DIRECT[name] for name in names)
            long = _has_long_texts(connection, _relation_sql(source, names, rows_above), texts, rows, source)
            relation = _relation_sql(source, names, rows_above, texts if long else ())
            if direct:
                staged = _stage_in_place(connection, relation, names, writer, long)
            else:
                staged = _convert_rows(connection, relation, kinds, options.time_format, writer)
        except duckdb.OutOfMemoryException:
            raise  # reported by `connect`, which knows the limit
        except duckdb.Error:
            raise damaged(_find_damaged_file(connection, source, names)) from None
    if staged.rows + staged.rejected != rows:
        raise disagrees(source.files[0].label)
    if progress is not None:
        progress(source.size, source.size)
    if format.open_table is None:
        ignored = tuple(one for one in read_schema(source.files[0]).names if one not in names.values())
    hints = {**format.hints, **staged.hints}
    return replace(
        staged, format=format.name, mapping=names, ignored=ignored, hints=hints, notes=format.notes
    )


def has_same_schemas(source: Source) -> bool:
    """Return whether all Parquet files have the same schema."""
    first, *others = (read_schema(file) for file in source.files)
    return all(one.equals(first) for one in others)


def choose_table(
    tables: Mapping[str, Sequence[str]], options: ReadOptions, where: str, noun: str = "table"
) -> str:
    """Return the table that was named, the only one, or the only one with the columns of a log."""
    if not tables:
        raise InputError(f"{where} holds no {noun}", "check the file")
    if options.table is not None:
        named = find(options.table, list(tables))
        if named is None:
            raise UsageError(
                f"{where} has no {noun} {options.table!r}; it has {listed(list(tables))}",
                nearest(options.table, list(tables)) or f"correct {argument('table')}",
            )
        return named
    if len(tables) == 1:
        return next(iter(tables))
    wanted = [str(at) for at in (options.columns or {}).values() if at]
    fitting = [
        name
        for name, columns in tables.items()
        if (all(find(one, list(columns)) for one in wanted) if wanted else is_header(columns))
    ]
    if len(fitting) == 1:
        return fitting[0]
    shown = sorted(fitting or tables)
    why = f"{len(fitting)} of them may be a log" if fitting else f"no {noun} has a user and a query"
    raise InputError(
        f"{where} has {len(tables)} {noun}s, and {why}: {listed(shown)}",
        f"say which it is with {argument('table')}, for example {argument('table', shown[0])}",
    )


def quote_name(name: str) -> str:
    """Return an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _copy_tables(
    source: Source,
    format: Format,
    open_table: Callable[[Path, ReadOptions], OpenedTable],
    options: ReadOptions,
    into: Path,
) -> tuple[Source, dict[str, str], tuple[str, ...], list[int]]:
    """Copy the columns that are read to Parquet, which has the same rules for the same types.

    Returns the copies, the columns by standard name, the columns that are not read, and for each file the number of
    rows above the table.
    """
    copies: list[SourceFile] = []
    names: dict[str, str] = {}
    ignored: tuple[str, ...] = ()
    rows_above = []
    for number, file in enumerate(source.files):
        if file.compression is not None:
            raise InputError(
                f"{file.label!r} is {format.file_kind} inside {file.compression}", "decompress it first"
            )
        with _report_damage(file, format):
            table = open_table(file.path, options)
            available = table.schema.names  # decoded now, and not all bytes are text
        if not names:
            names = columns_of(available, options, repr(file.label))
            ignored = tuple(name for name in available if name not in names.values())
        require_one_each(names, available, file.label)
        wanted = [name for name in available if name in names.values()]
        copy = into / f"copied-{number}.parquet"
        rows = _read_batches(table.batches(wanted), file, format)
        _write_copy(copy, rows, [table.schema.field(name) for name in wanted], names)
        copies.append(replace(file, path=copy))
        rows_above.append(table.rows_above)
    return replace(source, files=tuple(copies)), names, ignored, rows_above


@contextmanager
def _report_damage(file: SourceFile, format: Format) -> Iterator[None]:
    """Name the file that cannot be read, and nothing of its contents."""
    try:
        yield
    except (pa.ArrowException, OSError, KeyError, UnicodeDecodeError, *format.errors()):
        raise InputError(
            f"{file.label!r} is damaged, cut short or not {format.file_kind}",
            "copy it again from where it came, while nothing writes to it",
        ) from None


def _read_batches(
    batches: Iterator[pa.RecordBatch], file: SourceFile, format: Format
) -> Iterator[pa.RecordBatch]:
    while True:
        with _report_damage(file, format):
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _write_copy(
    copy: Path, batches: Iterator[pa.RecordBatch], fields: list[Any], names: Mapping[str, str]
) -> None:
    first = next(batches, None)
    declared = fields if first is None else first.schema
    # A file may declare that no value is missing, and lack one: rows are validated one by one.
    schema = pa.schema([one.with_nullable(True) for one in declared])
    try:
        # A dictionary of all queries takes longer to write than they do, and is given up in the middle.
        few, times = [names["user"]], [names["time"]] if "time" in names else False
        with pq.ParquetWriter(copy, schema, use_dictionary=few, write_statistics=times) as writer:
            for batch in [] if first is None else chain([first], batches):
                writer.write_batch(pa.record_batch(batch.columns, schema=schema))
    except OSError as error:
        raise not_writable(copy.parent, error) from None


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
        if memory.is_limit_exceeded(error):
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
        f"copy it again from where it came, or name its {argument('format')}",
    )


def disagrees(label: str) -> InputError:
    return InputError(
        f"{label!r} is damaged: its footer disagrees with itself or with the pages on how many rows there are",
        "copy it again from where it came",
    )


def require_one_each(chosen: Mapping[str, str], names: Sequence[str], label: str) -> None:
    """Refuse columns that engines could confuse, because they ignore case.

    DuckDB also calls the second of two such columns `name_1`, which can be the name of a third one.
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


def _count_rows(connection: Any, file: SourceFile, columns: Collection[str]) -> int:
    """Return how many rows the footer states, and require that its parts agree.

    DuckDB reads the footer: Arrow ends the process on some damaged parts of it.
    """
    path = _escape_path(file.path)
    try:
        (rows,) = connection.execute("SELECT num_rows FROM parquet_file_metadata(?)", [path]).fetchone()
        found = connection.execute(
            "SELECT row_group_id, row_group_num_rows, num_values FROM parquet_metadata(?) "
            "WHERE list_contains(?, path_in_schema)",
            [path, list(columns)],
        ).fetchall()
    except duckdb.Error:
        raise damaged(file.label) from None
    groups: dict[int, list[tuple[int, int]]] = {}
    for group, in_group, values in found:
        groups.setdefault(group, []).append((in_group, values))
    for parts in groups.values():
        (in_group, _), *_ = parts
        if in_group < 0 or len(parts) != len(columns) or {*parts} != {(in_group, in_group)}:
            raise disagrees(file.label)
    if sum(parts[0][0] for parts in groups.values()) != rows:
        raise disagrees(file.label)
    return int(rows)


def _read_schema(source: Source, options: ReadOptions) -> tuple[dict[str, str], dict[str, str]]:
    """Return the source's name of each standard column, and its kind, the same in all files."""
    label = source.files[0].label
    names: dict[str, str] = {}
    types: dict[str, str] = {}
    kinds: dict[str, str] = {}
    for file in source.files:
        schema = read_schema(file)
        if not names:
            names = columns_of(schema.names, options, repr(label))
        require_one_each(names, schema.names, file.label)
        for standard, name in names.items():
            if name not in schema.names:
                raise InputError(
                    f"{file.label!r} has no column {name!r}",
                    "all files must have the same columns: read them one at a time",
                )
            kind, exact = require_kind(standard, name, schema.field(name).type, file.label)
            if types.setdefault(standard, exact) != exact:
                raise InputError(
                    f"column {name!r} is {exact} in {file.label!r} but {types[standard]} in {label!r}",
                    "read them one at a time, or give both the same type",
                )
            kinds[standard] = kind
    return names, kinds


def require_kind(standard: str, name: str, type_: Any, label: str) -> tuple[str, str]:
    """Return the kind of a column and its exact type; refuse a type that the standard column cannot have."""
    kind, exact = kind_of(type_)
    if kind not in _DIRECT[standard] | _CONVERTIBLE[standard]:
        raise InputError(
            f"column {name!r} in {label!r} is {exact}, which cannot be a {standard}",
            f"name another column with {argument('columns')}, or convert it",
        )
    return kind, exact


def columns_of(available: list[str], options: ReadOptions, where: str) -> dict[str, str]:
    """Return the available names of the columns that the user named or that have usual names."""
    columns = choose_columns(options.columns, available)
    for standard in ("user", "query"):
        if standard not in columns:
            raise InputError(
                f"{where} has no column for the {standard}{_list_columns(available)}",
                f"say which it is with {argument('columns', {str(standard): 'NAME'})}",
            )
    names = {}
    for standard, at in columns.items():
        name = find(str(at), available)
        if name is None and as_number(at) is not None:
            raise UsageError(
                f"the columns of {where} have names",
                f"give names, as in {argument('columns', {'user': 'user_id'})}",
            )
        if name is None:
            require_one_each({standard: str(at)}, available, where.strip("'"))
            raise InputError(
                f"{where} has no column {str(at)!r}{_list_columns(available)}",
                nearest_column(standard, at, available if look_like_names(available) else usual(available))
                or f"correct {argument('columns')}",
            )
        names[standard] = name
    return names


def _list_columns(available: list[str]) -> str:
    if look_like_names(available):
        return f"; it has {listed(available)}"
    return f" among its {len(available)} columns (their names are not shown: they may be a row of the log)"


def kind_of(type_: Any) -> tuple[str, str]:
    """Return the kind of a type, and the type that other files must have (however strings are encoded)."""
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


def _escape_path(path: Path) -> str:
    """Return the path with escapes, so that DuckDB does not take it for a glob."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in str(path))


def _relation_sql(
    source: Source, names: Mapping[str, str], rows_above: Sequence[int], cut: Sequence[str] = ()
) -> str:
    """Return SQL for the rows with file number, line, and problem, and the standard columns under standard names.

    In the columns `cut`, a text that is too long is a problem, and only its beginning is kept.
    """
    paths = ", ".join(literal(_escape_path(file.path)) for file in source.files)
    columns = []
    for standard, name in names.items():
        whole = quote_name(name)
        short = f"CASE WHEN {too_long_sql(whole)} THEN left({whole}, {KEPT_OF_LONG_TEXT}) ELSE {whole} END"
        columns.append(f'{short if standard in cut else whole} AS "{standard}"')
    long = " OR ".join(too_long_sql(quote_name(names[standard])) for standard in cut) or "false"
    first_lines = ", ".join(str(above + 1) for above in rows_above)
    return (
        "(SELECT CAST(file_index AS INTEGER) AS file, "  # noqa: S608 (names are quoted)
        f"file_row_number + [{first_lines}][CAST(file_index AS INTEGER) + 1] AS line, "
        f"1 AS lines, CASE WHEN {long} THEN '{TEXT_TOO_LONG}' END AS problem, {', '.join(columns)} "
        f"FROM read_parquet([{paths}], hive_partitioning = false))"
    )


def _has_long_texts(connection: Any, relation: str, texts: Sequence[str], rows: int, source: Source) -> bool:
    """Return whether a text is too long, without making any text: a dictionary may repeat one in every row.

    Every text is measured, so a damaged page is found here and not while counting.
    """
    # Column by column: what repeats in a column is then measured once, by its dictionary.
    lengths = [f'{what}(strlen("{name}"))' for what in ("max", "sum") for name in texts]
    found, *measured = connection.execute(
        f"SELECT {', '.join(['count(*)', *lengths])} FROM {relation}"  # noqa: S608 (our own names)
    ).fetchone()
    longest = max((one or 0 for one in measured[: len(texts)]), default=0)
    total = sum(one or 0 for one in measured[len(texts) :])
    if found != rows:
        raise disagrees(source.files[0].label)
    if total > _MUCH_TEXT and total > _MOST_TEXT_PER_ROW * rows:
        size = f"{total / 2**30:,.1f} GiB of text, {total / rows / 2**10:,.0f} KiB in a row on average"
        raise InputError(
            f"{source.files[0].label!r} would be {size}: that is not a search log",
            "check where it comes from, or leave out the long texts",
        )
    return bool(longest > LONGEST_TEXT)


def _rejected_text_sql(names: Mapping[str, str]) -> str:
    """Return SQL for the text that is kept of a rejected row."""
    return "CAST(to_json({" + ", ".join(f"'{name}': \"{name}\"" for name in names) + "}) AS VARCHAR)"


def _stage_in_place(
    connection: Any, relation: str, names: Mapping[str, str], writer: StagedWriter, long: bool
) -> Staged:
    """Stage the files themselves if every row is valid; otherwise copy the valid rows, with values as they are.

    Which of the two it is must make no difference to a valid row, or one row could change how others are read.
    """
    user = 'CAST("user" AS VARCHAR)'
    # Users repeat, so each is validated once. Minima and maxima come from the files' statistics. So the columns of a
    # valid log are not read before they are counted.
    total, userless, users = connection.execute(
        f"SELECT sum(n), sum(n) FILTER ({no_user_sql(user)}), count(*) "  # noqa: S608 (our own names)
        f"FROM (SELECT user, count(*) AS n FROM {relation} GROUP BY user)"
    ).fetchone()
    checks = ["count(*) >= 0"]
    if "time" in names:
        ends = f"""{impossible_sql('min("time")')} OR {impossible_sql('max("time")')}"""
        checks.append(f'(count(*) = 0 OR NOT ({ends})) AND count("time") = count(*)')
    if "rank" in names:
        checks.append(f'coalesce(min("rank") >= 0 AND max("rank") <= {MOST_RANK}, true)')
    (sound,) = connection.execute(f"SELECT {' AND '.join(checks)} FROM {relation}").fetchone()  # noqa: S608
    writer.rows = int(total or 0)
    if sound and not userless and not long:
        return replace(writer.finish_in_place(names), users=int(users))
    reason = reject_reason_sql(
        user=user,
        time='"time"' if "time" in names else None,
        bad_rank=f'"rank" NOT BETWEEN 0 AND {MOST_RANK}' if "rank" in names else None,
    )
    validated = f"(SELECT *, coalesce(problem, {reason}) AS reason FROM {relation})"  # noqa: S608
    bad = connection.execute(
        f"SELECT file, line, lines, reason, {_rejected_text_sql(names)} AS text FROM {validated} "  # noqa: S608
        "WHERE reason IS NOT NULL"
    )
    for batch in bad.to_arrow_reader(CHUNK_ROWS):
        if batch.num_rows:
            writer.reject(pa.Table.from_batches([batch]))
    columns = ", ".join(f'"{name}"' for name in names)
    accepted = f"SELECT {columns} FROM {validated} WHERE reason IS NULL"  # noqa: S608
    (writer.rows,) = connection.execute(
        f"COPY ({accepted}) TO {literal(str(writer.rows_file))} (FORMAT parquet)"
    ).fetchone()
    return writer.finish_copy(names)


def _convert_rows(
    connection: Any, relation: str, kinds: Mapping[str, str], time_format: str | None, writer: StagedWriter
) -> Staged:
    """Copy the valid rows in the standard types, by the same rules as for text."""
    raw = {name: f'CAST("{name}" AS VARCHAR)' for name in kinds}
    typed_time = kinds.get("time") in {"timestamp", "zoned timestamp", "date"}
    if typed_time:
        instant = '"time"' if kinds["time"] == "zoned timestamp" else 'TRY_CAST("time" AS TIMESTAMP)'
        raw["time"] = f'CASE WHEN isfinite("time") THEN make_timestamp(epoch_us({instant})) END'
    if kinds["user"] == "number":
        # A column of whole numbers with gaps becomes floating in a data frame; 17.0 is user 17.
        raw["user"] = f"regexp_replace({raw['user']}, '\\.0+$', '')"
    sql = validate_sql(
        relation, raw, time_format=time_format, typed_time=typed_time, text=_rejected_text_sql(kinds)
    )
    for batch in connection.execute(sql).to_arrow_reader(CHUNK_ROWS):
        writer.add(pa.Table.from_batches([batch]))
    return writer.finish()


def _find_damaged_file(connection: Any, source: Source, names: Mapping[str, str]) -> str:
    """Return the label of the file that cannot be read to its end."""
    columns = ", ".join(quote_name(name) for name in names.values())
    for file in source.files:
        try:
            connection.execute(
                f"SELECT sum(hash({columns}) % 2) FROM read_parquet([?], hive_partitioning = false)",  # noqa: S608
                [_escape_path(file.path)],
            ).fetchall()
        except duckdb.Error:
            return file.label
    return source.files[0].label
