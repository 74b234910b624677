"""What queryveil is made of: pinned packages with hashes, their licences, a bill of materials, and builds that repeat.

    python scripts/supply_chain.py lock  # requirements.lock from constraints.txt (needs uv on the path)
    python scripts/supply_chain.py licences # every pinned package and its licence; fails if one is not allowed
    python scripts/supply_chain.py bom FILE # a CycloneDX bill of materials of the pinned packages
    python scripts/supply_chain.py build FOLDER # wheel and source archive, made twice: same bytes or exit 1
    python scripts/supply_chain.py install FOLDER # the wheel in a new environment, from the lock, and its demo

Nothing here names a place to load packages from: pip's own settings decide, and the hashes say whether it is the
right file.
"""

from __future__ import annotations

import argparse
import email.message
import gzip
import hashlib
import importlib.metadata
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import uuid
import venv
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "requirements.lock"
CONSTRAINTS = ROOT / "constraints.txt"
EPOCH = 1_577_836_800
"""The time that every file of a build has: 2020-01-01, as zip archives know nothing before 1980."""

ALLOWED = frozenset(
    {
        *("0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0"),
        *("CNRI-Python", "ISC", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0", "Zlib"),
    }
)
"""Licences under which anyone may use, change and pass on a program that uses the package."""

LIBRARIES = frozenset({"LGPL-2.1-or-later", "LGPL-3.0-only"})
"""Fine for a package that is installed beside ours, unchanged, and only by those who ask for it."""

_CLASSIFIERS = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
    "GNU Lesser General Public License v2 or later (LGPLv2+)": "LGPL-2.1-or-later",
}
_WORDS = {
    "Apache 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
}
_SILENT = {"axe-playwright-python": "MIT", "mlcroissant": "Apache-2.0"}
"""Packages whose metadata says nothing: from the licence in their source."""


@dataclass(frozen=True)
class Pinned:
    """One line of the lock: a package, its version, and the hashes of the files that it may come in."""

    name: str
    version: str
    hashes: tuple[str, ...]

    @property
    def line(self) -> str:
        return f"{self.name}=={self.version} {' '.join(f'--hash={one}' for one in self.hashes)}\n"


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def constraints(file: Path = CONSTRAINTS) -> dict[str, str]:
    """Package -> version."""
    pairs = (line.strip().split("==") for line in file.read_text().splitlines() if "==" in line)
    return {canonical(name): version for name, version in pairs}


def locked(file: Path = LOCK) -> list[Pinned]:
    """What stands in the lock."""
    found = []
    for block in re.split(r"\n(?=\S)", file.read_text().strip()):
        if first := re.match(r"([A-Za-z0-9._-]+)==(\S+)", block):
            hashes = tuple(re.findall(r"--hash=(sha256:[0-9a-f]{64})", block))
            found.append(Pinned(canonical(first[1]), first[2], hashes))
    return found


def write_lock() -> None:
    """All files of each pinned version, whatever the platform, as the package index lists them."""
    uv = shutil.which("uv")
    if uv is None:
        sys.exit("uv is not on the path: install it, and run again")
    with tempfile.TemporaryDirectory() as folder:
        backend = Path(folder) / "backend.in"
        backend.write_text("\n".join(_project()["build-system"]["requires"]) + "\n")
        made = Path(folder) / "made.lock"
        subprocess.run(  # noqa: S603
            [
                *(uv, "pip", "compile", "--quiet", "--generate-hashes", "--no-header", "--no-annotate"),
                *(
                    "--no-emit-index-url",
                    "--no-emit-find-links",
                    "--constraint",
                    CONSTRAINTS,
                    "--extra",
                    "dev",
                ),
                *("--python-version", ".".join(map(str, sys.version_info[:3])), "--output-file", made),
                *(ROOT / "pyproject.toml", backend),
            ],
            check=True,
        )
        LOCK.write_text("# python scripts/supply_chain.py lock\n" + made.read_text())


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())


def licence(metadata: email.message.Message | Any, name: str) -> str:
    """A package's licence as an SPDX expression; empty if its metadata does not say one that is known."""
    if stated := metadata.get("License-Expression"):
        return str(stated)
    words = str(metadata.get("License") or "")
    words = _WORDS.get(words, words)
    if words and all(one in ALLOWED | LIBRARIES for one in _parts(words)):
        return words
    kinds = [one.split("::")[-1].strip() for one in metadata.get_all("Classifier") or []]
    return next((_CLASSIFIERS[kind] for kind in kinds if kind in _CLASSIFIERS), _SILENT.get(name, ""))


