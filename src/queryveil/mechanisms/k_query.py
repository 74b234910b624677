"""k-query anonymity: publish the queries that at least k users posed, session by session, without users.

After Adar, User 4XXXXX9: anonymizing query logs. What it promises and what it does not is in
docs/proofs/k-query.md: a query alone has a crowd, a session of several queries has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from queryveil.count import histories, item_kinds
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

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog

_CAVEATS = (
    say(
        "sessions-link",
        "only single queries have k users: a session links queries that one user made one after the other, and two "
        "queries together may be that user's alone",
    ),
    say(
        "pairs-have-no-crowd",
    ),
    say(
        "fake-accounts",
        "someone who makes a query from k - 1 accounts, and sees it appear, knows that somebody else made it too",
    ),
    say(
        "all-alike",
        "if everybody in a known group must have made a query, readers learn that each member made it",
    ),
    say("as-typed"),
)
_TABLE = PublishedTable(
    name="log",
    noun="rows",
    row="A query that enough users made, in one of their sessions.",
    columns=columns(("session", "query")),
    counts=OCCURRENCES,
    links=SESSION,
)


@dataclass(frozen=True, kw_only=True)
class KQuery(Crowds):
    """Queries that at least k users made, by session.

    Publish the queries that at least k users made, by session, with random numbers in place of users.
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
            what="Sessions of a search log: the queries that enough users made, without users and times",
            how=(
                f"Every query that fewer than {self.k:,} different users made was dropped everywhere. The rest was "
                "published session by session. Sessions are in random order, with a random number in place of the "
                "user. The queries inside a session are in the order in which they were made. Times, clicks and ranks "
                "were left out."
            ),
            assessment=assessment(
                singling_out=(
                    YES,
                    "The rows with one session number are one person's. A single query singles out nobody: at least "
                    f"{self.k:,} users made it. But a session of several queries can be one user's alone, and often "
                    "is.",
                ),
                linkability=(
                    YES,
                    "A number links the queries of a session. No number links the sessions of a user. Someone who "
                    "knows two queries of a session from another data set can find the others.",
                ),
                inference=(
                    NOT_EXCLUDED,
                    "Nothing limits it. If a query can only come from certain people, a reader learns that each "
                    "made it. Attackers with accounts of their own can find out more.",
                ),
                disclosed=(
                    f"No query that fewer than {self.k:,} users made is disclosed. The combinations of queries in a "
                    "session are disclosed, even those that only one person has."
                ),
                withheld=f"Who made a single published query: at least {self.k:,} users did. That holds only as long "
                "as nothing else is known about these users. It does not hold for a session of several queries.",
                learnt=(
                    "The other queries of a session, if a reader knows that some of its queries are a certain "
                    "person's.",
                    "What a whole group has in common. If a query can only come from "
                    f"{self.k:,} certain people, each person in the group made it.",
                ),
                checked=f"that every query is in at least {self.k:,} sessions. Whether different users made them "
                "cannot be seen from a release",
            ),
        )

    def check(self, log: SearchLog) -> None:
        need_users(log, self.k)
        sessions.check(log)
        if log.engine.inside:
            histories.refuse_too_many(log)

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        with run.stage("count") as say:
            kind = item_kinds.kind("queries")
            shared = histories.count_users(log, kind, self.k, salt=run.salt)
            counted = shared.sort_by([("count", "descending"), ("query", "ascending")])
            run.private["queries-true-counts"] = counted.rename_columns(["query", "users"])
            say(f"{counted.num_rows:,} queries of at least {self.k:,} users")
        with run.stage("protect") as say:
            kept = sessions.events(log).semi_join(log.engine.register(shared.select(["query"])), "query")
            table = sessions.shuffled(log, kept, "query", run.noise)
            say(f"{table.num_rows:,} query events left, random numbers in place of users")
            return {"log": table}
