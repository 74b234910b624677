"""Times as text, read by shape: each row says by itself which style it has."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable
from typing import Any

import duckdb

from queryveil.errors import UsageError, argument

FIRST_YEAR, LAST_YEAR = 1000, 9999
"""No search is older or younger, and far beyond them an engine cannot add a session's gap to a time."""

# Years from 1000, so that nothing before Christ comes out of a typing error. Spaces around a time are allowed
# here rather than trimmed off, which would cost more than all the rest.
_DATE = r"[1-9]\d{3}-\d\d-\d\d"
_CLOCK = r"[T ]\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?"
_LOCAL = rf" *{_DATE}(?:{_CLOCK})? *"
_IN_UTC = rf"{_DATE}{_CLOCK}Z"
_WITH_ZONE = rf" *({_DATE}{_CLOCK}) ?(?:[Zz]|([+-])(0\d|1[0-5]):?([0-5]\d)?) *"
# Digits before the point tell the unit. Lengths between them are left out on purpose: 12 and 14 digits are
# more often a date run together (yymmddHHMMSS) than a count, and reading those as an epoch would be silent.
_EPOCHS = ((r"\d{13}", 3), (r"\d{9,10}", 6), (r"\d{16}", 0))
"""Digits before the point, and how many digits behind it a microsecond is away."""


def literal(text: str) -> str:
    """A SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def impossible_sql(time: str) -> str:
    """SQL for whether a timestamp or date is missing, infinite or of a year that nobody has searched in."""
    return f"coalesce(year({time}) NOT BETWEEN {FIRST_YEAR} AND {LAST_YEAR}, true)"


def cast_sql(text: str) -> str:
    """Return SQL for what DuckDB's own cast makes of a text with a dash: more than times, and without their zones."""
    return f"CASE WHEN contains({text}, '-') THEN try_cast({text} AS TIMESTAMP) END"


def time_sql(text: str, cast: str, time_format: str | None) -> str:
    """Return SQL for the UTC timestamp of a text, null where it is none.

    Args:
        text: The column of the text.
        cast: The column with `cast_sql` of the text.
        time_format: The strptime format of times, if not one of the usual ones.
    """
    if time_format is not None:
        parsed = f"try_strptime(trim({text}), {literal(time_format)})"
        # DuckDB takes the words `epoch` and `infinity` for times whatever the format. By way of microseconds,
        # a format with a zone comes out in UTC.
        return f"CASE WHEN regexp_matches({text}, '[0-9]') THEN make_timestamp(epoch_us({parsed})) END"

    def part(number: int) -> str:
        return f"regexp_extract({text}, {literal(_WITH_ZONE)}, {number})"

    minutes = (
        f"CAST({part(2)} || '1' AS INTEGER) * "
        f"(60 * CAST({part(3)} AS INTEGER) + CAST('0' || {part(4)} AS INTEGER))"
    )
    zoned = (
        f"try_cast({part(1)} AS TIMESTAMP) - "
        f"CASE WHEN {part(2)} = '' THEN INTERVAL 0 MINUTE ELSE to_minutes({minutes}) END"
    )
    dates = [
        # What programs write as a rule is the same when it is written again, which is faster to find out than by a
        # pattern.
        f"WHEN ends_with({text}, 'Z') AND strftime({cast}, '%Y-%m-%dT%H:%M:%SZ') = {text} THEN {cast}",
        f"WHEN ends_with({text}, 'Z') AND regexp_full_match({text}, {literal(_IN_UTC)}) "
        f"THEN try_cast(left({text}, strlen({text}) - 1) AS TIMESTAMP)",
        f"WHEN CAST({cast} AS VARCHAR) = {text} OR regexp_full_match({text}, {literal(_LOCAL)}) THEN {cast}",
        f"WHEN regexp_full_match({text}, {literal(_WITH_ZONE)}) THEN {zoned}",
    ]
    numbers = [one for digits, places in _EPOCHS for one in _epoch_sql(text, digits, places)]
    # Every date has a dash, and no number has one: half of the patterns need not be tried.
    return f"CASE WHEN contains({text}, '-') THEN CASE {' '.join(dates)} END ELSE CASE {' '.join(numbers)} END END"


