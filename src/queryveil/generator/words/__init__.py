"""Word lists that the generator's queries are made of."""

from __future__ import annotations

from typing import Final

from queryveil.generator.words import commerce, health, home, knowledge, leisure
from queryveil.generator.words.listed import listed

# topic -> (facets, nouns), as tuples of words
TOPICS: Final[dict[str, tuple[tuple[str, ...], tuple[str, ...]]]] = {
    name: (listed(facets), listed(nouns))
    for part in (health, home, leisure, knowledge, commerce)
    for name, (facets, nouns) in part.TOPICS.items()
}
