"""Parts of a report on their own: text, chances, figures and cells of a spreadsheet."""

from __future__ import annotations

import csv
import math
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from queryveil.catalog import open_catalog
from queryveil.display import svg
from queryveil.display.escaping import LONGEST, cell, shown
from queryveil.files import spreadsheet
from queryveil.privacy.guarantee import Guarantee
from queryveil.release.documents.chances import chances, evenly, is_weak

NEARLY_LN_3 = 1.0986
"""Below it, so that what is rounded up is what a hand computes for 3."""
REPLACE, ADD_REMOVE = "replace-one-user", "add-remove-one-user"


def parsed(made: str) -> ET.Element:
    return ET.fromstring(made)  # noqa: S314 (our own text)


def promised(kind: str, epsilon: float = 2.0, delta: float = 0.0, neighbours: str = REPLACE) -> Guarantee:
    return Guarantee(kind=kind, epsilon=epsilon, delta=delta, neighbours=neighbours)


# -- text ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("plain", "plain"),
        ("a\x00b\x07\x1f\x7f", "a\u2400b\u2407\u241f\u2421"),
        ("\u202eexe\u2066", "[U+202E]exe[U+2066]"),
        ("\x85\u2028\ufffe\U0001ffff\ufdd0", "[U+0085][U+2028][U+FFFE][U+1FFFF][U+FDD0]"),
        ("👩\u200d👧 می\u200cخواهم", "👩\u200d👧 می\u200cخواهم"),
        ("e" + "\u0301" * 99, "e" + "\u0301" * 4),
        ("x" * 200, "x" * LONGEST + "… (200 characters)"),
        ("x" * LONGEST, "x" * LONGEST),
        ("x" * (LONGEST - 1) + "👩\u200d👧", "x" * (LONGEST - 1) + "👩\u200d👧"),
        ("x" * (LONGEST - 1) + "👍🏽!", "x" * (LONGEST - 1) + f"👍🏽… ({LONGEST + 2} characters)"),
    ],
    ids=ascii,
)
def test_text_is_shown_whole_or_cut_between_characters(text: str, seen: str) -> None:
    assert shown(text) == seen


@given(st.text(max_size=400))
def test_any_text_makes_a_harmless_cell(text: str) -> None:
    made = cell(text)
    inside = made.removeprefix('<bdi dir="auto">').removesuffix("</bdi>")
    assert not set(inside) & set("<>\"'\x00\x1b\x85\u202e\u2028\ufffe")
    assert len(shown(text)) <= 8 * 6 * (LONGEST + 1) + 30
    assert parsed(made).attrib == {"dir": "auto"}


# -- chances -------------------------------------------------------------------------------------------------


def test_beliefs_by_hand() -> None:
    found = chances(promised("pure-dp", NEARLY_LN_3))
    # Odds of 1:99, 1:9 and 1:1 become 3:99, 3:9 and 3:1; never rounded down.
    assert found.rows == (("1%", "2.95%"), ("10%", "25%"), ("50%", "75%"))
    assert (
        "50% chance that Anna searched for X. After reading this release, that can rise to at most 75%."
        in evenly(promised("pure-dp", NEARLY_LN_3))
    )
    # Two steps, out of the log and in again.
    assert chances(promised("pure-dp", NEARLY_LN_3, neighbours=ADD_REMOVE)).rows[2] == ("50%", "90%")
    assert chances(promised("probabilistic-dp", NEARLY_LN_3, 1e-3)).rows == found.rows


@pytest.mark.parametrize("kind", ["pure-dp", "probabilistic-dp", "approximate-dp"])
def test_a_bound_is_on_what_one_persons_searches_add(kind: str) -> None:
    """What half of all people are found to do is then believed of each of them: no epsilon limits that."""
    guarantee = promised(kind, 0.1, 0.0 if kind == "pure-dp" else 1e-6)
    assert "does not limit what the release suggests about people in general" in chances(guarantee).note
    assert "knows everyone else's searches" in evenly(guarantee)


