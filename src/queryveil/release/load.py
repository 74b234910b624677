"""What a release folder must be for its tables to be read and its words to be shown.

Anyone may have written it. Whether it keeps what it promises is asked by `verify`; here, that every value has the type
that commands rely on and every table the columns of its method, so that a changed folder is refused with a sentence.
"""

from __future__ import annotations

import dataclasses
import datetime
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from queryveil.catalog import from_data
from queryveil.errors import QueryveilError
from queryveil.files import folder, tables
from queryveil.mechanisms import MECHANISMS, Plan
from queryveil.parameters import fits, parameters
from queryveil.plugins import Plugin
from queryveil.privacy.declarations import COUNTS, ITEMS_OF, LINKS, ROWS_OF, TEXTS, PublishedTable
from queryveil.privacy.draws import Draw
from queryveil.privacy.guarantee import KINDS, Guarantee
from queryveil.privacy.statements import NO, QUESTIONS, VERDICTS, Statement
from queryveil.release.about import About

_DEEPEST = 4
_LARGEST = 10**18

_NOT_INSIDE = "a table is missing, or is not a file of its own folder"
_NO_SUCH = "a table counts, holds or links something unknown"
_DRAWN: dict[str, type] = {
    **dict.fromkeys(
        ("of", "table", "bounded", "rule", "norm", "distribution", "rows", "neighbours", "kind", "weights"),
        str,
    ),
    **dict.fromkeys(("most", "copies", "sensitivity", "scale", "item_delta", "at_least", "above"), float),
    **dict.fromkeys(("epsilon", "delta", "users", "mu", "p", "rounds"), float),
}
_LISTED = ("items", "lines", "above")
"""Numbers of a public list."""
_MAY_BE_UNKNOWN = {"most", "scale", "at_least", "above", "epsilon", "delta", "users", "neighbours"}
_MAY_BE_UNKNOWN |= {"item_delta", "mu", "p", "rounds", "weights"}

_TEXT, _WHOLE, _LIST = pa.string(), pa.int64(), pa.list_(pa.string())
_TYPES = {
    "user": (_TEXT, _WHOLE),
    "items": (_LIST,),
    **dict.fromkeys(("count", "deviation", "number", "session", "group"), (_WHOLE,)),
}
"""Columns that are no plain text."""
_KINDS = {
    "keywords": "keyword count",
    "queries": "query count",
    "query-pairs": "query next_query count",
    "clicks": "query url count",
    **dict.fromkeys(("itemsets", "user-itemsets"), "item_1 item_2 count"),
    **dict.fromkeys(("itemsets-of-3", "user-itemsets-of-3"), "item_1 item_2 item_3 count"),
}
_SHAPES: dict[str, tuple[str, ...]] = {
    "log": (
        "session query",
        "query",
        "user session query",
        "user session share_x share_y label",
        "session share_x share_y label",
        "user number query",
    ),
    "transactions": ("group items",),
}
"""Columns that tables of rows may have, by their names; all others count something."""


_PLUGIN = {one.name for one in dataclasses.fields(Plugin)}


class Malformed(ValueError):
    """A part of a release is not what it must be; the message says which, and quotes nothing."""


def manifest(content: Any) -> dict[str, Any]:
    """A manifest whose values have the types that they must have, with sentences of the catalog."""
    _require(isinstance(content, dict), "the manifest is not an object")
    try:
        content = from_data(content)
    except ValueError:
        raise Malformed("it has a sentence that is unknown to this version") from None
    for name in ("parameters", "calibration", "guarantee", "tables", "software", "files"):
        _require(isinstance(content.get(name), dict), f"'{name}' of the manifest is not an object")
    _require(
        _are_documents(content.get("documents")),
        "'documents' of the manifest is not a version and a language",
    )
    for name in ("method", "created"):
        _require(_is_text(content.get(name)), f"'{name}' of the manifest is not a text")
    for name in ("what", "how", "taxonomy"):
        _require(_is_text(content.setdefault(name, "")), f"'{name}' of the manifest is not a text")
    _require(content.get("format_version") == folder.FORMAT_VERSION, "its format is unknown to this version")
    _require(
        _are_statements(content.get("assessment", [])),
        "'assessment' of the manifest is not a list of statements",
    )
    _require(isinstance(content.get("draws"), list), "'draws' of the manifest is not a list")
    for draw in content["draws"]:
        _check_draw(draw)
    _check_plugins(content.get("plugins", []))
    _require(bool(content["tables"]), "it has no table")
    for name, declared in content["tables"].items():
        _check_declaration(name, declared)
    _require(
        all(_is_text(content["software"].get(one)) for one in ("name", "version")), "'software' is incomplete"
    )
    try:
        datetime.date.fromisoformat(content["created"])
    except ValueError:
        raise Malformed("'created' of the manifest is not a day") from None
    _check_guarantee(content["guarantee"], 0)
    _check_parameters(content["method"], content["parameters"])
    _check_figures(content["calibration"], 0)
    for kind in _KINDS:
        _require(
            isinstance(content["calibration"].get(kind, {}), dict),
            f"the calibration of {kind} is not an object",
        )
    _check_files(content["files"])
    _check_about(content.get("about", {}))
    gone = content.get("withheld", {})
    good = isinstance(gone, dict) and all(type(one) is int and one > 0 for one in gone.values())
    _require(
        good and set(gone) <= set(content["tables"]), "'withheld' of the manifest is not a number of rows"
    )
    return content  # type: ignore[no-any-return]