def _parts(expression: str) -> list[str]:
    return [one.strip(" ()") for one in re.split(r"\bAND\b|\bOR\b", expression)]


def is_allowed(expression: str, *, optional: bool) -> bool:
    """Whether every part of an `AND`, or one part of an `OR`, may be used."""
    allowed = ALLOWED | (LIBRARIES if optional else frozenset())
    return any(
        all(part.strip(" ()") in allowed for part in re.split(r"\bAND\b", way))
        for way in re.split(r"\bOR\b", expression)
    )


def needed(name: str, extras: frozenset[str] = frozenset()) -> set[str]:
    """Packages that an installed one needs, itself left out."""
    from packaging.requirements import Requirement

    found: set[str] = set()
    waiting = [(canonical(name), extras)]
    seen: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        one, asked = waiting.pop()
        if (one, asked) in seen:
            continue
        seen.add((one, asked))
        for text in importlib.metadata.requires(one) or []:
            wanted = Requirement(text)
            if wanted.marker is None or any(
                wanted.marker.evaluate({"extra": extra}) for extra in (*asked, "")
            ):
                found.add(canonical(wanted.name))
                waiting.append((canonical(wanted.name), frozenset(wanted.extras)))
    return found - {canonical(name)}


def licences() -> list[tuple[str, str, str, bool]]:
    """Name, version, licence of each pinned package that is installed here, and whether it is allowed."""
    core = needed("queryveil")
    rows = []
    for one in locked():
        try:
            metadata = importlib.metadata.metadata(one.name)
        except importlib.metadata.PackageNotFoundError:
            continue  # what builds the package is not installed with it
        stated = licence(metadata, one.name)
        rows.append((one.name, one.version, stated, is_allowed(stated, optional=one.name not in core)))
    return rows


def bill_of_materials() -> dict[str, Any]:
    """CycloneDX 1.6: queryveil, every pinned package with its licence, and which needs which."""
    stated = {name: spdx for name, _, spdx, _ in licences()}
    pins = locked()
    known = {one.name for one in pins}
    about = _project()["project"]
    own = f"pkg:pypi/queryveil@{about['version']}"
    reference = {one.name: f"pkg:pypi/{one.name}@{one.version}" for one in pins}
    core = needed("queryveil")
    components = [
        {
            "type": "library",
            "bom-ref": reference[one.name],
            "name": one.name,
            "version": one.version,
            "scope": "required" if one.name in core else "optional",
            "purl": reference[one.name],
            **({"licenses": [{"expression": stated[one.name]}]} if stated.get(one.name) else {}),
        }
        for one in pins
    ]
    edges = [
        {
            "ref": reference[name],
            "dependsOn": sorted(reference[n] for n in _direct(name) if n in known),
        }
        for name in stated
    ]
    edges.append({"ref": own, "dependsOn": sorted(reference[n] for n in _direct("queryveil") if n in known)})
    serial = uuid.uuid5(uuid.NAMESPACE_URL, own + hashlib.sha256(LOCK.read_bytes()).hexdigest())
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{serial}",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": own,
                "name": "queryveil",
                "version": about["version"],
                "purl": own,
                "licenses": [{"expression": about["license"]}],
            }
        },
        "components": components,
        "dependencies": sorted(edges, key=lambda edge: str(edge["ref"])),
    }


def _direct(name: str) -> set[str]:
    from packaging.requirements import Requirement

    wanted = [Requirement(text) for text in importlib.metadata.requires(name) or []]
    return {canonical(one.name) for one in wanted if one.marker is None or one.marker.evaluate({"extra": ""})}


