"""What an attack is, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import pyarrow as pa

from queryveil.display import cards
from queryveil.display.cards import Card, CardTable, counted, percent
from queryveil.mechanisms import Mechanism
from queryveil.privacy.noise import Noise

if TYPE_CHECKING:
    from queryveil.display.pictures import Picture
    from queryveil.reading.log import SearchLog
    from queryveil.release.publish import Release

CONFIDENCE = 0.95
INTERVAL = (
    "of the advantage, at 95 %: Clopper-Pearson intervals of success and control at 97.5 % each, "
    "so that both hold together"
)


Progress = Callable[[int, int], None]
Table = tuple[tuple[str, ...], ...]
"""A heading and rows, as texts."""


@dataclass(frozen=True, kw_only=True)
class AttackInput:
    """What an attack is let loose on: an argument of its command, or an option if it has several."""

    name: str
    kind: Literal["release", "log", "log-or-release", "file"]
    """What `run` receives: a Release, a SearchLog, either of them, or the path of a file."""
    help: str
    needed: bool = True
    option: bool = False
    """Given as `--name`, not by its place."""
    many: bool = False
    """Any number of them, as one list; then the last one that has a place."""


@dataclass(frozen=True, kw_only=True)
class Headline:
    """How one release fared, of several that were attacked at once; see AttackResult for what the fields are."""

    of: str
    """What the release is called in tables and sentences."""
    success: float
    control: float
    interval: tuple[float, float]
    trials: int


@dataclass(frozen=True, kw_only=True, repr=False)
class AttackResult:
    """How often an attack succeeded, how often its control did, and what that means.

    No text of a log is in it but in `examples`, which are empty unless somebody asked for them.
    """

    attack: str
    success: float
    control: float
    """The share of successes where what the attacker did, or looked for, is missing."""
    interval: tuple[float, float]
    """Of the advantage; see INTERVAL. Without trials success and control are exact, and so is this."""
    trials: int
    figures: Mapping[str, Any] = field(default_factory=dict)
    """What only this attack finds; the keys stand beside `success` in JSON."""
    table: Table = ()
    """The main table, for people."""
    more: tuple[tuple[str, Table], ...] = ()
    """Further tables, each with a title."""
    words: tuple[tuple[str, str], ...] = ()
    """Labels and sentences, for people."""
    examples: tuple[tuple[str, str], ...] = ()
    """What was found and where, in the log's own words: only if asked for."""
    each: Mapping[Path, Headline] = field(default_factory=dict)
    """Of an attack on several releases at once, how each of them fared, by its folder."""

    def about(self, release: Path) -> AttackResult:
        """The same with the headline of one release; as it is if that was not one of several."""
        folders = {folder.resolve(): one for folder, one in self.each.items()}
        own = folders.get(release.resolve())
        if own is None:
            return self
        return replace(
            self,
            success=own.success,
            control=own.control,
            interval=own.interval,
            trials=own.trials,
            figures={**self.figures, "of": own.of},
        )

    @property
    def advantage(self) -> float:
        return self.success - self.control

    def as_dict(self) -> dict[str, Any]:
        return {
            "attack": self.attack,
            "success": self.success,
            "control": self.control,
            "advantage": self.advantage,
            "interval": list(self.interval),
            "interval_is": INTERVAL if self.trials else "exact: nothing was simulated",
            "trials": self.trials,
            **self.figures,
            "words": {label: sentence for label, sentence in self.words if label},
            **({"examples": [list(one) for one in self.examples]} if self.examples else {}),
        }

    def _card(self) -> Card:
        low, high = self.interval
        facts: list[tuple[str, object]] = [
            ("success", percent(self.success)),
            ("control", percent(self.control)),
            ("advantage", f"{percent(self.advantage)} ({percent(low)} to {percent(high)})"),
            ("trials", counted(self.trials, "trial") if self.trials else "none: exact"),
        ]
        words = [f"{label}: {sentence}" if label else sentence for label, sentence in self.words]
        tables = [
            _card_table("Results", self.table),
            *(_card_table(title, table) for title, table in self.more),
        ]
        line = f"{self.attack}; success {percent(self.success)}, control {percent(self.control)}"
        return Card(f"Attack {self.attack}", line, facts, words, [one for one in tables if one.columns])

    def plot(self) -> Picture:
        """How often the attack succeeded, and how often its control did, as bars."""
        from queryveil.display import pictures

        rows = [
            ("attack", self.success, percent(self.success)),
            ("control", self.control, percent(self.control)),
        ]
        for one in self.each.values():
            rows.append((one.of, one.success, percent(one.success)))
        better = "better than" if self.interval[0] > 0 else "not shown to be better than"
        return pictures.bars(f"The attack {self.attack} is {better} its control", rows, "share of successes")

    __repr__ = cards.repr_of
    _repr_html_ = cards.html_of


class Attack(Protocol):
    """A way to break a release or a log. Implementations are frozen dataclasses with declared parameters."""

    name: ClassVar[str]
    inputs: ClassVar[tuple[AttackInput, ...]]

    @property
    def run(self) -> Callable[..., AttackResult]:
        """Called with what `inputs` declares, in that order, and `progress`: attack, run the control, compare."""


def simulate(table: pa.Table, method: Mechanism, noise: Noise | None = None) -> Release:
    """Publish a log that was made up, through the real mechanism."""
    from queryveil.reading.log import read
    from queryveil.release.publish import publish

    return publish(read(table), method, noise=noise, allow_empty=True, i_understand=True)


def origins(log: SearchLog, releases: Sequence[Release]) -> list[str]:
    """Refuse releases of another log; what speaks against one and is no proof is said."""
    from queryveil.measure import origin
    from queryveil.measure.measure import Original, Released

    original = Original(log)
    sides = [Released.from_release(release) for release in releases]
    return [
        f"{side.name}: {said}"
        for side in sides
        for said in origin.check_origin(original.match_grouping(side), side)
    ]


def clopper_pearson(hits: int, trials: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """The exact interval of a share."""
    from scipy.special import betaincinv

    outside = (1 - confidence) / 2
    low = float(betaincinv(hits, trials - hits + 1, outside)) if hits else 0.0
    high = float(betaincinv(hits + 1, trials - hits, 1 - outside)) if hits < trials else 1.0
    return low, high


def difference(
    success: tuple[int, int], control: tuple[int, int], confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """An interval of the difference of two shares, each given as hits and trials.

    Each share's interval misses with half the permitted probability, so that together they do not exceed it.
    """
    each = 1 - (1 - confidence) / 2
    (low, high), (control_low, control_high) = (
        clopper_pearson(*success, each),
        clopper_pearson(*control, each),
    )
    return low - control_high, high - control_low


def _card_table(title: str, table: Table) -> CardTable:
    return CardTable(title, table[0] if table else (), table[1:])
