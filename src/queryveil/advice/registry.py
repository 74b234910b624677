"""The purposes by name: one line each."""

from __future__ import annotations

from queryveil.advice.histograms import CACHING, COVERAGE, PRECISION, SUGGESTIONS
from queryveil.advice.logs import KEYWORDS, RESEARCH
from queryveil.advice.profiling import PROFILING
from queryveil.advice.purpose import Purpose

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
