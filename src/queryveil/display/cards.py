"""Cards: how values appear as one line in a terminal and as HTML in a notebook.

A card holds a title, facts, small tables, and sentences. Everything in it is escaped here, once. It loads nothing from
elsewhere and runs no script.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

from queryveil.display.escaping import cell, escape, shown

MOST_ROWS = 10
"""Rows of a table that a card shows."""
LONGEST_LINE = 200
"""Characters of the one line."""
CURATOR_ONLY = "For the curator alone: no guarantee covers these figures."

_BOX = "border-left:4px solid #0072B2;padding:.1em 0 .1em 1em;margin:.3em 0;max-width:60em"
_LEFT = "text-align:left"


@dataclass(frozen=True)
class CardTable:
    """A small table: its title, its columns and its rows, of which the first are shown."""

    title: str
    columns: Sequence[str]
    rows: Iterable[Sequence[Any]]
    total: int | None = None
    """How many rows there are, if more than are given."""

    def html(self) -> str:
        kept = list(islice(self.rows, MOST_ROWS))
        total = len(kept) if self.total is None else self.total
        head = "".join(f'<th style="{_LEFT}">{escape(one)}</th>' for one in self.columns)
        body = "".join(f"<tr>{''.join(_render_cell(value) for value in row)}</tr>" for row in kept)
        more = f"<p>{total - len(kept):,} more rows</p>" if total > len(kept) else ""
        return f"<table><caption>{escape(self.title)}</caption><tr>{head}</tr>{body}</table>{more}"


@dataclass(frozen=True)
class Card:
    """What is shown of a value."""

    title: str
    line: str
    """What stands in a terminal, after the name of the type."""
    facts: Sequence[tuple[str, Any]] = ()
    words: Sequence[str] = ()
    """Sentences."""
    tables: Sequence[CardTable] = ()

    def html(self) -> str:
        facts = "".join(
            f'<tr><th style="{_LEFT}" scope="row">{escape(name)}</th>{_render_cell(_value_text(value))}</tr>'
            for name, value in self.facts
        )
        parts = [
            f"<p><strong>{escape(shown(self.title))}</strong></p>",
            *(f"<p>{escape(shown(sentence, 1_000))}</p>" for sentence in self.words),
            f"<table>{facts}</table>" if facts else "",
            *(table.html() for table in self.tables),
        ]
        return f'<div style="{_BOX}">{"".join(parts)}</div>'


class _HasCard(Protocol):
    def _card(self) -> Card: ...


def repr_of(value: _HasCard) -> str:
    """Return one line for a terminal: the `__repr__` of a class that has a card."""
    return f"<{type(value).__name__}: {shown(value._card().line, LONGEST_LINE)}>"


def html_of(value: _HasCard) -> str:
    """Return a card for a notebook: the `_repr_html_` of a class that has a card."""
    return value._card().html()


def number(value: float | None) -> str:
    """A figure as people read it."""
    if value is None:
        return "none"
    if isinstance(value, int) or (abs(value) >= 1_000 and value == round(value)):
        return f"{value:,.0f}"
    return f"{value:.4g}"


def percent(share: float | None) -> str:
    return "none" if share is None else f"{100 * share:.3g} %"


def counted(many: int, noun: str) -> str:
    """`1 check`, `2 checks`."""
    return f"{many:,} {noun}{'' if many == 1 else 's'}"


def _value_text(value: Any) -> str:
    return number(value) if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _render_cell(value: Any) -> str:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f'<td style="text-align:right">{escape(number(value))}</td>'
    return f'<td style="{_LEFT}">{cell(value)}</td>'
