"""The list to read finds planted names that are published; what is withheld is gone, and the release says so."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest

import queryveil as qv
from tests.command import command
from tests.conftest import at

NAMES = ["karen walsh", "david miller", "susan baker", "robert clark", "linda carter", "james wilson"]
SENSITIVE = ["breast cancer treatment", "hiv test", "bankruptcy lawyer", "abortion clinic", "std symptoms"]
PLACES = ["houston tx", "chicago illinois hotels", "hotels in seattle washington"]
HARMLESS = [
    "weather",
    "cheap flights",
    "used cars",
    "how to tie a tie",
    "crossword puzzle",
    "free games",
    "lyrics",
]
PLANTED = (*NAMES, *SENSITIVE, *PLACES)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log in which every planted text is searched for by so many that it is published."""
    rows = [
        (f"u{user}", at(minute), query)
        for minute, query in enumerate((*PLANTED, *HARMLESS))
        for user in range(300)
    ]
    user, time, query = zip(*rows, strict=True)
    log = qv.read(pa.table({"user": list(user), "time": list(time), "query": list(query)}))
    out = tmp_path_factory.mktemp("review") / "release"
    qv.publish(log, qv.Zealous(epsilon=20, delta=1e-4, max_items=30, guarantee="approximate"), out=out)
    return out


def test_planted_names_that_are_published_are_found(published: Path) -> None:
    texts = set(qv.load(published).tables["items"]["query"].to_pylist())
    assert set(PLANTED) <= texts, "all of them are published"
    found = {one.text: one.kinds for one in qv.review(published)}
    recall = len(set(found) & set(PLANTED)) / len(PLANTED)
    precision = len(set(found) & set(PLANTED)) / len(found)
    assert recall >= 0.8 and precision >= 0.8, (recall, precision, sorted(found))
    assert all("person" in found[name] for name in NAMES if name in found)


def test_nothing_is_withheld_where_the_promise_would_not_survive_it(tmp_path: Path) -> None:
    """Probabilistic differential privacy is not kept by processing: docs/proofs/zealous.md."""
    log = qv.read(
        pa.table({"user": [f"u{one}" for one in range(300)] * 2, "query": ["cats"] * 300 + ["dogs"] * 300})
    )
    method = qv.Zealous(epsilon=20, delta=1e-4, max_items=2, guarantee="probabilistic")
    qv.publish(log, method, out=tmp_path / "release")
    with pytest.raises(qv.UsageError, match="publish anew with guarantee='approximate'"):
        qv.withhold(tmp_path / "release", ["cats"], tmp_path / "less")
    assert not (tmp_path / "less").exists()


def test_what_is_withheld_is_gone_and_told(published: Path, tmp_path: Path) -> None:
    before = qv.load(published)
    (tmp_path / "texts").write_text("# names\nKaren  Walsh\nhiv test\nnot published\n")
    done = command(
        "release",
        "withhold",
        str(published),
        "--items",
        str(tmp_path / "texts"),
        "--out",
        str(tmp_path / "new"),
    )
    assert done.code == 0, done.err
    after = qv.load(tmp_path / "new")
    gone = set(before.tables["items"]["query"].to_pylist()) - set(after.tables["items"]["query"].to_pylist())
    assert gone == {"karen walsh", "hiv test"} and after.withheld == {"items": 2}
    kept = {row["query"]: row["count"] for row in before.tables["items"].to_pylist()}
    assert all(kept[row["query"]] == row["count"] for row in after.tables["items"].to_pylist())
    assert after.guarantee == before.guarantee and qv.verify(tmp_path / "new").passes
    for file in ("report.html", "DATASHEET.md", "croissant.json"):
        assert "withheld 2 queries" in (tmp_path / "new" / file).read_text(), file
    manifest = json.loads((tmp_path / "new" / "manifest.json").read_text())
    for wrong in ({}, {"items": 0}, {"items": 3}, {"other": 2}, {"items": True}):
        manifest["withheld"] = wrong
        (tmp_path / "new" / "manifest.json").write_text(
            json.dumps(manifest, indent=2, ensure_ascii=False) + "\n"
        )
        assert not qv.verify(tmp_path / "new").passes, wrong


def test_withholding_is_refused_where_it_cannot_be_done(published: Path, tmp_path: Path) -> None:
    with pytest.raises(qv.InputError, match="none of these texts"):
        qv.withhold(published, ["nobody typed this"], tmp_path / "none")
    texts = qv.load(published).tables["items"]["query"].to_pylist()
    with pytest.raises(qv.UsageError, match="nothing would be left"):
        qv.withhold(published, texts, tmp_path / "all")
    log = qv.read(pa.table({"user": ["a", "b"], "time": [at(0), at(0)], "query": ["x", "x"]}))
    rows = qv.publish(log, qv.KQuery(k=2))
    with pytest.raises(qv.UsageError, match="belong together"):
        qv.withhold(rows, ["x"], tmp_path / "rows")
    assert not list(tmp_path.iterdir())


def test_the_read_through_is_noted(published: Path) -> None:
    listed = command("release", "review", str(published), "--json").document["to_read"]
    assert {"text", "kinds", "count"} == set(listed[0])
    page = qv.write_curator_report(published).read_text()
    assert "Ready to publish? 1 of 5 checks" in page and "karen walsh" in page
    assert command("release", "review", str(published), "--done").code == 0
    assert "Ready to publish? 2 of 5 checks" in qv.write_curator_report(published).read_text()