def _epoch_sql(text: str, digits: str, places: int) -> list[str]:
    """SQL for numbers of one length. In whole numbers of 64 bits: a wide decimal costs a hundred times as much."""
    whole = f"CAST(trim({text}) AS BIGINT) * {10**places}"
    whens = [f"WHEN regexp_full_match({text}, {literal(f' *{digits} *')}) THEN make_timestamp({whole})"]
    if places:
        shape = rf" *({digits})\.(\d{{1,9}}) *"
        before, behind = (f"regexp_extract({text}, {literal(shape)}, {part})" for part in (1, 2))
        # One digit more than a microsecond needs, for rounding.
        digits_behind = f"CAST(left(rpad({behind}, {places + 1}, '0'), {places + 1}) AS BIGINT)"
        micros = f"CAST({before} AS BIGINT) * {10**places} + ({digits_behind} + 5) // 10"
        whens.append(f"WHEN regexp_full_match({text}, {literal(shape)}) THEN make_timestamp({micros})")
    return whens


_DAYS: tuple[str, ...] = (
    "%Y-%m-%d",
    "%Y/%m/%d",
    "%Y.%m.%d",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    "%d-%m-%Y",
    "%m-%d-%Y",
)
_DAYS += (
    "%d/%m/%y",
    "%m/%d/%y",
    "%d.%m.%y",
    "%d-%b-%Y",
    "%d/%b/%Y",
    "%d %b %Y",
    "%d %B %Y",
    "%b %d %Y",
    "%B %d, %Y",
)
_CLOCKS = ("%H:%M:%S", "%H:%M", "%H:%M:%S.%f", "%I:%M:%S %p", "%I:%M %p", "%I:%M:%S%p", "%H.%M.%S", "%H.%M")
_TIME_FORMATS = (
    *(
        "%Y%m%d%H%M%S",
        "%y%m%d%H%M%S",
        "%Y%m%d%H%M",
        "%y%m%d%H%M",
        "%Y%m%d",
        "%y%m%d",
        "%Y%m%d %H%M%S",
        "%Y%m%dT%H%M%S",
    ),
    *(
        f"{day}{between}{clock}"
        for day in _DAYS
        for between in (" ", "T", ":", ", ", "-")
        for clock in _CLOCKS
    ),
    *_DAYS,
    *(f"%a %b %d %H:%M:%S{zone} %Y" for zone in ("", " %z", " UTC", " GMT")),
)
_SAMPLED = 50
_FITTING = 0.9
_MOST_SUGGESTED = 2


def suggest_time_formats(values: Iterable[str]) -> str:
    """Return the strptime formats that fit nearly all values, as options of a command; empty if there are none.

    Day and month cannot be told apart if no day is above 12, so there can be two formats.
    """
    present = [value.strip(" []") for value in values if value.strip(" []")][:_SAMPLED]
    fitting: list[str] = []
    for base in _TIME_FORMATS:
        for time_format in (
            (base, f"{base} %z", f"{base}%z") if "%z" not in base and "%H" in base else (base,)
        ):
            if not any(_fits_format(value, time_format) for value in present[:2]):
                continue
            if sum(_fits_format(value, time_format) for value in present) >= _FITTING * len(present):
                fitting.append(f"{argument('time_format', str(time_format))}")
    return " or ".join(fitting[:_MOST_SUGGESTED])


def _fits_format(value: str, time_format: str) -> bool:
    try:
        time = dt.datetime.strptime(value, time_format)
    except ValueError:
        return False
    # Python accepts single digits in a run, which makes the run ambiguous.
    return not value.isdecimal() or time.strftime(time_format) == value


def check_time_format(connection: Any, time_format: str | None) -> None:
    """Refuse a format that no row could ever have, before any row is read."""
    if time_format is None:
        return
    try:
        connection.execute(f"SELECT {time_sql(literal('x'), 'NULL', time_format)}").fetchall()
    except duckdb.Error:
        raise UsageError(
            f"{time_format!r} is not a time format", "use strptime's letters, for example %d.%m.%Y %H:%M"
        ) from None
