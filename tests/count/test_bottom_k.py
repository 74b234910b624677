"""Items that users keep while rows go by: the same as those of whole histories, whatever texts, users and hashes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import queryveil as qv
from queryveil.count import bottom_k, histories, item_kinds
from queryveil.count.bottom_k import BottomK
from queryveil.count.contribution import Bound
from tests.conftest import at
from tests.count.test_text_codes import collide
from tests.seeded import SeededBits

TEXTS = [
    "a",
    "A ",
    "b",
    "b  b",
    "B b",
    "\u00e4pfel",
    "\u00c4PFEL",
    "\U0001f408",
    "",
    '"a"',
    "\t",
    "z" * 300,
    None,
]
ROWS = st.lists(
    st.tuples(st.sampled_from(["u", "U", "\u00fc", "w w", "x"]), st.sampled_from(TEXTS)),
    min_size=1,
    max_size=40,
)
QUERIES = item_kinds.kind("queries")


def log(rows: list[tuple[str, str | None]]) -> qv.SearchLog:
    user, query = zip(*rows, strict=True)
    return qv.read(pa.table({"user": pa.array(user), "query": pa.array(query, pa.string())}))


def careful(found: qv.SearchLog, kind: Any, bound: Bound, at_least: int) -> list[dict[str, Any]]:
    """The same by whole histories: every text of every user has a code, and users are counted one by one."""
    rows: list[dict[str, Any]] = (
        histories.collect_histories(found, kind, bound).users_per_item(at_least).to_pylist()
    )
    return rows


def streamed(found: qv.SearchLog, kind: Any, bound: Bound, at_least: int) -> list[dict[str, Any]]:
    sample = histories.collect_user_counts(found, kind, bound)
    assert isinstance(sample, BottomK)
    rows: list[dict[str, Any]] = sample.users_per_item(at_least).to_pylist()
    return rows


@given(rows=ROWS, most=st.integers(1, 5), least=st.integers(1, 3), salt=st.binary(max_size=2))
@settings(max_examples=60, deadline=None)
def test_bottom_k_are_those_of_whole_histories(
    rows: list[tuple[str, str | None]], most: int, least: int, salt: bytes
) -> None:
    found, bound = log(rows), Bound(most=most, salt=salt)
    assert streamed(found, QUERIES, bound, least) == careful(found, QUERIES, bound, least)


def test_long_texts_are_counted_in_more_than_one_go(monkeypatch: pytest.MonkeyPatch) -> None:
    """Places among texts have 32 bits; here there is room for one user's texts at a time."""
    monkeypatch.setattr(bottom_k, "_MOST_BYTES", 1)
    rows: list[tuple[str, str | None]] = [
        (f"u{user}", f"text {one}") for user in range(30) for one in range(3)
    ]
    found, bound = log(rows), Bound(most=2, salt=b"s")
    assert streamed(found, QUERIES, bound, 1) == careful(found, QUERIES, bound, 1)


@given(rows=ROWS, most=st.integers(1, 4))
@settings(max_examples=20, deadline=None)
def test_texts_that_collide_change_nothing(rows: list[tuple[str, str | None]], most: int) -> None:
    """All texts and users have one hash: what is kept goes by bytes then, of each user alone, and counts are exact."""
    with pytest.MonkeyPatch.context() as patch:
        collide(patch)
        found, bound = log(rows), Bound(most=most, salt=b"salt")
        made = streamed(found, QUERIES, bound, 1)
        assert made == careful(found, QUERIES, bound, 1)
    theirs: dict[str, set[str]] = {}
    for user, text in rows:
        if form := qv.normalise(text or ""):
            theirs.setdefault(user, set()).add(form)
    first = [sorted(own, key=str.encode)[:most] for own in theirs.values()]
    texts = sorted({text for own in first for text in own}, key=str.encode)
    assert pairs(made) == [(text, sum(text in own for own in first)) for text in texts]


def pairs(rows: list[dict[str, Any]]) -> list[tuple[str, int]]:
    return [(row["query"], row["count"]) for row in rows]


def test_many_users_and_long_texts_find_room() -> None:
    """Beyond the first tables; texts that nobody keeps any more make room, and counting goes in several steps."""
    rng = np.random.default_rng(1)
    users = rng.integers(0, 9_000, 60_000)
    numbers = (rng.pareto(0.7, 60_000) * 20).astype(np.int64) % 5_000
    rows = [
        (f"u{user}", ("Q %d " if user % 7 else "q %d" + " x" * 40) % number)
        for user, number in zip(users.tolist(), numbers.tolist(), strict=True)
    ]
    found, bound = log(rows), Bound(most=3, salt=b"salt")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bottom_k, "_CHUNK", 1_000)
        patch.setattr(bottom_k, "_FIRST_WORDS", 1 << 7)
        for least in (1, 5):
            made = streamed(found, QUERIES, bound, least)
            assert made == careful(found, QUERIES, bound, least) and made


