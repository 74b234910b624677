"""The exposure attack: counts by hand and by plain loops, on logs, on every kind of release, and on hashes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.attack.exposure.found import BACKWARDS, SHUFFLED
from queryveil.attack.token_map import read_map
from queryveil.language.spotting import Kind, Spotter, counting
from tests.command import command
from tests.conftest import at, many

NAMES = ("person", "non-star", "company", "place", "adult", "revealing", "identifier")
PAIRS = ("non-star+place", "non-star+company", "non-star+adult", "non-star+revealing", "person+place")
FIRST, LAST = ("karen", "denise", "nancy"), ("walsh", "lindgren")


def table(rows: Sequence[tuple[str, float, str]]) -> pa.Table:
    user, time, query = zip(*rows, strict=True)
    return pa.table({"user": list(user), "time": [at(one) for one in time], "query": list(query)})


SMALL = table(
    [
        ("a", 0, "Karen Walsh"),
        ("a", 1, "houston tx"),
        ("a", 2, "houston tx"),
        ("a", 100, "cancer treatment"),  # another session
        ("b", 0, "karen walsh houston tx"),
        ("b", 1, "walmart"),
        ("c", 0, "xxx"),
        ("c", 5, "denise fitzpatrick"),
        ("d", 0, "weather"),
        ("d", 1, "ann.lee@example.com"),
        # The same name ten times: a star.
        *(("e", minute, f"britney spears {minute}") for minute in range(10)),
        ("e", 11, "plungwick ohio"),
    ]
)


def found(given: Any, *more: Any, **parameters: Any) -> dict[str, Any]:
    result: dict[str, Any] = qv.ExposureAttack(**parameters).run(given, *more).as_dict()
    return result


def counts(given: Any, *more: Any, **parameters: Any) -> dict[str, Any]:
    (one,) = found(given, *more, **parameters)["subjects"]
    return dict(one["counts"])


def wanted(**given: Any) -> dict[str, int]:
    return {name: given.get(name.replace("-", "_").replace("+", "__"), 0) for name in NAMES + PAIRS}


# -- logs ----------------------------------------------------------------------------------------------------


def test_a_log_by_hand() -> None:
    have = counts([qv.read(SMALL)])
    assert have["sessions"] == wanted(
        person=4, non_star=3, company=1, place=3, adult=1, revealing=1, identifier=1,
        non_star__place=2, non_star__company=1, non_star__adult=1, person__place=3,
    )  # fmt: skip
    assert have["queries"] == wanted(
        person=13, non_star=3, company=1, place=3, adult=1, revealing=1, identifier=1,
        non_star__place=1, person__place=1,
    )  # fmt: skip
    assert have["occurrences"] == have["queries"] | {"place": 4}


def test_sums_and_shares_of_a_log() -> None:
    document = found([qv.read(SMALL)])
    (one,) = document["subjects"]
    assert (one["texts"], one["occurrences"], one["units"], one["linked_by"]) == (20, 21, 6, "sessions")
    assert one["names"] == 3 and document["of"] == "log" and document["reference"] == "log"
    assert document["success"] == 13 / 20 and document["trials"] == 20


def test_who_is_a_star_is_told_by_the_raw_log() -> None:
    log = qv.read(SMALL)
    release = qv.publish(qv.read(many(5, ["britney spears"])), qv.KQuery(k=2))
    alone = counts([release])
    assert alone["occurrences"]["non-star"] == 5, "five times in itself"
    assert counts([release], log)["queries"]["non-star"] == 0, "but famous in the log"
    own = qv.publish(log, qv.AdHoc(steps=("delete-users",)), i_understand=True)
    assert found([log, own])["subjects"][1]["counts"]["queries"]["non-star"] == 3
    with pytest.raises(qv.InputError, match="it is a release of another log"):
        found([log, release])
    assert counts([log], star=11)["queries"]["non-star"] == 13
    assert counts([log], star=1)["queries"]["non-star"] == 0


def test_a_log_without_times_has_no_sessions() -> None:
    have = counts([qv.read(SMALL.drop_columns(["time"]))])
    assert have["sessions"] is None and have["queries"]["person"] == 13
    own = SMALL.drop_columns(["time"]).append_column("session", pa.array(["s"] * SMALL.num_rows))
    assert counts([qv.read(own)])["sessions"]["person"] == 4, "its own sessions, of each user"


def test_a_log_with_nothing_and_a_log_of_one_user() -> None:
    none = found([qv.read(pa.table({"user": ["a"], "time": [at(0)], "query": [""]}))])
    assert none["success"] == 0 and none["trials"] == 0 and none["interval"] == [0, 0]
    one = counts(qv.read(table([("a", 0, "karen walsh")])))
    assert one["sessions"] == wanted(person=1, non_star=1)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> qv.SearchLog:
    file = tmp_path_factory.mktemp("exposed") / "log.parquet"
    qv.generate(file, qv.LogSettings(version=1, users=150, seed=4, secrets=90))
    return qv.read(file)


def naive(log: qv.SearchLog) -> dict[str, dict[str, int]]:
    """The same counts, one query and one session at a time."""
    spotter = Spotter()
    events = log.engine.arrow(log.events()).to_pylist()
    times = Counter(row["query"] for row in events)
    kinds: dict[str, set[str]] = {}
    names: dict[str, set[frozenset[str]]] = {}
    occurs: Counter[frozenset[str]] = Counter()
    for query in times:
        words = [qv.keywords(word) for word in query.split(" ")]
        entities = spotter.entities_in_text(query)
        kinds[query] = {one.kind for one in entities}
        names[query] = {
            frozenset((*words[one.first], *words[one.last])) for one in entities if one.kind == "person"
        }
        for name in names[query]:
            occurs[name] += times[query]
    for query, persons in names.items():
        if any(occurs[name] < 10 for name in persons):
            kinds[query].add("non-star")
    sessions: dict[tuple[str, str], set[str]] = {}
    for row in events:
        sessions.setdefault((row["user"], row["session"]), set()).update(kinds[row["query"]])

    def have(sets: list[tuple[set[str], int]]) -> dict[str, int]:
        return {
            name: sum(number for one, number in sets if set(name.split("+")) <= one) for name in NAMES + PAIRS
        }

    return {
        "sessions": have([(one, 1) for one in sessions.values()]),
        "queries": have([(kinds[query], 1) for query in times]),
        "occurrences": have([(kinds[query], number) for query, number in times.items()]),
    }


def test_a_generated_log_against_plain_loops(log: qv.SearchLog) -> None:
    have = counts([log])
    assert have == naive(log)
    assert have["sessions"]["non-star+revealing"] > 0 and have["queries"]["non-star+place"] > 20


def test_spark_counts_the_same(spark: Any) -> None:
    assert counts([qv.read(SMALL, engine=spark)]) == counts([qv.read(SMALL)])


# -- the control ---------------------------------------------------------------------------------------------


def backwards(log: qv.SearchLog) -> float:
    """The share of different queries that name a person if read backwards, one at a time."""
    queries = {row["query"] for row in log.engine.arrow(log.events()).to_pylist()} - {""}
    reversed_words = pa.array([" ".join(reversed(query.split(" "))) for query in queries])
    masks = Spotter().detect_entities(reversed_words).entity_masks()
    return float((masks >> Kind.PERSON & 1).mean())


def test_the_control_is_the_same_queries_read_backwards(log: qv.SearchLog) -> None:
    document = found([log])
    assert document["control"] == backwards(log) > 0
    assert document["subjects"][0]["control_is"] == BACKWARDS
    # The same words in the order in which they were typed would be no control.
    assert document["success"] > 2 * document["control"]


def texts(rows: list[str]) -> qv.SearchLog:
    return qv.read(table([(f"u{n}", n, text) for n, text in enumerate(rows)]))


def test_of_words_that_chance_put_together_there_is_no_advantage() -> None:
    """Six names and twelve other words, drawn one by one: as many name a person backwards as forwards."""
    words = [
        *FIRST,
        *LAST,
        "weather",
        "news",
        "cheap",
        "red",
        "blue",
        "hotel",
        "car",
        "dog",
        "map",
        "tv",
        "pc",
    ]
    drawn = np.random.default_rng(5).choice(words, size=(4_000, 4))
    document = found([texts([f"{' '.join(row)} {n}" for n, row in enumerate(drawn.tolist())])])
    assert document["success"] > 0.05
    # Each share is within 0.03 of the same mean but with probability 2 exp(-2 * 4000 * 0.03^2), together 3e-3; what is
    # drawn here is the same every time.
    assert abs(document["advantage"]) < 0.06
    low, high = document["interval"]
    assert low < 0 < high
    assert "chance alone could explain this number" in document["words"]["Found"]


PHRASES = [*(f"denise {n}" for n in range(900)), *(f"{n} walsh" for n in range(900))]
"""First and last names, never beside each other."""


def test_phrases_do_not_hide_the_names_beside_them() -> None:
    """40 of 1,840 name a person. Shuffled, first meets last in a sixteenth of all: more than there are."""
    rows = [*PHRASES, *(f"karen lindgren {n}" for n in range(40))]
    document = found([texts(rows)])
    assert document["success"] == 40 / 1_840 and document["control"] == 0 and document["interval"][0] > 0
    twin = Spotter()
    cut = twin.vocabulary.cut_texts(pa.array(rows))
    mixed = cut.reorder(np.random.default_rng(0).permutation(len(cut.words)))
    assert len(twin.find_persons(mixed)[0]) > 2 * 40, "which is why words in order are not shuffled"


def sets(rows: list[str]) -> qv.Release:
    """Texts whose words have lost their order."""
    items = pa.array([text.split(" ") for text in rows], pa.list_(pa.string()))
    columns = {"group": list(range(len(rows))), "items": items}
    return qv.Release(plan=qv.KSession(k=2).plan(), tables={"transactions": pa.table(columns)})


def test_words_without_order_are_shuffled_between_all_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A quarter of all words are first names, a quarter last names: in an eighth of all pairs they meet."""
    whole = found([sets(PHRASES)])
    assert whole["success"] == 0 and whole["subjects"][0]["control_is"] == SHUFFLED
    # 0.05 away from its mean it is with probability 2 exp(-2 * 1800 * 0.05^2) = 2e-4 at most; the seed is fixed.
    assert abs(whole["control"] - 1 / 8) < 0.05
    assert "does not show that nobody is named" in whole["words"]["Found"]
    # In parts of the alphabet, one after the other, first names would meet no last names.
    monkeypatch.setattr(counting, "_CHUNK", 100)
    assert found([sets(PHRASES)])["control"] == whole["control"]
    assert found([sets(PHRASES[::-1])])["control"] == whole["control"], "in whatever order texts come"


