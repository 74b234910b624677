"""What the texts of a release are, by method, and how labels of concepts are read."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import queryveil as qv
from queryveil.language.taxonomy import Taxonomy
from queryveil.privacy.declarations import EDITED, HASHES, LABELS, TYPED
from queryveil.release.published_texts import as_read
from tests.conftest import many


def read(text: str, between: str = " ") -> str:
    return str(as_read(pa.array([text]), between)[0].as_py())


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("cancer.n.01", "cancer"),
        ("heart_attack.n.01", "heart attack"),
        ("measles.n.01, table_tennis.n.12", "measles table tennis"),
        ("cheap measles.n.01 near tennis.n.02 here", "cheap measles near tennis here"),
        ("measles.n.01?", "measles?"),
        ("alzheimer's_disease.n.01", "alzheimer's disease"),
        # Names of a taxonomy of one's own have no sense.
        ("Heart Attack, Tennis", "heart attack tennis"),
        ("heart_attack", "heart attack"),
        ("ＤＩＳＥＡＳＥ", "disease"),
        # What is no sense stays.
        ("www.n.01.com", "www.n.01.com"),
        ("vitamin n.01b", "vitamin n.01b"),
    ],
)
def test_labels_are_read_as_somebody_types_them(label: str, words: str) -> None:
    assert read(label) == words


def test_concepts_can_be_kept_apart() -> None:
    assert read("karen.n.01, walsh.n.01", " , ") == "karen , walsh"


def test_every_concept_of_wordnet_loses_its_sense_and_nothing_else() -> None:
    taxonomy = Taxonomy.wordnet()
    labels = taxonomy.labels(range(len(taxonomy)))
    found = as_read(pa.array(labels)).to_pylist()
    assert found == [qv.normalise(label.rsplit(".n.", 1)[0].replace("_", " ")) for label in labels]


@given(st.lists(st.text(max_size=20), max_size=5))
def test_what_is_read_is_in_normal_form(texts: list[str]) -> None:
    found = as_read(pa.chunked_array([texts[:2], texts[2:]], pa.string())).to_pylist()
    assert found == [qv.normalise(one) for one in found] and len(found) == len(texts)


def test_what_the_texts_of_each_method_are() -> None:
    log = qv.read(many(6, ["cancer help", "heart attack"]))
    made: dict[str, list[qv.Mechanism]] = {
        TYPED: [qv.KQuery(k=2), qv.KKeyword(k=2), qv.KSession(k=2)],
        EDITED: [qv.AdHoc(steps=("delete-users", "scrub"))],
        LABELS: [
            qv.Semantic(epsilon=1),
            qv.ProfileHistogram(epsilon=1, max_queries=2),
            qv.Clump(k=2),
            qv.Partition(k=2),
        ],
        HASHES: [qv.TokenHash()],
    }
    for form, methods in made.items():
        for method in methods:
            release = qv.publish(log, method, i_understand=True)
            assert release.plan.texts == form, method.name
            labelled = [text for text in published(release) if ".n." in text]
            assert bool(labelled) == (form == LABELS), method.name
    counted = qv.Zealous(epsilon=1, delta=1e-3, max_items=1, guarantee="probabilistic")
    assert counted.plan(users=10).texts == TYPED


def published(release: qv.Release) -> list[str]:
    texts: list[str] = []
    for table in release.tables.values():
        for column in table.column_names:
            if column in {"query", "prefix", "keyword"}:
                texts += table[column].to_pylist()
            elif column == "items":
                texts += [one for items in table[column].to_pylist() for one in items]
    return texts


def test_a_release_that_was_written_says_it_too(tmp_path: Path) -> None:
    log = qv.read(many(4, ["cancer help"]))
    qv.publish(log, qv.Semantic(epsilon=1), out=tmp_path / "release")
    assert qv.load(tmp_path / "release").plan.texts == LABELS
