"""What reading finds out on the way, so that rows are not gone over again: users; and what it leaves for later."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.count.text_codes import TextCodes
from queryveil.reading import normal_form

USERS: dict[str, Any] = {
    "texts": pa.array(["b", "a", "b", "c"]),
    "numbers": pa.array([7, 7, -1, 10**12]),
    "a dictionary": pa.array(["x", "y", "x", "z"]).dictionary_encode(),
    "like numbers": pa.array(["1", "01", "1.0", "1"]),
}


def written(folder: Path, user: Any, query: list[str | None]) -> Path:
    pq.write_table(pa.table({"user": user, "query": query}), folder / "log.parquet")
    return folder / "log.parquet"


@pytest.mark.parametrize("what", USERS)
def test_users_that_reading_counted_are_those_of_the_rows(what: str, tmp_path: Path) -> None:
    log = qv.read(written(tmp_path, USERS[what], ["a", "", None, "B"]))
    assert log.staged is not None and log.staged.users == log.users == 3
    again = dataclasses.replace(log, staged=None)
    assert again.users == 3


def test_rejected_rows_and_samples_are_counted_again(tmp_path: Path) -> None:
    log = qv.read(written(tmp_path, ["a", None, "b", "b"], ["x"] * 4), max_rejected=1.0)
    assert log.staged is not None and log.staged.users is None and log.users == 2
    many = written(tmp_path, [f"user {number}" for number in range(200)], ["x"] * 200)
    some = qv.read(many, sample_users=0.5)
    assert some.users == len(set(some.engine.arrow(some.source)["user"].to_pylist())) < 200


def test_a_filtered_log_has_its_own_users(tmp_path: Path) -> None:
    log = qv.read(written(tmp_path, ["a", "b", "c", "c"], ["x"] * 4))
    part = dataclasses.replace(
        log,
        normal=log.table.filter(log.table["user"] != "a"),
        source=log.source.filter(log.source["user"] != "a"),
    )
    assert (log.users, part.users, part.is_as_read) == (3, 2, False)
    assert part.columns == log.columns == ("user", "query")


def test_texts_beyond_ascii_are_looked_for_when_they_are_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And once. Counting a log's own queries goes over its rows one time, and needs no such look."""
    looked, look = [], normal_form.foreign

    def counted(*given: Any) -> Any:
        looked.append(given)
        return look(*given)

    monkeypatch.setattr(normal_form, "foreign", counted)
    rows = 600
    path = written(
        tmp_path, [f"u{number}" for number in range(rows)], ["\u00c4PFEL ", "\u00e4pfel"] * (rows // 2)
    )
    log = qv.read(path)
    assert qv.publish(log, qv.Zealous(epsilon=4, delta=1e-4)).released == {"items": 1} and not looked
    release = qv.publish(log, qv.Steered(epsilon=4, delta=1e-4))
    assert release.tables["items"]["query"].to_pylist() == ["\u00e4pfel"] and not looked
    assert log.columns == ("user", "query")
    found = log.engine.arrow(log.table)
    assert set(found["query"].to_pylist()) == {"\u00e4pfel"} and len(looked) == 1
    assert log.table is log.table and len(looked) == 1


def test_the_fingerprint_is_found_while_rows_go_by(tmp_path: Path) -> None:
    """It is the same as by itself; a part of the log does not take it over, nor does a log that was not gone over."""
    path = written(tmp_path, ["a", "b", "b", "c"], ["x", "", None, "\u00c4 B"])
    alone = qv.read(path).fingerprint("user", "query")
    log = qv.read(path)
    rows = [row for batch in log.raw_rows() for row in batch.to_pylist()]
    assert sorted(row["query"] for row in rows) == ["", "", "x", "\u00c4 B"] and set(rows[0]) == {
        "user",
        "query",
    }
    asked: list[Any] = []
    object.__setattr__(log.engine, "arrow", asked.append)
    assert log.fingerprint("user", "query") == alone and not asked
    del log.engine.arrow
    part = dataclasses.replace(log, source=log.source.filter(log.source["user"] != "a"), staged=None)
    assert part.fingerprint("user", "query") != alone


FILES: dict[str, Any] = {
    "texts": pa.table({"user": ["b", "a", "b", "c"], "query": ["x", None, "", "\u00c4 B"]}),
    "numbers": pa.table({"user": [2, 1, 2, 3], "query": ["x", None, "", "\u00c4 B"]}),
    "dictionaries": pa.table(
        {
            "user": pa.array(["b", "a", "b", "c"]).dictionary_encode(),
            "query": pa.array(["x", None, "", "\u00c4 B"]).dictionary_encode(),
        }
    ),
    "large texts": pa.table(
        {
            "user": pa.array(["b", "a", "b", "c"], pa.large_string()),
            "query": pa.array(["x", None, "", "\u00c4 B"], pa.large_string()),
        }
    ),
    "other names": pa.table({"query": ["x", None, "", "\u00c4 B"], "who": ["b", "a", "b", "c"]}),
}


@pytest.mark.parametrize("what", FILES)
def test_raw_rows_are_those_of_the_engine(what: str, tmp_path: Path) -> None:
    """However files hold them: as texts, numbers, dictionaries, in several parts or files."""
    for part in (0, 1):
        pq.write_table(FILES[what], tmp_path / f"{part}.parquet", row_group_size=3)
    columns = {"user": "who", "query": "query"} if what == "other names" else None
    log = qv.read(tmp_path, columns=columns)
    raw = sorted((row["user"], row["query"]) for batch in log.raw_rows() for row in batch.to_pylist())
    rows = log.engine.arrow(log.source.select("user", "query")).to_pylist()
    assert raw == sorted((row["user"], row["query"] or "") for row in rows) and len(raw) == 8


def test_a_sample_has_only_its_own_raw_rows(tmp_path: Path) -> None:
    path = written(tmp_path, [f"user {number}" for number in range(200)], ["x"] * 200)
    some = qv.read(path, sample_users=0.5)
    raw = [row["user"] for batch in some.raw_rows() for row in batch.to_pylist()]
    assert sorted(raw) == sorted(some.engine.arrow(some.source)["user"].to_pylist()) and 0 < len(raw) < 200


def test_users_of_a_dictionary_that_have_no_row_get_no_number(tmp_path: Path) -> None:
    users = pa.DictionaryArray.from_arrays(pa.array([0, 2, 0]), ["a", "never there", "b"])
    made = TextCodes(b"salt")
    assert made.add(users).tolist() == [0, 1, 0] and made.array().to_pylist() == ["a", "b"]


def test_fingerprints_know_users_from_queries_and_not_the_order(tmp_path: Path) -> None:
    def of(users: list[str], queries: list[str | None]) -> dict[str, Any]:
        return qv.read(written(tmp_path, users, queries)).fingerprint("user", "query")

    one = of(["a", "b", "b"], ["x", "y", "a query of more than eight bytes"])
    assert one == of(["b", "a", "b"], ["a query of more than eight bytes", "x", "y"])
    assert one != of(["a", "b", "b"], ["x", "y", "a query of more than eight bites"])
    assert one != of(["b", "a", "b"], ["x", "y", "a query of more than eight bytes"])
    assert of(["a"], ["b"]) != of(["b"], ["a"])


def test_a_log_is_found_after_the_program_went_to_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parquet is read where it lies, and more than once."""
    (tmp_path / "elsewhere").mkdir()
    pq.write_table(pa.table({"user": ["a", "b"], "query": ["tea", "tea"]}), tmp_path / "log.parquet")
    monkeypatch.chdir(tmp_path)
    log = qv.read("log.parquet")
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert log.engine.arrow(log.table).num_rows == 2
    method = qv.Zealous(epsilon=4, delta=1e-7)
    assert qv.publish(log, method, items="queries", allow_empty=True).guarantee.epsilon == 4
