"""A bad row stops nothing, vanishes never, and is told by file, line and reason."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from queryveil.errors import InputError
from tests.reading.formats.logs import NOON, read, rejected_rows, rejections, rows_of, write


def test_tsv_reasons_with_file_and_line(tmp_path: Path) -> None:
    lines = [
        b"user\ttime\tquery\turl\trank",
        b"u1\t2006-03-01 12:00:00\tgood\thttp://a\t1",
        b"u2\t2006-03-01 12:00:00",
        b"\t2006-03-01 12:00:00\tq\t\t",
        b"  \t2006-03-01 12:00:00\tq\t\t",
        b"u3\tyesterday\tq\t\t",
        b"u4\t2006-03-01 12:00:00\tq\thttp://a\tfirst",
        b"u5\t2006-03-01 12:00:00\tq\thttp://a\t-1",
        b"u6\t2006-03-01 12:00:00\tcaf\xe9\t\t",
        b"u7\t2006-03-01 12:00:00\tnul\x00\t\t",
        b"",
        b"u8\t2006-03-01 12:00:00\tshifted\tby a tab\thttp://a\t1",
        b"u9\t2006-03-01 12:00:00\tone delimiter too many\thttp://a\t1\t",
        b"",
        b"",
    ]
    staged = read(write(tmp_path / "x.tsv", b"\n".join(lines)), tmp_path / "into", max_rejected=1)
    assert rejections(staged) == [
        ("x.tsv", 3, "wrong number of fields"),
        ("x.tsv", 4, "no user"),
        ("x.tsv", 5, "no user"),
        ("x.tsv", 6, "bad time"),
        ("x.tsv", 7, "bad rank"),
        ("x.tsv", 8, "bad rank"),
        ("x.tsv", 9, "not UTF-8"),
        ("x.tsv", 10, "binary data"),
        ("x.tsv", 11, "blank line"),
        ("x.tsv", 12, "wrong number of fields"),
    ]
    assert [user for (user,) in rows_of(staged, "user")] == ["u1", "u9"]
    assert staged.rows + staged.rejected == 12
    assert sum(staged.reasons.values()) == staged.rejected == len(rejected_rows(staged))
    assert rejected_rows(staged)[0]["text"] == "u2\t2006-03-01 12:00:00"
    assert rejected_rows(staged)[6]["text"] == "u6\t2006-03-01 12:00:00\tcaf\\xe9\t\t"


def test_blank_lines_but_one_at_the_end_are_rejected(tmp_path: Path) -> None:
    ends = {"": 0, "\n": 0, "\n\n": 0, "\r\n\r\n": 0, "\n\n\n": 1, "\n\r\n\n\n": 2}
    for number, (end, blank) in enumerate(ends.items()):
        log = write(tmp_path / f"{number}.tsv", "user\tquery\nu\tq" + end)
        staged = read(log, tmp_path / f"into-{number}", max_rejected=1)
        assert (staged.rows, dict(staged.reasons)) == (1, {"blank line": blank} if blank else {}), repr(end)


def test_aol_rows_have_three_or_five_fields(tmp_path: Path) -> None:
    header = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"
    time = "2006-03-01 12:00:00"
    log = write(
        tmp_path / "user-ct.txt", f"{header}1\tq\t{time}\n1\tq\t{time}\t\t\n1\tq\t{time}\t4\n1\t-\t{time}\n"
    )
    staged = read(log, tmp_path / "into", max_rejected=1)
    assert rejections(staged) == [("user-ct.txt", 4, "wrong number of fields")]
    assert rows_of(staged) == [
        ("1", NOON, "q", None, None),
        ("1", NOON, "q", None, None),
        ("1", NOON, "", None, None),
    ]


def test_an_unbalanced_quote_takes_only_its_own_row(tmp_path: Path) -> None:
    lines = [
        "user,query,url",
        'u1,"fine, thanks",x',
        'u2,"never closed,x',
        "u3,plain,x",
        'u4,"said ""yes""",x',
        'u5,"closed" late,x',
        'u6,5" disk,x',
        'u7,"ends here",x',
    ]
    staged = read(write(tmp_path / "x.csv", "\n".join(lines)), tmp_path / "into", max_rejected=1)
    assert rejections(staged) == [("x.csv", 3, "unbalanced quote"), ("x.csv", 6, "unbalanced quote")]
    assert rows_of(staged, "user", "query") == [
        ("u1", "fine, thanks"),
        ("u3", "plain"),
        ("u4", 'said "yes"'),
        ("u6", '5" disk'),
        ("u7", "ends here"),
    ]


def test_an_open_quote_that_the_next_line_would_close(tmp_path: Path) -> None:
    log = write(tmp_path / "x.csv", 'user,query\n"u1","q1"\nu2,"open\nu3,closed"\n"u4","q4"\n')
    staged = read(log, tmp_path / "into", max_rejected=1)
    assert rejections(staged) == [("x.csv", 3, "unbalanced quote")]
    assert rows_of(staged, "user", "query") == [("u1", "q1"), ("u3", 'closed"'), ("u4", "q4")]


