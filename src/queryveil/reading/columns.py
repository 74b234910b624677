"""Which column of the source holds what."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from queryveil.errors import InputError, argument, nearest

ALIASES: Mapping[str, tuple[str, ...]] = {
    "user": (
        *("user", "user_id", "userid", "anonid", "client_id", "uid"),
        *(
            "visitor_id",
            "visitorid",
            "visitor",
            "customer_id",
            "customerid",
            "cookie_id",
            "device_id",
            "member_id",
        ),
    ),
    "time": (
        *("time", "timestamp", "querytime", "query_time", "date", "datetime", "ts"),
        *("when", "event_time", "eventtime", "search_time", "searched_at", "created_at"),
    ),
    "query": (
        *("query", "user_query", "q", "keywords"),
        *("search_term", "searchterm", "search_query", "searchquery", "search_phrase", "search_text"),
        *("search", "term", "keyword", "tag"),
    ),
    "url": ("url", "clickurl", "click_url", "clicked_url", "clickedurl", "result_url", "link"),
    "rank": ("rank", "itemrank", "item_rank", "position", "click_rank", "result_rank"),
    "session": ("session", "session_id", "sessionid", "sid", "visit_id", "visitid"),
}
"""Names under which a column is found by itself, in order of preference, in any case; `-` and blanks are `_`."""

COLUMNS_HINT = (
    f"name the columns, as in {argument('columns', {'user': 'A', 'time': 'B', 'query': 'C'})}; "
    "these are names in the header, or numbers from 1 in a "
    "file without one"
)
_NO_PEOPLE = re.compile(r"referr?er|agent|browser|ur[il](?![a-z])|href|link", re.IGNORECASE)
"""Names of columns that describe a page or a program, and are never proposed as the user."""


def by_alias(names: Sequence[str]) -> dict[str, str]:
    """Standard column -> the source's name for it, as far as the names are usual ones."""
    known: dict[str, str] = {}
    for name in names:
        known.setdefault(_simplified_name(name), name)
    found = {}
    for standard, aliases in ALIASES.items():
        alias = next((alias for alias in aliases if alias in known), None)
        if alias is not None:
            found[standard] = known[alias]
    return found


def choose_columns(named: Mapping[str, str | int] | None, names: Sequence[str]) -> dict[str, str | int]:
    """Return where each standard column is: as named, or else by a usual name that no other column has.

    Args:
        named: Columns that the user named; an empty name means that the log has no such column.
        names: Names of the source's columns; none if it has no header.
    """
    chosen = dict(named or {})
    taken = {find(str(at), names) for at in chosen.values()}
    taken |= {names[number - 1] for at in chosen.values() if 0 < (number := as_number(at) or 0) <= len(names)}
    detected = by_alias([name for name in names if name not in taken])
    return {name: at for name, at in (detected | chosen).items() if at != ""}


def _simplified_name(name: str) -> str:
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def is_header(names: Sequence[str]) -> bool:
    """Whether these fields name at least the user and the query."""
    return {"user", "query"} <= by_alias(names).keys()


def find(name: str, names: Sequence[str]) -> str | None:
    """The name as the source spells it: exactly, or else in another case; None if none fits, or several do."""
    if name in names:
        return name if names.count(name) == 1 else None
    fitting = [other for other in names if other.strip().lower() == name.strip().lower()]
    return fitting[0] if len(fitting) == 1 else None


def nearest_column(standard: str, at: str | int, names: Sequence[str]) -> str:
    """Return a question that names the column nearest to a mistyped name; nothing if none is near."""
    others = {alias for other, aliases in ALIASES.items() if other != standard for alias in aliases}
    proposed = [
        name
        for name in names
        if (_simplified_name(name) not in others or standard not in ALIASES)
        and not (standard == "user" and _NO_PEOPLE.search(name))
    ]
    return nearest(at, proposed)


def usual(names: Sequence[str]) -> list[str]:
    """Those among the names that are known ones, in lower case: they tell of a header and quote nobody."""
    known = {alias for aliases in ALIASES.values() for alias in aliases}
    return [_simplified_name(name) for name in names if _simplified_name(name) in known]


def seen(fields: Sequence[str]) -> str:
    """Describe a first row that should be a header: only usual names are shown, because it may be a user's row."""
    names = usual(fields)
    shown = f"; it has {', '.join(names)}" if len(names) > 1 else ""
    if len(fields) <= (len(names) if shown else 0):
        return shown
    rest = "its other fields are" if shown else "its first line is"
    return f"{shown} ({rest} not shown, because that may be a user's row)"


def look_like_names(names: Sequence[str]) -> bool:
    """Whether these may be shown as names of columns: words without blanks, or the numbers of a table without names.

    A program that takes the first row for names makes columns of somebody's searches, times and addresses.
    """
    numbered = list(names) == [str(number) for number in range(len(names))]
    return numbered or all(name.replace("-", "_").replace(".", "_").isidentifier() for name in names)


def require_once(name: str, names: Sequence[str], where: str, hint: str) -> None:
    """Refuse a name that other columns share but for its case: nobody could tell which is meant."""
    same = name.strip().casefold()
    if sum(other.strip().casefold() == same for other in names) > 1:
        raise InputError(f"{where} has more than one column {same!r}, ignoring upper and lower case", hint)


def listed(names: Sequence[str], most: int = 30) -> str:
    shown = ", ".join(repr(name) for name in names[:most]) or "none"
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def as_number(at: str | int) -> int | None:
    """A column number from 1, however it was typed; None for a name."""
    if isinstance(at, int):
        return at
    return int(at) if at.isascii() and at.isdigit() else None
