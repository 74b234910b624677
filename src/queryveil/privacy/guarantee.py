"""What is promised: frozen values that add up, or refuse to.

A guarantee is computed from parameters before any data is read. Its proof is in docs/proofs; the rules for
adding two of them are in docs/proofs/composition.md.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext
from typing import Any

from queryveil.errors import CannotCompose
from queryveil.privacy import strength
from queryveil.privacy.statements import Statement, say

PROBABILISTIC = "probabilistic-dp"
APPROXIMATE = "approximate-dp"
PURE = "pure-dp"
K_ANONYMITY = "k-anonymity"
NONE = "none"

REPLACE = "replace-one-user"
ADD_REMOVE = "add-remove-one-user"

_EQUAL = f"{REPLACE}-equal-"
_DISCLOSED = {
    "shape": ("how many queries have a phrase inside the domain", "how many such phrases each query has"),
    "topics": ("the topic of every phrase",),
    "words": ("the words that were kept",),
}
"""What neighbours may have to agree on, for each user, because it is published as it is."""

_BY_MAJORITY = frozenset({"set of keywords"})
"""What stands for k users though each part of it need only be that of more than half of them."""

PRIVATE_KINDS = (PROBABILISTIC, APPROXIMATE, PURE)

KIND_IN_WORDS = {
    PROBABILISTIC: "probabilistic differential privacy",
    APPROXIMATE: "approximate differential privacy",
    PURE: "differential privacy",
    K_ANONYMITY: "k-anonymity",
    NONE: "no guarantee",
}


DELTA_TOO_LARGE = "delta-too-large"
"""The code of the caveat that says so."""

PRACTICALLY_CERTAIN = 0.999
"""A bound that allows so much limits nothing that a person would notice."""
SO_WEAK = "The bound is so weak that a reader may be practically certain."


def replace_if_equal(*what: str) -> str:
    """One history replaced by another that has the same 'shape', 'topics' or 'words': weaker than any history."""
    return _EQUAL + "-and-".join(what) if what else REPLACE


@dataclass(frozen=True, kw_only=True)
class Guarantee:
    """A promise about one release: its kind, its numbers, to whom, against which change, and its limits."""

    kind: str
    epsilon: float | None = None
    delta: float | None = None
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
        if self.kind not in KIND_IN_WORDS:
            raise ValueError(f"no such kind of guarantee: {self.kind}")
        if self.kind in PRIVATE_KINDS and (self.epsilon is None or self.delta is None):
            raise ValueError(f"{self.kind} needs epsilon and delta")
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
    def disclosed(self) -> tuple[str, ...]:
        """What is published as it is, and must be equal in the histories that are compared."""
        parts = (self.neighbours or "").partition(_EQUAL)[2]
        return tuple(what for one in parts.split("-and-") if one for what in _DISCLOSED[one])

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
    def crowd(self) -> str:
        """Under k-anonymity: what holds of everything published, in a sentence without its end."""
        if not self.by_majority:
            return f"Every published {self.shared} is shared by at least {self.k:,} users"
        return (
            f"Every published {self.shared} stands for sessions of at least {self.k:,} users. At least "
            f"{self.sure_of:,} of these users searched for each keyword in it"
        )

    @property
    def cost(self) -> dict[str, Any]:
        """What a draw that this guarantee pays for says of it."""
        return {
            "kind": self.kind,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": self.neighbours,
        }

    @property
    def composable(self) -> bool:
        """Whether it has a sum with others: everything that one user did is compared, and nothing is disclosed."""
        return self.private and not self.disclosed

    def __add__(self, other: Guarantee) -> Guarantee:
        """Both releases together, of one log: epsilons and deltas add, the weaker kind remains."""
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
        kind = APPROXIMATE if APPROXIMATE in kinds else PROBABILISTIC if PROBABILISTIC in kinds else PURE
        return Guarantee(
            kind=kind,
            epsilon=exact_sum(self.epsilon, other.epsilon),
            delta=min(1.0, exact_sum(self.delta, other.delta)),
            unit=self.unit,
            neighbours=self.neighbours,
            assumptions=tuple(dict.fromkeys(self.assumptions + other.assumptions)),
            caveats=tuple(dict.fromkeys(self.caveats + other.caveats)),
            delta_too_large=self.delta_too_large or other.delta_too_large,
            implies=(self.approximate() + other.approximate()).bare if kind == PROBABILISTIC else None,
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

    def of_delta(self, users: int | None = None) -> str:
        """What a delta that is too large permits, as a phrase."""
        delta = rounded_up(self.delta)
        if self.kind == PROBABILISTIC:
            allowed = "even publishing the whole log with that probability would keep this promise"
        else:
            allowed = (
                "even publishing all searches of each user with that probability would keep this promise"
            )
            if users and users * float(self.delta or 0) >= 1:
                exposed = min(users, math.ceil(float(self.delta or 0) * users))
                allowed += f", and expose about {exposed:,} of {users:,} users"
        return f"delta {delta} is too large: {allowed}"

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
        if self.kind == PROBABILISTIC:
            return dataclasses.replace(self, kind=APPROXIMATE, parts=())
        return self

    def between_histories(self) -> tuple[float, float]:
        """Epsilon and delta between two histories of one person, both in the log: add/remove counts twice."""
        epsilon, delta = float(self.epsilon or 0), float(self.delta or 0)
        if self.replaces or self.unit != "user":
            return epsilon, delta
        return 2 * epsilon, _doubled_delta(epsilon, delta)

    def against(self, neighbours: str) -> Guarantee:
        """The same release under another neighbour relation, where a proof allows the conversion."""
        if neighbours == self.neighbours:
            return self
        if neighbours == REPLACE and self.neighbours == ADD_REMOVE and self.kind != PROBABILISTIC:
            epsilon, delta = float(self.epsilon or 0), float(self.delta or 0)
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
    def headline(self) -> str:
        """One line: numbers, what is compared, and kind. An epsilon means another thing for other neighbours."""
        if self.kind == NONE:
            return "no guarantee"
        if self.kind == K_ANONYMITY:
            return f"k = {self.k} (k-anonymity)"
        delta = f", delta {rounded_up(self.delta)}" if self.delta else ""
        among = f", given, for each user, {listed(self.disclosed)}" if self.disclosed else ""
        return f"epsilon {rounded_up(self.epsilon, 6)}{delta}, {self.compared} ({KIND_IN_WORDS[self.kind]}{among})"

    @property
    def compared(self) -> str:
        """Which change of the log the numbers are about: 'if one user's history is replaced'."""
        if self.unit != "user":
            return f"if one {self.unit} of one user is replaced"
        if self.neighbours is None:
            return "per user"
        return "if one user's history is replaced" if self.replaces else "if one user is added or removed"

    def plain_words(self) -> str:
        """What an attacker can and cannot learn, in words, with an example in odds."""
        if self.kind == NONE:
            return (
                "This release promises nothing. Someone who knows a little about a person may recognise that person "
                "in it, and learn everything else that it says about them."
            )
        if self.kind == K_ANONYMITY:
            members = (
                "What most of a group did, a reader may believe of each member"
                if self.by_majority
                else "What a whole group did, a reader learns about each member"
            )
            return (
                f"{self.crowd}. On its own it does not say which of these users it came from. But this does not stop "
                "an attacker who knows more. An attacker who knows what the other users did, or who poses as them, "
                f"can learn what the last one did. {members}."
            )
        beyond = (
            f", beyond what it publishes about every user unchanged ({listed(self.disclosed)})"
            if self.disclosed
            else ""
        )
        learns = strength.amount(*self.between_histories(), too_large=self.exposing)
        besides = f" But {self.of_delta()}." if self.exposing else ""
        if self.unit != "user":
            return (
                f"A reader of this release {learns} about any single {self.unit} of one person's searches{beyond}. "
                f"{self._example()} Epsilon counts once for every {self.unit}. A person with a hundred {self.unit}s is "
                f"protected only by epsilon {rounded_up(100 * float(self.epsilon or 0))}, which for most purposes is "
                f"no protection.{besides}"
            )
        return (
            f"A reader of this release {learns} about one person's searches{beyond}. {self._example()}{besides} This "
            "release does not hide popular searches, or what they suggest about people in general."
        )

    def after_processing(self) -> str:
        """What remains however the release is processed further."""
        kept = self.approximate()
        return (
            f"Any further processing of this release keeps approximate differential privacy with epsilon "
            f"{rounded_up(kept.epsilon, 6)} and delta {rounded_up(kept.delta)}, {kept.compared}."
        )

    def _example(self) -> str:
        """The bound as an example, between two histories of one person."""
        epsilon, delta = self.between_histories()
        if self.kind == APPROXIMATE:
            # Indistinguishability bounds tests, not what a single output can do to a suspicion.
            right = strength.guessed_right(epsilon, delta)
            if right >= PRACTICALLY_CERTAIN:
                return SO_WEAK.replace("a reader", "a reader who knows everyone else's searches")
            return (
                "Suppose an attacker knows everyone else's searches, and knows that Anna's searches are one of two "
                "equally likely histories. After reading this release the attacker guesses the right one at most "
                f"{strength.of_hundred(right)} times in 100."
            )
        after = before_to_after(1 / 100, epsilon)
        knows, thinks = "everyone else's searches", "Anna searched for X"
        if self.unit != "user":
            knows, thinks = f"every other {self.unit} in the log", f"one {self.unit} of Anna's searches is X"
        most = (
            "practical certainty"
            if after >= PRACTICALLY_CERTAIN
            else f"at most {strength.percent(after, 20)}"
        )
        fails = ""
        if self.kind == PROBABILISTIC:
            fails = f" The bound can fail with a probability of at most {strength.probability(delta)}."
        return (
            f"Suppose an attacker knows {knows} and thinks there is a 1 % chance that {thinks}. After reading this "
            f"release that can rise to {most}.{fails}"
        )

    def as_dict(self) -> dict[str, Any]:
        """For manifests and `--json`; `from_dict` reads it back."""
        out: dict[str, Any] = {"kind": self.kind}
        if self.of:
            out["of"] = self.of
        if self.delta_too_large:
            out["delta_too_large"] = True
        for name in ("epsilon", "delta", "k"):
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


