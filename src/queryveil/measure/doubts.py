"""What looks as if a log had been read wrongly: a sentence each, for the curator, who knows the log."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from queryveil.reading.columns import ALIASES
from queryveil.reading.log import SearchLog
from queryveil.reading.segments import WITHOUT_BLANKS

if TYPE_CHECKING:
    import ibis.expr.types as ir

_ENOUGH: Final = 20
"""Rows from which on a share says something."""
_TWO_WORDS: Final = r"[A-Za-z]+ [A-Za-z]+"
_MANY: Final = 0.5
_SOME: Final = 0.1
_FIRST_YEAR: Final = 1990
"""No search was logged before; small numbers that were taken for seconds since 1970 are of such years."""
_USERS_WITH_BLANKS: Final = {"access-log"}
"""Formats whose users are an address and the name of a browser."""


def doubts(log: SearchLog, figures: dict[str, Any]) -> Iterator[str]:
    """What to look at before any figure is believed."""
    rows, users = figures["rows"], log.users
    if rows:
        yield from _header(log)
        yield from _unsegmented(log, rows)
        if log.staged is None or not log.staged.dateless:
            yield from _impossible_times(figures)
    if rows < _ENOUGH:
        return
    if users > rows / 2:
        yield (
            f"there are {users:,} users in {rows:,} rows: if that is not so, another column holds the user (--columns)"
        )
    if figures.get("first") is not None and figures["first"] == figures["last"]:
        yield "all rows have the same time: if that is not so, another column holds the time (--columns)"
    per_user = log.source.group_by("user").aggregate(n=log.source.count())
    blanks = per_user["user"].re_search(_TWO_WORDS).cast("int64").sum()
    found = log.engine.arrow(per_user.aggregate(most=per_user["n"].max(), blanks=blanks)).to_pylist()[0]
    of_known_shape = log.staged is not None and log.staged.format in _USERS_WITH_BLANKS
    if (found["blanks"] or 0) > _MANY * users and not of_known_shape:
        yield (
            "more than half of the users are several words: if these are queries, another column holds the user "
            "(--columns)"
        )
    if users > 1 and found["most"] > _MANY * rows:
        yield (
            f"one user has {100 * found['most'] / rows:.0f} % of all rows: if that is a robot, or a word for nobody, "
            "leave it out (--where, --null)"
        )


def _impossible_times(figures: dict[str, Any]) -> Iterator[str]:
    """Times before searches were logged, and times to come."""
    first, last = figures.get("first"), figures.get("last")
    if first is None or last is None:
        return
    # A day more: it is tomorrow already somewhere.
    if last.replace(tzinfo=None) > dt.datetime.now(dt.UTC).replace(tzinfo=None) + dt.timedelta(days=1):
        yield f"the last row is of {last:%Y-%m-%d}, which is yet to come: say how times are written (--time-format)"
    if first.year < _FIRST_YEAR:
        yield (
            f"the first row is of {first:%Y-%m-%d}, before searches were logged: say how times are written "
            "(--time-format)"
        )


def _header(log: SearchLog) -> Iterator[str]:
    """Rows that say what columns are called."""
    rows = log.source
    alike = rows["user"].strip().lower().isin(list(ALIASES["user"]))
    alike &= rows["query"].strip().lower().isin([*ALIASES["query"], "user query", "search term"])
    found = _count(log, rows.filter(alike))
    if found:
        what = "1 row looks" if found == 1 else f"{found:,} rows look"
        yield f"{what} like a line with names of columns: if so, say --header"


def _unsegmented(log: SearchLog, rows: int) -> Iterator[str]:
    """Queries in scripts without blanks, whose words are not found by blanks."""
    if log.segmented:
        yield "words of Chinese, Japanese, Thai and their kin were found by ICU's dictionaries (--segment)"
        return
    queries = log.table
    without = _count(log, queries.filter(queries["query"].re_search(f"[{WITHOUT_BLANKS}]")))
    if without > _SOME * rows:
        yield (
            f"{100 * without / rows:.0f} % of the queries are in scripts without blanks between words: such a query is "
            "one keyword as a whole; --segment cuts it into words"
        )


def _count(log: SearchLog, table: ir.Table) -> int:
    return int(log.engine.arrow(table.aggregate(n=table.count()))["n"][0].as_py())
