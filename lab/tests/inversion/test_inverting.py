"""The whole inversion: what it finds, what changes nothing, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import queryveil as qv
import queryveil_lab as lab
from lab.tests.inversion import worlds
from queryveil_lab.inversion import judging
from queryveil_lab.inversion.kinds import UPDATES
from queryveil_lab.inversion.matching import Sides

SIZE: dict[str, int] = {"words": 120, "pool": 500, "number": 3_000}


@pytest.fixture(scope="module")
def logs() -> tuple[worlds.Log, worlds.Log]:
    return worlds.pair(1, **SIZE)


@pytest.fixture(scope="module")
def truth(logs: tuple[worlds.Log, worlds.Log]) -> Any:
    words = {worlds.hashed(word): word for word in logs[1].tokens(len(logs[1].counts))}
    return judging.truth_of(logs[0].counts, logs[1].counts, words)


@pytest.mark.parametrize("update", UPDATES)
def test_words_with_company_of_their_own_are_found(
    logs: tuple[worlds.Log, worlds.Log], truth: Any, update: str
) -> None:
    found = lab.Inversion(n=100, update=update).invert(logs[0].counts, logs[1].counts)
    first, last = (judging.score(one, truth) for one in (found.stages[0].mappings[0], found.stages[0].last))
    assert last.matchable >= 90 and last.accuracy > 0.9 and first.accuracy < 0.7
    assert found.iterations <= 10 and found.mapping.column_names == ["hash", "token"]
    pairs = dict(zip(*(found.mapping[name].to_pylist() for name in ("hash", "token")), strict=True))
    assert len(set(pairs.values())) == 100
    assert sum(worlds.hashed(token) == one for one, token in pairs.items()) == last.correct


def test_it_stops_where_a_mapping_comes_again(logs: tuple[worlds.Log, worlds.Log]) -> None:
    mappings = lab.Inversion(n=100, iterations=50).invert(logs[0].counts, logs[1].counts).stages[0].mappings
    texts = [one.tobytes() for one in mappings]
    assert texts[-1] in texts[:-1] and len(set(texts[:-1])) == len(texts) - 1 < 50
    three = lab.Inversion(n=100, iterations=3).invert(logs[0].counts, logs[1].counts)
    assert [one.tobytes() for one in three.stages[0].mappings] == texts[:4]
    none = lab.Inversion(n=100, iterations=0).invert(logs[0].counts, logs[1].counts)
    assert none.iterations == 0


@pytest.mark.parametrize("how", [{}, {"expand_to": 110, "n": 50}, {"update": "heap"}, {"alpha": 0.2}])
def test_how_hashes_are_called_changes_nothing(
    logs: tuple[worlds.Log, worlds.Log], how: dict[str, Any]
) -> None:
    attack = lab.Inversion(**{"n": 60, **how})
    renamed = worlds.Log([[worlds.hashed(one, "other key") for one in query] for query in logs[0].queries])
    one, other = (attack.invert(log.counts, logs[1].counts).mapping for log in (logs[0], renamed))
    called = dict(zip(one["hash"].to_pylist(), one["token"].to_pylist(), strict=True))
    again = dict(zip(other["hash"].to_pylist(), other["token"].to_pylist(), strict=True))
    assert again == {worlds.hashed(hash, "other key"): token for hash, token in called.items()}


def test_a_log_is_found_in_itself() -> None:
    log = worlds.Log(worlds.queries(7, **SIZE))
    hows: tuple[dict[str, Any], ...] = ({}, {"n": 30, "expand_to": 100})
    for how in hows:
        found = lab.Inversion(**{"n": 100, **how}).invert(log.counts, log.counts)
        assert (found.stages[-1].last == np.arange(100)).mean() > 0.98


def test_further_company_tells_words_apart() -> None:
    """By hand. a and b keep the company of x alone, but for u and v, which are too rare to be matched themselves.

    u is known by x, which v never comes with; v is what is left. With u and v as company, a and b are told apart.
    """
    texts = [["x", "a"]] * 20 + [["x", "b"]] * 20 + [["a", "u"]] * 3 + [["b", "v"]] * 3
    texts += [["x", "u"]] * 10 + [["v"]] * 9
    here = worlds.Log(texts + [["x"]] * 30 + [["a"]])  # a is the more frequent one here, and b there
    there = worlds.Log(texts + [["x"]] * 30 + [["b"]])
    names = here.tokens(3), there.tokens(3)
    assert names == (["x", "a", "b"], ["x", "b", "a"])
    for company, right in ((3, False), (5, True)):
        found = lab.Inversion(n=3, company=company).invert(here.counts, there.counts)
        assert ([names[1][one] for one in found.stages[0].last] == names[0]) == right
        assert len(found.stages) == 1 and len(found.stages[0]) == 3


def test_expansion_goes_from_size_to_size(logs: tuple[worlds.Log, worlds.Log], truth: Any) -> None:
    said: list[tuple[int, int]] = []
    found = lab.Inversion(n=25, expand_to=110).invert(
        logs[0].counts, logs[1].counts, progress=lambda done, total: said.append((done, total))
    )
    assert [len(stage) for stage in found.stages] == [25, 50, 100, 110]
    assert judging.score(found.stages[-1].last, truth).accuracy > 0.9
    assert [done for done, _ in said] == sorted(done for done, _ in said) and said[-1][0] == said[-1][1]


def test_starts(logs: tuple[worlds.Log, worlds.Log]) -> None:
    def start(**how: Any) -> list[int]:
        found = lab.Inversion(n=40, iterations=0, **how).invert(logs[0].counts, logs[1].counts)
        return list(found.stages[0].last.tolist())

    assert start(start="frequency") == list(range(40))
    assert start(start="random", seed=1) == start(start="random", seed=1) != start(start="random", seed=2)
    assert sorted(start(start="random")) == list(range(40))


def test_known_pairs_are_kept_by_the_continuous_update(
    logs: tuple[worlds.Log, worlds.Log], truth: Any
) -> None:
    found = lab.Inversion(n=60, update="heap", bootstrap=20).invert(
        logs[0].counts, logs[1].counts, known=truth
    )
    assert (found.stages[0].last[:20] == truth[:20])[truth[:20] < 60].all()
    with pytest.raises(qv.UsageError, match="only if the truth is given"):
        lab.Inversion(n=60, update="heap", bootstrap=20).invert(logs[0].counts, logs[1].counts)


# -- judging -------------------------------------------------------------------------------------------------


def test_scores_by_hand() -> None:
    truth = np.array([1, 0, 9, -1, 4, 3], np.int32)
    mapping = np.array([1, 2, 0, 3, 4, 5], np.int32)
    assert judging.score(mapping, truth) == judging.Score(2, 4)
    assert judging.score(mapping, truth, 0, 3) == judging.Score(1, 2)
    assert judging.score(mapping[:1], truth).accuracy is None, "its token is not among the first one"
    assert [one for _, _, one in judging.bands(mapping, truth, 3)] == [
        judging.Score(1, 2), judging.Score(0, 0), judging.Score(1, 2),
    ]  # fmt: skip
    assert judging.migration(truth, 6, 2) == [(0, 3, 3.0), (3, 6, 1.0)]


def test_what_was_given_is_left_out_of_every_score(logs: tuple[worlds.Log, worlds.Log], truth: Any) -> None:
    mapping = np.array([1, 2, 0, 3, 4, 5], np.int32)
    true = np.array([1, 0, 9, -1, 4, 3], np.int32)
    assert judging.score(mapping, true, 2) == judging.Score(1, 2)
    assert judging.bands(mapping, true, 2, first=2) == [
        (2, 4, judging.Score(0, 0)), (4, 6, judging.Score(1, 2)),
    ]  # fmt: skip
    n, given = 60, 25
    sides = Sides(logs[0].at(n), logs[1].at(n))
    whole, rest = judging.ceiling(sides, truth), judging.ceiling(sides, truth, given)
    assert rest.matchable == int((truth[given:n] < n).sum() - (truth[given:n] < 0).sum()) < whole.matchable
    assert whole.correct - rest.correct <= given
    # Two given words are swapped: a near miss of the whole, and none of the rest.
    known = np.arange(n, dtype=np.int32)
    swapped = known.copy()
    swapped[[0, 1]] = 1, 0
    assert judging.near_misses(logs[1].at(n), swapped, known)[1] == 2
    assert judging.near_misses(logs[1].at(n), swapped, known, 2) == (0, 0)
    # Statistics of further words, which only were company, change nothing.
    assert judging.near_misses(logs[1].at(2 * n), swapped, known) == judging.near_misses(
        logs[1].at(n), swapped, known
    )


def test_the_ceiling_is_the_share_of_right_first_choices(
    logs: tuple[worlds.Log, worlds.Log], truth: Any
) -> None:
    n = 60
    sides = Sides(logs[0].at(n), logs[1].at(n))
    known = np.where(truth[:n] < n, truth[:n], -1).astype(np.int32)
    pairs = sides.pairs(sides.by_company(known))
    right = sum(
        int(np.argmin(pairs[hash]) == token) for hash, token in enumerate(known.tolist()) if token >= 0
    )
    assert judging.ceiling(sides, truth) == judging.Score(right, int((known >= 0).sum()))


def test_near_misses_keep_the_company_of_the_true_word() -> None:
    """Twins share all company: taking one for the other is a near miss, a word from elsewhere is none."""
    twins = [[twin, other] for twin in ("t1", "t2") for other in ("a", "b", "c")] * 3
    others = [[f"x{one}", f"y{other}"] for one in range(12) for other in range(12)]
    log = worlds.Log(twins + others)
    counts = log.at(len(log.counts))
    place = {token: at for at, token in enumerate(log.tokens(len(counts)))}
    truth = np.arange(len(counts), dtype=np.int32)
    swapped = truth.copy()
    swapped[[place["t1"], place["t2"]]] = place["t2"], place["t1"]
    assert judging.near_misses(counts, swapped, truth) == (2, 2)
    far = truth.copy()
    far[[place["t1"], place["x3"]]] = place["x3"], place["t1"]
    assert judging.near_misses(counts, far, truth) == (0, 2)
    assert judging.near_misses(counts, truth, truth) == (0, 0)


# -- refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"n": 1}, "'n' must be an int >= 2"),
        ({"n": 100, "expand_to": 50}, "from 100 to 50 hashes is no expansion"),
        ({"update": "heap", "start": "random"}, "begins with nodestart's pairs"),
        ({"bootstrap": 10}, "only updates heap and surest take pairs"),
        ({"n": 200, "company": 100}, "the company of only 100 is to be read"),
        ({"update": "heap", "company": 5000}, "which update heap leaves out"),
        ({"iterations": 0, "company": 5000}, "which iterations=0 leaves out"),
        ({"update": "surest", "start": "frequency"}, "update surest begins with nodestart's pairs"),
        ({"update": "mincost", "n": 20_000}, "of 10,000 hashes at most"),
        ({"update": "rank-greedy", "expand_to": 16_000}, "of 10,000 hashes at most"),
        ({"alpha": 0}, "'alpha' must be"),
        ({"beta": 1.5}, "'beta' must be"),
        ({"update": "hungarian"}, "'update' must be"),
    ],
)
def test_wrong_requests(how: dict[str, Any], words: str) -> None:
    with pytest.raises(qv.UsageError, match=words):
        lab.Inversion(**how)


def test_more_than_there_is_says_how_much_there_is() -> None:
    short, long = (lab.TokenCounts.of(pa.chunked_array([texts])) for texts in (["a b", "b c"], ["a b c d e"]))
    with pytest.raises(qv.UsageError, match="the target has only 3 different hashes") as refused:
        lab.Inversion(n=4).invert(short, long)
    assert "n=3" in refused.value.hint
    with pytest.raises(qv.UsageError, match="the reference has only 3 different words") as refused:
        lab.Inversion(n=2, expand_to=4).invert(long, short)
    assert refused.value.hint == "pass expand_to=3 or less"
    with pytest.raises(qv.UsageError, match="the reference has only 3 different words") as refused:
        lab.Inversion(n=2, company=4).invert(long, short)
    assert refused.value.hint == "pass company=3 or less"
    assert len(lab.Inversion().invert(short, long).stages[0]) == 3, "left out, n is what there is"
