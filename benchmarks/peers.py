"""The same job by other libraries: noisy numbers of users for queries that enough users share.

Everyone gets the same epsilon, delta, neighboring logs (one user added or removed), and number of queries that count of
one user. Each script runs in an environment of its own and prints seconds, processor seconds, peak memory, and the
number of published queries as JSON. Where a library offers several ways to do the job, its script takes the one that
publishes the most, and of these the fastest. Queries are taken as they stand: these libraries normalize no text.
"""

from __future__ import annotations

from dataclasses import dataclass

EPSILON, DELTA = 2.0, 1e-4
MAX_QUERIES = 5
"""Queries of one user that count."""

_BEGIN = """
import json, resource, sys, time
log, epsilon, delta, most = sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
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
    note: str
    """What a reader of the table has to know of how this library bounds and publishes."""

    def arguments(self, log: str) -> list[str]:
        """The script and what it is given."""
        return ["-c", self.script, log, str(EPSILON), str(DELTA), str(MAX_QUERIES)]


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
    privacy_loss=dp.loss_of(epsilon=epsilon, delta=delta),
    split_evenly_over=1,
)
made = (
    context.query()
    .truncate_per_group(1, by=["query"], keep="first")
    .truncate_num_groups(most, by=["query"], keep="first")
    .group_by("query")
    .agg(dp.len(signed=True))
    .release()
    .collect()
)
released = made.height
"""
        + _END,
        "OpenDP 0.16 pays for 5 queries of a user and keeps 4 (its rank starts at 1), the first by the alphabet: "
        "its other choice, a sample, fails with the Polars that it requires.",
    ),
    "PipelineDP (local)": Peer(
        ("pipeline-dp", "pyarrow"),
        _BEGIN
        + """
import pipeline_dp, pyarrow.parquet as pq
begun = time.perf_counter(), time.process_time()
table = pq.read_table(log, columns=["user", "query"])
rows = list(zip(table["user"].to_pylist(), table["query"].to_pylist()))
accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=delta)
engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
asked = pipeline_dp.AggregateParams(
    metrics=[pipeline_dp.Metrics.PRIVACY_ID_COUNT],
    max_partitions_contributed=most,
    max_contributions_per_partition=1,
    noise_kind=pipeline_dp.NoiseKind.LAPLACE,
    partition_selection_strategy=pipeline_dp.PartitionSelectionStrategy.LAPLACE_THRESHOLDING,
    post_aggregation_thresholding=True,
)
parts = pipeline_dp.DataExtractors(
    privacy_id_extractor=lambda row: row[0], partition_extractor=lambda row: row[1], value_extractor=lambda row: 0
)
result = engine.aggregate(rows, asked, parts)
accountant.compute_budgets()
released = len(list(result))
"""
        + _END,
        "PipelineDP publishes noisy counts above one threshold (`post_aggregation_thresholding`), which pays once for "
        "selection and count; its default pays for each and publishes about half as many.",
    ),
}
