"""What a mechanism is, what it is given, and what it answers."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, runtime_checkable

from queryveil.catalog import Sentence, count, list_parts
from queryveil.count import item_kinds, sets_of_items
from queryveil.display import cards
from queryveil.display.cards import Card, CardTable
from queryveil.errors import CannotBeMet, Message, argument
from queryveil.parameters import check_names, parameters
from queryveil.plugins import Plugin
from queryveil.privacy import strength
from queryveil.privacy.declarations import TYPED, PublishedTable
from queryveil.privacy.draws import Draw
from queryveil.privacy.guarantee import Guarantee
from queryveil.privacy.statements import Statement, say

if TYPE_CHECKING:
    import pyarrow as pa

    from queryveil.count.contribution import Bound
    from queryveil.count.public_items import PublicItems
    from queryveil.display.pictures import Picture
    from queryveil.privacy.noise import Noise
    from queryveil.reading.log import SearchLog

USER_IS_ACCOUNT = say("user-is-account")
MOST_USERS = 10**12
"""More people than there are: the largest number of users that a parameter may name."""
MOST_UNKNOWN = 0.5
"""The share of a log's words that a taxonomy may lack before its curator is warned."""
ROW_LOCAL = say("rows-apart")
SESSIONS_APART = say("sessions-apart")
SETS_APART = say(
    "sets-apart",
    most_in_pairs=sets_of_items.MOST_TOGETHER[2],
    most_in_threes=sets_of_items.MOST_TOGETHER[3],
)


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan:
    """What would be done and promised, computed from parameters alone."""

    method: str
    parameters: Mapping[str, Any]
    calibration: Mapping[str, Any]
    guarantee: Guarantee
    tables: tuple[PublishedTable, ...]
    """What will be published."""
    draws: tuple[Draw, ...] = ()
    """Every time that noise or chance touches the data."""
    what: str = ""
    """What the release holds, without its numbers: "frequent queries of a search log, with noisy counts"."""
    how: str = ""
    """What is done, in a sentence or two for readers of the release."""
    taxonomy: str = ""
    """The identity of the taxonomy that the method uses, if it uses one."""
    warnings: tuple[str, ...] = ()
    expected: tuple[str, ...] = ()
    """What the result will be like, in sentences for its curator."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What the figures of the calibration are called on a terminal, in the order in which they are shown."""
    assessment: tuple[Statement, ...] = ()
    """What readers are told of this method in particular, where the kind of guarantee alone does not say it.

    Codes are those of queryveil.privacy.statements. Of the three questions all are answered, or none.
    """
    plugins: tuple[Plugin, ...] = ()
    """The method and the format of the log, if other packages provide them."""

    def as_dict(self) -> dict[str, Any]:
        shown = {
            "method": self.method,
            "what": self.what,
            "how": self.how,
            **({"taxonomy": self.taxonomy} if self.taxonomy else {}),
            "parameters": dict(self.parameters),
            "calibration": dict(self.calibration),
            "guarantee": self.guarantee.as_dict(),
            "draws": [one.as_dict() for one in self.draws],
            "tables": {one.name: one.as_dict() for one in self.tables},
            "warnings": list(self.warnings),
        }
        shown |= {"expected": list(self.expected)} if self.expected else {}
        shown |= {"plugins": [one.as_dict() for one in self.plugins]} if self.plugins else {}
        return shown | ({"assessment": [one.as_dict() for one in self.assessment]} if self.assessment else {})

    def table(self, name: str) -> PublishedTable:
        """What is declared of a table."""
        return next(one for one in self.tables if one.name == name)

    @property
    def texts(self) -> str:
        """What the texts of the release are: typed, edited, labels or hashes."""
        return next((one.texts for one in self.tables if one.texts != TYPED), TYPED)

    def _card(self) -> Card:
        return _card(self)

    def plot(self) -> Picture:
        """What a suspicion about a person can become once such a release is read: the plot of the guarantee."""
        return self.guarantee.plot()

    __repr__ = cards.repr_of
    _repr_html_ = cards.html_of


@dataclass(frozen=True, kw_only=True)
class ScanCache:
    """The result of one scan of a log, and the parameters that it holds for."""

    log: SearchLog
    items: str
    bound: Bound
    listed: PublicItems | None = None
    found: Any


@dataclass(kw_only=True)
class Run:
    """One publication in progress: its randomness, its public facts, and where stages and private facts go."""

    noise: Noise
    users: int | None = None
    told: Callable[[str, str], None] | None = None
    """Called with the name of a stage and a sentence about it, for the curator's eyes."""
    private: dict[str, pa.Table] = field(default_factory=dict)
    """Tables for the curator's private folder."""
    seconds: dict[str, float] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    """What was seen in the log and its curator must know. No guarantee covers it: nothing public may hold it."""
    salt: bytes = b""
    draws: tuple[Draw, ...] | None = None
    """What the plan of this publication declares; None if nobody has planned it."""
    scan_cache: ScanCache | None = None
    """The result of `Mechanism.scan_log`."""

    def __post_init__(self) -> None:
        self.salt = self.salt or self.noise.key()

    def declared(self, mechanism: Mechanism) -> tuple[Draw, ...]:
        """Every draw, as the plan declares it."""
        return mechanism.plan(users=self.users).draws if self.draws is None else self.draws

    def take_scan(
        self, log: SearchLog, items: str, bound: Bound, listed: PublicItems | None = None
    ) -> Any | None:
        """Remove the cached scan, and return it if it is of this log, bound, and list."""
        found, self.scan_cache = self.scan_cache, None
        if found is None or found.log is not log or found.listed is not listed:
            return None
        return found.found if (found.items, found.bound) == (items, bound) else None

    def warn(self, sentence: str) -> None:
        """Tell the curator, on the terminal and in the private folder."""
        self.warnings.append(sentence)

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[Callable[[str], None]]:
        """Time a stage; what is said inside is told under its name."""
        start = time.perf_counter()
        try:
            yield lambda sentence: self.told(name, sentence) if self.told else None
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0) + time.perf_counter() - start, 3)


