"""What looks as if a log had been read wrongly: a sentence each, for the curator, who knows the log.

Doubts are messages. None of them changes how a row is read.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from queryveil.errors import argument
from queryveil.reading.columns import ALIASES
from queryveil.reading.engine import Engine
from queryveil.reading.formats import FORMATS
from queryveil.reading.segments import WITHOUT_BLANKS

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.model import Format, Staged

_ENOUGH: Final = 20
"""Rows from which on a share says something."""
_TWO_WORDS: Final = r"[A-Za-z]+ [A-Za-z]+"
_ADDRESS: Final = r"^\s*(?i:[a-z][a-z0-9+.-]*://|www\.|[a-z0-9-]+(?:\.[a-z0-9-]+)+/)"
_AGENT: Final = r"^\s*[A-Za-z][A-Za-z._-]*/[0-9]+(?:\.[0-9]+)+(?:[ ;(]|$)"
"""The name and version of a program, with which browsers and robots introduce themselves."""
_MANY: Final = 0.5
_SOME: Final = 0.1
_FIRST_YEAR: Final = 1990
"""No search was logged before; small numbers that were taken for seconds since 1970 are of such years."""
_DAY: Final = 24 * 60 * 60
_OFFSET: Final = 15 * 60
"""Seconds that offsets of time zones are multiples of."""


def find_doubts(
    rows: ir.Table, events: Callable[[], ir.Table], engine: Engine, staged: Staged | None, *, segmented: bool
) -> Iterator[str]:
    """Yield what to check before any figure is believed.

    Args:
        rows: The rows of the log before normalization.
        events: Returns the rows with a query in normal form; called only if needed.
        engine: The engine of the rows.
        staged: What reading the log found.
        segmented: Whether words of scripts without blanks are found by a dictionary.
    """
    figures = _first_row(engine, rows.aggregate(**_scan_figures(rows)))
    many = figures["rows"]
    if not many:
        return
    yield from _header_doubts(rows, engine)
    yield from _segmentation_doubts(rows, engine, many, segmented)
    if staged is None or not staged.dateless:
        yield from _impossible_times(figures)
        yield from _merged_days(figures, events, engine, staged)
    per_user = rows.group_by("user").aggregate(n=rows.count())
    user = per_user["user"]
    found = _first_row(
        engine,
        per_user.aggregate(
            users=per_user.count(),
            most=per_user["n"].max(),
            blanks=user.re_search(_TWO_WORDS).cast("int64").sum(),
            addresses=user.re_search(_ADDRESS).cast("int64").sum(),
            agents=user.re_search(_AGENT).cast("int64").sum(),
        ),
    )
    yield from _user_doubts(found, many, staged)


def _scan_figures(rows: ir.Table) -> dict[str, Any]:
    wanted: dict[str, Any] = {"rows": rows.count()}
    if "time" in rows.columns:
        seconds = rows["time"].epoch_seconds()
        wanted |= {
            "first": rows["time"].min(),
            "last": rows["time"].max(),
            "off_quarter_hours": (seconds % _OFFSET != 0).cast("int64").sum(),
        }
    return wanted


def _user_doubts(found: Mapping[str, Any], rows: int, staged: Staged | None) -> Iterator[str]:
    """Users that look like something else than people."""
    users, how = found["users"], _how_to_choose("user", staged)
    telling = False
    for kind, what in (("addresses", "addresses of pages"), ("agents", "names of browsers or programs")):
        if (found[kind] or 0) > _SOME * users:
            telling = True
            yield (
                f"{found[kind]:,} of {users:,} users look like {what}. The guarantee protects users, and these are not "
                f"people: name the column that tells people apart{how}"
            )
    if rows < _ENOUGH:
        return
    if users > rows / 2:
        yield f"there are {users:,} users in {rows:,} rows: if that is wrong, another column holds the user{how}"
    format = _log_format(staged)
    of_known_shape = format is not None and format.users_have_blanks
    if (found["blanks"] or 0) > _MANY * users and not of_known_shape and not telling:
        yield (
            f"more than half of the users are several words: if these are queries, another column holds the user{how}"
        )
    if users > 1 and found["most"] > _MANY * rows:
        yield (
            f"one user has {100 * found['most'] / rows:.0f}% of all rows: if that is a robot, or a word for a missing "
            f"user, leave it out{_how_to_leave_out(staged)}"
        )


def _log_format(staged: Staged | None) -> Format | None:
    """Return the format of the log; None for a table in memory."""
    return None if staged is None else FORMATS.get(staged.format)


def _how_to_choose(column: str, staged: Staged | None) -> str:
    """Return the option that chooses a column in this format; nothing if the format has no such option."""
    format = _log_format(staged)
    if format is None or not format.columns:
        return f" ({argument('columns', {column: '...'})})"
    return f" ({argument('user_field', '...')})" if f"{column}_field" in format.options else ""


def _how_to_leave_out(staged: Staged | None) -> str:
    format = _log_format(staged)
    return (
        f" ({argument('where')}, {argument('null')})"
        if format is not None and "where" in format.options
        else " of the log"
    )


def _merged_days(
    figures: Mapping[str, Any], events: Callable[[], ir.Table], engine: Engine, staged: Staged | None
) -> Iterator[str]:
    """Searches of one user that are one event because times have no time of day."""
    if figures.get("first") is None or figures["off_quarter_hours"]:
        return
    with_query = events()
    seconds = with_query["time"].epoch_seconds()
    one_each = with_query.select("user", "time", "query").distinct()
    found = _first_row(
        engine,
        with_query.aggregate(
            rows=with_query.count(), times=seconds.nunique(), days=(seconds // _DAY).nunique()
        ),
    )
    # Midnight in a time zone is another hour in UTC, which changes with summer time, but there is one a day.
    if found["times"] != found["days"]:
        return
    merged = found["rows"] - _count_rows(engine, one_each)
    if merged:
        choices = ""
        format = _log_format(staged)
        if format is None or not format.columns:
            choices = (
                f". If a column has the time of day, name it ({argument('columns', {'time': '...'})}); to count every "
                f"row, read the log without times ({argument('columns', {'time': ''})})"
            )
        yield (
            f"times are whole days, so {merged:,} of {found['rows']:,} rows with a query are merged with another row: "
            f"rows of the same user, day, and query count as one search{choices}"
        )


def _impossible_times(figures: Mapping[str, Any]) -> Iterator[str]:
    """Times before searches were logged, times to come, and one time for all rows."""
    first, last = figures.get("first"), figures.get("last")
    if first is None or last is None:
        return
    # A day more: it is tomorrow already somewhere.
    if last.replace(tzinfo=None) > dt.datetime.now(dt.UTC).replace(tzinfo=None) + dt.timedelta(days=1):
        yield (
            f"the last row is from {last:%Y-%m-%d}, in the future: say how times are written "
            f"({argument('time_format')})"
        )
    if first.year < _FIRST_YEAR:
        yield (
            f"the first row is from {first:%Y-%m-%d}, before searches were logged: say how times are written "
            f"({argument('time_format')})"
        )
    if figures["rows"] >= _ENOUGH and first == last:
        yield (
            "all rows have the same time: if that is wrong, another column holds the time "
            f"({argument('columns', {'time': '...'})})"
        )


def _header_doubts(rows: ir.Table, engine: Engine) -> Iterator[str]:
    """Rows that say what columns are called."""
    alike = rows["user"].strip().lower().isin(list(ALIASES["user"]))
    alike &= rows["query"].strip().lower().isin([*ALIASES["query"], "user query", "search term"])
    found = _count_rows(engine, rows.filter(alike))
    if found:
        what = "1 row looks" if found == 1 else f"{found:,} rows look"
        yield f"{what} like a line with names of columns: if so, say {argument('header', True)}"


def _segmentation_doubts(rows: ir.Table, engine: Engine, many: int, segmented: bool) -> Iterator[str]:
    """Queries in scripts without blanks, whose words are not found by blanks."""
    if segmented:
        yield (
            "words of Chinese, Japanese, Thai, and related scripts were found with ICU's dictionaries "
            f"({argument('segment')})"
        )
        return
    without = _count_rows(engine, rows.filter(rows["query"].re_search(f"[{WITHOUT_BLANKS}]")))
    if without > _SOME * many:
        yield (
            f"{100 * without / many:.0f}% of the queries are in scripts without blanks between words: such a query is "
            f"one keyword as a whole; {argument('segment', True)} cuts it into words"
        )


def _count_rows(engine: Engine, table: ir.Table) -> int:
    return int(engine.arrow(table.aggregate(n=table.count()))["n"][0].as_py())


def _first_row(engine: Engine, table: ir.Table) -> dict[str, Any]:
    found: dict[str, Any] = engine.arrow(table).to_pylist()[0]
    return found
