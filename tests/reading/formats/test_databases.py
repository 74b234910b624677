"""SQLite and DuckDB files and workbooks: one table is the log, found by its columns or named."""

from __future__ import annotations

import datetime as dt
import sqlite3
import zipfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import duckdb
import pytest

import queryveil as qv
from tests.command import command
from tests.reading.formats.logs import read, rejected_rows, rows_of, write

HEADER = ("visitor_id", "searched_at", "search_term", "shop")
ROWS: list[tuple[Any, ...]] = [
    ("ann", "2006-03-01 10:00:00", "tea", 1),
    ("ann", 1141214400, "tea pot", 1),
    (None, "2006-03-01 10:05:00", "mug", 2),
    ("bob", "never", "cup", 2),
    (17.0, "2006-03-01", None, 3),
]
GOOD = [
    ("ann", dt.datetime(2006, 3, 1, 10), "tea"),
    ("ann", dt.datetime(2006, 3, 1, 12), "tea pot"),
    ("17", dt.datetime(2006, 3, 1), ""),
]


def sqlite_file(path: Path, *tables: str) -> Path:
    with sqlite3.connect(path) as con:
        for table in tables:
            con.execute(f'CREATE TABLE "{table}" ({", ".join(HEADER)})')
            con.executemany(f'INSERT INTO "{table}" VALUES (?, ?, ?, ?)', ROWS)  # noqa: S608
        con.execute("CREATE TABLE shops (id, name)")
    con.close()
    return path


def duckdb_file(path: Path, *tables: str) -> Path:
    with duckdb.connect(str(path)) as con:
        for table in tables:
            con.execute(
                f'CREATE TABLE "{table}" (visitor_id VARCHAR, searched_at VARCHAR, search_term VARCHAR, shop INT)'
            )
            rows = [("17" if one[0] == 17.0 else one[0], str(one[1]), *one[2:]) for one in ROWS]
            con.executemany(f'INSERT INTO "{table}" VALUES (?, ?, ?, ?)', rows)  # noqa: S608
        con.execute("CREATE TABLE shops (id INT, name VARCHAR)")
    return path


def workbook(path: Path, *sheets: str, header: bool = True, above: int = 0) -> Path:
    """A workbook as Excel writes it, with texts in place: the least that is one."""
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    links = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006/relationships"
    names = [*sheets, "shops"]

    def cell(value: Any) -> str:
        if value is None:
            return "<c/>"
        if isinstance(value, int | float):
            return f"<c><v>{value}</v></c>"
        return f'<c t="inlineStr"><is><t>{escape(value)}</t></is></c>'

    def sheet(rows: list[tuple[Any, ...]]) -> str:
        rows = [(None,) * 4] * above + rows
        lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
        return f'<worksheet xmlns="{main}"><sheetData>{lines}</sheetData></worksheet>'

    parts = {
        "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{package}"><Relationship Id="r1" Type="{links}/officeDocument" '
        'Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{links}"><sheets>'
        + "".join(f'<sheet name="{one}" sheetId="{n}" r:id="r{n}"/>' for n, one in enumerate(names, 1))
        + "</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": '<Relationships xmlns="'
        + package
        + '">'
        + "".join(
            f'<Relationship Id="r{n}" Type="{links}/worksheet" Target="worksheets/sheet{n}.xml"/>'
            for n, _ in enumerate(names, 1)
        )
        + "</Relationships>",
    }
    for number, name in enumerate(names, 1):
        rows = [("id", "name")] if name == "shops" else [HEADER, *ROWS, (None,) * 4][not header :]
        parts[f"xl/worksheets/sheet{number}.xml"] = sheet(rows)
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return path


MAKERS = {"sqlite": sqlite_file, "duckdb": duckdb_file, "excel": workbook}


@pytest.mark.parametrize("kind", MAKERS)
def test_the_table_with_the_columns_is_the_log(kind: str, tmp_path: Path) -> None:
    staged = read(MAKERS[kind](tmp_path / "searches", "log"), tmp_path / "into", max_rejected=0.5)
    assert staged.format == kind
    assert rows_of(staged, "user", "time", "query") == GOOD
    assert staged.reasons == {"no user": 1, "bad time": 1}
    # Rows of a sheet have the numbers that Excel shows: its header is row 1.
    above = 1 if kind == "excel" else 0
    assert [(row["line"], row["reason"]) for row in rejected_rows(staged)] == [
        (3 + above, "no user"),
        (4 + above, "bad time"),
    ]
    assert [one.line for one in staged.examples] == [3 + above, 4 + above]
    assert staged.mapping == {"user": "visitor_id", "time": "searched_at", "query": "search_term"}
    assert staged.ignored == ("shop",)


def test_a_sheet_may_begin_with_blank_rows(tmp_path: Path) -> None:
    staged = read(workbook(tmp_path / "searches", "log", above=2), tmp_path / "into", max_rejected=0.5)
    assert rows_of(staged, "user", "time", "query") == GOOD
    assert [one.line for one in staged.examples] == [6, 7]


