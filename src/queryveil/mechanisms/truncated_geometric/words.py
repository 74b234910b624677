"""What a release of truncated geometric selection is called and how it was made, in words for its readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queryveil.count import item_kinds
from queryveil.mechanisms import listed_items
from queryveil.mechanisms.zealous.words import in_words
from queryveil.privacy.declarations import LISTED, TYPED, PublishedTable, noisy_counts
from queryveil.privacy.guarantee import listed
from queryveil.privacy.statements import Statement, say

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from queryveil.mechanisms.truncated_geometric.theory import Setting
    from queryveil.privacy.draws import Draw

LABELS = {
    "noise_scale": "noise scale",
    "item_delta": "delta of one count",
    "limit": "largest noise (users)",
    "threshold": "published above (noisy users)",
    "even_chance": "users needed for a 50 % chance of being published",
    "always": "users that are always enough",
    **listed_items.LABELS,
}
OF_COUNTS = say(
    "counts-are-bounded",
    "each count is a noisy number of users, and each user counts for few items; counts are not frequencies",
)
OF_SMALL_COUNTS = say(
    "small-counts-are-high",
    "counts just above the threshold are too high on average: often only noise lifted them above it",
)


def within(kind: str, limit: int) -> Statement:
    """How far counts are from the truth at most."""
    return say(
        "counts-are-within",
        f"each count of {kind.replace('-', ' ')} differs from the number of users counted for the item by at most "
        f"{limit:,}",
        limit=limit,
    )


def what(kinds: tuple[str, ...]) -> str:
    """What the release holds."""
    named = listed([in_words(kind) for kind in kinds])
    return f"Frequent {named} from a search log, with noisy numbers of users"


def how(settings: Mapping[str, Setting], draws: Sequence[Draw]) -> str:
    """What is done, for readers of the release."""
    kept = listed([item_kinds.kind(kind).counted(one.max_items) for kind, one in settings.items()])
    noises = {one.noise for one in settings.values()}
    # Kinds with unequal shares of the budget have different noise, which their caveats state.
    amount, least = "a certain number", "as large as the smallest published count"
    if len(noises) == 1:
        amount, least = f"{(noise := noises.pop()).limit:,}", f"at least {noise.even_chance:,}"
    told = (
        f"Each user contributed at most {kept}. Random noise, at most {amount} up or down, was added to the number of "
        f"users of each item. An item was published, with its noisy number, only if that number was {least}."
    )
    return told + "".join(f" {listed_items.how(draw.public)}" for draw in draws if draw.public)


def tables(settings: Mapping[str, Setting], draws: Sequence[Draw]) -> tuple[PublishedTable, ...]:
    """One for each item kind, with the smallest count that can be published; a public list has a lower one."""
    lists = {draw.of: draw.public for draw in draws if draw.public}
    return tuple(
        noisy_counts(
            "items" if len(settings) == 1 else kind,
            kind.replace("-", " "),
            f"One of the {in_words(kind)} that enough users share, with the noisy number of these users"
            f"{'; or one of a public list' if kind in lists else ''}.",
            item_kinds.kind(kind).columns,
            least=(lists[kind].above if kind in lists else one.noise.largest) + 1,
            texts=LISTED if kind in lists else TYPED,
            helps={
                "count": f"number of users counted for the item, with noise of at most {one.noise.limit:,} up or down"
            },
        )
        for kind, one in settings.items()
    )
