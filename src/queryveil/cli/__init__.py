"""The command line: parses, calls the public names, prints. Nothing else happens here."""

from __future__ import annotations

import sys
from typing import NoReturn

__all__ = ["run"]


def run() -> NoReturn:
    """Entry point. Loading takes a second, in which an interrupt is no traceback either."""
    try:
        from queryveil.cli import app
    except KeyboardInterrupt:
        sys.stderr.write("Error: interrupted; run it again when you like.\n")
        sys.exit(130)
    app.run()
