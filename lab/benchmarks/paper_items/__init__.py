"""What each table and figure of the five papers says, and what is found here: one module a paper.

A row's `ours` is read from docs/evidence, or computed by the package. It is never typed in. The paper's figure is
typed, with the place where it stands. `agrees` decides from the evidence: the page cannot say more
than the evidence does.

To add a paper, write a module with a value `PAPER` and name it in `papers`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import kept_findings

from queryveil_lab.studies.declaration import Findings

EVIDENCE = Path(__file__).parents[2] / "docs" / "evidence"
PRODUCT = Path(__file__).parents[3] / "docs" / "evidence"
"""Evidence of queryveil itself."""


@dataclass(frozen=True)
class Evidence:
    """The JSON files of docs/evidence, and the questions that rows ask them."""

    folder: Path = EVIDENCE
    _read: dict[str, Any] = field(default_factory=dict, repr=False, compare=False)

    def part(self, name: str) -> Any:
        """What a part found."""
        if name not in self._read:
            file = self.folder / f"{name}.json"
            file = file if file.is_file() else PRODUCT / f"{name}.json"
            self._read[name] = json.loads(file.read_text(encoding="utf-8"))["figures"]
        return self._read[name]

    def found(self, study: str) -> Findings:
        """What is kept of a study of the docs, on the log of its page."""
        if (name := f"findings/{study}") not in self._read:
            self._read[name] = kept_findings.read(study)
        return cast("Findings", self._read[name])

    def points(self, part: str, study: str | None = None, **where: object) -> list[Mapping[str, Any]]:
        """The points of a study at which some columns have these values."""
        found = self.part(part)
        listed = found["studies"][study]["points"] if study else found["points"]
        return [one for one in listed if all(one.get(name) == value for name, value in where.items())]

    def value(self, part: str, study: str | None, metric: str, **where: object) -> float:
        """The one value of a metric at a point."""
        found = [one[metric] for one in self.points(part, study, **where) if metric in one]
        if len(found) != 1:
            raise LookupError(f"{part}, {study}: {len(found)} values of {metric} at {where}")
        return float(found[0])

    def line(
        self, part: str, study: str | None, metric: str, along: str, **where: object
    ) -> dict[Any, float]:
        """A metric along an axis; the mean where a point has several values."""
        found: dict[Any, list[float]] = {}
        for one in self.points(part, study, **where):
            if metric in one:
                found.setdefault(one[along], []).append(one[metric])
        if not found:
            raise LookupError(f"{part}, {study}: no {metric} along {along} at {where}")
        return {at: sum(values) / len(values) for at, values in found.items()}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One finding of a table or figure, and what is found here."""

    item: str
    """The table or figure as the paper numbers it: "Table 3A", "Figure 2"."""
    what: str
    """What is compared, with its unit."""
    paper: str
    """What the paper has. Figures read off a drawing say so."""
    ours: Callable[[Evidence], str] | None = None
    """What is found here; None if it is not repeated."""
    agrees: Callable[[Evidence], bool] | None = None
    """Whether that is what the paper found; None if it is not repeated."""
    differs: str | Callable[[Evidence], str] = ""
    """Why it differs, with figures of an experiment where one was made. Nothing stands for: it is not known why."""
    left_out: str = ""
    """Why it is not repeated."""
    note: str | Callable[[Evidence], str] = ""
    """What a reader of the row must know in any case."""

    def reason(self, evidence: Evidence) -> str | None:
        """Why it differs: nothing if it does not, and no words if that is not known."""
        if self.agrees is None or self.agrees(evidence):
            return None
        return _told(self.differs, evidence)

    def verdict(self, evidence: Evidence) -> str:
        """What the row's last column says."""
        note = f"; {_told(self.note, evidence)}" if self.note else ""
        if self.agrees is None:
            return f"not repeated: {self.left_out}{note}"
        if self.agrees(evidence):
            return f"**agrees**{note}"
        return f"**differs**: {_told(self.differs, evidence) or 'it is not known why'}{note}"


def _told(words: str | Callable[[Evidence], str], evidence: Evidence) -> str:
    return words if isinstance(words, str) else words(evidence)


@dataclass(frozen=True, kw_only=True)
class Paper:
    """A paper, what it has, and its rows."""

    name: str
    """Authors and year."""
    key: str
    """Its place in docs/references.md."""
    page: str
    """What the paper is about, in a sentence."""
    tables: tuple[str, ...]
    figures: tuple[str, ...]
    rows: tuple[Row, ...]
    studies: Mapping[str, str] = field(default_factory=dict)
    """The study whose page shows a table or figure. What a study does not repeat is on the page of all papers only."""
    drawn: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Figures of the docs that repeat a table or figure: its number, and words by which its rows are known."""

    def of_figure(self, name: str) -> list[Row]:
        """The rows that a figure of the docs repeats."""
        item, words = self.drawn[name]
        return [row for row in self.rows if _is_of(row.item, item) and words in row.what]

    def of_study(self, study: str) -> list[Row]:
        """The rows that the page of a study shows."""
        own = [item for item, name in self.studies.items() if name == study]
        return [row for row in self.rows if any(_is_of(row.item, item) for item in own)]

    def missing(self) -> list[str]:
        """Tables and figures that have no row."""
        named = [row.item for row in self.rows]
        return [one for one in (*self.tables, *self.figures) if not any(_is_of(item, one) for item in named)]

    def strangers(self) -> list[str]:
        """Rows of tables and figures that the paper does not have."""
        known = (*self.tables, *self.figures)
        return [row.item for row in self.rows if not any(_is_of(row.item, one) for one in known)]


def _is_of(item: str, whole: str) -> bool:
    """Table 3A is a part of table 3, and table 30 is not."""
    rest = item.removeprefix(whole)
    return item.startswith(whole) and not rest[:1].isdigit()


def numbered(kind: str, last: int) -> tuple[str, ...]:
    """All tables, or all figures, up to the last."""
    return tuple(f"{kind} {number}" for number in range(1, last + 1))


def papers() -> Iterator[Paper]:
    """Those that have rows, in the order of the page."""
    import importlib

    for name in ("goetz", "kumar", "clump", "semantic", "korolova"):
        if (Path(__file__).parent / f"{name}.py").is_file():
            yield importlib.import_module(f"paper_items.{name}").PAPER
