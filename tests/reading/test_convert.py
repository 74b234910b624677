"""A log in another format is the same log: what both can hold survives there and back."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import queryveil as qv
from tests.command import command
from tests.reading.formats.logs import write

CORPUS = Path(__file__).parents[1] / "data" / "sources"
NAMES = ("user", "time", "query", "url", "rank", "session")

words = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=8)
plain = st.text(st.characters(codec="utf-8", exclude_characters="\0\t\n\r"), min_size=1, max_size=6)
users = plain.filter(
    lambda text: text.strip() and text not in {"NULL", "null", "Null", "\\N", "(null)", "<null>"}
)
values = plain.filter(
    lambda text: text.strip() and text not in {"None", "none", "NaN", "nan", "N/A", "-", "NULL"}
)
times = st.datetimes(dt.datetime(1001, 1, 1), dt.datetime(9998, 1, 1))
rows = st.lists(
    st.tuples(
        users,
        times,
        words,
        st.none() | values,
        st.none() | st.integers(0, 999_999_999),
        st.none() | values,
    ),
    min_size=1,
    max_size=8,
)


def table(given_rows: list[tuple[Any, ...]]) -> pa.Table:
    columns = dict(zip(NAMES, (list(one) for one in zip(*given_rows, strict=True)), strict=True))
    kinds = {"time": pa.timestamp("us"), "rank": pa.int32()}
    return pa.table({name: pa.array(one, kinds.get(name, pa.string())) for name, one in columns.items()})


def content(log: qv.SearchLog, *names: str) -> Counter[tuple[Any, ...]]:
    found = log.table.select(*names).to_pyarrow().to_pylist()
    return Counter(tuple(row[name] for name in names) for row in found)


def events(log: qv.SearchLog) -> set[tuple[Any, ...]]:
    return {one for one in content(log, "user", "time", "query") if one[2]}


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows)
def test_there_and_back(tmp_path_factory: pytest.TempPathFactory, made: list[tuple[Any, ...]]) -> None:
    folder = tmp_path_factory.mktemp("there")
    made = [(*row[:4], row[4] if row[3] else None, row[5]) for row in made]
    log = qv.read(table(made))
    assert log.staged.rejected == 0
    qv.convert(log, folder / "log.parquet")
    assert content(qv.read(folder / "log.parquet"), *NAMES) == content(log, *NAMES)
    qv.convert(log, folder / "log.tsv")
    assert content(qv.read(folder / "log.tsv", format="tsv"), *NAMES) == content(log, *NAMES)
    made_aol = qv.convert(log, folder / "log.txt.gz")
    there = qv.read(folder / "log.txt.gz", format="aol")
    if not any("dash" in note for note in made_aol.notes):
        assert content(there, *NAMES[:5]) == content(log, *NAMES[:5])
    qv.convert(log, folder / "log.ndjson")
    there = qv.read(folder / "log.ndjson", format="ubi")
    assert events(there) == events(log)
    clicks = {one: n for one, n in content(log, *NAMES).items() if one[3] is not None}
    assert {one: n for one, n in content(there, *NAMES).items() if one[3] is not None} == clicks
    searches = {one: n for one, n in content(log, *NAMES).items() if one[3] is None}
    assert searches.items() <= {one: n for one, n in content(there, *NAMES).items() if one[3] is None}.items()


def test_ubi_by_way_of_aol(tmp_path: Path) -> None:
    source = CORPUS / "ubi-bulk.ndjson"
    log = qv.read(source)
    for name in ("log.txt", "log.tsv", "log.parquet", "log.ndjson"):
        done = command("convert", str(source), str(tmp_path / name), "--json")
        assert done.document["rows"] == log.rows
        assert (tmp_path / name).stat().st_mode & 0o077 == 0
        there = qv.read(tmp_path / name)
        assert events(there) == events(log)
        clicked = ("user", "time", "query", "url", "rank")
        assert {one for one in content(there, *clicked) if one[3]} == {
            one for one in content(log, *clicked) if one[3]
        }


def test_aol_back_to_ubi_is_the_same_log(tmp_path: Path) -> None:
    """Searches, clicks, orphans and people: what AOL can hold of UBI comes back as UBI, row by row."""
    held = ("user", "time", "query", "url", "rank")
    for name in ("ubi-bulk.ndjson", "ubi-array.json", "ubi-lines.jsonl", "ubi-tabs.txt", "ubi.zip"):
        log = qv.read(CORPUS / name)
        made = tmp_path / name
        made.mkdir()
        qv.convert(log, made / "log.txt", "aol")
        aol = qv.read(made / "log.txt")
        assert content(aol, *held) == content(log, *held)
        qv.convert(aol, made / "log.ndjson", "ubi")
        back = qv.read(made / "log.ndjson")
        there, here = content(back, *held), content(log, *held)
        assert not here - there
        # A click that had a query but no search, which AOL cannot say, has one now: the search that its query tells of.
        assert {one[:3] for one in there - here} <= {one[:3] for one in here if one[3]}
        assert all(one[3] is None for one in there - here)
        assert (back.users, events(back)) == (log.users, events(log)), name


def test_what_a_format_cannot_hold_is_said_or_refused(tmp_path: Path) -> None:
    log = qv.read(
        table(
            [
                ("ann", dt.datetime(2006, 3, 1), "-", None, None, "s1"),
                ("bob", dt.datetime(2006, 3, 1), "a\tb", None, None, None),
            ]
        )
    )
    notes = " ".join(qv.convert(log, tmp_path / "log.txt").notes)
    assert "1 queries are a dash" in notes
    assert "1 queries have tabs" in notes
    assert "sessions are left out" in notes
    log = qv.read(table([("an\tn", dt.datetime(2006, 3, 1), "tea", None, None, None)]))
    with pytest.raises(qv.CannotBeMet, match="1 rows have a tab or a line end in a user"):
        qv.convert(log, tmp_path / "odd.tsv")
    assert not (tmp_path / "odd.tsv").exists()
    assert qv.convert(log, tmp_path / "odd.ndjson").rows == 1
    with pytest.raises(qv.InputError, match="needs a 'time' column"):
        qv.convert(qv.read(pa.table({"user": ["ann"], "query": ["tea"]})), tmp_path / "timeless.txt")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ("log.csv out.doc", 2, "does not say which format to write"),
        ("log.csv out.parquet.gz", 2, "Parquet is compressed inside"),
        ("log.csv out.tsv --to excel", 2, "cannot be written as 'excel'"),
        ("log.csv log.csv --to tsv", 2, "exists"),
        ("nothing.csv out.tsv", 3, "there is no file or folder"),
    ],
)
def test_wrong_use_gets_one_sentence(
    words: str, code: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "log.csv", "user,query\nann,tea\n")
    done = command("convert", *words.split())
    assert done.code == code
    assert said in " ".join(done.err.split())
    assert sorted(one.name for one in tmp_path.iterdir()) == ["log.csv"]
