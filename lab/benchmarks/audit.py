"""Every private mechanism audited: claim, lower bound, runs and verdict, a line each as they come.

    python lab/benchmarks/audit.py [--runs N] [--out FOLDER]

Processor seconds are those of all processes: on an idle machine with 2 cores, half of them is the time that it takes.
"""

from __future__ import annotations

import argparse
import resource
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import queryveil_lab as lab


def spent() -> float:
    """Processor seconds of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    before = [spent()]

    def told(name: str, audit: Mapping[str, Any]) -> None:
        now = spent()
        how = "a proof" if audit["is_proof"] else f"{audit['confidence']:.0%}"
        print(
            f"{name}: epsilon {audit['claimed_epsilon']:g}, delta {audit['delta']:g} claimed; epsilon at least "
            f"{audit['epsilon_lower_bound']:.3f} ({how}), delta at least {audit['delta_lower_bound']:.3g}; "
            f"{len(audit['findings'])} findings, {audit['runs']:,} runs of steps; "
            f"{'passes' if audit['passes'] else 'FAILS'} ({now - before[0]:.0f} processor seconds)",
            flush=True,
        )
        before[0] = now

    found = lab.audit_all(runs=given.runs, out=given.out, told=told)
    print(f"{'all pass' if found.passes else 'NOT all pass'}: {spent():.0f} processor seconds in all")


if __name__ == "__main__":
    main()
