"""Turning token hashes back into words, by how often words come and come together in another log.

    target, reference = TokenCounts.of(hashed), TokenCounts.of(raw)
    inverted = Inversion(n=1000).invert(target, reference)
    inverted.mapping                                            # what each hash is believed to be

`statistics` counts a log, `matching` measures distances and matches by them, `inverting` puts starts, updates and
expansions together, `judging` compares with the truth.

May import: queryveil.
"""

from __future__ import annotations

from queryveil_lab.inversion.inverting import Inversion, Inverted, Stage
from queryveil_lab.inversion.statistics import Statistics, TokenCounts

__all__ = ["Inversion", "Inverted", "Stage", "Statistics", "TokenCounts"]
