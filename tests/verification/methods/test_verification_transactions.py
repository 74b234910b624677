"""Good releases of clump and partition pass `release verify`; each tampering fails what it is about.

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


def rows(*pairs: tuple[int, Any]) -> pa.Table:
    groups, items = zip(*pairs, strict=True)
    return pa.table({"group": pa.array(groups, pa.int64()), "items": pa.array(items, LIST)})


def of(text: str, sizes: tuple[int, ...] = (2, 3)) -> pa.Table:
    """Groups of these sizes; their transactions between bars."""
    shown = [one.split() for one in text.split("|")]
    return rows(*((group, shown[group]) for group, size in enumerate(sizes) for _ in range(size)))


def clump(**parameters: Any) -> Draft:
    table = of("beef food food|dairy")
    return Draft.made(qv.Clump(k=2, r=10, **parameters), transactions=table)


def clump_queries() -> Draft:
    return clump(transactions="queries")


def clump_distinct() -> Draft:
    made = clump(distinct=True)
    tables(transactions=of("beef food|dairy"))(made)
    return made


def partition() -> Draft:
    return Draft.made(qv.Partition(k=2), transactions=of("fruit meat|food"))


@pytest.mark.parametrize("make", [clump, clump_queries, clump_distinct, partition])
def test_good_release_passes(make: Callable[[], Draft], tmp_path: Path) -> None:
    assert verify(make().write(tmp_path / "release")).failed == ()


def transactions(*pairs: tuple[int, Any]) -> Change:
    return tables(transactions=rows(*pairs))


TWICE = of("beef beef|dairy")
CASES: list[tuple[Callable[[], Draft], Change, set[str]]] = [
    # A crowd that is not there.
    (clump, tables(transactions=of("a|b", (2, 1))), {"crowd"}),
    (partition, tables(transactions=of("a|b", (1, 4))), {"crowd"}),
    (clump, put("parameters", "k", value=3), {"promise", "crowd"}),
    # Rows of a group that can be told apart.
    (clump, transactions((0, ["a"]), (0, ["b"])), {"equal-rows"}),
    (clump, transactions((0, ["a"]), (0, ["a", "b"])), {"equal-rows"}),
    (clump, transactions((0, ["a", "b"]), (0, ["a"]), (0, ["a", "b"])), {"equal-rows"}),
    (clump, transactions((0, ["a", "b"]), (0, ["a", "b"]), (0, ["a", "c"])), {"equal-rows"}),
    (clump, transactions((0, ["a", "b"]), (0, ["b", "a"])), {"equal-rows", "order"}),
    # Numbers and orders that would tell more.
    (clump, transactions((1, ["a"]), (1, ["a"])), {"groups"}),
    (clump, transactions((0, ["a"]), (0, ["a"]), (2, ["b"]), (2, ["b"])), {"groups"}),
    (clump, transactions((0, ["a"]), (1, ["b"]), (0, ["a"]), (1, ["b"])), {"groups"}),
    (clump, transactions((-1, ["a"]), (-1, ["a"])), {"groups"}),
    (clump, transactions((0, ["b", "a"]), (0, ["b", "a"])), {"order"}),
    (partition, transactions((0, ["b", "a", "c"]), (0, ["b", "a", "c"])), {"order"}),
    # Nothing where something must be.
    (clump, transactions((0, []), (0, [])), {"items"}),
    (clump, transactions((0, ["a", ""]), (0, ["a", ""])), {"items", "order"}),
    (clump, transactions((0, ["", "a"]), (0, ["", "a"])), {"items"}),
    (clump, transactions((0, ["a", None]), (0, ["a", None])), {"items", "equal-rows", "order"}),
    (clump, transactions((0, ["a"]), (0, None)), {"cells", "items", "equal-rows", "order"}),
    # Duplicates where there are none.
    (partition, tables(transactions=TWICE), {"distinct"}),
    (clump_distinct, tables(transactions=TWICE), {"distinct"}),
    # Columns and tables of others.
    (clump, tables(transactions=of("a|b").append_column("user", pa.array(list("vwxyz")))), {"columns"}),
    (clump, tables(transactions=of("a|b").select(["items", "group"])), {"columns"}),
    (clump, tables(log=of("a|b")), {"columns"}),
    (clump, tables(transactions=of("a|b"), members=pa.table({"user": ["ann"]})), {"columns"}),
    (
        clump,
        tables(
            transactions=pa.table(
                {"group": pa.array([0, 0], pa.int32()), "items": pa.array([["a"]] * 2, LIST)}
            )
        ),
        {"columns"},
    ),
    (clump, tables(transactions=pa.table({"group": [0, 0], "items": ["a", "a"]})), {"columns"}),
    # Parameters that there are not, or cannot be.
    (clump, put("parameters", "taxonomy", value="food"), {"parameters"}),
    (clump, put("parameters", "epsilon", value=1.0), {"parameters"}),
    (clump, put("parameters", "k", value=1), {"parameters", "promise"}),
    (clump, put("parameters", "r", value=0), {"parameters"}),
    (clump, put("parameters", "distinct", value="no"), {"parameters", "no-leak"}),
    (clump, put("parameters", "distinct", value=812), {"parameters", "no-leak"}),
    (clump, put("parameters", "lcg", value="none"), {"parameters"}),
    (clump, put("parameters", "transactions", value="sessions"), {"parameters"}),
    (clump, drop("parameters", "order"), {"parameters"}),
    (clump, put("calibration", "noise_scale", value=1.0), {"parameters"}),
    (partition, put("parameters", "r", value=10), {"parameters"}),
    # Promises that are not the method's.
    (clump, put("guarantee", "k", value=5), {"promise"}),
    (clump, put("guarantee", "kind", value="pure-dp"), {"promise", "draws"}),
    (clump, put("guarantee", "shared", value="query"), {"promise"}),
    (clump, without("assumptions", "taxonomy-is-public"), {"promise"}),
    *(
        (partition, without("caveats", code), {"promise"})
        for code in ("all-alike", "known-members", "fake-accounts", "no-sum")
    ),
]


@pytest.mark.parametrize("case", range(len(CASES)))
def test_tampering_fails_what_it_is_about(case: int, tmp_path: Path) -> None:
    make, change, expected = CASES[case]
    made = make()
    change(made)
    result = verify(made.write(tmp_path / "release"))
    # Rows of other tables than those declared are wrong in more than one way.
    assert "columns" in failed(result) if expected == {"columns"} else failed(result) == expected


def test_what_cannot_be_seen_is_said(tmp_path: Path) -> None:
    sentences: dict[Any, Any] = {}
    for make in (clump, clump_queries):
        checks = verify(make().write(tmp_path / make.__name__)).checks
        sentences[make] = next(check.detail for check in checks if check.name == "crowd")
    whose = {make: sentence.fields["whose"].id for make, sentence in sentences.items()}
    assert whose[clump] == "verify.transactions.one-row-per-user"
    assert whose[clump_queries] == "verify.transactions.users-not-seen"


def test_no_item_is_quoted(tmp_path: Path) -> None:
    made = clump()
    transactions((0, ["secret"]), (0, ["secret", "other"]))(made)
    result = verify(made.write(tmp_path / "release"))
    assert not result.passes and all("secret" not in check.detail for check in result.checks)


def test_an_empty_release_passes(tmp_path: Path) -> None:
    made = clump()
    tables(transactions=of("a|b").slice(0, 0))(made)
    assert verify(made.write(tmp_path / "release")).failed == ()
