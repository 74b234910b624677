"""What a release folder must be for its tables to be read and its words to be shown.

Anyone may have written it. Whether it keeps what it promises is asked by `verify`; here, that every value has the type
that commands rely on and every table the columns of its method, so that a changed folder is refused with a sentence.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from queryveil.files import folder
from queryveil.mechanisms import MECHANISMS
from queryveil.parameters import fits, parameters
from queryveil.privacy.guarantee import KIND_IN_WORDS

_DEEPEST = 4
_LARGEST = 10**18

_TEXT, _WHOLE, _LIST = pa.string(), pa.int64(), pa.list_(pa.string())
_TYPES = {
    "user": (_TEXT, _WHOLE),
    "items": (_LIST,),
    **dict.fromkeys(("count", "number", "session", "group"), (_WHOLE,)),
}
"""Columns that are no plain text."""
_KINDS = {
    "keywords": "keyword count",
    "queries": "query count",
    "query-pairs": "query next_query count",
    "clicks": "query url count",
}
_ONE_KIND: dict[str, tuple[str, ...]] = {"items": tuple(_KINDS.values())}
_GROUPS: dict[str, tuple[str, ...]] = {"transactions": ("group items",)}
_TABLES: dict[str, dict[str, tuple[str, ...]]] = {
    "zealous": {**{name: (columns,) for name, columns in _KINDS.items()}, **_ONE_KIND},
    "click-graph": {
        "queries": ("query count",),
        "clicks": ("query url count",),
        "reformulations": ("query next_query count",),
    },
    "k-query": {"log": ("session query",)},
    "k-session": _GROUPS,
    "k-keyword": {"items": ("prefix count",)},
    "token-hash": {"log": ("session query", "query")},
    "ad-hoc": {
        "log": (
            "user session query",
            "session query",
            "user session share_x share_y label",
            "session share_x share_y label",
        ),
        "queries": ("label sealed",),
    },
    "clump": _GROUPS,
    "partition": _GROUPS,
    "semantic": {"log": ("user number query",)},
    "profile-histogram": {"log": ("user number query",)},
}
"""For each method its tables, and which columns they may have."""


class Malformed(ValueError):
    """A part of a release is not what it must be; the message says which, and quotes nothing."""


def manifest(content: Any) -> dict[str, Any]:
    """A manifest whose values have the types that they must have."""
    _need(isinstance(content, dict), "the manifest is not an object")
    for name in ("parameters", "calibration", "guarantee", "tables", "software", "files"):
        _need(isinstance(content.get(name), dict), f"'{name}' of the manifest is not an object")
    for name in ("method", "created"):
        _need(_text(content.get(name)), f"'{name}' of the manifest is not a text")
    for name in ("what", "how"):
        _need(_text(content.setdefault(name, "")), f"'{name}' of the manifest is not a text")
    _need(_texts(content.get("assessment", [])), "'assessment' of the manifest is not a list of texts")
    _need(all(_text(content["software"].get(one)) for one in ("name", "version")), "'software' is incomplete")
    try:
        datetime.date.fromisoformat(content["created"])
    except ValueError:
        raise Malformed("'created' of the manifest is not a day") from None
    _guarantee(content["guarantee"], 0)
    _parameters(content["method"], content["parameters"])
    _figures(content["calibration"], 0)
    for kind in _KINDS:
        _need(
            isinstance(content["calibration"].get(kind, {}), dict),
            f"the calibration of {kind} is not an object",
        )
    _files(content["files"])
    return content  # type: ignore[no-any-return]


def _parameters(method: str, given: Mapping[str, Any]) -> None:
    _figures(given, 0)
    if method not in MECHANISMS:
        return
    for one in parameters(MECHANISMS[method]):
        there = one.name in given
        _need(there or not one.required, f"parameter '{one.name}' is missing")
        _need(not there or fits(one, given[one.name]), f"parameter '{one.name}' is not what it must be")


def _figures(given: Any, depth: int) -> None:
    """Numbers, texts, and objects and lists of them."""
    if isinstance(given, dict | list) and depth <= _DEEPEST:
        for inner in given.values() if isinstance(given, dict) else given:
            _figures(inner, depth + 1)
        return
    _need(isinstance(given, bool) or _text(given) or _number(given), "a figure of the manifest is no number")


def _guarantee(given: Any, depth: int) -> None:
    _need(isinstance(given, dict) and depth <= _DEEPEST, "the guarantee is not an object")
    _need(_text(given.get("kind")) and given["kind"] in KIND_IN_WORDS, "the guarantee is of no known kind")
    for name in ("epsilon", "delta"):
        value = given.get(name)
        _need(value is None or (_number(value) and value >= 0), f"'{name}' of the guarantee is no number")
    k = given.get("k")
    _need(k is None or (type(k) is int and 2 <= k <= _LARGEST), "'k' of the guarantee is no number of users")
    _need(
        _text(given.get("shared", "")) and _text(given.get("unit", "")),
        "the guarantee has a word that is no text",
    )
    _need(given.get("neighbours") is None or _text(given["neighbours"]), "'neighbours' is not a text")
    for name in ("assumptions", "caveats"):
        _need(_texts(given.get(name, [])), f"'{name}' of the guarantee are not texts")
    if given.get("implies") is not None:
        _guarantee(given["implies"], depth + 1)
    _need(isinstance(given.get("parts", []), list), "the parts of the guarantee are not a list")
    for part in given.get("parts", []):
        _guarantee(part, depth + 1)


def _files(given: Mapping[str, Any]) -> None:
    for entry in given.values():
        good = isinstance(entry, dict) and _text(entry.get("sha256")) and type(entry.get("bytes")) is int
        _need(good, "a file of the manifest has no digest")


def table(release: Path, name: str, content: Mapping[str, Any]) -> pa.Table:
    """A table of a release, with the columns of its method and no empty cell.

    Its name must not lead to a file elsewhere.
    """
    file = folder.file_inside(release, folder.table_file(name))
    _need(file is not None, "a table is missing, or is not a file of its own folder")
    with pq.ParquetFile(file) as opened:
        found = opened.read()
        found.validate(full=True)
    stated = content["tables"][name]
    _need(isinstance(stated, dict) and type(stated.get("rows")) is int, "a table is not described")
    columns = stated.get("columns")
    _need(
        isinstance(columns, list) and all(map(_column, columns)), "the columns of a table are not described"
    )
    _need(stated.get("file") == folder.table_file(name), "a table is in another file than its own")
    shown = [(one["name"], one["type"]) for one in columns]
    _need(
        shown == [(one.name, str(one.type)) for one in found.schema], "a table has other columns than stated"
    )
    _need(stated["rows"] == found.num_rows, "a table has another number of rows than stated")
    _shape(name, content["method"], found)
    return found


def _shape(name: str, method: str, found: pa.Table) -> None:
    _need(len(set(found.column_names)) == found.num_columns > 0, "a table has no column, or one twice")
    if method in _TABLES:
        named = " ".join(found.column_names) in _TABLES[method].get(name, ())
        typed = named and all(one.type in _TYPES.get(one.name, (_TEXT,)) for one in found.schema)
        _need(typed, f"a table does not have the columns of method {method}")
    for column in found.columns:
        _need(column.null_count == 0 and not _empty_inside(column), "a table has empty cells")


def _empty_inside(column: pa.ChunkedArray) -> bool:
    return pa.types.is_list(column.type) and any(part.flatten().null_count for part in column.chunks)


def _column(given: Any) -> bool:
    return isinstance(given, dict) and all(_text(given.get(one)) for one in ("name", "type", "help"))


def _text(value: Any) -> bool:
    """A text that can be written: half of a character cannot."""
    return isinstance(value, str) and not any("\ud800" <= one <= "\udfff" for one in value)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_text, value))


def _number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) <= _LARGEST


def _need(holds: bool, problem: str) -> None:
    if not holds:
        raise Malformed(problem)
