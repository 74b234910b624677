"""The documents of a release, one after another: citation, Croissant, data sheet, report.

They follow from manifest and tables alone, to the byte, so that anyone can write them again and compare.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from queryveil.files import folder
from queryveil.release.about import stated
from queryveil.release.documents import citation_file, croissant, datasheet
from queryveil.release.documents import public_page as public

NAMES = (folder.CITATION, folder.CROISSANT, folder.DATASHEET, folder.REPORT)
"""In the order in which they are written: each may name the digests of those before it."""


def written(manifest: dict[str, Any], tables: Mapping[str, pa.Table]) -> Iterator[tuple[str, bytes]]:
    """Name and content of each document. Its digest is added to the `files` of the manifest, which has the tables'."""
    for name in named(manifest):
        content = _text(name, manifest, tables).encode()
        manifest["files"][name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        yield name, content


def named(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """The documents that a release has: it cites itself if its publisher is named."""
    return NAMES if stated(manifest, "publisher") else NAMES[1:]


def _text(name: str, manifest: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> str:
    if name == folder.CITATION:
        return citation_file.write(manifest)
    if name == folder.CROISSANT:
        return croissant.write(manifest)
    if name == folder.DATASHEET:
        return datasheet.write(manifest)
    return public.write(manifest, tables)
