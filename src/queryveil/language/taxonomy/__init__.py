"""Concepts and what they are kinds of: WordNet's nouns, or any child/parent file."""

from __future__ import annotations

from queryveil.language.taxonomy.links import IntArray, Links
from queryveil.language.taxonomy.model import Taxonomy

__all__ = ["IntArray", "Links", "Taxonomy"]
