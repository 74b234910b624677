"""What is promised: frozen values that add up, or refuse to.

A guarantee is computed from parameters before any data is read. Its proof is in docs/proofs; the rules for
adding two of them are in docs/proofs/composition.md.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from queryveil.catalog import Sentence, term
from queryveil.display import cards
from queryveil.display.cards import Card
from queryveil.errors import CannotCompose, UsageError
from queryveil.privacy import calibration, gaussian, strength
from queryveil.privacy.kinds import (
    ADD_REMOVE,
    APPROXIMATE,
    BELIEF_FAILS,
    DELTA_TOO_LARGE,
    GAUSSIAN,
    K_ANONYMITY,
    KINDS,
    NONE,
    PRACTICALLY_CERTAIN,
    PRIVATE_KINDS,
    PROBABILISTIC,
    PURE,
    REPLACE,
)
from queryveil.privacy.statements import Statement, say
from queryveil.privacy.strength import before_to_after

if TYPE_CHECKING:
    from queryveil.display.pictures import Picture

_PRIORS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.99)
_SHOWN = (0.01, 0.1, 0.5)
_SUSPICION = 0.01
"""The suspicion in the example."""

__all__ = ["ADD_REMOVE", "APPROXIMATE", "BELIEF_FAILS", "DELTA_TOO_LARGE", "GAUSSIAN", "KINDS"]
__all__ += ["K_ANONYMITY", "NONE", "PRACTICALLY_CERTAIN", "PRIVATE_KINDS", "PROBABILISTIC", "PURE", "REPLACE"]
__all__ += [
    "Guarantee",
    "before_to_after",
    "exact_sum",
    "following_limit",
    "gaussian_sum",
    "limit_holds",
    "protected_unit",
    "replace_if_equal",
]

_EQUAL = f"{REPLACE}-equal-"
_DISCLOSED = {"shape": ("queries", "phrases"), "topics": ("topics",), "words": ("words",)}
"""What neighbours may have to agree on, for each user, because it is published as it is."""

_BY_MAJORITY = frozenset({"set of keywords"})
"""What stands for k users though each part of it need only be that of more than half of them."""


def replace_if_equal(*what: str) -> str:
    """One history replaced by another that has the same 'shape', 'topics' or 'words': weaker than any history."""
    return _EQUAL + "-and-".join(what) if what else REPLACE


@dataclass(frozen=True, kw_only=True, repr=False)
class Guarantee:
    """A promise about one release: its kind, its numbers, to whom, against which change, and its limits."""

    kind: str
    epsilon: float | None = None
    delta: float | None = None
    mu: float | None = None
    """Of a Gaussian guarantee: how many standard deviations of the noise one user moves everything together."""
    p: float | None = None
    """Of a Gaussian guarantee: the probability that something is published that one user alone has."""
    k: int | None = None
    shared: str = "item"
    """What at least k users have in common under k-anonymity: 'query', 'set of keywords'."""
    unit: str = "user"
    neighbours: str | None = None
    assumptions: tuple[Statement, ...] = ()
    caveats: tuple[Statement, ...] = ()
    implies: Guarantee | None = None
    """An approximate guarantee with a smaller delta, which holds too and survives further processing."""
    parts: tuple[Guarantee, ...] = ()
    """What a composed guarantee was added up from."""
    of: str = ""
    """As a part: what of the release it is for, such as 'keywords'."""
    delta_too_large: bool = False
    """Delta is not below one in the number of users; `among` finds out, and a caveat says so."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"no such kind of guarantee: {self.kind}")
        if self.kind in PRIVATE_KINDS and (self.epsilon is None or self.delta is None):
            raise ValueError(f"{self.kind} needs epsilon and delta")
        if (self.kind == GAUSSIAN) != (self.mu is not None and self.p is not None):
            raise ValueError("a Gaussian guarantee has mu and p, and no other has")
        if self.kind == K_ANONYMITY and (self.k is None or self.k < 2):
            raise ValueError("k-anonymity needs a k of at least 2")

    @property
    def private(self) -> bool:
        return self.kind in PRIVATE_KINDS

    @property
    def replaces(self) -> bool:
        """Whether logs are compared in which one history is replaced, by any or by one that is equal in part."""
        return (self.neighbours or "").startswith(REPLACE)

    @property
    def disclosed(self) -> tuple[Sentence, ...]:
        """What is published as it is, and must be equal in the histories that are compared."""
        parts = (self.neighbours or "").partition(_EQUAL)[2]
        return tuple(
            Sentence(f"disclosed.{what}") for one in parts.split("-and-") if one for what in _DISCLOSED[one]
        )

    @property
    def by_majority(self) -> bool:
        """Under k-anonymity: whether what is published of a group is that of most of its users, not of all."""
        return self.shared in _BY_MAJORITY

    @property
    def sure_of(self) -> int:
        """Under k-anonymity: of how many users each part of what is published is, at the least."""
        k = int(self.k or 0)
        return k // 2 + 1 if self.by_majority else k

    @property
    def crowd(self) -> Sentence:
        """Under k-anonymity: what holds of everything published, in a sentence without its end."""
        shared = term("shared", self.shared)
        if not self.by_majority:
            return Sentence("crowd.all", shared=shared, k=self.k)
        return Sentence("crowd.majority", shared=shared, k=self.k, most=self.sure_of)

    @property
    def cost(self) -> dict[str, Any]:
        """What a draw that this guarantee pays for says of it."""
        said = {"kind": self.kind, "epsilon": self.epsilon, "delta": self.delta}
        said |= {"mu": self.mu, "p": self.p} if self.kind == GAUSSIAN else {}
        return said | {"neighbours": self.neighbours}

    @property
    def composable(self) -> bool:
        """Whether it has a sum with others: everything that one user did is compared, and nothing is disclosed."""
        return self.private and not self.disclosed

    def __add__(self, other: Guarantee) -> Guarantee:
        """Both releases together, of one log: epsilons and deltas add, the weaker kind remains.

        Two Gaussian guarantees add mu^2 and p; epsilon is then what their curve has at the sum of the deltas.
        """
        if not (self.composable and other.composable):
            raise CannotCompose(
                f"'{self.headline}' and '{other.headline}' cannot be added up",
                "account for them separately: only differentially private releases of whole histories add up",
            )
        if (self.unit, self.neighbours) != (other.unit, other.neighbours):
            raise CannotCompose(
                f"'{self.headline}' compares logs by '{self.neighbours}', and '{other.headline}' by "
                f"'{other.neighbours}' per {other.unit}",
                "convert one first, with Guarantee.against()",
            )
        kinds = {self.kind, other.kind}
        # Beside another kind a Gaussian guarantee counts by its epsilon and delta.
        kind = (
            APPROXIMATE
            if kinds & {APPROXIMATE, GAUSSIAN}
            else PROBABILISTIC
            if PROBABILISTIC in kinds
            else PURE
        )
        numbers: dict[str, Any] = {
            "epsilon": exact_sum(self.epsilon, other.epsilon),
            "delta": min(1.0, exact_sum(self.delta, other.delta)),
        }
        if kinds == {GAUSSIAN}:
            kind, numbers = GAUSSIAN, gaussian_sum(self, other)
        stronger = kind == PROBABILISTIC and (self.implies or other.implies)
        return Guarantee(
            kind=kind,
            **numbers,
            unit=self.unit,
            neighbours=self.neighbours,
            assumptions=tuple(dict.fromkeys(self.assumptions + other.assumptions)),
            caveats=tuple(dict.fromkeys(self.caveats + other.caveats)),
            delta_too_large=self.delta_too_large or other.delta_too_large,
            implies=(self.approximate() + other.approximate()).bare if stronger else None,
            parts=(self.parts or (self,)) + (other.parts or (other,)),
        )

    def among(self, users: int | None, *, told: bool) -> Guarantee:
        """The same promise for a log of so many users, with the caveat that a delta too large for them calls for.

        Pass None where the number of users is not public; `told`: whether readers of the release are told it.
        """
        delta = float(self.delta or 0)
        if not self.private or self.delta_too_large or delta < strength.delta_limit(users, told=told):
            return self
        found = dataclasses.replace(self, delta_too_large=True)
        caveat = say(DELTA_TOO_LARGE, found.of_delta(users if told else None))
        return dataclasses.replace(found, caveats=(*self.caveats, caveat))

    def of_delta(self, users: int | None = None) -> Sentence:
        """What a delta that is too large permits, as a phrase."""
        delta = float(self.delta or 0)
        if self.kind == PROBABILISTIC:
            return Sentence("delta.probabilistic", delta=delta)
        exposed: str = ""
        if users and users * delta >= 1:
            exposed = Sentence("delta.exposed", exposed=min(users, math.ceil(delta * users)), users=users)
        return Sentence("delta.approximate", delta=delta, exposed=exposed)

    @property
    def exposing(self) -> bool:
        """Whether delta alone permits so much that epsilon says nothing."""
        return self.private and (self.delta_too_large or strength.voids(self.delta))

    @property
    def bare(self) -> Guarantee:
        """The promise without its words: what stands beside another that has them."""
        return Guarantee(
            kind=self.kind,
            epsilon=self.epsilon,
            delta=self.delta,
            mu=self.mu,
            p=self.p,
            unit=self.unit,
            neighbours=self.neighbours,
        )

    def approximate(self) -> Guarantee:
        """The approximate guarantee that this one implies; it survives any further processing."""
        if self.implies is not None:
            return self.implies
        if not self.private:
            raise CannotCompose(
                f"'{self.headline}' implies no differential privacy", "account for it separately"
            )
        if self.kind in (PROBABILISTIC, GAUSSIAN):
            return dataclasses.replace(self, kind=APPROXIMATE, mu=None, p=None, parts=())
        return self

    def between_histories(self) -> tuple[float, float]:
        """Epsilon and delta between two histories of one person, both in the log: add/remove counts twice."""
        epsilon, delta = float(self.epsilon or 0), float(self.delta or 0)
        if self.replaces or self.unit != "user":
            return epsilon, delta
        return 2 * epsilon, _doubled_delta(epsilon, delta)

    def shift_between_histories(self) -> tuple[float, float]:
        """Of a Gaussian guarantee, mu and p between two histories of one person, both in the log."""
        mu, p = float(self.mu or 0), float(self.p or 0)
        return (mu, p) if self.replaces or self.unit != "user" else _replacement_cost(mu, p)

    @property
    def guessed_right(self) -> float:
        """How often, at the most, a guess between two equally likely histories of one person is right."""
        if self.kind == GAUSSIAN:
            return gaussian.guessed_right(*self.shift_between_histories())
        return strength.guessed_right(*self.between_histories())

    def believed(self, prior: float) -> float:
        """The most that a suspicion can become once the release is read.

        With probability `1 - BELIEF_FAILS` over the noise, it becomes no more than this, whatever is true:
        docs/proofs/composition.md, "What a suspicion can become". Without such a bound, it can become certainty.
        """
        if not self.private:
            return 1.0
        if self.kind == GAUSSIAN:
            return before_to_after(
                prior, gaussian.largest_rise(*self.shift_between_histories(), BELIEF_FAILS)
            )
        epsilon, delta = self.between_histories()
        if self.kind == APPROXIMATE:
            epsilon = strength.rise(epsilon, delta, BELIEF_FAILS)
        if self.kind == PROBABILISTIC:
            # The bound of one bad set is for a reader who knows the salt; the implied one is for all others.
            implied = self.implies.between_histories() if self.implies else (epsilon, 0.0)
            epsilon = (
                max(epsilon, strength.rise(*implied, BELIEF_FAILS)) if delta <= BELIEF_FAILS else math.inf
            )
        return before_to_after(prior, epsilon)

    def against(self, neighbours: str) -> Guarantee:
        """The same release under another neighbour relation, where a proof allows the conversion."""
        if neighbours == self.neighbours:
            return self
        if neighbours == REPLACE and self.neighbours == ADD_REMOVE and self.kind != PROBABILISTIC:
            epsilon, delta = float(self.epsilon or 0), float(self.delta or 0)
            if self.kind == GAUSSIAN:
                mu, p = _replacement_cost(float(self.mu or 0), float(self.p or 0))
                delta = min(1.0, 2 * delta)
                numbers = {"mu": mu, "p": p, "delta": delta, "epsilon": gaussian.epsilon_of(mu, p, delta)}
                return dataclasses.replace(self, **numbers, neighbours=REPLACE, parts=())  # type: ignore[arg-type]
            return dataclasses.replace(
                self,
                epsilon=2 * epsilon,
                delta=_doubled_delta(epsilon, delta),
                neighbours=REPLACE,
                parts=(),
            )
        raise CannotCompose(
            f"'{self.headline}' against '{self.neighbours}' cannot be restated against '{neighbours}'",
            f"publish with a guarantee against '{neighbours}'",
        )

    # -- words -------------------------------------------------------------------------------------------

    @property
    def headline(self) -> Sentence:
        """One line: numbers, what is compared, and kind. An epsilon means another thing for other neighbours."""
        return self.headline_for(self.compared)

    def headline_for(self, compared: Sentence) -> Sentence:
        """Return the headline with another sentence for the change that the numbers are about.

        Args:
            compared: Names the change of the log between neighboring logs.
        """
        if self.kind == NONE:
            return Sentence("headline.none")
        if self.kind == K_ANONYMITY:
            return Sentence("headline.crowd", k=self.k)
        return Sentence(
            "headline.private",
            epsilon=self.epsilon,
            delta=Sentence("headline.delta", delta=self.delta) if self.delta else "",
            compared=compared,
            kind=Sentence(f"kind.{self.kind}"),
            given=Sentence("headline.given", disclosed=self.disclosed) if self.disclosed else "",
        )

    @property
    def share(self) -> Sentence:
        """As a part: what it takes of the whole. Gaussian parts add up by mu^2 and p, others by epsilon and delta."""
        if self.kind != GAUSSIAN:
            return self.headline
        return Sentence("headline.part", mu=self.mu, p=self.p)

    @property
    def compared(self) -> Sentence:
        """Which change of the log the numbers are about: 'if one user's history is replaced'."""
        if self.unit != "user":
            return Sentence("compared.unit", unit=term("unit", self.unit))
        if self.neighbours is None:
            return Sentence("compared.user")
        return Sentence("compared.replace" if self.replaces else "compared.add-remove")

    def plain_words(self, scope: str = "release", period: str = "") -> Sentence:
        """What an attacker can and cannot learn, in words, with an example in odds.

        Args:
            scope: What the attacker reads: a `release`, or a `series` of them.
            period: The part of a person's searches that is protected in a series: `day`, `week`, or `month`.
        """
        read = Sentence(f"scope.{scope}")
        if self.kind == NONE:
            return Sentence("plain.none", scope=read)
        if self.kind == K_ANONYMITY:
            members = Sentence("plain.crowd.majority" if self.by_majority else "plain.crowd.all")
            return Sentence("plain.crowd", crowd=self.crowd, members=members)
        amount = strength.amount(
            self.guessed_right,
            self.believed(_SUSPICION),
            self.between_histories()[1],
            too_large=self.exposing,
        )
        said = {
            "amount": Sentence(f"amount.{amount}", scope=read),
            "beyond": Sentence("plain.beyond", disclosed=self.disclosed) if self.disclosed else "",
            "example": _bound_example(self, read, period),
            "besides": Sentence("plain.besides", of_delta=self.of_delta()) if self.exposing else "",
        }
        if self.unit == "user":
            searches = Sentence(f"scope.searches.{period}" if period else "scope.searches")
            return Sentence("plain.user", **said, searches=searches)
        return Sentence("plain.unit", **said, **protected_unit(self), epsilon=100 * float(self.epsilon or 0))

    def after_processing(self) -> Sentence:
        """What remains however the release is processed further."""
        kept = self.approximate()
        return Sentence("processing.after", epsilon=kept.epsilon, delta=kept.delta, compared=kept.compared)

    def as_dict(self) -> dict[str, Any]:
        """For manifests and `--json`; `from_dict` reads it back."""
        out: dict[str, Any] = {"kind": self.kind}
        if self.of:
            out["of"] = self.of
        if self.delta_too_large:
            out["delta_too_large"] = True
        for name in ("epsilon", "delta", "mu", "p", "k"):
            if getattr(self, name) is not None:
                out[name] = getattr(self, name)
        if self.kind == K_ANONYMITY:
            out["shared"] = self.shared
        out |= {"unit": self.unit, "neighbours": self.neighbours}
        out["assumptions"] = [one.as_dict() for one in self.assumptions]
        out["caveats"] = [one.as_dict() for one in self.caveats]
        if self.implies is not None:
            keys = ("kind", "epsilon", "delta", "unit", "neighbours")
            out["implies"] = {key: getattr(self.implies, key) for key in keys}
        if self.parts:
            out["parts"] = [part.as_dict() for part in self.parts]
        return out

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> Guarantee:
        fields = dict(given)
        for name in ("assumptions", "caveats"):
            fields[name] = tuple(map(Statement.from_dict, fields.get(name, ())))
        fields["parts"] = tuple(cls.from_dict(part) for part in fields.get("parts", ()))
        if fields.get("implies"):
            fields["implies"] = cls.from_dict(fields["implies"])
        return cls(**fields)

    def _card(self) -> Card:
        return card(self)

    def plot(self) -> Picture:
        """What a suspicion about a person can become once the release is read, beside what it is without it.

        Only differential privacy bounds that: for other guarantees it is a `UsageError`.
        """
        return _belief_chart(self)

    __repr__ = cards.repr_of
    _repr_html_ = cards.html_of


