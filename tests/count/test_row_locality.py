"""One more user changes no other user's kept items, on either side of every internal size of counting.

The users who keep each item of a log with one more user are those of the log without that user, plus those of a log of
that user alone. This holds for every key, so a failure is no matter of chance.
"""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.count import text_codes
from tests.frozen.method_cases import ZeroNoise, count_kept
from tests.seeded import SeededBits
from tests.threads import threads

Row = tuple[str, int, str, str]
ONE_MORE = "one more"
START = dt.datetime(2026, 1, 1)


def people(users: int, items: int = 3, pad: int = 0) -> list[Row]:
    """Return rows of users who share items with others and have one of their own, some beyond ASCII."""
    rows = []
    for user in range(users):
        for item in range(items - 1):
            number = (user * 7 + item * 13) % max(5, users // 3)
            text = f"Query {number}" if number % 11 else f"ÄPFEL {number}"
            rows.append((f"user {user}", item, text + "x" * pad, f"u{item % 2}"))
        rows.append((f"user {user}", items, f"own {user}" + "y" * pad, "u"))
    return rows


def one_more(items: int = 90, pad: int = 0) -> list[Row]:
    """Return rows of a user with very many items: other users' items, new ones, long ones, and many repeats."""
    texts = [f"query {number}" for number in range(items // 2)]
    texts += [f"Ünique {number}" + "z" * pad for number in range(items // 2)]
    return [(ONE_MORE, minute, text, "u1") for minute, text in enumerate(texts * 3)]


def histogram(rows: Sequence[Row], folder: Path, how: str, kind: str, most: int, keep: str) -> Counter[Any]:
    """Return the number of users who keep each item, as `zealous` or the histories of `steered` count them."""
    user, time, query, url = zip(*rows, strict=True)
    times = [START + dt.timedelta(minutes=one) for one in time]
    file = folder / "log.parquet"
    pq.write_table(pa.table({"user": user, "time": times, "query": query, "url": url}), file)
    log = qv.read(file)
    if how == "histories":
        counted = count_kept(log, kind, most, keep)
    else:
        given: dict[str, Any] = {
            "noise_scale": 1e-3,
            "second_threshold": 0,
            "tau": 1,
            "max_items": most,
            "keep": keep,
        }
        options: dict[str, Any] = {
            "noise": ZeroNoise(SeededBits(1)),
            "i_understand": True,
            "allow_empty": True,
        }
        counted = qv.publish(log, qv.Zealous(items=(kind,), **given), **options).tables["items"]
    return Counter({tuple(row.values())[:-1]: row["count"] for row in counted.to_pylist()})


def changed_for_others(rows: Sequence[Row], more: Sequence[Row], folder: Path, *how: Any) -> Counter[Any]:
    """Return the counts that the rows of one more user change beyond that user's own kept items."""
    alone, before, after = (histogram(part, folder, *how) for part in (more, rows, [*rows, *more]))
    most = how[2]
    assert 0 < sum(alone.values()) <= most
    expected = before + alone
    return Counter(
        {item: after[item] - expected[item] for item in after | expected if after[item] != expected[item]}
    )


SIZES = [1, 255, 256, 257, 1365, 1366, 4095, 4096, 4097, 5461, 5462]
"""Users, each with three items: blocks of hashed texts, and first room for users and for texts, end in between."""


@pytest.mark.parametrize("how", ["zealous", "histories"])
@pytest.mark.parametrize("users", SIZES)
def test_one_more_user_changes_nothing_for_others(how: str, users: int, tmp_path: Path) -> None:
    assert not changed_for_others(people(users), one_more(), tmp_path, how, "queries", 2, "random")


@pytest.mark.parametrize("how", ["zealous", "histories"])
@pytest.mark.parametrize("keep", ["random", "first", "frequent"])
@pytest.mark.parametrize("most", [1, 63, 64, 65, 66])
def test_with_every_bound(how: str, keep: str, most: int, tmp_path: Path) -> None:
    rows = people(70) + [("many", minute, f"query {minute}", "u") for minute in range(200)]
    assert not changed_for_others(rows, one_more(), tmp_path, how, "queries", most, keep)


@pytest.mark.parametrize("how", ["zealous", "histories"])
@pytest.mark.parametrize("kind", ["keywords", "clicks", "query-pairs"])
@pytest.mark.parametrize("number", [1, 2, 3])
def test_with_every_number_of_threads(how: str, kind: str, number: int, tmp_path: Path) -> None:
    with threads(number):
        assert not changed_for_others(people(300), one_more(), tmp_path, how, kind, 3, "random")


@pytest.mark.parametrize("how", ["zealous", "histories"])
@pytest.mark.parametrize("pad", [20, 21, 4_000])
def test_with_texts_beyond_the_first_room_for_bytes(how: str, pad: int, tmp_path: Path) -> None:
    users = 1_000 if pad < 100 else 150
    found = changed_for_others(
        people(users, pad=pad), one_more(pad=pad), tmp_path, how, "queries", 2, "random"
    )
    assert not found


def test_a_choice_by_the_number_of_users_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The broken twin: with two users or more, texts are hashed with another key."""
    made = text_codes.TextCodes.__init__
    sizes = iter([1, 40, 41])

    def keyed_by_size(self: text_codes.TextCodes, salt: bytes) -> None:
        made(self, salt + (b"more" if state[0] > 40 else b""))

    state = [0]
    run = histogram

    def counted(rows: Sequence[Row], *given: Any) -> Counter[Any]:
        state[0] = next(sizes)
        return run(rows, *given)

    monkeypatch.setattr(text_codes.TextCodes, "__init__", keyed_by_size)
    monkeypatch.setitem(globals(), "histogram", counted)
    assert changed_for_others(people(40, 9), one_more(), tmp_path, "histories", "queries", 2, "random")
