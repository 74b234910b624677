"""Clump and Partition on random transactions of WordNet nouns: time, memory, growth, and loss under each rule.

Clump is what `publish` does by default: crowds first, then the better of two groupings.

    python benchmarks/transactions.py [--rows 53058] [--k 5] [--r 10] [--part NAME ...] [--json]

Every part runs in a process of its own, on one core, compiled before the clock starts (`compile` says how long that
takes, without and with what an earlier process left on disk). Seconds are wall time with processor time beside it.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from queryveil.mechanisms.transactions.algorithms import (
    Bags,
    Grouping,
    Tree,
    clump,
    crowds_first,
    generalises,
    ggd,
    lcg,
    partition,
)

MEAN_LENGTH = 21
RULES: dict[str, dict[str, Any]] = {
    "increase, exact": {},
    "increase, exact, input order": {"order": "input"},
    "total, exact": {"criterion": "total"},
    "total, exact, input order": {"criterion": "total", "order": "input"},
    "total, paper": {"criterion": "total", "lcg": "paper"},
    "total, paper, input order": {"criterion": "total", "lcg": "paper", "order": "input"},
}
"""The first is ours; the last is the paper's."""


def wordnet(rows: int, seed: int = 1, mean_length: int = MEAN_LENGTH) -> tuple[Tree, Bags]:
    """Nouns drawn evenly, by their first sense; the tree is pruned to what occurs."""
    from queryveil.language.taxonomy import Taxonomy

    generator = np.random.default_rng(seed)
    whole = Taxonomy.wordnet()
    nouns = np.fromiter(whole.lexicon.first.values(), dtype=np.int32)
    lengths = 1 + generator.poisson(mean_length - 1, rows)
    items = generator.choice(nouns, lengths.sum())
    pruned = whole.prune(np.unique(items))
    return Tree(pruned.parents), Bags(pruned.map_concepts(items), np.concatenate(([0], np.cumsum(lengths))))


def wide(rows: int, children: int, leaves: int, length: int, seed: int = 1) -> tuple[Tree, Bags]:
    """A root with many children, each with as many leaves; popular ones occur often."""
    generator = np.random.default_rng(seed)
    below = np.repeat(np.arange(1, children + 1), leaves if leaves > 1 else 0)
    tree = Tree(np.concatenate(([-1], np.zeros(children, dtype=np.int64), below)))
    lengths = 1 + generator.poisson(length - 1, rows)
    first = len(tree) - len(below) if len(below) else 1
    popular = generator.permutation(np.arange(first, len(tree)))
    places = np.minimum(generator.zipf(1.3, lengths.sum()), len(popular)) - 1
    return tree, Bags(popular[places], np.concatenate(([0], np.cumsum(lengths))))


def timed(work: Callable[[], Grouping], rounds: int = 1) -> tuple[Grouping, dict[str, float]]:
    best = {"seconds": math.inf, "processor_seconds": math.inf}
    for _ in range(rounds):
        wall, processor = time.perf_counter(), time.process_time()
        found = work()
        best["seconds"] = min(best["seconds"], round(time.perf_counter() - wall, 3))
        best["processor_seconds"] = min(best["processor_seconds"], round(time.process_time() - processor, 3))
    return found, best


def warm_up() -> dict[str, float]:
    """Compile, or load what was compiled."""
    tree = Tree(np.array([-1, 0, 0]))
    bags = Bags.of([[1, 2], [1, 1], [2], [1]])
    clumped, parted = (
        timed(lambda: crowds_first(tree, bags, 2))[1],
        timed(lambda: partition(tree, bags, 2))[1],
    )
    return {
        f"{name}_{unit}": value
        for name, of in (("clump", clumped), ("partition", parted))
        for unit, value in of.items()
    }


