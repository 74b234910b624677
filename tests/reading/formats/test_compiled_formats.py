"""Formats of their own (Solr, slow logs, Yandex, Algolia, SQLite): plain rows by compiled loops, as all others are."""

from __future__ import annotations

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
