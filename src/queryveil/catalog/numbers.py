"""Numbers as people write them. A number that limits something is rounded in the direction in which it still holds."""

from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal, localcontext
from fractions import Fraction
from typing import Any, Final

_NEARLY = Decimal("99.9")
"""What is above it, in percent, is not told from certainty."""
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_RARE = 1e-3
"""What is less probable is said as one in a number."""
_SIZES = (
    (Decimal(10**12), "trillion"),
    (Decimal(10**9), "billion"),
    (Decimal(10**6), "million"),
)
_MOST = Decimal(10**15)
"""Larger numbers mean nothing to anyone; the chance is then said to be larger than it is."""


@dataclass(frozen=True)
class NumberStyle:
    """How a language writes numbers."""

    decimal: str = "."
    thousands: str = ","
    percent: str = "%"
    date: str = "%Y-%m-%d"

    def localize(self, english: str) -> str:
        """Return digits that are written the English way, such as 1,234.5, in this style."""
        if (self.decimal, self.thousands) == (".", ","):
            return english
        swapped = {",": self.thousands, ".": self.decimal}
        return "".join(swapped.get(one, one) for one in english)


ENGLISH: Final = NumberStyle()


def count(number: int, style: NumberStyle = ENGLISH) -> str:
    """Return a whole number with its thousands apart."""
    return style.localize(f"{number:,}")


def date(text: str, style: NumberStyle = ENGLISH) -> str:
    """Return a day such as 2026-01-31 in a style. Any other text, such as a month, stays as it is."""
    if not _DAY.fullmatch(text):
        return text
    with contextlib.suppress(ValueError):
        return datetime.date.fromisoformat(text).strftime(style.date)
    return text


def percent(
    share: float, within: int = 100, style: NumberStyle = ENGLISH, nearly: str = "nearly {all}"
) -> str:
    """Return a share of 100, never rounded down, and never rounded to certainty.

    It has as few digits as keep it within one in `within` of its value.
    """
    if share >= 1:
        return f"100{style.percent}"
    exact = Decimal(repr(share)) * 100
    for digits in (0, 1, 2):
        up = exact.quantize(Decimal(1).scaleb(-digits), ROUND_CEILING)
        if up - exact <= exact / within and up < 100:
            break
    if up > _NEARLY:
        return nearly.format(all=f"100{style.percent}")
    return f"{style.localize(f'{up.normalize():f}')}{style.percent}"


def percent_at_least(share: Fraction, style: NumberStyle = ENGLISH) -> str:
    """Return a share of 100 that is never rounded up."""
    exact = Decimal(100 * share.numerator) / share.denominator
    for digits in (0, 1, 2):
        down = exact.quantize(Decimal(1).scaleb(-digits), ROUND_FLOOR)
        if down and exact - down <= exact / 100:
            break
    return f"{style.localize(f'{down.normalize():f}')}{style.percent}"


def chance(share: float | None, style: NumberStyle, entries: Mapping[str, Any]) -> str:
    """Return a small probability as people say it, never rounded down: '0.1 %', '1 in 37 million'."""
    if not share or share >= _RARE:
        return percent(share or 0.0, 20, style)
    one_in = 1 / Decimal(repr(share))
    step = Decimal(1).scaleb(one_in.adjusted() - 1)
    few = min((one_in / step).to_integral_value(ROUND_FLOOR) * step, _MOST)
    for size, name in _SIZES:
        if few >= size:
            number = (few / size).normalize()
            forms = entries[f"number.{name}"]
            said = forms["one" if number == 1 else "other"].format(number=style.localize(f"{number:,f}"))
            return str(entries["number.one-in"]).format(number=said)
    return str(entries["number.one-in"]).format(number=style.localize(f"{few.normalize():,f}"))


def round_up(number: float | None, digits: int = 3, style: NumberStyle = ENGLISH) -> str:
    """Return a number in few digits, never below its value."""
    value = Decimal(repr(float(number or 0)))
    if value == 0:
        return "0"
    step = Decimal(1).scaleb(value.adjusted() - digits + 1)
    with localcontext(prec=50):
        shown = (value / step).to_integral_value(ROUND_CEILING) * step
    if 1000 <= shown < 10**15:
        whole = shown == shown.to_integral_value()
        return style.localize(f"{shown:,.0f}" if whole else f"{shown.normalize():,f}")
    return style.localize(f"{float(shown):.{digits}g}")
