"""OpenSearch UBI in every shape in which it is exported: searches, clicks and users are the same."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import queryveil as qv
from queryveil.reading import lines
from tests.reading.formats.logs import read, rejected_rows, rejections, rows_of, write

DATA = Path(__file__).parents[2] / "data" / "sources"
SHAPES = [
    "ubi-bulk.ndjson",
    "ubi-lines.jsonl",
    "ubi-source-lines.json",
    "ubi-search.json",
    "ubi-scroll.ndjson",
    "ubi-array.json",
    "ubi-tabs.txt",
    "ubi-two",
    "ubi.zip",
]


def at(clock: str) -> dt.datetime:
    return dt.datetime.fromisoformat(f"2024-12-10T{clock}")


ROWS = {
    ("c1", at("09:00:00"), "rare orchids", None, None),
    ("c2", at("09:05:00.250"), "garden hose", None, None),
    ("c1", at("09:01:00"), "rare orchids white", None, None),
    ("ann", at("09:00:00"), "", None, None),
    # A click has the time of its search: the latest of its id that is not after it.
    ("c1", at("09:00:00"), "rare orchids", "A2", 2),
    ("c1", at("09:01:00"), "rare orchids white", "A7", 7),
    # Without one it has its own, and its own query if it says so.
    ("c4", at("11:00:00"), "tea pot", "B1", 1),
    ("c4", at("11:00:05"), "", "1234", 3),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_gives_the_same_rows(shape: str, tmp_path: Path) -> None:
    staged = read(DATA / shape, tmp_path / "into")
    assert (staged.format, staged.rows, staged.rejected) == ("ubi", 8, 0)
    assert set(rows_of(staged)) == ROWS
    assert (staged.searches, staged.orphan_clicks, staged.empty_queries) == (4, 2, 2)
    assert (staged.skipped["impressions"], staged.skipped["other events"]) == (2, 2)
    assert staged.skipped.get("lines of the bulk format", 0) == (12 if "bulk" in shape else 0)


def test_inspect_counts_documents() -> None:
    found = qv.inspect(qv.read(DATA / "ubi-bulk.ndjson"))
    assert (found.queries, found.clicks, found.orphan_clicks, found.users) == (4, 4, 2, 4)
    assert found.events == 4  # three searches with words, and the click that brings its own
    assert found.skipped["impressions"] == 2


def test_order_is_that_of_the_file(tmp_path: Path) -> None:
    assert [row[3] for row in rows_of(read(DATA / "ubi-bulk.ndjson", tmp_path / "into"))][4:] == [
        "A2",
        "A7",
        "B1",
        "1234",
    ]


def query(**more: Any) -> dict[str, Any]:
    return {"query_id": "q", "client_id": "c", "user_query": "x", "timestamp": "2024-12-10T09:00:00Z"} | more


def click(**more: Any) -> dict[str, Any]:
    attributes = {"object": {"object_id": "A"}, "position": {"ordinal": 1}}
    return {
        "action_name": "click",
        "query_id": "q",
        "client_id": "c",
        "timestamp": "2024-12-10T09:00:05Z",
        "event_attributes": attributes,
    } | more


def staged_of(tmp_path: Path, *documents: Any, **options: Any) -> Any:
    text = "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in documents)
    return read(write(tmp_path / "log.ndjson", text), tmp_path / "into", max_rejected=1, **options)


@pytest.mark.parametrize("user_id", [None, "", " ", "NULL"])
def test_no_user_falls_back_to_the_client(user_id: str | None, tmp_path: Path) -> None:
    assert rows_of(staged_of(tmp_path, query(user_id=user_id)), "user") == [("c",)]


def test_a_user_id_wins(tmp_path: Path) -> None:
    assert rows_of(staged_of(tmp_path, query(user_id="u")), "user") == [("u",)]


def test_a_click_after_a_login_takes_nothing_from_searches_of_the_client(tmp_path: Path) -> None:
    staged = staged_of(tmp_path, query(user_query="private"), click(user_id="u"))
    assert rows_of(staged, "user", "query") == [("c", "private"), ("u", "")]
    assert staged.orphan_clicks == 1


def test_a_click_after_a_logout_takes_nothing_from_searches_of_the_user(tmp_path: Path) -> None:
    staged = staged_of(tmp_path, query(user_id="u", user_query="private"), click())
    assert rows_of(staged, "user", "query") == [("u", "private"), ("c", "")]
    assert staged.orphan_clicks == 1


def test_a_user_id_is_not_a_client_id_with_the_same_text(tmp_path: Path) -> None:
    staged = staged_of(tmp_path, query(client_id="u", user_query="private"), click(user_id="u"))
    assert rows_of(staged, "user", "query") == [("u", "private"), ("u", "")]


@pytest.mark.parametrize(("field", "user"), [("client_id", "c"), ("user_id", "u")])
def test_the_user_can_be_read_from_one_field(field: str, user: str, tmp_path: Path) -> None:
    staged = staged_of(tmp_path, query(user_id="u"), click(user_id="u"), user_field=field)
    assert rows_of(staged, "user", "query", "url") == [(user, "x", None), (user, "x", "A")]
    assert staged.orphan_clicks == 0


def test_a_log_in_between_loses_no_query_if_clients_are_users(tmp_path: Path) -> None:
    staged = staged_of(tmp_path, query(), click(user_id="u"), user_field="client_id")
    assert rows_of(staged, "user", "query") == [("c", "x"), ("c", "x")]


def test_rows_without_the_field_of_the_user_are_rejected(tmp_path: Path) -> None:
    staged = staged_of(tmp_path, query(user_id="u"), query(), click(), user_field="user_id")
    assert staged.rows == 1 and dict(staged.reasons) == {"no user": 1, "click without user": 1}


def test_another_field_of_the_user_is_refused(tmp_path: Path) -> None:
    with pytest.raises(qv.UsageError):
        staged_of(tmp_path, query(), user_field="session_id")


def test_a_click_of_somebody_else_takes_nothing_of_a_search(tmp_path: Path) -> None:
    staged = staged_of(tmp_path, query(user_query="private"), click(client_id="d", user_query="own"))
    assert rows_of(staged, "user", "query") == [("c", "private"), ("d", "own")]
    assert staged.orphan_clicks == 1


def test_a_click_without_a_user_is_rejected_and_kept(tmp_path: Path) -> None:
    staged = staged_of(tmp_path, query(), click(client_id=None), click(client_id=None, user_query="own"))
    assert rows_of(staged, "user", "url") == [("c", None)]
    assert rejections(staged) == [
        ("log.ndjson", 2, "click without user"),
        ("log.ndjson", 3, "click without user"),
    ]
    assert json.loads(rejected_rows(staged)[0]["text"])["query_id"] == "q"


def test_a_click_keeps_its_own_query_and_takes_the_time_of_its_search(tmp_path: Path) -> None:
    staged = staged_of(tmp_path, query(), click(user_query="own"))
    assert rows_of(staged, "query", "time") == [("x", at("09:00:00")), ("own", at("09:00:00"))]
    assert staged.orphan_clicks == 0


def test_of_searches_at_one_time_the_first_in_the_file_is_that_of_the_click(tmp_path: Path) -> None:
    others = query(client_id="d", user_query="private")
    staged = staged_of(
        tmp_path, others, query(user_query="first"), others, query(user_query="second"), click()
    )
    assert rows_of(staged, "user", "query", "url")[-1] == ("c", "first", "A")


def test_a_click_of_a_named_user_is_not_anothers_on_the_same_client(tmp_path: Path) -> None:
    own = query(user_id="u", user_query="own")
    later = query(user_id="v", user_query="hers", timestamp="2024-12-10T09:00:03Z")
    with_own = staged_of(tmp_path, own, later, click(user_id="u"))
    assert rows_of(with_own, "user", "query") == [("u", "own"), ("v", "hers"), ("u", "own")]
    (tmp_path / "other").mkdir()
    without = staged_of(tmp_path / "other", later, click(user_id="u"))
    assert rows_of(without, "user", "query") == [("v", "hers"), ("u", "")]


def test_a_click_before_its_search_is_not_its(tmp_path: Path) -> None:
    staged = staged_of(tmp_path, query(), click(timestamp="2024-12-10T08:59:59Z", user_query="own"))
    assert rows_of(staged, "query") == [("x",), ("own",)]


def test_repeated_searches_multiply_no_click(tmp_path: Path) -> None:
    staged = staged_of(tmp_path, *[query()] * 5, click(), click())
    assert (staged.rows, staged.searches) == (7, 5)


def test_bad_documents_are_kept_aside_with_their_line(tmp_path: Path) -> None:
    staged = staged_of(
        tmp_path,
        query(),
        '{"query_id": "q", "user_query": ',
        query(client_id=None),
        query(timestamp="yesterday"),
        query(user_query={"match": "x"}),
        {"something": "else"},
        click(event_attributes=None),
        click(event_attributes={"object": {"object_id": "A"}, "position": {"ordinal": -1}}),
        "",
        query(),
    )
    assert [(line, reason) for _, line, reason in rejections(staged)] == [
        (2, "not JSON"),
        (3, "no user"),
        (4, "bad time"),
        (5, "wrong type"),
        (6, "no such field"),
        (7, "no object"),
        (8, "bad rank"),
        (9, "blank line"),
    ]
    assert staged.rows == 2


def test_actions_that_are_clicks_can_be_named(tmp_path: Path) -> None:
    staged = staged_of(tmp_path, query(), click(action_name="open"), click(), click_actions=("open",))
    assert (staged.rows, dict(staged.skipped)) == (2, {"other events": 1})


def test_columns_are_refused(tmp_path: Path) -> None:
    with pytest.raises(qv.UsageError, match="leave out columns"):
        staged_of(tmp_path, query(), columns={"user": "client_id", "query": "user_query"})


def test_options_of_a_format_are_refused_in_others(tmp_path: Path) -> None:
    log = write(tmp_path / "log.tsv", "user\tquery\nann\torchids\n")
    with pytest.raises(qv.UsageError, match="click_actions has no meaning in tsv"):
        read(log, tmp_path / "into", click_actions=("open",))


@pytest.mark.parametrize("cut", [1, 50, 200])
def test_an_array_that_is_cut_short_is_refused_as_a_whole(cut: int, tmp_path: Path) -> None:
    data = (DATA / "ubi-array.json").read_bytes()
    with pytest.raises(qv.InputError, match="cut short, in the document that starts on line"):
        read(write(tmp_path / "x.json", data[:-cut]), tmp_path / "into", format="ubi")


def test_a_bad_byte_in_an_array_spoils_its_document_only(tmp_path: Path) -> None:
    data = (DATA / "ubi-array.json").read_bytes().replace(b"garden hose", b"gard\xffn hose", 1)
    staged = read(write(tmp_path / "x.json", data), tmp_path / "into", max_rejected=1)
    assert (staged.rows, dict(staged.reasons)) == (7, {"not UTF-8": 1})
    assert "gard\\xffn" in rejected_rows(staged)[0]["text"]


@settings(max_examples=30, deadline=None)
@given(
    block=st.integers(1, 60),
    shape=st.sampled_from(["ubi-array.json", "ubi-search.json", "ubi-scroll.ndjson"]),
)
def test_blocks_of_any_size_give_the_same_documents(
    block: int, shape: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK_BYTES", block)
        assert set(rows_of(read(DATA / shape, tmp_path_factory.mktemp("into")))) == ROWS


TIMES = st.sampled_from([1733821200000, 1733821230000, 1733821260000, 1733821290000])
SEARCH = st.builds(
    query,
    client_id=st.sampled_from(["a", "b"]),
    user_id=st.sampled_from(["", None]),
    query_id=st.sampled_from("qr"),
    timestamp=TIMES,
)
CLICK = st.builds(
    click,
    client_id=st.sampled_from(["a", "b"]),
    user_id=st.sampled_from(["u", "", None]),
    query_id=st.sampled_from(["q", "r", None]),
    user_query=st.sampled_from(["own", None]),
    timestamp=TIMES,
)
BAD = st.one_of(
    st.sampled_from(["{", "[1]", '{"a": 1}', '{"index": {}}']),
    st.just(click(action_name="impression")),
    st.builds(click, client_id=st.none(), query_id=st.sampled_from(["q", "z"])),
    st.builds(query, timestamp=st.just("?"), client_id=st.sampled_from(["a", None])),
)


@settings(max_examples=50, deadline=None)
@given(documents=st.lists(st.one_of(SEARCH, CLICK, BAD), max_size=12))
def test_every_document_is_a_row_rejected_or_skipped(
    documents: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    # Enough good lines to tell that each line is a document.
    good = [query()] * (1 + len(documents))
    staged = staged_of(tmp_path_factory.mktemp("log"), *good, *documents, format="ubi")
    assert staged.rows + staged.rejected + sum(staged.skipped.values()) == len(good) + len(documents)
    assert staged.rows == len(rows_of(staged, "user"))


@settings(max_examples=50, deadline=None)
@given(documents=st.lists(st.one_of(SEARCH, CLICK), max_size=12))
def test_without_one_client_all_other_rows_are_the_same(
    documents: list[Any], tmp_path_factory: pytest.TempPathFactory
) -> None:
    marked = [query(client_id="b")]
    for number, one in enumerate(documents):
        own: dict[str, Any] = {"user_query": f"x{number}"}
        if "action_name" in one:
            own = {"event_attributes": {"object": {"object_id": f"A{number}"}}}
        marked.append(one | own)
    others = [one for one in marked if one["client_id"] != "a"]
    names = {one.get("user_query") for one in others if "action_name" not in one}
    things = {one["event_attributes"]["object"]["object_id"] for one in others if "action_name" in one}
    before, after = (
        rows_of(staged_of(tmp_path_factory.mktemp("log"), *some, format="ubi")) for some in (marked, others)
    )
    assert [row for row in before if (row[3] in things if row[3] else row[2] in names)] == after
