"""Ad hoc techniques, in any order: what people do to logs before they hand them on. They promise nothing.

Delete or hash users, cut sessions, drop rare queries, scrub identifiers, share queries as secrets, split a user into
topics. They are here to be measured and attacked beside methods that promise something: docs/proofs/ad-hoc.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from queryveil.catalog import Sentence, count, list_parts, paragraph
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

STEPS = (
    "delete-users",
    "hash-users",
    "shorten-sessions",
    "drop-infrequent",
    "scrub",
    "secret-sharing",
    "split-personality",
)


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
            warnings.append(Sentence("plan.warning.short-sessions"))
        return Plan(
            method=self.name,
            parameters=public_parameters(self),
            calibration={},
            guarantee=Guarantee(
                kind=NONE,
                caveats=(
                    *(
                        say(f"of-{step}", **self._step_figures(step))
                        for step in self.steps
                        if not (step == "delete-users" and self._separates_rows)
                    ),
                    say("promises-nothing"),
                ),
            ),
            tables=self._declare_tables(),
            what=Sentence("ad-hoc.what"),
            how=paragraph(*map(self._step_description, self.steps), Sentence("ad-hoc.how.order")),
            warnings=tuple(warnings),
            assessment=self._assessment(),
        )

    def _step_figures(self, step: str) -> dict[str, Any]:
        """What a step was told to do, as values: nothing else in a release has them but its sentences."""
        if step == "scrub":
            return {"regions": " ".join(self.regions or identifiers.REGIONS)}
        return {_NEEDS[step]: getattr(self, _NEEDS[step])} if step in _NEEDS else {}

    def _step_description(self, step: str) -> Sentence:
        fields: dict[str, Any] = {}
        if step == "shorten-sessions" and self.max_session is not None:
            fields["most"] = count(self.max_session, "queries")
        if step == "drop-infrequent":
            fields["users"] = self.min_users
        if step == "secret-sharing":
            fields["k"] = self.k
        return Sentence(f"ad-hoc.how.{step}", **fields)

    @property
    def _separates_rows(self) -> bool:
        """Whether no row has anything in common with another row of its user."""
        return "delete-users" in self.steps and self.max_session == 1

    @property
    def _user_column(self) -> str:
        """What takes the place of users: `pseudonyms`, `hashed`, or `plain` for nothing."""
        if "split-personality" in self.steps:
            return "pseudonyms"
        return "hashed" if "hash-users" in self.steps else "plain"

    def _assessment(self) -> tuple[Statement, ...]:
        is_sealed = "secret-sharing" in self.steps
        sealed = ".sealed" if is_sealed else ""
        users = Sentence(f"ad-hoc.links.{'users' if self._user_column == 'plain' else self._user_column}")
        by = list_parts(
            [*([] if "delete-users" in self.steps else [users]), Sentence("ad-hoc.links.sessions")]
        )
        linkability = (
            (NOT_EXCLUDED, Sentence(f"ad-hoc.linkability.apart{sealed}"))
            if self._separates_rows
            else (YES, Sentence(f"ad-hoc.linkability{sealed}", by=by))
        )
        inference = Sentence("ad-hoc.inference.apart" if self._separates_rows else "ad-hoc.inference")
        if is_sealed:
            inference = Sentence("ad-hoc.inference.sealed", k=self.k)
        others = [] if self._separates_rows else [Sentence(f"ad-hoc.learnt.others{sealed}", by=by)]
        return assessment(
            singling_out=(YES, Sentence(f"ad-hoc.singling-out{sealed}")),
            linkability=linkability,
            inference=(NOT_EXCLUDED, inference),
            disclosed=Sentence(f"ad-hoc.disclosed{sealed}"),
            learnt=(Sentence(f"ad-hoc.learnt.person{sealed}"), *others),
        )

    def _declare_tables(self) -> tuple[PublishedTable, ...]:
        sealed, deleted = "secret-sharing" in self.steps, "delete-users" in self.steps
        names = [] if deleted else ["user"]
        names += ["session", *(("share_x", "share_y", "label") if sealed else ("query",))]
        helps = {
            name: Sentence(f"ad-hoc.column.{name}") for name in ("label", "sealed", "share_x", "share_y")
        }
        helps["user"] = Sentence(f"ad-hoc.user.{self._user_column}")
        log = PublishedTable(
            name="log",
            noun="rows",
            row=Sentence("ad-hoc.row.sealed" if sealed else "ad-hoc.row"),
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
            row=Sentence("ad-hoc.row.queries"),
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
                    rows = log.engine.put_aside(self._apply_step(step, log, rows, run), log.workspace)
                log.engine.drop(before)
                say(self._step_description(step))
        with run.stage("protect") as say:
            table = self._published_log(log, rows, run, shares)
            say(f"{table.num_rows:,} query events left, random numbers in place of sessions")
        return {"log": table, **tables}

    def _apply_step(self, step: str, log: SearchLog, rows: ir.Table, run: Run) -> ir.Table:
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

    def _published_log(self, log: SearchLog, rows: ir.Table, run: Run, shares: Shares | None) -> pa.Table:
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
