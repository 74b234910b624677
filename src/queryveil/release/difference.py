"""Two releases side by side: what they disclose together, and what differs between them by more than noise.

Everything comes from the two folders. Whether both are about the same people they cannot tell, nor whether somebody
read one before choosing the parameters of the other; what they disclose together is said for people who are the same
and parameters that were planned.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import signal, special

from queryveil.display import cards
from queryveil.display.cards import Card, CardTable, counted
from queryveil.errors import CannotCompose, UsageError, argument
from queryveil.privacy.draws import DISCRETE_LAPLACE, LOG, SELECTION, Draw
from queryveil.privacy.guarantee import APPROXIMATE, GAUSSIAN, REPLACE, Guarantee
from queryveil.privacy.selection_noise import selection_noise
from queryveil.release.ledger import pricing
from queryveil.release.ledger.amounts import tight
from queryveil.release.publish import Release

FALSE_ALARM = 1e-4
_LEAST_RATE = 1e-9
_NOT_KEYS = ("count", "deviation")
_FAR = 1 << 22
"""No noise is followed number by number further than this; a wider one is bounded."""

_Spread = tuple[str, float, float]
"""Noise of one count: its distribution, its scale or deviation, and the delta of optimal selection (0: none)."""


@dataclass(frozen=True, kw_only=True)
class Change:
    """A row that differs by more than noise explains; None where it is not published."""

    item: str
    first: int | None
    second: int | None
    explained: int
    """How far apart equal counts come by noise alone, but for the false-alarm rate."""

    def as_dict(self) -> dict[str, Any]:
        return {"item": self.item, "first": self.first, "second": self.second, "explained": self.explained}


@dataclass(frozen=True, kw_only=True)
class TableDifference:
    """One table that both releases have."""

    name: str
    both: int
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    changed: tuple[Change, ...]
    """In both, or in one with a count so far above the threshold of the other that noise does not explain it."""
    not_compared: str = ""
    """Why counts cannot be compared; empty if they were."""

    def as_dict(self) -> dict[str, Any]:
        return {
            "both": self.both,
            "only_first": list(self.only_first),
            "only_second": list(self.only_second),
            "changed": [one.as_dict() for one in self.changed],
            "not_compared": self.not_compared or None,
        }


@dataclass(frozen=True, kw_only=True, repr=False)
class Difference:
    """What two releases disclose together, and what changed from the first to the second."""

    together: Guarantee | None
    """What both promise together if they are about the same people, and the parameters of none were chosen by looking
    at the other; None if they have no sum."""
    reason: str
    """Why there is none."""
    false_alarm: float
    """How often, at the most, a row whose true count is the same in both is named."""
    tables: tuple[TableDifference, ...]
    others: tuple[str, ...]
    """Tables that only one of them has, or that have other columns."""

    def _card(self) -> Card:
        together = self.together.headline if self.together else f"no sum: {self.reason}"
        rows = [
            (
                one.name,
                one.both,
                len(one.only_first),
                len(one.only_second),
                one.not_compared or len(one.changed),
            )
            for one in self.tables
        ]
        heading = (
            "table",
            "in both",
            "only in the first",
            "only in the second",
            "changed by more than noise",
        )
        table = CardTable("Tables", heading, rows)
        facts = [("together", together), ("false alarms, at most", self.false_alarm)]
        return Card(
            "Two releases", f"{counted(len(rows), 'table')} in both; {together}", facts, tables=(table,)
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            "together": None if self.together is None else self.together.as_dict(),
            "reason": self.reason or None,
            "false_alarm": self.false_alarm,
            "tables": {one.name: one.as_dict() for one in self.tables},
            "others": list(self.others),
        }

    __repr__ = cards.repr_of
    _repr_html_ = cards.html_of


def diff(first: Release, second: Release, *, false_alarm: float = FALSE_ALARM) -> Difference:
    """Compare two releases. `false_alarm` is how often noise alone may make a row look changed."""
    if not _LEAST_RATE <= false_alarm < 1:
        raise UsageError(
            f"the false-alarm rate must be at least {_LEAST_RATE:g} and below 1; got {false_alarm}",
            f"pass {argument('false_alarm', 1e-4)}",
        )
    together, reason = _compose_guarantees(first, second)
    shared, others = [], []
    for name in dict.fromkeys((*first.tables, *second.tables)):
        if (
            name in first.tables
            and name in second.tables
            and _key_columns(first, name) == _key_columns(second, name)
        ):
            shared.append(name)
        else:
            others.append(name)
    found = tuple(_compare_tables(first, second, name, false_alarm) for name in shared)
    return Difference(
        together=together, reason=reason, false_alarm=false_alarm, tables=found, others=tuple(others)
    )


# -- together ------------------------------------------------------------------------------------------------


def _compose_guarantees(first: Release, second: Release) -> tuple[Guarantee | None, str]:
    """The sum, against replaced histories if the two compare different logs; by distributions where that is less.

    Two releases that look the same are two: of quiet days both may be empty. Only one that is given twice counts once.
    """
    one, other = first.guarantee, second.guarantee
    if first is second or _one_place(first, second):
        return one if one.composable else None, "" if one.composable else f"'{one.headline}' has no sum"
    try:
        if one.composable and other.composable and one.neighbours != other.neighbours:
            one, other = (_under_replacement(guarantee) for guarantee in (one, other))
        whole = one + other
    except CannotCompose as refusal:
        return None, refusal.message
    if whole.kind == GAUSSIAN or not whole.delta:
        return whole, ""
    neighbours = str(whole.neighbours)
    costs = [
        pricing.price(release.guarantee, neighbours, release.plan.draws)[1] for release in (first, second)
    ]
    epsilon = tight([cost for cost in costs if cost is not None], float(whole.delta))
    if epsilon < float(whole.epsilon or 0):
        whole = Guarantee(
            kind=APPROXIMATE,
            epsilon=epsilon,
            delta=whole.delta,
            neighbours=neighbours,
            assumptions=whole.assumptions,
            caveats=whole.caveats,
            parts=whole.parts,
        )
    return whole, ""


def _one_place(first: Release, second: Release) -> bool:
    return (
        None not in (first.path, second.path)
        and Path(str(first.path)).resolve() == Path(str(second.path)).resolve()
    )


def _under_replacement(guarantee: Guarantee) -> Guarantee:
    try:
        return guarantee.against(REPLACE)
    except CannotCompose:
        return guarantee.approximate().against(REPLACE)


# -- what changed --------------------------------------------------------------------------------------------


def _key_columns(release: Release, name: str) -> list[str]:
    return [column for column in release.tables[name].column_names if column not in _NOT_KEYS]


def _compare_tables(first: Release, second: Release, name: str, rate: float) -> TableDifference:
    one, other = (_counts_by_key(release, name) for release in (first, second))
    common = one.keys() & other.keys()
    only = [tuple(sorted(_printable_key(key) for key in mine.keys() - common)) for mine in (one, other)]
    why = _not_comparable(first, second, name)
    changed: list[Change] = []
    if not why:
        changed = [*_changed_counts(one, other, common, rate)]
        changed += _missing_rows(one, other, second, name, rate, swapped=False)
        changed += _missing_rows(other, one, first, name, rate, swapped=True)
    changed.sort(key=lambda each: (-abs((each.second or 0) - (each.first or 0)), each.item))
    return TableDifference(
        name=name,
        both=len(common),
        only_first=only[0],
        only_second=only[1],
        changed=tuple(changed),
        not_compared=why,
    )


@dataclass(frozen=True)
class _Count:
    value: int
    noise: _Spread | None


def _counts_by_key(release: Release, name: str) -> dict[tuple[Any, ...], _Count]:
    """Rows by their keys, with the published count and its noise."""
    table, keys = release.tables[name], _key_columns(release, name)
    rows = table.num_rows
    counts = table["count"].to_pylist() if "count" in table.column_names else [0] * rows
    deviations = table["deviation"].to_pylist() if "deviation" in table.column_names else [None] * rows
    declared = _count_noise(release, name)
    columns = [_hashable_values(table[key]) for key in keys]
    return {
        key: _Count(count, ("normal", float(deviation), 0.0) if deviation is not None else declared)
        for key, count, deviation in zip(zip(*columns, strict=True), counts, deviations, strict=True)
    }


def _hashable_values(column: pa.ChunkedArray) -> list[Any]:
    return [tuple(one) if isinstance(one, list) else one for one in column.to_pylist()]


def _table_draws(release: Release, name: str) -> list[Draw]:
    return [one for one in release.plan.draws if one.table == name]


def _noise_spread(draw: Draw) -> _Spread | None:
    if draw.distribution not in (DISCRETE_LAPLACE, SELECTION) or draw.scale is None:
        return None
    return draw.distribution, float(draw.scale), float(draw.item_delta or 0)


def _count_noise(release: Release, name: str) -> _Spread | None:
    """The widest noise that a count of this table may have."""
    found = [spread for spread in map(_noise_spread, _table_draws(release, name)) if spread is not None]
    return max(found, key=lambda one: one[1]) if found else None


def _not_comparable(first: Release, second: Release, name: str) -> str:
    """Why counts of a table do not mean the same in both; empty if they do."""
    one, other = (release.plan.table(name) for release in (first, second))
    if not (one.counts and other.counts and one.noisy and other.noisy):
        return "its rows have no counts with noise"
    if one.counts != other.counts:
        return f"one counts {one.counts}, the other {other.counts}"
    if any(
        _count_noise(each, name) is None and "deviation" not in each.tables[name].column_names
        for each in (first, second)
    ):
        return "the noise of its counts is not declared"
    bounds = [
        [(draw.bounded, draw.rule, draw.most) for draw in _table_draws(each, name)]
        for each in (first, second)
    ]
    if bounds[0] != bounds[1]:
        return "what counts of a user is bounded in different ways, so equal searches have different counts"
    return ""


def _changed_counts(
    one: dict[tuple[Any, ...], _Count],
    other: dict[tuple[Any, ...], _Count],
    common: Iterable[tuple[Any, ...]],
    rate: float,
) -> Iterable[Change]:
    for key in common:
        here, there = one[key], other[key]
        if here.noise is None or there.noise is None:
            continue
        explained = apart(here.noise, there.noise, rate)
        if abs(there.value - here.value) > explained:
            yield Change(item=_printable_key(key), first=here.value, second=there.value, explained=explained)


def _missing_rows(
    there: dict[tuple[Any, ...], _Count],
    here: dict[tuple[Any, ...], _Count],
    missing: Release,
    name: str,
    rate: float,
    *,
    swapped: bool,
) -> Iterable[Change]:
    """Rows of one release that the other does not have, though its threshold would let them pass by far."""
    choosing = [one for one in _table_draws(missing, name) if one.rows == LOG and one.above is not None]
    spread = _noise_spread(choosing[0]) if len(choosing) == 1 else None
    if spread is None:
        return
    threshold = int(choosing[0].above or 0)
    if choosing[0].public is not None:
        threshold = max(threshold, choosing[0].public.above)
    for key in there.keys() - here.keys():
        noise = there[key].noise
        if noise is None:
            continue
        explained = apart(noise, spread, rate)
        if there[key].value - threshold > explained:
            values = (None, there[key].value) if swapped else (there[key].value, None)
            yield Change(item=_printable_key(key), first=values[0], second=values[1], explained=explained)


def _printable_key(key: tuple[Any, ...]) -> str:
    return " → ".join(str(part) for part in key)


# -- noise ---------------------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=4096)
def apart(one: _Spread, other: _Spread, rate: float) -> int:
    """The smallest number that two noises are further apart than with at most that probability."""
    if one[0] == other[0] == "normal":
        # Each is rounded to a whole number once, which adds at most a half.
        deviation = math.hypot(one[1], other[1])
        return math.ceil(float(-special.ndtri(rate / 2)) * deviation + 1)
    if max(_noise_reach(one, rate), _noise_reach(other, rate)) > _FAR:
        return _single_noise_bound(one, rate / 2) + _single_noise_bound(other, rate / 2)
    spread = np.maximum(
        signal.fftconvolve(_noise_probabilities(one, rate), _noise_probabilities(other, rate)[::-1]), 0.0
    )
    middle = len(spread) // 2
    beyond = spread[middle:] + spread[middle::-1]
    tails = beyond[::-1].cumsum()[::-1]
    within = np.nonzero(tails[1:] <= 0.999 * rate)[0]
    return int(within[0]) if len(within) else len(beyond) - 1


def _noise_reach(noise: _Spread, rate: float) -> int:
    """How far from 0 a noise matters."""
    _, scale, item_delta = noise
    if item_delta:
        return selection_noise(scale, item_delta).limit
    return math.ceil(scale * (math.log(1 / rate) + 12)) + 1


def _single_noise_bound(noise: _Spread, rate: float) -> int:
    """A number that one noise is further from 0 than with at most that probability."""
    kind, scale, item_delta = noise
    if kind == "normal":
        return math.ceil(float(-special.ndtri(rate / 2)) * scale + 0.5)
    return _noise_reach(noise, rate) if item_delta else math.ceil(scale * math.log(2 / rate))


def _noise_probabilities(noise: _Spread, rate: float) -> npt.NDArray[np.float64]:
    """The probabilities of whole numbers around 0, as far as they matter."""
    kind, scale, item_delta = noise
    far = _noise_reach(noise, rate)
    if item_delta:
        law = selection_noise(scale, item_delta)
        weights = np.zeros(2 * far + 1)
        weights[far + law.smallest : far + law.largest + 1] = np.diff(law.release_probabilities())[::-1]
        return weights
    places = np.abs(np.arange(-far, far + 1, dtype=np.float64))
    if kind == "normal":
        weights = special.ndtr((places + 0.5) / scale) - special.ndtr((places - 0.5) / scale)
    else:
        weights = np.exp(-places / scale)
    return np.asarray(weights / weights.sum())
