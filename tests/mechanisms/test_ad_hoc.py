"""Ad hoc steps do what they say, in the order given; shares of fewer than k users open nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil as qv
from queryveil.language.taxonomy import Taxonomy
from queryveil.mechanisms.ad_hoc.secret_sharing import PRIME, open_query, recover, seal, share, unseal
from tests.conftest import at

ROWS = [
    ("ann", 0, "red car"),
    ("ann", 1, "blue dog"),
    ("ann", 2, "call 201-555-0100"),
    ("ann", 90, "red car"),
    ("bob", 0, "red car"),
    ("bob", 1, "CALL 201-555-0199"),
    ("cid", 0, "blue dog"),
]


def log(rows: Sequence[tuple[str, float, str]] | None = None, **options: Any) -> qv.SearchLog:
    user, minutes, query = zip(*(rows or ROWS), strict=True)
    return qv.read(pa.table({"user": user, "time": [at(one) for one in minutes], "query": query}), **options)


def published(steps: str, rows: Sequence[tuple[str, float, str]] | None = None, **given: Any) -> qv.Release:
    return qv.publish(log(rows), qv.AdHoc(steps=tuple(steps.split(",")), **given), i_understand=True)


def by_session(release: qv.Release) -> Counter[tuple[str, ...]]:
    """Sessions as what their rows say, in order."""
    found: dict[int, list[str]] = {}
    for row in release.tables["log"].to_pylist():
        found.setdefault(row["session"], []).append(row.get("query") or row["label"])
    return Counter(map(tuple, found.values()))


def users(release: qv.Release) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for row in release.tables["log"].to_pylist():
        found.setdefault(row["user"], Counter())[row["query"]] += 1
    return found


# -- the steps -----------------------------------------------------------------------------------------------


def test_nothing_is_promised_and_it_must_be_said() -> None:
    method = qv.AdHoc(steps=("delete-users",))
    assert method.plan().guarantee.kind == "none"
    with pytest.raises(qv.UsageError, match="no guarantee"):
        qv.publish(log(), method)


def test_delete_users_keeps_sessions() -> None:
    release = published("delete-users")
    assert release.tables["log"].column_names == ["session", "query"]
    assert by_session(release) == Counter(
        {
            ("red car", "blue dog", "call 201-555-0100"): 1,
            ("red car",): 1,
            ("red car", "call 201-555-0199"): 1,
            ("blue dog",): 1,
        }
    )


def test_hash_users_keeps_who_is_who_and_the_map_is_private() -> None:
    release = published("hash-users")
    found = users(release)
    assert sorted(sum(one.values()) for one in found.values()) == [1, 2, 4]
    assert all(len(user) == 16 and int(user, 16) >= 0 for user in found)
    truth = {row["pseudonym"]: row["hash"] for row in release.private["hashed-users"].to_pylist()}
    assert set(truth) == {"ann", "bob", "cid"} and sum(found[truth["ann"]].values()) == 4
    assert set(users(published("hash-users"))).isdisjoint(found), "each release has a key of its own"


def test_shorten_sessions_cuts_them_in_order() -> None:
    release = published("shorten-sessions,delete-users", max_session=2)
    assert by_session(release)[("red car", "blue dog")] == 1
    assert by_session(release)[("call 201-555-0100",)] == 1
    assert max(map(len, by_session(release))) == 2


def test_drop_infrequent_counts_users() -> None:
    release = published("drop-infrequent", min_users=2)
    assert {row["query"] for row in release.tables["log"].to_pylist()} == {"red car", "blue dog"}
    repeated = [("ann", float(minute), "my own") for minute in range(5)]
    left = published("drop-infrequent", ROWS + repeated, min_users=2)
    assert left.tables["log"].num_rows == release.tables["log"].num_rows


def test_the_order_of_steps_matters() -> None:
    """Scrubbed first, the two calls are one text of two users."""
    first = published("scrub,drop-infrequent", min_users=2)
    last = published("drop-infrequent,scrub", min_users=2)
    assert "call <phone>" in {row["query"] for row in first.tables["log"].to_pylist()}
    assert "call <phone>" not in {row["query"] for row in last.tables["log"].to_pylist()}
    counts = {row["kind"]: row["texts"] for row in first.private["identifiers"].to_pylist()}
    assert counts["phone"] == 2 and counts["email"] == 0


def test_split_personality_separates_topics_of_one_user() -> None:
    rows = [("ann", 0, "car parts"), ("ann", 1, "poodle"), ("ann", 2, "trucks"), ("bob", 0, "the car")]
    release = published("split-personality", rows)
    assert sorted(sorted(one) for one in users(release).values()) == [
        ["car parts", "trucks"],
        ["poodle"],
        ["the car"],
    ]
    assert by_session(release)[("car parts", "trucks")] == 1, "sessions are cut by topic too"


def test_topics_are_what_the_first_noun_is_a_kind_of() -> None:
    from queryveil.mechanisms.ad_hoc.steps import topics_of

    wordnet = Taxonomy.wordnet()
    found = topics_of(["car parts", "of the truck", "poodle", "xqzt", ""], wordnet).to_pylist()
    assert found[0] == found[1] and found[2] != found[0] and found[3] == found[4] == ""


def test_engines_agree(spark: Any) -> None:
    given: dict[str, Any] = {
        "steps": "scrub,drop-infrequent,shorten-sessions,delete-users",
        "min_users": 2,
        "max_session": 1,
    }
    made = [qv.publish(one, qv.AdHoc(**given), i_understand=True) for one in (log(), log(engine=spark))]
    assert (
        by_session(made[0]) == by_session(made[1])
        and made[0].private["identifiers"] == made[1].private["identifiers"]
    )
    split = [
        qv.publish(one, qv.AdHoc(steps=("split-personality", "secret-sharing"), k=2), i_understand=True)
        for one in (log(), log(engine=spark))
    ]
    opened = [set(qv.open_shared_queries(one.tables, 2)["query"].to_pylist()) for one in split]
    assert opened[0] == opened[1] == {"red car", "blue dog"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"steps": ()}, "parameter 'steps' must be"),
        ({"steps": ("burn",)}, "parameter 'steps' must be"),
        ({"steps": ("scrub", "scrub")}, "named twice"),
        ({"steps": ("shorten-sessions",)}, "needs max_session"),
        ({"steps": ("drop-infrequent",)}, "needs min_users"),
        ({"steps": ("secret-sharing",)}, "needs k"),
        ({"steps": ("scrub",), "k": 3}, "k is for the step secret-sharing"),
        ({"steps": ("hash-users",), "regions": ("US",)}, "regions is for the step scrub"),
        ({"steps": ("delete-users", "hash-users")}, "after users were deleted"),
        ({"steps": ("delete-users", "split-personality")}, "after users were deleted"),
        ({"steps": ("secret-sharing", "scrub"), "k": 3}, "after queries were sealed"),
    ],
)
def test_what_makes_no_sense_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(qv.UsageError, match=words):
        qv.AdHoc(**given)


def test_a_strange_region_is_refused_before_anything_is_done() -> None:
    with pytest.raises(qv.UsageError, match="no phone region"):
        published("scrub", regions=("Europe",))


def test_short_sessions_under_one_user_are_warned_of() -> None:
    assert qv.AdHoc(steps=("shorten-sessions",), max_session=2).plan().warnings
    assert not qv.AdHoc(steps=("shorten-sessions", "delete-users"), max_session=2).plan().warnings


# -- secret sharing ------------------------------------------------------------------------------------------

numbers = st.integers(0, PRIME - 1)


@settings(max_examples=100, deadline=None)
@given(st.lists(numbers, min_size=2, max_size=6), st.data())
def test_k_shares_give_the_secret_and_k_minus_1_fit_every_secret(
    coefficients: list[int], data: st.DataObject
) -> None:
    k = len(coefficients)
    places = data.draw(st.lists(st.integers(1, PRIME - 1), min_size=k + 1, max_size=k + 1, unique=True))
    shares = [(x, share(coefficients, x)) for x in places]
    assert recover(shares[:k]) == recover(shares[1:]) == recover(shares) == coefficients[0]
    # Whatever number is taken for the secret, a polynomial of the right degree has it and the k - 1 shares: the k-th
    # share that it would give is as possible as the real one.
    other = data.draw(numbers)
    fitting = [(0, other), *shares[: k - 1]]
    missing = _at(fitting, places[k])
    assert recover([*shares[: k - 1], (places[k], missing)]) == other


def _at(points: list[tuple[int, int]], x: int) -> int:
    """The value at x of the polynomial through these points: the value at 0 once x is moved there."""
    return recover([((place - x) % PRIME, value) for place, value in points])


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=200), numbers)
def test_sealed_texts_open_with_their_key_only(text: str, key: int) -> None:
    sealed = seal(text, key)
    assert unseal(sealed, key) == text
    assert len(sealed) % 64 == 16, "the length says little"
    with pytest.raises(qv.CheckFailed):
        unseal(sealed, (key + 1) % PRIME)
    with pytest.raises(qv.CheckFailed):
        unseal(bytes([sealed[0] ^ 1]) + sealed[1:], key)


def test_a_query_opens_once_k_users_posed_it_and_not_before() -> None:
    sharing = qv.QuerySharing(bytes(range(32)), 3)
    shares = [sharing.share(user, "my query") for user in ("ann", "bob", "cid", "dan")]
    sealed = sharing.seal("my query")
    assert open_query(sealed, shares[:3], 3) == open_query(sealed, shares[1:], 3) == "my query"
    with pytest.raises(qv.CannotBeMet, match="2 different shares"):
        open_query(sealed, [shares[0], shares[1], shares[0]], 3)
    with pytest.raises(qv.CheckFailed):
        open_query(sealed, [*shares[:2], sharing.share("cid", "another query")], 3)


def test_repeating_a_query_gives_no_second_share_and_shares_do_not_link() -> None:
    sharing = qv.QuerySharing(bytes(range(32)), 3)
    assert sharing.share("ann", "a") == sharing.share("ann", "a")
    assert sharing.share("ann", "a")[0] != sharing.share("ann", "b")[0] != sharing.share("bob", "b")[0]
    assert sharing.share("annb", "c") != sharing.share("ann", "bc"), "user and query do not run together"


def test_labels_are_keyed() -> None:
    one, other = (qv.QuerySharing(bytes([number]) * 32, 2) for number in (1, 2))
    assert one.label("a") == one.label("a") != other.label("a")
    assert "1" * 8 not in repr(one) and "master" not in repr(one)
    with pytest.raises(qv.UsageError):
        qv.QuerySharing(b"short", 2)
    with pytest.raises(qv.UsageError):
        qv.QuerySharing(bytes(32), 1)


def test_a_release_shows_what_k_users_share_and_hides_the_rest(tmp_path: Path) -> None:
    release = published("secret-sharing,delete-users", k=2)
    assert release.tables["log"].column_names == ["session", "share_x", "share_y", "label"]
    opened = qv.open_shared_queries(release.tables, 2).to_pylist()
    # Ann posed 'red car' twice: her two rows carry one share.
    assert [(row["query"], row["users"]) for row in opened] == [("blue dog", 2), ("red car", 2)]
    sealed = dict(
        zip(*(release.tables["queries"][name].to_pylist() for name in ("label", "sealed")), strict=True)
    )
    assert len(sealed) == 4
    alone = Counter(row["label"] for row in release.tables["log"].to_pylist())
    hidden = [label for label in alone if label not in {row["label"] for row in opened}]
    assert len(hidden) == 2 and all(b"call" not in bytes.fromhex(sealed[label]) for label in hidden)
    release.save(tmp_path / "out")
    for file in (tmp_path / "out").iterdir():
        assert b"555-0100" not in file.read_bytes() and b"blue dog" not in file.read_bytes()
    assert qv.verify(tmp_path / "out").passes, qv.verify(tmp_path / "out").failed
