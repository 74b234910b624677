"""How each method is attacked with fake accounts: what they pose, how many they are, and how the release is read.

A scheme has one or more variants. A variant decides from what the release says of the target's query: that it is
there at all, or with how many rows. Queries of the attack are made up, so nothing of a log is looked at for them.
"""

from __future__ import annotations

import functools
import itertools
import math
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from scipy.special import ndtr

from queryveil.attack.sybil import Chances
from queryveil.errors import UsageError
from queryveil.mechanisms import MECHANISMS, Mechanism, Plan
from queryveil.mechanisms.click_graph.click_graph import ClickGraph
from queryveil.mechanisms.k_keyword import KKeyword
from queryveil.mechanisms.k_query import KQuery
from queryveil.mechanisms.k_session.k_session import KSession
from queryveil.mechanisms.profile_histogram.profile_histogram import ProfileHistogram
from queryveil.mechanisms.selection.steering import round_weights
from queryveil.mechanisms.semantic.semantic import Semantic
from queryveil.mechanisms.transactions.clump import Clump
from queryveil.mechanisms.transactions.partition import Partition
from queryveil.mechanisms.zealous.zealous import Zealous
from queryveil.parameters import parameters
from queryveil.privacy import calibration
from queryveil.privacy.draws import LOG, Draw
from queryveil.privacy.selection_noise import SelectionNoise, noise_of

if TYPE_CHECKING:
    from queryveil.release.publish import Release

APPEARS = "it appears"
COUNTED = "its rows are counted"
_BAG = 4
"""Words of a query for methods that publish concepts: so many together are nobody else's."""
_WORDS = 40
"""Different words of such queries: 91,390 queries."""
_MORE_USERS = 1.1
"""A public bound on users leaves some room."""
_STEP = 7919
"""A prime: steps of it reach everything, and neighbours are far apart."""
_JOIN = "\x1f"


@dataclass(frozen=True, kw_only=True)
class Variant:
    """One way to attack a method: so many accounts, and what the attacker takes for a yes."""

    accounts: int
    copies: int
    """How often the accounts pose the query, all together."""
    rule: str = APPEARS
    least: int | None = None
    """Rows that a yes needs; None if any will do."""
    exact: tuple[float, float] | None = None
    """The chances of a yes if the target posed the query and if not, where they are known."""


@dataclass(frozen=True, kw_only=True)
class Scheme:
    """A method under attack."""

    method: Mechanism
    variants: tuple[Variant, ...]
    read: Callable[[Release], Mapping[str, int]]
    """What the release holds: texts, each with its number of rows."""
    queries: Callable[[int], Sequence[str]]
    """So many different queries."""
    keys: Callable[[Sequence[str]], Sequence[str]] = field(default=lambda queries: queries)
    """What the release would show for these queries."""
    per_account: int = 1
    """How often one account may pose the query."""
    users: int | None = None
    """A public bound on the number of users, where the guarantee needs one."""
    groups: bool = False
    """Whether the method puts people into groups, so that trials could take members from each other."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What an attack chooses for all methods."""

    k: int
    epsilon: float
    delta: float
    max_items: int
    max_queries: int
    target_copies: int
    trials: int
    users: int
    """Users of the log without those of the attack."""


def words(number: int) -> list[str]:
    """Words that nobody has: random letters, the same for all, and a number."""
    letters = "".join(chr(ord("a") + int(digit, 16)) for digit in secrets.token_hex(8))
    return [f"zq{letters}x{at}" for at in range(number)]


# -- k-anonymity ---------------------------------------------------------------------------------------------


def k_query(at: Setting) -> Scheme:
    """k - 1 accounts: the query has k users, and is published, if and only if somebody else posed it."""
    return Scheme(
        method=KQuery(k=at.k),
        variants=(_account_variant(at.k - 1),),
        read=lambda release: _rows_per_text(release.tables["log"]["query"]),
        queries=words,
    )


def k_keyword(at: Setting) -> Scheme:
    """k - 1 accounts, and a word that is nobody else's: whole, and not as a prefix, only if k users have it."""
    return Scheme(
        method=KKeyword(k=at.k),
        variants=(_account_variant(at.k - 1),),
        read=lambda release: _count_per_text(release.tables["items"], "prefix"),
        queries=words,
    )


