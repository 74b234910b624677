"""k-keyword anonymity: prefix folding against its definition, word by word."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil as qv
from tests.command import command


def log_of(words: dict[str, str]) -> pa.Table:
    """For each user her words, separated by blanks."""
    return pa.table({"user": list(words), "query": list(words.values())})


def published(table: pa.Table, k: int, **options: object) -> dict[str, int]:
    release = qv.publish(qv.read(table), qv.KKeyword(k=k), allow_empty=True, **options)  # type: ignore[arg-type]
    rows = release.tables["items"].to_pylist()
    assert len({row["prefix"] for row in rows}) == len(rows)
    return {row["prefix"]: row["count"] for row in rows}


def by_definition(pairs: set[tuple[str, str]], k: int) -> tuple[dict[str, int], int]:
    """Published rows and the number of users left with the empty prefix, from (user, word)."""
    users: dict[str, set[str]] = defaultdict(set)
    for user, word in pairs:
        users[word].add(user)
    rows = {word: len(people) for word, people in users.items() if len(people) >= k}
    folded: dict[str, set[str]] = defaultdict(set)
    for word, people in users.items():
        if len(people) < k:
            folded[word[:64]] |= people
    for length in range(64, 0, -1):
        for prefix in [one for one in folded if len(one) == length]:
            people = folded.pop(prefix)
            if len(people) >= k:
                rows[prefix + "*"] = len(people)
            else:
                folded[prefix[:-1]] |= people
    return rows, len(folded[""])


def test_by_hand() -> None:
    table = log_of({"a": "car cars", "b": "car carx", "c": "cart", "d": "dog", "e": "cub"})
    # car has two users. cars, carx and cart have one each: three users share car*, and none of them is car's row.
    assert published(table, 2) == {"car": 2, "car*": 3}
    # With three, the users of car join those of its longer words.
    assert published(table, 3) == {"car*": 3}
    assert published(table, 4) == {"c*": 4}
    assert published(table, 5) == {}


def test_a_word_and_its_prefix_are_different_rows() -> None:
    table = log_of({"a": "car", "b": "car", "c": "cars", "d": "carts"})
    assert published(table, 2) == {"car": 2, "car*": 2}


def test_a_user_counts_once_in_a_prefix() -> None:
    table = log_of({"a": "cars cart care", "b": "dog"})
    assert published(table, 2) == {}


def test_what_is_published_leaves_the_shorter_prefixes() -> None:
    table = log_of({"a": "abcx", "b": "abcy", "c": "abz", "d": "abw"})
    assert published(table, 2) == {"abc*": 2, "ab*": 2}
    assert published(table, 3) == {"ab*": 4}


def test_the_empty_prefix_is_suppressed_and_the_curator_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    table = log_of({"a": "xx", "b": "yy", "c": "zz zy", "d": "shared", "e": "shared"})
    qv.publish(
        qv.read(table), qv.KKeyword(k=2), out=tmp_path / "out", told=lambda stage, words: told.append(words)
    )
    assert pq.read_table(tmp_path / "out.private" / "suppressed.parquet").to_pylist() == [{"users": 3}]
    assert any("3 users have a word that no prefix covers" in words for words in told)
    public = (tmp_path / "out" / "manifest.json").read_text() + (tmp_path / "out" / "report.html").read_text()
    assert "suppressed" not in public


def test_long_words_are_whole_if_shared_and_cut_if_not() -> None:
    long = "x" * 70
    assert published(log_of({"a": long, "b": long}), 2) == {long: 2}
    assert published(log_of({"a": long + "1", "b": long + "2"}), 2) == {"x" * 64 + "*": 2}


def test_rows_are_ordered_by_what_they_show() -> None:
    table = log_of({"a": "b a c", "b": "b a c", "c": "c"})
    release = qv.publish(qv.read(table), qv.KKeyword(k=2))
    assert release.tables["items"].to_pydict() == {"prefix": ["c", "a", "b"], "count": [3, 2, 2]}


WORDS = st.text(alphabet="abé🐈*+", min_size=1, max_size=5)


@settings(max_examples=12, deadline=None)
@given(st.lists(st.tuples(st.sampled_from("uvwxyz"), WORDS), min_size=1, max_size=30), st.integers(2, 4))
def test_it_is_the_definition(rows: list[tuple[str, str]], k: int) -> None:
    pairs = {(user, word) for user, query in rows for word in qv.keywords(qv.normalise(query))}
    if len({user for user, _ in rows}) < k:
        return
    table = pa.table({"user": [user for user, _ in rows], "query": [query for _, query in rows]})
    release = qv.publish(qv.read(table), qv.KKeyword(k=k), allow_empty=True)
    expected, left = by_definition(pairs, k)
    assert {row["prefix"]: row["count"] for row in release.tables["items"].to_pylist()} == expected
    assert release.private["suppressed"]["users"].to_pylist() == [left]


def test_spark_publishes_the_same(spark: object) -> None:
    table = log_of({"a": "car cart", "b": "car carx", "c": "été 🐈b", "d": "éta 🐈c", "e": "q!"})
    method = qv.KKeyword(k=2)
    here = qv.publish(qv.read(table), method)
    there = qv.publish(qv.read(table, engine=spark), method)  # type: ignore[arg-type]
    assert here.tables["items"].equals(there.tables["items"])
    assert here.tables["items"].to_pydict() == {
        "prefix": ["car", "car*", "ét*", "🐈*"],
        "count": [2, 2, 2, 2],
    }
    assert here.private["suppressed"].equals(there.private["suppressed"])


def test_what_cannot_be_done_is_refused(tmp_path: Path) -> None:
    with pytest.raises(qv.CannotBeMet, match="fewer than the 2 users"):
        published(log_of({"a": "x"}), 2)
    with pytest.raises(qv.UsageError, match="parameter 'k' must be an int >= 2"):
        qv.KKeyword(k=1)
    log = tmp_path / "log.csv"
    log.write_text("user,query\na,one\nb,two\n")
    out = command("publish", str(log), "--method", "k-keyword", "--k", "2", "--out", str(tmp_path / "out"))
    assert out.code == 5 and "nothing is frequent enough" in out.err and not (tmp_path / "out").exists()


def test_counts_are_not_called_noisy(tmp_path: Path) -> None:
    qv.publish(qv.read(log_of({"a": "x", "b": "x"})), qv.KKeyword(k=2), out=tmp_path / "out")
    for name in ("report.html", "DATASHEET.md", "manifest.json"):
        text = (tmp_path / "out" / name).read_text()
        assert "noise" not in text and "k-anonymity" in text


def test_a_prefix_can_say_nearly_everything() -> None:
    """The counter-examples of the proof page."""
    cards = log_of({"a": "4929123456781234", "b": "4929123456781242"})
    assert published(cards, 2) == {"49291234567812*": 2}
    spelt = log_of({"a": "methadone", "b": "methadon", "c": "methadona"})
    assert published(spelt, 3) == {"methadon*": 3}
