"""What a release of Gaussian selection is called and how it was made, in words for its readers."""

from __future__ import annotations

from collections.abc import Sequence

from queryveil.count import item_kinds
from queryveil.mechanisms import listed_sums
from queryveil.mechanisms.zealous.words import in_words
from queryveil.privacy.declarations import LISTED, TYPED, USERS, WHOLE, PublishedTable, columns
from queryveil.privacy.guarantee import listed
from queryveil.privacy.statements import say

LABELS = listed_sums.LABELS | {
    "mu": "shift by one user (mu)",
    "p": "chance that an item of one user alone is published (p)",
    "zeta": "standard deviations that keep this chance (zeta)",
    "theta": "standard deviations that an item needs (theta)",
    "rounds": "rounds",
    "noise_scale": "noise of a round, if counts cost nothing (in 1/grid users)",
    "threshold": "threshold, if counts cost nothing (in 1/grid users)",
    "grid": "grid",
    "counts_share": "share of mu squared that pays for counts",
    "length_prior": "long texts begin with less weight",
    "users_for_half": "users needed for a 50 % chance of being published",
}
OF_COUNTS = say(
    "counts-are-estimates",
    "each count is an estimate of a number of users: it has noise, whose standard deviation is given beside it. On "
    "average it is a lower bound, because a user with many published items counts for less than one in each. Where "
    "most users have many published items, counts can be less than half of the true numbers; the standard deviation "
    "does not include this",
)
OF_ABSENCE = say(
    "absent-is-not-rare",
    "an item that is missing may have many users: users with many items give little weight to each",
)
HOW_COUNTS = (
    " Then all users of each published item were counted, whether or not they had contributed it before. A user with "
    "many published items counted for less than one in each, and random noise was added to every count."
)
HOW_PRIOR = " Long texts began with less weight than short ones, whatever is in the log."
_COUNT = "estimated number of users who have the item, with noise (which can make it negative)"
_DEVIATION = "standard deviation of the noise in the count, in users, rounded up"


def tables(kinds: Sequence[str], *, listed: bool = False) -> tuple[PublishedTable, ...]:
    """One for each item kind; `listed`: with items of a public list."""
    return tuple(_table("items" if len(kinds) == 1 else kind, kind, listed=listed) for kind in kinds)


def _table(name: str, kind: str, *, listed: bool) -> PublishedTable:
    key = item_kinds.kind(kind).columns
    or_listed = "; or one of a public list" if listed else ""
    return PublishedTable(
        name=name,
        noun=kind.replace("-", " "),
        row=f"One of the {in_words(kind)} that enough users share, with an estimate of the number of these users"
        f"{or_listed}.",
        columns=columns(
            (*key, "count", "deviation"), {"count": _COUNT, "deviation": _DEVIATION}, deviation=WHOLE
        ),
        counts=USERS,
        texts=LISTED if listed else TYPED,
        noisy=True,
        unique=key,
        order=("count", *key),
    )


def what(kinds: Sequence[str]) -> str:
    noun = listed([in_words(kind) for kind in kinds])
    return f"Frequent {noun} from a search log, with noisy numbers of users"