def _doubled_delta(epsilon: float, delta: float) -> float:
    """(1 + e^epsilon) delta, rounded up: what two steps, out and in, may exceed epsilon by."""
    if delta == 0:
        return 0.0
    if epsilon + math.log(delta) > 0:
        return 1.0
    return min(1.0, (1 + math.exp(epsilon)) * delta * (1 + 1e-12))


def _replacement_cost(mu: float, p: float) -> tuple[float, float]:
    """Out and in at once: weights are never below 0, so the two moves together have a norm of root 2 times one."""
    return math.nextafter(math.sqrt(2) * mu, math.inf), min(1.0, 2 * p)


def gaussian_sum(*guarantees: Guarantee) -> dict[str, float]:
    """What Gaussian guarantees have together: mu^2 and p add up, and epsilon is read off at the sum of deltas."""
    square = sum((Fraction(float(one.mu or 0)) ** 2 for one in guarantees), Fraction(0))
    mu = calibration.up(gaussian.root(square))
    p = min(
        1.0, calibration.float_at_least(sum((Fraction(float(one.p or 0)) for one in guarantees), Fraction(0)))
    )
    delta = min(1.0, exact_sum(*(one.delta for one in guarantees)))
    return {"mu": mu, "p": p, "delta": delta, "epsilon": gaussian.epsilon_of(mu, p, delta)}


