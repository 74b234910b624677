"""Faults of a Spark cluster while it counts for a release: docs/evidence/cluster-faults.md.

    python benchmarks/cluster_faults.py [--other-python PATH] [--only FAULT ...] [--write]

Each run has a cluster of its own on this machine. The fault strikes after the charge, before the counts are asked for.
With `--other-python`, the workers of one more run have that Python instead of the driver's.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

import queryveil as qv

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.cluster.conftest import SUBMIT, Cluster, running_cluster  # noqa: E402
from tests.conftest import many  # noqa: E402

PAGE = ROOT / "docs" / "evidence" / "cluster-faults.md"
LINE = (
    "publish zealous log.parquet --epsilon 4 --delta 1e-6 --guarantee approximate --out release "
    "--ledger ledger.db --source web --engine"
)
LONGEST_SECONDS = 300.0
DRIVER = """
import os, time
from pathlib import Path
from queryveil.files import interruptions
from queryveil.reading.engine import Spark
from queryveil.show import cli

real, reached = Spark.arrow, Path("reached")

def wait_for_fault(self, table):
    if interruptions._STANDING.get().charged and not reached.exists():
        reached.touch()
        while not Path("struck").exists():
            time.sleep(0.05)
    return real(self, table)

Spark.arrow = wait_for_fault
cli.run()
"""
Strike = Callable[[Cluster, subprocess.Popen[str]], None]


@dataclass(frozen=True)
class Fault:
    """What happens to a cluster of so many workers."""

    name: str
    strike: Strike
    workers: int = 2
    runs_again: bool = False


def freeze(cluster: Cluster, _: subprocess.Popen[str]) -> None:
    """Stop a worker and its executor without a word, as if its machine had lost power."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError):
            if os.getpgid(int(process.name)) == cluster.workers[0].pid:
                os.kill(int(process.name), signal.SIGSTOP)


def kill_and_replace(cluster: Cluster, _: subprocess.Popen[str]) -> None:
    cluster.kill_all_workers()
    cluster.start_worker()


FAULTS = (
    Fault("none", lambda cluster, driver: None),
    Fault("one of two workers is killed", lambda cluster, driver: cluster.kill_worker(0)),
    Fault("one of two workers is frozen", freeze),
    Fault("the only worker is killed", lambda cluster, driver: cluster.kill_all_workers(), workers=1),
    Fault("the only worker is killed, and another one starts", kill_and_replace, workers=1),
    Fault("the master is killed", lambda cluster, driver: cluster.kill_master()),
    Fault("the driver is killed, and runs again", lambda cluster, driver: driver.kill(), runs_again=True),
    Fault("Ctrl-C", lambda cluster, driver: driver.send_signal(signal.SIGINT)),
)


def start_driver(folder: Path, cluster: Cluster, python: str | None = None) -> subprocess.Popen[str]:
    environment = os.environ | {"TMPDIR": str(folder / "scratch"), "PYSPARK_SUBMIT_ARGS": SUBMIT}
    environment |= {"PYSPARK_PYTHON": python} if python else {}
    return subprocess.Popen(
        [sys.executable, "-c", DRIVER, *LINE.split(), cluster.address],
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(driver: subprocess.Popen[str]) -> tuple[int | str, str]:
    """Return the exit code, and the sentence on standard error."""
    try:
        _, said = driver.communicate(timeout=LONGEST_SECONDS)
    except subprocess.TimeoutExpired:
        driver.kill()
        driver.communicate()
        return "none", f"not over after {LONGEST_SECONDS:.0f} s"
    return driver.returncode, next((line for line in said.splitlines() if line.startswith("Error")), "")


def run(fault: Fault, python: str | None = None) -> dict[str, Any]:
    """Publish with one fault, and look at what became of it."""
    with tempfile.TemporaryDirectory() as place, contextlib.ExitStack() as stack:
        folder = Path(place)
        (folder / "scratch").mkdir()
        (folder / "cluster").mkdir()
        pq.write_table(many(60, ["apples", "pears"]), folder / "log.parquet")
        ledger = qv.Ledger(str(folder / "ledger.db"))
        ledger.open("web", epsilon=100, delta=0.01)
        cluster = stack.enter_context(running_cluster(folder / "cluster", fault.workers))
        driver = start_driver(folder, cluster, python)
        while not (folder / "reached").exists() and driver.poll() is None:
            time.sleep(0.05)
        begun = time.monotonic()
        fault.strike(cluster, driver)
        (folder / "struck").touch()
        code, said = finish(driver)
        seconds = time.monotonic() - begun
        if fault.runs_again:
            code, said = finish(start_driver(folder, cluster, python))
        release = folder / "release"
        return {
            "fault": fault.name,
            "code": code,
            "seconds": round(seconds),
            "release": release.is_dir() and qv.verify(release).passes,
            "charges": len(ledger.budget("web").events),
            "left": sorted(one.name for one in (folder / "scratch").glob("queryveil-*")),
            "said": said.removeprefix("Error: "),
        }


def page(outcomes: list[dict[str, Any]]) -> str:
    lines = [
        "# Faults of a cluster",
        "",
        "`benchmarks/cluster_faults.py` publishes a small log with a ledger on a Spark cluster of its own: a master",
        "and two workers, or one, as processes of one machine. Each run has one fault, which strikes after the",
        "charge. *Left behind* counts working folders of the driver.",
        "",
        "| fault | exit code | seconds until the end | release | charged | left behind | what is said |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in outcomes:
        cells = (
            one["fault"],
            one["code"],
            one["seconds"],
            "complete" if one["release"] else "none",
            one["charges"],
            len(one["left"]),
            one["said"] or "nothing: all is well",
        )
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--other-python")
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    chosen = [one for one in FAULTS if not given.only or one.name in given.only]
    outcomes = []
    for fault in chosen:
        outcomes.append(run(fault))
        sys.stdout.write(json.dumps(outcomes[-1]) + "\n")
        sys.stdout.flush()
    if given.other_python:
        name = f"workers with another Python ({Path(given.other_python).resolve().name})"
        outcomes.append(run(Fault(name, FAULTS[0].strike), given.other_python))
        sys.stdout.write(json.dumps(outcomes[-1]) + "\n")
    if given.write:
        PAGE.write_text(page(outcomes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
