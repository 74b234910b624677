"""The folder: every file that the manifest names, as it names it, and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from queryveil.catalog import Sentence
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
            Sentence("verify.folder.files-have-stated-size-and-sha-256", files=len(files)),
            lambda: _check_digests(release, files),
        ),
        judge(
            "folder",
            Sentence("verify.folder.folder-has-files-manifest-names-and"),
            lambda: _check_files(release, files),
        ),
        judge(
            "roles",
            Sentence("verify.folder.every-named-file-is-table-or"),
            lambda: _check_roles(files, manifest.section("tables")),
        ),
        *_check_about(release, manifest),
        judge(
            "report-offline",
            Sentence("verify.folder.refers-to-nothing-outside-release", report=folder.REPORT),
            lambda: _check_report(release, {folder.MANIFEST, *files}),
        ),
    ]


def _check_digests(release: Path, files: Mapping[str, object]) -> Iterator[str]:
    if not files:
        yield Sentence("verify.folder.manifest-names-no-file")
    for name, entry in files.items():
        file = folder.file_inside(release, name)
        if not folder.is_plain_name(name):
            yield Sentence("verify.folder.is-not-plain-file-name", name=quoted(name))
        elif not isinstance(entry, dict):
            yield Sentence("verify.folder.has-no-digest", name=quoted(name))
        elif file is None:  # also a link, or what one would wait on, a pipe or a device
            yield Sentence("verify.folder.is-missing", name=quoted(name))
        elif type(entry.get("bytes")) is not int or file.stat().st_size != entry["bytes"]:
            yield Sentence("verify.folder.does-not-have-stated-size", name=quoted(name))
        elif not _SHA256.fullmatch(str(entry.get("sha256"))) or folder.file_digest(file) != entry["sha256"]:
            yield Sentence("verify.folder.does-not-have-stated-sha-256", name=quoted(name))


def _check_files(release: Path, files: Mapping[str, object]) -> Iterator[str]:
    for entry in sorted(release.iterdir()):
        if entry.is_symlink():
            yield Sentence("verify.folder.is-link", name=quoted(entry.name))
        elif not entry.is_file():
            yield Sentence("verify.folder.is-not-file", name=quoted(entry.name))
        elif entry.name not in {folder.MANIFEST, folder.SIGNATURE, *files}:
            yield Sentence("verify.folder.is-not-named-by-manifest", name=quoted(entry.name))


def _check_roles(files: Mapping[str, object], tables: Mapping[str, object]) -> Iterator[str]:
    of_tables = {folder.table_file(name) for name in tables}
    for name in files:
        if name not in of_tables and name not in (*_DOCUMENTS, folder.CITATION):
            yield Sentence("verify.folder.is-neither-table-nor-document", name=quoted(name))
    for name in (*sorted(of_tables), *_DOCUMENTS):
        if name not in files:
            yield Sentence("verify.folder.is-not-among-files", name=quoted(name))


def _check_about(release: Path, manifest: Manifest) -> list[Check]:
    """What a publisher says of a release: no reader can check it, only that it is said as it may be."""
    if "about" not in manifest.content:
        return []
    good = Sentence("verify.folder.publisher-own-words-are-plain-and")
    return [judge("about", good, lambda: _check_publisher(release, manifest))]


def _check_publisher(release: Path, manifest: Manifest) -> Iterator[str]:
    said = manifest.content["about"]
    if not isinstance(said, dict) or not said:
        yield Sentence("verify.folder.about-is-empty-or-is-not")
        return
    for name, text in said.items():
        if name not in _ABOUT:
            yield Sentence("verify.folder.about-has-unknown-key", name=quoted(name))
        elif not isinstance(text, str) or not text.strip() or not text.isprintable() or len(text) > _LONGEST:
            yield Sentence("verify.folder.of-about-is-not-plain-text", name=quoted(name))
        elif _is_blank(text):
            yield Sentence("verify.folder.of-about-is-blank-was-not", name=quoted(name))
    named = isinstance(said.get("publisher"), str) and said["publisher"].casefold() != "not stated"
    if named != (folder.CITATION in manifest.section("files")):
        yield Sentence("verify.folder.is-there-without-publisher-or-is", citation=folder.CITATION)


def _is_blank(text: str) -> bool:
    """Whether a text is one to be filled in, like [publisher]."""
    inside = text.strip()
    return len(inside) > 1 and inside[0] in "[<{" and inside[-1] in "]>}"


def _check_report(release: Path, inside: set[str]) -> Iterator[str]:
    file = folder.file_inside(release, folder.REPORT)
    if file is not None:
        yield from page.outside_references(file.read_text(encoding="utf-8", errors="replace"), inside)
