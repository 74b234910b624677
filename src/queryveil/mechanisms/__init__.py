"""Protects people: each mechanism says what it promises before any data is read, then turns a log into tables.

A mechanism is a frozen dataclass whose fields are its declared parameters; one file or package each, registered by one
line below. It can say what it promises without any data (`plan`), and turn a log into tables (`protect`). Command
line, contract tests, data sheet and docs follow from the declaration.

May import: errors, parameters, reading, count, privacy, language.
"""

from __future__ import annotations

from queryveil.errors import UsageError, instead
from queryveil.mechanisms.ad_hoc.ad_hoc import AdHoc
from queryveil.mechanisms.base import Mechanism, Plan, Run
from queryveil.mechanisms.click_graph.click_graph import ClickGraph
from queryveil.mechanisms.k_keyword import KKeyword
from queryveil.mechanisms.k_query import KQuery
from queryveil.mechanisms.k_session.k_session import KSession
from queryveil.mechanisms.profile_histogram.profile_histogram import ProfileHistogram
from queryveil.mechanisms.semantic.semantic import Semantic
from queryveil.mechanisms.token_hash import TokenHash
from queryveil.mechanisms.transactions.clump import Clump
from queryveil.mechanisms.transactions.partition import Partition
from queryveil.mechanisms.zealous.zealous import Zealous

MECHANISMS: dict[str, type[Mechanism]] = {
    cls.name: cls
    for cls in (
        Zealous,
        ClickGraph,
        KQuery,
        KSession,
        KKeyword,
        TokenHash,
        AdHoc,
        Clump,
        Partition,
        Semantic,
        ProfileHistogram,
    )
}

__all__ = [
    "MECHANISMS",
    "AdHoc",
    "ClickGraph",
    "Clump",
    "KKeyword",
    "KQuery",
    "KSession",
    "Mechanism",
    "Partition",
    "Plan",
    "ProfileHistogram",
    "Run",
    "Semantic",
    "TokenHash",
    "Zealous",
    "mechanism",
]


def mechanism(name: str) -> type[Mechanism]:
    """The mechanism of that name."""
    if name not in MECHANISMS:
        raise UsageError(f"there is no method '{name}'", instead(name, MECHANISMS))
    return MECHANISMS[name]
