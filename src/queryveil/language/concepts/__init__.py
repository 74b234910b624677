"""From the text of a query to the concepts that its noun phrases stand for."""

from __future__ import annotations

from queryveil.language.concepts.mapped import ConceptMap, map_to_concepts
from queryveil.language.concepts.reader import Part, Role

__all__ = ["ConceptMap", "Part", "Role", "map_to_concepts"]
