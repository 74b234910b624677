"""Tables that a program hands over are read like files: the same columns, the same reasons, nothing lost."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import duckdb
import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil as qv

DAY = dt.datetime(2006, 3, 1, 12)
COLUMNS: dict[str, list[Any]] = {
    "userID": ["ann", "bob", None, " ", "NULL", "eve"],
    "when": ["2006-03-01", "2006-03-01 10:00:00", "2006-03-01", "2006-03-01", "2006-03-01", "yesterday"],
    "searchTerm": ["tea", "tea pot", "mug", "cup", "jug", "urn"],
    "shop": [1, 2, 3, 4, 5, 6],
}
TYPED = COLUMNS | {"when": [DAY, DAY, DAY, DAY, DAY, None], "rank": [1, None, 3, 4, 5, 6]}


def relation(columns: dict[str, list[Any]]) -> Any:
    con = duckdb.connect()
    con.register("log", pa.table(columns))
    return con.sql("SELECT * FROM log")


def ibis_table(columns: dict[str, list[Any]]) -> Any:
    con = ibis.duckdb.connect()
    con.con.register("log", pa.table(columns))
    return con.table("log")


MAKERS: dict[str, Callable[[dict[str, list[Any]]], Any]] = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "polars, lazy": pl.LazyFrame,
    "Arrow": pa.table,
    "Arrow batch": pa.RecordBatch.from_pydict,
    "Arrow dataset": lambda columns: ds.dataset(pa.table(columns)),
    "Arrow reader": lambda columns: pa.table(columns).to_reader(),
    "DuckDB": relation,
    "Ibis": ibis_table,
    "memtable": ibis.memtable,
    "dicts": lambda columns: pa.table(columns).to_pylist(),
}


@pytest.mark.parametrize("columns", [COLUMNS, TYPED], ids=["texts", "typed"])
@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_every_table_is_read_alike(
    make: Callable[[dict[str, list[Any]]], Any], columns: dict[str, list[Any]]
) -> None:
    log = qv.read(make(columns), max_rejected=0.9)
    assert (log.rows, log.users) == (2, 2)
    assert log.staged.reasons == {"no user": 3, "bad time": 1}
    assert log.staged.mapping["user"] == "userID"
    assert log.staged.mapping["time"] == "when"
    assert log.staged.ignored == ("shop",)
    assert pq.read_table(log.staged.rejected_file).num_rows == 4
    found = log.table.select("user", "query").to_pyarrow().to_pylist()
    assert sorted(row["query"] for row in found) == ["tea", "tea pot"]
    assert qv.inspect(log).rejected == 4


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_too_many_bad_rows_stop_it(make: Callable[[dict[str, list[Any]]], Any]) -> None:
    with pytest.raises(qv.InputError, match=r"4 of 6 rows were rejected, more than 0.05 of all") as caught:
        qv.read(make(COLUMNS))
    assert "urn" not in str(caught.value)


def test_values_of_several_types_harm_only_their_rows() -> None:
    frame = pd.DataFrame(
        {
            "user": [1, "ann", np.nan, 2.0, 7],
            "query": ["tea", 3, None, "mug", "cup"],
            "time": [DAY, "2006-03-02", DAY, pd.Timestamp("2006-03-03", tz="UTC"), {"odd": 1}],
        }
    )
    log = qv.read(frame, max_rejected=0.9)
    assert log.staged.reasons == {"no user": 1, "bad time": 1}
    rows = log.table.order_by("time").to_pyarrow().to_pylist()
    assert [(row["query"], row["time"].day) for row in rows] == [("tea", 1), ("3", 2), ("mug", 3)]
    dicts = [*frame.to_dict("records"), {"user": "bob"}, {"query": "lost"}]
    log = qv.read(dicts, max_rejected=0.9)
    assert log.rows + log.staged.rejected == len(dicts)
    assert log.staged.reasons == {"no user": 2, "wrong type": 1, "no such field": 1}


def test_users_with_gaps_are_whole_numbers() -> None:
    frame = pd.DataFrame({"user": [17, None, 18], "query": ["tea", "mug", "cup"]})
    log = qv.read(frame, max_rejected=0.5)
    assert sorted(log.table.to_pyarrow()["user"].to_pylist()) == ["17", "18"]


def test_an_ibis_table_is_copied() -> None:
    con = ibis.duckdb.connect()
    con.raw_sql('CREATE TABLE log ("user" VARCHAR, query VARCHAR, rank BIGINT)')
    con.raw_sql("INSERT INTO log VALUES ('ann', 'tea', 1), ('\u2003', 'mug', 1), ('bob', 'cup', 99999999999)")
    log = qv.read(con.table("log"), max_rejected=0.9)
    con.disconnect()
    assert log.staged.reasons == {"no user": 1, "bad rank": 1}
    assert log.table.to_pyarrow().to_pylist() == [{"user": "ann", "query": "tea", "rank": 1, "words": "tea"}]


def test_spark_counts_them_too(spark: Any) -> None:
    frame = spark.con._session.createDataFrame(
        [("ann", "tea", DAY), (None, "mug", DAY), ("\u2003", "cup", DAY), ("bob", "jug", None)],
        "user string, query string, time timestamp_ntz",
    )
    log = qv.read(frame, max_rejected=0.9)
    assert (log.rows, log.staged.reasons) == (1, {"no user": 2, "bad time": 1})
    frame = spark.con._session.createDataFrame(
        [("ann", "tea", "2006-03-01"), ("bob", "mug", "never")], "user string, query string, time string"
    )
    log = qv.read(frame, max_rejected=0.9)
    assert (log.rows, log.staged.reasons) == (1, {"bad time": 1})


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS.keys())
def test_what_is_missing_is_said(make: Callable[[dict[str, list[Any]]], Any]) -> None:
    with pytest.raises(qv.InputError, match=r"for the user.*'person', 'query'"):
        qv.read(make({"person": ["ann"], "query": ["tea"]}))
    log = qv.read(make({"person": ["ann"], "query": ["tea"]}), columns={"user": "person", "query": "query"})
    assert log.users == 1


def test_what_is_no_table_is_refused() -> None:
    with pytest.raises(qv.UsageError, match="a log cannot be a int"):
        qv.read(7)
    with pytest.raises(qv.UsageError, match="'format' has no meaning for a table"):
        qv.read(pa.table({"user": ["ann"], "query": ["tea"]}), format="csv")
    with pytest.raises(qv.UsageError, match=r"delimiter'?.* has no meaning"):
        qv.read(pd.DataFrame({"user": ["ann"], "query": ["tea"]}), delimiter=";")
    with pytest.raises(qv.InputError, match=r"is list<.*>, which cannot be a user"):
        qv.read(pa.table({"user": [["ann"]], "query": ["tea"]}))
    with pytest.raises(qv.InputError, match="user"):
        qv.read(pd.DataFrame([["ann", "bob", "tea"]], columns=["user", "user", "query"]))


NOBODY = pa.table({"user": pa.array([], pa.string()), "query": pa.array([], pa.string())})


@pytest.mark.parametrize("table", [NOBODY, NOBODY.to_pandas(), ibis.memtable(NOBODY)])
def test_an_empty_table_is_a_log_of_nobody(table: Any) -> None:
    log = qv.read(table)
    assert (log.rows, log.users) == (0, 0)


texts = st.one_of(
    st.none(), st.sampled_from(["", " ", "NULL", "\u2003", "ann", "bob", "é"]), st.text(max_size=4)
)


@settings(max_examples=12)
@given(
    st.lists(
        st.tuples(texts, texts, st.sampled_from([DAY, None, dt.datetime(1, 1, 1)])), min_size=1, max_size=9
    )
)
def test_nothing_is_lost_and_all_agree(rows: list[tuple[str | None, str | None, dt.datetime | None]]) -> None:
    clean = [
        tuple(one.replace("\0", "") if isinstance(one, str) else one for one in row)
        for row in rows
        if not any(isinstance(one, str) and any("\ud800" <= c <= "\udfff" for c in one) for one in row)
    ]
    if not clean:
        return
    columns = dict(
        zip(("user", "query", "time"), (list(one) for one in zip(*clean, strict=True)), strict=True)
    )
    table = pa.table(
        {"user": pa.array(columns["user"], pa.string()), "query": pa.array(columns["query"], pa.string()),
         "time": pa.array(columns["time"], pa.timestamp("us"))}
    )  # fmt: skip
    con = ibis.duckdb.connect()
    con.con.register("log", table)
    counted = []
    for given_table in (table, con.table("log"), [dict(zip(columns, row, strict=True)) for row in clean]):
        try:
            log = qv.read(given_table, max_rejected=1.0)
        except qv.InputError as error:
            assert "so none is left" in str(error)
            counted.append((0, len(clean)))
            continue
        assert log.rows + log.staged.rejected == len(clean)
        counted.append((log.rows, log.staged.rejected))
    assert len(set(counted)) == 1


@pytest.mark.parametrize("columns", [None, {"user": "user", "query": "rare orchid"}])
def test_a_row_that_was_taken_for_names_is_not_shown(columns: dict[str, str] | None) -> None:
    first = {"ann": ["bob"], "2006-03-01 10:00:00": ["2006-03-01"], "rare orchids": ["tea"]}
    with pytest.raises(qv.InputError, match="not shown") as caught:
        qv.read(pd.DataFrame(first), columns=columns)
    assert not [name for name in first if name in str(caught.value)]
    with pytest.raises(qv.InputError, match=r"it has 'Kunde', 'search\.text'"):
        qv.read(pd.DataFrame({"Kunde": ["ann"], "search.text": ["tea"]}), columns=columns)


@pytest.mark.parametrize("odd", [None, 2.5])
def test_one_row_of_a_data_frame_changes_no_number_of_others(odd: float | None) -> None:
    users, queries = [7, 8, 9], [17, 18, 2**40]

    def rows_of(frame: pd.DataFrame) -> list[dict[str, str]]:
        log = qv.read(frame, max_rejected=0.5)
        found: list[dict[str, str]] = log.table.select("user", "query").to_pyarrow().to_pylist()
        found.sort(key=lambda row: row["query"])
        return [row for row in found if row["query"] not in ("", "2.5")]

    alone = rows_of(pd.DataFrame({"user": users, "query": queries}))
    assert [row["query"] for row in alone] == ["1099511627776", "17", "18"]
    assert rows_of(pd.DataFrame({"user": [*users, odd], "query": [*queries, odd]})) == alone
