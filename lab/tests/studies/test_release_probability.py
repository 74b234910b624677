"""The release-probability curve for d = 20, measured: the paper's figure 1.

False-alarm rate 1e-6.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

import queryveil as qv
import queryveil_lab as lab
from queryveil_lab.studies.declaration import Given
from queryveil_lab.studies.release_probability import agrees, trials_of

# The paper: epsilon ln 10, delta 1e-5, d = 20. The paper's K is 140.00, which discrete noise meets at 140.
D, SCALE, THRESHOLDS = 20, 20 / math.log(10), {"tight": 121, "paper": 140}
FREQUENCIES = (90, 105, 110, 115, 122, 130, 140, 150, 165, 170)


def curve(frequency: int, scale: float, threshold: float) -> float:
    """P[n + X > K] by the formula of the page, written down again."""
    q, at = math.exp(-1 / scale), math.floor(threshold) + 1 - frequency
    return q**at / (1 + q) if at >= 1 else 1 - q ** (1 - at) / (1 + q)


@pytest.fixture(scope="module")
def measured() -> lab.Comparison:
    return lab.compare(None, "release-probability", vary={"frequency": FREQUENCIES}, repeats=3)


@pytest.mark.parametrize("analysis", THRESHOLDS)
def test_measured_frequencies_agree_with_the_curve(measured: lab.Comparison, analysis: str) -> None:
    found = measured.findings.where(analysis=analysis, metric="release-probability")
    seen = found.where(how="measured").along("frequency")
    trials = trials_of(measured.findings.where(analysis=analysis))

    def fits(scale: float, threshold: float) -> bool:
        return agrees([(round(seen[n] * trials), trials, curve(n, scale, threshold)) for n in FREQUENCIES])

    right = THRESHOLDS[analysis]
    assert trials >= 500
    assert fits(SCALE, right)
    assert not fits(SCALE, right + SCALE), "K off by b"
    assert not fits(SCALE, right - SCALE), "K off by b"
    assert not fits(2 * SCALE, right) and not fits(SCALE / 2, right)
    exact = found.where(how="expected").along("frequency")
    assert list(exact.values()) == pytest.approx([curve(n, SCALE, right) for n in FREQUENCIES], rel=1e-9)


def test_a_mechanism_with_the_wrong_threshold_is_seen() -> None:
    """The same study of a mechanism whose K is off by b, against the curve of the right one."""
    right = qv.ClickGraph(epsilon=math.log(10), delta=1e-5, max_queries=D).setting()
    wrong = qv.ClickGraph(noise_scale=right.scale, threshold=right.top + right.scale, max_queries=D)
    exact = qv.ClickGraph(noise_scale=right.scale, threshold=right.top, max_queries=D)
    from queryveil_lab.studies import release_probability as study

    def fits(method: qv.ClickGraph) -> bool:
        given = lab.STUDIES["release-probability"].grid({"frequency": FREQUENCIES})
        asked = Given(None, given, 1)
        released = qv.publish(study._make_log(asked).log, method).tables["queries"]
        counts = np.array([int(query.split()[0]) for query in released["query"].to_pylist()])
        return agrees(
            [(int((counts == n).sum()), 200, curve(n, right.scale, right.top)) for n in FREQUENCIES]
        )

    assert fits(exact)
    assert not fits(wrong)


def test_the_study_passes_its_own_checks(measured: lab.Comparison) -> None:
    assert measured.passes
    assert any("170" in check.name for check in measured.checks)
