"""Text encodings that a log may have, and their conversion to UTF-8.

Every encoding here is stateless: a line feed is never part of another character, and a character never changes how
later ones are decoded. In stateful encodings (HZ, ISO-2022, UTF-7), an escape sequence in one user's row would change
the rows of all other users.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote_to_bytes

from queryveil.errors import InputError, argument

UTF_8 = "utf-8"
_WIDE = ("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
ENCODINGS = (
    *(UTF_8, "utf-8-sig", "ascii", *_WIDE),
    *(f"iso8859-{part}" for part in range(1, 17) if part != 12),
    *(f"cp{page}" for page in range(1250, 1259)),
    *("cp437", "cp850", "cp852", "cp855", "cp866", "cp874"),
    *("koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "tis-620"),
    *("gb2312", "gbk", "gb18030", "big5", "big5hkscs", "cp950"),
    *("shift_jis", "cp932", "euc_jp", "euc_kr", "cp949"),
)
"""Supported encodings by their canonical names; `codecs.lookup` resolves aliases such as `latin-1` to them."""

_HINT = (
    "convert the file to UTF-8, or use one of utf-8, utf-16, utf-16-le, utf-16-be, utf-32, utf-32-le, utf-32-be, "
    "ascii, iso8859-1 (latin-1) to iso8859-16, cp1250 to cp1258, cp437, cp850, cp852, cp855, cp866, cp874, "
    "koi8-r, koi8-u, mac-roman, mac-cyrillic, tis-620, gb2312, gbk, gb18030, big5, big5hkscs, cp950, "
    "shift_jis, cp932, euc-jp, euc-kr, cp949"
)
# GB18030 contains its predecessors, and files that are called GBK often use the rest of it.
_SUPERSETS = {"gb2312": "gb18030", "gbk": "gb18030", "utf-8-sig": UTF_8}
# A byte order mark of UTF-32-LE starts with that of UTF-16-LE, so it is looked for first.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

_LONGEST_MARK = 4


def resolve_encoding(name: str) -> str:
    """Return the canonical name of a supported encoding.

    Raises:
        InputError: The encoding does not exist, is stateful, or is not an encoding of text.
    """
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        found = ""
    if found not in ENCODINGS:
        raise InputError(f"the encoding {name!r} is not supported", _HINT)
    return _SUPERSETS.get(found, found)


def resolve_byte_order(encoding: str | None, start: bytes, label: str) -> str | None:
    """Return the encoding of a file that starts with these bytes, with its byte order; None for UTF-8 by default.

    A byte order mark decides where no encoding is named. UTF-16 and UTF-32 by name need one.
    """
    marked = next((name for mark, name in _BYTE_ORDER_MARKS if start.startswith(mark)), None)
    if encoding is None:
        return marked if _is_wide(start[_LONGEST_MARK:]) else None
    if encoding not in {"utf-16", "utf-32"} or not start:
        return encoding
    if marked is None or not marked.startswith(encoding):
        raise InputError(
            f"{label!r} has no byte order mark of {encoding}",
            f"try {argument('encoding', f'{encoding}-le')} or {argument('encoding', f'{encoding}-be')}, "
            f"or leave out {argument('encoding')}",
        )
    return marked


def _is_wide(start: bytes) -> bool:
    """Whether most bytes are in lines with a NUL byte, as ASCII characters have in UTF-16 and UTF-32.

    A mark alone does not decide: it may be the first bytes of an odd row.
    """
    return 2 * sum(len(line) + 1 for line in start.split(b"\n") if b"\0" in line) >= len(start)


def extends_ascii(encoding: str) -> bool:
    """Whether ASCII characters are single bytes in this encoding."""
    return encoding not in _WIDE


def convert_to_utf8(blocks: Iterator[tuple[bytes, int]], encoding: str) -> Iterator[tuple[bytes, int]]:
    """Convert blocks of a file to UTF-8; an undecodable sequence becomes a byte that is not UTF-8.

    Only the line that holds such a sequence is rejected: a codec never takes a line feed as a part of it.
    """
    decoder = codecs.getincrementaldecoder(encoding)(_MARK)
    done, first = 0, True
    for block, done in blocks:
        text = decoder.decode(block)
        if text:
            yield (text.removeprefix("\ufeff") if first else text).encode("utf-8", _MARK), done
            first = False
    if rest := decoder.decode(b"", True):
        yield rest.encode("utf-8", _MARK), done


def _mark_undecodable(error: UnicodeError) -> tuple[str | bytes, int]:
    if isinstance(error, UnicodeDecodeError):
        return "\udcff", error.end
    if isinstance(error, UnicodeEncodeError):
        return b"\xff" * (error.end - error.start), error.end
    raise error


def mostly_utf8(start: bytes) -> bool:
    """Return whether most lines with bytes beyond ASCII are UTF-8, so that a single row does not decide."""
    # The end may be inside a character.
    lines = [line for line in start[: start.rfind(b"\n") + 1].split(b"\n") if not line.isascii()]
    return 2 * sum(map(_is_utf8, lines)) >= len(lines)


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True


_URL_DECODE = "url_decode_in_log_encoding"


def create_url_decode(connection: Any, encoding: str | None) -> None:
    """Let SQL decode bytes such as %E9 that are not UTF-8, if the user named an encoding that extends ASCII."""
    if encoding in {None, UTF_8} or not extends_ascii(encoding):
        return

    def decode(raw: str | None) -> str | None:
        try:
            return None if raw is None else unquote_to_bytes(raw).decode(encoding)
        except UnicodeDecodeError:
            return None

    connection.create_function(_URL_DECODE, decode, ["VARCHAR"], "VARCHAR", null_handling="special")


def url_decode_sql(raw: str, encoding: str | None) -> str:
    """Return SQL for the text of a percent-encoded value; null if it cannot be decoded."""
    as_utf8 = f"try(url_decode({raw}))"
    if encoding in {None, UTF_8} or not extends_ascii(encoding):
        return as_utf8
    return f"coalesce({as_utf8}, {_URL_DECODE}({raw}))"


_MARK = "queryveil-mark"
codecs.register_error(_MARK, _mark_undecodable)
