"""The study of Clump measures what `publish` does by default, not an algorithm of the past."""

from __future__ import annotations

import pyarrow as pa
import pytest

import queryveil as qv
import queryveil_lab as lab
from tests.conftest import at

# Two crowds that keep their words, and people between them: the paper's clusters lose more here.
QUERIES = [["dog"]] * 7 + [["cat"]] * 7 + [["apple", "pear"]] * 3 + [["tennis"]] * 3 + [["dog", "tennis"]] * 2


@pytest.fixture
def log() -> qv.SearchLog:
    rows = [
        {"user": f"u{who}", "time": at(number), "query": query}
        for who, queries in enumerate(QUERIES)
        for number, query in enumerate(queries)
    ]
    return qv.read(pa.Table.from_pylist(rows))


@pytest.mark.parametrize(
    ("named", "method"),
    [
        ("clump", qv.Clump(k=5)),
        ("clump-distinct", qv.Clump(k=5, distinct=True)),
        ("clump-paper", qv.Clump(k=5, algorithm="paper", criterion="total", lcg="paper", order="input")),
        (
            "clump-paper-distinct",
            qv.Clump(k=5, algorithm="paper", criterion="total", lcg="paper", order="input", distinct=True),
        ),
        ("partition", qv.Partition(k=5)),
    ],
)
def test_the_study_measures_what_is_published(log: qv.SearchLog, named: str, method: qv.Clump) -> None:
    release = qv.publish(log, method)
    published = qv.evaluate(log, release, "transaction-quality").measures["transaction-quality"]
    study = lab.compare(log, "clump-quality", vary={"method": [named], "users": [len(QUERIES)], "k": [5]})
    assert study.findings.where(metric="ggd-per-item").value == pytest.approx(published)
