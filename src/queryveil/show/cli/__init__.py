"""The command line: parses, calls the public names, prints. Nothing else happens here."""

from __future__ import annotations

import json
import sys
from typing import NoReturn

__all__ = ["run"]


def run() -> NoReturn:
    """Entry point. Loading takes a moment, in which an interrupt is no traceback either."""
    try:
        from queryveil.show.cli import app

        app.run()  # it answers an interrupt itself, once it is ready to
    except KeyboardInterrupt:
        _end("interrupted", "interrupted", "run it again when you like", 130)
    except OSError as error:
        reason = error.strerror or type(error).__name__
        _end("output", f"queryveil cannot be loaded ({reason})", "raise the limit (ulimit -n, ulimit -v)", 6)


def _end(kind: str, message: str, hint: str, code: int) -> NoReturn:
    """The last sentence where nothing is loaded that could say it better."""
    error = {"kind": kind, "message": message, "hint": hint}
    said = json.dumps({"error": error}) if "--json" in sys.argv else f"Error: {message}; {hint}."
    sys.stderr.write(f"{said}\n")
    sys.exit(code)
