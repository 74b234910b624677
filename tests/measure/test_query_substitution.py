"""Query substitution: phrases, log-likelihood ratios, rankings, and how rankings agree."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil as qv
from queryveil.measure.phrases import Segmenter
from queryveil.measure.query_substitution import substitute_agreement
from queryveil.measure.substitutions import Substitutions, Thresholds, log_likelihood_ratio
from tests.measure.graphs import EMPTY, pairs, queries, release

Pairs = dict[tuple[str, str], int]


def texts(*words: str) -> pa.Array:
    return pa.array(words, pa.string())


# -- phrases -------------------------------------------------------------------------------------------------


def cut(segmenter: Segmenter, *asked: str, **limits: Any) -> list[list[str]]:
    found = segmenter.segment_queries(texts(*asked), **limits)  # type: ignore[arg-type]
    listed, starts = found.texts.to_pylist(), found.starts.tolist()
    return [listed[start:end] for start, end in itertools.pairwise(starts)]


def test_words_that_belong_together_stay_together() -> None:
    posed = {"new york hotels": 5, "new york": 4, "cheap hotels": 4, "w": 1000}
    segmenter = Segmenter.from_queries(texts(*posed), np.array(list(posed.values())))
    # N = 15 + 8 + 8 + 1000 = 1031; new york: ln(9 * 1031 / 81) = 4.7; york hotels: ln(5 * 1031 / 81) = 4.2.
    known = segmenter.words.to_pylist()
    information, together = segmenter.mutual_information(
        np.array([known.index("new"), known.index("york"), known.index("york"), -1]),
        np.array([known.index("york"), known.index("hotels"), known.index("new"), 0]),
    )
    assert information.tolist() == [
        pytest.approx(math.log(9 * 1031 / 81)),
        pytest.approx(math.log(5 * 1031 / 81)),
        -math.inf,
        -math.inf,
    ]
    assert together.tolist() == [9, 5, 0, 0]
    assert cut(segmenter, "new york hotels", "cheap hotels", "w w", "unknown new york") == [
        ["new york hotels"],
        ["cheap", "hotels"],  # together four times only
        ["w", "w"],
        ["unknown", "new york"],
    ]
    assert cut(segmenter, "new york hotels", min_information=4.5) == [["new york", "hotels"]]
    assert cut(segmenter, "new york hotels", min_together=10) == [["new", "york", "hotels"]]
    assert cut(segmenter) == []


# -- ratios --------------------------------------------------------------------------------------------------


def test_the_ratio_by_hand() -> None:
    # 2 sum k ln(k N / (row column)) of 10, 20, 30, 40.
    cells = {(0, 0): 10, (0, 1): 20, (1, 0): 30, (1, 1): 40}
    rows, columns = (30, 70), (40, 60)
    expected = 2 * sum(k * math.log(k * 100 / (rows[r] * columns[c])) for (r, c), k in cells.items())
    found = log_likelihood_ratio(np.array([10.0]), np.array([30.0]), np.array([40.0]), 100.0)
    assert found[0] == pytest.approx(expected)
    # Independent: 0. A cell that is empty adds nothing.
    assert log_likelihood_ratio(np.array([12.0]), np.array([30.0]), np.array([40.0]), 100.0)[
        0
    ] == pytest.approx(0)
    always = log_likelihood_ratio(np.array([30.0]), np.array([30.0]), np.array([30.0]), 100.0)[0]
    assert always == pytest.approx(2 * (30 * math.log(100 / 30) + 70 * math.log(100 / 70)))


# -- a plain reference ---------------------------------------------------------------------------------------


def reference(  # noqa: PLR0912 # the definition from top to bottom
    table: Pairs, posed: dict[str, int], asked: list[str], most: int, limits: Thresholds
) -> dict[str, list[str]]:
    """The same by the definition, with nothing but dictionaries."""
    one: Counter[str] = Counter()
    two: Counter[tuple[str, str]] = Counter()
    for query, count in posed.items():
        words = query.split(" ")
        for word in words:
            one[word] += max(count, 0)
        for pair in itertools.pairwise(words):
            two[pair] += max(count, 0)
    total_words = sum(one.values())

    def segments(query: str) -> list[str]:
        first, *rest = query.split(" ")
        found, before = [[first]], first
        for word in rest:
            n = two[before, word]
            apart = (
                n < limits.together
                or math.log(n * total_words / (one[before] * one[word])) < limits.information
            )
            found.append([word]) if apart else found[-1].append(word)
            before = word
        return [" ".join(part) for part in found]

    counted: Counter[tuple[str, str]] = Counter()
    for (query, after), count in table.items():
        if count < 1:
            continue
        counted[query, after] += count
        ours, theirs = segments(query), segments(after)
        differing = [at for at in range(len(ours)) if len(theirs) == len(ours) and ours[at] != theirs[at]]
        if len(ours) == len(theirs) > 1 and len(differing) == 1:
            counted[ours[differing[0]], theirs[differing[0]]] += count
    total = sum(counted.values())
    rows: Counter[str] = Counter()
    columns: Counter[str] = Counter()
    for (first, second), count in counted.items():
        rows[first] += count
        columns[second] += count
    by: dict[str, list[tuple[float, str]]] = {}
    for (first, second), k in counted.items():
        r, c = rows[first], columns[second]
        cells = [
            (k, r * c),
            (r - k, r * (total - c)),
            (c - k, (total - r) * c),
            (total - r - c + k, (total - r) * (total - c)),
        ]
        ratio = 2 * sum(n * math.log(n * total / product) for n, product in cells if n > 0 and product > 0)
        if k * total > r * c and ratio >= limits.ratio:
            by.setdefault(first, []).append((ratio, second))
    listed = {}
    for query in asked:
        parts = segments(query)
        groups: list[list[tuple[float, str]]] = [by.get(query, []), [], []]
        if len(parts) > 1:
            options = [by.get(part, []) for part in parts]
            for at, able in enumerate(options):
                groups[1] += [(ratio, " ".join([*parts[:at], new, *parts[at + 1 :]])) for ratio, new in able]
            for left, right in itertools.combinations(range(len(parts)), 2):
                for (one_ratio, one_new), (two_ratio, two_new) in itertools.product(
                    options[left], options[right]
                ):
                    changed = list(parts)
                    changed[left], changed[right] = one_new, two_new
                    groups[2].append((one_ratio + two_ratio, " ".join(changed)))
        found: list[str] = []
        for group in groups:
            for _, text in sorted(group, key=lambda one: (-round(one[0], 6), one[1])):
                if text != query and text not in found:
                    found.append(text)
        if found:
            listed[query] = found[:most]
    return listed


QUERY = st.lists(st.sampled_from("abcd"), min_size=1, max_size=3).map(" ".join)
TABLE = st.dictionaries(
    st.tuples(QUERY, QUERY).filter(lambda pair: pair[0] != pair[1]), st.integers(-1, 30), max_size=14
)


@settings(max_examples=150, deadline=None)
@given(TABLE, st.dictionaries(QUERY, st.integers(0, 20), max_size=8), st.booleans())
def test_substitutions_are_those_of_the_definition(
    table: Pairs, posed: dict[str, int], with_queries: bool
) -> None:
    limits = Thresholds(information=0.3, together=2, ratio=0.5)
    if not with_queries:
        posed = {}
        for (query, after), count in table.items():
            for one in (query, after):
                posed[one] = posed.get(one, 0) + max(count, 0)
    asked = sorted({*posed, *(query for pair in table for query in pair), "a b c", "zz"})
    learnt = Substitutions.from_log(pairs(table), queries(posed) if with_queries else None, limits)
    found = learnt.lists(texts(*asked), 4)
    expected = reference(table, posed, asked, 4, limits)
    assert found.keys() == expected.keys()
    for query, listed in found.items():
        assert listed == expected[query] or _tied(learnt, query, listed, expected[query])


def _tied(learnt: Substitutions, query: str, listed: list[str], expected: list[str]) -> bool:
    """Whether two lists differ only where ratios are equal but for rounding."""
    (many,) = learnt.substitutes_of(texts(query), 200)
    ratios = {one.text: (one.replaced, round(one.ratio, 5)) for one in many}
    return [ratios[one] for one in listed] == [ratios[one] for one in expected]


# -- by hand -------------------------------------------------------------------------------------------------

TABLE_BY_HAND = {
    ("cheap hotels", "budget hotels"): 40,
    ("cheap flights", "budget flights"): 40,
    ("paris", "rome"): 50,
    ("hotels paris", "hotels rome"): 10,
    ("shoes", "boots"): 30,
    ("boots", "shoes"): 30,
    ("cheap shoes", "zappos"): 60,
}


def test_whole_queries_come_first_then_one_phrase_then_two() -> None:
    graph = qv.Graph(reformulations=pairs(TABLE_BY_HAND))
    found = qv.query_substitutions(graph, "Cheap shoes", 5)
    assert found["substitution"].to_pylist() == ["zappos", "budget shoes", "cheap boots", "budget boots"]
    assert found["replaced"].to_pylist() == ["query", "phrase", "phrase", "two phrases"]
    ratios = found["ratio"].to_pylist()
    assert ratios[3] == pytest.approx(ratios[1] + ratios[2]) and min(ratios) >= 100
    # paris is replaced in its own right: 50 times as a query and 10 as a phrase.
    assert qv.query_substitutions(graph, "cheap paris hotels", 1)["substitution"].to_pylist() == [
        "budget paris hotels"
    ]
    assert qv.query_substitutions(graph, "unknown").num_rows == 0
    strict = Thresholds(ratio=10_000.0)
    assert qv.query_substitutions(graph, "cheap shoes", thresholds=strict).num_rows == 0
    with pytest.raises(qv.UsageError, match="whole number of at least 1"):
        qv.query_substitutions(graph, "x", 0)


def test_a_phrase_pair_is_counted_where_exactly_one_phrase_differs() -> None:
    learnt = Substitutions.from_log(
        pairs({("a b", "a c"): 3, ("a b", "d e"): 3, ("a b", "b"): 3, ("a", "x"): 9}),
        None,
        Thresholds(ratio=0.0),
    )
    known = learnt.pairs
    assert set(known.numbers) <= {"a b", "b", "a"}
    assert [known.texts[known.by[at]] for at in known.substitutes_of("b")] == ["c"]
    assert sorted(known.texts[known.by[at]] for at in known.substitutes_of("a b")) == ["a c", "b", "d e"]


def test_negative_counts_and_empty_tables_are_nothing() -> None:
    assert Substitutions.from_log(EMPTY["reformulations"]).lists(texts("a", "b c"), 5) == {}
    learnt = Substitutions.from_log(pairs({("a", "b"): -9, ("c", "d"): 0}), queries({"a": -1}))
    assert learnt.lists(texts("a", "c"), 5) == {}
    assert learnt.lists(texts(), 5) == {}


def test_a_huge_query_is_cut_and_replaced() -> None:
    huge = " ".join(["a"] * 5_000)
    learnt = Substitutions.from_log(pairs({("x", "y"): 60, ("p", "q"): 60, (huge, huge + " b"): 60}))
    assert learnt.lists(texts(huge, f"x {huge}"), 2) == {huge: [huge + " b"], f"x {huge}": [f"y {huge}"]}


def test_a_huge_query_with_much_to_replace_is_no_trap() -> None:
    table = {(f"w{n}", f"v{n}"): 60 + n for n in range(40)}
    learnt = Substitutions.from_log(pairs(table))
    huge = " ".join(f"w{n % 40}" for n in range(4_000))
    ((*found,),) = learnt.substitutes_of(texts(huge), 5)
    assert len(found) == 5 and {one.replaced for one in found} == {1}
    short = " ".join(f"w{n}" for n in range(3))
    ((*found,),) = learnt.substitutes_of(texts(short), 20)
    assert [one.replaced for one in found] == [1, 1, 1, 2, 2, 2]


# -- agreement -----------------------------------------------------------------------------------------------


def test_agreement_by_hand() -> None:
    original = {"q": ["a", "b", "c"], "p": ["a"], "o": ["z"]}
    released = {"q": ["b", "x"], "p": ["y", "a"], "n": ["k"]}
    found = substitute_agreement(original, released, 5)
    # q: 1 of 2 is right, at the first place; p: 1 of 2, at the second; n: the log has none, so all 0.
    log2 = math.log2
    ndcg_q = 4 / (5 + 4 / log2(3) + 3 / 2)
    assert found == {
        "precision": pytest.approx((1 / 2 + 1 / 2 + 0) / 3),
        "recall": pytest.approx((1 / 3 + 1 + 0) / 3),
        "ap": pytest.approx((1 / 3 + 1 / 2 + 0) / 3),
        "ndcg": pytest.approx((ndcg_q + 1 / log2(3) + 0) / 3),
        "coverage": pytest.approx((2 / 3 + 1 + 0) / 3),
    }


def test_lists_are_cut_at_j() -> None:
    found = substitute_agreement({"q": ["a", "b", "c"]}, {"q": ["c", "b", "a"]}, 2)
    assert found["precision"] == found["recall"] == 0.5
    assert found["ap"] == pytest.approx(1 / 2 / 2)
    assert found["ndcg"] == pytest.approx((1 / math.log2(3)) / (2 + 1 / math.log2(3)))
    assert found["coverage"] == 1


LISTS = st.dictionaries(
    st.sampled_from("qrs"), st.lists(st.sampled_from("abcdefg"), unique=True, max_size=7), max_size=3
)


@given(LISTS, LISTS, st.integers(1, 6))
def test_what_ir_measures_says_is_what_is_meant(
    original: dict[str, list[str]], released: dict[str, list[str]], most: int
) -> None:
    found = substitute_agreement(original, released, most)
    figures: dict[str, list[float]] = {name: [] for name in ("precision", "recall", "ap", "ndcg")}
    for query, listed in released.items():
        if not listed:
            continue
        ours, theirs = original.get(query, [])[:most], listed[:most]
        right = [text in ours for text in theirs]
        figures["precision"].append(sum(right) / len(theirs))
        figures["recall"].append(sum(right) / len(ours) if ours else 0)
        precision_at = [sum(right[: at + 1]) / (at + 1) for at in range(len(right))]
        ap = sum(hit * value for hit, value in zip(right, precision_at, strict=True))
        figures["ap"].append(ap / min(most, len(ours)) if ours else 0)
        gains = [most - ours.index(text) if text in ours else 0 for text in theirs]
        dcg = sum(gain / math.log2(place + 2) for place, gain in enumerate(gains))
        ideal = sum((most - place) / math.log2(place + 2) for place in range(len(ours)))
        figures["ndcg"].append(dcg / ideal if ours else 0)
    for name, values in figures.items():
        assert found[name] == (pytest.approx(sum(values) / len(values)) if values else None)
    asked = [query for query, listed in original.items() if listed]
    shares = [min(1, len(released.get(query, [])[:most]) / len(original[query][:most])) for query in asked]
    assert found["coverage"] == (pytest.approx(sum(shares) / len(shares)) if shares else None)
    assert all(value is None or 0 <= value <= 1 + 1e-12 for value in found.values())


@given(LISTS.filter(lambda lists: any(lists.values())), st.integers(1, 6))
def test_the_same_lists_agree(lists: dict[str, list[str]], most: int) -> None:
    for value in substitute_agreement(lists, lists, most).values():
        assert value == pytest.approx(1)


# -- as a measure --------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def original() -> qv.SearchLog:
    """Everyone has one session of one query pair."""
    rows = [
        (f"{first} {second} {number}", minute, query)
        for (first, second), count in TABLE_BY_HAND.items()
        for number in range(count)
        for minute, query in enumerate((first, second))
    ]
    user, time, query = zip(*rows, strict=True)
    return qv.read(
        pa.table({"user": list(user), "time": pa.array(time, pa.timestamp("s")), "query": list(query)})
    )


def test_everything_released_is_perfect_and_nothing_answers_nothing(original: qv.SearchLog) -> None:
    graph = qv.Graph.of_log(original)
    whole = release(queries=graph.queries, reformulations=graph.reformulations)
    found = qv.evaluate(original, whole, "query-substitution").measures
    for most in (2, 5):
        for part in ("precision", "recall", "ap", "ndcg", "coverage"):
            assert found[f"query-substitution@{most}/{part}"] == 1
        assert (
            found[f"query-substitution@{most}/original"] == found[f"query-substitution@{most}/released"] > 0
        )
    nothing = qv.evaluate(original, release(**EMPTY), "query-substitution@2").measures
    assert nothing["query-substitution@2/coverage"] == 0 and nothing["query-substitution@2/ap"] is None


def test_part_of_the_pairs_by_hand(original: qv.SearchLog) -> None:
    made = release(reformulations=pairs({("paris", "rome"): 50, ("shoes", "boots"): 30}))
    found = qv.evaluate(original, made, ["query-substitution@1"], min_ratio=50.0).measures
    # paris, hotels paris, shoes; and cheap shoes, for which the log has zappos in front of cheap boots.
    assert found["query-substitution@1/released"] == 4
    assert found["query-substitution@1/precision"] == found["query-substitution@1/ndcg"] == 0.75
    assert found["query-substitution@1/coverage"] == 4 / found["query-substitution@1/original"] < 1
    few = qv.evaluate(original, made, ["query-substitution@1"], most_queries=1).measures
    assert few["query-substitution@1/original"] == 1


def test_options_are_checked(original: qv.SearchLog) -> None:
    with pytest.raises(qv.UsageError, match="'min_ratio' must be a number >= 0; got -1"):
        qv.measures("query-substitution", min_ratio=-1)
    with pytest.raises(qv.UsageError, match="'min_information' must be a number; got nan"):
        qv.measures("query-substitution", min_information=math.nan)
