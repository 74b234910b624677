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
from tests.command import command
from tests.conftest import at, many

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


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "log.tsv"
    rows = [f"{user}\t{at(5)}\tapples" for user in range(400)]
    file.write_text("\n".join(["user\ttime\tquery", *rows]) + "\n", encoding="utf-8")
    return file


DAY = "2026-01-01"
OPTIONS = ["--epsilon", "4", "--delta", "1e-6", "--max-items", "2"]
"""Of the method steered."""


def is_german(page: Path) -> bool:
    return '<html lang="de">' in page.read_text(encoding="utf-8")


def english_sentences(page: Path) -> list[str]:
    """Whole English sentences of the catalog that a page has."""
    sentences = [one for one in catalog.open_catalog().entries.values() if isinstance(one, str)]
    text = page.read_text(encoding="utf-8")
    return [one for one in sentences if len(one) > 20 and "{" not in one and one in text]


def test_the_command_line_publishes_in_german(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    made = command("publish", "steered", str(log), *OPTIONS, "--out", str(out), "--language", "de", "--json")
    assert made.code == 0, made
    assert is_german(out / "report.html") and qv.verify(out).passes
    assert english_sentences(out / "report.html") == english_sentences(out / "DATASHEET.md") == []
    assert qv.load(out).language == "de"


def test_a_language_is_suggested_before_the_log_is_read(log: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    made = command("publish", "steered", str(log), *OPTIONS, "--out", str(out), "--language", "dee")
    assert made.code == 2 and re.search(r"\bde\b", made.err)
    assert not out.exists()


def test_a_recipe_publishes_in_german(log: Path, tmp_path: Path) -> None:
    steered = {"epsilon": 4, "delta": 1e-6, "max_items": 2}
    named = dict.fromkeys(("title", "publisher", "contact", "licence", "purpose", "period"), "Beispiel")
    recipe = qv.Recipe(
        log=(str(log),),
        columns={"user": "user", "time": "time", "query": "query"},
        columns_confirmed=True,
        method="steered",
        parameters=steered,
        out=str(tmp_path / "out"),
        language="de",
        about=qv.About(**named, language="en"),
    )
    recipe.write(tmp_path / "release.yaml")
    assert qv.Recipe.read(tmp_path / "release.yaml") == recipe
    made = qv.publish_recipe(tmp_path / "release.yaml")
    assert made.path is not None and is_german(made.path / "report.html") and qv.verify(made.path).passes
    with pytest.raises(qv.UsageError):
        qv.Recipe(log=("log.tsv",), method="steered", parameters=steered, language="xx")


def test_a_series_has_an_index_and_releases_in_one_language(log: Path, tmp_path: Path) -> None:
    made = qv.publish_series(
        qv.read(log),
        qv.Steered(epsilon=4, delta=1e-6, max_items=2),
        name="apples",
        period="day",
        start=DAY,
        end=DAY,
        out=tmp_path / "series",
        language="de",
        allow_incomplete_period=True,
    )
    assert is_german(made.path / "index.html") and is_german(made.releases[DAY] / "report.html")
    assert qv.verify(made.path).passes
    assert english_sentences(made.path / "index.html") == []
    changed = (made.path / "index.html").read_text(encoding="utf-8").replace('lang="de"', 'lang="en"')
    (made.path / "index.html").write_text(changed, encoding="utf-8")
    assert not qv.verify(made.path).passes


def test_rows_withheld_from_a_german_release_leave_it_german(tmp_path: Path) -> None:
    made = qv.publish(
        qv.read(many(300, ["apples", "pears"])),
        qv.Steered(epsilon=4, delta=1e-6, max_items=2),
        out=tmp_path / "whole",
        language="de",
    )
    assert made.language == "de"
    qv.withhold(tmp_path / "whole", ["pears"], tmp_path / "rest")
    assert is_german(tmp_path / "rest" / "report.html") and qv.verify(tmp_path / "rest").passes


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
