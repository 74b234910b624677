"""What a generated log is like: one frozen value, checked when it is made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from types import MappingProxyType
from typing import Final

from queryveil.errors import UsageError
from queryveil.synthetic.generator.habits import BY_VERSION, LATEST, Habits

ROWS_PER_USER: Final = 31
MOST_ROWS_PER_USER: Final = 20_000
# Rows are streamed, but everyone's share of them is drawn at once: 50 bytes per user, 5 GB.
MOST_USERS: Final = 100_000_000
MOST_ROWS: Final = MOST_USERS * ROWS_PER_USER
LARGEST_SEED: Final = 2**63 - 1
# Every query of a user has its own second, and a day still has time to sleep.
SECONDS_PER_ROW: Final = 20
LARGEST_POOL: Final = 1_000_000
SMALLEST_POOL: Final = 100
DEFAULT_POOL: Final = 300_000
MOST_SECRETS: Final = 400_000
# A drifting pool keeps one cumulative weight per step and query: 8 bytes each, at most 0.8 GB.
MOST_DRIFT_WEIGHTS: Final = 100_000_000


def _check_whole(name: str, value: object, *, ge: int, le: int | None = None) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < ge or (le is not None and value > le):
        upper = f" and <= {le}" if le is not None else ""
        raise UsageError(
            f"parameter {name!r} must be an int >= {ge}{upper}; got {value!r}",
            f"choose {name} within these limits",
        )


@dataclass(frozen=True, kw_only=True)
class LogSettings:
    """Size and habits of a generated log; the same settings always give the same rows."""

    version: int = LATEST
    """How logs are made: 2 follows published figures of real logs, 1 is how they were made before."""
    users: int | None = None
    """Users; by default one per 31 rows, or 1,000."""
    rows: int | None = None
    """Rows (one per click, or per query without a click); by default 31 per user."""
    seed: int = 0
    """Who searches for what; the queries that exist and their popularity stay the same."""
    world: int = 0
    """Which queries exist, how popular they are, and what they find."""
    days: int = 30
    """Length of the log."""
    start: date = date(2006, 3, 1)
    """First day (UTC)."""
    zipf: float | None = None
    """Exponent of the popularity of the pool's queries; by default 1 (version 1: 0.7)."""
    pool_size: int | None = None
    """Different queries in the pool; by default a quarter of the rows, at least 5,000, at most 300,000."""
    one_off: float | None = None
    """Share of new queries that nobody else is expected to pose; by default 0.82 (version 1: 0.25)."""
    drift: float | None = None
    """Standard deviation of the daily step of a query's log-popularity; by default 0.05 (version 1: 0)."""
    drifted: int = 0
    """Days that popularity drifted before the first day, so that logs of distant days need no log between them."""
    click_rate: float | None = None
    """Share of query events with a click, about; by default 0.5."""
    habits: Habits | None = None
    """All habits at once, as `like` finds them; those above go before them."""
    secrets: int | None = None
    """Planted secrets, each of another user; by default one per 500 users, at least 8."""

    def __post_init__(self) -> None:
        if self.version not in BY_VERSION:
            known = " and ".join(map(str, BY_VERSION))
            raise UsageError(
                f"there is no version {self.version!r} of the generator", f"versions are {known}"
            )
        if self.habits is not None and self.version != LATEST:
            raise UsageError(f"version {self.version} has fixed habits", f"leave version at {LATEST}")
        if self.users is not None:
            _check_whole("users", self.users, ge=1, le=MOST_USERS)
        if self.rows is not None:
            _check_whole("rows", self.rows, ge=1, le=MOST_ROWS)
        _check_whole("seed", self.seed, ge=0, le=LARGEST_SEED)
        _check_whole("world", self.world, ge=0, le=LARGEST_SEED)
        _check_whole("days", self.days, ge=1, le=3_650)
        if not isinstance(self.start, date):
            raise UsageError(f"parameter 'start' must be a date; got {self.start!r}")
        if self.pool_size is not None:
            _check_whole("pool_size", self.pool_size, ge=SMALLEST_POOL, le=LARGEST_POOL)
        _check_whole("drifted", self.drifted, ge=0, le=3_650)
        if self.secrets is not None:
            _check_whole("secrets", self.secrets, ge=0, le=min(self.total_users, MOST_SECRETS))
        self.total_habits  # noqa: B018 (checked where they are put together)
        self._check_together()

    def _check_together(self) -> None:
        users, rows = self.total_users, self.total_rows
        if rows < users:
            raise UsageError(
                f"{rows:,} rows are too few for {users:,} users",
                "every user has at least one row: raise rows",
            )
        # Half of what would fit, so that users can differ.
        most = users * self.most_rows_per_user // 2
        if rows > most:
            raise UsageError(
                f"at most {most:,} rows fit users={users:,} and days={self.days:,}; got {rows:,}",
                "lower rows, or raise users or days",
            )

    @property
    def total_users(self) -> int:
        if self.users is not None:
            return self.users
        return 1_000 if self.rows is None else max(1, self.rows // ROWS_PER_USER)

    @property
    def total_rows(self) -> int:
        return self.total_users * ROWS_PER_USER if self.rows is None else self.rows

    @property
    def total_pool(self) -> int:
        if self.pool_size is not None:
            return self.pool_size
        return min(DEFAULT_POOL, max(5_000, self.total_rows // 4))

    @property
    def total_secrets(self) -> int:
        if self.secrets is not None:
            return self.secrets
        return min(self.total_users, MOST_SECRETS, max(8, math.ceil(self.total_users / 500)))

    @property
    def total_habits(self) -> Habits:
        """Those that are used: of the version or given at once, with those that were given one by one."""
        given = {name: getattr(self, name) for name in ("zipf", "one_off", "drift", "click_rate")}
        changes = {name: value for name, value in given.items() if value is not None}
        return replace(self.habits or BY_VERSION[self.version], **changes)

    @property
    def days_per_drift(self) -> int:
        """Days between two steps of popularity: one, or more in a log so long that they would not fit memory."""
        return math.ceil(self.days * self.total_pool / MOST_DRIFT_WEIGHTS)

    @property
    def most_rows_per_user(self) -> int:
        return min(MOST_ROWS_PER_USER, self.days * 86_400 // SECONDS_PER_ROW)


_SIZES: Final = {"small": (20_000, 620_000), "medium": (65_000, 2_015_000), "large": (200_000, 6_200_000)}
# Fixed for good: comparisons in docs and studies name these. What logs are like gets a new version, never another
# meaning.
_FIXED: Final = {
    f"{name}@{version}": LogSettings(version=version, users=users, rows=rows, seed=users, pool_size=300_000)
    for version in BY_VERSION
    for name, (users, rows) in _SIZES.items()
}
SETTINGS: Final[Mapping[str, LogSettings]] = MappingProxyType(
    {name: _FIXED[f"{name}@{LATEST}"] for name in _SIZES} | _FIXED
)
"""The named settings: `small`, `medium` and `large` are those of the latest version, `small@1` stays what it was."""