def test_what_is_published_as_it_is_is_not_within_the_bound() -> None:
    disclosing = promised("pure-dp", neighbours=f"{REPLACE}-equal-shape-and-topics")
    assert [one.id for one in disclosing.disclosed] == [
        f"disclosed.{name}" for name in ("queries", "phrases", "topics")
    ]
    known = open_catalog().list(disclosing.disclosed)
    for said in (evenly(disclosing), chances(disclosing).says, disclosing.headline):
        assert known in said
    phrase = Guarantee(
        kind="pure-dp", epsilon=1.0, delta=0.0, unit="phrase", neighbours=f"{REPLACE}-equal-shape"
    )
    said = evenly(phrase)
    assert "knows every other phrase in the log" in said and "one phrase of Anna's searches is X" in said


def test_a_bound_that_limits_nothing_is_called_so() -> None:
    for kind, delta in (("pure-dp", 0.0), ("probabilistic-dp", 1e-6), ("approximate-dp", 1e-6)):
        strong, weak = promised(kind, 6.8, delta), promised(kind, 7.0, delta)
        # e^7 : 1 is 99.909 in 100, e^6.8 : 1 is 99.889.
        assert not is_weak(strong) and "99.9%" in evenly(strong)
        assert (
            is_weak(weak) and evenly(weak) == "The bound is so weak that a reader may be practically certain."
        )
        assert evenly(weak) in chances(weak).note and evenly(weak) not in chances(strong).note
        assert "at most nearly" not in " ".join([evenly(weak), promised(kind, 30, delta).plain_words()])
        assert "practical" in promised(kind, 30, delta).plain_words()
    assert not is_weak(Guarantee(kind="none")) and not is_weak(Guarantee(kind="k-anonymity", k=2))


