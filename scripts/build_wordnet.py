"""Derive the shipped file of nouns from WordNet's database, as Debian's package wordnet-base installs it.

    python scripts/build_wordnet.py [--database /usr/share/wordnet] [--out src/queryveil/data]

Writes wordnet-nouns.npz (synsets, lemmas, hypernyms; no glosses) and WORDNET-LICENSE.txt, Princeton's licence as it
stands at the head of the database. The same database gives the same bytes.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from queryveil.language.taxonomy import wordnet

FILES = ("data.noun", "index.noun", "noun.exc")
LICENCE_LINE = re.compile(r"^  ?\d+ ")
HYPERNYMS = {"@", "@i"}
"""Pointers to what a synset is a kind of, and to what it is an instance of."""


@dataclass(frozen=True)
class Synset:
    lemmas: list[str]
    hypernyms: list[int]


def lines(path: Path) -> Iterator[str]:
    """The lines of a database file below its licence."""
    with path.open(encoding="ascii") as file:
        yield from (line for line in file if not line.startswith(" "))


def licence(path: Path) -> str:
    with path.open(encoding="ascii") as file:
        head = [LICENCE_LINE.sub("", line).rstrip() for line in file if line.startswith(" ")]
    return "\n".join(head) + "\n"


def read_synsets(path: Path) -> dict[int, Synset]:
    """Offset -> synset, in file order. A line: offset, file, type, lemmas, pointers, a bar and the gloss."""
    synsets: dict[int, Synset] = {}
    for line in lines(path):
        fields = line.partition(" | ")[0].split()
        count = int(fields[3], 16)
        pointers = fields[5 + 2 * count :]
        quadruples = zip(*(pointers[part::4] for part in range(4)), strict=False)
        synsets[int(fields[0])] = Synset(
            [lemma.lower() for lemma in fields[4 : 4 + 2 * count : 2]],
            [int(target) for symbol, target, kind, _ in quadruples if symbol in HYPERNYMS and kind == "n"],
        )
    return synsets


def read_senses(path: Path) -> dict[str, list[int]]:
    """Lemma -> offsets of its senses, the most frequent first. They are the last fields of a line."""
    senses = {}
    for line in lines(path):
        fields = line.split()
        senses[fields[0]] = [int(offset) for offset in fields[-int(fields[2]) :]]
    return dict(sorted(senses.items()))


def along_the_tree(synsets: dict[int, Synset]) -> list[int]:
    """Offsets so that every synset is followed by all below it; siblings in file order."""
    children: dict[int | None, list[int]] = {}
    for offset, synset in synsets.items():
        children.setdefault(synset.hypernyms[0] if synset.hypernyms else None, []).append(offset)
    order, waiting = [], children[None][::-1]
    if len(waiting) != 1:
        raise SystemExit(f"expected one synset without hypernym, found {len(waiting)}")
    while waiting:
        order.append(waiting.pop())
        waiting.extend(reversed(children.get(order[-1], [])))
    if len(order) != len(synsets):
        raise SystemExit(f"{len(synsets) - len(order)} synsets do not lead to the root")
    return order


def arrays(database: Path) -> dict[str, np.ndarray]:
    synsets, senses = read_synsets(database / "data.noun"), read_senses(database / "index.noun")
    order = along_the_tree(synsets)
    node = {offset: number for number, offset in enumerate(order)}
    lemma_number = {lemma: number for number, lemma in enumerate(senses)}
    ordered = [synsets[offset] for offset in order]
    numbers = [
        senses[synset.lemmas[0]].index(offset) + 1 for offset, synset in zip(order, ordered, strict=True)
    ]
    irregular = (database / "noun.exc").read_text(encoding="ascii")
    return {
        "offsets": np.array(order, dtype="<i4"),
        "hypernyms_per_node": np.array([len(s.hypernyms) for s in ordered], dtype="u1"),
        "hypernyms": np.array([node[offset] for s in ordered for offset in s.hypernyms], dtype="<i4"),
        "first_lemma": np.array([lemma_number[s.lemmas[0]] for s in ordered], dtype="<i4"),
        "sense_number": np.array(numbers, dtype="u1"),
        "lemmas": np.frombuffer("\n".join(senses).encode("ascii"), dtype="u1"),
        "senses_per_lemma": np.array([len(offsets) for offsets in senses.values()], dtype="u1"),
        "senses": np.array([node[o] for offsets in senses.values() for o in offsets], dtype="<i4"),
        "irregular": np.frombuffer(irregular.encode("ascii"), dtype="u1"),
    }


def database_digest(database: Path) -> str:
    """SHA-256 over the files that were read, so that a later build can tell whether it read the same."""
    return hashlib.sha256(b"".join((database / name).read_bytes() for name in FILES)).hexdigest()


def main() -> None:
    root = Path(__file__).parents[1]
    parser = argparse.ArgumentParser(description="Derive the shipped WordNet nouns.")
    parser.add_argument("--database", type=Path, default=Path("/usr/share/wordnet"))
    parser.add_argument("--out", type=Path, default=root / "src" / "queryveil" / "data")
    options = parser.parse_args()
    found = arrays(options.database)
    about = {"name": "WordNet 3.0 nouns", "database": database_digest(options.database)}
    wordnet.write_wordnet(options.out / wordnet.FILE, found, about)
    (options.out / wordnet.LICENCE).write_text(licence(options.database / "data.noun"), encoding="ascii")
    sys.stdout.write(f"{len(found['offsets']):,} synsets, {len(found['senses_per_lemma']):,} lemmas\n")


if __name__ == "__main__":
    main()
