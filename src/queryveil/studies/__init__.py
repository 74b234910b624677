"""Studies: the papers' experiments, declared, and run on any log with one call.

A study says what varies, what is measured, how often and in which figures, and checks the shapes that are
expected of the result. `compare` runs one.
"""

from __future__ import annotations

from queryveil.studies.frame import Axis, Cell, Check, Findings, Given, Metric, Study
from queryveil.studies.registry import STUDIES
from queryveil.studies.running import Comparison, compare, find_study

__all__ = [
    "STUDIES",
    "Axis",
    "Cell",
    "Check",
    "Comparison",
    "Findings",
    "Given",
    "Metric",
    "Study",
    "compare",
    "find_study",
]