def test_other_seeds_shuffle_otherwise(log: qv.SearchLog) -> None:
    shares = [found([sets(PHRASES)], seed=seed)["control"] for seed in (1, 1, 2)]
    assert shares[0] == shares[1] != shares[2]
    assert len({found([log], seed=seed)["control"] for seed in (1, 2)}) == 1, "backwards is backwards"


def test_the_control_is_the_same_in_whatever_order_a_release_was_written(log: qv.SearchLog) -> None:
    step = qv.AdHoc(steps=("delete-users",))
    releases = [qv.publish(log, step, i_understand=True) for _ in range(3)]
    orders = [next(iter(one.tables.values()))["query"].to_pylist() for one in releases]
    assert orders[0] != orders[1] and sorted(orders[0]) == sorted(orders[1])
    (control,) = {one["control"] for one in found(releases)["subjects"]}
    assert control == found([log])["control"] > 0


def test_the_most_exposed_release_is_the_one_that_names_most() -> None:
    """Of three texts one names a person, of a thousand one hundred: the second is what there is to fear."""
    texts = ["karen walsh", "weather report today", "cheap car insurance"]
    few = qv.publish(qv.read(many(5, texts)), qv.KQuery(k=2))
    tenth = [(f"u{n}", n, f"weather {n}" if n % 10 else f"karen walsh {n}") for n in range(1_000)]
    much = qv.publish(qv.read(table(tenth)), qv.AdHoc(steps=("delete-users",)), i_understand=True)
    document = found([few, much])
    assert document["subjects"][0]["advantage"] > document["subjects"][1]["advantage"] > 0
    assert document["of"] == document["subjects"][1]["name"] and document["success"] == 0.1
    assert document["not_told_apart"] == []
    assert (
        "Of 2 releases, ad-hoc names persons in the most different queries: 100; k-query in 1."
        in document["words"]["Most"]
    )


