"""The exponential mechanism over a domain of concepts, with integer weights and no floating-point number.

Candidates that are equally far from a concept share a weight. The group is drawn by its total weight, then a member
uniformly. Rounding a weight is paid for by a slightly smaller exponent: docs/proofs/semantic.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from queryveil.language.taxonomy.similarity import Domain
from queryveil.privacy.noise import Noise

SQC1, SQC2, NSQC = "sqc1", "sqc2", "nsqc"
CRITERIA = (SQC1, SQC2, NSQC)

_DIGITS = 45
_CONTEXT = Context(prec=_DIGITS, Emin=-(10**9), Emax=10**9)
_DOWN = Decimal("0." + 40 * "9")
"""More than all rounding of decimals can matter: what is multiplied by it is a lower bound."""
_STEEPEST = 20
"""The largest logarithm of a ratio of weights: an epsilon that allows more is not used up."""
_HALVINGS = 40
_CACHED_BYTES = 1 << 27

Places = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Groups:
    """The candidates in order of their distance from one concept, and where each group of equal ones starts."""

    order: npt.NDArray[np.unsignedinteger[Any]]
    codes: npt.NDArray[np.int64]
    """The code of each group's distance."""
    starts: Places
    sizes: Places


@dataclass(frozen=True)
class Certificate:
    """Why an exponent holds: no two inputs have probabilities of an output that differ by a larger factor."""

    exponent: Decimal
    of_weights: Fraction
    """The largest weight over the smallest."""
    of_sums: Fraction
    """The largest sum of a concept's weights over the smallest."""
    log_ratio: Decimal
    """The logarithm of their product, rounded up."""

    def as_dict(self) -> dict[str, float]:
        return {
            "exponent": float(self.exponent),
            "ratio_of_weights": float(self.of_weights),
            "ratio_of_sums": float(self.of_sums),
            "log_ratio": float(self.log_ratio),
        }


