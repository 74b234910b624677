"""Tables and statements of releases with drawn concepts, for readers of these releases."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from queryveil.catalog import Sentence
from queryveil.privacy import statements
from queryveil.privacy.declarations import LABELS, OCCURRENCES, USER, PublishedTable, columns
from queryveil.privacy.statements import LIMITED, YES, Statement, say

USERS_ARE_PUBLIC = say("users-are-public", Sentence("statement.users-are-public.rows"))
TAXONOMY_IS_PUBLIC = say("taxonomy-is-public", Sentence("statement.taxonomy-is-public.domain"))
ROWS_ARE_LINKED = Sentence("concepts.linked")


def answers_for_each_person(what: Sentence, *, one_phrase: bool = False) -> dict[str, Any]:
    """Return answers where rows are made for each person alone: how many people share something plays no role."""
    return {
        "learnt": (Sentence("concepts.learnt.phrase" if one_phrase else "concepts.learnt", what=what),),
        "on_purpose": Sentence("concepts.on-purpose", what=what),
    }


def drawn_log(row: str, helps: Mapping[str, str] | None = None) -> PublishedTable:
    """Return the table of labels, one row for each query of each user."""
    own = {name: Sentence(f"concepts.column.{name}") for name in ("number", "query")}
    return PublishedTable(
        name="log",
        noun="rows",
        row=row,
        columns=columns(("user", "number", "query"), own | dict(helps or {})),
        counts=OCCURRENCES,
        texts=LABELS,
        links=USER,
        unique=("user", "number"),
        order=("user", "number"),
    )


def bound(epsilon: float) -> Sentence:
    """Return an epsilon as the bound of an answer."""
    return Sentence("answer.bound", epsilon=epsilon)


def assess_equal_rows(
    epsilon: float, what: Sentence, linked: Sentence = ROWS_ARE_LINKED
) -> tuple[Statement, ...]:
    """Return the answers where every user has the same number of rows, none of which is published as it was typed."""
    limit = bound(epsilon)
    return statements.assessment(
        singling_out=(LIMITED, Sentence("concepts.equal.singling-out", bound=limit)),
        linkability=(YES, Sentence("concepts.equal.linkability", linked=linked, bound=limit)),
        inference=(LIMITED, Sentence("concepts.equal.inference", bound=limit)),
        disclosed=Sentence("concepts.equal.disclosed"),
        **answers_for_each_person(what),
    )