def test_a_release_that_names_nobody_is_not_the_most_exposed_one() -> None:
    """53 of 1,853 texts name a person, whose shuffled control is larger; 3,012 long texts name nobody, for sure."""
    named = sets([*PHRASES, *(f"karen lindgren {n}" for n in range(53))])
    nobody = qv.publish(
        texts([f"weather {n}" for n in range(3_012)]), qv.AdHoc(steps=("delete-users",)), i_understand=True
    )
    for given in ([named, nobody], [nobody, named]):
        document = found(given)
        low = {one["name"]: one["interval"][0] for one in document["subjects"]}
        assert low["ad-hoc"] > low["k-session"], (
            "the lower end of an interval is no measure of what is exposed"
        )
        assert document["of"] == "k-session" and document["success"] == 53 / 1_853
        assert (
            "Of 2 releases, k-session names persons in the most different queries: 53; ad-hoc in 0."
            in document["words"]["Most"]
        )


def test_releases_that_cannot_be_told_apart_are_named_together() -> None:
    """Of 100 and 110 either may be the larger one by chance, of 100 and 200 not: 2 to 1 of 300 is 6 deviations."""

    def naming(number: int) -> qv.Release:
        return sets([f"karen lindgren {n}" for n in range(number)])

    document = found([naming(100), naming(110), naming(40)])
    assert document["of"] == "k-session 2" and document["not_told_apart"] == ["k-session"]
    assert (
        "110 and 100 are too close to tell apart: the difference may be chance." in document["words"]["Most"]
    )
    assert found([naming(100), naming(200)])["not_told_apart"] == []
    equal = found([naming(5), naming(5)])
    assert equal["of"] == "k-session" and equal["not_told_apart"] == ["k-session 2"]
    assert "Most" not in found([naming(5)])["words"], "one release is not the most exposed of several"


