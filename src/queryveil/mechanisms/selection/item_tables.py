"""Tables of items and their numbers of users, as mechanisms declare them: names, rows, columns, and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from queryveil.catalog import list_parts as in_a_row
from queryveil.count import item_kinds
from queryveil.privacy.declarations import LISTED, TYPED, USERS, WHOLE, PublishedTable, columns, noisy_counts
from queryveil.privacy.statements import say

_IN_WORDS: Final = {
    "keywords": "words of queries",
    "queries": "search queries",
    "query-pairs": "pairs of queries that followed one another",
    "clicks": "queries with a clicked url",
    "itemsets": "pairs of different queries of one session, in any order",
    "itemsets-of-3": "sets of three different queries of one session",
    "user-itemsets": "pairs of different queries of one user, in any order",
    "user-itemsets-of-3": "sets of three different queries of one user",
}
OF_ESTIMATES = say(
    "counts-are-estimates",
)
OF_ABSENCE = say(
    "absent-is-not-rare",
)
DEVIATION_HELP = "standard deviation of the noise in the count, in users, rounded up"
_ESTIMATE = "estimated number of users who have the item, with noise (which can make it negative)"


def describe_items(kinds: Sequence[str], *, with_clicks: bool = False) -> str:
    """Return what a release of these item kinds holds."""
    clicks = ", and clicks on their results" if with_clicks else ""
    named = in_a_row([_IN_WORDS[kind] for kind in kinds])
    return f"Frequent {named} from a search log{clicks}, with noisy numbers of users"


def table_name(kind: str, kinds: Sequence[str]) -> str:
    """Return the name of the table of an item kind: `items` if there is no other."""
    return "items" if len(kinds) == 1 else kind


def counted_items_table(
    kind: str,
    kinds: Sequence[str],
    *,
    listed: bool,
    least: int | None = None,
    helps: Mapping[str, str] | None = None,
) -> PublishedTable:
    """Return the table of one item kind with noisy counts; `listed`: with items of a public list."""
    return noisy_counts(
        table_name(kind, kinds),
        kind.replace("-", " "),
        _row(kind, "the noisy number of these users", listed=listed),
        item_kinds.kind(kind).columns,
        least=least,
        texts=LISTED if listed else TYPED,
        helps=helps,
    )


def estimated_items_table(kind: str, kinds: Sequence[str], *, listed: bool) -> PublishedTable:
    """Return the table of one item kind with estimates of users and their standard deviations."""
    key = item_kinds.kind(kind).columns
    return PublishedTable(
        name=table_name(kind, kinds),
        noun=kind.replace("-", " "),
        row=_row(kind, "an estimate of the number of these users", listed=listed),
        columns=columns(
            (*key, "count", "deviation"), {"count": _ESTIMATE, "deviation": DEVIATION_HELP}, deviation=WHOLE
        ),
        counts=USERS,
        texts=LISTED if listed else TYPED,
        noisy=True,
        unique=key,
        order=("count", *key),
    )


def _row(kind: str, number: str, *, listed: bool) -> str:
    or_listed = "; or one of a public list" if listed else ""
    return f"One of the {_IN_WORDS[kind]} that enough users share, with {number}{or_listed}."