def exact_sum(*numbers: float | None) -> float:
    """Sum as a person adds the printed decimals: ten times 0.1 is 1."""
    with localcontext(prec=1_000):  # more than any sum of doubles has
        return float(sum((Decimal(repr(float(one))) for one in numbers if one is not None), Decimal(0)))


def protected_unit(promise: Guarantee) -> dict[str, str]:
    """What is protected, as the fields `unit` and `units` of a sentence."""
    return {"unit": term("unit", promise.unit), "units": term("unit", f"{promise.unit}s")}


def _bound_example(promise: Guarantee, scope: Sentence, period: str) -> Sentence:
    """The bound as an example: docs/proofs/composition.md, "what a suspicion can become"."""
    after = promise.believed(_SUSPICION)
    certain = after >= PRACTICALLY_CERTAIN
    said: dict[str, Any] = {
        "before": _SUSPICION,
        "most": Sentence("example.certain") if certain else Sentence("example.most", after=after),
        "limit": following_limit(promise),
    }
    if period:
        return Sentence("example.period", **said, scope=scope, period=Sentence(f"period.{period}"))
    # What is published as it is may by itself say what Anna did; the bound is for whoever knows it already.
    said["known"] = Sentence("example.known", disclosed=promise.disclosed) if promise.disclosed else ""
    if promise.unit == "user":
        return Sentence("example.user", **said, scope=scope)
    return Sentence("example.unit", **said, unit=term("unit", promise.unit))


