"""What methods leave of a log's users: pieces, each with words, and whose they are for whoever judges.

Pieces are made as `publish` makes them. The owner of each piece is kept beside it and never shown to the attack.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from queryveil import AdHoc, keywords
from queryveil.mechanisms.k_session.k_session import keyword_sets

if TYPE_CHECKING:
    from queryveil import SearchLog

Ints = npt.NDArray[np.int64]
SESSION, PSEUDONYM = "session", "pseudonym"


@dataclass(frozen=True, eq=False)
class Pieces:
    """Pieces of histories: numbers of the things that each has (words, and whole queries), each once."""

    unit: str
    starts: Ints
    items: Ints
    owners: Ints
    """Whose each piece is, as numbers from 0."""

    def __len__(self) -> int:
        return len(self.owners)

    @classmethod
    def of(cls, unit: str, owners: Ints, pieces: Ints, items: Ints) -> Pieces:
        """From one row for each item of a piece, in any order; owners by piece."""
        most = int(items.max(initial=0)) + 1
        pairs = np.unique(pieces.astype(np.int64) * most + items)
        return cls(unit, np.searchsorted(pairs // most, np.arange(len(owners) + 1)), pairs % most, owners)

    def shuffled(self, rng: np.random.Generator) -> Pieces:
        """In an order that says nothing about owners; pieces without anything are left out."""
        sizes = np.diff(self.starts)
        order = rng.permutation(np.flatnonzero(sizes))
        lengths = sizes[order]
        starts = np.concatenate(([0], np.cumsum(lengths)))
        places = np.arange(int(starts[-1])) + np.repeat(self.starts[order] - starts[:-1], lengths)
        return Pieces(self.unit, starts, self.items[places], self.owners[order])

    @property
    def linkable(self) -> Ints:
        """Pieces whose owner has another one."""
        return (
            np.flatnonzero(np.bincount(self.owners)[self.owners] > 1) if len(self) else np.zeros(0, np.int64)
        )


# -- how each method takes users apart -----------------------------------------------------------------------


def _session_pieces(log: SearchLog, k: int) -> Pieces:
    """Users deleted: sessions under random numbers."""
    return _of_table(_publish_log(log, AdHoc(steps=("hash-users",))), SESSION)


def _hashed_pieces(log: SearchLog, k: int) -> Pieces:
    """The same with a keyed hash in place of every word."""
    key = secrets.token_bytes(16)

    def hashed(words: Sequence[str]) -> list[str]:
        return [hmac.digest(key, word.encode(), "sha256").hex()[:16] for word in words]

    return _of_table(_publish_log(log, AdHoc(steps=("hash-users",))), SESSION, hashed)


def _k_query_pieces(log: SearchLog, k: int) -> Pieces:
    """Sessions with the queries of at least k users. Without its users this is what k-query publishes."""
    steps = ("drop-infrequent", "hash-users")
    return _of_table(_publish_log(log, AdHoc(steps=steps, min_users=k)), SESSION)


def _k_session_pieces(log: SearchLog, k: int) -> Pieces:
    """Sessions as the set of keywords of their group."""
    from queryveil.mechanisms.k_session.grouping import group

    sets, _ = keyword_sets(log)
    found = group(sets, k)
    sizes = np.diff(found.starts)[found.of_session]
    starts = np.concatenate(([0], np.cumsum(sizes)))
    places = np.arange(int(starts[-1])) + np.repeat(found.starts[found.of_session] - starts[:-1], sizes)
    return Pieces(SESSION, starts, found.items[places].astype(np.int64), sets.users.astype(np.int64))


def _personality_pieces(log: SearchLog, k: int) -> Pieces:
    """Split personality: one pseudonym for each user and topic."""
    from queryveil import publish

    release = publish(log, AdHoc(steps=("split-personality",)), i_understand=True)
    known = release.private["pseudonyms"]
    whose = dict(zip(known["hash"].to_pylist(), known["pseudonym"].to_pylist(), strict=True))
    table = release.tables["log"]
    people = table["user"].combine_chunks().dictionary_encode()
    names = pa.array([whose[one] for one in people.dictionary.to_pylist()], pa.string()).dictionary_encode()
    owners = names.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    return _encode_pieces(PSEUDONYM, owners, people.indices.to_numpy().astype(np.int64), table["query"])


VIEWS: dict[str, Callable[[SearchLog, int], Pieces]] = {
    "delete-users": _session_pieces,
    "token-hash": _hashed_pieces,
    "k-query": _k_query_pieces,
    "k-session": _k_session_pieces,
    "split-personality": _personality_pieces,
}
"""Every method that takes users apart, by name."""


def _publish_log(log: SearchLog, method: AdHoc) -> pa.Table:
    from queryveil import publish

    return publish(log, method, allow_empty=True, i_understand=True).tables["log"]


def _of_table(
    table: pa.Table, unit: str, words_of: Callable[[Sequence[str]], list[str]] | None = None
) -> Pieces:
    """The sessions of a log that was published with its users, which only the judge sees."""
    session = table["session"].combine_chunks().dictionary_encode()
    pieces = session.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    people = table["user"].combine_chunks().dictionary_encode().indices.to_numpy(zero_copy_only=False)
    owners = np.zeros(len(session.dictionary), np.int64)
    owners[pieces] = people
    return _encode_pieces(unit, owners, pieces, table["query"], words_of)


def _encode_pieces(
    unit: str,
    owners: Ints,
    pieces: Ints,
    queries: Any,
    words_of: Callable[[Sequence[str]], list[str]] | None = None,
) -> Pieces:
    """Pieces of rows with a query each: its words and the query as a whole, as numbers."""
    if not len(pieces):
        return Pieces(unit, np.zeros(len(owners) + 1, np.int64), np.zeros(0, np.int64), owners)
    coded = pc.cast(queries, pa.string()).combine_chunks().dictionary_encode()
    texts = [keywords(one) for one in coded.dictionary.to_pylist()]
    if words_of:
        texts = [words_of(one) for one in texts]
    known: dict[str, int] = {}
    words = [[known.setdefault(word, len(known)) for word in one] for one in texts]
    lengths = np.array([len(one) for one in words], np.int64)
    flat = np.array([word for one in words for word in one], np.int64)
    begins = np.concatenate(([0], np.cumsum(lengths)))
    codes = coded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    each = lengths[codes]
    ends = np.concatenate(([0], np.cumsum(each)))
    places = np.arange(int(ends[-1])) + np.repeat(begins[codes] - ends[:-1], each)
    # Words first, then whole queries: hashes side by side are as good as the query they stand for.
    items = np.concatenate((flat[places], len(known) + codes))
    return Pieces.of(unit, owners, np.concatenate((np.repeat(pieces, each), pieces)), items)
