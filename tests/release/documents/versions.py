"""Digests of everything that the documents of a release are rendered from, version by version.

python -m tests.release.documents.versions --write # store them: before 1.0, or for a new version
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from queryveil import catalog
from queryveil.release.documents import rendering

STORED = Path(__file__).parent / "versions.json"
RELEASES = Path(__file__).parent / "releases"
"""Manifests and rows of releases that were published once, and never change."""


def file_digests() -> dict[str, str]:
    """The digest of each file of each version."""
    files = (
        one for version in catalog.versions() for one in sorted(catalog.version_folder(version).iterdir())
    )
    return {f"{one.parent.name}/{one.name}": digest(one.read_bytes()) for one in files}


def document_digests() -> dict[str, str]:
    """The digest of each document of each stored release, in each version and language."""
    return {
        f"{file.stem} v{version} {language} {name}": digest(text.encode())
        for file in sorted(RELEASES.glob("*.json"))
        for version in catalog.versions()
        for language in catalog.languages(version)
        for name, text in documents(file, version, language)
    }


def documents(file: Path, version: int, language: str) -> Iterator[tuple[str, str]]:
    """Render the documents of a stored release."""
    stored: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    manifest = stored["manifest"] | {"documents": {"version": version, "language": language}}
    tables = {}
    for name, declared in manifest["tables"].items():
        schema = pa.schema([(one["name"], _type(one["type"])) for one in declared["columns"]])
        tables[name] = pa.Table.from_pylist(stored["rows"][name], schema)
    for name in rendering.document_names(manifest):
        yield name, rendering.render_document(name, manifest, tables)
    yield "impact", rendering.render_impact(manifest)


def _type(name: str) -> pa.DataType:
    return pa.list_(pa.string()) if name.startswith("list") else pa.type_for_alias(name)


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


if __name__ == "__main__":
    assert sys.argv[1:] == ["--write"], __doc__
    found = {"files": file_digests(), "documents": document_digests()}
    STORED.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
