"""How people search: all that a generated log follows but its size, its days and its seeds.

Version 1 is what logs were like at first, kept so that old figures can be made again. Version 2 follows published
figures of real logs; docs/reference/generated-and-real.md shows both beside them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Final

from queryveil.errors import UsageError

LATEST: Final = 2
HOURS: Final = 24
WEEKDAYS: Final = 7
RANKS: Final = 10
# A spread of rows per user beyond this leaves all rows to one user.
_WIDEST: Final = 4.0
# Rhythms are squeezed into this, so that sessions fit between each other.
BUSIEST: Final = 3.0

Shares = tuple[float, ...]


def check_real(name: str, value: object, *, ge: float, le: float) -> None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    # Negated, so that NaN does not pass.
    if not (number and ge <= value <= le):  # type: ignore[operator]
        raise UsageError(
            f"parameter {name!r} must be a number from {ge:g} to {le:g}; got {value!r}",
            f"choose {name} within these limits",
        )


@dataclass(frozen=True, kw_only=True)
class Habits:
    """What people search for, how often, when, and what they click."""

    zipf: float
    """Exponent of the popularity of the pool's queries."""
    head: float
    """Added to every rank before the exponent: how flat the very top is."""
    one_off: float
    """Share of new queries that nobody else is expected to pose."""
    drift: float
    """Standard deviation of the daily step of a query's log-popularity."""
    click_rate: float
    """Share of query events with a click, about."""
    activity: float
    """Standard deviation of the logarithm of users' numbers of rows."""
    go_on: tuple[float, float]
    """Chance that a session goes on: after its first query, and after a later one."""
    reformulate: float
    """Share of queries within a session that change the one before."""
    repeat: tuple[float, float]
    """Share of queries that repeat an earlier one of the user: within a session, and at its start."""
    same_result: float
    """Share of repeated searches that click what was clicked before."""
    ranks: Shares
    """Share of clicks at each of the ten ranks, for queries that look for no site."""
    hours: Shares
    """Share of queries in each hour of the day."""
    weekdays: Shares
    """Share of queries on each weekday, from Monday."""
    one_off_kinds: Shares
    """What one-off queries are: a word more, a person, a place, a mistake, a model or year, a question."""

    def __post_init__(self) -> None:
        check_real("zipf", self.zipf, ge=0, le=3)
        check_real("head", self.head, ge=0, le=10_000)
        check_real("drift", self.drift, ge=0, le=5)
        check_real("activity", self.activity, ge=0, le=_WIDEST)
        for name in ("one_off", "click_rate", "reformulate", "same_result"):
            check_real(name, getattr(self, name), ge=0, le=1)
        for pair in ("go_on", "repeat"):
            for share in getattr(self, pair):
                check_real(pair, share, ge=0, le=1)
        for name, length in (
            ("ranks", RANKS),
            ("hours", HOURS),
            ("weekdays", WEEKDAYS),
            ("one_off_kinds", 6),
        ):
            self._check_shares(name, length)

    def _check_shares(self, name: str, length: int) -> None:
        shares = getattr(self, name)
        whole = sum(shares)
        if len(shares) != length or not all(share >= 0 for share in shares) or not math.isclose(whole, 1):
            raise UsageError(
                f"parameter {name!r} must be {length} shares that add up to 1", f"divide {name} by their sum"
            )

    def as_dict(self) -> dict[str, float | list[float]]:
        """Every habit by its name."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def normalize_shares(*weights: float) -> Shares:
    """The same weights, adding up to 1."""
    whole = sum(weights)
    return tuple(weight / whole for weight in weights)


# Hour by hour: a low of 0.75 % before dawn and a high of 6.7 % in the evening (Beitzel et al. 2004); between them the
# shape of the day of Excite's sample, smoothed.
_DAY: Final = normalize_shares(
    *(3.6, 2.6, 1.8, 1.2, 0.85, 0.75, 1.1, 2.2, 3.4, 4.3, 4.8, 5.1),
    *(5.2, 5.3, 5.4, 5.5, 5.5, 5.4, 5.5, 5.8, 6.3, 6.7, 6.2, 5.0),
)

FORMER: Final = Habits(
    zipf=0.7,
    head=0.0,
    one_off=0.25,
    drift=0.0,
    click_rate=0.5,
    activity=1.5,
    go_on=(0.58, 0.58),
    reformulate=0.45,
    repeat=(0.20, 0.36),
    same_result=0.0,
    ranks=(0.47, 0.13, 0.09, 0.07, 0.055, 0.045, 0.04, 0.035, 0.033, 0.032),
    # Version 1 has a rhythm of its own: a sine, without weekdays.
    hours=normalize_shares(*[1.0] * HOURS),
    weekdays=normalize_shares(*[1.0] * WEEKDAYS),
    one_off_kinds=(0.30, 0.20, 0.15, 0.12, 0.13, 0.10),
)
PUBLISHED: Final = Habits(
    zipf=1.0,
    head=0.5,
    one_off=0.82,
    drift=0.05,
    click_rate=0.5,
    activity=1.6,
    go_on=(0.52, 0.72),
    reformulate=0.37,
    repeat=(0.28, 0.42),
    same_result=0.87,
    ranks=normalize_shares(42.3, 11.0, 7.9, 6.0, 4.9, 4.2, 3.8, 3.4, 3.5, 4.0),
    hours=_DAY,
    weekdays=normalize_shares(1.06, 1.05, 1.04, 1.02, 0.95, 0.90, 0.98),
    one_off_kinds=(0.28, 0.26, 0.07, 0.14, 0.23, 0.02),
)
BY_VERSION: Final[Mapping[int, Habits]] = MappingProxyType({1: FORMER, LATEST: PUBLISHED})
