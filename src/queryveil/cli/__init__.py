"""The command line: parses, calls the public names, prints. Nothing else happens here."""

from __future__ import annotations

from queryveil.cli.app import run

__all__ = ["run"]
