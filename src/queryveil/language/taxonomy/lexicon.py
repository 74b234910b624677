"""Which texts name which nodes: the nouns of WordNet, or the names in a file."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from queryveil.language.taxonomy.links import IntArray, Links, int_array
from queryveil.language.taxonomy.morphology import Irregular, lookup_key


class Lexicon(Protocol):
    """What a taxonomy asks of its names. Nodes are those of the unpruned taxonomy."""

    @property
    def first(self) -> dict[str, int]:
        """Every form in `key` spelling -> the node of its first sense."""

    @property
    def irregular(self) -> Irregular: ...

    def label(self, node: int) -> str:
        """The unique name of a node."""

    def word(self, node: int) -> str:
        """A node as a person would write it; several nodes may share it."""

    def find_label(self, label: str) -> int | None: ...

    def senses(self, form: str) -> IntArray:
        """All nodes of a form in `key` spelling, the most frequent first."""


def irregular_forms(lines: str) -> Irregular:
    """Lines of a plural and its singulars; the first line of a plural counts."""
    forms: dict[str, list[str]] = {}
    for line in lines.splitlines():
        plural, *singulars = line.split()
        forms.setdefault(plural, singulars)
    return forms


@dataclass(frozen=True, eq=False)
class Nouns:
    """WordNet's nouns. Texts stay one block of bytes until the first word is asked for."""

    text: bytes
    """All lemmas in ascending order, one per line."""
    senses_of: Links
    """Lemma number -> nodes, the most frequent sense first."""
    first_lemma: IntArray
    """Node -> number of its first lemma."""
    sense_number: IntArray
    """Node -> which sense of its first lemma it is, from 1."""
    irregular_lines: bytes

    @cached_property
    def lemmas(self) -> list[str]:
        return self.text.decode("ascii").split("\n")

    @cached_property
    def first(self) -> dict[str, int]:
        return dict(zip(self.lemmas, self.senses_of.ends[self.senses_of.start[:-1]].tolist(), strict=True))

    @cached_property
    def irregular(self) -> Irregular:
        return irregular_forms(self.irregular_lines.decode("ascii"))

    def label(self, node: int) -> str:
        return f"{self.lemmas[int(self.first_lemma[node])]}.n.{self.sense_number[node]:02d}"

    def word(self, node: int) -> str:
        return self.lemmas[int(self.first_lemma[node])].replace("_", " ")

    def find_label(self, label: str) -> int | None:
        lemma, _, number = label.rpartition(".n.")
        if not (number.isascii() and number.isdigit()):
            return None
        senses = self.senses(lemma)
        return int(senses[int(number) - 1]) if 1 <= int(number) <= len(senses) else None

    def senses(self, form: str) -> IntArray:
        place = bisect_left(self.lemmas, form)
        if place == len(self.lemmas) or self.lemmas[place] != form:
            return int_array([])
        return self.senses_of.targets(place)


@dataclass(frozen=True, eq=False)
class Names:
    """The names in a file: one per node, and each its node's label."""

    names: Sequence[str]
    irregular: Irregular

    @cached_property
    def first(self) -> dict[str, int]:
        return {lookup_key(name): node for node, name in enumerate(self.names)}

    def label(self, node: int) -> str:
        return self.names[node]

    def word(self, node: int) -> str:
        return self.names[node]

    def find_label(self, label: str) -> int | None:
        node = self.first.get(lookup_key(label))
        return node if node is not None and self.names[node] == label else None

    def senses(self, form: str) -> IntArray:
        return int_array([self.first[form]] if form in self.first else [])
