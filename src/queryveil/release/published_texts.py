"""How somebody reads the texts of a release.

Most methods publish what was typed. Some publish labels of concepts, `measles.n.01, tennis.n.01`. Whoever compares
these with typed words must read them first: a label is equal to no query.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.mechanisms.concept_profiles.domain import SEPARATOR
from queryveil.reading.text import NOT_NORMAL_ASCII, normalise

_SENSE: Final = r"\.n\.[0-9]+([^0-9a-z._-]|$)"
"""What WordNet adds to a noun; names of another taxonomy have none."""


def as_read(labels: pa.Array | pa.ChunkedArray, between: str = " ") -> pa.Array:
    """Labels as somebody reads them, in the normal form of queries: without senses and underscores.

    `between` comes between the concepts of one text. A blank makes it what one would type; a comma with blanks around
    it keeps concepts apart for who looks at neighbours.

    >>> as_read(pa.array(["heart_attack.n.01, tennis.n.01"]), " , ")[0].as_py()
    'heart attack , tennis'
    """
    coded = labels.dictionary_encode()
    coded = coded.combine_chunks() if isinstance(coded, pa.ChunkedArray) else coded
    plain = pc.replace_substring_regex(coded.dictionary.cast(pa.large_string()), _SENSE, r"\1")
    plain = pc.replace_substring(pc.replace_substring(plain, "_", " "), SEPARATOR, between)
    other = np.flatnonzero(pc.match_substring_regex(plain, NOT_NORMAL_ASCII).to_numpy(zero_copy_only=False))
    if len(other):
        made = plain.to_pylist()
        for place in other.tolist():
            made[place] = normalise(made[place])
        plain = pa.array(made, pa.large_string())
    return plain.take(coded.indices)
