"""Where results may go: never into a release, and what cannot be written is refused before a log is read."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

import queryveil as qv
from queryveil.files import output
from tests.command import command
from tests.conftest import many

# The log does not exist: whoever reads it before looking at the output fails in another way.
WRITERS = {
    "publish": "publish missing.tsv --method k-query --k 2 --out {out}",
    "advise": "advise missing.tsv --purpose coverage --out {out}",
    "report": "report {release} --out {out}.html",
    "export": "release export {release} --out {out}",
    "synthesize": "synthesize {release} --out {out}.tsv",
    "demo": "demo --users 500 --out {out}",
    "generate": "generate {out}.tsv --users 20",
    "results": "generate good.tsv --users 20 --results-out {out}.tsv",
    "ledger": "ledger open {out}.db --source s --epsilon 1 --delta 0",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("output")
    qv.publish(qv.read(many(4, ["apples", "pears"])), qv.KQuery(k=2), out=place / "release")
    return place


@pytest.fixture
def release(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy, to be spoilt."""
    monkeypatch.chdir(shutil.copytree(made, tmp_path / "copy"))
    return tmp_path / "copy" / "release"


@pytest.mark.parametrize("place", ["{}/new", "{}/deep/er/new", "link/new"])
@pytest.mark.parametrize("writer", WRITERS)
def test_nothing_is_written_into_a_release(writer: str, place: str, release: Path) -> None:
    Path("link").symlink_to(release)
    line = WRITERS[writer].format(out=place.format(release), release=release)
    done = command(*line.split())
    assert done.code == 2 and "a published folder is never changed" in done.err
    assert done.err.count("\n") == 1 and done.out == ""
    assert qv.verify(release).passes and not Path("good.tsv").exists()


@pytest.mark.parametrize(
    "writer", [name for name in WRITERS if name not in {"generate", "results", "ledger"}]
)
def test_what_cannot_be_written_is_refused_before_a_log_is_read(writer: str, release: Path) -> None:
    Path("file").write_text("in the way")
    done = command(*WRITERS[writer].format(out="file/new", release=release).split())
    assert done.code == 6 and "cannot be written (Not a directory)" in done.err


def test_a_folder_without_permission_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda place, _: Path(place) != tmp_path)
    with pytest.raises(qv.OutputError, match="Permission denied"):
        output.new_file(tmp_path / "deep" / "new")


@pytest.mark.parametrize("content", ["{}", '{"format": "other"}', "[]", "no JSON", '{"format": NaN}', ""])
def test_a_manifest_of_another_program_makes_no_release(content: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(content)
    output.new_folder(tmp_path / "new")
    output.new_file(tmp_path / "new")
    (tmp_path / "manifest.json").write_text(json.dumps({"format": "queryveil-release"}))
    with pytest.raises(qv.UsageError, match="never changed"):
        output.new_folder(tmp_path / "new")


def test_a_release_with_a_damaged_manifest_is_still_one(release: Path) -> None:
    manifest = release / "manifest.json"
    manifest.write_bytes(manifest.read_bytes()[:-20])
    with pytest.raises(qv.UsageError, match="never changed"):
        output.new_folder(release / "new")


def test_a_result_that_cannot_be_kept_is_told_before_the_attack(release: Path) -> None:
    release.with_name("release.private").chmod(0o755)
    done = command("attack", "linkage", "missing.tsv", str(release), "--save")
    assert done.code == 6 and "is not yours alone" in done.err
    done = command("report", str(release), "--curator", "--log", "missing.tsv")
    assert done.code == 6 and "is not yours alone" in done.err
