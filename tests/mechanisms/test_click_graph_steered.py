"""The click graph on steered queries: one account, what is published, what may not be, on both engines."""

from __future__ import annotations

import json
import math
import shutil
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import queryveil as qv
from queryveil.count import histories, item_kinds
from queryveil.count.contribution import Bound
from queryveil.count.histories import Histories
from queryveil.mechanisms.base import Run
from queryveil.mechanisms.click_graph import graph_tables, steered_graph
from queryveil.mechanisms.click_graph.query_pairs import PairRounds, calibrate_pairs
from queryveil.mechanisms.click_graph.steered_graph import SteeredGraph
from queryveil.mechanisms.selection.item_selection import Selected
from queryveil.mechanisms.selection.steering import Setting
from queryveil.privacy.noise import Noise
from queryveil.verification import gaussian
from tests.command import command
from tests.conftest import at
from tests.seeded import SeededBits

MUCH: dict[str, Any] = {"epsilon": 20.0, "delta": 1e-4, "selection": "steered"}
"""So much that what hundreds of users share is published, but with probability far below 1e-6."""


def graph(**parameters: Any) -> qv.ClickGraph:
    return qv.ClickGraph(**(MUCH | parameters))


def log_of(rows: Sequence[tuple[str, float, str, str | None]]) -> pa.Table:
    user, minute, query, url = zip(*rows, strict=True)
    return pa.table(
        {
            "user": list(user),
            "time": [at(one) for one in minute],
            "query": list(query),
            "url": pa.array(url, pa.string()),
        }
    )


def crowd(users: int, *rows: tuple[float, str, str | None], of: str = "u") -> list[Any]:
    return [(f"{of}{user}", *row) for user in range(users) for row in rows]


ROWS = crowd(400, (0, "rain", "r.example"), (1, "snow", "s.example"), (2, "wind", None))


def counts(table: pa.Table) -> dict[Any, int]:
    """By item; the deviation stands last."""
    names = table.column_names[:-2]
    keys = zip(*(table[name].to_pylist() for name in names), strict=True)
    return dict(
        zip((key if len(names) > 1 else key[0] for key in keys), table["count"].to_pylist(), strict=True)
    )


# -- one account ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_all_tables_share_epsilon_and_delta(neighbours: str) -> None:
    """Computed by the verifier, which shares no line with the writer."""
    plan = graph(epsilon=1.0, delta=1e-6, neighbours=neighbours).plan()
    declared = [draw.as_dict() for draw in plan.draws]
    square = sum((gaussian.mu_squared(draw) for draw in declared), Fraction(0))
    p = sum((gaussian.p_of(draw) for draw in declared), Decimal(0))
    delta = gaussian.curve(square, Fraction(1)) + p
    assert plan.guarantee.kind == "gaussian-dp"
    assert (plan.guarantee.epsilon, plan.guarantee.delta) == (1.0, 1e-6)
    assert 0.999 * 1e-6 < delta <= Decimal("1e-6")
    assert [part.of for part in plan.guarantee.parts] == [draw.of for draw in plan.draws]


def test_a_replaced_history_moves_every_draw_by_root_2_and_has_two_chances() -> None:
    """The same noise and thresholds, with one user added or removed, would promise half of mu^2 and of p."""
    replaced = [draw.as_dict() for draw in graph(neighbours="replace").plan().draws]
    added = [one | {"neighbours": "add-remove-one-user"} for one in replaced]
    for one, other in zip(replaced, added, strict=True):
        assert gaussian.mu_squared(one) == 2 * gaussian.mu_squared(other)
        assert float(gaussian.p_of(one)) == pytest.approx(2 * float(gaussian.p_of(other)))
        assert (
            Fraction(one["mu"]) ** 2
            >= gaussian.mu_squared(one)
            > (Fraction(one["mu"]) * Fraction(99, 100)) ** 2
        )
    assert len({one["neighbours"] for one in replaced}) == 1 and "replace" in replaced[0]["neighbours"]


