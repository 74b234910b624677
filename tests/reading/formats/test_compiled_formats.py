"""Formats of their own (Solr, slow logs, Yandex, Algolia, SQLite): plain rows by compiled loops, as all others are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from queryveil.reading import plain_rows, staging
from queryveil.reading.formats import algolia, yandex
from tests.reading.formats.test_compiled_rows import both, calmly


def carefully_read(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows of each chunk are judged with care, once a log is read."""
    seen: list[int] = []
    asked = plain_rows.some_quickly

    def watched(chunk: Any, which: Any, columns: Any, unsure: Any, carefully: Any) -> Any:
        def counted(rest: Any) -> Any:
            seen.append(len(rest))
            return carefully(rest)

        return asked(chunk, which, columns, unsure, counted)

    monkeypatch.setattr(plain_rows, "some_quickly", watched)
    return seen


solr_clocks = st.sampled_from(
    [
        *(
            "2024-03-01 10:11:12.123",
            "[2024-03-01T10:11:12.123",
            "2024-03-01 10:11:12,123Z",
            "2024-03-01 10:11:12",
        ),
        *(
            "2024-03-01 10:11:12.1234",
            "2024-03-01 10:11:12.1",
            "2024-13-01 10:11:12.123",
            "2024-02-30 10:11:12.000",
        ),
        *("", "x", "0999-03-01 10:11:12.123", "2024-03-01\t10:11:12.123", "[", "2024-03-01 10:11:12.123Z"),
    ]
)
solr_requests = st.sampled_from(
    [
        *(
            " path=/select params={",
            " xpath=/select params={",
            " path= params={",
            " path=/a path=/b params={",
        ),
        *(
            " path=/a\tb params={",
            " params={",
            " path=/a  params={",
            " path=/a params=",
            " path=/ä params={",
            "-path=/a params={",
        ),
        *(" path=/a params={x} path=/b params={", " path=/a params={q=1} path=/b params={"),
    ]
)
solr_values = st.sampled_from(
    [
        *(
            "tea",
            "a+b%20c",
            "%C3%A4",
            "ä",
            "%ff",
            "%",
            "%4",
            "%zz",
            "",
            "*:*",
            "*",
            "%2A:%2A",
            "*%3A*",
            "%2A%3A%2A",
            "%2a:*",
        ),
        *("%00", "%0A", "+", "%20", "{!edismax}tea", "a}b", "NULL", "a=b", "%E3%80%80", "\u00a0x", "-"),
    ]
)
solr_params = st.lists(
    st.tuples(
        st.sampled_from(["q", "uid", "qq", "Q", "rows", "xq", "q.op", "", "user"]), st.just("="), solr_values
    ).map("".join)
    | st.sampled_from(
        ["isShard=true", "distrib=false", "isShard=trueish", "distrib=falsely", "q", "uid", "="]
    ),
    max_size=5,
).map("&".join)


@calmly
@given(
    st.lists(
        st.tuples(
            solr_clocks,
            st.sampled_from([" INFO (q-1) [ x:p]", " o.a.s.c.S.Request", ""]),
            solr_requests,
            solr_params,
            st.sampled_from(["} hits=1", "}", "", "} hits={1}", "}}"]),
        ).map("".join),
        min_size=1,
        max_size=20,
    ),
    st.sampled_from([("q",), ("qq", "q"), ("Q", "q.op"), ("q=",)]),
    st.sampled_from(["uid", "user", "a&b"]),
)
def test_solr(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    lines: list[str],
    parameters: tuple[str, ...],
    user: str,
) -> None:
    folder = tmp_path_factory.mktemp("solr")
    good = "2024-03-01 10:11:12.123 INFO path=/select params={q=tea&qq=tea&Q=tea&uid=ann&user=ann} hits=1"
    file = folder / "solr.log"
    file.write_bytes("\n".join([good, *lines, "", good]).encode())
    quick, careful = both(
        file, folder, monkeypatch, format="solr", query_parameter=parameters, user_field=user
    )
    assert quick == careful


