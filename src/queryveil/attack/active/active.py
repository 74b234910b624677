"""The active attack: fake accounts pose what a target is suspected of, and the release says whether she did too.

Against k-anonymity it is certain: k - 1 accounts make a crowd that lacks one. Against differential privacy the same
accounts move a chance by no more than (e^epsilon - 1 + 2 delta)/(e^epsilon + 1), whatever rule the attacker follows:
P[yes | posed] <= e^epsilon P[yes | not] + delta and P[no | not] <= e^epsilon P[no | posed] + delta add up to that.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from queryveil.attack.active import trials as active_trials
from queryveil.attack.active.schemes import DRAWN, SCHEMES, Setting
from queryveil.attack.active.trials import Background, Tried
from queryveil.attack.protocol import CONFIDENCE, AttackInput, AttackResult, Progress, Table, difference
from queryveil.errors import CannotBeMet, UsageError, argument
from queryveil.parameters import Declared, param, validate
from queryveil.reading.pinning import unchanged_logs

if TYPE_CHECKING:
    from queryveil.privacy.guarantee import Guarantee
    from queryveil.privacy.noise import Noise
    from queryveil.reading.log import SearchLog

METHODS = (*SCHEMES, *DRAWN)
USUAL = tuple(name for name in METHODS if name not in ("clump", "partition"))
"""Clump and Partition take their time, and are attacked if asked for."""
WITHIN, BEYOND, OPEN = "within", "beyond", "open"
FALSE_ALARM = 1e-6
"""How often a method that keeps its bound is called beyond it, at most."""
_GENERATED_USERS = 2_000


@dataclass(frozen=True, kw_only=True)
class ActiveAttack(Declared):
    """Fake accounts repeat a target's query, and the release tells whether the target made it too."""

    name: ClassVar[str] = "active"
    inputs: ClassVar[tuple[AttackInput, ...]] = (
        AttackInput(
            name="log",
            kind="log",
            help="A log to which targets and fake accounts are added; a generated one if left out.",
            needed=False,
        ),
    )

    methods: tuple[str, ...] = param("methods to attack", choices=METHODS, many=True, default=USUAL)
    k: int = param(
        "users who must share everything that is published, under k-anonymity", ge=2, le=1000, default=5
    )
    epsilon: float = param("privacy loss per user of private methods", gt=0, le=100, default=1.0)
    delta: float = param("probability that the loss is exceeded", gt=0, lt=1, default=1e-6)
    max_items: int = param(
        "items that one user may add to zealous (m) and truncated-geometric (d)", ge=1, le=1000, default=5
    )
    max_queries: int = param("queries that one user may add to click-graph (d)", ge=1, le=1000, default=20)
    target_copies: int = param("times that the target made the query", ge=1, le=1000, default=1)
    trials: int = param(
        "targets who made the query, and as many who did not, for each method", ge=1, le=10**5, default=500
    )

    def __post_init__(self) -> None:
        given: object = self.methods
        if isinstance(given, str):
            object.__setattr__(self, "methods", tuple(given.split(",")))
        validate(self)
        if len(set(self.methods)) < len(self.methods):
            raise UsageError("a method is named twice", f"name each method once in {argument('methods')}")

    @unchanged_logs
    def run(
        self,
        log: SearchLog | None = None,
        /,
        *,
        progress: Progress | None = None,
        noise: Noise | None = None,
    ) -> AttackResult:
        """Attack every method through a real release, with targets who posed the query and targets who did not."""
        background = Background.of(log if log is not None else _generate_background())
        if not background.users:
            raise CannotBeMet("the log has no accepted row", f"check the file and {argument('columns')}")
        at = Setting(
            k=self.k,
            epsilon=self.epsilon,
            delta=self.delta,
            max_items=self.max_items,
            max_queries=self.max_queries,
            target_copies=self.target_copies,
            trials=self.trials,
            users=background.users,
        )
        made: list[tuple[str, Tried]] = []
        left_out: dict[str, str] = {}
        for number, name in enumerate(self.methods, 1):
            try:
                made += [(name, one) for one in self._run_trials(name, at, background, noise)]
            except UsageError as error:
                # What is not installed is left out, unless it was asked for.
                if name not in DRAWN or self.methods != USUAL:
                    raise
                left_out[name] = str(error)
            if progress:
                progress(number, len(self.methods))
        # The worst line is chosen for its figures, so intervals are such that those of all lines hold together.
        confidence = 1 - (1 - CONFIDENCE) / len(made)
        rows = [self._result_row(name, one, confidence) for name, one in made]
        # All lines have as many trials, so that their advantages compare; of equals it is the one that hit more.
        worst = max(rows, key=lambda row: (max(0.0, row["advantage"]), row["success"]))
        return AttackResult(
            attack=self.name,
            success=worst["success"],
            control=worst["control"],
            interval=tuple(worst["interval"]),
            trials=self.trials,
            figures={
                "worst": worst["method"],
                "methods": rows,
                "left_out": left_out,
                "log": {
                    "rows": background.rows.num_rows,
                    "users": background.users,
                    "generated": log is None,
                },
            },
            table=_result_table(rows),
            words=_summary_sentences(self, rows, left_out),
        )

    def _run_trials(self, name: str, at: Setting, background: Background, noise: Noise | None) -> list[Tried]:
        if name in DRAWN:
            return [active_trials.drawn(name, self.epsilon, self.trials, noise)]
        return active_trials.tried(SCHEMES[name](at), background, self.trials, self.target_copies, noise)

    def _result_row(self, name: str, one: Tried, confidence: float) -> dict[str, Any]:
        """One line of the table."""
        success, control = one.hits / self.trials, one.false / self.trials
        counted = (one.hits, self.trials), (one.false, self.trials)
        interval = difference(*counted, confidence)
        surely, _ = difference(*counted, 1 - FALSE_ALARM)
        most = bound(one.guarantee) if one.guarantee.private else None
        exact = one.variant.exact
        return {
            "method": name,
            "guarantee": one.guarantee.headline,
            "neighbours": one.guarantee.neighbours,
            "accounts": one.variant.accounts,
            "rule": one.variant.rule,
            "success": success,
            "control": control,
            "advantage": success - control,
            "interval": list(interval),
            "exact": None if exact is None else {"success": exact[0], "control": exact[1]},
            "bound": most,
            "verdict": None if most is None else verdict(interval, surely, most),
        }


