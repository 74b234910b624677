"""Commands that the lab adds to those of queryveil.

May import: queryveil, studies, audits.
"""

from __future__ import annotations

import typer


def add_audit(app: typer.Typer) -> None:
    """Try to refute what a method promises, on neighbouring logs built to hurt it."""
    from queryveil_lab.cli import audit

    audit.add_to(app)


def add_compare(app: typer.Typer) -> None:
    """Run a study on a log: a tidy table, figures, and whether the expected shapes are there."""
    from queryveil_lab.cli import compare

    compare.add_to(app)
