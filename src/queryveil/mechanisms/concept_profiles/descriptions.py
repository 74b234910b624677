"""Tables and statements of releases with drawn concepts, for readers of these releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queryveil.catalog.numbers import round_up as rounded_up
from queryveil.privacy import statements
from queryveil.privacy.declarations import LABELS, OCCURRENCES, USER, PublishedTable, columns
from queryveil.privacy.statements import LIMITED, YES, Statement, say

USERS_ARE_PUBLIC = say(
    "users-are-public", "the number of users is public, and it is not hidden who is in the log"
)
TAXONOMY_IS_PUBLIC = say(
    "taxonomy-is-public", "taxonomy, domain and topics were chosen without looking at the log"
)
_COLUMNS = {
    "user": "a random number that stands for one user",
    "number": (
        "which of the user's published queries it is, from 0, in the order of their times; queries with equal times, "
        "or from a log without times, are in random order"
    ),
    "query": "labels of the concepts that were drawn for the query's phrases, with a comma and a space between them",
}

ROWS_ARE_LINKED = (
    "A random number that no other release has links the rows of a user. Only the publisher's private folder says "
    "which user it stands for. That file is for measurements, and can be deleted."
)


def answers_for_each_person(what: str, sure: str = "how sure a reader can be of that") -> dict[str, Any]:
    """Return answers where rows are made for each person alone: how many people share something plays no role."""
    return {
        "learnt": (f"A concept {what}, however few share it. The bound above limits {sure}.",),
        "on_purpose": f"A concept {what} can be published, however few share it.",
    }


def drawn_log(row: str, helps: Mapping[str, str] | None = None) -> PublishedTable:
    """Return the table of labels, one row for each query of each user."""
    return PublishedTable(
        name="log",
        noun="rows",
        row=row,
        columns=columns(("user", "number", "query"), _COLUMNS | dict(helps or {})),
        counts=OCCURRENCES,
        texts=LABELS,
        links=USER,
        unique=("user", "number"),
        order=("user", "number"),
    )


def assess_equal_rows(epsilon: float, what: str, links: str = ROWS_ARE_LINKED) -> tuple[Statement, ...]:
    """Return the answers where every user has the same number of rows, none of which is published as it was typed."""
    bound = f"epsilon {rounded_up(epsilon, 6)}"
    return statements.assessment(
        singling_out=(
            LIMITED,
            "The rows with one number are made from one person. What they say about that person is limited by "
            f"{bound}.",
        ),
        linkability=(
            YES,
            f"Within the release. {links} With another data set it is limited: what the rows say about a person, "
            f"whatever else is known, is bounded by {bound}.",
        ),
        inference=(LIMITED, f"What the rows say about a person is bounded by {bound}."),
        disclosed="Rows are made for every user, so the number of users is disclosed exactly.",
        **answers_for_each_person(what),
    )