class Exponential:
    """Draws from a domain, by one criterion. `topics` are the topic of each concept of the domain, for SQC2.

    `tight` searches the taxonomy for the largest exponent, instead of taking half of epsilon, which always holds.
    """

    def __init__(
        self,
        domain: Domain,
        criterion: str,
        topics: npt.NDArray[np.int32] | None = None,
        *,
        tight: bool = False,
    ) -> None:
        self.domain, self.criterion, self.tight = domain, criterion, tight and criterion != NSQC
        self._topics = topics
        self.distances = self._distances()
        # Totals stay below 2^62, whatever the weights.
        self.scale_bits = 62 - len(domain).bit_length()
        self._weights: dict[Fraction, npt.NDArray[np.int64]] = {}
        self._certificates: dict[Fraction, Certificate] = {}
        self._groups: dict[int, Groups] = {}
        self._small = np.min_scalar_type(len(domain))
        self._most_cached = max(64, _CACHED_BYTES // (self._small.itemsize * len(domain)))

    # -- what is drawn from ------------------------------------------------------------------------------------

    def _distances(self) -> list[Decimal]:
        """(max_sim - q)/sensitivity by code: 0 for the concept itself, 1 at most."""
        if self.criterion == NSQC:
            return [Decimal(0), Decimal(1)]
        with localcontext(_CONTEXT):
            least = self.domain.least_similarity if self.criterion == SQC1 else Fraction(0)
            unit = _ln_two_minus(least)
            spread = [_ln_two_minus(f) for f in self.domain.fractions]
            found = [min(Decimal(1), one / unit) if unit else Decimal(0) for one in spread]
            return found if self.criterion == SQC1 else [*found, Decimal(1)]

    def calibration(self) -> Mapping[str, float]:
        """max_sim, min_sim and the sensitivity of the criterion, from the taxonomy alone."""
        with localcontext(_CONTEXT):
            if self.criterion == NSQC:
                return {"sensitivity": 1.0}
            spread = _ln_two_minus(self.domain.least_similarity) / Decimal(2).ln()
            figures = {"max_sim": 1.0, "min_sim": float(1 - spread)}
            return figures | {"sensitivity": float(spread) if self.criterion == SQC1 else 1.0}

    def weights(self, epsilon: Fraction) -> npt.NDArray[np.int64]:
        """The integer weight of a candidate by code, for so much epsilon per draw."""
        if epsilon not in self._weights:
            if len(self._weights) > 10_000:
                self._weights.clear()
            self._weights[epsilon] = np.array(self._compute_weights(epsilon), dtype=np.int64)
        return self._weights[epsilon]

    def _compute_weights(self, epsilon: Fraction) -> list[int]:
        exponent = self.exponent(epsilon)
        if self.criterion != NSQC:
            return self._round_weights(exponent, self.distances)
        with localcontext(_CONTEXT):
            # Rounded so that the ratio of the two is not above e^epsilon.
            top = Decimal(1 << self.scale_bits)
            other = (top * (-exponent).exp() / _DOWN).to_integral_value(ROUND_CEILING)
            return [int(top), min(int(top), int(other))]

    def _round_weights(self, exponent: Decimal, distances: Iterable[Decimal]) -> list[int]:
        with localcontext(_CONTEXT):
            top = Decimal(1 << self.scale_bits)
            return [
                int((top * (-exponent * distance).exp() * _DOWN).to_integral_value(ROUND_FLOOR))
                for distance in distances
            ]

    def exponent(self, epsilon: Fraction) -> Decimal:
        """The logarithm of the largest ratio of weights: half of epsilon, less what rounding may cost.

        The sum of the weights of NSQC is the same for every concept, so that all of epsilon goes into the weights.
        """
        with localcontext(_CONTEXT):
            if self.criterion == NSQC:
                return min(_to_decimal(epsilon), Decimal(_STEEPEST))
            if self.tight:
                return self.certificate(epsilon).exponent
            half = min(_to_decimal(epsilon) / 2, Decimal(_STEEPEST))
            lost = 2 / (Decimal(1 << self.scale_bits) * (-half).exp())
            # -ln(1 - lost) <= 2 lost for lost <= 1/2, once for the weight and once for the sum.
            return max(Decimal(0), (half - 2 * lost) * _DOWN)

    # -- the largest exponent ----------------------------------------------------------------------------------

    def certificate(self, epsilon: Fraction) -> Certificate:
        """The largest exponent that bisection finds for an epsilon, and why it holds."""
        if epsilon not in self._certificates:
            self._certificates[epsilon] = self._search_exponent(epsilon)
        return self._certificates[epsilon]

    def _search_exponent(self, epsilon: Fraction) -> Certificate:
        with localcontext(_CONTEXT):
            most = _to_decimal(epsilon)
            low, high = Decimal(0), min(most, Decimal(_STEEPEST))
            found = self._certify_exponent(low)
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                one = self._certify_exponent(middle)
                if one.log_ratio <= most:
                    low, found = middle, one
                else:
                    high = middle
        return found

    def _certify_exponent(self, exponent: Decimal) -> Certificate:
        """The integers that the weights and sums of all concepts are between, for one exponent."""
        codes, counts = self._candidate_counts
        weights = np.array(
            self._round_weights(exponent, [self.distances[code] for code in codes]), dtype=np.int64
        )
        sums = counts @ weights
        ratio = Fraction(int(weights.max()), int(weights.min()))
        of_sums = Fraction(int(sums.max()), int(sums.min()))
        with localcontext(_CONTEXT):
            return Certificate(
                exponent, ratio, of_sums, (_to_decimal(ratio).ln() + _to_decimal(of_sums).ln()) / _DOWN
            )

    @cached_property
    def _candidate_counts(self) -> tuple[list[int], npt.NDArray[np.int64]]:
        """The codes that occur, and how many candidates each kind of concept has at each of them."""
        kinds = np.zeros(len(self.domain), dtype=np.int32) if self._topics is None else self._topics
        many = len(self.distances)
        rows = [
            np.bincount(self.codes(place), minlength=many).astype(np.int32)
            for place in self.domain.representatives(kinds)
        ]
        table = np.stack(rows)
        used = np.flatnonzero(table.any(axis=0))
        return used.tolist(), table[:, used].astype(np.int64)

    # -- groups ------------------------------------------------------------------------------------------------

    def groups(self, place: int) -> Groups:
        """The groups of one concept; those of the first ones are kept, and these are the most frequent of a log.

        Keeping those used last would keep none: one window after the other goes through all of its concepts.
        """
        if place in self._groups:
            return self._groups[place]
        codes = self.codes(place)
        sizes = np.bincount(codes)
        found = np.flatnonzero(sizes)
        order = np.argsort(codes.astype(np.min_scalar_type(len(self.distances))), kind="stable")
        made = Groups(order.astype(self._small), found, np.cumsum(sizes[found]) - sizes[found], sizes[found])
        if len(self._groups) < self._most_cached:
            self._groups[place] = made
        return made

    def codes(self, place: int) -> npt.NDArray[np.int64]:
        """The code of the distance of each candidate from one concept."""
        if self.criterion == NSQC:
            other = np.ones(len(self.domain), dtype=np.int64)
            other[place] = 0
            return other
        codes = self.domain.similarity_codes(place).astype(np.int64)
        if self.criterion == SQC2 and self._topics is not None:
            together = (self._topics == self._topics[place]) & (self._topics >= 0)
            codes[~together] = len(self.distances) - 1
        return codes

    # -- drawing -----------------------------------------------------------------------------------------------

    def draw(self, places: Places, epsilons: list[Fraction], which: Places, noise: Noise) -> Places:
        """For each place a draw from the domain, with the epsilon that `which` names."""
        drawn = np.empty(len(places), dtype=np.int64)
        if not len(places):
            return drawn
        weights = np.stack([self.weights(epsilon) for epsilon in epsilons])
        by_place = np.argsort(places, kind="stable")
        cuts = np.flatnonzero(np.diff(places[by_place])) + 1
        for slots in sorted(np.split(by_place, cuts), key=len, reverse=True):
            groups = self.groups(int(places[slots[0]]))
            rows = which[slots]
            drawn[slots] = self._draw_from_groups(groups, weights, rows, noise)
        return drawn

    def _draw_from_groups(
        self, groups: Groups, weights: npt.NDArray[np.int64], rows: Places, noise: Noise
    ) -> npt.NDArray[np.integer[Any]]:
        if len(rows) < len(weights):
            weights, rows = weights[rows], np.arange(len(rows))
        cumulative = np.cumsum(weights[:, groups.codes] * groups.sizes, axis=1)
        chosen = noise.weighted(cumulative, rows)
        inside = noise.below(groups.sizes[chosen])
        drawn: npt.NDArray[np.integer[Any]] = groups.order[groups.starts[chosen] + inside]
        return drawn


def _ln_two_minus(f: Fraction) -> Decimal:
    return _to_decimal(2 - f).ln()


def _to_decimal(number: Fraction) -> Decimal:
    return Decimal(number.numerator) / Decimal(number.denominator)
