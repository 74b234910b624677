"""k-session: groups never have fewer than k users, their sets are majorities, and what it costs is what is said."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil as qv
from queryveil.mechanisms.k_session import grouping as k_session_grouping
from queryveil.mechanisms.k_session import loops
from queryveil.mechanisms.k_session.grouping import KeywordSets, dealt, group
from tests.conftest import at

Session = tuple[int, frozenset[int]]
KEYWORDS = 8

# Few users with many sessions, many users with few, and anything between; sets that share little or much.
sessions = st.integers(2, 12).flatmap(
    lambda users: st.lists(
        st.tuples(
            st.integers(0, users - 1), st.frozensets(st.integers(0, KEYWORDS - 1), min_size=1, max_size=5)
        ),
        min_size=1,
        max_size=50,
    )
)


def coded(given: list[Session]) -> KeywordSets:
    starts = np.concatenate(([0], np.cumsum([len(items) for _, items in given])))
    flat = [item for _, items in given for item in sorted(items)]
    users = np.array([user for user, _ in given], dtype=np.int32)
    return KeywordSets(starts.astype(np.int64), np.array(flat, dtype=np.int32), users, KEYWORDS)


def published(given: list[Session], k: int) -> list[frozenset[int]]:
    """The set that each session is published with."""
    found = group(coded(given), k)
    sets = [
        frozenset(found.items[found.starts[one] : found.starts[one + 1]].tolist())
        for one in range(len(found))
    ]
    return [sets[one] for one in found.of_session]


@settings(max_examples=200, deadline=None)
@given(sessions, st.integers(2, 6))
def test_groups_have_k_users_and_publish_what_most_of_them_have(given: list[Session], k: int) -> None:
    users = {user for user, _ in given}
    if len(users) < k:
        with pytest.raises(qv.CannotBeMet, match="groups of k"):
            group(coded(given), k)
        return
    found = group(coded(given), k)
    added = deleted = 0
    for number in range(len(found)):
        members = [one for one, own in zip(given, found.of_session, strict=True) if own == number]
        people = {user for user, _ in members}
        assert k <= len(people) <= 2 * k - 1
        assert found.people[number] == len(people)
        # Counted by users: whoever has several sessions in a group has one vote for each keyword in them.
        votes = Counter(item for _, item in {(user, item) for user, items in members for item in items})
        kept = {item for item, count in votes.items() if 2 * count > len(people)}
        assert kept == set(found.items[found.starts[number] : found.starts[number + 1]].tolist())
        added += sum(len(kept - items) for _, items in members)
        deleted += sum(len(items - kept) for _, items in members)
    assert (added, deleted) == (found.added.sum(), found.deleted.sum())


def test_work_in_small_steps_gives_the_same_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """A request to stop is heard between two calls of a compiled loop, so that none of them may be long."""
    random = np.random.default_rng(3)
    mixed = [
        (int(user), frozenset(random.integers(0, KEYWORDS, 4).tolist()))
        for user in random.integers(0, 90, 900)
    ]
    calls: dict[int, list[str]] = {}
    found = []
    for effort in (10**12, 1):
        steps = calls.setdefault(effort, [])
        with monkeypatch.context() as patched:
            patched.setattr(k_session_grouping, "EFFORT", effort)
            for name in ("form", "join"):
                patched.setattr(loops, name, counting(getattr(loops, name), name, steps))
            found.append(group(coded(mixed), 7))
    assert np.array_equal(found[0].of_session, found[1].of_session)
    assert np.array_equal(found[0].items, found[1].items)
    for name in ("form", "join"):
        few, many = (calls[effort].count(name) for effort in (10**12, 1))
        assert many > 3 * few, name


def counting(loop: Callable[..., object], name: str, steps: list[str]) -> Callable[..., object]:
    def counted(*given: object) -> object:
        steps.append(name)
        return loop(*given)

    return counted


@settings(max_examples=60, deadline=None)
@given(sessions, st.integers(2, 4), st.randoms(use_true_random=False))
def test_the_order_of_sessions_does_not_matter(given: list[Session], k: int, random: object) -> None:
    if len({user for user, _ in given}) < k:
        return
    other = list(given)
    random.shuffle(other)  # type: ignore[attr-defined]
    assert Counter(published(given, k)) == Counter(published(other, k))


@settings(max_examples=300, deadline=None)
@given(st.lists(st.integers(0, 7), min_size=1, max_size=80), st.integers(2, 8))
def test_dealt_groups_have_k_to_2k_minus_1_users(users: list[int], k: int) -> None:
    if len(set(users)) < k:
        return
    found = dealt(np.array(users, dtype=np.int32), k)
    for number in range(int(found.max()) + 1):
        people = {user for user, own in zip(users, found, strict=True) if own == number}
        assert k <= len(people) <= 2 * k - 1


def test_like_sessions_are_grouped_with_like() -> None:
    """Four kinds of sessions, each with one keyword of its own besides: the kinds are found, the rest is dropped."""
    generator = np.random.default_rng(1)
    kinds = [{0, 1}, {2, 3}, {4, 5}, {6, 7}]
    chosen = [int(generator.integers(4)) for _ in range(200)]
    given = [
        (user, frozenset(kinds[kind] | {int(generator.integers(8, 200))})) for user, kind in enumerate(chosen)
    ]
    starts = np.arange(0, 3 * len(given) + 1, 3)
    flat = np.array([item for _, items in given for item in sorted(items)], dtype=np.int32)
    found = group(KeywordSets(starts, flat, np.arange(200, dtype=np.int32), 200), 5)
    for kind, own in zip(chosen, found.of_session, strict=True):
        assert set(found.items[found.starts[own] : found.starts[own + 1]].tolist()) == kinds[kind]
    assert found.added.sum() == 0 and found.deleted.mean() == 1


def test_one_user_cannot_outvote_the_others() -> None:
    """Counting sessions instead of users would publish the words of whoever has most of them."""
    given = [(0, frozenset({0, 1}))] * 50 + [(user, frozenset({2})) for user in (1, 2)]
    assert set(published(given, 3)) == {frozenset({2})}


# -- with a log ----------------------------------------------------------------------------------------------


def log_of(*rows: tuple[str, float, str]) -> pa.Table:
    user, minutes, query = zip(*rows, strict=True)
    return pa.table({"user": user, "time": [at(one) for one in minutes], "query": query})


def crowd(users: int) -> list[tuple[str, float, str]]:
    """Sessions of other people: queries that many pose, and others that nobody else does."""
    return [
        row
        for user in range(users)
        for row in (
            (f"u{user}", 100.0 * user, f"topic{user * 7 % 10} word{user * 3 % 10}"),
            (f"u{user}", 100.0 * user + 50, f"own{user} topic{user % 10}" if user % 3 else f"own{user}"),
        )
    ]


def items_of(release: qv.Release) -> Counter[tuple[str, ...]]:
    return Counter(tuple(row) for row in release.tables["transactions"]["items"].to_pylist())


def test_a_release_has_one_row_per_session_and_every_set_k_times(generated: Path, tmp_path: Path) -> None:
    log = qv.read(generated)
    release = qv.publish(log, qv.KSession(k=4), out=tmp_path / "out")
    table = release.tables["transactions"]
    assert table.schema.names == ["group", "items"]
    assert table.schema.field("group").type == pa.int64()
    rows = table.to_pylist()
    assert [row["group"] for row in rows] == sorted(row["group"] for row in rows)
    by_group: dict[int, set[tuple[str, ...]]] = {}
    for row in rows:
        by_group.setdefault(row["group"], set()).add(tuple(row["items"]))
    assert all(len(sets) == 1 for sets in by_group.values())
    assert len({next(iter(sets)) for sets in by_group.values()}) == len(by_group)
    assert min(items_of(release).values()) >= 4
    figures = {row["measure"]: row["value"] for row in release.private["cost"].to_pylist()}
    assert (
        figures["sessions"]
        == table.num_rows
        == release.private["cost-of-groups"]["sessions"].to_numpy().sum()
    )
    kept = sum(len(row["items"]) for row in rows)
    assert figures["keywords"] + figures["keywords_added"] - figures["keywords_deleted"] == kept
    empty = sum(not row["items"] for row in rows) / len(rows)
    assert figures["share_of_sets_that_became_empty"] == pytest.approx(empty)
    assert figures["keywords_deleted"] + figures["keywords_added"] < figures["keywords"], (
        "emptying all is cheaper"
    )
    assert pq.read_table(tmp_path / "out.private" / "cost.parquet").num_rows == len(figures)


def test_engines_agree(spark: object) -> None:
    rows = pa.concat_tables(
        [log_of(*crowd(60)), log_of(("é", 0, "CAFÉ, münchen!"), ("f", 0, "café münchen"))]
    )
    one = qv.publish(qv.read(rows), qv.KSession(k=3))
    other = qv.publish(qv.read(rows, engine=spark), qv.KSession(k=3))  # type: ignore[arg-type]
    assert items_of(one) == items_of(other)


def test_sessions_may_come_from_the_log_instead_of_times() -> None:
    table = pa.table(
        {"user": list("aabb"), "session": list("xyxy"), "query": ["red car", "red", "car red", "red"]}
    )
    release = qv.publish(qv.read(table), qv.KSession(k=2))
    assert items_of(release) == {("car", "red"): 2, ("red",): 2}


def test_numbers_are_drawn_anew() -> None:
    log = qv.read(log_of(*crowd(60)))
    orders = {
        tuple(map(tuple, qv.publish(log, qv.KSession(k=3)).tables["transactions"]["items"].to_pylist()))
        for _ in range(5)
    }
    assert len(orders) > 1  # the chance that all are equal is far below 1e-6


def test_too_few_users_cannot_be_met(tmp_path: Path) -> None:
    with pytest.raises(qv.CannotBeMet, match="fewer than the 7 users") as raised:
        qv.publish(qv.read(log_of(*crowd(6))), qv.KSession(k=7), out=tmp_path / "out")
    assert raised.value.exit_code == 5 and not (tmp_path / "out").exists()
    empty = log_of(*crowd(6), *((f"e{user}", 0, "?!") for user in range(9)))
    with pytest.raises(qv.CannotBeMet, match="only 6 have a session with a keyword"):
        qv.publish(qv.read(empty), qv.KSession(k=7))


@pytest.mark.parametrize("k", [4, 5, 8])
def test_half_of_k_accounts_find_out_and_k_minus_1_do_not(k: int) -> None:
    """The active attack: what is published depends on one person's session, though every set has k users."""

    def appears(fakes: int, *, searched: bool) -> bool:
        rows = crowd(200) + [(f"fake{one}", 0.0, "zurvita mlm") for one in range(fakes)]
        rows += [("target", 0.0, "zurvita mlm" if searched else "topic1 word1")]
        found = items_of(qv.publish(qv.read(log_of(*rows)), qv.KSession(k=k)))
        return any("zurvita" in one for one in found)

    assert appears(k // 2, searched=True) and not appears(k // 2, searched=False)
    assert appears(k - 1, searched=True) and appears(k - 1, searched=False)


def test_the_plan_names_the_attack() -> None:
    guarantee = qv.KSession(k=9).plan().guarantee
    assert guarantee.kind == "k-anonymity" and guarantee.k == 9
    assert any("4 accounts" in str(one) for one in guarantee.caveats)
    with pytest.raises(qv.UsageError, match="parameter 'k' must be an int >= 2"):
        qv.KSession(k=1)
