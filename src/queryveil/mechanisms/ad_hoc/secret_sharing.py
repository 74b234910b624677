"""Queries that become readable once k users posed them: Adar's idea, with Shamir's secret sharing.

Each query is sealed under a random key of its own. The key is the value at 0 of a random polynomial of degree k - 1
over a prime field; whoever poses the query adds one point of it. k points give the polynomial, and fewer fit every
key. All randomness comes from one master key, by HMAC-SHA-256 under names that keep its uses apart.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha256

import pyarrow as pa

from queryveil.errors import CannotBeMet, CheckFailed, UsageError

PRIME = 2**255 - 19
NUMBER_BYTES = 32
_TAG_BYTES = 16
_LENGTH_BYTES = 4
_BLOCK_BYTES = 64
_INNER, _OUTER = (bytes(byte ^ pad for byte in range(256)) for pad in (0x36, 0x5C))
_PADDED_TO = 64
"""Sealed texts have a length that is a multiple of this, so that it says little about the query."""

Point = tuple[int, int]


@dataclass(frozen=True)
class QuerySharing:
    """Labels, sealed texts and shares of queries, under one master key of 32 random bytes that is then forgotten."""

    master: bytes = field(repr=False)
    k: int
    _keyed: _Keyed = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.master) < 32:
            raise UsageError(
                "the master key has fewer than 32 bytes", "pass 32 random bytes, as Noise().key() has"
            )
        if not 2 <= self.k < PRIME:
            raise UsageError(
                f"parameter 'k' must be an int >= 2; got {self.k}", "one share would be the key itself"
            )
        object.__setattr__(self, "_keyed", _Keyed(self.master))

    def label(self, query: str) -> str:
        """What stands for the query. Keyed: nobody can try a list of queries against it."""
        return self._keyed.digest(b"label", query.encode())[:16].hex()

    def seal(self, query: str) -> str:
        """The query, encrypted under its own key, in hexadecimal digits."""
        return seal(query, self._draw_coefficient(query, 0)).hex()

    def share(self, user: str, query: str) -> Point:
        """The user's share of the query's key. Posing it again gives the same point, and so no second share.

        The point depends on the query too: one point for all of a user's queries would link them.
        """
        return self.shares([user], query)[0]

    def shares(self, users: Iterable[str], query: str) -> list[Point]:
        """The shares of several users of one query."""
        polynomial = [self._draw_coefficient(query, power) for power in range(self.k)]
        points = [self._keyed.number(b"point", _encode_texts(user, query)) % (PRIME - 1) for user in users]
        # Never at 0, where the key is.
        return [(1 + point, share(polynomial, 1 + point)) for point in points]

    def _draw_coefficient(self, query: str, power: int) -> int:
        return self._keyed.number(b"coefficient", power.to_bytes(8) + query.encode()) % PRIME


def share(coefficients: Iterable[int], x: int) -> int:
    """The polynomial's value at x; the first coefficient is the secret."""
    value = 0
    for coefficient in reversed(list(coefficients)):
        value = (value * x + coefficient) % PRIME
    return value


def recover(shares: Iterable[Point]) -> int:
    """The secret: the value at 0 of the polynomial of least degree through these points (Lagrange).

    With fewer points than the k that it was shared for, this is some number that says nothing about it.
    """
    points = list(dict(shares).items())
    secret = 0
    for at, value in points:
        above, below = 1, 1
        for other, _ in points:
            if other != at:
                above, below = above * other % PRIME, below * (other - at) % PRIME
        secret += value * above * pow(below, -1, PRIME)
    return secret % PRIME


def open_query(sealed: str, shares: Iterable[Point], k: int) -> str:
    """The query behind a sealed text, from the shares of at least k users."""
    points = dict(shares)
    if len(points) < k:
        raise CannotBeMet(
            f"{len(points)} different shares do not open a query that needs {k}",
            "wait until more users have made the query",
        )
    return unseal(bytes.fromhex(sealed), recover(list(points.items())[:k]))


