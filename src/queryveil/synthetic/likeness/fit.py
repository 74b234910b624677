"""Settings that make a log like another one: fitted to a few figures of a log, or to the counts of a release.

Each round makes a small log, measures it as the other one was measured, and moves every habit by what is missing.
The queries themselves stay those of the generator: no text of the log or the release is used.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

import ibis
import numpy as np
import pyarrow as pa

from queryveil.errors import CannotBeMet
from queryveil.reading.log import SearchLog, read
from queryveil.release import publish as releases
from queryveil.release.publish import Release
from queryveil.synthetic.generator.habits import PUBLISHED, Habits, normalize_shares
from queryveil.synthetic.generator.settings import LogSettings
from queryveil.synthetic.generator.stream import generate_batches
from queryveil.synthetic.likeness.counts import curve_of, released_counts
from queryveil.synthetic.likeness.figures import LogStatistics, figures_of

LOG, RELEASE = "log", "release"
NOTE: Final[Mapping[str, str]] = {
    LOG: "NOT PRIVATE: this log follows figures that were counted in a log of real people, without noise. "
    "No guarantee covers it. Keep it as you keep that log.",
    RELEASE: "This log follows the counts of a release and of nothing else. Processing a release costs no privacy: "
    "the guarantee of the release covers this log too.",
}
_ROWS: Final = 60_000
"""Rows of the logs that are made while fitting; of a larger log, as many rows of some of its users are looked at."""
_USERS: Final = 2_000
_RELEASED: Final[Mapping[str, Any]] = {"users": 10_000, "rows": 310_000, "secrets": 0}
"""The same for a release: so many that the ranks that it shows have users to count."""
_ROUNDS: Final = 8
_DRIFT: Final = 2.5
"""The measured daily step is smaller than the set one: what people repeat and reformulate does not follow it."""

Move = Callable[[Habits], Habits]


@dataclass(frozen=True, kw_only=True)
class FittedProfile:
    """Settings that make a log like another one, and how near they come."""

    settings: LogSettings
    source: str
    """`log` or `release`."""
    wanted: Mapping[str, float]
    """The figures that were fitted."""
    made: Mapping[str, float]
    """The same of a log of a size at which they can be compared."""

    @property
    def is_private(self) -> bool:
        """Whether the guarantee of a release covers what is made of it."""
        return self.source == RELEASE

    @property
    def note(self) -> str:
        """What has to be said with every log that is made of it."""
        return NOTE[self.source]

    def as_dict(self) -> dict[str, Any]:
        return {
            "private": self.is_private,
            "note": self.note,
            "like": self.source,
            "wanted": dict(self.wanted),
            "made": dict(self.made),
            "habits": self.settings.total_habits.as_dict(),
        }


def fit_generator(source: SearchLog | Release | str | Path, **changes: Any) -> FittedProfile:
    """Fit the generator to a log, or to a release (a folder, or a `Release`).

    A log's figures are no guarantee's matter, and what is made of them is not private. A release may be processed by
    anybody. `changes` are fields of `LogSettings` that are not to be fitted, such as `users` or `seed`.
    """
    if isinstance(source, str | Path) and (Path(source) / "manifest.json").is_file():
        source = releases.load(source)
    if isinstance(source, Release):
        return _like_release(source, changes)
    return _like_log(source if isinstance(source, SearchLog) else read(source), changes)


def _like_log(log: SearchLog, changes: dict[str, Any]) -> FittedProfile:
    whole = figures_of(log)
    small = whole if whole.rows <= _ROWS else figures_of(_some_users(log, _ROWS / whole.rows))
    days = small.days or LogSettings().days
    size = {"users": small.users, "rows": max(small.rows, small.users), "days": min(days, 3_650)}
    trial = _clamp_size({**size, "secrets": 0})
    wanted = _scalar_figures(small)
    fitted, made = _fit_habits(
        _initial_habits(small), trial, wanted, lambda figures: _adjust_habits(figures, small)
    )
    own = {"users": whole.users, "rows": max(whole.rows, whole.users), "days": size["days"]}
    settings = LogSettings(**{**_clamp_size(own), "habits": fitted, **changes})
    return FittedProfile(settings=settings, source=LOG, wanted=wanted, made=made)


def _clamp_size(size: dict[str, Any]) -> dict[str, Any]:
    """A size that the generator can make: a log of few very busy users gets more of them."""
    most = size["days"] * 86_400 // 20 // 2
    return {**size, "users": max(size["users"], math.ceil(size["rows"] / min(most, 10_000)))}


def _some_users(log: SearchLog, share: float) -> SearchLog:
    """The rows of about a share of the users, chosen by a hash of their ids."""
    user = log.table["user"].cast("string")
    place = log.engine.keyed_hash("likeness", user, ibis.literal("")) % 1_000_000
    return replace(log, normal=log.table.filter(place.abs() < round(share * 1_000_000)))


def _fit_habits(
    habits: Habits,
    size: dict[str, Any],
    wanted: Mapping[str, float],
    moved: Callable[[LogStatistics], Move],
) -> tuple[Habits, Mapping[str, float]]:
    """The habits whose log came nearest, and that log's figures."""
    tried = []
    for _ in range(_ROUNDS):
        figures = _measure_generated(LogSettings(**size, habits=habits))
        found = _scalar_figures(figures)
        made = {name: found[name] for name in wanted if name in found}
        missed = sum(abs(math.log((made[name] + 1e-4) / (wanted[name] + 1e-4))) for name in made)
        tried.append((missed, habits, made))
        habits = moved(figures)(habits)
    _, best, made = min(tried, key=itemgetter(0))
    return best, made