# -- releases ------------------------------------------------------------------------------------------------


def test_private_releases_hold_nobody(log: qv.SearchLog) -> None:
    releases = [
        qv.publish(
            log, qv.Zealous(epsilon=1, delta=1e-9, max_items=5, guarantee="probabilistic"), allow_empty=True
        ),
        qv.publish(log, qv.ClickGraph(epsilon=1, delta=1e-9, max_queries=5), allow_empty=True),
    ]
    document = found([log, *releases])
    before, *after = document["subjects"]
    assert before["counts"]["queries"]["non-star"] > 50
    for one in after:
        # The log has 44 such queries, posed once or twice; with these thresholds (over 100) one of them is
        # published with probability 1e-8.
        assert all(one["counts"]["queries"][pair] == 0 for pair in PAIRS if pair.startswith("non-star"))
        assert one["counts"]["sessions"] is None and one["linked_by"] is None
    assert document["of"] in {"zealous", "click-graph"}


@pytest.fixture(scope="module")
def crowd() -> qv.SearchLog:
    """Queries that many users share, with a name among them."""
    return qv.read(many(30, ["karen walsh", "houston tx", "cancer help"]))


def test_releases_by_session_keep_what_their_sessions_link(crowd: qv.SearchLog) -> None:
    release = qv.publish(crowd, qv.KQuery(k=3))
    have = counts([release], qv.read(SMALL))
    expected = wanted(
        person=30,
        non_star=30,
        place=30,
        revealing=30,
        non_star__place=30,
        non_star__revealing=30,
        person__place=30,
    )
    assert have["sessions"] == expected
    assert have["queries"] == wanted(person=1, non_star=1, place=1, revealing=1)


