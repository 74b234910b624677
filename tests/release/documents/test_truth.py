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
from queryveil.catalog import Sentence, from_data
from queryveil.privacy.statements import (
    CHECKED,
    INFERENCE,
    LINKABILITY,
    NOT_EXCLUDED,
    QUESTIONS,
    SINGLING_OUT,
    VERDICTS,
    YES,
)
from queryveil.release.documents import assessment, parameter_values, rendering, sentences
from tests.conftest import at, many
from tests.sentences import fields_of, ids_of, sentences_in

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


def answers(manifest: dict[str, Any]) -> dict[str, tuple[str, str]]:
    """The verdict and the reason of each answer."""
    return {one.question: (one.verdict, one.reason) for one in assessment.answers(manifest)}


def said_by(manifest: dict[str, Any]) -> list[str]:
    """All sentences of all documents that do not come from tables."""
    guarantee = qv.Guarantee.from_dict(manifest["guarantee"])
    return [
        guarantee.headline,
        *sentences.promises(guarantee),
        *sentences.withheld(manifest),
        *sentences.learnt(manifest),
        *sentences.limits(manifest),
        *(one for part in assessment.impact(manifest) for one in part.points),
    ]


@pytest.fixture(params=list(EVERY))
def manifest(request: pytest.FixtureRequest) -> dict[str, Any]:
    return stated(EVERY[request.param])


# -- every method --------------------------------------------------------------------------------------------


def test_each_answer_begins_with_a_verdict(manifest: dict[str, Any]) -> None:
    found = answers(manifest)
    assert list(found) == list(QUESTIONS)
    assert all(verdict in VERDICTS and reason for verdict, reason in found.values()), found


def test_an_impact_assessment_asks_for_what_only_the_controller_knows(manifest: dict[str, Any]) -> None:
    points = [one for part in assessment.impact(manifest) for one in part.points]
    asked = {
        "impact.necessity.basis",
        "impact.necessity.special",
        "impact.asked.officer",
        "impact.asked.people",
    }
    found = ids_of(points)
    assert asked | {"question.source"} <= found
    unprotected = manifest["guarantee"]["kind"] == "none"
    assert ("impact.remains.none" in found) is unprotected
    assert ("impact.remains.anonymous" in found) is not unprotected
    text = " ".join(points)
    assert text.count("[") == text.count("]")


def test_what_verify_does_is_said_for_the_kind_of_guarantee(manifest: dict[str, Any]) -> None:
    kind, said = manifest["guarantee"]["kind"], sentences.check(manifest)
    known = {"k-anonymity": "verify.crowd", "none": "verify.none"}
    assert said.id == known.get(kind, "verify.private")
    if kind == "k-anonymity":
        assert sentences.declared(manifest, CHECKED)


def test_no_sentence_counts_one_thing_as_many_or_names_keys(manifest: dict[str, Any]) -> None:
    text = " ".join(said_by(manifest))
    assert not re.search(r"(?<!k - )\b1 (queries|rows|clicks|accounts|keywords)\b", text)
    assert "'implies'" not in text and " her " not in text


# -- k-anonymity ---------------------------------------------------------------------------------------------


def test_a_keyword_of_three_users_is_published_by_k_session_with_k_of_five(tmp_path: Path) -> None:
    """Five users, three of them with a keyword that the others lack: it is in all five rows."""
    rows = [(f"u{user}", at(user), "cheap flights" + (" lisbon" if user < 3 else "")) for user in range(5)]
    release = qv.publish(qv.read(log_of(*rows)), qv.KSession(k=5), out=tmp_path / "out")
    assert release.tables["transactions"]["items"].to_pylist() == [["cheap", "flights", "lisbon"]] * 5
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    said = said_by(from_data(manifest))
    assert fields_of(said, "crowd.majority") == {"shared": "set of keywords", "k": 5, "most": 3}
    assert fields_of(said, "k-session.disclosed") == {"most": 3}
    assert "crowd.all" not in ids_of(said)
    sheet = (tmp_path / "out" / "DATASHEET.md").read_text()
    assert "| 5 | 60% |" in sheet and "100%" not in sheet


def test_a_session_of_one_user_is_published_by_k_query(tmp_path: Path) -> None:
    rows = [(f"a{n}", at(n), "flu") for n in range(2)] + [(f"b{n}", at(n), "divorce") for n in range(2)]
    rows += [("c", at(0), "flu"), ("c", at(1), "divorce")]
    release = qv.publish(qv.read(log_of(*rows)), qv.KQuery(k=3), out=tmp_path / "out")
    sessions = release.tables["log"].group_by("session").aggregate([("query", "list")])["query_list"]
    assert sessions.to_pylist().count(["flu", "divorce"]) == 1, "one person's combination is there"
    said = said_by(from_data(json.loads((tmp_path / "out" / "manifest.json").read_text())))
    assert fields_of(said, "k-query.disclosed") == {"k": 3}


@pytest.mark.parametrize("name", ["k-session", "k-keyword", "clump", "partition"])
def test_a_crowd_can_be_linked_to_with_one_in_k(name: str) -> None:
    verdict, reason = answers(stated(EVERY[name]))[LINKABILITY]
    assert verdict == NOT_EXCLUDED and dict(next(sentences_in(reason)).fields) == {"k": 5}


