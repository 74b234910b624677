"""Semantic perturbation: what leaves and what does not, budgets, shapes, padding, engines, and requests refused."""

from __future__ import annotations

import dataclasses
import itertools
import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil as qv
from queryveil.language.taxonomy.function_words import FUNCTION_WORDS
from queryveil.mechanisms.concept_profiles import concept_drawing as semantic_map
from queryveil.mechanisms.concept_profiles import phrases as semantic_rows
from queryveil.mechanisms.concept_profiles import profile_rows as semantic_table
from queryveil.privacy.noise import Noise
from queryveil.release.documents.chances import chances
from queryveil.release.documents.sentences import withheld
from tests.seeded import NoiseOfUsers, SeededBits
from tests.semantic_worlds import food_file, history

__all__ = ["food_file"]

# However large epsilon is, a phrase of FOOD becomes one of the 11 other concepts with probability 2e-8. Where hundreds
# of phrases must come back as they were, the noise has a seed.
PEOPLE = {
    "ann": ["apple", "tea and coffee", "zzyzx 4711", "veal"],
    "bob": ["orange", "beef"],
    "eve": ["zzyzx"],
    "kim": [""],
}


def rows(release: qv.Release) -> list[dict[str, Any]]:
    return release.tables["log"].to_pylist()


def labels(release: qv.Release) -> set[str]:
    return {label for row in rows(release) for label in row["query"].split(", ")}


# -- what leaves -----------------------------------------------------------------------------------------------


def test_users_queries_and_phrases_keep_their_numbers(food_file: Path) -> None:
    release = qv.publish(qv.read(history(**PEOPLE)), qv.Semantic(epsilon=1, taxonomy=str(food_file)))
    assert release.tables["log"].schema.names == ["user", "number", "query"]
    shapes = sorted(
        [len(row["query"].split(", ")) for row in own]
        for _, own in itertools.groupby(rows(release), key=lambda row: row["user"])
    )
    assert shapes == [
        [1, 1],
        [1, 2, 1],
    ]  # bob; ann without the query that has no concept; eve and kim have none
    assert [(row["user"], row["number"]) for row in rows(release)] in (
        [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)],
        [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1)],
    )


def test_a_large_epsilon_gives_the_concepts_back_and_users_stay_hidden(food_file: Path) -> None:
    method = qv.Semantic(epsilon=1e6, criterion="nsqc", taxonomy=str(food_file))
    log = qv.read(history(**{f"u{n}": ["apple", "tea and coffee"] for n in range(40)}))
    release = qv.publish(log, method, noise=Noise(SeededBits(1)), i_understand=True)
    assert {row["query"] for row in rows(release) if row["number"] == 1} == {"tea, coffee"}
    two = qv.read(history(a=["apple"], b=["veal"]))
    orders = {
        tuple(qv.publish(two, method).private["user-map"].sort_by("user")["original"].to_pylist())
        for _ in range(22)  # all alike with probability 5e-7
    }
    assert orders == {("a", "b"), ("b", "a")}, "which number a user gets is random"


words = st.sampled_from(
    ["apple", "tea", "veal", "secretname", "hunter2", "o'brien", "555-0199", "of", "Käse", ","]
)
texts = st.lists(words, max_size=6).map(" ".join)


@settings(deadline=None, max_examples=25, derandomize=True)
@given(
    st.dictionaries(st.sampled_from(["mallory", "trent", "peggy"]), st.lists(texts, max_size=4), min_size=1),
    st.sampled_from([{}, {"criterion": "nsqc"}, {"epsilon_per": "query"}, {"max_phrases": 2, "pad": True}]),
)
def test_nothing_but_labels_pseudonyms_and_numbers_leaves(
    tmp_path_factory: pytest.TempPathFactory, people: dict[str, list[str]], more: dict[str, Any]
) -> None:
    folder = tmp_path_factory.mktemp("food")
    (folder / "food.tsv").write_text("apple\tfood\ntea\tfood\nveal\tfood\n")
    log = history(**people, sure=["apple"])
    method = qv.Semantic(epsilon=3, taxonomy=str(folder / "food.tsv"), **more)
    release = qv.publish(qv.read(log), method, out=folder / "out")
    assert labels(release) <= {"food", "apple", "tea", "veal"}
    numbers = {row["user"] for row in rows(release)}
    assert numbers == set(range(len(numbers))) and len(numbers) <= len(people) + 1
    assert release.tables["log"].schema.types == [pa.int64(), pa.int64(), pa.string()]
    told = b"".join(file.read_bytes() for file in (folder / "out").iterdir())
    # None of them can be part of a digest.
    for secret in (b"secretname", b"hunter2", b"brien", b"-0199", b"mallory", b"trent", b"2026-01-01T"):
        assert secret not in told


