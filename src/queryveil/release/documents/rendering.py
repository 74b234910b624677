"""Renders the documents of a release: citation, Croissant, data sheet, report.

They follow from manifest and tables alone, to the byte, so that anyone can render them again and compare. The manifest
names the version and the language of the templates and sentences.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from queryveil.catalog import (
    ENGLISH,
    Catalog,
    from_data,
    has_catalog,
    languages,
    latest_version,
    open_catalog,
)
from queryveil.catalog.templates import render
from queryveil.errors import UsageError, instead
from queryveil.files import folder
from queryveil.privacy.guarantee import Guarantee
from queryveil.release.about import stated
from queryveil.release.documents import assessment, citation, croissant, report

NAMES = (folder.CITATION, folder.CROISSANT, folder.DATASHEET, folder.REPORT)
"""In the order in which they are rendered: each may name the digests of those before it."""
_TEMPLATES = {
    folder.CITATION: "CITATION.cff.jinja",
    folder.CROISSANT: "croissant.json.jinja",
    folder.DATASHEET: "datasheet.md.jinja",
    folder.REPORT: "report.html.jinja",
}


def document_version(language: str = ENGLISH) -> dict[str, Any]:
    """Return the version and the language of new documents, as a manifest names them.

    Raises:
        UsageError: There are no documents in this language.
    """
    version = latest_version()
    if not has_catalog(version, language):
        known = languages(version)
        raise UsageError(f"there are no documents in the language '{language}'", instead(language, known))
    return {"version": version, "language": language}


def catalog_of(manifest: Mapping[str, Any]) -> Catalog:
    """Return the catalog that the documents of a release are rendered with."""
    return open_catalog(**manifest["documents"])


def render_documents(manifest: dict[str, Any], tables: Mapping[str, pa.Table]) -> Iterator[tuple[str, bytes]]:
    """Name and content of each document. Its digest is added to the `files` of the manifest, which has the tables'."""
    for name in document_names(manifest):
        content = render_document(name, manifest, tables).encode()
        manifest["files"][name] = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        yield name, content


def document_names(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """The documents that a release has: it cites itself if its publisher is named."""
    return NAMES if stated(manifest, "publisher") else NAMES[1:]


def render_document(name: str, manifest: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> str:
    """Return one of the documents as text."""
    catalog, manifest = catalog_of(manifest), from_data(manifest)
    values: dict[str, Any] = {"manifest": manifest}
    if name == folder.CITATION:
        values["citation"] = citation.describe(manifest)
    elif name == folder.CROISSANT:
        values["croissant"] = croissant.describe(manifest, catalog)
    else:
        values["guarantee"] = Guarantee.from_dict(manifest["guarantee"])
        values["release"] = report.describe(manifest, tables, catalog)
        values |= report.PAGE
    return render(catalog, _TEMPLATES[name], **values)


def render_impact(manifest: Mapping[str, Any]) -> str:
    """Return the text for an impact assessment, for the private folder: what only the controller knows is open."""
    manifest = from_data(manifest)
    return render(
        catalog_of(manifest),
        "impact.md.jinja",
        release={"title": stated(manifest, "title") or manifest["what"]},
        parts=assessment.impact(manifest),
    )
