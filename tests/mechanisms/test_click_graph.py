"""What the click graph publishes, against a plain reference; on both engines; and what it refuses."""

from __future__ import annotations

import collections
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.privacy.noise import Noise
from tests import sizes
from tests.conftest import at
from tests.seeded import SeededBits

# Noise so small that it is 0 but with probability far below 1e-6: counts can be compared exactly.
EXACT: dict[str, Any] = {"epsilon": 1000.0, "delta": 1e-12}


def reference(
    rows: list[dict[str, Any]], columns: tuple[str, ...], most: int
) -> collections.Counter[tuple[str, ...]]:
    """Counts of each user's first events, in plain Python."""
    events = collections.defaultdict(set)
    for row in rows:
        if row["query"] and all(row[column] for column in columns):
            events[row["user"]].add((row["time"], *(row[column] for column in columns)))
    return collections.Counter(event[1:] for theirs in events.values() for event in sorted(theirs)[:most])


def log_of(*rows: tuple[str, float, str, str | None]) -> pa.Table:
    user, minute, query, url = zip(*rows, strict=True)
    return pa.table(
        {
            "user": list(user),
            "time": [at(one) for one in minute],
            "query": list(query),
            "url": pa.array(url, pa.string()),
        }
    )


def crowd(users: int, *rows: tuple[float, str, str | None]) -> pa.Table:
    return log_of(*((f"u{user}", *row) for user in range(users) for row in rows))


def counts(table: pa.Table) -> dict[Any, int]:
    names = table.column_names[:-1]
    keys = zip(*(table[name].to_pylist() for name in names), strict=True)
    return dict(
        zip((key if len(names) > 1 else key[0] for key in keys), table["count"].to_pylist(), strict=True)
    )


def publish(
    log: pa.Table | Path, engine: Any = "duckdb", noise: Noise | None = None, **parameters: Any
) -> qv.Release:
    given = EXACT | {"max_queries": 1} | parameters
    seeded: dict[str, Any] = {} if noise is None else {"noise": noise, "i_understand": True}
    return qv.publish(qv.read(log, engine=engine), qv.ClickGraph(**given), allow_empty=True, **seeded)


# -- bounding ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("d", sizes.chosen([1, 3, 20], [3]))
def test_the_first_queries_and_clicks_by_time_count(generated: Path, tmp_path: Path, d: int) -> None:
    whole = pq.read_table(generated)
    # One row for each user and time: among several, a keyed hash decides which are first.
    once = {(row["user"], row["time"]): at for at, row in enumerate(whole.to_pylist())}
    log = whole.take(pa.array(sorted(once.values())))
    rows = [row | {"query": qv.normalise(row["query"] or "")} for row in log.to_pylist()]
    queries = reference(rows, ("query",), d)
    clicks = reference(rows, ("query", "url"), 2)
    lists = generated.parent / "results.tsv"
    release = publish(log, max_queries=d, epsilon_clicks=1000.0, max_clicks=2, results=str(lists))
    threshold = release.plan.calibration["threshold"]
    assert counts(release.tables["queries"]) == {q[0]: n for q, n in queries.items() if n > threshold}
    published = counts(release.tables["clicks"])
    public = [tuple(line.split("\t")[:2]) for line in lists.read_text(encoding="utf-8").splitlines()[1:]]
    asked = {pair for pair in public if pair[0] in counts(release.tables["queries"])}
    assert set(published) == asked and 0 in published.values()
    assert published == {pair: clicks[pair] for pair in asked}


def test_several_click_rows_of_one_query_are_one_event_and_repeats_count() -> None:
    table = crowd(30, (0, "a", "u1"), (0, "a", "u2"), (1, "a", None), (2, "b", None))
    assert counts(publish(table, max_queries=2).tables["queries"]) == {"a": 60}
    assert counts(publish(table, max_queries=2, count_by="users").tables["queries"]) == {"a": 30, "b": 30}


