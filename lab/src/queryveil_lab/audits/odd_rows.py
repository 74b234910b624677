"""Rows that parse oddly: whatever one user writes, the rows of all others must be read as they were without it.

Nothing random is here: two neighbouring files are read, and what is left of them without the target must be equal.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from queryveil import QueryveilError, read
from queryveil.files import workspace

_TARGET = "target"
_OTHERS = 60
ODD = {
    "an open quote": '"open',
    "a quote inside": 'in"side',
    "quotes and a comma": '"a","b',
    "a backslash at the end": "end\\",
    "an escaped quote": '\\"',
    "a null byte": "nul\x00byte",
    "a carriage return": "carriage\rreturn",
    "a byte order mark": "\ufeffmark",
    "many fields": "a,b,c,d\te\tf",
    "a very long text": "long " * 20_000,
}
"""What a target may type, by name."""

Reader = Callable[[Path], pa.Table]
"""A file as a table with the columns `user` and `query`."""


@dataclass(frozen=True, kw_only=True)
class OddRows:
    """What came of odd rows."""

    tried: int
    swallowing: tuple[str, ...]
    """Odd rows that change how rows of other users are read, by format and name."""

    @property
    def refutes(self) -> bool:
        return bool(self.swallowing)

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self) | {"swallowing": list(self.swallowing)}


def shipped(file: Path) -> pa.Table:
    """The file as `publish` reads it."""
    log = read(file, max_rejected=1.0)
    return log.engine.arrow(log.table.select("user", "query"))


def checked(reader: Reader = shipped) -> OddRows:
    """Read files with and without each odd row, in each format."""
    swallowing = []
    with workspace.temporary_folder() as folder:
        for suffix, line in _FORMATS.items():
            place = folder / f"log.{suffix}"
            without = _other_rows(reader, place, line, [])
            if _other_rows(reader, place, line, list(ODD.values())) == without:
                continue
            # One of them is to blame, or all together.
            alone = [name for name, odd in ODD.items() if _other_rows(reader, place, line, [odd]) != without]
            swallowing += [f"{suffix}: {name}" for name in alone or ["all odd rows together"]]
    return OddRows(tried=len(ODD) * len(_FORMATS), swallowing=tuple(swallowing))


def _other_rows(
    reader: Reader, file: Path, line: Callable[[str, str], str], odd: list[str]
) -> list[tuple[str, str]] | str:
    """The rows of everyone else, in order; the kind of error if the file was refused.

    Rows of others stand between odd ones: what one opens, the next must not close unnoticed.
    """
    rows = [line(f"user{number}", f"query {number % 7}") for number in range(_OTHERS)]
    for number, text in enumerate(odd):
        rows.insert(3 + 4 * number, line(_TARGET, text))
    head = ["user,query"] if file.suffix == ".csv" else ["user\tquery"] if file.suffix == ".tsv" else []
    file.write_bytes("\n".join([*head, *rows, ""]).encode("utf-8"))
    try:
        table = reader(file)
    except QueryveilError as error:
        return error.kind
    found = zip(table["user"].to_pylist(), table["query"].to_pylist(), strict=True)
    return sorted((user, query) for user, query in found if user.startswith("user"))


def _csv_line(user: str, query: str) -> str:
    """As an exporter that does not quote writes it."""
    return f"{user},{query}"


def _tsv_line(user: str, query: str) -> str:
    return f"{user}\t{query}"


def _jsonl_line(user: str, query: str) -> str:
    return json.dumps({"user": user, "query": query})


_FORMATS: dict[str, Callable[[str, str], str]] = {"csv": _csv_line, "tsv": _tsv_line, "jsonl": _jsonl_line}
