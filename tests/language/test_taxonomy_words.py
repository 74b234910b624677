"""How a log's words meet a taxonomy: names of several words, whole queries, and warnings where most are unknown."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.catalog import Sentence
from tests.command import command
from tests.conftest import at, many
from tests.sentences import fields_of, ids_of

UNKNOWN_WORDS = "curator.unknown-words"
METHODS: list[type[qv.Clump] | type[qv.Partition]] = [qv.Clump, qv.Partition]
SWEETS = """ice cream\tdessert
vanilla ice cream\tice cream
cream\tdairy
ice\tdrink
dessert\tfood
dairy\tfood
drink\tfood
rock & roll bar\tfood
Crème brûlée\tdessert
"""


@pytest.fixture
def sweets(tmp_path: Path) -> str:
    file = tmp_path / "sweets.tsv"
    file.write_text(SWEETS)
    return str(file)


def items(table: pa.Table, method: qv.Mechanism) -> Counter[tuple[str, ...]]:
    release = qv.publish(qv.read(table), method)
    return Counter(tuple(row["items"]) for row in release.tables["transactions"].to_pylist())


# -- names of several words ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("ice cream", ("ice cream",)),
        ("cheap Ice-Creams near me", ("ice cream",)),
        ("best ice creams", ("ice cream",)),
        ("vanilla ice cream", ("vanilla ice cream",)),
        ("ice cream ice", ("ice", "ice cream")),
        ("cream ice", ("cream", "ice")),
        ("ice, cream", ("ice cream",)),
        ("rock & roll bar", ("rock & roll bar",)),
        ("rock roll bar", ("rock & roll bar",)),
        ("crème brûlée", ("Crème brûlée",)),
    ],
)
def test_the_longest_name_of_a_file_is_found(
    method: type[qv.Clump], query: str, expected: tuple[str, ...], sweets: str
) -> None:
    assert items(many(3, [query]), method(k=3, taxonomy=sweets)) == {expected: 3}


@pytest.mark.parametrize("method", METHODS)
def test_collocations_of_wordnet_are_one_item(method: type[qv.Clump]) -> None:
    assert items(many(3, ["ice cream"]), method(k=3)) == {("ice_cream.n.01",): 3}
    assert items(many(3, ["cheap heart attacks"]), method(k=3)) == {("heart_attack.n.01",): 3}
    assert items(many(3, ["bill of rights"]), method(k=3)) == {("bill_of_rights.n.01",): 3}
    # Words of different queries are no neighbours.
    assert items(many(3, ["ice", "cream"]), method(k=3)) == {("cream.n.01", "ice.n.01"): 3}


def test_several_words_of_a_file_are_one_phrase_for_semantic(sweets: str) -> None:
    method = qv.Semantic(epsilon=1000, max_phrases=1, taxonomy=sweets)
    release = qv.publish(qv.read(many(20, ["vanilla ice cream"])), method)
    drawn = Counter(release.tables["log"]["query"].to_pylist())
    # At epsilon 1000 another concept comes with probability below 1e-40.
    assert drawn == {"vanilla ice cream": 20}


# -- whole queries -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_a_query_is_one_item_if_asked_for(method: type[qv.Clump], sweets: str) -> None:
    table = many(3, ["vanilla ice cream", "cheap ice cream", "Ice"])
    whole = method(k=3, taxonomy=sweets, whole_queries=True)
    assert items(table, whole) == {("ice", "vanilla ice cream"): 3}
    assert items(table, method(k=3, taxonomy=sweets)) == {("ice", "ice cream", "vanilla ice cream"): 3}
    by_query = method(k=3, taxonomy=sweets, whole_queries=True, transactions="queries")
    assert items(table, by_query) == {("ice",): 3, ("vanilla ice cream",): 3}


@pytest.mark.parametrize("method", METHODS)
def test_whole_queries_by_command(method: type[qv.Clump], sweets: str, tmp_path: Path) -> None:
    pq.write_table(many(3, ["vanilla ice cream", "cheap ice cream"]), tmp_path / "log.parquet")
    log, out = str(tmp_path / "log.parquet"), str(tmp_path / "out")
    given = ["--method", method.name, "--k", "3", "--taxonomy", sweets, "--whole-queries"]
    done = command("publish", log, *given, "--out", out)
    assert done.code == 0, done.err
    assert command("release", "verify", out).code == 0
    manifest = json.loads((Path(out) / "manifest.json").read_text())
    assert manifest["parameters"]["whole_queries"] is True and "transactions.how.whole" in str(
        manifest["how"]
    )
    worth = command("evaluate", log, out, "--metric", "transaction-quality", "--taxonomy", sweets, "--json")
    assert worth.code == 0 and "transaction-quality/suppressed" in worth.out, worth.err
    uncovered = pq.read_table(Path(f"{out}.private") / "uncovered-words.parquet")
    assert uncovered["word"].to_pylist() == ["cheap ice cream"]


def semantic(sweets: str, **given: Any) -> qv.Semantic:
    """At epsilon 1000 another concept than the true one comes with probability below 1e-8."""
    return qv.Semantic(epsilon=1000, epsilon_per="query", taxonomy=sweets, **given)


def test_a_query_is_one_phrase_for_semantic_if_asked_for(sweets: str) -> None:
    log = qv.read(many(20, ["vanilla ice cream", "cheap ice cream", "Ice", "ice and cream", "rock roll bar"]))
    drawn = Counter(qv.publish(log, semantic(sweets, whole_queries=True)).tables["log"]["query"].to_pylist())
    assert drawn == {"vanilla ice cream": 20, "ice": 20, "rock & roll bar": 20}
    by_phrase = Counter(qv.publish(log, semantic(sweets)).tables["log"]["query"].to_pylist())
    assert by_phrase["ice cream"] == 20 and by_phrase["ice, cream"] == 20


def test_whole_queries_are_padded_and_capped_as_phrases_are(sweets: str) -> None:
    log = qv.read(many(20, ["cheap ice cream", "ice", "cream", "ice cream"]))
    capped = qv.publish(log, semantic(sweets, whole_queries=True, max_phrases=2))
    assert Counter(capped.tables["log"]["query"].to_pylist()) == {"ice": 20, "cream": 20}
    padded = qv.publish(log, semantic(sweets, whole_queries=True, max_phrases=7, pad=True))
    assert padded.tables["log"].num_rows == 20 * 7


def test_whole_queries_leave_no_words_to_keep(sweets: str) -> None:
    with pytest.raises(qv.UsageError, match="no words to keep"):
        semantic(sweets, whole_queries=True, keep_words="function")


def test_whole_queries_for_semantic_by_command(sweets: str, tmp_path: Path) -> None:
    queries = ["vanilla ice cream", "cheap ice cream", "best ice cream", "ice cream recipe"]
    pq.write_table(many(3, queries), tmp_path / "log.parquet")
    out = tmp_path / "out"
    given = ["--epsilon", "9", "--taxonomy", sweets, "--whole-queries"]
    done = command(
        "publish", str(tmp_path / "log.parquet"), "--method", "semantic", *given, "--out", str(out)
    )
    assert done.code == 0, done.err
    warning = Sentence(UNKNOWN_WORDS, percent="75", noun="queries", taxonomy="--taxonomy")
    assert warning in " ".join(done.out.split())
    planned = command("plan", "semantic", *given, "--json").document
    caveats = [one["sentence"] for one in planned["guarantee"]["caveats"]]
    assert any("queries that are names of concepts" in one for one in caveats)
    assert command("release", "verify", str(out), "--taxonomy", sweets).code == 0
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["parameters"]["whole_queries"] is True and "semantic.how.queries" in str(manifest["how"])
    # The share of known queries is the log's, and no file of the release has it.
    assert not any(re.search(rb"\b75 ?%", file.read_bytes()) for file in out.iterdir())


# -- most words unknown --------------------------------------------------------------------------------------

UNKNOWN = ["wetterbericht münchen", "günstige flüge", "dog"]
KNOWN = ["weather report", "cheap flights", "dog", "hund"]
CASES: list[Any] = [
    qv.Clump(k=3),
    qv.Partition(k=3),
    qv.Semantic(epsilon=1, max_phrases=5, domain="entity"),
    qv.ProfileHistogram(epsilon=1, max_queries=5, domain="entity"),
]


@pytest.mark.parametrize("method", CASES, ids=lambda method: method.name)
def test_a_taxonomy_that_does_not_know_the_words_is_warned_of(method: Any, tmp_path: Path) -> None:
    release = qv.publish(qv.read(many(4, UNKNOWN)), method, out=tmp_path / "out")
    (said,) = [one for one in release.warnings if UNKNOWN_WORDS in ids_of(one)]
    assert 50 < int(fields_of(said, UNKNOWN_WORDS)["percent"]) < 100
    # The share is the log's: it is for the curator, and no file of the release has it.
    noted = json.loads((tmp_path / "out.private" / "curator.json").read_text())
    assert said in noted["warnings"]
    for file in (tmp_path / "out").iterdir():
        assert said.encode() not in file.read_bytes() and UNKNOWN_WORDS.encode() not in file.read_bytes()
    fine = qv.publish(qv.read(many(4, KNOWN)), method)
    assert UNKNOWN_WORDS not in ids_of(fine.warnings)


@pytest.mark.parametrize("json_too", [False, True])
def test_the_warning_is_on_the_terminal(json_too: bool, tmp_path: Path) -> None:
    pq.write_table(many(4, UNKNOWN), tmp_path / "log.parquet")
    done = command(
        "publish", str(tmp_path / "log.parquet"), "--method", "clump", "--k", "3", "--out", str(tmp_path / "out"),
        *(["--json"] if json_too else []),
    )  # fmt: skip
    assert done.code == 0, done.err
    said = done.document["warnings"][0] if json_too else " ".join(done.out.split())
    assert Sentence(UNKNOWN_WORDS, percent="80", noun="words", taxonomy="--taxonomy") in said


def test_the_warning_is_of_words_as_often_as_they_are_posed() -> None:
    """One rare query of many unknown words does not make a log unknown."""
    rows = many(20, ["dog"]).to_pylist()
    rows.append({"user": "x", "time": at(5), "query": " ".join(f"qxz{n}" for n in range(10))})
    assert qv.publish(qv.read(pa.Table.from_pylist(rows)), qv.Clump(k=3)).warnings == ()
