"""What `zealous` says while it works."""

from __future__ import annotations

import pytest

import queryveil as qv
from tests.conftest import many


@pytest.mark.parametrize(("epsilon", "said"), [(8, "noise of less than +-1,"), (0.5, "noise of about +-6,")])
def test_small_noise_is_not_said_to_be_none(epsilon: float, said: str) -> None:
    told: list[tuple[str, str]] = []
    method = qv.Zealous(epsilon=epsilon, delta=1e-6)
    log = qv.read(many(5, ["tea"]))
    qv.publish(
        log, method, items="queries", allow_empty=True, told=lambda stage, one: told.append((stage, one))
    )
    assert said in dict(told)["select"]
