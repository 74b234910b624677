"""On which log each study of the docs runs, and at which points: the docs' own size, and a reduced one.

`make evidence` and `figures.py --docs` take the docs' size, `make figures` the reduced one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import queryveil as qv
import queryveil_lab as lab

SETTINGS = qv.LogSettings(version=1, rows=2_000_000, seed=1)
LARGE = qv.LogSettings(version=1, rows=6_400_000, seed=1, zipf=0.6)
"""A log of 6,050,000 queries, for the studies that need a million or more in each half."""
CLUMP = qv.LogSettings(version=1, rows=1_417_000, users=54_500, seed=1)
"""As many users with concepts as the paper's."""
WEEK = qv.LogSettings(rows=1_000_000, users=170_000, days=7, seed=1)
"""A week of version 2: as many rows for each user as AOL's people had in a week, nearly."""
YEAR = qv.LogSettings(rows=1_200_000, users=6_000, days=365, seed=1)
MONTH = qv.LogSettings(rows=200_000, users=10_000, seed=1)
BUSY_MONTH = qv.LogSettings(rows=800_000, users=40_000, seed=1)
SMALL_WEEK = qv.LogSettings(rows=300_000, users=51_000, days=7, seed=1)
FEARS = qv.LogSettings(version=1, rows=2_000_000, users=340_000, days=7, seed=1)
"""Enough people for fears to pass at d = 21; version 1, in which more people search for fears."""
HEAD = qv.LogSettings(version=1, rows=2_000_000, seed=1, zipf=1.0)
"""A log with a head, for the studies of histograms: large enough that most of their checks can tell.
`papers.py zealous` runs them at the paper's size, with the usual exponent of 0.7."""
SMALL_HEAD = qv.LogSettings(version=1, rows=400_000, seed=1, zipf=1.0)
"""For those whose hundreds of releases take long on a larger one."""
_HISTOGRAMS = ("zealous-m", "count-distribution")
_USES = ("zealous-j", "count-difference", "index-caching", "query-substitution")
OWN = {
    **dict.fromkeys(_HISTOGRAMS, HEAD),
    **dict.fromkeys(_USES, SMALL_HEAD),
    "release-d": WEEK,
    "release-epsilon-delta": WEEK,
    "query-groups": SMALL_WEEK,
    "release-span": YEAR,
    "common-fears": FEARS,
    "graph-uses": MONTH,
    "popularity": BUSY_MONTH,
    "synthetic-uses": MONTH,
    "hash-inversion": LARGE,
    "expansion": LARGE,
    "clump-quality": CLUMP,
    "clump-r": CLUMP,
    "clump-size": CLUMP,
    "clump-order": CLUMP,
    "set-union": qv.SETTINGS["medium@1"],
}
"""Studies that run on another log."""
FEWER: dict[str, dict[str, Any]] = {
    "query-groups": {"vary": {"d": [1, 5, 20, 80]}},
    "release-span": {"vary": {"d": [1, 5, 20, 80]}},
    "graph-uses": {"vary": {"epsilon": [2.0, 8.0]}},
    "popularity": {"vary": {"epsilon": [4.0, 16.0]}},
    "synthetic-uses": {"vary": {"epsilon": [2.0, 8.0]}},
}
"""Studies that run at fewer points than they do by themselves."""

_TENTH = qv.LogSettings(version=1, rows=200_000, seed=1)
_HALVES = qv.LogSettings(version=1, rows=400_000, seed=1, zipf=0.6)
_FEWER_USERS = qv.LogSettings(version=1, rows=141_700, users=5_450, seed=1)
_SHORT_WEEK = qv.LogSettings(rows=200_000, users=34_000, days=7, seed=1)
REDUCED: dict[str, qv.LogSettings] = {
    **dict.fromkeys(_HISTOGRAMS, SMALL_HEAD),
    "release-d": _SHORT_WEEK,
    "release-epsilon-delta": _SHORT_WEEK,
    "query-groups": _SHORT_WEEK,
    "release-span": qv.LogSettings(rows=240_000, users=1_200, days=365, seed=1),
    "keyword-generation": qv.LogSettings(version=1, rows=1_000_000, seed=1),
    "graph-uses": qv.LogSettings(rows=100_000, users=5_000, seed=1),
    "synthetic-uses": qv.LogSettings(rows=100_000, users=5_000, seed=1),
    "popularity": qv.LogSettings(rows=400_000, users=20_000, seed=1),
    "hash-inversion": _HALVES,
    "expansion": _HALVES,
    "exposure": _TENTH,
    "active-attack": _TENTH,
    "set-union": _TENTH,
    **dict.fromkeys(("clump-quality", "clump-r", "clump-size", "clump-order"), _FEWER_USERS),
}
"""Logs of a reduced run; a study that is not here has the docs' log."""
_POINTS: dict[str, dict[str, Any]] = {
    "zealous-m": {"vary": {"m": [1, 4, 20]}, "repeats": 2},
    "zealous-j": {"vary": {"m": [1, 8, 40]}, "repeats": 2},
    "count-difference": {"vary": {"epsilon": [1.0, 3.0, 10.0], "k": [10, 40, 100]}, "repeats": 2},
    "index-caching": {
        "vary": {"epsilon": [1.0, 3.0, 10.0], "m": [1, 6], "k": [10, 40, 100]},
        "repeats": 2,
    },
    "query-substitution": {"vary": {"epsilon": [2.0, 10.0], "k": [10, 100]}, "repeats": 2},
    "graph-uses": {"vary": {"epsilon": [2.0, 8.0]}, "repeats": 1},
    "synthetic-uses": {"vary": {"epsilon": [2.0, 8.0]}, "repeats": 1},
    "popularity": {"vary": {"epsilon": [4.0, 16.0], "periods": [2]}, "repeats": 1},
    "common-fears": {"repeats": 2},
    "clump-quality": {"vary": {"users": [1_000, 5_000], "k": [5, 15]}},
    "clump-r": {"vary": {"users": [5_000]}},
    "clump-size": {"vary": {"users": [1_000, 2_000, 5_000]}},
    "clump-order": {"vary": {"users": [2_000], "k": [5, 15]}, "repeats": 2},
    "exposure": {"vary": {"n": [1_000]}, "repeats": 2},
    "active-attack": {"vary": {"epsilon": [1.0, 4.0], "trials": [200]}},
    "set-union": {"vary": {"epsilon": [1.0], "d": [1, 20, 100]}, "repeats": 2},
    "hash-inversion": {"vary": {"n": [500, 1_000]}, "repeats": 1},
    "expansion": {"vary": {"n": [1_000, 2_000], "first": [500]}, "repeats": 1},
    "gap": {"vary": {"rows": [200_000], "n": [500], "interval": [6, 168], "gap": [1, 60]}, "repeats": 1},
    "profiles": {"vary": {"users": [100], "epsilon": [0.1, 1.0, 2.0, 5.0, 10.0]}, "repeats": 2},
}
"""Points of a reduced run; a study that is not here has those of the docs."""


@dataclass(frozen=True)
class Size:
    """A generated log, and how a study runs on it."""

    settings: qv.LogSettings | None
    """None for a study that makes what it needs."""
    options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, name: str, *, reduced: bool = False) -> Size:
        """The size of a study by name."""
        full = OWN.get(name, SETTINGS)
        options = FEWER.get(name, {})
        if reduced:
            full, options = REDUCED.get(name, full), _POINTS.get(name, options)
        study = lab.STUDIES[name]
        return cls(full if study.needs_log or name in OWN else None, options)
