"""What a release of ZEALOUS is called and how it was made, in words for its readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queryveil.count import item_kinds
from queryveil.privacy.declarations import PublishedTable, noisy_counts
from queryveil.privacy.guarantee import listed
from queryveil.privacy.statements import Statement, say

if TYPE_CHECKING:
    from queryveil.mechanisms.zealous.zealous import Zealous

_IN_WORDS = {
    "keywords": "words of queries",
    "queries": "search queries",
    "query-pairs": "pairs of queries that followed one another",
    "clicks": "queries with a url that was clicked for them",
}
LABELS = {
    "noise_scale": "noise scale",
    "threshold": "first threshold (users)",
    "second_threshold": "published above (noisy users)",
    "delta": "delta, probabilistic",
    "delta_indistinguishable": "delta, approximate",
    "users_for_half": "users for a 50 % chance to be published",
    "users_for_99_percent": "users for a 99 % chance to be published",
    "clicks_noise_scale": "noise scale of click counts",
}
OF_COUNTS = say(
    "counts-are-bounded",
    "counts are of users who kept an item among at most m, with noise; they are not frequencies",
)
OF_CLICKS = (
    say(
        "click-counts-are-noisy",
        "click counts carry noise and may be negative; a url with a positive count may have been clicked by nobody",
    ),
    say(
        "no-ratios",
        "counts of the two tables must not be divided by one another: queries and clicks of a user are chosen apart, "
        "and every count has noise of its own",
    ),
)
OF_PROCESSING = say(
    "processing-may-lose",
    "probabilistic differential privacy can be lost by further processing; approximate differential privacy, which "
    "this release has too, is kept",
)
RESULTS_ARE_PUBLIC = say("public-results", "the result lists are public: a function of the query alone")


def what(method: Zealous) -> str:
    """What the release holds."""
    clicks = ", and clicks on their results" if method.then_clicks else ""
    kinds = listed([_IN_WORDS[kind] for kind in method.items])
    return f"Frequent {kinds} from a search log{clicks}, with noisy numbers of users"


def how(method: Zealous, first_threshold: int) -> str:
    """What is done, for readers of the release; the largest first threshold of all item kinds."""
    kept = listed([item_kinds.kind(kind).counted(method.max_items) for kind in method.items])
    noise = (
        "Those of too few users were dropped, random noise was added to the number of users of every other one"
        if first_threshold > 1
        else "Random noise was added to the number of users of each of them"
    )
    told = (
        f"Each user contributed at most {kept}. {noise}, and only those whose noisy number was above a threshold were "
        "published, with that noisy number."
    )
    if method.then_clicks:
        most = item_kinds.kind("clicks").counted(method.max_clicks or method.max_items)
        told += (
            " For every published query, each url of its public result list has a noisy number of users who clicked "
            f"it; at most {most} of each user counted."
        )
    return told


def users_are_public(users: int) -> Statement:
    """The assumption under which a number of users is told."""
    return say(
        "users-are-public",
        f"the number of users is public (at most {users}: the log's own number, unless the publisher declared a larger "
        "one), and so is who has no accepted row at all",
        users=users,
    )


def tables(method: Zealous) -> tuple[PublishedTable, ...]:
    """One for each item kind, and one of clicks on the results of published queries if they are asked for."""
    single = len(method.items) == 1
    made = [
        noisy_counts(
            "items" if single else name,
            name.replace("-", " "),
            f"One of the {_IN_WORDS[name]} that enough users have, with the noisy number of these users.",
            item_kinds.kind(name).columns,
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
