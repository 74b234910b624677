"""Secrets to plant: strings that point at one (invented) person.

None can belong to anybody: card numbers start with 9999 (no issuer), identity numbers with 666 (never
given out), phone numbers are 555-01xx (reserved for fiction), mail goes to example.com, .org and .net.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from queryveil.synthetic.generator import vocabulary
from queryveil.synthetic.generator.families import Names
from queryveil.synthetic.generator.pool import mix_bits
from queryveil.synthetic.generator.settings import MOST_SECRETS

KINDS: Final = ("card", "person-address", "national-id", "email", "phone", "person-health")
_HEALTH: Final = (
    "cancer",
    "hospital",
    "pregnancy",
    "surgery",
    "diabetes",
    "herpes",
    "depression",
    "addiction",
)
_PAIRS: Final = len(vocabulary.FIRST_NAMES) * len(vocabulary.LAST_NAMES)


def luhn_digit(digits: str) -> str:
    """The check digit that card numbers end with."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (2 if place % 2 == 0 else 1)
        total += value - 9 if value > 9 else value
    return str(-total % 10)


class Secrets:
    """The secrets of one seed: number -> (kind, text), all texts different."""

    def __init__(self, seed: int, names: Names) -> None:
        self._towns = names.towns
        per_kind = MOST_SECRETS // len(KINDS) + 1
        # Another seed plants others; staying below 20 rounds of all name pairs keeps them different.
        self._offset = int(mix_bits(np.array([seed]), 31)[0] % np.uint64(20 * _PAIRS - per_kind))

    def __getitem__(self, number: int) -> tuple[str, str]:
        which = number % len(KINDS)
        place = self._offset + number // len(KINDS)
        round_, pair = divmod(place, _PAIRS)
        # A prime factor permutes the name pairs: neighbouring secrets are about different people.
        pair = (pair * 7_919 + which * 5_003) % _PAIRS
        return KINDS[which], self._secret_text(KINDS[which], place, round_, pair)

    def _secret_text(self, kind: str, place: int, round_: int, pair: int) -> str:
        last, first = divmod(pair, len(vocabulary.FIRST_NAMES))
        given, family = vocabulary.FIRST_NAMES[first], vocabulary.LAST_NAMES[last]
        town = self._towns[(round_ * 9 + first + last) % len(self._towns)]
        state = vocabulary.STATES[(first + 3 * last) % len(vocabulary.STATES)]
        match kind:
            case "card":
                digits = f"9999{place * 104_729 % 10**11:011d}"
                digits += luhn_digit(digits)
                return " ".join(digits[i : i + 4] for i in range(0, 16, 4)) if place % 2 else digits
            case "person-address":
                street = vocabulary.STREETS[(first + last) % len(vocabulary.STREETS)]
                house = 100 + (round_ * 389 + first * 7) % 9_000
                return f"{given} {family} {house} {street} street {town} {state}"
            case "national-id":
                group, serial = divmod(place * 7_919 % (99 * 9_999), 9_999)
                return f"666-{group + 1:02d}-{serial + 1:04d}"
            case "email":
                return f"{given}.{family}{round_ + 10}@example.{('com', 'org', 'net')[place % 3]}"
            case "phone":
                return f"{given} {family} phone {201 + place % 700}-555-01{place // 700 % 100:02d}"
            case _:
                return f"{given} {family} {town} {state} {_HEALTH[place % len(_HEALTH)]} records"
