"""Exports of web analytics that hold totals per search term: they have no users, so nobody can be protected in them."""

from __future__ import annotations

import re

from queryveil.errors import InputError
from queryveil.reading.model import Head

_TERM = {"label", "keyword", "search term", "search_term", "site search keyword", "searched keyword"}
_MATOMO = {
    "nb_visits",
    "nb_hits",
    "nb_actions",
    "searches",
    "search results pages",
    "unique searches",
    "visits",
}
_GOOGLE = {
    *("event count", "total users", "total unique searches", "results page views / search", "active users"),
    *("search exits", "event count per user", "% search exits"),
}
_USERS = {"visitorid", "visitor id", "userid", "user id", "user_pseudo_id", "user_id", "client_id"}


def is_totals_of_matomo(head: Head) -> bool:
    return _is_totals(head, _MATOMO)


def is_totals_of_google(head: Head) -> bool:
    return _is_totals(head, _GOOGLE)


def _is_totals(head: Head, numbers: set[str]) -> bool:
    """Whether the first line that is no remark names a term and numbers, and nobody."""
    line = next((one for one in head.lines[:30] if not one.startswith("#")), "")
    if line.lstrip()[:1] in ("{", "["):
        return False
    names = {part.strip().strip('"').lower() for part in re.split(r"[,;\t]", line)}
    return bool(names & _TERM) and bool(names & numbers) and not names & _USERS


def refused(label: str, way_out: str) -> InputError:
    return InputError(
        f"{label!r} holds totals for each search term, and no users: what one person searched for cannot be told "
        "apart in it, so nothing about a person can be promised",
        way_out,
    )
