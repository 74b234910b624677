"""What looks as if a log had been read wrongly is said, and what looks right is not."""

from __future__ import annotations

import datetime as dt
import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import queryveil as qv
from tests.reading.formats.logs import write

DAY = dt.datetime(2006, 3, 1)


def notes(users: list[str], queries: list[str], **options: Any) -> list[str]:
    times = [DAY + dt.timedelta(minutes=at) for at in range(len(users))]
    log = qv.read(pa.table({"user": users, "query": queries, "time": times}), **options)
    return list(log.notes)


SOUND = ([f"u{at % 5}" for at in range(30)], [f"tea {at}" for at in range(30)])


def test_a_sound_log_is_not_doubted() -> None:
    assert notes(*SOUND) == []


@pytest.mark.parametrize(
    ("users", "queries", "said"),
    [
        ([f"u{at}" for at in range(30)], SOUND[1], "30 users"),
        ([f"rare orchids {at % 5}" for at in range(30)], SOUND[1], "columns="),
        (["robot"] * 20 + SOUND[0][20:], SOUND[1], "67%"),
        (["user_id", *SOUND[0]], ["Query", *SOUND[1]], "header=True"),
        (SOUND[0], ["稀有兰花"] * 30, "100%"),
        (SOUND[0], ["โรงแรมราคาถูก"] * 30, "segment"),
    ],
)
def test_what_looks_wrong_is_said(users: list[str], queries: list[str], said: str) -> None:
    found = notes(users, queries)
    assert len(found) == 1
    assert said in found[0]


@pytest.mark.parametrize(("year", "said"), [(2006, None), (1970, "1970-03-01"), (2900, "2900-03-01")])
def test_times_that_cannot_be_are_said(year: int, said: str | None) -> None:
    rows = [{"user": "ann", "query": "tea", "time": dt.datetime(year, 3, 1, at)} for at in range(3)]
    found = [note for note in qv.inspect(qv.read(rows)).notes if "time_format" in note]
    assert [said in note for note in found if said] == ([True] if said else [])
    assert len(found) == (said is not None)


def test_a_header_among_numbered_columns_is_seen(tmp_path: Path) -> None:
    log = write(tmp_path / "log.csv", "uid,q\nann,tea\nbob,mug\n")
    found = qv.inspect(qv.read(log, columns={"user": 1, "query": 2}))
    assert any("header=True" in note for note in found.notes)


def test_words_are_cut_only_if_asked() -> None:
    rows = [{"user": f"u{at}", "query": "稀有兰花 C++ 東京駅"} for at in range(3)]
    whole, cut = (qv.inspect(qv.read(rows, segment=one)) for one in (False, True))
    assert (whole.items["keywords"]["distinct"], whole.items["queries"]["distinct"]) == (3, 1)
    assert (cut.items["keywords"]["distinct"], cut.items["queries"]["distinct"]) == (5, 1)
    assert all(any("segment" in note for note in one.notes) for one in (whole, cut))
    release = qv.publish(qv.read(rows, segment=True), qv.KKeyword(k=3))
    assert set(release.tables["items"]["prefix"].to_pylist()) == {"稀有", "兰花", "c++", "東京", "駅"}


def test_a_release_says_that_its_words_were_cut(tmp_path: Path) -> None:
    rows = [{"user": f"u{at}", "query": "稀有兰花 東京駅"} for at in range(40)]
    methods = (qv.KKeyword(k=3), qv.Zealous(epsilon=5, delta=1e-4, items=("keywords",)))
    for method in methods:
        for cut in (True, False):
            out = tmp_path / f"{method.name}-{cut}"
            qv.publish(qv.read(rows, segment=cut), method, out=out)
            manifest = json.loads((out / "manifest.json").read_text())
            assert manifest["parameters"].get("segment") is (True if cut else None)
            for document in ("report.html", "DATASHEET.md"):
                assert ("ICU" in (out / document).read_text()) is cut
            assert qv.verify(out).passes, qv.verify(out).failed
            again = qv.load(out).save(tmp_path / f"again-{method.name}-{cut}")
            assert again.path is not None and qv.verify(again.path).passes
    lies: tuple[Any, ...] = (False, 1, "yes", None)
    for lie in lies:  # said of words that were cut, or not said at all
        manifest = json.loads((tmp_path / "zealous-True" / "manifest.json").read_text())
        manifest["parameters"]["segment"] = lie
        if lie is None:
            del manifest["parameters"]["segment"]
        (tmp_path / "again-zealous-True" / "manifest.json").write_text(json.dumps(manifest, indent=2))
        assert not qv.verify(tmp_path / "again-zealous-True").passes


