"""The studies by name: one line each."""

from __future__ import annotations

from queryveil.study.active_attack import ACTIVE_ATTACK
from queryveil.study.clump import CLUMP_QUALITY, CLUMP_R
from queryveil.study.common_fears import COMMON_FEARS
from queryveil.study.declaration import Study
from queryveil.study.expansion import EXPANSION
from queryveil.study.exposure import EXPOSURE
from queryveil.study.gap import GAP
from queryveil.study.hash_inversion import HASH_INVERSION
from queryveil.study.keyword_generation import KEYWORD_GENERATION
from queryveil.study.profiles import PROFILES
from queryveil.study.release_probability import RELEASE_PROBABILITY
from queryveil.study.released_share import RELEASE_D, RELEASE_EPSILON_DELTA, RELEASE_SPAN
from queryveil.study.zealous_counts import COUNT_DIFFERENCE, COUNT_DISTRIBUTION
from queryveil.study.zealous_items import ZEALOUS_J, ZEALOUS_M
from queryveil.study.zealous_uses import INDEX_CACHING, QUERY_SUBSTITUTION

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
