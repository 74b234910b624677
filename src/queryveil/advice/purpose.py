"""What a purpose is, what it tries, and what advice says."""

from __future__ import annotations

import csv
import json
import math
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from queryveil.advice.pilot import Pilot
from queryveil.display import cards, pictures
from queryveil.display.cards import Card, CardTable, number
from queryveil.display.svg import Axis, Series
from queryveil.errors import UsageError, argument
from queryveil.files import appearing, output
from queryveil.mechanisms import Mechanism
from queryveil.parameters import Declared, param, parameters, validate

Progress = Callable[[int, int], None]
MOST_USERS = 100_000
LEAST_USERS = 100
"""Of those who are sampled. A log that has fewer is looked at whole, and its figures are its own."""
_FEW_USERS = LEAST_USERS // 2
"""A log that has fewer has figures that are theirs, one by one; a sample of about a hundred has not so few."""

LEAST_PUBLISHED = 5
"""A release that is expected to hold fewer items is of no use, and is not recommended."""


@dataclass(frozen=True, kw_only=True)
class Wanted(Declared):
    """What the curator has decided already."""

    epsilon: float = param("privacy loss that you accept", gt=0, le=1e6, default=1.0)
    delta: float = param("probability that it is exceeded", gt=0, lt=1, default=1e-6)
    top: int = param(
        "the most frequent items that matter (j); if left out, 100, and 10 for precision", ge=1, default=100
    )
    most_users: int = param("about how many users the pilot looks at", ge=1, default=MOST_USERS)
    items_per_user: float = param(
        "your guess of how many items a user has, made without looking at the log", gt=0, le=1e6, default=10.0
    )

    def __post_init__(self) -> None:
        validate(self)
        if self.most_users < LEAST_USERS:
            raise UsageError(
                f"a pilot needs at least {LEAST_USERS} users: with fewer, each user would be more than "
                f"{100 / LEAST_USERS:g} % of every figure",
                f"pass {argument('most_users', LEAST_USERS)} or more",
            )


@dataclass(frozen=True)
class Option:
    """A setting that was tried, and what it gave."""

    mechanism: Mechanism
    varied: str
    """The parameter in which settings differ."""
    figures: Mapping[str, float | None]
    label: str = ""
    """What it is called in a table, if not by the value of what varies."""
    weaker: str = ""
    """How it promises less than the others; such a setting is shown, and never recommended."""

    def with_figures(self, figures: Mapping[str, float | None]) -> Option:
        return replace(self, figures=figures)

    @property
    def method(self) -> str:
        return self.mechanism.name

    @property
    def varied_value(self) -> Any:
        return getattr(self.mechanism, self.varied)

    def command(self, log: str = "LOG", reading: Sequence[str] = (), out: str = "DIR") -> str:
        """What to type, quoted for a shell; only parameters that are not their defaults.

        `reading` are the words that say how the log is read, like `--columns` and what follows it; `out` is where the
        release goes.
        """
        words = ["queryveil", "publish", self.method, log, *reading]
        for one in parameters(type(self.mechanism)):
            value = getattr(self.mechanism, one.name)
            if value is None or value == one.default:
                continue
            words += [one.flag] if value is True else [one.flag, _command_line_value(value)]
        return shlex.join([*words, "--out", out])

    def as_dict(self, log: str = "LOG", reading: Sequence[str] = ()) -> dict[str, Any]:
        return {
            "method": self.method,
            self.varied: self.varied_value,
            "weaker": self.weaker,
            "figures": dict(self.figures),
            "command": self.command(log, reading),
        }


def _command_line_value(value: Any) -> str:
    """A value as the command line takes it, the same when it is read back."""
    if isinstance(value, tuple):
        return ",".join(map(_command_line_value, value))
    short = f"{value:g}" if isinstance(value, float) else str(value)
    return short if not isinstance(value, float) or float(short) == value else repr(value)


