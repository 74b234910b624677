"""What the click graph is called and how it was made, in words for readers of a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from queryveil.mechanisms.click_graph import ClickGraph
    from queryveil.mechanisms.click_graph_tables import Edges

_WHAT = "The click graph of a search log: frequent queries{clicks}{reformulations}, with noisy counts"
LABELS = {
    "noise_scale": "noise scale (b)",
    "threshold": "published above a noisy count of (K)",
    "alpha": "alpha of Theorem 1",
    "epsilon": "epsilon",
    "delta": "delta",
    "count_for_half": "count for a 50 % chance to be published",
    "count_for_99_percent": "count for a 99 % chance to be published",
    "counts_noise_scale": "noise scale of fresh counts (b_q)",
}


def what(clicks: Edges | None, reformulations: Edges | None) -> str:
    """What the release holds."""
    return _WHAT.format(
        clicks=", clicks on their results" if clicks else "",
        reformulations=", what was searched next" if reformulations else "",
    )


def how(method: ClickGraph, clicks: Edges | None, reformulations: Edges | None) -> str:
    """What is done, for readers of the release."""
    counted = "the number of its users" if method.once else "the number of times it was posed"
    told = (
        f"Each user's first {method.max_queries:,} queries were counted. Random noise was added to {counted}, and a "
        "query was published if the noisy number was above a threshold, "
        + ("with that number." if method.counts == "reuse" else "with another noisy number.")
    )
    if clicks:
        source = {
            "public": "For every published query, each url of its public result list has a noisy number of "
            "clicks, zeros included",
            "private": "Urls clicked for a published query were published if their noisy number of clicks was "
            "above a threshold of their own",
            "clicked": "For every published query its most clicked urls have a noisy number of clicks",
        }[method.urls]
        told += f" {source}; each user's first {clicks.d:,} clicks were counted."
    if reformulations:
        source = (
            "Each public suggestion of a published query has a noisy number of times that it was searched next"
            if method.suggestions is not None
            else "Two published queries that followed one another were published as a pair if their noisy number "
            "was above a threshold of its own"
        )
        told += f" {source}; each user's first {reformulations.d:,} were counted."
    return told + (" Negative numbers were set to zero." if method.non_negative else "")


def caveats(method: ClickGraph) -> tuple[str, ...]:
    """What readers of the queries must know."""
    found = [
        "whoever opens enough accounts can have a query of their choice published; about others it tells no more than "
        "epsilon and delta allow"
    ]
    if method.counts == "reuse":
        found.append(
            "counts just above the threshold are too high on average: their noise is why they are published"
        )
    if method.counts == "fresh" or method.clicks_bought or method.suggestions is not None:
        found.append("noise can bring counts below what they were, and below zero")
    return tuple(found)
