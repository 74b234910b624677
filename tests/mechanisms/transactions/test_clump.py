"""Clump and Partition as methods: groups of k users, words without a concept, and what a release may tell."""

from __future__ import annotations

from collections import Counter, defaultdict
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil as qv
from queryveil.privacy.noise import Noise
from tests.command import command
from tests.conftest import at
from tests.seeded import SeededBits

METHODS: list[type[qv.Clump] | type[qv.Partition]] = [qv.Clump, qv.Partition]

FOOD = "".join(
    f"{child}\t{parent}\n"
    for parent, children in {
        "food": ("fruit", "meat", "dairy"),
        "fruit": ("apple", "orange", "banana"),
        "meat": ("chicken", "beef"),
        "dairy": ("milk", "cheese", "butter"),
    }.items()
    for child in children
)
PAPER = {
    "t1": "orange chicken beef",
    "t2": "banana beef cheese",
    "t3": "chicken milk butter",
    "t4": "apple chicken",
    "t5": "chicken beef",
}


@pytest.fixture
def food(tmp_path: Path) -> str:
    file = tmp_path / "food.tsv"
    file.write_text(FOOD)
    return str(file)


def log_of(*rows: tuple[str, str]) -> pa.Table:
    users, queries = zip(*rows, strict=True)
    return pa.table({"user": users, "time": [at(minute) for minute in range(len(rows))], "query": queries})


def published(table: pa.Table, method: qv.Mechanism, **options: Any) -> list[tuple[str, ...]]:
    """Each row's items, by group."""
    release = qv.publish(qv.read(table), method, **options)
    return [tuple(row["items"]) for row in release.tables["transactions"].to_pylist()]


# -- the example of the paper --------------------------------------------------------------------------------


def test_the_papers_example_by_clump(food: str) -> None:
    method = qv.Clump(k=2, taxonomy=food, order="input", algorithm="paper")
    release = qv.publish(qv.read(log_of(*PAPER.items())), method)
    rows = Counter(tuple(row["items"]) for row in release.tables["transactions"].to_pylist())
    assert rows == {("beef", "food", "fruit"): 2, ("chicken", "food"): 3}
    quality = dict(zip(*release.private["quality"].to_pydict().values(), strict=True))
    assert quality["ggd"] == pytest.approx(46 / 7) and quality["empty"] == 0


def test_the_papers_example_by_partition(food: str) -> None:
    release = qv.publish(qv.read(log_of(*PAPER.items())), qv.Partition(k=2, taxonomy=food))
    rows = Counter(tuple(row["items"]) for row in release.tables["transactions"].to_pylist())
    assert rows == {("fruit", "meat"): 2, ("food",): 3}
    quality = dict(zip(*release.private["quality"].to_pydict().values(), strict=True))
    assert quality["ggd"] == pytest.approx(69 / 7)


def test_the_functions_behind_it() -> None:
    tree = qv.Tree.from_parents(dict(line.split("\t") for line in FOOD.splitlines()))
    group = tree.bags([["orange", "beef"], ["apple", "chicken", "beef"]])
    common = qv.lcg(tree, group)
    assert tree.named(common) == ("beef", "fruit")
    assert qv.ggd(tree, group, common) == pytest.approx(11 / 7)
    assert qv.lm(tree, tree.names.index("fruit")) == pytest.approx(2 / 7)
    assert qv.ncp(tree, group, common) == pytest.approx(2 / 7 + 2 / 7 + 1)
    assert isinstance(group, qv.Bags)


# -- groups --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_every_row_of_a_log_is_in_a_group_of_k_users(method: type[qv.Mechanism], generated: Path) -> None:
    log = qv.read(generated)
    release = qv.publish(log, method(k=7))  # type: ignore[call-arg]
    table = release.tables["transactions"]
    assert table.schema.names == ["group", "items"] and table.schema.field("group").type == pa.int64()
    groups = table["group"].to_numpy()
    assert (np.diff(groups) >= 0).all() and set(groups) == set(range(groups[-1] + 1))
    assert np.bincount(groups).min() >= 7
    rows = defaultdict(set)
    for row in table.to_pylist():
        rows[row["group"]].add(tuple(row["items"]))
    assert all(len(found) == 1 for found in rows.values())
    empty = dict(zip(*release.private["quality"].to_pydict().values(), strict=True))["empty"]
    assert table.num_rows + empty == log.users


