"""Everything that a public function gives shows itself: one short line, and a card that holds no search of the log."""

from __future__ import annotations

from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import queryveil as qv

MARKUP = '<script>alert("x")</script> & <img src=x onerror=alert(1)>'
SECRET = "anna miller divorce lawyer"  # noqa: S105
METHOD = qv.Zealous(epsilon=5, delta=1e-6, max_items=2)
SHOWN = {
    "SearchLog",
    "Plan",
    "Guarantee",
    "Release",
    "Evaluation",
    "AttackResult",
    "Inspection",
    "Verification",
}
SHOWN |= {"Advice", "Proposal", "Series", "SeriesPlan", "Difference"}


def rows() -> Iterator[dict[str, Any]]:
    for user in range(400):
        day = f"2026-01-0{1 + user % 3} 10:00:00"
        yield {"user": f"u{user}", "query": MARKUP, "time": day}
        yield {"user": f"u{user}", "query": f"{SECRET} {user}", "time": day}


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One value of each kind, from a log with markup that everybody typed, and secrets that one person did."""
    folder = tmp_path_factory.mktemp("shown")
    log = qv.read(list(rows()))
    release = qv.publish(log, METHOD, items="queries", out=folder / "release")
    assert release.to_pandas()["query"].tolist() == [qv.normalise(MARKUP)]
    made = qv.publish(log, METHOD, items="queries")
    series = qv.publish_series(
        log,
        METHOD,
        name="days",
        period="day",
        start="2026-01-01",
        end="2026-01-02",
        out=folder / "days",
        users=400,
    )
    found = {
        "SearchLog": log,
        "Plan": METHOD.plan(),
        "Guarantee": METHOD.plan().guarantee,
        "Release": release,
        "Evaluation": qv.evaluate(log, release, ["coverage@10", "missing@10"]),
        "AttackResult": qv.LinkageAttack(known=(1,), trials=50).run(log, [release]),
        "Inspection": qv.inspect(log),
        "Verification": qv.verify(release),
        "Advice": qv.advise(log, "suggestions"),
        "Proposal": qv.propose(log),
        "Series": series,
        "SeriesPlan": qv.plan_series(METHOD, period="day", start="2026-01-01", end="2026-01-02", users=400),
        "Difference": qv.diff(release, made),
    }
    assert set(found) == SHOWN
    return found


class Tags(HTMLParser):
    """Which tags and attributes a card has."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.add(tag)
        self.attributes |= {name for name, _ in attrs}


@pytest.mark.parametrize("name", sorted(SHOWN))
def test_a_line_is_short_and_a_card_is_escaped(results: dict[str, Any], name: str) -> None:
    check_card(name, results[name])


def check_card(name: str, value: Any) -> None:
    """Check that the line and the card of a value are short, escaped, and show no secret."""
    assert type(value).__name__ == name
    line = repr(value)
    assert line.startswith(f"<{name}: ") and len(line) <= 260 and "\n" not in line
    card = value._repr_html_()
    tags = Tags()
    tags.feed(card)
    allowed = {"div", "p", "strong", "table", "caption", "tr", "th", "td", "bdi"}
    assert tags.found <= allowed, name
    assert tags.attributes <= {"style", "scope", "dir"}
    assert "url(" not in card
    for shown in (line, card):
        assert SECRET not in shown and "anna" not in shown
    if name not in {"Release", "Difference"}:  # released rows may be shown; the log's may not
        assert "alert" not in line + card


def test_released_rows_are_shown_as_text(results: dict[str, Any]) -> None:
    card = results["Release"]._repr_html_()
    assert "&lt;script&gt;" in card and "<script" not in card


@pytest.mark.parametrize("name", ["Plan", "Guarantee", "Release", "Evaluation", "AttackResult", "Inspection"])
def test_a_plot_is_one_picture_that_loads_nothing(results: dict[str, Any], name: str, tmp_path: Path) -> None:
    picture = results[name].plot()
    assert isinstance(picture, qv.Picture) and picture.title
    drawn = ET.fromstring(picture._repr_svg_())  # noqa: S314 (made here)
    tags = {one.tag.partition("}")[2] for one in drawn.iter()}
    assert tags <= {"svg", "style", "rect", "text", "g", "path", "line", "circle", "title", "desc", "polygon"}
    assert "http" not in picture.svg.replace("http://www.w3.org/2000/svg", "") and "var(" not in picture.svg
    assert SECRET not in picture.svg
    assert picture.save(tmp_path / "x.svg").read_text() == picture.svg


def test_tables_leave_by_name() -> None:
    made = qv.publish(list(rows()), "zealous", epsilon=5, delta=1e-6, max_items=2, items="queries,keywords")
    first, second = made.tables
    with pytest.raises(
        qv.UsageError, match=f"has 2 tables: {first}, {second}; name one, for example table='{first}'"
    ):
        made.to_pandas()
    assert isinstance(made.to_pandas(first), pd.DataFrame) and made.to_arrow(second).equals(
        made.tables[second]
    )
    with pytest.raises(qv.UsageError, match="the release has no table 'nothing'"):
        made.to_arrow("nothing")


def test_other_libraries_take_a_release(results: dict[str, Any]) -> None:
    assert pl.DataFrame(results["Release"]).columns == ["query", "count"]
    assert pa.table(results["Release"]).num_rows == 1
