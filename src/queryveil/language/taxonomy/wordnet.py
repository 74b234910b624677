"""The shipped file of WordNet's nouns: how it is written, and how it is read.

`scripts/build_wordnet.py` makes it from WordNet's database. It is a zip of NumPy arrays that are not compressed, so
that its bytes depend on no library's version and reading it is quick. Nodes are numbered along the tree.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from queryveil.language.taxonomy.lexicon import Nouns
from queryveil.language.taxonomy.links import Links, int_array

FILE: Final = "wordnet-nouns.npz"
LICENCE: Final = "WORDNET-LICENSE.txt"
SHIPPED: Final = Path(__file__).parents[2] / "data" / FILE
Arrays = Mapping[str, npt.NDArray[Any]]


def array_digest(arrays: Arrays) -> str:
    """SHA-256 over the arrays' names, types and content, in order of name; `about` holds it and is left out."""
    total = hashlib.sha256()
    for name in sorted(set(arrays) - {"about"}):
        array = arrays[name]
        total.update(f"{name} {array.dtype.str} {array.shape}\n".encode())
        total.update(array.tobytes())
    return total.hexdigest()


def write_wordnet(path: Path, arrays: Arrays, about: Mapping[str, str]) -> None:
    """The file, byte for byte the same for the same arrays."""
    told = json.dumps({**about, "digest": array_digest(arrays)}, sort_keys=True).encode()
    everything = {**arrays, "about": np.frombuffer(told, dtype=np.uint8)}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(everything):
            content = io.BytesIO()
            np.lib.format.write_array(content, everything[name], version=(1, 0), allow_pickle=False)
            entry = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            entry.create_system, entry.external_attr = 3, 0o644 << 16
            archive.writestr(entry, content.getvalue())


def read_wordnet(path: Path = SHIPPED) -> dict[str, npt.NDArray[Any]]:
    """The arrays of the shipped file, or of another one."""
    with np.load(path, allow_pickle=False) as archive:
        return dict(archive)


def irregular_lines() -> str:
    """WordNet's irregular plurals alone, for taxonomies from files."""
    with np.load(SHIPPED, allow_pickle=False) as archive:
        return str(archive["irregular"].tobytes().decode("ascii"))


def describe_source(arrays: Arrays) -> dict[str, str]:
    """Where the arrays come from, and their digest."""
    return dict(json.loads(arrays["about"].tobytes()))


def build_lexicon(arrays: Arrays) -> Nouns:
    return Nouns(
        text=arrays["lemmas"].tobytes(),
        senses_of=Links.from_counts(arrays["senses_per_lemma"], arrays["senses"]),
        first_lemma=int_array(arrays["first_lemma"]),
        sense_number=int_array(arrays["sense_number"]),
        irregular_lines=arrays["irregular"].tobytes(),
    )


def build_hypernyms(arrays: Arrays) -> Links:
    """Node -> all it is a kind or an instance of, in file order."""
    return Links.from_counts(arrays["hypernyms_per_node"], arrays["hypernyms"])
