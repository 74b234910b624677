"""Queries with one meaning, grouped: a public function of each query's text, and of nothing else.

The form of a group is made of its words: each is brought to the singular, 'www.' before it and '.com' after it are
left out, each stands once, and they are in the order of their bytes. 'cheap hotels' and 'hotel cheap' are both
'cheap hotel'.
Every row is changed by itself, before anything is bounded or counted. So logs that differ in one user differ in one
user afterwards, and what is promised of a log is promised of a grouped one (docs/proofs/click-graph.md).
"""

from __future__ import annotations

import dataclasses
import re
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from queryveil.reading.text import ASCII_PUNCTUATION_END, ASCII_WORD, keywords, normalise

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.log import SearchLog

# Patterns are in the part of the syntax that RE2 (DuckDB), Java (Spark) and Python share; \z is Python's \Z.
SITE: Final = r"^(?:www\.)?(.+?)(?:\.com)?\z"
"""Its group is a word without what addresses of sites have around their name."""
_RULES: Final = (
    (r"^(.+)'s\z", ""),
    # What ends like this is no plural, or is too short to tell.
    (r"^..?.?\z|(?:ss|us|is|as|os)\z", None),
    (r"^((?:calor|cook|gen|mov|prair|rook|zomb)ie)s\z", ""),
    (r"^(.{2,})ies\z", "y"),
    (r"^(.+(?:ss|x|ch|sh|zz))es\z", ""),
    (r"^(.+)s\z", ""),
)
"""The first that fits a word decides: None leaves it as it is, a text stands in place of the ending."""
NO_PLURALS: Final = frozenset(
    (
        *(
            "adams",
            "always",
            "angeles",
            "athens",
            "charles",
            "does",
            "facts",
            "goes",
            "hayes",
            "holmes",
            "hughes",
        ),
        *(
            "james",
            "jeans",
            "jones",
            "lens",
            "mercedes",
            "myers",
            "naples",
            "news",
            "orleans",
            "physics",
            "politics",
        ),
        *("series", "simpsons", "species", "sports", "wales", "wells", "williams"),
    )
)


def group_form(query: str) -> str:
    """The form of the group that a query is in.

    >>> group_form("Hotels, cheap hotels")
    'cheap hotel'
    >>> group_form("www.ebay.com")
    'ebay'
    """
    normal = normalise(query)
    words = {_singular_form(_strip_punctuation(word)) for word in keywords(normal)}
    return " ".join(sorted(words, key=str.encode)) or normal


def _strip_punctuation(word: str) -> str:
    found = _compile_pattern(SITE).match(word)
    return found[1] if found else word


def _singular_form(word: str) -> str:
    if word in NO_PLURALS:
        return word
    for pattern, ending in _RULES:
        if found := _compile_pattern(pattern).search(word):
            return word if ending is None else found[1] + ending
    return word


def _compile_pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace(r"\z", r"\Z"), re.DOTALL)


def group_queries(log: SearchLog) -> SearchLog:
    """The same log with the form of its group in place of each query, as an expression of its engine."""
    import ibis

    table = log.table
    # What has no word at all, '???', is a group of its own.
    form = _group_expression(table["words"])
    query = ibis.ifelse(form == "", table["query"], form)
    made = table.mutate(query=query).mutate(words=ibis._["query"])
    changed = dataclasses.replace(log, normal=made)
    # The files that the log was read into are there as long as it is.
    weakref.finalize(changed, _let_go, log).atexit = False
    return changed


def _let_go(_: SearchLog) -> None:
    """Nothing is left to do: whoever waits for this has held the log."""


def _group_expression(words: ir.StringValue) -> ir.StringValue:
    parts: ir.ArrayValue = words.split(" ")
    singular: Callable[[ir.StringValue], ir.StringValue] = _engine_singular
    kept = parts.map(lambda part: singular(_engine_bare(_engine_keyword(part))))
    return kept.filter(lambda word: word != "").unique().sort().join(" ").fill_null("")


def _engine_keyword(part: ir.StringValue) -> ir.StringValue:
    import ibis

    ends = part.re_search(ASCII_PUNCTUATION_END)
    return ibis.ifelse(ends, part.re_extract(ASCII_WORD, 1).fill_null(""), part)


def _engine_bare(word: ir.StringValue) -> ir.StringValue:
    import ibis

    around = word.re_search(r"^www\.|\.com\z")
    return ibis.ifelse(around, word.re_extract(rf"(?s){SITE}", 1).fill_null(""), word)


def _engine_singular(word: ir.StringValue) -> ir.StringValue:
    import ibis

    rules = [(word.isin(sorted(NO_PLURALS)), word)]
    for pattern, ending in _RULES:
        changed = word if ending is None else word.re_extract(rf"(?s){pattern}", 1) + ending
        rules.append((word.re_search(rf"(?s){pattern}"), changed))
    return ibis.cases(*rules, else_=word)