def against_rule(advice: Advice, usual: float) -> Iterator[str]:
    """Where a pilot recommends something else than the rule: what the rule's number gave, and why that can be."""
    best = advice.best
    same = [
        option
        for option in advice.options
        if best is not None and (option.varied, option.method) == (best.varied, best.method)
    ]
    if best is None or not same:
        return
    near = min(same, key=lambda option: abs(math.log(option.varied_value / usual)))
    if near is best:
        return
    name, score = best.varied.replace("_", "-"), advice.purpose.score
    ours, theirs = (_value_text(advice.score_of(option)) for option in (best, near))
    yield (
        f"The rule leads to {name} {near.varied_value}, where {score} is {theirs}; at {best.varied_value} it is "
        f"{ours}. The rule does not know how many users a log has. The threshold grows with what a user may add, and "
        "in a log of few users it is then above most counts."
        if near.varied_value > best.varied_value
        else f"The rule leads to {name} {near.varied_value}, where {score} is {theirs}; at {best.varied_value} it is "
        f"{ours}."
    )


def _value_text(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.3g}"


@runtime_checkable
class Purpose(Protocol):
    """What a release is for. Implementations are frozen values."""

    @property
    def name(self) -> str: ...

    @property
    def question(self) -> str:
        """What is asked of a release, in a sentence."""

    @property
    def rule(self) -> str:
        """What to do without looking at any log."""

    @property
    def score(self) -> str:
        """The figure that decides."""

    @property
    def higher(self) -> bool:
        """Whether a larger score is better."""

    @property
    def top(self) -> int:
        """How many of the most frequent items matter, unless it is said."""

    @property
    def most_users(self) -> int:
        """More users in a pilot tell no more."""

    @property
    def figures(self) -> Mapping[str, str]:
        """What each figure says."""

    @property
    def items(self) -> str:
        """What the figure `published` counts; what is published, if there is no such figure."""

    @property
    def coarser_items(self) -> str:
        """What to publish where that is too rare; empty if there is nothing coarser."""

    def check(self, pilot: Pilot) -> None:
        """Refuse a log that lacks what is needed."""

    def options(self, pilot: Pilot, wanted: Wanted, progress: Progress | None) -> Sequence[Option]:
        """Try settings."""

    def remarks(self, advice: Advice) -> Sequence[str]:
        """What one has to know beside what is recommended."""