@pytest.mark.parametrize(("given", "parts"), [(None, (50, 30, 20)), ((1, 0, 3), (25, 0, 75))])
def test_shares_divide_mu_squared(given: tuple[float, ...] | None, parts: tuple[float, ...]) -> None:
    plan = graph(epsilon=1.0, shares=given, counts_share=0.25).plan()
    whole = float(plan.guarantee.mu or 0) ** 2
    for name, share in zip(graph_tables.KINDS, parts, strict=True):
        squares = {draw.of: float(draw.mu or 0) ** 2 for draw in plan.draws if draw.table == name}
        assert sum(squares.values()) == pytest.approx(whole * share / 100, rel=1e-5)
        assert squares.get(f"counts of {name}", 0) == pytest.approx(whole * share / 400, rel=1e-5)
    assert [one.name for one in plan.tables] == [
        name for name, share in zip(graph_tables.KINDS, parts, strict=True) if share
    ]


def test_rows_that_are_public_by_then_need_no_p() -> None:
    drawn = {draw.of: draw for draw in graph().plan().draws}
    assert {of for of, draw in drawn.items() if draw.p} == {"queries", "clicks"}
    assert {of for of, draw in drawn.items() if draw.above is not None} == {"queries", "clicks"}
    assert (drawn["reformulations"].rows, drawn["counts of reformulations"].rows) == ("public", "published")
    assert all(draw.rounds == steered_graph.ROUNDS for of, draw in drawn.items() if "counts" not in of)


def test_the_guarantee_and_the_help_say_whose_epsilon_it_is() -> None:
    promise = graph().plan().guarantee
    assert any("all tables together" in caveat.sentence for caveat in promise.caveats)
    assert "alltablestogether" in "".join(command("plan", "click-graph", "--help").out.split()).replace(
        "│", ""
    )


def test_bounds_are_filled_in_and_shown() -> None:
    assert qv.ClickGraph(epsilon=1, delta=1e-6).max_queries == 20
    shown = graph(max_clicks=7).plan().parameters
    assert (shown["max_queries"], shown["max_clicks"], shown["max_reformulations"]) == (100, 7, 100)
    assert not set(shown) & set(steered_graph.THRESHOLD_PARAMETERS)


# -- what is published ---------------------------------------------------------------------------------------


def test_tables_are_those_of_a_click_graph(tmp_path: Path) -> None:
    release = qv.publish(qv.read(log_of(ROWS)), graph(), out=tmp_path / "out")
    assert {name: table.column_names for name, table in release.tables.items()} == {
        "queries": ["query", "count", "deviation"],
        "clicks": ["query", "url", "count", "deviation"],
        "reformulations": ["query", "next_query", "count", "deviation"],
    }
    assert set(counts(release.tables["queries"])) == {"rain", "snow", "wind"}
    assert set(counts(release.tables["clicks"])) == {("rain", "r.example"), ("snow", "s.example")}
    assert {("rain", "snow"), ("snow", "wind")} <= set(counts(release.tables["reformulations"]))
    checked = qv.verify(tmp_path / "out")
    assert checked.passes, checked.failed
    again = qv.load(tmp_path / "out")
    again.save(tmp_path / "again")
    first, second = (tmp_path / one / "manifest.json" for one in ("out", "again"))
    assert first.read_bytes() == second.read_bytes()


def test_counts_are_numbers_of_users_within_their_deviations() -> None:
    """A count more than six deviations away comes by chance less than once in 10^8; nobody is scaled down here."""
    release = qv.publish(qv.read(log_of(ROWS)), graph())
    true = {"queries": 400, "clicks": 400}
    for name, users in true.items():
        for row in release.tables[name].to_pylist():
            assert 0 < row["deviation"] < 100
            assert abs(row["count"] - users) <= 6 * row["deviation"], (name, row)
    kept = release.private["clicks-true-counts"]
    assert kept["users"].to_pylist() == [400, 400]


def test_clicks_are_bounded_among_published_queries() -> None:
    """[G1] Each user has 40 clicks on queries that nobody shares, and one on a query that all do."""
    rows = crowd(400, (50, "rain", "r.example"))
    rows += [(f"u{user}", at_, f"own {user} {at_}", "x.example") for user in range(400) for at_ in range(40)]
    release = qv.publish(qv.read(log_of(rows)), graph(max_clicks=1, shares=(1, 1, 0)))
    [row] = release.tables["clicks"].to_pylist()
    assert (row["query"], row["url"]) == ("rain", "r.example")
    assert release.private["clicks-true-counts"]["users"].to_pylist() == [400]


