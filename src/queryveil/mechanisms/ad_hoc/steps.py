"""What people do to logs before they hand them on, one function each. None of it promises anything.

A step takes rows of query events (`user`, `session`, `query`, `time` where the log has it, and `pseudonym`, what is
published in place of the user) and gives such rows back. `user` stays until the end, for counting, and is never
published. What needs Python is done once per distinct text and joined, so that every engine gives the same.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from queryveil.count import histories, item_kinds
from queryveil.errors import CannotBeMet
from queryveil.language.identifiers import KINDS, find_identifiers, may_have_identifier, scrub_identifiers
from queryveil.language.taxonomy import Taxonomy
from queryveil.language.taxonomy.function_words import FUNCTION_WORDS
from queryveil.reading.text import keywords

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.engine import Engine
    from queryveil.reading.log import SearchLog

PSEUDONYM_DIGITS = 16
TOPIC_DEPTH = 5
"""Topics are concepts at this level of the taxonomy; the root's is 1. In WordNet: living thing, artifact, message."""
_SEPARATOR = "\x1f"


def delete_users(rows: ir.Table) -> ir.Table:
    """Publish nothing in place of the user. Sessions stay together."""
    return rows.drop("pseudonym")


def hash_users(engine: Engine, rows: ir.Table, key: bytes) -> tuple[ir.Table, pa.Table]:
    """Publish a keyed hash in place of the user; also the true map, for the curator."""
    known = _assign_pseudonyms(engine.arrow(rows.select("pseudonym").distinct()), key)
    return _join_pseudonyms(engine, rows, known, ["pseudonym"]), known


def shorten_sessions(rows: ir.Table, most: int) -> ir.Table:
    """Cut sessions into pieces of at most so many query events; each piece becomes a session of its own."""
    import ibis

    order = [rows[column] for column in ("time", "query") if column in rows.columns]
    window = ibis.window(group_by=["user", "session"], order_by=order)
    piece = (ibis.row_number().over(window) // most).cast("int64").cast("string")
    return rows.mutate(session=rows["session"] + ibis.literal(_SEPARATOR) + piece)


def drop_infrequent(log: SearchLog, rows: ir.Table, least: int) -> ir.Table:
    """Leave out queries that fewer than so many users posed."""
    shared = histories.count_users(log, item_kinds.kind("queries"), least, rows)
    return rows.semi_join(log.engine.register(shared.select(["query"])), "query")


def scrub_queries(engine: Engine, rows: ir.Table, regions: Sequence[str]) -> tuple[ir.Table, pa.Table]:
    """Put the kind of each personal identifier in its place; also how many different texts had which kind."""
    candidates = rows.filter(may_have_identifier(rows["query"])).select("query").distinct()
    raw, clean, found = [], [], dict.fromkeys(KINDS, 0)
    for batch in engine.batches(candidates):
        for text in batch.column("query").to_pylist():
            kinds = {one.kind for one in find_identifiers(text, regions)}
            if kinds:
                raw.append(text)
                clean.append(scrub_identifiers(text, regions))
                for kind in kinds:
                    found[kind] += 1
    counted = pa.table({"kind": list(found), "texts": pa.array(found.values(), pa.int64())})
    if not raw:
        return rows, counted
    known = engine.register(pa.table({"raw": raw, "clean": clean}))
    joined = rows.left_join(known, rows["query"] == known["raw"])
    return joined.mutate(query=joined["clean"].fill_null(joined["query"])).select(*rows.columns), counted


def split_personality(
    engine: Engine, rows: ir.Table, key: bytes, taxonomy: Taxonomy
) -> tuple[ir.Table, pa.Table]:
    """Publish one pseudonym for each user and topic, and cut sessions by topic; also the true map."""
    import ibis

    texts = [
        text
        for batch in engine.batches(rows.select("query").distinct())
        for text in batch.column("query").to_pylist()
    ]
    topics = engine.register(
        pa.table({"query": pa.array(texts, pa.string()), "topic": topics_of(texts, taxonomy)})
    )
    # Evaluated now: an engine that plans both joins at once may first join topics with people, which are many.
    rows = engine.keep(rows.join(topics, "query"))
    known = _assign_pseudonyms(engine.arrow(rows.select("pseudonym", "topic").distinct()), key)
    rows = _join_pseudonyms(engine, rows, known, ["pseudonym", "topic"])
    session = rows["session"] + ibis.literal(_SEPARATOR) + rows["topic"]
    return rows.mutate(session=session).drop("topic"), known


def topics_of(queries: Iterable[str], taxonomy: Taxonomy) -> pa.StringArray:
    """The topic of each query: what its first noun is a kind of, at a fixed depth; empty if it has none."""
    cut = [[word for word in keywords(query) if word not in FUNCTION_WORDS] for query in queries]
    words = sorted({word for one in cut for word in one})
    concepts = dict(zip(words, _at_depth(taxonomy.lookup(words), taxonomy).tolist(), strict=True))
    topics = [next((concepts[word] for word in one if concepts[word] >= 0), -1) for one in cut]
    labels = {topic: taxonomy.label(topic) if topic >= 0 else "" for topic in set(topics)}
    return pa.array([labels[topic] for topic in topics], pa.string())


def _at_depth(concepts: np.ndarray, taxonomy: Taxonomy) -> np.ndarray:
    """Each concept, or its ancestor at the depth of topics; -1 stays."""
    found = np.array(concepts, dtype=np.int64)
    while (deep := np.where(found >= 0, taxonomy.depth[found] > TOPIC_DEPTH, False)).any():
        found[deep] = taxonomy.parents[found[deep]]
    return found


# -- pseudonyms ----------------------------------------------------------------------------------------------


def _assign_pseudonyms(people: pa.Table, key: bytes) -> pa.Table:
    """A keyed hash of each row of texts, as a further column `hash`; no two are the same."""
    hashes = [
        hmac.digest(key, _SEPARATOR.join(row).encode(), "sha256").hex()[:PSEUDONYM_DIGITS]
        for row in zip(*(column.to_pylist() for column in people.columns), strict=True)
    ]
    if len(set(hashes)) < len(hashes):
        raise CannotBeMet("two pseudonyms are the same by chance", "run it again: a new key is drawn")
    texts = [column.cast(pa.string()) for column in people.columns]
    made = pa.table([*texts, pa.array(hashes, pa.string())], names=[*people.column_names, "hash"])
    return made.sort_by([(name, "ascending") for name in people.column_names])


def _join_pseudonyms(engine: Engine, rows: ir.Table, known: pa.Table, by: list[str]) -> ir.Table:
    """Rows with the hash that is known for them as their pseudonym."""
    joined = rows.join(engine.register(known), by)
    return joined.mutate(pseudonym=joined["hash"]).drop("hash")
