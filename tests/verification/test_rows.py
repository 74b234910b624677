"""Rows that their declarations do not allow fail the check that is about them.

The releases are published, then changed and written again, with digests and documents that fit.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import queryveil as qv
from queryveil.verification import verify
from tests import mutations
from tests.drafts import Change, Draft, both, drop, failed, put, table, tables

RESULTS = "query\turl\ntennis lessons\thttp://a.example\ntennis lessons\thttp://b.example\n"
SUGGESTIONS = "query\tsuggestion\ntennis lessons\ttennis\ntennis lessons\tgolf\n"


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """60 users with the same queries. At these epsilons nothing is missed but with a chance below 1e-20."""
    place = tmp_path_factory.mktemp("releases")
    (place / "results.tsv").write_text(RESULTS)
    (place / "suggestions.tsv").write_text(SUGGESTIONS)
    lists: dict[str, Any] = {
        "results": str(place / "results.tsv"),
        "suggestions": str(place / "suggestions.tsv"),
    }
    asked: dict[str, Any] = {"epsilon": 8.0, "delta": 1e-4, "max_queries": 2}
    bought: dict[str, Any] = {"epsilon_clicks": 4.0, "epsilon_reformulations": 4.0}
    private: dict[str, Any] = {"urls": "private", "delta_clicks": 1e-4, "delta_reformulations": 1e-4}
    methods: dict[str, qv.Mechanism] = {
        "histogram": qv.Zealous(epsilon=8.0, delta=1e-4, max_items=2, guarantee="approximate"),
        "histogram-clicks": qv.Zealous(
            epsilon=8.0,
            delta=1e-4,
            max_items=2,
            guarantee="approximate",
            then_clicks=True,
            max_clicks=2,
            results=lists["results"],
        ),
        "pairs": qv.Zealous(
            epsilon=16.0, delta=1e-4, max_items=2, items=("keywords", "query-pairs"), guarantee="approximate"
        ),
        "private": qv.ClickGraph(**asked, **bought, **private),
        "public": qv.ClickGraph(**asked, **bought, **lists, counts="fresh", epsilon_counts=4.0),
        "whole": qv.ClickGraph(**asked, **bought, **lists, non_negative=True),
        "clicked": qv.ClickGraph(**asked, epsilon_clicks=4.0, urls="clicked"),
    }
    for name, method in methods.items():
        qv.publish(mutations.log(), method, out=place / name, i_understand=name == "clicked")
    return {name: place / name for name in methods}


NAMES = ("histogram", "histogram-clicks", "pairs", "private", "public", "whole", "clicked")


@pytest.mark.parametrize("name", NAMES)
def test_written_again_unchanged_a_release_is_the_same_and_passes(
    name: str, releases: dict[str, Path], tmp_path: Path
) -> None:
    release = Draft(releases[name]).write(tmp_path / "again")
    for file in releases[name].iterdir():
        assert (release / file.name).read_bytes() == file.read_bytes(), file.name
    result = verify(release)
    assert result.failed == ()
    made = {check.name for check in result.checks}
    assert {"draws", "guarantee", "users", "thresholds", "distinct", "order", "published"} <= made


Q, U, N = "query", "url", "next_query"
OWN = ["cheap measles cure", "tennis lessons"]
QUERIES = table([90, 80], query=OWN)


def top(made: Draft, name: str) -> int:
    return next(int(one["above"]) for one in made.manifest["draws"] if one["table"] == name)


def at_threshold(name: str) -> Change:
    """The last row of a table falls to its threshold."""

    def change(made: Draft) -> None:
        rows = made.tables[name].to_pylist()
        rows[-1]["count"] = top(made, name)
        tables(**{name: pa.Table.from_pylist(rows, made.tables[name].schema)})(made)

    return change


def at_least(name: str, more: int, rows: pa.Table) -> Change:
    """Rows of one table; all counts raised by its threshold and some more."""

    def change(made: Draft) -> None:
        counts = pa.array([one + top(made, name) + more for one in rows["count"].to_pylist()])
        tables(**{name: rows.set_column(rows.num_columns - 1, "count", counts)})(made)

    return change


def clicks(counts: list[int], query: list[str], url: list[str]) -> Change:
    return at_least("clicks", 1, table(counts, query=query, url=url))


def pairs(counts: list[int], query: list[str], after: list[str]) -> Change:
    return at_least("reformulations", 1, table(counts, query=query, next_query=after))


A, B = OWN

WRONG: dict[str, tuple[str, Change, set[str]]] = {
    "count at the threshold": ("histogram", at_threshold("items"), {"thresholds"}),
    "count far below": ("histogram", tables(items=table([90, -5], query=["a", "b"])), {"thresholds"}),
    "unsorted counts": ("histogram", tables(items=table([80, 90], query=["a", "b"])), {"order"}),
    "unsorted items": ("histogram", tables(items=table([90, 90], query=["b", "a"])), {"order"}),
    "not in byte order": (
        "histogram",
        tables(items=table([90, 90], query=["\U0001f600", "\ufffd"])),
        {"order"},
    ),
    "item twice": ("histogram", tables(items=table([90, 89], query=["a", "a"])), {"distinct"}),
    "pair of queries twice": (
        "pairs",
        tables(**{"query-pairs": table([120, 119], query=["a", "a"], next_query=["b", "b"])}),
        {"distinct"},
    ),
    "pairs unsorted": (
        "pairs",
        tables(**{"query-pairs": table([120, 120], query=["a", "a"], next_query=["c", "b"])}),
        {"order"},
    ),
    "clicks of an unpublished query": (
        "histogram-clicks",
        tables(clicks=table([9], query=["dogs"], url=["u"])),
        {"published"},
    ),
    "clicks twice": (
        "histogram-clicks",
        tables(clicks=table([9, 8], query=[A, A], url=["u", "u"])),
        {"distinct"},
    ),
    "clicks unsorted": (
        "histogram-clicks",
        tables(clicks=table([8, 9], query=[A, A], url=["u", "v"])),
        {"order"},
    ),
    "query at the threshold": ("private", at_threshold("queries"), {"thresholds"}),
    "click at its threshold": ("private", at_threshold("clicks"), {"thresholds"}),
    "pair at its threshold": ("private", at_threshold("reformulations"), {"thresholds"}),
    "queries unsorted by count": ("private", tables(queries=table([80, 90], query=OWN)), {"order"}),
    "queries unsorted by text": ("private", tables(queries=table([90, 90], query=OWN[::-1])), {"order"}),
    "query twice": (
        "private",
        tables(queries=table([90, 80, 70], query=[A, B, B])),
        {"distinct"},
    ),
    "clicks unsorted by query": ("private", clicks([5, 5], [B, A], ["u", "u"]), {"order"}),
    "clicks unsorted by count": ("private", clicks([5, 6], [A, A], ["u", "v"]), {"order"}),
    "clicks unsorted by url": ("private", clicks([5, 5], [A, A], ["v", "u"]), {"order"}),
    "click twice": ("private", clicks([6, 5], [A, A], ["u", "u"]), {"distinct"}),
    "click of a query that is not published": ("private", clicks([5], ["dogs"], ["u"]), {"published"}),
    "pairs unsorted by count": ("private", pairs([5, 6], [A, A], [A, B]), {"order"}),
    "a pair twice": ("private", pairs([6, 5], [A, A], [B, B]), {"distinct"}),
    "pair from a query that is not published": ("private", pairs([5], ["dogs"], [A]), {"published"}),
    "pair to a query that is not published": ("private", pairs([5], [A], ["dogs"]), {"published"}),
    "queries withdrawn": (
        "private",
        lambda made: tables(queries=made.tables["queries"].slice(0, 0))(made),
        {"published"},
    ),
    "public click of a query that is not published": (
        "public",
        tables(clicks=table([60], query=["dogs"], url=["u"])),
        {"published"},
    ),
    "suggestion for a query that is not published": (
        "public",
        tables(reformulations=table([60], query=["dogs"], next_query=["cats"])),
        {"published"},
    ),
    "negative click": (
        "whole",
        tables(clicks=table([9, -1], query=[A, A], url=["u", "v"])),
        {"thresholds"},
    ),
    "negative reformulation": (
        "whole",
        tables(reformulations=table([9, -1], query=[A, A], next_query=["u", "v"])),
        {"thresholds"},
    ),
    "empty cell": ("histogram", tables(items=table([90, 89], query=["a", None])), {"cells"}),
}


@pytest.mark.parametrize("case", WRONG)
def test_rows_that_are_wrong(case: str, releases: dict[str, Path], tmp_path: Path) -> None:
    name, change, expected = WRONG[case]
    made = Draft(releases[name])
    change(made)
    result = verify(made.write(tmp_path / "changed"))
    assert failed(result) == expected, result.failed


ALLOWED: dict[str, tuple[str, Change]] = {
    "no row": ("histogram", lambda made: tables(items=made.tables["items"].slice(0, 0))(made)),
    "one row": ("histogram", lambda made: tables(items=made.tables["items"].slice(0, 1))(made)),
    "in byte order": ("histogram", tables(items=table([90, 90, 90], query=["ant", "zoo", "\u00e9lan"]))),
    "just above": (
        "histogram",
        lambda made: tables(items=table([90, top(made, "items") + 1], query=["a", "b"]))(made),
    ),
    "negative counts, where they may be": (
        "public",
        tables(clicks=table([9, -2], query=[A, A], url=["u", "v"])),
    ),
    "fresh counts may be below the threshold": ("public", tables(queries=table([5, 0], query=OWN[::-1]))),
    "suggestions that are not published": (
        "public",
        tables(reformulations=table([5], query=[A], next_query=["golf"])),
    ),
}


@pytest.mark.parametrize("case", ALLOWED)
def test_rows_that_are_allowed(case: str, releases: dict[str, Path], tmp_path: Path) -> None:
    name, change = ALLOWED[case]
    made = Draft(releases[name])
    change(made)
    assert verify(made.write(tmp_path / "changed")).failed == ()


# Another shape is no release of the method: it is the declarations that say so.
SHAPES: dict[str, tuple[str, Change]] = {
    "extra column": ("histogram", tables(items=table([90], query=["a"], users=["91"]))),
    "other column": ("histogram", tables(items=table([90], keyword=["a"]))),
    "fractional counts": (
        "histogram",
        tables(items=pa.table({"query": ["a"], "count": pa.array([90.5])})),
    ),
    "smaller counts": (
        "histogram",
        tables(items=pa.table({"query": ["a"], "count": pa.array([90], pa.int32())})),
    ),
    "table of another method": ("histogram", tables(log=table([90], query=["a"]))),
    "table that was not bought": ("clicked", tables(reformulations=table([9], query=[A], next_query=[B]))),
    "table that is missing": (
        "private",
        both(tables(clicks=None), lambda made: made.manifest["draws"].pop(1)),
    ),
    "another order declared": ("histogram", put("tables", "items", "order", value=["query"])),
    "no order declared": ("histogram", put("tables", "items", "order", value=[])),
    "not once": ("histogram", put("tables", "items", "unique", value=[])),
    "not inside": ("private", drop("tables", "clicks", "inside")),
    "may be negative": ("whole", drop("tables", "clicks", "least")),
    "of users": ("private", put("tables", "queries", "counts", value="users")),
    "without noise": ("private", put("tables", "queries", "noisy", value=False)),
    "hashes": ("private", put("tables", "queries", "texts", value="hashes")),
    "linked by a user": ("private", put("tables", "queries", "links", value="user")),
}


@pytest.mark.parametrize("case", SHAPES)
def test_tables_that_are_not_the_methods_own(case: str, releases: dict[str, Path], tmp_path: Path) -> None:
    name, change = SHAPES[case]
    made = Draft(releases[name])
    change(made)
    result = verify(made.write(tmp_path / "changed"))
    assert "manifest" in {check.name for check in result.failed}, result.failed


# -- deviations ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def steered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("steered") / "release"
    qv.publish(mutations.log(), mutations.METHODS["steered"], out=out)
    return out


def with_deviation(made: Draft, deviation: int) -> None:
    rows = made.tables["items"]
    at = rows.schema.get_field_index("deviation")
    values = [deviation, *rows["deviation"].to_pylist()[1:]]
    made.tables["items"] = rows.set_column(at, "deviation", pa.array(values, pa.int64()))


def test_a_deviation_is_at_least_the_noise_of_a_row_that_counts_users_fully(
    steered: Path, tmp_path: Path
) -> None:
    made = Draft(steered)
    scale, grid = made.manifest["draws"][-1]["scale"], made.manifest["calibration"]["grid"]
    least = -(-scale // grid)
    assert least > 1
    for number, (deviation, right) in enumerate(
        [
            (least, True),
            (least + 1, True),
            (scale, True),  # of a row that counts users as little as possible
            (least - 1, False),
            (0, False),
            (-least, False),
            (scale - 1, False),  # lies between the deviations of two weights
            (scale + 1, False),
            (2**63 - 1, False),
        ]
    ):
        with_deviation(made, deviation)
        result = verify(made.write(tmp_path / str(number)))
        assert failed(result) == (set() if right else {"deviations"}), deviation


def test_a_table_made_with_far_less_noise_cannot_be_relabeled(steered: Path, tmp_path: Path) -> None:
    """At epsilon 0.1 a deviation is at least 64 times that of epsilon 8; the limits are printed with the release."""
    weak = Draft(steered)
    strong = Draft.made(qv.Steered(epsilon=0.1, delta=5e-4, max_items=20), items=weak.tables["items"])
    assert max(weak.tables["items"]["deviation"].to_pylist()) < 64
    assert failed(verify(strong.write(tmp_path / "strong"))) == {"deviations"}
    scale, grid = weak.manifest["draws"][-1]["scale"], weak.manifest["calibration"]["grid"]
    said = " ".join(verify(steered).not_checked)
    assert f"items.deviation at least {-(-scale // grid)}" in said


def test_rows_cannot_be_withheld_from_a_probabilistic_release(tmp_path: Path) -> None:
    qv.publish(mutations.log(), mutations.METHODS["zealous"], out=tmp_path / "release", i_understand=True)
    made = Draft(tmp_path / "release")
    made.manifest["withheld"] = {"items": 1}
    assert failed(verify(made.write(tmp_path / "changed"))) == {"keys"}


def test_details_do_not_quote_released_text(releases: dict[str, Path], tmp_path: Path) -> None:
    person = "john smith 5551234"
    made = Draft(releases["whole"])
    tables(
        queries=table([0, 95, 95], query=[person, "cats", "cats"]),
        clicks=table([1, -2, -2], query=["x" + person] * 3, url=[person] * 3),
        reformulations=table([1, 2], query=["x" + person] * 2, next_query=[person, None]),
    )(made)
    result = verify(made.write(tmp_path / "changed"))
    assert failed(result) == {"thresholds", "order", "distinct", "published", "cells"}
    assert person not in json.dumps(result.as_dict())


def test_many_rows_are_checked(releases: dict[str, Path], tmp_path: Path) -> None:
    made, rows = Draft(releases["histogram"]), 200_000
    counts = [10**6 - number // 3 for number in range(rows)]
    tables(items=table(counts, query=[f"q{number:07}" for number in range(rows)]))(made)
    assert verify(made.write(tmp_path / "many")).passes
