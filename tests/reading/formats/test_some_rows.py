"""Reading a part of a log: rows of one kind, rows of some users; and words that stand for nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

import queryveil as qv
from tests.reading.formats.logs import read, rejections, rows_of, write

FIELDS = "user,action,query,url\nann,search,tea,\nann,open,x,u1\nbob,search,mug,missing\nmissing,search,y,\nonly one\n"
LINES = (
    '{"user": "ann", "event": {"kind": "search"}, "query": "tea", "time": 1141214400}\n'
    '{"user": "ann", "event": {"kind": "open"}, "time": 1141214401}\n'
    '{"user": "bob", "query": "mug", "time": 1141214402}\n'
    "no JSON\n"
)


@pytest.mark.parametrize(
    ("where", "queries"),
    [
        (("action=search",), ["tea", "mug", "y"]),
        (("action!=search",), ["x"]),
        (("2=search", "user=ann"), ["tea"]),
    ],
)
def test_only_rows_where_a_column_has_a_value(
    where: tuple[str, ...], queries: list[str], tmp_path: Path
) -> None:
    log = write(tmp_path / "log.csv", FIELDS)
    staged = read(log, tmp_path / "into", where=where, max_rejected=1)
    assert [query for (query,) in rows_of(staged, "query")] == queries
    assert dict(staged.skipped) == {"rows filtered out": 4 - len(queries)}
    assert rejections(staged) == [("log.csv", 6, "wrong number of fields")]


def test_where_in_json_lines(tmp_path: Path) -> None:
    log = write(tmp_path / "log.jsonl", LINES)
    staged = read(log, tmp_path / "into", where=("event.kind=search",), max_rejected=1)
    assert rows_of(staged, "query") == [("tea",)]
    assert dict(staged.skipped) == {"rows filtered out": 2}
    assert rejections(staged) == [("log.jsonl", 4, "not JSON")]


def test_conditions_that_mean_nothing_are_refused(tmp_path: Path) -> None:
    with pytest.raises(qv.UsageError, match="is not COLUMN=VALUE") as caught:
        qv.ReadOptions(where=("private words",))
    assert "private" not in str(caught.value)
    with pytest.raises(qv.InputError, match=r"has no column 'kind'.*correct where"):
        read(write(tmp_path / "log.csv", FIELDS), tmp_path / "into", where=("kind=search",))


def test_words_for_nothing_can_be_named(tmp_path: Path) -> None:
    log = write(tmp_path / "log.csv", FIELDS)
    staged = read(log, tmp_path / "into", null=("missing", "x"), max_rejected=1)
    assert rows_of(staged, "user", "query", "url") == [
        ("ann", "tea", None),
        ("ann", "", "u1"),
        ("bob", "mug", None),
    ]
    assert (dict(staged.reasons), staged.empty_queries) == ({"no user": 1, "wrong number of fields": 1}, 1)


def test_a_sample_has_whole_users(tmp_path: Path) -> None:
    rows = [f"u{at}\tq{at}-{n}\n" for at in range(1000) for n in range(3)]
    log = write(tmp_path / "log.tsv", "user\tquery\n" + "".join(rows))
    part = qv.read(log, sample_users=0.2)
    # Hashes of fixed names: the same users every time, near a fifth of them.
    assert 150 < part.users < 250
    assert part.rows == 3 * part.users
    assert "sample" in qv.inspect(part).notes[0]
    assert qv.read(log, sample_users=1).rows == 3000
    larger = qv.read(log, sample_users=0.5)
    one, other = (some.table.select("user").distinct().to_pyarrow() for some in (part, larger))
    assert set(one["user"].to_pylist()) <= set(other["user"].to_pylist())
    with pytest.raises(qv.UsageError, match="sample_users"):
        qv.read(log, sample_users=0)
