"""SQL and Python for the fields of JSON documents.

SQL functions on JSON raise an error for text that is not JSON, so they only get what `object_sql` returns.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from queryveil.reading.times import literal


def parse_object(text: str) -> dict[str, Any] | None:
    """Return a JSON object; None for any other text."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def json_pointer(steps: Sequence[str]) -> str:
    """Return an RFC 6901 pointer, in which every key can be written."""
    return "".join("/" + step.replace("~", "~0").replace("/", "~1") for step in steps)


def object_sql(text: str) -> str:
    """Return SQL for a text without a problem that is a JSON object; null for any other text."""
    # Valid text that starts with a brace is an object. Asking for its type would parse it once more.
    return (
        f"CASE WHEN problem IS NULL AND json_valid({text}) "
        f"AND (starts_with({text}, '{{') OR regexp_matches({text}, '^\\s*[{{]')) THEN {text} END"
    )


def texts_sql(document: str, pointers: Sequence[str]) -> str:
    """Return SQL for the values at these places of a document, as a list of texts."""
    return f"json_extract_string({document}, [{', '.join(map(literal, pointers))}])"


def types_sql(document: str, pointers: Sequence[str]) -> str:
    """Return SQL for the types of the values at these places of a document, as a list."""
    return f"json_type({document}, [{', '.join(map(literal, pointers))}])"


def is_wrong_type_sql(types: str) -> str:
    """Return SQL that is true if one of the types is not that of a text or a number."""
    return f"list_has_any({types}, ['OBJECT', 'ARRAY', 'BOOLEAN'])"


def scalars_sql(document: str, pointers: Sequence[str]) -> str:
    """Return SQL for the strings and numbers at these places, as a list of texts; other values are null."""
    return (
        f"list_transform(list_zip({texts_sql(document, pointers)}, {types_sql(document, pointers)}), "
        "lambda one: CASE WHEN one[2] NOT IN ('OBJECT', 'ARRAY', 'BOOLEAN') THEN one[1] END)"
    )
