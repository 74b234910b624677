"""What a generated log is like: one frozen value, checked when it is made."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from types import MappingProxyType
from typing import Final

from queryveil.errors import UsageError

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
# A drifting pool keeps one cumulative weight per day and query: 8 bytes each, at most 0.8 GB.
MOST_DRIFT_WEIGHTS: Final = 100_000_000


def _whole(name: str, value: object, *, ge: int, le: int | None = None) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < ge or (le is not None and value > le):
        upper = f" and <= {le}" if le is not None else ""
        raise UsageError(
            f"parameter {name!r} must be an int >= {ge}{upper}; got {value!r}",
            f"choose {name} within these limits",
        )


def _real(name: str, value: object, *, ge: float, le: float) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    # Negated, so that NaN does not pass.
    if not (number and ge <= value <= le):  # type: ignore[operator]
        raise UsageError(
            f"parameter {name!r} must be a number from {ge:g} to {le:g}; got {value!r}",
            f"choose {name} within these limits",
        )


@dataclass(frozen=True, kw_only=True)
class LogSettings:
    """Size and habits of a generated log; the same settings always give the same rows."""

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
    zipf: float = 0.7
    """Exponent of the popularity of the pool's queries."""
    pool_size: int | None = None
    """Different queries in the pool; by default a quarter of the rows, at least 5,000, at most 300,000."""
    one_off: float = 0.25
    """Share of new queries that nobody else is expected to pose."""
    drift: float = 0.0
    """Standard deviation of the daily step of a query's log-popularity."""
    drifted: int = 0
    """Days that popularity drifted before the first day, so that logs of distant days need no log between them."""
    click_rate: float = 0.5
    """Share of query events with a click, about."""
    secrets: int | None = None
    """Planted secrets, each of another user; by default one per 500 users, at least 8."""

    def __post_init__(self) -> None:
        if self.users is not None:
            _whole("users", self.users, ge=1, le=MOST_USERS)
        if self.rows is not None:
            _whole("rows", self.rows, ge=1, le=MOST_ROWS)
        _whole("seed", self.seed, ge=0, le=LARGEST_SEED)
        _whole("world", self.world, ge=0, le=LARGEST_SEED)
        _whole("days", self.days, ge=1, le=3_650)
        if not isinstance(self.start, date):
            raise UsageError(f"parameter 'start' must be a date; got {self.start!r}")
        _real("zipf", self.zipf, ge=0, le=3)
        if self.pool_size is not None:
            _whole("pool_size", self.pool_size, ge=SMALLEST_POOL, le=LARGEST_POOL)
        _real("one_off", self.one_off, ge=0, le=1)
        _real("drift", self.drift, ge=0, le=5)
        _whole("drifted", self.drifted, ge=0, le=3_650)
        _real("click_rate", self.click_rate, ge=0, le=1)
        if self.secrets is not None:
            _whole("secrets", self.secrets, ge=0, le=min(self.total_users, MOST_SECRETS))
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
        weights = self.days * self.total_pool
        if self.drift > 0 and weights > MOST_DRIFT_WEIGHTS:
            raise UsageError(
                f"drift over {self.days:,} days of {self.total_pool:,} queries needs too much memory",
                f"lower days or pool_size so that their product is at most {MOST_DRIFT_WEIGHTS:,}",
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
    def most_rows_per_user(self) -> int:
        return min(MOST_ROWS_PER_USER, self.days * 86_400 // SECONDS_PER_ROW)


# Fixed for good: comparisons in docs and studies name these.
SETTINGS: Final[Mapping[str, LogSettings]] = MappingProxyType(
    {
        "small": LogSettings(users=20_000, rows=620_000, seed=20_000, pool_size=300_000),
        "medium": LogSettings(users=65_000, rows=2_015_000, seed=65_000, pool_size=300_000),
        "large": LogSettings(users=200_000, rows=6_200_000, seed=200_000, pool_size=300_000),
    }
)
