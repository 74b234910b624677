"""The shipped nouns: made by the script, with the figures of WordNet 3.0, and looked up as WordNet does."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import queryveil as qv
from queryveil.language.taxonomy import wordnet

SCRIPT = Path(__file__).parents[3] / "scripts" / "build_wordnet.py"
DATABASE = Path("/usr/share/wordnet")
DIGEST = "e3c7838ed6395a400fc8617074c0ee86"
"""The beginning of the SHA-256 of the shipped arrays."""

HEAD = "  1 Licence of the database.  \n  2   \n  3 Second paragraph.  \n"
LINKS = "003 + 00000001 v 0101 @ 00000030 n 0000 @ 00000020 n 0000"
DATA = f"""\
00000010 03 n 01 thing 0 001 ~ 00000020 n 0000 | all there is
00000020 03 n 02 Animal 0 beast 0 002 @ 00000010 n 0000 ~ 00000040 n 0000 | lives
00000030 03 n 01 pet 1 001 @ 00000010 n 0000 | liked
00000040 03 n 0a dog 0 d2 0 d3 0 d4 0 d5 0 d6 0 d7 0 d8 0 d9 0 Hot_Dog 0 {LINKS} | barks | loud
00000050 03 n 01 Rex 0 001 @i 00000040 n 0000 | a dog
00000060 03 n 01 dog 1 001 @ 00000020 n 0000 | another
"""
LEMMAS = {
    "thing": [10],
    "animal": [20],
    "beast": [20],
    "pet": [30],
    "dog": [60, 40],
    **{f"d{number}": [40] for number in range(2, 10)},
    "hot_dog": [40],
    "rex": [50],
}


def build(database: Path, out: Path) -> tuple[bytes, bytes]:
    out.mkdir()
    command = [sys.executable, str(SCRIPT), "--database", str(database), "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True)
    return (out / wordnet.FILE).read_bytes(), (out / wordnet.LICENCE).read_bytes()


def shipped(name: str) -> bytes:
    return (wordnet.SHIPPED.parent / name).read_bytes()


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A database of six synsets, in WordNet's format."""
    database = tmp_path / "database"
    database.mkdir()
    (database / "data.noun").write_text(HEAD + DATA)
    index = (
        f"{lemma} n {len(offsets)} 1 @ {len(offsets)} 0 {' '.join(f'{o:08d}' for o in offsets)}  \n"
        for lemma, offsets in LEMMAS.items()
    )
    (database / "index.noun").write_text(HEAD + "".join(index))
    (database / "noun.exc").write_text("dogges dog\n")
    return database


def test_the_script_follows_the_documented_rules(small: Path, tmp_path: Path) -> None:
    made, licence = build(small, tmp_path / "out")
    arrays = wordnet.read_wordnet(tmp_path / "out" / wordnet.FILE)
    lexicon, hypernyms = wordnet.build_lexicon(arrays), wordnet.build_hypernyms(arrays)
    labels = [lexicon.label(node) for node in range(6)]
    # Siblings in file order; the dog that barks is below pet, its first hypernym, though animal is one too.
    assert labels == ["thing.n.01", "animal.n.01", "dog.n.01", "pet.n.01", "dog.n.02", "rex.n.01"]
    assert [[labels[up] for up in hypernyms.targets(node)] for node in range(6)] == [
        [],
        ["thing.n.01"],
        ["animal.n.01"],
        ["thing.n.01"],
        ["pet.n.01", "animal.n.01"],
        ["dog.n.02"],
    ]
    assert [labels[node] for node in lexicon.senses("dog")] == ["dog.n.01", "dog.n.02"]
    assert [labels[node] for node in lexicon.senses("hot_dog")] == ["dog.n.02"]
    assert lexicon.irregular == {"dogges": ["dog"]}
    assert arrays["offsets"].tolist() == [10, 20, 60, 30, 40, 50]
    assert licence == b"Licence of the database.\n\nSecond paragraph.\n"
    assert (made, licence) == build(small, tmp_path / "again")


def test_the_shipped_file_is_what_the_script_makes(tmp_path: Path) -> None:
    arrays = wordnet.read_wordnet()
    about = wordnet.describe_source(arrays)
    assert wordnet.array_digest(arrays) == about["digest"]
    assert about["digest"].startswith(DIGEST)
    assert b"Princeton University" in shipped(wordnet.LICENCE)
    files = [DATABASE / name for name in ("data.noun", "index.noun", "noun.exc")]
    # Where the very database is at hand, the file is made again; elsewhere the digest stands for it.
    if all(file.exists() for file in files):
        content = b"".join(file.read_bytes() for file in files)
        if hashlib.sha256(content).hexdigest() == about["database"]:
            made = build(DATABASE, tmp_path / "out")
            assert made == (shipped(wordnet.FILE), shipped(wordnet.LICENCE))


