"""Values that the papers print: studies draw them beside their own, and the page of all papers quotes them.

A curve that a paper only draws is not here: what is here stands in a table or in the text.
"""

from __future__ import annotations

import math

ZEALOUS_PUBLISHED = {
    "keywords": {1: 6667, 4: 6043, 8: 5372, 20: 4062, 40: 2964},
    "queries": {1: 3334, 4: 2087, 8: 1440, 20: 751, 40: 408},
    "clicks": {1: 2813, 4: 1576, 8: 1001, 20: 486, 40: 246},
    "query-pairs": {1: 331, 4: 169, 8: 100, 20: 40, 40: 13},
}
"""Goetz et al. 2012, table 3A: different items by m; epsilon 2, delta 0.001, 500,000 users."""
ZEALOUS_TOTALS = {
    "keywords": {1: 329, 4: 1157, 8: 1894, 20: 3106, 40: 3871},
    "queries": {1: 147, 4: 314, 8: 402, 20: 464, 40: 439},
    "clicks": {1: 118, 4: 234, 8: 286, 20: 317, 40: 290},
    "query-pairs": {1: 8, 4: 14, 8: 15, 20: 12, 40: 7},
}
"""Goetz et al. 2012, table 3B: sums of counts by m, in thousands."""

IMPRESSIONS_BY_D = {20: 34.0}
"""Korolova et al. 2009, 7.1.1: percent of the impressions of a week, about; e^epsilon = 10, delta = 1e-5."""
DISTINCT_BY_D = {1: 0.75}
"""Korolova et al. 2009, 7.1.1: percent of the distinct queries of a week, about."""
IMPRESSIONS_BY_BOTH = {
    math.log(2): {1e-6: 26.79, 1e-5: 27.55, 1e-4: 28.45},
    math.log(5): {1e-6: 30.92, 1e-5: 31.67, 1e-4: 32.55},
    math.log(10): {1e-6: 32.64, 1e-5: 33.38, 1e-4: 34.23},
}
"""Korolova et al. 2009, table 3: percent of the impressions of a week by epsilon and delta, d = 21."""
DISTINCT_BY_BOTH = {
    math.log(2): {1e-6: 0.03, 1e-5: 0.03, 1e-4: 0.04},
    math.log(5): {1e-6: 0.06, 1e-5: 0.07, 1e-4: 0.09},
    math.log(10): {1e-6: 0.09, 1e-5: 0.10, 1e-4: 0.12},
}
"""Korolova et al. 2009, table 2: percent of the distinct queries of a week by epsilon and delta, d = 21."""
RELEASE_PROBABILITIES = {110: 0.0, 170: 1.0}
"""Korolova et al. 2009, about figure 1: virtually 0 and virtually 1, for d = 20, K = 140, b = 8.69."""
KEYWORDS = {
    "colleges": {
        0.5: (3_667, 28_346),
        0.7: (2_403, 17_103),
        0.9: (1_337, 8_287),
        0.95: (883, 6_373),
    },
    "shoes": {0.5: (2_733, 19_669), 0.7: (1_620, 8_418), 0.9: (448, 1_800), 0.95: (248, 1_047)},
    "suicide": {0.5: (175, 3_945), 0.7: (116, 2_517), 0.9: (50, 806), 0.95: (39, 525)},
}
"""Korolova et al. 2009, table 5: keywords from the released and from the original graph, by seed set and threshold."""

DENSITY = {1_000: 0.28, 10_000: 0.25, 20_000: 0.20, 30_000: 0.16, 40_000: 0.14, 53_058: 0.11}
"""Fard and Wang 2010, table 3: density of the first transactions, in percent."""

RULES = {
    "score-greedy": {1_000: 0.99, 2_000: 0.96, 4_000: 0.92, 8_000: 0.83},
    "mincost": {1_000: 0.99, 2_000: 0.96, 4_000: 0.92, 8_000: 0.85},
    "rank-greedy": {1_000: 0.99, 2_000: 0.97, 4_000: 0.91, 8_000: 0.82},
    "stable-marriage": {1_000: 0.99, 2_000: 0.96, 4_000: 0.92, 8_000: 0.83},
}
"""Kumar et al. 2007, table 1: share of the matchable set that is found, by n."""
EXPANSION = {1_000: 0.99, 2_000: 0.96, 4_000: 0.92, 8_000: 0.83, 16_000: 0.68}
"""Kumar et al. 2007, table 3: the same by expansion, one update at each size."""
GAPS = {1: 0.74, 7: 0.95, 30: 0.70, 60: 0.77}
"""Kumar et al. 2007, table 4: found by the continuous update from 100 given pairs, by days between the logs."""
INTERVALS = {1: 0.91, 3: 0.95, 6: 0.82, 9: 0.97, 168: 0.98}
"""Kumar et al. 2007, table 5: the same by the hours of each log, two months apart.

The table has seven columns, and the text names six lengths: those of 1, 3, 6 and 9 hours come first, a week last. One
of the two between, 0.96 and 0.98, is a day; which one is not known, so neither is here.
"""
SESSIONS = {
    "person": 7_417,
    "company": 83_801,
    "place": 7_769,
    "non-star": 2_960,
    "non-star+place": 83,
    "non-star+company": 169,
    "non-star+adult": 12,
    "non-star+revealing": 14,
}
"""Kumar et al. 2007, table 6: sessions in which the 1,000 most frequent words uncover it."""
QUERIES = {"person": 4_816, "place": 2_072, "company": 220, "person+place": 84, "non-star+place": 9}
"""Kumar et al. 2007, table 7: queries in which 8,000 hashes that were turned back uncover it."""