@runtime_checkable
class Mechanism(Protocol):
    """A way to protect a log. Implementations inherit from it, and are frozen dataclasses with declared parameters."""

    name: ClassVar[str]
    needs_users: ClassVar[bool]
    """The guarantee depends on a public number of users under some parameters."""
    example: ClassVar[Mapping[str, Any]]
    """Parameters that publish something on a log of a few hundred users: for tests, reference pages and attacks."""

    def __new__(cls, *args: Any, **given: Any) -> Self:
        check_names(cls, args, given)
        return super().__new__(cls)

    def plan(self, *, users: int | None = None) -> Plan:
        """Parameters, thresholds and guarantee; `users` is a public number or upper bound."""

    def check(self, log: SearchLog) -> None:
        """Refuse a log that lacks what the method needs, before anything is charged. Reads no rows."""

    def protect(self, log: SearchLog, run: Run) -> dict[str, pa.Table]:
        """The tables to publish. Everything in them is covered by the plan's guarantee."""

    def warm_up(self) -> Iterator[None]:
        """Load compiled kernels step by step. `release.ahead` calls it in a background thread."""
        return iter(())

    def scan_log(self, log: SearchLog, run: Run) -> bool:
        """Scan the rows before the charge, without noise; return whether `protect` reads no other rows."""
        return False

    @classmethod
    def with_users(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the parameters to use if a public number of users is declared."""
        return given


def assumed_of(kinds: Iterable[str]) -> tuple[Statement, ...]:
    """What is assumed of sessions and sets, if items of these kinds are counted."""
    found = [item_kinds.kind(name) for name in kinds]
    sessions = any(
        one.name == "query-pairs" or (one.is_set and not one.name.startswith("user")) for one in found
    )
    listed = [SESSIONS_APART] if sessions else []
    return (*listed, SETS_APART) if any(one.is_set for one in found) else tuple(listed)


def warnings_of(guarantee: Guarantee, users: int | None) -> tuple[str, ...]:
    """What a curator is warned of, who may know the number of users where readers may not."""
    if not guarantee.delta_too_large:
        return ()
    limit = (
        Sentence("plan.limit.users", limit=float(f"{1 / users:.2g}"))
        if users
        else Sentence("plan.limit", limit=strength.MOST_DELTA)
    )
    return (Sentence("plan.warning.delta", of_delta=guarantee.of_delta(users), limit=limit),)


def contribution(number: int, *kinds: str) -> str:
    """Return how many items of these kinds a user contributes at most: '20 queries and 20 clicks'."""
    return list_parts([count(number, item_kinds.kind(kind).noun) for kind in kinds])


def warn_of_unknown(run: Run, share: float, noun: str) -> None:
    """Tell the curator which share of a log's words a taxonomy lacks. The share is the log's, and never published."""
    percent, taxonomy = f"{100 * share:.0f}", argument("taxonomy")
    run.warn(Message(Sentence("curator.unknown-words", percent=percent, noun=noun, taxonomy=taxonomy)))


def need_users(log: SearchLog, k: int) -> None:
    """Refuse a log in which no crowd of k can be found."""
    if log.users < k:
        raise CannotBeMet(
            f"the log has fewer than the {k:,} users who must share everything that is published",
            f"lower {argument('k')} (2 at least), or use a log with more users",
        )


def public_parameters(mechanism: Mechanism) -> dict[str, Any]:
    """The parameters as a manifest may show them: no paths, nothing that was left out."""
    shown: dict[str, Any] = {}
    for parameter in parameters(type(mechanism)):
        value = getattr(mechanism, parameter.name)
        if value is None or parameter.declaration.path:
            continue
        shown[parameter.name] = list(value) if isinstance(value, tuple) else value
    return shown


def _card(plan: Plan) -> Card:
    facts: list[tuple[str, object]] = [("guarantee", plan.guarantee.headline), ("publishes", plan.what)]
    facts += [(f"parameter {name}", _format_value(value)) for name, value in plan.parameters.items()]
    facts += [
        (plan.labels.get(name, name.replace("_", " ")), value)
        for name, value in plan.calibration.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    ]
    columns = [
        (table.name, ", ".join(column.name for column in table.columns), table.row) for table in plan.tables
    ]
    tables = (CardTable("Tables", ("table", "columns", "a row is"), columns),)
    words = (plan.guarantee.plain_words(), *(f"Warning: {one}" for one in plan.warnings), *plan.expected)
    return Card(f"Plan of {plan.method}", f"{plan.method}; {plan.guarantee.headline}", facts, words, tables)


def _format_value(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
