"""Linkage: shares by hand, against a plain search and `inspect`, in releases of every shape, and wrong input."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import queryveil as qv
from queryveil.attack.protocol import clopper_pearson
from tests.command import command
from tests.conftest import at, many

ALPHA = 1e-6
"""False-alarm rate of every statistical test here."""

TINY = {"a": ["x", "y"], "b": ["x", "z"], "c": ["x"], "d": ["y", "w"]}


def table(histories: dict[str, list[str]]) -> pa.Table:
    rows = [(user, at(n), query) for user, queries in histories.items() for n, query in enumerate(queries)]
    user, time, query = zip(*rows, strict=True)
    return pa.table({"user": list(user), "time": list(time), "query": list(query)})


def results(log: pa.Table, *releases: qv.Release, **given: Any) -> dict[tuple[str, int], dict[str, Any]]:
    found = qv.LinkageAttack(**given).run(qv.read(log), releases).figures["results"]
    return {(one["of"], one["known"]): one for one in found}


# -- the log -------------------------------------------------------------------------------------------------


def test_shares_by_hand() -> None:
    """Half of what b and d have is theirs alone; with two known queries only c, who has one, is not alone."""
    found = results(table(TINY))
    assert (found["log", 1]["success"], found["log", 1]["control"]) == (0.25, 0.25)
    assert found["log", 1]["trials"] == 0 and found["log", 1]["interval"] == [0.0, 0.0], "exact"
    for r in (2, 3):
        assert (found["log", r]["success"], found["log", r]["control"]) == (0.75, 0.0)
        assert found["log", r]["trials"] == 4
    assert qv.inspect(qv.read(table(TINY))).uniqueness == {"1": 0.25, "2": 0.75, "3": 0.75}


def test_the_control_is_the_same_search_without_the_person() -> None:
    """Two people with the same two queries: each would be taken for the other."""
    found = results(table({"a": ["x", "y"], "b": ["x", "y"], "c": ["x", "w"]}), known=(2,))
    assert found["log", 2]["success"] == pytest.approx(1 / 3)
    assert found["log", 2]["control"] == pytest.approx(2 / 3)


HISTORIES = st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=3), min_size=1, max_size=8)


@settings(deadline=None, derandomize=True, max_examples=10)
@given(HISTORIES)
def test_against_a_plain_search(histories: list[list[str]]) -> None:
    """With at most three queries each, three known ones are all: nothing is left to chance."""
    sets = [frozenset(one) for one in histories]
    named = table({f"u{n}": one for n, one in enumerate(histories)})
    holders = Counter(query for one in sets for query in one)
    found = results(named)
    for share, popularity in (("success", 1), ("control", 2)):
        wanted = sum(sum(holders[query] == popularity for query in one) / len(one) for one in sets) / len(
            sets
        )
        assert found["log", 1][share] == pytest.approx(wanted)
        wanted = sum(sum(one <= other for other in sets) == popularity for one in sets) / len(sets)
        assert found["log", 3][share] == pytest.approx(wanted)
    seen = qv.inspect(qv.read(named)).uniqueness
    assert found["log", 1]["success"] == pytest.approx(seen["1"], abs=1e-6)
    assert found["log", 3]["success"] == pytest.approx(seen["3"])


def test_queries_are_drawn_uniformly() -> None:
    """Nine queries that everybody has and one of one's own: two known ones single out with probability 1/5."""
    common = [f"common {n}" for n in range(9)]
    log = table({f"u{n}": [*common, f"own {n}"] for n in range(3000)})
    found = results(log, trials=3000)
    assert found["log", 1]["success"] == pytest.approx(0.1)
    for r, chance in ((2, 0.2), (3, 0.3)):
        hits = round(found["log", r]["success"] * 3000)
        assert stats.binomtest(hits, 3000, chance).pvalue > ALPHA
        assert stats.binomtest(hits, 3000, chance - 0.1).pvalue < ALPHA, "one query less would be noticed"
        low, high = found["log", r]["interval"]
        assert low < found["log", r]["advantage"] < high


