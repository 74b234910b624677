"""Coverage, released share, and how measures are named, chosen and left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import queryveil as qv
from tests.measure.graphs import EMPTY, clicks, identity, log, queries, release

LOG = [("a", "u", 5), ("b", "u", 3), ("c", None, 3), ("d", "v", 1)]


@pytest.fixture(scope="module")
def original() -> qv.SearchLog:
    return log(LOG)


def test_coverage_by_hand(original: qv.SearchLog) -> None:
    made = release(queries=queries({"a": 6, "d": 4}), clicks=clicks({("a", "u"): 2, ("a", "w"): 0}))
    found = qv.evaluate(
        original, made, ["coverage@1", "coverage@2", "coverage@4", "missing@4", "missing@9"]
    ).measures
    assert found == {
        "coverage@1": 1.0,
        "coverage@1/clicks": 1.0,
        "coverage@2": 0.5,
        "coverage@2/clicks": 0.5,
        "coverage@4": 0.5,
        "coverage@4/clicks": pytest.approx(1 / 3),
        "missing@4": 2,
        "missing@4/clicks": 2,
        "missing@9": 2,
        "missing@9/clicks": 2,
    }


def test_ties_at_the_cut_go_by_item(original: qv.SearchLog) -> None:
    assert qv.evaluate(original, release(queries=queries({"b": 3})), ["coverage@2"]).measures == {
        "coverage@2": 0.5
    }
    assert qv.evaluate(original, release(queries=queries({"c": 3})), ["coverage@2"]).measures == {
        "coverage@2": 0.0
    }


@pytest.mark.parametrize("count", [-2, 1, 3, 1_000])
@pytest.mark.parametrize("unit", ["users", "occurrences"])
def test_published_counts_and_their_unit_do_not_change_what_is_covered(unit: str, count: int) -> None:
    """One user searches for x three times, two users search for y once each."""
    rows = pa.table(
        {
            "user": ["1", "1", "1", "2", "3"],
            "time": pa.array([1, 2, 3, 1, 1], pa.timestamp("s")),
            "query": ["x", "x", "x", "y", "y"],
        }
    )
    made = release(queries=queries({"x": count}))
    if unit == "users":
        plan = qv.Zealous(epsilon=1, delta=1e-6, max_items=1, guarantee="approximate").plan()
        made = qv.Release(plan=plan, tables={"items": queries({"x": count})})
    names = ["coverage@1", "missing@1", "released-share", "distinct"]
    assert qv.evaluate(qv.read(rows), made, names).measures == {
        "coverage@1": 0.0,
        "missing@1": 1,
        "released-share/impressions": pytest.approx(60),
        "released-share/distinct": 50.0,
        "distinct": 1,
    }


def test_figures_that_rank_do_not_improve_with_noise(original: qv.SearchLog) -> None:
    """Counts far above the true ones, and queries that nobody made, improve no figure that has a direction."""
    plan = qv.Semantic(epsilon=1).plan()

    def published(*texts: str) -> qv.Release:
        rows = pa.table({"user": range(len(texts)), "number": [0] * len(texts), "query": list(texts)})
        return qv.Release(plan=plan, tables={"log": rows})

    exact = qv.evaluate(original, published("a", "a", "b")).figures
    noisy = qv.evaluate(original, published("a", "a", "b", *["b"] * 50, "x", "y", "z")).figures
    sign = {"higher is better": 1, "lower is better": -1, "neither": 0}
    improved = {
        name
        for name, figure in exact.items()
        if (value := noisy[name].value) is not None
        and sign[figure.direction] * (value - (figure.value or 0)) > 0
    }
    assert improved == set()


def test_keywords_are_covered_too() -> None:
    plan = qv.Zealous(epsilon=1, delta=1e-6, max_items=1, guarantee="approximate", items=("keywords",)).plan()
    made = qv.Release(plan=plan, tables={"items": pa.table({"keyword": ["red"], "count": [2]})})
    found = qv.evaluate(log([("red shoes", None, 2), ("red hat", None, 1)]), made)
    assert found.measures["coverage@100"] == pytest.approx(1 / 3) and found.measures["missing@100"] == 2
    assert found.left_out["released-share"] == "the release has no table of queries"


def test_released_share_by_hand(original: qv.SearchLog) -> None:
    made = release(queries=queries({"a": 4, "d": -3}))
    assert qv.evaluate(original, made, ["released-share"]).measures == {
        "released-share/impressions": pytest.approx(100 * 6 / 12),
        "released-share/distinct": 50.0,
    }


def test_everything_released_is_perfect(original: qv.SearchLog) -> None:
    found = qv.evaluate(original, identity(original), ["coverage@3", "missing@3", "released-share"]).measures
    assert found["coverage@3"] == 1 and found["missing@3"] == 0
    assert found["released-share/impressions"] == found["released-share/distinct"] == 100


def test_nothing_released_covers_nothing(original: qv.SearchLog) -> None:
    found = qv.evaluate(original, release(**EMPTY), pattern="*", seeds="u").measures
    assert found["coverage@100"] == 0 and found["missing@100"] == 4
    assert found["released-share/impressions"] == found["released-share/distinct"] == 0
    assert found["similar-queries@10"] is None and found["similar-queries@10/answered"] is None
    assert found["pattern-ranking@20"] == 0 and found["pattern-ranking@20/correlation"] is None


# -- the frame -----------------------------------------------------------------------------------------------


def test_every_measure_says_what_it_is(original: qv.SearchLog) -> None:
    for name, cls in qv.MEASURES.items():
        assert cls.name == name and cls.help and cls.unit
        both: list[Any] = [cls, *cls.parts.values()]
        for stated in both:
            assert stated.direction in {"higher is better", "lower is better", "neither"}
            assert stated.help and stated.unit
    found = qv.evaluate(original, identity(original), pattern="*", seeds="u", frequent=2)
    families = {name.partition("@")[0].partition("/")[0] for name in found.figures}
    # These need other tables: keywords, transactions, and users under concepts.
    assert set(found.left_out) == {"index-caching", "transaction-quality", "profile-divergence"}
    assert families == set(qv.MEASURES) - set(found.left_out)
    sessions = qv.evaluate(original, qv.publish(original, qv.KQuery(k=2)), pattern="*", frequent=2)
    assert "index-caching" in sessions.figures
    assert found.figures["missing@100"].direction == "lower is better"
    assert found.figures["pattern-ranking@20/correlation"].unit == "-1 to 1"


def test_a_measure_is_a_value_whose_text_is_its_name() -> None:
    (coverage,) = qv.measures(["coverage@7"])
    assert str(coverage) == "coverage@7"
    assert {coverage, qv.MEASURES["coverage"](at=7)} == {coverage}
    assert [str(one) for one in qv.measures(["keyword-generation"], seeds="x.example")] == [
        "keyword-generation@0.5",
        "keyword-generation@0.7",
        "keyword-generation@0.9",
        "keyword-generation@0.95",
    ]
    assert [str(one) for one in qv.measures("coverage", top=3)] == ["coverage@3"]
    assert [str(one) for one in qv.measures(["coverage@5"], top=3)] == ["coverage@5"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("covrage@10", "there is no measure 'covrage'; did you mean coverage"),
        ("xyzzy", "there is no measure 'xyzzy'; use one of coverage, missing"),
        ("coverage@x", "what follows the @ of 'coverage' is not a number"),
        ("coverage@0", "must be a whole number from 1 to 1e+12; got 0"),
        ("coverage@1.5", "must be a whole number from 1 to 1e+12; got 1.5"),
        ("coverage@nan", "must be a whole number from 1 to 1e+12; got nan"),
        ("coverage@inf", "must be a whole number from 1 to 1e+12; got inf"),
        ("released-share@3", "measure 'released-share' takes no @"),
        ("keyword-generation@0.5", "measure 'keyword-generation' needs seeds"),
        ("pattern-ranking", "measure 'pattern-ranking' needs pattern"),
    ],
)
def test_a_wrong_name_is_explained(name: str, message: str) -> None:
    with pytest.raises(qv.UsageError) as refused:
        qv.measures([name])
    assert message in str(refused.value)


def test_a_wrong_probability_is_explained() -> None:
    with pytest.raises(qv.UsageError, match=r"from 0 to below 1; got 1\.5"):
        qv.measures(["keyword-generation@1.5"], seeds="x.example")


def test_a_release_without_the_table_is_refused_if_asked_by_name_and_left_out_otherwise(
    original: qv.SearchLog, tmp_path: Path
) -> None:
    made = release(queries=queries({"a": 6})).save(tmp_path / "plain")
    with pytest.raises(qv.InputError) as refused:
        qv.evaluate(original, made, ["similar-queries"])
    assert "there is no table of clicks in " in str(refused.value) and "similar-queries needs" in str(
        refused.value
    )
    found = qv.evaluate(original, made)
    assert found.left_out.pop("profile-divergence").startswith("the release has no users with concepts")
    assert found.left_out.pop("transaction-quality").startswith("the release has no transactions")
    assert found.left_out == {
        "inaccuracy": "the release states no threshold in users; name a number of users with frequent",
        "index-caching": "the release has no table of keywords",
        "query-substitution": "the release has no table of reformulations",
        "keyword-generation": "needs seeds",
        "similar-queries": "the release has no table of clicks",
        "suggestions": "the release has no table of reformulations",
        "spelling-correction": "the release has no table of clicks",
        "query-classification": "the release has no table of clicks",
        "pattern-ranking": "needs pattern",
    }


def test_several_releases_in_memory_or_on_disk(original: qv.SearchLog, tmp_path: Path) -> None:
    release(queries=queries({"a": 6})).save(tmp_path / "one")
    found = qv.evaluate(original, [tmp_path / "one", release(queries=queries({}))], ["coverage@1"])
    assert [(one.release, one.measures) for one in found] == [
        (str(tmp_path / "one"), {"coverage@1": 1.0}),
        ("click-graph", {"coverage@1": 0.0}),
    ]


def test_spark_measures_the_same(spark: Any, original: qv.SearchLog) -> None:
    rows = original.engine.arrow(original.source)
    made = release(queries=queries({"a": 6, "c": 2}))
    names = ["coverage@3", "released-share"]
    assert qv.evaluate(qv.read(rows, engine=spark), made, names) == qv.evaluate(original, made, names)
