"""Formats of their own (Solr, slow logs, Yandex, Algolia, SQLite): plain rows by compiled loops, as all others are."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from queryveil.reading import plain_rows
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
