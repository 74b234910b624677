"""Reading public lists of items: normal form, columns, digests, and everything that is refused with a sentence."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import queryveil as qv
from queryveil.count import public_items
from queryveil.count.public_items import Overlap, overlap, read


def listed(file: Path, kind: str = "queries") -> list[tuple[str, ...]]:
    rows = read(file, qv.KINDS[kind]).rows
    return list(zip(*(column.to_pylist() for column in rows.columns), strict=True))


def write(place: Path, content: str | bytes, name: str = "list.txt") -> Path:
    file = place / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def test_lines_become_items_in_normal_form(tmp_path: Path) -> None:
    content = '\ufeffNew  YORK\r\nnew york\n\n  \n"caf\u00c9"\nStra\u00dfe\nlast line'
    file = write(tmp_path, content)
    found = read(file, qv.KINDS["queries"])
    assert listed(file) == [("new york",), ("caf\u00e9",), ("strasse",), ("last line",)]
    assert (found.items, found.lines) == (4, 7)
    assert found.sha256 == hashlib.sha256(content.encode()).hexdigest(), (
        "of the file's bytes, as sha256sum has it"
    )


@given(st.lists(st.text(max_size=12), max_size=8))
def test_normal_form_is_that_of_queries(texts: list[str]) -> None:
    found = public_items.normalised(pa.array(texts, pa.large_string())).to_pylist()
    assert found == [qv.normalise(one) for one in texts]


@given(st.lists(st.text(st.characters(max_codepoint=127), max_size=9), max_size=8))
def test_normal_form_of_ascii_is_that_of_queries(texts: list[str]) -> None:
    found = public_items.normalised(pa.array(texts, pa.large_string())).to_pylist()
    assert found == [qv.normalise(one) for one in texts]


def test_chunks_of_any_size_give_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = write(tmp_path, "".join(f"\u00e9t\u00e9 {number}\n" for number in range(300)))
    whole = read(file, qv.KINDS["queries"])
    for size in (1, 3, 64):
        monkeypatch.setattr(public_items, "_CHUNK", size)
        again = read(file, qv.KINDS["queries"])
        assert again.rows.equals(whole.rows) and (again.lines, again.sha256) == (300, whole.sha256)


def test_columns_between_tabs_by_place_or_by_name(tmp_path: Path) -> None:
    assert listed(write(tmp_path, "Flu\thttp://A\nflu\thttp://A\n\n"), "clicks") == [("flu", "http://A")]
    named = "count\turl\tquery\n7\thttp://A\tFlu\n"
    assert listed(write(tmp_path, named), "clicks") == [("flu", "http://A")]
    assert listed(write(tmp_path, "query\tcount\nFlu\t3\n"), "queries") == [("flu",)]
    assert listed(write(tmp_path, "x\tx\nx\ty\n"), "query-pairs") == [("x", "y")], "none follows itself"


def test_sets_have_no_order_and_words_are_all_of_a_line(tmp_path: Path) -> None:
    assert listed(write(tmp_path, "milk\tBread\nbread\tmilk\nmilk\tmilk\n"), "itemsets") == [
        ("bread", "milk")
    ]
    assert listed(write(tmp_path, "Used (cars)\ncars, cheap\n"), "keywords") == [
        ("used",),
        ("cars",),
        ("cheap",),
    ]


def test_the_table_of_an_earlier_release_is_a_list(tmp_path: Path) -> None:
    file = tmp_path / "items.parquet"
    pq.write_table(pa.table({"query": ["flu", "Measles", None, "flu"], "count": [9, 8, 7, 6]}), file)
    found = read(file, qv.KINDS["queries"])
    assert listed(file) == [("flu",), ("measles",)] and found.lines == 4
    assert found.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
    with pytest.raises(qv.InputError, match="no column 'url'"):
        read(file, qv.KINDS["clicks"])


@pytest.mark.parametrize(
    ("name", "content", "kind", "said"),
    [
        ("empty.txt", "", "queries", "has no item"),
        ("blank.txt", "\n \n\"\n''\n", "queries", "has no item"),
        ("latin.txt", b"caf\xe9\n", "queries", "not in UTF-8"),
        ("list.csv", "a,b\n", "queries", "commas"),
        ("short.tsv", "a\tb\nsecret\n", "clicks", "line 2 .* fewer columns"),
        ("named.tsv", "query\turl\na\tb\nsecret\n", "clicks", "line 3 .* fewer columns"),
        ("broken.parquet", b"PAR1 and no more", "queries", "cannot be read"),
        ("long.txt", "x" * 1_000_001 + "y" * 8_000_000, "queries", "a line has more than"),
    ],
)
def test_bad_lists_are_refused_in_one_sentence(
    name: str, content: str | bytes, kind: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(qv.InputError, match=said) as refused:
        read(write(tmp_path, content, name), qv.KINDS[kind])
    assert refused.value.exit_code == 3 and "secret" not in str(refused.value)


def test_missing_lists_and_folders_are_refused(tmp_path: Path) -> None:
    for place in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(qv.InputError, match="cannot be read"):
            read(place, qv.KINDS["queries"])


def test_too_many_lines_are_refused_before_any_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path, "a\nb\nc\nd\n")
    pq.write_table(pa.table({"query": ["a", "b", "c", "d"]}), tmp_path / "list.parquet")
    monkeypatch.setattr(public_items, "MOST_LINES", 3)
    monkeypatch.setattr(public_items, "_normalized_items", lambda *_: pytest.fail("a line was looked at"))
    for one in (file, tmp_path / "list.parquet"):
        with pytest.raises(qv.InputError, match="more than 3 lines"):
            read(one, qv.KINDS["queries"])


def test_a_hundred_million_lines_are_refused_without_reading_them_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tenth of the file is enough to know, and none of it is kept."""
    file, seen = tmp_path / "list.txt", []
    with file.open("wb") as made:
        for _ in range(100):
            made.write(b"\n" * 1_000_000)
    newlines = public_items._count_newlines

    def counted(raw: BinaryIO) -> int:
        found = newlines(raw)
        seen.append(raw.tell())
        return found

    monkeypatch.setattr(public_items, "_count_newlines", counted)
    with pytest.raises(qv.InputError, match="more than 10,000,000 lines") as raised:
        read(file, qv.KINDS["queries"])
    assert seen[0] < 20_000_000 and raised.value.hint


