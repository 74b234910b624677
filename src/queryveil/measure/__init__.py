"""Measures how exposed a log is, and how useful a release is.

A measure is a value whose text is its name (`coverage@100`). It takes the original and a release, and returns
figures with a unit and a direction. Adding one is one file and one line below.

May import: errors, parameters, plugins, display, files, reading, count, language, privacy, mechanisms, release.
"""

from __future__ import annotations

from queryveil.measure.measure import Figure, Measure
from queryveil.plugins import Registry

MEASURES: Registry[type[Measure]] = Registry(
    "measures",
    "measure",
    {
        "coverage": "queryveil.measure.coverage:Coverage",
        "missing": "queryveil.measure.coverage:Missing",
        "precision-l1": "queryveil.measure.precision:PrecisionL1",
        "precision-kl": "queryveil.measure.precision:PrecisionKL",
        "count-difference": "queryveil.measure.count_difference:CountDifference",
        "count-distribution": "queryveil.measure.count_distribution:CountDistribution",
        "inaccuracy": "queryveil.measure.inaccuracy:Inaccuracy",
        "distinct": "queryveil.measure.released_counts:Distinct",
        "total": "queryveil.measure.released_counts:Total",
        "released-share": "queryveil.measure.released_share:ReleasedShare",
        "index-caching": "queryveil.measure.index_caching:IndexCaching",
        "query-substitution": "queryveil.measure.query_substitution:QuerySubstitution",
        "keyword-generation": "queryveil.measure.keyword_generation:KeywordGeneration",
        "similar-queries": "queryveil.measure.query_similarity:SimilarQueries",
        "suggestions": "queryveil.measure.query_suggestions:Suggestions",
        "spelling-correction": "queryveil.measure.spelling:SpellingCorrection",
        "query-classification": "queryveil.measure.query_classification:QueryClassification",
        "pattern-ranking": "queryveil.measure.pattern_ranking:PatternRanking",
        "transaction-quality": "queryveil.measure.transaction_quality:TransactionQuality",
        "profile-divergence": "queryveil.measure.profile_divergence:ProfileDivergence",
    },
    name_of=lambda cls: cls.name,
)
"""The measures by name, those of other packages included."""

__all__ = ["MEASURES", "Figure", "Measure"]