def test_nothing_refers_to_what_is_not_published() -> None:
    rows = [*ROWS, *crowd(3, (3, "rare", "s.example"), (4, "rain", "rare.example"))]
    release = qv.publish(qv.read(log_of(rows)), graph(delta=1e-9))
    told = json.dumps({name: table.to_pylist() for name, table in release.tables.items()})
    assert "rare" not in told


def test_zeros_are_kept_on_request() -> None:
    """The same noise twice: pairs that noise alone publishes have counts on both sides of 0."""
    rows = [row for number in range(75) for row in crowd(60, (0, f"q{number}", "x"), of=f"{number} ")]
    found = []
    for non_negative in (False, True):
        method = graph(decoys=1000.0, shares=(98, 0, 2), non_negative=non_negative)
        noise = Noise(SeededBits(3))
        release = qv.publish(qv.read(log_of(rows)), method, noise=noise, i_understand=True)
        found.append(counts(release.tables["reformulations"]))
        assert (release.plan.table("reformulations").least == 0) == non_negative
    assert min(found[0].values()) < 0
    assert found[1] == {pair: max(0, count) for pair, count in found[0].items()}


def test_a_log_of_which_nothing_is_published_gives_empty_tables() -> None:
    rows = crowd(300, (0, "own", "x"))
    rows = [(user, time, f"{query} {user}", url) for user, time, query, url in rows]
    release = qv.publish(qv.read(log_of(rows)), graph(), allow_empty=True)
    assert release.released == {"queries": 0, "clicks": 0, "reformulations": 0}


def test_of_too_many_queries_the_most_frequent_are_paired(monkeypatch: pytest.MonkeyPatch) -> None:
    """[G4] Which these are follows from the published table."""
    monkeypatch.setattr(steered_graph, "MAX_PAIRED", 2)
    rows = [*ROWS, *crowd(2000, (0, "sun", None), (1, "fog", None), of="w")]
    release = qv.publish(qv.read(log_of(rows)), graph(max_queries=5))
    assert release.tables["queries"]["query"].to_pylist()[:2] in (["sun", "fog"], ["fog", "sun"])
    assert set(counts(release.tables["reformulations"])) <= {("sun", "fog"), ("fog", "sun")}


@pytest.mark.parametrize("name", ["clicks", "query-pairs"])
def test_nobody_changes_what_another_keeps_of_published_queries(name: str) -> None:
    """[G1] For a fixed set of published queries, one user more adds a history of her own and changes no other."""
    texts = ["rain", "snow", "wind", "rare", "own"]
    rows = [
        (f"u{user}", place, texts[(user + place * place) % 5], f"{(user * place) % 7}.example")
        for user in range(30)
        for place in range(12)
    ]
    fewer, more = (kept(name, [row for row in rows if row[0] != left_out]) for left_out in ("u6", ""))
    assert len(more) == len(fewer) + 1
    assert all(len(theirs) <= 3 for theirs in more) and any(len(theirs) == 3 for theirs in more)
    for theirs in fewer:
        more.remove(theirs)
    assert len(more) == 1


def kept(name: str, rows: Sequence[tuple[str, float, str, str | None]]) -> list[frozenset[tuple[str, ...]]]:
    """What each user keeps, at most three items each, of queries that are published."""
    log, kind = qv.read(log_of(rows)), item_kinds.kind(name)
    known = log.engine.register(pa.table({"query": ["rain", "snow", "wind"]}))
    inside = kind.occurrences(log).semi_join(known, "query")
    if name == "query-pairs":
        inside = inside.semi_join(known, [("next_query", "query")])
    found = histories.collect_histories(log, kind, Bound(most=3, salt=b"x"), inside)
    held = np.unique(found.items)
    texts = dict(
        zip(held.tolist(), (tuple(row.values()) for row in found.texts(held).to_pylist()), strict=True)
    )
    owned = np.split(found.items, found.starts[1:-1])
    return [frozenset(texts[item] for item in theirs.tolist()) for theirs in owned]


# -- pairs of published queries ------------------------------------------------------------------------------

