"""Public facts of Gaussian selection in rounds: weights, thresholds, and how scores follow from noisy sums.

The statistic of an item is a sum over K rounds with fixed weights, and one threshold decides (`calibrate`). After each
round but the last, two public tables give the item's new score (`tables`). The statistic, in steps of its standard
deviation under noise alone, says how close the item is to being published: an item far below what it would need by now
is dropped, and one that is ahead gets less, so that users' weight goes where it decides something. Any such rule is
private, as long as it depends on nothing but the item's own noisy sums and its text (docs/proofs/steered.md has the
proof and the names). The tables are computed in decimal arithmetic, which gives the same digits on every machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from queryveil.mechanisms.selection.gaussian_account import GRID, Noise
from queryveil.privacy import gaussian
from queryveil.privacy.draws import EQUAL

Whole = npt.NDArray[np.int64]

FULL = 1 << 20
"""The largest score."""
_STEPS = 80
"""Steps of the tables in one standard deviation."""
_PER_CHARACTER = 4
"""By how many steps the length prior moves the gate for each character: 0.05 standard deviations."""
_FREE_CHARACTERS, _MOST_CHARACTERS = 10, 60
"""The length prior begins after so many characters, and counts at most so many more."""

_SLOPE, _OFFSET, _WIDTH = Decimal("0.8"), Decimal("0.25"), Decimal("0.35")
"""The gate is half open 0.25 above 0.8 of where an item is that will just pass; it opens over 0.35."""
_MARGIN, _PACE, _NINTHS, _FIFTHS = Decimal(1), Decimal("0.4"), 9, 5
"""An item that needs less than 0.4 of its pace so far, to end 1 above the threshold, gets less: (ratio)^(9/5)."""
_DIGITS = 40
"""A ratio times 10^40 is whole: it has 30 digits, and one below 10^-10 gives nothing anyway."""
_ONE = 10**_DIGITS
_FULL_FIFTH, _ONE_NINTH = FULL**_FIFTHS, _ONE**_NINTHS
_DROP = FULL >> 7
"""An item whose gate is less open than this is dropped for good."""


# -- weights and thresholds ----------------------------------------------------------------------------------


def round_weights(rounds: int) -> tuple[int, ...]:
    """Return the weights of the rounds in the statistic; later sums, steered to close items, count more."""
    return tuple(range(rounds - 1, 2 * rounds - 1)) if rounds > 1 else (1,)


@dataclass(frozen=True)
class Setting:
    """The statistic T = sum of a_k Y_k over the rounds, and the threshold tau above which an item is published."""

    rounds: int
    scale: int
    p: float
    most: int
    tau: int
    listed: int | None = None
    """The threshold of items on a public list; None without a list."""

    @property
    def a(self) -> tuple[int, ...]:
        return round_weights(self.rounds)

    @property
    def sum(self) -> int:
        return sum(self.a)

    @property
    def square(self) -> int:
        """Sum of the squares of the weights."""
        return sum(one * one for one in self.a)

    @property
    def users_for_half(self) -> int:
        """Users whose whole weight an item needs for an even chance."""
        return -(-self.tau // (GRID * self.sum))

    @property
    def largest(self) -> int:
        """No statistic is larger in magnitude, for each user in the log; noise comes on top."""
        return GRID * self.sum

    def as_dict(self) -> dict[str, Any]:
        """Return the figures as `plan` shows them; mu is that of the whole release."""
        zeta = gaussian.zeta(self.p, self.most)
        shift = GRID * self.sum / (math.sqrt(self.square) * self.scale)
        return {
            "p": self.p,
            "zeta": zeta,
            "theta": shift + zeta,
            "noise_scale": self.scale,
            "threshold": self.tau,
            "grid": GRID,
            "rounds": self.rounds,
            "users_for_half": self.users_for_half,
        }


@lru_cache(maxsize=256)
def calibrate(noise: Noise) -> Setting:
    """Return the threshold of a draw with this noise."""
    made = Setting(noise.share.rounds, noise.scale, noise.p, noise.share.times, 0)
    return replace(made, tau=_equal_tau(made) if noise.share.weights == EQUAL else _steered_tau(made))


def _steered_tau(made: Setting) -> int:
    """Return the threshold for any weights.

    An item of one user alone gets at most GRID in each round, and rounding adds at most a half.
    """
    start = Fraction(GRID * made.sum) + Fraction(made.sum, 2)
    zeta = gaussian.zeta(made.p, made.most)
    return gaussian.smallest_threshold(zeta, made.square * made.scale**2, Fraction(made.p), made.most, start)


def _equal_tau(made: Setting) -> int:
    """Return the threshold for one round of equal weights.

    It is enough for t items of one user, each with 1/root t, for all t up to the bound.

    Proof: docs/proofs/weighted-gaussian.md.
    """
    if made.rounds != 1:
        raise TypeError("weights stay equal in one round only")

    def needed(rows: int) -> float:
        return GRID / math.sqrt(rows) + made.scale * gaussian.zeta(made.p, rows)

    # The largest of all, by floats; what they lose is far less than a millionth, which is added.
    worst = max(range(1, made.most + 1), key=needed)
    start = Fraction(math.isqrt(GRID * GRID // worst) + 1) + Fraction(1, 2)
    zeta = gaussian.zeta(made.p, worst)
    exact = gaussian.smallest_threshold(zeta, made.scale**2, Fraction(made.p), worst, start)
    return exact + exact // 10**6 + 1


# -- tables of scores ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Round:
    """Tables for the scores after one round. T // width is the step of an item."""

    width: int
    first: int
    """The step, less the item's prior, at which the gate begins: below it the item is dropped."""
    gates: Whole
    """How far the gate is open, from that step on; open all the way after the last."""
    paces: Whole
    """The factor for items that are ahead, from step 0 on; nothing after the last."""


