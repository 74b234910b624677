"""Which keys JSON lines have, for messages: names of columns, never what a person typed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from queryveil.reading.columns import ALIASES

_NAME = re.compile(r"[A-Za-z_][A-Za-z_-]{0,29}(\.[A-Za-z_][A-Za-z_-]{0,29}){0,3}")
_SHOWN = 12
_DEEPEST = 3
_MISSING = object()


def keys_in(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Keys (and paths of keys) that may be shown: usual names, and names that most rows share, two at least.

    A key is a name as a rule, but some logs have a query or a user for one: such a key is not in most rows.
    """
    counts = Counter(path for row in rows for path in set(_paths(row)))
    usual = {alias for aliases in ALIASES.values() for alias in aliases}
    return [
        path
        for path, count in counts.items()
        if path.lower() in usual or (_NAME.fullmatch(path) and count > 1 and 2 * count > len(rows))
    ]


def shown(rows: Sequence[Mapping[str, Any]]) -> str:
    """The keys in words."""
    keys = sorted(keys_in(rows))
    if not keys:
        return "no key of the first rows looks like the name of a column"
    more = " and more" if len(keys) > _SHOWN else ""
    return f"the first rows have {', '.join(keys[:_SHOWN])}{more} (only names that most rows share are shown)"


def has_value(row: Mapping[str, Any], pointers: Iterable[str]) -> bool:
    """Whether one of these RFC 6901 pointers leads somewhere."""
    return any(_value(row, pointer) is not _MISSING for pointer in pointers)


def value_at(row: Mapping[str, Any], pointers: Iterable[str]) -> Any:
    """Return the first value to which one of these RFC 6901 pointers leads; None if there is none."""
    values = (_value(row, pointer) for pointer in pointers)
    return next((value for value in values if value is not _MISSING), None)


def _value(row: Any, pointer: str) -> Any:
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(row, Mapping) or key not in row:
            return _MISSING
        row = row[key]
    return row


def _paths(row: Mapping[str, Any], before: str = "", deep: int = 1) -> Iterator[str]:
    for key, value in row.items():
        if isinstance(value, Mapping) and value and deep < _DEEPEST:
            yield from _paths(value, f"{before}{key}.", deep + 1)
        else:
            yield f"{before}{key}"
