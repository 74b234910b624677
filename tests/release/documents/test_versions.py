"""A version of the documents never changes, and a new one leaves releases of the old one verifiable."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import queryveil as qv
from queryveil import catalog
from tests.conftest import many
from tests.release.documents import versions

METHOD = qv.Steered(epsilon=4, delta=1e-6, max_items=2)


def test_published_versions_do_not_change() -> None:
    """Templates, sentences, and what the code makes of both.

    From 1.0 on, do not store new digests for an old version: copy its folder, and change the copy.
    """
    stored = json.loads(versions.STORED.read_text(encoding="utf-8"))
    assert versions.file_digests() == stored["files"]
    assert versions.document_digests() == stored["documents"]


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The catalog, in a folder that a test may change."""
    folder = tmp_path / "catalog"
    for version in catalog.versions():
        shutil.copytree(catalog.version_folder(version), folder / f"v{version}")
    monkeypatch.setattr(catalog, "FOLDER", folder)
    return folder


def reword(version: Path) -> None:
    """Say the sentence about popular searches with other words."""
    file = version / "en.yaml"
    text = file.read_text(encoding="utf-8")
    before = catalog.open_catalog().say("limits.general")
    assert text.count(before) == 1
    file.write_text(text.replace(before, "Reworded."), encoding="utf-8")


def test_a_new_version_leaves_old_releases_verifiable(copied: Path, tmp_path: Path) -> None:
    log = qv.read(many(300, ["apples", "pears"]))
    old = qv.publish(log, METHOD, out=tmp_path / "old").path
    latest = catalog.latest_version()
    new_catalog = tmp_path / "next"
    shutil.copytree(copied, new_catalog)
    shutil.copytree(copied / f"v{latest}", new_catalog / f"v{latest + 1}")
    reword(new_catalog / f"v{latest + 1}")
    catalog.FOLDER = new_catalog
    new = qv.publish(log, METHOD, out=tmp_path / "new").path
    assert old is not None and new is not None
    for release, version in ((old, latest), (new, latest + 1)):
        assert qv.verify(release).passes
        manifest = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
        assert manifest["documents"] == {"version": version, "language": "en"}
        assert ("Reworded." in (release / "DATASHEET.md").read_text(encoding="utf-8")) is (version > latest)


def test_a_sentence_that_changed_in_place_fails_the_check_of_documents(copied: Path, tmp_path: Path) -> None:
    release = qv.publish(qv.read(many(300, ["apples", "pears"])), METHOD, out=tmp_path / "old").path
    assert release is not None and qv.verify(release).passes
    changed = tmp_path / "changed"
    shutil.copytree(copied, changed)
    reword(changed / f"v{catalog.latest_version()}")
    catalog.FOLDER = changed
    assert {one.name for one in qv.verify(release).failed} == {"documents"}