def _check_plugins(given: Any) -> None:
    _require(isinstance(given, list), "'plugins' of the manifest is not a list")
    for one in given:
        known = isinstance(one, dict) and set(one) == _PLUGIN
        _require(known and _are_texts(list(one.values())), "a plugin of the manifest is not what it must be")


def _are_documents(given: Any) -> bool:
    return isinstance(given, dict) and type(given.get("version")) is int and _is_text(given.get("language"))


def _check_parameters(method: str, given: Mapping[str, Any]) -> None:
    _check_figures(given, 0)
    if method not in MECHANISMS.built_in:
        return
    for one in parameters(MECHANISMS.built_in[method]):
        there = one.name in given
        _require(there or not one.required, f"parameter '{one.name}' is missing")
        _require(not there or fits(one, given[one.name]), f"parameter '{one.name}' is not what it must be")


def _check_figures(given: Any, depth: int) -> None:
    """Numbers, texts, and objects and lists of them."""
    if isinstance(given, dict | list) and depth <= _DEEPEST:
        for inner in given.values() if isinstance(given, dict) else given:
            _check_figures(inner, depth + 1)
        return
    _require(_is_plain_value(given), "a figure of the manifest is not a number")


def _check_guarantee(given: Any, depth: int) -> None:
    _require(isinstance(given, dict) and depth <= _DEEPEST, "the guarantee is not an object")
    _require(_is_text(given.get("kind")) and given["kind"] in KINDS, "the kind of the guarantee is unknown")
    for name in ("epsilon", "delta", "mu", "p"):
        value = given.get(name)
        _require(
            value is None or (_is_number(value) and value >= 0), f"'{name}' of the guarantee is not a number"
        )
    k = given.get("k")
    _require(
        k is None or (type(k) is int and 2 <= k <= _LARGEST), "'k' of the guarantee is not a number of users"
    )
    _require(
        _is_text(given.get("shared", "")) and _is_text(given.get("unit", "")),
        "a word of the guarantee is not a text",
    )
    _require(given.get("neighbours") is None or _is_text(given["neighbours"]), "'neighbours' is not a text")
    for name in ("assumptions", "caveats"):
        _require(_are_statements(given.get(name, [])), f"'{name}' of the guarantee are not statements")
    if given.get("implies") is not None:
        _check_guarantee(given["implies"], depth + 1)
    _require(isinstance(given.get("parts", []), list), "the parts of the guarantee are not a list")
    for part in given.get("parts", []):
        _check_guarantee(part, depth + 1)


def _check_files(given: Mapping[str, Any]) -> None:
    for entry in given.values():
        good = isinstance(entry, dict) and _is_text(entry.get("sha256")) and type(entry.get("bytes")) is int
        _require(good, "a file of the manifest has no digest")


def _check_about(given: Any) -> None:
    try:
        About.from_dict(given)
    except (QueryveilError, TypeError, AttributeError):
        raise Malformed("'about' of the manifest is not what a publisher can say") from None


def plan(content: Mapping[str, Any]) -> Plan:
    """The plan that a manifest states."""
    return Plan(
        method=content["method"],
        parameters=content["parameters"],
        calibration=content["calibration"],
        guarantee=Guarantee.from_dict(content["guarantee"]),
        tables=tuple(PublishedTable.from_dict(name, one) for name, one in content["tables"].items()),
        draws=tuple(map(Draw.from_dict, content["draws"])),
        how=content["how"],
        what=content["what"],
        taxonomy=content.get("taxonomy", ""),
        assessment=tuple(map(Statement.from_dict, content.get("assessment", ()))),
        plugins=tuple(Plugin(**one) for one in content.get("plugins", ())),
    )


def _are_statements(given: Any) -> bool:
    return isinstance(given, list) and all(map(_is_statement, given))


def _is_statement(given: Any) -> bool:
    if not isinstance(given, dict) or not {"code", "sentence"} <= set(given) <= {
        "code",
        "sentence",
        "fields",
    }:
        return False
    fields = given.get("fields", {})
    plain = isinstance(fields, dict) and all(map(_is_plain_value, fields.values()))
    verdict = fields.get("verdict", NO) if plain else None
    answered = isinstance(given["code"], str) and (given["code"] not in QUESTIONS or "verdict" in fields)
    return (
        plain and answered and _is_text(given["code"]) and _is_text(given["sentence"]) and verdict in VERDICTS
    )