def headline(rows: int, k: int, r: int) -> dict[str, Any]:
    tree, bags = wordnet(rows)
    warm_up()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found, seconds = timed(lambda: crowds_first(tree, bags, k, r), rounds=3)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    shape = {"nodes": len(tree), "leaves": tree.leaves, "height": int(tree.depth.max()) + 1}
    shape |= {"transactions": len(bags), "mean_length": round(len(bags.items) / len(bags), 2)}
    memory = {"peak_gb": round(peak / 1e6, 3), "peak_gb_before": round(before / 1e6, 3)}
    return {**shape, "groups": len(found.published), **seconds, **memory}


def compiling(*_: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--once", "warm-up"]
        given = {**os.environ, "NUMBA_CACHE_DIR": folder}
        runs = [subprocess.run(command, env=given, capture_output=True, check=True) for _ in range(2)]
    return {name: json.loads(run.stdout) for name, run in zip(("first", "later"), runs, strict=True)}


def growth(_: int, k: int, r: int) -> dict[str, Any]:
    warm_up()
    sizes = (10_000, 20_000, 50_000, 100_000, 200_000)
    found: dict[str, Any] = {"clump": {}, "partition": {}}
    for size in sizes:
        tree, bags = wordnet(size)
        found["clump"][size] = timed(lambda tree=tree, bags=bags: crowds_first(tree, bags, k, r), rounds=2)[1]  # type: ignore[misc]
        found["partition"][size] = timed(lambda tree=tree, bags=bags: partition(tree, bags, k))[1]  # type: ignore[misc]
    for name in ("clump", "partition"):
        ends = [found[name][size]["processor_seconds"] for size in (sizes[0], sizes[-1])]
        found[f"{name}_exponent"] = round(math.log(ends[1] / ends[0]) / math.log(sizes[-1] / sizes[0]), 3)
    found["peak_gb"] = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 3)
    return found


def wide_nodes(rows: int, k: int, r: int) -> dict[str, Any]:
    warm_up()
    found = {}
    for children, leaves, length in (
        (20_000, 1, 21),
        (1_000, 20, 21),
        (100, 200, 21),
        (20_000, 1, 3),
        (1_000, 20, 3),
    ):
        tree, bags = wide(rows, children, leaves, length)
        clumped, clump_seconds = timed(lambda tree=tree, bags=bags: crowds_first(tree, bags, k, r), rounds=2)  # type: ignore[misc]
        parted, partition_seconds = timed(lambda tree=tree, bags=bags: partition(tree, bags, k), rounds=2)  # type: ignore[misc]
        found[f"{children} children of {leaves} leaves, {length} items"] = {
            "clump": {**clump_seconds, "ggd_per_item": clumped.quality.ggd_per_item},
            "partition": {**partition_seconds, "ggd_per_item": parted.quality.ggd_per_item},
            "partition_to_clump": round(
                partition_seconds["processor_seconds"] / clump_seconds["processor_seconds"], 3
            ),
        }
    return found


def losses(rows: int, k: int, r: int) -> dict[str, Any]:
    warm_up()
    tree, bags = wordnet(rows)
    runs = {name: (lambda rules=rules: clump(tree, bags, k, r, **rules)) for name, rules in RULES.items()}
    runs["crowds first"] = lambda: crowds_first(tree, bags, k, r)
    runs["partition"] = lambda: partition(tree, bags, k)
    table = {}
    for name, run in runs.items():
        found, seconds = timed(run)
        quality = found.quality
        table[name] = {
            "ggd_per_item": round(quality.ggd_per_item, 4),
            "ncp_per_item": round(quality.ncp_per_item, 4),
            "mean_length": round(quality.mean_length, 2),
            "mean_level": round(quality.mean_level, 2),
            **seconds,
        }
    return {"floor_ggd_per_item": quality.floor_ggd / quality.items, "rules": table}