WORDS = ("apple", "orange", "banana", "chicken", "beef", "milk", "cheese", "butter", "fruit", "pear", "the")


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.sampled_from("abcdefg"), st.lists(st.sampled_from(WORDS), max_size=4)),
        min_size=1,
        max_size=30,
    ),
    k=st.integers(2, 4),
)
def test_a_group_of_queries_counts_users_not_rows(
    method: type[qv.Mechanism],
    rows: list[tuple[str, list[str]]],
    k: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    food = tmp_path_factory.mktemp("food") / "food.tsv"
    food.write_text(FOOD)
    known = set(WORDS[:9])
    events = [(user, [word for word in words if word in known]) for user, words in rows]
    events = [(user, words) for user, words in events if words]
    table = log_of(*((user, " ".join(words)) for user, words in rows))
    chosen = method(k=k, transactions="queries", taxonomy=str(food))  # type: ignore[call-arg]
    if len({user for user, _ in events}) < k:
        with pytest.raises(qv.CannotBeMet):
            published(table, chosen)
        return
    found = published(table, chosen)
    assert len(found) == len(events)
    assert assignable(found, events, k), "rows can be given to users so that each group has k of them"


def assignable(found: list[tuple[str, ...]], events: list[tuple[str, list[str]]], k: int) -> bool:
    """A necessary condition that needs no knowledge of who is where: what is published is common to k users."""
    tree = qv.Tree.from_parents(dict(line.split("\t") for line in FOOD.splitlines()))
    from queryveil.mechanisms.transactions.algorithms import generalises

    for shown in set(found):
        general = tree.bags([shown])[0]
        users = {user for user, words in events if generalises(tree, general, tree.bags([words])[0])}
        if len(users) < k:
            return False
    return True


def grouped(monkeypatch: pytest.MonkeyPatch, log: pa.Table, method: qv.Mechanism) -> dict[int, set[int]]:
    """Which users are in each group, seen from inside."""
    from queryveil.mechanisms.transactions import algorithms as transactions

    inside: dict[int, set[int]] = defaultdict(set)
    name = {"clump": "crowds_first"}.get(method.name, method.name)
    original = getattr(transactions, name)

    def look(*given: Any, users: Any, **more: Any) -> Any:
        found = original(*given, users=users, **more)
        for group, user in zip(found.groups.tolist(), users.tolist(), strict=True):
            if group >= 0:
                inside[group].add(user)
        return found

    monkeypatch.setattr(transactions, name, look)
    qv.publish(qv.read(log), method)
    return inside


@pytest.mark.parametrize("method", METHODS)
def test_one_user_who_poses_everything_fills_no_group(
    method: type[qv.Mechanism], food: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy = [("busy", f"{one} {two}") for one in WORDS[:8] for two in WORDS[:8]]
    others = [("b", "apple milk"), ("c", "orange beef"), ("d", "cheese")]
    chosen = method(k=3, transactions="queries", taxonomy=food)  # type: ignore[call-arg]
    inside = grouped(monkeypatch, log_of(*busy, *others), chosen)
    assert inside and all(len(users) >= 3 for users in inside.values())
    with pytest.raises(qv.CannotBeMet, match="fewer than the 3 users"):
        published(log_of(*busy, ("b", "apple")), chosen)


@pytest.mark.parametrize("method", METHODS)
def test_groups_seen_from_inside_have_k_users(
    method: type[qv.Mechanism], generated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = pq.read_table(generated).slice(0, 8_000)
    inside = grouped(monkeypatch, some, method(k=5, transactions="queries"))  # type: ignore[call-arg]
    assert inside and min(map(len, inside.values())) >= 5


def test_a_user_is_one_transaction_without_duplicates(food: str) -> None:
    rows = [(user, query) for user in "ab" for query in ("apple apple", "apples beef", "beef")]
    assert published(log_of(*rows), qv.Clump(k=2, taxonomy=food)) == [("apple", "beef")] * 2
    queries = published(log_of(*rows), qv.Clump(k=2, taxonomy=food, transactions="queries"))
    assert Counter(queries) == {("apple", "apple"): 2, ("apple", "beef"): 2, ("beef",): 2}


def test_distinct_removes_duplicates_from_what_is_published(food: str) -> None:
    rows = [("a", "apple orange"), ("b", "banana orange"), ("c", "apple banana")]
    assert published(log_of(*rows), qv.Clump(k=3, taxonomy=food)) == [("fruit", "fruit")] * 3
    assert published(log_of(*rows), qv.Clump(k=3, taxonomy=food, distinct=True)) == [("fruit",)] * 3


def test_an_item_may_be_an_inner_node(food: str) -> None:
    rows = [("a", "fruit beef"), ("b", "Fruits beef"), ("c", "apple beef")]
    assert published(log_of(*rows), qv.Clump(k=3, taxonomy=food)) == [("beef", "fruit")] * 3
    assert published(log_of(*rows), qv.Partition(k=3, taxonomy=food)) == [("beef", "fruit")] * 3


def test_several_clicks_of_one_query_are_one_transaction(food: str) -> None:
    rows = log_of(("a", "apple"), ("b", "apple"))
    clicks = pa.concat_tables([rows, rows]).append_column("url", pa.array(["u", "v", "w", "x"]))
    assert published(clicks, qv.Clump(k=2, taxonomy=food, transactions="queries")) == [("apple",)] * 2
    without_times = clicks.select(["user", "query"])
    assert published(without_times, qv.Clump(k=2, taxonomy=food, transactions="queries")) == [("apple",)] * 2


# -- words without a concept ---------------------------------------------------------------------------------


def test_uncovered_words_are_counted_for_the_curator_and_never_published(food: str, tmp_path: Path) -> None:
    rows = [
        ("a", "apple zwieback"),
        ("a", "zwieback anna-lena"),
        ("b", "apple the zwieback"),
        ("c", "the"),
        ("d", ""),
    ]
    told: list[str] = []
    out = tmp_path / "out"
    qv.publish(
        qv.read(log_of(*rows)), qv.Clump(k=2, taxonomy=food), out=out, told=lambda *said: told.append(said[1])
    )
    listed = pq.read_table(tmp_path / "out.private" / "uncovered-words.parquet").to_pylist()
    assert [(row["word"], row["transactions"]) for row in listed] == [
        ("the", 2),
        ("zwieback", 2),
        ("anna-lena", 1),
    ]
    assert any("3 words have no concept" in sentence for sentence in told)
    assert any("2 users without items are left out" in sentence for sentence in told)
    for file in out.iterdir():
        for word in (b"zwieback", b"anna-lena", b"food.tsv", str(tmp_path).encode()):
            assert word not in file.read_bytes(), file.name
    assert qv.verify(out).passes


def test_function_words_are_no_concepts_of_wordnet(tmp_path: Path) -> None:
    rows = [(user, "how to fly in a dream") for user in "ab"]
    release = qv.publish(qv.read(log_of(*rows)), qv.Clump(k=2))
    shown = release.tables["transactions"]["items"].to_pylist()
    assert shown == [["dream.n.01", "fly.n.01"]] * 2
    reasons = {row["word"]: row["reason"] for row in release.private["uncovered-words"].to_pylist()}
    assert reasons == dict.fromkeys(("how", "to", "in", "a"), "function word")


def test_concepts_of_the_log_that_are_not_published_are_nowhere_in_the_file(
    food: str, tmp_path: Path
) -> None:
    # No word that a digest in the manifest can hold by chance, as "beef".
    rows = [("a", "apple cheese"), ("b", "chicken cheese")]
    qv.publish(qv.read(log_of(*rows)), qv.Clump(k=2, taxonomy=food), out=tmp_path / "out")
    content = b"".join(file.read_bytes() for file in (tmp_path / "out").iterdir())
    assert b"cheese" in content and b"apple" not in content and b"chicken" not in content


# -- order ---------------------------------------------------------------------------------------------------


def test_group_numbers_are_random_and_nothing_else_changes() -> None:
    nouns = ("dog", "cat", "horse", "cow", "train", "car", "boat", "river", "lake", "moon")
    rows = [(f"u{user:03}", nouns[user // 30]) for user in range(300)]
    runs = [published(log_of(*rows), qv.Clump(k=30)) for _ in range(3)]
    # Three equal orders of ten groups: 1 in 10!^2, below 1e-13.
    assert len({tuple(run) for run in runs}) > 1
    assert len({tuple(sorted(run)) for run in runs}) == 1


def test_the_order_of_rows_does_not_tell_that_of_the_log() -> None:
    # Pairs of users with an animal each, in the order of their names and times.
    below = qv.Taxonomy.wordnet()
    animals = below.below(below.find_concept("animal.n.01"))
    words = [
        w
        for w in (below.word(int(one)) for one in animals[::3])
        if " " not in w and below.node(w) is not None
    ]
    different = {int(below.lookup([word])[0]): word for word in words if word.isalpha()}
    chosen = sorted(different.values())[:500]
    rows = [(f"u{at:04}", chosen[at // 2]) for at in range(1_000)]
    release = qv.publish(qv.read(log_of(*rows)), qv.Clump(k=2, order="input", algorithm="paper"))
    shown = [row["items"][0] for row in release.tables["transactions"].to_pylist()]
    where = {
        below.label(concept): chosen.index(word) for concept, word in different.items() if word in chosen
    }
    places = [where[one] for one in shown]
    # The correlation of 500 groups in random order is normal around 0 with deviation 1/sqrt(500): above 5, 6e-7.
    assert abs(np.corrcoef(np.arange(len(places)), places)[0, 1]) < 5 / 500**0.5
    assert np.corrcoef(np.arange(len(places)), sorted(places))[0, 1] > 0.99, "the log's order would be seen"


# -- engines -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "method", [qv.Clump(k=2, transactions="queries"), qv.Partition(k=2)], ids=lambda method: method.name
)
def test_spark_publishes_the_same(spark: Any, method: qv.Mechanism) -> None:
    users = ("b", "B", "a", "é", "10", "9", "z", "ä", "ab", "a b")
    nouns = ("dog", "Cat", "horse barn", "café", "train ride", "ＣＡＲ", "boat", "the river", "lake", "zzyzx")
    rows = [(user, nouns[(place * 3 + step) % 10]) for place, user in enumerate(users) for step in range(4)]
    here = qv.publish(qv.read(log_of(*rows)), method, noise=Noise(SeededBits(3)), i_understand=True)
    there = qv.publish(
        qv.read(log_of(*rows), engine=spark), method, noise=Noise(SeededBits(3)), i_understand=True
    )
    assert here.tables["transactions"].equals(there.tables["transactions"])
    for name in ("uncovered-words", "quality"):
        assert here.private[name].equals(there.private[name])


# -- refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_what_cannot_be_done_is_refused(method: type[qv.Mechanism], food: str, tmp_path: Path) -> None:
    def make(**given: Any) -> qv.Mechanism:
        return method(**{"k": 2, "taxonomy": food, **given})

    table = log_of(("a", "apple"), ("b", "pear"), ("c", "quince"))
    with pytest.raises(qv.UsageError, match="parameter 'k' must be an int >= 2"):
        make(k=1)
    with pytest.raises(qv.UsageError, match="parameter 'transactions' must be"):
        make(transactions="sessions")
    with pytest.raises(qv.CannotBeMet, match="fewer than the 4 users"):
        published(table, make(k=4))
    with pytest.raises(qv.CannotBeMet, match="only 1 have a transaction with items"):
        published(table, make())
    with pytest.raises(qv.CannotBeMet, match="the taxonomy has a concept for none of this log"):
        published(table.slice(1), make())
    with pytest.raises(qv.CannotBeMet, match="the taxonomy has a concept for none of this log"):
        published(log_of(("a", ""), ("b", "?")), make())
    bad = tmp_path / "bad.tsv"
    bad.write_text("a\tb\nb\ta\n")
    ledger = qv.Ledger(str(tmp_path / "ledger.db"))
    ledger.open("log", epsilon=1, delta=1e-6)
    with pytest.raises(qv.InputError, match="cycle"):
        published(table, make(taxonomy=str(bad)), ledger=ledger, source="log")
    assert list(ledger.budget("log").events) == [], "refused before it is listed"


def test_the_plan_says_what_is_promised_and_names_no_file(food: str) -> None:
    for method in METHODS:
        plan = method(k=5, taxonomy=food, transactions="queries").plan()
        assert plan.guarantee.kind == "k-anonymity" and plan.guarantee.k == 5
        assert "taxonomy" not in plan.parameters and "food.tsv" not in str(plan.as_dict())
        assert (
            plan.taxonomy == f"child/parent file, sha256 {sha256(Path(food).read_bytes()).hexdigest()[:16]}"
        )
        assert "WordNet" in method(k=5).plan().taxonomy


def test_on_the_command_line(food: str, tmp_path: Path) -> None:
    log = tmp_path / "log.tsv"
    log.write_text("user\ttime\tquery\n" + "".join(f"{user}\t2026-01-01\t{q}\n" for user, q in PAPER.items()))

    def run(method: str, out: str, *more: str) -> Any:
        given = ("--method", method, "--taxonomy", food, "--out", str(tmp_path / out), "--json")
        return command("publish", str(log), *given, *more)

    made = run("clump", "clump", "--k", "2", "--order", "input", "--distinct", "--r", "3")
    assert made.code == 0 and made.document["released"] == {"transactions": 5}
    manifest = (tmp_path / "clump" / "manifest.json").read_text()
    assert '"distinct": true' in manifest and "food.tsv" not in manifest
    assert command("release", "verify", str(tmp_path / "clump")).code == 0
    assert run("partition", "partition", "--k", "2").code == 0
    assert command("release", "verify", str(tmp_path / "partition")).code == 0
    assert run("clump", "few", "--k", "6").code == 5
    assert run("clump", "few", "--k", "1").code == 2
    assert run("partition", "few", "--k", "2", "--r", "3").code == 2
    assert run("clump", "few", "--k", "2", "--taxonomy", str(log)).code == 3
    assert not (tmp_path / "few").exists()


def test_the_report_shows_items_and_transactions(food: str, tmp_path: Path) -> None:
    rows = [(user, query) for user in "abc" for query in ("apple orange", "beef")]
    rows += [("d", "apple banana milk"), ("e", "orange banana milk")]
    chosen = qv.Clump(k=2, taxonomy=food, transactions="queries")
    qv.publish(qv.read(log_of(*rows)), chosen, out=tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "The transactions: 8 rows" in page and "single items" in page
    assert "concepts that stand for the words of each query" in page and "noise" not in page
    sheet = (tmp_path / "out" / "DATASHEET.md").read_text()
    assert "a random number that stands for a group" in sheet and "Inference: Not excluded." in sheet


# -- what docs/proofs/clump.md and partition.md say is not promised ------------------------------------------


def test_what_is_not_promised_happens(food: str) -> None:
    def clumped(*rows: tuple[str, str]) -> set[tuple[str, ...]]:
        return set(published(log_of(*rows), qv.Clump(k=2, taxonomy=food)))

    assert clumped(("ann", "cheese"), ("bob", "cheese")) == {("cheese",)}, "homogeneity"
    background = clumped(("ann", "orange beef"), ("bob", "apple chicken beef"))
    assert background == {("beef", "fruit")}, "Bob learns about Ann"
    active = clumped(("fake", "cheese milk butter"), ("ann", "cheese butter beef"))
    assert active == {("butter", "cheese", "food")}, "Ann has cheese and butter"
    monday = (("bob", "apple"), ("cid", "apple"))
    assert clumped(*monday) == {("apple",)} and clumped(*monday, ("ann", "beef")) == {("food",)}, (
        "composition"
    )


def test_a_cut_says_what_nobody_has(food: str) -> None:
    rows = (("ann", "orange"), ("bob", "apple"))
    assert set(published(log_of(*rows), qv.Partition(k=2, taxonomy=food))) == {("fruit",)}
