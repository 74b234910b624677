"""How many items of a user count, and which: a bound, a rule, and a key.

The choice orders a user's distinct items and keeps the first ones. The order is a function of the user's own rows and
of the key; the item itself breaks ties, so that the order is total and no user's rows change what another user keeps.
That is all that the privacy proofs need, for every key.
"""

from __future__ import annotations

from dataclasses import dataclass

from queryveil.errors import UsageError, instead

RANDOM = "random"
KEEP = (RANDOM, "first", "frequent")
EVENTS = "events"
"""Not for users to choose: the first events of each user count, by time, and an item counts once for each."""
ALL = 1 << 31
"""Every item of a user counts: none has so many."""


@dataclass(frozen=True, kw_only=True)
class Bound:
    """At most `most` distinct items of a kind per user, kept by a rule; a keyed hash breaks its ties."""

    most: int
    keep: str = RANDOM
    salt: bytes = b""

    def __post_init__(self) -> None:
        if self.keep not in (*KEEP, EVENTS):
            raise UsageError(f"there is no rule '{self.keep}' to keep items", instead(self.keep, KEEP))

    @property
    def user_salt(self) -> bytes:
        """The salt of the hashes of users."""
        return self.salt + bytes([0])

    @property
    def item_salt(self) -> bytes:
        """The salt of the hashes of items."""
        return self.salt + bytes([1])