def k_session(at: Setting) -> Scheme:
    """Half of k, rounded down, and the target have the majority of a group of k, and not without her.

    k - 1 accounts have it anyway. k of them fill a group by themselves; the target is then one more row of it.
    """
    variants = {
        at.k // 2: _account_variant(at.k // 2),
        at.k - 1: _account_variant(at.k - 1),
        at.k: Variant(accounts=at.k, copies=at.k, rule=COUNTED, least=at.k + 1),
    }
    return Scheme(
        method=KSession(k=at.k),
        variants=tuple(variants.values()),
        read=lambda release: _rows_per_text(pc.list_flatten(release.tables["transactions"]["items"])),
        queries=words,
        groups=True,
    )


def clump(at: Setting) -> Scheme:
    """k - 1 accounts with the target's words: together a cluster that need not be generalised."""
    return _concept_scheme(Clump(k=at.k), at)


def partition(at: Setting) -> Scheme:
    """As against Clump."""
    return _concept_scheme(Partition(k=at.k), at)


def _concept_scheme(method: Mechanism, at: Setting) -> Scheme:
    from queryveil.mechanisms.transactions.generalised import Vocabulary

    known = Vocabulary.of(None)
    labels = dict(itertools.islice(_known_words(known), _WORDS))

    bags = list(itertools.combinations(labels, _BAG))

    def queries(number: int) -> list[str]:
        # By a prime step, so that one query has little in common with the next.
        return [" ".join(bags[at * _STEP % len(bags)]) for at in range(min(number, len(bags)))]

    def keys(texts: Sequence[str]) -> list[str]:
        return [_JOIN.join(sorted(labels[word] for word in text.split())) for text in texts]

    def read(release: Release) -> Mapping[str, int]:
        lists = release.tables["transactions"]["items"]
        return _rows_per_text(pc.binary_join(lists, _JOIN))

    return Scheme(
        method=method,
        variants=(_account_variant(at.k - 1),),
        read=read,
        queries=queries,
        keys=keys,
        groups=True,
    )


def _known_words(known: Any) -> Iterator[tuple[str, str]]:
    """Words that stand for a concept below which there is no other, with its label; from all over the taxonomy."""
    taxonomy = known.taxonomy
    number = len(taxonomy)
    for at in range(number):
        place = at * _STEP % number
        label = taxonomy.label(place)
        word = label.partition(".")[0]
        if not (word.isascii() and word.isalpha() and word.islower()) or word in known.skipped:
            continue
        concept = int(taxonomy.lookup([word])[0])
        if concept == place and len(taxonomy.below(concept)) == 1:
            yield word, label


# -- differential privacy ------------------------------------------------------------------------------------


def zealous(at: Setting) -> Scheme:
    """As many accounts as make the target's one the most telling: up to the threshold without her, above it with."""
    method = Zealous(epsilon=at.epsilon, delta=at.delta, max_items=at.max_items, guarantee="probabilistic")
    users = at.users
    while True:
        variant = _most_telling(*method.plan(users=users).draws[0].thresholds)
        needed = at.users + 2 * at.trials * (variant.accounts + 1)
        if needed <= users:
            break
        users = int(needed * _MORE_USERS)
    return Scheme(
        method=method,
        variants=(variant,),
        read=lambda release: _count_per_text(release.tables["items"], "query"),
        queries=words,
        users=users,
    )


def _most_telling(scale: float, tau: int, top: int, noise: SelectionNoise | None = None) -> Variant:
    """The number of accounts for which one user more moves the chance of being published most."""

    def chance(users: int) -> float:
        if users < tau:
            return 0.0
        needed = top + 1 - users
        return float(calibration.tail(scale, needed) if noise is None else noise.tail(needed))

    best = max((tau - 1, top, top + 1), key=lambda accounts: chance(accounts + 1) - chance(accounts))
    return Variant(accounts=best, copies=best, exact=(chance(best + 1), chance(best)))