def bound(guarantee: Guarantee) -> float:
    """The largest advantage that any attacker has against a private release: success minus control."""
    implied = guarantee.approximate()
    growth, delta = math.exp(min(implied.epsilon or 0.0, 700.0)), implied.delta or 0.0
    return min(1.0, (growth - 1 + 2 * delta) / (growth + 1))


def verdict(interval: tuple[float, float], surely: float, most: float) -> str:
    """Whether the advantage is within a bound, surely beyond it, or neither, which leaves it open."""
    return WITHIN if interval[1] <= most else BEYOND if surely > most else OPEN


def _generate_background() -> SearchLog:
    from queryveil.reading.log import read
    from queryveil.synthetic.generator import LogSettings, generate_batches

    return read(pa.Table.from_batches(generate_batches(LogSettings(version=1, users=_GENERATED_USERS))))


# -- what people read ----------------------------------------------------------------------------------------


def _result_table(rows: list[dict[str, Any]]) -> Table:
    head = (
        "method, yes if",
        "fake accounts",
        "yes, made it",
        "yes, did not",
        "advantage",
        "95 % interval",
        "computed",
        "bound",
        "",
    )
    return (
        head,
        *(
            (
                f"{row['method']}, {row['rule']}",
                f"{row['accounts']:,}",
                _format_share(row["success"]),
                _format_share(row["control"]),
                f"{100 * row['advantage']:.1f}",
                f"{100 * row['interval'][0]:.1f} to {100 * row['interval'][1]:.1f}",
                _exact_text(row["exact"]),
                "none" if row["bound"] is None else f"{100 * row['bound']:.1f}",
                row["verdict"] or "",
            )
            for row in rows
        ),
    )


def _summary_sentences(
    attack: ActiveAttack, rows: list[dict[str, Any]], left_out: dict[str, str]
) -> tuple[tuple[str, str], ...]:
    said = [
        (
            "Read",
            f"Each line has {attack.trials:,} targets who made a query and as many who did not, with the same fake "
            "accounts, in a release of the real method. The attacker sees only the release. The advantage, its "
            "interval, the advantage that the attacker computes beforehand, and its bound are in percentage points. "
            "With 95 % confidence, the intervals of all lines hold at once.",
        )
    ]
    sure = [row for row in rows if row["bound"] is None and row["interval"][0] > 0.5]
    if sure:
        names = ", ".join(dict.fromkeys(row["method"] for row in sure))
        least = min(row["accounts"] for row in sure)
        said.append(
            (
                "Broken",
                f"{names}: a few accounts ({least:,} to {max(row['accounts'] for row in sure):,}) show who made a "
                "query and who did not. A crowd of k does not protect against an attacker who makes up the crowd.",
            )
        )
    private = [row for row in rows if row["bound"] is not None]
    if private:
        most = max(private, key=lambda row: row["advantage"])
        said.append(
            (
                "Bounded",
                "For private methods the attacker uses the number of accounts that reveals most. The largest "
                f"measured advantage is {100 * most['advantage']:.1f} percentage points ({most['method']}). No "
                f"attacker can gain more than {100 * most['bound']:.1f} there, on average.",
            )
        )
    said += [
        (
            "Failed",
            f"{row['method']}: the measured advantage is beyond its bound. Please report this as a bug.",
        )
        for row in private
        if row["verdict"] == BEYOND
    ]
    if any(row["verdict"] == OPEN for row in private):
        said.append(
            ("Open", "Some intervals reach beyond the bound, so the question is open. Pass more --trials.")
        )
    said += [("Left out", f"{name}: {why}.") for name, why in left_out.items()]
    return tuple(said)


def _exact_text(exact: dict[str, float] | None) -> str:
    return "" if exact is None else f"{100 * (exact['success'] - exact['control']):.1f}"


def _format_share(share: float) -> str:
    return f"{100 * share:.1f} %"
