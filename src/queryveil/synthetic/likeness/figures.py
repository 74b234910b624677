"""The few figures by which logs are compared: measured on any log, real or made up.

They are counts of people's searches, covered by no guarantee: for the curator alone.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import ibis
import numpy as np
from numpy.typing import NDArray

from queryveil.errors import CannotBeMet
from queryveil.reading.log import SearchLog

if TYPE_CHECKING:
    import ibis.expr.types as ir

TOPS: Final = (1, 10, 25, 100, 1_000)
FEW: Final = 5
RANKS: Final = 10
_DRIFT_USERS: Final = 30
"""Users in each part that a query needs before its change says anything of drift."""
_DRIFT_QUERIES: Final = 20
_DRIFT_DAYS: Final = 6

Shares = tuple[float, ...]
Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class LogStatistics:
    """What a log is like; None where it has no column, or too few rows, to say so."""

    rows: int
    users: int
    events: int
    """Query events: several clicks on one search count once."""
    days: int | None
    """From the first to the last day, both included."""
    top: dict[int, float]
    """Share of query events that have one of the 1, 10, 25, 100, 1,000 most frequent queries."""
    distinct: float
    """Different queries for each query event."""
    once: float
    """Share of the different queries that were made once."""
    rows_mean: float
    rows_median: float
    rows_one: float
    """Share of users with one row."""
    rows_five: float
    """Share of users with five rows or more."""
    heavy: float
    """Share of rows of the fifth of users with the most."""
    queries_one: float
    """Share of users with one different query."""
    repeats: float
    """Share of query events that repeat an earlier query of their user."""
    words: float
    """Words of a query event, mean."""
    addresses: float
    """Share of query events that are, or hold, the address of a site."""
    clicks: float | None
    """Share of rows with a click."""
    ranks: Shares | None
    """Share of the clicks on the first ten results that each of them has."""
    session_mean: float | None
    """Query events of a session, mean."""
    session_one: float | None
    """Share of sessions with one query event."""
    hours: Shares | None
    """Share of query events in each hour of the day."""
    weekdays: Shares | None
    """Query events of a day of each weekday, from Monday, as shares; None for logs of less than a week."""
    drift: float | None
    """Standard deviation of the daily step of a frequent query's log-popularity."""

    def as_dict(self) -> dict[str, Any]:
        found = asdict(self)
        return {name: list(value) if isinstance(value, tuple) else value for name, value in found.items()} | {
            "top": {str(most): share for most, share in self.top.items()}
        }


def figures_of(log: SearchLog) -> LogStatistics:
    """Count everything once; nothing of any single query or user is kept."""
    with log.unchanged():
        return _measure_figures(log)


def _measure_figures(log: SearchLog) -> LogStatistics:
    timed = "time" in log.columns
    keys = ["user", "time", "query"] if timed else ["user", "query"]
    events = log.queries.select(*keys)
    events = events.distinct() if timed else events
    counted = _to_arrays(log, _by_query(events))
    if not len(counted["n"]):
        raise CannotBeMet("the log has no query, so there is nothing to measure", "name its query column")
    counts = np.sort(counted["n"])[::-1]
    whole = int(counts.sum())
    running = np.cumsum(counts)
    rows = np.sort(_to_arrays(log, _rows_by_user(log))["n"])
    different = _to_arrays(log, _queries_by_user(events))["n"]
    fifth = max(1, round(len(rows) / 5))
    return LogStatistics(
        rows=int(rows.sum()),
        users=len(rows),
        events=whole,
        top={most: float(running[most - 1] / whole) for most in TOPS if most <= len(counts)},
        distinct=len(counts) / whole,
        once=float((counts == 1).mean()),
        rows_mean=float(rows.mean()),
        rows_median=float(np.median(rows)),
        rows_one=float((rows == 1).mean()),
        rows_five=float((rows >= FEW).mean()),
        heavy=float(rows[-fifth:].sum() / rows.sum()),
        queries_one=float((different == 1).mean()),
        repeats=1 - int(different.sum()) / whole,
        words=float((counted["n"] * counted["words"]).sum() / whole),
        addresses=float((counted["n"] * counted["address"]).sum() / whole),
        **_click_figures(log, int(rows.sum())),
        **(_in_time(log, events) if timed else _NO_TIME),
    )


_NO_TIME: Final[dict[str, Any]] = dict.fromkeys(
    ("days", "session_mean", "session_one", "hours", "weekdays", "drift")
)