def test_json_reasons(tmp_path: Path) -> None:
    lines = [
        '{"user": "u", "query": "q", "rank": 3, "time": "2006-03-01"}',
        '{"user": "u", "query": "q", "time": "2006-03-01"',
        "[1, 2]",
        "text",
        '{"user": "u", "time": "2006-03-01"}',
        '{"query": "q", "time": "2006-03-01"}',
        '{"user": null, "query": "q", "time": "2006-03-01"}',
        '{"user": {"id": 1}, "query": "q", "time": "2006-03-01"}',
        '{"user": true, "query": "q", "time": "2006-03-01"}',
        '{"user": NaN, "query": "q", "time": "2006-03-01"}',
        '{"user": "u", "query": "q"}',
        '{"user": "u", "query": "q", "time": "2006-03-01", "rank": 1.5}',
        '{"user": "u", "query": "\\ud800", "time": "2006-03-01"}',
        '{"user": "true", "query": "{not an object}", "time": "2006-03-01", "rank": null}',
        "",
        '{"user": "NaN", "query": null, "time": 1141214400}',
    ]
    staged = read(write(tmp_path / "x.jsonl", "\n".join(lines)), tmp_path / "into", max_rejected=1)
    assert [(line, reason) for _, line, reason in rejections(staged)] == [
        (2, "not JSON"),
        (3, "not JSON"),
        (4, "not JSON"),
        (5, "no such field"),
        (6, "no user"),
        (7, "no user"),
        (8, "wrong type"),
        (9, "wrong type"),
        (10, "wrong type"),
        (11, "bad time"),
        (12, "bad rank"),
        (13, "not JSON"),
        (15, "blank line"),
    ]
    assert rows_of(staged, "user", "query") == [("u", "q"), ("true", "{not an object}"), ("NaN", "")]


@pytest.mark.parametrize("time_type", ["timestamp[us]", "string"])
def test_parquet_rows_by_file_and_number(time_type: str, tmp_path: Path) -> None:
    for name, users in {"a.parquet": ["u", "", "v"], "b.parquet": ["w", "x", None]}.items():
        times = pa.array([NOON, NOON, None], pa.timestamp("us")).cast(time_type)
        (tmp_path / "logs").mkdir(exist_ok=True)
        pq.write_table(
            pa.table({"user": users, "time": times, "query": ["q", "r", ""]}), tmp_path / "logs" / name
        )
    staged = read(tmp_path / "logs", tmp_path / "into", max_rejected=1)
    assert staged.direct == (time_type != "string")
    assert sorted(rejections(staged)) == [
        ("a.parquet", 2, "no user"),
        ("a.parquet", 3, "bad time"),
        ("b.parquet", 3, "no user"),
    ]
    assert (staged.rows, staged.empty_queries) == (3, None if staged.direct else 0)
    assert "NULL" not in str(rejected_rows(staged)[0]["text"])


def test_bad_rows_of_typed_parquet_are_left_out_of_a_copy(tmp_path: Path) -> None:
    log = tmp_path / "x.parquet"
    pq.write_table(pa.table({"user": ["u", "  ", "v"], "query": ["q", "r", "s"], "rank": [1, 2, -3]}), log)
    staged = read(log, tmp_path / "into", max_rejected=1)
    assert staged.direct and staged.files != (log,)
    assert rejections(staged) == [("x.parquet", 2, "no user"), ("x.parquet", 3, "bad rank")]
    assert rows_of(staged, "user", "query", "rank") == [("u", "q", 1)]


def test_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        write(tmp_path / "logs" / folder / "x.tsv", "user\tquery\nu\tq\nshort\n")
    staged = read(tmp_path / "logs", tmp_path / "into", max_rejected=1)
    assert len({file for file, _, _ in rejections(staged)}) == 2


def test_examples_are_few_and_the_file_has_all(tmp_path: Path) -> None:
    log = write(tmp_path / "x.tsv", "user\tquery\nu\tq\n" + "short\n" * 100)
    staged = read(log, tmp_path / "into", max_rejected=1)
    assert len(staged.examples) == 20
    assert [row["line"] for row in rejected_rows(staged)] == list(range(3, 103))


@pytest.mark.parametrize(("bad", "stops"), [(5, False), (6, True)])
def test_more_than_max_rejected_stops(bad: int, stops: bool, tmp_path: Path) -> None:
    rows = ["secret-user\tsecret-query\n"] * (100 - bad) + ["secret\n"] * bad
    log = write(tmp_path / "x.tsv", "user\tquery\n" + "".join(rows))
    if not stops:
        assert read(log, tmp_path / "into").rejected == bad
        return
    with pytest.raises(InputError) as caught:
        read(log, tmp_path / "into")
    assert caught.value.exit_code == 3
    assert "6 of 100 rows were rejected" in str(caught.value)
    assert "'x.tsv' line 96" in str(caught.value)
    assert "max_rejected" in caught.value.hint
    assert "secret" not in str(caught.value)


def test_nothing_left_stops_whatever_is_allowed(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none is left"):
        read(write(tmp_path / "x.tsv", "user\tquery\nshort\n"), tmp_path / "into", max_rejected=1)
