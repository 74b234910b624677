"""A word that stands for nothing is nothing: no click, no rank, no session and no user; a query is what was typed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from tests.reading.formats.logs import write

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "formats.md").read_text()
NULLS = ("NULL", "null", "Null", "\\N", "(null)", "<null>")
OTHERS = ("None", "none", "NaN", "nan", "N/A", "-")
NAMES = ("user", "query", "url", "rank", "session")
ROWS: list[tuple[str, str, str, str, str]] = [
    *(("u", word, word, word, word) for word in (*NULLS, *OTHERS)),
    *((word, "lost", "http://a", "1", "s") for word in NULLS),
    *((word, "kept", "http://a", "1", "s") for word in OTHERS),
]


def separated(delimiter: str) -> str:
    return "".join(delimiter.join(row) + "\n" for row in (NAMES, *ROWS))


def parquet(folder: Path, **changes: Any) -> Path:
    columns = {name: [row[at] for row in ROWS] for at, name in enumerate(NAMES)}
    pq.write_table(pa.table(columns | changes), folder / "x.parquet")
    return folder / "x.parquet"


LOGS: dict[str, Callable[[Path], Any]] = {
    "tsv": lambda folder: write(folder / "x.tsv", separated("\t")),
    "csv": lambda folder: write(folder / "x.csv", separated(",")),
    "jsonl": lambda folder: write(
        folder / "x.jsonl", "".join(json.dumps(dict(zip(NAMES, row, strict=True))) + "\n" for row in ROWS)
    ),
    "parquet, converted": parquet,
    "parquet, as it is": lambda folder: parquet(folder, rank=[1] * len(ROWS)),
    "table": lambda folder: pq.read_table(parquet(folder, rank=[1] * len(ROWS))),
}


@pytest.mark.parametrize("kind", LOGS)
def test_words_for_nothing(kind: str, tmp_path: Path) -> None:
    log = LOGS[kind](tmp_path)
    # JSON without times needs its columns named.
    options: dict[str, Any] = {"max_rejected": 1.0}
    if kind == "jsonl":
        options["columns"] = {name: name for name in NAMES}
    made = qv.read(log, **options)
    rows = made.engine.arrow(made.table).to_pylist()
    mine = [row for row in rows if row["user"] == "u"]
    assert sorted(row["query"] for row in mine) == sorted(word.lower() for word in (*NULLS, *OTHERS))
    assert {(row["url"], row["session"]) for row in mine} == {(None, None)}
    assert {row["rank"] for row in mine} <= {None, 1}
    assert {row["user"] for row in rows} == {"u", *OTHERS}
    if made.staged is not None:
        assert made.staged.reasons == {"no user": len(NULLS)}
    found = qv.inspect(made)
    assert (found.clicks, found.users) == (len(OTHERS), len(OTHERS) + 1)


def test_the_page_lists_the_words() -> None:
    assert f"| user | {', '.join(f'`{word}`' for word in NULLS)}: " in PAGE
    assert (
        f"| url, rank, session | an empty text, {', '.join(f'`{word}`' for word in (*NULLS, *OTHERS))} |"
        in PAGE
    )
