"""Topics: concepts of which no one is below another, and the concepts that each of them covers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from queryveil.errors import UsageError, argument
from queryveil.language.taxonomy.links import IntArray, int_array
from queryveil.language.taxonomy.model import Taxonomy


def root_named(taxonomy: Taxonomy, text: str) -> int:
    """The concept that names a domain or a topic: by label, or the sense of a word with most concepts below it.

    So `abstraction` is the one that everything abstract is a kind of, and not an idea, the word's first sense.
    """
    named = taxonomy.find_label(text)
    if named is not None:
        return named
    senses: list[int] = taxonomy.senses(text).tolist() or [taxonomy.find_concept(text)]
    return max(senses, key=lambda one: (len(taxonomy.below(one, graph=True)), -senses.index(one)))


class Topics:
    """Roots of a taxonomy, none below another.

    A concept belongs to the topic above it in the tree; a concept that has none there, but has some in the graph, to
    the one of these that is named first. So each concept has one topic at most.
    """

    def __init__(self, taxonomy: Taxonomy, names: Sequence[str]) -> None:
        self.taxonomy = taxonomy
        self.roots = tuple(root_named(taxonomy, name) for name in names)
        below = [set(taxonomy.below(root, graph=True).tolist()) for root in self.roots]
        for place, root in enumerate(self.roots):
            for other, concepts in enumerate(below):
                if other != place and root in concepts:
                    raise UsageError(
                        f"topics overlap: '{names[place]}' is at or below '{names[other]}'",
                        f"with {argument('topics')}, name topics that are not kinds of each other",
                    )

    def __len__(self) -> int:
        return len(self.roots)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return tuple(self.taxonomy.labels(self.roots))

    @cached_property
    def topic_of_concept(self) -> npt.NDArray[np.int32]:
        """Concept -> number of its topic, -1 for none."""
        found = np.full(len(self.taxonomy), -1, dtype=np.int32)
        for topic in reversed(range(len(self))):
            found[self.taxonomy.below(self.roots[topic], graph=True)] = topic
        for topic, root in enumerate(self.roots):
            found[self.taxonomy.below(root)] = topic
        found.flags.writeable = False
        return found

    def concepts(self, topic: int) -> IntArray:
        """The concepts of a topic, ascending."""
        return int_array(np.flatnonzero(self.topic_of_concept == topic))
