"""k-query anonymity: publish the queries that at least k users posed, session by session, without users.

After Adar, User 4XXXXX9: anonymizing query logs. What it promises and what it does not is in
docs/proofs/k-query.md: a query alone has a crowd, a session of several queries has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from queryveil.count import contribution
from queryveil.mechanisms import sessions
from queryveil.mechanisms.base import (
    SESSIONS_APART,
    Plan,
    Run,
    need_users,
)
from queryveil.mechanisms.crowds import Crowds, crowd_plan
from queryveil.privacy.declarations import OCCURRENCES, SESSION, PublishedTable, columns
from queryveil.privacy.statements import NOT_EXCLUDED, YES, assessment, say
from queryveil.reading.log import SearchLog

if TYPE_CHECKING:
    import ibis.expr.types as ir

_CAVEATS = (
    say(
        "sessions-link",
        "only single queries have k users: a session links the queries that one user posed one after the other, and "
        "two of them together may be that user's alone",
    ),
    say(
        "pairs-have-no-crowd",
        "pairs of queries form after others were dropped between them, may be one user's, and are not k-anonymous; nor "
        "is anything else that is counted from more than one query",
    ),
    say(
        "fake-accounts",
        "whoever poses a query under k - 1 accounts sees from its appearance that somebody else posed it too",
    ),
    say(
        "all-alike",
        "a query that everybody in a known group is sure to have posed is learnt about each of them",
    ),
    say("as-typed", "whatever k users typed is published as they typed it: names, numbers, addresses"),
)
_TABLE = PublishedTable(
    name="log",
    noun="rows",
    row="A query that enough users posed, in one of their sessions.",
    columns=columns(("session", "query")),
    counts=OCCURRENCES,
    links=SESSION,
)


@dataclass(frozen=True, kw_only=True)
class KQuery(Crowds):
    """Queries that at least k users posed, by session.

    Publish the queries that at least k users posed, by session, with random numbers in place of users.
    """

    name: ClassVar[str] = "k-query"
    example: ClassVar[Mapping[str, Any]] = {"k": 3}

    def plan(self, *, users: int | None = None) -> Plan:
        """What is promised of each query, whatever the number of users."""
        return crowd_plan(
            self,
            self.k,
            "query",
            assumed=(SESSIONS_APART,),
            caveats=_CAVEATS,
            table=_TABLE,
            what="Sessions of a search log: the queries that enough users posed, without users and times",
            how=(
                f"Every query that fewer than {self.k:,} different users posed was dropped, wherever it stood. What "
                "was left was published session by session: the sessions in random order, with a random number in "
                "place of the user; the queries inside a session in the order in which they were posed. Times, clicks "
                "and ranks were left out."
            ),
            assessment=assessment(
                singling_out=(
                    YES,
                    "The rows of one session number are one person's. A query alone singles out nobody, at least "
                    f"{self.k:,} users posed it; a session of several queries can be one user's alone, and often is.",
                ),
                linkability=(
                    YES,
                    "The queries of a session are linked by its number. The sessions of a user are not linked by any "
                    "number. Someone who knows two queries of a session from another data set can find the others.",
                ),
                inference=(
                    NOT_EXCLUDED,
                    "Nothing limits it. What is known to be true of everyone who posed a query, or was posed by the "
                    "attacker's own accounts, is learnt.",
                ),
                disclosed=f"No query that fewer than {self.k:,} users posed is disclosed. The combinations of queries "
                "in a session are, also those that one person alone has.",
                withheld=f"Whose a single published query is: at least {self.k:,} users posed it. That holds for a "
                "query alone, not for a session of several, and as long as nothing else is known about them.",
                learnt=(
                    "The other queries of a session, by someone who knows some of them to be a person's.",
                    "What a group has in common, about each of its members: if a query can only be that of "
                    f"{self.k:,} certain people, each of them posed it.",
                ),
                checked=f"that every query is in at least {self.k:,} sessions; that these are of different users "
                "cannot be seen from a release",
            ),
        )

    def check(self, log: SearchLog) -> None:
        need_users(log, self.k)
        sessions.check(log)

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        with run.stage("count") as say:
            shared = log.engine.keep(self._shared(log))
            counted = log.engine.arrow(shared.order_by([shared["count"].desc(), shared["query"]]))
            run.private["queries-true-counts"] = counted.rename_columns(["query", "users"])
            say(f"{counted.num_rows:,} queries of at least {self.k:,} users")
        with run.stage("protect") as say:
            kept = sessions.events(log).semi_join(shared, "query")
            table = sessions.shuffled(log, kept, "query", run.noise)
            say(f"{table.num_rows:,} query events left, random numbers in place of users")
            return {"log": table}

    def _shared(self, log: SearchLog) -> ir.Table:
        """The queries of at least k users, with their number."""
        posed = log.queries.select("user", "query").distinct()
        return contribution.counts(posed, ("query",), at_least=self.k)
