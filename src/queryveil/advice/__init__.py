"""Advice: which method and parameters fit a purpose, from a pilot on some of a log's users.

A purpose is a frozen value, registered by one line below. It names the settings worth trying, tries them on the pilot
and says what it recommends. Looking at a log to choose parameters is covered by no guarantee; the advice says so.

May import: errors, parameters, files, charts, reading, count, privacy, mechanisms, release, measure.
"""

from __future__ import annotations

from queryveil.advice.asking import advise, find_purpose, wanted
from queryveil.advice.histograms import CACHING, COVERAGE, PRECISION, SUGGESTIONS
from queryveil.advice.logs import KEYWORDS, RESEARCH
from queryveil.advice.profiling import PROFILING
from queryveil.advice.purpose import Advice, Option, Purpose, Wanted

PURPOSES: dict[str, Purpose] = {
    purpose.name: purpose
    for purpose in (
        COVERAGE,
        PRECISION,
        CACHING,
        SUGGESTIONS,
        PROFILING,
        KEYWORDS,
        RESEARCH,
    )
}

__all__ = ["PURPOSES", "Advice", "Option", "Purpose", "Wanted", "advise", "find_purpose", "wanted"]
