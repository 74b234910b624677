"""A release whose noise cannot be drawn is refused before its ledger is charged."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

import queryveil as qv
from queryveil.mechanisms import MECHANISMS
from queryveil.parameters import parameters
from tests import mutations

TINY = 1e-13
NOISY = sorted(name for name, one in MECHANISMS.items() if any(p.name == "epsilon" for p in parameters(one)))
BOUGHT: dict[str, dict[str, Any]] = {
    "clicks": {"urls": "private", "epsilon_clicks": TINY, "delta_clicks": 1e-4},
    "reformulations": {"epsilon_reformulations": TINY, "delta_reformulations": 1e-4},
    "counts": {"counts": "fresh", "epsilon_counts": TINY},
}
"""What a click graph buys with an epsilon of its own."""


def refused(tmp_path: Path, make: Any) -> None:
    """Before anything is charged, drawn or written, with a sentence and a way out."""
    ledger = qv.Ledger(str(tmp_path / "ledger.db"))
    ledger.open("log", epsilon=100, delta=0.5)
    with pytest.raises(qv.QueryveilError) as raised:
        qv.publish(
            mutations.log(), make(), ledger=ledger, source="log", out=tmp_path / "out", i_understand=True
        )
    assert raised.value.exit_code in {2, 5} and raised.value.hint
    assert ledger.budget("log").spent.epsilon == 0 and ledger.budget("log").events == ()
    assert not (tmp_path / "out").exists()


def test_the_methods_with_noise_are_known() -> None:
    assert {"zealous", "click-graph", "semantic", "profile-histogram"} <= set(NOISY)


@pytest.mark.parametrize("name", NOISY)
def test_a_tiny_epsilon_is_refused_and_not_charged(name: str, tmp_path: Path) -> None:
    cls = MECHANISMS[name]
    refused(tmp_path, lambda: cls(**{**cls.example, "epsilon": TINY}))


@pytest.mark.parametrize("bought", BOUGHT)
def test_a_tiny_epsilon_of_a_part_is_refused_and_not_charged(bought: str, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"epsilon": 4.0, "delta": 1e-4, "max_queries": 2}
    refused(tmp_path, lambda: qv.ClickGraph(**asked, **BOUGHT[bought]))


@pytest.mark.parametrize("bounds", [{}, {"max_phrases": 1}, {"epsilon_per": "query"}])
def test_an_epsilon_too_small_to_choose_by_is_refused_and_not_charged(
    bounds: dict[str, Any], tmp_path: Path
) -> None:
    refused(tmp_path, lambda: qv.Semantic(epsilon=TINY, **bounds))


def test_a_huge_scale_that_is_given_is_refused_and_not_charged(tmp_path: Path) -> None:
    refused(tmp_path, lambda: qv.Zealous(noise_scale=1e14, second_threshold=10, max_items=2, tau=1))


def test_a_scale_that_can_be_drawn_is_charged(tmp_path: Path) -> None:
    """So that the tests above can fail."""
    ledger = qv.Ledger(str(tmp_path / "ledger.db"))
    ledger.open("log", epsilon=100, delta=0.5)
    method = mutations.METHODS["zealous-approximate"]
    qv.publish(mutations.log(), method, ledger=ledger, source="log", out=tmp_path / "out")
    assert ledger.budget("log").spent.epsilon == 3


class Loud(qv.Zealous):
    """A mechanism that forgot to look whether its noise can be drawn."""

    def plan(self, *, users: int | None = None) -> qv.Plan:
        plan = super().plan(users=users)
        return dataclasses.replace(plan, draws=(dataclasses.replace(plan.draws[0], scale=2.0**41),))


def test_a_mechanism_that_does_not_look_is_refused_all_the_same(tmp_path: Path) -> None:
    """By `publish` itself, from the declared draw: without it this would be charged, and refused its noise."""
    refused(tmp_path, lambda: Loud(epsilon=1, delta=1e-6))
