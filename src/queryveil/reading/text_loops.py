"""The loops that cut lines into fields and put texts together, compiled.

Texts stand one after the other in `data`, as in Arrow's arrays: text i is `data[offsets[i]:offsets[i + 1]]`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from queryveil.compiled import unlocked

Bytes = npt.NDArray[np.uint8]
Whole = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]


@unlocked
def copy_texts(data: Bytes, starts: Whole, offsets: Numbers, into: Bytes) -> None:
    """Put the texts that begin at `starts` one after the other; `offsets` says where each one goes."""
    for row in range(len(starts)):
        at = starts[row]
        for place in range(offsets[row], offsets[row + 1]):
            into[place] = data[at]
            at += 1


@unlocked
def cut_lines(data: Bytes, offsets: Numbers, delimiter: int, many: Whole, starts: Whole) -> None:
    """How many fields each line has, and where the first of them begin; one more begins behind the line's end."""
    most = len(starts)
    for row in range(len(many)):
        end = offsets[row + 1]
        number = 1
        starts[0, row] = offsets[row]
        for place in range(offsets[row], end):
            if data[place] == delimiter:
                if number < most:
                    starts[number, row] = place + 1
                number += 1
        if number < most:
            starts[number, row] = end + 1
        many[row] = number
