"""What a release costs in a ledger: its guarantee against the ledger's neighbours, and the losses behind it."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence

from queryveil.errors import CannotCompose, UsageError
from queryveil.privacy import losses
from queryveil.privacy.draws import Draw
from queryveil.privacy.guarantee import GAUSSIAN, PROBABILISTIC, PURE, Guarantee
from queryveil.privacy.losses import Loss
from queryveil.release.ledger.amounts import Cost


def price(guarantee: Guarantee, neighbours: str, draws: Sequence[Draw] = ()) -> tuple[str, Cost | None]:
    """Kind and cost of a release under the ledger's neighbour relation; None if it has no sum with others."""
    if not guarantee.composable:
        return guarantee.kind, None
    if guarantee.unit != "user":
        raise CannotCompose(
            f"this ledger counts per user, and '{guarantee.headline}' does not",
            "publish with a guarantee per user",
        )
    try:
        held = _restate_guarantee(guarantee, neighbours)
    except OverflowError:
        raise CannotCompose(
            f"'{guarantee.headline}' is too weak to be restated against '{neighbours}'", "lower epsilon"
        ) from None
    cost = Cost(epsilon=number("epsilon", held.epsilon), delta=number("delta", held.delta))
    # A negative number would be a refund.
    if cost.epsilon < 0 or not 0 <= cost.delta <= 1 or (held.kind == PURE and cost.delta > 0):
        raise UsageError("the guarantee has an impossible epsilon or delta", "check the method")
    if held.kind == GAUSSIAN:
        cost = dataclasses.replace(cost, mu=number("mu", held.mu), p=number("p", held.p))
        if float(cost.mu or 0) < 0 or not 0 <= float(cost.p or 0) <= cost.delta:
            raise UsageError("the guarantee has an impossible mu or p", "check the method")
    elif guarantee.private:
        cost = dataclasses.replace(cost, losses=losses.of_draws(draws, neighbours))
    return held.kind, cost


def _restate_guarantee(guarantee: Guarantee, neighbours: str) -> Guarantee:
    """A probabilistic guarantee has no conversion of its own, but the approximate one it implies may."""
    try:
        return guarantee.against(neighbours)
    except CannotCompose as refusal:
        if guarantee.kind != PROBABILISTIC:
            raise
        try:
            return guarantee.approximate().against(neighbours)
        except CannotCompose:
            raise refusal from None


def written(found: tuple[Loss, ...] | None) -> str | None:
    """Losses as they stand in a row; nothing where epsilon and delta say it all."""
    return None if found is None else json.dumps([one.as_dict() for one in found], sort_keys=True)


def read(text: str | None) -> tuple[Loss, ...] | None:
    if text is None:
        return None
    found = json.loads(text)
    if not isinstance(found, list) or not all(isinstance(one, dict) for one in found):
        raise ValueError("not losses")
    return tuple(map(Loss.from_dict, found))


def number(name: str, given: float | None) -> float:
    """A finite number, whatever was given."""
    try:
        found = math.nan if given is None else float(given)
    except (TypeError, ValueError, OverflowError):
        found = math.nan
    if not math.isfinite(found):
        raise UsageError(f"{name} must be a finite number; got {given}", f"pass a number as {name}")
    return found + 0.0  # -0.0 becomes 0.0
