"""The study of user profiles, with a few users: what must hold does, and fails where it should."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import queryveil as qv
import queryveil_lab as lab
from queryveil.language.taxonomy.topics import Topics
from queryveil.measure.profiles import SUB_TOPICS, TOPICS
from queryveil.mechanisms.concept_profiles import phrases as semantic_rows
from queryveil_lab.studies import Findings, profiles
from queryveil_lab.studies.profiles import SETTINGS, generated
from tests.seeded import SeededBits

LOSS = "profile-divergence"
PERTURBED = ["sqc1", "sqc2", "nsqc"]
SMALL: dict[str, list[Any]] = {"users": [60], "phrases": [16]}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> lab.Comparison:
    """Noise with a seed: with so few users, other noise would raise a false alarm now and then."""
    out = tmp_path_factory.mktemp("profiles") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profiles, "Noise", lambda: qv.Noise(SeededBits(7)))
        return lab.compare(
            None, "profiles", vary={**SMALL, "epsilon": [0.1, 5.0, 10.0, 20.0]}, repeats=3, out=out
        )


def test_every_expected_shape_is_there_and_drawn(made: lab.Comparison) -> None:
    assert [check.name for check in made.checks if not check.passes] == []
    assert len(made.checks) == 1 + 9 + 12 + 6 + 4 + 9
    assert [file.name for file in made.figures] == ["per-query.png", "per-user.png", "printed.png"]


def test_nothing_is_lost_where_topics_are_the_domains(made: lab.Comparison) -> None:
    found = made.findings.where(setting="D=P", metric=LOSS)
    for criterion in PERTURBED:
        assert {row["value"] for row in found.where(criterion=criterion)} == {0.0}
    assert all(row["value"] > 0 for row in found.where(criterion="hbdp"))


def test_order_of_the_settings_at_one_epsilon(made: lab.Comparison) -> None:
    found = made.findings.where(metric=LOSS, epsilon_per="query", epsilon=0.1)
    for criterion in PERTURBED:
        a, b, c = (found.where(criterion=criterion, setting=setting).value for setting in "ABC")
        assert a < b - 0.1 and c < b - 0.1


def test_epsilon_per_query_matters_and_per_user_does_not(made: lab.Comparison) -> None:
    found = made.findings.where(metric=LOSS, setting="A", criterion="sqc2")
    query, user = (found.where(epsilon_per=per).along("epsilon") for per in ("query", "user"))
    assert query[20.0] < 0.1 < query[0.1]
    assert abs(user[20.0] - user[0.1]) < 0.05


def test_equation_2_gives_every_criterion_half_of_epsilon(made: lab.Comparison) -> None:
    """NSQC may use all of epsilon: as printed, at 20, it is what it is at 10; and at 10 it loses much more."""
    found = made.findings.where(metric=LOSS, epsilon_per="query")
    for setting in "ABC":
        own = found.where(setting=setting)
        ours = own.where(criterion="nsqc").along("epsilon")
        printed = own.where(criterion="nsqc-printed").along("epsilon")
        assert abs(printed[20.0] - ours[10.0]) < 0.03
        assert abs(printed[10.0] - ours[5.0]) < 0.03
        assert printed[10.0] > ours[10.0] + 0.1


def test_a_domain_that_leaks_out_of_topics_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A twin that draws D = P from all of abstraction."""
    monkeypatch.setitem(SETTINGS, "D=P", SETTINGS["C"])
    vary = {**SMALL, "setting": ["D=P"], "criterion": ["nsqc"], "epsilon": [1.0], "epsilon_per": ["query"]}
    broken = lab.compare(None, "profiles", vary=vary, repeats=1)
    assert [check.passes for check in broken.checks] == [False]


