"""Tables as people have them: other delimiters, other names, values inside other text."""

from __future__ import annotations

from pathlib import Path

import pytest

import queryveil as qv
from queryveil.show.cli.options import column_map
from tests.reading.formats.logs import read, rejections, rows_of, write

NUMBERS = {"user": 1, "time": 2, "query": 3}


@pytest.mark.parametrize("delimiter", ["\t", ";", "|", ","])
@pytest.mark.parametrize("name", ["log", "log.csv"])
def test_the_delimiter_is_found_without_a_header(delimiter: str, name: str, tmp_path: Path) -> None:
    rows = [("ann", "2006-03-01", "tea pot"), ("bob", "2006-03-02", "mug"), ("eve", "2006-03-02", "")]
    log = write(tmp_path / name, "".join(delimiter.join(row) + "\n" for row in rows))
    options = {"format": "tsv"} if (delimiter, name) == ("\t", "log.csv") else {}
    staged = read(log, tmp_path / "into", columns=NUMBERS, **options)
    assert rows_of(staged, "user", "query") == [(user, query) for user, _, query in rows]


def test_one_odd_line_does_not_decide(tmp_path: Path) -> None:
    good = "".join(f"u{at};2006-03-01;tea\n" for at in range(30))
    staged = read(write(tmp_path / "log", "a,b,c\n" + good), tmp_path / "into", columns=NUMBERS)
    assert (staged.rows, rejections(staged)) == (30, [("log", 1, "wrong number of fields")])


def test_what_is_not_certain_is_asked(tmp_path: Path) -> None:
    log = write(tmp_path / "log", "1;a,x;private\n2;c,y;private\n")
    with pytest.raises(qv.InputError, match="may have semicolons or commas between its columns") as caught:
        read(log, tmp_path / "into", columns={"user": 1, "query": 2})
    assert "delimiter" in caught.value.hint
    assert "private" not in str(caught.value)
    staged = read(log, tmp_path / "told", columns={"user": 1, "query": 2}, delimiter=";")
    assert rows_of(staged, "query") == [("a,x",), ("c,y",)]


@pytest.mark.parametrize(
    "header",
    [
        "userID,when,tag",
        "User ID,Created-At,Search Term",
        "visitor_id,event_time,searchQuery",
        "client_id,timestamp,q",
    ],
)
def test_common_names_are_known(header: str, tmp_path: Path) -> None:
    staged = read(write(tmp_path / "log.csv", f"{header}\nann,2006-03-01,tea\n"), tmp_path / "into")
    assert rows_of(staged, "user", "query") == [("ann", "tea")]


def test_common_names_in_json(tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl", '{"userID": 7, "when": 1141214400, "searchTerm": "tea"}\n')
    assert rows_of(read(log, tmp_path / "into"), "user", "query") == [("7", "tea")]


SOGOU = "00:00:01\t298\t[安全, 卫士]\t8 3\ta.example/x\n00:00:05\t299\t[b]\t1 1\tb.example/\n"
WHERE = {"user": 2, "time": 1, "query": r"3:/\[(.*)\]/", "rank": r"4:/^(\d+) \d+$/", "url": 5}


def test_a_pattern_finds_the_value_in_a_column(tmp_path: Path) -> None:
    log = write(tmp_path / "SogouQ.sample", SOGOU.encode("gb18030"))
    staged = read(log, tmp_path / "into", columns=WHERE, encoding="gb18030", time_format="%H:%M:%S")
    assert rows_of(staged, "user", "query", "rank", "url") == [
        ("298", "安全, 卫士", 8, "a.example/x"),
        ("299", "b", 1, "b.example/"),
    ]


def test_a_value_without_the_pattern_is_rejected(tmp_path: Path) -> None:
    log = write(tmp_path / "log", SOGOU + "00:00:06\t300\tno brackets\t1 1\tc.example/\n")
    staged = read(log, tmp_path / "into", columns=WHERE, time_format="%H:%M:%S", max_rejected=1)
    assert rejections(staged) == [("log", 3, "no match")]


def test_patterns_by_name_without_a_group(tmp_path: Path) -> None:
    log = write(tmp_path / "log.csv", "who,what\nid=17,tea\n")
    staged = read(log, tmp_path / "into", columns={"user": r"who:/\d+/", "query": "what"})
    assert rows_of(staged, "user", "query") == [("17", "tea")]


@pytest.mark.parametrize("pattern", ["3:/(a)(b)/", "3:/(/", "3:/(?=x)y/"])
def test_bad_patterns_are_refused(pattern: str, tmp_path: Path) -> None:
    with pytest.raises(qv.UsageError, match="a column's pattern"):
        read(write(tmp_path / "log", SOGOU), tmp_path / "into", columns={"user": 2, "query": pattern})


def test_patterns_are_refused_where_they_mean_nothing(tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl", '{"a": "1", "b": "x"}\n')
    with pytest.raises(qv.UsageError, match="have no meaning in jsonl"):
        read(log, tmp_path / "into", columns={"user": "a", "query": "b:/x/"})


def test_patterns_may_hold_commas_on_the_command_line() -> None:
    assert column_map(r"user=2,query=3:/\[(.{1,99})\]/,time=1") == {
        "user": 2,
        "query": r"3:/\[(.{1,99})\]/",
        "time": 1,
    }


def test_the_mapping_of_columns_is_told(tmp_path: Path) -> None:
    log = write(tmp_path / "log.csv", "userID,movieID,tag,when\nann,7,tea,2006-03-01\n")
    found = qv.inspect(qv.read(log))
    assert found.columns == {"user": "userID", "time": "when", "query": "tag"}
    assert found.ignored == ("movieID",)
    assert found.as_dict()["columns"]["query"] == "tag"


def test_a_line_that_is_only_said_to_be_a_header_is_not_told(tmp_path: Path) -> None:
    log = write(tmp_path / "log.tsv", "secret-user\tsecret-query\tsecret\nann\ttea\tx\n")
    staged = read(log, tmp_path / "into", columns={"user": 1, "query": 2}, header=True)
    assert (dict(staged.mapping), staged.ignored) == ({"user": "column 1", "query": "column 2"}, ())


def test_columns_that_look_wrong_are_noted(tmp_path: Path) -> None:
    rows = "".join(f"person{at % 3},2006-03-01,query {at}\n" for at in range(30))
    log = write(tmp_path / "log.csv", rows)
    swapped, right = (
        qv.inspect(qv.read(log, columns={"user": user, "time": 2, "query": query})).notes
        for user, query in ((3, 1), (1, 3))
    )
    assert any("30 users" in note for note in swapped)
    assert len(right) == 1 and "columns={'time': " in right[0]
