"""Selection by rounded normal noise: bounds of the probability that an item is published, for users who have it alone.

The statistic of such an item is a walk: each round adds what its users give, and noise. Noise is put on a grid, rounded
down for a lower bound and up for an upper one; an item that is published with less is published with more. So the
bounds are certain, and what is left of floats is bounded too: docs/proofs/audit.md.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import signal, special, stats

from queryveil.extension import EQUAL, LOG, ROUNDED_NORMAL, Draw
from queryveil.mechanisms.selection import steering
from queryveil.mechanisms.selection.gaussian_account import GRID
from queryveil.mechanisms.selection.steering import Setting
from queryveil_lab.audits import statistics
from queryveil_lab.audits.claims import Claim
from queryveil_lab.audits.trials import ENUMERATED, AuditFinding
from queryveil_lab.audits.worlds import Pair, neighbouring

_CELLS = 1 << 15
_SPAN = 12
"""The grid ends so many standard deviations of the statistic away; what lies beyond is below the slack."""
_SLACK = 1e-9
"""More than floats lose in all rounds, a hundred times over: [N3]."""
_SCORE = 1 << 12
"""A user with one item gives it GRID * score // (score + 1): with such a score, all but a part in 4,096."""
_MOST_SCANNED = 48

Shares = npt.NDArray[np.float64]


def possible(draw: Draw) -> bool:
    """Whether the draw selects rows of a log by normal noise, and by nothing else."""
    known = draw.distribution == ROUNDED_NORMAL and draw.rows == LOG and draw.public is None
    return known and draw.above is not None and draw.scale is not None


@dataclass(frozen=True)
class Chance:
    """An interval that a probability is in for certain."""

    low: float
    high: float

    @property
    def other(self) -> Chance:
        """Of the event that it does not come."""
        return Chance(1 - self.high, 1 - self.low)

    def times(self, other: Chance) -> Chance:
        """Of both, if they are independent."""
        return Chance(max(0.0, self.low * other.low - _SLACK), min(1.0, self.high * other.high + _SLACK))


NEVER = Chance(0.0, 0.0)


def setting_of(draw: Draw) -> Setting:
    return Setting(
        draw.rounds or 1, int(draw.scale or 1), draw.p or 0.0, draw.most or 1, int(draw.above or 0)
    )


def published(setting: Setting, users: int) -> Chance:
    """How likely an item is published that so many users have, each of whom has nothing else."""
    if users == 0:
        return NEVER  # nobody holds it, so it is no candidate
    low = _walk_probability(setting, users, upward=False) - _probability_ahead(setting, users) - _SLACK
    return Chance(max(0.0, low), min(1.0, _walk_probability(setting, users, upward=True) + _SLACK))


def any_new(draw: Draw, number: int) -> Chance:
    """How likely any of so many items is published that one user alone has, if weights are equal and of one round."""
    setting, full = setting_of(draw), steering.FULL
    weight = full * GRID // (math.isqrt(number * full * full) + 1)
    each = float(special.ndtr(-(setting.tau + 0.5 - weight) / setting.scale))
    either = -math.expm1(number * math.log1p(-each))
    return Chance(max(0.0, either - _SLACK), min(1.0, either + _SLACK))


