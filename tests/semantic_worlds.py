"""A small taxonomy with known similarities, and exact probabilities from integer weights."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import queryveil as qv
from queryveil.language.taxonomy.similarity import Domain
from queryveil.mechanisms.concept_profiles.draws import Exponential
from tests.conftest import at

FOOD = """fruit\tfood
meat\tfood
drink\tfood
apple\tfruit
orange\tfruit
blood orange\torange
beef\tmeat
veal\tbeef
tea\tdrink
green tea\ttea
coffee\tdrink
"""


@pytest.fixture
def food_file(tmp_path: Path) -> Path:
    file = tmp_path / "food.tsv"
    file.write_text(FOOD)
    return file


def sampler(
    taxonomy: qv.Taxonomy,
    root: str,
    criterion: str,
    topics: np.ndarray | None = None,
    *,
    tight: bool = False,
) -> Exponential:
    return Exponential(Domain.below(taxonomy, taxonomy.find_concept(root)), criterion, topics, tight=tight)


def weights(one: Exponential, place: int, epsilon: Fraction) -> list[int]:
    """The integer weight of every candidate for one concept, as they are drawn by."""
    return one.weights(epsilon)[one.codes(place)].tolist()


def probabilities(one: Exponential, place: int, epsilon: Fraction) -> list[Fraction]:
    found = weights(one, place, epsilon)
    return [Fraction(weight, sum(found)) for weight in found]


def history(**queries: list[str]) -> pa.Table:
    """A log of users and their queries, a minute apart."""
    rows = [(user, at(minute), text) for user, texts in queries.items() for minute, text in enumerate(texts)]
    user, time, query = zip(*rows, strict=True)
    return pa.table({"user": list(user), "time": list(time), "query": list(query)})
