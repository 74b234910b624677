"""Thresholding of other libraries, audited by the same code: a runner for each is all that it takes.

    python lab/benchmarks/audit_peers.py [--runs N] [--json]

OpenDP is among the requirements for development. PipelineDP is audited if it can be imported: it pins old versions of
other packages, and wants an environment of its own.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from queryveil_lab.audits import shapes
from queryveil_lab.audits.claims import Claim
from queryveil_lab.audits.outcomes import ABSENT, Outcomes
from queryveil_lab.audits.running import done
from queryveil_lab.audits.shapes import Terrain
from queryveil_lab.audits.trials import TESTS_EACH, Levels, Trial
from queryveil_lab.audits.worlds import World

ITEMS, EPSILON = 2, 1.0
"""Items of one user, and the epsilon that is asked for."""
SCALE, THRESHOLD = ITEMS / EPSILON, 12
_COPIES = 2_000


@dataclass(frozen=True)
class OpenDP:
    """OpenDP's Laplace threshold on a dictionary of counts, with copies of a world as further keys."""

    measurement: Any = field(repr=False)

    name = "OpenDP"

    def run(self, world: World, runs: int) -> Outcomes:
        counts = world.counts(ITEMS, repeated=False)
        values = np.full((runs, len(counts)), ABSENT, np.int64)
        for start in range(0, runs, _COPIES):
            copies = range(start, min(start + _COPIES, runs))
            data = {f"{copy}:{item}": int(n) for copy in copies for item, n in enumerate(counts) if n}
            for key, count in self.measurement(data).items():
                copy, item = key.split(":")
                values[int(copy), int(item)] = count
        return Outcomes(values)

    def load(self, world: World) -> int:
        return world.items


def opendp() -> tuple[OpenDP, Claim]:
    """The runner, and what OpenDP itself says that its measurement costs: one user adds 1 to at most two counts."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T=int))
    metric = dp.l01inf_distance(dp.absolute_distance(T=int))
    made = dp.m.make_laplace_threshold(domain, metric, scale=SCALE, threshold=THRESHOLD)
    epsilon, delta = made.map((ITEMS, ITEMS, 1))
    claim = Claim(kind="approximate-dp", epsilon=epsilon, delta=delta, neighbours="add-remove-one-user")
    return OpenDP(made), claim


@dataclass(frozen=True)
class PipelineDP:
    """PipelineDP's private partition selection: which items are published, without counts."""

    strategy: str
    delta: float

    @property
    def name(self) -> str:
        return f"PipelineDP, {self.strategy.lower().replace('_', ' ')}"

    def run(self, world: World, runs: int) -> Outcomes:
        import pipeline_dp
        from pipeline_dp import partition_selection

        kind = pipeline_dp.PartitionSelectionStrategy[self.strategy]
        chooser = partition_selection.create_partition_selection_strategy(kind, EPSILON, self.delta, ITEMS)
        counts = world.counts(ITEMS, repeated=False).tolist()
        kept = [[1 if n and chooser.should_keep(n) else ABSENT for n in counts] for _ in range(runs)]
        return Outcomes(np.array(kept, dtype=np.int64))

    def load(self, world: World) -> int:
        return world.items


STRATEGIES = ("TRUNCATED_GEOMETRIC", "LAPLACE_THRESHOLDING", "GAUSSIAN_THRESHOLDING")


def audited(runner: Any, claim: Claim, runs: int, even: int, safe: int) -> dict[str, Any]:
    """The strongest bounds over all shapes."""
    on = Terrain(claim=claim, most=ITEMS, repeated=False, least=1, even=even, safe=safe)
    pairs = [one for one in shapes.pairs(on) if one.shape not in ("swing", "heavy user")]
    levels = Levels.shared(TESTS_EACH * len(pairs), 0.95)
    found = [done(Trial(runner, pair, claim, runs), levels) for pair in pairs]
    return {
        "library": runner.name,
        "claimed_epsilon": claim.epsilon,
        "claimed_delta": claim.delta,
        "epsilon_lower_bound": max(one.epsilon for one in found),
        "delta_lower_bound": max(one.delta for one in found),
        "passes": not any(one.refutes for one in found),
        "refuted_by": [f"{one.shape}: {one.event}" for one in found if one.refutes],
        "runs": runs,
    }


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    runner, claim = opendp()
    rows = [audited(runner, claim, given.runs, THRESHOLD, THRESHOLD + 8 * ITEMS)]
    if importlib.util.find_spec("pipeline_dp") is not None:
        own = Claim(kind="approximate-dp", epsilon=EPSILON, delta=0.01, neighbours="add-remove-one-user")
        rows += [audited(PipelineDP(one, own.delta), own, given.runs, 10, 40) for one in STRATEGIES]
    if given.json:
        print(json.dumps(rows))
        return
    for row in rows:
        print(
            f"{row['library']}: epsilon {row['claimed_epsilon']:.4g} and delta {row['claimed_delta']:.3g} claimed, at "
            f"least {row['epsilon_lower_bound']:.3f} and {row['delta_lower_bound']:.3g} from {row['runs']:,} runs: "
            + ("passes" if row["passes"] else f"FAILS by {'; '.join(row['refuted_by'])}")
        )


if __name__ == "__main__":
    main()
