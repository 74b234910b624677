"""Texts of tables: queries and keywords are in normal form, as every text of a log is before it is counted."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from queryveil.catalog import Sentence

QUERY = "query"
KEYWORD = "keyword"
PREFIX = "prefix"
URL = "url"
_LITERAL = ("typed", "listed")
"""What a table says of texts that are published as they were counted."""
_QUOTES = "\"'`´‘’‚‛“”„‟‹›«»「」『』"


def form(declared: Mapping[str, Any], column: str) -> str | None:
    """Return the form of a column of texts, such as "query in normal form"; None if they can have any."""
    if declared["texts"] not in _LITERAL:
        return None
    if column in ("query", "next_query") or column.startswith("item_"):
        return QUERY
    return {"keyword": KEYWORD, "items": KEYWORD, "prefix": PREFIX, "url": URL}.get(column)


def problems(tables: Mapping[str, pa.Table], declared: Mapping[str, Any]) -> Iterator[str]:
    """Yield each column with texts that are not in normal form."""
    for name, table in tables.items():
        for column in table.column_names:
            kind = form(declared[name], column)
            wrong = _count_wrong(table[column], _CHECKS[kind]) if kind else 0
            if wrong:
                yield Sentence(
                    "verify.texts.wrong",
                    wrong=wrong,
                    column=column,
                    name=name,
                    kind=Sentence(f"verify.texts.{kind}"),
                )


def _count_wrong(column: pa.ChunkedArray, is_normal: Callable[[str], bool]) -> int:
    texts = pc.list_flatten(column) if pa.types.is_list(column.type) else column
    if not pa.types.is_string(texts.type):
        return 0  # the check of columns reports it
    return sum(not is_normal(text) for text in pc.unique(texts).to_pylist() if text is not None)


def _is_query(text: str) -> bool:
    """Whether a text is its own normal form: NFKC, case-folded, single spaces, no control character or outer quote."""
    return (
        text != ""
        and text == " ".join(text.split()).strip(_QUOTES + " ")
        and unicodedata.is_normalized("NFKC", text)  # first, because it is linear also for many accents
        and text == unicodedata.normalize("NFKC", text.casefold())
        and (text.isprintable() or all(unicodedata.category(one) != "Cc" for one in text))
    )


def _is_keyword(text: str) -> bool:
    """Whether a text is a word of a normal query, without punctuation at its ends. It may have outer quotes."""
    ends = unicodedata.category(text[:1] or ".")[0], unicodedata.category(text[-1:] or ".")[0]
    return _is_prefix(text) and "P" not in ends


def _is_prefix(text: str) -> bool:
    """Whether a text is the start of such a word, perhaps with a star."""
    # Between characters that no other character combines with, because a query can have quotes inside it.
    return " " not in text and _is_query(f"-{text}-")


_CHECKS: dict[str, Callable[[str], bool]] = {
    QUERY: _is_query,
    KEYWORD: _is_keyword,
    PREFIX: _is_prefix,
    URL: lambda text: text != "",
}
