"""Plain lines are read by compiled loops and all others by SQL: nobody may be able to tell by which."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from queryveil.reading import plain_rows, text_places
from queryveil.reading.formats.access_quickly import QuickRequests
from tests.reading.formats.test_plain_rows import clocks, outcome, queries, ranks, urls, users

CORPUS = Path(__file__).parents[2] / "data" / "sources"
calmly = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def both(file: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, **options: Any) -> tuple[Any, Any]:
    found = []
    for name, least in (("quick", 0), ("careful", 1 << 60)):
        with monkeypatch.context() as patched:
            patched.setattr(text_places, "WORTH_COMPILING", least)
            found.append(outcome(file, folder / name, **options))
    return found[0], found[1]


values = (
    users
    | queries
    | clocks
    | ranks
    | urls
    | st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False)
    | st.sampled_from(
        [[], ["a"], {}, {"index": 3}, {"a": [1, {"b": None}]}, "\u0000", "\ud83d\ude00", 'a"b\\', 1e400]
    )
)
"""Anything that may stand where a value is looked for."""


def written(row: dict[str, Any], plainly: bool, gap: str) -> str:
    return json.dumps(row, ensure_ascii=plainly, separators=("," + gap, ":" + gap))


broken = st.sampled_from(
    [
        "",
        " ",
        "{",
        "{}",
        "[]",
        "null",
        '{"user":"a"}',
        '{"user":"a","query":"b","time":1141207872,}',
        '{"user":"a","query":"b","time":1141207872} ',
        ' {"user":"a","query":"b","time":1141207872}',
        '{"user":"a","query":"b","time":1141207872}}',
        '{"user":"a","query":"b","time":01141207872}',
        '{"user":"a","query":"b","time":1141207872.}',
        '{"user":"a","query":"b","time":+1141207872}',
        '{"user":"a","query":"b","time":1141207872.5}',
        '{"user":"a","query":"b","time":1141207872,"rank":1e2}',
        '{"user":"a","query":"b","time":1141207872,"rank":-0}',
        '{"user":"a","user":"c","query":"b","time":1141207872}',
        '{"user":"a","user_id":"c","query":"b","q":7,"time":1141207872}',
        '{"user":null,"user_id":"c","query":null,"q":"x","time":1141207872}',
        '{"user":"a","query":"b","time":1141207872,"more":[1,2,]}',
        '{"user":"a","query":"b","time":1141207872,"more":[{"user":"z"},[[]]],"x":{"query":{}}}',
        '{"user":"a","query":"b","time":1141207872,"more":' + "[" * 20 + "]" * 20 + "}",
        '{"user":"a","query":"b","time":1141207872,"more":tru}',
        '{"user":"a","query":"b","time":1141207872,"more":nul}',
        '{"user":"a","query":"b" "time":1141207872}',
        '{"user" :\t"a" , "query": "b","time":1141207872\t}',
        "{'user':'a'}",
        '{"user":"a","query":"tab\tinside","time":1141207872}',
        '{"user":"a","query":"b","time":1141207872} {"user":"a"}',
        '{"\\u0075ser":"a","query":"b","time":1141207872}',
        '{"user":"a","query":"\\ud800","time":1141207872}',
        *(
            f'{{"user":"a","query":"b {escape} c","time":1141207872,"other":"{escape}"}}'
            for escape in (
                *(
                    "\\/",
                    '\\"',
                    "\\\\",
                    "\\n",
                    "\\t",
                    "\\b",
                    "\\x",
                    "\\u0000",
                    "\\u001f",
                    "\\u0041",
                    "\\u00e4",
                ),
                *(
                    "\\u20AC",
                    "\\u3000",
                    "\\ud83d\\ude00",
                    "\\ude00\\ud83d",
                    "\\ud83dx",
                    "\\u12G4",
                    "\\u12",
                    "\\U0041",
                ),
            )
        ),
        '{"user":"\\u00e4","query":"a","time":"2006-03-01\\u002010:11:12","rank":"\\u0033","url":"http:\\/\\/a"}',
        '{"":1,"user":"a","query":"b","time":1141207872}',
    ]
)


@calmly
@given(
    st.lists(
        st.fixed_dictionaries(
            {"user": users | values, "time": clocks | values, "query": queries | values},
            optional={
                "rank": ranks | values,
                "url": urls | values,
                "session": values,
                "user_id": values,
                "other": values,
            },
        ),
        min_size=1,
        max_size=12,
    ),
    st.lists(broken, max_size=4),
    st.booleans(),
    st.sampled_from(["", " "]),
)
def test_json_lines(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    rows: list[dict[str, Any]],
    odd: list[str],
    plainly: bool,
    gap: str,
) -> None:
    folder = tmp_path_factory.mktemp("json")
    good = {"user": "17", "time": "2006-03-01 10:11:12", "query": "tea", "rank": 1}
    texts = [written(one, plainly, gap) for one in [good, *rows, good]]
    file = folder / "log.jsonl"
    file.write_bytes("\n".join([*texts, *odd, texts[0]]).encode("utf-8", "surrogatepass"))
    quick, careful = both(file, folder, monkeypatch, format="jsonl")
    assert quick == careful


@pytest.mark.parametrize(
    "columns", [{"user": "a.b", "query": "c", "time": "t"}, {"user": "l.0", "query": "l.1"}]
)
def test_paths_of_keys(columns: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [
        '{"a":{"b":"ann"},"c":"tea","t":1141207872,"l":["x","y"]}',
        '{"a.b":"bob","c":"tea","t":1141207872,"l":{"0":"z","1":"w"}}',
        '{"a":{"b":{"c":1}},"c":"tea","t":1141207872}',
        '{"a":{"x":1},"a.b":"cleo","c":"tea","t":1141207872,"l.0":"v","l.1":"u"}',
        '{"a":{"b":"dan"},"a":{"b":"eve"},"c":"tea","t":1141207872}',
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(lines))
    quick, careful = both(tmp_path / "log.jsonl", tmp_path, monkeypatch, columns=columns)
    assert quick == careful


addresses = st.sampled_from(
    ["192.0.2.7", "2001:db8::1", "host:80 192.0.2.8", "host:80", "-", "", "a b", "NULL"]
)
stamps = st.sampled_from(
    [
        *("04/Mar/2006:15:39:22 +0000", "29/Feb/2004:23:59:59 +0130", "29/Feb/2006:00:00:00 +0000"),
        *("04/mar/2006:15:39:22 +0000", "4/Mar/2006:15:39:22 +0000", "04/Mar/2006:24:39:22 +0000"),
        *(
            "31/Dec/9999:23:59:59 -0100",
            "01/Jan/1000:00:00:00 +0100",
            "04/Mar/2006:15:39:22 +9900",
            "1141207872",
        ),
        *(
            "04/Mar/2006:15:39:22 -0800",
            "04/Mar/2006:15:39:22",
            "2006-03-04T15:39:22Z",
            "",
            "04/Mar/2006:15:39:60 +0000",
        ),
        *("31/Dec/2000:23:59:59 -1400", "01/Mar/1900:00:00:00 +0000", "04/Mar/2006:15:39:2x +0000"),
    ]
)
targets = st.sampled_from(
    [
        *(
            "/search?q=tea",
            "/search?q=a+b%20c&x=1",
            "/search?x=1&q=%C3%A4",
            "/search?q=%E3%83%84",
            "/search?q=%f0%9f%98%80",
        ),
        *(
            f"/search?q={edge}"
            for edge in (
                *("%E0%A4%B9", "%E0%9F%80", "%ED%95%9C", "%ED%A0%80", "%F0%8F%80%80", "%F0%90%80%80"),
                *(
                    "%F4%8F%80%80",
                    "%F4%90%80%80",
                    "%C1%81",
                    "%E4%B8",
                    "%F5%80%80%80",
                    "%E1%80%C0",
                    "%EF%BB%BF",
                ),
            )
        ),
        *(
            "/?q=",
            "/?q",
            "/?qq=1",
            "/?xq=1",
            "/a&q=1",
            "/?q=a#b",
            "/?q=%",
            "/?q=%4",
            "/?q=%zz",
            "/?q=%00",
            "/?q=%0A",
        ),
        *(
            "/?q=%ff",
            "/?q=%c3",
            "/?q=%ed%a0%80",
            "/?q=%e0%80%80",
            "/?q=%C3a",
            "/?query=x&q=y",
            "/?q=a b",
            "/?q=\\xE4",
        ),
        *(
            "/?q=\\xC3\\xA4",
            '/?q=\\"x',
            "/",
            "http://a.example/?q=z",
            "/?q=%2B+",
            "/?q=ä",
            "/?q=+",
            "*",
            "/?q=a&q=b",
        ),
    ]
)
requests = st.tuples(
    addresses,
    st.sampled_from(["-", "ann", "a b", ""]),
    stamps,
    st.sampled_from(
        [
            *("GET {} HTTP/1.1", "POST {}", "HEAD {} HTTP/1.0", "get {} HTTP/1.1", "GET {} HTTP/", "{}"),
            "GET {} HTTP/1.1x",
        ]
    ),
    targets,
    st.sampled_from(["200", "304", "301", "404", "500", "-", "20", "2000"]),
    st.sampled_from(
        [
            *('5 "-" "Mozilla/5.0"', "5", '- "-" "-"', '5 "r" ""', '5 "-"', '5 "a\\"b" "c"', '5 "-" "M" 0.1'),
            *("", '5  "-" "M"', '5 "-" "M'),
        ]
    ),
)


@calmly
@given(
    st.lists(requests, min_size=1, max_size=20),
    st.lists(
        st.sampled_from(["", "x", "{}", "\t", '192.0.2.1 - - ["', '192.0.2.1 - - [] "" 200 5']), max_size=3
    ),
    st.sampled_from(["ip-and-agent", "ip", "remote-user"]),
    st.sampled_from([("q",), ("query", "q"), ("q", "qq")]),
)
def test_access_logs(
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    rows: list[tuple[str, ...]],
    odd: list[str],
    user: str,
    parameters: tuple[str, ...],
) -> None:
    folder = tmp_path_factory.mktemp("access")
    good = (
        "192.0.2.7",
        "ann",
        "04/Mar/2006:15:39:22 +0000",
        "GET {} HTTP/1.1",
        "/?q=tea",
        "200",
        '5 "-" "M"',
    )
    texts = [
        f'{ip} - {name} [{stamp}] "{request.format(target)}" {status} {rest}'
        for ip, name, stamp, request, target, status, rest in [good, *rows, good]
    ]
    file = folder / "access.log"
    file.write_bytes("\n".join([*texts, *odd, texts[0]]).encode())
    quick, careful = both(
        file, folder, monkeypatch, format="access-log", query_parameter=parameters, user_field=user
    )
    assert quick == careful


@pytest.mark.parametrize("file", sorted(CORPUS.glob("*")), ids=lambda file: file.name)
def test_the_corpus(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"query_parameter": ("q",)} if file.name.startswith("access-") else {}
    quick, careful = both(file, tmp_path, monkeypatch, **options)
    assert quick == careful


def test_plain_lines_are_read_by_the_loops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQL sees the one odd line of each file, and not the hundred others."""
    seen: list[int] = []

    def counted(carefully: Any) -> Any:
        def rest_of(rest: Any) -> Any:
            seen.append(len(rest))
            return carefully(rest)

        return rest_of

    def watched(asked: Any) -> Any:
        def rows(self: Any, chunk: Any, carefully: Any) -> Any:
            return asked(self, chunk, counted(carefully))

        return rows

    asked = plain_rows.quickly

    def quickly(chunk: Any, columns: Any, sure: Any, carefully: Any, compiled: bool = False) -> Any:
        return asked(chunk, columns, sure, counted(carefully), compiled)

    monkeypatch.setattr(QuickRequests, "rows", watched(QuickRequests.rows))
    monkeypatch.setattr(plain_rows, "quickly", quickly)
    monkeypatch.setattr(text_places, "WORTH_COMPILING", 0)
    lines = {
        "access-log": '192.0.2.7 - - [04/Mar/2006:15:39:22 +0000] "GET /?q=a+%C3%A4 HTTP/1.1" 200 5 "-" "M"',
        "jsonl": '{"user_id": "ann", "q": "tea", "timestamp": 1141207872, "rank": 3, "other": [{"a": 1.5}]}',
    }
    for name, text in lines.items():
        (tmp_path / name).write_text("\n".join([text] * 50 + ["odd"] + [text] * 50))
        more = {"query_parameter": ("q",)} if name == "access-log" else {}
        _, _, counts, *_ = outcome(tmp_path / name, tmp_path / f"{name}-read", format=name, **more)
        assert (counts[0], counts[1], seen.pop()) == (100, 1, 1), name
