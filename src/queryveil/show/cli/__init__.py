"""The command line: parses, calls the public names, prints. Nothing else happens here."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import NoReturn

__all__ = ["run"]

_LAST_STREAM = 2


def run() -> NoReturn:
    """Entry point. Loading takes a moment, in which an interrupt is no traceback either."""
    try:
        _replace_closed_streams()
        from queryveil.show.cli import app

        app.run()  # it answers an interrupt itself, once it is ready to
    except KeyboardInterrupt:
        _exit_with_message("interrupted", "interrupted", "run it again when you like", 130)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        _exit_with_message(
            "output", f"queryveil cannot be loaded ({reason})", "raise the limit (ulimit -n, ulimit -v)", 6
        )


def _exit_with_message(kind: str, message: str, hint: str, code: int) -> NoReturn:
    """The last sentence where nothing is loaded that could say it better."""
    error = {"kind": kind, "message": message, "hint": hint}
    said = json.dumps({"error": error}) if "--json" in sys.argv else f"Error: {message}; {hint}."
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{said}\n")
    sys.exit(code)


def _replace_closed_streams() -> None:
    """Open closed standard streams on the null device, so that no file of a log gets their numbers."""
    while (opened := os.open(os.devnull, os.O_RDWR)) <= _LAST_STREAM:
        pass
    os.close(opened)
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115 (open until the end)