def test_keyword_sets_are_read_without_order(crowd: qv.SearchLog) -> None:
    (one,) = found([qv.publish(crowd, qv.KSession(k=3))], qv.read(SMALL))["subjects"]
    assert one["ordered"] is False and one["linked_by"] == "transactions" and one["texts"] == 1
    assert one["counts"]["sessions"] == wanted(
        person=30,
        non_star=30,
        place=30,
        revealing=30,
        non_star__place=30,
        non_star__revealing=30,
        person__place=30,
    )


def test_histograms_of_words_hold_no_names_but_terms(crowd: qv.SearchLog) -> None:
    (one,) = found([qv.publish(crowd, qv.KKeyword(k=3))])["subjects"]
    assert one["counts"]["queries"] == wanted(revealing=1)
    assert one["counts"]["occurrences"] == wanted(revealing=30)


def test_the_beginning_of_words_is_no_word() -> None:
    rows = many(1, ["cancer"], prefix="a").to_pylist() + many(2, ["cancerous"], prefix="b").to_pylist()
    release = qv.publish(qv.read(pa.Table.from_pylist(rows)), qv.KKeyword(k=3), allow_empty=True)
    assert all(text.endswith("*") for text in release.tables["items"]["prefix"].to_pylist())
    assert found([release])["subjects"][0]["texts"] == 0


def test_query_pairs_are_linked(crowd: qv.SearchLog) -> None:
    method = qv.Zealous(
        epsilon=20, delta=1e-3, max_items=3, items=("queries", "query-pairs"), guarantee="probabilistic"
    )
    (one,) = found([qv.publish(crowd, method)], qv.read(SMALL))["subjects"]
    assert one["linked_by"] == "pairs of queries" and one["units"] == 2
    assert one["counts"]["sessions"]["non-star+place"] == 1
    assert one["counts"]["queries"]["non-star+place"] == 0


def test_scrubbing_hides_identifiers_and_nothing_else() -> None:
    log = qv.read(SMALL)
    steps = qv.AdHoc(steps=("delete-users", "scrub"))
    before, after = found([log, qv.publish(log, steps, i_understand=True)])["subjects"]
    assert after["counts"]["sessions"] == before["counts"]["sessions"] | {"identifier": 0}


CONCEPTS = (qv.Semantic(epsilon=1), qv.ProfileHistogram(epsilon=1, max_queries=1))


def drawn(method: Any, *queries: str) -> qv.Release:
    rows = {"user": list(range(len(queries))), "number": [0] * len(queries), "query": list(queries)}
    return qv.Release(plan=method.plan(), tables={"log": pa.table(rows)})


@pytest.mark.parametrize("method", CONCEPTS, ids=lambda method: method.name)
def test_drawn_concepts_are_read_as_words(method: Any) -> None:
    rows = [
        "cancer.n.01",
        "cancer.n.01",
        "cancer.n.02",
        "karen_walsh.n.01",
        "heart_surgery.n.01, tennis.n.01",
    ]
    (one,) = found([drawn(method, *rows)])["subjects"]
    assert one["texts"] == 3 and one["linked_by"] == "users" and one["units"] == 5
    assert one["counts"]["queries"] == wanted(person=1, non_star=1, revealing=2)
    assert one["counts"]["occurrences"] == wanted(person=1, non_star=1, revealing=4)
    # As they are printed nobody reads them: so a log of labels that is no release of concepts.
    (raw,) = found([drawn(qv.AdHoc(steps=("hash-users",)), *rows)])["subjects"]
    assert raw["counts"]["queries"] == wanted()