def test_of_queries_at_one_time_a_hash_keeps_one_and_a_line_twice_counts_once() -> None:
    table = crowd(100, (0, "b", None), (0, "a", None), (0, "a", None))
    backwards = table.take(pa.array(range(table.num_rows))[::-1])
    found, again, by_another_key = (
        counts(publish(rows, noise=Noise(SeededBits(seed))).tables["queries"])
        for rows, seed in ((table, 1), (backwards, 1), (table, 2))
    )
    assert set(found) == {"a", "b"} and sum(found.values()) == 100
    assert found == again and found != by_another_key


def test_empty_queries_are_no_queries() -> None:
    table = crowd(30, (0, "", None), (1, " ", None), (2, "a", None))
    assert counts(publish(table).tables["queries"]) == {"a": 30}


# -- clicks --------------------------------------------------------------------------------------------------

CLICKED = crowd(40, (0, "a", "u1"), (1, "a", "u2"), (2, "rare", "u9"), (3, "b", "u3"))


def test_public_lists_are_published_whole_whatever_was_clicked(tmp_path: Path) -> None:
    lists = tmp_path / "lists.csv"
    lists.write_text("query;url\na;u1\na;never\na;u1\nnot in the log;u5\n")
    release = publish(CLICKED, max_queries=1, epsilon_clicks=1000.0, max_clicks=1, results=str(lists))
    assert counts(release.tables["clicks"]) == {("a", "u1"): 40, ("a", "never"): 0}


def test_lists_may_come_from_a_function() -> None:
    asked = []

    def lists(query: str) -> list[str]:
        asked.append(query)
        return ["u1", "u2", "u2"]

    release = publish(CLICKED, max_queries=1, epsilon_clicks=1000.0, max_clicks=2, results=lists)
    assert counts(release.tables["clicks"]) == {("a", "u1"): 40, ("a", "u2"): 40}
    assert asked == ["a"], "only published queries are looked up elsewhere"


def test_private_urls_need_a_crowd_of_their_own() -> None:
    alone = pa.concat_tables([CLICKED, log_of(("x", 0, "a", "only mine"))])
    release = publish(
        alone, max_queries=1, urls="private", epsilon_clicks=1000.0, delta_clicks=1e-12, max_clicks=1
    )
    assert counts(release.tables["clicks"]) == {("a", "u1"): 40}


def test_private_clicks_are_bounded_among_published_queries() -> None:
    late = crowd(40, (0, "a", None), (1, "never published", "u0"), (2, "a", "u1"))
    release = publish(
        late, max_queries=1, urls="private", epsilon_clicks=1000.0, delta_clicks=1e-12, max_clicks=1
    )
    assert counts(release.tables["clicks"]) == {("a", "u1"): 40}


def test_the_logs_own_urls_are_taken_only_if_one_says_so() -> None:
    method = qv.ClickGraph(**EXACT, max_queries=1, epsilon_clicks=1000.0, urls="clicked")
    with pytest.raises(qv.UsageError, match="no guarantee"):
        qv.publish(qv.read(CLICKED), method)
    release = qv.publish(qv.read(CLICKED), method, i_understand=True)
    assert counts(release.tables["clicks"]) == {("a", "u1"): 40}
    with pytest.raises(qv.UsageError, match="need public result lists"):
        publish(CLICKED, epsilon_clicks=1.0)


# -- reformulations ------------------------------------------------------------------------------------------

SEARCHED_ON = crowd(40, (0, "a", None), (5, "b", None), (60, "a", None), (61, "c", None))