def test_it_agrees_with_inspect_on_a_generated_log(generated: Path) -> None:
    log = qv.read(generated)
    seen = qv.inspect(log).uniqueness
    made = qv.LinkageAttack(trials=4000).run(log).figures["results"]
    assert made[0]["success"] == pytest.approx(seen["1"], abs=1e-6)
    for one, share in zip(made[1:], (seen["2"], seen["3"]), strict=True):
        ours = clopper_pearson(round(one["success"] * 4000), 4000, 1 - ALPHA / 2)
        theirs = clopper_pearson(round(share * 2000), 2000, 1 - ALPHA / 2)
        assert ours[0] <= theirs[1] and theirs[0] <= ours[1]


def test_samples_repeat_by_seed(generated: Path) -> None:
    log = qv.read(generated)
    one, again, other = (
        qv.LinkageAttack(trials=300, seed=seed).run(log).figures["results"] for seed in (1, 1, 2)
    )
    assert one == again and one != other


# -- releases of concepts and of hashes ----------------------------------------------------------------------


def test_own_queries_are_looked_for_among_concepts_that_are_read() -> None:
    """b alone has 'lung cancer', and two pseudonyms have measles; senses tell them apart, words do not."""
    log = table({"a": ["measles"], "b": ["lung cancer"], "c": ["measles"]})
    rows = {
        "user": [0, 1, 2],
        "number": [0, 0, 0],
        "query": ["measles.n.01", "lung_cancer.n.01", "measles.n.02"],
    }
    release = qv.Release(plan=qv.Semantic(epsilon=1).plan(), tables={"log": pa.table(rows)})
    one = results(log, release, known=(1,))["semantic", 1]
    assert one["success"] == 1, "every pseudonym is alone with its label"
    assert one["linked"]["success"] == pytest.approx(1 / 3)
    typed = qv.Release(plan=qv.AdHoc(steps=("hash-users",)).plan(), tables=release.tables)
    assert results(log, typed, known=(1,))["ad-hoc", 1]["linked"]["success"] == 0, (
        "as they are printed, nobody"
    )
    said = " ".join(
        sentence for _, sentence in qv.LinkageAttack(known=(1,)).run(qv.read(log), [release]).words
    )
    assert "read here as words" in said


def test_hashes_are_said_to_be_out_of_reach() -> None:
    log = table({"a": ["measles"], "b": ["lung cancer"], "c": ["measles"]})
    release = qv.publish(qv.read(log), qv.TokenHash(), i_understand=True)
    said = " ".join(
        sentence for _, sentence in qv.LinkageAttack(known=(1,)).run(qv.read(log), [release]).words
    )
    assert "hashes in place of words" in said


# -- releases ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def histories() -> pa.Table:
    shared = [many(6, ["weather", "news"], prefix="a"), many(6, ["weather", "maps", "jobs"], prefix="b")]
    return pa.concat_tables([*shared, table({"lonely": ["weather", "jobs", "my name"]})])


def test_a_hashed_user_is_a_user(histories: pa.Table) -> None:
    """Pseudonyms hide nothing: everybody is found in the release as often as in the log."""
    made = qv.publish(qv.read(histories), qv.AdHoc(steps=("hash-users",)), i_understand=True)
    found = results(histories, made)
    for r in (1, 2, 3):
        inside, outside = found["ad-hoc", r], found["log", r]
        assert inside["unit"] == "pseudonym"
        # Two of somebody's three queries are drawn anew among the pseudonyms, whose order is random: one query
        # and all three are left to nothing.
        assert r == 2 or inside["success"] == pytest.approx(outside["success"])
        assert r == 1 or inside["linked"]["success"] == outside["success"]


