"""What is counted: against counting by hand, on every kind of input."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil as qv
from lab.tests.inversion import naive, worlds
from queryveil_lab.inversion import statistics
from queryveil_lab.inversion.features import features
from queryveil_lab.inversion.statistics import TokenCounts
from tests.conftest import at

WORDS = st.lists(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=5), min_size=1, max_size=40)


@settings(deadline=None, max_examples=60)
@given(WORDS)
def test_counts_are_those_of_the_queries(queries: list[list[str]]) -> None:
    log = worlds.Log(queries)
    every = [token for query in queries for token in query]
    counts = log.counts
    assert counts.queries == len(queries) and counts.total == len(every)
    assert dict(zip(counts.tokens.to_pylist(), counts.freq.tolist(), strict=True)) == {
        token: every.count(token) for token in set(every)
    }
    assert list(counts.freq) == sorted(counts.freq, reverse=True)
    assert [queries.count([token]) for token in counts.tokens.to_pylist()] == counts.alone.tolist()
    for n in (1, len(counts) // 2 + 1, len(counts)):
        found = counts.at(n)
        assert (found.cooc.toarray() == log.cooc(n)).all()
        assert np.allclose(found.cooc_n.toarray(), naive.shares(log.cooc(n)), atol=1e-6)
        assert (counts.at(len(counts)).top(n).cooc.toarray() == found.cooc.toarray()).all()


@settings(deadline=None, max_examples=40)
@given(WORDS, st.sampled_from([0.1, 0.5, 0.9, 1.0]))
def test_pruning_keeps_the_fewest_neighbours_with_the_share(queries: list[list[str]], beta: float) -> None:
    counts = worlds.Log(queries).counts
    found = counts.at(len(counts))
    wanted = naive.pruned(found.cooc_n.toarray().astype(float), beta)
    assert np.allclose(found.pruned(beta).toarray(), wanted, atol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_features_are_standardised_within_a_log(seed: int) -> None:
    log = worlds.pair(seed)[1]
    for n in (5, 20):
        assert np.allclose(features(log.at(n)), log.features(n), atol=1e-5)
        for kind in ("plain", "log"):
            made = features(log.at(n), kind)
            assert np.allclose(made.mean(axis=0), 0, atol=1e-5)
            assert np.allclose(made.std(axis=0)[made.std(axis=0) > 0], 1, atol=1e-4)


def test_features_that_do_not_vary_say_nothing() -> None:
    log = worlds.Log([["a", "b"], ["b", "a"]] * 3)
    assert (features(log.at(2)) == 0).all() and (features(log.at(2), "log") == 0).all()


def test_a_log_a_release_and_a_column_are_counted_alike() -> None:
    texts = ["New  YORK hotels!", "hotels", "new york", "(hotels)", "CAFÉ münchen", "café", "", "--"]
    table = pa.table(
        {
            "user": [str(number) for number in range(8)] + ["0"],
            "time": [at(number) for number in range(8)] + [at(0)],
            "query": [*texts, texts[0]],  # the last row is a second click on the first
        }
    )
    log = qv.read(table)
    counts = TokenCounts.of(log)
    assert counts.queries == 6 and counts.total == 10
    assert dict(zip(counts.tokens.to_pylist(), counts.freq.tolist(), strict=True)) == {
        "hotels": 3, "new": 2, "york": 2, "café": 2, "münchen": 1,
    }  # fmt: skip
    for sessions in ("keep", "drop"):
        release = qv.publish(log, qv.TokenHash(sessions=sessions), i_understand=True)
        words = dict(
            zip(*(release.private["token-map"][one].to_pylist() for one in ("hash", "token")), strict=True)
        )
        hashed = TokenCounts.of(release)
        assert hashed.hashed and not counts.hashed
        assert hashed.freq.tolist() == counts.freq.tolist() and hashed.alone.tolist() == counts.alone.tolist()
        found = {
            words[one]: number for one, number in zip(hashed.tokens.to_pylist(), hashed.freq, strict=True)
        }
        assert found == dict(zip(counts.tokens.to_pylist(), counts.freq, strict=True))


def test_a_release_without_a_log_is_refused() -> None:
    log = qv.read(pa.table({"user": ["a"] * 3, "time": [at(0)] * 3, "query": ["x", "y", "z"]}))
    release = qv.publish(
        log, qv.Zealous(epsilon=50, delta=0.5, max_items=3, guarantee="probabilistic"), allow_empty=True
    )
    with pytest.raises(qv.InputError, match="made by zealous, and holds no log"):
        TokenCounts.of(release)


@pytest.mark.parametrize("most", [4_000_000, 500])
def test_a_shuffle_does_not_depend_on_the_order_of_queries(
    most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statistics, "_SHUFFLED", most)
    queries = [" ".join(query) for query in worlds.pair(3, number=1000)[1].queries]
    orders = (queries, queries[::-1], sorted(queries))
    one, *others = (TokenCounts.of(pa.chunked_array([order])).shuffled(12, seed=1) for order in orders)
    for other in others:
        assert one.freq.tolist() == other.freq.tolist() and one.alone.tolist() == other.alone.tolist()
        assert (one.cooc != other.cooc).nnz == 0


def test_a_shuffled_log_keeps_frequencies_and_loses_company() -> None:
    log = worlds.pair(3, number=4000)[1]
    n = 12
    real, shuffled = log.at(n), log.counts.shuffled(n, seed=1)
    assert shuffled.freq.tolist() == real.freq.tolist()
    # Expected company of two words if chance alone put them together, up to a factor of two.
    expected = np.outer(real.freq, real.freq) / len(log.queries)
    off = ~np.eye(n, dtype=bool)
    common = off & (expected > 200)
    assert common.any()
    ratio = (shuffled.cooc.toarray() / np.maximum(expected, 1))[common]
    assert np.ptp(ratio) < 0.6 * ratio.mean()
    far = (real.cooc.toarray() / np.maximum(expected, 1))[common]
    assert np.ptp(far) > 0.6 * far.mean(), "a log with company of its own is told apart"