@given(st.integers(2, 10**6))
def test_of_a_majority_only_what_more_than_half_have_is_sure(k: int) -> None:
    """Five users, three of whom searched for it: of each of them one is sure to three fifths, not entirely."""
    crowd = Guarantee(kind="k-anonymity", k=k, shared="set of keywords")
    more_than_half = min(n for n in range(k // 2, k + 1) if 2 * n > k)
    assert crowd.sure_of == more_than_half
    assert f"At least {more_than_half:,} of these users searched" in crowd.plain_words()
    assert "is shared by at least" not in crowd.plain_words() + chances(crowd).says
    for (people, sure), times in zip(chances(crowd).rows, (1, 2, 10, 100), strict=True):
        assert people == f"{k * times:,}"
        exact = 100 * more_than_half / (k * times)
        assert 0.98 * exact <= number(sure) <= exact * (1 + 1e-12), "a lower bound is never rounded up"


def test_without_a_bound_no_upper_one_is_claimed() -> None:
    crowd = chances(Guarantee(kind="k-anonymity", k=5, shared="query"))
    assert crowd.rows == (("5", "100%"), ("10", "50%"), ("50", "10%"), ("500", "1%"))
    assert "at least" in crowd.heading[1] and "no upper limit" in crowd.note
    nothing = chances(Guarantee(kind="none"))
    assert {after for _, after in nothing.rows} == {"100%"}


def number(text: str) -> float:
    return 100.0 if text.startswith("nearly") else float(text.partition("%")[0])


@given(st.floats(0.001, 60), st.sampled_from(["pure-dp", "probabilistic-dp"]))
def test_no_chance_is_rounded_down(epsilon: float, kind: str) -> None:
    for (before, after), prior in zip(
        chances(promised(kind, epsilon, 1e-6)).rows, (0.01, 0.1, 0.5), strict=True
    ):
        odds = prior / (1 - prior) * math.exp(epsilon)
        assert number(before) == 100 * prior
        assert number(after) >= 100 * odds / (1 + odds) * (1 - 1e-12)


# -- figures -------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(-5, 10**6), max_size=200))
def test_the_curve_counts_what_is_at_least(counts: list[int]) -> None:
    points = svg.at_least(np.array(counts, np.int64))
    positive = [count for count in counts if count > 0]
    assert all(y == sum(count >= x for count in positive) for x, y in points)
    assert len(points) <= 61
    if positive:
        assert points[0] == (min(positive), len(positive)) and points[-1][0] == max(positive)
    if 0 < len(set(positive)) <= 60:
        assert [x for x, _ in points] == sorted(set(positive))


@given(
    st.lists(
        st.tuples(st.integers(1, 10**9), st.integers(1, 10**9)),
        min_size=1,
        max_size=50,
        unique_by=lambda p: p[0],
    ),
    st.booleans(),
    st.booleans(),
)
def test_a_figure_is_well_formed_and_inside_its_frame(
    points: list[tuple[int, int]], log_x: bool, log_y: bool
) -> None:
    made = svg.figure(
        "f",
        "A <title>",
        [svg.Series("one & all", sorted(points))],
        svg.Axis("x", log_x),
        svg.Axis("y", log_y),
    )
    tree = parsed(made)
    assert [one.attrib["class"] for one in tree.findall("svg")] == ["wide", "narrow"]
    for one in tree.findall("svg"):
        _, _, width, height = map(float, one.attrib["viewBox"].split())
        marks = one.findall(".//circle")
        assert 1 <= len(marks) <= 50
        for mark in marks:
            assert 0 <= float(mark.attrib["cx"]) <= width and 0 <= float(mark.attrib["cy"]) <= height
        assert one.findtext("title") == "A <title>" and "one & all" in (one.findtext("desc") or "")
        ids = {part.attrib["id"] for part in one if "id" in part.attrib}
        assert set(one.attrib["aria-labelledby"].split()) == ids
        # A scale has two labels at least, and a letter is less than 9 wide.
        below = [text for text in one.findall("text") if text.attrib.get("text-anchor") == "middle"]
        assert len(below) >= 2
        ends = [(float(text.attrib["x"]), 4.5 * len(text.text or "")) for text in below]
        assert all(at - half >= 0 and (not log_x or at + half <= width + 3) for at, half in ends)
        if log_x:
            assert all(
                b - a > 7 * len(text.text or "")
                for (a, _), (b, _), text in zip(ends, ends[1:], below, strict=False)
            )


def test_an_axis_without_round_values_is_labelled_at_its_ends() -> None:
    made = svg.figure(
        "f", "t", [svg.Series("s", [(31, 9), (91, 1)])], svg.Axis("x", log=True), svg.Axis("y", log=True)
    )
    narrow = parsed(made).findall("svg")[1]
    below = [text.text for text in narrow.findall("text") if text.attrib.get("text-anchor") == "middle"]
    assert below == ["31", "91"]


def test_a_curve_lies_where_its_values_say() -> None:
    made = svg.figure(
        "f",
        "t",
        [svg.Series("s", [(1, 1), (10, 0.5), (100, 0)])],
        svg.Axis("x", log=True),
        svg.Axis("y", top=1),
    )
    wide = parsed(made).findall("svg")[0]
    (left, top), (middle, half), (right, bottom) = (
        (float(one.attrib["cx"]), float(one.attrib["cy"])) for one in wide.findall(".//circle")
    )
    assert middle == pytest.approx((left + right) / 2, abs=0.1) and half == pytest.approx(
        (top + bottom) / 2, abs=0.1
    )
    assert left < right and top < bottom
    assert svg.figure("f", "t", [svg.Series("s", [])], svg.Axis("x"), svg.Axis("y")) == ""


# -- spreadsheets --------------------------------------------------------------------------------------------

FORMULAS = ["=1+1", "+1", "-1", "@sum(a1)", "\t=1", "\r=1", "\n=1", " =1", "=cmd|' /c calc'!a0"]


@pytest.mark.parametrize("text", FORMULAS, ids=ascii)
def test_no_text_is_a_formula(text: str) -> None:
    assert spreadsheet.escape_cell(text) == f"'{text}"


def test_numbers_and_other_text_stay_as_they_are() -> None:
    for same in (-5, -0.5, 0, 12, None, True, "a=b", "new york", "3-2", "'quoted", ""):
        assert spreadsheet.escape_cell(same) is same


def test_a_table_as_csv(tmp_path: Path) -> None:
    table = pa.table(
        {"query": [*FORMULAS, 'a "b", c'], "items": [["-x", "y"]] * 10, "count": list(range(-5, 5))}
    )
    spreadsheet.write_table(tmp_path / "t.csv", table)
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as lines:
        heading, *rows = csv.reader(lines)
    assert heading == ["query", "items", "count"] and [row[2] for row in rows] == [
        str(n) for n in range(-5, 5)
    ]
    assert [row[0] for row in rows] == [*(f"'{one}" for one in FORMULAS), 'a "b", c']
    assert {row[1] for row in rows} == {"'-x | y"}
