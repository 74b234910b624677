"""Index caching: where document frequencies come from, which posting lists are kept, and how often they are met."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import queryveil as qv
from queryveil.measure.document_frequencies import DocumentFrequencies
from queryveil.measure.histograms import Histogram
from queryveil.measure.index_caching import Index, memory_size
from tests.measure.graphs import log


def words(counts: dict[str, int]) -> pa.Table:
    return pa.table(
        {"keyword": pa.array(counts, pa.string()), "count": pa.array(counts.values(), pa.int64())}
    )


def index(original: dict[str, int], df: dict[str, int]) -> Index:
    return Index.from_log(Histogram.of(words(original)), DocumentFrequencies.of_table(words(df)))


def read(file: Path) -> dict[str, int]:
    found = DocumentFrequencies.of_file(file).words
    return dict(zip(found.items.to_pylist(), found.counts.tolist(), strict=True))


# -- which lists are kept ------------------------------------------------------------------------------------


def test_lists_are_kept_by_score_and_skipped_if_they_do_not_fit() -> None:
    made = index({"a": 50, "b": 30, "c": 15, "d": 5}, {"a": 10, "b": 5, "c": 5, "d": 1})
    # Scores 5, 6, 3, 5; a comes before d, which is as good but less frequent. 8 bytes a document.
    everything = made.simulate_cache(made.original, 8 * 21)
    assert everything.hit_probability == 1 and everything.lists == 4 and everything.bytes == 168
    # b takes 5 of 11 documents; a does not fit and is skipped; d and then c do.
    found = made.simulate_cache(made.original, 8 * 11)
    assert found.hit_probability == pytest.approx((30 + 5 + 15) / 100) and found.lists == 3
    assert made.simulate_cache(made.original, 8 * 5).hit_probability == pytest.approx(0.3)


def test_a_release_chooses_and_the_log_is_what_is_met() -> None:
    made = index({"a": 60, "b": 40}, {"a": 1, "b": 1})
    misled = Histogram.of(words({"b": 9, "x": 20, "a": -3}))
    # The unknown word x has one document, and takes the place of one that is asked for.
    assert made.simulate_cache(misled, 8).hit_probability == 0
    assert made.simulate_cache(misled, 16).hit_probability == pytest.approx(0.4)
    # A word whose count is not above 0 is not chosen, however much room there is.
    assert made.simulate_cache(misled, 10**6).lists == 2


def test_long_lists_are_cut_and_missing_frequencies_are_one() -> None:
    made = index({"the": 9, "rare": 1}, {"the": 10**7})
    assert made.simulate_cache(made.original, 8 * 200_001).lists == 2
    assert made.simulate_cache(made.original, 8 * 200_000).lists == 1


def test_memory_is_a_hundredth_of_the_index_or_a_gigabyte() -> None:
    assert index({"a": 1, "new": 1}, {"a": 999, "other": 10_000}).default_memory == 8 * 11_000 // 100
    assert index({"a": 1}, {f"w{n}": 10**6 for n in range(70_000)}).default_memory == 10**9


@given(
    st.dictionaries(st.text("abc", min_size=1, max_size=2), st.integers(1, 40), min_size=1),
    st.dictionaries(st.text("abc", min_size=1, max_size=2), st.integers(1, 9)),
    st.integers(8, 400),
)
def test_packing_is_that_of_the_definition(original: dict[str, int], df: dict[str, int], memory: int) -> None:
    made = index(original, df)
    left, kept = memory, []
    for word in sorted(original, key=lambda one: (-original[one] / df.get(one, 1), -original[one], one)):
        if 8 * df.get(word, 1) <= left:
            left -= 8 * df.get(word, 1)
            kept.append(word)
    found = made.simulate_cache(made.original, memory)
    assert found.lists == len(kept) and found.bytes == memory - left
    assert found.hit_probability == pytest.approx(sum(original[one] for one in kept) / sum(original.values()))


@pytest.mark.parametrize(
    ("text", "size"),
    [("1000", 1000), ("1 GB", 10**9), ("1.5k", 1500), ("64MiB", 64 * 2**20), ("2gib", 2**31), ("9B", 9)],
)
def test_sizes(text: str, size: int) -> None:
    assert memory_size(text) == size


@pytest.mark.parametrize("text", ["", "much", "-1", "1 XB", "nan", "7", "1e99", "9999999999999TB"])
def test_wrong_sizes(text: str) -> None:
    with pytest.raises(qv.UsageError, match="memory"):
        memory_size(text)


# -- document frequencies ------------------------------------------------------------------------------------

OPENSEARCH_VECTORS = {
    "_index": "docs",
    "term_vectors": {
        "body": {
            "field_statistics": {"sum_doc_freq": 9, "doc_count": 3, "sum_ttf": 9},
            "terms": {"Hotel": {"doc_freq": 4, "ttf": 5, "term_freq": 1}, "new": {"doc_freq": 2, "ttf": 2}},
        }
    },
}
SEVERAL_VECTORS = {
    "docs": [OPENSEARCH_VECTORS, {"term_vectors": {"body": {"terms": {"new": {"doc_freq": 2}}}}}]
}
AGGREGATION = {
    "hits": {"total": {"value": 9}},
    "aggregations": {
        "words": {"buckets": [{"key": "hotel", "doc_count": 4}, {"key": "new", "doc_count": 2}]}
    },
}
SOLR = {
    "flat": {"terms": {"body": ["hotel", 4, "new", 2]}},
    "map": {"terms": {"body": {"hotel": 4, "new": 2}}},
    "pairs": {"terms": {"body": [["hotel", 4], ["new", 2]]}},
    "maps": {"terms": {"body": [{"hotel": 4}, {"new": 2}]}},
    "objects": {
        "terms": {
            "body": [
                {"name": "hotel", "type": "int", "value": 4},
                {"name": "new", "type": "int", "value": 2},
            ]
        }
    },
    "with-ttf": {"terms": {"body": {"hotel": {"df": 4, "ttf": 9}, "new": {"df": 2, "ttf": 2}}}},
    "luke": {
        "index": {"numDocs": 9},
        "fields": {"body": {"type": "text", "topTerms": ["hotel", 4, "new", 2]}, "id": {"type": "string"}},
    },
}


@pytest.mark.parametrize(
    "text",
    [
        "hotel\t4\nnew\t2\n",
        "term\tdf\nhotel\t4\nnew\t2",
        "\ufeffhotel,4\r\nnew,2\r\n",
        'term,df\n"hotel",4\n"new",2\n',
        "rank,term,doc_freq,ttf\n1,hotel,4,9\n2,new,2,2\n",
        "Hotel\t3\nhotel!\t1\nnew\t2\n",
        "body:hotel \t totalTF = 1,009 \t docFreq = 4 \nbody:new \t totalTF = 2 \t docFreq = 2 \n",
        "body:hotel \t totalTF = 1,009 \t doc freq = 4 \nbody:new \t totalTF = 2 \t doc freq = 2 \n",
        "body:hotel 4 \nbody:new 2 \n",
        json.dumps({"hotel": 4, "new": 2}),
        *(json.dumps(one) for one in (OPENSEARCH_VECTORS, SEVERAL_VECTORS, AGGREGATION, *SOLR.values())),
    ],
)
def test_formats(text: str, tmp_path: Path) -> None:
    file = tmp_path / "df"
    file.write_text(text, encoding="utf-8", newline="")
    assert read(file) == {"hotel": 4, "new": 2}


def test_thousands_in_lucenes_export_and_packed_files(tmp_path: Path) -> None:
    file = tmp_path / "df.txt.gz"
    with gzip.open(file, "wt") as out:
        out.write("body:hotel \t totalTF = 9,876,543 \t docFreq = 1,234,567 \n")
    assert read(file) == {"hotel": 1_234_567}


def test_bad_lines_are_rejected_with_their_reason(tmp_path: Path) -> None:
    file = tmp_path / "df.tsv"
    lines = ["good\t1", "a\t0", "b\t-2", "c\tx", "d\t1.5", "two words\t3", "\t5", "e\t1\t2", "", "!!\t3"]
    file.write_text("\n".join([*lines, *(f"w{n}\t7" for n in range(20))]))
    source = DocumentFrequencies.of_file(file).source
    assert len(read(file)) == 21
    assert source == (
        "'df.tsv' (TSV, 21 words; 5 rejected: without a whole number from 1; 3 rejected: whose term is not one word)"
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "has no document frequencies that can be used"),
        (b"\n\n", "has no document frequencies that can be used"),
        (b"\x00\x01\x02", "are not text"),
        (b"\xff\xfe\xfa\n", "are not text in UTF-8"),
        (b"just words\nand more\n", "has no document frequencies that can be used (2 without a whole number"),
        (b"{", "looks like JSON but is not"),
        (b"[1, 2]", "is JSON, but not a known term export"),
        (b'{"error": "index not found"}', "is JSON, but not a known term export"),
        (b"[" * 100_000, "text in UTF-8"),
        (b'{"term_vectors": {"b": {"terms": {"x": {"term_freq": 1}}}}}', "(1 without a whole number from 1)"),
        (b"Opening index @ x\nSegments file=segments_1\n", "is the report of Lucene's CheckIndex"),
        (b"a\t1\nb\tx\nc\ty\n", "no document frequencies that can be used (2 without"),
        (b"x," + b"9" * 200_000, "has no document frequencies that can be used"),
    ],
)
def test_wrong_files_are_refused(content: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "df"
    file.write_bytes(content)
    with pytest.raises(qv.InputError) as refused:
        DocumentFrequencies.of_file(file)
    assert message in str(refused.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    for file in (tmp_path / "none", tmp_path):
        with pytest.raises(qv.InputError, match="cannot be read"):
            DocumentFrequencies.of_file(file)
    broken = tmp_path / "broken.gz"
    broken.write_bytes(gzip.compress(b"a\t1\n" * 1000)[:30])
    with pytest.raises(qv.InputError, match="cannot be read"):
        DocumentFrequencies.of_file(broken)


@given(st.binary(max_size=200))
def test_no_file_is_met_with_a_traceback(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.mktemp("df") / "df"
    file.write_bytes(content)
    try:
        found = DocumentFrequencies.of_file(file)
    except qv.InputError:
        return
    assert np.all(found.words.counts >= 1)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["terms", "docs", "term_vectors", "aggregations", "fields", "buckets", "df", "w"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


@given(JSON)
def test_no_json_is_met_with_a_traceback(tmp_path_factory: pytest.TempPathFactory, document: Any) -> None:
    file = tmp_path_factory.mktemp("df") / "df.json"
    file.write_text(json.dumps(document))
    try:
        found = DocumentFrequencies.of_file(file)
    except qv.InputError:
        return
    assert np.all(found.words.counts >= 1)


# -- as a measure --------------------------------------------------------------------------------------------

EVENTS = [
    ("red hat", "u", 4),
    ("red hat", "v", 2),
    ("red shoes", "w", 1),
    ("red shoes", "u", 1),
    ("x", None, 2),
]


def keyword_release(counts: dict[str, int]) -> qv.Release:
    method = qv.Zealous(epsilon=1, delta=1e-6, max_items=1, guarantee="approximate", items=("keywords",))
    return qv.Release(plan=method.plan(), tables={"items": words(counts)})


def test_documents_of_the_log_are_its_clicked_ones() -> None:
    found = DocumentFrequencies.of_log(log(EVENTS)).words
    assert dict(zip(found.items.to_pylist(), found.counts.tolist(), strict=True)) == {
        "red": 3,
        "hat": 2,
        "shoes": 2,
    }


def test_the_measure_by_hand(tmp_path: Path) -> None:
    original = log(EVENTS)
    # By the log: red 8/3, hat 6/2, shoes 2/2, x 2/1. 4 documents: hat (2), x (1), then one byte too few for red.
    made = keyword_release({"red": 9, "hat": 5})
    found = qv.evaluate(original, made, "index-caching", memory="32")
    assert found.measures == {
        "index-caching": pytest.approx(8 / 18),
        "index-caching/original": pytest.approx((6 + 2) / 18),
        "index-caching/lists": 1,
    }
    assert found.notes == {
        "index-caching": "document frequencies from the log's clicked documents; 32 bytes of memory"
    }
    file = tmp_path / "df.csv"
    file.write_text("red,1\nhat,100\n")
    found = qv.evaluate(original, made, "index-caching", df=file, memory="16")
    assert found.measures["index-caching"] == pytest.approx(8 / 18)
    assert found.measures["index-caching/original"] == pytest.approx((8 + 2) / 18)
    assert "'df.csv' (CSV, 2 words)" in found.notes["index-caching"]


def test_everything_and_nothing_released() -> None:
    original = log(EVENTS)
    whole = keyword_release({"red": 8, "hat": 6, "shoes": 2, "x": 2})
    found = qv.evaluate(original, whole, "index-caching", memory="40").measures
    assert found["index-caching"] == found["index-caching/original"]
    assert qv.evaluate(original, keyword_release({}), "index-caching").measures["index-caching"] == 0


def test_a_log_without_clicks_needs_a_file() -> None:
    clicked = log(EVENTS)
    rows = clicked.engine.arrow(clicked.source).drop_columns(["url"])
    original, made = qv.read(rows), keyword_release({"red": 8})
    with pytest.raises(qv.InputError, match="has no clicks to count documents by; name a file with df"):
        qv.evaluate(original, made, "index-caching")
    assert "df" in qv.evaluate(original, made).left_out["index-caching"]


def test_wrong_options_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(qv.InputError, match="cannot be read"):
        qv.measures("index-caching", df=tmp_path / "none")
    with pytest.raises(qv.UsageError, match="the memory is not a size"):
        qv.measures("index-caching", memory="lots")
