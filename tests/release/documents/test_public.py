"""The public report, the data sheet and the Croissant description: the guarantee first, and nothing but the release."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.catalog import open_catalog
from queryveil.release.documents import rendering
from tests.conftest import many
from tests.release.documents import pages


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return pages.publish_all(tmp_path_factory.mktemp("releases"))


class Text(HTMLParser):
    """The text of a page, in order, and its tags."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.tags: set[str] = set()
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        assert not any(name.startswith("on") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.parts.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.parts).split())


def read(release: Path) -> tuple[dict[str, Any], Text]:
    manifest = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    return manifest, Text((release / "report.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", list(pages.METHODS))
def test_the_page_has_what_people_look_for_the_guarantee_first(name: str, releases: dict[str, Path]) -> None:
    manifest, page = read(releases[name])
    text = page.text
    guarantee = qv.Guarantee.from_dict(manifest["guarantee"])
    say = open_catalog().say
    first = [say("about.publisher"), say("certificate.here"), guarantee.plain_words()]
    first += [say(f"certificate.{name}") for name in ("suspicion", "bounded", "not-hidden", "name")]
    then = [say(f"report.{name}") for name in ("law", "limits", "cite", "appendix", "done")]
    body = text[text.index(say("report.kind")) :]
    contents = body.index(say("report.appendix"))  # the list of contents names all of it first
    places = [body.find(one) for one in first] + [body.find(one, contents + 1) for one in then]
    assert -1 not in places and places == sorted(places)
    assert "script" not in page.tags and "svg" in page.tags
    for file, entry in manifest["files"].items():
        assert (entry["sha256"] in text) is (file != "report.html")


@pytest.mark.parametrize("name", list(pages.METHODS))
def test_the_page_says_all_that_the_data_sheet_says(name: str, releases: dict[str, Path]) -> None:
    text = read(releases[name])[1].text.replace("`", "")
    sheet = (releases[name] / "DATASHEET.md").read_text(encoding="utf-8")
    sentences = [line[2:] for line in sheet.splitlines() if line.startswith("- ")]
    assert len(sentences) > 5
    for sentence in sentences:
        said = sentence.split(": ", 1)[-1] if sentence.startswith(("Singling", "Link", "Infer")) else sentence
        assert " ".join(said[1:].split()) in text, sentence


@pytest.mark.parametrize("name", list(pages.METHODS))
def test_documents_follow_from_manifest_and_tables_alone(name: str, releases: dict[str, Path]) -> None:
    """Whoever has the release can write them again, so that they cannot hold more."""
    release = releases[name]
    manifest, _ = read(release)
    tables = {table: pq.read_table(release / f"{table}.parquet") for table in manifest["tables"]}
    for file in ("report.html", "DATASHEET.md", "croissant.json"):
        text = rendering.render_document(file, manifest, tables)
        assert (release / file).read_text(encoding="utf-8") == text, file


def test_an_empty_release_and_one_of_a_single_item(tmp_path: Path) -> None:
    log = qv.read(many(300, ["apples"]))
    strict = qv.Zealous(epsilon=0.01, delta=1e-9, max_items=3, guarantee="probabilistic")
    qv.publish(log, strict, out=tmp_path / "empty", allow_empty=True)
    assert "Nothing was frequent enough" in (tmp_path / "empty" / "report.html").read_text()
    qv.publish(
        log, qv.Zealous(epsilon=4, delta=1e-3, max_items=1, guarantee="probabilistic"), out=tmp_path / "one"
    )
    page = (tmp_path / "one" / "report.html").read_text()
    assert "apples" in page and page.count("<svg") == 2, "one count is no distribution"


def test_negative_counts_are_told_and_not_drawn(generated: Path, tmp_path: Path) -> None:
    lists = str(generated.with_name("results.tsv"))
    method = qv.Zealous(
        epsilon=6, delta=0.1, max_items=2, then_clicks=True, results=lists, guarantee="probabilistic"
    )
    release = qv.publish(qv.read(generated), method, out=tmp_path / "out", i_understand=True)
    left = sum(count <= 0 for count in release.tables["clicks"]["count"].to_pylist())
    page = (tmp_path / "out" / "report.html").read_text()
    assert left and f"Rows with a count of 0 or less are not drawn ({left:,} of " in page


# -- Croissant -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(pages.METHODS))
def test_croissant_is_understood_by_its_own_library(name: str, releases: dict[str, Path]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its parser of RDF warns of its own future
        import mlcroissant

        found = mlcroissant.Dataset(str(releases[name] / "croissant.json"))
        assert not found.metadata.issues.errors and not found.metadata.issues.warnings
        manifest, _ = read(releases[name])
        assert [one.uuid for one in found.metadata.record_sets] == list(manifest["tables"])
        for table in manifest["tables"]:
            # Reading checks the digest.
            rows = [
                {column.partition("/")[2]: _plain(value) for column, value in row.items()}
                for row in found.records(table)
            ]
            assert rows == pq.read_table(releases[name] / f"{table}.parquet").to_pylist()


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode()
    return [_plain(one) for one in value] if isinstance(value, list) else value


def changed(change: Callable[[dict[str, Any]], object]) -> Callable[[Path], None]:
    """Change the description, and the manifest's digest of it too, as a forger would."""

    def apply(release: Path) -> None:
        file = release / "croissant.json"
        content = json.loads(file.read_text(encoding="utf-8"))
        change(content)
        resealed(release, json.dumps(content))

    return apply


def resealed(release: Path, text: str) -> None:
    import hashlib

    file = release / "croissant.json"
    file.write_text(text, encoding="utf-8")
    manifest = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    seal = {"sha256": hashlib.sha256(file.read_bytes()).hexdigest(), "bytes": file.stat().st_size}
    manifest["files"]["croissant.json"] = seal
    (release / "manifest.json").write_text(json.dumps(manifest), encoding="utf-8")


CHANGES: dict[str, Callable[[Path], None]] = {
    "no JSON": lambda release: resealed(release, "{"),
    "no object": lambda release: resealed(release, "[]"),
    "another digest": changed(lambda one: one["distribution"][0].update(sha256="0" * 64)),
    "from elsewhere": changed(lambda one: one["distribution"][0].update(contentUrl="https://example.org/x")),
    "another file": changed(lambda one: one["distribution"].append({"@id": "raw.parquet"})),
    "a column too few": changed(lambda one: one["recordSet"][0]["field"].pop()),
    "another column": changed(
        lambda one: one["recordSet"][0]["field"][0]["source"]["extract"].update(column="x")
    ),
    "a table too few": changed(lambda one: one["recordSet"].pop()),
    "an unknown key": changed(lambda one: one.update(source_path="x")),
    "an unknown key inside": changed(lambda one: one["distribution"][0].update(path="x")),
    "another date": changed(lambda one: one.update(datePublished="2020-01-01")),
    "another standard": changed(lambda one: one.update(conformsTo=["x"])),
}


@pytest.mark.parametrize("case", list(CHANGES))
def test_a_description_that_differs_from_the_manifest_is_found(case: str, tmp_path: Path) -> None:
    release = tmp_path / "out"
    qv.publish(
        qv.read(many(300, ["apples", "pears"])),
        qv.Zealous(epsilon=9, delta=1e-3, max_items=2, guarantee="probabilistic"),
        out=release,
    )
    assert qv.verify(release).passes
    CHANGES[case](release)
    assert "documents" in [check.name for check in qv.verify(release).failed]


def test_words_of_the_publisher_cannot_pass_for_those_of_the_release(tmp_path: Path) -> None:
    """A citation that names a wrong guarantee or digest is refused; one that was edited in is marked as their words."""
    wrong = f"Example (2026). epsilon 0.001. SHA-256 of items.parquet: {'0' * 64}"
    log, method = qv.read(many(300, ["apples"])), qv.Steered(epsilon=4, delta=1e-6, max_items=2)
    for text in (wrong, "epsilon = 0.001", "ε 0.1", "k-anonymous", "k = 10", "f" * 40):
        with pytest.raises(qv.UsageError, match="states itself"):
            qv.publish(log, method, out=tmp_path / "no", about=qv.About(citation=text))
    assert not (tmp_path / "no").exists()
    made = qv.publish(log, method, out=tmp_path / "out", about=qv.About(publisher="E", citation="E (2026)"))
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text(encoding="utf-8"))
    manifest["about"]["citation"] = wrong
    digest = manifest["files"]["items.parquet"]["sha256"]
    for name in ("DATASHEET.md", "CITATION.cff"):
        document = rendering.render_document(name, manifest, {})
        own = document.index("the words that follow")
        assert document.index(made.guarantee.headline) < document.index(digest) < own
        assert own < document.index("0" * 64)


def test_the_citation_names_this_release_and_no_other(releases: dict[str, Path]) -> None:
    manifest, page = read(releases["probabilistic"])
    digest = manifest["files"]["items.parquet"]["sha256"]
    entry = re.search(r"@misc\{.*?\n\}", (releases["probabilistic"] / "DATASHEET.md").read_text(), re.DOTALL)
    assert entry and digest in entry.group() and entry.group().count("{") == entry.group().count("}")
    assert page.text.count(digest) == 3  # the line, the entry and the table of files
