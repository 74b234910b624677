"""A forked child that exits leaves the files of its parent alone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyarrow.csv
import pytest

from tests.conftest import many

FORK = """
import os, sys, pathlib
import queryveil as qv
from queryveil.files import appearing, workspace

def fork():
    child = os.fork()
    if child == 0:
        sys.exit(0)
    assert os.waitpid(child, 0)[1] == 0

source, place = sys.argv[1], pathlib.Path(sys.argv[2])
"""
READ = "log = qv.read(source); fork(); print(log.workspace.is_dir(), qv.inspect(log).users)"
COLLECT = """
log = qv.read(source)
child = os.fork()
if child == 0:
    del log
    import gc
    gc.collect()
    os._exit(0)
os.waitpid(child, 0)
print(log.workspace.is_dir(), qv.inspect(log).users)
"""
SPILL = """
os.environ["QUERYVEIL_MEMORY"] = "100MB"
log = qv.read(source)
con = log.engine.con.new_cursor()
con.execute("CREATE TABLE spilled AS SELECT md5(range::VARCHAR) AS text, random() AS other FROM range(5000000)")
assert list(log.workspace.glob("duckdb_temp_storage*"))
fork()
left = bool(list(log.workspace.glob("duckdb_temp_storage*")))
print(left, con.execute("SELECT count(DISTINCT text[:4]) FROM spilled").fetchone()[0])
"""
SPARK = """
engine = qv.connect("spark")
log = qv.read(source, engine=engine)
fork()
print(log.workspace.is_dir(), qv.inspect(log).users)
"""
TEMPORARY = "with workspace.temporary_folder() as folder: fork(); print(folder.is_dir(), 60)"
OUTPUT = """
with appearing.claim_paths(place) as claims:
    for claim in claims:
        claim.content.write_text("60")
    fork()
    claims.publish_claims("")
print(place.is_file(), place.read_text())
"""


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        pytest.param(READ, "True 60", id="exit"),
        pytest.param(COLLECT, "True 60", id="garbage collection"),
        pytest.param(SPILL, "True 65536", id="spilled table"),
        pytest.param(SPARK, "True 60", id="spark"),
        pytest.param(TEMPORARY, "True 60", id="temporary folder"),
        pytest.param(OUTPUT, "True 60", id="output"),
    ],
)
def test_a_forked_child_deletes_nothing(tmp_path: Path, work: str, expected: str) -> None:
    pyarrow.csv.write_csv(many(60, ["weather", "news"]), tmp_path / "log.csv")
    (tmp_path / "temporary").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", FORK + work, str(tmp_path / "log.csv"), str(tmp_path / "out")],
        capture_output=True,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path / "temporary")},
        check=False,
    )
    assert done.stdout.strip() == expected, done.stderr
    # The parent still cleans up after itself.
    assert not list((tmp_path / "temporary").glob("queryveil-*"))
