"""The system clock. Every date that a ledger, a release, or a series needs is read here, so tests replace it once."""

from __future__ import annotations

import datetime


def utc_now() -> datetime.datetime:
    """Return the current time in UTC."""
    return datetime.datetime.now(datetime.UTC)