def _measure_generated(settings: LogSettings) -> LogStatistics:
    return figures_of(read(pa.Table.from_batches(generate_batches(settings))))


def _scalar_figures(figures: LogStatistics) -> dict[str, float]:
    """The figures that habits decide, one number each."""
    found: dict[str, float | None] = {f"top {most:,}": share for most, share in figures.top.items()}
    names = (
        "distinct",
        "once",
        "rows_one",
        "heavy",
        "repeats",
        "words",
        "clicks",
        "session_mean",
        "session_one",
    )
    found |= {name: getattr(figures, name) for name in names}
    found["first rank"] = figures.ranks[0] if figures.ranks else None
    found["busiest hour"] = max(figures.hours) if figures.hours else None
    found["drift"] = figures.drift
    return {name: value for name, value in found.items() if value is not None}


def _initial_habits(figures: LogStatistics) -> Habits:
    """What can be read off the figures at once; the rest is as published."""
    first = PUBLISHED
    if figures.hours is not None:
        first = replace(first, hours=normalize_shares(*(hour + 1e-4 for hour in figures.hours)))
    if figures.weekdays is not None:
        first = replace(first, weekdays=normalize_shares(*(day + 1e-3 for day in figures.weekdays)))
    if figures.ranks is not None:
        first = replace(first, ranks=figures.ranks)
    if figures.drift is not None:
        first = replace(first, drift=min(_DRIFT * figures.drift, 5.0))
    # A log without clicks gets none.
    return replace(first, click_rate=figures.clicks or 0.0, activity=_fit_activity(figures))


def _fit_activity(figures: LogStatistics) -> float:
    """The spread at which the busiest fifth of users has its share of the rows."""
    from queryveil.synthetic.generator.users import share_in_proportion

    users = min(figures.users, _USERS)
    if users < 5 or figures.rows_mean <= 1:
        return PUBLISHED.activity
    normal = np.random.default_rng(0).standard_normal(users)
    most = max(2, math.ceil(20 * figures.rows_mean * users / 100))
    low, high = 0.0, 4.0
    for _ in range(20):
        spread = (low + high) / 2
        rows = np.sort(share_in_proportion(np.exp(spread * normal), round(figures.rows_mean * users), most))
        if rows[-round(users / 5) :].sum() / rows.sum() < figures.heavy:
            low = spread
        else:
            high = spread
    return spread


