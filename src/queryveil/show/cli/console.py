"""What goes to the terminal: one JSON document on standard output, or words; progress on standard error."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.status import Status

from queryveil.errors import Argument, Command, QueryveilError, is_placeholder, render, render_all

_LABEL = 12
_COLOURS = {
    "ok": "green",
    "pass": "green",
    "warning": "yellow",
    "unchecked": "yellow",
    "failed": "red",
    "fail": "red",
    "error": "red",
}
"""The colour of a label that says how something went. The word says it too: no colour means anything alone."""

_signs: list[Status | Progress] = []
"""The sign of life that is on the terminal just now."""


def as_json(document: Any) -> None:
    """The one document of `--json`, in ASCII: it is the same in every locale."""
    line(json.dumps(render_all(document, as_option), allow_nan=False, default=str))


def line(text: str = "", *, label: str = "") -> None:
    """One line on standard output, its label in the colour of what it says."""
    text = printable(text)
    _print_stdout(text.replace(label, coloured(label), 1) if label else text)


def title(text: str) -> None:
    """A line that stands out on a terminal."""
    _print_stdout(heading(printable(text)))


def _print_stdout(text: str) -> None:
    """A reader that went away (`| head`) does not stop the work."""
    try:
        _print_line(text)
    except BrokenPipeError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def _print_line(text: str, *, err: bool = False) -> None:
    """Print a line where no sign of life stands: it is taken away before and comes back below."""
    for sign in _signs:
        sign.stop()
    try:
        typer.echo(text, err=err)
    finally:
        for sign in _signs:
            sign.start()


@contextlib.contextmanager
def _show_spinner(sign: Status | Progress) -> Iterator[None]:
    _signs.append(sign)
    try:
        with sign:
            yield
    finally:
        _signs.remove(sign)


def printable(text: str) -> str:
    """Text from a log or a path, without what a terminal would obey."""
    return text if text.isprintable() else "".join(one if one.isprintable() else "?" for one in text)


def labelled(label: str, text: str) -> None:
    """A label and a text that wraps beside it, in the vocabulary of the command line."""
    for number, one in enumerate(_wrap_words(render(text, as_option).split(), 0)):
        shown = label if number == 0 else ""
        line(f"  {shown:<{_LABEL - 2}}{one}", label=shown)


def paragraph(text: str) -> None:
    """Sentences that wrap, a little to the right."""
    for one in _wrap_words(text.split(), 0):
        line(f"   {one}")


def typed(label: str, command: str) -> None:
    """A label and a command that a shell takes as it stands: it breaks between words only, with a \\ before."""
    rows = _wrap_words([shlex.quote(word) for word in shlex.split(command)], 2)
    for number, one in enumerate(rows):
        more = " \\" if number + 1 < len(rows) else ""
        line(f"  {label if number == 0 else '':<{_LABEL - 2}}{one}{more}")


def _wrap_words(words: Sequence[str], spare: int) -> list[str]:
    width = max(40, min(Console().width, 100)) - _LABEL - 2 - spare
    row, rows = "", []
    for word in words:
        if row and len(row) + len(word) + 1 > width:
            rows.append(row)
            row = word
        else:
            row = f"{row} {word}" if row else word
    return [*rows, row]


def table(rows: Sequence[tuple[str, ...]], *, right: tuple[int, ...] = ()) -> None:
    """Columns of plain text; `right` names those that are numbers."""
    widths = [max(len(row[at]) for row in rows) for at in range(len(rows[0]))]
    for row in rows:
        cells = [
            f"{cell:>{width}}" if at in right else f"{cell:<{width}}"
            for at, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        line(("  " + "   ".join(cells)).rstrip())


def heading(text: str) -> str:
    """A heading, which stands out on a terminal."""
    return typer.style(text, bold=True) if _takes_colour(sys.stdout) else text


def coloured(label: str, *, err: bool = False) -> str:
    """A label in the colour of what it says, on a terminal that takes colours."""
    colour = _COLOURS.get(label.lower().rstrip(":"))
    plain = colour is None or not _takes_colour(sys.stderr if err else sys.stdout)
    return label if plain else typer.style(label, fg=colour, bold=True)


def _takes_colour(stream: Any) -> bool:
    """Whether colours are wanted there: a terminal, and nobody said NO_COLOR (https://no-color.org)."""
    return bool(
        stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM", "dumb") != "dumb"
    )


def warn(message: str, hint: str) -> None:
    """One sentence, or one JSON document, on standard error; the work goes on."""
    if "--json" in sys.argv:
        _print_line(json.dumps({"warning": {"message": message, "hint": hint}}), err=True)
    else:
        _print_line(_error_sentence("Warning:", message, hint), err=True)


def fail(error: QueryveilError) -> None:
    said = error.as_dict(as_option)
    fail_with(error.kind, said["message"], said["hint"], said)


def as_option(reference: Argument | Command) -> str:
    """Name a parameter or a command of a message as the command line does."""
    if isinstance(reference, Command):
        return reference.line
    name = reference.option or reference.name.replace("_", "-")
    option = name if name.startswith("-") else f"--{name}"
    if reference.value is None or reference.value is True:
        return option
    return f"{option} {_command_line_value(reference.value)}"


def _command_line_value(value: Any) -> str:
    """A value as it is typed after an option: lists with commas, texts by name with an equals sign."""
    if isinstance(value, dict):
        text = ",".join(
            f"{name}={','.join(map(str, one)) if isinstance(one, list) else one}"
            for name, one in value.items()
        )
    else:
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
    if not text.isprintable():
        text = text.encode("unicode_escape").decode("ascii")
    return text if is_placeholder(text) else shlex.quote(text)


def fail_with(kind: str, message: str, hint: str, more: Mapping[str, Any] | None = None) -> None:
    """One sentence, or one JSON document, on standard error."""
    if "--json" in sys.argv:
        said = json.dumps({"error": {**(more or {}), "kind": kind, "message": message, "hint": hint}})
    else:
        said = _error_sentence("Error:", message, hint)
    # The exit code tells the same, also where standard error is full or closed.
    with contextlib.suppress(OSError):
        typer.echo(said, err=True)


def _error_sentence(label: str, message: str, hint: str) -> str:
    """A sentence with its way out; one that asks ends with its question mark."""
    text = printable(f"{message}{'; ' + hint if hint else ''}")
    return f"{coloured(label, err=True)} {text}{'' if text.endswith('?') else '.'}"


@contextlib.contextmanager
def progress(what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A progress bar on standard error if that is a terminal, otherwise nothing."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (TextColumn("  {task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    with _show_spinner(bar):
        task = bar.add_task(what, total=None)

        def step(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total)

        yield step


@contextlib.contextmanager
def waiting(what: str) -> Iterator[None]:
    """A sign of life on standard error while an engine works."""
    if not sys.stderr.isatty():
        yield
        return
    with _show_spinner(Console(stderr=True).status(what)):
        yield
