"""What DuckDB does beside our readers: its own reader of a file, and SQL that takes the same fields out of it.

Where DuckDB has no reader of a format, bare lines do not do the job, so SQL stands beside us too: it finds user, time
and query of each row, and joins clicks with their searches, for lines of just the shape that the benchmark writes. It
knows where everything is, judges nothing and keeps no bad row: our readers have to find out and to do both.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa

LINES = (
    "read_csv('{}', header = false, delim = chr(1), quote = '', escape = '', columns = {{'line': 'VARCHAR'}})"
)
JSON = "read_ndjson('{}', ignore_errors = true)"
UBI = (
    "read_ndjson('{}', ignore_errors = true, columns = {{action_name: 'VARCHAR', query_id: 'VARCHAR', "
    "client_id: 'VARCHAR', timestamp: 'TIMESTAMP', user_query: 'VARCHAR', event_attributes: "
    "'STRUCT(object STRUCT(object_id VARCHAR), position STRUCT(ordinal INTEGER))'}})"
)
"""With the columns named: in our file clicks stand behind all searches, so DuckDB does not find theirs by itself."""
_BATCH = 50_000

_ACCESS = (
    "SELECT f.ip || ' ' || f.agent AS user, strptime(f.time, '%d/%b/%Y:%H:%M:%S %z') AS time, "
    "url_decode(replace(regexp_extract(f.request, '[?&]q=([^& ]*)', 1), '+', ' ')) AS query FROM (SELECT "
    r"""regexp_extract(line, '^(\S+) \S+ \S+ \[([^\]]+)\] "([^"]*)" (\d+) \S+ "[^"]*" "([^"]*)"', """
    f"['ip', 'time', 'request', 'status', 'agent']) AS f FROM {LINES}) WHERE f.status = '200'"
)
_SLOW = (
    r"SELECT regexp_extract(line, '\], id\[([^\]]*)\]', 1) AS user, "
    "strptime(line[2:24], '%Y-%m-%dT%H:%M:%S,%g') AS time, "
    r"json_extract_string(regexp_extract(line, 'source\[(.*)\], id\[', 1), '$.query.match.title.query') AS query "
    f"FROM {LINES}"
)
_SOLR = (
    "SELECT url_decode(regexp_extract(asked, '(?:^|&)uid=([^&]*)', 1)) AS user, "
    "strptime(line[1:23], '%Y-%m-%d %H:%M:%S.%g') AS time, "
    "url_decode(replace(regexp_extract(asked, '(?:^|&)q=([^&]*)', 1), '+', ' ')) AS query FROM "
    rf"(SELECT line, regexp_extract(line, ' path=\S+ params=\{{{{(.*)\}}}}', 1) AS asked FROM {LINES})"
)
_SOGOU = (
    "SELECT f[2] AS user, CAST('2008-06-01 ' || f[1] AS TIMESTAMP) AS time, f[3][2:-2] AS query, f[5] AS url, "
    f"CAST(split_part(f[4], ' ', 1) AS INTEGER) AS rank FROM (SELECT string_split(line, chr(9)) AS f FROM {LINES})"
)
_YANDEX = (
    f"WITH l AS (SELECT string_split(line, chr(9)) AS f FROM {LINES}), "
    "m AS (SELECT f[1] AS session, f[4] AS user, CAST(f[3] AS INTEGER) AS day FROM l WHERE f[2] = 'M'), "
    "q AS (SELECT f[1] AS session, f[4] AS page, CAST(f[2] AS INTEGER) AS passed, replace(f[6], ',', ' ') AS query, "
    "f[7:] AS shown FROM l WHERE f[3] = 'Q'), "
    "c AS (SELECT f[1] AS session, f[4] AS page, f[5] AS url FROM l WHERE f[3] = 'C') "
    "SELECT m.user, day, passed, query, NULL AS url, NULL AS rank, q.session FROM q JOIN m USING (session) "
    "UNION ALL SELECT m.user, day, passed, query, c.url, "
    "list_position(list_transform(shown, lambda x: split_part(x, ',', 1)), c.url), c.session "
    "FROM c JOIN q ON c.session = q.session AND c.page = q.page JOIN m ON c.session = m.session"
)
_ALGOLIA = (
    "SELECT userToken AS user, make_timestamp(timestamp * 1000) AS time, unnest(objectIDs) AS url "
    f"FROM {JSON} WHERE eventType = 'click'"
)
_UBI = (
    f"WITH d AS (SELECT * FROM {UBI}), q AS (SELECT * FROM d WHERE action_name IS NULL) "
    "SELECT client_id AS user, timestamp AS time, user_query AS query, NULL AS url, NULL AS rank FROM q "
    "UNION ALL SELECT c.client_id, q.timestamp, q.user_query, c.event_attributes.object.object_id, "
    "c.event_attributes.position.ordinal FROM d c LEFT JOIN q ON c.query_id = q.query_id "
    "AND c.client_id = q.client_id WHERE c.action_name = 'click'"
)
_MATOMO = (
    "SELECT visitorId AS user, to_timestamp(action.timestamp) AS time, action.siteSearchKeyword AS query, "
    f"idVisit AS session FROM (SELECT *, unnest(actionDetails) AS action FROM {JSON}) WHERE action.type = 'search'"
)
_ANALYTICS = (
    "SELECT user_pseudo_id AS user, make_timestamp(CAST(event_timestamp AS BIGINT)) AS time, "
    "list_filter(event_params, lambda one: one.key = 'search_term')[1].value.string_value AS query, "
    "list_filter(event_params, lambda one: one.key = 'ga_session_id')[1].value.int_value AS session "
    f"FROM {JSON} WHERE event_name = 'view_search_results'"
)
FIELDS = {
    "matomo": _MATOMO,
    "google-analytics": _ANALYTICS,
    "access-log": _ACCESS,
    "slow-log": _SLOW,
    "solr": _SOLR,
    "sogou": _SOGOU,
    "yandex": _YANDEX,
    "algolia": _ALGOLIA,
    "ubi": _UBI,
}
"""Format -> SQL for the same fields of the same file."""


def by_reader(file: Path, reader: str) -> int:
    """The rows that DuckDB's own reader finds."""
    return _rows_of(f"SELECT * FROM {reader.format(file)}")


def by_fields(file: Path, format_: str) -> int:
    """The rows that SQL finds."""
    return _rows_of(FIELDS[format_].format(file))


def by_attaching(file: Path) -> int:
    """The rows of a database of DuckDB's own."""
    return _rows_of("SELECT * FROM other.log", f"ATTACH '{file}' AS other (READ_ONLY)")


def by_python(file: Path) -> int:
    """The rows of a database of SQLite, which DuckDB reads with an extension alone: Python's module hands them over."""
    with closing(sqlite3.connect(file)) as source, duckdb.connect() as con:
        con.execute("CREATE TABLE log (user VARCHAR, time VARCHAR, query VARCHAR, url VARCHAR, rank INTEGER)")
        rows = source.execute("SELECT user, time, query, url, rank FROM log")
        while some := rows.fetchmany(_BATCH):
            part = pa.table(
                list(map(pa.array, zip(*some, strict=True))), ["user", "time", "query", "url", "rank"]
            )
            con.register("part", part)
            con.execute("INSERT INTO log SELECT * FROM part")
            con.unregister("part")
        return _count(con)


def by_calamine(file: Path) -> int:
    """Return the rows of a workbook, which DuckDB reads with an extension alone, as calamine reads them."""
    import python_calamine

    with duckdb.connect() as con:
        sheet = python_calamine.CalamineWorkbook.from_path(str(file)).get_sheet_by_index(0)
        names, *rows = sheet.to_python()
        columns = [pa.array(map(str, column)) for column in zip(*rows, strict=True)]
        con.register("part", pa.table(columns, [str(name) for name in names]))
        con.execute("CREATE TABLE log AS SELECT * FROM part")
        return _count(con)


def _rows_of(select: str, before: str = "SELECT 1") -> int:
    with duckdb.connect() as con:
        con.execute(before)
        con.execute(f"CREATE TABLE log AS {select}")
        return _count(con)


def _count(con: duckdb.DuckDBPyConnection) -> int:
    found = con.execute("SELECT count(*) FROM log").fetchone()
    return int(found[0]) if found else 0
