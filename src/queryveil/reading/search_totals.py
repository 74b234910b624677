"""Exports of web analytics that hold totals per search term: they have no users to protect."""

from __future__ import annotations

import re

from queryveil.errors import InputError
from queryveil.reading.model import Head

_TERM = {"label", "keyword", "search term", "search_term", "site search keyword", "searched keyword"}
_USERS = {"visitorid", "visitor id", "userid", "user id", "user_pseudo_id", "user_id", "client_id"}


def is_totals(head: Head, numbers: set[str]) -> bool:
    """Return whether the first line that is no comment names a term and one of these numbers, and no user."""
    line = next((one for one in head.lines[:30] if not one.startswith("#")), "")
    if line.lstrip()[:1] in ("{", "["):
        return False
    names = {part.strip().strip('"').lower() for part in re.split(r"[,;\t]", line)}
    return bool(names & _TERM) and bool(names & numbers) and not names & _USERS


def refuse_totals(label: str, hint: str) -> InputError:
    """Return the error for such an export."""
    return InputError(
        f"{label!r} holds totals for each search term, and no users: what one person searched for cannot be told "
        "apart in it, so nothing about a person can be promised",
        hint,
    )