def test_every_byte_is_judged_wherever_it_stands() -> None:
    """Eight bytes are looked at together, and what is left over one by one; blanks may meet where eight end."""
    letters = [chr(code) for code in range(1, 128)] + ["\u00e9", "  ", " "]
    texts = [
        "abcdefgh"[:at] + one + "abcdefghijk"[at:]
        for one in letters
        for at in (*range(10), len("abcdefghijk"))
    ]
    found, bound = log([(f"u{at}", one) for at, one in enumerate(texts)]), Bound(most=1, salt=b"s")
    made = pairs(streamed(found, QUERIES, bound, 1))
    forms = [qv.normalise(text) for text in texts]
    assert sorted(made) == [(form, forms.count(form)) for form in sorted(set(forms))]


def test_keywords_are_kept_too() -> None:
    rows: list[tuple[str, str | None]] = [
        ("u", "A b c"),
        ("u", "c, d"),
        ("v", "b \u00c4"),
        ("w", None),
        ("v", "(b) d"),
    ]
    found, kind = log(rows), item_kinds.kind("keywords")
    for most in (1, 2, 9):
        bound = Bound(most=most, salt=b"salt")
        assert streamed(found, kind, bound, 1) == careful(found, kind, bound, 1)


def test_what_one_user_keeps_follows_from_that_user_alone() -> None:
    """With and without another user, whatever that one has: each count moves by what she keeps, at most m in all."""
    rows: list[tuple[str, str | None]] = [(f"u{n % 13}", f"q{n * n % 29}") for n in range(300)]
    for more in ([("her", f"q{n}") for n in range(29)], [("u", "Q1 "), ("u ", "q1")]):
        bound = Bound(most=2, salt=b"salt")
        without, together = (
            dict(pairs(streamed(log(one), QUERIES, bound, 1))) for one in (rows, [*rows, *more])
        )
        moved = {text: together[text] - without.get(text, 0) for text in together}
        newcomers = len({user for user, _ in more})
        assert set(without) <= set(together) and set(moved.values()) <= {0, 1, newcomers}
        assert sum(moved.values()) <= 2 * newcomers


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("name", ["zealous", "truncated-geometric"])
def test_releases_are_the_same_bit_for_bit(
    name: str, listed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With seeded noise and one salt: rejected rows, empty and null queries, and texts beyond ASCII among them."""
    rng = np.random.default_rng(2)
    rows = 4_000
    user = [None if n % 97 == 0 else f"u{n}" for n in rng.integers(0, 700, rows).tolist()]
    query = [TEXTS[n % 13] if n < 40 else f"Q{n % 17}" for n in rng.integers(0, 60, rows).tolist()]
    pq.write_table(pa.table({"user": user, "query": query}), tmp_path / "log.parquet")
    public = tmp_path / "public.txt"
    public.write_text("a\nb b\nnobody has it\n", encoding="utf-8")
    given: dict[str, Any] = {"epsilon": 8, "delta": 0.01, "max_items": 4}
    given |= {"public": str(public), "public_z": 2.0} if listed else {}
    method = qv.Zealous(**given) if name == "zealous" else qv.TruncatedGeometric(**given)
    asked: list[Any] = []

    def release(collect: Any) -> pa.Table:
        def noted(*given: Any) -> Any:
            asked.append(given)
            return collect(*given)

        monkeypatch.setattr(histories, "collect_user_counts", noted)
        log = qv.read(tmp_path / "log.parquet", max_rejected=0.5)
        assert log.staged is not None and log.staged.rejected > 0
        made = qv.publish(log, method, items="queries", noise=qv.Noise(SeededBits(5)), i_understand=True)
        return made.tables["items"]

    fast, slow = release(histories.collect_user_counts), release(histories.collect_histories)
    assert fast.equals(slow) and fast.num_rows > 3 and len(asked) == 2
    assert "\u00e4pfel" in fast["query"].to_pylist()


@pytest.mark.parametrize("kind", qv.KINDS)
def test_every_kind_of_item_is_kept_as_in_whole_histories(kind: str) -> None:
    rows = [(f"u{n % 7}", n * 11 % 600, TEXTS[n % 12], f"http://{n % 5}") for n in range(200)]
    user, time, query, url = zip(*rows, strict=True)
    table = pa.table({"user": user, "time": [at(one) for one in time], "query": query, "url": url})
    found = qv.read(table)
    for most in (1, 3, 64, 65, 1_000):
        bound = Bound(most=most, salt=b"salt")
        made = streamed(found, qv.KINDS[kind], bound, 1)
        assert made == careful(found, qv.KINDS[kind], bound, 1) and made


def test_each_of_a_users_items_is_kept_equally_often() -> None:
    """A user's ten queries, one of which is kept, by 3,000 users; false alarm at 1e-6."""
    rows: list[tuple[str, str | None]] = [(f"u{n}", f"q{m}") for n in range(3_000) for m in range(10)]
    found = streamed(log(rows), QUERIES, Bound(most=1, salt=b"salt"), 1)
    counts = [count for _, count in pairs(found)]
    assert len(counts) == 10 and sum(counts) == 3_000
    assert stats.chisquare(counts).pvalue > 1e-6
    assert stats.chisquare([3_000, *[0] * 9]).pvalue < 1e-6
