"""What looks as if a log had been read wrongly is said, and what looks right is not."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import queryveil as qv
from queryveil.measure.doubts import doubts
from tests.reading.formats.logs import write

DAY = dt.datetime(2006, 3, 1)


def notes(users: list[str], queries: list[str], **options: Any) -> list[str]:
    times = [DAY + dt.timedelta(minutes=at) for at in range(len(users))]
    log = qv.read(pa.table({"user": users, "query": queries, "time": times}), **options)
    return list(doubts(log, {"rows": log.rows, "first": times[0], "last": times[-1]}))


SOUND = ([f"u{at % 5}" for at in range(30)], [f"tea {at}" for at in range(30)])


def test_a_sound_log_is_not_doubted() -> None:
    assert notes(*SOUND) == []


@pytest.mark.parametrize(
    ("users", "queries", "said"),
    [
        ([f"u{at}" for at in range(30)], SOUND[1], "30 users in 30 rows"),
        ([f"rare orchids {at % 5}" for at in range(30)], SOUND[1], "users are several words"),
        (["robot"] * 20 + SOUND[0][20:], SOUND[1], "one user has 67 % of all rows"),
        (["user_id", *SOUND[0]], ["Query", *SOUND[1]], "1 row looks like a line with names of columns"),
        (SOUND[0], ["稀有兰花"] * 30, "100 % of the queries are in scripts without blanks"),
        (SOUND[0], ["โรงแรมราคาถูก"] * 30, "scripts without blanks"),
    ],
)
def test_what_looks_wrong_is_said(users: list[str], queries: list[str], said: str) -> None:
    found = notes(users, queries)
    assert len(found) == 1
    assert said in found[0]


@pytest.mark.parametrize(
    ("year", "said"), [(2006, None), (1970, "1970-03-01, before searches were logged"), (2900, "2900-03-01")]
)
def test_times_that_cannot_be_are_said(year: int, said: str | None) -> None:
    rows = [{"user": "ann", "query": "tea", "time": dt.datetime(year, 3, 1, at)} for at in range(3)]
    found = [note for note in qv.inspect(qv.read(rows)).notes if "--time-format" in note]
    assert [said in note for note in found if said] == ([True] if said else [])
    assert len(found) == (said is not None)


def test_a_header_among_numbered_columns_is_seen(tmp_path: Path) -> None:
    log = write(tmp_path / "log.csv", "uid,q\nann,tea\nbob,mug\n")
    found = qv.inspect(qv.read(log, columns={"user": 1, "query": 2}))
    assert any("names of columns" in note and "--header" in note for note in found.notes)


def test_words_are_cut_only_if_asked() -> None:
    rows = [{"user": f"u{at}", "query": "稀有兰花 C++ 東京駅"} for at in range(3)]
    whole, cut = (qv.inspect(qv.read(rows, segment=one)) for one in (False, True))
    assert (whole.items["keywords"]["distinct"], whole.items["queries"]["distinct"]) == (3, 1)
    assert (cut.items["keywords"]["distinct"], cut.items["queries"]["distinct"]) == (5, 1)
    assert any("no blanks" in note or "without blanks" in note for note in whole.notes)
    assert any("--segment" in note for note in cut.notes)
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
    assert not [note for note in found.notes if "--time-format" in note or "time_format" in note]
