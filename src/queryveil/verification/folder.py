"""The folder: every file that the manifest names, as it names it, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from queryveil.files import folder
from queryveil.verification import page
from queryveil.verification.manifest import Manifest
from queryveil.verification.outcome import Check, judge, quoted

_DOCUMENTS = (folder.CROISSANT, folder.DATASHEET, folder.REPORT)

_SHA256 = re.compile(r"[0-9a-f]{64}")
_ABOUT = ("title", "publisher", "contact", "licence", "purpose", "period", "language", "citation")
_LONGEST = 2_000


def checks(release: Path, manifest: Manifest) -> list[Check]:
    files = manifest.section("files")
    return [
        judge(
            "digests",
            f"{len(files)} files have the stated size and SHA-256",
            lambda: _digests(release, files),
        ),
        judge(
            "folder",
            "the folder has the files that the manifest names and nothing else",
            lambda: _folder(release, files),
        ),
        judge(
            "roles",
            "every named file is a table or a document of the release",
            lambda: _roles(files, manifest.section("tables")),
        ),
        *_about(release, manifest),
        judge(
            "report-offline",
            f"{folder.REPORT} refers to nothing outside the release",
            lambda: _report(release, {folder.MANIFEST, *files}),
        ),
    ]


def _digests(release: Path, files: Mapping[str, object]) -> Iterator[str]:
    if not files:
        yield "the manifest names no file"
    for name, entry in files.items():
        file = folder.file_inside(release, name)
        if not folder.plain(name):
            yield f"{quoted(name)} is not a plain file name"
        elif not isinstance(entry, dict):
            yield f"{quoted(name)} has no digest"
        elif file is None:  # also a link, or what one would wait on, a pipe or a device
            yield f"{quoted(name)} is missing"
        elif type(entry.get("bytes")) is not int or file.stat().st_size != entry["bytes"]:
            yield f"{quoted(name)} does not have the stated size"
        elif not _SHA256.fullmatch(str(entry.get("sha256"))) or folder.digest(file) != entry["sha256"]:
            yield f"{quoted(name)} does not have the stated SHA-256"


def _folder(release: Path, files: Mapping[str, object]) -> Iterator[str]:
    for entry in sorted(release.iterdir()):
        if entry.is_symlink():
            yield f"{quoted(entry.name)} is a link"
        elif not entry.is_file():
            yield f"{quoted(entry.name)} is not a file"
        elif entry.name not in {folder.MANIFEST, folder.SIGNATURE, *files}:
            yield f"{quoted(entry.name)} is not named by the manifest"


def _roles(files: Mapping[str, object], tables: Mapping[str, object]) -> Iterator[str]:
    of_tables = {folder.table_file(name) for name in tables}
    for name in files:
        if name not in of_tables and name not in (*_DOCUMENTS, folder.CITATION):
            yield f"{quoted(name)} is neither a table nor a document"
    for name in (*sorted(of_tables), *_DOCUMENTS):
        if name not in files:
            yield f"{quoted(name)} is not among the files"


def _about(release: Path, manifest: Manifest) -> list[Check]:
    """What a publisher says of a release: no reader can check it, only that it is said as it may be."""
    if "about" not in manifest.content:
        return []
    good = "the publisher's own words are plain, and are cited where they name the publisher"
    return [judge("about", good, lambda: _said(release, manifest))]


def _said(release: Path, manifest: Manifest) -> Iterator[str]:
    said = manifest.content["about"]
    if not isinstance(said, dict) or not said:
        yield "'about' is empty, or is not a list of names and texts"
        return
    for name, text in said.items():
        if name not in _ABOUT:
            yield f"'about' has the unknown key {quoted(name)}"
        elif not isinstance(text, str) or not text.strip() or not text.isprintable() or len(text) > _LONGEST:
            yield f"{quoted(name)} of 'about' is not a plain text"
        elif _is_blank(text):
            yield f"{quoted(name)} of 'about' is a blank that was not filled in"
    named = isinstance(said.get("publisher"), str) and said["publisher"].casefold() != "not stated"
    if named != (folder.CITATION in manifest.section("files")):
        yield f"{folder.CITATION} is there without a publisher, or is missing"


def _is_blank(text: str) -> bool:
    """Whether a text is one to be filled in, like [publisher]."""
    inside = text.strip()
    return len(inside) > 1 and inside[0] in "[<{" and inside[-1] in "]>}"


def _report(release: Path, inside: set[str]) -> Iterator[str]:
    file = folder.file_inside(release, folder.REPORT)
    if file is not None:
        yield from page.outside_references(file.read_text(encoding="utf-8", errors="replace"), inside)