@pytest.mark.parametrize("kind", MAKERS)
def test_one_of_several_is_named(kind: str, tmp_path: Path) -> None:
    log = MAKERS[kind](tmp_path / "searches", "january", "february")
    what = "sheet" if kind == "excel" else "table"
    with pytest.raises(
        qv.InputError, match=f"3 {what}s, and 2 of them may be a log: 'february', 'january'"
    ) as caught:
        read(log, tmp_path / "asked", max_rejected=0.5)
    assert "table='february'" in caught.value.hint
    staged = read(log, tmp_path / "told", max_rejected=0.5, table="February")
    assert rows_of(staged, "user", "time", "query") == GOOD
    with pytest.raises(qv.UsageError, match=f"has no {what} 'march'"):
        read(log, tmp_path / "wrong", table="march")
    with pytest.raises(qv.InputError, match="has no column for the user"):
        read(log, tmp_path / "other", table="shops")


@pytest.mark.parametrize("kind", MAKERS)
def test_a_damaged_file_is_said_to_be_one(kind: str, tmp_path: Path) -> None:
    whole = MAKERS[kind](tmp_path / "searches", "log").read_bytes()
    cut = write(tmp_path / "cut", whole[: len(whole) // 2])
    with pytest.raises(qv.InputError, match="damaged"):
        read(cut, tmp_path / "into", max_rejected=0.5)


def test_a_database_in_use_is_refused(tmp_path: Path) -> None:
    log = sqlite_file(tmp_path / "searches.db", "log")
    con = sqlite3.connect(log)
    con.execute("PRAGMA journal_mode = WAL")
    con.execute("INSERT INTO log VALUES ('eve', '2006-03-01', 'jug', 1)")
    con.commit()
    with pytest.raises(qv.InputError, match=r"some of its rows are still in 'searches.db-wal'"):
        read(log, tmp_path / "into", max_rejected=0.5)
    con.close()
    assert read(log, tmp_path / "closed", max_rejected=0.5).rows == 4


def test_a_view_reaches_no_other_file(tmp_path: Path) -> None:
    secret = write(tmp_path / "secret.csv", "user,query\nann,tea\n")
    with duckdb.connect(str(tmp_path / "log.duckdb")) as con:
        con.execute(f"CREATE VIEW log AS SELECT * FROM read_csv('{secret}')")  # noqa: S608
    with pytest.raises(qv.InputError, match="damaged, cut short or not DuckDB"):
        read(tmp_path / "log.duckdb", tmp_path / "into")


def test_other_office_documents_are_none(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "letter.docx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
        archive.writestr("word/document.xml", "<document/>")
    with pytest.raises(qv.InputError, match="a document of an office program, and no workbook"):
        read(tmp_path / "letter.docx", tmp_path / "into")


def test_a_table_has_no_meaning_in_text(tmp_path: Path) -> None:
    with pytest.raises(qv.UsageError, match="table has no meaning in csv"):
        read(write(tmp_path / "log.csv", "user,query\nann,tea\n"), tmp_path / "into", table="log")


def test_several_logs_are_one(tmp_path: Path) -> None:
    first = write(tmp_path / "one.csv", "user,query\nann,tea\n")
    second = write(tmp_path / "two.csv", "user,query\nbob,tea\nbob,mug\n")
    found = command("inspect", str(first), str(second), "--json")
    assert (found.document["rows"], found.document["users"]) == (3, 2)
    out = str(tmp_path / "out")
    found = command("publish", "k-keyword", str(first), str(second), "--k", "2", "--out", out, "--json")
    assert found.document["released"] == {"items": 1}


@pytest.mark.parametrize(
    ("address", "way_out"),
    [
        ("s3://bucket/log.parquet", "aws s3 cp"),
        ("https://example.org/log.csv", "curl -O"),
        ("hdfs://name:8020/log", "hdfs dfs -get"),
        ("azure://box/log", "copy it to a file, and give that"),
    ],
)
def test_addresses_are_refused_as_what_they_are(address: str, way_out: str, tmp_path: Path) -> None:
    with pytest.raises(qv.InputError, match="is an address") as caught:
        read(address, tmp_path / "into")
    assert way_out in caught.value.hint
    assert address.partition("//")[0] + "//" in str(caught.value)


def test_an_address_of_a_file_is_that_file(tmp_path: Path) -> None:
    log = write(tmp_path / "log.csv", "user,query\nann,tea\n")
    assert read(f"file://{log}", tmp_path / "into").rows == 1


@pytest.mark.parametrize(
    "columns",
    [
        None,
        {"user": "visitor_id", "query": "search_term"},
        {"user": "ann", "query": "teas"},
        {"user": 1, "query": 3},
    ],
)
def test_a_sheet_without_names_is_refused_and_its_first_row_not_shown(
    columns: dict[str, str | int] | None, tmp_path: Path
) -> None:
    log = workbook(tmp_path / "searches.xlsx", "log", header=False)
    with pytest.raises((qv.InputError, qv.UsageError)) as caught:
        read(log, tmp_path / "into", columns=columns, table="log")
    said = str(caught.value)
    assert "put a row of names above it" in said
    assert not any(shown in said for shown in ("'tea'", "mean tea", "2006"))
