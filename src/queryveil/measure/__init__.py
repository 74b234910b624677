"""Measures how exposed a log is, and what a release is still good for.

A measure is a value whose text is its name (`coverage@100`). It takes the original and a release, and returns
figures with a unit and a direction. Adding one is one file and one line below.

May import: errors, parameters, display, files, reading, count, language, privacy, mechanisms, release.
"""

from __future__ import annotations

from queryveil.measure.count_difference import CountDifference
from queryveil.measure.count_distribution import CountDistribution
from queryveil.measure.coverage import Coverage, Missing
from queryveil.measure.inaccuracy import Inaccuracy
from queryveil.measure.index_caching import IndexCaching
from queryveil.measure.keyword_generation import KeywordGeneration
from queryveil.measure.measure import Figure, Measure
from queryveil.measure.pattern_ranking import PatternRanking
from queryveil.measure.precision import PrecisionKL, PrecisionL1
from queryveil.measure.profile_divergence import ProfileDivergence
from queryveil.measure.query_classification import QueryClassification
from queryveil.measure.query_similarity import SimilarQueries
from queryveil.measure.query_substitution import QuerySubstitution
from queryveil.measure.query_suggestions import Suggestions
from queryveil.measure.released_counts import Distinct, Total
from queryveil.measure.released_share import ReleasedShare
from queryveil.measure.spelling import SpellingCorrection
from queryveil.measure.transaction_quality import TransactionQuality

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
    SpellingCorrection,
    QueryClassification,
    PatternRanking,
    TransactionQuality,
    ProfileDivergence,
)

MEASURES: dict[str, type[Measure]] = {cls.name: cls for cls in _MEASURES}

__all__ = ["MEASURES", "Figure", "Measure"]
