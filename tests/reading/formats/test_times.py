"""Times are read by shape, row by row, and come out in UTC."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.errors import InputError, UsageError
from tests.reading.formats.logs import NOON, read, rejections, rows_of, write

GOOD = {
    "2006-03-01 12:00:00": NOON,
    "2006-03-01T12:00:00": NOON,
    " 2006-03-01 12:00:00 ": NOON,
    "2006-03-01 12:00": NOON,
    "2006-03-01": NOON.replace(hour=0),
    "2006-03-01T12:00:00Z": NOON,
    "2006-03-01T14:00:00+02:00": NOON,
    "2006-03-01 14:00:00 +0200": NOON,
    "2006-03-01T09:30:00-02:30": NOON,
    "2006-03-01T13:00+01": NOON,
    "2006-03-01 12:00:00.25": NOON.replace(microsecond=250_000),
    "2006-03-01T12:00:00.123456789Z": NOON.replace(microsecond=123_456),
    "1141214400": NOON,
    "1141214400.5": NOON.replace(microsecond=500_000),
    "1141214400007": NOON.replace(microsecond=7_000),
    "1141214400000007": NOON.replace(microsecond=7),
    "999999999": dt.datetime(2001, 9, 9, 1, 46, 39),
}
BAD = [
    "",
    "noon",
    "2006-02-30",
    "2006-03-01 25:00:00",
    "2006-03-01T12:00:00+16:00",
    "01/03/2006",
    "970916105432",
    "20060301120000",
    "infinity",
    "epoch",
    "0000-01-01",
    "-1141214400",
    "1e9",
]


@pytest.mark.parametrize("text", GOOD)
def test_good_times(text: str, tmp_path: Path) -> None:
    log = write(tmp_path / "x.tsv", f"user\ttime\tquery\nu\t{text}\tq\n")
    assert rows_of(read(log, tmp_path / "into"), "time") == [(GOOD[text],)]


def test_bad_times_are_rejected_and_styles_may_be_mixed(tmp_path: Path) -> None:
    rows = [f"u\t{text}\tq\n" for text in (*BAD, *GOOD)]
    log = write(tmp_path / "x.tsv", "user\ttime\tquery\n" + "".join(rows))
    staged = read(log, tmp_path / "into", max_rejected=1)
    assert staged.reasons == {"bad time": len(BAD)}
    assert rejections(staged) == [("x.tsv", line, "bad time") for line in range(2, 2 + len(BAD))]
    assert [time for (time,) in rows_of(staged, "time")] == list(GOOD.values())


def test_a_time_format_is_the_only_style(tmp_path: Path) -> None:
    texts = ["970916105432", "2006-03-01 12:00:00", "infinity", "epoch", "1141214400"]
    log = write(tmp_path / "x", "".join(f"u\t{text}\tq\n" for text in texts))
    staged = read(
        log,
        tmp_path / "into",
        columns={"user": 1, "time": 2, "query": 3},
        time_format="%y%m%d%H%M%S",
        max_rejected=1,
    )
    assert rows_of(staged, "time") == [(dt.datetime(1997, 9, 16, 10, 54, 32),)]
    assert staged.reasons == {"bad time": 4}


def test_a_time_format_with_a_zone_comes_out_in_utc(tmp_path: Path) -> None:
    log = write(tmp_path / "x.tsv", "user\ttime\tquery\nu\t01/Mar/2006:14:00:00 +0200\tq\n")
    staged = read(log, tmp_path / "into", time_format="%d/%b/%Y:%H:%M:%S %z")
    assert rows_of(staged, "time") == [(NOON,)]


def test_a_wrong_time_format_is_refused_before_reading(tmp_path: Path) -> None:
    log = write(tmp_path / "x.tsv", "user\ttime\tquery\nu\t1\tq\n")
    with pytest.raises(UsageError, match="not a time format"):
        read(log, tmp_path / "into", time_format="%Q")


def test_dates_run_together_are_not_taken_for_an_epoch(tmp_path: Path) -> None:
    log = write(tmp_path / "x", "u\t970916105432\tq\n")
    with pytest.raises(InputError, match="time_format"):
        read(log, tmp_path / "into", columns={"user": 1, "time": 2, "query": 3})


TYPED = {
    "microseconds": (pa.timestamp("us"), [0, 2**63 - 10**7, -(2**62), 1]),
    "seconds": (pa.timestamp("s"), [0, 2**43, -(2**42), 1]),
    "zoned": (pa.timestamp("us", "UTC"), [0, 2**63 - 10**7, -(2**62), 1]),
    "dates": (pa.date32(), [0, 2**31 - 2, 2 - 2**31, 1]),
}


@pytest.mark.parametrize("users", [["u"] * 4, [1.0] * 4], ids=["as it is", "converted"])
@pytest.mark.parametrize("kind", TYPED)
def test_years_in_which_nobody_searched_are_bad_times(kind: str, users: list[object], tmp_path: Path) -> None:
    """An engine cannot add a session's gap to the last instant it knows: one such row would stop them all."""
    type_, times = TYPED[kind]
    table = pa.table({"user": users, "time": pa.array(times, type_), "query": ["q"] * 4})
    pq.write_table(table, tmp_path / "x.parquet")
    log = qv.read(tmp_path / "x.parquet", max_rejected=0.5)
    assert log.staged is not None and (log.rows, log.staged.reasons) == (2, {"bad time": 2})
    assert log.sessions().count().execute() == 2
