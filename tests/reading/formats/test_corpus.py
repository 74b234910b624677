"""Small files of every shape in tests/data/sources, each with what it must give."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import queryveil as qv
from queryveil.reading.formats import FORMATS
from tests.command import command
from tests.reading.formats.logs import read, rows_of

CORPUS = Path(__file__).parents[2] / "data" / "sources"


@dataclass(frozen=True)
class Gives:
    """What a file must give."""

    format: str
    rows: int
    first: tuple[str, str]
    """User and query of the first row."""
    rejected: dict[str, int] = field(default_factory=dict)
    passed: int = 0
    clicks: int = 0
    options: dict[str, Any] = field(default_factory=dict)


Q = {"query_parameter": ("q",)}
UBI = Gives("ubi", 4, ("c1", "rare orchids"))
FILES = {
    "slow-plain.log": Gives("slow-log", 2, ("visitor-17", "garden hose"), {"no user": 1}, 2),
    "slow-elasticsearch.json": Gives("slow-log", 2, ("visitor-17", "garden hose"), passed=1),
    "slow-opensearch.json": Gives("slow-log", 1, ("visitor-17", "garden +hose"), {"not JSON": 1}),
    "solr.log": Gives("solr", 2, ("17", "garden hose"), {"no user": 1}, 4),
    "algolia-logs.json": Gives("algolia", 2, ("anonymous-17", "garden hose")),
    "algolia-events.json": Gives("algolia", 4, ("anonymous-17", ""), passed=4, clicks=4),
    "matomo-visits.json": Gives("matomo", 3, ("c367e21a12f3ab09", "garden hose"), passed=1),
    "google-analytics-events.json": Gives(
        "google-analytics", 2, ("1234.5678", "garden hose"), {"no user": 1}, 1
    ),
    "access_log.20080601.decode.filter": Gives(
        "sogou", 3, ("2982000000000017", "稀有兰花"), {"bad rank": 1}, clicks=3
    ),
    "sogou-2012.txt": Gives("sogou", 3, ("57375476989eea12893c0c3811607b17", "稀有兰花"), clicks=3),
    "yandex.txt": Gives("yandex", 5, ("17", "7 8"), {"no result page": 1, "no user": 1}, 2, clicks=2),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_gives_what_it_must(name: str, tmp_path: Path) -> None:
    gives = FILES[name]
    staged = read(CORPUS / name, tmp_path / "into", max_rejected=0.9, **gives.options)
    assert (staged.format, staged.rows, dict(staged.reasons)) == (gives.format, gives.rows, gives.rejected)
    assert sum(staged.skipped.values()) == gives.passed
    assert rows_of(staged, "user", "query")[0] == gives.first
    if "url" in staged.names:
        assert sum(url is not None for (url,) in rows_of(staged, "url")) == gives.clicks
    assert {"user", "query"} <= staged.mapping.keys()
    with pytest.raises(qv.UsageError, match="columns are known"):
        read(CORPUS / name, tmp_path / "told", columns={"user": 1, "query": 2}, format=gives.format)


def test_clicks_of_algolia_take_their_searches(tmp_path: Path) -> None:
    files = [CORPUS / "algolia-logs.json", CORPUS / "algolia-events.json"]
    staged = read(files, tmp_path / "into")
    # The conversion after a log-in is that of the account, which made no search.
    assert (staged.searches, staged.orphan_clicks) == (2, 2)
    assert rows_of(staged, "user", "query", "url", "rank")[2:] == [
        ("anonymous-17", "garden hose", "A7", 2),
        ("anonymous-17", "garden hose", "B2", 5),
        ("user-1", "", "A7", None),
        ("anonymous-19", "", "Z9", 1),
    ]


def test_clicks_of_yandex_have_the_place_on_the_page(tmp_path: Path) -> None:
    staged = read(CORPUS / "yandex.txt", tmp_path / "into", max_rejected=0.9)
    assert rows_of(staged, "user", "query", "url", "rank", "session") == [
        ("17", "7 8", None, None, "0"),
        ("17", "7 8", "502", 2, "0"),
        ("17", "7", None, None, "0"),
        ("17", "7", "599", None, "0"),
        ("18", "7 8", None, None, "1"),
    ]


def test_words_are_found_however_deep_they_are(tmp_path: Path) -> None:
    staged = read(CORPUS / "slow-plain.log", tmp_path / "into", max_rejected=0.9)
    assert rows_of(staged, "query") == [("garden hose",), ('rare ]orchids, id["',)]


@pytest.mark.parametrize("name", ["matomo-totals.csv", "google-analytics-totals.csv"])
def test_totals_have_no_users(name: str) -> None:
    found = command("inspect", str(CORPUS / name))
    assert found.code == 3
    text = " ".join(found.err.split())
    assert "holds totals for each search term, and no users" in text
    assert "instead" in text
    assert "orchids" not in text


def test_a_log_of_solr_without_users_is_refused(tmp_path: Path) -> None:
    plain = (CORPUS / "solr.log").read_text().replace("uid=", "n=")
    (tmp_path / "solr.log").write_text(plain)
    with pytest.raises(qv.InputError, match="says who searched") as caught:
        read(tmp_path / "solr.log", tmp_path / "into")
    assert "user_field" in caught.value.hint
    staged = read(tmp_path / "solr.log", tmp_path / "told", user_field="n", max_rejected=0.5)
    assert staged.rows == 2


def test_a_slow_log_without_users_says_how_to_get_them(tmp_path: Path) -> None:
    lines = (CORPUS / "slow-plain.log").read_text().replace("visitor-17", "").replace("visitor-18", "")
    (tmp_path / "slow.log").write_text(lines)
    with pytest.raises(qv.InputError, match="says who made it") as caught:
        read(tmp_path / "slow.log", tmp_path / "into")
    assert "X-Opaque-Id" in caught.value.hint


def test_every_format_has_a_page() -> None:
    pages = Path(__file__).parents[3] / "docs" / "reference"
    text = "".join(page.read_text() for page in [pages / "formats.md", *(pages / "formats").glob("*.md")])
    for name in FORMATS:
        assert f"`{name}`" in text
