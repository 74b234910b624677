"""What a release of ZEALOUS is called and how it was made, in words for its readers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from queryveil.count import item_kinds
from queryveil.mechanisms import listed_items
from queryveil.privacy.declarations import LISTED, TYPED, PublishedTable, noisy_counts
from queryveil.privacy.draws import Draw
from queryveil.privacy.guarantee import listed
from queryveil.privacy.statements import Statement, say

if TYPE_CHECKING:
    from queryveil.mechanisms.zealous.zealous import Zealous

_IN_WORDS = {
    "keywords": "words of queries",
    "queries": "search queries",
    "query-pairs": "pairs of queries that followed one another",
    "clicks": "queries with a clicked url",
    "itemsets": "pairs of different queries of one session, in any order",
    "itemsets-of-3": "sets of three different queries of one session",
    "user-itemsets": "pairs of different queries of one user, in any order",
    "user-itemsets-of-3": "sets of three different queries of one user",
}
LABELS = {
    "noise_scale": "noise scale",
    "threshold": "first threshold (users)",
    "second_threshold": "published above (noisy users)",
    "delta": "delta, probabilistic",
    "delta_indistinguishable": "delta, approximate",
    "users_for_half": "users needed for a 50 % chance of being published",
    "users_for_99_percent": "users needed for a 99 % chance of being published",
    "clicks_noise_scale": "noise scale of click counts",
    **listed_items.LABELS,
}
OF_COUNTS = say(
    "counts-are-bounded",
    "each count is a noisy number of users, and each user counts for at most m items; counts are not frequencies",
)
OF_CLICKS = (
    say(
        "click-counts-are-noisy",
        "click counts have noise and may be negative; perhaps nobody clicked a url with a positive count",
    ),
    say(
        "no-ratios",
        "do not divide counts of one table by counts of the other: a user's queries and clicks are chosen "
        "separately, and every count has its own noise",
    ),
)
OF_PROCESSING = say(
    "processing-may-lose",
    "further processing can lose probabilistic differential privacy; this release also has approximate differential "
    "privacy, which no processing can lose",
)
RESULTS_ARE_PUBLIC = say("public-results", "the result lists are public, and depend on the query alone")


def in_words(kind: str) -> str:
    """What items of a kind are, for readers of a release."""
    return _IN_WORDS[kind]


def what(method: Zealous) -> str:
    """What the release holds."""
    clicks = ", and clicks on their results" if method.then_clicks else ""
    kinds = listed([in_words(kind) for kind in method.items])
    return f"Frequent {kinds} from a search log{clicks}, with noisy numbers of users"


def how(method: Zealous, draws: Sequence[Draw]) -> str:
    """What is done, for readers of the release."""
    first_threshold = max(draw.at_least or 1 for draw in draws)
    kept = listed([item_kinds.kind(kind).counted(method.max_items) for kind in method.items])
    noise = (
        "Items of too few users were dropped. Random noise was added to the number of users of every other item"
        if first_threshold > 1
        else "Random noise was added to the number of users of each item"
    )
    told = (
        f"Each user contributed at most {kept}. {noise}. An item was published, with its noisy number, only if that "
        "number was above a threshold."
    )
    told += "".join(f" {listed_items.how(draw.public)}" for draw in draws if draw.public)
    if method.then_clicks:
        most = item_kinds.kind("clicks").counted(method.max_clicks or method.max_items)
        told += (
            " For every published query, each url of its public result list has a noisy number of users who clicked "
            f"it. At most {most} per user counted."
        )
    return told


def users_are_public(users: int) -> Statement:
    """The assumption under which a number of users is told."""
    return say(
        "users-are-public",
        f"the number of users is public: at most {users}, which is the log's own number unless the publisher declared "
        "a larger one; it is also public who has no accepted row at all",
        users=users,
    )


def tables(method: Zealous) -> tuple[PublishedTable, ...]:
    """One for each item kind, and one of clicks on the results of published queries if they are asked for."""
    single = len(method.items) == 1
    texts, or_listed = (LISTED, "; or one of a public list") if method.public else (TYPED, "")
    made = [
        noisy_counts(
            "items" if single else name,
            name.replace("-", " "),
            f"One of the {in_words(name)} that enough users share, with the noisy number of these users{or_listed}.",
            item_kinds.kind(name).columns,
            texts=texts,
        )
        for name in method.items
    ]
    if method.then_clicks:
        made.append(
            noisy_counts(
                "clicks",
                "clicks",
                "A published query and a url of its public result list, with the noisy number of users who clicked it.",
                item_kinds.kind("clicks").columns,
                order=("query", "count", "url"),
                inside={"query": "items.query"},
            )
        )
    return tuple(made)