def test_figures_of_wordnet() -> None:
    nouns = qv.Taxonomy.wordnet()
    labels = nouns.labels(range(len(nouns)))
    assert len(nouns) == len(set(labels)) == 82_115
    first = Counter(label.rpartition(".n.")[0] for label in labels)
    assert sum(count for count in first.values() if count > 1) == 24_143
    assert labels[0] == "entity.n.01"
    assert (nouns.height, int(nouns.leaves_below[0])) == (20, 65_218)
    assert int((nouns.hypernyms.counts > 1).sum()) == 2_213
    words = nouns.lexicon.first
    assert len(words) == 117_798
    items = np.unique(list(words.values()))
    inner = nouns.size_below[items] > 1
    assert (len(items), round(float(inner.mean()), 3)) == (70_247, 0.196)


def test_every_label_finds_its_concept() -> None:
    nouns = qv.Taxonomy.wordnet()
    assert [nouns.find_label(label) for label in nouns.labels(range(len(nouns)))] == list(range(len(nouns)))


def test_every_lemma_finds_its_first_sense() -> None:
    nouns = qv.Taxonomy.wordnet()
    for form in list(nouns.lexicon.first)[::97]:
        node = nouns.node(form.replace("_", " "))
        assert node == nouns.senses(form)[0] and form in nouns.lexicon.first


@pytest.mark.parametrize(
    ("word", "label"),
    [
        ("dog", "dog.n.01"),
        ("Dog", "dog.n.01"),
        ("new york", "new_york.n.01"),
        ("new_york", "new_york.n.01"),
        ("  New   York ", "new_york.n.01"),
        ("dogs", "dog.n.01"),
        ("children", "child.n.01"),
        ("women", "woman.n.01"),
        ("firemen", "fireman.n.01"),
        ("buses", "bus.n.01"),
        ("boxes", "box.n.01"),
        ("churches", "church.n.01"),
        ("dishes", "dish.n.01"),
        ("cities", "city.n.01"),
        ("knives", "knife.n.01"),
        ("boxesful", "box.n.03"),
        ("hot dogs", "hotdog.n.01"),
        ("attorneys general", "attorney_general.n.01"),
        ("ice-cream", "ice_cream.n.01"),
        ("t shirt", "jersey.n.03"),
        ("x-rays", "x_ray.n.01"),
        ("glass", "glass.n.01"),
        ("glasses", "spectacles.n.01"),  # a form with an entry of its own is no plural
        ("men", "work_force.n.01"),
    ],
)
def test_words_are_found_in_any_usual_form(word: str, label: str) -> None:
    nouns = qv.Taxonomy.wordnet()
    node = nouns.node(word)
    assert node is not None and nouns.label(node) == label
    assert nouns.lookup([word, "xqzzt", word]).tolist() == [node, -1, node]


@pytest.mark.parametrize("word", ["xqzzt", "xqzzts", "", "  ", "_", "-", "dog.n.01", "new york xqzzt", "\n"])
def test_unknown_words_have_no_concept(word: str) -> None:
    assert qv.Taxonomy.wordnet().node(word) is None


@pytest.mark.parametrize(
    "label", ["dog", "dog.n.00", "dog.n.99", "dog.n.", "dog.n.-1", "dog.n.²", ".n.01", "dog.v.01"]
)
def test_labels_that_name_nothing(label: str) -> None:
    assert qv.Taxonomy.wordnet().find_label(label) is None


def test_a_sense_has_one_label_but_may_be_named_by_any_of_its_words() -> None:
    nouns = qv.Taxonomy.wordnet()
    node = nouns.find_label("scientific_discipline.n.01")
    assert node is not None and nouns.label(node) == "science.n.01"
    assert nouns.word(nouns.find_concept("ice cream")) == "ice cream"


def test_tree_and_graph() -> None:
    nouns = qv.Taxonomy.wordnet()
    dog = nouns.find_concept("dog")
    path = nouns.labels(nouns.ancestors(dog))
    assert path[:3] == ["dog.n.01", "canine.n.02", "carnivore.n.01"] and path[-1] == "entity.n.01"
    assert set(nouns.labels(nouns.all_ancestors(dog))) == {*path, "domestic_animal.n.01"}
    domestic = nouns.find_concept("domestic_animal.n.01")
    assert dog in nouns.below(domestic, graph=True) and dog not in nouns.below(domestic)


def test_instances_are_below_what_they_are_instances_of() -> None:
    nouns = qv.Taxonomy.wordnet()
    assert nouns.find_concept("city") in nouns.ancestors(nouns.find_concept("new york"))


def test_a_wrong_name_gets_close_ones() -> None:
    nouns = qv.Taxonomy.wordnet()
    assert "disease" in nouns.nearest_names("diseaze")
    assert "disease.n.01" in nouns.nearest_names("diseaze.n.01")
    assert len(nouns.nearest_names("dogg", n=2)) == 2
    with pytest.raises(qv.UsageError, match="'diseaze'") as caught:
        nouns.find_concept("diseaze")
    assert "disease" in caught.value.hint
    with pytest.raises(qv.UsageError, match="no name in it is close"):
        nouns.find_concept("zqxzqxzqxzqx")


def test_it_is_loaded_once_and_cannot_be_changed() -> None:
    nouns = qv.Taxonomy.wordnet()
    assert qv.Taxonomy.wordnet() is nouns
    with pytest.raises(ValueError, match="read-only"):
        nouns.parents[0] = 1
