"""What a release is still good for: one file per family of measures, registered by one line below.

A measure is a value whose text is its name (`coverage@100`). It takes the original and a release, and returns
figures with a unit and a direction. Adding one is one file and one line.
"""

from __future__ import annotations

from queryveil.utility.count_difference import CountDifference
from queryveil.utility.count_distribution import CountDistribution
from queryveil.utility.coverage import Coverage, Missing
from queryveil.utility.frame import Figure, Measure
from queryveil.utility.inaccuracy import Inaccuracy
from queryveil.utility.index_caching import IndexCaching
from queryveil.utility.keyword_generation import KeywordGeneration
from queryveil.utility.pattern_ranking import PatternRanking
from queryveil.utility.precision import PrecisionKL, PrecisionL1
from queryveil.utility.profile_divergence import ProfileDivergence
from queryveil.utility.query_similarity import SimilarQueries
from queryveil.utility.query_substitution import QuerySubstitution
from queryveil.utility.query_suggestions import Suggestions
from queryveil.utility.released_counts import Distinct, Total
from queryveil.utility.released_share import ReleasedShare
from queryveil.utility.transaction_quality import TransactionQuality

_MEASURES: tuple[type[Measure], ...] = (
    Coverage,
    Missing,
    PrecisionL1,
    PrecisionKL,
    CountDifference,
    CountDistribution,
    Inaccuracy,
    Distinct,
    Total,
    ReleasedShare,
    IndexCaching,
    QuerySubstitution,
    KeywordGeneration,
    SimilarQueries,
    Suggestions,
    PatternRanking,
    TransactionQuality,
    ProfileDivergence,
)

MEASURES: dict[str, type[Measure]] = {cls.name: cls for cls in _MEASURES}

__all__ = ["MEASURES", "Figure", "Measure"]
