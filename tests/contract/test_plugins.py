"""Packages add methods, formats, measures, attacks, and commands through entry points."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import queryveil as qv
from queryveil.files import folder
from tests import plugins

MODULE = "acme_search"
LOADED = "import sys; assert 'acme_search' not in sys.modules, 'the plugin was loaded'"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The package that the guide builds, installed."""
    place = tmp_path_factory.mktemp("site")
    return plugins.install(place, plugins.block("toml"), **{MODULE: plugins.block("python")})


@pytest.fixture(scope="module")
def published(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a log in the plugin's format, and a release of its method."""
    place = tmp_path_factory.mktemp("published")
    rows = [f"user-{user}~2026-03-01 12:00:00~{'apples' if user % 2 else 'pears'}" for user in range(400)]
    (place / "log.tilde").write_text("user~time~query\n" + "\n".join(rows) + "\n")
    asked = ("--epsilon", "4", "--delta", "0.0005", "--out", "release")
    queryveil(site, place, "publish", "popular-queries", "log.tilde", *asked)
    return place


def run(
    site: Path | None, within: Path, *words: str, end: str = "", code: int = 0
) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(site) if site else "", os.environ.get("PYTHONPATH", "")]))
    # Spelled out, because the command line ends with sys.exit.
    program = f"from queryveil.show.cli import run\ntry:\n    run()\nfinally:\n    {end or 'pass'}"
    done = subprocess.run(
        [sys.executable, "-c", program, *words],
        cwd=within,
        env={**os.environ, "PYTHONPATH": path, "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


def queryveil(site: Path | None, within: Path, *words: str, end: str = "") -> str:
    return run(site, within, *words, end=end).stdout


def test_a_plugin_publishes_reads_and_measures(site: Path, published: Path) -> None:
    assert "popular-queries" in queryveil(site, published, "publish", "--help")
    assert "tilde" in queryveil(site, published, "inspect", "--help")
    found = json.loads(queryveil(site, published, "inspect", "log.tilde", "--json"))
    assert (found["format"], found["users"]) == ("tilde", 400)
    asked = ("--metric", "published-queries", "--json")
    measured = json.loads(queryveil(site, published, "evaluate", "log.tilde", "release", *asked))
    assert measured["measures"]["published-queries"] == 2
    assert any("acme-search 1.2.0" in note for note in measured["notes"].values())


def test_the_manifest_and_the_documents_name_the_package(published: Path) -> None:
    manifest = json.loads((published / "release" / "manifest.json").read_text(encoding="utf-8"))
    assert [(one["kind"], one["name"], one["package"], one["version"]) for one in manifest["plugins"]] == [
        ("method", "popular-queries", "acme-search", "1.2.0"),
        ("format", "tilde", "acme-search", "1.2.0"),
    ]
    codes = [one["code"] for one in manifest["guarantee"]["caveats"]]
    assert codes[:2] == ["plugged-in-method", "plugged-in-format"]
    for name in (folder.DATASHEET, folder.REPORT):
        assert "acme-search" in (published / "release" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("installed", [True, False])
def test_verify_loads_no_plugin_and_says_whose_proof_it_is(
    site: Path, published: Path, installed: bool
) -> None:
    at = site if installed else None
    found = json.loads(queryveil(at, published, "release", "verify", "release", "--json", end=LOADED))
    assert found["passes"]
    methods = [one["detail"] for one in found["checks"] if one["name"] == "method"]
    assert len(methods) == 1 and "acme-search 1.2.0" in methods[0]
    assert [one.partition(":")[0] for one in found["not_checked"]][1:3] == ["method", "format"]
    assert {"guarantee", "documents", "manifest"} <= {one["name"] for one in found["checks"]}


CHANGES = {
    "another package": ("keys", lambda content: content["plugins"][0].update(package="acme search")),
    "no caveat": ("keys", lambda content: content["guarantee"]["caveats"].pop(0)),
    "no plugin": ("method", lambda content: content.pop("plugins")),
    "another method": ("keys", lambda content: content["plugins"][0].update(name="steered")),
    "a plugin too many": ("keys", lambda content: content["plugins"].append(content["plugins"][0])),
    "a better guarantee": ("guarantee", lambda content: content["guarantee"].update(epsilon=0.1)),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_release_of_a_plugin_fails(published: Path, tmp_path: Path, change: str) -> None:
    shutil.copytree(published / "release", tmp_path / "release")
    file = tmp_path / "release" / "manifest.json"
    content = json.loads(file.read_text(encoding="utf-8"))
    CHANGES[change][1](content)
    file.write_text(json.dumps(content, indent=2), encoding="utf-8")
    failed = {one.name for one in qv.verify(tmp_path / "release").failed}
    assert CHANGES[change][0] in failed


def test_listing_commands_and_methods_loads_no_method(site: Path, tmp_path: Path) -> None:
    queryveil(site, tmp_path, "--help", end=LOADED)
    queryveil(site, tmp_path, "inspect", "--help", end=LOADED)
    queryveil(site, tmp_path, "plan", "steered", "--epsilon", "1", "--delta", "1e-6", end=LOADED)


PROJECT = """
[project]
name = "{package}"
version = "1"
[project.entry-points."queryveil.{group}"]
{name} = "{module}:add_to"
"""

COMMAND = '''
def add_to(app):
    """Say hello to a log."""
    @app.command("hello")
    def hello():
        """Say hello to a log."""
        print("hello")
'''


def test_a_plugged_in_command_is_listed_completed_and_run(tmp_path: Path) -> None:
    project = PROJECT.format(package="acme", group="commands", name="hello", module="acme")
    site = plugins.install(tmp_path / "site", project, acme=COMMAND)
    assert "Say hello to a log" in queryveil(site, tmp_path, "--help")
    assert queryveil(site, tmp_path, "hello") == "hello\n"


@pytest.mark.parametrize(
    ("group", "name", "words"),
    [
        ("commands", "publish", ["--help"]),
        ("mechanisms", "steered", ["publish", "--help"]),
        ("formats", "tsv", ["inspect", "--help"]),
        ("measures", "coverage", ["evaluate", "--help"]),
        ("attacks", "sybil", ["attack", "--help"]),
    ],
)
def test_a_name_that_is_taken_is_refused(tmp_path: Path, group: str, name: str, words: list[str]) -> None:
    project = PROJECT.format(package="acme", group=group, name=name, module="acme")
    site = plugins.install(tmp_path / "site", project, acme=COMMAND)
    said = run(site, tmp_path, *words, code=2).stderr
    assert re.search(r"queryveil and acme\b", said) and name in said


def test_two_packages_with_one_name_are_refused(tmp_path: Path) -> None:
    for package in ("acme", "bcme"):
        project = PROJECT.format(package=package, group="commands", name="hello", module=package)
        plugins.install(tmp_path / "site", project, **{package: COMMAND})
    said = run(tmp_path / "site", tmp_path, "hello", code=2).stderr
    assert "acme and bcme" in said


def test_a_plugin_that_cannot_be_loaded_names_its_package(tmp_path: Path) -> None:
    project = PROJECT.format(package="acme", group="commands", name="hello", module="no_such_module")
    site = plugins.install(tmp_path / "site", project)
    assert "acme" in run(site, tmp_path, "hello", code=2).stderr
