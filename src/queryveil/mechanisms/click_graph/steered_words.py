"""What a click graph on steered queries is called and how it was made, in words for readers of a release."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from queryveil.count import item_kinds
from queryveil.mechanisms.base import ROW_LOCAL, SESSIONS_APART, USER_IS_ACCOUNT
from queryveil.mechanisms.click_graph.words import OF_GROUPS, named
from queryveil.mechanisms.selection import listed_items
from queryveil.mechanisms.selection.item_tables import DEVIATION_HELP, OF_ABSENCE, OF_ESTIMATES
from queryveil.privacy.declarations import GROUPED, LISTED, TYPED, USERS, WHOLE, PublishedTable, columns
from queryveil.privacy.statements import Statement, say

if TYPE_CHECKING:
    from queryveil.mechanisms.click_graph.account import Part

LABELS = listed_items.LABELS_OF_SUMS | {
    "mu": "shift by one user (mu)",
    "p": "chance that a row of one user alone is published (p)",
    "share": "share of the budget (of mu squared), relative to the other tables",
    "counts_share": "the part of that share that pays for counts",
    "rounds": "rounds",
    "noise_scale": "noise of a round (in 1/grid users)",
    "threshold": "threshold (in 1/grid users)",
    "users_for_half": "users needed for a 50 % chance of being published",
    "counts_noise_scale": "noise of counts (in 1/grid users)",
    "grid": "grid",
}
_ONE_ACCOUNT = say("one-account", "epsilon and delta cover all tables together; nothing comes on top")
_ACCOUNTS = say(
    "accounts-can-publish",
    "someone who opens enough accounts can make any query appear in the release, but the release tells no more about "
    "other people than epsilon and delta allow",
)
_NO_RATIOS = say(
    "no-ratios",
    "do not divide counts of one table by counts of another: they count partly different users, and each table has "
    "its own noise",
)
_ROWS = {
    "queries": (
        "A query that enough users share, with an estimate of the number of these users.",
        "estimated number of users who made the query",
    ),
    "clicks": (
        "A published query and a url that enough users clicked for it, with an estimate of their number.",
        "estimated number of users who clicked the url for the query",
    ),
    "reformulations": (
        "Two published queries that followed one another often enough, with an estimate of the number of users.",
        "estimated number of users who made the second query after the first",
    ),
}
_HOW = {
    "clicks": " Clicks on published queries were chosen in the same way. Each user contributed at most {kept} on "
    "published queries.",
    "reformulations": (
        " Then every ordered pair of published queries was a candidate, whether or not anybody made the two searches "
        "in a row. If more than {most:,} queries were published, only those with the highest counts were paired. "
        "Candidates got votes and random noise in rounds, as above. A pair was published if its noisy sums were "
        "above a threshold that noise alone rarely exceeds. Each user contributed at most {kept} of published "
        "queries."
    ),
}
MOST_PAIRED = 5_000
"""Of more published queries, only so many are paired: noise is drawn for each two."""


def tables(
    made: Sequence[Part], *, non_negative: bool, listed: bool = False, on_groups: bool = False
) -> tuple[PublishedTable, ...]:
    """`listed`: with queries of a public list."""
    least = 0 if non_negative else None
    return tuple(
        _table(part, least, listed=listed and part.name == "queries", on_groups=on_groups) for part in made
    )


def order(name: str, key: Sequence[str]) -> tuple[str, ...]:
    """The largest first; clicks and reformulations by query."""
    return ("count", *key) if name == "queries" else (key[0], "count", key[1])


def _table(part: Part, least: int | None, *, listed: bool, on_groups: bool) -> PublishedTable:
    key = item_kinds.kind(part.kind).columns
    row, count = _ROWS[part.name]
    inside = {"clicks": key[:1], "reformulations": key}.get(part.name, ())
    helps = {name: OF_GROUPS[name] for name in key if on_groups and name in OF_GROUPS}
    below = "" if least == 0 else " (which can make it negative)"
    return PublishedTable(
        name=part.name,
        noun=part.name,
        row=row.removesuffix(".") + "; or one of a public list." if listed else row,
        columns=columns(
            (*key, "count", "deviation"),
            {"count": f"{count}, with noise{below}", "deviation": DEVIATION_HELP, **helps},
            deviation=WHOLE,
        ),
        counts=USERS,
        texts=LISTED if listed else GROUPED if on_groups else TYPED,
        noisy=True,
        unique=key,
        order=order(part.name, key),
        inside=tuple((column, "queries.query") for column in inside),
        least=least,
    )


def what(made: Sequence[Part]) -> str:
    names = {part.name for part in made}
    return named(clicks="clicks" in names, reformulations="reformulations" in names)


def how(made: Sequence[Part], *, non_negative: bool, listed: str = "") -> str:
    """What is done, for readers of the release; `listed`: what was done with a public list of queries."""
    kept = {part.name: item_kinds.kind(part.kind).counted(part.most) for part in made}
    told = (
        f"Each user contributed at most {kept['queries']}, chosen at random. In several rounds each user divided one "
        "vote among these queries, and random noise was added to every sum of votes. After each round, votes moved "
        "to queries whose noisy sums showed that they might still pass. A query was published if its noisy sums, "
        "added up over all rounds, were above a threshold."
    ) + listed
    for name, sentence in _HOW.items():
        told += sentence.format(kept=kept[name], most=MOST_PAIRED) if name in kept else ""
    told += (
        " Then all users of each published row were counted, whether or not it was among what they contributed so "
        "far. A user with many rows of a table counted for less than one in each, and random noise was added to every "
        "count."
    )
    return told + (" Negative numbers were set to zero." if non_negative else "")


def assumptions(made: Sequence[Part]) -> tuple[Statement, ...]:
    sessions = any(part.name == "reformulations" for part in made)
    return (ROW_LOCAL, USER_IS_ACCOUNT, *((SESSIONS_APART,) if sessions else ()))


def caveats(made: Sequence[Part], decoys: float) -> tuple[Statement, ...]:
    """What readers of any of the tables must know."""
    found = [_ONE_ACCOUNT, _ACCOUNTS, OF_ABSENCE, OF_ESTIMATES]
    if len(made) > 1:
        found.append(_NO_RATIOS)
    if any(part.name == "reformulations" for part in made):
        found.append(
            say(
                "pairs-by-noise",
                f"on average, noise alone publishes at most {decoys:g} of the reformulations, which perhaps nobody "
                "made; a count that is small next to its deviation is a sign of this",
                decoys=decoys,
            )
        )
    return tuple(found)


def published(part: Part, number: int, scale: float) -> str:
    """What is said to the curator of a stage."""
    noun = item_kinds.kind(part.kind).counted(number)
    return f"noise of about +-{scale:.0f} users in each round: {noun} published"
