"""Token hashing: consistent hashes, nothing else kept, and no guarantee."""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter, defaultdict
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.privacy.noise import Noise
from tests.command import command
from tests.conftest import at
from tests.seeded import SeededBits

LOG = pa.table(
    {
        "user": ["a", "a", "a", "b", "b", "c"],
        "time": [at(0), at(1), at(90), at(0), at(1), at(0)],
        "query": ["New York (hotels)", "york new", "café, new", "new york", "!!!", "new york"],
        "url": ["u1", None, "u2", None, None, "u3"],
    }
)


def made(table: pa.Table = LOG, **options: object) -> qv.Release:
    return qv.publish(qv.read(table), qv.TokenHash(**options), i_understand=True)  # type: ignore[arg-type]


def words(release: qv.Release) -> list[str]:
    """The queries of a release, read with the curator's map."""
    known = {row["hash"]: row["token"] for row in release.private["token-map"].to_pylist()}
    return [
        " ".join(known[one] for one in query.split(" "))
        for query in release.tables["log"]["query"].to_pylist()
    ]


def test_every_word_has_one_hash_of_its_own() -> None:
    release = made()
    known = release.private["token-map"]
    assert known.column_names == ["hash", "token"]
    assert known["token"].to_pylist() == ["café", "hotels", "new", "york"]
    assert len(set(known["hash"].to_pylist())) == 4 and {len(one) for one in known["hash"].to_pylist()} == {
        16
    }
    assert sorted(words(release)) == ["café new", "new york", "new york", "new york hotels", "york new"]


def test_hashes_are_hmac_sha256_under_a_fresh_key() -> None:
    bits = Noise(SeededBits(5))
    bits.key()  # the salt of the run, which this method does not use
    key = bits.key()
    release = qv.publish(qv.read(LOG), qv.TokenHash(digits=64), i_understand=True, noise=Noise(SeededBits(5)))
    for row in release.private["token-map"].to_pylist():
        assert row["hash"] == hmac.new(key, row["token"].encode(), hashlib.sha256).hexdigest()
    assert made().private["token-map"]["hash"] != made().private["token-map"]["hash"], "a new key each time"


def test_sessions_are_kept_under_random_numbers_or_dropped() -> None:
    release = made()
    table = release.tables["log"]
    assert table.schema == pa.schema([("session", pa.int64()), ("query", pa.string())])
    found = defaultdict(list)
    for number, text in zip(table["session"].to_pylist(), words(release), strict=True):
        found[number].append(text)
    assert sorted(found) == [0, 1, 2, 3]
    expected = [["café new"], ["new york hotels", "york new"], ["new york"], ["new york"]]
    assert sorted(found.values()) == sorted(expected)
    dropped = made(sessions="drop").tables["log"]
    assert dropped.schema == pa.schema([("query", pa.string())])
    assert dropped["query"].to_pylist() == sorted(dropped["query"].to_pylist())


def test_shuffled_words_tell_no_order() -> None:
    release = made(token_order="shuffle")  # noqa: S106 (an order, no secret)
    for query in release.tables["log"]["query"].to_pylist():
        assert query.split(" ") == sorted(query.split(" "))
    counted = Counter(tuple(sorted(text.split(" "))) for text in words(release))
    assert counted == {("new", "york"): 3, ("hotels", "new", "york"): 1, ("café", "new"): 1}


def test_repeated_words_and_long_queries_keep_their_places() -> None:
    text = " ".join(f"w{place % 7}" for place in range(30))
    table = pa.table({"user": ["a"], "time": [at(0)], "query": [text]})
    assert words(made(table)) == [text]


def test_colliding_hashes_are_refused() -> None:
    table = pa.table({"user": ["a"] * 3_000, "query": [f"word{number}" for number in range(3_000)]})
    # 3,000 words, 65,536 hashes: no collision has a probability of about e^-68.
    with pytest.raises(qv.CannotBeMet, match="same hash of 4 digits"):
        made(table, digits=4, sessions="drop")


def test_without_times_sessions_are_missing_but_rows_are_not() -> None:
    table = LOG.select(["user", "query"])
    with pytest.raises(qv.InputError, match="'time' or a 'session' column"):
        made(table)
    assert len(words(made(table, sessions="drop"))) == 5


def test_it_promises_nothing_and_says_so(tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"
    pq.write_table(LOG, log)
    asked = ("publish", str(log), "--method", "token-hash", "--out", str(tmp_path / "out"))
    refused = command(*asked)
    assert refused.code == 2 and "--i-understand" in refused.err and not (tmp_path / "out").exists()
    assert command(*asked, "--i-understand").code == 0
    sheet = (tmp_path / "out" / "DATASHEET.md").read_text()
    assert "no guarantee" in sheet and "Hashes are no protection" in sheet and "epsilon" not in sheet
    for name in ("report.html", "manifest.json", "DATASHEET.md"):
        text = (tmp_path / "out" / name).read_text()
        assert "york" not in text and "token-map" not in text
    assert (tmp_path / "out.private" / "token-map.parquet").exists()
    assert not (tmp_path / "out" / "token-map.parquet").exists()
    assert qv.verify(tmp_path / "out").passes


def test_spark_publishes_the_same(spark: object) -> None:
    releases = [
        qv.publish(
            qv.read(LOG, engine=engine),  # type: ignore[arg-type]
            qv.TokenHash(),
            i_understand=True,
            noise=Noise(SeededBits(8)),
        )
        for engine in ("duckdb", spark)
    ]
    assert releases[0].tables["log"].equals(releases[1].tables["log"])
    assert releases[0].private["token-map"].equals(releases[1].private["token-map"])
