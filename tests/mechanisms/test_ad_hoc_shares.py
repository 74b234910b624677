"""Shares of a whole log: the same as one by one, and in little memory."""

from __future__ import annotations

import copy
import hashlib
import hmac
import pickle
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pytest

import queryveil as qv
from queryveil.mechanisms.ad_hoc import shares as ad_hoc_shares
from queryveil.mechanisms.ad_hoc.secret_sharing import PRIME
from queryveil.privacy.noise import Noise
from tests.conftest import at
from tests.seeded import SeededBits

POSED = [(f"u{user}", f"query {query}") for user in range(12) for query in range(8) if (user + query) % 5]
REPEATED = [("u1", "query 1"), ("u1", "query 1"), ("u2", "query 1")]


MASTER = bytes(range(32))


class KnownKey(Noise):
    """Noise whose keys are known, so that shares can be computed again."""

    def key(self) -> bytes:
        return MASTER


def posed_at(posed: list[tuple[str, str]]) -> pa.Table:
    users, queries = zip(*posed, strict=True)
    return pa.table({"user": users, "time": [at(n) for n in range(len(posed))], "query": queries})


def log(posed: list[tuple[str, str]]) -> qv.SearchLog:
    return qv.read(posed_at(posed))


def published(posed: list[tuple[str, str]], k: int = 3) -> qv.Release:
    method = qv.AdHoc(steps=("secret-sharing",), k=k)
    return qv.publish(log(posed), method, noise=KnownKey(SeededBits(4)), i_understand=True)


@pytest.mark.parametrize("at_once", [1, 7, 5_000])
def test_every_row_has_its_users_share_and_its_querys_label(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made in parts of any size: a query whose users are in two parts is one query."""
    monkeypatch.setattr(ad_hoc_shares, "_AT_ONCE", at_once)
    posed = POSED + REPEATED
    release = published(posed)
    sharing = qv.QuerySharing(MASTER, 3)
    points = [(user, sharing.label(query), *sharing.share(user, query)) for user, query in posed]
    expected = sorted((user, f"{x:064x}", f"{y:064x}", label) for user, label, x, y in points)
    rows = release.tables["log"].select(["user", "share_x", "share_y", "label"]).to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == expected
    queries = sorted({query for _, query in posed}, key=sharing.label)
    assert release.tables["queries"].to_pydict() == {
        "label": [sharing.label(query) for query in queries],
        "sealed": [sharing.seal(query) for query in queries],
    }


def test_k_users_open_a_query_of_a_release_and_fewer_do_not() -> None:
    posed = [(f"u{user}", f"asked by {users}") for users in range(1, 6) for user in range(users)]
    opened = qv.open_shared_queries(published(posed, k=3).tables, 3).to_pylist()
    assert {row["query"]: row["users"] for row in opened} == {
        "asked by 3": 3,
        "asked by 4": 4,
        "asked by 5": 5,
    }


@pytest.mark.parametrize("length", [32, 64, 65, 200])
def test_numbers_are_those_of_hmac(length: int) -> None:
    """Keys of every length are taken as the standard says; a release stays the same for the same key."""
    master = bytes(range(length))
    sharing = qv.QuerySharing(master, 2)
    assert sharing.label("tea") == hmac.digest(master, b"label\0tea", hashlib.sha256)[:16].hex()
    joined = (2).to_bytes(8) + b"u1" + (3).to_bytes(8) + b"tea"
    halves = [hmac.digest(master, b"point\0" + half + joined, hashlib.sha256) for half in (b"0", b"1")]
    assert sharing.share("u1", "tea")[0] == 1 + int.from_bytes(b"".join(halves)) % (PRIME - 1)


def test_a_sharing_can_be_copied_and_sent() -> None:
    sharing = qv.QuerySharing(MASTER, 2)
    for twin in (copy.deepcopy(sharing), pickle.loads(pickle.dumps(sharing))):  # noqa: S301 (our own bytes)
        assert twin == sharing and twin.share("u1", "tea") == sharing.share("u1", "tea")


def test_shares_of_a_log_do_not_pile_up_as_texts() -> None:
    """A share is 64 bytes and a sealed text 160. As Python texts they were more than 700, for every user and query."""
    posed = [(f"u{n % 50}", f"query {n}") for n in range(20_000)]
    source = log(posed)
    rows = source.engine.keep(source.events())
    with traced() as peak:
        found = ad_hoc_shares.share_queries(source.engine, rows, qv.QuerySharing(MASTER, 2))
    assert found.sealed.num_rows == found.known.num_rows == len(posed)
    assert found.known.schema.field("label").type == pa.int64()
    assert peak() < 450 * len(posed)


@contextmanager
def traced() -> Iterator[Callable[[], int]]:
    """Most bytes that Python and numpy held at once inside."""
    found: list[int] = []
    tracemalloc.start()
    try:
        yield lambda: found[0]
        found.append(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


def test_nothing_of_the_shares_stays_in_the_engine() -> None:
    """A registered table lived as long as the connection: every user and query once more, until the end."""
    source = log(POSED)
    before = engine_tables(source), files(source)
    method = qv.AdHoc(steps=("secret-sharing",), k=3)
    qv.publish(source, method, noise=KnownKey(SeededBits(4)), i_understand=True)
    assert (engine_tables(source), files(source)) == before


def engine_tables(source: qv.SearchLog) -> set[str]:
    found = source.engine.con.raw_sql("SELECT table_name FROM information_schema.tables").fetchall()
    return {name for (name,) in found}


def files(source: qv.SearchLog) -> set[Path]:
    assert source.workspace is not None
    return {*source.workspace.iterdir()}