def limit_holds(promise: Guarantee) -> str:
    """Return how often the limit on a suspicion holds; empty if it always does."""
    if not promise.private or not promise.delta or promise.believed(0.5) >= PRACTICALLY_CERTAIN:
        return ""
    return Sentence("limit.holds", releases=round(1 / BELIEF_FAILS))


def following_limit(promise: Guarantee) -> str:
    """Return `limit_holds` as it follows another sentence."""
    limit = limit_holds(promise)
    return Sentence("limit.follows", limit=limit) if limit else ""


def card(guarantee: Guarantee) -> Card:
    numbers = (("epsilon", guarantee.epsilon), ("delta", guarantee.delta), ("k", guarantee.k))
    facts: list[tuple[str, object]] = [("kind", Sentence(f"kind.{guarantee.kind}"))]
    facts += [(name, value if name == "k" else f"{value:g}") for name, value in numbers if value is not None]
    if guarantee.private:
        facts.append(("compared", guarantee.compared))
        for prior in _SHOWN:
            facts.append(
                (
                    Sentence("guarantee.suspicion", before=prior),
                    Sentence("guarantee.rises", after=guarantee.believed(prior)),
                )
            )
    facts += [("caveat", one.sentence) for one in guarantee.caveats]
    return Card("Guarantee", guarantee.headline, facts, (guarantee.plain_words(),))


def _belief_chart(guarantee: Guarantee) -> Picture:
    from queryveil.display import pictures
    from queryveil.display.svg import Axis, Series

    if not guarantee.private:
        raise UsageError(
            f"'{guarantee.headline}' bounds no suspicion, so there is nothing to draw",
            "choose a method with differential privacy, such as queryveil.Steered",
        )
    after = [(prior, guarantee.believed(prior)) for prior in _PRIORS]
    title = Sentence("rise.at-most", before=0.1, after=guarantee.believed(0.1))
    return pictures.curves(
        title,
        [
            Series(Sentence("guarantee.after"), after),
            Series(Sentence("guarantee.without"), [(one, one) for one in _PRIORS]),
        ],
        Axis(Sentence("guarantee.before-axis"), top=1.0, percent=True),
        Axis(Sentence("guarantee.after-axis"), top=1.0, percent=True),
    )
