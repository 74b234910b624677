"""What the exposure attack finds in one log or release: counts, and how much chance explains."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from queryveil.attack.protocol import Headline, difference
from queryveil.language.spotting import is_readable

BACKWARDS: Final = "the same texts read backwards"
SHUFFLED: Final = "the same words shuffled between texts, which can make more names than chance does"


@dataclass(frozen=True, kw_only=True)
class Exposure:
    """What one log or release gives away. Numbers only."""

    name: str
    what: str
    ordered: bool
    linked_by: str | None
    """What a unit is: sessions, users, transactions, pairs of queries; None where nothing links texts."""
    texts: int
    occurrences: int
    units: int | None
    queries: Mapping[str, int]
    """Different texts by category and dangerous pair."""
    by_occurrence: Mapping[str, int]
    within: Mapping[str, int] | None
    """Units by category and dangerous pair."""
    names: int
    """Different names."""
    by_chance: int
    """Texts that name a person if read backwards; of texts without order, once words are shuffled between texts."""
    words_known: float | None = None
    """Share of its words that the lists know; None if it has no words."""
    correct: Mapping[str, Mapping[str, int] | None] | None = None
    """Of hashed texts: the same counts of what was read correctly."""

    @property
    def hits(self) -> int:
        """Texts that name a person; only what is truly so, where that is known."""
        queries = self.correct["queries"] if self.correct else self.queries
        return (queries or {})["person"]

    @property
    def success(self) -> float:
        return self.hits / self.texts if self.texts else 0.0

    @property
    def control(self) -> float:
        return self.by_chance / self.texts if self.texts else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        if not self.texts:
            return 0.0, 0.0
        return difference((self.hits, self.texts), (self.by_chance, self.texts))

    @property
    def headline(self) -> Headline:
        rates = {"success": self.success, "control": self.control}
        return Headline(of=self.name, **rates, interval=self.interval, trials=self.texts)

    def as_dict(self) -> dict[str, Any]:
        found = {
            "name": self.name,
            "what": self.what,
            "ordered": self.ordered,
            "linked_by": self.linked_by,
            "texts": self.texts,
            "occurrences": self.occurrences,
            "units": self.units,
            "names": self.names,
            "words_known": self.words_known,
            "readable": is_readable(self.words_known),
            "success": self.success,
            "control": self.control,
            "control_is": BACKWARDS if self.ordered else SHUFFLED,
            "advantage": self.success - self.control,
            "interval": list(self.interval),
            "counts": {
                "sessions": self.within,
                "queries": self.queries,
                "occurrences": self.by_occurrence,
            },
        }
        return found | ({"correct": self.correct} if self.correct else {})