def test_reformulations_are_pairs_of_published_queries_within_sessions() -> None:
    release = publish(
        SEARCHED_ON,
        max_queries=4,
        epsilon_reformulations=1000.0,
        delta_reformulations=1e-12,
        max_reformulations=2,
    )
    assert counts(release.tables["reformulations"]) == {("a", "b"): 40, ("a", "c"): 40}
    fewer = publish(SEARCHED_ON, max_queries=2, epsilon_reformulations=1000.0, delta_reformulations=1e-12)
    assert counts(fewer.tables["reformulations"]) == {("a", "b"): 40}, "c is not published"


def test_suggestions_are_a_public_list(tmp_path: Path) -> None:
    lists = tmp_path / "suggestions.tsv"
    lists.write_text("a\tB\na\tzzz\n")
    release = publish(SEARCHED_ON, max_queries=2, epsilon_reformulations=1000.0, suggestions=str(lists))
    assert counts(release.tables["reformulations"]) == {("a", "b"): 40, ("a", "zzz"): 0}


# -- counts --------------------------------------------------------------------------------------------------


def test_fresh_counts_are_drawn_again_and_zeros_are_kept_on_request(tmp_path: Path) -> None:
    lists = tmp_path / "lists.tsv"
    lists.write_text("".join(f"a\tu{number}\n" for number in range(200)))
    noisy: dict[str, Any] = {"counts": "fresh", "epsilon_counts": 1e-8, "epsilon_clicks": 0.1}
    release = publish(CLICKED, max_queries=1, **noisy, results=str(lists))
    assert counts(release.tables["queries"])["a"] != 40, "noise of scale 1e8 is 0 with probability 5e-9"
    assert min(release.tables["clicks"]["count"].to_pylist()) < 0
    floor = publish(CLICKED, max_queries=1, **noisy, results=str(lists), non_negative=True)
    assert min(floor.tables["clicks"]["count"].to_pylist()) == 0


# -- two engines ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("count_by", sizes.chosen(["occurrences", "users"], ["users"]))
def test_spark_gives_the_same_counts(generated: Path, spark: Any, count_by: str) -> None:
    parameters: dict[str, Any] = {
        "max_queries": 5,
        "count_by": count_by,
        "urls": "private",
        "epsilon_clicks": 1000.0,
        "delta_clicks": 1e-12,
        "max_clicks": 3,
        "epsilon_reformulations": 1000.0,
        "delta_reformulations": 1e-12,
    }
    here, there = (
        publish(generated, engine, noise=Noise(SeededBits(1)), **parameters) for engine in ("duckdb", spark)
    )
    for name, table in here.tables.items():
        assert table.num_rows > 0 and table.equals(there.tables[name]), name


def test_public_lists_on_spark(generated: Path, spark: Any) -> None:
    parameters: dict[str, Any] = {"epsilon_clicks": 1000.0, "results": str(generated.parent / "results.tsv")}
    here, there = (
        publish(generated, engine, noise=Noise(SeededBits(1)), **parameters) for engine in ("duckdb", spark)
    )
    assert here.tables["clicks"].num_rows > 0 and here.tables["clicks"].equals(there.tables["clicks"])


