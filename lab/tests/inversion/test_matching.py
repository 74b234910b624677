"""Distances and rules against their definitions, on small vocabularies."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lab.tests.inversion import naive, worlds
from queryveil.errors import UsageError
from queryveil_lab.inversion import matching
from queryveil_lab.inversion.kinds import CONTINUOUS, MOST_PAIRS
from queryveil_lab.inversion.matching import RULES, Sides
from queryveil_lab.inversion.starts import start

SEEDS = range(4)
N = 24


def sides(seed: int, n: int = N, **how: Any) -> tuple[Sides, worlds.Log, worlds.Log]:
    hashes, words = worlds.pair(seed)
    return Sides(hashes.at(n), words.at(n), **how), hashes, words


def some_mapping(seed: int, n: int = N, *, partial: bool = False) -> Any:
    rng = np.random.default_rng(seed)
    made = rng.permutation(n).astype(np.int32)
    if partial:
        made[rng.random(n) < 0.3] = -1
    return made


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("kind", ["l1", "l2", "cosine", "hellinger"])
@pytest.mark.parametrize("beta", [1.0, 0.6])
@pytest.mark.parametrize("partial", [False, True])
def test_distances_are_those_of_dense_rows(seed: int, kind: str, beta: float, partial: bool) -> None:
    both, hashes, words = sides(seed, distance=kind, beta=beta)
    mapping = some_mapping(seed, partial=partial)
    # Both prune the same single-precision shares: which of two equal neighbours goes is no rounding error.
    ours, theirs = (naive.pruned(one.at(N).cooc_n.toarray().astype(float), beta) for one in (hashes, words))
    wanted = naive.distances(ours, theirs, mapping, kind)
    found = both.pairs(both.by_company(mapping))
    assert (np.isfinite(found) == np.isfinite(wanted)).all() and np.isfinite(wanted).any()
    roots = kind in ("l2", "hellinger")
    assert np.allclose(found, wanted, atol=1e-3 if roots else 1e-5)
    if roots:
        assert np.allclose(found[np.isfinite(found)] ** 2, wanted[np.isfinite(wanted)] ** 2, atol=1e-5)


def test_l1_is_the_distance_of_rows_for_a_bijection() -> None:
    both, hashes, words = sides(1)
    mapping = some_mapping(1)
    ours, theirs = naive.shares(hashes.cooc(N)), naive.shares(words.cooc(N))
    through = np.zeros_like(ours)
    through[:, mapping] = ours
    wanted = np.abs(through[:, None] - theirs[None]).sum(axis=2)
    found = both.pairs(both.by_company(mapping))
    filled = (ours.sum(axis=1) > 0)[:, None] & (theirs.sum(axis=1) > 0)[None]
    assert np.allclose(np.where(np.isfinite(found), found, 2)[filled], wanted[filled], atol=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("alpha", [1.0, 0.3])
def test_expanded_distances_are_the_formula(seed: int, alpha: float) -> None:
    both, hashes, words = sides(seed, alpha=alpha)
    known = some_mapping(seed, N // 2)
    wanted = naive.expanded(
        naive.shares(hashes.cooc(N)),
        naive.shares(words.cooc(N)),
        known,
        hashes.features(N),
        words.features(N),
    )
    found = both.pairs(both.by_known_part(known))
    inside = np.isfinite(found)
    assert np.allclose(found[inside], wanted[inside], atol=1e-5)
    assert inside.all() if alpha == 1 else (inside.sum(axis=1) == int(np.ceil(alpha * N))).all()


def test_company_that_nobody_knows_leaves_features() -> None:
    """Hashes of the larger vocabulary without any neighbour in the smaller one, and no word at all is nearer than 1."""
    log = worlds.Log([["a", "b"]] * 9 + [["c", "d"]] * 5 + [["c"]])
    both = Sides(log.at(4), log.at(4))
    found = both.pairs(both.by_known_part(np.array([0, 1], np.int32)))
    wanted = 1 + naive.feature_distances(log.features(4), log.features(4)) / 5
    strangers = [log.tokens(4).index(token) for token in "cd"]
    assert np.allclose(found[strangers], wanted[strangers], atol=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("alpha", [1.0, 0.25])
@pytest.mark.parametrize("room", [1, 3, 48])
def test_rules_do_what_their_definitions_say(
    seed: int, alpha: float, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With room for one candidate all others have to be looked for again: the result must be the same."""
    monkeypatch.setattr(matching, "CANDIDATES", room)
    both, hashes, words = sides(seed, alpha=alpha)
    features = both.pairs(both.by_features()).astype(float)
    assert np.allclose(features, naive.feature_distances(hashes.features(N), words.features(N)), atol=1e-4)
    rows = both.by_company(some_mapping(seed))
    pairs = both.pairs(rows)
    inside = naive.feature_distances(both.hash_features, both.token_features) <= both.reach[:, None] + 1e-4
    assert (np.isfinite(pairs) <= inside).all()
    assert both.greedy(rows).tolist() == naive.greedy(pairs, features)
    assert both.by_ranks(rows).tolist() == naive.by_ranks(pairs, features)
    assert start("nodestart", both).tolist() == naive.greedy(features, features)
    married = both.married(rows)
    assert naive.unstable(pairs, married.tolist()) == []
    assert naive.unstable(pairs, married[::-1].tolist()) != [], "the test sees a marriage that is not stable"


