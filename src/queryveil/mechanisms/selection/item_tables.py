"""Tables of items and their numbers of users, as mechanisms declare them: names, rows, columns, and sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from queryveil.catalog import Sentence, list_parts
from queryveil.count import item_kinds
from queryveil.privacy.declarations import LISTED, TYPED, USERS, WHOLE, PublishedTable, columns, noisy_counts
from queryveil.privacy.statements import say

OF_ESTIMATES = say("counts-are-estimates")
OF_ABSENCE = say("absent-is-not-rare")
DEVIATION_HELP = Sentence("column.deviation")


def describe_items(kinds: Sequence[str], *, with_clicks: bool = False) -> str:
    """Return what a release of these item kinds holds."""
    items = list_parts([Sentence(f"items.{kind}") for kind in kinds])
    return Sentence("items.what.clicks" if with_clicks else "items.what", items=items)


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
        item_kinds.kind(kind).noun,
        _row_text(kind, "counted", listed=listed),
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
        noun=item_kinds.kind(kind).noun,
        row=_row_text(kind, "estimated", listed=listed),
        columns=columns(
            (*key, "count", "deviation"),
            {"count": Sentence("column.count.estimate"), "deviation": DEVIATION_HELP},
            deviation=WHOLE,
        ),
        counts=USERS,
        texts=LISTED if listed else TYPED,
        noisy=True,
        unique=key,
        order=("count", *key),
    )


def _row_text(kind: str, counts: str, *, listed: bool) -> str:
    or_listed = Sentence("items.row.listed") if listed else ""
    return Sentence(f"items.row.{counts}", item=Sentence(f"items.one.{kind}"), listed=or_listed)
