"""The studies by name: one line each."""

from __future__ import annotations

from queryveil.studies.active_attack import ACTIVE_ATTACK
from queryveil.studies.clump import CLUMP_QUALITY, CLUMP_R
from queryveil.studies.common_fears import COMMON_FEARS
from queryveil.studies.expansion import EXPANSION
from queryveil.studies.exposure import EXPOSURE
from queryveil.studies.frame import Study
from queryveil.studies.gap import GAP
from queryveil.studies.hash_inversion import HASH_INVERSION
from queryveil.studies.keyword_generation import KEYWORD_GENERATION
from queryveil.studies.profiles import PROFILES
from queryveil.studies.release_probability import RELEASE_PROBABILITY
from queryveil.studies.released_share import RELEASE_D, RELEASE_EPSILON_DELTA, RELEASE_SPAN
from queryveil.studies.zealous_counts import COUNT_DIFFERENCE, COUNT_DISTRIBUTION
from queryveil.studies.zealous_items import ZEALOUS_J, ZEALOUS_M
from queryveil.studies.zealous_uses import INDEX_CACHING, QUERY_SUBSTITUTION

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        ZEALOUS_M,
        ZEALOUS_J,
        COUNT_DISTRIBUTION,
        COUNT_DIFFERENCE,
        INDEX_CACHING,
        QUERY_SUBSTITUTION,
        RELEASE_PROBABILITY,
        RELEASE_D,
        RELEASE_EPSILON_DELTA,
        RELEASE_SPAN,
        KEYWORD_GENERATION,
        COMMON_FEARS,
        CLUMP_QUALITY,
        CLUMP_R,
        PROFILES,
        ACTIVE_ATTACK,
        HASH_INVERSION,
        EXPANSION,
        GAP,
        EXPOSURE,
    )
}
