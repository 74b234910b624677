"""The tables of a click graph, and the draws of noise behind them, as its manifest declares them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from queryveil.mechanisms.click_graph.words import OF_GROUPS
from queryveil.privacy.declarations import (
    GROUPED,
    LISTED,
    OCCURRENCES,
    TYPED,
    USERS,
    PublishedTable,
    noisy_counts,
)
from queryveil.privacy.draws import LOG, PUBLIC, PUBLISHED, UNCOVERED, Draw
from queryveil.privacy.guarantee import ADD_REMOVE, NONE, Guarantee

if TYPE_CHECKING:
    from queryveil.mechanisms.click_graph.click_graph import ClickGraph
    from queryveil.mechanisms.click_graph.tables import Edges

OF_COUNTS = "counts of queries"
"""What fresh noise is for, which is drawn after the queries were chosen."""


def tables(
    method: ClickGraph, clicks: Edges | None, reformulations: Edges | None
) -> tuple[PublishedTable, ...]:
    """Queries, and what was bought besides."""
    counts = USERS if method.once else OCCURRENCES
    who = "users" if method.once else "times"
    clicked = "users who clicked it" if method.once else "times that it was clicked"
    followed = "users for whom it followed" if method.once else "times that it followed"
    least = 0 if method.non_negative else None
    own = GROUPED if method.on_groups else TYPED
    helps = OF_GROUPS if method.on_groups else {}
    a_query = "A group of queries" if method.on_groups else "A query"
    made = [
        noisy_counts(
            "queries",
            "queries",
            f"{a_query} that was made often enough, with a noisy number of {who}"
            f"{'; or one of a public list' if method.public else ''}.",
            ("query",),
            counts=counts,
            least=least,
            texts=LISTED if method.public else own,
            helps={name: helps[name] for name in ("query",) if name in helps},
        )
    ]
    if clicks:
        made.append(
            noisy_counts(
                "clicks",
                "clicks",
                f"A published query and a url for it, with the noisy number of {clicked}.",
                ("query", "url"),
                counts=counts,
                order=("query", "count", "url"),
                texts=own,
                helps={name: helps[name] for name in ("query",) if name in helps},
                inside={"query": "queries.query"},
                least=least,
            )
        )
    if reformulations:
        both = {"query": "queries.query"}
        # A suggestion is public whether or not enough people searched for it.
        both |= {"next_query": "queries.query"} if reformulations.setting is not None else {}
        made.append(
            noisy_counts(
                "reformulations",
                "reformulations",
                f"A published query and one that followed it, with the noisy number of {followed}.",
                ("query", "next_query"),
                counts=counts,
                order=("query", "count", "next_query"),
                texts=own,
                helps=helps,
                inside=both,
                least=least,
            )
        )
    return tuple(made)


def draws(
    method: ClickGraph,
    parts: Iterable[Guarantee],
    fresh: float | None,
    clicks: Edges | None,
    reformulations: Edges | None,
) -> tuple[Draw, ...]:
    """In the order of the tables; what no part of the guarantee pays for is not covered."""
    setting = method.setting()
    paid = {one.of: one.cost for one in parts}
    uncovered = Guarantee(kind=NONE, neighbours=ADD_REMOVE).cost

    def draw(of: str, table: str, bounded: str, d: int, scale: float, **where: Any) -> Draw:
        return Draw(
            of=of,
            table=table,
            bounded=bounded,
            rule="first",
            most=d,
            copies=1 if method.once else d,
            sensitivity=d,
            scale=scale,
            **where,
            **paid.get(of, uncovered),
        )

    def edges(name: str, bounded: str, one: Edges) -> Draw:
        if one.setting is not None:
            return draw(name, name, bounded, one.d, one.scale, rows=LOG, at_least=1, above=one.setting.top)
        return draw(name, name, bounded, one.d, one.scale, rows=PUBLIC if name in paid else UNCOVERED)

    made = [
        draw(
            *("queries", "queries", "queries", setting.d, setting.scale),
            rows=LOG,
            at_least=1,
            above=setting.top,
            public=method.listed(setting),
        )
    ]
    if fresh is not None:
        made.append(draw(OF_COUNTS, "queries", "queries", setting.d, fresh, rows=PUBLISHED))
    if clicks is not None:
        made.append(edges("clicks", "clicks", clicks))
    if reformulations is not None:
        made.append(edges("reformulations", "query-pairs", reformulations))
    return tuple(made)
