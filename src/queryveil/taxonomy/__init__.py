"""Concepts and what they are kinds of: WordNet's nouns, or any child/parent file."""

from __future__ import annotations

from queryveil.taxonomy.links import IntArray, Links
from queryveil.taxonomy.model import Taxonomy

__all__ = ["IntArray", "Links", "Taxonomy"]
