"""The studies by name: one line each."""

from __future__ import annotations

from queryveil.studies.common_fears import COMMON_FEARS
from queryveil.studies.frame import Study
from queryveil.studies.keyword_generation import KEYWORD_GENERATION
from queryveil.studies.profiles import PROFILES
from queryveil.studies.release_probability import RELEASE_PROBABILITY
from queryveil.studies.released_share import RELEASE_D, RELEASE_EPSILON_DELTA, RELEASE_SPAN

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        RELEASE_PROBABILITY,
        RELEASE_D,
        RELEASE_EPSILON_DELTA,
        RELEASE_SPAN,
        KEYWORD_GENERATION,
        COMMON_FEARS,
        PROFILES,
    )
}
