"""What a study found, kept in docs/evidence/findings/STUDY.json: the docs' figures are drawn from it, and only from it.

A figure carries a digest of its words and its data, so that a test can say which figures are not what was found.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import queryveil_lab as lab
from queryveil_lab.charts.figures import title_of
from queryveil_lab.studies.declaration import Findings

FOLDER = Path(__file__).parent.parent / "docs" / "evidence" / "findings"
FIGURES = Path(__file__).parent.parent / "docs" / "studies"
_KEYWORD = b"queryveil-data"
_HEAD = 33
"""Bytes of a PNG before its second part."""


def keep(name: str, found: Findings) -> Path:
    """Write what a study found. Columns with one value are written once, and fractions to six digits."""
    columns = list(found.rows[0])
    same = {column: found.rows[0][column] for column in columns if len(found.values(column)) == 1}
    varied = [column for column in columns if column not in same]
    rows = [[_short(row[column]) for column in varied] for row in found]
    lines = ",\n".join(json.dumps(row, allow_nan=False) for row in rows)
    head = json.dumps({"study": name, "same": same, "columns": varied})[:-1]
    FOLDER.mkdir(exist_ok=True)
    file = FOLDER / f"{name}.json"
    file.write_text(f'{head}, "order": {json.dumps(columns)}, "rows": [\n{lines}\n]}}\n', encoding="utf-8")
    return file


def read(name: str) -> Findings:
    """What was kept of a study."""
    kept = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))
    rows = ({**kept["same"], **dict(zip(kept["columns"], row, strict=True))} for row in kept["rows"])
    return Findings(tuple({column: row[column] for column in kept["order"]} for row in rows))


def names() -> list[str]:
    """The studies of which something is kept."""
    return sorted(file.stem for file in FOLDER.glob("*.json"))


def _short(value: Any) -> Any:
    if not isinstance(value, float) or value.is_integer():
        return value
    return float(f"{value:.6g}")


def drawn(name: str) -> dict[str, Any]:
    """The charts of a study, by the names of their files."""
    charts = lab.STUDIES[name].drawn(read(name))
    return {title if title == name else f"{name}-{title}": chart for title, chart in charts.items()}


def digest(chart: Any) -> str:
    """Of what a reader sees: the words above, and the data."""
    spec = chart.to_dict()
    under = spec["title"].get("subtitle", []) if isinstance(spec.get("title"), dict) else []
    rows = spec["data"].get("values") or list(spec["datasets"].values())
    seen = [title_of(spec), " ".join(under), rows]
    return hashlib.sha256(json.dumps(seen, sort_keys=True).encode()).hexdigest()


def stamped(png: bytes, mark: str) -> bytes:
    """The same picture with its digest inside."""
    text = _KEYWORD + b"\0" + mark.encode("ascii")
    part = struct.pack(">I", len(text)) + b"tEXt" + text + struct.pack(">I", zlib.crc32(b"tEXt" + text))
    return png[:_HEAD] + part + png[_HEAD:]


def stamp(png: bytes) -> str | None:
    """The digest inside of a picture."""
    at = png.find(b"tEXt" + _KEYWORD + b"\0")
    if at < 0:
        return None
    size = struct.unpack(">I", png[at - 4 : at])[0]
    return png[at + 4 : at + 4 + size].split(b"\0", 1)[1].decode("ascii")
