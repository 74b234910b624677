"""Words of languages that write none apart: Chinese, Japanese, Thai, Lao, Khmer and Burmese, by ICU's dictionaries.

Only runs of these scripts are cut. A text is cut by itself, so no row has a say in how another is.
"""

from __future__ import annotations

import re
from typing import Any, Final

from queryveil.errors import UsageError, argument

WITHOUT_BLANKS: Final = (
    r"\x{0E00}-\x{0EFF}\x{1000}-\x{109F}\x{1780}-\x{17FF}\x{3005}-\x{3007}\x{3040}-\x{30FF}\x{3400}-\x{4DBF}"
    r"\x{4E00}-\x{9FFF}\x{F900}-\x{FAFF}"
)
"""Letters of these scripts, as RE2 (DuckDB) and Java (Spark) write them."""
_RUN: Final = re.compile(
    "[" + re.sub(r"\\x\{([0-9A-F]{4})\}", lambda code: chr(int(code[1], 16)), WITHOUT_BLANKS) + "]+"
)


def cutter() -> Any:
    """ICU's cutter of words; refused if it is not installed."""
    try:
        from icu4py.breakers import WordBreaker
    except ImportError:
        raise UsageError(
            "cutting Chinese, Japanese and Thai into words needs the package icu4py",
            f"install queryveil[segmentation], or leave out {argument('segment')}",
        ) from None
    return WordBreaker


def segmented(text: str, cut: Any) -> str:
    """The text with blanks between the words of scripts that have none."""
    return _RUN.sub(lambda run: f" {' '.join(str(part) for part in cut(run[0], 'root'))} ", text)
