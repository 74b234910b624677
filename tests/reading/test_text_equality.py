"""Two texts are the same only if their bytes are, whatever collation a column has: all columns, both engines."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pytest

import queryveil as qv
from tests import sizes
from tests.conftest import at

LOOSE = {"duckdb": "NOCASE.NOACCENT", "spark": "UNICODE_CI_AI"}
"""Collations that ignore case and accents."""
TEXTS = ("user", "query", "url", "session")
# Noise so small that it is 0 but with probability far below 1e-6: counts can be compared exactly.
EXACT: dict[str, Any] = {"epsilon": 1000.0, "delta": 1e-12}

PRIVATE_URLS = qv.ClickGraph(
    **EXACT,
    max_queries=9,
    urls="private",
    epsilon_clicks=1000.0,
    delta_clicks=1e-12,
    max_clicks=9,
    epsilon_reformulations=1000.0,
    delta_reformulations=1e-12,
)
METHODS: dict[str, qv.Mechanism] = {
    "click-graph": PRIVATE_URLS,
    "zealous": qv.Zealous(
        **EXACT,
        max_items=9,
        items=("keywords", "queries", "query-pairs", "clicks"),
        guarantee="probabilistic",
    ),
    "k-session": qv.KSession(k=5),
}


def duckdb_table(rows: pa.Table, loose: tuple[str, ...], collation: str = LOOSE["duckdb"]) -> Any:
    """The rows as a table of DuckDB, with some columns that take different texts for the same."""
    con = ibis.duckdb.connect()
    con.con.register("given", rows)
    columns = ", ".join(
        f'"{name}" ' + ("TIMESTAMP" if name == "time" else "VARCHAR")
        + (f" COLLATE {collation}" if name in loose else "")
        for name in rows.column_names
    )  # fmt: skip
    con.raw_sql(f"CREATE TABLE log ({columns})")
    con.raw_sql("INSERT INTO log SELECT * FROM given")
    return con.table("log")


def spark_frame(engine: Any, rows: pa.Table, loose: tuple[str, ...]) -> Any:
    frame = engine.con._session.createDataFrame(rows.to_pandas()).coalesce(1)
    return frame.selectExpr(
        *(
            f"collate({name}, '{LOOSE['spark']}') AS {name}" if name in loose else name
            for name in rows.column_names
        )
    )


@pytest.fixture(params=["duckdb", "spark"])
def collated(request: pytest.FixtureRequest) -> Callable[[pa.Table, tuple[str, ...]], Any]:
    """Makes a table with loose columns, on each engine."""
    if request.param == "duckdb":
        return duckdb_table
    return lambda rows, loose: spark_frame(request.getfixturevalue("spark"), rows, loose)


def spelled(users: int = 12) -> pa.Table:
    """Crowds whose users, queries, urls and sessions differ by case and accents alone."""
    rows = [
        (person, at(minute), query, url, session)
        for number in range(users)
        for person in (f"anna{number}", f"Anna{number}", f"ánna{number}")
        for minute, (query, url, session) in enumerate(
            [
                ("cafe", "http://x/menu", "s"),
                ("cafe", "http://x/Menu", "s"),
                ("café", "http://x/menú", "S"),
                ("resume", "http://x/MENU", "S"),
                ("résumé", "http://x/MENU", "ś"),
            ]
        )
    ]
    names = ("user", "time", "query", "url", "session")
    return pa.table(dict(zip(names, (list(one) for one in zip(*rows, strict=True)), strict=True)))


def content(release: qv.Release) -> dict[str, list[tuple[Any, ...]]]:
    """All published rows but for the random numbers of groups."""
    tables = {name: table.to_pylist() for name, table in release.tables.items()}
    return {
        name: sorted(
            tuple((key, str(value)) for key, value in row.items() if key != "group") for row in table
        )
        for name, table in tables.items()
    }


def published(log: Any, method: str) -> dict[str, list[tuple[Any, ...]]]:
    read = qv.read(log)
    assert read.users == 36
    return content(qv.publish(read, METHODS[method]))


COLUMNS_AND_METHODS = [
    ("user", "click-graph"),
    ("user", "k-session"),
    ("query", "click-graph"),
    ("query", "zealous"),
    ("url", "click-graph"),
    ("url", "zealous"),
    ("session", "zealous"),
    ("session", "k-session"),
]
CHOSEN = [("user", "click-graph"), ("query", "zealous"), ("url", "click-graph"), ("session", "k-session")]


@pytest.mark.parametrize(("column", "method"), sizes.chosen(COLUMNS_AND_METHODS, CHOSEN))
def test_a_collated_column_gives_what_the_same_log_gives_from_files(
    collated: Callable[[pa.Table, tuple[str, ...]], Any], column: str, method: str
) -> None:
    expected = published(spelled(), method)
    assert any(expected.values())
    assert published(collated(spelled(), (column,)), method) == expected


def releases_with_the_link(log: Any, link: str, runs: int, method: Any) -> int:
    """In how many releases a link appears."""
    found = 0
    for _ in range(runs):
        tables = qv.publish(qv.read(log), method, allow_empty=True).tables
        found += any(
            link in table["url"].to_pylist() for table in tables.values() if "url" in table.column_names
        )
    return found


@pytest.mark.parametrize(
    "method",
    [
        qv.ClickGraph(
            epsilon=1,
            delta=1e-6,
            max_queries=1,
            urls="private",
            epsilon_clicks=1,
            delta_clicks=1e-6,
            max_clicks=1,
        ),
        qv.Zealous(epsilon=1, delta=2e-6, max_items=1, items=("clicks",), guarantee="probabilistic"),
    ],
    ids=["click-graph", "zealous"],
)
def test_one_persons_link_is_not_published_in_place_of_a_crowds(
    collated: Callable[[pa.Table, tuple[str, ...]], Any], method: Any
) -> None:
    # A broken engine shows the link in every release. A right one shows it with probability below 2e-6 each.
    crowd = [(f"u{number}", at(1), "news", "http://x/news") for number in range(300)]
    rows = [("anna", at(0), "news", "http://x/News"), *crowd]
    names = ("user", "time", "query", "url")
    table = pa.table(dict(zip(names, (list(one) for one in zip(*rows, strict=True)), strict=True)))
    log = collated(table, ("url",))
    assert releases_with_the_link(log, "http://x/News", 3, method) == 0
    assert releases_with_the_link(log, "http://x/news", 1, method) == 1


def test_an_expression_over_collated_columns_is_no_way_around() -> None:
    table = duckdb_table(spelled(), TEXTS)
    again = table.mutate(url=table["url"] + "", query=table["query"].strip()).filter(
        table["user"] != "nobody"
    )
    assert published(again, "zealous") == published(spelled(), "zealous")


def test_an_enumeration_is_ordered_as_text() -> None:
    table = duckdb_table(spelled(), ())
    con = table.get_backend()
    con.raw_sql("CREATE TYPE asked AS ENUM ('résumé', 'resume', 'café', 'cafe')")
    con.raw_sql("ALTER TABLE log ALTER query TYPE asked")
    found = qv.publish(qv.read(con.table("log")), qv.ClickGraph(**EXACT, max_queries=1), allow_empty=True)
    assert found.tables["queries"]["query"].to_pylist() == ["cafe"]


def test_an_ibis_table_of_spark_is_read_byte_by_byte(spark: Any) -> None:
    table = spark.table(spark_frame(spark, spelled(), TEXTS))
    assert published(table, "zealous") == published(spelled(), "zealous")


def test_a_collation_noted_in_a_parquet_file_is_not_followed(spark: Any, tmp_path: Path) -> None:
    # Spark writes collations into the file's metadata, and would group by them when it reads the file.
    spark_frame(spark, spelled(), TEXTS).write.parquet(str(tmp_path / "log"))
    log = qv.read(tmp_path / "log", engine=spark)
    assert log.users == 36
    found = qv.publish(log, METHODS["zealous"])
    assert content(found) == published(spelled(), "zealous")


# -- tables of other connections, which are copied -------------------------------------------------------------


def test_a_loose_default_collation_changes_nothing() -> None:
    table = duckdb_table(spelled(), ())
    table.get_backend().raw_sql("SET default_collation = 'nocase'")
    assert published(table, "zealous") == published(spelled(), "zealous")


def test_collations_of_sqlite_change_nothing(tmp_path: Path) -> None:
    con = ibis.sqlite.connect(tmp_path / "log.db")
    con.raw_sql('CREATE TABLE log ("user" TEXT COLLATE NOCASE, query TEXT COLLATE RTRIM)')
    con.raw_sql("INSERT INTO log VALUES ('ann', 'tea'), ('Ann', 'tea'), ('bob', 'mug')")
    con.con.commit()
    assert qv.read(con.table("log")).users == 3
