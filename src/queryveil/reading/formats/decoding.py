"""Bytes that an address writes as %E9: UTF-8 as a rule, or in the encoding that the user named."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote_to_bytes

from queryveil.reading.encodings import UTF_8, extends_ascii
from queryveil.reading.model import ReadOptions

_FUNCTION = "decoded_as_named"


def prepare(connection: Any, options: ReadOptions) -> None:
    """Let SQL decode values that are not UTF-8, where an encoding was named that can be theirs."""
    encoding = _encoding(options)
    if encoding is None:
        return

    def decoded(raw: str | None) -> str | None:
        try:
            return None if raw is None else unquote_to_bytes(raw).decode(encoding)
        except UnicodeDecodeError:
            return None

    connection.create_function(_FUNCTION, decoded, ["VARCHAR"], "VARCHAR", null_handling="special")


def decoded_sql(raw: str, options: ReadOptions) -> str:
    """SQL for the text of an encoded value; null if it is none."""
    plain = f"try(url_decode({raw}))"
    return plain if _encoding(options) is None else f"coalesce({plain}, {_FUNCTION}({raw}))"


def _encoding(options: ReadOptions) -> str | None:
    """The named encoding, unless it cannot be that of an address: there, a letter of ASCII is one byte."""
    named = options.encoding
    return named if named not in {None, UTF_8} and extends_ascii(named) else None
