"""Release-Data: the private query click graph. Queries, clicks on their results, and what was searched next.

Each user's first d queries count; a query whose noisy count is above K is published, then noisy click counts of
its results, then reformulations. After Korolova et al., Releasing search queries and clicks privately, with the
thresholds of docs/proofs/click-graph.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from queryveil.errors import UsageError, argument
from queryveil.language import groups
from queryveil.mechanisms.base import MOST_USERS, Plan, Run
from queryveil.mechanisms.click_graph import parameter_conflicts
from queryveil.mechanisms.click_graph.graph_parameters import MAX_QUERIES, GraphParameters
from queryveil.mechanisms.click_graph.graph_tables import GraphStrategy, publish_graph
from queryveil.mechanisms.click_graph.steered_graph import SteeredGraph
from queryveil.mechanisms.click_graph.threshold_graph import ThresholdGraph
from queryveil.parameters import validate

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog


@dataclass(frozen=True, kw_only=True)
class ClickGraph(GraphParameters):
    """Frequent queries, clicks and reformulations with noise."""

    name: ClassVar[str] = "click-graph"
    needs_users: ClassVar[bool] = False
    example: ClassVar[Mapping[str, Any]] = {"epsilon": 4, "delta": 0.1, "max_queries": 3}

    def __post_init__(self) -> None:
        parameter_conflicts.refuse_pure(self.delta)
        asked: object = self.max_queries
        if asked is None:
            most = MAX_QUERIES["steered" if self.is_steered else "threshold"]
            object.__setattr__(self, "max_queries", most)
        validate(self)
        parameter_conflicts.refuse_contradictions(self)
        self.check_public()

    # -- before data -------------------------------------------------------------------------------------

    def _strategy(self) -> GraphStrategy:
        return SteeredGraph(self) if self.is_steered else ThresholdGraph(self)

    def plan(self, *, users: int | None = None) -> Plan:
        """Thresholds and guarantee. They do not depend on the number of users; a warning may."""
        if users is not None and not 1 <= users <= MOST_USERS:
            raise UsageError(
                f"parameter 'users' must be an int >= 1 and <= {MOST_USERS:g}; got {users}",
                f"pass {argument('users', 'N')}, a public upper bound on the number of users",
            )
        return self._strategy().plan(users)

    # -- with data ---------------------------------------------------------------------------------------

    def check(self, log: SearchLog) -> None:
        self._strategy().check(log)

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        if self.is_grouped:
            # Row by row, from the text alone, and before anything is bounded: the proof needs no more.
            log = groups.group_queries(log)
        return publish_graph(log, run, self._strategy())