def test_unmapped_text_that_is_passed_through_is_noticed(
    food_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted defect: texts of a query without a concept go out as they are."""
    build = semantic_table.Rows.tables

    def leaking(self: semantic_table.Rows) -> tuple[pa.Table, pa.Table]:
        table, names = build(self)
        texts = ["secretname", *table["query"].to_pylist()[1:]]
        return table.set_column(2, "query", pa.array(texts, pa.string())), names

    monkeypatch.setattr(semantic_table.Rows, "tables", leaking)
    release = qv.publish(qv.read(history(**PEOPLE)), qv.Semantic(epsilon=1, taxonomy=str(food_file)))
    known = qv.Taxonomy.from_file(food_file)
    assert not labels(release) <= set(known.labels(range(len(known))))
    qv.publish(qv.read(history(**PEOPLE)), qv.Semantic(epsilon=1, domain="entity"), out=tmp_path / "out")
    assert [check.name for check in qv.verify(tmp_path / "out").failed] == ["labels"]


def test_the_curator_learns_what_was_left_out(food_file: Path) -> None:
    method = qv.Semantic(epsilon=1, taxonomy=str(food_file), max_phrases=3)
    release = qv.publish(qv.read(history(**PEOPLE)), method)
    told = {row["what"]: row["number"] for row in release.private["phrases"].to_pylist()}
    assert told["users"] == 4 and told["queries"] == 7
    assert told["phrases replaced"] == 5 and told["phrases beyond max-phrases"] == 1
    assert told["phrases without a concept"] >= 2
    assert "phrases" not in release.manifest()


def test_kept_words_come_back_and_unmapped_ones_do_not(food_file: Path) -> None:
    log = qv.read(history(ann=["cheap tea near the coffee", "coffee for zzyzx", "beef"] * 20))
    kept = {}
    for choice in ("none", "function", "modifiers"):
        method = qv.Semantic(
            epsilon=1e6, epsilon_per="query", criterion="nsqc", taxonomy=str(food_file), keep_words=choice
        )
        release = qv.publish(log, method, noise=Noise(SeededBits(1)), i_understand=True)
        kept[choice] = {row["query"] for row in rows(release)}
        assert ("words" in str(release.guarantee.neighbours)) == (choice != "none")
        assert any("no protection" in str(one) for one in release.guarantee.caveats) == (choice != "none")
    assert kept["none"] == {"tea, coffee", "coffee", "beef"}
    assert kept["function"] == {"tea near the coffee", "coffee for", "beef"}
    assert kept["modifiers"] == {"cheap tea near the coffee", "coffee for", "beef"}
    assert {"near", "the", "for"} <= FUNCTION_WORDS


# -- budgets ---------------------------------------------------------------------------------------------------


def test_every_phrase_has_its_share() -> None:
    assert qv.Semantic(epsilon=1).per_phrase(8) == Fraction(1, 8)
    assert qv.Semantic(epsilon=1, max_phrases=10).per_phrase(8) == Fraction(1, 10)
    assert qv.Semantic(epsilon=1, epsilon_per="query").per_phrase(8) == 1
    capped = qv.Semantic(epsilon=0.1, epsilon_per="query", max_phrases=3)
    assert capped.total() == 0.3 and capped.per_phrase(8) * 3 <= Fraction(0.3)


@pytest.mark.parametrize(
    ("given", "epsilon", "unit", "neighbours", "composable"),
    [
        ({}, 2, "user", "replace-one-user-equal-shape", False),
        ({"max_phrases": 5}, 2, "user", "replace-one-user-equal-shape", False),
        ({"max_phrases": 5, "pad": True}, 2, "user", "replace-one-user", True),
        ({"epsilon_per": "query"}, 2, "phrase", "replace-one-user-equal-shape", False),
        ({"epsilon_per": "query", "max_phrases": 5, "pad": True}, 10, "user", "replace-one-user", True),
        (
            {"domain": "per-topic", "topics": ("disease", "sport")},
            2,
            "user",
            "replace-one-user-equal-shape-and-topics",
            False,
        ),
    ],
)
def test_the_guarantee_says_what_is_compared(
    given: dict[str, Any], epsilon: float, unit: str, neighbours: str, composable: bool
) -> None:
    plan = qv.Semantic(epsilon=2, **given).plan()
    promise = plan.guarantee
    assert (promise.kind, promise.epsilon, promise.delta) == ("pure-dp", epsilon, 0)
    assert (promise.unit, promise.neighbours, promise.composable) == (unit, neighbours, composable)
    said = {one.code for one in promise.caveats}
    assert ("shape-is-published" in said) == ("pad" not in given)
    assert ("topics-are-published" in said) == ("topics" in given)
    assert ("epsilon-per-phrase" in said) == (given.get("epsilon_per") == "query")
    if composable:
        assert (promise + promise).epsilon == 2 * epsilon
    else:
        with pytest.raises(qv.CannotCompose):
            promise + promise


def test_words_about_a_single_phrase_promise_nothing_about_a_person() -> None:
    """Draws for many phrases tell together what each of them may not."""
    plan = qv.Semantic(epsilon=1, epsilon_per="query").plan()
    promise = plan.guarantee
    shown = chances(promise)
    said = " ".join(
        [
            promise.plain_words(),
            *map(str, promise.caveats),
            *map(str, plan.assessment),
            shown.says,
            shown.note,
            *withheld(plan.as_dict()),
        ]
    )
    assert "this one person's searches add" not in said and "by epsilon alone" not in said
    assert "everyone else's searches" not in said
    assert said.count("every other phrase in the log") == 3 and "number times epsilon" in said
    whole = qv.Semantic(epsilon=1).plan().guarantee
    assert (
        "this one person's searches add" in chances(whole).note
        and "every other phrase" not in whole.plain_words()
    )


def test_the_ledger_charges_padded_releases_and_lists_the_others(tmp_path: Path, food_file: Path) -> None:
    book = qv.Ledger(str(tmp_path / "ledger.db"))
    book.open("log", epsilon=3, delta=0)
    log = qv.read(history(**PEOPLE))
    ways: tuple[dict[str, Any], ...] = ({}, {"max_phrases": 2, "pad": True})
    for more in ways:
        qv.publish(log, qv.Semantic(epsilon=2, taxonomy=str(food_file), **more), ledger=book, source="log")
    account = book.budget("log")
    assert [event.composable for event in account.events] == [False, True]
    assert account.spent.epsilon == 2 and account.not_composable == 1


def test_figures_come_from_the_taxonomy_alone() -> None:
    plan = qv.Semantic(epsilon=1, max_phrases=4).plan()
    assert plan.parameters["domain"] == "abstraction.n.06"
    figures = plan.calibration
    assert figures["max_sim"] == 1 and 0 < figures["min_sim"] < 0.05
    assert figures["sensitivity"] == pytest.approx(figures["max_sim"] - figures["min_sim"], abs=1e-15)
    assert figures["epsilon_per_phrase"] == 0.25
    assert qv.Semantic(epsilon=1, criterion="nsqc").plan().calibration["sensitivity"] == 1


# -- shapes ----------------------------------------------------------------------------------------------------


def test_padded_users_all_have_the_same_number_of_slots(food_file: Path) -> None:
    method = qv.Semantic(epsilon=1, taxonomy=str(food_file), max_phrases=3, pad=True)
    table = qv.publish(qv.read(history(**PEOPLE)), method).tables["log"]
    assert table["user"].to_pylist() == [user for user in range(4) for _ in range(3)]
    assert table["number"].to_pylist() == [0, 1, 2] * 4
    assert not any(", " in text for text in table["query"].to_pylist())


def test_the_cap_is_on_phrases_and_not_on_queries(food_file: Path) -> None:
    method = qv.Semantic(epsilon=1e6, criterion="nsqc", taxonomy=str(food_file), max_phrases=2)
    release = qv.publish(qv.read(history(ann=["apple", "tea and coffee", "veal"])), method)
    # Clamped to e^20 : 1 per phrase, each of the twelve others has a chance of 2e-9.
    assert [row["query"] for row in rows(release)] == ["apple", "tea"]


def test_drawn_concepts_stay_inside_their_topic() -> None:
    nouns = qv.Taxonomy.wordnet()
    method = qv.Semantic(epsilon=1, domain="per-topic", topics=("disease", "sport"), criterion="sqc2")
    release = qv.publish(qv.read(history(ann=["measles", "tennis"] * 50, bob=["flu"] * 3)), method)
    roots = [nouns.find_label("disease.n.01"), nouns.find_label("sport.n.01")]
    for row in rows(release):
        above = nouns.all_ancestors(nouns.find_label(row["query"]) or 0).tolist()
        assert sum(root in above for root in roots) == 1
        if len([one for one in rows(release) if one["user"] == row["user"]]) == 100:
            assert roots[row["number"] % 2] in above


def test_several_windows_give_the_same_as_one(food_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people = {f"u{n}": ["tea", "apple and coffee"] * (n % 4 + 1) for n in range(30)}
    method = qv.Semantic(epsilon=1e6, epsilon_per="query", criterion="nsqc", taxonomy=str(food_file))
    whole = qv.publish(qv.read(history(**people)), method, noise=Noise(SeededBits(1)), i_understand=True)
    monkeypatch.setattr(semantic_rows, "_WINDOW_ROWS", 7)
    parts = qv.publish(qv.read(history(**people)), method, noise=Noise(SeededBits(2)), i_understand=True)

    def shapes(release: qv.Release) -> list[list[str]]:
        by_user = itertools.groupby(rows(release), key=lambda row: row["user"])
        return sorted([row["query"] for row in own] for _, own in by_user)

    assert shapes(whole) == shapes(parts) and len(shapes(whole)) == 30


@pytest.mark.parametrize("sizes", [[100], [1] * 100, [3, 50, 0, 47]])
def test_windows_do_not_depend_on_batches(sizes: list[int]) -> None:
    users = [f"u{n // 9}" for n in range(100)]
    table = pa.table({"user": users, "query": [str(n) for n in range(100)]})
    batches: list[pa.RecordBatch] = []
    start = 0
    for size in sizes:
        batches += table.slice(start, size).to_batches() or []
        start += size
    cut = [window["user"].to_pylist() for window in semantic_rows.by_user(batches, 20)]
    assert list(map(len, cut)) == [27, 27, 27, 19] and list(itertools.chain(*cut)) == users


def by_original(release: qv.Release) -> dict[str, list[str]]:
    """User -> her published queries in order, by the curator's map."""
    names = dict(zip(*release.private["user-map"].to_pydict().values(), strict=True))
    found: dict[str, list[str]] = {}
    for row in rows(release):
        found.setdefault(names[row["user"]], []).append(row["query"])
    return found


@pytest.mark.parametrize(
    "method",
    [
        qv.Semantic(epsilon=5),
        qv.Semantic(epsilon=5, keep_words="modifiers", epsilon_per="query"),
        qv.Semantic(epsilon=5, max_phrases=2, pad=True),
        qv.ProfileHistogram(epsilon=50, max_queries=3),
    ],
    ids=["plain", "kept words", "padded", "histogram"],
)
def test_the_same_draws_for_each_user_on_spark(food_file: Path, spark: Any, method: Any) -> None:
    """Spark draws in its workers, users spread over all of them; DuckDB here, one window after the other."""
    people = {f"u{n}": ["tea", "cheap apple and coffee", "zzyzx"] * (n % 3 + 1) for n in range(40)}
    method = dataclasses.replace(method, taxonomy=str(food_file))
    made = [
        qv.publish(
            qv.read(history(**people), engine=engine), method, noise=NoiseOfUsers(seed), i_understand=True
        )
        for engine, seed in (("duckdb", 4), (spark, 4), ("duckdb", 5))
    ]
    here, there, other = map(by_original, made)
    assert here == there and len(here) == 40
    assert here != other, "another seed draws otherwise"
    assert made[0].private["phrases"].equals(made[1].private["phrases"]), "workers' counts add up"


def test_workers_draw_by_themselves(food_file: Path, spark: Any) -> None:
    """Without a seed no two users draw alike, in whichever worker: 20 phrases of 12 concepts each."""
    people = {f"u{n}": ["tea"] * 20 for n in range(200)}
    method = qv.Semantic(epsilon=1, taxonomy=str(food_file))
    found = by_original(qv.publish(qv.read(history(**people), engine=spark), method))
    assert len({tuple(texts) for texts in found.values()}) == 200  # else with probability 1e-16


def test_a_bit_source_with_a_state_is_not_sent_to_workers(food_file: Path, spark: Any) -> None:
    """The defect that must not be: copies of one generator in all workers, which would all draw the same."""
    log = qv.read(history(ann=["tea"]), engine=spark)
    with pytest.raises(Exception, match="two copies of a bit source"):
        qv.publish(
            log,
            qv.Semantic(epsilon=1, taxonomy=str(food_file)),
            noise=Noise(SeededBits(1)),
            i_understand=True,
        )


def test_draws_of_a_user_do_not_depend_on_windows(food_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    people = {f"u{n}": ["tea", "apple and coffee"] * (n % 4 + 1) for n in range(30)}
    method = qv.Semantic(epsilon=5, taxonomy=str(food_file))
    whole = by_original(
        qv.publish(qv.read(history(**people)), method, noise=NoiseOfUsers(4), i_understand=True)
    )
    monkeypatch.setattr(semantic_rows, "_WINDOW_ROWS", 7)
    monkeypatch.setattr(semantic_table, "_PILE_ROWS", 9)
    assert (
        by_original(qv.publish(qv.read(history(**people)), method, noise=NoiseOfUsers(4), i_understand=True))
        == whole
    )


@pytest.mark.parametrize("noise", [Noise(), NoiseOfUsers(1)], ids=["together", "each alone"])
def test_users_are_padded_some_at_a_time(
    noise: Noise, food_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many queries a user is given, so many are made up at once as fit into memory."""
    users = {f"u{number}": ["tea"] * (number % 3) for number in range(20)}
    together: list[int] = []
    replaced = qv.Semantic.replaced

    def watched(method: qv.Semantic, found: Any, *rest: Any) -> Any:
        together.append(found.users)
        return replaced(method, found, *rest)

    monkeypatch.setattr(qv.Semantic, "replaced", watched)
    monkeypatch.setattr(semantic_map, "_MOST_SLOTS", 30)
    method = qv.Semantic(epsilon=1, max_phrases=7, pad=True, taxonomy=str(food_file))
    release = qv.publish(
        qv.read(history(**{name: own or [""] for name, own in users.items()})),
        method,
        noise=noise,
        i_understand=True,
    )
    assert max(together) <= 4 and sum(together) == 20
    assert release.tables["log"]["user"].value_counts().field("counts").to_pylist() == [7] * 20


def test_the_curator_alone_knows_which_user_a_number_stands_for(food_file: Path, tmp_path: Path) -> None:
    method = qv.Semantic(epsilon=1e6, epsilon_per="query", criterion="nsqc", taxonomy=str(food_file))
    qv.publish(qv.read(history(**PEOPLE)), method, out=tmp_path / "out")
    known = pq.read_table(tmp_path / "out.private" / "user-map.parquet")
    assert known.column_names == ["user", "original"]
    names = dict(zip(*known.to_pydict().values(), strict=True))
    assert sorted(names.values()) == ["ann", "bob"]
    published = pq.read_table(tmp_path / "out" / "log.parquet").to_pylist()
    assert {names[row["user"]]: row["query"] for row in published} == {"ann": "veal", "bob": "beef"}


def test_clicks_do_not_multiply_queries_and_a_log_without_times_will_do(food_file: Path) -> None:
    clicks = pa.concat_tables([history(ann=["tea", "veal"])] * 3)
    method = qv.Semantic(epsilon=1, taxonomy=str(food_file))
    assert len(rows(qv.publish(qv.read(clicks), method))) == 2
    assert len(rows(qv.publish(qv.read(clicks.drop_columns(["time"])), method))) == 6


# -- refused ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"domain": "abstracton"}, "no concept 'abstracton'.*close names are abstraction"),
        ({"domain": "per-topic"}, "needs topics"),
        ({"criterion": "sqc2"}, "needs topics"),
        ({"topics": ("disease",)}, "topics have no effect"),
        ({"criterion": "sqc2", "topics": ("disease", "skin disease")}, "topics overlap"),
        ({"criterion": "sqc2", "topics": ("dog",)}, "outside the domain"),
        ({"pad": True}, "padding needs a number of phrases"),
        ({"pad": True, "max_phrases": 3, "domain": "per-topic", "topics": ("disease",)}, "one domain"),
        ({"pad": True, "max_phrases": 3, "keep_words": "function"}, "no words to keep"),
        ({"tight": True}, "one epsilon for all phrases"),
        ({"tight": True, "max_phrases": 3, "criterion": "nsqc"}, "one epsilon for all phrases"),
        ({"max_phrases": 10**7}, "max_phrases"),
        ({"epsilon": 1e-9, "max_phrases": 10**6}, "too small to draw with"),
        ({"criterion": "best"}, "criterion"),
    ],
)
def test_requests_that_cannot_be(given: dict[str, Any], message: str) -> None:
    with pytest.raises(qv.UsageError, match=message):
        qv.Semantic(**{"epsilon": 1.0, **given}).plan()


def test_a_log_without_any_concept_cannot_be_met(food_file: Path) -> None:
    with pytest.raises(qv.CannotBeMet, match="no query of this log has a phrase") as refusal:
        qv.publish(qv.read(history(ann=["zzyzx"])), qv.Semantic(epsilon=1, taxonomy=str(food_file)))
    assert refusal.value.exit_code == 5 and "zzyzx" not in str(refusal.value)


def test_that_there_is_a_padded_release_says_nothing_of_anybody(food_file: Path) -> None:
    """Refused without a single concept, it would say for certain that somebody had one: the curator is told instead."""
    method = qv.Semantic(epsilon=1, max_phrases=3, pad=True, taxonomy=str(food_file))
    said: list[str] = []
    release = qv.publish(
        qv.read(history(ann=["zzyzx"], bob=["zzyzx"])), method, told=lambda _, text: said.append(text)
    )
    assert release.tables["log"].num_rows == 6
    assert any("all of it is chance" in one for one in said) and not any("zzyzx" in one for one in said)


def test_names_with_commas_are_refused(tmp_path: Path) -> None:
    (tmp_path / "odd.tsv").write_text("tea, green\tdrink\n")
    with pytest.raises(qv.UsageError, match="comma and a space"):
        qv.Semantic(epsilon=1, taxonomy=str(tmp_path / "odd.tsv")).plan()


def test_the_manifest_says_no_path(food_file: Path) -> None:
    shown = json.dumps(qv.Semantic(epsilon=1, taxonomy=str(food_file)).plan().as_dict())
    assert str(food_file) not in shown and "child/parent file, sha256" in shown
