"""The standard columns of a log, with their types, as an expression of its engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import ibis

from queryveil.reading.engine import Engine
from queryveil.reading.lazy_tables import BAD_RANK_COLUMN, safe_rank
from queryveil.reading.model import NO_VALUE

if TYPE_CHECKING:
    import ibis.expr.types as ir

TEXTS = ("user", "query", "url", "session")
_TYPES = {"user": "string", "query": "string", "url": "string", "rank": "int32", "session": "string"}


def standard(
    source: ir.Table, names: Mapping[str, str], engine: Engine, *, validates: bool = False
) -> ir.Table:
    """Return the standard columns in their types, with texts compared byte by byte.

    `validates` adds a flag for invalid ranks.
    """
    chosen = {name: source[column] for name, column in names.items()}
    if validates and "rank" in chosen:
        chosen["rank"], chosen[BAD_RANK_COLUMN] = safe_rank(chosen["rank"])
    for name, kind in _TYPES.items():
        if name in chosen and str(chosen[name].type()).lstrip("!") != kind:
            chosen[name] = chosen[name].cast(kind)
    if "time" in chosen and not (
        chosen["time"].type().is_timestamp() and chosen["time"].type().timezone is None
    ):
        chosen["time"] = chosen["time"].cast("timestamp")
    # The one gate: behind it two texts are the same only if their bytes are, whatever the source declared.
    table = engine.exact_texts(source.select(**chosen), [name for name in TEXTS if name in chosen])
    texts = {name: table[name] for name in ("url", "session") if name in chosen}
    # Case by case: DuckDB makes a join of a long list of words, which costs more.
    words = [(word, ibis.null("string")) for word in NO_VALUE]
    known = {name: one.cases(*words, else_=one) for name, one in texts.items()}
    return table.mutate(**known) if known else table
