"""k-query anonymity: what survives, what is told, and what the method is honest about."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil as qv
from queryveil.privacy.noise import Noise
from queryveil.privacy.statements import INFERENCE, LINKABILITY, NOT_EXCLUDED, QUESTIONS, SINGLING_OUT, YES
from tests.command import command
from tests.conftest import at, many
from tests.seeded import SeededBits
from tests.sentences import fields_of


def log_of(*rows: tuple[str, float, str]) -> pa.Table:
    user, minute, query = zip(*rows, strict=True)
    return pa.table({"user": list(user), "time": [at(one) for one in minute], "query": list(query)})


def published(table: pa.Table, k: int, **options: object) -> pa.Table:
    return qv.publish(qv.read(table), qv.KQuery(k=k), **options).tables["log"]  # type: ignore[arg-type]


def sessions(table: pa.Table) -> list[tuple[str, ...]]:
    """The published sessions as tuples of queries, whatever their numbers are."""
    found: dict[int, list[str]] = defaultdict(list)
    for row in table.to_pylist():
        found[row["session"]].append(row["query"])
    return sorted(map(tuple, found.values()))


SMALL = log_of(
    ("a", 0, "weather"),
    ("a", 1, "my rare illness"),
    ("a", 2, "maps"),
    ("a", 3, "weather"),
    ("a", 90, "maps"),
    ("b", 0, "maps"),
    ("b", 1, "weather"),
    ("c", 0, "weather"),
    ("c", 1, "weather"),
    ("c", 2, "only c, often"),
    ("c", 3, "only c, often"),
    ("c", 4, "only c, often"),
)


def test_queries_of_fewer_users_are_dropped_and_the_others_keep_their_order() -> None:
    expected = [("maps", "weather"), ("maps",), ("weather", "maps", "weather"), ("weather", "weather")]
    assert sessions(published(SMALL, 2)) == sorted(expected)
    assert sessions(published(SMALL, 3)) == sorted(
        [("weather", "weather"), ("weather",), ("weather", "weather")]
    )


def test_a_user_who_repeats_herself_is_no_crowd() -> None:
    assert "only c, often" not in published(SMALL, 2)["query"].to_pylist()


def test_only_session_and_query_are_published_under_random_numbers() -> None:
    table = published(SMALL, 2)
    assert table.schema == pa.schema([("session", pa.int64()), ("query", pa.string())])
    numbers = table["session"].to_pylist()
    assert numbers == sorted(numbers) and set(numbers) == set(range(4))


def test_several_clicks_of_one_query_are_one_event() -> None:
    clicks = many(3, ["news"]).append_column("url", pa.array(["u", "v", "w"]))
    twice = pa.concat_tables([clicks, clicks.set_column(3, "url", pa.array(["x", "y", "z"]))])
    assert sessions(published(twice, 3)) == [("news",)] * 3


def test_numbers_say_nothing_about_whose_session_it_is() -> None:
    # 2,000 users in the order of their names and times, two with each query.
    names = [f"u{user:04}" for user in range(2_000)]
    queries = [f"q{user // 2:04}" for user in range(2_000)]
    rows = pa.table({"user": names, "time": [at(user) for user in range(2_000)], "query": queries})
    numbers = published(rows, 2)
    found = [int(query[1:]) for query in numbers["query"].to_pylist()]
    # The rank correlation of a random order is normal around 0 with deviation 1/sqrt(2,000): |r| above 5 deviations
    # has a probability of 6e-7.
    assert abs(correlation(found)) < 5 / 2_000**0.5
    assert correlation(sorted(found)) > 0.99, "the order of the log would be seen"


def correlation(found: list[int]) -> float:
    return float(np.corrcoef(np.arange(len(found)), found)[0, 1])


@settings(max_examples=12, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcdef"), st.integers(0, 300), st.sampled_from(["x", "y", "z", "é w", "X "])
        ),
        min_size=1,
        max_size=40,
    ),
    st.integers(2, 4),
)
def test_it_is_the_definition(rows: list[tuple[str, float, str]], k: int) -> None:
    if len({user for user, _, _ in rows}) < k:
        return
    assert sessions(published(log_of(*rows), k, allow_empty=True)) == by_definition(rows, k)


def by_definition(rows: list[tuple[str, float, str]], k: int) -> list[tuple[str, ...]]:
    events = sorted({(user, minute, qv.normalise(query)) for user, minute, query in rows})
    users = defaultdict(set)
    for user, _, query in events:
        users[query].add(user)
    found: list[list[str]] = []
    before = ("", 0.0)
    for user, minute, query in events:
        if before[0] != user or minute > before[1] + 30:
            found.append([])
        before = (user, minute)
        if len(users[query]) >= k:
            found[-1].append(query)
    return sorted(tuple(one) for one in found if one)


def test_pairs_form_after_dropping_and_may_be_one_users() -> None:
    log = log_of(
        *((user, 0, "flu") for user in "abc"),
        *((user, 100, "divorce lawyer") for user in "bc"),
        ("a", 1, "my name"),
        ("a", 2, "divorce lawyer"),
    )
    table = published(log, 3)
    assert ("flu", "divorce lawyer") in sessions(table), "one user's pair is published"
    said = " ".join(map(str, qv.KQuery(k=3).plan().guarantee.caveats))
    assert "pairs of queries are not k-anonymous" in said


def test_spark_publishes_the_same(spark: object) -> None:
    noise = [Noise(SeededBits(3)) for _ in range(2)]
    table = pa.concat_tables([SMALL, log_of(("d", 0, "Ünïcode 🐈"), ("e", 5, "ünïcode  🐈"))])
    method = qv.KQuery(k=2)
    here = qv.publish(qv.read(table), method, noise=noise[0], i_understand=True).tables["log"]
    there = qv.publish(qv.read(table, engine=spark), method, noise=noise[1], i_understand=True).tables["log"]  # type: ignore[arg-type]
    assert here.equals(there)


def test_a_session_column_does_without_times() -> None:
    table = pa.table(
        {
            "user": ["a", "a", "b", "b", "c"],
            "session": ["1", "1", "1", "2", "1"],
            "query": ["x", "y", "y", "x", "x"],
        }
    )
    assert sessions(published(table, 2)) == [("x",), ("x",), ("x", "y"), ("y",)]


def test_what_cannot_be_done_is_refused_before_anything_is_charged(tmp_path: Path) -> None:
    ledger = qv.Ledger(str(tmp_path / "ledger.db"))
    ledger.open("log", epsilon=1, delta=1e-6)

    def refused(table: pa.Table, error: type[Exception], words: str, k: int = 2) -> None:
        with pytest.raises(error, match=words):
            qv.publish(qv.read(table), qv.KQuery(k=k), ledger=ledger, source="log", out=tmp_path / "out")

    refused(many(1, ["x"]), qv.CannotBeMet, "fewer than the 2 users")
    refused(SMALL, qv.CannotBeMet, "fewer than the 4 users", k=4)
    refused(
        SMALL.select(["user", "query"]),
        qv.InputError,
        "'time' or a 'session' column, and the log has neither",
    )
    half = pa.table({"user": ["a", "b"], "query": ["x", "x"], "session": ["1", None]})
    refused(half, qv.InputError, "some rows have no session")
    assert list(ledger.budget("log").events) == []
    assert not (tmp_path / "out").exists()
    with pytest.raises(qv.CannotBeMet, match=r"nothing is frequent enough.*lower k"):
        published(log_of(("a", 0, "x"), ("b", 0, "y")), 2)
    with pytest.raises(qv.UsageError, match="parameter 'k' must be an int >= 2"):
        qv.KQuery(k=1)


def test_on_the_command_line(tmp_path: Path) -> None:
    log = tmp_path / "log.tsv"
    log.write_text("user\ttime\tquery\n" + "".join(f"u{n}\t2026-01-0{n + 1}\tshared\n" for n in range(4)))
    made = command(
        "publish", str(log), "--method", "k-query", "--k", "4", "--out", str(tmp_path / "out"), "--json"
    )
    assert made.code == 0 and made.document["released"] == {"log": 4}
    assert made.document["guarantee"]["kind"] == "k-anonymity" and made.document["guarantee"]["k"] == 4
    few = command("publish", str(log), "--method", "k-query", "--k", "5", "--out", str(tmp_path / "few"))
    assert few.code == 5 and not (tmp_path / "few").exists()
    missing = command("publish", str(log), "--method", "k-query", "--out", str(tmp_path / "few"))
    assert missing.code == 2 and "pass --k" in missing.err


def test_the_report_shows_the_log(tmp_path: Path) -> None:
    qv.publish(qv.read(SMALL), qv.KQuery(k=2), out=tmp_path / "out")
    page = (tmp_path / "out" / "report.html").read_text()
    assert "The log: 8 rows" in page and "4 sessions" in page and "rare illness" not in page
    assert "noise" not in page
    assert "calibration" not in (tmp_path / "out" / "DATASHEET.md").read_text()


def test_a_session_singles_out_and_links_its_queries() -> None:
    assessment = {one.code: one for one in qv.KQuery(k=2).plan().assessment}
    verdicts = {question: dict(assessment[question].fields)["verdict"] for question in QUESTIONS}
    assert verdicts == {SINGLING_OUT: YES, LINKABILITY: YES, INFERENCE: NOT_EXCLUDED}
    assert fields_of(assessment[SINGLING_OUT].sentence, "k-query.singling-out") == {"k": 2}
