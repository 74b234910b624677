"""Which table of a file that has several is the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from queryveil.errors import InputError, UsageError, nearest
from queryveil.reading.columns import find, is_header, listed
from queryveil.reading.model import ReadOptions


def chosen_table(
    tables: Mapping[str, Sequence[str]], options: ReadOptions, where: str, what: str = "table"
) -> str:
    """The table that was named; otherwise the only one, or the only one with the columns of a log."""
    if not tables:
        raise InputError(f"{where} holds no {what}", "check the file")
    if options.table is not None:
        named = find(options.table, list(tables))
        if named is None:
            raise UsageError(
                f"{where} has no {what} {options.table!r}; it has {listed(list(tables))}",
                nearest(options.table, list(tables)) or "correct --table",
            )
        return named
    if len(tables) == 1:
        return next(iter(tables))
    asked = [str(at) for at in (options.columns or {}).values() if at]
    fitting = [
        name
        for name, columns in tables.items()
        if (all(find(one, list(columns)) for one in asked) if asked else is_header(columns))
    ]
    if len(fitting) == 1:
        return fitting[0]
    shown = sorted(fitting or tables)
    why = f"{len(fitting)} of them may be a log" if fitting else f"no {what} has a user and a query"
    raise InputError(
        f"{where} has {len(tables)} {what}s, and {why}: {listed(shown)}",
        f"say which it is with --table, for example --table {shown[0]}",
    )