def test_sessions_of_k_query_keep_what_k_users_posed(histories: pa.Table) -> None:
    found = results(histories, qv.publish(qv.read(histories), qv.KQuery(k=3)))
    assert found["k-query", 1]["success"] == 0 and found["k-query", 1]["unit"] == "session"
    # Her session has two queries left. Seven others have them too, six with a third one.
    assert found["k-query", 3]["success"] == 0
    assert found["k-query", 3]["linked"]["success"] == 0


def test_sessions_can_single_out_what_each_query_does_not() -> None:
    """Every query has three users; the pair x, y is one person's, and known queries lead to her session."""
    log = pa.concat_tables(
        [many(2, ["x"], prefix="x"), many(2, ["y"], prefix="y"), table({"target": ["x", "y"]})]
    )
    found = results(log, qv.publish(qv.read(log), qv.KQuery(k=3)))
    assert found["k-query", 1]["success"] == 0
    assert found["k-query", 2]["success"] == pytest.approx(1 / 5)
    assert found["k-query", 2]["linked"]["success"] == pytest.approx(1 / 5)


@pytest.mark.parametrize(
    ("method", "why"),
    [
        (
            qv.Zealous(epsilon=20, delta=0.1, max_items=1, guarantee="probabilistic"),
            "nothing links one row to another",
        ),
        (qv.ClickGraph(epsilon=20, delta=0.1, max_queries=1), "nothing links one row to another"),
        (qv.KKeyword(k=3), "nothing links one row to another"),
        (qv.TokenHash(sessions="drop"), "nothing links one row to another"),
        (qv.KSession(k=3), "equal to the rows of at least k - 1 other users"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_nobody_is_linked_where_nothing_links(method: qv.Mechanism, why: str, histories: pa.Table) -> None:
    made = qv.publish(qv.read(histories), method, allow_empty=True, i_understand=True)
    attack = qv.LinkageAttack().run(qv.read(histories), [made])
    assert (attack.success, attack.control, attack.interval) == (0.0, 0.0, (0.0, 0.0))
    assert all(why in one["why"] for one in attack.figures["results"] if one["of"] != "log")
    assert any("nobody can be found" in said for _, said in attack.words)


def test_hashed_words_are_a_fingerprint_that_nobody_can_look_up(histories: pa.Table) -> None:
    made = qv.publish(qv.read(histories), qv.TokenHash(), i_understand=True)
    found = results(histories, made)
    assert found["token-hash", 3]["success"] == pytest.approx(1 / 13)
    assert found["token-hash", 3]["linked"]["success"] == 0


def test_sealed_queries_are_told_apart_by_their_labels(histories: pa.Table) -> None:
    made = qv.publish(qv.read(histories), qv.AdHoc(steps=("secret-sharing",), k=3), i_understand=True)
    found = results(histories, made)
    assert found["ad-hoc", 3]["success"] == pytest.approx(found["log", 3]["success"])
    assert found["ad-hoc", 3]["linked"]["success"] == 0


def test_an_empty_release_links_nobody() -> None:
    log = table({"a": ["x"], "b": ["y"]})
    made = qv.publish(qv.read(log), qv.KQuery(k=2), allow_empty=True)
    assert results(log, made)["k-query", 2]["success"] == 0


def test_several_releases_in_one_table(histories: pa.Table, tmp_path: Path) -> None:
    log = qv.read(histories)
    made = [qv.publish(log, qv.KQuery(k=3), out=tmp_path / "one"), qv.publish(log, qv.KSession(k=3))]
    attack = qv.LinkageAttack(known=(2,)).run(log, made)
    assert [one["of"] for one in attack.figures["results"]] == ["log", str(tmp_path / "one"), "k-session"]
    assert len({len(row) for row in attack.table}) == 1


def test_the_headline_is_of_the_most_exposed_release() -> None:
    """In whatever order they are named: everybody's own queries are in one of them, and in the others nobody's."""
    log = qv.read(table({f"u{n}": ["weather", f"mine {n}", f"also {n}"] for n in range(30)}))
    plain = qv.publish(log, qv.AdHoc(steps=("hash-users",)), i_understand=True)
    made = [qv.publish(log, qv.KQuery(k=3)), qv.publish(log, qv.KSession(k=3))]
    for releases in ([plain, *made], [*made, plain]):
        attack = qv.LinkageAttack(known=(2,)).run(log, releases)
        assert (attack.figures["of"], attack.success) == ("ad-hoc", 1.0)


def test_a_release_in_which_nobody_is_found_is_not_the_most_exposed_one() -> None:
    """Half of all queries are of one user each: whoever knows one finds somebody in a hashed log, the right one or not.

    So its advantage is nothing, of which less is known than of the nothing in a release where nobody is found. That
    none of 300 draws is such a query has probability 2^-300.
    """
    log = qv.read(table({f"u{n}": ["weather", f"mine {n}"] for n in range(300)}))
    plain = qv.publish(log, qv.AdHoc(steps=("hash-users",)), i_understand=True)
    nobody = qv.publish(log, qv.KQuery(k=3))
    for releases in ([plain, nobody], [nobody, plain]):
        attack = qv.LinkageAttack(known=(1,), trials=300).run(log, releases)
        low = {
            one["of"]: one["linked"]["interval"][0] for one in attack.figures["results"] if "linked" in one
        }
        assert low["ad-hoc"] < low["k-query"] < 0, "the lower end of an interval is no measure of exposure"
        assert attack.figures["of"] == "ad-hoc" and attack.success > 0.2


# -- edges and wrong input -----------------------------------------------------------------------------------


def test_one_user_is_alone() -> None:
    made = qv.LinkageAttack().run(qv.read(table({"only": ["x"]})))
    assert (made.success, made.control) == (1.0, 0.0)
    assert made.figures["users_with_fewer_queries"] == {"1": 0, "2": 1, "3": 1}


def test_logs_without_queries_are_refused() -> None:
    for queries in ([], ["", None]):
        users = [f"u{n}" for n in range(len(queries))]
        log = pa.table({"user": pa.array(users, pa.string()), "query": pa.array(queries, pa.string())})
        with pytest.raises(qv.CannotBeMet, match="no user of the log has a query"):
            qv.LinkageAttack().run(qv.read(log))


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        ("log.csv --known 0", 2, "parameter 'known' must be"),
        ("log.csv --known 21", 2, "parameter 'known' must be"),
        ("log.csv --known two", 2, "--known must be a list of numbers"),
        ("log.csv --trials 0", 2, "parameter 'trials' must be"),
        ("log.csv nothing", 3, "is not a release"),
        ("empty.csv", 3, ""),
        ("missing.csv", 3, ""),
        ("binary.bin", 3, ""),
    ],
)
def test_wrong_commands(
    arguments: str, code: int, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log.csv").write_text("user,query\na,dark secret\nb,dark secret\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "binary.bin").write_bytes(bytes(range(256)) * 9)
    monkeypatch.chdir(tmp_path)
    done = command("attack", "linkage", *arguments.split())
    assert done.code == code and done.out == "" and words in done.err
    assert done.err.count("\n") == 1 and "secret" not in done.err


def test_the_command_prints_figures_and_no_text(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(
        "user,time,query\n" + "".join(f"u{n},{at(n)},dark secret\n" for n in range(9))
    )
    release = tmp_path / "release"
    qv.publish(qv.read(tmp_path / "log.csv"), qv.KQuery(k=3), out=release)
    done = command("attack", "linkage", str(tmp_path / "log.csv"), str(release), "--json")
    assert done.code == 0 and "secret" not in done.out
    assert {"success", "control", "advantage", "interval", "results"} <= set(done.document)
    assert json.dumps(done.document)
    words = command("attack", "linkage", str(tmp_path / "log.csv"), str(release), "--known", "1,2").out
    assert "known queries" in words and "secret" not in words
