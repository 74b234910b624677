"""What queryveil is made of: pinned with hashes, under licences that are allowed, and built the same way twice."""

from __future__ import annotations

import email.message
import importlib.metadata
import importlib.util
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent.parent


def _script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("supply_chain", ROOT / "scripts" / "supply_chain.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


supply = _script()


def test_the_lock_pins_what_the_constraints_pin_with_hashes() -> None:
    pins = supply.locked()
    assert {one.name: one.version for one in pins} == supply.constraints()
    assert all(one.hashes for one in pins)
    assert len(pins) > 100


def test_everything_that_queryveil_needs_is_locked() -> None:
    names = {one.name for one in supply.locked()}
    assert supply.needed("queryveil", frozenset({"dev", "all"})) - {"queryveil"} <= names | {"setuptools"}
    assert supply.needed("queryveil") < names


def test_no_place_to_load_packages_from_is_named() -> None:
    # Which one is asked is the reader's own business; the hashes say whether a file is the right one.
    for file in (supply.LOCK, supply.CONSTRAINTS, ROOT / "scripts" / "supply_chain.py", ROOT / "Makefile"):
        assert not re.search(r"https?://|--index-url|--find-links ", file.read_text()), file.name


def test_every_licence_is_allowed() -> None:
    rows = supply.licences()
    assert [row for row in rows if not row[-1]] == []
    assert len(rows) > 100


def test_installed_versions_are_the_locked_ones() -> None:
    differing = [
        one.name
        for one in supply.locked()
        if one.name != "setuptools" and importlib.metadata.version(one.name) != one.version
    ]
    assert differing == []


@pytest.mark.parametrize(
    ("fields", "allowed", "beside"),
    [
        ({"License-Expression": "MIT"}, True, True),
        ({"License-Expression": "GPL-3.0-only"}, False, False),
        ({"License-Expression": "GPL-3.0-only OR MIT"}, True, True),
        ({"License-Expression": "MIT AND AGPL-3.0-only"}, False, False),
        ({"License-Expression": "LGPL-3.0-only"}, False, True),
        ({"License": "GPL"}, False, False),
        ({"License": "Apache 2.0"}, True, True),
        ({"Classifier": "License :: OSI Approved :: BSD License"}, True, True),
        ({"Classifier": "License :: Other/Proprietary License"}, False, False),
        ({}, False, False),
    ],
)
def test_a_licence_that_is_not_allowed_is_seen(fields: dict[str, str], allowed: bool, beside: bool) -> None:
    metadata = email.message.Message()
    for name, value in fields.items():
        metadata[name] = value
    stated = supply.licence(metadata, "toy")
    assert supply.is_allowed(stated, optional=False) is allowed
    assert supply.is_allowed(stated, optional=True) is beside


def test_the_bill_of_materials_lists_every_package_once() -> None:
    bill = supply.bill_of_materials()
    assert bill == json.loads(json.dumps(bill)) == supply.bill_of_materials()
    assert bill["bomFormat"] == "CycloneDX"
    names = [one["name"] for one in bill["components"]]
    assert sorted(names) == sorted(supply.constraints())
    known = {one["bom-ref"] for one in bill["components"]}
    assert all(set(edge["dependsOn"]) <= known for edge in bill["dependencies"])
    own = next(edge for edge in bill["dependencies"] if edge["ref"].startswith("pkg:pypi/queryveil@"))
    assert any(one.startswith("pkg:pypi/duckdb@") for one in own["dependsOn"])
    needed = {one["name"] for one in bill["components"] if one["scope"] == "required"}
    assert "numpy" in needed
    assert not needed & {"pytest", "pyspark", "psycopg"}
    unstated = {one["name"] for one in bill["components"] if "licenses" not in one}
    assert unstated <= {"setuptools"}


def test_wheel_and_archive_are_the_same_twice_and_the_wheel_works(tmp_path: Path) -> None:
    backend = supply.get_backend(tmp_path)
    first = supply.build(tmp_path / "first", backend)
    second = supply.build(tmp_path / "second", backend)
    assert first == second
    assert {name.rsplit(".", 1)[-1] for name in first} == {"whl", "gz"}
    wheel = next((tmp_path / "first").glob("*.whl"))
    packed = set(zipfile.ZipFile(wheel).namelist())
    listed = subprocess.run(
        ["git", "ls-files", "src/queryveil"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split("\n")
    assert {name.removeprefix("src/") for name in listed if name} <= packed
    manuals = {name.rpartition("/")[2] for name in packed if "/share/man/man1/" in name}
    assert manuals == {file.name for file in (ROOT / "man").glob("*.1")} != set()
    # What others need is borrowed, so that nothing is loaded here; `install` of the script loads it by hash.
    borrowed = Path(next(iter(importlib.import_module("duckdb").__path__))).parent
    python = supply.environment(tmp_path / "new", wheel, borrow=borrowed)
    where = "import queryveil, sys; sys.stdout.write(queryveil.__file__)"
    found = subprocess.run([python, "-c", where], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert found.stdout.startswith(str(tmp_path / "new"))
    # The demo compiles every loop anew, for a minute: `install` of the script runs it.
    for words in (
        "generate log.tsv --rows 3000 --seed 1",
        "publish k-query log.tsv --k 5 --out out",
        "report out",
    ):
        done = subprocess.run(
            [python.parent / "queryveil", *words.split()],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "out" / "manifest.json").is_file()
