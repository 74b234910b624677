"""Texts with codes: told apart by their bytes alone, also where all hashes collide."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil as qv
from queryveil.count import histories, item_kinds, text_codes
from queryveil.count.contribution import Bound
from queryveil.count.histories import Histories
from queryveil.count.text_codes import TextCodes
from queryveil.reading import text, text_hashes
from tests.count.test_histories import log, shown

ALPHABET = "ab\0é🐈"
LISTS = st.lists(st.text(ALPHABET, max_size=20), max_size=40)


def collide(monkeypatch: pytest.MonkeyPatch) -> None:
    """The worst that an attacker can do: every text has the same hash."""

    monkeypatch.setattr(text_hashes, "_draw_keys", lambda salt, number: np.zeros(number, np.uint64))


def codes(made: TextCodes, given: list[str]) -> list[int]:
    return made.add(pa.array(given, pa.string())).tolist()


def expected(given: list[str]) -> list[int]:
    """In the order in which texts first come."""
    known: dict[str, int] = {}
    return [known.setdefault(text, len(known)) for text in given]


@pytest.mark.slow
def test_an_empty_text_behind_full_memory_is_read_within_bounds(tmp_path: Path) -> None:
    """In a process of its own, whose kernels are compiled with checks of all indices."""
    program = (
        "import pyarrow as pa\n"
        "from queryveil.count.text_codes import TextCodes\n"
        "made = TextCodes(b'salt')\n"
        "made.add(pa.array([f'{number:064d}' for number in range(1024)]))\n"
        "assert made.add(pa.array([''])).tolist() == made.add(pa.array([''])).tolist() == [1024]\n"
    )
    checks = os.environ | {"NUMBA_BOUNDSCHECK": "1", "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", program], env=checks, check=True)


@given(LISTS, LISTS)
@settings(max_examples=50)
def test_equal_texts_have_one_code_and_others_their_own(first: list[str], more: list[str]) -> None:
    made = TextCodes(b"salt")
    assert codes(made, first) + codes(made, more) == expected(first + more)
    assert made.array().to_pylist() == list(dict.fromkeys(first + more)) and len(made) == len(made.hashes)


@given(LISTS)
@settings(max_examples=50)
def test_the_order_is_that_of_keyed_hashes_whatever_the_order_of_rows(given: list[str]) -> None:
    orders = []
    for texts_ in (given, given[::-1]):
        made = TextCodes(b"salt")
        codes(made, texts_)
        order = made.sort_by_hash(np.arange(len(made), dtype=np.int32))
        assert np.all(np.diff(made.hashes[order].astype(object)) > 0)
        orders.append(made.take(order).to_pylist())
    assert orders[0] == orders[1]


@given(LISTS)
@settings(max_examples=50)
def test_bytes_decide_the_order_of_equal_hashes(given: list[str]) -> None:
    made = TextCodes(b"salt")
    codes(made, given)
    made.hashes[:] %= np.uint64(2)
    order = made.sort_by_hash(np.arange(len(made), dtype=np.int32))
    keys = list(zip(made.hashes.tolist(), map(str.encode, made.array().to_pylist()), strict=True))
    assert [keys[code] for code in order] == sorted(keys)


@given(st.lists(st.text("ab  ~!\"'`AZ{[]\0\x7f\té\u00a0", max_size=6), max_size=60, unique=True))
@settings(max_examples=60, deadline=None)
def test_texts_in_another_form_are_those_that_the_pattern_finds(given: list[str]) -> None:
    made = TextCodes(b"salt")
    codes(made, given)
    # Python has no \\z before version 3.14.
    pattern = re.compile(text.NOT_NORMAL_ASCII.replace(r"\z", r"\Z"))
    found = set(made.find_denormalized().tolist())
    assert found == {code for code, one in enumerate(given) if pattern.search(one)}
    assert all(text.normalise(one) == one for code, one in enumerate(given) if code not in found)


def test_long_lists_and_long_texts_find_room() -> None:
    """Beyond the first tables, and beyond the first keys; what was known before keeps its code and its hash."""
    given = [f"query {number}" for number in range(30_000)] + ["a" * 70_000, "a" * 70_001, "b" * 70_000]
    made = TextCodes(b"salt")
    assert codes(made, given[:100]) == list(range(100))
    before = made.hashes.copy()
    assert codes(made, given) == list(range(len(given))) == codes(made, given)
    assert made.hashes[:100].tolist() == before.tolist()


def test_parts_of_arrays_are_read_where_they_begin() -> None:
    array = pa.array(["left out", "a", "b", "a", "left out"]).slice(1, 3)
    made = TextCodes(b"salt")
    assert made.add(array).tolist() == [0, 1, 0] and made.array().to_pylist() == ["a", "b"]


def test_texts_that_collide_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """All texts have one hash: it takes longer, and every code is the same as without."""
    given = [f"q{number % 700}" for number in range(2_000)] + ["", "\0", "\0\0"]
    plain, crafted = TextCodes(b"salt"), TextCodes(b"salt")
    want = codes(plain, given)
    collide(monkeypatch)
    assert codes(crafted, given) == want == expected(given)
    assert len(set(crafted.hashes.tolist())) == 1 < len(set(plain.hashes.tolist()))


def test_too_many_texts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_codes, "MAX_TEXTS", 5_000)
    with pytest.raises(qv.CannotBeMet, match="different texts"):
        codes(TextCodes(b"salt"), [str(number) for number in range(20_000)])


def test_null_is_no_text() -> None:
    with pytest.raises(TypeError, match="null"):
        TextCodes(b"salt").add(pa.array(["a", None]))


# -- in histories --------------------------------------------------------------------------------------------


def found(rows: list[tuple[str, int, str]], most: int, salt: bytes = b"salt") -> Histories:
    return histories.collect_histories(log(rows), item_kinds.kind("queries"), Bound(most=most, salt=salt))


ROWS = [
    (f"u{user}", minute, f"Q{(user * 7 + minute) % 30}")
    for user in range(6)
    for minute in range(2 + 5 * user)
]


def test_collisions_change_no_bound_and_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody has more items than the bound, or one twice, or another's; where keys are equal the item decides [C6]."""
    whole = shown(found(ROWS, 100))
    before = found(ROWS, 4)
    collide(monkeypatch)
    assert shown(found(ROWS, 100)) == whole
    after = found(ROWS, 4)
    assert after.different == before.different
    assert shown(after) == sorted(sorted(items, key=str.encode)[:4] for items in whole)


