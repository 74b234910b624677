"""A click graph on steered queries: one Gaussian account for all its tables, their draws, and what they promise.

Epsilon and delta are those of the whole release. Each table has a share of mu^2, divided between choosing its rows and
counting their users. Proof: docs/proofs/click-graph.md, "On steered queries".
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from queryveil.mechanisms.base import Plan, public_parameters, warnings_of
from queryveil.mechanisms.click_graph import steered_words as words
from queryveil.mechanisms.click_graph.words import GROUPED_FIRST
from queryveil.mechanisms.selection import gaussian_account, listed_items, steering
from queryveil.mechanisms.selection.gaussian_account import GRID, Account, Share, counts_of, norm_of_counts
from queryveil.mechanisms.selection.listed_items import ListedSums
from queryveil.parameters import parameters
from queryveil.privacy.draws import ALL, L2, LOG, PUBLIC, PUBLISHED, ROUNDED_NORMAL, Draw
from queryveil.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from queryveil.mechanisms.click_graph.click_graph import ClickGraph

QUERIES, CLICKS, REFORMULATIONS = "queries", "clicks", "reformulations"
KINDS = {QUERIES: "queries", CLICKS: "clicks", REFORMULATIONS: "query-pairs"}
"""The tables, and the kind of item that is a row of each."""
SHARES = (50.0, 30.0, 20.0)
COUNTS_SHARE = 0.2
DECOYS = 1.0
MAX_QUERIES = 100
ROUNDS = 8
KEEP = "random"
"""Which of a user's items count."""
OF_THRESHOLD = (
    *("count_by", "counts", "epsilon_counts", "urls", "results", "epsilon_clicks", "delta_clicks"),
    *("suggestions", "epsilon_reformulations", "delta_reformulations", "analysis", "noise_scale"),
    *("threshold", "counts_noise_scale", "clicks_noise_scale"),
)
"""Parameters of the other way to select queries."""


@dataclass(frozen=True)
class Part:
    """One table: the bound on what a user adds to it, and its share of mu^2 beside those of the others."""

    name: str
    most: int
    share: float

    @property
    def kind(self) -> str:
        return KINDS[self.name]


def shares(method: ClickGraph) -> tuple[float, ...]:
    """Of queries, clicks and reformulations."""
    return SHARES if method.shares is None else method.shares


def counts_share(method: ClickGraph) -> float:
    return COUNTS_SHARE if method.counts_share is None else method.counts_share


def decoys(method: ClickGraph) -> float:
    """How many reformulations noise alone may publish, on average."""
    return DECOYS if method.decoys is None else method.decoys


def parts(method: ClickGraph) -> tuple[Part, ...]:
    """The tables that have a share, in the order in which they are made."""
    bounds = (method.max_queries, method.max_clicks, method.max_reformulations)
    every = zip(KINDS, bounds, shares(method), strict=True)
    return tuple(Part(name, most or method.max_queries, share) for name, most, share in every if share)


def opened(method: ClickGraph, epsilon: float | None = None) -> Account:
    """What each draw takes of mu^2 and p. Rows of reformulations are public by then, and need no p."""
    asked, counted = float(epsilon or method.epsilon or 0), counts_share(method)
    made = []
    for part in parts(method):
        times = 0 if part.name == REFORMULATIONS else part.most
        made += [
            Share(of=part.name, weight=part.share * (1 - counted), rounds=ROUNDS, times=times),
            Share(of=counts_of(part.name), weight=part.share * counted, norm=norm_of_counts(asked)),
        ]
    return gaussian_account.opened(
        asked, float(method.delta or 0), made, replace=method.neighbours == "replace"
    )


def plan(method: ClickGraph, users: int | None) -> Plan:
    """Thresholds and guarantee, which depend on no number of users."""
    account, made = opened(method), parts(method)
    found = listed(method, account)
    promise = _promised(account, made, decoys(method), found).among(users, told=False)
    least = steering.calibrate(account.noise(QUERIES)).users_for_half
    return Plan(
        method=method.name,
        parameters=_parameters(method),
        calibration=_calibration(method, account, found),
        guarantee=promise,
        tables=words.tables(
            made,
            non_negative=method.non_negative,
            listed=found is not None,
            on_groups=method.on_groups,
        ),
        draws=draws(account, promise, made, found),
        what=words.what(made),
        how=(GROUPED_FIRST if method.on_groups else "")
        + words.how(made, non_negative=method.non_negative, listed=found.how(ROUNDS) if found else ""),
        warnings=warnings_of(promise, users),
        expected=(
            f"A query with about {least:,} users has an even chance of being published if these users have hardly "
            "any other popular query. Otherwise it needs more users.",
            *(found.expected() if found else ()),
        ),
        labels=words.LABELS,
    )


