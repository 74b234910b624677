"""How large a synthetic log is: one frozen value, checked when it is made."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final

from queryveil.errors import UsageError, argument
from queryveil.parameters import param, validate
from queryveil.synthetic.generator.settings import LARGEST_SEED, MOST_ROWS, MOST_USERS, ROWS_PER_USER

START: Final = date(2000, 1, 1)
"""A release holds no times, so these are made up, and look it."""
SESSION_GAP: Final = 30 * 60 + 1
"""Seconds between two sessions of one user, at least: above the 30 minutes that end a session."""

MOST_UNASKED: Final = 10_000_000
"""Rows that are written without being asked for: counts, which anyone may have made up, do not fill a disk."""


@dataclass(frozen=True, kw_only=True)
class Size:
    """Rows, users and days; what is left out is filled in from the release."""

    rows: int | None = param("rows of the log", default=None, ge=1, le=MOST_ROWS)
    users: int | None = param("users of the log", default=None, ge=1, le=MOST_USERS)
    seed: int = param("the same seed gives the same rows", default=0, ge=0, le=LARGEST_SEED)
    days: int = param("length of the log in days", default=30, ge=1, le=3_650)
    start: date = START

    def __post_init__(self) -> None:
        validate(self)
        # A datetime is a date too, but would carry an hour that nothing heeds.
        if not isinstance(self.start, date) or isinstance(self.start, datetime):
            raise UsageError(f"parameter 'start' must be a date; got {self.start!r}", "pass a datetime.date")
        if self.rows is not None and self.users is not None:
            self._check_together(self.rows, self.users)

    @property
    def seconds(self) -> int:
        return self.days * 86_400

    @property
    def most_events_per_user(self) -> int:
        """What fits even if every query event is a session of its own."""
        return self.seconds // SESSION_GAP

    def fill_defaults(self, released: float) -> Size:
        """With rows and users: 31 rows per user, or as many rows as the released counts add up to."""
        rows = self.rows
        if rows is None and self.users is None and released > MOST_UNASKED:
            raise UsageError(
                f"the released counts add up to more than {MOST_UNASKED:,} rows",
                f"say how many you want with {argument('rows')}",
            )
        if rows is None:
            rows = self.users * ROWS_PER_USER if self.users is not None else max(1, round(released))
        rows = min(rows, MOST_ROWS)
        users = self.users
        if users is None:
            users = max(1, rows // ROWS_PER_USER, math.ceil(rows / self._usual_most))
        return dataclasses.replace(self, rows=rows, users=min(users, MOST_USERS))

    @property
    def _usual_most(self) -> int:
        # Half of what would fit, so that users can differ.
        return self.most_events_per_user // 2

    def _check_together(self, rows: int, users: int) -> None:
        if rows < users:
            raise UsageError(
                f"{rows:,} rows are too few for {users:,} users",
                "every user has at least one row: raise rows",
            )
        most = users * self._usual_most
        if rows > most:
            raise UsageError(
                f"at most {most:,} rows fit users={users:,} and days={self.days:,}; got {rows:,}",
                "lower rows, or raise users or days",
            )
