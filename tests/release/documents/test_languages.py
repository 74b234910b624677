"""Documents in other languages: each catalog has every sentence, and a certificate has no English in it."""

from __future__ import annotations

import re
import string
from pathlib import Path
from typing import Any

import pytest

import queryveil as qv
from queryveil import catalog
from queryveil.privacy.statements import Statement
from tests.conftest import many

OTHERS = [
    (version, one) for version in catalog.versions() for one in catalog.languages(version) if one != "en"
]


def fields_of(entry: Any) -> set[str]:
    """The fields of a sentence, in any of its forms."""
    forms = entry.values() if isinstance(entry, dict) else [entry]
    return {name for form in forms for _, name, _, _ in string.Formatter().parse(form) if name}


@pytest.mark.parametrize(("version", "language"), OTHERS)
def test_a_language_has_every_sentence_with_the_same_fields(version: int, language: str) -> None:
    english = catalog.open_catalog(version).entries
    other = catalog.open_catalog(version, language).entries
    assert set(english) == set(other)
    assert [id for id in english if fields_of(english[id]) != fields_of(other[id])] == []


def test_every_sentence_that_code_names_is_in_the_catalog_once() -> None:
    source = Path(qv.__file__).parent
    code = "\n".join(file.read_text(encoding="utf-8") for file in source.rglob("*.py"))
    named = set(re.findall(r'Sentence\(\s*"([^"]+)"', code))
    documents, shown = set(catalog.open_catalog().entries), set(catalog.messages())
    assert len(named) > 300 and named <= documents | shown
    assert not documents & shown


def texts(release: Path) -> set[str]:
    """The texts of the first sheet of the report."""
    page = (release / "report.html").read_text(encoding="utf-8")
    sheet = page[page.index('<div class="certificate') : page.index("<nav")]
    sheet = re.sub("<code>.*?</code>", "", sheet)
    return {one.strip() for one in re.findall(r">([^<]*[^\W\d_]{2}[^<]*)<", sheet)}


def test_a_german_certificate_is_german_and_verifies(tmp_path: Path) -> None:
    log = qv.read(many(300, ["apples", "pears"]))
    about = qv.About(title="Beispiel", publisher="Musterverlag", licence="CC-BY-4.0")
    made = qv.publish(log, qv.Steered(epsilon=1, delta=1e-6, max_items=2), out=tmp_path / "en", about=about)
    made.save(tmp_path / "de", language="de")
    assert qv.verify(tmp_path / "de").passes
    same = texts(tmp_path / "en") & texts(tmp_path / "de")
    assert same == {"Musterverlag", "CC-BY-4.0", "Name"}
    assert '<html lang="de">' in (tmp_path / "de" / "report.html").read_text(encoding="utf-8")
    assert qv.load(tmp_path / "de").guarantee == made.guarantee


def test_a_language_without_a_catalog_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    made = qv.publish(qv.read(many(300, ["apples"])), qv.Steered(epsilon=4, delta=1e-6, max_items=2))
    with pytest.raises(qv.UsageError):
        made.save(tmp_path / "out", language="xx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", list(qv.MECHANISMS))
def test_statements_are_read_back_as_they_were_said(name: str) -> None:
    """A code of the catalog has one sentence, so a method that says something else needs another code."""
    method = qv.MECHANISMS[name](**qv.MECHANISMS[name].example)
    guarantee = method.plan(users=1_000).guarantee
    for one in (*guarantee.assumptions, *guarantee.caveats):
        assert Statement.from_dict(one.as_dict()) == one
