"""The tables of a release as its mechanism declares them: what a row is, what is counted, and what links rows.

Whoever reads a release relies on these declarations, never on the name of a method, a table or a column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from queryveil.catalog import Sentence, from_data

TYPED: Final = "typed"
"""Everything published stands so in the log."""
LISTED: Final = "listed"
"""Typed, or on a public list, and then perhaps nobody typed it."""
EDITED: Final = "edited"
"""Typed, but for what was cut out of it."""
LABELS: Final = "labels"
"""Labels of concepts, with typed words between them if these were kept."""
GROUPED: Final = "grouped"
"""Forms of groups of queries: a public function of each text that was typed."""
HASHES: Final = "hashes"
"""Hashes, which stand for nothing that a log has."""
TEXTS: Final = (TYPED, LISTED, EDITED, LABELS, GROUPED, HASHES)

NOTHING: Final = "nothing"
USER: Final = "user"
SESSION: Final = "session"
GROUP: Final = "group"
LINKS: Final = (NOTHING, USER, SESSION, GROUP)
"""What rows of a table may have in common: nothing, a user, a session, or a group of people."""

USERS: Final = "users"
OCCURRENCES: Final = "occurrences"
SESSIONS: Final = "sessions"
COUNTS: Final = ("", USERS, OCCURRENCES, SESSIONS)
"""What is counted: different users, times, or sessions; nothing in tables of rows."""

QUERIES: Final = "queries"
WORDS: Final = "words"
ROWS_OF: Final = ("", USERS, QUERIES)
"""What a row of concepts is made from: all that one user searched for, or one query; nothing in other tables."""
ITEMS_OF: Final = ("", WORDS, QUERIES)
"""What one of its concepts stands for: a word or a name, or a whole query."""

TEXT: Final = "string"
WHOLE: Final = "int64"
LIST: Final = "list<element: string>"

_HELP: Final[Mapping[str, str]] = {
    **{
        name: Sentence(f"column.{name}")
        for name in ("keyword", "query", "next_query", "url", "prefix", "user", "number", "session")
    },
    **{f"item_{number}": Sentence("column.item", number=number) for number in (1, 2, 3)},
}
_TYPES: Final = {
    "count": WHOLE,
    "user": WHOLE,
    "number": WHOLE,
    "session": WHOLE,
    "group": WHOLE,
    "items": LIST,
}


@dataclass(frozen=True)
class Column:
    """A column: its name, its Arrow type, and what it means."""

    name: str
    type: str
    help: str

    def as_dict(self) -> dict[str, str]:
        return {"name": self.name, "type": self.type, "help": self.help}


@dataclass(frozen=True, kw_only=True)
class PublishedTable:
    """One table of a release."""

    name: str
    noun: str
    """What its rows are called, in the plural: 'queries'."""
    row: str
    """What a row is, in a sentence."""
    columns: tuple[Column, ...]
    counts: str = ""
    """What the column `count` is a number of, or what rows can be counted as; one of COUNTS."""
    noisy: bool = False
    """Whether counts have noise."""
    texts: str = TYPED
    links: str = NOTHING
    unique: tuple[str, ...] = ()
    """Columns that no two rows agree on; none if rows may be equal."""
    order: tuple[str, ...] = ()
    """Columns that rows are ordered by, counts from the largest, texts by their bytes; none if the order is chance."""
    inside: tuple[tuple[str, str], ...] = ()
    """Columns whose texts all stand in a column of another table too, and which: ('query', 'queries.query')."""
    least: int | None = None
    """No count is below this."""
    rows_of: str = ""
    """One of ROWS_OF."""
    items_of: str = ""
    """One of ITEMS_OF."""

    def column(self, name: str) -> Column | None:
        return next((one for one in self.columns if one.name == name), None)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.columns)

    def as_dict(self) -> dict[str, Any]:
        """For a manifest, under the table's name."""
        shown: dict[str, Any] = {"noun": self.noun, "row": self.row}
        shown |= {"counts": self.counts, "noisy": self.noisy, "texts": self.texts, "links": self.links}
        shown |= {"unique": list(self.unique), "order": list(self.order)}
        shown |= {"inside": dict(self.inside)} if self.inside else {}
        shown |= {"least": self.least} if self.least is not None else {}
        shown |= {name: value for name in ("rows_of", "items_of") if (value := getattr(self, name))}
        return shown | {"columns": [one.as_dict() for one in self.columns]}

    @classmethod
    def from_dict(cls, name: str, given: Mapping[str, Any]) -> PublishedTable:
        return cls(
            name=name,
            columns=tuple(
                Column(one["name"], one["type"], from_data(one["help"])) for one in given["columns"]
            ),
            unique=tuple(given["unique"]),
            order=tuple(given["order"]),
            inside=tuple(given.get("inside", {}).items()),
            least=given.get("least"),
            rows_of=given.get("rows_of", ""),
            items_of=given.get("items_of", ""),
            row=from_data(given["row"]),
            **{one: given[one] for one in ("noun", "counts", "noisy", "texts", "links")},
        )


def columns(names: Sequence[str], helps: Mapping[str, str] | None = None, **types: str) -> tuple[Column, ...]:
    """Columns by their names, with what each means unless `helps` says otherwise."""
    helps = helps or {}
    return tuple(
        Column(name, types.get(name) or _TYPES.get(name, TEXT), helps.get(name) or _HELP.get(name, ""))
        for name in names
    )


def noisy_counts(
    name: str,
    noun: str,
    row: str,
    key: Sequence[str],
    *,
    counts: str = USERS,
    order: Sequence[str] = (),
    inside: Mapping[str, str] | None = None,
    least: int | None = None,
    texts: str = TYPED,
    helps: Mapping[str, str] | None = None,
) -> PublishedTable:
    """A table of items, each once, with a noisy count: the largest first unless `order` says otherwise."""
    return PublishedTable(
        name=name,
        noun=noun,
        row=row,
        columns=columns((*key, "count"), {"count": Sentence(f"column.count.{counts}"), **(helps or {})}),
        counts=counts,
        noisy=True,
        unique=tuple(key),
        order=tuple(order) or ("count", *key),
        inside=tuple((inside or {}).items()),
        least=least,
        texts=texts,
    )
