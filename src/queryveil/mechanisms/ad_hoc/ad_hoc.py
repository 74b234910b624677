"""Ad hoc techniques, in any order: what people do to logs before they hand them on. They promise nothing.

Delete or hash users, cut sessions, drop rare queries, scrub identifiers, share queries as secrets, split a user into
topics. They are here to be measured and attacked beside methods that promise something: docs/proofs/ad-hoc.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from queryveil.errors import UsageError, argument
from queryveil.language import identifiers
from queryveil.language.taxonomy import Taxonomy
from queryveil.mechanisms import sessions
from queryveil.mechanisms.ad_hoc import steps
from queryveil.mechanisms.ad_hoc.secret_sharing import QuerySharing
from queryveil.mechanisms.ad_hoc.shares import Shares, share_queries
from queryveil.mechanisms.base import MOST_USERS, Mechanism, Plan, Run, public_parameters
from queryveil.parameters import param, validate
from queryveil.privacy.declarations import (
    EDITED,
    HASHES,
    OCCURRENCES,
    SESSION,
    TEXT,
    USER,
    PublishedTable,
    columns,
)
from queryveil.privacy.guarantee import NONE, Guarantee
from queryveil.privacy.statements import NOT_EXCLUDED, YES, Statement, assessment, say

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.reading.log import SearchLog

_NEEDS = {"shorten-sessions": "max_session", "drop-infrequent": "min_users", "secret-sharing": "k"}
"""The parameter that a step cannot do without."""
_ABOUT_USERS = {"hash-users", "split-personality"}
_ABOUT_TEXT = {"scrub", "drop-infrequent", "split-personality"}

_HOW = {
    "delete-users": "Users were left out.",
    "hash-users": "Every user was replaced by a keyed hash. The key was forgotten.",
    "shorten-sessions": "Sessions were cut into pieces of at most {max_session:,} queries.",
    "drop-infrequent": "Queries that fewer than {min_users:,} users made were left out.",
    "scrub": "Where they were found, mail addresses, phone, card, account and national id numbers, IP addresses and "
    "logins in urls were replaced by their kind.",
    "secret-sharing": "Every query was sealed with a key, and replaced by a keyed label and its user's share of that "
    "key. {k:,} different shares of a label open it.",
    "split-personality": "Every user was replaced by one pseudonym for each topic, and sessions were cut by topic. The "
    "topic is what the first noun of a query is a kind of.",
}
_CAVEATS = {
    "delete-users": "without users, sessions still link the queries that one person made one after the other",
    "hash-users": "a hashed user is still a user: its queries are one person's, and a few queries tell whose",
    "shorten-sessions": "short sessions link less, but what a person typed into one query can name that person",
    "drop-infrequent": "a query that several people made can still be about one person, and an attacker's own accounts "
    "can make up any number of users",
    "scrub": "scrubbing finds forms, not meaning: names, addresses and numbers in an unusual form stay",
    "secret-sharing": (
        "labels show how often each query was made and by how many users, which gives frequent queries away before "
        "they open; with k - 1 accounts, an attacker opens a query as soon as one person makes it"
    ),
    "split-personality": "places, names and habits that appear in several topics can link the pseudonyms of one person "
    "again",
}
_COLUMNS = {
    "label": "a keyed hash that stands for a query",
    "sealed": "the query, encrypted under a key of its own, in hexadecimal digits",
    "share_x": "the point of a share, in hexadecimal digits; the same for one user and query",
    "share_y": "the value of the share at that point",
}

STEPS = tuple(_HOW)


@dataclass(frozen=True, kw_only=True)
class AdHoc(Mechanism):
    """Steps that people often take. They promise nothing.

    Apply techniques that promise nothing, in the given order; for attacks and comparisons.
    """

    name: ClassVar[str] = "ad-hoc"
    needs_users: ClassVar[bool] = False
    example: ClassVar[Mapping[str, Any]] = {
        "steps": ("scrub", "drop-infrequent", "hash-users"),
        "min_users": 2,
    }

    steps: tuple[str, ...] = param("what to do, in this order", choices=STEPS, many=True)
    max_session: int | None = param(
        "largest number of queries in a session, for shorten-sessions", ge=1, le=10**9, default=None
    )
    min_users: int | None = param(
        "number of users that a query needs, for drop-infrequent", ge=2, le=MOST_USERS, default=None
    )
    k: int | None = param(
        "how many users' shares open a query, for secret-sharing", ge=2, le=10_000, default=None
    )
    regions: tuple[str, ...] | None = param(
        "where phone numbers without a country code are from, for scrub; US if left out",
        many=True,
        default=None,
        details="Two capital letters each, such as US",
    )

    def __post_init__(self) -> None:
        given: object = self.steps
        if isinstance(given, str):
            object.__setattr__(self, "steps", tuple(given.split(",")))
        validate(self)
        if len(set(self.steps)) < len(self.steps):
            raise UsageError("a step is named twice", f"name each step once in {argument('steps')}")
        for step, name in (*_NEEDS.items(), ("scrub", "regions")):
            flag, value = argument(name), getattr(self, name)
            if step in self.steps and value is None and name != "regions":
                raise UsageError(f"step {step} needs {flag}", f"pass {flag}")
            if step not in self.steps and value is not None:
                raise UsageError(
                    f"{flag} is for the step {step}",
                    f"add {step} to {argument('steps')}, or leave {flag} out",
                )
        self._refuse_wrong_order()

    def _refuse_wrong_order(self) -> None:
        done: set[str] = set()
        for step in self.steps:
            if step in _ABOUT_USERS and "delete-users" in done:
                raise UsageError(
                    f"step {step} comes after users were deleted", f"put {step} before delete-users"
                )
            if step in _ABOUT_TEXT and "secret-sharing" in done:
                raise UsageError(
                    f"step {step} comes after queries were sealed", f"put {step} before secret-sharing"
                )
            done.add(step)

    # -- before data -------------------------------------------------------------------------------------

    def plan(self, *, users: int | None = None) -> Plan:
        """What is promised: nothing."""
        warnings = []
        if "shorten-sessions" in self.steps and not {"delete-users", "split-personality"} & set(self.steps):
            warnings.append(
                "short sessions hide little as long as the user column links them: add delete-users"
            )
        return Plan(
            method=self.name,
            parameters=public_parameters(self),
            calibration={},
            guarantee=Guarantee(
                kind=NONE,
                caveats=(
                    *(
                        say(f"of-{step}", _CAVEATS[step], **self._figures(step))
                        for step in self.steps
                        if not (step == "delete-users" and self._apart)
                    ),
                    say("promises-nothing"),
                ),
            ),
            tables=self._tables(),
            what="A search log after ad hoc steps that promise nothing",
            how=" ".join(
                [
                    *map(self._how, self.steps),
                    "Sessions have random numbers and are in the order of these numbers. Queries inside a session are "
                    "in the order in which they were made. Times, clicks and ranks were left out.",
                ]
            ),
            warnings=tuple(warnings),
            assessment=self._assessment(),
        )

    def _figures(self, step: str) -> dict[str, Any]:
        """What a step was told to do, as values: nothing else in a release has them but its sentences."""
        if step == "scrub":
            return {"regions": " ".join(self.regions or identifiers.REGIONS)}
        return {_NEEDS[step]: getattr(self, _NEEDS[step])} if step in _NEEDS else {}

    def _how(self, step: str) -> str:
        figures = {name: getattr(self, name) for name in _NEEDS.values()}
        return _HOW[step].format(**figures).replace(" 1 queries", " 1 query")

    @property
    def _apart(self) -> bool:
        """Whether no row has anything in common with another row of its user."""
        return "delete-users" in self.steps and self.max_session == 1

    @property
    def _user(self) -> tuple[str, str]:
        """What stands in place of users: the name of all of them, and what one is."""
        if "split-personality" in self.steps:
            return "pseudonyms", "a pseudonym: a keyed hash that stands for one user and one topic"
        if "hash-users" in self.steps:
            return "hashed users", "a keyed hash that stands for one user"
        return "users", "the user, as in the log"

    def _assessment(self) -> tuple[Statement, ...]:
        sealed = "secret-sharing" in self.steps
        by = " and ".join(([] if "delete-users" in self.steps else [self._user[0]]) + ["sessions"])
        text = "label" if sealed else "query"
        what = "labels" if sealed else "queries"
        learnt = (
            f"a reader learns the labels that are linked to it. Queries are sealed: someone with {self.k:,} different "
            "shares of a label can read its query, and anyone can guess frequent queries from how often a label "
            "appears."
            if sealed
            else "a reader learns the queries that are linked to it, as they are in the release."
        )
        if self._apart and not sealed:
            learnt = "a reader learns it as it is in the release."
        linkability = (
            (NOT_EXCLUDED, f"Every session is one query, but rare {what} that people repeat link their rows.")
            if self._apart
            else (YES, f"{by[:1].upper()}{by[1:]} link the {what} of one person.")
        )
        others = [] if self._apart else [f"The other {what} of that person, as far as {by} link them."]
        return assessment(
            singling_out=(
                YES,
                f"A row is one person's, and a rare {text}, or a few {what} together, can tell whose.",
            ),
            linkability=linkability,
            inference=(
                NOT_EXCLUDED,
                f"Nothing limits it. Once a person is recognised by one {text}, {learnt}",
            ),
            disclosed=f"The {'sealed queries' if sealed else 'queries'} of single people are disclosed, row by row.",
            learnt=(
                f"Who a row is about, if its {text}, or how often it appears, gives that person away.",
                *others,
            ),
        )

    def _tables(self) -> tuple[PublishedTable, ...]:
        sealed, deleted = "secret-sharing" in self.steps, "delete-users" in self.steps
        names = [] if deleted else ["user"]
        names += ["session", *(("share_x", "share_y", "label") if sealed else ("query",))]
        helps = _COLUMNS | {"user": self._user[1]}
        log = PublishedTable(
            name="log",
            noun="rows",
            row="One person's share of a sealed query."
            if sealed
            else "A query of one person, after these steps.",
            columns=columns(names, helps, user=TEXT),
            counts="" if sealed else OCCURRENCES,
            texts=HASHES if sealed else EDITED,
            links=SESSION if deleted else USER,
        )
        if not sealed:
            return (log,)
        queries = PublishedTable(
            name="queries",
            noun="sealed queries",
            row="A query that enough of its shares open.",
            columns=columns(("label", "sealed"), helps),
            texts=HASHES,
            unique=("label",),
            order=("label",),
        )
        return (log, queries)

    # -- with data ---------------------------------------------------------------------------------------

    def check(self, log: SearchLog) -> None:
        sessions.check(log)
        if "scrub" in self.steps:
            identifiers.check_regions(self.regions or identifiers.REGIONS)

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        events = sessions.events(log)
        # On disk, because rows are read one way after another and memory is needed for shares.
        rows = log.engine.put_aside(events.mutate(pseudonym=events["user"]), log.workspace)
        tables: dict[str, pa.Table] = {}
        shares: Shares | None = None
        for step in self.steps:
            with run.stage(step.partition("-")[0]) as say:
                before = rows
                if step == "secret-sharing":
                    shared = share_queries(log.engine, rows, QuerySharing(run.noise.key(), self.k or 0))
                    tables["queries"], shares = shared.sealed, shared.shares
                    known = log.engine.register(shared.known)
                    rows = log.engine.put_aside(rows.join(known, ["user", "query"]), log.workspace)
                    log.engine.drop(known)
                    del shared
                else:
                    rows = log.engine.put_aside(self._step(step, log, rows, run), log.workspace)
                log.engine.drop(before)
                say(self._how(step))
        with run.stage("protect") as say:
            table = self._log(log, rows, run, shares)
            say(f"{table.num_rows:,} query events left, random numbers in place of sessions")
        return {"log": table, **tables}

    def _step(self, step: str, log: SearchLog, rows: ir.Table, run: Run) -> ir.Table:
        match step:
            case "delete-users":
                return steps.delete_users(rows)
            case "hash-users":
                rows, run.private["hashed-users"] = steps.hash_users(log.engine, rows, run.noise.key())
            case "shorten-sessions":
                return steps.shorten_sessions(rows, self.max_session or 0)
            case "drop-infrequent":
                return steps.drop_infrequent(log, rows, self.min_users or 0)
            case "scrub":
                regions = self.regions or identifiers.REGIONS
                rows, run.private["identifiers"] = steps.scrub_queries(log.engine, rows, regions)
            case _:
                key, taxonomy = run.noise.key(), Taxonomy.wordnet()
                rows, run.private["pseudonyms"] = steps.split_personality(log.engine, rows, key, taxonomy)
        return rows

    def _log(self, log: SearchLog, rows: ir.Table, run: Run, shares: Shares | None) -> pa.Table:
        also = ["pseudonym"] if "delete-users" not in self.steps else []
        names = {"pseudonym": "user"}
        if shares is not None:
            also.append("share")
            names["query"] = "label"
        table = sessions.shuffled(log, rows, "query" if shares is None else "label", run.noise, also)
        log.engine.drop(rows)
        columns = {names.get(name, name): table[name] for name in table.column_names}
        if shares is not None:
            columns |= shares.columns(columns.pop("label"), columns.pop("share"))
        order = ("user", "session", "share_x", "share_y", "label", "query")
        return pa.table({name: columns[name] for name in order if name in columns})
