"""Runs the experiments of the papers on any log, each from its declaration.

A study says what varies, what is measured, how often and in which figures, and checks the shapes that are
expected of the result. `compare` runs one.

May import: errors, parameters, compiled, files, display, reading, count, privacy, language, mechanisms, release,
verification, synthetic, measure, attack.
"""

from __future__ import annotations

from queryveil.study.declaration import Axis, Cell, Check, Findings, Given, Metric, Study
from queryveil.study.registry import STUDIES
from queryveil.study.running import Comparison, compare, find_study

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
