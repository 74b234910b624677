"""Proposals for rows that are not in the encoding in which a log is read.

This serves messages only: no file is ever read in an encoding that the user did not name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any
from urllib.parse import unquote_to_bytes

import pyarrow.compute as pc
import pyarrow.parquet as pq

from queryveil.errors import argument
from queryveil.reading.formats import FORMATS
from queryveil.reading.lines import NOT_UTF8
from queryveil.reading.model import Head, ReadOptions, Staged

_CANDIDATES = (
    *(
        "cp1252",
        "cp1250",
        "iso8859-2",
        "cp1254",
        "cp1257",
        "cp1255",
        "cp1251",
        "koi8-r",
        "cp866",
        "iso8859-5",
    ),
    *("cp1253", "cp1256", "cp949", "euc_jp", "cp932", "gb18030", "big5", "cp874", "cp850", "mac-roman"),
)
"""Encodings that are proposed, the likelier first. Most others decode nearly the same bytes as one of these."""
_COMMON = {
    "gb18030": (0xB0, 0xD7),
    "big5": (0xA4, 0xC6),
    "cp932": (0x88, 0x97),
    "euc_jp": (0xB0, 0xCF),
    "cp949": (0xB0, 0xC8),
}
"""First bytes of the common characters of a multi-byte encoding; rare ones hint at another encoding."""
_LETTERS = re.compile(r"(?:[^\W\d_]|[\u0300-\u036f\u0591-\u05c7\u0610-\u065f\u0e31-\u0e4e])+")
_VOWELS = {"CYRILLIC": frozenset("аеёиоуыэюяіїє"), "GREEK": frozenset("αεηιουωάέήίόύώ")}
_FEWEST_VOWELS = 0.3
_PUNCTUATION = frozenset({"Pd", "Pi", "Pf", "Po", "Ps", "Pe", "Sc", "Zs"})
_MOST_ODD = 0.15
_FITTING = 0.95
_MOST_PROPOSED = 3


def fitting_encodings(lines: Sequence[bytes]) -> list[str]:
    """Return the names of encodings in which lines that are not UTF-8 look like text, the likelier first.

    Of encodings that give the same text, only the first is named.
    """
    found: dict[tuple[str, ...], str] = {}
    for encoding in _CANDIDATES:
        texts = tuple(text for line in lines if (text := _decode_line(line, encoding)) is not None)
        if len(texts) < _FITTING * len(lines) or not _has_vowels(texts):
            continue
        beyond = sum(not letter.isascii() for text in texts for letter in text)
        if beyond and sum(_odd_characters(text, encoding) for text in texts) <= _MOST_ODD * beyond:
            found.setdefault(texts, encoding.replace("cp125", "windows-125"))
    return list(found.values())[:_MOST_PROPOSED]


def _decode_line(line: bytes, encoding: str) -> str | None:
    try:
        return line.decode(encoding)
    except UnicodeDecodeError:
        return None


def _has_vowels(texts: Sequence[str]) -> bool:
    """Return whether letters of Cyrillic and Greek have as many vowels as words in these scripts have."""
    letters = [
        letter for text in texts for letter in text.lower() if letter.isalpha() and not letter.isascii()
    ]
    for script, vowels in _VOWELS.items():
        theirs = [letter for letter in letters if unicodedata.name(letter, "").startswith(script)]
        if sum(letter in vowels for letter in theirs) < _FEWEST_VOWELS * len(theirs):
            return False
    return True


def _odd_characters(text: str, encoding: str) -> int:
    """Count characters beyond ASCII that do not look like text: symbols, mixed scripts, capitals within a word."""
    inside = set()
    odd = 0
    for word in _LETTERS.finditer(text):
        letters = word[0]
        inside |= set(range(word.start(), word.end()))
        if letters.isascii():
            continue
        beyond = [letter for letter in letters if not letter.isascii()]
        if encoding in _COMMON:
            odd += sum(not _is_common(letter, encoding) for letter in beyond)
            odd += len(beyond) if letters[0].isascii() and letters[-1].isascii() else 0
            continue
        scripts = {unicodedata.name(letter, "?").split()[0] for letter in letters} - {"COMBINING"}
        capitals = sum(one.islower() and other.isupper() for one, other in pairwise(letters))
        # Languages in Latin letters rarely have four letters with accents in a row.
        accents = re.search(r"[^\x00-\x7f]{4}", letters) if scripts == {"LATIN"} else None
        odd += len(beyond) if len(scripts) > 1 or capitals or accents else 0
    for at, letter in enumerate(text):
        if letter.isascii() or at in inside:
            continue
        between = {at - 1, at + 1} <= inside and letter != "\u2019"
        odd += between or unicodedata.category(letter) not in _PUNCTUATION
    return odd


def _is_common(letter: str, encoding: str) -> bool:
    lowest, highest = _COMMON[encoding]
    is_kana = "\u3041" <= letter <= "\u30ff" and encoding in {"cp932", "euc_jp"}
    return is_kana or lowest <= letter.encode(encoding)[0] <= highest


_SAMPLED_LINES = 200
_ESCAPED = re.compile(rb"\\x([0-9a-fA-F]{2})")
_BEYOND_ASCII = r"[^\x00-\x7f]"


def with_encoding_hints(staged: Staged, options: ReadOptions) -> Staged:
    """Return the same with a note about the rows that are not in the encoding, and what to do if they are too many."""
    rejected = staged.reasons.get(NOT_UTF8, 0)
    if not rejected:
        return staged
    were = "1 row was" if rejected == 1 else f"{rejected:,} rows were"
    note = f"{were} rejected because they are not in {options.encoding or 'UTF-8'}"
    if options.encoding is not None:
        return replace(staged, notes=(*staged.notes, f"{note}; check {_name_encoding()}"))
    encodings = fitting_encodings(list(_rejected_lines(staged)))
    fitting = " or ".join(map(_name_encoding, encodings)) or _name_encoding()
    how = _how_to_say(encodings)
    if others := _accepted_beyond_ascii(staged):
        note += (
            f", but {others:,} accepted rows have characters beyond ASCII in UTF-8, which {fitting} "
            "would garble; convert the rejected rows to UTF-8 instead"
        )
    else:
        note += f"; to read them, {how}"
    return replace(
        staged,
        notes=(*staged.notes, note),
        hints={NOT_UTF8: how, **staged.hints} if encodings else staged.hints,
    )


def hint_for_head(head: Head) -> str:
    """Return what to do about first lines that are not UTF-8; empty if they are."""
    lines = [line for line in head.data.split(b"\n")[: _SAMPLED_LINES + 1] if not _is_utf8(line)]
    return _how_to_say(fitting_encodings(lines)) if lines else ""


def _is_utf8(line: bytes) -> bool:
    return _decode_line(line, "utf-8") is not None


def _name_encoding(encoding: str = "") -> str:
    return argument("encoding", encoding or None)


def _how_to_say(encodings: Sequence[str]) -> str:
    if not encodings:
        return f"say how the text is encoded with {_name_encoding()}"
    return f"say how the text is encoded: {' or '.join(map(_name_encoding, encodings))}"


def _rejected_lines(staged: Staged) -> Iterator[bytes]:
    """Yield the bytes of some rejected lines, whose undecodable bytes are kept as escapes."""
    if staged.rejected_file is None:
        return
    rejected = pq.read_table(staged.rejected_file, columns=["reason", "text"])
    texts = rejected.filter(pc.equal(rejected["reason"], NOT_UTF8))["text"].drop_null()
    for text in texts.slice(0, _SAMPLED_LINES).to_pylist():
        line = _ESCAPED.sub(lambda escape: bytes([int(escape[1], 16)]), text.encode())
        # Addresses have such bytes as %E9.
        yield unquote_to_bytes(line) if line.isascii() else line


def _accepted_beyond_ascii(staged: Staged) -> int:
    """Count accepted rows whose query has characters beyond ASCII, of logs that were read from text."""
    if staged.direct or FORMATS[staged.format].has_encoded_queries:
        return 0
    found = 0
    for file in staged.files:
        found += sum(
            map(_count_beyond_ascii, pq.ParquetFile(file).iter_batches(columns=[staged.names["query"]]))
        )
    return found


def _count_beyond_ascii(batch: Any) -> int:
    return pc.sum(pc.match_substring_regex(batch.column(0), _BEYOND_ASCII)).as_py() or 0
