"""Protects people: each mechanism says what it promises before any data is read, then turns a log into tables.

A mechanism is a frozen dataclass whose fields are its declared parameters; one file or package each, registered by one
line below. It can say what it promises without any data (`plan`), and turn a log into tables (`protect`). Command
line, contract tests, data sheet and docs follow from the declaration.

May import: errors, parameters, compiled, charts, reading, count, privacy, language.
"""

from __future__ import annotations

from importlib import import_module

from queryveil.errors import UsageError, instead
from queryveil.mechanisms.base import Mechanism, Plan, Run

_HOMES = (
    "steered.steered:Steered",
    "weighted_gaussian:WeightedGaussian",
    "zealous.zealous:Zealous",
    "click_graph.click_graph:ClickGraph",
    "k_query:KQuery",
    "k_session.k_session:KSession",
    "k_keyword:KKeyword",
    "token_hash:TokenHash",
    "ad_hoc.ad_hoc:AdHoc",
    "transactions.clump:Clump",
    "transactions.partition:Partition",
    "semantic.semantic:Semantic",
    "profile_histogram.profile_histogram:ProfileHistogram",
    "truncated_geometric.truncated_geometric:TruncatedGeometric",
)
"""Where each mechanism lives, module and class. A new one is one line here."""


def _mechanism(home: str) -> type[Mechanism]:
    module, _, name = home.partition(":")
    found: type[Mechanism] = getattr(import_module(f"{__name__}.{module}"), name)
    return found


MECHANISMS: dict[str, type[Mechanism]] = {cls.name: cls for cls in map(_mechanism, _HOMES)}

__all__ = ["MECHANISMS", "Mechanism", "Plan", "Run", "mechanism"]


def mechanism(name: str) -> type[Mechanism]:
    """The mechanism of that name."""
    if name not in MECHANISMS:
        raise UsageError(f"there is no method '{name}'", instead(name, MECHANISMS))
    return MECHANISMS[name]
