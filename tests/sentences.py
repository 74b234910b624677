"""The catalog sentences in a value, by id and fields, so that no test quotes their text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from queryveil.catalog import Sentence
from queryveil.errors import Message


def sentences_in(value: Any) -> Iterator[Sentence]:
    """Yield all sentences in a value: those in messages, in lists, and in the fields of others."""
    if isinstance(value, Message):
        value = value.template
    if isinstance(value, Sentence):
        yield value
        value = list(value.fields.values())
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from sentences_in(one)


def ids_of(value: Any) -> set[str]:
    """Return the ids of all sentences in a value."""
    return {one.id for one in sentences_in(value)}


def fields_of(value: Any, id: str) -> dict[str, Any]:
    """Return the fields of the sentence with an id."""
    return dict(next(one.fields for one in sentences_in(value) if one.id == id))
