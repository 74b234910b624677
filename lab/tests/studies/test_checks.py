"""What studies expect of their results fails where results do not have it: findings that were tampered with."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from typing import Any

import pytest

import queryveil as qv
import queryveil_lab as lab
from queryveil_lab.studies import Findings

Row = dict[str, Any]


def rows(study: str, metric: str, values: Iterable[float], along: str, *at: Any, **fixed: Any) -> list[Row]:
    """Rows of one line of a study; what is not said is at its first value, or nothing."""
    columns: Row = dict.fromkeys(lab.STUDIES[study].columns())
    columns |= {axis.name: axis.values[0] for axis in lab.STUDIES[study].axes}
    columns |= {"how": "measured", "repeat": 0, "metric": metric} | fixed
    return [{**columns, along: point, "value": value} for point, value in zip(at, values, strict=True)]


def outcome(study: str, *lines: list[Row]) -> dict[str, bool]:
    found = Findings(tuple(itertools.chain(*lines)))
    return {check.name: check.passes for check in lab.STUDIES[study].checks(found)}


# -- private histograms --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("smallest", "passes"), [(8.0, True), (7.0, False), (2.0, False)])
def test_a_count_up_to_the_threshold_is_told(smallest: float, passes: bool) -> None:
    name = "count-distribution"
    threshold = rows(name, "threshold", [7.0], "items", "queries")
    found = outcome(name, threshold, rows(name, "smallest-count", [smallest], "items", "queries"))
    assert found == {"every count of queries by ZEALOUS is above its threshold": passes}


def test_counts_are_compared_with_the_threshold_of_their_own_release() -> None:
    """7 is above the lower of two thresholds, and below its own."""
    name, check = "count-distribution", "every count of queries by ZEALOUS is above its threshold"
    thresholds = rows(name, "threshold", [9.0, 4.0], "epsilon", 1.0, 5.0, items="queries")
    good = rows(name, "smallest-count", [10.0, 7.0], "epsilon", 1.0, 5.0, items="queries")
    bad = rows(name, "smallest-count", [7.0, 7.0], "epsilon", 1.0, 5.0, items="queries")
    assert outcome(name, thresholds, good)[check] and not outcome(name, thresholds, bad)[check]


def test_every_k_is_compared_with_its_own_queries() -> None:
    name, check = "count-distribution", "no query of a k-query anonymous log has fewer than k occurrences"
    fixed = {"items": "queries", "method": "k-query"}
    thresholds = rows(name, "threshold", [99.0, 9.0], "k", 100, 10, **fixed)
    for least, passes in (([100.0, 10.0], True), ([99.0, 10.0], False)):
        found = outcome(name, thresholds, rows(name, "smallest-count", least, "k", 100, 10, **fixed))
        assert found[check] == passes


def test_a_release_says_its_threshold(generated: Any) -> None:
    made = lab.compare(
        qv.read(generated), "count-distribution", vary={"items": ["queries"], "method": ["zealous"]}
    )
    one = made.findings.where(metric="threshold")
    users = qv.read(generated).users
    method = qv.Zealous(epsilon=5.0, delta=1e-3, max_items=1, items=("queries",), guarantee="probabilistic")
    assert one.value == method.plan(users=users).calibration["second_threshold"] > 1


@pytest.mark.parametrize(("line", "passes"), [((0.9, 0.5), True), ((0.9, 0.9), False), ((0.5, 0.9), False)])
def test_a_difference_that_stays_does_not_fall(line: tuple[float, float], passes: bool) -> None:
    name = "count-difference"
    found = outcome(name, rows(name, "total-variation", line, "epsilon", 1.0, 5.0, items="queries"))
    assert found == {"queries: the difference falls with epsilon": passes}
    k = {"items": "queries", "method": "k-query"}
    found = outcome(name, rows(name, "total-variation", line[::-1], "k", 10, 100, **k))
    assert found == {"queries: the difference grows with k": passes}


@pytest.mark.parametrize(
    ("ours", "passes"), [(0.4, True), (0.25, True), (0.19, False), (0.0, False), (0.9, False)]
)
def test_precision_is_compared_with_the_other_method(ours: float, passes: bool) -> None:
    name = "query-substitution"
    found = outcome(name, rows(name, "precision", [ours, 0.4], "method", "zealous", "k-query"))
    check = "the precision of ZEALOUS is within a factor of two of k-query anonymity's"
    assert found == {check: passes}


def test_nothing_at_all_is_not_comparable() -> None:
    name = "query-substitution"
    found = outcome(name, rows(name, "precision", [0.0, 0.0], "method", "zealous", "k-query"))
    assert list(found.values()) == [False]


@pytest.mark.parametrize(("hits", "passes"), [(0.49, True), (0.3, False), (0.0, False), (0.6, False)])
def test_a_release_that_caches_badly_is_told(hits: float, passes: bool) -> None:
    name = "index-caching"
    log = rows(name, "hit-probability-of-log", [0.5], "m", 1)
    found = outcome(name, log, rows(name, "hit-probability", [hits], "m", 1))
    check = (
        "the best release hits nearly as often as the log itself, but not more often (clicks, memory 0.1 %)"
    )
    assert found[check] == passes


def test_coverage_that_stays_is_not_best_for_the_frequent() -> None:
    name, check = "zealous-j", "frequent keywords are covered best (m = 1)"
    assert outcome(name, rows(name, "coverage", [1.0, 0.5], "top", "10", "1000"))[check]
    for line in ((1.0, 1.0), (0.0, 0.0)):
        assert not outcome(name, rows(name, "coverage", line, "top", "10", "1000"))[check]


def test_one_item_more_of_a_handful_is_chance() -> None:
    name, check = "zealous-m", "fewer keywords are published the more a user may add"
    for line, passes in (
        ((24.0, 27.0, 0.0), True),
        ((24.0, 34.0, 0.0), False),
        ((24.0, 20.0, 24.0), False),
        ((400.0, 415.0, 200.0), True),
        ((400.0, 450.0, 200.0), False),
    ):
        assert outcome(name, rows(name, "published", line, "m", 1, 4, 40))[check] == passes


@pytest.mark.parametrize("line", [(6.0, 3.0, 0.0), (0.0, 0.0, 0.0), (6.0, 9.0, 19.0)])
def test_a_handful_of_items_is_too_small_to_tell(line: tuple[float, ...]) -> None:
    """Whatever its shape, it neither passes nor fails."""
    found = Findings(tuple(rows("zealous-m", "published", line, "m", 1, 4, 40)))
    checks = [one for one in lab.STUDIES["zealous-m"].checks(found) if one.name.startswith("fewer")]
    assert [one.verdict for one in checks] == ["too small to tell"]
    assert not checks[0].passes and not checks[0].fails and checks[0].as_dict()["undecided"] is True


@pytest.mark.parametrize(
    ("line", "average", "verdict"),
    [
        ((10.0, 30.0, 20.0, 10.0), 5.0, "pass"),
        ((10.0, 30.0, 20.0, 10.0), 21.0, "pass"),
        ((10.0, 30.0, 20.0, 10.0), 50.0, "FAIL"),
        ((40.0, 30.0, 20.0, 10.0), 50.0, "FAIL"),
    ],
)
def test_totals_turn_near_the_items_of_an_average_user(
    line: tuple[float, ...], average: float, verdict: str
) -> None:
    """At the nearest m that was tried (1, 4, 20, 40), or at one beside it."""
    name, ms = "zealous-m", (1, 4, 20, 40)
    made = [
        *rows(name, "total", line, "m", *ms),
        *rows(name, "published", [99.0] * 4, "m", *ms),
        *rows(name, "items-per-user", [average], "m", 1),
    ]
    checks = lab.STUDIES[name].checks(Findings(tuple(made)))
    assert [one.verdict for one in checks if "largest near" in one.name] == [verdict]


def test_hits_that_differ_by_chance_are_not_told_apart() -> None:
    """Runs of one m are 0.02 apart, and the two m are 0.005 apart."""
    name = "index-caching"
    runs = [
        {**one, "repeat": run, "value": one["value"] + shift}
        for run, shift in enumerate((0.0, 0.02, 0.04))
        for one in rows(name, "hit-probability", [0.3, 0.305], "m", 1, 6)
    ]
    log = rows(name, "hit-probability-of-log", [0.5], "m", 1)

    def verdict(found: list[Any]) -> str:
        checks = lab.STUDIES[name].checks(Findings((*found, *log)))
        return next(one.verdict for one in checks if one.name.startswith("m = 6"))

    assert verdict(runs) == "too small to tell"
    assert verdict([one | {"value": one["value"] + 0.5 * (one["m"] == 6)} for one in runs]) == "pass"
    assert verdict([one | {"value": one["value"] + 0.5 * (one["m"] == 1)} for one in runs]) == "FAIL"


def test_where_one_item_was_not_tried_nothing_is_said_of_more() -> None:
    name = "zealous-m"
    published = rows(name, "published", [9.0, 5.0], "m", 2, 4)
    assert not any(
        "most accurate" in one
        for one in outcome(name, published, rows(name, "precision-kl", [2.0, 1.0], "m", 2, 4, top="10"))
    )
    published = rows(name, "published", [9.0, 5.0], "m", 1, 4)
    check = "the top 10 keywords are most accurate for some m above 1 (relative entropy)"
    for line, passes in (((2.0, 1.0), True), ((1.0, 2.0), False), ((1.0, 1.0), False)):
        kl = rows(name, "precision-kl", line, "m", 1, 4, top="10")
        assert outcome(name, published, kl)[check] == passes
    lost = rows(name, "missing", [0.0, 3.0], "m", 1, 4, top="10")
    found = lab.STUDIES[name].checks(Findings((*published, *kl, *lost)))
    assert {one.name: one.verdict for one in found}[check] == "too small to tell"


# -- k-anonymous transactions --------------------------------------------------------------------------------


def clump(ours: tuple[float, float], partition: tuple[float, float] = (0.8, 0.8)) -> dict[str, bool]:
    name = "clump-quality"
    both = {"clump": ours, "partition": partition}
    shapes = {"mean-length": {"clump": 9.0, "partition": 3.0}, "mean-level": {"clump": 2.0, "partition": 3.0}}
    lines = [
        rows(name, "ggd-per-item", line, "k", 5, 15, method=method, users=100)
        for method, line in both.items()
    ]
    lines += [
        rows(name, metric, [value] * 2, "k", 5, 15, method=method, users=100)
        for metric, found in shapes.items()
        for method, value in found.items()
    ]
    return outcome(name, *lines)


def test_what_clump_saves_must_shrink_and_its_loss_must_grow() -> None:
    saves, costs = "what Clump saves of Partition's loss shrinks with k", "a larger crowd costs more (Clump)"
    assert clump((0.3, 0.5))[saves] and clump((0.3, 0.5))[costs]
    assert not clump((0.4, 0.4))[saves] and not clump((0.4, 0.4))[costs]
    assert not clump((0.3, 0.5), (0.4, 0.8))[saves], "25 % at first, 37 % in the end"
    assert "no method loses more than everything" not in clump((0.3, 0.5)), "a loss is never more"


def test_one_number_of_open_clusters_is_not_the_best_of_one() -> None:
    name = "clump-r"
    assert outcome(name, rows(name, "ggd-per-item", [0.5], "r", 10)) == {}
    for line, passes in (((0.5, 0.48), True), ((0.5, 0.3), False)):
        found = outcome(name, rows(name, "ggd-per-item", line, "r", 10, 30))
        assert list(found.values()) == [passes]


# -- click graphs --------------------------------------------------------------------------------------------


def test_releases_that_do_not_depend_on_frequency_are_told() -> None:
    name, check = (
        "release-probability",
        "a query that is made more often is released more often (tight, d = 20)",
    )
    fixed = {"analysis": "tight"}
    exact = rows(name, "release-probability", [0.01, 0.99], "frequency", 90, 150, how="expected", **fixed)
    trials = rows(name, "trials", [200.0, 200.0], "frequency", 90, 150, **fixed)
    for line, passes in (((0.01, 0.99), True), ((0.5, 0.5), False), ((0.99, 0.01), False)):
        seen = rows(name, "release-probability", line, "frequency", 90, 150, **fixed)
        assert outcome(name, exact, trials, seen)[check] == passes
    # Chances that are too near each other may come out the other way round: nothing is said.
    near = rows(name, "release-probability", [0.5, 0.6], "frequency", 90, 150, how="expected", **fixed)
    assert check not in outcome(name, near, trials, seen)


def test_the_papers_two_frequencies_are_looked_up_in_the_results() -> None:
    name = "release-probability"
    check = "with the paper's threshold at d = 20, frequency 170 is released almost always, 110 almost never"
    for line, passes in (((0.015, 0.98), True), ((0.5, 0.98), False), ((0.015, 0.5), False)):
        both = [
            rows(name, "release-probability", line, "frequency", 110, 170, how=how, analysis="paper")
            for how in ("expected", "measured")
        ]
        trials = rows(name, "trials", [200.0, 200.0], "frequency", 110, 170, analysis="paper")
        assert outcome(name, *both, trials)[check] == passes


def shares(study: str, along: str, line: tuple[float, ...], *at: Any, **fixed: Any) -> dict[str, bool]:
    """The same line for every expected figure, and a real release as expected."""
    metrics = ("released-distinct", "released-impressions", "released-queries", "released-queries-deviation")
    fixed = {"analysis": "tight", "how": "expected", "repeat": None, **fixed}
    lines = [rows(study, metric, line, along, *at, **fixed) for metric in metrics]
    real = rows(study, "released-queries", line, along, *at, **{**fixed, "how": "measured", "repeat": 0})
    return outcome(study, *lines, real)


def test_shares_that_stay_neither_fall_nor_grow() -> None:
    check = "distinct queries fall with d (tight)"
    assert shares("release-d", "d", (9.0, 5.0, 1.0), 1, 5, 20)[check]
    assert not shares("release-d", "d", (5.0, 5.0, 5.0), 1, 5, 20)[check]
    assert check not in shares("release-d", "d", (5.0,), 1)
    for axis, (one, other) in {"epsilon": (1.0, 2.0), "delta": (1e-6, 1e-5)}.items():
        for noun in ("distinct queries", "impressions"):
            check = f"{noun} grow with {axis}"
            assert shares("release-epsilon-delta", axis, (10.0, 20.0), one, other)[check]
            assert not shares("release-epsilon-delta", axis, (20.0, 20.0), one, other)[check]
            assert check not in shares("release-epsilon-delta", axis, (20.0,), one)
    check = "longer logs release more queries at d = 20 (tight)"
    assert shares("release-span", "days", (10.0, 20.0), 1, 7, d=20)[check]
    assert not shares("release-span", "days", (20.0, 20.0), 1, 7, d=20)[check]
    assert check not in shares("release-span", "days", (20.0,), 1, d=20)
    assert growing(0.1, 0.5, 1.0, 4.0)[check].verdict == "too small to tell"


def growing(*numbers: float, times: float = 1.0, share: float = 1.0) -> dict[str, Any]:
    """Queries released of 1, 7, 30 and 365 days at d = 20, so many times the impressions, and their checks."""
    spans = (1, 7, 30, 365)
    fixed = {"analysis": "tight", "how": "expected", "repeat": None, "d": 20}
    lines = {
        "released-queries": numbers,
        "released-queries-deviation": [0.0] * 4,
        "released-counts": [times * number for number in numbers],
        "released-impressions": [1.0, 2.0, 3.0, 4.0],
        "released-distinct": [share, 1.0, 1.0, 1.0],
    }
    found = [rows("release-span", metric, line, "days", *spans, **fixed) for metric, line in lines.items()]
    checks = lab.STUDIES["release-span"].checks(Findings(tuple(itertools.chain(*found))))
    return {check.name: check for check in checks}


def test_growth_is_compared_with_the_papers_factors() -> None:
    """Korolova et al.: 6, 24 and 184 times the queries of a day."""
    queries, impressions = (
        f"{noun} released at d = 20 grow with the log as in the paper (tight)"
        for noun in ("queries", "impressions")
    )
    as_printed = growing(10, 60, 240, 1840)
    assert as_printed[queries].verdict == as_printed[impressions].verdict == "pass"
    assert as_printed[queries].detail.endswith("365 days 184 (paper 184)")
    assert growing(10, 60, 240, 3700)[queries].verdict == "FAIL"
    assert growing(10, 60, 240, 900)[queries].verdict == "FAIL"
    # A day with 4 queries is no base: a week is, and the paper's factors are taken from a week too.
    by_week = growing(4, 60, 240, 1840)[queries]
    assert (
        by_week.verdict == "pass" and "7 days release: 30 days 4 (paper 4), 365 days 30.7" in by_week.detail
    )
    little = growing(0.1, 0.2, 0.3, 7)[queries]
    assert little.verdict == "too small to tell" and not little.fails


def peaks(*curves: tuple[float, float], released: float = 5.0) -> Any:
    """Impressions at d = 5 and 20 of a day, a week and so on."""
    found = []
    for span, curve in zip((1, 7, 30), curves, strict=False):
        others = ("released-distinct", "released-queries", "released-queries-deviation")
        for metric, line in (
            ("released-impressions", curve),
            *((one, (released, released)) for one in others),
        ):
            fixed = {"days": span, "analysis": "tight", "how": "expected", "repeat": None}
            found += rows("release-span", metric, line, "d", 5, 20, **fixed)
    checks = lab.STUDIES["release-span"].checks(Findings(tuple(found)))
    return {one.name: one.verdict for one in checks}[
        "the peak of impressions moves later for longer logs (tight)"
    ]


def test_the_best_d_of_logs_that_release_nothing_is_not_judged() -> None:
    assert peaks((2, 1), (1, 2)) == "pass"
    assert peaks((1, 2), (2, 1)) == "FAIL"
    assert peaks((1, 2), (2, 1), released=0.4) == "too small to tell"


def test_a_share_that_depends_on_the_span_is_told() -> None:
    check = "the share of distinct queries hardly depends on the length of the log (tight)"
    assert growing(10, 60, 240, 1840, share=1.9)[check].verdict == "pass"
    assert growing(10, 60, 240, 1840, share=2.1)[check].verdict == "FAIL"
    assert growing(4, 60, 240, 1840, share=9.0)[check].verdict == "pass", "a day releases too little"
    assert growing(1, 2, 3, 4)[check].verdict == "too small to tell"


def test_without_a_real_release_nothing_agrees() -> None:
    name = "release-d"
    lines = [
        rows(name, metric, [1.0, 2.0], "d", 1, 5, how="expected", repeat=None, analysis="tight")
        for metric in ("released-distinct", "released-impressions", "released-queries")
    ]
    assert not outcome(name, *lines)["real releases agree with what is expected"]


def test_as_many_keywords_are_not_fewer() -> None:
    name = "keyword-generation"

    def fewer(*theirs: float) -> bool:
        seeds = {"seeds": "travel:a.example"}
        lines = [
            rows(name, "keywords", [90.0, 50.0], "threshold", 0.5, 0.9, how="original", **seeds),
            rows(name, "keywords", theirs, "threshold", 0.5, 0.9, how="released", **seeds),
            rows(name, "keywords-in-both", theirs, "threshold", 0.5, 0.9, how="released", **seeds),
        ]
        return outcome(name, *lines)["the released graph gives fewer keywords, but some (travel)"]

    assert fewer(40.0, 20.0) and fewer(40.0, 50.0)
    assert not fewer(90.0, 50.0) and not fewer(0.0, 0.0) and not fewer(40.0, 60.0)


@pytest.mark.parametrize(
    ("theirs", "verdict"),
    [("abc", "pass"), ("cba", "FAIL"), ("a", "too small to tell"), ("", "too small to tell")],
)
def test_one_match_is_in_no_order(theirs: str, verdict: str) -> None:
    name, check = "common-fears", "the order of 'fear of *' is kept, more or less"

    def ranks(matches: str, **fixed: Any) -> list[Row]:
        return rows(name, "rank", range(1, len(matches) + 1), "match", *matches, **fixed)

    released = ranks(theirs, how="released") or rows(name, "count", [1.0], "match", "a", how="released")
    found = Findings((*ranks("abc", how="original", repeat=None), *released))
    assert {one.name: one.verdict for one in lab.STUDIES[name].checks(found)}[check] == verdict


# -- hash inversion ------------------------------------------------------------------------------------------


def test_a_reference_that_does_not_grow_old_is_told() -> None:
    name = "gap"

    def found(matchable: tuple[float, float], accuracy: tuple[float, float]) -> dict[str, bool]:
        return outcome(
            name,
            rows(name, "matchable", matchable, "gap", 1, 60, update="score-greedy"),
            # Of the other update 100 are given, and not matchable: it must not be mixed with the first.
            rows(name, "matchable", (800.0, 900.0), "gap", 1, 60, update="heap"),
            rows(name, "accuracy", accuracy, "gap", 1, 60, update="score-greedy"),
            rows(name, "queries", (1e6, 1e6), "gap", 1, 60, update="score-greedy"),
        )

    assert list(found((950.0, 900.0), (0.9, 0.8)).values()) == [True, True]
    assert list(found((900.0, 900.0), (0.9, 0.9)).values()) == [False, False]


# -- studies of one's own ------------------------------------------------------------------------------------


def test_an_expectation_of_what_is_not_measured_is_refused(generated: Any, tmp_path: Any) -> None:
    file = tmp_path / "study.yaml"
    file.write_text(
        "methods: [{method: zealous, epsilon: 20, delta: 1e-2, items: queries, guarantee: probabilistic}]\n"
        "vary: {max_items: [1, 2]}\nmeasures: [distinct]\n"
        "expect: [{measure: coverage@100, along: max_items, shape: rising}]\n"
    )
    with pytest.raises(qv.InputError, match="names a figure that is not measured; use one of distinct"):
        lab.compare(qv.read(generated), file)


def test_the_false_alarm_rate_of_an_order_is_kept() -> None:
    """Shares whose chances differ just enough to be compared: in order but for 1e-6, by a bound of Hoeffding."""
    trials = 200
    least = math.sqrt(math.log(1e6) / trials)
    assert math.exp(-trials * least**2) == pytest.approx(1e-6)
    name, check = (
        "release-probability",
        "a query that is made more often is released more often (tight, d = 20)",
    )
    for apart, said in ((1.01 * least, True), (0.99 * least, False)):
        exact = rows(name, "release-probability", [0.1, 0.1 + apart], "frequency", 90, 150, how="expected")
        seen = rows(name, "release-probability", [0.1, 0.1 + apart], "frequency", 90, 150)
        found = outcome(name, exact, seen, rows(name, "trials", [trials] * 2, "frequency", 90, 150))
        assert (check in found) == said


# -- logs that are too small -----------------------------------------------------------------------------------


def verdicts(study: str, *lines: list[Row]) -> set[str]:
    return {check.verdict for check in lab.STUDIES[study].checks(Findings(tuple(itertools.chain(*lines))))}


@pytest.mark.parametrize(("least", "verdict"), [(0.995, "too small to tell"), (0.5, "pass")])
def test_where_next_to_nothing_is_published_no_difference_is_judged(least: float, verdict: str) -> None:
    name = "count-difference"
    fixed = {"items": "queries", "method": "zealous"}
    assert verdicts(name, rows(name, "total-variation", [1.0, least], "epsilon", 1.0, 10.0, **fixed)) == {
        verdict
    }


@pytest.mark.parametrize(("queries", "verdict"), [(4.9, "too small to tell"), (50.0, "FAIL")])
def test_shares_of_a_handful_of_queries_are_not_judged(queries: float, verdict: str) -> None:
    """Shares that have the wrong shape: they grow up to the largest d, and do not grow with epsilon."""
    for name, along, at in (
        ("release-d", "d", (1, 5, 20)),
        ("release-epsilon-delta", "epsilon", (0.5, 1.0, 2.0)),
    ):
        found = [
            rows(name, metric, values, along, *at, how="expected", analysis="paper")
            for metric, values in (
                ("released-impressions", [0.3, 0.2, 0.4]),
                ("released-distinct", [0.3, 0.2, 0.4]),
                ("released-queries", [queries] * 3),
            )
        ]
        judged = lab.STUDIES[name].checks(Findings(tuple(itertools.chain(*found))))
        shaped = [one for one in judged if "grow with epsilon" in one.name or "inner d" in one.name]
        assert shaped and {one.verdict for one in shaped} == {verdict}, name


@pytest.mark.parametrize(("ours", "theirs", "verdict"), [(0, 0, "too small to tell"), (30, 29, "FAIL")])
def test_a_handful_of_published_queries_is_not_compared(ours: int, theirs: int, verdict: str) -> None:
    name = "set-union"
    fixed = {"epsilon": 1.0, "delta": 1e-6, "bound": "1", "neighbours": "add-remove"}
    found = [
        rows(name, "distinct", [value], "method", method, **fixed)
        for method, value in (("steered", ours), ("Release-Data", theirs))
    ]
    assert verdicts(name, *found) == {verdict}


@pytest.mark.parametrize(("named", "verdict"), [(40, "too small to tell"), (5_000, "FAIL")])
def test_crowds_without_names_in_a_log_with_few_are_not_judged(named: int, verdict: str) -> None:
    name = "exposure"
    people = rows(name, "queries", [named, 0], "method", "log", "k-query", category="person")
    found = lab.STUDIES[name].checks(Findings(tuple(people)))
    assert [one.verdict for one in found if one.name == "k-query still names people"] == [verdict]


@pytest.mark.parametrize(("lists", "verdict"), [(3.0, "too small to tell"), (300.0, "FAIL")])
def test_a_handful_of_lists_is_not_judged(lists: float, verdict: str) -> None:
    name, at = "index-caching", {"documents": "even", "memory": 0.01}
    found = [
        rows(name, "hit-probability", [0.1], "m", 6, method="zealous", **at),
        rows(name, "hit-probability", [0.3], "k", 10, method="k-query", **at),
        rows(name, "hit-probability-of-log", [0.9], "k", 10, method="k-query", **at),
        *(
            rows(name, metric, [lists], "m", 6, method=method, **at)
            for metric in ("lists", "lists-of-log")
            for method in ("zealous", "k-query")
        ),
    ]
    judged = lab.STUDIES[name].checks(Findings(tuple(itertools.chain(*found))))
    told = {one.verdict for one in judged if one.name.startswith(("ZEALOUS hits more", "the best release"))}
    assert told == {verdict}


def test_concepts_with_a_handful_of_keywords_are_not_judged() -> None:
    name, fixed = "keyword-generation", {"seeds": "travel:a.example"}
    found = [
        rows(name, "keywords", [values], "threshold", 0.5, how=how, **fixed)
        for how, values in (("original", 19.0), ("released", 0.0))
    ]
    assert verdicts(name, *found) == {"too small to tell"}
