"""What an audit tries to refute: a claim says how likely an event may be under one log, given the other.

The conditions [A1] to [A3] are those of docs/proofs/audit.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from queryveil import Guarantee
from queryveil.extension import APPROXIMATE, GAUSSIAN, PROBABILISTIC, PURE, Draw

Shares = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Claim:
    """Epsilon and delta; of Gaussian guarantees mu and p too, which promise something at every epsilon."""

    kind: str
    epsilon: float
    delta: float
    mu: float | None = None
    p: float | None = None
    neighbours: str = ""
    of: str = ""
    """The part of the release that it is for; empty for the whole."""

    @staticmethod
    def of_guarantee(promise: Guarantee) -> Claim:
        if promise.epsilon is None or promise.delta is None:
            raise TypeError(f"'{promise.headline}' claims no epsilon and no delta")
        return Claim(
            kind=promise.kind,
            epsilon=promise.epsilon,
            delta=promise.delta,
            mu=promise.mu,
            p=promise.p,
            neighbours=promise.neighbours or "",
            of=promise.of,
        )

    @staticmethod
    def of_draw(draw: Draw) -> Claim:
        if draw.epsilon is None or draw.delta is None:
            raise TypeError(f"the draw for {draw.of} claims no epsilon and no delta")
        return Claim(
            kind=draw.kind,
            epsilon=draw.epsilon,
            delta=draw.delta,
            mu=draw.mu,
            p=draw.p,
            neighbours=draw.neighbours or "",
            of=draw.of,
        )

    @property
    def replaces(self) -> bool:
        """Whether one history is replaced; otherwise one user more or less is hidden."""
        return self.neighbours.startswith("replace")

    @property
    def indistinguishable(self) -> Claim:
        """What every kind of claim says of single events: probabilistic privacy implies approximate privacy."""
        if self.kind != PROBABILISTIC:
            return self
        return Claim(
            kind=APPROXIMATE, epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours, of=self.of
        )

    def allowed(self, other: Shares | float) -> Shares:
        """The largest probability that an event may have under one log, if it has `other` under the other.

        [A1] It grows with `other`, so that an upper bound of `other` gives an upper bound of it.
        """
        given = np.asarray(other, dtype=np.float64)
        most = np.exp(min(self.epsilon, 700.0)) * given + self.delta
        # [A2] The other side of the promise: what is not in the event has probabilities too.
        most = np.minimum(most, 1 - np.exp(-self.epsilon) * (1 - given - self.delta))
        if self.kind == GAUSSIAN and self.mu is not None and self.p is not None:
            # [A3] All points of the curve of epsilon and delta at once: a shift by mu, and p besides.
            shifted = special.ndtr(special.ndtri(given) + self.mu) + self.p
            most = np.minimum(most, shifted)
        found: Shares = np.minimum(most, 1.0)
        return found

    def shift(self, low: float, high: float) -> float:
        """Of a Gaussian claim, the mu that an event proves; 0 for any other claim."""
        if self.p is None or low <= self.p or high <= 0:
            return 0.0
        return max(0.0, float(special.ndtri(low - self.p) - special.ndtri(high)))

    def same_numbers(self, other: Claim) -> bool:
        """Whether two claims have the same epsilon and delta, whatever part they are of."""
        return math.isclose(self.epsilon, other.epsilon) and math.isclose(self.delta, other.delta)

    def told(self) -> str:
        """In a few words."""
        delta = "" if self.kind == PURE or self.delta == 0 else f", delta {self.delta:.4g}"
        shift = f" (mu {self.mu:.4g}, p {self.p:.3g})" if self.mu is not None and self.p is not None else ""
        return f"epsilon {self.epsilon:.6g}{delta}{shift}"


def epsilon_between(low: float, high: float, delta: float) -> float:
    """The epsilon that an event proves: probability `low` at least under one log, `high` at most under the other."""
    if low <= delta:
        return 0.0
    if high <= 0:
        return math.inf
    return max(0.0, math.log((low - delta) / high))
