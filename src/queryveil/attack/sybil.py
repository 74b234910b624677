"""The Sybil attack on Release-Data: fake accounts pose a private query until it is published.

K, b and d are public and repeats count, so every fake account adds d to a query's count at will. With N of them a
query of which the log holds t copies is published with probability P[t + Nd + X > K], X being the noise. The
control is the same query without them: P[t + X > K]. The attacker must know the query already; what is gained is
that the release says it too. What the attacker could *learn* is whether the target posed it: P[t + Nd + X > K]
against P[Nd + X > K], which the guarantee bounds, and which is reported beside.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pyarrow as pa

from queryveil.attack.protocol import AttackInput, AttackResult, Progress, Table, difference, simulate
from queryveil.errors import InputError, UsageError, argument
from queryveil.mechanisms.click_graph.click_graph import ClickGraph
from queryveil.mechanisms.click_graph.theory import Setting
from queryveil.parameters import Declared, param, validate
from queryveil.privacy.noise import MAX_SCALE, Noise

if TYPE_CHECKING:
    from queryveil.release.publish import Release

_MOST_ROWS = 10_000_000
_MOST_POINTS = 200
_SHOWN = (0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99)
"""Chances whose numbers of accounts are simulated: where the curve rises."""
_METHOD = ("epsilon", "delta", "noise_scale", "threshold", "max_queries", "count_by")


@dataclass(frozen=True, kw_only=True)
class SybilAttack(Declared):
    """Fake accounts repeat a private query until a click-graph release publishes it."""

    name: ClassVar[str] = "sybil"
    inputs: ClassVar[tuple[AttackInput, ...]] = (
        AttackInput(
            name="release",
            kind="release",
            help="A click-graph release, whose parameters are public.",
            needed=False,
        ),
    )

    epsilon: float | None = param("privacy loss per user for choosing queries", gt=0, default=None)
    delta: float | None = param("probability that the loss is exceeded", gt=0, lt=1, default=None)
    noise_scale: float | None = param(
        "scale of the noise (b), instead of epsilon", gt=0, le=MAX_SCALE, default=None
    )
    threshold: float | None = param(
        "publish queries above this noisy count (K), instead of delta", ge=1, default=None
    )
    max_queries: int | None = param("queries that one user may add (d)", ge=1, le=10**9, default=None)
    count_by: str | None = param(
        "count every time a query is made, or every user once",
        choices=("occurrences", "users"),
        default=None,
    )
    accounts: int | None = param(
        "fake accounts; if left out, as many as --probability needs", ge=1, le=10**12, default=None
    )
    probability: float = param(
        "chance of success that the number of accounts should give", gt=0, lt=1, default=0.99
    )
    target_copies: int = param("times that the target made the query", ge=0, le=10**9, default=1)
    trials: int = param(
        "simulated attacks per number of accounts; 0 for exact figures only", ge=0, le=10**6, default=1000
    )

    def __post_init__(self) -> None:
        validate(self)

    def run(
        self,
        release: Release | None = None,
        /,
        *,
        progress: Progress | None = None,
        noise: Noise | None = None,
    ) -> AttackResult:
        """Attack a release, or one that these parameters would give."""
        chances = self.chances(release)
        needed = chances.accounts_for(self.probability)
        accounts = self.accounts if self.accounts is not None else max(1, needed)
        points = sorted({0, accounts, *(chances.accounts_for(one) for one in _SHOWN)})
        hits = self._simulate_targets(chances, points, noise) if self.trials else {}
        exact = (float(chances.published(accounts)), float(chances.published(0)))
        success, control, interval = *exact, (exact[0] - exact[1],) * 2
        if hits:
            success, control = hits[accounts] / self.trials, hits[0] / self.trials
            interval = difference((hits[accounts], self.trials), (hits[0], self.trials))
        figures = {
            "accounts": accounts,
            "exact": {"success": exact[0], "control": exact[1], "advantage": exact[0] - exact[1]},
            "probability": self.probability,
            "accounts_needed": needed,
            "accounts_by_rule": chances.accounts_by_rule,
            "parameters": chances.as_dict(),
            "learned": chances.learned(),
            "curve": _accounts_curve(chances, max(accounts, chances.accounts_for(0.999))),
            "simulated": [{"accounts": at, "success": hits[at] / self.trials} for at in points if hits],
            "what_helps": _what_helps(chances, self.probability),
        }
        made = AttackResult(
            attack=self.name,
            success=success,
            control=control,
            interval=interval,
            trials=self.trials,
            figures=figures,
            table=_result_table(chances, points, hits, self.trials),
        )
        return _in_words(made, chances)

    def chances(self, release: Release | None = None) -> Chances:
        """What an attacker computes from public parameters."""
        given = {name: getattr(self, name) for name in _METHOD if getattr(self, name) is not None}
        if release is not None and given:
            raise UsageError(
                f"the release has its own parameters, but {_parameter_flag(next(iter(given)))} was given too",
                "name a release, or give parameters, and not both",
            )
        if release is None and not given:
            raise UsageError(
                "the attack needs a release, or the parameters of one",
                f"name a release folder, or pass {argument('epsilon')} and {argument('delta')}, or "
                f"{argument('noise_scale')} and {argument('threshold')}",
            )
        if release is None:
            asked = (self.epsilon, self.delta)
            return Chances(method=ClickGraph(**given), target_copies=self.target_copies, asked=asked)
        stated = release.plan.parameters
        return Chances(
            method=published_method(release),
            target_copies=self.target_copies,
            asked=(stated.get("epsilon"), stated.get("delta")),
        )

    def _simulate_targets(self, chances: Chances, points: list[int], noise: Noise | None) -> dict[int, int]:
        """Of so many targets per number of accounts, how many the real mechanism publishes, in one release."""
        release = simulate(_attacked_log(chances, points, self.trials), chances.method, noise)
        numbers = [int(query.split()[-1]) for query in release.tables["queries"]["query"].to_pylist()]
        found = np.bincount(np.array(numbers, dtype=np.int64) // self.trials, minlength=len(points))
        return {accounts: int(count) for accounts, count in zip(points, found, strict=True)}


@dataclass(frozen=True, kw_only=True)
class Chances:
    """How likely a query is published, by the number of fake accounts that pose it. Exact."""

    method: ClickGraph
    target_copies: int
    asked: tuple[float | None, float | None] = (None, None)
    """Epsilon and delta as they were chosen, if they were; the threshold, being whole, meets a smaller delta."""

    @functools.cached_property
    def setting(self) -> Setting:
        """Noise and threshold that decide what is published."""
        return self.method.setting()

    @property
    def per_account(self) -> int:
        """How much one account adds to a query's count at most."""
        return 1 if self.method.count_by == "users" else self.method.max_queries

    @property
    def own(self) -> int:
        """How much the target adds."""
        return min(self.target_copies, self.per_account)

    def of_count(self, count: int) -> Decimal:
        """The chance of a query with that count: P[count + X > K]; what nobody posed is not considered."""
        return self.setting.p(count) if count else Decimal(0)

    def published(self, accounts: int) -> Decimal:
        return self.of_count(self.own + accounts * self.per_account)

    def accounts_for(self, probability: float) -> int:
        """The smallest number of accounts with at least that chance."""
        wanted, high = Decimal(probability), 1
        if self.published(0) >= wanted:
            return 0
        while self.published(high) < wanted:
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if self.published(middle) >= wanted else (middle, high)
        return high

    @property
    def accounts_by_rule(self) -> int:
        """The rule of thumb (K + 5b)/d; where users count once it is the paper's K + 5b."""
        return math.ceil((self.setting.top + 5 * self.setting.scale) / self.per_account)

    def learned(self) -> dict[str, Any]:
        """How much a published query says about the target, if fake accounts place their copies to find that out.

        Present and absent differ by the sum of the noise's chances over a run of as many values as the target
        has copies; it is largest where the run is centred at 0. Without any copy, absent is never published.
        """

        def probability_gap(copies: int) -> Decimal:
            return self.of_count(self.own + copies) - self.of_count(copies)

        centre = max(1, self.setting.top - (self.own - 1) // 2)
        worst = max((0, centre - 1, centre, centre + 1), key=probability_gap)
        growth = math.exp(min(self.setting.epsilon, 700.0))
        return {
            "copies": worst,
            "accounts": -(-worst // self.per_account),
            "present": float(self.of_count(self.own + worst)),
            "absent": float(self.of_count(worst)),
            "advantage": float(probability_gap(worst)),
            "bound": min(1.0, (growth - 1 + 2 * self.setting.delta) / (growth + 1)),
        }

    def as_dict(self) -> dict[str, Any]:
        setting = self.setting
        return {
            "noise_scale": setting.scale,
            "threshold": setting.top,
            "max_queries": setting.d,
            "count_by": self.method.count_by,
            "epsilon": setting.epsilon,
            "delta": setting.delta,
            "target_copies": self.target_copies,
        }


def published_method(release: Release) -> ClickGraph:
    """The selection of a release, as anyone reads it from the manifest."""
    plan = release.plan
    if plan.method != ClickGraph.name:
        raise InputError(
            f"the Sybil attack needs a click-graph release, and this one was made by {plan.method}",
            "name a click-graph release, or give parameters instead",
        )
    if plan.parameters.get("selection") == "steered":
        raise InputError(
            f"the Sybil attack knows exact chances of releases with {argument('selection', 'threshold')} "
            "only, and this one is steered",
            "name a release of the other selection, or give parameters instead",
        )
    try:
        return ClickGraph(
            noise_scale=plan.calibration["noise_scale"],
            threshold=plan.calibration["threshold"],
            max_queries=plan.parameters["max_queries"],
            count_by=plan.parameters["count_by"],
        )
    except (KeyError, TypeError, UsageError):
        raise InputError(
            "the release does not say how its queries were chosen",
            "see what is wrong with queryveil release verify",
        ) from None


# -- the log that is attacked --------------------------------------------------------------------------------


def _attacked_log(chances: Chances, points: Iterable[int], trials: int) -> pa.Table:
    """For each number of accounts, so many targets with a query of their own and their own fake accounts."""
    # Each row of `groups`: queries, users who pose each of them, and how often each user does.
    posed = chances.per_account
    groups = [group for at in points for group in ((at, posed), (1, chances.own))]
    rows = trials * sum(users * times for users, times in groups)
    if rows > _MOST_ROWS:
        raise UsageError(
            f"simulating {trials:,} trials needs a log of {rows:,} rows",
            f"lower {argument('trials')}, or pass {argument('trials', 0)} for exact figures only",
        )
    query, user, time = [], [], []
    first_user = 0
    for number, (users, times) in enumerate(groups):
        first_query = number // 2 * trials
        query.append(np.repeat(np.arange(first_query, first_query + trials), users * times))
        user.append(np.repeat(np.arange(first_user, first_user + trials * users), times))
        time.append(np.tile(np.arange(times), trials * users))
        first_user += trials * users
    minutes = np.concatenate(time).astype("timedelta64[m]") + np.datetime64("2026-01-01T00:00", "us")
    queries = pa.array([f"target {number}" for number in range(len(groups) // 2 * trials)])
    return pa.table(
        {
            "user": pa.array(np.concatenate(user)).cast(pa.string()),
            "time": pa.array(minutes),
            "query": queries.take(pa.array(np.concatenate(query))),
        }
    )


# -- what people read ----------------------------------------------------------------------------------------


def _accounts_curve(chances: Chances, last: int) -> list[dict[str, Any]]:
    step = max(1, -(-last // _MOST_POINTS))
    return [
        {"accounts": at, "probability": float(chances.published(at))}
        for at in sorted({*range(0, last + 1, step), last})
    ]


def _what_helps(chances: Chances, probability: float) -> list[dict[str, Any]]:
    """Accounts needed after each change of parameters that a publisher might think of."""
    setting, (epsilon, delta) = chances.setting, chances.asked
    now: dict[str, Any] = {
        "epsilon": epsilon or setting.epsilon,
        "delta": delta or setting.delta,
        "max_queries": setting.d,
        "count_by": chances.method.count_by,
    }
    changes: dict[str, dict[str, Any]] = {
        "half the epsilon": {"epsilon": now["epsilon"] / 2},
        "a hundredth of the delta": {"delta": now["delta"] / 100},
        "twice the max-queries": {"max_queries": setting.d * 2},
    }
    if chances.per_account > 1:
        changes = {"--count-by users": {"count_by": "users"}, **changes}
    found = []
    for change, values in changes.items():
        try:
            after = Chances(method=ClickGraph(**now | values), target_copies=chances.target_copies)
            found.append({"change": change, "accounts_needed": after.accounts_for(probability)})
        except UsageError:  # beyond what the mechanism takes
            continue
    return found


def _result_table(chances: Chances, points: Iterable[int], hits: Mapping[int, int], trials: int) -> Table:
    head = (
        "fake accounts",
        "chance of being published",
        *((f"measured, {trials:,} trials",) if hits else ()),
    )
    rows = [
        (
            f"{at:,}",
            _format_share(float(chances.published(at))),
            *((_format_share(hits[at] / trials),) if hits else ()),
        )
        for at in points
    ]
    return (head, *rows)


def _in_words(result: AttackResult, chances: Chances) -> AttackResult:
    figures, d, once = result.figures, chances.method.max_queries, chances.method.count_by == "users"
    learned, low, high = figures["learned"], *result.interval
    measured = f", with a 95 % interval of {100 * low:.2f} to {100 * high:.2f}" if result.trials else ""
    posing = "once" if once or d == 1 else f"{d:,} times"
    rule = "K + 5b" if once else "(K + 5b)/d"
    many = f"could push {d:,} queries at once" if d > 1 else ""
    changed = ", ".join(f"{one['accounts_needed']:,} with {one['change']}" for one in figures["what_helps"])
    words = (
        (
            "Found",
            f"With {_format_accounts(figures['accounts'])}, each making the query {posing}, it is published in "
            f"{_format_share(result.success)} of cases. Without them it is published in "
            f"{_format_share(result.control)}. The advantage is {100 * result.advantage:.2f} percentage "
            f"points{measured}.",
        ),
        (
            "Needed",
            f"A chance of {100 * figures['probability']:g} % needs {_format_accounts(figures['accounts_needed'])}. "
            f"The rule {rule} says {figures['accounts_by_rule']:,}."
            + (f" They {many}." if once and many else ""),
        ),
        (
            "Guarantee",
            "It is not broken. The attacker must know the query beforehand, and only reads back what the fake "
            "accounts typed. If the target made the query too, its chance of being published rises by at most "
            f"{100 * learned['advantage']:.2f} percentage points, however often the accounts make it. The guarantee "
            f"allows {100 * learned['bound']:.2f}.",
        ),
        (
            "Harm",
            "The query may be somebody's secret, such as a card number that the attacker got elsewhere. "
            "It is then in a release with your name on it, for everybody to read.",
        ),
        (
            "Helps",
            "Keep fake accounts out of the log before you publish, and read a release before you hand it over."
            + (f" Accounts needed after a change of parameters: {changed}." if changed else "")
            + (f" If each user counts once, the same accounts {many}." if many and not once else ""),
        ),
    )
    return dataclasses.replace(result, words=words)


def _format_accounts(number: int) -> str:
    return "1 fake account" if number == 1 else f"{number:,} fake accounts"


def _format_share(share: float) -> str:
    """A percentage that is neither rounded to certainty nor to impossibility."""
    if 0 < share < 0.0001:
        return "less than 0.01 %"
    if 0.9999 < share < 1:
        return "more than 99.99 %"
    return f"{100 * share:.2f} %"


def _parameter_flag(name: str) -> str:
    return "--" + name.replace("_", "-")
