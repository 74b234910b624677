"""Gaussian accounting: what a shift of mu standard deviations gives away, as a curve of epsilon and delta.

A release is (mu, p)-Gaussian if, but for an event of probability at most p, telling two neighbouring logs apart is no
easier than telling a normal variable of mean 0 from one of mean mu. Then for every epsilon it is (epsilon, delta)
private with delta = curve(mu, epsilon) + p. Several releases together have the root of the sum of mu^2, and
the sum of p.

What becomes a promise is computed with as many decimal digits as it needs and rounded to the side of privacy; floats
only say where to look. Statement and proof: docs/proofs/gaussian.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist

from queryveil.privacy import calibration

_DIGITS = 50
"""Correct digits of every probability, whatever its size."""
_FAR = 36
"""From here on a normal tail is below 1e-283, and is bounded instead of computed."""
_FARTHEST = 10_000
"""From here on one bound serves for all: it is below any float."""
_MOST_MU = 40.0
"""Such a shift hides nothing at any epsilon that a person would ask for."""
_FINE = 1 << 60
"""Shifts are searched for as fractions of this numerator: finer than any noise scale."""
LEAST_DELTA = 1e-200
"""Floats end soon after; no promise needs less."""

_NORMAL = NormalDist()


# -- exact -----------------------------------------------------------------------------------------------------


def normal_tail(x: Decimal) -> Decimal:
    """P[N > x] for a standard normal N, to fifty digits; from 36 on an upper bound, phi(x)/x."""
    if x < 0:
        with localcontext(_decimal_context(0)):
            return 1 - normal_tail(-x)
    if x >= _FAR:
        # Nothing is taken from one half here, so no digits cancel. Tails fall: that of a nearer number is a bound too.
        x = min(x, Decimal(_FARTHEST))
        with localcontext(_decimal_context(0)):
            return (-x * x / 2).exp() / (2 * _compute_pi()).sqrt() / x
    with localcontext(_decimal_context(x)):
        density = (-x * x / 2).exp() / (2 * _compute_pi()).sqrt()
        # P[0 < N < x] = density * (x + x^3/3 + x^5/(3*5) + ...): every term is positive, and nothing cancels.
        square, least = x * x, Decimal(10) ** -(_DIGITS + int(x * x))
        term, total, place = x, x, 1
        while term > total * least:
            place += 2
            term = term * square / place
            total += term
        return Decimal("0.5") - density * total


@lru_cache(maxsize=1024)
def curve(mu: Decimal, epsilon: float | Fraction) -> Decimal:
    """The delta of a shift by mu, rounded up: PHI(mu/2 - epsilon/mu) - e^epsilon PHI(-mu/2 - epsilon/mu)."""
    if mu <= 0:
        return Decimal(0)
    loss = calibration.decimal(epsilon)
    with localcontext(_decimal_context(0)):
        near = loss / mu - mu / 2
        far = near + mu
    if near >= _FAR:  # the first term alone is an upper bound
        return normal_tail(near)
    with localcontext(_decimal_context(far)) as context:
        context.rounding = ROUND_CEILING
        # A far tail would be bounded from above, and it is taken away: leave it out.
        taken = loss.exp() * normal_tail(far) if far < _FAR else Decimal(0)
        found = normal_tail(near) - taken
        return found * (1 + Decimal(10) ** -30)


def root(square: Fraction) -> Decimal:
    """The square root of a fraction, rounded up."""
    with localcontext(_decimal_context(0), rounding=ROUND_CEILING):
        return (Decimal(square.numerator) / Decimal(square.denominator)).sqrt().next_plus()


def holds(mu_squared: Fraction, p: Fraction, epsilon: float, delta: float) -> bool:
    """Whether (mu, p) is enough for (epsilon, delta), decided exactly."""
    room = Fraction(delta) - p
    return room > 0 and curve(root(mu_squared), epsilon) <= calibration.decimal(room)


def epsilon_of(mu: float, p: float, delta: float) -> float:
    """The smallest epsilon, rounded up a little, that (mu, p) keeps at a delta; infinite if p leaves no room."""
    if delta <= p:
        return math.inf
    if mu == 0:
        return 0.0
    square = Fraction(mu) ** 2
    if holds(square, Fraction(p), 0.0, delta):
        return 0.0
    low, high = 0.0, 1.0
    while not holds(square, Fraction(p), high, delta):
        low, high = high, 2 * high
        if high > 1e6:
            return math.inf
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(square, Fraction(p), middle, delta) else (middle, high)
    return high


@lru_cache(maxsize=256)
def largest_shift(epsilon: float, delta: Fraction) -> Fraction:
    """The largest mu whose curve at epsilon is at most delta, rounded down: a fraction with a fixed numerator."""
    bound = calibration.decimal(delta)
    guess = _newton_step(Decimal(_approximate_shift(epsilon, float(delta))), epsilon, bound)

    def enough(scale: int) -> bool:
        with localcontext(_decimal_context(0), rounding=ROUND_CEILING):
            mu = Decimal(_FINE) / Decimal(scale)
        return curve(mu, epsilon) <= bound

    return Fraction(_FINE, _smallest_integer(enough, max(1, round(_FINE / guess)), _FINE // int(_MOST_MU)))


def _newton_step(mu: Decimal, epsilon: float, delta: Decimal) -> Decimal:
    """A shift that is nearly right, by one step of Newton's: twice as many digits of it are right then."""
    with localcontext(_decimal_context(0)):
        near = calibration.decimal(epsilon) / mu - mu / 2
        slope = (-near * near / 2).exp() / (2 * _compute_pi()).sqrt()
        step = (curve(mu, epsilon) - delta) / slope
        return mu - step if abs(step) < mu / 2 else mu


