"""Protects people: each mechanism says what it promises before any data is read, then turns a log into tables.

A mechanism is a frozen dataclass whose fields are its declared parameters; one file or package each, registered by one
line below. It can say what it promises without any data (`plan`), and turn a log into tables (`protect`). Command
line, contract tests, data sheet and docs follow from the declaration.

May import: errors, parameters, compiled, display, files, reading, count, privacy, language.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
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


class _Loaded(Mapping[str, type[Mechanism]]):
    """The mechanisms by name, each loaded when it is asked for: what one needs, others do without.

    The name is that of the class, in small letters with hyphens, so that it is known before.
    """

    def __init__(self, homes: Sequence[str]) -> None:
        self._homes = {_BEFORE_CAPITAL.sub("-", home.partition(":")[2]).lower(): home for home in homes}
        self._found: dict[str, type[Mechanism]] = {}

    def __getitem__(self, name: str) -> type[Mechanism]:
        if name not in self._found:
            module, _, cls = self._homes[name].partition(":")
            found = getattr(import_module(f"{__name__}.{module}"), cls)
            if found.name != name:
                raise TypeError(
                    f"{cls} says that its name is {found.name!r}, and its class that it is {name!r}"
                )
            self._found[name] = found
        return self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)

    def __contains__(self, name: object) -> bool:
        return name in self._homes


_BEFORE_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")
MECHANISMS: Mapping[str, type[Mechanism]] = _Loaded(_HOMES)

__all__ = ["MECHANISMS", "Mechanism", "Plan", "Run", "mechanism"]


def mechanism(name: str) -> type[Mechanism]:
    """The mechanism of that name."""
    if name not in MECHANISMS:
        raise UsageError(f"there is no method '{name}'", instead(name, MECHANISMS))
    return MECHANISMS[name]
