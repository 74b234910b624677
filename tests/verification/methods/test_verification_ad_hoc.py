"""Good releases of k-session and ad-hoc pass `release verify`; each tampering fails what it is about.

Their rows are made by hand, so that the verifier is not tested against the writer that it is to check.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import queryveil as qv
from queryveil.verification import verify
from tests.drafts import Change, Draft, drop, failed, put, without
from tests.drafts import only as tables

LIST = pa.list_(pa.field("element", pa.string()))


def sets(*rows: tuple[int, list[str]]) -> pa.Table:
    groups, items = zip(*rows, strict=True)
    return pa.table({"group": pa.array(groups, pa.int64()), "items": pa.array(items, LIST)})


def k_session() -> Draft:
    table = sets((0, ["a", "b"]), (0, ["a", "b"]), (1, []), (1, []), (2, ["c"]), (2, ["c"]), (2, ["c"]))
    return Draft.made(qv.KSession(k=2), transactions=table)


HASH, OTHER = "0123456789abcdef", "fedcba9876543210"


def log(*rows: tuple[Any, ...], columns: tuple[str, ...] = ("user", "session", "query")) -> pa.Table:
    types = [pa.int64() if name == "session" else pa.string() for name in columns]
    values = zip(*rows, strict=True)
    return pa.table(
        {name: pa.array(one, kind) for name, one, kind in zip(columns, values, types, strict=True)}
    )


def ad_hoc() -> Draft:
    steps = ["scrub", "drop-infrequent", "shorten-sessions", "hash-users"]
    method = qv.AdHoc(steps=tuple(steps), min_users=2, max_session=2)
    rows = log((HASH, 0, "a"), (HASH, 0, "<email>"), (OTHER, 1, "a"), (OTHER, 1, "<email>"))
    return Draft.made(method, log=rows)


ONE, TWO = "1" * 32, "2" * 32
SHARED = ("session", "share_x", "share_y", "label")


def shares(*labels: str) -> pa.Table:
    rows = [(number, f"{number:064x}", f"{9:064x}", label) for number, label in enumerate(labels)]
    return log(*rows, columns=SHARED)


def sealed(**texts: str) -> pa.Table:
    return pa.table(
        {"label": list(texts), "sealed": list(texts.values())},
        pa.schema({"label": "string", "sealed": "string"}),
    )


def sharing() -> Draft:
    method = qv.AdHoc(steps=("secret-sharing", "delete-users"), k=3)
    queries = sealed(**{ONE: "ab" * 80, TWO: "cd" * 144})
    return Draft.made(method, log=shares(ONE, TWO, ONE), queries=queries)


@pytest.mark.parametrize("make", [k_session, ad_hoc, sharing])
def test_good_release_passes(make: Callable[[], Draft], tmp_path: Path) -> None:
    assert verify(make().write(tmp_path / "release")).failed == ()


CASES: list[tuple[Callable[[], Draft], Change, set[str]]] = [
    # Sets without a crowd, or with a number that tells more.
    (k_session, tables(transactions=sets((0, ["a"]), (1, ["b"]), (1, ["b"]))), {"crowd"}),
    (k_session, tables(transactions=sets((0, ["a"]), (0, ["b"]))), {"equal-rows"}),
    (k_session, tables(transactions=sets((0, ["a"]), (0, ["a", "b"]))), {"equal-rows"}),
    (k_session, tables(transactions=sets((0, ["a"]), (0, ["a"]), (1, ["a"]), (1, ["a"]))), {"one-number"}),
    (k_session, tables(transactions=sets((0, []), (0, []), (1, []), (1, []))), {"one-number"}),
    (
        k_session,
        tables(transactions=sets((0, ["a b"]), (0, ["a b"]), (1, ["a", "b"]), (1, ["a", "b"]))),
        {"one-number", "texts"},
    ),
    (k_session, tables(transactions=sets((7, ["a"]), (7, ["a"]))), {"groups"}),
    (k_session, tables(transactions=sets((0, ["a"]), (1, ["b"]), (0, ["a"]), (1, ["b"]))), {"groups"}),
    (k_session, tables(transactions=sets((0, ["b", "a"]), (0, ["b", "a"]))), {"order"}),
    (k_session, tables(transactions=sets((0, ["a", "a"]), (0, ["a", "a"]))), {"distinct"}),
    (k_session, tables(transactions=sets((0, [""]), (0, [""]))), {"items", "texts"}),
    (k_session, tables(log=sets((0, ["a"]), (0, ["a"]))), {"columns"}),
    (
        k_session,
        tables(transactions=sets((0, ["a"]), (0, ["a"])).append_column("user", pa.array(["ann", "bob"]))),
        {"columns"},
    ),
    (k_session, put("parameters", "k", value=3), {"promise", "crowd"}),
    (k_session, put("parameters", "k", value=1), {"parameters", "promise"}),
    (k_session, put("parameters", "r", value=1), {"parameters"}),
    (k_session, put("guarantee", "k", value=9), {"promise"}),
    (k_session, put("guarantee", "kind", value="pure-dp"), {"promise", "draws"}),
    (k_session, put("guarantee", "shared", value="query"), {"promise"}),
    *(
        (k_session, without("caveats", code), {"promise"})
        for code in ("all-alike", "fake-accounts", "known-members", "sessions-are-exact")
    ),
    # Steps that were not done.
    (ad_hoc, tables(log=log(("ann", 0, "a"), (HASH, 1, "a"))), {"pseudonyms"}),
    (ad_hoc, tables(log=log((HASH + "\n", 0, "a"), (HASH, 1, "a"))), {"pseudonyms"}),
    (ad_hoc, tables(log=log(*((HASH, at, "a") for at in (0, 0, 0, 1)))), {"short-sessions"}),
    (ad_hoc, tables(log=log((HASH, 0, "a"), (HASH, 0, "a"), (HASH, 1, "b"), (HASH, 2, "b"))), {"frequent"}),
    (ad_hoc, tables(log=log((HASH, 0, "ann@x.example"), (HASH, 1, "ann@x.example"))), {"scrubbed"}),
    (ad_hoc, tables(log=log((HASH, 1, "a"), (HASH, 2, "a"))), {"sessions"}),
    (ad_hoc, tables(log=log((HASH, 0, "a"), (HASH, 5, "a"))), {"sessions"}),
    (ad_hoc, tables(log=log((HASH, 0, ""), (HASH, 1, ""))), {"queries"}),
    (ad_hoc, tables(log=log((0, "a"), (1, "a"), columns=("session", "query"))), {"columns"}),
    (
        ad_hoc,
        tables(log=log((HASH, 0, "a"), (HASH, 1, "a")), users=log((HASH,), columns=("user",))),
        {"columns"},
    ),
    (
        sharing,
        tables(log=log((0, "a"), columns=("session", "query")), queries=sealed(**{ONE: "ab" * 80})),
        {"columns"},
    ),
    # Shares that are none.
    (sharing, tables(log=shares(ONE), queries=sealed(**{ONE: "ab" * 79})), {"shares"}),
    (sharing, tables(log=shares(ONE), queries=sealed(**{ONE: "my query"})), {"shares"}),
    (sharing, tables(log=shares(ONE), queries=sealed(**{TWO: "ab" * 80})), {"shares"}),
    (sharing, tables(log=shares(ONE), queries=sealed(**{ONE: "ab" * 80, TWO: "ab" * 80})), {"shares"}),
    (
        sharing,
        tables(log=shares(ONE, TWO), queries=sealed(**{TWO: "ab" * 80, ONE: "ab" * 80})),
        {"shares", "order"},
    ),
    (sharing, tables(log=shares("a query"), queries=sealed(**{"a query": "ab" * 80})), {"shares"}),
    # Parameters and promises that are not the method's.
    (ad_hoc, put("parameters", "steps", value=["burn"]), {"parameters"}),
    (ad_hoc, put("parameters", "steps", value=["scrub", "scrub"]), {"parameters"}),
    (ad_hoc, put("parameters", "steps", value=[]), {"parameters"}),
    (ad_hoc, put("parameters", "steps", value="scrub"), {"parameters"}),
    (ad_hoc, put("parameters", "steps", value=[["scrub"]]), {"parameters"}),
    (ad_hoc, drop("parameters", "min_users"), {"parameters"}),
    (ad_hoc, put("parameters", "max_session", value=0), {"parameters"}),
    (ad_hoc, put("parameters", "k", value=3), {"parameters"}),
    (ad_hoc, put("parameters", "regions", value=[3]), {"parameters"}),
    (ad_hoc, put("guarantee", "kind", value="k-anonymity"), {"promise"}),
    (ad_hoc, put("guarantee", "epsilon", value=1.0), {"promise"}),
    (ad_hoc, put("guarantee", "caveats", value=[]), {"promise"}),
    (sharing, put("guarantee", "k", value=3), {"promise"}),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_tampering_fails_what_it_is_about(case: int, tmp_path: Path) -> None:
    make, change, expected = CASES[case]
    made = make()
    change(made)
    result = verify(made.write(tmp_path / "release"))
    # Tables that do not fit the steps any more are the columns' finding too, and wrong in more than one way.
    if expected == {"columns"}:
        assert "columns" in failed(result)
    else:
        assert failed(result) - ({"columns"} if expected == {"parameters"} else set()) == expected


def test_no_query_is_quoted(tmp_path: Path) -> None:
    made = ad_hoc()
    tables(log=log((HASH, 0, "my.secret@x.example"), (HASH, 1, "b")))(made)
    result = verify(made.write(tmp_path / "release"))
    assert not result.passes and all("secret@" not in check.detail for check in result.checks)
