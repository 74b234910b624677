"""Trials of the active attack: a log with targets and fake accounts goes through the real `publish`.

Half of the targets posed the query, the other half did not; their fake accounts did in either case. Each target has
a query, a user and accounts of her own, so that one release holds many trials. Where a method counts users of a
query (k-query, k-keyword, ZEALOUS, Release-Data), what is published of one query depends on that query's users and
noise alone, and no account poses more than may count: trials are independent. Where it groups people, trials could
take members from each other, which a single target's could not: few of them share a release, and there are several.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.attack.active.schemes import Scheme, Variant
from queryveil.errors import UsageError, argument
from queryveil.mechanisms import Mechanism
from queryveil.mechanisms.profile_histogram.profile_histogram import ProfileHistogram
from queryveil.mechanisms.semantic.semantic import Semantic
from queryveil.privacy.guarantee import ADD_REMOVE
from queryveil.privacy.noise import Noise
from queryveil.reading.log import SearchLog, read

if TYPE_CHECKING:
    from queryveil.mechanisms.concept_profiles.domain import Choice
    from queryveil.privacy.guarantee import Guarantee
    from queryveil.release.publish import Release

EVERYDAY = "weather"
"""What a target posed who did not pose the query."""
MOST_ROWS = 10_000_000
_USERS_PER_TRIAL, _FEWEST = 40, 10
"""Where people are grouped: users of the log for each trial of a release, and trials of a release at least."""
_DOMAIN, _POSED, _DID_NOT = "sport", "swimming", "boxing"
"""For methods that draw concepts: a small domain, and two concepts in it that are far from each other."""
_START = np.datetime64("2026-01-01T00:00", "us")


@dataclass(frozen=True, kw_only=True)
class Tried:
    """What came of one variant."""

    variant: Variant
    hits: int
    """Targets who posed the query, and of whom the attacker says so."""
    false: int
    """Targets who did not, and of whom he says so all the same."""
    guarantee: Guarantee

    def and_also(self, other: Tried) -> Tried:
        """The same variant in two releases."""
        return replace(self, hits=self.hits + other.hits, false=self.false + other.false)


@dataclass(frozen=True, kw_only=True)
class Background:
    """The rows of everybody else."""

    rows: pa.Table
    users: int
    session_gap_minutes: int

    @staticmethod
    def of(log: SearchLog) -> Background:
        columns = [name for name in ("user", "time", "session", "query") if name in log.columns]
        return Background(
            rows=_to_plain_types(log.engine.arrow(log.table.select(*columns))),
            users=log.users,
            session_gap_minutes=log.session_gap_minutes,
        )

    def with_rows(self, attacked: pa.Table) -> SearchLog:
        """One log of everybody."""
        columns = self.rows.column_names
        more = {name: attacked[name] for name in columns if name != "session"}
        if "session" in columns:
            more["session"] = pa.array(["1"] * attacked.num_rows)
        both = pa.concat_tables([self.rows, pa.table(more).select(columns).cast(self.rows.schema)])
        return read(both, session_gap_minutes=self.session_gap_minutes)


def _to_plain_types(table: pa.Table) -> pa.Table:
    """Texts and times as Arrow has them, whatever an engine calls them."""
    kinds = {"time": pa.timestamp("us")}
    return pa.table({name: table[name].cast(kinds.get(name, pa.string())) for name in table.column_names})


# -- methods whose release is a crowd's ----------------------------------------------------------------------


def tried(
    scheme: Scheme, background: Background, trials: int, target_copies: int, noise: Noise | None
) -> list[Tried]:
    """So many trials of each variant with and without the target, in one release or in a few."""
    rows = trials * sum(2 * one.copies + target_copies + 1 for one in scheme.variants)
    if rows > MOST_ROWS:
        raise UsageError(
            f"{trials:,} trials against {scheme.method.name} take {rows:,} rows of fake accounts",
            f"lower {argument('trials')}, or raise {argument('epsilon')}",
        )
    together = max(_FEWEST, background.users // _USERS_PER_TRIAL) if scheme.groups else trials
    found: list[Tried] = []
    for start in range(0, trials, together):
        some = _in_one_release(scheme, background, min(together, trials - start), target_copies, noise)
        found = [one.and_also(other) for one, other in zip(found, some, strict=True)] if found else some
    return found


def _in_one_release(
    scheme: Scheme, background: Background, trials: int, target_copies: int, noise: Noise | None
) -> list[Tried]:
    queries = scheme.queries(2 * trials * len(scheme.variants))
    if len(queries) < 2 * trials * len(scheme.variants):
        raise UsageError(
            f"the attack on {scheme.method.name} has {len(queries) // 2:,} trials at most in one release",
            f"pass {argument('trials', len(queries) // 2)}",
        )
    promise = scheme.method.plan(users=scheme.users or background.users).guarantee
    # With a guarantee for users who are added or removed, a target who did not pose the query is not in the log.
    gone = promise.private and promise.neighbours == ADD_REMOVE
    attacked = _build_attacked_log(scheme, queries, trials, target_copies, gone=gone)
    release = _publish_log(background.with_rows(attacked), scheme.method, scheme.users, noise)
    shown = scheme.read(release)
    found = []
    for number, variant in enumerate(scheme.variants):
        said = [
            key in shown and (variant.least is None or shown[key] >= variant.least)
            for key in scheme.keys(queries[2 * trials * number : 2 * trials * (number + 1)])
        ]
        hits, false = sum(said[:trials]), sum(said[trials:])
        found.append(Tried(variant=variant, hits=hits, false=false, guarantee=promise))
    return found


def _publish_log(log: SearchLog, method: Mechanism, users: int | None, noise: Noise | None) -> Release:
    from queryveil.release.publish import publish

    return publish(log, method, users=users, noise=noise, allow_empty=True, i_understand=True)


def _build_attacked_log(
    scheme: Scheme, queries: Iterable[str], trials: int, copies: int, *, gone: bool
) -> pa.Table:
    """For each variant so many targets who posed the query and so many who did not, with all their accounts."""
    query, user, time = [], [], []
    first_user = 0
    for number, variant in enumerate(scheme.variants):
        first = 2 * trials * number
        posed = np.arange(variant.copies)
        # Accounts: as often as one may, one account after the other.
        query.append(np.repeat(np.arange(first, first + 2 * trials), variant.copies))
        owners = np.arange(2 * trials)[:, None] * variant.accounts + posed // scheme.per_account
        user.append(first_user + owners.ravel())
        time.append(np.tile(posed % scheme.per_account, 2 * trials))
        first_user += 2 * trials * variant.accounts
        # Targets who posed it.
        query.append(np.repeat(np.arange(first, first + trials), copies))
        user.append(first_user + np.repeat(np.arange(trials), copies))
        time.append(np.tile(np.arange(copies), trials))
        first_user += trials
        if not gone:
            query.append(np.full(trials, -1))
            user.append(first_user + np.arange(trials))
            time.append(np.zeros(trials, dtype=np.int64))
            first_user += trials
    seconds = np.concatenate(time).astype("timedelta64[s]") + _START
    texts = pa.array([*queries, EVERYDAY])
    places = np.concatenate(query)
    names = pa.array(np.concatenate(user)).cast(pa.string())
    return pa.table(
        {
            # Ids that no log has: they begin with a control character.
            "user": pc.binary_join_element_wise("\x1f", names, ""),
            "time": pa.array(seconds),
            "query": texts.take(pa.array(np.where(places < 0, len(texts) - 1, places))),
        }
    )


# -- methods that treat everyone alone -----------------------------------------------------------------------


def drawn(name: str, epsilon: float, trials: int, noise: Noise | None) -> Tried:
    """Concepts are drawn for each user alone: accounts change nothing, and the attacker has only the target's row.

    He is given which row that is, and knows what else she might have posed. Targets who posed the query are in one
    release and those who did not in another, so that no row needs to be told from others.
    """
    method, variant, says = (
        _semantic_attacker(epsilon) if name == Semantic.name else _profile_attacker(epsilon)
    )
    users = pa.array(np.arange(trials)).cast(pa.string())
    releases = [
        _publish_log(
            read(pa.table({"user": users, "query": pa.array([query] * trials)})), method, None, noise
        )
        for query in (_POSED, _DID_NOT)
    ]
    hits, false = (sum(says(one) for one in made.tables["log"]["query"].to_pylist()) for made in releases)
    return Tried(variant=variant, hits=hits, false=false, guarantee=method.plan().guarantee)


Says = Callable[[str], bool]


def _semantic_attacker(epsilon: float) -> tuple[Mechanism, Variant, Says]:
    """Yes if the published concept is likelier for the query: no rule does better."""
    method = Semantic(epsilon=epsilon, domain=_DOMAIN)
    choice = method.choice()
    sampler, weights = choice.samplers[0], choice.samplers[0].weights(method.per_phrase(1)).astype(np.float64)
    by_label, *places = _concept_places(choice)
    posed, did_not = (weights[sampler.codes(place)] for place in places)
    posed, did_not = posed / posed.sum(), did_not / did_not.sum()
    likelier = posed > did_not
    exact = (float(posed[likelier].sum()), float(did_not[likelier].sum()))
    variant = Variant(accounts=0, copies=0, rule="a concept likelier for it", exact=exact)
    return method, variant, lambda label: bool(likelier[by_label[label]])


def _profile_attacker(epsilon: float) -> tuple[Mechanism, Variant, Says]:
    """Yes if the published concept is the query's: all but two are as likely either way."""
    method = ProfileHistogram(epsilon=epsilon, max_queries=1, domain=_DOMAIN)
    by_label, posed, _ = _concept_places(method.choice())
    variant = Variant(accounts=0, copies=0, rule="its concept is drawn")
    return method, variant, lambda label: by_label[label] == posed


def _concept_places(choice: Choice) -> tuple[dict[str, int], int, int]:
    """Places by label, and those of the two queries."""
    taxonomy, domain = choice.taxonomy, choice.domain
    posed, did_not = domain.places(np.asarray(taxonomy.lookup([_POSED, _DID_NOT]), dtype=np.int64)).tolist()
    labels = taxonomy.labels(domain.concepts.tolist())
    return {label: place for place, label in enumerate(labels)}, posed, did_not