def listed(parts: Sequence[str]) -> str:
    """Parts of a sentence one after another: 'a', 'a and b', 'a, b and c'."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def _doubled_delta(epsilon: float, delta: float) -> float:
    """(1 + e^epsilon) delta, rounded up: what two steps, out and in, may exceed epsilon by."""
    if delta == 0:
        return 0.0
    if epsilon + math.log(delta) > 0:
        return 1.0
    return min(1.0, (1 + math.exp(epsilon)) * delta * (1 + 1e-12))


def exact_sum(*numbers: float | None) -> float:
    """Sum as a person adds the printed decimals: ten times 0.1 is 1."""
    with localcontext(prec=1_000):  # more than any sum of doubles has
        return float(sum((Decimal(repr(float(one))) for one in numbers if one is not None), Decimal(0)))


def before_to_after(prior: float, epsilon: float) -> float:
    """The most that a prior probability can become once the release is read."""
    if epsilon > 700:
        return 1.0
    return prior * math.exp(epsilon) / (1 - prior + prior * math.exp(epsilon))


def rounded_up(number: float | None, digits: int = 3) -> str:
    """A promised number in few digits, never below what it is."""
    value = Decimal(repr(float(number or 0)))
    if value == 0:
        return "0"
    step = Decimal(1).scaleb(value.adjusted() - digits + 1)
    with localcontext(prec=50):
        shown = (value / step).to_integral_value(ROUND_CEILING) * step
    if 1000 <= shown < 10**15:
        return f"{shown:,.0f}" if shown == shown.to_integral_value() else f"{shown.normalize():,f}"
    return f"{float(shown):.{digits}g}"
