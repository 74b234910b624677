"""k-keyword anonymity: publish the words that at least k users have, and fold the others into their prefixes.

After He and Naughton, Anonymization of set-valued data via top-down, local generalization, with prefixes as the
hierarchy. The rule is in docs/proofs/k-keyword.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from queryveil.catalog import Sentence
from queryveil.count import histories, item_kinds
from queryveil.mechanisms.base import (
    Plan,
    Run,
    need_users,
)
from queryveil.mechanisms.crowds import Crowds, crowd_plan
from queryveil.privacy.declarations import USERS, PublishedTable, columns
from queryveil.privacy.statements import NO, NOT_EXCLUDED, assessment, say

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.engine import Engine
    from queryveil.reading.log import SearchLog

LONGEST_PREFIX = 64
"""Words that are not published whole are cut to so many characters before they are folded."""

STAR = "*"
"""Ends the rows of prefixes. No word ends in it: punctuation at a word's ends is not part of it."""

_SCHEMA = pa.schema([("prefix", pa.string()), ("count", pa.int64())])

_CAVEATS = (
    say(
        "prefix-hides-the-rest",
    ),
    say(
        "counts-are-exact",
    ),
    say("fake-accounts", Sentence("statement.fake-accounts.words")),
    say("all-alike", Sentence("statement.all-alike.words")),
    say("as-typed"),
)
_TABLE = PublishedTable(
    name="items",
    noun="words and prefixes",
    row=Sentence("k-keyword.row"),
    columns=columns(
        ("prefix", "count"),
        {"count": Sentence("k-keyword.column.count")},
    ),
    counts=USERS,
    unique=("prefix",),
    order=("count", "prefix"),
)


@dataclass(frozen=True, kw_only=True)
class KKeyword(Crowds):
    """Words that k users share, rarer ones as prefixes.

    Publish the words that at least k users share, and rarer words as prefixes that k users share.
    """

    name: ClassVar[str] = "k-keyword"
    example: ClassVar[Mapping[str, Any]] = {"k": 3}

    def plan(self, *, users: int | None = None) -> Plan:
        """What is promised of each word and prefix, whatever the number of users."""
        return crowd_plan(
            self,
            self.k,
            "word or prefix",
            caveats=_CAVEATS,
            table=_TABLE,
            what=Sentence("k-keyword.what"),
            how=Sentence("k-keyword.how", k=self.k),
            assessment=assessment(
                singling_out=(NO, Sentence("k-keyword.singling-out", k=self.k)),
                linkability=(NOT_EXCLUDED, Sentence("k-keyword.linkability", k=self.k)),
                inference=(NOT_EXCLUDED, Sentence("k-keyword.inference")),
                disclosed=Sentence("k-keyword.disclosed", k=self.k),
                checked=Sentence("k-keyword.checked", k=self.k),
            ),
        )

    def check(self, log: SearchLog) -> None:
        need_users(log, self.k)

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        import pyarrow.compute as pc

        engine = log.engine
        with run.stage("count") as say:
            kind = item_kinds.kind("keywords")
            words = engine.keep(kind.occurrences(log).select("user", "keyword").distinct())
            whole = histories.count_users(log, kind, self.k, words, salt=run.salt)
            say(f"{kind.counted(whole.num_rows)} of at least {self.k:,} users")
        with run.stage("protect") as say:
            rare = words.anti_join(engine.register(whole.select(["keyword"])), "keyword")
            folded = Folding(engine, self.k)
            published = [
                _release_rows(whole, ""),
                *(_release_rows(level, STAR) for level in folded.levels(rare)),
            ]
            table = pa.concat_tables(published).combine_chunks()
            run.private["suppressed"] = pa.table({"users": pa.array([folded.suppressed], pa.int64())})
            say(
                f"{table.num_rows - whole.num_rows:,} prefixes; {folded.suppressed:,} users have a word that no "
                "prefix covers and that is left out"
            )
            engine.drop(words)
            order = [("count", "descending"), ("prefix", "ascending")]
            return {"items": table.take(pc.sort_indices(table, sort_keys=order))}


class Folding:
    """Rare words on their way down to the prefixes that enough users share."""

    def __init__(self, engine: Engine, k: int) -> None:
        self.engine = engine
        self.k = k
        self.suppressed = 0
        """Users who are left with the empty prefix; known once all levels are done."""

    def levels(self, rare: ir.Table) -> Iterator[pa.Table]:
        """The published prefixes with their users, length by length from the longest; `rare` has user, keyword."""
        cut = rare.select("user", prefix=rare["keyword"].substr(0, LONGEST_PREFIX))
        waiting = self.engine.keep(cut.mutate(length=cut["prefix"].length()).distinct())
        longest = self.engine.arrow(waiting.aggregate(longest=waiting["length"].max()))["longest"][0].as_py()
        kept: ir.Table | None = None
        left: ir.Table | None = None
        for length in range(longest or 0, 0, -1):
            rows = waiting.filter(waiting["length"] == length).select("user", "prefix")
            if left is not None:
                # Those for whom one character more was not enough join those whose word ends here.
                shorter = left.select("user", prefix=left["prefix"].substr(0, length))
                rows = rows.union(shorter, distinct=True)
            now = self.engine.keep(rows)
            if kept is not None:
                self.engine.drop(kept)
            kept = left = now
            users = kept.group_by("prefix").aggregate(count=kept.count())
            found = self.engine.arrow(users.filter(users["count"] >= self.k))
            yield found
            if found.num_rows:
                left = kept.anti_join(self.engine.register(found.select(["prefix"])), "prefix")
        if kept is not None and left is not None:
            users = left.select("user").distinct()
            self.suppressed = self.engine.arrow(users.aggregate(n=users.count()))["n"][0].as_py()
            self.engine.drop(kept)
        self.engine.drop(waiting)


def _release_rows(counted: pa.Table, ending: str) -> pa.Table:
    """Counted texts as rows of the release."""
    import pyarrow.compute as pc

    text = pc.binary_join_element_wise(counted.column(0).cast(pa.string()), ending, "")
    return pa.table([text, counted["count"].cast(pa.int64())], schema=_SCHEMA)