def _to_arrays(log: SearchLog, table: ir.Table) -> dict[str, Ints]:
    found = log.engine.arrow(table)
    return {name: found[name].to_numpy().astype(np.int64) for name in found.column_names}


def _by_query(events: ir.Table) -> ir.Table:
    counted = events.group_by("query").aggregate(n=events.count())
    query = counted["query"]
    return counted.select(
        "n",
        words=query.split(" ").length(),
        address=query.re_search(r"(^|[ ./])www\.|\.(com|org|net|edu|gov)($|[ /])").cast("int64"),
    )


def _rows_by_user(log: SearchLog) -> ir.Table:
    return log.table.group_by("user").aggregate(n=log.table.count()).select("n")


def _queries_by_user(events: ir.Table) -> ir.Table:
    pairs = events.select("user", "query").distinct()
    return pairs.group_by("user").aggregate(n=pairs.count()).select("n")


def _click_figures(log: SearchLog, rows: int) -> dict[str, Any]:
    if "url" not in log.columns:
        return {"clicks": None, "ranks": None}
    clicked = log.table.filter(log.table["url"].notnull())
    clicks = int(_to_arrays(log, clicked.aggregate(n=clicked.count()))["n"][0])
    return {"clicks": clicks / rows, "ranks": _rank_shares(log, clicked)}


def _rank_shares(log: SearchLog, clicked: ir.Table) -> Shares | None:
    if "rank" not in log.columns:
        return None
    clicked = clicked.filter(clicked["rank"].between(1, RANKS))
    found = _to_arrays(log, clicked.group_by("rank").aggregate(n=clicked.count()))
    return _shares(np.bincount(found["rank"] - 1, weights=found["n"], minlength=RANKS))


def _shares(counts: NDArray[Any]) -> Shares | None:
    whole = float(counts.sum())
    return tuple((counts / whole).tolist()) if whole else None


def _in_time(log: SearchLog, events: ir.Table) -> dict[str, Any]:
    timed = log.events()
    lengths = timed.group_by(["user", "session"]).aggregate(n=timed.count()).select("n")
    sessions = _to_arrays(log, lengths)["n"]
    clock = events.filter(events["time"].notnull())
    clock = clock.select(hour=clock["time"].hour(), day=clock["time"].epoch_seconds() // 86_400)
    found = _to_arrays(log, clock.group_by(["hour", "day"]).aggregate(n=clock.count()))
    if not len(found["n"]):
        return {
            **_NO_TIME,
            "session_mean": float(sessions.mean()),
            "session_one": float((sessions == 1).mean()),
        }
    first, last = int(found["day"].min()), int(found["day"].max())
    return {
        "days": last - first + 1,
        "session_mean": float(sessions.mean()),
        "session_one": float((sessions == 1).mean()),
        "hours": _shares(np.bincount(found["hour"], weights=found["n"], minlength=24)),
        "weekdays": _weekday_shares(found["day"], found["n"], first, last),
        "drift": _measure_drift(log, events, first, last),
    }


def _weekday_shares(day: Ints, counts: Ints, first: int, last: int) -> Shares | None:
    if last - first + 1 < 7:
        return None
    # The first day of 1970 was a Thursday.
    totals = np.bincount((day + 3) % 7, weights=counts, minlength=7)
    calendar = np.bincount((np.arange(first, last + 1) + 3) % 7, minlength=7)
    return _shares(totals / calendar)


def _measure_drift(log: SearchLog, events: ir.Table, first: int, last: int) -> float | None:
    """From those who first posed a frequent query in the first and in the last third of the log.

    Who poses it in both is counted once: people who return would make popularity look steadier than it is.
    """
    days = last - first + 1
    third = days // 3
    if days < _DRIFT_DAYS:
        return None
    day = events["time"].epoch_seconds() // 86_400
    posed = events.mutate(day=day).group_by(["user", "query"]).aggregate(day=ibis._.day.min())
    early, late = (posed["day"] < first + third).sum(), (posed["day"] > last - third).sum()
    found = posed.group_by("query").aggregate(early=early, late=late)
    enough = (found["early"] >= _DRIFT_USERS) & (found["late"] >= _DRIFT_USERS)
    counts = _to_arrays(log, found.filter(enough).select("early", "late"))
    if len(counts["early"]) < _DRIFT_QUERIES:
        return None
    change = np.log(counts["late"] / counts["early"])
    # Counts vary by chance too; what they vary beyond that is drift, over the days between the thirds' middles.
    chance = (1 / counts["early"] + 1 / counts["late"]).mean()
    return float(np.sqrt(max(change.var() - chance, 0.0) / (days - third)))
