"""The one normal form, and that the engines' ASCII rules agree with it."""

from __future__ import annotations

import doctest
import itertools
import unicodedata
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil as qv
from queryveil.reading import text


def test_examples_in_docstrings() -> None:
    assert doctest.testmod(text).failed == 0
    assert doctest.testmod(text).attempted >= 3


@pytest.mark.parametrize(
    ("raw", "normal"),
    [
        ("  Honda\t ACCORD  ", "honda accord"),
        ('"new york"', "new york"),
        ("'it''s'", "'it''s'"),
        ('"risk management" AND hospital', '"risk management" and hospital'),
        ('"video stores" AND "virginia"', '"video stores" and "virginia"'),
        ('monitor 19"', 'monitor 19"'),
        ("dogs'", "dogs'"),
        ('"the dog\'s bowl"', "the dog's bowl"),
        ("'\" ``new york`` \"'", "'\" ``new york`` \"'"),
        ("\"' new york '\"", "new york"),
        ("`new york'", "new york"),
        ("„Straße“", "strasse"),
        ("“new” york”", "“new” york”"),
        ('"', ""),
        ("ﬁnd ① Ｔｏｋｙｏ", "find 1 tokyo"),
        ("STRASSE straße", "strasse strasse"),
        ("a\x00b\x07c", "abc"),
        ("e\x00\u0301", "é"),
        ("«café»", "café"),
        ("", ""),
        ('" "', ""),
        ("İstanbul", unicodedata.normalize("NFKC", "i̇stanbul")),
        ("😀 smile", "😀 smile"),
    ],
)
def test_normal_forms(raw: str, normal: str) -> None:
    assert qv.normalise(raw) == normal


@given(st.text(max_size=30))
def test_a_normal_form_is_its_own_normal_form(raw: str) -> None:
    normal = qv.normalise(raw)
    assert qv.normalise(normal) == normal
    assert normal == normal.strip() and "  " not in normal
    assert not any(unicodedata.category(char) == "Cc" for char in normal)


@given(st.text(max_size=30))
def test_keywords_have_no_punctuation_at_their_ends(raw: str) -> None:
    for word in qv.keywords(qv.normalise(raw)):
        assert word and " " not in word
        assert unicodedata.category(word[0])[0] != "P" and unicodedata.category(word[-1])[0] != "P"


def test_symbols_are_part_of_words() -> None:
    assert qv.keywords("c++ $100 (used) #1 u.s.a.") == ["c++", "$100", "used", "1", "u.s.a"]


MARKS = ["", '"', "'", "`", '""', "\"'", "' \"", "'`"]
ASCII = st.text(st.characters(max_codepoint=127), max_size=12)


@settings(max_examples=15, deadline=None)
@given(st.lists(ASCII, min_size=30, max_size=60))
def test_duckdb_expression_agrees_with_the_function(raw: list[str]) -> None:
    _engine_agrees("duckdb", raw)


def test_spark_expression_agrees_with_the_function(spark: object) -> None:
    controls = [f"a{chr(code)}b {chr(code)}" for code in range(128)]
    ends = [f"{chr(code)}x y{chr(code)}" for code in range(128)]
    quoted = [f"{left} a {middle} b{right}" for left in MARKS for middle in MARKS for right in MARKS]
    mixed = [*quoted, "  A  b ", "''q''", '"', "` x `", "É à", "ﬁ", "\u2003wide\u2003", "", "c++ (x)"]
    _engine_agrees(spark, controls + ends + mixed)
    _engine_agrees("duckdb", controls + ends + mixed)


def _engine_agrees(engine: Any, raw: list[str]) -> None:
    users = [str(number) for number in range(len(raw))]
    log = qv.read(pa.table({"user": users, "query": raw}), engine=engine)
    found = log.engine.arrow(log.table.select("user", "query"))
    normal = dict(zip(found["user"].to_pylist(), found["query"].to_pylist(), strict=True))
    assert [normal[user] for user in users] == [qv.normalise(one) for one in raw]
    words = log.engine.arrow(qv.KINDS["keywords"].occurrences(log).distinct())
    seen = set(zip(words["user"].to_pylist(), words["keyword"].to_pylist(), strict=True))
    assert seen == {
        (user, word) for user, one in zip(users, raw, strict=True) for word in qv.keywords(qv.normalise(one))
    }


class Unicode(str):
    """A text that the definition takes the general way, whatever is in it."""

    def isascii(self) -> bool:
        return False


@pytest.mark.parametrize("size", range(6))
def test_ascii_has_the_normal_form_that_the_general_definition_gives(size: int) -> None:
    """Every text of so many characters: a letter, a capital, a blank, a tab, a control character, and the marks."""
    for parts in itertools.product("aB \t\0\"'`", repeat=size):
        raw = "".join(parts)
        assert text.normalise(raw) == text.normalise(Unicode(raw)), repr(raw)


def test_every_ascii_character_has_the_normal_form_that_the_general_definition_gives() -> None:
    for code in range(128):
        raw = f"a{chr(code)}{chr(code)}b{chr(code)}"
        assert text.normalise(raw) == text.normalise(Unicode(raw)), repr(raw)
