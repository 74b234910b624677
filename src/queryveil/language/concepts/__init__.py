"""From the text of a query to the concepts that its noun phrases stand for."""

from __future__ import annotations

from queryveil.language.concepts.mapped import Mapped, mapping
from queryveil.language.concepts.reader import Part, Role

__all__ = ["Mapped", "Part", "Role", "mapping"]