def test_a_comma_keeps_two_concepts_from_being_one_name() -> None:
    (one,) = found([drawn(CONCEPTS[0], "karen.n.01, walsh.n.01")])["subjects"]
    assert one["counts"]["queries"] == wanted()
    (other,) = found([drawn(CONCEPTS[0], "karen.n.01 walsh.n.01")])["subjects"]
    assert other["counts"]["queries"]["person"] == 1, "with words kept, nothing is put between them"


def test_words_that_were_kept_and_names_of_ones_own_taxonomy_are_read_too() -> None:
    rows = ["cheap tennis.n.01 after cancer.n.01", "Lung Cancer, Tennis", "lung_cancer"]
    (one,) = found([drawn(CONCEPTS[0], *rows)])["subjects"]
    assert one["counts"]["queries"] == wanted(revealing=3)


def test_what_a_perturbed_log_gives_away_is_what_its_labels_say() -> None:
    """Drawn with so large an epsilon, nearly all rows are cancer; whichever are not, the labels themselves tell."""
    log = qv.read(many(40, ["cancer"]))
    release = qv.publish(log, qv.Semantic(epsilon=60, max_phrases=1, domain="disease"))
    labels = [label.rsplit(".n.", 1)[0] for label in release.tables["log"]["query"].to_pylist()]
    telling = sum(
        any(one.kind == "revealing" for one in qv.detect_entities(label.replace("_", " ")))
        for label in labels
    )
    assert counts([release], log)["sessions"]["revealing"] == telling > 0  # none with probability below 1e-40


def test_words_with_underscores_stay_what_was_typed() -> None:
    """Sets of typed words are no labels."""
    rows = [f"cancer_cells {n}" for n in range(3)]
    assert counts([sets(rows)])["queries"]["revealing"] == 0


def test_labels_of_concepts_lose_their_sense() -> None:
    log = qv.read(many(4, ["cancer hospital"]))
    (one,) = found([qv.publish(log, qv.Clump(k=2))])["subjects"]
    assert one["counts"]["queries"]["revealing"] == 1 and not one["ordered"]


def test_an_empty_release_gives_nothing_away() -> None:
    log = qv.read(SMALL)
    release = qv.publish(
        log, qv.Zealous(epsilon=0.1, delta=1e-9, max_items=1, guarantee="probabilistic"), allow_empty=True
    )
    assert release.released == {"items": 0}  # fails with probability 1e-9 at most
    result = qv.ExposureAttack().run([log, release])
    assert result.trials == 0 and result.figures["subjects"][1]["counts"]["queries"] == wanted()
    assert any("has no text" in sentence for _, sentence in result.words)


# -- hashes --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def hashed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hashed release of the small log, its true map, and one that takes tx for ohio and the other way round."""
    folder = tmp_path_factory.mktemp("hashed")
    pq.write_table(SMALL, folder / "log.parquet")
    qv.publish(qv.read(SMALL), qv.TokenHash(), out=folder / "hashes", i_understand=True)
    truth = pq.read_table(folder / "hashes.private" / "token-map.parquet")
    pq.write_table(truth, folder / "truth.parquet")
    swap = {"tx": "ohio", "ohio": "tx"}
    lines = [
        f"{row['hash']}\t{swap.get(row['token'], row['token'])}"
        for row in truth.to_pylist()
        if row["token"] not in {"denise"}
    ]
    (folder / "guess.tsv").write_text("hash\ttoken\n" + "\n".join(lines) + "\n")
    (folder / "guess.csv").write_text("hash,token\n" + "\n".join(lines).replace("\t", ",") + "\n")
    return folder


