"""Releases of semantic perturbation that were tampered with do not pass."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.files import folder
from tests.semantic_worlds import history

QUERIES = ["measles", "flu and cancer", "tennis", "physics"]
METHODS: dict[str, qv.Mechanism] = {
    "plain": qv.Semantic(epsilon=2),
    "padded": qv.Semantic(epsilon=2, max_phrases=4, pad=True),
    "per-query": qv.Semantic(epsilon=2, epsilon_per="query"),
    "capped": qv.Semantic(epsilon=2, epsilon_per="query", max_phrases=3),
    "per-topic": qv.Semantic(epsilon=2, domain="per-topic", topics=("disease", "sport")),
    "tight": qv.Semantic(epsilon=2, max_phrases=3, domain="disease", tight=True),
    "whole": qv.Semantic(epsilon=2, whole_queries=True),
    "histogram": qv.ProfileHistogram(epsilon=2, max_queries=3, domain="disease"),
}


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("releases")
    log = qv.read(history(ann=QUERIES, bob=QUERIES[:2], eve=QUERIES[1:]))
    for name, method in METHODS.items():
        qv.publish(log, method, out=made / name)
    return made


@pytest.mark.parametrize("name", METHODS)
def test_untouched_releases_pass(releases: Path, name: str) -> None:
    assert qv.verify(releases / name).passes, qv.verify(releases / name).failed


Change = Callable[[dict[str, Any], list[dict[str, Any]]], None]


def tampered(release: Path, to: Path, change: Change) -> set[str]:
    """The names of the checks that fail after a change to manifest or rows, digests kept right."""
    shutil.copytree(release, to)
    manifest = json.loads((to / folder.MANIFEST).read_text())
    table = pq.read_table(to / "log.parquet")
    rows = table.to_pylist()
    change(manifest, rows)
    pq.write_table(pa.Table.from_pylist(rows, table.schema), to / "log.parquet", compression="zstd")
    file = to / "log.parquet"
    known = {"sha256": folder.file_digest(file), "bytes": file.stat().st_size, "rows": len(rows)}
    manifest["files"]["log.parquet"] = known
    manifest["tables"]["log"]["rows"] = len(rows)
    (to / folder.MANIFEST).write_text(folder.as_json(manifest), encoding="utf-8")
    return {check.name for check in qv.verify(to).failed}


def put(*path: str, value: Any) -> Change:
    def change(manifest: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        for step in path[:-1]:
            manifest = manifest[step]
        manifest[path[-1]] = value

    return change


def row(place: int, **values: Any) -> Change:
    def change(manifest: dict[str, Any], rows: list[dict[str, Any]]) -> None:
        rows[place] |= values

    return change


def drop_last(manifest: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    rows.pop()


def swapped(manifest: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    rows.insert(0, rows.pop())


CASES: list[tuple[str, Change, str]] = [
    ("plain", row(0, query="secretname"), "labels"),
    ("plain", row(0, query="dog.n.01"), "labels"),  # a concept, but not below the domain
    ("plain", row(0, query="flu of john"), "labels"),
    ("plain", row(0, query=""), "labels"),
    ("per-topic", row(0, query="physics.n.01"), "labels"),
    ("plain", row(0, user=7), "numbers"),
    ("plain", row(1, number=9), "numbers"),
    ("plain", swapped, "numbers"),
    ("padded", drop_last, "phrases"),
    ("padded", row(0, query="flu.n.01, flu.n.01"), "phrases"),
    ("capped", row(0, query=", ".join(["disease.n.01"] * 4)), "phrases"),
    ("whole", row(0, query="disease.n.01, disease.n.01"), "phrases"),
    ("whole", put("parameters", "whole_queries", value=False), "manifest"),
    ("whole", put("parameters", "whole_queries", value="yes"), "parameters"),
    ("whole", put("parameters", "keep_words", value="function"), "parameters"),
    ("histogram", drop_last, "phrases"),
    ("plain", put("guarantee", "epsilon", value=1), "promise"),
    ("capped", put("guarantee", "epsilon", value=2), "promise"),
    ("plain", put("guarantee", "neighbours", value="replace-one-user"), "promise"),
    ("per-query", put("guarantee", "unit", value="user"), "promise"),
    ("plain", put("guarantee", "caveats", value=[]), "promise"),
    ("per-topic", put("guarantee", "neighbours", value="replace-one-user-equal-shape"), "promise"),
    ("per-query", put("guarantee", "assumptions", value=[]), "promise"),
    ("histogram", put("guarantee", "epsilon", value=0.5), "promise"),
    ("plain", put("calibration", "sensitivity", value=0.49), "calibration"),
    ("padded", put("calibration", "epsilon_per_phrase", value=2.0), "calibration"),
    ("plain", put("calibration", "epsilon_per_phrase", value=2.0), "calibration"),
    ("tight", put("calibration", "certificate", "log_ratio", value=0.9), "calibration"),
    ("tight", put("calibration", "certificate", "ratio_of_sums", value=3.0), "calibration"),
    ("tight", put("calibration", "certificate", value=None), "calibration"),
    ("capped", put("calibration", "certificate", value={"log_ratio": 1.0}), "calibration"),
    ("histogram", put("calibration", "noise_scale", value=1.5), "calibration"),
    ("plain", put("parameters", "epsilon", value=-1), "parameters"),
    ("plain", put("parameters", "pad", value=True), "parameters"),
    ("plain", put("parameters", "criterion", value="sqc2"), "parameters"),
    ("plain", put("parameters", "colour", value="red"), "parameters"),
    ("histogram", put("parameters", "max_queries", value=0), "parameters"),
]


@pytest.mark.parametrize(("name", "change", "check"), CASES, ids=range(len(CASES)))
def test_a_tampered_release_fails(
    releases: Path, tmp_path: Path, name: str, change: Change, check: str
) -> None:
    assert check in tampered(releases / name, tmp_path / "copy", change)


def test_a_copy_without_a_change_passes(releases: Path, tmp_path: Path) -> None:
    assert not tampered(releases / "plain", tmp_path / "copy", lambda manifest, rows: None)


def test_labels_of_a_file_are_not_looked_up(tmp_path: Path) -> None:
    (tmp_path / "food.tsv").write_text("tea\tfood\n")
    method = qv.Semantic(epsilon=1, taxonomy=str(tmp_path / "food.tsv"))
    qv.publish(qv.read(history(ann=["tea"])), method, out=tmp_path / "out")
    checks = {check.name: check for check in qv.verify(tmp_path / "out").checks}
    assert checks["labels"].passes and "cannot be looked up" in checks["labels"].detail