@lru_cache(maxsize=16)
def score_tables(setting: Setting) -> tuple[Round, ...]:
    """Return one for each round but the last, after which nothing is steered. Callers must not write into them."""
    with localcontext(Context(prec=30)):
        opening = _gate_opening()
        return tuple(_plan_round(setting, done, opening) for done in range(1, setting.rounds))


@lru_cache(maxsize=64)
def approximate_score_tables(setting: Setting) -> tuple[Round, ...]:
    """Return the same in floating point, for previews: a hundred times faster, and off by a unit here and there.

    No release is made with it: which tables a release was steered by must be the same on every machine.
    """
    begins, gates = _gate_opening()
    made = []
    for done in range(1, setting.rounds):
        squares = sum(one * one for one in setting.a[:done])
        t, root = squares / setting.square, math.sqrt(squares / setting.square)
        theta = setting.tau / (math.sqrt(setting.square) * setting.scale)
        width = max(1, math.isqrt(squares * setting.scale**2) // _STEPS)
        half = float(_SLOPE) * theta * root + float(_OFFSET)
        many = max(0, math.ceil((theta + float(_MARGIN)) / root * _STEPS - 0.5))
        x = (np.arange(many) + 0.5) / _STEPS * root
        ratio = float(_PACE) * (theta + float(_MARGIN) - x) * t / ((1 - t) * x)
        paces = FULL * np.clip(ratio, 0.0, 1.0) ** (_NINTHS / _FIFTHS)
        made.append(Round(width, begins + int(half * _STEPS), gates, paces.astype(np.int64)))
    return tuple(made)


@lru_cache(maxsize=1)
def _gate_opening() -> tuple[int, Whole]:
    with localcontext(Context(prec=30)):
        return _gate_table()


def length_priors(lengths: Whole) -> Whole:
    """Return the length prior of items in steps of the gate: longer queries are rarer."""
    return _PER_CHARACTER * np.clip(lengths - _FREE_CHARACTERS, 0, _MOST_CHARACTERS)


def first_scores(priors: Whole) -> Whole:
    """Return the scores of the first round: full, or e^-prior of it."""
    with localcontext(Context(prec=30)):
        steps = range(_PER_CHARACTER * _MOST_CHARACTERS + 1)
        table = np.array([max(1, int(FULL * (Decimal(-one) / _STEPS).exp())) for one in steps], np.int64)
    scores: Whole = table[priors]
    return scores


def _plan_round(setting: Setting, done: int, opening: tuple[int, Whole]) -> Round:
    squares = sum(one * one for one in setting.a[:done])
    # The statistic's standard deviation by now is the root of `squares` noise scales.
    width = max(1, math.isqrt(squares * setting.scale**2) // _STEPS)
    t = Decimal(squares) / setting.square
    theta = Decimal(setting.tau) / (Decimal(setting.square).sqrt() * setting.scale)
    begins, gates = opening
    half = _SLOPE * theta * t.sqrt() + _OFFSET
    return Round(width, begins + int(half * _STEPS), gates, _pace_table(t, theta))


def _gate_table() -> tuple[int, Whole]:
    """Return the first step at which the gate is open enough, from its middle, and how far it is open from there on."""
    values: list[int] = []
    step = begins = -int(8 * _WIDTH * _STEPS)
    while not values or values[-1] < FULL - 1:
        at = (Decimal(step) + Decimal("0.5")) / _STEPS / _WIDTH
        value = int(FULL / (1 + (-at).exp()))
        if value >= _DROP:
            begins = begins if values else step
            values.append(value)
        step += 1
    return begins, np.array(values, np.int64)


def _pace_table(t: Decimal, theta: Decimal) -> Whole:
    """Return min(1, 0.4 (what is needed) t / ((1 - t) x))^1.8 at the middle x of each step, in final deviations."""
    values: list[int] = []
    root, half = t.sqrt(), Decimal("0.5")
    while True:
        x = (len(values) + half) / _STEPS * root
        needed = theta + _MARGIN - x
        if needed <= 0:
            return np.array(values, np.int64)
        ratio = _PACE * needed * t / ((1 - t) * x)
        values.append(FULL if ratio >= 1 else _reduced_score(int(ratio.scaleb(_DIGITS))))


def _reduced_score(ratio: int) -> int:
    """Return FULL (ratio / 10^_DIGITS)^1.8, rounded down: the largest v with v^5 <= FULL^5 (ratio / 10^_DIGITS)^9.

    In whole numbers: logarithms of so many digits take eight times as long. The float is a first guess.
    """
    found = int(FULL * (ratio / _ONE) ** (_NINTHS / _FIFTHS))
    most = _FULL_FIFTH * ratio**_NINTHS
    while found**_FIFTHS * _ONE_NINTH > most:
        found -= 1
    while (found + 1) ** _FIFTHS * _ONE_NINTH <= most:
        found += 1
    return found
