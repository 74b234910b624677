"""Naming columns, and what a message proposes where they are not found."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import queryveil as qv

SEMICOLONS = (
    "visitor;when;q;shop;url\n"
    "ann;2006-03-01 10:00;tea;north;a.example\nbob;2006-03-01 11:00;mug;south;b.example\n"
)
ROWS = [
    {"visitor": "ann", "when": dt.datetime(2006, 3, 1, 10), "q": "tea", "shop": "north", "url": "a.example"},
    {"visitor": "bob", "when": dt.datetime(2006, 3, 1, 11), "q": "mug", "shop": "south", "url": "b.example"},
]


@pytest.mark.parametrize("source", ["text", "rows", "table"])
@pytest.mark.parametrize(
    ("named", "users", "found"),
    [
        (None, {"ann", "bob"}, ("user", "time", "query", "url")),
        ({"user": "shop"}, {"north", "south"}, ("user", "time", "query", "url")),
        ({"query": "shop"}, {"ann", "bob"}, ("user", "time", "query", "url")),
        ({"user": "url"}, {"a.example", "b.example"}, ("user", "time", "query")),
        ({"time": "", "url": ""}, {"ann", "bob"}, ("user", "query")),
    ],
)
def test_columns_that_are_not_named_are_still_detected(
    source: str, named: Any, users: set[str], found: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "log.csv"
    file.write_text(SEMICOLONS)
    given = {"text": file, "rows": ROWS, "table": pa.Table.from_pylist(ROWS)}[source]
    log = qv.read(given, columns=named)
    assert log.columns == found
    assert set(log.engine.arrow(log.table.select("user"))["user"].to_pylist()) == users


def test_user_and_query_cannot_be_left_out() -> None:
    with pytest.raises(qv.UsageError):
        qv.read(ROWS, columns={"user": ""})


def test_a_header_without_usual_names_is_not_denied(tmp_path: Path) -> None:
    file = tmp_path / "log.tsv"
    file.write_text("who\twhen\twords\nann\t2006-03-01\ttea\n")
    with pytest.raises(qv.InputError) as refused:
        qv.read(file)
    assert "no header" not in str(refused.value) and "columns" in str(refused.value)
    assert qv.read(file, columns={"user": "who", "query": "words"}).columns == ("user", "time", "query")


@pytest.mark.parametrize(
    "time_format",
    ["%d.%m.%Y %H:%M", "%d/%b/%Y:%H:%M:%S %z", "%y%m%d%H%M%S", "%Y%m%d%H%M", "%m/%d/%Y %I:%M:%S %p"],
)
def test_the_proposed_time_format_is_that_of_the_log(time_format: str, tmp_path: Path) -> None:
    times = [dt.datetime(2006, 3, day, 9 + day % 3, day, tzinfo=dt.UTC) for day in range(1, 29)]
    file = tmp_path / "log.tsv"
    file.write_text("".join(f"u{at}\t{time.strftime(time_format)}\ttea\n" for at, time in enumerate(times)))
    columns = {"user": 1, "time": 2, "query": 3}
    with pytest.raises(qv.InputError) as refused:
        qv.read(file, columns=columns)
    assert re.findall(r"'(%[^']+)'", str(refused.value)) == [time_format]
    log = qv.read(file, columns=columns, time_format=time_format)
    # One minute is the precision of some of these formats.
    found = log.engine.arrow(log.table.select("time"))["time"].to_pylist()
    assert {time.replace(tzinfo=None) for time in found} == {time.replace(tzinfo=None) for time in times}
