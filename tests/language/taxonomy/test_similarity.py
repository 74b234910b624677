"""Similarity by shared ancestors: exact fractions, the same as by definition, and topics that do not overlap."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import queryveil as qv
from queryveil.language.taxonomy.similarity import Domain
from queryveil.language.taxonomy.topics import Topics, root_named
from tests.semantic_worlds import food_file

__all__ = ["food_file"]


def by_definition(domain: Domain, one: int, other: int) -> Fraction:
    inside = set(domain.concepts.tolist())
    sets = [
        set(domain.taxonomy.all_ancestors(int(domain.concepts[place])).tolist()) & inside
        for place in (one, other)
    ]
    return Fraction(len(sets[0] & sets[1]), len(sets[0] | sets[1]))


@pytest.mark.parametrize("root", ["sport", "social event", "disease", "abstraction"])
def test_codes_are_the_fractions_of_the_definition(root: str) -> None:
    nouns = qv.Taxonomy.wordnet()
    domain = Domain.below(nouns, root_named(nouns, root))
    chosen = np.random.default_rng(1)
    for one in chosen.integers(0, len(domain), 15).tolist():
        codes = domain.similarity_codes(one)
        assert codes[one] == 0 and domain.fractions[0] == 1
        for other in chosen.integers(0, len(domain), 30).tolist():
            assert domain.fractions[codes[other]] == by_definition(domain, one, other)
            assert domain.similarity_codes(other)[one] == codes[other]


@pytest.mark.parametrize("root", ["sport", "social event", "disease"])
def test_the_least_similarity_is_that_of_all_pairs(root: str) -> None:
    nouns = qv.Taxonomy.wordnet()
    domain = Domain.below(nouns, root_named(nouns, root))
    assert domain.least_code == max(int(domain.similarity_codes(place).max()) for place in range(len(domain)))


def test_ancestors_count_on_all_paths_and_inside_the_domain_only() -> None:
    nouns = qv.Taxonomy.wordnet()
    domain = Domain.below(nouns, nouns.find_concept("animal.n.01"))
    dog = int(domain.places(np.array([nouns.find_concept("dog.n.01")]))[0])
    above = nouns.labels(domain.concepts[domain.ancestors(dog)])
    assert {"dog.n.01", "domestic_animal.n.01", "canine.n.02", "animal.n.01"} <= set(above)
    assert "entity.n.01" not in above


def test_similarity_of_a_file(food_file: Path) -> None:
    food = qv.Taxonomy.from_file(food_file)
    domain = Domain.below(food, 0)
    place = {label: number for number, label in enumerate(food.labels(domain.concepts))}
    codes = domain.similarity_codes(place["apple"])
    assert domain.fractions[codes[place["orange"]]] == Fraction(2, 4)
    assert domain.fractions[codes[place["blood orange"]]] == Fraction(2, 5)
    assert domain.least_similarity == Fraction(
        1, 7
    )  # blood orange and veal, green tea: 4 ancestors each, one in common
    sim = 1 - math.log2(2 - domain.least_similarity)
    assert 0 < sim < 1


def test_concepts_outside_have_no_place() -> None:
    nouns = qv.Taxonomy.wordnet()
    domain = Domain.below(nouns, nouns.find_concept("disease.n.01"))
    dog, disease = nouns.find_concept("dog.n.01"), nouns.find_concept("disease.n.01")
    places = domain.places(np.array([dog, -1, disease])).tolist()
    assert places[:2] == [-1, -1] and domain.concepts[places[2]] == disease


def test_a_word_names_its_widest_sense() -> None:
    nouns = qv.Taxonomy.wordnet()
    assert nouns.label(root_named(nouns, "abstraction")) == "abstraction.n.06"
    assert nouns.label(root_named(nouns, "abstraction.n.01")) == "abstraction.n.01"
    assert nouns.label(root_named(nouns, "diseases")) == "disease.n.01"
    with pytest.raises(qv.UsageError, match=r"no concept .abstracton..*close names are abstraction"):
        root_named(nouns, "abstracton")


def test_topics_are_apart_and_below_their_roots() -> None:
    nouns = qv.Taxonomy.wordnet()
    names = ("skin disease", "communicable disease", "inflammatory disease")
    topics = Topics(nouns, names)
    for number, root in enumerate(topics.roots):
        below = set(nouns.below(root, graph=True).tolist())
        assert set(topics.concepts(number).tolist()) <= below
        assert set(nouns.below(root).tolist()) <= set(topics.concepts(number).tolist())
    both = set(nouns.below(topics.roots[0], graph=True).tolist())
    both &= set(nouns.below(topics.roots[2], graph=True).tolist())
    assert both, "in the graph these overlap, and each concept has one topic all the same"
    assert topics.labels[0] == "skin_disease.n.01"


@pytest.mark.parametrize(
    "names", [("disease", "skin disease"), ("skin disease", "disease"), ("sport", "sport")]
)
def test_topics_that_overlap_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(qv.UsageError, match="topics overlap"):
        Topics(qv.Taxonomy.wordnet(), names)
