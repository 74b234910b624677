"""The rules that decide whether a row is valid, as SQL: one set of rules and reasons for every format."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from queryveil.reading.model import COLUMNS, LONGEST_TEXT, NO_VALUE, SPELLED_NULL
from queryveil.reading.times import cast_sql, impossible_sql, literal, time_sql

TEXT_TOO_LONG = "text too long"
BLANK_LINE = "blank line"
NO_USER = "no user"
BAD_TIME = "bad time"
BAD_RANK = "bad rank"
CLICK_WITHOUT_USER = "click without user"
"""A click that names neither a user nor a client."""
NOT_JSON = "not JSON"
NO_FIELD = "no such field"
WRONG_TYPE = "wrong type"
WRONG_FIELDS = "wrong number of fields"
FILTERED_OUT = "rows filtered out"
"""What rows are counted as for which a condition of the user does not hold."""
KEPT_OF_LONG_TEXT = 1000
"""Characters that are kept of a rejected row whose text is too long."""

# Unicode white space. RE2's \s covers only a part of it.
_BLANK = r"[\s\x0b\x1c-\x1f\x{85}\p{Z}]*"
# Whole numbers, also as 3.0, which is how data frames write a column with gaps.
_RANK = r" *\d{1,9}(\.0+)? *"


def blank_sql(text: str) -> str:
    """Return SQL that is true for a text that is null, empty, or only white space."""
    # Most texts start with a visible ASCII character. CASE skips the pattern for them, which AND would not.
    return (
        f"({text} IS NULL OR CASE WHEN {text} >= '!' AND {text} < chr(127) THEN false "
        f"ELSE regexp_full_match({text}, '{_BLANK}') END)"
    )


def too_long_sql(text: str) -> str:
    """Return SQL that is true for a text that exceeds the limit."""
    return f"coalesce(strlen({text}) > {LONGEST_TEXT}, false)"


def no_user_sql(text: str, nulls: Sequence[str] = ()) -> str:
    """Return SQL that is true for a text that names no user: blank, or one of the words for a missing value."""
    return f"({blank_sql(text)} OR {_among_sql(text, (*SPELLED_NULL, *nulls))})"


def _among_sql(text: str, words: Sequence[str]) -> str:
    # DuckDB turns a long IN list into a join, which is slow and loses the order of rows. Most texts are longer than
    # all of these words.
    longest = max((len(word.encode()) for word in words), default=0)
    among = f"list_contains([{', '.join(map(literal, words))}], {text})"
    return f"CASE WHEN strlen({text}) > {longest} THEN false ELSE {among} END"


def _value_sql(text: str, nulls: Sequence[str] = ()) -> str:
    """Return SQL for the text, or null if it is a word for a missing value."""
    return f"CASE WHEN NOT {_among_sql(text, (*NO_VALUE, *nulls))} THEN {text} END"


def reject_reason_sql(
    *,
    user: str,
    time: str | None,
    bad_rank: str | None,
    texts: Sequence[str] = (),
    nulls: Sequence[str] = (),
    whole: str | None = None,
) -> str:
    """Return SQL for the reason why a row is rejected; null for a valid row.

    Args:
        user: SQL for the text of the user.
        time: SQL for a timestamp or date; None if the log has no times.
        bad_rank: SQL that is true for a rank that is not one; None if the log has no ranks.
        texts: SQL for texts whose length is limited.
        nulls: Words that the user declared to mean no value.
        whole: SQL for a text that is at least as long as each of `texts`, if there is one.
    """
    longest = f"{too_long_sql(whole)} AND " if whole else ""
    long = f"{longest}({' OR '.join(map(too_long_sql, texts))})"
    checks = [f"WHEN {long} THEN '{TEXT_TOO_LONG}'"] if texts else []
    checks.append(f"WHEN {no_user_sql(user, nulls)} THEN '{NO_USER}'")
    if time is not None:
        checks.append(f"WHEN {impossible_sql(time)} THEN '{BAD_TIME}'")
    if bad_rank is not None:
        checks.append(f"WHEN {bad_rank} THEN '{BAD_RANK}'")
    return f"CASE {' '.join(checks)} END"


def validate_sql(
    relation: str,
    values: Mapping[str, str],
    *,
    time_format: str | None = None,
    typed_time: bool = False,
    text: str = "text",
    also: Sequence[str] = (),
    nulls: Sequence[str] = (),
) -> str:
    """Return SQL that types the rows of a relation and gives each invalid row its reject reason.

    Args:
        relation: A table or subquery with the columns file, line, lines, and problem.
        values: SQL for the text of each standard column.
        time_format: The strptime format of times, if not one of the usual ones.
        typed_time: Whether the time is a timestamp already.
        text: SQL for the text that is kept of a rejected row.
        also: Columns of the relation to pass through.
        nulls: Words that the user declared to mean no value.
    """
    raws = ", ".join(f'{expression} AS "raw_{name}"' for name, expression in values.items())
    relation = f"(SELECT *, {raws} FROM {relation})"  # noqa: S608 (our own expressions and quoted names)
    typed = ["*"]
    if "time" in values and typed_time:
        typed.append("raw_time AS typed_time")
    elif "time" in values:
        relation = f"(SELECT *, {cast_sql('raw_time')} AS cast_time FROM {relation})"  # noqa: S608
        typed.append(f"{time_sql('raw_time', 'cast_time', time_format)} AS typed_time")
    if "rank" in values:
        whole = f"raw_rank <> '' AND regexp_full_match(raw_rank, '{_RANK}')"
        typed.append(f"CASE WHEN {whole} THEN CAST(raw_rank AS INTEGER) END AS typed_rank")
    no_rank = _among_sql("trim(raw_rank)", (*NO_VALUE, *nulls))
    reason = reject_reason_sql(
        texts=[f"raw_{name}" for name in values if name != "time" or not typed_time],
        user="raw_user",
        time="typed_time" if "time" in values else None,
        bad_rank=f"typed_rank IS NULL AND raw_rank <> '' AND NOT {no_rank}" if "rank" in values else None,
        nulls=nulls,
        # Extracting and decoding makes no text longer.
        whole=text if text == "text" else None,
    )
    query, empty = "coalesce(raw_query, '')", blank_sql("raw_query")
    if nulls:
        nothing = _among_sql("raw_query", nulls)
        query = f"CASE WHEN {nothing} THEN '' ELSE {query} END"
        empty = f"({empty} OR {nothing})"
    outputs = {
        "user": "raw_user",
        "time": "typed_time",
        "query": query,
        "url": _value_sql("raw_url", nulls),
        "rank": "typed_rank",
        "session": _value_sql("raw_session", nulls),
    }
    columns = ", ".join(f'{outputs[name]} AS "{name}"' for name in COLUMNS if name in values)
    return (
        "SELECT file, line, lines, reason, "  # noqa: S608 (our own expressions and quoted names)
        f"CASE WHEN reason = '{TEXT_TOO_LONG}' THEN left({text}, {KEPT_OF_LONG_TEXT}) "
        f"WHEN reason IS NOT NULL THEN {text} END AS text, "
        f"reason IS NULL AND {empty} AS empty, {', '.join([columns, *also])} FROM "
        f"(SELECT *, coalesce(problem, {reason}) AS reason FROM "
        f"(SELECT {', '.join(typed)} FROM {relation}))"
    )
