"""k-session on generated sessions: time, memory, and what it costs in keywords.

    python benchmarks/k_session.py [--sessions 1000000] [--k 5 ...] [--folder DIR]

The log is generated first, in a process of its own. Then each k is published in a fresh process, from reading the
file to the finished table, compiled loops loaded from disk or compiled on the way. Seconds are wall time with
processor time beside it; cost is keywords added and deleted per session; peak is of the whole process.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

SESSIONS_PER_USER = 12.5
"""Of the generator's default habits; the figures say how many there were."""


def generate(log: Path, sessions: int) -> dict[str, Any]:
    import queryveil as qv

    qv.generate(log, qv.LogSettings(version=1, users=math.ceil(sessions / SESSIONS_PER_USER), seed=1))
    return {}


def publish(log: Path, k: int) -> dict[str, Any]:
    import queryveil as qv

    wall, processor = time.perf_counter(), time.process_time()
    release = qv.publish(qv.read(log), qv.KSession(k=k))
    cost = {row["measure"]: row["value"] for row in release.private["cost"].to_pylist()}
    facts = release.private["curator"]
    return {
        "k": k,
        "rows": facts["rows"],
        "users": facts["users"],
        "sessions": int(cost["sessions"]),
        "groups": int(cost["groups"]),
        "keywords_per_session": round(cost["keywords"] / cost["sessions"], 3),
        "added_per_session": round(cost["added_per_session"], 3),
        "deleted_per_session": round(cost["deleted_per_session"], 3),
        "share_empty": round(cost["share_of_sets_that_became_empty"], 4),
        "seconds": round(time.perf_counter() - wall, 1),
        "processor_seconds": round(time.process_time() - processor, 1),
        "stages": release.seconds,
        "peak_gb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, 2),
    }


def alone(*arguments: str) -> dict[str, Any]:
    """Run one part in a process of its own."""
    done = subprocess.run([sys.executable, __file__, *arguments], capture_output=True, text=True, check=True)
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=1_000_000)
    parser.add_argument("--k", type=int, nargs="+", default=[5])
    parser.add_argument("--folder", type=Path, help="where the log is kept, and found again")
    parser.add_argument("--once", choices=("generate", "publish"), help=argparse.SUPPRESS)
    parser.add_argument("--log", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.once == "generate":
        print(json.dumps(generate(given.log, given.sessions)))
    elif given.once == "publish":
        print(json.dumps(publish(given.log, given.k[0])))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            log = (given.folder or Path(temporary)) / f"sessions-{given.sessions}.parquet"
            if not log.exists():
                alone("--once", "generate", "--log", str(log), "--sessions", str(given.sessions))
            runs = [alone("--once", "publish", "--log", str(log), "--k", str(k)) for k in given.k]
            print(json.dumps({"runs": runs}, indent=2))


if __name__ == "__main__":
    main()
