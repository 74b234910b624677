"""Parquet files, read where they lie if their columns have the right types, converted if not."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from queryveil.errors import InputError, UsageError
from queryveil.files import memory
from queryveil.reading.columns import (
    as_number,
    choose_columns,
    find,
    listed,
    look_like_names,
    nearest_column,
    usual,
)
from queryveil.reading.model import (
    LONGEST_TEXT,
    Head,
    Progress,
    ReadOptions,
    Source,
    SourceFile,
    Staged,
)
from queryveil.reading.staging import (
    CHUNK_ROWS,
    Stager,
    connect,
)
from queryveil.reading.times import impossible_sql, literal
from queryveil.reading.validation import (
    KEPT_OF_LONG_TEXT,
    TEXT_TOO_LONG,
    judge_sql,
    no_user_sql,
    too_long_sql,
)

MAGIC = b"PAR1"
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


class Parquet:
    name: ClassVar[str] = "parquet"
    help: ClassVar[str] = "Parquet files, all with the same columns"
    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    binary: ClassVar[bool] = True

    def matches(self, head: Head) -> bool:
        return head.data.startswith(MAGIC)

    def stage(self, source: Source, options: ReadOptions, into: Path, progress: Progress | None) -> Staged:
        names, kinds = _schema(source, options)
        texts = [name for name, kind in kinds.items() if kind == "text"]
        with connect(into, options) as connection, Stager(into, list(names), source) as stager:
            try:
                chosen = set(names.values())
                rows = sum(_count_rows(connection, file, chosen) for file in source.files)
                # By the schema alone: rows have no say in how they are read.
                direct = all(kinds[name] in _DIRECT[name] for name in names)
                long = _measure(connection, _relation(source, names), texts, rows, source)
                relation = _relation(source, names, texts if long else ())
                if direct:
                    staged = _direct(connection, relation, names, source, stager, long)
                else:
                    staged = _convert(connection, relation, kinds, options.time_format, stager)
            except duckdb.OutOfMemoryException:
                raise  # said by the connection, which knows the limit
            except duckdb.Error:
                raise damaged(_culprit(connection, source, names)) from None
        if staged.rows + staged.rejected != rows:
            raise disagrees(source.files[0].label)
        if progress is not None:
            progress(source.size, source.size)
        others = [name for name in read_schema(source.files[0]).names if name not in names.values()]
        return replace(staged, mapping=names, ignored=tuple(others))


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


def _count_rows(connection: Any, file: SourceFile, columns: Collection[str]) -> int:
    """Return how many rows the footer states, and require that its parts agree.

    DuckDB reads the footer: Arrow ends the process on some damaged parts of it.
    """
    path = _escaped(file.path)
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


def _schema(source: Source, options: ReadOptions) -> tuple[dict[str, str], dict[str, str]]:
    """The source's names of the standard columns, and what kind each has, the same in all files."""
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
    """What kind a column has, and its exact type; refused if no such column can be read."""
    kind, exact = kind_of(type_)
    if kind not in _DIRECT[standard] | _CONVERTIBLE[standard]:
        raise InputError(
            f"column {name!r} in {label!r} is {exact}, which cannot be a {standard}",
            "name another column with --columns, or convert it",
        )
    return kind, exact


def columns_of(available: list[str], options: ReadOptions, where: str) -> dict[str, str]:
    """The names, among those available, of the columns that are asked for or have usual names."""
    columns = choose_columns(options.columns, available)
    for standard in ("user", "query"):
        if standard not in columns:
            raise InputError(
                f"{where} has no column for the {standard}{_shown(available)}",
                f"say which it is with --columns {standard}=NAME",
            )
    names = {}
    for standard, at in columns.items():
        name = find(str(at), available)
        if name is None and as_number(at) is not None:
            raise UsageError(f"the columns of {where} have names", "give names, as in --columns user=user_id")
        if name is None:
            require_one_each({standard: str(at)}, available, where.strip("'"))
            raise InputError(
                f"{where} has no column {str(at)!r}{_shown(available)}",
                nearest_column(standard, at, available if look_like_names(available) else usual(available))
                or "correct --columns",
            )
        names[standard] = name
    return names


