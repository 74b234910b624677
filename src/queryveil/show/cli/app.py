"""The commands together, and the one place where errors become sentences and exit codes."""

from __future__ import annotations

import contextlib
import errno
import io
import logging
import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Annotated, Any, NoReturn

import typer

from queryveil.errors import QueryveilError
from queryveil.files import interruptions, memory, workspace
from queryveil.show.cli import commands, console, usage
from queryveil.show.cli.help import App

INTERRUPTED = 130
INTERNAL = 70
_HARMLESS = {"-h", "--help", "--version"}
"""What needs no memory to speak of."""

app = App(
    name="queryveil",
    cls=commands.Lazy,
    help="Publish search logs without exposing the people in them.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
commands.add_to(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib import metadata

        typer.echo(f"queryveil {metadata.version('queryveil')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Publish search logs without exposing the people in them.

    See the risk of a log, plan a release and its guarantee before touching data, publish, and verify.
    """
    left = workspace.sweep_leftovers()
    if left:
        console.warn(
            "a run that was killed left a temporary folder, which may hold rows of a log"
            if left == 1
            else f"runs that were killed left {left:,} temporary folders, which may hold rows of a log",
            "it is removed now" if left == 1 else "they are removed now",
        )


def run() -> NoReturn:
    """Entry point: every failure is one sentence with its exit code; a traceback is a bug."""
    _tolerate_any_locale()
    _silence_libraries()
    memory.limit_reservations()
    with _interruptible() as asked, interruptions.track_results() as stands:
        try:
            code = _run_command(asked, stands)
        except KeyboardInterrupt:  # one more, while the first was answered
            code = INTERRUPTED
        asked.over = True
        if code == INTERRUPTED:
            console.fail_with("interrupted", "interrupted", stands.remaining_work())
        # What is left to do is to tidy up, which takes a moment and is not to be stopped.
        for one in interruptions.SIGNALS:
            signal.signal(one, signal.SIG_IGN)
    sys.exit(code)


def _run_command(asked: _Asked, stands: interruptions.Standing) -> int:
    """Run the command; its exit code."""
    try:
        if not _HARMLESS & set(sys.argv):
            memory.require_memory()
        code = app(standalone_mode=False, prog_name="queryveil")
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 (an unknown error may quote a query)
        # An engine that is interrupted fails with an error of its own.
        if asked.signals or isinstance(error, KeyboardInterrupt):
            return INTERRUPTED
        return _report_failure(error, stands)
    # Typer hands back an interrupt as its code, without a word; what is being destroyed swallows one.
    if asked.signals:
        return INTERRUPTED
    return code if isinstance(code, int) else 0


@dataclass
class _Asked:
    """Requests to stop that came."""

    signals: list[int] = field(default_factory=list)
    over: bool = False

    def answer(self, number: int, _: object) -> None:
        if not self.over:
            self.signals.append(number)
            raise KeyboardInterrupt


@contextlib.contextmanager
def _interruptible() -> Iterator[_Asked]:
    """Make a request to stop an interrupt, wherever it comes."""
    asked = _Asked()
    for one in interruptions.SIGNALS:
        # What is ignored, as under nohup, stays ignored.
        if signal.getsignal(one) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(one, asked.answer)
    usual = sys.unraisablehook

    def unraisable(what: Any) -> None:
        # Inside a destructor an interrupt goes no further. It is not forgotten, and it is no failure to be shown.
        if not (asked.signals and issubclass(what.exc_type, KeyboardInterrupt)):
            usual(what)

    sys.unraisablehook = unraisable
    try:
        yield asked
    finally:
        sys.unraisablehook = usual


def _report_failure(error: BaseException, stands: interruptions.Standing) -> int:
    if isinstance(error, QueryveilError):
        if os.environ.get("QUERYVEIL_DEBUG"):
            raise error
        console.fail(error)
        return error.exit_code
    return _last_resort(error, f" ({interruptions.CHARGED})" if stands.charged else "")


def _tolerate_any_locale() -> None:
    """A query that the terminal's character set lacks is no reason to fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _silence_libraries() -> None:
    """What libraries log on the way, with tracebacks that may quote the log, is no part of the one sentence."""
    root = logging.getLogger()
    if not root.handlers and not os.environ.get("QUERYVEIL_DEBUG"):
        root.addHandler(logging.NullHandler())


def _last_resort(error: BaseException, charged: str) -> int:
    # Typer's own usage errors know how to print themselves.
    exit_code = getattr(error, "exit_code", None)
    if exit_code is not None and hasattr(error, "format_message"):
        if usage.is_help(error) and "--json" not in sys.argv:
            typer.echo(f"{error.format_message()}\n")
        console.fail_with("usage", *usage.told(error))
        return int(exit_code)
    if isinstance(error, UnicodeEncodeError):
        # Text of a log is checked when it is read; names come from the file system as they are.
        console.fail_with("usage", "the name of a file or folder is not in UTF-8", "give it another name")
        return 2
    # A library that gets no memory may say no more than that a call failed.
    unsaid = isinstance(error, OSError) and error.errno is None and memory.address_space_limit() is not None
    if memory.is_out_of_memory(error) or unsaid:
        console.fail_with(
            "cannot-be-met", f"there is not enough memory for this{charged}", "ask for less at a time"
        )
        return 5
    if isinstance(error, (ConnectionRefusedError, ConnectionResetError)):
        console.fail_with(
            "cannot-be-met",
            f"the engine was lost while it worked{charged}",
            "check that it runs, and run again",
        )
        return 5
    if isinstance(error, OSError):
        reason = error.strerror or type(error).__name__
        few = error.errno in (errno.EMFILE, errno.ENFILE)
        way_out = "raise the limit of open files (ulimit -n)" if few else "check room and permissions"
        console.fail_with("output", f"the disk refused ({reason}){charged}", way_out)
        return 6
    if os.environ.get("QUERYVEIL_DEBUG"):
        raise error
    console.fail_with(
        "internal",
        f"queryveil failed in a way it should not ({type(error).__name__}){charged}",
        "run again with QUERYVEIL_DEBUG=1 for details, which may quote the log, and report it",
    )
    return INTERNAL