def _is_plain_value(value: Any) -> bool:
    return isinstance(value, bool) or _is_text(value) or _is_number(value)


def _check_draw(given: Any) -> None:
    _require(isinstance(given, dict), "a draw of the manifest is not an object")
    for name, known in _DRAWN.items():
        value = given.get(name)
        good = _is_text(value) if known is str else _is_number(value)
        _require(
            good or (value is None and name in _MAY_BE_UNKNOWN), f"'{name}' of a draw is not what it must be"
        )
    _require(set(given) <= {*_DRAWN, "public"}, "a draw of the manifest has a figure too many")
    if "public" in given:
        listed = given["public"]
        good = isinstance(listed, dict) and set(listed) == {"items", "lines", "sha256", "above"}
        good = good and _is_text(listed["sha256"])
        good = good and all(type(listed[one]) is int and _is_number(listed[one]) for one in _LISTED)
        _require(good, "the public list of a draw is not what it must be")


def _check_declaration(name: str, given: Any) -> None:
    """What a table is declared to be. Commands rely on it, so that it must be one of what there is."""
    _require(folder.is_plain_name(name), _NOT_INSIDE)
    _require(isinstance(given, dict), "a table is not described")
    for key in ("noun", "row", "counts", "texts", "links"):
        _require(_is_text(given.get(key)), f"'{key}' of a table is not a text")
    _require(given["counts"] in COUNTS and given["texts"] in TEXTS and given["links"] in LINKS, _NO_SUCH)
    made = given.get("rows_of", "") in ROWS_OF and given.get("items_of", "") in ITEMS_OF
    _require(made, "a table is made from something unknown")
    _require(isinstance(given.get("noisy"), bool), "'noisy' of a table is neither true nor false")
    _require(
        all(_are_texts(given.get(key)) for key in ("unique", "order")),
        "'unique' or 'order' of a table is not a list of columns",
    )
    inside = given.get("inside", {})
    _require(
        isinstance(inside, dict) and _are_texts(list(inside.values())), "'inside' of a table is not an object"
    )
    _require(given.get("least") is None or type(given["least"]) is int, "'least' of a table is not a number")
    columns = given.get("columns")
    good = isinstance(columns, list) and all(map(_is_column, columns))
    _require(good, "the columns of a table are not described")


def table(release: Path, declared: PublishedTable, content: Mapping[str, Any]) -> pa.Table:
    """A table of a release, with the columns that it declares and no empty cell.

    Its name must not lead to a file elsewhere.
    """
    name = declared.name
    file = folder.file_inside(release, folder.table_file(name))
    if file is None:
        raise Malformed(_NOT_INSIDE)
    try:
        found, _ = tables.read_table(file)
    except tables.TooMuch as error:
        raise Malformed(str(error)) from None
    stated = content["tables"][name]
    _require(type(stated.get("rows")) is int, "a table is not described")
    _require(stated.get("file") == folder.table_file(name), "a table is in another file than its own")
    shown = [(one.name, one.type) for one in declared.columns]
    _require(
        shown == [(one.name, str(one.type)) for one in found.schema], "a table has other columns than stated"
    )
    _require(stated["rows"] == found.num_rows, "a table has another number of rows than stated")
    _check_shape(name, found)
    return found


def _check_shape(name: str, found: pa.Table) -> None:
    _require(len(set(found.column_names)) == found.num_columns > 0, "a table has no column, or one twice")
    joined = " ".join(found.column_names)
    counted = joined.endswith((" count", " count deviation")) or joined == "label sealed"
    _require(
        joined in _SHAPES[name] if name in _SHAPES else counted, "a table has columns that no method has"
    )
    good = all(one.type in _TYPES.get(one.name, (_TEXT,)) for one in found.schema)
    _require(good, "a column of a table has another type than it must have")
    for column in found.columns:
        _require(column.null_count == 0 and not _empty_inside(column), "a table has empty cells")


def _empty_inside(column: pa.ChunkedArray) -> bool:
    return pa.types.is_list(column.type) and any(part.flatten().null_count for part in column.chunks)


def _is_column(given: Any) -> bool:
    return isinstance(given, dict) and all(_is_text(given.get(one)) for one in ("name", "type", "help"))


def _is_text(value: Any) -> bool:
    """A text that can be written: half of a character cannot."""
    return isinstance(value, str) and not any("\ud800" <= one <= "\udfff" for one in value)


def _are_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) <= _LARGEST


def _require(holds: bool, problem: str) -> None:
    if not holds:
        raise Malformed(problem)
