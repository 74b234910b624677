"""A good release passes `release verify`, and each tampering with it fails exactly the checks that are about it.

Draws, rows and words have tests of their own: here are folders, files, keys, pages and whatever else there may be.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.errors import InputError
from queryveil.files import folder
from queryveil.verification import verify
from tests import mutations, sizes
from tests.drafts import Change, Draft, both, drop, failed, page, put

METHODS: dict[str, qv.Mechanism] = {
    "single": qv.Zealous(epsilon=8, delta=1e-3, max_items=2, guarantee="probabilistic"),
    "several": qv.Zealous(epsilon=16, delta=1e-4, max_items=2, items=("keywords", "query-pairs")),
    "graph": mutations.METHODS["click-graph"],
    "k": qv.KQuery(k=5),
}


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    place, log = tmp_path_factory.mktemp("releases"), mutations.log()
    for name, method in METHODS.items():
        # 1,000 users are declared: then a delta of 1e-3 is too large, and the release says so.
        users = 1_000 if name == "single" else None
        qv.publish(log, method, out=place / name, users=users, i_understand=True)
    return {name: place / name for name in METHODS}


@pytest.mark.parametrize("name", METHODS)
def test_good_release_passes(name: str, releases: dict[str, Path]) -> None:
    result = verify(releases[name])
    assert result.failed == ()
    assert result.passes
    said = result.as_dict()
    assert said["release"] == str(releases[name])
    assert said["passes"] is True
    assert {tuple(check) for check in said["checks"]} == {("name", "passes", "detail")}
    made = {check["name"] for check in said["checks"]}
    assert {"digests", "order", "no-leak", "manifest", "documents"} <= made
    assert ({"guarantee", "draws"} <= made) == (name != "k")


# -- tampering before the digests are taken: the folder is consistent, its content is not --------------------


def document(name: str, content: bytes | None) -> Change:
    return lambda made: made.documents.update({name: content})


def metadata_in_table(made: Draft) -> None:
    made.tables["items"] = made.tables["items"].replace_schema_metadata({"pandas": "{}"})


def metadata_in_column(made: Draft) -> None:
    plain = made.tables["items"].schema
    schema = pa.schema([plain.field(0).with_metadata({"note": "x"}), plain.field(1)])
    made.tables["items"] = made.tables["items"].cast(schema)


def without_the_caveat(made: Draft) -> None:
    caveats = made.manifest["guarantee"]["caveats"]
    kept = [one for one in caveats if one["code"] != "delta-too-large"]
    assert len(kept) == len(caveats) - 1
    made.manifest["guarantee"]["caveats"] = kept


CONSISTENT: dict[str, tuple[Change, set[str]]] = {
    "pandas metadata": (metadata_in_table, {"parquet-metadata"}),
    "metadata of a column": (metadata_in_column, {"parquet-metadata"}),
    "wrong row count": (put("tables", "items", "rows", value=6), {"tables"}),
    "wrong type stated": (put("tables", "items", "columns", 1, "type", value="int32"), {"tables"}),
    "other file stated": (put("tables", "items", "file", value="x.parquet"), {"tables"}),
    "large delta without a caveat": (without_the_caveat, {"delta"}),
    "large delta without a mark": (drop("guarantee", "delta_too_large"), {"delta"}),
    "large delta without either": (
        both(without_the_caveat, put("guarantee", "delta_too_large", value=False)),
        {"delta"},
    ),
    "salt in the manifest": (put("guarantee", "salt", value="ab12"), {"keys", "no-leak"}),
    "salt deep in the manifest": (put("calibration", "paper", "Salt", value="ab12"), {"no-leak"}),
    "path in the manifest": (put("parameters", "keep", value="/home/x/log.tsv"), {"no-leak"}),
    "address in the manifest": (put("software", "version", value="s3://bucket/log"), {"no-leak", "software"}),
    "another software": (put("software", "name", value="u17 is ill"), {"software"}),
    "a sentence for the version": (put("software", "version", value="u17 is ill"), {"software"}),
    "no version": (put("software", "version", value=None), {"software"}),
    "unknown section": (put("notes", value="x"), {"keys"}),
    "missing section": (drop("software"), {"keys", "software"}),
    "no draws": (drop("draws"), {"keys", "draws"}),
    "what is no sentence": (put("what", value={"rows": 12}), {"keys"}),
    "unknown key of a table": (put("tables", "items", "survivors", value=12), {"keys"}),
    "key of a table missing": (drop("tables", "items", "noun"), {"keys"}),
    "unknown key of a column": (put("tables", "items", "columns", 0, "note", value="x"), {"keys"}),
    "unknown key of a guarantee": (put("guarantee", "note", value="x"), {"keys"}),
    "unknown key of what it implies": (put("guarantee", "implies", "note", value="x"), {"keys"}),
    "unknown key of the software": (put("software", "note", value="x"), {"keys", "software"}),
    "unknown key of a statement": (put("guarantee", "caveats", 0, "note", value="x"), {"keys"}),
    "a statement without a code": (drop("guarantee", "caveats", 0, "code"), {"keys"}),
    "a code that is a sentence": (put("guarantee", "caveats", 0, "code", value="u17 is ill"), {"keys"}),
    "a statement without a sentence": (drop("guarantee", "caveats", 0, "sentence"), {"keys"}),
    "fields that are none": (put("guarantee", "caveats", 0, "fields", value=["x"]), {"keys"}),
    "an assessment of sentences": (put("assessment", value=["Singling out: No."]), {"keys"}),
    "time of day": (put("created", value="2025-01-31T10:20:30"), {"keys"}),
    "other format": (put("format", value="another"), {"format"}),
    "later version": (put("format_version", value=3), {"format"}),
    "version is a fraction": (put("format_version", value=2.0), {"format", "keys"}),
    "no data sheet": (document("DATASHEET.md", None), {"roles"}),
    "no description": (document("croissant.json", None), {"roles"}),
    "no report": (document("report.html", None), {"roles"}),
    "named, but no part of a release": (document("rejected.csv", b"x"), {"roles"}),
    "external script": (page("<script src='https://x.example/a.js'></script>"), {"report-offline"}),
    "local script": (page("<script src='a.js'></script>"), {"report-offline"}),
    "asking script": (page("<script>fetch('x')</script>"), {"report-offline"}),
    "image": (page("<img src=//x.example/a.png>"), {"report-offline"}),
    "link": (page("<a href='HTTPS://x.example'>x</a>"), {"report-offline"}),
    "form": (page("<form action='http://x.example'></form>"), {"report-offline"}),
    "style": (page("<p style='background: URL( \"http://x.example\")'>"), {"report-offline"}),
    "import": (page("<style>@import 'x.css';</style>"), {"report-offline"}),
    "refresh": (page("<meta http-equiv=Refresh content='0;url=http://x'>"), {"report-offline"}),
    "out of the folder": (page("<a href='../release.private/x'>x</a>"), {"report-offline"}),
}


@pytest.mark.parametrize("case", CONSISTENT)
def test_content_that_is_wrong(case: str, releases: dict[str, Path], tmp_path: Path) -> None:
    change, expected = CONSISTENT[case]
    made = Draft(releases["single"])
    change(made)
    result = verify(made.write(tmp_path / "release"))
    assert failed(result) == expected, result.failed
    assert not result.passes
    assert result.as_dict()["passes"] is False


@pytest.mark.parametrize("method", ["later-method", ["zealous"], None, 3])
def test_a_method_that_is_not_known_is_not_passed(
    method: Any, releases: dict[str, Path], tmp_path: Path
) -> None:
    made = Draft(releases["single"])
    made.manifest["method"] = method
    assert "method" in failed(verify(made.write(tmp_path / "release")))


def test_words_and_pages_that_lead_nowhere_are_left_alone(releases: dict[str, Path], tmp_path: Path) -> None:
    """Addresses in the text, links within the folder, and pictures inside the page."""
    made = Draft(releases["single"])
    page(
        "<style>b {color: red; background: url(data:image/png;base64,AA==)}</style>"
        "<a href='#top'>up</a> <a href='DATASHEET.md'>data sheet</a>"
        "<p>https://example.org/ src=//x @import &lt;script src=x&gt;</p>"
        "<svg xmlns='http://www.w3.org/2000/svg'><use href='#a' fill='url(#b)'/></svg>"
    )(made)
    result = verify(made.write(tmp_path / "release"))
    assert {check.name for check in result.failed} == {"documents"}


# -- tampering with a folder that was written ----------------------------------------------------------------


def save(release: Path, manifest: Any) -> None:
    (release / "manifest.json").write_text(json.dumps(manifest, indent=2), encoding="utf-8")


def edit(release: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = mutations.manifest_of(release)
    change(manifest)
    save(release, manifest)


def count_changed(release: Path) -> None:
    rows = pq.read_table(release / "items.parquet").to_pylist()
    rows[0]["count"] += 1
    folder.write_table(pa.Table.from_pylist(rows), release / "items.parquet")


def byte_flipped(release: Path) -> None:
    content = bytearray((release / "report.html").read_bytes())
    content[-3] ^= 1
    (release / "report.html").write_bytes(content)


def file_linked(release: Path) -> None:
    (release / "DATASHEET.md").rename(release.parent / "elsewhere.md")
    (release / "DATASHEET.md").symlink_to(release.parent / "elsewhere.md")


def named_out_of_folder(release: Path) -> None:
    edit(release, lambda manifest: manifest["files"].update({"../x.md": manifest["files"]["DATASHEET.md"]}))
    (release.parent / "x.md").write_bytes((release / "DATASHEET.md").read_bytes())


def key_given_twice(release: Path) -> None:
    text = (release / "manifest.json").read_text(encoding="utf-8")
    (release / "manifest.json").write_text(text.replace("{", '{"method": "none",', 1), encoding="utf-8")


FOLDERS: dict[str, tuple[Callable[[Path], object], set[str]]] = {
    "changed count": (count_changed, {"digests"}),
    "flipped byte": (byte_flipped, {"digests"}),
    "table cut short": (
        lambda release: (release / "items.parquet").write_bytes(b"PAR1"),
        {"digests", "tables"},
    ),
    "missing table": (lambda release: (release / "items.parquet").unlink(), {"digests", "tables"}),
    "missing data sheet": (lambda release: (release / "DATASHEET.md").unlink(), {"digests"}),
    "extra file": (lambda release: (release / "notes.txt").write_text("x"), {"folder"}),
    "hidden file": (lambda release: (release / ".notes").write_text("x"), {"folder"}),
    "sub-folder": (lambda release: (release / "private").mkdir(), {"folder"}),
    "symlink": (lambda release: (release / "log").symlink_to("/nowhere"), {"folder"}),
    "file replaced by a symlink": (file_linked, {"digests", "folder"}),
    "file outside": (named_out_of_folder, {"digests", "roles"}),
    "no digest": (
        lambda release: edit(release, lambda m: m["files"]["report.html"].pop("sha256")),
        {"keys", "digests"},
    ),
    "other size": (
        lambda release: edit(release, lambda m: m["files"]["report.html"].update(bytes=1)),
        {"digests"},
    ),
    "key given twice": (key_given_twice, {"keys"}),
}


@pytest.mark.parametrize("case", FOLDERS)
def test_folder_that_was_tampered_with(case: str, releases: dict[str, Path], tmp_path: Path) -> None:
    change, expected = FOLDERS[case]
    release = mutations.copied(releases["single"], tmp_path / "release")
    change(release)
    result = verify(release)
    assert failed(result) == expected, result.failed


# -- no release at all, and anything else --------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff{}", b'{"x": NaN}', b"[" * 100_000])
def test_unreadable_manifest_is_an_input_error(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_bytes(content)
    with pytest.raises(InputError) as raised:
        verify(tmp_path)
    assert raised.value.exit_code == 3
    assert raised.value.hint


def test_no_release_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no release folder"):
        verify(tmp_path / "nothing")
    with pytest.raises(InputError, match="not a release"):
        verify(str(tmp_path))


def paths(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of all values, those that hold others too."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    below = [path for key, one in inner for path in paths(one, (*at, key))]
    return [at, *below] if at else below


@pytest.mark.parametrize("name", ["single", "graph", "k"])
def test_malformed_manifest_never_raises_and_never_quotes(
    name: str, releases: dict[str, Path], tmp_path: Path
) -> None:
    """Junk in each place of the manifest in turn: a failure or a pass, but no exception."""
    junk = [None, [], {"x": [1]}, -1, 1e308, "\u2028query text", [[None]], 5e-324, True]
    release = mutations.copied(releases[name], tmp_path / "release")
    whole = mutations.manifest_of(release)
    for number, path in enumerate(paths(whole)):
        if name == "graph" and number % 4 and not sizes.FULL:
            continue
        manifest = copy.deepcopy(whole)
        inner = manifest
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = junk[number % len(junk)]
        save(release, manifest)
        result = verify(release)
        assert not result.passes, path
        assert not any("query text" in check.detail for check in result.checks if check.name != "method")


@pytest.mark.parametrize("section", ["about", "withheld", "assessment"])
@pytest.mark.parametrize("junk", [None, ["x"], "x", 3, {"x": ["x"]}, {"publisher": 3}])
def test_malformed_optional_sections_fail(
    section: str, junk: Any, releases: dict[str, Path], tmp_path: Path
) -> None:
    release = mutations.copied(releases["k"], tmp_path / "release")
    save(release, mutations.manifest_of(release) | {section: junk})
    assert not verify(release).passes


def test_details_do_not_quote_a_page(releases: dict[str, Path], tmp_path: Path) -> None:
    made, person = Draft(releases["single"]), "john smith 5551234"
    page(f"<a href='https://{person}'>{person}</a>")(made)
    result = verify(made.write(tmp_path / "release"))
    assert failed(result) == {"report-offline"}
    assert person not in json.dumps(result.as_dict())