def click_graph(at: Setting) -> Scheme:
    """As against ZEALOUS; one account may pose the query as often as a user may add queries."""
    method = ClickGraph(epsilon=at.epsilon, delta=at.delta, max_queries=at.max_queries)
    learned = Chances(method=method, target_copies=at.target_copies).learned()
    exact = (learned["present"], learned["absent"])
    return Scheme(
        method=method,
        variants=(Variant(accounts=learned["accounts"], copies=learned["copies"], exact=exact),),
        read=lambda release: _count_per_text(release.tables["queries"], "query"),
        queries=words,
        per_account=at.max_queries,
    )


def of_draws(cls: type[Mechanism], at: Setting) -> Scheme:
    """A method with a threshold for queries or keywords of a log, attacked as ZEALOUS is, by its draw alone."""
    chosen = {"epsilon": at.epsilon, "delta": at.delta, "max_items": at.max_items}
    taken = {one.name for one in parameters(cls)}
    method = cls(**{**cls.example, **{name: value for name, value in chosen.items() if name in taken}})
    plan = method.plan(users=at.users)
    draw = _open_to_accounts(plan)
    if draw is None:
        raise UsageError(
            f"method {method.name} declares no threshold that accounts could reach", "attack another one"
        )
    table, column = draw.table, plan.table(draw.table).unique[0]
    return Scheme(
        method=method,
        variants=(
            _weighted_variant(draw)
            if draw.weights
            else _most_telling(*draw.thresholds, noise=noise_of(draw)),
        ),
        read=lambda release: _count_per_text(release.tables[table], column),
        queries=words,
    )


def _weighted_variant(draw: Draw) -> Variant:
    """Accounts that pose nothing else give the query their whole weight: the target's decides about an even chance."""
    scale, above = draw.scale, draw.above
    if scale is None or above is None:
        raise TypeError(f"the draw for {draw.of} has no threshold for rows of a log")
    a = round_weights(draw.rounds or 1)
    whole = draw.sensitivity * sum(a)

    def chance(users: int) -> float:
        return float(ndtr((users * whole - above) / (scale * math.hypot(*a))))

    best = max(0, math.ceil(above / whole) - 1)
    # Over several rounds some queries are dropped on the way, so that this chance is only a bound.
    exact = (chance(best + 1), chance(best)) if len(a) == 1 else None
    return Variant(accounts=best, copies=best, exact=exact)


def _open_to_accounts(plan: Plan) -> Draw | None:
    """The draw of a plan that decides which queries or keywords are published, each user counting once for each."""
    return next(
        (
            one
            for one in plan.draws
            if one.rows == LOG and one.copies == 1 and one.bounded in ("queries", "keywords")
        ),
        None,
    )


def _declared_open() -> Iterator[str]:
    """Methods without a scheme of their own whose declared draws are enough for one."""
    for name, cls in MECHANISMS.items():
        if (
            name not in _OWN
            and name not in DRAWN
            and _open_to_accounts(cls(**cls.example).plan(users=1)) is not None
        ):
            yield name


DRAWN = (Semantic.name, ProfileHistogram.name)
"""Methods that publish rows of each user apart, which are attacked without accounts."""

_OWN: dict[str, Callable[[Setting], Scheme]] = {
    "k-query": k_query,
    "k-session": k_session,
    "k-keyword": k_keyword,
    "clump": clump,
    "partition": partition,
    "zealous": zealous,
    "click-graph": click_graph,
}
"""Methods whose release is a crowd's, and that are attacked in a way of their own."""

SCHEMES: dict[str, Callable[[Setting], Scheme]] = {
    **_OWN,
    **{name: functools.partial(of_draws, MECHANISMS[name]) for name in _declared_open()},
}
"""How each method is attacked; one that declares its draws needs no line here."""


def _account_variant(number: int) -> Variant:
    return Variant(accounts=number, copies=number)


def _rows_per_text(texts: pa.ChunkedArray | pa.Array) -> dict[str, int]:
    """Each text with the number of its rows."""
    found = pc.value_counts(texts)
    return dict(zip(found.field("values").to_pylist(), found.field("counts").to_pylist(), strict=True))


def _count_per_text(table: pa.Table, column: str) -> dict[str, int]:
    """Each text with its published count."""
    return dict(zip(table[column].to_pylist(), table["count"].to_pylist(), strict=True))