def sources(into: Path) -> None:
    """The files that git knows, and nothing that lies beside them, with the same modes everywhere."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"],  # noqa: S607
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file() and not name.startswith(("docs/", "tests/", "benchmarks/")):
            (into / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, into / name)
            (into / name).chmod(0o644)


def build(into: Path, backend: Path) -> dict[str, str]:
    """Wheel and source archive, made from a copy in a new folder; file -> SHA-256."""
    into.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / f"queryveil-{os.urandom(4).hex()}"
        copy.mkdir()
        sources(copy)
        calls = "from setuptools import build_meta as b; b.build_sdist(r'%s'); b.build_wheel(r'%s')"
        subprocess.run(  # noqa: S603
            [sys.executable, "-c", calls % (into.resolve(), into.resolve())],
            cwd=copy,
            env={**os.environ, "PYTHONPATH": str(backend), "SOURCE_DATE_EPOCH": str(EPOCH)},
            capture_output=True,
            check=True,
            umask=0o022,
        )
    for archive in into.glob("*.tar.gz"):
        _settle(archive)
    return {one.name: hashlib.sha256(one.read_bytes()).hexdigest() for one in sorted(into.iterdir())}


def _settle(archive: Path) -> None:
    """The same source archive with one time, one owner and one order: setuptools writes the time of the build."""
    settled = io.BytesIO()
    with (
        tarfile.open(archive) as before,
        gzip.GzipFile(fileobj=settled, mode="wb", mtime=EPOCH, filename="") as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as after,
    ):
        for member in sorted(before.getmembers(), key=lambda one: one.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = EPOCH, 0, 0, "", ""
            member.pax_headers = {}
            after.addfile(member, before.extractfile(member) if member.isfile() else None)
    archive.write_bytes(settled.getvalue())


def get_backend(into: Path) -> Path:
    """What builds the package, in the version and with the hash of the lock."""
    wanted = next(one for one in locked() if one.name == "setuptools")
    file = into / "backend.txt"
    file.write_text(wanted.line)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run(  # noqa: S603
        [*pip, "--require-hashes", "--no-deps", "-r", file, "--target", into / "backend"],
        check=True,
        capture_output=True,
    )
    return into / "backend"


def build_twice(into: Path) -> bool:
    """Whether two builds, in different folders, are the same to the byte."""
    with tempfile.TemporaryDirectory() as folder:
        backend = get_backend(Path(folder))
        first, second = build(into, backend), build(Path(folder) / "again", backend)
    for name, digest in first.items():
        print(f"{name}  sha256:{digest}  {'the same again' if second.get(name) == digest else 'DIFFERENT'}")  # noqa: T201
    return first == second


def environment(into: Path, wheel: Path, *, borrow: Path | None = None) -> Path:
    """The Python of a new environment with the wheel. What it needs is loaded by hash, or borrowed from a folder."""
    venv.create(into, with_pip=True, symlinks=True)
    python = into / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if borrow is None:
        core = needed("queryveil")
        wanted = "".join(one.line for one in locked() if one.name in core)
        (into / "core.txt").write_text(wanted)
        subprocess.run([*pip, "--require-hashes", "--no-deps", "-r", into / "core.txt"], check=True)  # noqa: S603
    else:
        site = next((into / "lib").glob("python*/site-packages"))
        (site / "borrowed.pth").write_text(f"{borrow}\n")
    subprocess.run([*pip, "--no-deps", "--no-index", wheel], check=True)  # noqa: S603
    return python


def install(into: Path) -> None:
    """Build, install in a new environment by the lock alone, and run the demo from there."""
    if not build_twice(into / "dist"):
        sys.exit(1)
    python = environment(into / "environment", next((into / "dist").glob("*.whl")))
    subprocess.run([python.parent / "queryveil", "demo", "--out", into / "demo"], cwd=into, check=True)  # noqa: S603


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    for name in ("lock", "licences"):
        commands.add_parser(name)
    for name in ("bom", "build", "install"):
        commands.add_parser(name).add_argument("into", type=Path)
    given = parser.parse_args()
    if given.command == "lock":
        write_lock()
    elif given.command == "licences":
        rows = licences()
        for name, version, stated, allowed in rows:
            print(f"{name:28} {version:18} {stated or '?'}{'' if allowed else '   NOT ALLOWED'}")  # noqa: T201
        return 0 if all(row[-1] for row in rows) else 1
    elif given.command == "bom":
        given.into.write_text(json.dumps(bill_of_materials(), indent=2) + "\n")
    elif given.command == "build":
        return 0 if build_twice(given.into) else 1
    else:
        given.into.mkdir(parents=True)
        install(given.into.resolve())
    return 0


if __name__ == "__main__":
    sys.exit(main())