def test_the_choice_of_a_user_depends_on_the_salt_and_on_nobody_else() -> None:
    before = shown(found(ROWS, 4))
    more = [("someone", minute, "x" * 9_000 + str(minute)) for minute in range(50)]
    assert [one for one in shown(found(ROWS + more, 4)) if not one[0].startswith("x")] == before
    assert shown(found(ROWS, 4, b"other")) != before
    assert sorted(map(len, before)) == [min(4, 2 + 5 * user) for user in range(6)]


def test_users_choose_apart_from_each_other() -> None:
    """3,000 users with the same ten items keep three each. With a key that forgets the user, all would keep the same
    three: 3,000 or 0 times each, and not about 900. The salt is fixed, so there is no false alarm."""
    rows = [(f"user {user}", item, f"item {item}") for user in range(3_000) for item in range(10)]
    times = np.bincount(found(rows, 3).items, minlength=10)
    # One deviation is 25: six of them are 150.
    assert times.sum() == 9_000 and np.abs(times - 900).max() < 150


@given(st.lists(st.text(st.sampled_from("aZ 09-\t\n\x00\x1c\x7f\"'`é“🐈"), max_size=12), max_size=20))
@settings(max_examples=100)
def test_normal_forms_of_many_texts_are_those_of_each(given: list[str]) -> None:
    made = text_codes.normal_forms(pa.array(["cut off", *given], pa.large_string())[1:])
    assert made.to_pylist() == [text.normalise(one) for one in given]


def test_every_byte_is_folded_as_it_is_normalized() -> None:
    every = [
        f"{before}{chr(code)}{chr(code)} b{chr(code)}" for code in range(256) for before in ("", "a", " ")
    ]
    assert text_codes.normal_forms(pa.array(every)).to_pylist() == [text.normalise(one) for one in every]