def _adjust_habits(made: LogStatistics, wanted: LogStatistics) -> Move:
    """Each habit moves by what its own figure is missing; half way where habits depend on each other."""

    def adjust_habit(habits: Habits) -> Habits:
        steps = _adjust_popularity(habits, made, wanted)
        factor = wanted.repeats / max(made.repeats, 1e-3)
        within, later = habits.repeat
        room = 1 - habits.reformulate
        steps["repeat"] = (min(within * factor, room), min(later * factor, 0.98))
        if wanted.clicks and made.clicks:
            steps["click_rate"] = min(1.0, habits.click_rate * wanted.clicks / made.clicks)
        if wanted.ranks and made.ranks:
            pairs = zip(habits.ranks, wanted.ranks, made.ranks, strict=True)
            steps["ranks"] = normalize_shares(*(now * (to + 1e-3) / (at + 1e-3) for now, to, at in pairs))
        if wanted.session_mean and wanted.session_one and made.session_mean and made.session_one:
            first = habits.go_on[0] + made.session_one - wanted.session_one
            longer = (made.session_mean - 1 + 1e-3) / (wanted.session_mean - 1 + 1e-3)
            later_on = 1 - (1 - habits.go_on[1]) * longer
            steps["go_on"] = (_clamp(first, 0.0, 0.98), _clamp(later_on, 0.0, 0.98))
        return replace(habits, **steps)

    return adjust_habit


def _adjust_popularity(habits: Habits, made: LogStatistics, wanted: LogStatistics) -> dict[str, Any]:
    new = max(1 - wanted.repeats, 0.05)
    one_off = habits.one_off + 0.7 * (wanted.distinct - made.distinct) / new
    top = max(most for most in wanted.top if most <= 100)
    head, zipf = habits.head, habits.zipf
    if top in made.top:
        zipf += math.log(wanted.top[top] / made.top[top]) / 3
        first = (made.top[1] / made.top[top]) / (wanted.top[1] / wanted.top[top])
        head = (head + 1) * first**0.7 - 1
    return {
        "one_off": _clamp(one_off, 0.0, 0.98),
        "zipf": _clamp(zipf, 0.0, 2.0),
        "head": _clamp(head, 0.0, 500.0),
    }


def _clamp(value: float, low: float, high: float) -> float:
    return min(max(value, low), high)


def _like_release(release: Release, changes: dict[str, Any]) -> FittedProfile:
    curve = curve_of(released_counts(release))
    habits = PUBLISHED
    tried = []
    for _ in range(_ROUNDS // 2):
        made = curve_of(_users_per_query(LogSettings(**_RELEASED, habits=habits)), ranks=curve.ranks)
        missed = abs(made.zipf - curve.zipf) + 0.3 * abs(math.log((made.head + 1) / (curve.head + 1)))
        tried.append((missed, habits, made))
        habits = replace(
            habits,
            # Steeper pools make logs hardly steeper: people reformulate popular queries more than others.
            zipf=_clamp(habits.zipf + 0.7 * (curve.zipf - made.zipf), 0.3, 1.6),
            head=_clamp((habits.head + 1) * ((curve.head + 1) / (made.head + 1)) ** 0.5 - 1, 0.0, 500.0),
        )
    _, best, made = min(tried, key=itemgetter(0))
    settings = LogSettings(**{"habits": best, **changes})
    return FittedProfile(settings=settings, source=RELEASE, wanted=curve.as_dict(), made=made.as_dict())


def _users_per_query(settings: LogSettings) -> np.ndarray[Any, np.dtype[np.float64]]:
    """How many users posed each query of a made log."""
    log = read(pa.Table.from_batches(generate_batches(settings)))
    pairs = log.queries.select("user", "query").distinct()
    counted = log.engine.arrow(pairs.group_by("query").aggregate(n=pairs.count()))
    if not len(counted):
        raise CannotBeMet("the log has no query", "raise rows")
    return np.asarray(counted["n"].to_numpy(), dtype=np.float64)
