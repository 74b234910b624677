"""k-query anonymity: publish the queries that at least k users posed, session by session, without users.

After Adar, User 4XXXXX9: anonymizing query logs. What it promises and what it does not is in
docs/proofs/k-query.md: a query alone has a crowd, a session of several queries has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from queryveil.catalog import Sentence
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
    say("sessions-link", Sentence("statement.sessions-link.queries")),
    say("pairs-have-no-crowd"),
    say("fake-accounts", Sentence("statement.fake-accounts.queries")),
    say("all-alike", Sentence("statement.all-alike.queries")),
    say("as-typed"),
)
_TABLE = PublishedTable(
    name="log",
    noun="rows",
    row=Sentence("k-query.row"),
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
            what=Sentence("k-query.what"),
            how=Sentence("k-query.how", k=self.k),
            assessment=assessment(
                singling_out=(YES, Sentence("k-query.singling-out", k=self.k)),
                linkability=(YES, Sentence("k-query.linkability")),
                inference=(NOT_EXCLUDED, Sentence("crowd.inference")),
                disclosed=Sentence("k-query.disclosed", k=self.k),
                withheld=Sentence("k-query.withheld", k=self.k),
                learnt=(Sentence("k-query.learnt.session"), Sentence("k-query.learnt.group", k=self.k)),
                checked=Sentence("k-query.checked", k=self.k),
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