@dataclass(frozen=True, repr=False)
class Advice:
    """What to publish for a purpose. It comes from the raw log: for its curator alone."""

    purpose: Purpose
    wanted: Wanted
    options: tuple[Option, ...]
    users: int
    """Users whose rows the pilot looked at."""
    share: float
    """Of all users."""
    facts: Mapping[str, float] = field(default_factory=dict)
    log: str = "LOG"
    """What the log is called in commands."""
    reading: tuple[str, ...] = ()
    """The words of a command that say how it is read."""

    @property
    def best(self) -> Option | None:
        """The best score; the first of equals, and none if no setting gives enough. Weaker promises do not count."""
        scored = [(option, self.score_of(option)) for option in self.options]
        usable = [
            (option, score)
            for option, score in scored
            if score is not None
            and math.isfinite(score)
            and (option.figures.get("published", LEAST_PUBLISHED) or 0) >= LEAST_PUBLISHED
            and not option.weaker
        ]
        if not usable:
            return None
        sign = 1 if self.purpose.higher else -1
        return max(usable, key=lambda one: sign * one[1])[0]

    @property
    def useful(self) -> bool:
        """Whether any setting is expected to publish enough to be of use."""
        return self.best is not None

    @property
    def verdict(self) -> str:
        """What to expect of what is recommended; or that nothing is, and what would help."""
        best, wanted = self.best, self.wanted
        if best is not None:
            much = best.figures.get("published")
            setting = best.label or f"{best.varied.replace('_', '-')} {best.varied_value}"
            gives = (
                f": about {much:{',.0f' if much >= 10 else '.2g'}} {self.purpose.items}"
                if much is not None
                else ""
            )
            return f"{best.method} with {setting}{gives}"
        most = max((option.figures.get("published") or 0.0 for option in self.options), default=0.0)
        instead = f", or {self.purpose.coarser_items}" if self.purpose.coarser_items else ""
        return (
            f"Nothing useful can be published from this log at epsilon {wanted.epsilon:g} and delta "
            f"{wanted.delta:g}: the best setting would publish about {most:.2g} {self.purpose.items}, fewer than "
            f"{LEAST_PUBLISHED}. More users would help; a longer log may have them. So would a larger "
            f"epsilon{instead}."
        )

    @property
    def remarks(self) -> tuple[str, ...]:
        """What one has to know beside what is recommended: what it needs, how little it gives, where a rule differs."""
        few = (
            f"The pilot has only {self.users:,} {'user' if self.users == 1 else 'users'}, so each user makes up more "
            f"than {100 / _FEW_USERS:g} % of every figure. The rule is safer."
        )
        return (*([few] if self.users < _FEW_USERS else []), *self.purpose.remarks(self))

    def score_of(self, option: Option) -> float | None:
        return option.figures.get(self.purpose.score)

    @property
    def bits(self) -> float:
        """What the choice among the options can tell whoever sees it, at most."""
        return math.log2(max(1, len(self.options)))

    @property
    def cost(self) -> str:
        """What the pilot costs in privacy."""
        return (
            f"The pilot looked at the rows of {self.users:,} users ({100 * self.share:.3g} % of the log) without "
            "protection, so its figures are for you alone. If you publish with parameters chosen this way, readers "
            f"can tell which of {len(self.options)} settings did best. That is at most "
            f"{math.ceil(10 * self.bits) / 10:.1f} bits each time you ask, and no guarantee covers it. The rule "
            "costs nothing if you follow it without looking, and so does a pilot on a public log. A pilot on an "
            "earlier log costs the people in that log just as much."
        )

    def save(self, out: str | Path) -> None:
        """Write the curves, the table and this advice into a new folder, mode 0700."""
        folder = Path(out)
        output.new_folder(folder)
        with output.disk_errors(folder), appearing.claim_paths(folder) as claims:
            (claim,) = claims
            claim.content.mkdir(mode=0o700)
            self._write_files(claim.content)
            for file in claim.content.iterdir():
                file.chmod(0o600)
            claims.publish_claims(f"'{folder}' is complete")

    def _write_files(self, folder: Path) -> None:
        document = json.dumps(self.as_dict(), indent=2, allow_nan=False)
        (folder / "advice.json").write_text(document + "\n", encoding="utf-8")
        with (folder / "table.csv").open("w", encoding="utf-8", newline="") as lines:
            table = csv.writer(lines)
            table.writerow(["method", "parameter", "value", "weaker", *self.purpose.figures])
            for option in self.options:
                found = [option.figures.get(name) for name in self.purpose.figures]
                table.writerow([option.method, option.varied, option.varied_value, option.weaker, *found])
        for name in self.purpose.figures:
            if (chart := self._chart(name)) is not None:
                chart.save(folder / f"{name}.svg")

    def _chart(self, figure: str) -> pictures.Picture | None:
        """Draw a figure of the options against the parameter that varies; None if there is only one point."""
        varied = self.options[0].varied
        points: dict[str, list[tuple[float, float]]] = {}
        for option in self.options:
            value = option.figures.get(figure)
            if value is not None and option.varied == varied:
                points.setdefault(option.method, []).append((float(option.varied_value), value))
        if sum(map(len, points.values())) < 2:
            return None
        noun = varied.replace("_", " ")
        return pictures.curves(
            f"{figure} against {noun}: {self.purpose.figures[figure]}",
            [Series(method, sorted(some)) for method, some in points.items()],
            Axis(f"{noun} per user", log=True),
            Axis(figure),
        )

    def _card(self) -> Card:
        settings = [
            (
                one.method,
                one.label or str(one.varied_value),
                number(one.figures.get("published")),
                number(self.score_of(one)),
            )
            for one in self.options
        ]
        heading = ("method", "setting", "published", self.purpose.score)
        table = CardTable("Settings that were tried", heading, iter(settings), len(settings))
        line = f"{self.purpose.name}; {self.verdict}"
        return Card(
            f"Advice for {self.purpose.name}", line, (), (self.verdict, *self.remarks, self.cost), (table,)
        )

    def as_dict(self) -> dict[str, Any]:
        best = self.best
        return {
            "purpose": self.purpose.name,
            "question": self.purpose.question,
            "useful": self.useful,
            "verdict": self.verdict,
            "recommended": best.as_dict(self.log, self.reading) if best else None,
            "options": [option.as_dict(self.log, self.reading) for option in self.options],
            "score": {"figure": self.purpose.score, "higher_is_better": self.purpose.higher},
            "figures": dict(self.purpose.figures),
            "remarks": list(self.remarks),
            "rule": self.purpose.rule,
            "pilot": {"users": self.users, "share": self.share, **self.facts},
            "cost": self.cost,
        }

    __repr__ = cards.repr_of
    _repr_html_ = cards.html_of
