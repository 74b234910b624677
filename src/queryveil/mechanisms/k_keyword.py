"""k-keyword anonymity: publish the words that at least k users have, and fold the others into their prefixes.

After He and Naughton, Anonymization of set-valued data via top-down, local generalization, with prefixes as the
hierarchy. The rule is in docs/proofs/k-keyword.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from queryveil.count import contribution, item_kinds
from queryveil.mechanisms.base import (
    Plan,
    Run,
    need_users,
)
from queryveil.mechanisms.crowds import Crowds, crowd_plan
from queryveil.privacy.declarations import USERS, PublishedTable, columns
from queryveil.privacy.statements import NO, NOT_EXCLUDED, assessment, say
from queryveil.reading.engine import Engine
from queryveil.reading.log import SearchLog

if TYPE_CHECKING:
    import ibis.expr.types as ir

LONGEST_PREFIX = 64
"""Words that are not published whole are cut to so many characters before they are folded."""

STAR = "*"
"""Ends the rows of prefixes. No word ends in it: punctuation at a word's ends is not part of it."""

_SCHEMA = pa.schema([("prefix", pa.string()), ("count", pa.int64())])

_CAVEATS = (
    say(
        "prefix-hides-the-rest",
        "a prefix hides only the rest of the words: a long prefix of a rare word says nearly all of it, and all words "
        "behind it may mean the same",
    ),
    say(
        "counts-are-exact",
        "counts are exact: two releases of logs that differ by one user differ by that user's words",
    ),
    say(
        "fake-accounts",
        "whoever uses a word under k - 1 accounts sees from its appearance that somebody else used it too",
    ),
    say(
        "all-alike",
        "a word that everybody in a known group is sure to have used is learnt about each of them",
    ),
    say("as-typed", "whatever k users typed is published as they typed it: names, numbers, addresses"),
)
_TABLE = PublishedTable(
    name="items",
    noun="words and prefixes",
    row="A word that enough users have, or the beginning of such words, with the number of these users.",
    columns=columns(
        ("prefix", "count"),
        {"count": "number of different users: of the word, or of the words folded into the prefix"},
    ),
    counts=USERS,
    unique=("prefix",),
    order=("count", "prefix"),
)


@dataclass(frozen=True, kw_only=True)
class KKeyword(Crowds):
    """Words that at least k users have, rarer ones as prefixes.

    Publish the words that at least k users have, the rarer ones as prefixes that k users share.
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
            what="Words of a search log and prefixes of its rarer words, with numbers of users",
            how=(
                f"A word that at least {self.k:,} users searched for was published with the number of these users. The "
                "users of every other word were counted for the word with a star behind it, together with those of "
                "longer words that begin with it; such a prefix was published, with the number of different users "
                f"counted for it, if they were at least {self.k:,}; if not, they went on to the prefix that is one "
                "character shorter. Those who were left in the end were left out."
            ),
            assessment=assessment(
                singling_out=(
                    NO,
                    f"Not without further knowledge. Each row has at least {self.k:,} users.",
                ),
                linkability=(
                    NOT_EXCLUDED,
                    "The release has no user, session or time by which rows could be joined. But someone who knows "
                    "words of a person from another data set can link that person to rows of "
                    f"{self.k:,} users or more: one of these users is that person with a probability of up to 1 in "
                    f"{self.k:,}, or more if they know more.",
                ),
                inference=(
                    NOT_EXCLUDED,
                    "Nothing limits it. What is known to be true of everyone behind a row, or was searched for by the "
                    "attacker's own accounts, is learnt; a long prefix gives away what follows.",
                ),
                disclosed=f"No word or prefix of fewer than {self.k:,} users is disclosed. Of the others the number of "
                "users is disclosed exactly.",
                checked=f"that every row states at least {self.k:,} users; that there were so many cannot be seen from "
                "a release",
            ),
        )

    def check(self, log: SearchLog) -> None:
        need_users(log, self.k)

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        engine = log.engine
        with run.stage("count") as say:
            words = engine.keep(
                item_kinds.kind("keywords").occurrences(log).select("user", "keyword").distinct()
            )
            whole = engine.arrow(contribution.counts(words, ("keyword",), at_least=self.k))
            say(f"{item_kinds.kind('keywords').counted(whole.num_rows)} of at least {self.k:,} users")
        with run.stage("protect") as say:
            rare = words.anti_join(engine.register(whole.select(["keyword"])), "keyword")
            folded = Folding(engine, self.k)
            published = [_rows(whole, ""), *(_rows(level, STAR) for level in folded.levels(rare))]
            table = pa.concat_tables(published).combine_chunks()
            run.private["suppressed"] = pa.table({"users": pa.array([folded.suppressed], pa.int64())})
            say(
                f"{table.num_rows - whole.num_rows:,} prefixes; {folded.suppressed:,} users have a word that no "
                "prefix covers, which is left out"
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
            found = self.engine.arrow(contribution.counts(kept, ("prefix",), at_least=self.k))
            yield found
            if found.num_rows:
                left = kept.anti_join(self.engine.register(found.select(["prefix"])), "prefix")
        if kept is not None and left is not None:
            users = left.select("user").distinct()
            self.suppressed = self.engine.arrow(users.aggregate(n=users.count()))["n"][0].as_py()
            self.engine.drop(kept)
        self.engine.drop(waiting)


def _rows(counted: pa.Table, ending: str) -> pa.Table:
    """Counted texts as rows of the release."""
    text = pc.binary_join_element_wise(counted.column(0).cast(pa.string()), ending, "")
    return pa.table([text, counted["count"].cast(pa.int64())], schema=_SCHEMA)
