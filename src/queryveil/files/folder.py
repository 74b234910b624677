"""The shape of a release folder: names, schema, digests and how files are written.

DIR/                manifest.json, one Parquet file per table, croissant.json, DATASHEET.md, report.html; CITATION.cff
                    if its publisher is named, and manifest.json.sig if it is signed
DIR.private/        what the curator alone may see, mode 0700
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = "queryveil-release"
FORMAT_VERSION = 2

MANIFEST = "manifest.json"
SERIES = "series.json"
"""The index of a folder of releases; such a folder has no manifest of its own."""
SIGNATURE = "manifest.json.sig"
"""The one file that the manifest does not name, since it is made of the manifest."""
CITATION = "CITATION.cff"
"""How to cite a release, if its publisher is named."""
CROISSANT = "croissant.json"
DATASHEET = "DATASHEET.md"
REPORT = "report.html"

PRIVATE_SUFFIX = ".private"
IMPACT = "DPIA.md"
"""Text for an impact assessment, which the curator completes; in the private folder."""
CURATOR = "curator"
"""What the private folder says of the log, as JSON."""

_GROUP_ROWS = 1 << 20
"""Rows of a group in Parquet files."""

_PLAIN_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")


def software_version() -> dict[str, str]:
    """Return the name and version of the software that a release states."""
    return {"name": "queryveil", "version": _installed_version()}


@functools.cache
def _installed_version() -> str:
    return metadata.version("queryveil")


def private_folder(release: Path) -> Path:
    """Where the curator's own files of a release go: beside it, never inside."""
    named = release if release.name not in ("", "..") else Path(os.path.abspath(release))  # noqa: PTH100 ('..')
    return named.with_name(named.name + PRIVATE_SUFFIX)


def is_release(path: Path) -> bool:
    """Whether a folder has a manifest that says so itself: other programs write a manifest.json too.

    One that is damaged says nothing; then a data sheet beside it does.
    """
    try:
        if not (path / MANIFEST).is_file():
            return False
        content = json.loads((path / MANIFEST).read_bytes())
    except OSError:
        return False
    except (ValueError, RecursionError):
        return (path / DATASHEET).is_file()
    return isinstance(content, dict) and content.get("format") == FORMAT


def is_plain_name(name: object) -> bool:
    """A name of a file, or of a table, that cannot lead out of the folder."""
    return isinstance(name, str) and _PLAIN_NAME.fullmatch(name) is not None and ".." not in name


def file_inside(release: Path, name: str) -> Path | None:
    """A file of a release by its name; None if it is not there, lies elsewhere, or is a link or a device.

    Names come from a manifest, which anyone may have written: nothing is opened that was not asked here.
    """
    file = release / name if is_plain_name(name) else None
    return file if file is not None and not file.is_symlink() and file.is_file() else None


def table_file(table: str) -> str:
    return f"{table}.parquet"


def file_digest(file: Path) -> str:
    """SHA-256 of a file."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def digest_of(content: bytes) -> str:
    """SHA-256 of what a file would hold."""
    return hashlib.sha256(content).hexdigest()


def as_json(content: Any) -> str:
    """A document as it stands in a folder: one way only, so that nothing can be told by how it is written."""
    return json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def write_table(table: pa.Table, file: Path) -> None:
    """A group of rows at a time: a table on disk need not fit into memory."""
    import pyarrow.parquet as pq

    with pq.ParquetWriter(file, table.schema, compression="zstd") as writer:
        for start in range(0, table.num_rows, _GROUP_ROWS):
            writer.write_table(table.slice(start, _GROUP_ROWS).combine_chunks())
