"""Good releases of k-query, k-keyword and token-hash pass `release verify`; each tampering fails what it is about.

Their rows are made by hand, so that the verifier is not tested against the writer that it is to check.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

import queryveil as qv
from queryveil.verification import verify
from tests.drafts import Change, Draft, drop, failed, put, without
from tests.drafts import only as tables


def rows(*pairs: tuple[int, str]) -> pa.Table:
    numbers, queries = zip(*pairs, strict=True)
    return pa.table({"session": pa.array(numbers, pa.int64()), "query": pa.array(queries, pa.string())})


def prefixes(*pairs: tuple[str, int]) -> pa.Table:
    texts, counts = zip(*pairs, strict=True)
    return pa.table({"prefix": pa.array(texts, pa.string()), "count": pa.array(counts, pa.int64())})


def k_query() -> Draft:
    return Draft.made(qv.KQuery(k=2), log=rows((0, "a"), (0, "b"), (1, "b"), (1, "b"), (2, "a")))


def k_keyword() -> Draft:
    return Draft.made(qv.KKeyword(k=3), items=prefixes(("car", 9), ("car*", 4), ("*b*", 3), ("ü*", 3)))


def token_hash(*, sessions: str = "keep", order: str = "keep") -> Draft:
    log = rows((0, "beef 0aff"), (1, "1234")) if order == "keep" else rows((0, "0aff beef"), (1, "1234"))
    if sessions == "drop":
        log = log.select(["query"])
    return Draft.made(qv.TokenHash(digits=4, token_order=order, sessions=sessions), log=log)


def dropped() -> Draft:
    return token_hash(sessions="drop", order="shuffle")


@pytest.mark.parametrize("make", [k_query, k_keyword, token_hash, dropped])
def test_good_release_passes(make: Callable[[], Draft], tmp_path: Path) -> None:
    assert verify(make().write(tmp_path / "release")).failed == ()


# -- tampering before the digests are taken: the folder is consistent, its content is not


def texts(*queries: str) -> pa.Table:
    return pa.table({"query": pa.array(queries, pa.string())})


CASES: list[tuple[Callable[[], Draft], Change, set[str]]] = [
    # A crowd that is not there.
    (k_query, tables(log=rows((0, "a"), (1, "a"), (1, "b"))), {"crowd"}),
    (k_query, tables(log=rows((0, "a"), (0, "a"), (1, "b"), (2, "b"))), {"crowd"}),
    (k_query, put("parameters", "k", value=3), {"promise", "crowd"}),
    (k_keyword, tables(items=prefixes(("car", 9), ("dog", 2))), {"crowd"}),
    (k_keyword, tables(items=prefixes(("car", 9), ("dog", -3))), {"crowd"}),
    # Numbers and orders that would tell more.
    (k_query, tables(log=rows((1, "a"), (2, "a"))), {"sessions"}),
    (k_query, tables(log=rows((0, "a"), (7, "a"))), {"sessions"}),
    (k_query, tables(log=rows((0, "a"), (1, "a"), (0, "a"))), {"sessions"}),
    (k_query, tables(log=rows((0, ""), (1, ""))), {"texts"}),
    (k_keyword, tables(items=prefixes(("car", 3), ("dog", 4))), {"order"}),
    (k_keyword, tables(items=prefixes(("dog", 3), ("car", 3))), {"order"}),
    (k_keyword, tables(items=prefixes(("car", 3), ("car", 3))), {"distinct"}),
    (k_keyword, tables(items=prefixes(("*", 30), ("car", 3))), {"prefixes"}),
    (k_keyword, tables(items=prefixes(("", 30), ("car", 3))), {"prefixes"}),
    (k_keyword, tables(items=prefixes(("new york", 3))), {"texts"}),
    (k_keyword, tables(items=prefixes(("x" * 65 + "*", 3))), {"prefixes"}),
    (dropped, tables(log=texts("1234", "0aff beef")), {"order"}),
    # Columns and tables of others.
    (k_query, tables(log=rows((0, "a"), (1, "a")).append_column("time", pa.array([1, 2]))), {"columns"}),
    (k_query, tables(log=rows((0, "a"), (1, "a")).select(["query", "session"])), {"columns"}),
    (k_query, tables(log=rows((0, "a"), (1, "a")), users=texts("ann")), {"columns"}),
    (k_keyword, tables(log=prefixes(("car", 3))), {"columns"}),
    (dropped, tables(log=rows((0, "0aff"))), {"columns"}),
    # Words among the hashes.
    (token_hash, tables(log=rows((0, "0aff york"))), {"hashes"}),
    (token_hash, tables(log=rows((0, "0aff  beef"))), {"hashes"}),
    (token_hash, tables(log=rows((0, "0aff1"))), {"hashes"}),
    (token_hash, tables(log=rows((0, "0aff\n"))), {"hashes"}),
    (dropped, tables(log=texts("0aff beef", "beef 0aff")), {"hashes"}),
    (token_hash, tables(log=rows((3, "0aff"))), {"sessions"}),
    # Parameters that there are not, or cannot be.
    (k_query, put("parameters", "epsilon", value=1.0), {"parameters"}),
    (k_query, put("parameters", "k", value=1), {"parameters", "promise"}),
    (k_query, put("parameters", "k", value=2.0), {"parameters"}),
    (k_query, put("parameters", "k", value=True), {"parameters", "promise"}),
    (k_query, drop("parameters", "k"), {"parameters", "promise"}),
    (k_query, put("calibration", "noise_scale", value=1.0), {"parameters"}),
    (k_keyword, put("parameters", "words", value=9), {"parameters"}),
    (token_hash, put("parameters", "digits", value=3), {"parameters"}),
    (token_hash, put("parameters", "token_order", value="sorted"), {"parameters"}),
    (token_hash, put("parameters", "key_id", value="x"), {"parameters"}),
    # Promises that are not the method's.
    (k_query, put("guarantee", "k", value=5), {"promise"}),
    (k_query, put("guarantee", "kind", value="approximate-dp"), {"promise", "draws"}),
    (k_query, put("guarantee", "epsilon", value=1.0), {"promise"}),
    (k_query, put("guarantee", "neighbours", value="replace-one-user"), {"promise"}),
    (k_query, put("guarantee", "shared", value="session"), {"promise"}),
    *(
        (k_query, without("caveats", code), {"promise"})
        for code in ("fake-accounts", "all-alike", "sessions-link", "pairs-have-no-crowd")
    ),
    *(
        (k_query, without("assumptions", code), {"promise"})
        for code in ("rows-apart", "user-is-account", "sessions-apart")
    ),
    (k_keyword, put("guarantee", "shared", value="query"), {"promise"}),
    *(
        (k_keyword, without("caveats", code), {"promise"})
        for code in ("fake-accounts", "all-alike", "prefix-hides-the-rest", "counts-are-exact")
    ),
    (token_hash, put("guarantee", "kind", value="k-anonymity"), {"promise"}),
    (token_hash, put("guarantee", "k", value=100), {"promise"}),
    (token_hash, put("guarantee", "caveats", value=[]), {"promise"}),
    # What a manifest may not hold.
    (k_query, put("assessment", value=[{"users": 12}]), {"keys"}),
    (k_query, put("suppressed", value=12), {"keys"}),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_tampering_fails_what_it_is_about(case: int, tmp_path: Path) -> None:
    make, change, expected = CASES[case]
    made = make()
    change(made)
    result = verify(made.write(tmp_path / "release"))
    # Rows of other tables than those declared are wrong in more than one way.
    assert "columns" in failed(result) if expected == {"columns"} else failed(result) == expected


def test_no_query_is_quoted(tmp_path: Path) -> None:
    made = k_query()
    tables(log=rows((0, "my secret"), (1, "b"), (2, "b")))(made)
    result = verify(made.write(tmp_path / "release"))
    assert not result.passes and all("secret" not in check.detail for check in result.checks)


def test_an_empty_release_passes(tmp_path: Path) -> None:
    made = k_query()
    tables(log=k_query().tables["log"].slice(0, 0))(made)
    assert verify(made.write(tmp_path / "release")).passes
