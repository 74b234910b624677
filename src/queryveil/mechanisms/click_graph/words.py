"""What the click graph is called and how it was made, in words for readers of a release."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queryveil.count import item_kinds
from queryveil.mechanisms.selection import listed_items
from queryveil.privacy import statements
from queryveil.privacy.statements import NOT_EXCLUDED, Statement, say

if TYPE_CHECKING:
    from queryveil.mechanisms.click_graph.click_graph import ClickGraph
    from queryveil.mechanisms.click_graph.tables import Edges

_WHAT = "The click graph of a search log: frequent queries{clicks}{reformulations}, with noisy counts"
LABELS = {
    "noise_scale": "noise scale (b)",
    "threshold": "published above a noisy count of (K)",
    "alpha": "alpha of Theorem 1",
    "epsilon": "epsilon",
    "delta": "delta",
    "count_for_half": "count needed for a 50 % chance of being published",
    "count_for_99_percent": "count needed for a 99 % chance of being published",
    "counts_noise_scale": "noise scale of fresh counts (b_q)",
    **listed_items.LABELS,
    "public_threshold": "published above, on the public list (noisy count)",
}


OF_GROUPS = {
    "query": "the words of a group of queries, each once, in the singular, by their bytes",
    "next_query": "the words of the group whose query followed",
}
"""What columns hold where queries are grouped."""
GROUPED_FIRST = (
    "Queries with the same words counted as one, whatever the order of the words and whether they were singular or "
    "plural. "
)


def what(clicks: Edges | None, reformulations: Edges | None) -> str:
    """What the release holds."""
    return named(clicks=clicks is not None, reformulations=reformulations is not None)


def named(*, clicks: bool, reformulations: bool) -> str:
    """A click graph with these tables beside its queries."""
    return _WHAT.format(
        clicks=", clicks on their results" if clicks else "",
        reformulations=", what was searched next" if reformulations else "",
    )


def how(method: ClickGraph, clicks: Edges | None, reformulations: Edges | None) -> str:
    """What is done, for readers of the release."""
    counted = "of users who made each query" if method.once else "of times that each query was made"
    told = GROUPED_FIRST if method.on_groups else ""
    told += (
        f"Each user's first {_some('queries', method.max_queries)} counted. Random noise was added to the number "
        f"{counted}. A query was published if the noisy number was above a threshold, "
        + ("with that number." if method.counts == "reuse" else "with another noisy number.")
    )
    if (public := method.listed(method.setting())) is not None:
        told += f" {listed_items.how(public, 'number of users' if method.once else 'number of times')}"
    if clicks:
        number = "users who clicked it" if method.once else "clicks"
        source = {
            "public": f"For every published query, each url of its public result list has a noisy number of {number}, "
            "even if nobody clicked it",
            "private": f"A url clicked for a published query was published if its noisy number of {number} was above a "
            "second threshold",
            "clicked": f"For every published query, each of its most clicked urls has a noisy number of {number}",
        }[method.urls]
        told += f" {source}. Each user's first {_some('clicks', clicks.d)} counted."
    if reformulations:
        number = "users who searched it next" if method.once else "times that it was searched next"
        source = (
            f"Each public suggestion of a published query has a noisy number of {number}"
            if method.suggestions is not None
            else "Two published queries that followed one another were published as a pair if their noisy number of "
            f"{'users' if method.once else 'times'} was above another threshold"
        )
        told += f" {source}. Each user's first {_some('query-pairs', reformulations.d)} counted."
    return told + (" Negative numbers were set to zero." if method.non_negative else "")


def _some(kind: str, number: int) -> str:
    """'query was', '20 queries were'."""
    said = item_kinds.kind(kind).counted(number)
    return f"{said.removeprefix('1 ')} was" if number == 1 else f"{said} were"


RESULTS_ARE_PUBLIC = say("public-results", "the result lists are public, and depend on the query alone")
SUGGESTIONS_ARE_PUBLIC = say(
    "public-suggestions", "the suggestion lists are public, and depend on the query alone"
)
NOT_COVERED = say(
    "urls-not-covered",
    "no guarantee covers the clicked urls, which come from the log itself: a url that one user alone clicked can "
    "appear with certainty; so nothing is promised, not even for a part of the release",
)


def caveats(method: ClickGraph) -> tuple[Statement, ...]:
    """What readers of the queries must know."""
    accounts = "someone who opens enough accounts can make any query appear in the release"
    covered = not (method.clicks_bought and method.urls == "clicked")
    found = [
        say(
            "accounts-can-publish",
            accounts
            + (
                ", but the release tells no more about other people than epsilon and delta allow"
                if covered
                else ""
            ),
        )
    ]
    if method.counts == "reuse":
        found.append(
            say(
                "counts-near-threshold",
                "counts just above the threshold are too high on average: often only noise lifted them above it",
            )
        )
    if method.counts == "fresh" or method.clicks_bought or method.suggestions is not None:
        found.append(say("counts-may-fall", "noise can make counts smaller than they were, even negative"))
    if method.clicks_bought or method.epsilon_reformulations is not None:
        found.append(
            say(
                "no-ratios",
                "do not divide counts of one table by counts of another: each table counts other searches or clicks "
                "of a user, and has its own noise",
            )
        )
    return tuple(found)


def assessment(method: ClickGraph) -> tuple[Statement, ...]:
    """Nothing particular, unless urls are taken from the log as they are."""
    if not method.clicks_bought or method.urls != "clicked":
        return ()
    return statements.assessment(
        singling_out=(
            NOT_EXCLUDED,
            "A url that one person alone clicked can be published, and can tell who that person is.",
        ),
        linkability=(
            NOT_EXCLUDED,
            "Rows have no user, session or time. But a url that one person alone clicked is beside the query that it "
            "was clicked for, and other data about the person can name the same url.",
        ),
        inference=(NOT_EXCLUDED, "Nothing limits what the published urls reveal."),
        disclosed="Frequent queries are disclosed, each with its most clicked urls, even urls that one person alone "
        "clicked. Counts have noise.",
        learnt=(
            "Which urls were clicked for a published query, even by one person alone.",
            "Who a row is about, if its url gives that person away, and for which query that person clicked it.",
            "Popular searches.",
        ),
    )