_QUERIES, _DECOYS, _TIMES = 400, 50.0, 4


def nobody() -> Histories:
    """Histories of a log in which no two queries follow one another."""
    log = qv.read(log_of(crowd(2, (0, "rain", None))))
    return histories.collect_histories(log, item_kinds.kind("query-pairs"), Bound(most=3))


def select_pairs(held: Histories, queries: pa.Array, setting: Setting) -> Selected:
    return PairRounds(setting, queries).select(held, held.kind, Run(noise=Noise()))


def by_noise(factor: float) -> int:
    """How many pairs noise alone publishes, if it is so many times as large as the threshold is made for."""
    noise = SteeredGraph(graph(epsilon=1.0)).account.noise("reformulations")
    right = calibrate_pairs(noise, _QUERIES, _DECOYS)
    tau = math.ceil(right.tau / factor)
    used = Setting(right.rounds, noise.scale, 0.0, 1, tau)
    held, queries = nobody(), pa.array([f"q{number:03}" for number in range(_QUERIES)])
    found = [select_pairs(held, queries, used) for _ in range(_TIMES)]
    assert all(len(one.evidence) == one.items.num_rows for one in found)
    assert all(row["query"] != row["next_query"] for one in found for row in one.items.to_pylist())
    return sum(one.items.num_rows for one in found)


def as_stated(found: int) -> bool:
    """200 are expected at most. More than 275 comes by chance less than once in a million.

    Few of those that would pass are dropped on the way, so that below 110 is as rare.
    """
    return 110 <= found <= 275


def test_noise_alone_publishes_as_many_pairs_as_stated() -> None:
    """[G3] Every pair has noise, also those that nobody holds. With 0.7 or 1.3 times the noise this fails."""
    assert as_stated(by_noise(1.0))
    assert not as_stated(by_noise(1.3))
    assert not as_stated(by_noise(0.7))


def test_pairs_that_somebody_holds_are_not_drawn_twice() -> None:
    rows = crowd(50, (0, "a", None), (1, "b", None), (2, "c", None))
    log = qv.read(log_of(rows))
    held = histories.collect_histories(log, item_kinds.kind("query-pairs"), Bound(most=3))
    noise = SteeredGraph(graph()).account.noise("reformulations")
    low = Setting(noise.share.rounds, 1, 0.0, 1, -(1 << 40))
    found = select_pairs(held, pa.array(["a", "b", "c", "d"]), low).items.to_pylist()
    assert {("a", "b"), ("b", "c")} <= {(row["query"], row["next_query"]) for row in found}
    assert len({tuple(row.values()) for row in found}) == len(found) <= 12


