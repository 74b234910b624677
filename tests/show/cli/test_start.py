"""What a command that reads no log does without: heavy libraries that make a start slow."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = (
    *("numba", "ibis", "duckdb", "sqlglot", "scipy", "pandas", "sqlalchemy", "pyarrow.compute"),
    *("pyarrow.parquet", "matplotlib", "altair", "pyspark", "polars"),
)
SCRIPT = """
import sys
from queryveil.show.cli import run
sys.argv = ["queryveil", *sys.argv[1:]]
try:
    run()
except SystemExit as ended:
    assert not ended.code, ended.code
print(*(name for name in {heavy} if name in sys.modules), file=sys.stderr)
"""


@pytest.mark.parametrize(
    "command",
    ["plan steered --epsilon 1 --delta 1e-6", "plan zealous --epsilon 1 --delta 1e-6", "publish --help"],
)
def test_planning_loads_no_engine_and_no_compiler(command: str) -> None:
    script = SCRIPT.format(heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", script, *command.split()],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert done.stdout and done.stderr.split() == []
