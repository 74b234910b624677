"""The same job by other libraries: users of each query, with noise and a threshold, at most five queries of a user.

Each script runs in an environment of its own, and prints seconds, processor seconds and peak memory as JSON. Queries
are taken as they stand: these libraries do not normalise texts.
"""

from __future__ import annotations

from dataclasses import dataclass

_BEGIN = """
import json, resource, sys, time
log = sys.argv[1]
"""
_END = """
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
print(json.dumps({"seconds": time.perf_counter() - begun[0], "cpu_seconds": time.process_time() - begun[1],
                  "peak_gb": peak, "released": float(released)}))
"""


@dataclass(frozen=True)
class Peer:
    packages: tuple[str, ...]
    script: str


PEERS = {
    "OpenDP (Polars)": Peer(
        ("opendp[polars]",),
        _BEGIN
        + """
import opendp.prelude as dp, polars as pl
dp.enable_features("contrib")
begun = time.perf_counter(), time.process_time()
rows = pl.scan_parquet(log).select("user", "query")
context = dp.Context.compositor(
    data=rows,
    privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user")),
    privacy_loss=dp.loss_of(epsilon=2.0, delta=1e-3),
    split_evenly_over=1,
)
made = (
    context.query()
    .truncate_per_group(1, by=["query"])
    .truncate_num_groups(5, by=["query"], keep="first")
    .group_by("query")
    .agg(dp.len())
    .release()
    .collect()
)
released = made.height
"""
        + _END,
    ),
    "PipelineDP (local)": Peer(
        ("pipeline-dp", "pyarrow"),
        _BEGIN
        + """
import pipeline_dp, pyarrow.parquet as pq
begun = time.perf_counter(), time.process_time()
table = pq.read_table(log, columns=["user", "query"])
rows = list(zip(table["user"].to_pylist(), table["query"].to_pylist()))
accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=2.0, total_delta=1e-3)
engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
asked = pipeline_dp.AggregateParams(
    metrics=[pipeline_dp.Metrics.PRIVACY_ID_COUNT], max_partitions_contributed=5, max_contributions_per_partition=1,
    noise_kind=pipeline_dp.NoiseKind.LAPLACE,
)
parts = pipeline_dp.DataExtractors(
    privacy_id_extractor=lambda row: row[0], partition_extractor=lambda row: row[1], value_extractor=lambda row: 0
)
result = engine.aggregate(rows, asked, parts)
accountant.compute_budgets()
released = len(list(result))
"""
        + _END,
    ),
}
