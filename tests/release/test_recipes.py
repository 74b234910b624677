"""Recipes: one file that gives the same plan anywhere, and a release that says who publishes it."""

from __future__ import annotations

import dataclasses
import json
import re
import warnings
from pathlib import Path

import pytest
import yaml

import queryveil as qv
from queryveil.release.documents import croissant
from tests.command import command
from tests.conftest import at

ABOUT = qv.About(
    title="Queries & words: the [first] 100 %",
    publisher="Example Søk AS",
    contact="data@search.example",
    licence="CC-BY-4.0",
    purpose="research on suggestions",
    period="2026-01-01/2026-03-31",
    language="no",
)
LINES = [f"{user}\t{at(minute)}\tquery {minute}" for user in range(400) for minute in range(3)]


@pytest.fixture
def log(tmp_path: Path) -> Path:
    file = tmp_path / "log.tsv"
    file.write_text("\n".join(["AnonID\twhen\tq", *LINES]) + "\n", encoding="utf-8")
    return file


def begun(log: Path, **given: object) -> qv.Recipe:
    method = qv.Steered(epsilon=4, delta=1e-4, max_items=5, items=("queries",))
    return qv.init(log, method=method, out=str(log.parent / "release"), **given)  # type: ignore[arg-type]


def test_a_recipe_is_read_as_it_was_written(log: Path, tmp_path: Path) -> None:
    made = begun(log, about=ABOUT, users=500).write(tmp_path / "release.yaml")
    again = qv.Recipe.read(tmp_path / "release.yaml")
    assert again == made and again.digest == made.digest and again.text() == made.text()
    assert again.columns == {"user": "AnonID", "time": "when", "query": "q"}
    assert again.about == ABOUT, "no is a language here, not a yes or no"
    assert (
        again.plan().as_dict()
        == qv.Steered(epsilon=4, delta=1e-4, max_items=5, items=("queries",)).plan(users=500).as_dict()
    )


def test_every_method_survives_a_recipe(tmp_path: Path) -> None:
    for name, cls in qv.MECHANISMS.items():
        recipe = qv.Recipe(log=("log.tsv",), method=name, parameters=dict(cls.example))
        recipe.write(tmp_path / f"{name}.yaml")
        again = qv.Recipe.read(tmp_path / f"{name}.yaml")
        assert again.mechanism() == cls(**cls.example), name


def test_samples_of_the_log_are_there_only_if_asked_for(log: Path) -> None:
    assert "query 1" not in begun(log).text()
    shown = begun(log, samples=True)
    assert '"query 1"' in shown.text() and "personal data" in shown.text()
    assert shown.digest == begun(log).digest


def test_the_digest_is_of_what_is_said(log: Path, tmp_path: Path) -> None:
    recipe = begun(log, about=ABOUT)
    text = recipe.text().replace("# ", "#   ") + "\n# another comment\n"
    (tmp_path / "other.yaml").write_text(text)
    assert qv.Recipe.read(tmp_path / "other.yaml").digest == recipe.digest
    assert dataclasses.replace(recipe, users=401).digest != recipe.digest


