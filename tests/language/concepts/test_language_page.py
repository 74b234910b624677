"""The page about language: its example is run, its phrases and figures are the real ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import queryveil as qv
from queryveil.language.concepts import word_kinds

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "language.md").read_text(encoding="utf-8")


def test_the_example_prints_what_the_page_shows(capsys: pytest.CaptureFixture[str]) -> None:
    ((code, shown),) = re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", PAGE, re.DOTALL)
    exec(code, {})  # noqa: S102 (our own page)
    assert capsys.readouterr().out == shown


def test_the_phrases_in_the_table_are_found() -> None:
    rows = re.findall(r"^ {4}\| (`.*?) \| (.*?) \| .*? \|$", PAGE, re.MULTILINE)
    assert len(rows) == 9
    for queries, expected in rows:
        mapped = qv.map_to_concepts(re.findall("`(.*?)`", queries), qv.Taxonomy.wordnet(), parts=True)
        assert mapped.phrases.sum() == len(re.findall("`(.*?)`", expected))
        texts = [part.text for parts in mapped.parts for part in parts if part.role == "concept"]
        wanted = re.findall("`(.*?)`", expected)
        assert all(phrase.endswith(text) for phrase, text in zip(wanted, texts, strict=True))


def test_single_claims() -> None:
    nouns = qv.Taxonomy.wordnet()
    assert len(word_kinds._CORRECTED) == 35
    assert 80 <= len(word_kinds._OTHER_THING) < 90
    assert nouns.labels(qv.map_to_concepts(["new york hotels", "honda accord"], nouns).concepts) == [
        "hotel.n.01",
        "agreement.n.03",
    ]
    assert qv.map_to_concepts(["hotel qwertyson", "resturant"], nouns).unmapped.tolist() == [1, 1]
