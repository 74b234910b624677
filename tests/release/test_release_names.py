"""A manifest names its tables, and anyone may have written it: no name leads to a file outside of the folder."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import queryveil as qv
from tests.command import command
from tests.conftest import many

COMMANDS = {
    "export": "release export release --out csv",
    "report": "report release --out page.html",
    "curator": "report release --curator",
    "evaluate": "evaluate log.parquet release --metric coverage",
    "exposure": "attack exposure release",
    "linkage": "attack linkage log.parquet release",
    "homogeneity": "attack homogeneity release --query apples --size 10",
    "synthesize": "synthesize release --out made.tsv --rows 20",
}
NAMES = {
    "absolute": "{victim}/log",
    "up": "../victim/log",
    "up and down": "x/../../victim/log",
    "inside another folder": "sub/log",
    "NUL": "log\0",
    "nothing": "",
    "dots": "..",
    "backslash": "..\\victim\\log",
    "line end": "log\n",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log, a release of it, and someone else's table, which is what a hostile release is after."""
    place = tmp_path_factory.mktemp("named")
    pq.write_table(many(6, ["apples", "pears"]), place / "log.parquet")
    qv.publish(qv.read(place / "log.parquet"), qv.KQuery(k=2), out=place / "release")
    for folder in ("victim", "release/sub"):
        (place / folder).mkdir()
        shutil.copy(place / "release/log.parquet", place / folder / "log.parquet")
    (place / "victim" / "log.csv").write_text("mine")
    return place


@pytest.fixture
def place(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of them, to be spoilt."""
    copied = shutil.copytree(made, tmp_path / "copy")
    monkeypatch.chdir(copied)
    return copied


def rename(manifest: dict[str, Any], name: str) -> dict[str, Any]:
    """The same table under another name, with every mention of it."""
    [(_, table)] = manifest["tables"].items()
    manifest["tables"] = {name: table | {"file": f"{name}.parquet"}}
    manifest["files"][f"{name}.parquet"] = manifest["files"].pop("log.parquet")
    return manifest


def rewrite(place: Path, name: str) -> None:
    file = place / "release" / "manifest.json"
    file.write_text(json.dumps(rename(json.loads(file.read_text()), name)))


def untouched(place: Path) -> bool:
    names = {file.name for file in (place / "victim").iterdir()}
    return names == {"log.parquet", "log.csv"} and (place / "victim" / "log.csv").read_text() == "mine"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("asked", COMMANDS)
def test_no_command_follows_a_table_name_out_of_the_folder(asked: str, name: str, place: Path) -> None:
    rewrite(place, NAMES[name].format(victim=place / "victim"))
    done = command(*COMMANDS[asked].split())
    assert done.code == 3, done.err
    assert "not a file of its own folder" in " ".join(done.err.split())
    assert untouched(place)
    assert not (place / "csv").exists()


@pytest.mark.parametrize("name", NAMES)
def test_verify_does_not_open_what_lies_elsewhere(name: str, place: Path) -> None:
    rewrite(place, NAMES[name].format(victim=place / "victim"))
    found = {check.name: check for check in qv.verify(place / "release").checks}
    assert not found["digests"].passes and not found["tables"].passes
    assert "is missing" in found["tables"].detail
    assert command("release", "verify", "release").code == 1


@pytest.mark.parametrize("asked", COMMANDS)
def test_a_table_that_is_a_link_is_refused(asked: str, place: Path) -> None:
    (place / "release" / "log.parquet").unlink()
    (place / "release" / "log.parquet").symlink_to(place / "victim" / "log.parquet")
    assert command(*COMMANDS[asked].split()).code == 3
    assert command("release", "verify", "release").code == 1


def test_a_manifest_that_is_a_link_is_no_release(place: Path) -> None:
    (place / "release" / "manifest.json").rename(place / "victim" / "manifest.json")
    (place / "release" / "manifest.json").symlink_to(place / "victim" / "manifest.json")
    for asked in (*COMMANDS.values(), "release verify release"):
        assert command(*asked.split()).code == 3
