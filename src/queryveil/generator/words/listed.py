"""One way to write a long list of words."""

from __future__ import annotations


def listed(text: str) -> tuple[str, ...]:
    """The words of a text, in order."""
    return tuple(text.split())
