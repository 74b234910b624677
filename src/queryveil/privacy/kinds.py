"""The kinds of guarantee, and the changes of a log that they are about."""

from __future__ import annotations

PROBABILISTIC = "probabilistic-dp"
APPROXIMATE = "approximate-dp"
PURE = "pure-dp"
GAUSSIAN = "gaussian-dp"
K_ANONYMITY = "k-anonymity"
NONE = "none"

REPLACE = "replace-one-user"
ADD_REMOVE = "add-remove-one-user"

PRIVATE_KINDS = (PROBABILISTIC, APPROXIMATE, GAUSSIAN, PURE)

KINDS = (*PRIVATE_KINDS, K_ANONYMITY, NONE)

DELTA_TOO_LARGE = "delta-too-large"
"""The code of the caveat that says so."""

PRACTICALLY_CERTAIN = 0.999
"""A bound that allows so much limits nothing that a person would notice."""
BELIEF_FAILS = 1e-3
"""Probability that a suspicion rises further than stated. With a delta, no bound below certainty always holds."""
