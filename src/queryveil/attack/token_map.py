"""A map of hashes to words: what an attack made of them, or what they truly are."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from queryveil.errors import InputError

_COLUMNS = ("hash", "token")


def read_map(file: Path) -> dict[str, str]:
    """Hash -> word, from a file with the columns `hash` and `token`: Parquet, or text between tabs or commas."""
    try:
        found = _of_parquet(file) if file.suffix == ".parquet" else _of_text(file)
    except (OSError, pa.ArrowException, UnicodeDecodeError, csv.Error, ValueError) as error:
        raise InputError(
            f"the map in '{file.name}' cannot be read ({type(error).__name__})",
            "give a file with the columns hash and token: Parquet, .tsv or .csv",
        ) from None
    if not found:
        raise InputError(
            f"the map in '{file.name}' is empty", "give one with at least one hash and its token"
        )
    return found


def _of_parquet(file: Path) -> dict[str, str]:
    table = pq.read_table(file)
    _need_columns(file, table.column_names)
    return _unique_pairs(
        file, zip(*(table[name].cast(pa.string()).to_pylist() for name in _COLUMNS), strict=True)
    )


def _of_text(file: Path) -> dict[str, str]:
    with file.open(encoding="utf-8-sig", newline="") as lines:
        if file.suffix == ".csv":
            rows = csv.DictReader(lines)
        else:
            rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        _need_columns(file, rows.fieldnames or ())
        return _unique_pairs(file, ((row["hash"], row["token"]) for row in rows))


def _need_columns(file: Path, found: Iterable[str]) -> None:
    missing = [name for name in _COLUMNS if name not in set(found)]
    if missing:
        raise InputError(
            f"the map in '{file.name}' has no column '{missing[0]}'",
            "give a file with the columns hash and token: Parquet, .tsv or .csv",
        )


def _unique_pairs(file: Path, pairs: Iterable[tuple[str | None, str | None]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for number, (hashed, token) in enumerate(pairs, 1):
        if not hashed or token is None:
            raise InputError(
                f"row {number} of the map in '{file.name}' lacks a hash or a token", "give both in every row"
            )
        if found.setdefault(hashed, token) != token:
            raise InputError(
                f"row {number} of the map in '{file.name}' maps a hash for the second time",
                "map every hash to one token",
            )
    return found
