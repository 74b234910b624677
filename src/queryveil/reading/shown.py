"""A search log in a terminal and in a notebook: sizes and columns, never a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from queryveil.charts.cards import Card, Shown, counted

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog


class ShownLog(Shown):
    """How a search log shows itself. Nothing is counted for it: what is not known yet is left out."""

    def _card(self) -> Card:
        return _card(cast("SearchLog", self))


def _card(log: SearchLog) -> Card:
    staged = log.staged
    rows = staged.rows if staged else log.__dict__.get("rows")
    users = (staged.users if staged and log.is_as_read else None) or log.__dict__.get("users")
    sizes = [counted(many, noun) for many, noun in ((rows, "row"), (users, "user")) if many is not None]
    line = "; ".join([", ".join(sizes) or "rows not counted yet", f"columns {', '.join(log.columns)}"])
    facts: list[tuple[str, object]] = [
        (name, value) for name, value in (("rows", rows), ("users", users)) if value is not None
    ]
    if staged:
        facts += [("rejected rows", staged.rejected), ("format", staged.format)]
    read = dict(staged.mapping) if staged else {}
    facts.append(
        ("columns", ", ".join(f"{one} (from {read[one]})" if one in read else one for one in log.columns))
    )
    facts.append(("engine", log.engine.name))
    words = (
        "Rows are not shown here: they are people's searches. queryveil.inspect(log) says what they hold.",
    )
    return Card("Search log", f"{line}; engine {log.engine.name}", facts, words)