def test_a_pair_that_noise_publishes_counts_users_who_hold_it_beyond_the_bound(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """[C9] Twenty users have all pairs of forty queries, and each keeps one: nearly all pairs are in no history.

    Some of these pass by noise alone. Their counts are of whole histories: twenty users, and not none. The noise is
    fixed, so there is no false alarm.
    """
    names = [f"q{number:02}" for number in range(40)]
    tour = [one for at_, name in enumerate(names) for other in names[at_ + 1 :] for one in (name, other)]
    rows = [row for name in names for row in crowd(60, (0, name, "x"), of=f"{name} ")]
    rows += crowd(20, *((minute, name, "x") for minute, name in enumerate([*tour, names[0]])), of="all ")
    seen: list[set[tuple[str, ...]]] = []

    def select(self: PairRounds, held: Histories, *given: Any) -> Selected:
        found = shipped(self, held, *given)
        kept = set(map(tuple, (row.values() for row in held.texts(np.unique(held.items)).to_pylist())))
        seen.extend((kept, set(map(tuple, (row.values() for row in found.items.to_pylist())))))
        return found

    shipped = PairRounds.select
    monkeypatch.setattr(PairRounds, "select", select)
    method = graph(decoys=1000.0, shares=(1, 0, 1), max_reformulations=1)
    release = qv.publish(qv.read(log_of(rows)), method, noise=Noise(SeededBits(1)), i_understand=True)
    kept, published = seen
    assert 0 < len(kept) <= 20 and set(counts(release.tables["reformulations"])) == published
    beyond = published - kept
    assert beyond, "noise publishes a pair that is in no bounded history"
    # Who has more than nine published pairs is scaled down to a norm of 3.
    expected = 20 * min(1.0, 3 / math.sqrt(len(published)))
    for row in release.tables["reformulations"].to_pylist():
        if (row["query"], row["next_query"]) in beyond:
            assert row["deviation"] <= 3 and abs(row["count"] - expected) <= 5 * row["deviation"], row
    assert set(release.private["reformulations-true-counts"]["users"].to_pylist()) == {20}


def test_the_threshold_of_pairs_follows_from_public_numbers() -> None:
    """[G4] More queries, or fewer decoys, raise it; it is never below three deviations."""
    noise = SteeredGraph(graph()).account.noise("reformulations")
    unit = math.sqrt(Setting(steered_graph.ROUNDS, noise.scale, 0.0, 1, 0).square) * noise.scale

    def deviations(queries: int, decoys: float = 1.0) -> float:
        return calibrate_pairs(noise, queries, decoys).tau / unit

    assert deviations(0) == deviations(1) == deviations(5) == pytest.approx(3, abs=1e-3)
    assert 400 * 399 * math.erfc(deviations(400) / math.sqrt(2)) / 2 == pytest.approx(1, rel=1e-4)
    assert deviations(400) < deviations(400, 0.1) and deviations(400) < deviations(1600)


# -- items of one user ---------------------------------------------------------------------------------------

_ALONE, _MOST = 2000, 5
_LOOSE: dict[str, Any] = {"epsilon": 0.2, "delta": 0.2, "max_clicks": _MOST, "shares": (1, 1, 0)}
"""A p that can be seen: such a delta is for tests alone."""


def exposed() -> tuple[int, float]:
    """Users of whom a click appears that they alone have, of 2,000 with 100 such clicks each, and p."""
    rows = [
        (f"u{user}", place, "rain", f"{user}-{place}.example")
        for user in range(_ALONE)
        for place in range(100)
    ]
    release = qv.publish(qv.read(log_of(rows)), graph(**_LOOSE), i_understand=True)
    found = {url.split("-")[0] for url in release.tables["clicks"]["url"].to_pylist()}
    return len(found), release.plan.calibration["clicks"]["p"]


def too_many(found: int, p: float) -> bool:
    """Users are independent; so far above the mean comes by chance less than once in a million (Bernstein)."""
    mean = _ALONE * p
    return found > mean + math.sqrt(2 * mean * 13.9) + 13.9 * 2 / 3


def test_a_click_that_one_user_alone_has_appears_with_probability_p(monkeypatch: pytest.MonkeyPatch) -> None:
    """[G2] Candidates are bounded. The twin that bounds nobody is caught."""
    assert not too_many(*exposed())
    bounded = histories.collect_histories

    def unbounded(log: qv.SearchLog, kind: Any, bound: Bound, rows: Any = None, **more: Any) -> Histories:
        return bounded(log, kind, Bound(most=10**6, salt=bound.salt), rows, **more)

    monkeypatch.setattr(histories, "collect_histories", unbounded)
    assert too_many(*exposed())


# -- engines, and what reads such a release ------------------------------------------------------------------


def test_spark_publishes_the_same_given_the_same_noise(tmp_path: Path, spark: Any) -> None:
    log = tmp_path / "log.parquet"
    qv.generate(log, qv.LogSettings(version=1, rows=15_000, users=800, seed=7, pool_size=500))
    method = graph(max_queries=10, max_clicks=3, max_reformulations=2)
    here, there = (
        qv.publish(
            qv.read(log, engine=engine),
            method,
            noise=Noise(SeededBits(11)),
            i_understand=True,
        )
        for engine in ("duckdb", spark)
    )
    assert all(table.num_rows for table in here.tables.values())
    assert here.tables == there.tables


@pytest.fixture(scope="module")
def published(generated: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("steered") / "release"
    qv.publish(qv.read(generated), graph(epsilon=8.0), out=place)
    return place


def test_measures_read_it(generated: Path, published: Path) -> None:
    done = command("evaluate", str(generated), str(published), "--json")
    assert done.code == 0, done.err
    assert done.document["measures"]
    known = qv.Graph.of_release(published)
    assert known.table("clicks").column_names == ["query", "url", "count"]
    seeds = str(known.table("clicks")["url"][0].as_py()).split("//")[-1].split("/")[0]
    found = command("evaluate", str(generated), str(published), "--seeds", seeds, "--json")
    assert found.code == 0, found.err
    assert any("keyword" in name for name in found.document["measures"])


def test_a_log_is_synthesized_from_it(published: Path, tmp_path: Path) -> None:
    done = command("synthesize", str(published), "--out", str(tmp_path / "made.tsv"), "--rows", "200")
    assert done.code == 0, done.err
    assert qv.read(tmp_path / "made.tsv").rows == 200


def test_the_sybil_attack_says_which_releases_it_knows(published: Path) -> None:
    done = command("attack", "sybil", str(published))
    assert done.code == 3 and "--selection threshold" in done.err


def test_a_changed_share_is_found(published: Path, tmp_path: Path) -> None:
    changed = tmp_path / "changed"
    shutil.copytree(published, changed)
    content = json.loads((changed / "manifest.json").read_text(encoding="utf-8"))
    content["parameters"]["shares"][0] = 51.0
    (changed / "manifest.json").write_text(json.dumps(content, indent=2), encoding="utf-8")
    assert "manifest" in {check.name for check in qv.verify(changed).failed}


# -- refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"count_by": "users"}, "count_by belongs to selection='threshold'"),
        ({"epsilon_clicks": 1.0}, "epsilon_clicks belongs to selection='threshold'"),
        ({"urls": "private"}, "urls belongs to selection='threshold'"),
        ({"analysis": "paper"}, "analysis belongs to selection='threshold'"),
        ({"threshold": 30.0}, "threshold belongs to selection='threshold'"),
        ({"selection": "threshold", "shares": (1, 1, 1)}, "shares belongs to selection='steered'"),
        ({"selection": "threshold", "decoys": 2}, "decoys belongs to selection='steered'"),
        ({"epsilon": None}, "needs epsilon and delta, which all tables share"),
        ({"epsilon": 21}, "'epsilon' must be"),
        ({"max_queries": 2**23}, "'max_queries' must be a whole number from 1 to 1000000"),
        ({"max_clicks": 10**6 + 1}, "'max_clicks' must be"),
        ({"max_reformulations": 10**6 + 1}, "'max_reformulations' must be"),
        ({"shares": (1, 1)}, "shares are three numbers"),
        ({"shares": (0, 1, 1)}, "that of queries is above 0"),
        ({"shares": (1, -1, 1)}, "'shares' must be"),
        ({"shares": (1, 0, 1), "max_clicks": 3}, "max_clicks is for a table that has no share"),
        ({"shares": (1, 1, 0), "decoys": 3}, "decoys is for a table that has no share"),
        ({"selection": "steerd"}, "'selection' must be"),
    ],
)
def test_wrong_parameters_are_refused_with_the_reason(parameters: dict[str, Any], said: str) -> None:
    with pytest.raises(qv.UsageError, match=said):
        graph(**parameters)


def test_a_log_that_lacks_something_is_refused_before_anything_is_charged() -> None:
    whole = log_of(ROWS)
    with pytest.raises(qv.InputError, match="url"):
        qv.publish(qv.read(whole.drop_columns(["url"])), graph())
    with pytest.raises(qv.InputError, match="no click in it"):
        qv.publish(qv.read(log_of(crowd(300, (0, "rain", None)))), graph())
    with pytest.raises(qv.InputError, match="time"):
        qv.publish(qv.read(whole.drop_columns(["time"])), graph())
    given = graph(shares=(1, 0, 0))
    found = qv.publish(qv.read(whole.drop_columns(["time", "url"])), given)
    assert found.released == {"queries": 3}
    with pytest.raises(qv.CannotBeMet, match="would need") as refused:
        qv.publish(qv.read(log_of(crowd(20, (0, "rain", "x")))), graph(epsilon=0.5))
    assert "use an epsilon of at least" in str(refused.value.hint)


def test_arrays_of_nobody_have_no_items() -> None:
    held = nobody()
    assert held.items.size == 0 and np.array_equal(held.starts, [0])