@pytest.mark.parametrize(
    ("setting", "per", "epsilon", "criterion", "name"),
    [
        ("A", "query", 20.0, "sqc1", "the loss falls (setting A"),
        ("A", "query", 0.1, "sqc1", "setting A loses less than B"),
        ("C", "query", 0.1, "sqc1", "setting C loses less than B"),
        ("B", "user", 5.0, "sqc1", "the loss hardly changes up to 10 (setting B"),
        ("D=P", "user", 5.0, "sqc1", "nothing is lost where"),
        ("A", "query", 10.0, "sqc2", "SQC2 loses least at epsilon 10 (setting A"),
        ("B", "query", 10.0, "nsqc-printed", "HBDP loses most at epsilon 10 (setting B"),
        ("C", "query", 5.0, "hbdp-printed", "the loss of HBDP hardly changes (setting C"),
    ],
)
def test_checks_fail_for_results_without_the_shape(
    made: lab.Comparison, setting: str, per: str, epsilon: float, criterion: str, name: str
) -> None:
    """One loss is put at 2, which is far from where it belongs."""

    def spoilt(row: dict[str, Any]) -> dict[str, Any]:
        here = (setting, per, epsilon, LOSS, criterion)
        same = here == tuple(row[key] for key in ("setting", "epsilon_per", "epsilon", "metric", "criterion"))
        return {**row, "value": 2.0} if same else row

    checks = made.study.checks(Findings(tuple(map(spoilt, made.findings))))
    assert any(name in check.name for check in checks if not check.passes)


def test_topics_are_the_largest_direct_specialisations() -> None:
    taxonomy = qv.Taxonomy.wordnet()
    below = taxonomy.hypernyms.reverse
    direct = {int(one) for root in Topics(taxonomy, TOPICS).roots for one in below.targets(root)}
    sizes = {taxonomy.label(one): len(taxonomy.below(one, graph=True)) for one in direct}
    assert tuple(sorted(sizes, key=lambda label: (-sizes[label], label))[: len(SUB_TOPICS)]) == tuple(
        sorted(SUB_TOPICS, key=lambda label: (-sizes[label], label))
    )
    assert len(SUB_TOPICS) == 19


def test_made_users_have_interests_and_the_seed_decides() -> None:
    taxonomy = qv.Taxonomy.wordnet()
    users, again, other = (generated(50, 100, seed, taxonomy) for seed in (1, 1, 2))
    assert np.array_equal(users.concepts, again.concepts)
    assert not np.array_equal(users.concepts[:100], other.concepts[:100])
    counts = users.counts()
    assert counts.min() >= 90 and counts.max() <= 110
    words = [taxonomy.word(concept) for concept in users.concepts.tolist()]
    assert np.array_equal(taxonomy.lookup(words), users.concepts), "every phrase is mapped to its concept"
    topics = Topics(taxonomy, SUB_TOPICS)
    profile = qv.profile_counts(users.owners, topics.topic_of_concept[users.concepts], users=50, number=19)
    assert (profile.max(axis=1) / profile.sum(axis=1)).mean() > 0.3, "far from one in 19"


def test_a_log_brings_its_own_phrases() -> None:
    table = pa.table({"user": ["a", "a", "b", "c"], "query": ["measles", "basketball", "algebra", "zzzz"]})
    log = qv.read(table)
    vary: dict[str, Any] = {"criterion": PERTURBED, "epsilon": [1.0], "setting": ["D=P"]}
    made = lab.compare(log, "profiles", vary=vary, repeats=1)
    assert made.passes
    assert {(row["users"], row["phrases"]) for row in made.findings} == {(2, 2)}, "c has no topic"
    nothing = qv.read(pa.table({"user": ["a"], "query": ["zzzz"]}))
    with pytest.raises(qv.CannotBeMet, match="topics"):
        lab.compare(nothing, "profiles", vary=vary, repeats=1)


def test_users_of_a_log_are_chosen_by_a_hash(monkeypatch: pytest.MonkeyPatch) -> None:
    taxonomy = qv.Taxonomy.wordnet()
    rows = [(f"u{n}", query) for n in range(30) for query in ["measles", "flu"][: n % 2 + 1]]
    user, query = zip(*rows, strict=True)
    log = qv.read(pa.table({"user": user, "query": query}))
    every, few, again, other = (
        profiles.of_log(log, most, seed, taxonomy).counts().tolist()
        for most, seed in ((99, 1), (8, 1), (8, 1), (8, 2))
    )
    assert sorted(every) == [1] * 15 + [2] * 15
    assert few == again == every[:8] and few != other
    monkeypatch.setattr(semantic_rows, "_WINDOW_ROWS", 4)
    assert profiles.of_log(log, 8, 1, taxonomy).counts().tolist() == few, "whatever is read together"


@pytest.mark.parametrize(
    "vary", [{"setting": ["E"]}, {"criterion": ["sqc3"]}, {"epsilon_per": ["day"]}, {"users": [5, 6]}]
)
def test_values_that_mean_nothing_are_refused(vary: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(qv.UsageError, match="study profiles"):
        lab.compare(None, "profiles", vary=vary)