def queries_setting(method: ClickGraph, account: Account) -> steering.Setting:
    """How queries are selected; with a public list, its items have a threshold of their own."""
    found = steering.calibrate(account.noise(QUERIES))
    return listed_items.with_threshold(found, listed=method.public is not None, z=method.public_z)


def listed(method: ClickGraph, account: Account) -> ListedSums | None:
    """The public list of queries, as their draw declares it."""
    setting = steering.calibrate(account.noise(QUERIES))
    return listed_items.declared_sums(method.public_items, setting, method.public_z)


def _promised(
    account: Account, made: tuple[Part, ...], decoys: float, listed: ListedSums | None
) -> Guarantee:
    """Of all tables together. Words stand once, with the whole: six draws would repeat them six times."""
    assumed, caveats = words.assumptions(made), words.caveats(made, decoys)
    if listed is not None:
        assumed = (*assumed, listed_items.assumed(listed.public))
        caveats = (*caveats, listed_items.caveat(listed.decoys))
    whole = account.guarantee(assumed, caveats)
    paid = tuple(dataclasses.replace(part.bare, of=part.of) for part in whole.parts)
    return dataclasses.replace(whole, parts=paid)


def _parameters(method: ClickGraph) -> dict[str, Any]:
    """As they are used, in the order of their declaration; what belongs to the other selection is not shown."""
    made = parts(method)
    used: dict[str, Any] = {f"max_{part.name}": part.most for part in made}
    used |= {"shares": list(shares(method)), "counts_share": counts_share(method)}
    used |= {"decoys": decoys(method)} if made[-1].name == REFORMULATIONS else {}
    used = public_parameters(method) | used
    names = [one.name for one in parameters(type(method)) if one.name not in OF_THRESHOLD]
    return {name: used[name] for name in names if name in used}


def _calibration(method: ClickGraph, account: Account, listed: ListedSums | None) -> dict[str, Any]:
    shown: dict[str, Any] = {"mu": account.mu, "p": account.p, "grid": GRID}
    for part in parts(method):
        noise = account.noise(part.name)
        figures: dict[str, Any] = {"share": part.share, "counts_share": counts_share(method)}
        figures |= {"noise_scale": noise.scale, "rounds": ROUNDS}
        if part.name != REFORMULATIONS:
            setting = steering.calibrate(noise)
            figures |= {"p": noise.p, "threshold": setting.tau, "users_for_half": setting.users_for_half}
        figures["counts_noise_scale"] = account.noise(counts_of(part.name)).scale
        figures |= listed.calibrated() if listed and part.name == QUERIES else {}
        shown[part.name] = figures
    return shown


def draws(
    account: Account, promise: Guarantee, made: tuple[Part, ...], listed: ListedSums | None = None
) -> tuple[Draw, ...]:
    """In the order of the account; the parts of the guarantee are in the same order."""
    tables = {of: part for part in made for of in (part.name, counts_of(part.name))}
    found = []
    for noise, paid in zip(account.noises, promise.parts, strict=True):
        of = noise.share.of
        part = tables[of]
        rows = PUBLISHED if of != part.name else PUBLIC if of == REFORMULATIONS else LOG
        found.append(
            Draw(
                of=of,
                table=part.name,
                bounded=part.kind,
                rule=KEEP if rows != PUBLISHED else ALL,
                most=part.most if rows != PUBLISHED else None,
                sensitivity=noise.sensitivity,
                norm=L2,
                distribution=ROUNDED_NORMAL,
                scale=noise.scale,
                rows=rows,
                above=steering.calibrate(noise).tau if rows == LOG else None,
                public=listed.public if listed is not None and of == QUERIES else None,
                weights=noise.share.weights,
                rounds=noise.share.rounds,
                **paid.cost,
            )
        )
    return tuple(found)