# -- a list that is the log's own ----------------------------------------------------------------------------


def log_of(queries: list[str]) -> qv.SearchLog:
    return qv.read(pa.table({"user": [f"u{number}" for number in range(len(queries))], "query": queries}))


@pytest.mark.parametrize(
    ("own", "others", "warned"),
    [(2_000, 0, True), (1_300, 700, True), (900, 1_100, False), (0, 2_000, False), (900, 0, False)],
    ids=["the log's own", "many of one user", "less than half", "nothing shared", "a short list"],
)
def test_a_list_that_looks_like_the_log_is_noticed(
    own: int, others: int, warned: bool, tmp_path: Path
) -> None:
    lines = [f"q{number}\n" for number in range(own)] + [f"other {number}\n" for number in range(others)]
    found = overlap(
        log_of([f"q{number}" for number in range(2_500)]),
        qv.KINDS["queries"],
        read(write(tmp_path, "".join(lines)), qv.KINDS["queries"]),
    )
    assert (found is not None and found.warning is not None) is warned
    if own + others >= 1_000:
        assert found == Overlap(own + others, own, own)


def test_only_some_of_a_long_list_are_looked_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public_items, "_SAMPLED", 1_000)
    file = write(tmp_path, "".join(f"q{number}\n" for number in range(5_000)))
    found = overlap(
        log_of([f"q{n}" for n in range(5_000)]), qv.KINDS["queries"], read(file, qv.KINDS["queries"])
    )
    assert found == Overlap(1_000, 1_000, 1_000)
