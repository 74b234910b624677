"""The commands together, and the one place where errors become sentences and exit codes."""

from __future__ import annotations

import io
import os
import signal
import sys
from importlib import metadata
from typing import Annotated, NoReturn

import typer

from queryveil.cli import commands, console
from queryveil.errors import QueryveilError

INTERRUPTED = 130
INTERNAL = 70

app = typer.Typer(
    name="queryveil",
    cls=commands.Lazy,
    help="Publish search logs without exposing the people in them.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,  # tracebacks with local variables would print queries
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
commands.add_to(app)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"queryveil {metadata.version('queryveil')}")
        raise typer.Exit


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Publish search logs without exposing the people in them.

    See the risk of a log, plan a release and its guarantee before touching data, publish, and verify.
    """


def run() -> NoReturn:
    """Entry point: every failure is one sentence with its exit code; a traceback is a bug."""
    signals = _interruptible()
    _tolerate_any_locale()
    try:
        code = app(standalone_mode=False)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 (an unknown error may quote a query)
        # An engine that is interrupted fails with an error of its own.
        code = INTERRUPTED if signals or isinstance(error, KeyboardInterrupt) else _failed(error)
    # Typer too hands back an interrupt as this code, without a word.
    if code == INTERRUPTED:
        charged = ", a charge to the ledger stands" if "--ledger" in sys.argv else ""
        kept = ", finished cells are kept: run it again to go on" if sys.argv[1:2] == ["compare"] else ""
        console.fail_with("interrupted", "interrupted", f"nothing half-written is left{charged}{kept}")
    sys.exit(code if isinstance(code, int) else 0)


def _interruptible() -> list[int]:
    """Make a request to stop an interrupt; the list tells afterwards which ones came."""
    came: list[int] = []

    def interrupt(number: int, _: object) -> NoReturn:
        came.append(number)
        raise KeyboardInterrupt

    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # What is ignored, as under nohup, stays ignored.
        if signal.getsignal(one) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(one, interrupt)
    return came


def _failed(error: Exception) -> int:
    if isinstance(error, QueryveilError):
        if os.environ.get("QUERYVEIL_DEBUG"):
            raise error
        console.fail(error)
        return error.exit_code
    return _last_resort(error)


def _tolerate_any_locale() -> None:
    """A query that the terminal's character set lacks is no reason to fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _last_resort(error: Exception) -> int:
    # Typer's own usage errors know how to print themselves.
    exit_code = getattr(error, "exit_code", None)
    shown = getattr(error, "format_message", None)
    if exit_code is not None and callable(shown):
        cause, _, more = str(shown()).rstrip(".?").partition(". ")
        hint = f"{more[0].lower()}{more[1:]}, or see --help" if more else "see --help"
        console.fail_with("usage", cause or "no command was given", hint)
        return int(exit_code)
    if isinstance(error, UnicodeEncodeError):
        # Text of a log is checked when it is read; names come from the file system as they are.
        console.fail_with("usage", "the name of a file or folder is not UTF-8", "give it another name")
        return 2
    if isinstance(error, MemoryError):
        console.fail_with("cannot-be-met", "there is not enough memory for this", "ask for less at a time")
        return 5
    if isinstance(error, OSError):
        reason = error.strerror or type(error).__name__
        console.fail_with("output", f"the disk refused ({reason})", "check room and permissions")
        return 6
    if os.environ.get("QUERYVEIL_DEBUG"):
        raise error
    console.fail_with(
        "internal",
        f"queryveil failed in a way it should not ({type(error).__name__})",
        "run again with QUERYVEIL_DEBUG=1 for details, which may quote the log, and report it",
    )
    return INTERNAL
