"""Answers do not depend on how a log is cut: into blocks of bytes, chunks of rows, or work for several threads."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from queryveil.reading import lines, staging
from queryveil.reading.log_files import stage
from queryveil.reading.model import ReadOptions
from queryveil.reading.validation import blank_sql
from tests.frozen.reader_cases import answer
from tests.frozen.store import expected_answer, load_group

TEXTS = (
    *("tsv", "csv", "aol", "sogou", "jsonl", "ubi", "algolia", "access-log", "solr", "slow-log", "yandex"),
    *("matomo", "google-analytics"),
)
SHAPES = (
    "one CRLF",
    "CR inside a line",
    "blank lines between",
    "blank lines after",
    "binary data",
    "not UTF-8",
)


@pytest.mark.parametrize(("block", "rows", "threads"), [(1, 1, 1), (7, 2, 4)])
@pytest.mark.parametrize("format", TEXTS)
def test_thresholds_do_not_change_answers(
    format: str, block: int, rows: int, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lines, "BLOCK_BYTES", block)
    monkeypatch.setattr(staging, "CHUNK_ROWS", rows)
    monkeypatch.setattr(staging, "THREADS", threads)
    cases = load_group(f"readers/{format}")
    for shape in SHAPES:
        case_id = f"{format}/{shape}"
        (tmp_path / shape).mkdir()
        found = answer(cases[case_id], tmp_path / shape)
        assert found == expected_answer(case_id, cases[case_id]["answer"]), shape


@pytest.mark.parametrize("rows", range(1, 12))
def test_rows_keep_their_order_across_chunks(
    rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Logs of every size around three chunks, in more threads than chunks."""
    monkeypatch.setattr(lines, "BLOCK_BYTES", 16)
    monkeypatch.setattr(staging, "CHUNK_ROWS", 4)
    monkeypatch.setattr(staging, "THREADS", 4)
    (tmp_path / "log.tsv").write_text("user\tquery\n" + "".join(f"u{n}\ttea {n}\n" for n in range(rows)))
    staged = stage(tmp_path / "log.tsv", ReadOptions(), tmp_path / "into")
    found = pq.read_table(staged.files[0]).to_pylist()
    assert found == [{"user": f"u{n}", "query": f"tea {n}"} for n in range(rows)]


def test_blank_texts_are_those_of_unicode(tmp_path: Path) -> None:
    texts = [chr(code) for code in range(0x11000) if not 0xD800 <= code < 0xE000]
    with staging.connect(tmp_path, ReadOptions()) as connection:
        connection.register("given", pa.table({"text": texts, "place": range(len(texts))}))
        found = connection.execute(f"SELECT {blank_sql('text')} FROM given ORDER BY place").fetchall()  # noqa: S608
    assert [text for text, (blank,) in zip(texts, found, strict=True) if blank] == [
        text for text in texts if text.isspace()
    ]