def open_shared_queries(tables: Mapping[str, pa.Table], k: int) -> pa.Table:
    """The queries that a release of `ad-hoc` with secret sharing lets anyone read: label, query, users.

    `tables` are those of the release: every label that k different users have a share of opens.
    """
    log = tables["log"].select(["label", "share_x", "share_y"])
    points = log.group_by(["label", "share_x", "share_y"]).aggregate([]).to_pylist()
    shares: dict[str, list[Point]] = {}
    for row in points:
        shares.setdefault(row["label"], []).append((int(row["share_x"], 16), int(row["share_y"], 16)))
    sealed = dict(zip(*(tables["queries"][name].to_pylist() for name in ("label", "sealed")), strict=True))
    opened = sorted(
        (open_query(sealed[label], found, k), label, len(found))
        for label, found in shares.items()
        if len(found) >= k
    )
    return pa.table(
        {
            "label": pa.array([label for _, label, _ in opened], pa.string()),
            "query": pa.array([query for query, _, _ in opened], pa.string()),
            "users": pa.array([users for _, _, users in opened], pa.int64()),
        }
    )


# -- sealing -------------------------------------------------------------------------------------------------


def seal(text: str, key: int) -> bytes:
    """Encrypt and authenticate one text under a key that is used for nothing else."""
    keyed = _of_number(key)
    content = text.encode()
    content = len(content).to_bytes(_LENGTH_BYTES) + content
    content += bytes(-len(content) % _PADDED_TO)
    hidden = _xor(content, _key_stream(keyed, len(content)))
    return hidden + _authentication_tag(keyed, hidden)


def unseal(sealed: bytes, key: int) -> str:
    """The text, if this is its key."""
    keyed, hidden, tag = _of_number(key), sealed[:-_TAG_BYTES], sealed[-_TAG_BYTES:]
    if not hidden or not hmac.compare_digest(tag, _authentication_tag(keyed, hidden)):
        raise CheckFailed(
            "the shares do not open this text", "use k shares of its own label, from one release, unchanged"
        )
    content = _xor(hidden, _key_stream(keyed, len(hidden)))
    length = int.from_bytes(content[:_LENGTH_BYTES])
    return content[_LENGTH_BYTES : _LENGTH_BYTES + length].decode()


def _of_number(key: int) -> _Keyed:
    return _Keyed(key.to_bytes(NUMBER_BYTES))


def _key_stream(key: _Keyed, length: int) -> bytes:
    """HMAC-SHA-256 of a counter: a stream cipher. Each key seals one text, so that no part of it is used twice."""
    blocks = [key.digest(b"stream", number.to_bytes(8)) for number in range(-(-length // 32))]
    return b"".join(blocks)[:length]


def _authentication_tag(key: _Keyed, hidden: bytes) -> bytes:
    return key.digest(b"tag", hidden)[:_TAG_BYTES]


def _xor(one: bytes, other: bytes) -> bytes:
    return (int.from_bytes(one) ^ int.from_bytes(other)).to_bytes(len(one))


# -- numbers from a key --------------------------------------------------------------------------------------


class _Keyed:
    """HMAC-SHA-256 under one key (RFC 2104). The key is taken in once, which halves the work for short contents."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        block = (key if len(key) <= _BLOCK_BYTES else sha256(key).digest()).ljust(_BLOCK_BYTES, b"\0")
        self._inner, self._outer = sha256(block.translate(_INNER)), sha256(block.translate(_OUTER))

    def __reduce__(self) -> tuple[type[_Keyed], tuple[bytes]]:
        return _Keyed, (self._key,)

    def digest(self, use: bytes, content: bytes) -> bytes:
        """32 bytes that look random to whoever lacks the key.

        No two uses meet, since none has a zero byte in its name.
        """
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(use + b"\0" + content)
        outer.update(inner.digest())
        return outer.digest()

    def number(self, use: bytes, content: bytes) -> int:
        """A number of 512 bits: taken modulo the prime, no value is likelier than another by more than 2^-256."""
        return int.from_bytes(self.digest(use, b"0" + content) + self.digest(use, b"1" + content))


def _encode_texts(*texts: str) -> bytes:
    """Texts as one, so that different ones never give the same."""
    return b"".join(len(one.encode()).to_bytes(8) + one.encode() for one in texts)
