"""What is on a terminal at the end: the lines that were printed, and nothing of the signs of life between them."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys

import pytest

SCRIPT = """
import time
from queryveil.show.cli import console
with console.{live}("counting"):
    time.sleep(0.3)
    console.labelled("read", "2,015,000 rows")
    time.sleep(0.3)
    console.warn("careful", "look")
    console.line("last")
    time.sleep(0.2)
console.line("after")
"""


def screen(text: str) -> list[str]:
    """The lines that a terminal shows: it obeys returns, moves upwards and erasures."""
    rows, at, column = [""], 0, 0
    for part in re.findall(r"\x1b\[[?0-9;]*[A-Za-z]|\r|\n|[^\x1b\r\n]+", text):
        if part == "\r":
            column = 0
        elif part == "\n":
            at += 1
            rows += [""] * (at + 1 - len(rows))
        elif part.startswith("\x1b"):
            number, kind = part[2:-1], part[-1]
            if kind == "A":
                at = max(0, at - int(number or 1))
            elif kind == "K":
                rows[at] = "" if number == "2" else rows[at][:column]
        else:
            rows[at] = rows[at][:column].ljust(column) + part + rows[at][column + len(part) :]
            column += len(part)
    return [row.rstrip() for row in rows]


def on_a_terminal(script: str, **environment: str) -> str:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"} | environment,
    )
    os.close(theirs)
    seen = b""
    while True:
        try:
            more = os.read(ours, 4096)
        except OSError:  # the other end is closed
            break
        if not more:
            break
        seen += more
    os.close(ours)
    assert process.wait(timeout=60) == 0
    return seen.decode()


@pytest.mark.parametrize("live", ["waiting", "progress"])
def test_a_sign_of_life_leaves_nothing_on_the_terminal(live: str) -> None:
    seen = on_a_terminal(SCRIPT.format(live=live))
    assert "counting" in seen, "nothing is tested if there is no sign of life"
    lines = [line for line in screen(seen) if line]
    assert lines == ["  read      2,015,000 rows", "Warning: careful; look.", "last", "after"]


def test_the_terminal_above_shows_debris() -> None:
    """The same without care: a line that is printed into a sign of life."""
    assert screen("* counting  read  2,015,000 rows\r\n") != ["  read  2,015,000 rows", ""]
    assert screen("counting\r\x1b[2Kread\r\n") == ["read", ""]


# -- colours -------------------------------------------------------------------------------------------------

COLOURED = """
from queryveil.show.cli import console
console.labelled("ok", "all is well")
console.labelled("FAILED", "something is not ok")
console.labelled("Warning", "look twice")
console.labelled("read", "3 rows")
console.warn("careful", "look")
"""
PLAIN = [
    "  ok        all is well",
    "  FAILED    something is not ok",
    "  Warning   look twice",
    "  read      3 rows",
    "Warning: careful; look.",
]


def lines(text: str) -> list[str]:
    return [line for line in text.replace("\r", "").split("\n") if line]


def test_colours_say_nothing_that_words_do_not() -> None:
    seen = lines(on_a_terminal(COLOURED))
    green, red, yellow = "\x1b[32m", "\x1b[31m", "\x1b[33m"
    assert [
        colour in line for colour, line in zip((green, red, yellow, "\x1b", yellow), seen, strict=True)
    ] == [
        True,
        True,
        True,
        False,
        True,
    ]
    assert [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in seen] == PLAIN


@pytest.mark.parametrize("without", [{"NO_COLOR": "1"}, {"TERM": "dumb"}], ids=str)
def test_who_wants_no_colour_gets_none(without: dict[str, str]) -> None:
    assert lines(on_a_terminal(COLOURED, **without)) == PLAIN


def test_what_is_no_terminal_gets_no_colour() -> None:
    done = subprocess.run([sys.executable, "-c", COLOURED], capture_output=True, text=True, check=True)
    assert lines(done.stdout + done.stderr) == PLAIN
