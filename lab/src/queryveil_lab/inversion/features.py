"""Five features of a token that a hashed log shows as well as a raw one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from queryveil_lab.inversion.kinds import LOG, PLAIN
from queryveil_lab.inversion.statistics import Floats, Statistics


def features(counts: Statistics, kind: str = PLAIN) -> npt.NDArray[np.float32]:
    """A row for each token: frequency, share of occurrences as a whole query, company, neighbours, their frequency.

    Each is standardised within its log; `log` takes logarithms first. What does not vary says nothing, and is 0.
    """
    columns = _log_features(counts) if kind == LOG else _plain_features(counts)
    spread = columns.std(axis=0)
    # A constant has a spread of rounding errors.
    varies = spread > 1e-12 * np.maximum(1.0, np.abs(columns).max(axis=0, initial=0.0))
    made = (columns - columns.mean(axis=0)) / np.where(varies, spread, 1.0)
    return np.ascontiguousarray(np.where(varies, made, 0.0), dtype=np.float32)


def _plain_features(counts: Statistics) -> Floats:
    freq, company = counts.freq.astype(np.float64), counts.company.astype(np.float64)
    near = (counts.cooc @ counts.freq_n) / np.maximum(company, 1.0)
    return np.column_stack((counts.freq_n, counts.alone / freq, company, counts.degree, near))


def _log_features(counts: Statistics) -> Floats:
    """Counts that may be 0 are raised by a half, as for shares of few trials."""
    columns = _plain_features(counts)
    least = counts.freq_n.min(initial=1.0)
    columns[:, 1] = (counts.alone + 0.5) / (counts.freq + 1.0)
    columns[:, 2:4] += 0.5
    columns[:, 4] = np.maximum(columns[:, 4], least)
    return np.log(columns)
