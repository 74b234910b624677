"""How near drawn concepts are to the true ones: said before data is read, and what draws then do."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import norm

import queryveil as qv
from queryveil.catalog import Sentence
from queryveil.mechanisms.concept_profiles import nearness as semantic_near
from queryveil.mechanisms.concept_profiles.domain import Choice
from queryveil.privacy.noise import Noise
from tests.command import command
from tests.seeded import SeededBits
from tests.semantic_worlds import food_file, history, probabilities, sampler
from tests.sentences import fields_of, ids_of

__all__ = ["food_file"]

FALSE_ALARM = 1e-6
NEAR = ("drawn_true", "drawn_within_1_step", "drawn_within_2_steps")

# The tree of all tests by hand:  root - (left - deep, right)
TREE = "left\troot\nright\troot\ndeep\tleft\n"


@pytest.fixture
def tree(tmp_path: Path) -> str:
    file = tmp_path / "tree.tsv"
    file.write_text(TREE)
    return str(file)


def shares(method: qv.Semantic) -> list[float]:
    figures = method.plan().calibration
    return [figures[name] for name in NEAR]


# -- by hand -----------------------------------------------------------------------------------------------------


def test_shares_of_a_tree_of_four_are_those_counted_by_hand(tree: str) -> None:
    """At epsilon ln 3 the true concept has weight 3 and each other 1: of 6, within one step 5, 5, 4 and 4."""
    method = qv.Semantic(epsilon=math.log(3), criterion="nsqc", max_phrases=1, taxonomy=tree)
    assert shares(method) == pytest.approx([1 / 2, 3 / 4, 11 / 12], abs=1e-9)


def test_similar_concepts_of_a_tree_of_four_are_those_counted_by_hand(tree: str) -> None:
    """Shares of ancestors in common, of each pair, counted on paper; the least is 1/4, of right and deep."""
    common = {
        ("root", "left"): (1 / 2, 1),
        ("root", "right"): (1 / 2, 1),
        ("root", "deep"): (1 / 3, 2),
        ("left", "right"): (1 / 3, 2),
        ("left", "deep"): (2 / 3, 1),
        ("right", "deep"): (1 / 4, 3),
    }
    names = ("root", "left", "right", "deep")
    epsilon = 5.0

    def weight(f: float) -> float:
        return math.exp(-epsilon / 2 * math.log2(2 - f) / math.log2(2 - 1 / 4))

    expected = []
    for most in (0, 1, 2):
        found = []
        for true in names:
            others = [(weight(f), steps) for pair, (f, steps) in common.items() if true in pair]
            total = 1 + sum(one for one, _ in others)
            found.append((1 + sum(one for one, steps in others if steps <= most)) / total)
        expected.append(sum(found) / 4)
    found = shares(qv.Semantic(epsilon=epsilon, epsilon_per="query", taxonomy=tree))
    assert found == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("criterion", ["sqc1", "nsqc"])
def test_concepts_of_several_kinds_are_reached_on_every_path(criterion: str) -> None:
    """In WordNet a concept may be a kind of two others: every pair, step by step, from the weights drawn by."""
    nouns, epsilon = qv.Taxonomy.wordnet(), Fraction(7)
    one = sampler(nouns, "athletic game", criterion)
    concepts = one.domain.concepts.tolist()
    beside: dict[int, set[int]] = {concept: set() for concept in concepts}
    for concept in concepts:
        for above in nouns.hypernyms.targets(concept).tolist():
            if above in beside:
                beside[concept].add(above)
                beside[above].add(concept)
    sums = [Fraction(0)] * 3
    for place, concept in enumerate(concepts):
        chances = probabilities(one, place, epsilon)
        reached = {concept}
        for steps in range(3):
            sums[steps] += sum(chances[concepts.index(other)] for other in reached)
            reached = reached.union(*(beside[other] for other in reached))
    method = qv.Semantic(epsilon=7, epsilon_per="query", domain="athletic game", criterion=criterion)
    assert len(concepts) <= semantic_near.MOST_LOOKED_AT
    assert shares(method) == pytest.approx([float(one / len(concepts)) for one in sums], abs=1e-12)


def test_topics_have_shares_of_their_own_and_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "topics.tsv"
    file.write_text("a\ttop\nb\ttop\na1\ta\nb1\tb\nb2\tb\nb3\tb\n")
    method = qv.Semantic(
        epsilon=math.log(3),
        criterion="nsqc",
        max_phrases=1,
        domain="per-topic",
        topics=("a", "b"),
        taxonomy=str(file),
    )
    plan = method.plan()
    assert plan.calibration["a"]["drawn_true"] == pytest.approx(3 / 4, abs=1e-9)
    assert plan.calibration["b"]["drawn_true"] == pytest.approx(3 / 6, abs=1e-9)
    # Of six concepts two are of the first topic: (2 * 3/4 + 4 * 1/2) / 6 = 7/12.
    assert "the true one in 58 of 100 draws" in plan.expected[0]


# -- against draws -----------------------------------------------------------------------------------------------


def apart(food: qv.Taxonomy) -> Callable[[str, str], int]:
    """Steps between two concepts of a tree, by their lines of ancestors."""

    def line(label: str) -> list[int]:
        found = [food.find_concept(label)]
        while food.parents[found[-1]] >= 0:
            found.append(int(food.parents[found[-1]]))
        return found

    def steps(one: str, other: str) -> int:
        mine, theirs = line(one), line(other)
        return len(set(mine) ^ set(theirs))

    return steps


@pytest.mark.parametrize("criterion", ["sqc1", "nsqc"])
def test_draws_are_as_near_as_the_plan_says(food_file: Path, criterion: str) -> None:
    """Three shares of 24,000 independent draws, 2,000 for each concept: a false alarm of 1e-6 for all three."""
    food = qv.Taxonomy.from_file(food_file)
    names = food.labels(range(len(food)))
    asked = {f"u{number}": names[number % len(names)] for number in range(2_000 * len(names))}
    method = qv.Semantic(epsilon=4, criterion=criterion, max_phrases=1, taxonomy=str(food_file))
    log = qv.read(history(**{user: [label] for user, label in asked.items()}))
    release = qv.publish(log, method, noise=Noise(SeededBits(11)), i_understand=True)
    original = dict(zip(*release.private["user-map"].to_pydict().values(), strict=True))
    steps = apart(food)
    drawn = [steps(asked[original[row["user"]]], row["query"]) for row in release.tables["log"].to_pylist()]
    assert len(drawn) == len(asked)

    def fits(stated: list[float]) -> bool:
        """The variance of draws of different chances is at most that of as many of their mean."""
        sigmas = norm.isf(FALSE_ALARM / 6)
        found = [sum(one <= most for one in drawn) / len(drawn) for most in range(3)]
        allowed = [sigmas * (p * (1 - p) / len(drawn)) ** 0.5 for p in stated]
        return all(abs(p - q) <= most for p, q, most in zip(found, stated, allowed, strict=True))

    assert fits(shares(method))
    for off in (0.7, 1.3):
        assert not fits(shares(dataclasses.replace(method, epsilon=4 * off)))
    one_step_more = [*shares(method)[1:], 1.0]
    assert not fits(one_step_more)


# -- what follows from the parameters ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"criterion": "nsqc"},
        {"criterion": "sqc2", "topics": ("disease", "sport")},
        {"max_phrases": 3, "tight": True, "domain": "sport"},
    ],
    ids=str,
)
def test_shares_grow_with_epsilon_and_with_steps(given: dict[str, Any]) -> None:
    found = [shares(qv.Semantic(epsilon=epsilon, **given)) for epsilon in (0.01, 1, 3, 10, 30)]
    for one in found:
        assert 0 < one[0] <= one[1] <= one[2] <= 1
    for smaller, larger in itertools.pairwise(found):
        assert all(a < b for a, b in zip(smaller, larger, strict=True))


def test_without_epsilon_to_speak_of_draws_are_blind() -> None:
    figures = qv.Semantic(epsilon=1e-6, max_phrases=1).plan().calibration
    assert figures["drawn_true"] == pytest.approx(1 / figures["concepts"], rel=1e-5)


def test_a_large_domain_is_looked_at_in_the_same_places_each_time() -> None:
    nearness = Choice.of(None, None, None, "sqc1").near[0]
    many = len(nearness.sampler.domain)
    assert len(nearness.places) == 500 and nearness.places.max() < many
    steps = set(nearness.places[1:] - nearness.places[:-1])
    assert steps <= {many // 500, many // 500 + 1}
    looked_at = fields_of(qv.Semantic(epsilon=1).plan().expected, "plan.nearness.some")
    assert looked_at == {"some": 500, "all": 39_914}


def test_a_spread_epsilon_is_told_for_one_phrase_and_for_ten(tree: str) -> None:
    plan = qv.Semantic(epsilon=math.log(3), criterion="nsqc", taxonomy=tree).plan()
    assert plan.calibration["drawn_for_phrases"] == 1
    said = fields_of(plan.expected, "plan.nearness.more")
    assert said["phrases"] == 10 and true_draws(said["nearness"]) == (50, 100)
    # e^(ln 3 / 10) = 1.116: of 4.116 the true one has 27 %.
    assert true_draws(said["more"]) == (27, 100)
    fixed = qv.Semantic(epsilon=math.log(3), criterion="nsqc", max_phrases=10, taxonomy=tree).plan()
    assert "drawn_for_phrases" not in fixed.calibration
    assert true_draws(fields_of(fixed.expected, "plan.nearness")["nearness"]) == (27, 100)
    assert fixed.calibration["drawn_true"] == pytest.approx(0.2712, abs=1e-4)


# -- sentences -------------------------------------------------------------------------------------------------------


def true_draws(nearness: Sentence) -> tuple[int, int]:
    """Return how many of how many draws are the true concept."""
    fields = fields_of(nearness, "plan.nearness.draws")
    return fields["same"].fields["draws"], fields["base"]


def noise_of(**given: Any) -> list[str]:
    """Return the warnings that draws are mostly noise."""
    return [one for one in qv.Semantic(**given).plan().warnings if "plan.warning.mostly-noise" in ids_of(one)]


def test_noise_is_warned_of_and_what_is_near_is_not() -> None:
    assert noise_of(epsilon=0.1) and noise_of(epsilon=0.1, max_phrases=5)
    assert not noise_of(epsilon=40, max_phrases=1) and not noise_of(epsilon=40, epsilon_per="query")
    (spread,) = noise_of(epsilon=40)
    assert fields_of(spread, "plan.mostly-noise.who") == {"phrases": 10}
    assert "plan.mostly-noise.pass" in ids_of(spread)
    (capped,) = noise_of(epsilon=1, max_phrases=5)
    assert {"plan.mostly-noise.lower", "plan.mostly-noise.domain.narrower"} <= ids_of(capped)
    (single,) = noise_of(epsilon=1, max_phrases=1)
    assert "max_phrases" not in single, "there is nothing to lower"


def test_a_topic_that_is_noise_is_named(tmp_path: Path) -> None:
    small = "".join(f"s{n}\tsmall\n" for n in range(2))
    chain = "".join(f"c{n}\tc{n - 1}\n" for n in range(1, 60))
    (tmp_path / "two.tsv").write_text(f"small\ttop\nlarge\ttop\nc0\tlarge\n{small}{chain}")
    (said,) = noise_of(
        epsilon=0.1,
        criterion="nsqc",
        max_phrases=1,
        domain="per-topic",
        topics=("small", "large"),
        taxonomy=str(tmp_path / "two.tsv"),
    )
    assert fields_of(said, "plan.mostly-noise.topics") == {"topics": "large"}
    assert "plan.mostly-noise.topics.narrower" in ids_of(said)


def test_plan_and_publish_say_it(tree: str, tmp_path: Path) -> None:
    given = ("--epsilon", "1", "--max-phrases", "1", "--criterion", "nsqc", "--taxonomy", tree)
    (expected,) = qv.Semantic(epsilon=1, max_phrases=1, criterion="nsqc", taxonomy=tree).plan().expected
    assert true_draws(fields_of(expected, "plan.nearness")["nearness"]) == (48, 100)
    done = command("plan", "semantic", *given)
    assert done.code == 0
    printed = " ".join(done.out.split())
    assert expected in printed
    document = command("plan", "semantic", *given, "--json").document
    assert document["calibration"]["drawn_true"] == pytest.approx(math.e / (math.e + 3), abs=1e-9)
    assert document["expected"] == [expected]
    log = tmp_path / "log.csv"
    log.write_text("user,time,query\nann,2026-01-01 10:00:00,left\nbob,2026-01-01 11:00:00,deep\n")
    made = command("publish", str(log), "--method", "semantic", *given, "--out", str(tmp_path / "out"))
    assert made.code == 0, made.err
    assert expected in " ".join(made.out.split())
    sheet = (tmp_path / "out" / "DATASHEET.md").read_text()
    assert "drawn_within_2_steps" in sheet
    assert qv.verify(tmp_path / "out").passes and qv.verify(tmp_path / "out", taxonomy=Path(tree)).passes