def test_the_right_map_reads_everything(hashed: Path) -> None:
    release, truth = qv.load(hashed / "hashes"), hashed / "truth.parquet"
    (one,) = found([release], qv.read(SMALL), truth, truth)["subjects"]
    raw = counts([qv.read(SMALL)])
    assert one["counts"] == raw == one["correct"]


@pytest.mark.parametrize("guess", ["guess.tsv", "guess.csv"])
def test_what_is_believed_and_what_is_correct(hashed: Path, guess: str) -> None:
    release = qv.load(hashed / "hashes")
    document = found([release], qv.read(SMALL), hashed / guess, hashed / "truth.parquet")
    (one,) = document["subjects"]
    believed, correct = one["counts"]["queries"], one["correct"]["queries"]
    assert believed["person"] == correct["person"] == 12, "one name has a word that nobody read"
    assert (believed["place"], correct["place"]) == (3, 0)
    assert (believed["non-star+place"], correct["non-star+place"]) == (1, 0)
    assert (believed["company"], correct["company"]) == (1, 1)
    assert document["success"] == 12 / 20
    without = found([release], qv.read(SMALL), hashed / guess)["subjects"][0]
    assert "correct" not in without and without["counts"] == one["counts"]


def test_a_hashed_log_is_recognised_by_its_hashes(hashed: Path) -> None:
    rows = qv.load(hashed / "hashes").tables["log"]
    names = pa.array([f"s{number}" for number in rows["session"].to_pylist()])
    log = qv.read(pa.table({"user": names, "query": rows["query"]}))
    truth = hashed / "truth.parquet"
    raw, other = found([qv.read(SMALL), log], None, truth, truth)["subjects"]
    assert raw["counts"]["queries"] == other["counts"]["queries"] and "correct" not in raw


def test_hashes_in_another_order_are_read_without_order(hashed: Path) -> None:
    method = qv.TokenHash(token_order="shuffle", sessions="drop")  # noqa: S106
    release = qv.publish(qv.read(SMALL), method, i_understand=True)
    file = hashed / "shuffled.parquet"
    pq.write_table(release.private["token-map"], file)
    (one,) = found([release], qv.read(SMALL), file, file)["subjects"]
    assert one["ordered"] is False and one["linked_by"] is None
    assert one["correct"]["queries"]["person"] == 13


# -- command -------------------------------------------------------------------------------------------------


def test_the_command_prints_counts_and_no_text(hashed: Path) -> None:
    log, release = str(hashed / "log.parquet"), str(hashed / "hashes")
    given = ["--mapping", str(hashed / "guess.tsv"), "--truth", str(hashed / "truth.parquet")]
    done = command("attack", "exposure", log, release, *given)
    assert done.code == 0 and done.err == ""
    words = " ".join(done.out.split())
    for part in (
        "within sessions log hashes, believed hashes, correct",
        "non-star and place",
        "Read backwards",
    ):
        assert part in words
    printed = command("attack", "exposure", log, release, *given, "--json")
    for secret in ("karen", "walsh", "fitzpatrick", "britney", "houston", "walmart", "ann.lee"):
        assert secret not in done.out.lower() and secret not in printed.out.lower()
    assert {"success", "control", "advantage", "interval", "subjects"} <= set(printed.document)


def test_examples_are_shown_when_asked_for(hashed: Path) -> None:
    done = command("attack", "exposure", str(hashed / "log.parquet"), "--show-examples", "2")
    assert "karen walsh houston tx" in done.out and "walmart" in done.out
    release, truth = str(hashed / "hashes"), str(hashed / "truth.parquet")
    read = command("attack", "exposure", release, "--mapping", truth, "--show-examples", "1")
    assert "karen walsh" in read.out


def test_several_of_one_name_are_told_apart(crowd: qv.SearchLog) -> None:
    releases = [qv.publish(crowd, qv.KQuery(k=k)) for k in (2, 3)]
    document = found([crowd, *releases, crowd])
    assert [one["name"] for one in document["subjects"]] == ["log", "k-query", "k-query 2", "log 2"]


