"""Every time that noise or chance touches the data: what is bounded, how far one user moves it, and what it costs.

A mechanism declares its draws before any data is read. From them the noise is asked for before the ledger is charged,
the manifest is written, and the guarantee of a release is computed anew by whoever checks it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

DISCRETE_LAPLACE: Final = "discrete-laplace"
"""An integer x is added with probability proportional to exp(-|x| / scale)."""
SELECTION: Final = "optimal-selection"
"""An integer is added whose law gives every item the optimal release probability at (1/scale, item_delta)."""
EXPONENTIAL: Final = "exponential"
"""One of several public candidates is drawn, with probability proportional to exp(score / scale)."""

ROUNDED_NORMAL: Final = "rounded-normal"
"""A normal variable of mean 0 and that standard deviation is added, rounded to a whole number."""

PUBLIC: Final = "public"
"""Which rows get noise is known without the log, zeros included."""
PUBLISHED: Final = "published"
"""Rows that an earlier draw has published get noise once more."""
LOG: Final = "log"
"""Rows come from the log, and a threshold decides which of them are published."""
UNCOVERED: Final = "uncovered"
"""Rows come from the log as they are. No guarantee covers that."""

L1: Final = "l1"
"""Sensitivity: by how much one user moves all counts together, up and down."""
L2: Final = "l2"
"""Sensitivity: the root of the sum of squares of what one user adds to all sums of one round."""
SCORE: Final = "score"
"""Sensitivity: by how much one user moves the score of a candidate."""

EQUAL: Final = "equal"
"""Weights: a user divides her weight equally among her items."""
ANY: Final = "any"
"""Weights: a user's weight may be divided in any way, within its norm."""

ALL: Final = "all"
"""The rule of a draw that leaves out nothing of a user."""


@dataclass(frozen=True, kw_only=True)
class PublicList:
    """Rows that are known without the log: each gets noise, also if no user has it, and has a threshold of its own.

    It belongs to a draw for rows of the log. Both have the same noise, and one user is bounded over both together: so
    the sensitivity of the draw is that of all its counts, and epsilon is paid once.
    """

    items: int
    """Different ones; so many draws of noise are made, whatever the log holds."""
    lines: int
    """Of the file that they come from."""
    sha256: str
    """Of that file's bytes."""
    above: int
    """One of them is published if its noisy count is above this."""


@dataclass(frozen=True, kw_only=True)
class Draw:
    """One draw for every row of a table, or for every phrase of every user."""

    of: str
    """What it is for; the part of the guarantee with the same name pays for it."""
    table: str
    """The table that it makes, or makes a column of."""
    bounded: str
    """What a user may add only so much of: 'queries', 'clicks', 'phrases'."""
    rule: str
    """Which of them count: 'random', 'first', 'frequent', or 'all'."""
    most: int | None
    """How many of them count; None if all do."""
    copies: int = 1
    """By how much one user can move a single count."""
    sensitivity: float
    norm: str = L1
    distribution: str = DISCRETE_LAPLACE
    scale: float | None
    """None where it depends on the user."""
    item_delta: float | None = None
    """Of optimal selection: the delta of a single count that changes by 1."""
    rows: str
    at_least: int | None = None
    """Users that a row needs before noise."""
    above: int | None = None
    """A row is published if its noisy count is above this."""
    public: PublicList | None = None
    """Rows that are published by a threshold of their own, which needs no delta."""
    neighbours: str | None
    kind: str
    """Of the guarantee that this draw alone has."""
    epsilon: float | None
    delta: float | None
    mu: float | None = None
    """Of Gaussian noise: how many standard deviations one user moves all rounds together."""
    p: float | None = None
    """Of Gaussian noise: the probability that a row is published that one user alone has."""
    weights: str | None = None
    """How a user's weight is divided among items, where it is; EQUAL or ANY."""
    rounds: int | None = None
    """How often noise was added to every row that was left; sums of all rounds together decide."""
    users: int | None = None
    """The public number of users that delta depends on, if it does."""

    @property
    def thresholds(self) -> tuple[float, int, int]:
        """Noise scale, users that a row needs before noise, and the noisy count that it must exceed."""
        if self.scale is None or self.at_least is None or self.above is None:
            raise TypeError(f"the draw for {self.of} has no thresholds for rows of a log")
        return self.scale, self.at_least, self.above

    def as_dict(self) -> dict[str, Any]:
        return {name: value for name, value in dataclasses.asdict(self).items() if value is not None}

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Draw:
        empty = {"most": None, "scale": None, "neighbours": None, "epsilon": None, "delta": None}
        public = {"public": PublicList(**given["public"])} if "public" in given else {}
        return cls(**{**empty, **given, **public})