def test_most_requests_of_solr_are_plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        "2024-03-01 10:11:12.123 INFO path=/select params={q=tea+%C3%A4&rows=10&uid=ann} hits=1 status=0",
        "2024-03-01 10:11:12.123 INFO path=/select params={q=*:*&uid=ann} hits=1 status=0",
        "2024-03-01 10:11:12.123 INFO path=/select params={q=tea&isShard=true&uid=ann} hits=1 status=0",
        "2024-03-01 10:11:12.123 WARN something else",
    ]
    (tmp_path / "solr.log").write_text(
        "\n".join([*lines, "2024-03-01 10:11 path=/a params={q=%ff&uid=ann}"] * 9)
    )
    seen = carefully_read(monkeypatch)
    quick, careful = both(tmp_path / "solr.log", tmp_path, monkeypatch, format="solr")
    assert quick == careful
    assert seen == [9]


typed = st.sampled_from(
    ["tea", "", " ", 'a"b', "ä", "a\nb", "\ud83d\ude00", "\ud800", "x/y", "], id[z]", "source["]
)
plain_values = typed | st.sampled_from([5, None, True, 1.5, -2, 10**30, [], {}, ["a"]])
field_values = plain_values | st.fixed_dictionaries(
    {}, optional={"query": plain_values, "query_text": typed, "boost": plain_values, "operator": typed}
)
clause_values = field_values | st.dictionaries(
    st.sampled_from(["title", "query", "body", "match", "fields"]), field_values, max_size=2
)
clauses = st.dictionaries(
    st.sampled_from(["match", "multi_match", "term", "query_string", "neural", "match_all", "m\u00e4tch"]),
    clause_values,
    max_size=2,
)
wrapped = clauses | st.fixed_dictionaries(
    {"bool": st.fixed_dictionaries({"must": st.lists(clauses, max_size=2)})}
)
sources = st.fixed_dictionaries(
    {},
    optional={"query": wrapped | plain_values, "size": plain_values, "knn": clauses, "_source": plain_values},
)
slow_sources = st.tuples(sources, st.booleans(), st.sampled_from(["", " "])).map(
    lambda one: json.dumps(one[0], ensure_ascii=one[1], separators=("," + one[2], ":" + one[2]))
) | st.sampled_from(
    [
        *(
            "",
            "{",
            "{}",
            "[]",
            "{}}",
            '{"a":}',
            '{"query":{"match":{"a":"b"}},"query":5}',
            '{"a":01}',
            '{"a":NaN}',
        ),
        *(
            '{"query":5,"query":{"match":{"a":"b"}}}',
            '{"a":{"match":"x"},"b":{"a":{"match":"y"}}}',
            '{"a":1e5}',
        ),
        *(
            '{"query":{"match":{"a":"b","a":"c"}}}',
            '{"match":{"query":"a","query":"b"}}',
            '{"match":"a","match":"b"}',
        ),
        *(
            '{"m\\u0061tch":"a"}',
            '{"match":"a\\u0041b\\u000a"}',
            '{"match":"\\ud83d\\ude00"}',
            '{"match":"\\x"}',
        ),
        '{"a":' + "[" * 17 + '{"match":"deep"}' + "]" * 17 + "}",
        '{"a":' + "[" * 15 + '{"match":"deep"}' + "]" * 15 + "}",
        '{"bool":{"must":[{"match":{"a":"b"}}],"filter":[{"term":{"must":1}}],"must":[]}}',
        '{"list":[{"x":{"match":{"a":{"query":"b"}}}},{"x":1},{"list":1}],"x":[1,{"x":2}]}',
        '{"match":{"query":{"a":"b"},"z":"y"}} ',
        "{" + f'"a":{"9" * 5000}' + ',"match":"a"}',
    ]
)
slow_heads = st.sampled_from(
    [
        *(
            "[2024-03-01T10:11:12,123][WARN ][index.search.slowlog.query]",
            "[2024-03-01T10:11:12,123][INFO][i.slowlog.fetch]",
        ),
        *(
            "[2024-03-01T10:11:12,123][TRACE][slowlog.query]",
            "[2024-03-01T10:11:12,123][WARN][slowlog.query.x]",
        ),
        *(
            "[2024-03-01T10:11:12.123Z][WARN ][slowlog.query]",
            "[2024-03-01 10:11:12,123][WARN ][x.slowlog.query]",
        ),
        *(
            "[2024-13-01T10:11:12,123][WARN ][slowlog.query]",
            "[2024-03-01T10:11:12,123][W][slowlog.query]",
            "",
            "x",
        ),
        *(
            "[2024-03-01T10:11:12,123][WARN ][a.fetch.slowlog.query]",
            "[2024-03-01T10:11:12,123][WARN ][ä.slowlog.query]",
        ),
        *(
            "[2024-03-01T10:11:1]][23][WARN ][slowlog.query]",
            "[2024-03-01T10:11:12,123][WARN ][slowlog.querys]",
        ),
        "[2024-03-01T10:11:12,123 ][WARN ][slowlog.query]",
        "[2024-03-01x10:11:12,123][WARN ][slowlog.query]",
    ]
)