def test_progress_reaches_its_end(log: qv.SearchLog) -> None:
    seen: list[tuple[int, int]] = []
    qv.ExposureAttack().run([log], progress=lambda done, total: seen.append((done, total)))
    assert seen and seen[-1][0] == seen[-1][1]


# -- wrong input ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def folder(hashed: Path) -> Path:
    sealed = qv.AdHoc(steps=("secret-sharing",), k=2)
    qv.publish(qv.read(SMALL), sealed, out=hashed / "sealed", i_understand=True)
    (hashed / "empty.tsv").write_text("")
    (hashed / "heads.tsv").write_text("hash\ttoken\n")
    (hashed / "wrong.tsv").write_text("hash\tword\na\tb\n")
    (hashed / "twice.tsv").write_text("hash\ttoken\na\tb\na\tc\n")
    (hashed / "short.tsv").write_text("hash\ttoken\na\n")
    (hashed / "binary.parquet").write_bytes(bytes(range(256)))
    (hashed / "binary.tsv").write_bytes(b"\xff\xfe\x00hash")
    (hashed / "other.tsv").write_text("hash\ttoken\nffff\tdog\n")
    return hashed


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("", 2, "Missing argument"),
        ("missing.tsv", 3, "missing.tsv"),
        ("empty.tsv", 3, "is empty"),
        ("hashes", 3, "holds hashes and no words; say what they are taken for with --mapping"),
        ("hashes/missing.parquet", 3, "missing.parquet"),
        ("sealed", 3, "has no column of texts"),
        ("log.parquet --truth truth.parquet", 2, "pass --mapping FILE too"),
        ("log.parquet --mapping truth.parquet", 3, "no hash of 'truth.parquet' is in what was named"),
        ("hashes --mapping other.tsv", 3, "no hash of 'other.tsv' is in what was named"),
        ("hashes --mapping missing", 3, "the map in 'missing' cannot be read"),
        ("hashes --mapping empty.tsv", 3, "has no column 'hash'"),
        ("hashes --mapping heads.tsv", 3, "the map in 'heads.tsv' is empty"),
        ("hashes --mapping wrong.tsv", 3, "has no column 'token'"),
        ("hashes --mapping twice.tsv", 3, "row 2 of the map in 'twice.tsv' maps a hash for the second time"),
        ("hashes --mapping short.tsv", 3, "row 1 of the map in 'short.tsv' lacks a hash or a token"),
        ("hashes --mapping binary.parquet", 3, "cannot be read"),
        ("hashes --mapping binary.tsv", 3, "cannot be read"),
        ("hashes --mapping log.parquet", 3, "has no column 'hash'"),
        ("hashes --mapping truth.parquet --truth wrong.tsv", 3, "has no column 'token'"),
        ("log.parquet --star 0", 2, "'star' must be an int >= 1"),
        ("log.parquet --show-examples nan", 2, "show-examples"),
        ("log.parquet --rare-names some", 2, "'rare_names' must be a text out of keep, drop"),
        ("log.parquet --reference missing.tsv", 3, "missing.tsv"),
    ],
)
def test_wrong_commands(
    arguments: str, code: int, words: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    done = command("attack", "exposure", *arguments.split())
    assert done.code == code and done.out == ""
    assert words in done.err and done.err.count("\n") == 1


def test_maps_are_read_as_they_are(folder: Path) -> None:
    assert read_map(folder / "guess.tsv") == read_map(folder / "guess.csv")
    assert json.dumps(read_map(folder / "other.tsv")) == '{"ffff": "dog"}'


def test_all_kinds_have_a_bit_of_their_own() -> None:
    assert len({1 << kind for kind in Kind}) == len(Kind) == 6
    assert np.array([1 << kind for kind in Kind]).max() < 1 << 6
