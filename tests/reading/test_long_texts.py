"""One long query must not hang anything: every pattern and every reader of texts takes time in proportion to length.

Time is that of the processor, so that a busy machine fails nothing, and the limits are far from both sides: what is
linear takes hundredths of a second for these texts, what is quadratic takes many seconds.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import pkgutil
import re
import signal
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import queryveil as qv
from queryveil.count.item_kinds import with_keywords
from queryveil.language import identifiers
from queryveil.reading import text
from tests.command import command
from tests.conftest import at

SECONDS = 1.5
CHARACTERS = 50_000
REPEATED = (
    *("a", "1", "@", " ", ".", "-", ":", "/", "=", "(", "+", "'", '"', "!", "é", "f", "d"),
    *("a.", "a@", "a:", "a-", "a ", "f:", "1.", "1 ", "1-", "1,", "+1", "/1", "!a", "' ", "a'", "M", "D"),
    *(
        "a@a.",
        "a:a@",
        "a://",
        "?key=",
        "www.",
        ".com",
        "aa12",
        "ab12 ",
        "(111) ",
        "1.1.1.1.",
        "a@a.a:",
        "a a ",
    ),
    *("url( ", "fetch ", "1 users", "a:a 1", "totalTF = 1 "),
)


class _TooLong(Exception):
    pass


@contextlib.contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Raise `_TooLong` after so many seconds of this process's own time."""

    def stop(*_: object) -> None:
        raise _TooLong

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def adversarial() -> Iterator[str]:
    for part in REPEATED:
        for before, after in (("", ""), ("", "~"), ("~", "\n~")):
            yield before + (part * CHARACTERS)[:CHARACTERS] + after


def is_linear(pattern: re.Pattern[Any]) -> bool:
    try:
        for one in adversarial():
            subject = one if isinstance(pattern.pattern, str) else one.encode()
            with limited(SECONDS):
                for _ in pattern.finditer(subject):
                    pass
    except _TooLong:
        return False
    return True


def patterns() -> dict[str, re.Pattern[Any]]:
    """Every compiled pattern that a module of the library holds, also inside its values."""
    found: dict[str, re.Pattern[Any]] = {}
    for module in pkgutil.walk_packages(qv.__path__, "queryveil."):
        if module.name.endswith("__main__"):
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            several = value if isinstance(value, tuple | list) else (value,)
            for number, one in enumerate(several):
                held = [one]
                if dataclasses.is_dataclass(one) and not isinstance(one, type):
                    held = [getattr(one, field.name) for field in dataclasses.fields(one)]
                found |= {
                    f"{module.name}.{name}[{number}]": each for each in held if isinstance(each, re.Pattern)
                }
    return found


PATTERNS = patterns()


def test_patterns_are_found() -> None:
    for name in ("identifiers._EMAIL[0]", "identifiers._NATIONAL_IDS[3]", "concepts.phrases._PHRASE[0]"):
        assert f"queryveil.language.{name}" in PATTERNS


@pytest.mark.parametrize("name", PATTERNS)
def test_every_pattern_is_linear(name: str) -> None:
    assert is_linear(PATTERNS[name])


@pytest.mark.parametrize("broken", [r"[\w.+%-]+@\w", r"!+\Z"])
def test_a_quadratic_pattern_is_noticed(broken: str) -> None:
    assert not is_linear(re.compile(broken))


# -- the patterns mean what they did ------------------------------------------------------------------------

EMAIL = re.compile(r"[\w.+%-]+@(?:[\w-]+\.)+[^\W\d_]{2,}")
LOGIN = re.compile(
    r"(?:[a-z][a-z0-9+.-]*://)?[^\s:/@\0]+:[^\s/@\0]+@[\w-]+(?:\.[\w-]+)*(?:[:/?][^\s\0]*)?", re.IGNORECASE
)
"""What is looked for, written down in the shortest way: it takes the square of the length."""