def _shown(available: list[str]) -> str:
    if look_like_names(available):
        return f"; it has {listed(available)}"
    return f" among its {len(available)} columns (their names are not shown: they may be somebody's row)"


def kind_of(type_: Any) -> tuple[str, str]:
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


def _relation(source: Source, names: Mapping[str, str], cut: Sequence[str] = ()) -> str:
    """SQL for the rows with file number, line and problem, and the standard columns under standard names.

    Of the columns `cut`, a text that is too long is a problem, and nothing but its beginning goes any further.
    """
    paths = ", ".join(literal(_escaped(file.path)) for file in source.files)
    columns = []
    for standard, name in names.items():
        whole = _quoted(name)
        short = f"CASE WHEN {too_long_sql(whole)} THEN left({whole}, {KEPT_OF_LONG_TEXT}) ELSE {whole} END"
        columns.append(f'{short if standard in cut else whole} AS "{standard}"')
    long = " OR ".join(too_long_sql(_quoted(names[standard])) for standard in cut) or "false"
    return (
        "(SELECT CAST(file_index AS INTEGER) AS file, file_row_number + 1 AS line, 1 AS lines, "  # noqa: S608 (names are quoted)
        f"CASE WHEN {long} THEN '{TEXT_TOO_LONG}' END AS problem, {', '.join(columns)} "
        f"FROM read_parquet([{paths}], hive_partitioning = false))"
    )


def _measure(connection: Any, relation: str, texts: Sequence[str], rows: int, source: Source) -> bool:
    """Whether a text is too long, found without making any of them: a dictionary may repeat one without end.

    Every text is looked at, so a page that cannot be read shows here and not in the middle of counting.
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


def _text(names: Mapping[str, str]) -> str:
    """SQL for what is kept of a bad row."""
    return "CAST(to_json({" + ", ".join(f"'{name}': \"{name}\"" for name in names) + "}) AS VARCHAR)"


def _direct(
    connection: Any, relation: str, names: Mapping[str, str], source: Source, stager: Stager, long: bool
) -> Staged:
    """The files as they are if every row is good; otherwise the good rows copied, with values as they are.

    Which of the two it is must make no difference to a good row, or one row could change how others are read.
    """
    user = 'CAST("user" AS VARCHAR)'
    # Users repeat: judged once each, from the column's own dictionary, they cost next to nothing. Least and
    # greatest values come from the files' statistics. So a sound log is not read before it is counted.
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
    stager.rows = int(total or 0)
    if sound and not userless and not long:
        return replace(stager.finish_direct(Parquet.name, source, names), users=int(users))
    reasons = [f"WHEN {no_user_sql(user)} THEN 'no user'"]
    if "time" in names:
        reasons.append(f"""WHEN {impossible_sql('"time"')} THEN 'bad time'""")
    if "rank" in names:
        reasons.append(f"""WHEN "rank" NOT BETWEEN 0 AND {MOST_RANK} THEN 'bad rank'""")
    judged = f"(SELECT *, coalesce(problem, CASE {' '.join(reasons)} END) AS reason FROM {relation})"  # noqa: S608
    bad = connection.execute(
        f"SELECT file, line, lines, reason, {_text(names)} AS text FROM {judged} WHERE reason IS NOT NULL"  # noqa: S608
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
    sql = judge_sql(relation, raw, time_format=time_format, typed_time=typed_time, text=_text(kinds))
    for batch in connection.execute(sql).to_arrow_reader(CHUNK_ROWS):
        stager.add(pa.Table.from_batches([batch]))
    return stager.finish(Parquet.name)


def _culprit(connection: Any, source: Source, names: Mapping[str, str]) -> str:
    """Which file it was that could not be read to its end."""
    columns = ", ".join(_quoted(name) for name in names.values())
    for file in source.files:
        try:
            connection.execute(
                f"SELECT sum(hash({columns}) % 2) FROM read_parquet([?], hive_partitioning = false)",  # noqa: S608
                [_escaped(file.path)],
            ).fetchall()
        except duckdb.Error:
            return file.label
    return source.files[0].label
