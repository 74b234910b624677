"""What a cell finds where a log is published and each release is looked at: the loop that such studies share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from queryveil.measure.measure import Original, Released
from queryveil.mechanisms import Mechanism
from queryveil.privacy.guarantee import K_ANONYMITY
from queryveil.reading.log import SearchLog
from queryveil.release.publish import Release, publish
from queryveil.study.declaration import MEASURED, Cell, Given, Row


def releases(log: SearchLog, method: Mechanism, repeats: int) -> Iterator[tuple[int, Release]]:
    """So many releases of a log, or one where nothing in it is random."""
    for repeat in range(repeats):
        # What nothing survives in is an answer too. A paper's delta may be no promise for a log of this size:
        # that is for a study, and for nobody else.
        made = publish(log, method, allow_empty=True, i_understand=True)
        yield repeat, made
        if made.guarantee.kind == K_ANONYMITY:
            return


def row(metric: str, value: float, **labels: str) -> Row:
    return {"metric": metric, "value": value, **labels}


@dataclass(frozen=True)
class Releases:
    """The `measure` of a study: how a cell is published, and the rows that are taken from each release."""

    mechanism: Callable[[Cell], Mechanism]
    taken: Callable[[Original, Released, Cell, int], Iterable[Row]]
    """From the log, the release, the cell, and the number of the run."""

    def __call__(self, original: Original, given: Given, cell: Cell) -> Iterator[Row]:
        for repeat, made in releases(original.log, self.mechanism(cell), given.repeats):
            for found in self.taken(original, Released.of(made), cell, repeat):
                yield {"how": MEASURED, "repeat": repeat, **found}
