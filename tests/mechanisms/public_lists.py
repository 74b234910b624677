"""What tests of public lists share: a list, a log, every method that takes a list, and noise that can be watched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import queryveil as qv
from tests.conftest import many
from tests.seeded import SeededBits

LISTED, OFF = 2_003, 2
"""Items of the list, and items of the log that are off it."""
Made = qv.Zealous | qv.Steered | qv.WeightedGaussian | qv.TruncatedGeometric | qv.ClickGraph
METHODS: dict[str, tuple[type[Made], dict[str, Any]]] = {
    "zealous": (qv.Zealous, {}),
    "zealous, probabilistic": (qv.Zealous, {"guarantee": "probabilistic"}),
    "steered": (qv.Steered, {}),
    "steered, replaced": (qv.Steered, {"neighbours": "replace"}),
    "weighted": (qv.WeightedGaussian, {}),
    "weighted, replaced": (qv.WeightedGaussian, {"neighbours": "replace"}),
    "truncated": (qv.TruncatedGeometric, {}),
    "truncated, replaced": (qv.TruncatedGeometric, {"neighbours": "replace", "max_items": 2}),
    "graph": (qv.ClickGraph, {"max_queries": 2}),
    "graph of users": (qv.ClickGraph, {"max_queries": 2, "count_by": "users"}),
    "graph, fresh": (qv.ClickGraph, {"max_queries": 2, "counts": "fresh", "epsilon_counts": 1}),
    "steered graph": (qv.ClickGraph, {"selection": "steered", "shares": (80, 0, 20)}),
    "steered graph, replaced": (
        qv.ClickGraph,
        {"selection": "steered", "shares": (100, 0, 0), "neighbours": "replace"},
    ),
}


def method(which: str, catalogue: Path | None, **given: Any) -> Made:
    cls, usual = METHODS[which]
    parameters: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, **usual}
    parameters |= {} if catalogue is None else {"public": str(catalogue)}
    made: Made = cls(**(parameters | given))
    return made


def write_catalogue(file: Path) -> Path:
    """Some items that people have, and 2,000 that nobody has."""
    decoys = "".join(f"decoy {number}\n" for number in range(2_000))
    file.write_text("Flu\nmeasles\nrare\n" + decoys, "utf-8")
    return file


def of_items(parts: list[tuple[int, str]]) -> pa.Table:
    """A log in which so many users made each query, every user one."""
    return pa.concat_tables([many(users, [item], prefix=item) for users, item in parts])


def rows(unlisted: int = 25) -> pa.Table:
    parts = [
        (300, "flu"),
        (25, "measles"),
        (unlisted, "not on the list"),
        (3, "unlisted and rare"),
        (1, "rare"),
    ]
    return of_items(parts)


def published(made: Made, log: qv.SearchLog, seed: int = 1, noise: qv.Noise | None = None) -> dict[str, int]:
    """Queries of the first table, with their counts."""
    noise = noise or qv.Noise(SeededBits(seed))
    release = qv.publish(log, made, noise=noise, i_understand=True, allow_empty=True)
    table = next(iter(release.tables.values()))
    return {row["query"]: row["count"] for row in table.to_pylist()}


class CountedNoise(qv.Noise):
    """How many values are drawn each time."""

    def __init__(self, seed: int = 1) -> None:
        super().__init__(SeededBits(seed))
        self.drawn: list[int] = []

    def discrete_laplace(self, scale: Any, size: int) -> NDArray[np.int64]:
        self.drawn.append(size)
        return super().discrete_laplace(scale, size)

    def selection_noise(self, scale: float, item_delta: float, size: int) -> NDArray[np.int64]:
        self.drawn.append(size)
        return super().selection_noise(scale, item_delta, size)

    def rounded_normal(self, scale: int, size: int) -> NDArray[np.int64]:
        self.drawn.append(size)
        return super().rounded_normal(scale, size)


class NoNoise(qv.Noise):
    """What would be published if no noise were drawn."""

    def __init__(self) -> None:
        super().__init__(SeededBits(1))

    def discrete_laplace(self, scale: Any, size: int) -> NDArray[np.int64]:
        return np.zeros(size, np.int64)

    def selection_noise(self, scale: float, item_delta: float, size: int) -> NDArray[np.int64]:
        return np.zeros(size, np.int64)

    def rounded_normal(self, scale: int, size: int) -> NDArray[np.int64]:
        return np.zeros(size, np.int64)
