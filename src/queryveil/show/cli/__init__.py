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
    except KeyboardInterrupt:
        error = {"kind": "interrupted", "message": "interrupted", "hint": "run it again when you like"}
        said = (
            json.dumps({"error": error}) if "--json" in sys.argv else f"Error: interrupted; {error['hint']}."
        )
        sys.stderr.write(f"{said}\n")
        sys.exit(130)
    app.run()
