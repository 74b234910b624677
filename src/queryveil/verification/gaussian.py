"""What draws of rounded normal noise are worth, computed anew: mu, p, and the curve of epsilon and delta.

This is a second computation on purpose, and shares no line with the one that made the release. With s the norm of what
one user adds in a round (root 2 s if a history is replaced), S the scale of the noise, K rounds and d rows of one user:

    mu^2 = K s^2 / S^2          p = the chance that one of d rows passes which that user alone has

A row counts a_k times in round k, and a_k is K - 1, ..., 2K - 2, or 1 if K = 1. With weights steered to it, a row has
at most s in each round, and passes with P[N > (above - s A - A/2) / (S |a|)], A the sum of a. With equal weights among
t rows each has s / root t, and p is the largest over t up to d. docs/proofs/gaussian.md and steered.md have the proofs.

A public list among the rows of the log changes none of this: its rows have noise in every round, searched for or not,
so that no user alone has them. Rows off the list cost p, and one user may have d of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from typing import Any

from queryveil.catalog import Sentence

_DIGITS = 60
_SAME = Decimal("1e-12")
"""What sums of floats may differ by, relative to them."""
_FARTHEST = 40
"""Beyond, a tail is below 1e-340, and below every float."""
_MOST_EQUAL = 1_000
_MOST_ANY = 1 << 23
"""Squares of so many full scores no longer fit into 64 bits."""
"""Each number of rows up to the bound is looked at, so that a manifest could ask for any amount of work."""
EQUAL, ANY = "equal", "any"
"""How a user's weight is divided among rows: in equal parts, or in any way."""