# -- what is refused -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"epsilon": 1.0}, "needs epsilon and delta"),
        ({"epsilon": 1.0, "delta": 0.1, "threshold": 30.0}, "needs epsilon and delta"),
        ({"epsilon": 1.0, "delta": 0.0}, "pure differential privacy"),
        ({"epsilon": float("nan"), "delta": 0.1}, "'epsilon' must be a number"),
        ({"epsilon": 1.0, "delta": 0.1, "epsilon_clicks": -1.0}, "'epsilon_clicks' must be a number > 0"),
        (
            {"epsilon": 1.0, "delta": 0.1, "epsilon_reformulations": float("nan")},
            "'epsilon_reformulations' must",
        ),
        ({"epsilon": 1.0, "delta": 0.1, "counts": "fresh"}, "fresh counts have their own privacy loss"),
        ({"epsilon": 1.0, "delta": 0.1, "epsilon_counts": 1.0}, "fresh counts have their own privacy loss"),
        ({"epsilon": 1.0, "delta": 0.1, "results": "x"}, "click counts have their own privacy loss"),
        ({"epsilon": 1.0, "delta": 0.1, "urls": "private", "epsilon_clicks": 1.0}, "threshold with a delta"),
        ({"epsilon": 1.0, "delta": 0.1, "epsilon_reformulations": 1.0}, "public suggestion lists, or"),
        ({"epsilon": 1e-9, "delta": 0.1, "max_queries": 10**9}, "would need noise"),
        (
            {"noise_scale": 5.0, "threshold": 19.0, "analysis": "paper"},
            "needs a threshold of at least d = 20",
        ),
        ({"noise_scale": 5.0, "threshold": 19.0}, "published more often than not"),
        ({"epsilon": 1.0, "delta": 0.9, "max_queries": 1, "analysis": "paper"}, "at least d = 1"),
        (
            {"epsilon": 1.0, "delta": 0.1, "epsilon_clicks": 1.0, "clicks_noise_scale": 1.0},
            "the same thing twice",
        ),
    ],
)
def test_wrong_parameters_are_refused_with_the_reason(parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(qv.UsageError, match=said):
        qv.ClickGraph(**parameters).plan()


def test_a_log_without_times_or_clicks_is_refused_before_anything_is_charged(tmp_path: Path) -> None:
    ledger = qv.Ledger(str(tmp_path / "ledger.db"))
    ledger.open("log", epsilon=10, delta=0.5, neighbours="add-remove-one-user")
    clicks = qv.ClickGraph(epsilon=1, delta=1e-5, epsilon_clicks=1, urls="private", delta_clicks=1e-5)
    no_time = pa.table({"user": ["a"], "query": ["q"]})
    no_clicks = log_of(("a", 0, "q", None))
    for table, said in (
        (no_time, "needs a 'time' column"),
        (no_clicks.drop(["url"]), "needs a 'url' column"),
        (no_clicks, "no click in it"),
    ):
        with pytest.raises(qv.InputError, match=said):
            qv.publish(qv.read(table), clicks, ledger=ledger, source="log")
    assert not ledger.budget("log").events


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("query\turl\nonly a query\n", "line 2 of the public lists"),
        ("", None),
        ("a#u\n", "line 1 of the public lists"),
    ],
)
def test_result_files_that_are_wrong(tmp_path: Path, text: str, said: str | None) -> None:
    lists = tmp_path / "lists.tsv"
    lists.write_text(text)
    if said is None:
        release = publish(CLICKED, epsilon_clicks=1.0, results=str(lists))
        assert release.released == {"queries": 1, "clicks": 0}
        return
    with pytest.raises(qv.InputError, match=said):
        publish(CLICKED, epsilon_clicks=1.0, results=str(lists))


@pytest.mark.parametrize("delimiter", ["\t", ",", ";", "|"])
@pytest.mark.parametrize("header", [True, False])
def test_result_files_with_any_usual_delimiter(tmp_path: Path, delimiter: str, header: bool) -> None:
    lists = tmp_path / "lists.txt"
    lines = [["query", "url", "rank"]] * header + [["a", "u1", "1"], ["a", "u2", "2"], ["a", "u1", "1"]]
    lists.write_text("\n".join(delimiter.join(line) for line in lines))
    release = publish(CLICKED, epsilon_clicks=1000.0, max_clicks=2, results=str(lists))
    assert counts(release.tables["clicks"]) == {("a", "u1"): 40, ("a", "u2"): 40}


def test_a_release_is_loaded_as_it_was_published(tmp_path: Path) -> None:
    release = publish(CLICKED).save(tmp_path / "out")
    again = qv.load(tmp_path / "out")
    assert again.tables["queries"].equals(release.tables["queries"])
    assert again.guarantee.headline == release.guarantee.headline
    with pytest.raises(qv.InputError, match="is not a release"):
        qv.load(tmp_path)
