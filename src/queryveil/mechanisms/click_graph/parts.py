"""The parts of a click graph's guarantee: what each draw of noise costs."""

from __future__ import annotations

from queryveil.mechanisms.base import ROW_LOCAL, USER_IS_ACCOUNT
from queryveil.mechanisms.click_graph import words
from queryveil.mechanisms.click_graph.tables import Edges
from queryveil.privacy.guarantee import ADD_REMOVE, APPROXIMATE, NONE, PURE, Guarantee
from queryveil.privacy.statements import Statement


def of_edges(
    of: str,
    edges: Edges,
    epsilon: float | None,
    delta: float | None,
    assumptions: tuple[Statement, ...],
) -> Guarantee:
    """What clicks or reformulations cost."""
    kind = PURE if edges.setting is None else APPROXIMATE
    return part(of, kind, epsilon or edges.epsilon, delta or 0.0, assumptions=assumptions)


def part(
    of: str,
    kind: str,
    epsilon: float,
    delta: float,
    *,
    assumptions: tuple[Statement, ...] = (),
    caveats: tuple[Statement, ...] = (),
) -> Guarantee:
    """What one draw of noise costs, which hides whether a user is in the log."""
    return Guarantee(
        kind=kind,
        of=of,
        epsilon=epsilon,
        delta=delta,
        neighbours=ADD_REMOVE,
        assumptions=(ROW_LOCAL, USER_IS_ACCOUNT, *assumptions),
        caveats=caveats,
    )


def not_covered(total: Guarantee) -> Guarantee:
    """The most clicked urls of the log: a url that one user alone clicked is published with certainty."""
    return Guarantee(
        kind=NONE,
        neighbours=ADD_REMOVE,
        assumptions=total.assumptions,
        caveats=(words.NOT_COVERED, *total.caveats),
    )
