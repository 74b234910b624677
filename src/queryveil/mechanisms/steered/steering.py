"""How scores follow from an item's own noisy sums: two public tables for each round, in whole numbers.

The statistic of an item, in steps of its standard deviation under noise alone, says how close the item is to being
published. An item far below what it would need by now is dropped; one that is ahead is given less, so that users'
weight goes where it decides something. Any such rule is private, as long as it looks at nothing but the item's own
noisy sums and its text (docs/proofs/steered.md). The tables are computed in decimal arithmetic, which gives the same
digits on every machine.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal, localcontext
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from queryveil.mechanisms.steered.theory import Setting

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
def rounds(setting: Setting) -> tuple[Round, ...]:
    """One for each round but the last, after which nothing is steered. Nobody may write into the tables."""
    with localcontext(Context(prec=30)):
        opening = _opening()
        return tuple(_round(setting, done, opening) for done in range(1, setting.rounds))


@lru_cache(maxsize=64)
def rounds_about(setting: Setting) -> tuple[Round, ...]:
    """The same in floating point, for previews: a hundred times quicker, and off by a unit here and there.

    No release is made with it: which tables a release was steered by must be the same on every machine.
    """
    begins, gates = _opening()
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
def _opening() -> tuple[int, Whole]:
    with localcontext(Context(prec=30)):
        return _gates()


def priors(lengths: Whole) -> Whole:
    """The length prior of items in steps of the gate: longer queries are rarer."""
    return _PER_CHARACTER * np.clip(lengths - _FREE_CHARACTERS, 0, _MOST_CHARACTERS)


def first_scores(priors: Whole) -> Whole:
    """Before the first round: full, or e^-prior of it."""
    with localcontext(Context(prec=30)):
        steps = range(_PER_CHARACTER * _MOST_CHARACTERS + 1)
        table = np.array([max(1, int(FULL * (Decimal(-one) / _STEPS).exp())) for one in steps], np.int64)
    scores: Whole = table[priors]
    return scores


def _round(setting: Setting, done: int, opening: tuple[int, Whole]) -> Round:
    squares = sum(one * one for one in setting.a[:done])
    # The statistic's standard deviation by now is the root of `squares` noise scales.
    width = max(1, math.isqrt(squares * setting.scale**2) // _STEPS)
    t = Decimal(squares) / setting.square
    theta = Decimal(setting.tau) / (Decimal(setting.square).sqrt() * setting.scale)
    begins, gates = opening
    half = _SLOPE * theta * t.sqrt() + _OFFSET
    return Round(width, begins + int(half * _STEPS), gates, _paces(t, theta))


def _gates() -> tuple[int, Whole]:
    """The first step at which the gate is open enough, from where it is half open, and how far from there on."""
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


def _paces(t: Decimal, theta: Decimal) -> Whole:
    """min(1, 0.4 (what is needed) t / ((1 - t) x))^1.8 at the middle x of each step, in deviations of the end."""
    values: list[int] = []
    root, half = t.sqrt(), Decimal("0.5")
    while True:
        x = (len(values) + half) / _STEPS * root
        needed = theta + _MARGIN - x
        if needed <= 0:
            return np.array(values, np.int64)
        ratio = _PACE * needed * t / ((1 - t) * x)
        values.append(FULL if ratio >= 1 else _slower(int(ratio.scaleb(_DIGITS))))


def _slower(ratio: int) -> int:
    """FULL (ratio / 10^_DIGITS)^1.8, rounded down: the largest v with v^5 <= FULL^5 (ratio / 10^_DIGITS)^9.

    In whole numbers: logarithms of so many digits take eight times as long. A float only says where to look.
    """
    found = int(FULL * (ratio / _ONE) ** (_NINTHS / _FIFTHS))
    most = _FULL_FIFTH * ratio**_NINTHS
    while found**_FIFTHS * _ONE_NINTH > most:
        found -= 1
    while (found + 1) ** _FIFTHS * _ONE_NINTH <= most:
        found += 1
    return found
