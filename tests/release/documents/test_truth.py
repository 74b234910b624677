"""What the documents of a release say is true of that release: sentences that once were not, method by method.

Each test has a small log in which the old sentence was false.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import queryveil as qv
from queryveil.privacy.statements import INFERENCE, LINKABILITY, QUESTIONS, SINGLING_OUT, VERDICTS
from queryveil.release.documents import assessment, parameter_values, rendering, sentences
from tests.conftest import at, many

VERDICT = re.compile(r"(Yes|No|Limited|Not excluded)[., ]")
DISEASES: dict[str, Any] = {"epsilon": 8, "domain": "disease"}
EVERY: dict[str, qv.Mechanism] = {
    "zealous": qv.Zealous(epsilon=1, delta=9e-4, max_items=1, guarantee="probabilistic"),
    "approximate": qv.Zealous(epsilon=1, delta=9e-4, max_items=1, guarantee="approximate"),
    "truncated-geometric": qv.TruncatedGeometric(epsilon=1, delta=1e-5),
    "click-graph": qv.ClickGraph(epsilon=1, delta=1e-5),
    "clicked": qv.ClickGraph(epsilon=1, delta=1e-5, epsilon_clicks=1, urls="clicked"),
    "k-query": qv.KQuery(k=5),
    "k-session": qv.KSession(k=5),
    "k-keyword": qv.KKeyword(k=5),
    "clump": qv.Clump(k=5),
    "partition": qv.Partition(k=5),
    "token-hash": qv.TokenHash(),
    "hashes apart": qv.TokenHash(sessions="drop"),
    "users": qv.AdHoc(steps=("scrub",)),
    "deleted": qv.AdHoc(steps=("delete-users",)),
    "apart": qv.AdHoc(steps=("delete-users", "shorten-sessions"), max_session=1),
    "sealed": qv.AdHoc(steps=("split-personality", "secret-sharing"), k=5),
    "semantic": qv.Semantic(epsilon=1),
    "per phrase": qv.Semantic(epsilon=1, epsilon_per="query"),
    "padded": qv.Semantic(**DISEASES, max_phrases=2, pad=True),
    "kept": qv.Semantic(epsilon=1, keep_words="function"),
    "topics": qv.Semantic(epsilon=1, domain="per-topic", topics=("disease", "sport")),
    "profile-histogram": qv.ProfileHistogram(**DISEASES, max_queries=2),
}


def log_of(*rows: tuple[str, Any, str]) -> pa.Table:
    user, time, query = zip(*rows, strict=True)
    return pa.table({"user": list(user), "time": list(time), "query": list(query)})


def stated(method: qv.Mechanism) -> dict[str, Any]:
    """The manifest of an empty release."""
    shown = {name: said for name, said in method.plan(users=1_000).as_dict().items() if name != "warnings"}
    software = {"name": "queryveil", "version": "0"}
    documents = rendering.document_version()
    more = {"documents": documents, "software": software, "created": "2026-01-01"}
    return {**shown, **more, "tables": {}, "files": {}}


def answers(manifest: dict[str, Any]) -> dict[str, str]:
    """Each answer as one text, which begins with the verdict."""
    return {one.question: f"{VERDICTS[one.verdict]}. {one.reason}" for one in assessment.answers(manifest)}


def said_by(manifest: dict[str, Any]) -> str:
    """All sentences of all documents that do not come from tables."""
    guarantee = qv.Guarantee.from_dict(manifest["guarantee"])
    parts = [one for part in assessment.impact(manifest) for one in part.points]
    return " ".join(
        [
            guarantee.headline,
            *sentences.promises(guarantee),
            *sentences.withheld(manifest),
            *sentences.learnt(manifest),
            *sentences.limits(manifest),
            *parts,
        ]
    )


@pytest.fixture(params=list(EVERY))
def manifest(request: pytest.FixtureRequest) -> dict[str, Any]:
    return stated(EVERY[request.param])


# -- every method --------------------------------------------------------------------------------------------


def test_each_answer_begins_with_a_verdict(manifest: dict[str, Any]) -> None:
    found = answers(manifest)
    assert list(found) == list(QUESTIONS)
    assert all(VERDICT.match(answer) for answer in found.values()), found


def test_an_impact_assessment_asks_for_what_only_the_controller_knows(manifest: dict[str, Any]) -> None:
    text = " ".join(one for part in assessment.impact(manifest) for one in part.points)
    for asked in ("Article 6", "Article 9(2)", "Article 35(2)", "Article 35(9)", "WP216"):
        assert asked in text, asked
    unprotected = manifest["guarantee"]["kind"] == "none"
    assert ("should be treated as personal data" in text) is unprotected
    assert ("Recital 26" in text) is not unprotected
    assert text.count("[") == text.count("]")


def test_what_verify_does_is_said_for_the_kind_of_guarantee(manifest: dict[str, Any]) -> None:
    kind, said = manifest["guarantee"]["kind"], sentences.check(manifest)
    assert ("computes the guarantee anew" in said) is kind.endswith("-dp")
    if kind == "k-anonymity":
        assert "cannot be seen from a release" in said and "at least 5" in said
    if kind == "none":
        assert "no guarantee to check" in said


def test_no_sentence_counts_one_thing_as_many_or_names_keys(manifest: dict[str, Any]) -> None:
    text = said_by(manifest)
    assert not re.search(r"(?<!k - )\b1 (queries|rows|clicks|accounts|keywords)\b", text)
    assert "'implies'" not in text and " her " not in text


# -- k-anonymity ---------------------------------------------------------------------------------------------


def test_a_keyword_of_three_users_is_published_by_k_session_with_k_of_five(tmp_path: Path) -> None:
    """Five users, three of them with a keyword that the others lack: it is in all five rows."""
    rows = [(f"u{user}", at(user), "cheap flights" + (" lisbon" if user < 3 else "")) for user in range(5)]
    release = qv.publish(qv.read(log_of(*rows)), qv.KSession(k=5), out=tmp_path / "out")
    assert release.tables["transactions"]["items"].to_pylist() == [["cheap", "flights", "lisbon"]] * 5
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    text = said_by(manifest)
    for false in (
        "What fewer than 5 users have in common is not disclosed",
        "set of keywords is shared by at least 5 users",
        "if all 5 searched for it, each did",
    ):
        assert false not in text
    assert "stands for sessions of at least 5 users" in text
    assert "At least 3 of these users searched for each keyword" in text
    assert "No keyword that fewer than 3 users searched for is disclosed" in text
    sheet = (tmp_path / "out" / "DATASHEET.md").read_text()
    assert "| 5 | 60 % |" in sheet and "100 %" not in sheet


def test_a_session_of_one_user_is_published_by_k_query(tmp_path: Path) -> None:
    rows = [(f"a{n}", at(n), "flu") for n in range(2)] + [(f"b{n}", at(n), "divorce") for n in range(2)]
    rows += [("c", at(0), "flu"), ("c", at(1), "divorce")]
    release = qv.publish(qv.read(log_of(*rows)), qv.KQuery(k=3), out=tmp_path / "out")
    sessions = release.tables["log"].group_by("session").aggregate([("query", "list")])["query_list"]
    assert sessions.to_pylist().count(["flu", "divorce"]) == 1, "one person's combination is there"
    text = said_by(json.loads((tmp_path / "out" / "manifest.json").read_text()))
    assert "What fewer than 3 users have in common is not disclosed" not in text
    assert "No query that fewer than 3 users made is disclosed" in text
    assert "even those that only one person has" in text


@pytest.mark.parametrize("name", ["k-session", "k-keyword", "clump", "partition"])
def test_a_crowd_can_be_linked_to_with_one_in_k(name: str) -> None:
    answer = answers(stated(EVERY[name]))[LINKABILITY]
    assert answer.startswith("Not excluded.") and "another data set" in answer and "1 in 5" in answer


# -- rows of single people -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["semantic", "per phrase", "padded", "kept", "topics", "profile-histogram"])
def test_rows_for_each_person_need_no_crowd(name: str) -> None:
    manifest = stated(EVERY[name])
    text = said_by(manifest)
    assert "opular searches are" not in text
    assert "one single person searched for can be published, however few share it" in text
    assert any(
        "the number of users" in one["sentence"] and "not hidden" in one["sentence"]
        for one in manifest["guarantee"]["assumptions"]
    )


@pytest.mark.parametrize("name", ["padded", "profile-histogram"])
def test_rows_of_equal_number_tell_the_number_of_users(name: str) -> None:
    release = qv.publish(qv.read(many(30, ["measles"])), EVERY[name])
    assert release.tables["log"].num_rows == 2 * 30
    manifest = stated(EVERY[name])
    assert "the number of users is disclosed exactly" in said_by(manifest)
    answer = answers(manifest)[SINGLING_OUT]
    assert "made from one person" in answer and "epsilon 8" in answer


def test_what_is_disclosed_is_named_in_the_answers() -> None:
    kept, topics = (answers(stated(EVERY[name])) for name in ("kept", "topics"))
    for answer in (kept[SINGLING_OUT], kept[INFERENCE]):
        assert answer.startswith("Yes. The words that were kept are published as typed.")
    assert topics[INFERENCE].startswith("Yes.")
    assert (
        "learn with certainty that a person searched for something of a topic (disease.n.01, sport.n.01)"
        in topics[INFERENCE]
    )
    assert "Article 9" in topics[INFERENCE]


def test_phrases_of_a_person_add_up_and_no_sentence_limits_them() -> None:
    manifest = stated(EVERY["per phrase"])
    assert answers(manifest)[INFERENCE].startswith("Not excluded.")
    assert "How much one person's searches can change the release is limited" not in said_by(manifest)


# -- nothing promised ----------------------------------------------------------------------------------------


def test_clicked_urls_keep_no_caveat_of_a_guarantee() -> None:
    manifest = stated(EVERY["clicked"])
    text = said_by(manifest)
    assert "epsilon and delta allow" not in text and "belong to the same person" not in text
    assert "Rows of single people" not in text and "that one person alone clicked" in text
    assert "epsilon and delta allow" in said_by(stated(EVERY["click-graph"]))


def test_counts_of_users_are_called_so() -> None:
    one = qv.ClickGraph(
        epsilon=1, delta=1e-5, epsilon_clicks=1, urls="clicked", count_by="users", max_queries=1, max_clicks=1
    ).plan()
    assert "noisy number of users who clicked it" in one.how and "noisy number of clicks" not in one.how
    assert "first query was counted" in one.how and "first click was counted" in one.how


def of_users(method: qv.Mechanism) -> str:
    """What the log that a method publishes says of its column of users."""
    declared = method.plan().table("log").as_dict()["columns"]
    return str(next(one["help"] for one in declared if one["name"] == "user"))


def test_sealed_queries_are_not_said_to_be_read() -> None:
    text = said_by(stated(EVERY["sealed"]))
    assert "as they are in the release" not in text and "5 different shares" in text
    helps = {name: of_users(EVERY[name]) for name in ("sealed", "users")}
    assert helps["users"] == "the user, as in the log" and "one user and one topic" in str(helps["sealed"])
    assert of_users(qv.AdHoc(steps=("hash-users",))) == "a keyed hash that stands for one user"


@pytest.mark.parametrize("name", ["token-hash", "hashes apart", "users", "deleted", "sealed"])
def test_what_links_rows_is_not_merely_not_excluded(name: str) -> None:
    assert answers(stated(EVERY[name]))[LINKABILITY].startswith("Yes.")
    assert answers(stated(EVERY["apart"]))[LINKABILITY].startswith("Not excluded.")


# -- histograms ----------------------------------------------------------------------------------------------


def test_every_delta_of_a_probabilistic_guarantee_is_named() -> None:
    manifest = stated(EVERY["zealous"])
    found = answers(manifest)
    assert "delta 0.0009 of probabilistic differential privacy" in found[INFERENCE]
    assert "(delta of approximate differential privacy)" in found[SINGLING_OUT]
    named = [names[-1] for names, _ in parameter_values.calibration(manifest) if "delta" in names[-1]]
    assert len(named) == 4 and all("differential privacy" in one for one in named)
    assert any("the log's own number" in one["sentence"] for one in manifest["guarantee"]["assumptions"])


def test_clicks_beside_queries_are_in_the_title(generated: Path) -> None:
    lists = str(generated.with_name("results.tsv"))
    plan = qv.Zealous(
        epsilon=6, delta=0.1, max_items=1, then_clicks=True, results=lists, guarantee="probabilistic"
    ).plan(users=100)
    assert "clicks on their results" in plan.what and "at most 1 query." in plan.how
    assert any("do not divide counts" in one.sentence for one in plan.guarantee.caveats)
    several = qv.Zealous(
        epsilon=6, delta=0.1, items=("queries", "keywords", "clicks"), guarantee="probabilistic"
    ).plan(users=100)
    assert "search queries, words of queries and queries with a clicked url" in several.what
    assert "1 query, 1 keyword and 1 click" in several.how


def test_too_few_users_are_dropped_only_where_a_threshold_says_so() -> None:
    for tau in (1, 4):
        how = qv.Zealous(noise_scale=2, second_threshold=40, tau=tau, guarantee="approximate").plan().how
        assert ("too few users were dropped" in how) is (tau > 1)


def test_noise_is_not_told_as_users_and_single_rows_are_not_listed(tmp_path: Path) -> None:
    rows = [(f"u{user}", at(0), f"query {item}") for item in range(1, 60) for user in range(200 + 10 * item)]
    log = qv.read(log_of(*rows))
    qv.publish(
        log,
        qv.Zealous(epsilon=20, delta=0.1, max_items=60, guarantee="probabilistic"),
        out=tmp_path / "noisy",
        i_understand=True,
    )
    page = (tmp_path / "noisy" / "report.html").read_text()
    assert "have noisy counts of" in page and not re.search(r"have [\d,]+ users or fewer", page)
    sealed = qv.AdHoc(steps=("secret-sharing",), k=5)
    qv.publish(qv.read(many(3, ["a", "b", "c"])), sealed, out=tmp_path / "sealed", i_understand=True)
    page = (tmp_path / "sealed" / "report.html").read_text()
    assert "Each of the 3 values of column sealed is in only one row." in page


@pytest.mark.parametrize("users", [1, 3])
def test_texts_that_begin_alike_are_told_apart(users: int, tmp_path: Path) -> None:
    texts = [f"{'the same words ' * 4}{end}" for end in "abcd"]
    rows = [(f"u{user}", at(0), text) for text in texts for user in range(users)]
    method = qv.AdHoc(steps=("delete-users",))
    qv.publish(qv.read(log_of(*rows)), method, out=tmp_path / "out", i_understand=True)
    page = (tmp_path / "out" / "report.html").read_text()
    assert ("Each of the 4 values of column query is in only one row." in page) is (users == 1)
    assert ("The most frequent values of column query (4 of 4)" in page) is (users == 3)


def test_sizes_have_the_same_nouns_everywhere(tmp_path: Path) -> None:
    qv.publish(qv.read(many(9, ["apples"])), qv.KKeyword(k=5), out=tmp_path / "out")
    for file in ("report.html", "DATASHEET.md", "croissant.json"):
        text = (tmp_path / "out" / file).read_text()
        assert (
            "1 word or prefix" in text.replace("1 Word", "1 word")
            and "1 items" not in text
            and "1 rows" not in text
        )


def test_the_licence_that_hubs_are_told_is_an_address(tmp_path: Path) -> None:
    qv.publish(qv.read(many(9, ["apples"])), qv.KKeyword(k=5), out=tmp_path / "out")
    described = json.loads((tmp_path / "out" / "croissant.json").read_text())
    assert re.fullmatch(r"https?://\S+", described["license"])