@pytest.mark.parametrize("seed", range(12))
def test_mincost_costs_least(seed: int) -> None:
    hashes, words = worlds.pair(seed, words=7, pool=12, number=200)
    both = Sides(hashes.at(6), words.at(6))
    rows = both.by_company(some_mapping(seed, 6))
    pairs = both.pairs(rows)
    cost = np.where(np.isfinite(pairs), pairs, 2.0)
    found = both.cheapest(rows)
    assert cost[np.arange(6), found].sum() == pytest.approx(naive.least_cost(pairs), abs=1e-5)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("rule", CONTINUOUS)
def test_a_continuous_update_takes_the_closest_or_the_surest_pair_each_time(seed: int, rule: str) -> None:
    both, hashes, words = sides(seed, 14)
    features = both.pairs(both.by_features()).astype(float)
    ours, theirs = hashes.at(14).cooc_n.toarray(), words.at(14).cooc_n.toarray()
    for known in ([], [(0, 0), (1, 2)], [(3, 1), (3, 2), (4, 1)]):
        found = both.growing(np.array(known, np.int32).reshape(-1, 2), rule)
        assert found.tolist() == naive.growing(ours, theirs, known, features, rule)


def test_the_closest_pair_may_be_wrong_where_the_surest_is_right() -> None:
    """By hand. k and g are known. p comes with k and w, q with k and z, in shares that differ a little by chance.

    Of k alone, hash p and word q have 0.92 in common, p and p 0.90, so `heap` takes p for q. Only w comes with g (20 of
    28 and of 30 times): its lead is 2/3, the largest. After it, p and p have 0.90 + 0.08 in common, ahead of q's 0.92.
    """

    def log(with_p: int, with_q: int) -> worlds.Log:
        shared = [["k", "p"]] * (100 - with_p) + [["k", "q"]] * (100 - with_q) + [["g", "w"]] * 20
        return worlds.Log(shared + [["p", "w"]] * with_p + [["q", "z"]] * with_q + [["z", "y"]] * 20)

    hashes, words = log(8, 10), log(10, 8)
    n = len(words.counts)
    ours, theirs = hashes.tokens(n), words.tokens(n)
    known = np.array([[ours.index(one), theirs.index(one)] for one in "kg"], np.int32)
    found = {
        rule: [theirs[at] for at in Sides(hashes.at(n), words.at(n)).growing(known, rule)]
        for rule in CONTINUOUS
    }
    assert found["surest"] == ours and found["heap"][ours.index("p")] == "q"


@pytest.mark.parametrize("first", [5, 12, N])
def test_only_the_most_frequent_are_matched_and_all_are_company(first: int) -> None:
    both, hashes, words = sides(3, distance="l1")
    mapping = some_mapping(3)
    wanted = naive.distances(naive.shares(hashes.cooc(N)), naive.shares(words.cooc(N)), mapping, "l1").astype(
        np.float32
    )[:first, :first]
    features = both.pairs(both.by_features()).astype(float)[:first, :first]
    found = both.greedy(both.by_company(mapping), first)
    assert found.tolist() == naive.greedy(both.pairs(both.by_company(mapping))[:first, :first], features)
    assert sorted(found.tolist()) == list(range(first)) and np.isfinite(wanted).any()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", SEEDS)
def test_every_rule_gives_each_hash_a_token_of_its_own(rule: str, seed: int) -> None:
    for how in ({}, {"alpha": 0.1}, {"beta": 0.3}, {"distance": "cosine"}, {"features": "log"}):
        both = sides(seed, **how)[0]
        found = RULES[rule](both, both.by_company(some_mapping(seed)))
        assert sorted(found.tolist()) == list(range(N))


@pytest.mark.parametrize("rule", RULES)
def test_the_truth_stays_where_the_logs_are_equal(rule: str) -> None:
    log = worlds.Log(worlds.queries(5))
    both = Sides(log.at(N), log.at(N))
    pairs = both.pairs(both.by_company(np.arange(N, dtype=np.int32)))
    nearest = pairs + np.where(np.eye(N, dtype=bool), np.inf, 0)
    alone = nearest.min(axis=1) > 1e-4  # words that no other word is like
    assert alone.sum() > N // 2
    found = RULES[rule](both, both.by_company(np.arange(N, dtype=np.int32)))
    assert (found[alone] == np.arange(N)[alone]).all()


def test_empty_rows_are_matched_last_and_by_features() -> None:
    """Words that are always posed alone have no company: they must not win by a distance of 1."""
    lonely = [["x"]] * 60 + [["y"]] * 30
    log = worlds.Log(worlds.queries(2, number=400) + lonely)
    n = len(log.counts)
    both = Sides(log.at(n), log.at(n))
    places = [log.tokens(n).index(word) for word in "xy"]
    rows = both.by_company(np.arange(n, dtype=np.int32))
    assert np.isinf(both.pairs(rows)[places]).all()
    for rule in RULES.values():
        assert rule(both, rows)[places].tolist() == places


@pytest.mark.parametrize("rule", ["mincost", "rank-greedy", *CONTINUOUS])
def test_rules_that_look_at_all_pairs_say_how_many_they_take(
    rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(MOST_PAIRS, rule, N - 1)
    both = sides(0)[0]
    with pytest.raises(UsageError, match=f"update {rule} looks at all pairs at once, of 23 hashes at most"):
        both.growing(np.zeros((0, 2), np.int32), rule) if rule in CONTINUOUS else RULES[rule](
            both, both.by_company(some_mapping(0))
        )
