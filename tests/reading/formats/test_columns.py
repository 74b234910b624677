"""Naming columns, and what a message proposes where they are not found."""

from __future__ import annotations

import datetime as dt
import json
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
    ("first", "missing"),
    [
        ("referrer,time,query", ["user"]),
        ("user_agent,uid,time,words", ["query"]),
        ("referrer,user_agent,url", ["user", "query"]),
    ],
)
def test_a_message_names_only_columns_that_are_missing(
    first: str, missing: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "log.csv"
    width = first.count(",") + 1
    file.write_text(f"{first}\n" + ",".join(f"https://example.org/{at}" for at in range(width)) + "\n")
    with pytest.raises(qv.InputError) as refused:
        qv.read(file)
    found = re.search(r"usual name for the (\w+)(?: and the (\w+))?", str(refused.value))
    assert found is not None and [one for one in found.groups() if one] == missing
    assert "agent" not in str(refused.value) and "referrer" not in str(refused.value)


@pytest.mark.parametrize("source", ["text", "rows", "table"])
@pytest.mark.parametrize(
    ("typed", "named"), [("user", "useragent"), ("user_name", "user_agent"), ("refferer_id", "referrer")]
)
def test_addresses_and_agents_are_not_proposed_as_the_user(
    source: str, typed: str, named: str, tmp_path: Path
) -> None:
    rows = [{named: "Mozilla/5.0", "query": "tea"}]
    file = tmp_path / "log.csv"
    file.write_text(f"{named},query\nMozilla/5.0,tea\n")
    given = {"text": file, "rows": rows, "table": pa.Table.from_pylist(rows)}[source]
    with pytest.raises(qv.InputError) as refused:
        qv.read(given, columns={"user": typed})
    assert "did you mean" not in str(refused.value)


def test_a_column_is_proposed_for_what_it_usually_holds(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    file.write_text("userid,query\nann,tea\n")
    with pytest.raises(qv.InputError, match="did you mean query"):
        qv.read(file, columns={"query": "qeury"})
    with pytest.raises(qv.InputError) as refused:
        qv.read(file, columns={"query": "usrid"})
    assert "did you mean" not in str(refused.value)


@pytest.mark.parametrize(
    "named", [{"user": "patron", "query": "words"}, {"user": "patron", "query": "words", "time": "ts"}]
)
def test_keys_that_are_not_read_are_noted(named: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "log.jsonl"
    file.write_text(
        "".join(f'{{"patron": "u{at}", "words": "tea", "ts": "2026-03-01 10:00"}}\n' for at in range(9))
    )
    log = qv.read(file, columns=named)
    assert ("time" in log.columns) == ("time" in named)
    assert ["columns={'time': 'ts'}" in note for note in log.notes] == ([] if "time" in named else [True])


@pytest.mark.parametrize("suffix", ["tsv", "jsonl"])
@pytest.mark.parametrize(
    "time_format",
    ["%d.%m.%Y %H:%M", "%d/%b/%Y:%H:%M:%S %z", "%y%m%d%H%M%S", "%Y%m%d%H%M", "%m/%d/%Y %I:%M:%S %p"],
)
def test_the_proposed_time_format_is_that_of_the_log(suffix: str, time_format: str, tmp_path: Path) -> None:
    times = [dt.datetime(2006, 3, day, 9 + day % 3, day, tzinfo=dt.UTC) for day in range(1, 29)]
    file = tmp_path / f"log.{suffix}"
    rows = [(f"u{at}", time.strftime(time_format), "tea") for at, time in enumerate(times)]
    if suffix == "tsv":
        file.write_text("".join("\t".join(row) + "\n" for row in rows))
    else:
        file.write_text(
            "".join(json.dumps(dict(zip(("user", "time", "query"), row, strict=True))) + "\n" for row in rows)
        )
    columns: Any = {"user": 1, "time": 2, "query": 3} if suffix == "tsv" else None
    with pytest.raises(qv.InputError) as refused:
        qv.read(file, columns=columns)
    assert re.findall(r"'(%[^']+)'", str(refused.value)) == [time_format]
    log = qv.read(file, columns=columns, time_format=time_format)
    # One minute is the precision of some of these formats.
    found = log.engine.arrow(log.table.select("time"))["time"].to_pylist()
    assert {time.replace(tzinfo=None) for time in found} == {time.replace(tzinfo=None) for time in times}