def problems(draw: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with a draw of rounded normal noise, taken alone."""
    # What a user adds to counts of published rows is bounded by its norm alone, however many rows it is for.
    needed = ("scale", "sensitivity", "rounds", *(() if draw["rows"] == "published" else ("most",)))
    if not all(type(draw.get(one)) is int and draw[one] >= 1 for one in needed):
        yield Sentence("verify.gaussian.lacks-noise-scale-sensitivity-bound-or")
        return
    if draw["kind"] != "gaussian-dp" or not all(
        isinstance(draw.get(one), int | float) for one in ("mu", "p")
    ):
        yield Sentence("verify.gaussian.does-not-say-what-costs")
        return
    if draw["copies"] != 1 or "at_least" in draw or draw["weights"] not in (EQUAL, ANY):
        yield Sentence("verify.gaussian.does-not-bound-what-one-user")
    if draw["weights"] == EQUAL and (draw["rounds"] != 1 or draw.get("most", _MOST_EQUAL + 1) > _MOST_EQUAL):
        yield Sentence("verify.gaussian.divides-weights-equally-in-more-than", most_equal=_MOST_EQUAL)
    if draw["weights"] == ANY and draw.get("most", 1) >= _MOST_ANY:
        yield Sentence("verify.gaussian.divides-weights-among-rows-or-more", most_any=_MOST_ANY)
    if draw["rows"] == "log" and "above" not in draw:
        yield Sentence("verify.gaussian.lacks-threshold-but-its-rows-come")
    if draw["rows"] != "log" and ("above" in draw or draw["p"]):
        yield Sentence("verify.gaussian.has-threshold-or-p-but-its")


def findings(draws: Sequence[Mapping[str, Any]], guarantee: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the guarantee of draws that are all of this kind."""
    parts = guarantee.get("parts") or [guarantee]
    if len(parts) != len(draws):
        yield Sentence("verify.gaussian.guarantee-does-not-have-one-part")
        return
    square, p = Fraction(0), Decimal(0)
    for draw, part in zip(draws, parts, strict=True):
        where = Sentence("verify.gaussian.guarantee-of", of=draw["of"])
        if part.get("of") != (draw["of"] if len(draws) > 1 else None):
            yield Sentence("verify.gaussian.does-not-say-what-is-for", where=where)
        for name in ("kind", "epsilon", "delta", "mu", "p", "neighbours"):
            if part.get(name) != draw.get(name):
                yield Sentence("verify.gaussian.and-its-draw-state-different-values", where=where, name=name)
                return
        own, chance = mu_squared(draw), p_of(draw)
        yield from _too_strong(where, part, own, chance)
        square, p = square + own, p + chance
    if len(draws) > 1:
        yield from _too_strong("the guarantee", guarantee, square, p)
        stated = [
            sum(Fraction(part["mu"]) ** 2 for part in parts),
            sum(Fraction(part["p"]) for part in parts),
        ]
        total = [Fraction(guarantee["mu"]) ** 2, Fraction(guarantee["p"])]
        if any(have < need * (1 - Fraction(_SAME)) for have, need in zip(total, stated, strict=True)):
            yield Sentence("verify.gaussian.mu-or-p-of-guarantee-is")


def _too_strong(where: str, stated: Mapping[str, Any], square: Fraction, p: Decimal) -> Iterator[str]:
    if Fraction(stated["mu"]) ** 2 < square:
        yield Sentence(
            "verify.gaussian.states-mu-but-noise-gives",
            where=where,
            mu=format(stated["mu"], ".6g"),
            value=f"{float(square) ** 0.5:.6g}",
        )
    if Decimal(stated["p"]) * (1 + _SAME) < p:
        yield Sentence(
            "verify.gaussian.states-p-but-threshold-gives",
            where=where,
            p=format(stated["p"], ".6g"),
            p_2=f"{p:.6g}",
        )
    needed = curve(square, Fraction(stated["epsilon"])) + p
    if Decimal(stated["delta"]) * (1 + _SAME) < needed:
        yield Sentence(
            "verify.gaussian.states-delta-but-noise-and-thresholds",
            where=where,
            delta=format(stated["delta"], ".6g"),
            needed=f"{needed:.6g}",
        )


def mu_squared(draw: Mapping[str, Any]) -> Fraction:
    moved = draw["rounds"] * draw["sensitivity"] ** 2 * _histories_changed(draw)
    return Fraction(moved, draw["scale"] ** 2)


def p_of(draw: Mapping[str, Any]) -> Decimal:
    """The chance that a row is published which one user alone has; twice that if a history is replaced."""
    if draw["rows"] != "log":
        return Decimal(0)
    found = _shift_of_equal(draw) if draw["weights"] == EQUAL else _shift_of_any(draw)
    return _histories_changed(draw) * found


def _histories_changed(draw: Mapping[str, Any]) -> int:
    return 2 if str(draw["neighbours"]).startswith("replace-one-user") else 1


def _shift_of_any(draw: Mapping[str, Any]) -> Decimal:
    total, squares = _round_sums(draw["rounds"])
    gap = Fraction(draw["above"] - draw["sensitivity"] * total) - Fraction(total, 2)
    return _one_of(_passing_probability(gap, squares * draw["scale"] ** 2), draw["most"])


def _round_sums(rounds: int) -> tuple[int, int]:
    """Of K - 1, ..., 2K - 2 and of their squares, in closed form: a manifest may name any number of rounds."""
    if rounds == 1:
        return 1, 1
    low, high = rounds - 2, 2 * rounds - 2  # what is before the first, and the last
    total = high * (high + 1) // 2 - low * (low + 1) // 2
    return total, high * (high + 1) * (2 * high + 1) // 6 - low * (low + 1) * (2 * low + 1) // 6


def _shift_of_equal(draw: Mapping[str, Any]) -> Decimal:
    with localcontext(_decimal_context(0)):
        return max(
            _one_of(
                _passing_probability(
                    draw["above"]
                    - Fraction(Decimal(draw["sensitivity"]) / Decimal(rows).sqrt())
                    - Fraction(1, 2),
                    draw["scale"] ** 2,
                ),
                rows,
            )
            for rows in range(1, draw["most"] + 1)
        )


def _passing_probability(gap: Fraction, variance: int) -> Decimal:
    with localcontext(_decimal_context(0)):
        return tail(_to_decimal(gap) / Decimal(variance).sqrt())


def _one_of(chance: Decimal, rows: int) -> Decimal:
    with localcontext(_decimal_context(0)):
        return rows * chance if rows * chance < Decimal("1e-45") else 1 - (1 - chance) ** rows


def curve(square: Fraction, epsilon: Fraction) -> Decimal:
    """P[N > epsilon/mu - mu/2] - e^epsilon P[N > epsilon/mu + mu/2]."""
    with localcontext(_decimal_context(0)):
        mu, loss = _to_decimal(square).sqrt(), _to_decimal(epsilon)
        near, far = loss / mu - mu / 2, loss / mu + mu / 2
    with localcontext(_decimal_context(min(far, Decimal(_FARTHEST)))):
        return tail(near) - loss.exp() * tail(far)


def tail(x: Decimal) -> Decimal:
    """P[N > x], from the alternating series of the error function."""
    if x < 0:
        with localcontext(_decimal_context(0)):
            return 1 - tail(-x)
    if x >= _FARTHEST:
        return Decimal(0)
    with localcontext(_decimal_context(x)) as context:
        term, total, n = x, x, 0
        smallest = Decimal(10) ** -context.prec
        while abs(term) / (2 * n + 1) > smallest:
            n += 1
            term = -term * x * x / (2 * n)
            total += term / (2 * n + 1)
        return Decimal(1) / 2 - total / (2 * _compute_pi()).sqrt()


def _decimal_context(x: Decimal | int) -> Context:
    """Terms grow to e^(x^2/2) and leave a tail of e^(-x^2/2): both lose digits, and so does nothing else."""
    return Context(prec=_DIGITS + int(x * x) // 2 + 10, Emin=MIN_EMIN, Emax=MAX_EMAX)


def _compute_pi() -> Decimal:
    return +_machin_pi(1_000)


@lru_cache(maxsize=1)
def _machin_pi(digits: int) -> Decimal:
    """Machin's 16 arctan(1/5) - 4 arctan(1/239), in whole numbers."""
    one: int = 10 ** (digits + 10)

    def arctan(inverse: int) -> Any:
        power = total = one // inverse
        n = 1
        while power:
            power //= -inverse * inverse
            n += 2
            total += power // n
        return total

    with localcontext(Context(prec=digits)):
        return Decimal(16 * arctan(5) - 4 * arctan(239)) / Decimal(one)


def _to_decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)
