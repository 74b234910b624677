"""Runs the experiments of the papers on any log, each from its declaration.

A study says what varies, what is measured, how often and in which figures, and checks the shapes that are
expected of the result. `compare` runs one.

May import: queryveil, charts, baselines, inversion.
"""

from __future__ import annotations

from queryveil_lab.studies.declaration import Axis, Cell, Check, Findings, Given, Metric, Study
from queryveil_lab.studies.registry import STUDIES
from queryveil_lab.studies.running import Comparison, compare, find_study

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
