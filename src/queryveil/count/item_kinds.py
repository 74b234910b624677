"""What is counted and published: keywords, queries, query pairs, clicks, itemsets. One definition each.

An item kind names its columns and turns a log into its occurrences: rows of user, the item's columns, and
`time` where the log has it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from queryveil.count import sets_of_items
from queryveil.errors import UsageError, instead
from queryveil.reading.text import ASCII_PUNCTUATION_END, ASCII_WORD

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.log import SearchLog

SEPARATOR = "\x1f"
"""Stands between the columns of an item where they are one text."""


@dataclass(frozen=True)
class ItemKind:
    """One kind of item: its name, its published columns, and how a log's occurrences are found."""

    name: str
    columns: tuple[str, ...]
    help: str
    rows: Callable[[SearchLog], ir.Table]
    """Rows of user, item and time, among them some whose first item column is empty: they are none."""
    one: str = ""
    """What one item is called, where its name without the plural does not say it."""
    is_set: bool = False
    """Its columns are the items of an unordered set; there are many more sets than items."""
    is_query: bool = False
    """Its one column is the query itself, in normal form."""

    def item_rows(self, rows: ir.Table, *more: str) -> ir.Table:
        """Return rows of user, item as one text, and further columns; rows with a null column are left out.

        `more`: names of further columns.
        Queries and keywords are in normal form, which has no control character, so that equal texts are equal items.
        """
        import ibis

        rows = rows.drop_null(list(self.columns))
        first, *others = (rows[column] for column in self.columns)
        item = functools.reduce(lambda text, column: text + ibis.literal(SEPARATOR) + column, others, first)
        return rows.select("user", *more, item=item).relocate("user", "item")

    def join_columns(self, table: pa.Table) -> pa.Array:
        """Return the items of a table as one text each."""
        import pyarrow.compute as pc

        columns = [table[column].combine_chunks().cast(pa.large_string()) for column in self.columns]
        separator = pa.scalar(SEPARATOR, pa.large_string())
        return columns[0] if len(columns) == 1 else pc.binary_join_element_wise(*columns, separator)

    def split_columns(self, texts: pa.Array) -> pa.Table:
        """Return `texts`, one for each item, as a table of the columns of items."""
        import pyarrow.compute as pc

        if len(self.columns) == 1:
            columns = [texts]
        else:  # only the last column may have a separator of its own
            parts = pc.split_pattern(texts, SEPARATOR, max_splits=len(self.columns) - 1)
            columns = [pc.list_element(parts, at) for at in range(len(self.columns))]
        return pa.table([column.cast(pa.string()) for column in columns], names=list(self.columns))

    def check(self, log: SearchLog) -> None:
        """Refuse a log that lacks a column which these items need. Every log has queries."""
        if not self.is_query:
            self.rows(log)

    def occurrences(self, log: SearchLog) -> ir.Table:
        """One row for each time that a user had an item."""
        rows = self.rows(log)
        return rows.filter(rows[self.columns[0]] != "")

    @property
    def noun(self) -> str:
        """What items are called, in the plural: 'query pairs'."""
        return self.name.replace("-", " ")

    def counted(self, number: int) -> str:
        """A number of items in words: '1 query', '2,000 queries'."""
        noun = self.noun
        one = self.one or (noun[:-3] + "y" if noun.endswith("ies") else noun[:-1])
        return f"{number:,} {one if number == 1 else noun}"

    def __str__(self) -> str:
        return self.name


def _user_item_rows(log: SearchLog, table: ir.Table, *columns: str) -> ir.Table:
    return table.select("user", *columns, *(["time"] if "time" in log.columns else []))


def _query_items(log: SearchLog) -> ir.Table:
    return _user_item_rows(log, log.table, "query")


def with_keywords(table: ir.Table) -> ir.Table:
    """One row for each keyword of each row of a log's table; some are empty, and are none."""
    words = table.mutate(keyword=table["words"].split(" ").unnest())
    return words.mutate(keyword=keyword_of(words["keyword"]))


def keyword_of(part: ir.StringValue) -> ir.StringValue:
    """The keyword in a part of a log's `words` between blanks; empty if there is none."""
    import ibis

    # The ends of a word are punctuation in ASCII, or were stripped when the text was mapped.
    ends = part.re_search(ASCII_PUNCTUATION_END)
    return ibis.ifelse(ends, part.re_extract(ASCII_WORD, 1).fill_null(""), part)


def _keyword_items(log: SearchLog) -> ir.Table:
    return _user_item_rows(log, with_keywords(log.table), "keyword")


def _query_pairs(log: SearchLog) -> ir.Table:
    import ibis

    events = log.events()
    window = ibis.window(group_by=["user", "session"], order_by=[events["time"], events["query"]])
    pairs = events.mutate(next_query=events["query"].lead().over(window))
    pairs = pairs.filter(pairs["next_query"].notnull() & (pairs["next_query"] != pairs["query"]))
    return _user_item_rows(log, pairs, "query", "next_query")


def _click_items(log: SearchLog) -> ir.Table:
    log.need("url", "counting clicks")
    return _user_item_rows(log, log.table.filter(log.table["url"].notnull()), "query", "url")


def _itemset_kind(name: str, size: int, one: str, help: str, *, sessions: bool) -> ItemKind:
    found = functools.partial(sets_of_items.rows, size=size, sessions=sessions)
    return ItemKind(name, sets_of_items.columns(size), help, found, one, is_set=True)


_KINDS = (
    ItemKind("keywords", ("keyword",), "the words of queries", _keyword_items),
    ItemKind("queries", ("query",), "whole queries", _query_items, is_query=True),
    ItemKind("query-pairs", ("query", "next_query"), "two queries, one after the other", _query_pairs),
    ItemKind("clicks", ("query", "url"), "a query and a url clicked for it", _click_items),
    _itemset_kind("itemsets", 2, "itemset", "two different queries of one session", sessions=True),
    _itemset_kind(
        "itemsets-of-3", 3, "itemset of 3", "three different queries of one session", sessions=True
    ),
    _itemset_kind("user-itemsets", 2, "user itemset", "two different queries of one user", sessions=False),
    _itemset_kind(
        "user-itemsets-of-3", 3, "user itemset of 3", "three different queries of one user", sessions=False
    ),
)

KINDS: dict[str, ItemKind] = {kind.name: kind for kind in _KINDS}


def kind(name: str) -> ItemKind:
    """The item kind of that name."""
    if name not in KINDS:
        raise UsageError(f"there is no item kind '{name}'", instead(name, KINDS))
    return KINDS[name]
