"""The shape of a release folder: names, schema and digests. Writer and verifier share this and nothing else.

DIR/                manifest.json, one Parquet file per table, croissant.json, DATASHEET.md, report.html
DIR.private/        what the curator alone may see, mode 0700
"""

from __future__ import annotations

import hashlib
from pathlib import Path

FORMAT = "queryveil-release"
FORMAT_VERSION = 1

MANIFEST = "manifest.json"
CROISSANT = "croissant.json"
DATASHEET = "DATASHEET.md"
REPORT = "report.html"

PRIVATE_SUFFIX = ".private"

COLUMN_HELP = {
    "keyword": "a word of queries, in normal form",
    "query": "a query, in normal form",
    "next_query": "the query that followed it in the same session, or a public suggestion for it",
    "url": "a url for the query: clicked by someone, or on its public result list",
    "prefix": "a word of queries, or the beginning of words and a star",
    "user": "a random number that stands for one user",
    "number": "which of the user's queries it is, from 0",
    "session": "a random number that stands for one session of one user",
    "count": "number of users who kept the item, with noise (below 0 if noise makes it so)",
}


def private_folder(release: Path) -> Path:
    """Where the curator's own files of a release go: beside it, never inside."""
    return release.with_name(release.name + PRIVATE_SUFFIX)


def table_file(table: str) -> str:
    return f"{table}.parquet"


def digest(file: Path) -> str:
    """SHA-256 of a file."""
    with file.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
