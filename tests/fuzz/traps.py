"""Files that are made to hurt whoever opens them, and the command that does: each must be refused, or do no harm."""

from __future__ import annotations

import gzip
import json
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import queryveil as qv

SECRET = "somebody's own secret"  # noqa: S105 (that is the point)


@dataclass(frozen=True)
class Trap:
    """What it is, how it is made (size 1 is the real one), the command, and the exit codes that are fine."""

    name: str
    make: Callable[[Path, float], str]
    codes: tuple[int, ...]


def _line(folder: Path, size: float) -> str:
    with gzip.open(folder / "log.tsv.gz", "wb", compresslevel=1) as file:
        file.write(b"user\tquery\nann\ttea\nbob\t")
        for _ in range(max(1, int(500 * size))):
            file.write(b"x" * 1_000_000)
        file.write(b"\ncid\tmugs\n")
    return "inspect log.tsv.gz --max-rejected 0.5"


def _zip_bomb(folder: Path, size: float) -> str:
    with (
        zipfile.ZipFile(folder / "log.zip", "w", zipfile.ZIP_DEFLATED) as made,
        made.open("a.tsv", "w") as file,
    ):
        file.write(b"user\tquery\n")
        for _ in range(max(1, int(500 * size))):
            file.write(b"\0" * 1_000_000)
    return "inspect log.zip --max-rejected 1"


def _columns(folder: Path, size: float) -> str:
    names = ["user", "query", *(f"c{number}" for number in range(10_000))]
    (folder / "log.csv").write_text(",".join(names) + "\n" + (",".join(["x"] * len(names)) + "\n") * 20)
    return "inspect log.csv"


def _nested(folder: Path, size: float) -> str:
    deep = int(1_000_000 * size) + 5000
    good = '{"user": "ann", "query": "tea", "time": "2026-01-01 10:00:00"}\n'
    (folder / "log.jsonl").write_text(
        good + '{"user": ' + "[" * deep + "]" * deep + ', "query": "x"}\n' + good
    )
    return "inspect log.jsonl --max-rejected 0.5"


def _member(folder: Path, size: float) -> str:
    with zipfile.ZipFile(folder / "log.zip", "w") as made:
        made.writestr("../../../escaped.tsv", "user\tquery\nann\ttea\n")
    return "inspect log.zip"


def _fifo_log(folder: Path, size: float) -> str:
    os.mkfifo(folder / "log.tsv")
    return "inspect log.tsv"


def _release(folder: Path) -> Path:
    users = [f"u{number}" for number in range(60)]
    log = qv.read(pa.table({"user": users * 2, "query": ["tea"] * 60 + ["=cmd|' /c calc'!a1"] * 60}))
    qv.publish(log, qv.Zealous(epsilon=8, delta=1e-6, max_items=2), out=folder / "release")
    return folder / "release"


def _linked(folder: Path, size: float) -> str:
    made = _release(folder)
    (folder / "own.txt").write_text(SECRET)
    (made / "DATASHEET.md").unlink()
    (made / "DATASHEET.md").symlink_to(folder / "own.txt")
    return "release verify release"


def _fifo(folder: Path, size: float) -> str:
    made = _release(folder)
    (made / "items.parquet").unlink()
    os.mkfifo(made / "items.parquet")
    return "release verify release"


def _outside(folder: Path, size: float) -> str:
    made = _release(folder)
    content = json.loads((made / "manifest.json").read_text())
    (folder / "own.parquet").write_bytes((made / "items.parquet").read_bytes())
    content["files"]["../own.parquet"] = content["files"]["items.parquet"]
    (made / "manifest.json").write_text(json.dumps(content))
    return "release verify release"


def _formula(folder: Path, size: float) -> str:
    _release(folder)
    return "release export release --out sheets"


def _escapes(folder: Path, size: float) -> str:
    users = [f"u{number}" for number in range(60)]
    table = pa.table({"user": users, "query": ["\x1b[2J\x1b]0;owned\x07tea"] * 60})
    pq.write_table(table, folder / "log.parquet")
    return "inspect log.parquet"


def _named(folder: Path, size: float) -> str:
    (folder / "\x1b[2Jlog.tsv").write_text("no log\n")
    return "inspect \x1b[2Jlog.tsv"


def _yaml(folder: Path, size: float) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    (folder / "release.yaml").write_text("\n".join(lines) + "\n")
    return "plan release.yaml"


def _loop(folder: Path, size: float) -> str:
    (folder / "t.tsv").write_text("a\tb\nb\tc\nc\ta\n")
    _escapes(folder, size)
    return "publish clump log.parquet --k 5 --taxonomy t.tsv --out out"


TRAPS = (
    Trap("a line of 500 MB, compressed to half a megabyte", _line, (0,)),
    Trap("an archive of 500 MB of zeros", _zip_bomb, (3,)),
    Trap("10,000 columns", _columns, (0,)),
    Trap("JSON nested a million deep", _nested, (0,)),
    Trap("an archive whose file is called ../../../escaped.tsv", _member, (0, 3)),
    Trap("a pipe in the place of a log", _fifo_log, (3,)),
    Trap("a release whose data sheet is a link to somebody's file", _linked, (1, 3)),
    Trap("a release whose table is a pipe that nobody writes to", _fifo, (1, 3)),
    Trap("a manifest that lists ../own.parquet", _outside, (1, 3)),
    Trap("a published query that is a spreadsheet's formula", _formula, (0,)),
    Trap("queries with escape sequences of terminals", _escapes, (0,)),
    Trap("a file name with an escape sequence", _named, (3,)),
    Trap("YAML whose aliases would unfold to 9^12 words", _yaml, (2, 3)),
    Trap("a taxonomy that goes round in a circle", _loop, (2, 3)),
)


def harm(trap: Trap, folder: Path, code: int, printed: str) -> str:
    """What must not be, after the command; nothing if all is well."""
    found = []
    if code not in trap.codes:
        found.append(f"exit code {code}")
    if "Traceback" in printed or "\x1b" in printed or SECRET in printed:
        found.append("a traceback, an escape sequence or somebody's file is shown")
    if (folder.parent / "escaped.tsv").exists() or (folder.parents[2] / "escaped.tsv").exists():
        found.append("a file outside was written")
    for sheet in folder.glob("sheets/*.csv"):
        if any(line.startswith(("=", "+", "-", "@", '"=')) for line in sheet.read_text().splitlines()[1:]):
            found.append("a formula stands in a sheet")
    return "; ".join(found)
