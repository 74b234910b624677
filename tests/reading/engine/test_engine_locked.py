"""The engine that is started here reaches no network, loads no foreign code, and opens no file but those named."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv

WITHOUT_NETWORK = ["unshare", "-n"] if os.geteuid() == 0 else ["unshare", "-rn"]
"""In a network of its own, without any way out, where the kernel counts what was tried."""

# In a new network these counters start at nothing; a name to look up or an address to reach moves one of them.
COUNTED = """
import sys
def tried():
    lines = open('/proc/net/snmp').read().splitlines()
    return [line for line in lines if not line.startswith(('Icmp', 'Ip: Forwarding'))]
before = tried()
{work}
print('tried' if tried() != before else 'quiet')
"""


def in_a_network_without_exit(work: str, *arguments: str) -> str:
    """What the work says, and at last whether it tried to reach anything."""
    done = subprocess.run(
        [*WITHOUT_NETWORK, sys.executable, "-c", COUNTED.replace("{work}", work), *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def geographic(file: Path, column: str = "geometry") -> Path:
    """A log whose metadata say that a column holds shapes."""
    point = b"\x01\x01\x00\x00\x00" + bytes(16)
    users = 60
    table = pa.table(
        {
            "user": [f"u{number}" for number in range(users)],
            "query": ["weather"] * users,
            column: pa.array([point] * users, pa.binary()),
        }
    )
    shapes = {
        "version": "1.0.0",
        "primary_column": column,
        "columns": {column: {"encoding": "WKB", "geometry_types": ["Point"], "crs": None}},
    }
    pq.write_table(table.replace_schema_metadata({b"geo": json.dumps(shapes).encode()}), file)
    return file


def loaded(engine: Any) -> set[str]:
    found = engine.con.raw_sql("SELECT extension_name FROM duckdb_extensions() WHERE loaded").fetchall()
    return {name for (name,) in found}


def test_a_log_with_geographic_metadata_starts_no_download(tmp_path: Path) -> None:
    log = geographic(tmp_path / "log.parquet")
    work = """
import queryveil as qv
release = qv.publish(qv.read(sys.argv[1]), qv.Zealous(epsilon=100, delta=1e-6, max_items=1))
print(release.released)
"""
    assert in_a_network_without_exit(work, str(log)).split("\n")[:2] == ["{'items': 1}", "quiet"]


def test_an_attempt_would_be_seen() -> None:
    work = """
import duckdb
try:
    duckdb.connect().execute("INSTALL spatial")
except duckdb.Error:
    print('refused')
"""
    assert in_a_network_without_exit(work).split() == ["refused", "tried"]


def test_no_extension_is_loaded_for_a_logs_metadata(tmp_path: Path) -> None:
    engine = qv.connect()
    before = loaded(engine)
    assert qv.read(geographic(tmp_path / "log.parquet"), engine=engine).users == 60
    assert qv.read(pq.read_table(tmp_path / "log.parquet"), engine=engine).users == 60
    assert loaded(engine) == before


@pytest.mark.parametrize(
    "statement",
    [
        "INSTALL spatial",
        "LOAD spatial",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM read_parquet('{elsewhere}')",
        "SELECT * FROM read_parquet('https://example.org/log.parquet')",
        "COPY (SELECT 1) TO '{elsewhere}'",
        "ATTACH '{elsewhere}.db'",
        "SET enable_external_access = true",
        "SET default_collation = 'nocase'",
    ],
)
def test_the_engine_of_a_log_opens_nothing_else(tmp_path: Path, statement: str) -> None:
    import duckdb

    elsewhere = geographic(tmp_path / "elsewhere.parquet")
    log = qv.read(geographic(tmp_path / "log.parquet"))
    with pytest.raises(duckdb.Error):
        log.engine.con.raw_sql(statement.replace("{elsewhere}", str(elsewhere))).fetchall()
    assert log.users == 60


def test_an_engine_for_several_logs_installs_nothing() -> None:
    work = """
import duckdb
import queryveil as qv
engine = qv.connect()
for statement in ("INSTALL spatial", "SELECT * FROM read_parquet('https://example.org/x')"):
    try:
        engine.con.raw_sql(statement)
    except duckdb.Error:
        print('refused')
"""
    assert in_a_network_without_exit(work).split() == ["refused"] * 2 + ["quiet"]


@pytest.mark.parametrize("name", ["log*.parquet", "a[b]?.parquet", "it's.parquet", "ü x.parquet"])
def test_files_with_odd_names_are_among_those_named(tmp_path: Path, name: str) -> None:
    geographic(tmp_path / "logs.parquet")
    assert qv.read(geographic(tmp_path / name)).users == 60


def test_a_log_named_by_a_relative_path_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "inner").mkdir()
    geographic(tmp_path / "log.parquet")
    monkeypatch.chdir(tmp_path / "inner")
    assert qv.read("../log.parquet").users == 60
