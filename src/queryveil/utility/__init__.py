"""What a release is still good for: one file per family of measures, registered by one line below.

A measure is a value whose text is its name (`coverage@100`). It takes the original and a release, and returns
figures with a unit and a direction. Adding one is one file and one line.
"""

from __future__ import annotations

from queryveil.utility.coverage import Coverage, Missing
from queryveil.utility.frame import Figure, Measure
from queryveil.utility.keyword_generation import KeywordGeneration
from queryveil.utility.pattern_ranking import PatternRanking
from queryveil.utility.query_similarity import SimilarQueries
from queryveil.utility.query_suggestions import Suggestions
from queryveil.utility.released_share import ReleasedShare

_MEASURES: tuple[type[Measure], ...] = (
    Coverage,
    Missing,
    ReleasedShare,
    KeywordGeneration,
    SimilarQueries,
    Suggestions,
    PatternRanking,
)

MEASURES: dict[str, type[Measure]] = {cls.name: cls for cls in _MEASURES}

__all__ = ["MEASURES", "Figure", "Measure"]