def short_and_long(rows: int, k: int, r: int) -> dict[str, Any]:
    """Popular items and favourite transactions, short ones as in queries and baskets, and long random ones."""
    warm_up()
    found = {}
    for name, (tree, bags) in {
        "baskets of a few, mostly shared": favourites(rows, 2_000, 2),
        "queries, some shared": favourites(rows, rows, 2),
        "3 items of popular leaves": wide(rows, 1_000, 20, 3),
        "21 items of WordNet": wordnet(rows),
    }.items():
        runs = {"better": crowds_first, "paper": clump, "partition": partition}
        found[name] = {"mean_length": round(len(bags.items) / len(bags), 2)}
        for method, run in runs.items():
            more = () if method == "partition" else (r,)
            made, seconds = timed(lambda run=run, more=more, tree=tree, bags=bags: run(tree, bags, k, *more))  # type: ignore[misc, operator]
            found[name][method] = {
                "ggd_per_item": round(made.quality.ggd_per_item, 4),
                "ncp_per_item": round(made.quality.ncp_per_item, 4),
                **seconds,
            }
    return found


def favourites(rows: int, different: int, length: int, seed: int = 1) -> tuple[Tree, Bags]:
    """Transactions drawn from a list by Zipf's law, the items of WordNet."""
    tree, pool = wordnet(different, seed, length)
    weights = 1 / np.arange(1, different + 1)
    chosen = np.random.default_rng(seed).choice(different, rows, p=weights / weights.sum())
    return tree, pool.take(chosen)


def small_cases(*_: int, cases: int = 20_000, seed: int = 1) -> dict[str, Any]:
    """The paper's rule on groups of three transactions of up to five distinct items in trees of up to 16 nodes."""
    generator = np.random.default_rng(seed)
    differs = folded_differs = counted_differs = worse = 0
    exact_loss = paper_loss = 0.0
    for _ in range(cases):
        size = int(generator.integers(3, 17))
        tree = Tree(np.array([-1, *(int(generator.integers(0, node)) for node in range(1, size))]))
        lengths = generator.integers(1, min(5, size) + 1, 3)
        group = Bags.of([generator.choice(size, length, replace=False).tolist() for length in lengths])
        exact, paper = lcg(tree, group), lcg(tree, group, "paper")
        pair = lcg(tree, group.take(np.array([0, 1])), "paper")
        folded = lcg(tree, Bags.of([pair.tolist(), group[2].tolist()]), "paper")
        differs += exact.tolist() != paper.tolist()
        folded_differs += folded.tolist() != paper.tolist()
        counted_differs += clump(tree, group, 3, lcg="paper").published[0].tolist() != paper.tolist()
        worse += not generalises(tree, exact, paper)
        exact_loss += ggd(tree, group, exact)
        paper_loss += ggd(tree, group, paper)
    return {
        "cases": cases,
        "paper_differs": differs / cases,
        "paper_more_general": worse / cases,
        "paper_folding_differs_from_direct": folded_differs / cases,
        "paper_folding_with_copies_counted_differs_from_direct": counted_differs / cases,
        "paper_loss_to_exact": paper_loss / exact_loss,
    }


PARTS: dict[str, Callable[..., dict[str, Any]]] = {
    "headline": headline,
    "compile": compiling,
    "growth": growth,
    "wide-nodes": wide_nodes,
    "losses": losses,
    "short-and-long": short_and_long,
    "small-cases": small_cases,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=53_058)
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--r", type=int, default=10)
    parser.add_argument("--part", action="append", choices=PARTS)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--once", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.once:
        part = warm_up if given.once == "warm-up" else PARTS[given.once]
        print(json.dumps(part() if given.once == "warm-up" else part(given.rows, given.k, given.r)))
        return
    found = {}
    for part in given.part or PARTS:
        options = ["--rows", str(given.rows), "--k", str(given.k), "--r", str(given.r)]
        done = subprocess.run(
            [sys.executable, __file__, "--once", part, *options], stdout=subprocess.PIPE, check=True
        )
        found[part] = json.loads(done.stdout)
        if not given.json:
            print(part, json.dumps(found[part], indent=2), sep=": ", flush=True)
    if given.json:
        print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