def smallest_threshold(needed: float, spread_squared: int, p: Fraction, times: int, start: Fraction) -> int:
    """The smallest whole number above which, from `start` on, one of so many normal variables comes with probability p.

    Each has the variance `spread_squared`; `needed` says about how many of its standard deviations that takes.
    """
    spread = root(Fraction(spread_squared))
    each = calibration.each_of(calibration.decimal(p), times)

    def enough(above: int) -> bool:
        with localcontext(_decimal_context(0), rounding=ROUND_FLOOR):
            gap = calibration.decimal(above - start)
            return gap > 0 and normal_tail(gap / spread) <= each

    return _smallest_integer(enough, math.ceil(float(start) + needed * float(spread)), 1)


def _smallest_integer(enough: Callable[[int], bool], guess: int, least: int) -> int:
    """The smallest whole number from `least` on that is enough; whatever is above one that is enough is, too."""
    step, high = 1, max(guess, least)
    while not enough(high):
        high, step = high + step, 2 * step
    low, step = high, 1
    while low > least and enough(low):
        high, low, step = low, max(least, low - step), 2 * step
    if enough(low):
        return low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _decimal_context(x: Decimal | int) -> Context:
    """Enough digits for fifty correct ones in a tail beyond x, which is what is left of one half."""
    spare = int(x * x / 4) + 1 if x > 0 else 1  # x^2 / (2 ln 10) digits cancel
    return Context(prec=_DIGITS + spare + 20, Emin=-(10**15), Emax=10**15)


@lru_cache(maxsize=8)
def _pi_to(digits: int) -> Decimal:
    """By the arithmetic and the geometric mean (Gauss and Legendre), each step doubling the digits."""
    with localcontext(Context(prec=digits + 10)):
        mean, other = Decimal(1), 1 / Decimal(2).sqrt()
        left, weight = Decimal("0.25"), Decimal(1)
        while abs(mean - other) > Decimal(10) ** -(digits + 5):
            following = (mean + other) / 2
            other = (mean * other).sqrt()
            left -= weight * (mean - following) ** 2
            mean, weight = following, 2 * weight
        return (mean + other) ** 2 / (4 * left)


def _compute_pi() -> Decimal:
    return +_pi_to(600)


