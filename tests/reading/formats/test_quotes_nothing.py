"""No message shows what a row says, wherever in the first rows it stands and whatever was asked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from queryveil.errors import InputError, QueryveilError
from tests.command import command
from tests.reading.formats.logs import read, write

TYPED = "pregnant-at-forty"
WIDTH = 3
GOOD = ["u1", "2006-03-01 12:00:00", "roses"]


def delimited(delimiter: str, first: list[str], header: str | None = None) -> str:
    lines = [] if header is None else [header]
    return "\n".join([*lines, delimiter.join(first), *[delimiter.join(GOOD)] * 3]) + "\n"


def planted(at: int, before: str = "", after: str = "") -> list[str]:
    return [f"{before}{TYPED}{after}" if n == at else GOOD[n] for n in range(WIDTH)]


def contents() -> dict[str, str]:
    """File name -> text of a log that has the secret somewhere in its first row."""
    made: dict[str, str] = {}
    for at in range(WIDTH):
        made[f"tabs-{at}.tsv"] = delimited("\t", planted(at))
        made[f"alone-{at}.tsv"] = "\t".join(planted(at)) + "\n"
        made[f"tabs-{at}.txt"] = delimited("\t", planted(at))
        made[f"commas-{at}.csv"] = delimited(",", planted(at))
        made[f"semicolons-{at}.csv"] = delimited(";", planted(at))
        made[f"quoted-{at}.csv"] = delimited(",", planted(at, '"'))
        made[f"binary-{at}.tsv"] = delimited("\t", planted(at, after="\0"))
        made[f"below-{at}.tsv"] = delimited("\t", planted(at), "user\tday\ttext")
        row = dict(zip(("user", "time", "text"), planted(at), strict=True))
        good = json.dumps(dict(zip(("user", "time", "text"), GOOD, strict=True)))
        made[f"values-{at}.jsonl"] = "\n".join([json.dumps(row), good, good]) + "\n"
        made[f"one-{at}.json"] = json.dumps(row) + "\n"
        names = [TYPED if n == at else name for n, name in enumerate(("user", "time", "text"))]
        keyed = json.dumps(dict(zip(names, GOOD, strict=True)))
        made[f"keys-{at}.jsonl"] = "\n".join([keyed, good, good]) + "\n"
        made[f"key-{at}.jsonl"] = keyed + "\n"
        made[f"broken-{at}.jsonl"] = "\n".join([json.dumps(row)[:-1], good, good]) + "\n"
    made["words.txt"] = f"{TYPED} without any column\n"
    made["aol.txt"] = f"AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n1\t{TYPED}\tnoon\t{TYPED}\tx\n"
    return made


OPTIONS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "header": {"header": True},
    "no header": {"header": False},
    "names": {"columns": {"user": "who", "query": "what"}},
    "known names": {"columns": {"user": "user", "query": "what", "time": "time"}},
    "names and a header": {"columns": {"user": "who", "query": "what"}, "header": True},
    "numbers": {"columns": {"user": 1, "time": 2, "query": 3}},
    "numbers and a header": {"columns": {"user": 1, "time": 2, "query": 3}, "header": True},
    "far numbers": {"columns": {"user": 1, "query": 9}},
    "semicolons": {"delimiter": ";", "columns": {"user": 1, "time": 2, "query": 3}},
    "a time format": {"time_format": "%Y", "columns": {"user": 1, "time": 2, "query": 3}},
    "as tsv": {"format": "tsv", "header": True},
    "as csv": {"format": "csv", "header": True},
    "as aol": {"format": "aol"},
    "as jsonl": {"format": "jsonl"},
    "as parquet": {"format": "parquet"},
    "clicks": {"columns": {"user": "user", "query": "text", "url": "link", "rank": "place"}},
}


def typed(options: dict[str, Any]) -> list[str]:
    """The options as they are typed."""
    words: list[str] = []
    for name, value in options.items():
        if name == "header":
            words.append("--header" if value else "--no-header")
        elif name == "columns":
            words += ["--columns", ",".join(f"{column}={at}" for column, at in value.items())]
        else:
            words += [f"--{name.replace('_', '-')}", str(value)]
    return words


@pytest.mark.parametrize("options", OPTIONS)
def test_no_message_quotes_a_row(options: str, tmp_path: Path) -> None:
    said: set[str] = set()
    for number, (name, text) in enumerate(contents().items()):
        log = write(tmp_path / name, text)
        chosen = OPTIONS[options] | {"max_rejected": float(number % 3 == 0)}
        try:
            staged = read(log, tmp_path / f"into-{name}", **chosen)
        except QueryveilError as error:
            assert TYPED not in str(error), name
            # The command line adds nothing to an error, whichever it is: each way to fail is shown once.
            way = str(error).replace(name, "").rstrip("0123456789")[:60]
            if way in said:
                continue
            said.add(way)
            shown = command("inspect", str(log), *typed(chosen))
            assert shown.code in (2, 3) and TYPED not in shown.out + shown.err, name
        else:
            assert TYPED not in repr(staged), name
    assert said


def test_a_first_row_taken_for_a_header_is_not_shown(tmp_path: Path) -> None:
    log = write(tmp_path / "x.tsv", f"ann\t{TYPED}\n")
    with pytest.raises(InputError, match="user and the query") as caught:
        read(log, tmp_path / "into", header=True)
    assert TYPED not in str(caught.value) and "ann" not in str(caught.value)


def test_usual_names_are_shown_since_they_are_our_own(tmp_path: Path) -> None:
    log = write(tmp_path / "x.tsv", f"UserID\tts\t{TYPED}\n1\t2\t3\n")
    with pytest.raises(
        InputError, match="no column 'q' among the 3 fields of its first line; it has userid, ts"
    ) as caught:
        read(log, tmp_path / "into", columns={"user": "UserID", "query": "q"})
    assert TYPED not in str(caught.value)


def test_a_missing_key_is_named_with_the_keys_that_rows_share(tmp_path: Path) -> None:
    rows = [{"who": f"u{n}", "typed": {"text": "q"}, f"{TYPED}": n} for n in range(1)]
    rows += [{"who": f"u{n}", "typed": {"text": "q"}, f"key-{n}": n} for n in range(5)]
    log = write(tmp_path / "x.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(InputError) as caught:
        read(log, tmp_path / "into", columns={"user": "who", "query": "typo"})
    assert "there is no 'typo' in the first rows; the first rows have typed.text, who (" in caught.value.hint
    with pytest.raises(InputError) as caught:
        read(log, tmp_path / "into", columns={"user": "whom", "query": "typed.text"})
    assert "say where the user is" in caught.value.hint and "no 'whom'" in caught.value.hint
    with pytest.raises(InputError) as caught:
        read(log, tmp_path / "into", columns={"user": "who", "query": "typed.text", "url": "typo"})
    assert "no row of 'x.jsonl' has a value at 'typo'" in caught.value.message
    assert "typed.text, who" in caught.value.hint


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("a;b;c\nd;e\nf;g;h;i\n", {"columns": {"user": 1, "query": 2}}, "semicolons .*delimiter=';'"),
        ("a|b\nd|e\n", {"header": True}, r"bars .*delimiter='\|'"),
        ("a\tb\nd\te\n", {}, r"tabs .*delimiter='\\t'"),
        ("user;text\nd;e\n", {"columns": {"user": "user", "query": "query"}}, "no column 'query'"),
    ],
)
def test_one_column_points_to_the_delimiter(
    text: str, options: dict[str, Any], says: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=says) as caught:
        read(write(tmp_path / "x.csv", text), tmp_path / "into", **options)
    assert "1 columns" not in str(caught.value)


def test_one_column_is_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has 1 column, so there is no column 2; correct columns"):
        read(write(tmp_path / "x.tsv", "words\n"), tmp_path / "into", columns={"user": 1, "query": 2})


@pytest.mark.parametrize("header", ["user\tquery\tUser", "user\tquery\tuser"])
def test_a_header_with_a_name_twice_is_refused(header: str, tmp_path: Path) -> None:
    log = write(tmp_path / "x.tsv", f"{header}\na\tq\tb\n")
    with pytest.raises(InputError, match="more than one column 'user'"):
        read(log, tmp_path / "into")
    staged = read(log, tmp_path / "by-number", columns={"user": 3, "query": 2}, header=True)
    assert staged.rows == 1