# -- rows of single people -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["semantic", "per phrase", "padded", "kept", "topics", "profile-histogram"])
def test_rows_for_each_person_need_no_crowd(name: str) -> None:
    manifest = stated(EVERY[name])
    said = ids_of(said_by(manifest))
    assert not said & {"limits.popular", "learnt.popular"}
    assert "concepts.on-purpose" in said
    assert said & {"statement.users-are-public.rows", "statement.users-inside-are-public"}


@pytest.mark.parametrize("name", ["padded", "profile-histogram"])
def test_rows_of_equal_number_tell_the_number_of_users(name: str) -> None:
    release = qv.publish(qv.read(many(30, ["measles"])), EVERY[name])
    assert release.tables["log"].num_rows == 2 * 30
    manifest = stated(EVERY[name])
    assert "concepts.equal.disclosed" in ids_of(said_by(manifest))
    verdict, reason = answers(manifest)[SINGLING_OUT]
    assert verdict == NOT_EXCLUDED and fields_of(reason, "answer.bound") == {"epsilon": 8}


def test_what_is_disclosed_is_named_in_the_answers() -> None:
    kept, topics = (answers(stated(EVERY[name])) for name in ("kept", "topics"))
    for verdict, reason in (kept[SINGLING_OUT], kept[INFERENCE]):
        assert verdict == YES and "semantic.kept" in ids_of(reason)
    verdict, reason = topics[INFERENCE]
    assert verdict == YES and "semantic.certain.special" in ids_of(reason)
    assert fields_of(reason, "semantic.certain.topics") == {"topics": "disease.n.01, sport.n.01"}


def test_phrases_of_a_person_add_up_and_no_sentence_limits_them() -> None:
    manifest = stated(EVERY["per phrase"])
    assert answers(manifest)[INFERENCE][0] == NOT_EXCLUDED
    assert "impact.minimized.user" not in ids_of(said_by(manifest))


# -- nothing promised ----------------------------------------------------------------------------------------


def test_clicked_urls_keep_no_caveat_of_a_guarantee() -> None:
    said = ids_of(said_by(stated(EVERY["clicked"])))
    assert {"statement.urls-not-covered", "statement.accounts-can-publish.uncovered"} <= said
    assert "statement.accounts-can-publish" not in said
    assert "statement.accounts-can-publish" in ids_of(said_by(stated(EVERY["click-graph"])))


def test_counts_of_users_are_called_so() -> None:
    one = qv.ClickGraph(
        epsilon=1, delta=1e-5, epsilon_clicks=1, urls="clicked", count_by="users", max_queries=1, max_clicks=1
    ).plan()
    said = ids_of(one.how)
    assert {"graph.how.urls.clicked.users", "graph.how.counted.users", "graph.how.first.one"} <= said
    assert not [id for id in said if id.endswith(".times")]


def of_users(method: qv.Mechanism) -> str:
    """The id of what the log that a method publishes says of its column of users."""
    column = method.plan().table("log").column("user")
    assert column is not None and isinstance(column.help, Sentence)
    return column.help.id


def test_sealed_queries_are_not_said_to_be_read() -> None:
    said = said_by(stated(EVERY["sealed"]))
    assert "ad-hoc.inference" not in ids_of(said)
    assert fields_of(said, "ad-hoc.inference.sealed") == {"k": 5}
    assert of_users(EVERY["users"]) == "ad-hoc.user.plain"
    assert of_users(EVERY["sealed"]) == "ad-hoc.user.pseudonyms"
    assert of_users(qv.AdHoc(steps=("hash-users",))) == "ad-hoc.user.hashed"


@pytest.mark.parametrize("name", ["token-hash", "hashes apart", "users", "deleted", "sealed"])
def test_what_links_rows_is_not_merely_not_excluded(name: str) -> None:
    assert answers(stated(EVERY[name]))[LINKABILITY][0] == YES
    assert answers(stated(EVERY["apart"]))[LINKABILITY][0] == NOT_EXCLUDED


# -- histograms ----------------------------------------------------------------------------------------------


def test_every_delta_of_a_probabilistic_guarantee_is_named() -> None:
    manifest = stated(EVERY["zealous"])
    found = answers(manifest)
    reason = found[INFERENCE][1]
    assert fields_of(reason, "answer.bound-and-delta")["delta"] == 0.0009
    assert {"kind.probabilistic-dp"} <= ids_of(reason)
    assert "delta.which" in ids_of(found[SINGLING_OUT][1])
    named = [names[-1] for names, _ in parameter_values.calibration(manifest) if "delta" in names[-1]]
    assert len(named) == 4 and all(isinstance(one, Sentence) for one in named)
    assert "statement.users-are-public" in ids_of(said_by(manifest))


def test_clicks_beside_queries_are_in_the_title(generated: Path) -> None:
    lists = str(generated.with_name("results.tsv"))
    plan = qv.Zealous(
        epsilon=6, delta=0.1, max_items=1, then_clicks=True, results=lists, guarantee="probabilistic"
    ).plan(users=100)
    assert "items.what.clicks" in ids_of(plan.what)
    assert {one.code for one in plan.guarantee.caveats} >= {"no-ratios", "click-counts-are-noisy"}
    several = qv.Zealous(
        epsilon=6, delta=0.1, items=("queries", "keywords", "clicks"), guarantee="probabilistic"
    ).plan(users=100)
    kinds = {"items.queries", "items.keywords", "items.clicks"}
    assert kinds <= ids_of(several.what)
    assert {"count.queries", "count.keywords", "count.clicks"} <= ids_of(several.how)
