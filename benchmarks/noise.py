"""Discrete Laplace draws per second on one core: queryveil against OpenDP's sampler, in one run.

    python benchmarks/noise.py [--draws N] [--opendp-draws N] [--json]

Both make exact draws from cryptographic bits. A rate is the best of three
rounds, after one draw that builds what is cached.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from fractions import Fraction

import opendp.prelude as dp

from queryveil.privacy.noise import LaplaceSampler, Noise, SystemBits

SCALES = [0.5, 10.0, 64.0, 1000.0, 10_000.0, 1e9]


def best_seconds(work: Callable[[], object], rounds: int = 3) -> float:
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def opendp_rate(scale: float, draws: int) -> float:
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    measurement = dp.m.make_laplace(*space, scale=scale)
    zeros = [0] * draws
    return draws / best_seconds(lambda: measurement(zeros))


def queryveil_rate(scale: float, draws: int) -> float:
    noise = Noise()
    noise.discrete_laplace(scale, 1)
    return draws / best_seconds(lambda: noise.discrete_laplace(scale, draws))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=5_000_000)
    parser.add_argument("--opendp-draws", type=int, default=50_000)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    dp.enable_features("contrib")
    rows = []
    for scale in SCALES:
        ours, theirs = queryveil_rate(scale, options.draws), opendp_rate(scale, options.opendp_draws)
        build = best_seconds(lambda scale=scale: LaplaceSampler(Fraction(scale)))  # type: ignore[misc]
        rows.append(
            {
                "scale": scale,
                "queryveil": ours,
                "opendp": theirs,
                "ratio": ours / theirs,
                "build_seconds": build,
            }
        )
    words = 1 << 17
    source = words / best_seconds(lambda: SystemBits().words(words), rounds=20)
    if options.json:
        print(json.dumps({"draws_per_second": rows, "words_per_second": source}, indent=2))
        return
    print(f"{'scale':>14} {'queryveil, M/s':>15} {'OpenDP, M/s':>12} {'ratio':>7} {'tables, ms':>11}")
    for row in rows:
        print(
            f"{row['scale']:>14,.1f} {row['queryveil'] / 1e6:>15.1f} {row['opendp'] / 1e6:>12.3f}"
            f" {row['ratio']:>7.0f} {row['build_seconds'] * 1e3:>11.1f}"
        )
    print(
        f"system bits: {source / 1e6:.1f} million 64-bit words a second; a draw at scale 64 or less takes one"
    )


if __name__ == "__main__":
    main()
