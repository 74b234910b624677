"""Parquet files, read where they lie if their columns have the right types, converted if not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import duckdb
import pyarrow as pa

from queryveil.errors import InputError, UsageError, nearest
from queryveil.reading.columns import as_number, by_alias, find, listed, look_like_names, usual
from queryveil.reading.formats import pages
from queryveil.reading.formats.footers import (
    damaged,
    disagrees,
    lies,
    read_schema,
    require_one_each,
    stated,
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
                found = [stated(connection, one, _escaped(one.path), chosen) for one in source.files]
                rows = sum(number for number, _ in found)
                # By the schema alone: rows have no say in how they are read.
                direct = all(kinds[name] in _DIRECT[name] for name in names)
                unread = (
                    direct
                    and options.may_be_unread
                    and _short([each for _, each in found], names, texts, rows)
                )
                long = not unread and _measure(connection, _relation(source, names), texts, rows, source)
                relation = _relation(source, names, texts if long else ())
                if direct:
                    staged = _direct(connection, relation, names, source, stager, long)
                    staged = replace(staged, unread=unread and staged.files != (stager.rows_file,))
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
    if options.columns is None:
        return _by_alias(available, where)
    names = {}
    for standard, at in options.columns.items():
        name = find(str(at), available)
        if name is None and as_number(at) is not None:
            raise UsageError(f"the columns of {where} have names", "give names, as in --columns user=user_id")
        if name is None:
            require_one_each({standard: str(at)}, available, where.strip("'"))
            raise InputError(
                f"{where} has no column {str(at)!r}{_shown(available)}",
                nearest(at, available if look_like_names(available) else usual(available))
                or "correct --columns",
            )
        names[standard] = name
    return names


def _by_alias(available: list[str], where: str) -> dict[str, str]:
    found = by_alias(available)
    for standard in ("user", "query"):
        if standard not in found:
            raise InputError(
                f"{where} has no column for the {standard}{_shown(available)}",
                "say which it is, for example --columns user=...,query=...,time=...",
            )
    return found


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


def _short(
    files: Sequence[Mapping[str, Sequence[pages.Chunk]]],
    names: Mapping[str, str],
    texts: Sequence[str],
    rows: int,
) -> bool:
    """Whether pages say of all texts that they are short."""
    if not all(names[text] in each for each in files for text in texts):
        return False
    return pages.all_short([one for each in files for text in texts for one in each[names[text]]], rows)


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
    if pages.too_much(total, rows):
        size = f"{total / 2**30:,.1f} GiB of text, {total / rows / 2**10:,.0f} KiB in a row on average"
        raise InputError(
            f"{source.files[0].label!r} would be {size}: that is not a search log",
            "check where it comes from, or leave out the long texts",
        )
    return bool(longest > LONGEST_TEXT)


def read_through(staged: Staged, into: Path) -> None:
    """Read every text of a log that is `unread`, so that a page that is damaged shows."""
    files = [
        SourceFile(path, label, None, "") for path, label in zip(staged.files, staged.labels, strict=True)
    ]
    source = Source(tuple(files), Head(files[0].path, MAGIC, None, whole=False), ())
    schema = read_schema(files[0])
    texts = [name for name, own in staged.names.items() if kind_of(schema.field(own).type)[0] == "text"]
    with connect(into, ReadOptions()) as connection:
        try:
            long = _measure(connection, _relation(source, staged.names), texts, staged.rows, source)
        except duckdb.OutOfMemoryException:
            raise
        except duckdb.Error:
            raise damaged(_culprit(connection, source, staged.names)) from None
    if long:
        raise lies(files[0].label)


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