def test_the_same_words_on_spark(spark: Any) -> None:
    rows = pa.table({"user": ["ann"], "query": ["稀有兰花 iphone15手機殼"]})
    log = qv.read(rows, engine=spark, segment=True)
    assert log.engine.arrow(log.table)["words"].to_pylist() == ["稀有 兰花 iphone15 手機 殼"]


@pytest.mark.parametrize(("name", "notes"), [("access_log.decode", 1), ("access_log.20080601.decode", 0)])
def test_times_without_a_date_have_one_note(name: str, notes: int, tmp_path: Path) -> None:
    log = tmp_path / name
    log.write_text("".join(f"00:0{n}:00\tu{n}\t[tea]\t1 1\texample.org\n" for n in range(3)))
    found = qv.inspect(qv.read(log))
    assert len([note for note in found.notes if "1970" in note]) == notes
    assert not [note for note in found.notes if "time_format" in note]


def note_about(log: qv.SearchLog, option: str) -> list[str]:
    """Return the notes that name an option, which `inspect` shows as well."""
    assert qv.inspect(log).notes == log.notes
    return [note for note in log.notes if option in note]


def numbers_in(note: str) -> list[int]:
    return [int(number.replace(",", "")) for number in re.findall(r"\d[\d,]*", note)]


@pytest.mark.parametrize(
    ("engine", "times", "day_only"),
    [
        ("duckdb", "%Y-%m-%d", True),
        ("duckdb", "%Y-%m-%d 00:00:00", True),
        ("duckdb", "%Y-%m-%dT00:00:00+02:00", True),
        ("duckdb", "%Y-%m-%d %H:%M:%S", False),
        ("spark", "%Y-%m-%d", True),
    ],
)
def test_rows_that_whole_days_merge_are_counted(
    engine: str, times: str, day_only: bool, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    rows = [
        (f"u{at % 9}", (DAY + dt.timedelta(days=at % 4, minutes=at)).strftime(times), f"tea {at % 2}")
        for at in range(300)
    ]
    file = write(tmp_path / "log.tsv", "user\ttime\tquery\n" + "".join("\t".join(row) + "\n" for row in rows))
    log = qv.read(file, engine=request.getfixturevalue("spark") if engine == "spark" else engine)
    found = note_about(log, "columns={'time': ")
    assert len(found) == day_only
    if day_only:
        merged = len(rows) - len(set(rows))
        assert merged > 200 and numbers_in(found[0]) == [merged, len(rows)]
        assert qv.inspect(log).events == len(set(rows))
        assert qv.inspect(qv.read(file, columns={"time": ""})).events == len(rows)


def test_whole_days_that_merge_nothing_have_no_note() -> None:
    rows = [{"user": f"u{at}", "query": "tea", "time": DAY + dt.timedelta(days=at)} for at in range(5)]
    assert qv.read(rows).notes == ()


@pytest.mark.parametrize(
    "value",
    [
        "https://www.site{}.example/page",
        "www.site{}.example",
        "site{}.example.org/search?q=tea",
        "Mozilla/5.0 (X11; Linux x86_64; rv:{}) Gecko",
        "Windows-RSS-Platform/2.{} (MSIE 9.0; Windows NT 6.1)",
    ],
)
def test_users_that_look_like_addresses_or_programs_are_doubted(value: str) -> None:
    rows = [{"page": value.format(at % 7), "query": f"tea {at}"} for at in range(60)]
    (found,) = note_about(qv.read(rows, columns={"user": "page"}), "columns={'user': ")
    assert numbers_in(found) == [7, 7]


@pytest.mark.parametrize(
    "value", ["ann.smith{}", "a{}@example.org", "10.0.0.{}", "AB/{}", "fe80::{}", "lib:{}", "Ann Li {}"]
)
def test_usual_ids_of_users_are_not_taken_for_addresses(value: str) -> None:
    rows = [{"user": value.format(at % 7), "query": f"tea {at}"} for at in range(12)]
    assert qv.read(rows).notes == ()


def test_an_access_log_is_told_only_its_own_options(tmp_path: Path) -> None:
    line = '{{"remote_addr": "10.0.0.1", "status": "200", "request": "GET /?q=tea{0} HTTP/1.1", '
    line += '"time_iso8601": "2026-03-01T10:{0:02d}:00Z", "referer": "https://site{0}.example/"}}\n'
    file = write(tmp_path / "access.log", "".join(line.format(at % 60) for at in range(60)))
    log = qv.read(file, query_parameter=("q",), user_field="referer")
    assert len(note_about(log, "user_field")) == 2
    assert not note_about(log, "columns=")
