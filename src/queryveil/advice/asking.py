"""advise(): a pilot for a purpose, and what follows from it."""

from __future__ import annotations

from queryveil.advice.pilot import Pilot
from queryveil.advice.purpose import MOST_USERS, Advice, Progress, Purpose, Wanted
from queryveil.advice.registry import PURPOSES
from queryveil.advice.selected import MANY
from queryveil.errors import UsageError, argument, instead
from queryveil.privacy.strength import delta_limit
from queryveil.reading.log import SearchLog
from queryveil.reading.pinning import unchanged_logs


@unchanged_logs
def advise(
    log: SearchLog,
    purpose: str | Purpose,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    top: int | None = None,
    most_users: int = MOST_USERS,
    items_per_user: float = MANY,
    progress: Progress | None = None,
) -> Advice:
    """Recommend a method and parameters for a purpose, from at most `most_users` of the log's users.

    `items_per_user` is a guess of yours, from public knowledge: it decides which methods are tried.
    The figures are for the curator alone, and choosing by them is covered by no guarantee: see `Advice.cost`.
    """
    chosen = find_purpose(purpose)
    asked = advice_request(
        chosen,
        epsilon=epsilon,
        delta=delta,
        top=top,
        most_users=most_users,
        items_per_user=items_per_user,
    )
    _refuse_large_delta(asked.delta, log.users)
    pilot = Pilot.sample_log(log, min(most_users, chosen.most_users))
    chosen.check(pilot)
    options = tuple(chosen.options(pilot, asked, progress))
    facts = {f"{kind}_per_user": pilot.per_user(kind) for kind in ("queries", "keywords")}
    return Advice(chosen, asked, options, pilot.users, pilot.share, facts)


def advice_request(
    purpose: str | Purpose,
    *,
    epsilon: float = 1.0,
    delta: float = 1e-6,
    top: int | None = None,
    most_users: int = MOST_USERS,
    items_per_user: float = MANY,
) -> Wanted:
    """What `advise` would be asked, refused without a log where it is wrong."""
    top = find_purpose(purpose).top if top is None else top
    return Wanted(epsilon=epsilon, delta=delta, top=top, most_users=most_users, items_per_user=items_per_user)


def _refuse_large_delta(delta: float, users: int) -> None:
    """Advise nothing that `publish` would refuse."""
    limit = delta_limit(users, told=False)
    if delta >= limit:
        raise UsageError(
            f"delta {delta:g} is too large: some of these {users:,} users could have their searches published "
            "unchanged",
            f"pass a {argument('delta')} below {limit:.2g}",
        )


def find_purpose(name: str | Purpose) -> Purpose:
    """The purpose of that name."""
    if not isinstance(name, str):
        return name
    if name not in PURPOSES:
        raise UsageError(f"there is no purpose '{name}'", instead(name, PURPOSES))
    return PURPOSES[name]
