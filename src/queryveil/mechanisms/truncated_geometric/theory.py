"""The arithmetic of truncated geometric selection: what each moved count may cost, and the noise that this allows.

Proof: docs/proofs/truncated-geometric.md, whose conditions are the labels [Cn].
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from typing import Any

from queryveil.mechanisms.zealous.theory import scale_for
from queryveil.privacy.selection_noise import SelectionNoise, selection_noise

_DIGITS = 60


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Optimal selection noise, and what it costs."""

    max_items: int
    moves: int
    """Counts that one user moves: as many as items, or twice that for a replaced history."""
    epsilon: float
    delta: float
    scale: float
    item_delta: float
    noise: SelectionNoise

    def as_dict(self) -> dict[str, Any]:
        return {
            "noise_scale": self.scale,
            "item_delta": self.item_delta,
            "limit": self.noise.limit,
            "threshold": self.noise.largest,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "even_chance": self.noise.even_chance,
            "always": self.noise.always,
        }


def calibrate(max_items: int, epsilon: float, delta: float, *, replace: bool) -> Setting:
    """Return the noise that keeps epsilon and delta for all counts that one user moves together."""
    # [C6] A replaced history moves the old items and the new ones.
    moves = 2 * max_items if replace else max_items
    # [C5] The scale is rounded up and the delta of one count down.
    scale, item_delta = scale_for(moves, epsilon), delta_of_each(delta, moves)
    return Setting(
        max_items=max_items,
        moves=moves,
        epsilon=epsilon,
        delta=delta,
        scale=scale,
        item_delta=item_delta,
        noise=selection_noise(scale, item_delta),
    )


def delta_of_each(delta: float, moves: int) -> float:
    """Return 1 - (1 - delta)^(1/moves), rounded down: the delta of each of so many counts."""
    if moves == 1:
        return delta
    whole = Decimal(delta)
    # As many digits more as the subtraction from 1 cancels.
    digits = _DIGITS + 2 * max(0, -whole.adjusted())
    with localcontext(Context(prec=digits, rounding=ROUND_CEILING, Emin=MIN_EMIN, Emax=MAX_EMAX)) as here:
        # Each step is rounded up; exp and ln round to nearest, so that they take one step further.
        kept = ((1 - whole).ln().next_plus() / moves).exp().next_plus()
        here.rounding = ROUND_FLOOR
        share = max(Decimal(0), 1 - kept)
    found = float(share)
    return found if Decimal(found) <= share else math.nextafter(found, 0.0)
