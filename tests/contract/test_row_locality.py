"""One added user changes no row of another user, in any format, even if this user shares every id that the format has.

Each case has the rows of several users, rows that name no user, and rows of one more user with the others' sessions,
clients, query ids, addresses, and queries, placed in four ways. A format may have
a sample in `tests/data/samples`, which makes a case too. A format without both fails.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import functools
import json
import re
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.feather
import pyarrow.orc
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.reading.formats import FORMATS
from tests.frozen.make_readers import workbook

ADDED = "added"
OTHERS = 3
COLUMNS = ("user", "time", "query", "url", "rank", "session")
NOON = dt.datetime(2026, 1, 1, 12)
Row = tuple[str, ...]


@dataclass(frozen=True)
class Case:
    """Records of the other users and of the added one, in the form that `write` takes."""

    others: Sequence[Any]
    added: Sequence[Any]
    write: Callable[[Path, Sequence[Any]], None]
    file: str = "log"
    options: dict[str, Any] = field(default_factory=dict)

    def arrangements(self) -> Iterable[list[Any]]:
        """The added records before all others, after them, one after each of them, and one before each of them."""
        yield [*self.added, *self.others]
        yield [*self.others, *self.added]
        both = min(len(self.others), len(self.added))
        rest = [*self.others[both:], *self.added[both:]]
        yield [one for pair in zip(self.others, self.added, strict=False) for one in pair] + rest
        yield [one for pair in zip(self.added, self.others, strict=False) for one in pair] + rest


def write_lines(path: Path, lines: Sequence[str], header: str | None = None) -> None:
    path.write_text("\n".join([*([header] if header else []), *lines]) + "\n", encoding="utf-8")


def write_documents(path: Path, documents: Sequence[Any]) -> None:
    write_lines(path, [json.dumps(one) for one in documents])


# -- Tables: one row for each search or click --------------------------------------------------------------------------


def table_rows() -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    others: list[dict[str, Any]] = []
    added: list[dict[str, Any]] = []
    for n in range(OTHERS):
        shared: dict[str, Any] = {"query": f"tea {n}", "session": f"s{n}"}
        for second, clicked in ((0, {"url": None, "rank": None}), (5, {"url": f"http://o{n}", "rank": n})):
            time = NOON + dt.timedelta(minutes=n, seconds=second)
            others += [{**shared, **clicked, "user": user, "time": time} for user in (f"u{n}", None)]
        for second in (-1, 0, 3, 9):
            time = NOON + dt.timedelta(minutes=n, seconds=second)
            added.append({"user": ADDED, "time": time, "url": f"http://o{n}", "rank": n} | shared)
    return others, added


SCHEMA = pa.schema(
    {
        **dict.fromkeys(("user", "query", "url", "session"), pa.string()),
        "time": pa.timestamp("us"),
        "rank": pa.int32(),
    }
)


def arrow(rows: Sequence[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(list(rows), SCHEMA)


def delimited(mark: str, columns: Sequence[str] = COLUMNS, names: Sequence[str] = COLUMNS) -> Any:
    def write(path: Path, rows: Sequence[dict[str, Any]]) -> None:
        lines = [mark.join("" if row[one] is None else str(row[one]) for one in columns) for row in rows]
        write_lines(path, lines, mark.join(names))

    return write


def write_sqlite(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    with contextlib.closing(sqlite3.connect(path)) as made:
        made.execute('CREATE TABLE log ("user", time, query, url, rank, session)')
        values = [tuple(str(row[one]) if one == "time" else row[one] for one in COLUMNS) for row in rows]
        made.executemany("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)", values)
        made.commit()


def write_duckdb(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    with duckdb.connect(str(path)) as made:
        made.register("rows", arrow(rows))
        made.execute("CREATE TABLE log AS SELECT * FROM rows")


def write_excel(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    cells = [tuple(str(row[one]) if one == "time" else row[one] for one in COLUMNS) for row in rows]
    path.write_bytes(workbook({"log": [COLUMNS, *cells]}))


def write_jsonl(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    write_documents(path, [row | {"time": str(row["time"])} for row in rows])


def tables() -> dict[str, Case]:
    others, added = table_rows()
    aol = ("user", "query", "time", "rank", "url")
    writers: dict[str, tuple[Any, str]] = {
        "csv": (delimited(","), "log.csv"),
        "tsv": (delimited("\t"), "log.tsv"),
        "aol": (delimited("\t", aol, ("AnonID", "Query", "QueryTime", "ItemRank", "ClickURL")), "log.txt"),
        "jsonl": (write_jsonl, "log.jsonl"),
        "parquet": (lambda path, rows: pq.write_table(arrow(rows), path), "log.parquet"),
        "feather": (lambda path, rows: pyarrow.feather.write_feather(arrow(rows), path), "log.feather"),
        "orc": (lambda path, rows: pyarrow.orc.write_table(arrow(rows), path), "log.orc"),
        "sqlite": (write_sqlite, "log.db"),
        "duckdb": (write_duckdb, "log.duckdb"),
        "excel": (write_excel, "log.xlsx"),
    }
    return {name: Case(others, added, write, file) for name, (write, file) in writers.items()}


# -- Text logs: one line for each request ------------------------------------------------------------------------------


def sogou() -> Case:
    def line(user: str, n: int, second: int) -> str:
        return f"202601011200{second:02}\t{user}\ttea {n}\t{n}\t{n}\thttp://o{n}"

    others = [line(user, n, 5) for n in range(OTHERS) for user in (f"u{n}", "")]
    added = [line(ADDED, n, second) for n in range(OTHERS) for second in (0, 5, 9)]
    return Case(others, added, write_lines)


def access_log() -> Case:
    def line(agent: str, n: int, second: int) -> str:
        return (
            f'192.0.2.{n} - account{n} [01/Jan/2026:12:00:{second:02} +0000] "GET /?q=tea+{n}&sid=s{n} HTTP/1.1" '
            f'200 9 "http://o{n}" "{agent}"'
        )

    others = [line(agent, n, 5) for n in range(OTHERS) for agent in (f"browser {n}", "-")]
    added = [line(ADDED, n, second) for n in range(OTHERS) for second in (0, 5, 9)]
    return Case(others, added, write_lines, options={"query_parameter": ("q",)})


def solr() -> Case:
    def line(n: int, second: int, parameters: str) -> str:
        return (
            f"2026-01-01 12:00:{second:02}.000 INFO  x path=/select params={{q=tea+{n}&{parameters}}} hits=1"
        )

    others = [line(n, 5, f"{user}sid=s{n}") for n in range(OTHERS) for user in (f"uid=u{n}&", "")]
    others += [line(0, 5, "rows=1")]
    added = [line(n, second, f"sid=s{n}&uid={ADDED}") for n in range(OTHERS) for second in (0, 5, 9)]
    return Case(others, added, write_lines)


def slow_log() -> Case:
    def document(user: str | None, n: int, second: int) -> dict[str, Any]:
        return {
            "type": "index_search_slowlog",
            "timestamp": f"2026-01-01T12:00:{second:02},000+00:00",
            "node.id": f"node{n}",
            "message": f"[index][{n}]",
            "source": json.dumps({"query": {"match": {"title": f"tea {n}"}}}),
            "id": user,
        }

    others = [document(user, n, 5) for n in range(OTHERS) for user in (f"u{n}", None)]
    added = [document(ADDED, n, second) for n in range(OTHERS) for second in (0, 5, 9)]
    return Case(others, added, write_documents)


# -- Documents ---------------------------------------------------------------------------------------------------------


def matomo() -> Case:
    def visit(user: str | None, n: int, visitor: str | None) -> dict[str, Any]:
        search = {"type": "search", "timestamp": 1767268800 + n, "siteSearchKeyword": f"tea {n}"}
        return {"userId": user, "visitorId": visitor, "idVisit": f"s{n}", "actionDetails": [search, search]}

    clients = [(None, "c"), (None, None), ("u", "c")]
    others = [
        visit(f"{user}{n}" if user else None, n, f"{client}{n}" if client else None)
        for n in range(OTHERS)
        for user, client in clients
    ]
    return Case(others, [visit(ADDED, n, f"c{n}") for n in range(OTHERS)], write_documents)


def google_analytics() -> Case:
    def event(user: str | None, n: int, client: str | None) -> dict[str, Any]:
        parameters = {"search_term": f"tea {n}", "ga_session_id": f"s{n}"}
        return {
            "event_name": "search",
            "event_timestamp": 1767268800000000 + n,
            "user_id": user,
            "user_pseudo_id": client,
            "event_params": [
                {"key": key, "value": {"string_value": text}} for key, text in parameters.items()
            ],
        }

    others = [event(*one) for n in range(OTHERS) for one in ((f"u{n}", n, f"c{n}"), (None, n, f"c{n}"))]
    others += [event(None, n, None) for n in range(OTHERS)]
    return Case(others, [event(ADDED, n, f"c{n}") for n in range(OTHERS)], write_documents)


IDENTITIES = [(user, client) for user in (None, "u{}") for client in (None, "c{}")]
"""User and client of a document, or neither: someone logs in and out on one client."""


def named(template: str | None, n: int) -> str | None:
    return template.format(n) if template else None


def ubi() -> Case:
    def document(user: str | None, client: str | None, n: int, second: int, **more: Any) -> dict[str, Any]:
        time = 1767268800000 + 1000 * (60 * n + second)
        return {"query_id": f"q{n}", "user_id": user, "client_id": client, "timestamp": time, **more}

    def search(user: str | None, client: str | None, n: int, second: int) -> dict[str, Any]:
        return document(user, client, n, second, user_query=f"tea {n}", session_id=f"s{n}")

    def click(user: str | None, client: str | None, n: int, second: int) -> dict[str, Any]:
        attributes = {"object": {"object_id": f"o{n}"}, "position": {"ordinal": n}, "session_id": f"s{n}"}
        return document(user, client, n, second, action_name="click", event_attributes=attributes)

    others, added = [], []
    for n in range(OTHERS):
        people = [(named(user, n), named(client, n)) for user, client in IDENTITIES]
        others += [search(*person, n, 10) for person in people if any(person)]
        others += [click(*person, m, 20) for person in people for m in range(OTHERS)]
        only = {"query_id": f"p{n}"}
        others += [search(None, f"c{n}", n, 10) | only, click(None, None, n, 20) | only]
        added += [search(ADDED, f"c{n}", n, 15) | only, click(ADDED, f"c{n}", n, 20) | only]
        # Searches of the added user before, at, and after the others' searches, with their query ids and clients.
        added += [
            make(ADDED, f"c{n}", n, second) for second in (0, 10, 15, 20, 30) for make in (search, click)
        ]
    return Case(others, added, write_documents)


def algolia() -> Case:
    def search(client: str | None, n: int, second: int) -> dict[str, Any]:
        inner = [{"index_name": "i", "query": f"tea {n}", "user_token": client, "query_id": f"q{n}"}]
        time = f"2026-01-01T12:00:{second:02}Z"
        return {
            "timestamp": time,
            "url": "/1/indexes/*/queries",
            "query_body": "{}",
            "query_params": "",
            "inner_queries": inner,
        }

    def click(user: str | None, client: str | None, n: int, second: int) -> dict[str, Any]:
        return {
            "eventType": "click",
            "eventName": "e",
            "index": "i",
            "queryID": f"q{n}",
            "userToken": client,
            "authenticatedUserToken": user,
            "objectIDs": [f"o{n}"],
            "positions": [n],
            "timestamp": 1767268800000 + 1000 * second,
        }

    others, added = [], []
    for n in range(OTHERS):
        others += [search(f"c{n}", n, 10), search(f"c{n}", n, 12)]
        others += [
            click(named(user, n), named(client, n), m, 20)
            for user, client in IDENTITIES
            for m in range(OTHERS)
        ]
        added += [search(ADDED, n, second) for second in (0, 10, 15, 20, 30)]
        added += [click(ADDED, f"c{n}", n, 20), click(None, ADDED, n, 20)]
    return Case(others, added, write_documents)


def yandex() -> Case:
    """The records of this format are sessions."""

    def session(user: str, n: int, second: int) -> list[str]:
        return [
            f"{n}\tM\t5\t{user}",
            f"{n}\t{second}\tQ\t0\t7\t11,{n}\t{n}9,1\t{n}8,1",
            f"{n}\t{second + 3}\tC\t0\t{n}8",
            f"{n}\t{second + 4}\tC\t1\t{n}8",
        ]

    def write(path: Path, sessions: Sequence[Sequence[str]]) -> None:
        write_lines(path, [line for one in sessions for line in one])

    others = [session(f"u{n}", n, 10) for n in range(OTHERS)] + [["9\t5\tQ\t0\t7\t1\t1,1"]]
    others += [["0\tM\t5", "0\t5\tQ\t0\t7\t1\t1,1"]]
    added = [session(ADDED, n, second)[:3] for n in range(OTHERS) for second in (0, 10, 20)]
    return Case(others, added, write)


CASES: dict[str, Callable[[], Case]] = {
    **{name: lambda name=name: tables()[name] for name in tables()},  # type: ignore[misc]
    "sogou": sogou,
    "access-log": access_log,
    "solr": solr,
    "slow-log": slow_log,
    "matomo": matomo,
    "google-analytics": google_analytics,
    "ubi": ubi,
    "algolia": algolia,
    "yandex": yandex,
}

SAMPLES = {file.stem: file for file in (Path(__file__).parents[1] / "data" / "samples").iterdir()}
USER = re.compile(r"\buser-\d+\b")


def sampled(format: str) -> Case:
    """Return the records of the format's sample, and the same records of one more user.

    Lines above the first line with a user are the header.
    """
    lines = SAMPLES[format].read_text(encoding="utf-8").splitlines()
    top = next(number for number, line in enumerate(lines) if USER.search(line))
    others = lines[top:]

    def write(path: Path, records: Sequence[str]) -> None:
        write_lines(path, [*lines[:top], *records])

    added = [USER.sub(ADDED, line) for line in others if USER.search(line)]
    return Case(others, added, write, SAMPLES[format].name)


ALL_CASES: dict[str, tuple[str, Callable[[], Case]]] = {
    **{name: (name, case) for name, case in CASES.items()},
    **{f"{name} sample": (name, functools.partial(sampled, name)) for name in SAMPLES},
}

Answer = tuple[list[Row], Counter[tuple[str, str | None]]]
Attribute = Callable[[list[Row]], list[Row]]


def as_read(rows: list[Row]) -> list[Row]:
    return rows


def attributed_by_query(rows: list[Row]) -> list[Row]:
    """A broken twin of any reader: rows with one query are rows of one user."""
    owners: dict[str, str] = {}
    for row in sorted(rows):
        owners.setdefault(row[2], row[0])
    return [(owners[row[2]], *row[1:]) for row in rows]


@dataclass(frozen=True)
class Twin:
    """A broken twin of a reader: a record without a user belongs to a user of a record with the same shared id."""

    shared_id: Callable[[Any], str | None]
    owner: Callable[[Any], str | None]
    with_owner: Callable[[Any, str], Any]

    def attributed(self, records: Sequence[Any]) -> list[Any]:
        owners: dict[str | None, str] = {}
        for record in records:
            if owner := self.owner(record):
                owners[self.shared_id(record)] = min(owner, owners.get(self.shared_id(record), owner))

        def attribute(record: Any) -> Any:
            owner = owners.get(self.shared_id(record))
            return record if owner is None or self.owner(record) else self.with_owner(record, owner)

        return [attribute(record) for record in records]


def field_of(*names: str) -> Callable[[Any], str | None]:
    """Return a function that finds the first of these fields in a document, or in the query inside it."""

    def find(document: Any) -> str | None:
        inside = document | document.get("inner_queries", [{}])[0]
        return next((inside[name] for name in names if inside.get(name)), None)

    return find


def set_field(name: str) -> Callable[[Any, str], Any]:
    return lambda document, owner: document | {name: owner}


def found_by(pattern: str) -> Callable[[str], str | None]:
    def find(line: str) -> str | None:
        found = re.search(pattern, line)
        return found[1] if found else None

    return find


def by_parameter(document: Any) -> str | None:
    return next(
        (one["value"]["string_value"] for one in document["event_params"] if one["key"] == "ga_session_id"),
        None,
    )


def user_of_session(session: Sequence[str]) -> str | None:
    return found_by(r"\tM\t5\t(\w+)")(session[0])


TWINS: dict[str, Twin] = {
    **dict.fromkeys(tables(), Twin(field_of("session"), field_of("user"), set_field("user"))),
    "sogou": Twin(
        found_by(r"\ttea (\d)"),
        found_by(r"^\d+\t(\w+)\t"),
        lambda line, owner: line.replace("\t\t", f"\t{owner}\t", 1),
    ),
    "access-log": Twin(
        found_by(r"^([\d.]+) "),
        found_by(r'"([\w ]+)"$'),
        lambda line, owner: line.replace('"-"', f'"{owner}"'),
    ),
    "solr": Twin(
        found_by(r"\bsid=(\w+)"),
        found_by(r"\buid=(\w+)"),
        lambda line, owner: line.replace("sid=", f"uid={owner}&sid="),
    ),
    "slow-log": Twin(field_of("node.id"), field_of("id"), set_field("id")),
    "matomo": Twin(field_of("visitorId", "idVisit"), field_of("userId"), set_field("userId")),
    "google-analytics": Twin(by_parameter, field_of("user_id"), set_field("user_id")),
    "ubi": Twin(field_of("query_id"), field_of("user_id", "client_id"), set_field("client_id")),
    "algolia": Twin(
        field_of("queryID", "query_id"),
        field_of("userToken", "authenticatedUserToken", "user_token"),
        set_field("userToken"),
    ),
    "yandex": Twin(
        lambda session: session[0].split("\t")[0],
        user_of_session,
        lambda session, owner: [
            session[0].split("\t")[0] + f"\tM\t5\t{owner}",
            *(line for line in session if "\tM\t" not in line),
        ],
    ),
}


def answer(format: str, case: Case, records: Sequence[Any], folder: Path, attribute: Attribute) -> Answer:
    """Return the rows of all users but the added one, and the rejected rows with their reasons."""
    folder.mkdir()
    path = folder / case.file
    case.write(path, records)
    log = qv.read(path, format=format, max_rejected=1.0, **case.options)
    table = log.engine.arrow(log.table).to_pylist()
    rows = attribute([tuple(str(row.get(column)) for column in COLUMNS) for row in table])
    staged = log.staged
    assert staged is not None
    kept = pq.read_table(staged.rejected_file).to_pylist() if staged.rejected_file else []
    assert sum(row["lines"] or 1 for row in kept) == staged.rejected
    rejected = Counter((row["reason"], row["text"]) for row in kept)
    assert not any(ADDED in (text or "") for _, text in rejected), "a row of the added user is not good"
    return sorted(row for row in rows if ADDED not in row[0]), rejected


def changed_arrangements(format: str, case: Case, folder: Path, attribute: Attribute = as_read) -> list[int]:
    """Return the arrangements in which the added user changes the rows of others."""
    alone = answer(format, case, case.others, folder / "alone", attribute)
    answers = [
        answer(format, case, records, folder / f"with {number}", attribute)
        for number, records in enumerate(case.arrangements())
    ]
    return [number for number, one in enumerate(answers) if one != alone]


@pytest.mark.parametrize("name", ALL_CASES)
def test_an_added_user_who_shares_every_id_changes_no_row_of_others(name: str, tmp_path: Path) -> None:
    format, make = ALL_CASES[name]
    case = make()
    rows, _ = answer(format, case, case.others, tmp_path / "log", as_read)
    assert len({row[0] for row in rows}) >= OTHERS
    assert changed_arrangements(format, case, tmp_path) == []


@pytest.mark.parametrize("name", ALL_CASES)
def test_attribution_by_query_is_found(name: str, tmp_path: Path) -> None:
    format, make = ALL_CASES[name]
    assert changed_arrangements(format, make(), tmp_path, attributed_by_query) == [0, 1, 2, 3]


@pytest.mark.parametrize("format", CASES)
def test_attribution_by_a_shared_id_is_found(format: str, tmp_path: Path) -> None:
    case = CASES[format]()
    broken = replace(case, write=lambda path, records: case.write(path, TWINS[format].attributed(records)))
    assert changed_arrangements(format, broken, tmp_path) == [0, 1, 2, 3]


def test_every_format_has_a_case() -> None:
    assert CASES.keys() == TWINS.keys()
    assert CASES.keys() | SAMPLES.keys() == FORMATS.keys()
