"""Releases of transactions in groups (Clump, Partition): groups are counted and compared anew, row by row.

The table has one row per transaction, `group` and `items`. What can be seen from it alone is that every row has at
least k - 1 equal ones beside it. Whether they are of different users cannot, since rows carry no user.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.catalog import Sentence
from queryveil.verification.crowds import MOST_USERS, Promised, columns_check, manifest_checks, one_of, whole
from queryveil.verification.manifest import Manifest
from queryveil.verification.outcome import Check, judge
from queryveil.verification.tables import Opened

COLUMNS = {"group": pa.int64(), "items": pa.list_(pa.string())}
ONE_ROW_PER_USER = Sentence("verify.transactions.one-row-per-user")
USERS_NOT_SEEN = Sentence("verify.transactions.users-not-seen")

_OF_ALL: dict[str, Callable[[Any], bool]] = {
    "k": whole(2, MOST_USERS),
    "transactions": one_of("users", "queries"),
    "whole_queries": lambda value: isinstance(value, bool),
}
_OF_CLUMP: dict[str, Callable[[Any], bool]] = {
    "r": whole(1, 10**6),
    "algorithm": one_of("better", "paper"),
    "criterion": one_of("increase", "total"),
    "order": one_of("signature", "input"),
    "lcg": one_of("exact", "paper"),
    "distinct": lambda value: isinstance(value, bool),
}
_ASSUMPTIONS = ("rows-apart", "user-is-account", "taxonomy-is-public")
_CAVEATS = ("all-alike", "known-members", "fake-accounts", "no-sum")


def clump(manifest: Manifest, opened: Mapping[str, Opened]) -> list[Check]:
    distinct = manifest.section("parameters").get("distinct") is True
    return _check_transactions(manifest, opened, _expected_guarantee(_OF_ALL | _OF_CLUMP), once=distinct)


def partition(manifest: Manifest, opened: Mapping[str, Opened]) -> list[Check]:
    return _check_transactions(manifest, opened, _expected_guarantee(_OF_ALL), once=True)


def _expected_guarantee(rules: Mapping[str, Callable[[Any], bool]]) -> Promised:
    return Promised(rules, shared="transaction", assumptions=_ASSUMPTIONS, caveats=_CAVEATS)


def _check_transactions(
    manifest: Manifest, opened: Mapping[str, Opened], promised: Promised, *, once: bool
) -> list[Check]:
    """What depends on figures or tables that another check has found wrong is left out, not passed."""
    parameters = manifest.section("parameters")
    made = [
        *manifest_checks(manifest, promised),
        columns_check({"transactions": COLUMNS}, set(manifest.section("tables")), opened),
    ]
    judgeable = all(check.passes for check in made if check.name in {"parameters", "columns"})
    if not judgeable or "transactions" not in opened:
        return made
    whose = ONE_ROW_PER_USER if parameters["transactions"] == "users" else USERS_NOT_SEEN
    return made + group_checks(opened["transactions"].table, parameters["k"], whose=whose, once=once)


# -- groups of equal rows ------------------------------------------------------------------------------------


def group_checks(
    table: pa.Table, k: int, *, whose: str, once: bool, may_be_empty: bool = False
) -> list[Check]:
    """Checks of a table with the columns `COLUMNS`. `whose` says what the rows of a group have to do with users.

    With `once`, a transaction may not have an item twice.
    """
    filled = (
        Sentence("verify.transactions.no-item-is-empty")
        if may_be_empty
        else Sentence("verify.transactions.no-transaction-and-no-item-is")
    )
    rows = _Rows(table)
    made = [
        judge(
            "crowd",
            Sentence("verify.transactions.every-group-has-at-least-rows", k=k, whose=whose),
            lambda: _check_crowds(rows, k),
        ),
        judge(
            "equal-rows",
            Sentence("verify.transactions.all-rows-of-group-are-equal"),
            lambda: _check_equal_rows(rows),
        ),
        judge(
            "groups",
            Sentence("verify.transactions.groups-are-numbered-from-0-in"),
            lambda: _check_numbering(rows),
        ),
        judge("items", filled, lambda: _check_missing_items(rows, may_be_empty=may_be_empty)),
        judge(
            "order",
            Sentence("verify.transactions.items-of-transaction-are-in-order"),
            lambda: _check_order(rows),
        ),
    ]
    if once:
        made.append(
            judge(
                "distinct",
                Sentence("verify.transactions.no-transaction-has-item-twice"),
                lambda: _check_repeated_items(rows),
            )
        )
    return made


@dataclass(frozen=True)
class _Rows:
    """The table as arrays. They are made inside of checks: whatever cannot be read fails them."""

    table: pa.Table

    @cached_property
    def groups(self) -> npt.NDArray[np.int64]:
        found: npt.NDArray[np.int64] = self._column("group").to_numpy(zero_copy_only=False)
        if found.dtype != np.int64:
            raise ValueError("a group is missing")
        return found

    @cached_property
    def lengths(self) -> npt.NDArray[np.int32]:
        found: npt.NDArray[np.int32] = pc.list_value_length(self._column("items")).to_numpy(
            zero_copy_only=False
        )
        if not np.issubdtype(found.dtype, np.integer):
            raise ValueError("a transaction is missing")
        return found

    @cached_property
    def starts(self) -> npt.NDArray[np.int64]:
        return np.cumsum(self.lengths, dtype=np.int64) - self.lengths

    @cached_property
    def items(self) -> pa.StringArray:
        return pc.list_flatten(self._column("items"))

    @cached_property
    def ranks(self) -> npt.NDArray[np.int64]:
        """The items as numbers that are in the order of their names."""
        coded = self.items.dictionary_encode()
        place = np.empty(len(coded.dictionary), dtype=np.int64)
        place[pc.sort_indices(coded.dictionary).to_numpy()] = np.arange(len(place))
        ranks: npt.NDArray[np.int64] = place[coded.indices.to_numpy()]
        return ranks

    def steps(self) -> npt.NDArray[np.int64]:
        """From each item to the next of the same transaction, how far on in the order of names."""
        within = np.ones(max(len(self.ranks) - 1, 0), dtype=np.bool_)
        ends = (self.starts + self.lengths)[self.lengths > 0]
        within[ends[:-1] - 1] = False
        steps: npt.NDArray[np.int64] = np.diff(self.ranks)[within]
        return steps

    def _column(self, name: str) -> pa.Array:
        column = self.table[name].combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            raise ValueError("the column is too large")
        return column


def _check_crowds(rows: _Rows, k: int) -> Iterator[str]:
    few = int((np.unique(rows.groups, return_counts=True)[1] < k).sum())
    if few:
        yield Sentence("verify.transactions.groups-have-fewer-than-rows", few=few, k=k)


def _check_equal_rows(rows: _Rows) -> Iterator[str]:
    """Each row against the first one of its group, wherever it stands."""
    _, first, group = np.unique(rows.groups, return_index=True, return_inverse=True)
    like = first[group]
    same_length = rows.lengths == rows.lengths[like]
    lengths = np.where(same_length, rows.lengths, 0)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    within = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    other = rows.ranks[rows.starts[owner] + within] != rows.ranks[rows.starts[like[owner]] + within]
    different = int((~same_length).sum()) + len(np.unique(owner[other]))
    if different:
        yield Sentence("verify.transactions.rows-are-not-equal-to-first", different=different)


def _check_numbering(rows: _Rows) -> Iterator[str]:
    """Numbers with gaps, or rows in another order, would be a place to tell more than which rows belong together."""
    if not len(rows.groups):
        return
    if rows.groups[0] != 0:
        yield Sentence("verify.transactions.first-group-is-not-0")
    steps = np.diff(rows.groups)
    if ((steps < 0) | (steps > 1)).any():
        yield Sentence("verify.transactions.rows-are-not-in-order-of")


def _check_missing_items(rows: _Rows, *, may_be_empty: bool) -> Iterator[str]:
    empty = int((rows.lengths == 0).sum())
    if empty and not may_be_empty:
        yield Sentence("verify.transactions.transactions-have-no-item", empty=empty)
    if rows.items.null_count:
        yield Sentence("verify.transactions.items-are-missing", null_count=rows.items.null_count)
    blank = pc.sum(pc.equal(rows.items, "")).as_py() or 0
    if blank:
        yield Sentence("verify.transactions.items-are-empty", blank=blank)


def _check_order(rows: _Rows) -> Iterator[str]:
    if (rows.steps() < 0).any():
        yield Sentence("verify.transactions.transaction-has-its-items-in-another")


def _check_repeated_items(rows: _Rows) -> Iterator[str]:
    twice = int((rows.steps() == 0).sum())
    if twice:
        yield Sentence("verify.transactions.items-are-in-transaction-twice", twice=twice)
