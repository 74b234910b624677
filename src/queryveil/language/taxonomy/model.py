"""A taxonomy: a tree of numbered concepts, the full graph behind it, and the words that name them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import numpy.typing as npt

from queryveil.errors import UsageError
from queryveil.language.taxonomy import wordnet
from queryveil.language.taxonomy.child_parent import read_child_parent
from queryveil.language.taxonomy.lexicon import Lexicon, Names, irregular_forms
from queryveil.language.taxonomy.links import IntArray, Links, int_array
from queryveil.language.taxonomy.morphology import find_form, lookup_key


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """Concepts are numbers from 0, the root, along the tree: all concepts below v follow it directly.

    The tree has one parent for each concept; the graph has all of them (`hypernyms`, the tree's parent first).
    """

    parents: IntArray
    """Concept -> its parent in the tree, -1 for the root. A parent's number is below its children's."""
    hypernyms: Links
    """Concept -> all its parents in the graph."""
    lexicon: Lexicon
    identity: str
    """What this is, with a digest of its content: safe to publish."""
    origin: IntArray | None = None
    """In a pruned taxonomy: concept -> its number in the unpruned one, ascending."""

    # -- where one comes from ------------------------------------------------------------------------------------

    @staticmethod
    def wordnet() -> Taxonomy:
        """The nouns of WordNet 3.0, loaded once."""
        return _load_wordnet()

    @staticmethod
    def from_file(path: str | os.PathLike[str]) -> Taxonomy:
        """The taxonomy of a two-column file, child and parent, between tabs or commas."""
        found = read_child_parent(path)
        parents = int_array(found.parents)
        return Taxonomy(
            parents=parents,
            hypernyms=Links.to_parents(parents),
            lexicon=Names(found.names, irregular_forms(wordnet.irregular_lines())),
            identity=f"child/parent file, sha256 {found.digest[:16]}",
        )

    def prune(self, concepts: npt.ArrayLike, *, graph: bool = False) -> Taxonomy:
        """Only the given concepts and their ancestors in the tree (or in the graph), labels kept."""
        wanted = np.append(np.asarray(concepts, dtype=np.int32), 0)
        if wanted.min() < 0 or wanted.max() >= len(self):
            raise UsageError(
                f"concepts to keep must be numbers from 0 to {len(self) - 1}",
                "lookup gives -1 for words without a concept: leave these out",
            )
        kept = (self.hypernyms if graph else self._tree_links).reachable(wanted)
        old_parents = self.parents[kept]
        new_parents = np.where(old_parents < 0, -1, np.searchsorted(kept, old_parents))
        return Taxonomy(
            parents=int_array(new_parents),
            hypernyms=self.hypernyms.restrict(kept),
            lexicon=self.lexicon,
            identity=self.identity,
            origin=kept if self.origin is None else int_array(self.origin[kept]),
        )

    def map_concepts(self, concepts: npt.ArrayLike) -> IntArray:
        """Numbers of the unpruned taxonomy -> numbers here, -1 for what was pruned away (and for -1)."""
        old = np.asarray(concepts, dtype=np.int32)
        if self.origin is None:
            return int_array(old)
        place = np.minimum(np.searchsorted(self.origin, old), len(self.origin) - 1)
        return int_array(np.where(self.origin[place] == old, place, -1))

    # -- shape ---------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.parents)

    def __repr__(self) -> str:
        return f"Taxonomy({self.identity}, {len(self):,} concepts)"

    @cached_property
    def depth(self) -> IntArray:
        """Level in the tree; the root's is 1."""
        levels = [1]
        for parent in self.parents[1:].tolist():
            levels.append(levels[parent] + 1)
        return int_array(levels)

    @cached_property
    def height(self) -> int:
        """The number of levels of the tree."""
        return int(self.depth.max())

    @cached_property
    def size_below(self) -> IntArray:
        """The number of concepts at or below each in the tree: those of v are v ... v + size_below[v] - 1."""
        sizes = [1] * len(self)
        parents = self.parents.tolist()
        for node in range(len(self) - 1, 0, -1):
            sizes[parents[node]] += sizes[node]
        return int_array(sizes)

    @cached_property
    def leaves_below(self) -> IntArray:
        """The number of leaves of the tree at or below each concept; 1 for a leaf."""
        before = np.concatenate(([0], np.cumsum(self.size_below == 1)))
        return int_array(before[np.arange(len(self)) + self.size_below] - before[:-1])

    @cached_property
    def children(self) -> Links:
        """Concept -> its children in the tree, ascending."""
        return self._tree_links.reverse

    @cached_property
    def _tree_links(self) -> Links:
        return Links.to_parents(self.parents)

    def ancestors(self, concept: int) -> IntArray:
        """The concept and its ancestors in the tree, the root last."""
        path = [concept]
        while (parent := int(self.parents[path[-1]])) >= 0:
            path.append(parent)
        return int_array(path)

    @cached_property
    def closure(self) -> Links:
        """Concept -> itself and its ancestors on all paths of the graph, ascending."""
        return self.hypernyms.closure()

    def all_ancestors(self, concept: int) -> IntArray:
        """The concept and its ancestors on all paths of the graph, ascending."""
        return self.closure.targets(concept)

    def below(self, concept: int, *, graph: bool = False) -> IntArray:
        """The concept and all below it in the tree (or in the graph), ascending."""
        if graph:
            return self.hypernyms.reverse.reachable(np.array([concept]))
        return int_array(np.arange(concept, concept + self.size_below[concept]))

    # -- names ---------------------------------------------------------------------------------------------------

    def label(self, concept: int) -> str:
        """The unique name: `dog.n.01` in WordNet, the name itself in a file."""
        return self.lexicon.label(self._unpruned_node(concept))

    def labels(self, concepts: Iterable[int]) -> list[str]:
        return [self.label(concept) for concept in concepts]

    def word(self, concept: int) -> str:
        """The first word of a concept as a person would write it; other concepts may share it."""
        return self.lexicon.word(self._unpruned_node(concept))

    def find_label(self, label: str) -> int | None:
        """The concept with this label, `lemma.n.NN` in WordNet."""
        node = self.lexicon.find_label(label)
        return None if node is None else self._pruned_concept(node)

    def node(self, word: str) -> int | None:
        """The first sense of a word, or of several words that belong together; plurals are found too."""
        node = int(self.lookup([word])[0])
        return None if node < 0 else node

    def senses(self, word: str) -> IntArray:
        """All senses of a word in this very form, the most frequent first."""
        found = self.map_concepts(self.lexicon.senses(lookup_key(word)))
        return found[found >= 0]

    def lookup(self, words: Sequence[str]) -> IntArray:
        """`node` for many words: -1 where there is none."""
        known, irregular = self.lexicon.first, self.lexicon.irregular
        found = (known[w] if w in known else find_form(lookup_key(w), known, irregular) for w in words)
        return self.map_concepts(np.fromiter(found, dtype=np.int32, count=len(words)))

    def find_concept(self, text: str) -> int:
        """The concept that a person named by label or word; an error with close names if there is none."""
        found = self.find_label(text)
        if found is None:
            found = self.node(text)
        if found is None:
            close = self.nearest_names(text)
            hint = (
                f"close names are {', '.join(close)}"
                if close
                else "no name in it is close; name a concept by a word or a label of the taxonomy"
            )
            raise UsageError(f"the taxonomy has no concept '{text[:60]}'", hint)
        return found

    def nearest_names(self, text: str, n: int = 3) -> list[str]:
        """Up to n names that look like the text: labels if it looks like one, else words."""
        import difflib

        lemma, is_label, _ = text.rpartition(".n.")
        wanted = lookup_key(lemma if is_label else text)
        known = self.lexicon.first
        # Comparing with all 117,798 lemmas takes seconds; a slip rarely changes the first letter and the length.
        near = [form for form in known if form[:1] == wanted[:1] and abs(len(form) - len(wanted)) <= 2]
        close = difflib.get_close_matches(wanted, near, n=n)
        here = [self._pruned_concept(known[form]) for form in close]
        if is_label:
            return [self.label(node) for node in dict.fromkeys(here) if node is not None]
        return [form.replace("_", " ") for form, node in zip(close, here, strict=True) if node is not None]

    def _unpruned_node(self, concept: int) -> int:
        return concept if self.origin is None else int(self.origin[concept])

    def _pruned_concept(self, node: int) -> int | None:
        here = int(self.map_concepts(node))
        return None if here < 0 else here


@cache
def _load_wordnet() -> Taxonomy:
    arrays = wordnet.read_wordnet()
    hypernyms = wordnet.build_hypernyms(arrays)
    # Numbers go along the tree, so the root is 0 and the only one without a hypernym.
    parents = int_array(np.concatenate(([-1], hypernyms.ends[hypernyms.start[1:-1]])))
    about = wordnet.describe_source(arrays)
    return Taxonomy(
        parents, hypernyms, wordnet.build_lexicon(arrays), f"{about['name']}, sha256 {about['digest'][:16]}"
    )
