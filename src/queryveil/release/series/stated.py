"""What the publisher says of a series, and what follows for each of its releases."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from queryveil.release.about import NOT_STATED, About
from queryveil.release.series.calendar import Calendar, Period


def of_series(about: About | None, calendar: Calendar) -> dict[str, str]:
    """What the index says; the period is that of the calendar, if the publisher names no other."""
    said = (about or About()).as_dict()
    if not said:
        return {}
    period = said.get("period") or f"{calendar.first.isoformat()}/{calendar.last.isoformat()}"
    return dataclasses.replace(About.from_dict(said), period=period).as_dict()


def of_release(said: Mapping[str, Any], period: Period) -> About:
    """What one release says: the same, with the name of its period behind the title, and its own dates."""
    if not said:
        return About()
    about = About.from_dict(said)
    dates = period.first.isoformat() if period.last == period.first else f"{period.first}/{period.last}"
    named = about.title is not None and about.title.casefold() != NOT_STATED
    title = f"{about.title}, {period.name}" if named else about.title
    return dataclasses.replace(about, title=title, period=dates)