def _walk_probability(setting: Setting, users: int, *, upward: bool) -> float:
    """[N1] P[the walk is never dropped and ends above tau], with noise rounded down, or up."""
    step = _grid_step(setting)
    at = (np.arange(_CELLS) - _CELLS // 2) * step
    mass = np.zeros(_CELLS)
    mass[_CELLS // 2] = 1.0
    drift = rounding = 0.0
    corridors = _score_corridors(setting)
    for done, weight in enumerate(setting.a):
        mass = np.maximum(
            signal.fftconvolve(mass, _noise_kernel(weight * setting.scale / step, upward), "same"), 0
        )
        drift += weight * users * _weight_given(done, upward=upward)
        rounding += weight / 2
        total = drift + at + (rounding if upward else -rounding)
        if done < len(corridors):
            mass[total < (corridors[done].drops if upward else corridors[done].low)] = 0
    return float(mass[total > setting.tau].sum())


def _weight_given(done: int, *, upward: bool) -> int:
    """What a user gives to her only item, at least or at the most; in the first round scores are full."""
    score = steering.FULL if upward or done == 0 else _SCORE
    return score * GRID // (score + 1)


def _grid_step(setting: Setting) -> float:
    return 2 * _SPAN * math.sqrt(setting.square) * setting.scale / _CELLS


@lru_cache(maxsize=64)
def _noise_kernel(scale: float, upward: bool) -> Shares:
    """Normal noise of a scale in steps of the grid, rounded to a step."""
    far = min(math.ceil(9 * scale), _CELLS // 2 - 1)
    edges = np.arange(-far, far + 2) - (1 if upward else 0)
    # Differences of the nearer tail, so that no digits cancel.
    tails = special.ndtr(-np.abs(edges) / scale)
    below = np.where(edges < 0, tails, 1 - tails)
    found: Shares = np.where(edges[:-1] >= 0, tails[:-1] - tails[1:], np.diff(below))
    return np.maximum(found, 0)


@dataclass(frozen=True)
class Corridor:
    """After a round: below `drops` an item is dropped; between `low` and `high` its score is nearly full, or more."""

    drops: int
    low: int
    high: int


@lru_cache(maxsize=16)
def _score_corridors(setting: Setting) -> tuple[Corridor, ...]:
    return tuple(_score_corridor(table) for table in steering.score_tables(setting))


def _score_corridor(table: steering.Round) -> Corridor:
    """Where scores are large, from the same tables as those of a release."""
    low = None
    step = table.first
    while True:
        gate = step - table.first
        score = int(table.gates[gate]) if gate < len(table.gates) else steering.FULL
        if step >= 0:
            pace = int(table.paces[step]) if step < len(table.paces) else 0
            score = score * pace >> steering.FULL.bit_length() - 1
        if low is None and score >= _SCORE:
            low = step
        if (low is not None and score < _SCORE) or step >= max(0, table.first) + len(table.paces) + 1:
            break
        step += 1
    if low is None:
        low = step
    return Corridor(table.first * table.width, low * table.width, step * table.width)


def _probability_ahead(setting: Setting, users: int) -> float:
    """[N2] P[some round ends above the corridor], at most: then users give less than was assumed."""
    total = squares = rounding = 0.0
    found = 0.0
    for done, corridor in enumerate(_score_corridors(setting)):
        weight = setting.a[done]
        total += weight * users * _weight_given(done, upward=True)
        squares += (weight * setting.scale) ** 2
        rounding += weight / 2
        found += float(special.ndtr(-(corridor.high - total - rounding) / math.sqrt(squares)))
    return found


# -- findings --------------------------------------------------------------------------------------------------


def findings(draw: Draw, claim: Claim, times: int = 1) -> Iterator[AuditFinding]:
    """What computed probabilities prove: of a rare item, and of items that nobody else has.

    `times`: so many independent releases of neighbouring logs, all of which publish the item, or none.
    """
    setting = setting_of(draw)
    scanned = list(_scan_counts(setting))
    chances = {users: published(setting, users) for users in sorted({0, 1, *_undecided_counts(scanned)})}
    found = [
        (users, *_best_event(chances[users + 1], chances[users], claim, times)) for users in (0, *scanned)
    ]
    if claim.replaces and times == 1:
        found += [
            (users, *_replacement_event(chances, users, other, claim))
            for users in scanned
            for other in scanned
            if chances[users].high < 0.5
        ]
    best = max(found, key=lambda one: (one[3].epsilon, one[3].low))
    yield _make_finding(draw, claim, "rare item", best, [(one.low, one.high) for _, _, _, one in found[1:]])
    number = min(draw.most or 1, 12) if draw.weights == EQUAL and setting.rounds == 1 else 1
    alone = any_new(draw, number) if number > 1 else chances[1]
    # Once is enough, in any of the releases.
    proven = statistics.between(claim, -math.expm1(times * math.log1p(-alone.low)) - times * _SLACK, 0.0)
    words = f"any of {number} items is published that nobody else has" if number > 1 else "published"
    yield _make_finding(draw, claim, "new items", (0, words, number, proven), [(proven.low, proven.high)])


def nested(queries: Draw, clicks: Draw, claim: Claim) -> AuditFinding:
    """A click is published if its query is, and then it itself: noise of both rounds of selection is independent.

    All users of the click have the query, and nothing else; the target has both.
    """
    one, other = setting_of(queries), setting_of(clicks)
    of_query = {users: published(one, users) for users in _undecided_counts(list(_scan_counts(one)))}
    of_click = {users: published(other, users) for users in _undecided_counts(list(_scan_counts(other)))}
    found = []
    for users in _scan_counts(one):
        for clicking in _scan_counts(other):
            if clicking <= users:
                here = of_query[users + 1].times(of_click[clicking + 1])
                there = of_query[users].times(of_click[clicking])
                proven = statistics.between(claim, here.low, there.high)
                found.append((users, f"its click of {clicking:,} users is published too", 1, proven))
    best = max(found, key=lambda one: (one[3].epsilon, one[3].low))
    return _make_finding(clicks, claim, "rare item", best, [(one.low, one.high) for _, _, _, one in found])


def rare_pair(draw: Draw, claim: Claim) -> Pair:
    """The pair of worlds in which one item says most, for runs of the step."""
    setting = setting_of(draw)
    scanned = list(_scan_counts(setting))
    chances = {users: published(setting, users) for users in sorted(_undecided_counts(scanned))}
    best = max(
        scanned,
        key=lambda users: _best_event(chances[users + 1], chances[users], claim)[2].epsilon,
        default=1,
    )
    return neighbouring(
        claim, "rare item", f"one item of {best:,} other users", (best, best), (0,), there=(1,)
    )


def _undecided_counts(scanned: list[int]) -> set[int]:
    return {users + more for users in scanned for more in (0, 1)}


def _scan_counts(setting: Setting) -> Iterator[int]:
    """Numbers of users for which it is neither certain nor impossible that an item is published."""
    spread = math.sqrt(setting.square) * setting.scale
    each = GRID * setting.sum
    first = max(1, math.floor((setting.tau - 4.5 * spread) / each))
    last = max(first, math.ceil((setting.tau + 3 * spread) / each))
    yield from range(first, last + 1, max(1, -(-(last - first) // _MOST_SCANNED)))


_Event = tuple[str, int, statistics.Proven]


def _best_event(with_her: Chance, without: Chance, claim: Claim, times: int = 1) -> _Event:
    """The item is published so often, of so many times; or it is not, under the other log."""
    found = []
    for least in range(1, times + 1):
        how = "" if times == 1 else f", {least} times of {times} or more"
        for name, here, there in (
            ("published", with_her, without),
            ("not published", without.other, with_her.other),
        ):
            low, high = here.low, there.high
            if times > 1:  # it grows with the chance of one time, so that bounds of it give bounds
                low = max(0.0, float(stats.binom.sf(least - 1, times, low)) - _SLACK)
                high = min(1.0, float(stats.binom.sf(least - 1, times, high)) + _SLACK)
            found.append((f"{name}{how}", 1, statistics.between(claim, low, high)))
    return max(found, key=lambda one: (one[2].refutes, one[2].epsilon))


def _replacement_event(chances: dict[int, Chance], users: int, other: int, claim: Claim) -> _Event:
    """Two items: the target has the one or the other. One is published, and the other not."""
    here = chances[users + 1].times(chances[other].other)
    there = chances[users].times(chances[other + 1].other)
    proven = statistics.between(claim, here.low, there.high)
    return f"published, and another of {other:,} users not", 1, proven


def _make_finding(
    draw: Draw,
    claim: Claim,
    shape: str,
    best: tuple[int, str, int, statistics.Proven],
    points: list[tuple[float, float]],
) -> AuditFinding:
    users, event, number, proven = best
    refutes = any(low > float(claim.indistinguishable.allowed(high)) for low, high in points)
    others = f"{users:,} other users" if users else "nobody else"
    return AuditFinding(
        shape=shape,
        words=f"{number} item{'s' if number > 1 else ''} of {others}",
        of=draw.of,
        runner="step",
        how=ENUMERATED,
        runs=0,
        claim=claim,
        event=event,
        epsilon=proven.epsilon,
        delta=proven.delta,
        refutes=refutes or proven.refutes,
        points=tuple(points),
    )
