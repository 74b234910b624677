"""Noise draws per second on one core: queryveil against OpenDP's and numpy's samplers, in one run.

    python benchmarks/noise.py [--draws N] [--opendp-draws N] [--json]

Both make exact draws from cryptographic bits. A rate is the best of three
rounds, after one draw that builds what is cached. Also users per second whose
queries are drawn from noisy histograms of 40,000 counts: with noise drawn where
it decides, against noise on every count. Rounded normals are compared with
numpy's, which are floating-point numbers of a seeded generator (fast and not
private), and with discrete Laplace draws of the same scale.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import opendp.prelude as dp

from queryveil.mechanisms.profile_histogram.noisy_histograms import NoisyHistograms
from queryveil.privacy.noise import LaplaceSampler, Noise, SystemBits

PLACES = 40_000
PICKS = [1, 5, 20, 100]
NORMAL_SCALES = [1, 1000, 12_822_587, 2**40]
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


def normal_rates(scale: int, draws: int) -> dict[str, float]:
    """Rounded normals a second, exact and as numpy would, and discrete Laplace draws of that scale."""
    noise, floats = Noise(), np.random.default_rng()
    noise.rounded_normal(scale, 1)
    ours = draws / best_seconds(lambda: noise.rounded_normal(scale, draws), 5)
    numpy = draws / best_seconds(lambda: np.rint(scale * floats.standard_normal(draws)).astype(np.int64), 5)
    laplace = queryveil_rate(scale, draws)
    return {
        "scale": scale,
        "rounded_normal": ours,
        "numpy": numpy,
        "of_numpy": ours / numpy,
        "laplace": laplace,
        "of_laplace": ours / laplace,
    }


def histogram_rates(picks: int) -> dict[str, float]:
    """Users a second, at epsilon 1 and so many queries each."""
    nobody = np.zeros(0, dtype=np.int64)
    put_off = NoisyHistograms.of(Noise(), 2.0 * picks, PLACES, picks)
    in_full = NoisyHistograms(Noise(), 2.0 * picks, PLACES, picks, 0)
    rates = []
    for histograms, users in ((put_off, 2_000), (in_full, 50)):
        histograms.drawn(1, nobody, nobody)
        rates.append(users / best_seconds(lambda: histograms.drawn(users, nobody, nobody)))  # noqa: B023
    return {"picks": picks, "put_off": rates[0], "in_full": rates[1], "ratio": rates[0] / rates[1]}


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
    histograms = [histogram_rates(picks) for picks in PICKS]
    normals = [normal_rates(scale, options.draws) for scale in NORMAL_SCALES]
    if options.json:
        figures = {
            "draws_per_second": rows,
            "words_per_second": source,
            "histograms_per_second": histograms,
            "rounded_normals_per_second": normals,
        }
        print(json.dumps(figures, indent=2))
        return
    print(f"{'scale':>14} {'queryveil, M/s':>15} {'OpenDP, M/s':>12} {'ratio':>7} {'tables, ms':>11}")
    for row in rows:
        print(
            f"{row['scale']:>14,.1f} {row['queryveil'] / 1e6:>15.1f} {row['opendp'] / 1e6:>12.3f}"
            f" {row['ratio']:>7.0f} {row['build_seconds'] * 1e3:>11.1f}"
        )
    print(
        f"{'scale':>20} {'rounded normal, M/s':>20} {'numpy, M/s':>11} {'ratio':>6} {'Laplace, M/s':>13} {'ratio':>6}"
    )
    for one in normals:
        print(
            f"{one['scale']:>20,} {one['rounded_normal'] / 1e6:>20.1f} {one['numpy'] / 1e6:>11.1f}"
            f" {one['of_numpy']:>6.2f} {one['laplace'] / 1e6:>13.1f} {one['of_laplace']:>6.2f}"
        )
    for one in histograms:
        print(
            f"histograms of {PLACES:,} counts, {one['picks']} queries of each: {one['put_off']:,.0f} a second, "
            f"{one['in_full']:,.0f} with noise on every count, ratio {one['ratio']:.1f}"
        )
    print(
        f"system bits: {source / 1e6:.1f} million 64-bit words a second; a draw at scale 64 or less takes one"
    )


if __name__ == "__main__":
    main()
