"""Parameters that several mechanisms have, declared once: `items: tuple[str, ...] = param(**ITEMS)`."""

from __future__ import annotations

from typing import Any, Final

from queryveil.count import contribution, item_kinds
from queryveil.errors import UsageError, argument
from queryveil.parameters import COUNTED, PROMISES

EPSILON: Final[dict[str, Any]] = {"help": "privacy loss per user", "gt": 0, "group": PROMISES}
DELTA: Final[dict[str, Any]] = {
    "help": "probability that the loss is exceeded",
    "gt": 0,
    "lt": 1,
    "group": PROMISES,
}
ITEMS: Final[dict[str, Any]] = {
    "help": "what is counted and published",
    "choices": tuple(item_kinds.KINDS),
    "many": True,
    "default": ("queries",),
    "group": COUNTED,
}
KEEP: Final[dict[str, Any]] = {
    "help": "which of a user's items count",
    "choices": contribution.KEEP,
    "default": "random",
    "group": COUNTED,
}
NEIGHBOURS: Final[dict[str, Any]] = {
    "help": "what is hidden: one user added or removed, or one user's history replaced",
    "choices": ("add-remove", "replace"),
    "default": "add-remove",
    "group": PROMISES,
}
EPSILON_SPLIT: Final[dict[str, Any]] = {
    "help": "shares of epsilon and delta per item kind; equal if left out",
    "gt": 0,
    "many": True,
    "default": None,
    "group": PROMISES,
}
COUNTS_SHARE: Final[dict[str, Any]] = {
    "help": "share of the privacy budget (of mu squared) that pays for counts of users",
    "ge": 0.01,
    "le": 0.9,
    "default": 0.2,
    "group": PROMISES,
}
PUBLIC: Final[dict[str, Any]] = {
    "help": "file of public items (a catalogue, page titles): all get noise, and need no delta",
    "details": "[Items that are public anyway](../how-to/publish-a-release.md#items-that-are-public-anyway)",
    "path": True,
    "default": None,
    "group": COUNTED,
}
PUBLIC_Z: Final[dict[str, Any]] = {
    "help": "threshold for public items, in standard deviations of the noise; 4 if left out",
    "gt": 0,
    "le": 1000,
    "default": None,
    "group": PROMISES,
}


def split_kinds(mechanism: Any) -> None:
    """Item kinds may be given as one text with commas, also in Python."""
    kinds: object = mechanism.items
    if isinstance(kinds, str):
        object.__setattr__(mechanism, "items", tuple(kinds.split(",")))


def refuse_twice(kinds: tuple[str, ...]) -> None:
    if len(set(kinds)) < len(kinds):
        raise UsageError("an item kind is named twice", f"name each kind once in {argument('items')}")


def refuse_uneven(shares: tuple[float, ...] | None, kinds: tuple[str, ...]) -> None:
    if shares is not None and len(shares) != len(kinds):
        raise UsageError(
            f"epsilon-split has {len(shares)} shares for {len(kinds)} item kinds",
            f"give one share for each kind in {argument('items')}, in the same order",
        )