parts = st.sampled_from(["a", "bc", "com", "1", ":", "@", ".", "/", "://", " ", "-", "?", "\0", "é"])
made_up = st.lists(parts, max_size=14).map("".join)


@given(made_up)
def test_the_same_mail_addresses_are_found(query: str) -> None:
    assert list(identifiers._find_emails(query, ())) == [one.span() for one in EMAIL.finditer(query)]


@given(made_up)
def test_the_same_logins_are_found(query: str) -> None:
    assert list(identifiers._find_logins(query, ())) == [one.span() for one in LOGIN.finditer(query)]


accents = st.text(st.sampled_from("aé\u0316\u0301\u0345\u0f73\u0344\u1100\u1161ßﬁ "), max_size=40)


@given(accents)
def test_a_long_text_has_the_normal_form_of_its_parts(query: str) -> None:
    long = f"{query} " * (1_100 // (len(query) + 1) + 1)
    assert text._normalize_unicode(long) == unicodedata.normalize("NFKC", long)


# -- a long query -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", [*REPEATED, "\u0316\u0301", "\u0345\u0301\u0316", "´", "201-555-0123 "])
def test_a_long_query_is_read_in_time(part: str) -> None:
    query = "a" + (part * CHARACTERS)[:CHARACTERS] + "a"
    with limited(SECONDS):
        normal = qv.normalise(query)
        text.keywords(normal)
        qv.find_identifiers(normal)
        qv.find_identifiers(normal[: identifiers.LONGEST_TEXT])
        qv.scrub_identifiers(normal)
        qv.detect_entities(query)


def test_a_long_text_is_an_identifier_as_a_whole() -> None:
    longest = "a " * (identifiers.LONGEST_TEXT // 2)
    assert qv.find_identifiers(longest) == []
    assert qv.find_identifiers(longest + "a") == [qv.Identifier(0, len(longest) + 1, "long-text")]
    assert qv.scrub_identifiers(longest + "ann.lee@example.com") == "<long-text>"


def long_queries(characters: int = CHARACTERS) -> pa.Table:
    texts = ["a", "A ", "a.", "1 ", "''", "!!", "a@", "karen walsh ", "é "]
    queries = ["plain"] + [f"b{(one * characters)[:characters]}b" for one in texts]
    times = [at(minute) for minute in range(len(queries))]
    return pa.table({"user": [f"u{n}" for n in range(len(queries))], "time": times, "query": queries})


def test_long_queries_are_inspected_scrubbed_and_read_in_time(tmp_path: Path) -> None:
    log, release = tmp_path / "log.parquet", tmp_path / "release"
    pq.write_table(long_queries(), log)
    asked = (
        ["inspect", str(log)],
        [
            "publish",
            str(log),
            *["--method", "ad-hoc", "--steps", "scrub,delete-users", "--i-understand", "--out"],
            str(release),
        ],
        ["attack", "exposure", str(log), str(release)],
    )
    for one in asked:
        with limited(60):
            outcome = command(*one)
        assert outcome.code == 0, outcome.err
    published = pq.read_table(release / "log.parquet")["query"].to_pylist()
    assert sorted(published) == ["<long-text>"] * 9 + ["plain"]


def test_engines_agree_on_long_queries(spark: Any) -> None:
    found = []
    ways: tuple[dict[str, Any], ...] = ({}, {"engine": spark})
    for options in ways:
        # Long enough for Java, which goes one call deeper for each repetition of a group.
        log = qv.read(long_queries(CHARACTERS // 2), **options)
        words = with_keywords(log.table)
        counted = words.group_by("user").aggregate(
            words=words.count(), longest=words["keyword"].length().max()
        )
        searched = log.table.filter(identifiers.may_have_identifier(log.table["query"])).select("user")
        found.append([log.engine.arrow(one).sort_by("user").to_pylist() for one in (counted, searched)])
    assert found[0] == found[1]