def test_paths_are_those_of_the_recipes_folder(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipes").mkdir()
    written = begun(Path("log.tsv"), about=ABOUT).write("recipes/release.yaml")
    assert written.log == ("../log.tsv",)
    monkeypatch.chdir("/")
    assert qv.Recipe.read(tmp_path / "recipes" / "release.yaml").read_log().users == 400


def test_a_release_of_a_recipe_cites_itself_and_verifies(log: Path, tmp_path: Path) -> None:
    ledger = qv.Ledger(str(tmp_path / "ledger.db"))
    ledger.open("web", epsilon=10, delta=1e-3)
    recipe = begun(log, about=ABOUT, ledger=str(tmp_path / "ledger.db"), source="web")
    recipe.write(tmp_path / "release.yaml")
    release = qv.publish_recipe(tmp_path / "release.yaml")
    path = tmp_path / "release"
    assert release.path == path and qv.verify(path).passes
    assert qv.load(path).about == ABOUT
    manifest = json.loads((path / "manifest.json").read_text())
    assert manifest["about"] == ABOUT.as_dict() and "CITATION.cff" in manifest["files"]
    cited = yaml.safe_load((path / "CITATION.cff").read_text())
    assert cited["title"] == ABOUT.title and cited["authors"] == [{"name": ABOUT.publisher}]
    assert (cited["cff-version"], cited["type"], cited["license"]) == ("1.2.0", "dataset", "CC-BY-4.0")
    assert cited["contact"] == [{"name": ABOUT.publisher, "email": ABOUT.contact}]
    described = json.loads((path / "croissant.json").read_text())
    assert described["name"] == ABOUT.title and described["publisher"]["name"] == ABOUT.publisher
    assert described["license"].endswith("/CC-BY-4.0") and described["inLanguage"] == "no"
    for file in ("report.html", "DATASHEET.md"):
        text = (path / file).read_text()
        assert str(ABOUT.publisher) in text and str(ABOUT.period) in text, file
    (event,) = ledger.show("web")[0].events
    assert event.recipe == f"release.yaml {recipe.digest[:16]}"
    private = tmp_path / "release.private"
    assert json.loads((private / "curator.json").read_text())["columns_confirmed"] is False
    assert "- [" in (private / "DPIA.md").read_text(), "blanks are for the controller, in private"


def test_the_reference_reader_of_croissant_finds_who_published_what(log: Path, tmp_path: Path) -> None:
    qv.publish_recipe(begun(log, about=ABOUT))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its parser of RDF warns of its own future
        import mlcroissant

        found = mlcroissant.Dataset(str(tmp_path / "release" / "croissant.json"))
        said = found.metadata
        assert not said.issues.errors and not said.issues.warnings
        assert (said.name, said.in_language) == (ABOUT.title, [ABOUT.language])
        assert (
            [one.name for one in said.publisher] == [one.name for one in said.creators] == [ABOUT.publisher]
        )
        assert said.license == ["https://spdx.org/licenses/CC-BY-4.0"]
        assert str(ABOUT.publisher) in said.cite_as and str(ABOUT.period) in str(said.data_collection)
        assert len(list(found.records("items"))) == qv.load(tmp_path / "release").released["items"]


@pytest.fixture(scope="module")
def unsaved() -> qv.Release:
    rows = [{"user": f"u{number}", "query": "apples"} for number in range(300)]
    return qv.publish(rows, "steered", epsilon=2, delta=1e-6)


CITED = {"abstract", "authors", "cff-version", "contact", "date-released", "identifiers", "keywords"}
CITED |= {"license", "license-url", "message", "title", "type"}


@pytest.mark.parametrize("licence", ["CC-BY-4.0", "https://example.org/terms", "as agreed", "not stated"])
@pytest.mark.parametrize(
    "contact", ["data@example.org", "https://example.org/data", "the desk", "not stated"]
)
def test_the_citation_file_keeps_the_rules_of_its_schema(
    licence: str, contact: str, unsaved: qv.Release, tmp_path: Path
) -> None:
    """Required and known names, and the shape of each, as schema.json of the Citation File Format 1.2.0 has them."""
    said = dataclasses.replace(ABOUT, licence=licence, contact=contact)
    dataclasses.replace(unsaved, about=said).save(tmp_path / "release")
    cited = yaml.safe_load((tmp_path / "release" / "CITATION.cff").read_text(encoding="utf-8"))
    assert {"authors", "cff-version", "message", "title"} <= set(cited) <= CITED
    assert (cited["cff-version"], cited["type"]) == ("1.2.0", "dataset")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", cited["date-released"])
    for entity in [*cited["authors"], *cited.get("contact", [])]:
        assert entity["name"] and set(entity) <= {"name", "email", "website"}
        assert re.fullmatch(r"\S+@\S+\.\S+", entity.get("email", "a@b.c"))
        assert re.fullmatch(r"https?://.+", entity.get("website", "https://a"))
    assert cited.get("license", "CC-BY-4.0") == "CC-BY-4.0" and not {"license", "license-url"} <= set(cited)
    assert re.fullmatch(r"https?://.+", cited.get("license-url", "https://a"))
    assert all(isinstance(one, str) and one for one in cited["keywords"])
    assert len(set(cited["keywords"])) == len(cited["keywords"]) and cited["abstract"]
    for one in cited["identifiers"]:
        assert one["type"] == "other" and one["value"] and set(one) == {"type", "value", "description"}


def test_what_the_publisher_says_cannot_be_changed_afterwards(log: Path, tmp_path: Path) -> None:
    qv.publish_recipe(begun(log, about=ABOUT))
    file = tmp_path / "release" / "manifest.json"
    whole = file.read_text()
    for other in ("Another AS", "[publisher]", "not stated", ""):
        file.write_text(whole.replace('"publisher": "Example Søk AS"', f'"publisher": "{other}"'))
        assert not qv.verify(tmp_path / "release").passes, other
    manifest = json.loads(whole)
    manifest["about"]["notes"] = "more"
    file.write_text(json.dumps(manifest))
    assert "about" in [one.name for one in qv.verify(tmp_path / "release").failed]


def test_what_is_not_filled_in_is_asked_for_by_name(log: Path, tmp_path: Path) -> None:
    about = dataclasses.replace(ABOUT, title=None, licence=None)
    begun(log, about=about).write(tmp_path / "release.yaml")
    with pytest.raises(qv.UsageError, match=r"release\.yaml lacks title, licence under 'about'"):
        qv.publish_recipe(tmp_path / "release.yaml")
    assert not (tmp_path / "release").exists()
    qv.publish_recipe(
        dataclasses.replace(begun(log), about=dataclasses.replace(about, title="T", licence="not stated"))
    )
    described = json.loads((tmp_path / "release" / "croissant.json").read_text())
    assert described["license"] == croissant.NO_LICENCE


@pytest.mark.parametrize("blank", ["[publisher]", "<who>", "TODO", "tbd", "...", "{{name}}"])
def test_a_blank_is_no_answer(blank: str) -> None:
    with pytest.raises(qv.UsageError, match="blank"):
        qv.About(publisher=blank)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a\n", "not a list of names"),
        ("recipe: 2\nmethod: steered\n", "version 1"),
        ("recipe: 1\nmethod: steerd\n", "no method 'steerd'"),
        (
            "recipe: 1\nmethod: steered\nlog: {files: a}\nparameters: {epsilon: one}\n",
            "'epsilon' is not a number",
        ),
        ("recipe: 1\nmethod: steered\nlog: {files: a}\nparameters: {epsilon: 1, epsilon: 2}\n", "twice"),
        ("recipe: 1\nmethod: steered\nlog: {files: a}\nparameters: {epsiln: 1}\n", "no 'epsiln'"),
        ("recipe: 1\nmethod: steered\nlog: {files: a, colums: {user: 1}}\n", "no 'colums'"),
        ("recipe: 1\nmethod: steered\nlog: {files: a}\nbudget: {ledger: b}\n", "both the ledger"),
        ("recipe: 1\nmethod: steered\nlog: {files: a}\nabout: {title: '[title]'}\n", "blank"),
        ("recipe: 1\nmethod: steered\nlog: {files: a}\nabout: {titel: x}\n", "no 'titel'"),
        ("recipe: 1\na: &a [x]\nb: *a\n", "alias"),
        ("recipe: [1\n", "not YAML"),
        ("recipe: 1\nmethod: steered\nlog: {files: []}\n", "names no log"),
        ("recipe: 1\nmethod: steered\nlog: {files: a, header: perhaps}\n", "'header' is not true or false"),
    ],
)
def test_a_wrong_recipe_is_refused_with_its_name(text: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "release.yaml"
    file.write_text(text)
    with pytest.raises(qv.QueryveilError) as error:
        qv.Recipe.read(file)
    assert "release.yaml" in error.value.message and said in error.value.message
    assert error.value.exit_code in (2, 3)


def test_the_commands_begin_plan_and_publish(log: Path, tmp_path: Path) -> None:
    file, out = tmp_path / "release.yaml", tmp_path / "release"
    made = command("init", str(log), "--out", str(file), "--release", str(out), "--json")
    assert made.code == 0, made.err
    assert made.document["log"]["columns"]["user"] == "AnonID"
    refused = command("publish", str(file))
    assert refused.code == 2 and "lacks title, publisher" in refused.err
    lines = file.read_text().split("\n")
    for name, value in ABOUT.as_dict().items():
        lines = [f"  {name}: {value!r}" if line.startswith(f"  {name}:") else line for line in lines]
    file.write_text("\n".join(lines))
    planned = command("plan", str(file), "--json").document
    done = command("publish", str(file), "--json")
    assert done.code == 0, done.err
    assert done.document["guarantee"] == planned["guarantee"]
    assert qv.verify(out).passes
    assert command("publish", str(file)).code == 2, "the release is there"
    assert command("publish", str(file), "--out", str(tmp_path / "second")).code == 0
    assert command("init", str(log), "--out", str(file)).code == 2, "a recipe is never overwritten"
    assert command("publish", str(tmp_path / "none.yaml")).code == 3