@calmly
@given(
    st.lists(
        st.tuples(
            slow_heads,
            st.sampled_from([" [n] [p][0] took[1s], source[", " source[", " sources[", " source[source["]),
            slow_sources,
            st.sampled_from(
                [
                    "], id[ann], ",
                    "], id[], ",
                    "], id[NULL]",
                    "], id[a",
                    "]",
                    "",
                    "], id[ä b], id[c]",
                    "], id[ ]",
                ]
            ),
        ).map("".join)
        | st.sampled_from(["", '{"type":"index_search_slowlog"}', "x"]),
        min_size=1,
        max_size=20,
    )
)
@example(["[2024-03-01x10:11:12,123][WARN ][slowlog.query] source[{}], id[ann], "])
def test_slow_logs(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch, lines: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("slow")
    good = (
        '[2024-03-01T10:11:12,123][WARN ][i.slowlog.query] source[{"query":{"match":{"a":"tea"}}}], id[ann], '
    )
    file = folder / "slow.log"
    file.write_bytes("\n".join([good, *lines, good]).encode("utf-8", "surrogatepass"))
    quick, careful = both(file, folder, monkeypatch, format="slow-log")
    assert quick == careful


def test_most_lines_of_slow_logs_are_plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = "[2024-03-01T10:11:12,123][WARN ][index.search.slowlog.query] [n] [p][0] took[1s], source["
    searches = [
        '{"query":{"match":{"title":{"query":"tea"}}},"size":10}',
        '{"query":{"bool":{"must":[{"multi_match":{"query":"\\"green\\" tea","fields":["a","b"]}}],"filter":[]}}}',
        '{"query":{"match_all":{}}}',
        '{"query":{"bool":{"should":[{"match":{"a":"x"}},{"match":{"b":"x"}}]}}}',
    ]
    lines = [f"{head}{one}], id[ann], " for one in searches]
    (tmp_path / "slow.log").write_text("\n".join([*lines, lines[0].replace("query]", "fetch]", 1)] * 9))
    seen = carefully_read(monkeypatch)
    quick, careful = both(tmp_path / "slow.log", tmp_path, monkeypatch, format="slow-log")
    assert quick == careful
    assert seen == [9]


session_ids = st.sampled_from(["0", "1", "1", "01", "", "NULL", "ä"])
yandex_lines = st.one_of(
    st.tuples(session_ids, st.just("M"), st.sampled_from(["5", "", "x", "99999", "100000", "007", "5.5", " 5"]),
              st.sampled_from(["17", "ann", "", "NULL", " ", "\u00a0"])),
    st.tuples(session_ids, st.sampled_from(["0", "9", "", "-1", "1e3", "999999999", "9999999999"]),
              st.sampled_from(["Q", "T", "C", "M"]), st.sampled_from(["0", "1", ""]), st.just("101"),
              st.sampled_from(["7,8", "", ",", "7", " ", "ä,ö"]),
              st.sampled_from(["501,51\t502,52", "502\t501,51", "", "\t", "501,51\t\t501", ",\t502"])),
    st.tuples(session_ids, st.just("9"), st.just("C"), st.sampled_from(["0", "1", "", "2"]),
              st.sampled_from(["501", "502", "", "-", "9"])),
    st.sampled_from([("",), ("x",), ("1", "M", "5"), ("1", "M", "5", "6", "7")]),
    st.sampled_from([("1", "9", "C", "0"), ("1", "0", "Q", "0", "1")]),
).map("\t".join)  # fmt: skip


@calmly
@given(st.lists(st.lists(yandex_lines, max_size=6), min_size=1, max_size=6), st.booleans(), st.integers(1, 8))
def test_yandex(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    sessions: list[list[str]],
    apart: bool,
    rows: int,
) -> None:
    """Lines of sessions together, which is what a loop can follow, or anywhere; and cut into chunks of any size."""
    folder = tmp_path_factory.mktemp("yandex")
    lines = ["0\tM\t5\t17", "0\t0\tQ\t0\t101\t7,8\t501,51"]
    for number, session in enumerate(sessions):
        lines.append(f"{number}\tM\t5\t17")
        lines += (
            session
            if apart
            else [str(number) + one[one.find("\t") :] if "\t" in one else one for one in session]
        )
    file = folder / "log.txt"
    file.write_bytes("\n".join(lines).encode())
    monkeypatch.setattr(staging, "CHUNK_ROWS", rows)
    quick, careful = both(file, folder, monkeypatch, format="yandex")
    assert quick == careful


def test_sessions_of_yandex_are_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines that are wrong by themselves need care, and nothing else does; where sessions are apart, SQL joins."""
    seen = carefully_read(monkeypatch)
    joined: list[int] = []
    stage_joined = vars(yandex)["_stage_joined"]

    def watched(*given: Any) -> Any:
        joined.append(1)
        return stage_joined(*given)

    monkeypatch.setattr(yandex, "_stage_joined", watched)
    page = "\t".join(f"{500 + place},{50 + place}" for place in range(20))
    one = ["\tM\t5\t17", f"\t0\tQ\t0\t101\t7,8\t{page}", "\t9\tC\t0\t502", "\t9\tC\t1\t502", "\tx"]
    (tmp_path / "log.txt").write_text("\n".join(f"{number}{line}" for number in range(50) for line in one))
    quick, careful = both(tmp_path / "log.txt", tmp_path, monkeypatch, format="yandex")
    assert quick == careful
    assert (sum(seen), joined) == (100, [1])
    (tmp_path / "apart.txt").write_text("\n".join(f"{number}{line}" for line in one for number in range(50)))
    quick, careful = both(tmp_path / "apart.txt", tmp_path, monkeypatch, format="yandex")
    assert quick == careful
    assert joined == [1, 1, 1]


tokens = st.sampled_from(["ann", "bob", "", " ", None, "NULL", 5, ["a"], "\u00e4", 'a"b', "\u0001"])
moments = st.sampled_from(
    [1709287872000, "2024-03-01T10:11:12Z", 1709287873, 1.5, None, "x", 17092878720000000]
)
objects = st.lists(
    st.sampled_from(["A7", "B/2", "", " ", 'c"d', "\u00e4", 5, 10**20, -1, 1.5, None, True, ["x"], {}]),
    max_size=3,
)
positions = st.lists(st.sampled_from([1, 2, 3, 10**9, 10**16, "4", None, 1.0, -1]), max_size=3)
algolia_events = st.fixed_dictionaries(
    {
        "eventType": st.sampled_from(
            ["click", "click", "conversion", "view", "impression", "", None, 5, "c\u00e4"]
        )
    },
    optional={
        "userToken": tokens,
        "authenticatedUserToken": tokens,
        "timestamp": moments,
        "queryID": st.sampled_from(["q1", "q2", None, "", 7]),
        "objectIDs": objects | st.sampled_from([None, "A7", 5, {}, [["x"]]]),
        "positions": positions | st.sampled_from([None, "1", 5, {}]),
        "other": moments | objects,
        "events": st.none() | objects,
    },
)
good_events = st.fixed_dictionaries(
    {
        "eventType": st.sampled_from(["click", "view", "conversion"]),
        "userToken": st.sampled_from(["ann", "bob"]),
        "timestamp": st.sampled_from([1709287872000, 1709287873000]),
        "objectIDs": st.lists(st.sampled_from(["A7", "B/2", 5, 'c"d']), min_size=1, max_size=3),
    },
    optional={"positions": st.lists(st.integers(1, 9), max_size=3), "queryID": st.sampled_from(["q1", "q2"])},
)
algolia_searches = st.fixed_dictionaries(
    {
        "timestamp": moments,
        "query_params": st.sampled_from(["query=tea&userToken=ann", "query=x", "", None]),
        "inner_queries": st.lists(
            st.fixed_dictionaries(
                {"query_id": st.sampled_from(["q1", "q2"])}, optional={"user_token": tokens}
            ),
            max_size=2,
        ),
    }
)
algolia_documents = st.one_of(
    good_events,
    algolia_events,
    algolia_searches,
    st.fixed_dictionaries({"events": st.lists(good_events, max_size=3)}),
)


@calmly
@given(
    st.lists(
        st.tuples(algolia_documents, st.booleans(), st.sampled_from(["", " "])).map(
            lambda one: json.dumps(one[0], ensure_ascii=one[1], separators=("," + one[2], ":" + one[2]))
        )
        | st.sampled_from(
            [
                *(
                    "",
                    "{",
                    "{}",
                    '{"eventType":"click","eventType":"view"}',
                    '{"eventType":"click","objectIDs":["a",]}',
                ),
                '{"eventType":"click","userToken":"ann","timestamp":1709287872000,"objectIDs":["a\\/b", "\\u0041" ],'
                '"positions":[ 1 ,2]}',
                '{"eventType":"click","userToken":"ann","timestamp":1709287872000,"objectIDs":["\\n"]}',
                '{"eventType":"click","userToken":"ann","timestamp":1709287872000,"objectIDs":["a"],"x":'
                + "9" * 5000
                + "}",
            ]
        ),
        min_size=1,
        max_size=15,
    ),
    st.sampled_from([None, ("click",), ("view", "click without objects"), ("impression",)]),
)
def test_algolia(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    lines: list[str],
    actions: tuple[str, ...] | None,
) -> None:
    folder = tmp_path_factory.mktemp("algolia")
    file = folder / "events.jsonl"
    file.write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    quick, careful = both(file, folder, monkeypatch, format="algolia", click_actions=actions)
    assert quick == careful


def test_most_events_of_algolia_are_plain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    event = '{"eventType":"%s","userToken":"ann","timestamp":1709287872000,"objectIDs":["A7",7],"positions":[1,2]}'
    lines = [event % "click", event % "view", event % "conversion", '{"eventType":"click","userToken":"ann"}']
    (tmp_path / "events.jsonl").write_text("\n".join(lines * 9))
    seen: list[int] = []
    translated = vars(algolia)["_translated"]

    def watched(batch: Any) -> Any:
        seen.append(len(batch))
        return translated(batch)

    monkeypatch.setattr(algolia, "_translated", watched)
    quick, careful = both(tmp_path / "events.jsonl", tmp_path, monkeypatch, format="algolia")
    assert quick == careful
    assert seen[0] == 9
    assert quick[2][0] == 36