# -- where to look ---------------------------------------------------------------------------------------------


def zeta(p: float, times: int) -> float:
    """The number that one of so many standard normal variables exceeds with probability p, as a float."""
    return -_NORMAL.inv_cdf(-math.expm1(math.log1p(-p) / times))


def _approximate_shift(epsilon: float, delta: float) -> float:
    """The mu of an epsilon and a delta, nearly."""
    low, high = 0.0, _MOST_MU
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if _approximate_curve(middle, epsilon) < delta else (low, middle)
    return high


def _approximate_curve(mu: float, epsilon: float) -> float:
    if mu <= 0:
        return 0.0
    near = epsilon / mu - mu / 2
    if near > _FAR:
        return 0.0
    # e^epsilon times the far tail, by logarithms: either alone may be beyond all floats.
    far = math.erfc((near + mu) / math.sqrt(2)) / 2
    return math.erfc(near / math.sqrt(2)) / 2 - (math.exp(epsilon + math.log(far)) if far > 0 else 0.0)


@lru_cache(maxsize=256)
def best_p(epsilon: float, delta: float, times: int, counted: int = 1) -> float:
    """The p below delta for which the threshold is lowest in users: it makes zeta(p)/mu(delta - p) smallest.

    `counted`: how often p is paid. Rounded to nine digits of delta, so that every machine finds the same.
    """
    top = delta / counted

    def slope(share: float) -> float:
        """Of the logarithm of zeta/mu, times p: below 0 before the minimum."""
        p = top * share
        one = zeta(p, times)
        if one <= 0:  # so large a delta that a threshold below any weight would do: less of it is enough
            return 1.0
        mu = _approximate_shift(epsilon, delta - counted * p)
        falls: float = math.pow(1 - p, 1 / times - 1) / (times * _normal_density(one) * one)
        return counted / (_normal_density(epsilon / mu - mu / 2) * mu) - falls

    low, high = 1e-6, 1 - 1e-6
    while round(low, 9) < round(high, 9) and low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if slope(middle) < 0 else (low, middle)
    return top * round((low + high) / 2, 9)


def _normal_density(x: float) -> float:
    return math.exp(-x * x / 2) / math.sqrt(2 * math.pi)


# -- what someone can find out ---------------------------------------------------------------------------------


def guessed_right(mu: float, p: float) -> float:
    """How often, at the most, a guess between two equally likely neighbours is right."""
    return min(1.0, (1 + calibration.up(curve(Decimal(mu), 0.0)) + p) / 2)


def largest_rise(mu: float, p: float, chance: float) -> float:
    """The logarithm of the factor by which the odds of a suspicion rise at the most, but for that chance.

    If A is the event that they rise by more than e^rise, then P[A] (1 - e^(epsilon - rise)) <= curve(mu, epsilon) + p
    for every epsilon below rise. The best of several such bounds is taken; docs/proofs/gaussian.md has the lines.
    """
    highest = 2 * mu * (mu + _NORMAL.inv_cdf(1 - chance / 2)) + 0.01
    every = [highest * step / 80 for step in range(1, 81)]
    best = math.inf
    for epsilon in _promising_indexes(every, [(_approximate_curve(mu, one) + p) / chance for one in every]):
        share = (calibration.up(curve(Decimal(mu), epsilon)) + p) / chance
        if share < 1:
            best = min(best, epsilon - math.log1p(-share))
    return best * (1 + 1e-9)


def _promising_indexes(epsilons: list[float], shares: list[float]) -> list[float]:
    """Those of which one has the best bound; shares are nearly right. Any other choice would be a bound as well."""
    found = {at: at - math.log1p(-share) for at, share in zip(epsilons, shares, strict=True) if share < 1}
    best = min(found.values(), default=math.inf)
    close = {at for at, bound in found.items() if bound <= best + 1e-3}
    return sorted(close | {at for at, share in zip(epsilons, shares, strict=True) if abs(share - 1) < 1e-3})
