"""Re-linking: whose sessions are whose, once users are gone?

People search for the same rare things again. The attacker weighs what a piece (a session, or a pseudonym) has by how
rare it is, and takes the most similar other piece for the same person's. No word is read: it only counts whether two
are equal, so hashes do as well. The control picks any piece that has something in common with the first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from queryveil import AttackInput, AttackResult, CannotBeMet, UsageError
from queryveil.extension import (
    CONFIDENCE,
    Declared,
    Progress,
    Table,
    argument,
    difference,
    param,
    unchanged_logs,
    validate,
)
from queryveil_lab.relinking.pieces import PSEUDONYM, VIEWS, Ints, Pieces

if TYPE_CHECKING:
    from queryveil import SearchLog

Floats = npt.NDArray[np.float64]
METHODS = tuple(VIEWS)
_BLOCK = 64
"""Pieces that are compared with all others at a time."""
_SUREST = 4
"""One in so many is called the surest."""


@dataclass(frozen=True, kw_only=True)
class RelinkingAttack(Declared):
    """Put the sessions or pseudonyms of one person together again, by the rare things that they share."""

    name: ClassVar[str] = "relinking"
    inputs: ClassVar[tuple[AttackInput, ...]] = (
        AttackInput(name="log", kind="log", help="The raw log: a file, a folder or a glob."),
    )

    methods: tuple[str, ...] = param(
        "ways to take users out of the log", choices=METHODS, many=True, default=METHODS
    )
    k: int = param("users who must share what k-query and k-session publish", ge=2, le=1000, default=5)
    trials: int = param(
        "sessions or pseudonyms whose person has another one, drawn for each method",
        ge=1,
        le=10**6,
        default=2000,
    )
    seed: int = param("seed of the samples", ge=0, le=2**32, default=1)

    def __post_init__(self) -> None:
        given: object = self.methods
        if isinstance(given, str):
            object.__setattr__(self, "methods", tuple(given.split(",")))
        validate(self)
        if len(set(self.methods)) < len(self.methods):
            raise UsageError("a method is named twice", f"name each method once in {argument('methods')}")

    @unchanged_logs
    def run(self, log: SearchLog, /, *, progress: Progress | None = None) -> AttackResult:
        """Publish the log by each method, link what is published, and judge by whom it came from."""
        results = []
        # The worst line is chosen for its figures, so intervals are such that those of all lines hold together.
        confidence = 1 - (1 - CONFIDENCE) / len(self.methods)
        for number, name in enumerate(self.methods, 1):
            rng = np.random.default_rng([self.seed, self.trials])
            pieces = VIEWS[name](log, self.k).shuffled(rng)
            results.append({"method": name, **self._run_trial(pieces, rng, confidence)})
            if progress:
                progress(number, len(self.methods))
        if not any(one["trials"] for one in results):
            raise CannotBeMet(
                "nothing can be put together again: no user has two sessions, or pseudonyms, with a word in them",
                f"use a log of several sessions per user, or lower {argument('k')}",
            )
        worst = max(results, key=lambda one: (one["advantage"], one["success"]))
        return AttackResult(
            attack=self.name,
            success=worst["success"],
            control=worst["control"],
            interval=worst["interval"],
            trials=worst["trials"],
            figures={"method": worst["method"], "k": self.k, "results": results},
            table=_result_table(results),
            words=_summary_sentences(results, worst),
        )

    def _run_trial(self, pieces: Pieces, rng: np.random.Generator, confidence: float) -> dict[str, Any]:
        linkable = pieces.linkable
        about = {"unit": pieces.unit, "pieces": len(pieces), "linkable": len(linkable)}
        if not len(linkable):
            nothing = dict.fromkeys(("success", "control", "advantage", "linked", "surest"), 0.0)
            return {**about, **nothing, "interval": (0.0, 0.0), "trials": 0}
        drawn = rng.choice(linkable, size=min(self.trials, len(linkable)), replace=False)
        found = links(pieces, drawn, rng)
        owner = pieces.owners
        right = (found.nearest >= 0) & (owner[found.nearest] == owner[drawn])
        chance = (found.any >= 0) & (owner[found.any] == owner[drawn])
        hits, lucky, trials = int(right.sum()), int(chance.sum()), len(drawn)
        surest = np.argsort(-found.lead, kind="stable")[: max(1, trials // _SUREST)]
        return {
            **about,
            "success": hits / trials,
            "control": lucky / trials,
            "advantage": (hits - lucky) / trials,
            "interval": difference((hits, trials), (lucky, trials), confidence),
            "trials": trials,
            "linked": float((found.nearest >= 0).mean()),
            "surest": float(right[surest].mean()),
        }


@dataclass(frozen=True, eq=False)
class Links:
    """For each piece that was drawn: what it is taken to belong to; -1 where nothing is shared with any other."""

    nearest: Ints
    any: Ints
    """Any piece with something in common, all equally likely."""
    lead: Floats
    """How much more similar the nearest is than the second."""


def links(pieces: Pieces, drawn: Ints, rng: np.random.Generator) -> Links:
    """The piece most similar to each that was drawn: the cosine of what they have, weighed by how rare it is."""
    from scipy import sparse

    many = len(pieces)
    holders = np.bincount(pieces.items)
    weight = np.log(many / np.maximum(holders, 1))
    data = weight[pieces.items]
    rows = sparse.csr_array((data, pieces.items, pieces.starts), shape=(many, len(holders)))
    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    # What all pieces have says nothing; a piece with nothing else is like no other.
    scaled = sparse.csr_array(sparse.diags_array(1 / np.where(norms > 0, norms, 1.0)) @ rows)
    columns = sparse.csc_array(scaled[:, :]).T.tocsr()
    nearest, random = np.full(len(drawn), -1), np.full(len(drawn), -1)
    lead = np.zeros(len(drawn))
    for first in range(0, len(drawn), _BLOCK):
        probes = drawn[first : first + _BLOCK]
        alike = sparse.csr_array(scaled[probes] @ columns)
        for place, probe in enumerate(probes, first):
            near = alike.indices[alike.indptr[place - first] : alike.indptr[place - first + 1]]
            value = alike.data[alike.indptr[place - first] : alike.indptr[place - first + 1]]
            other = (near != probe) & (value > 0)
            near, value = near[other], value[other]
            if len(near):
                # Among equals any, in an order that was drawn; rounding must not choose.
                best = np.flatnonzero(value >= value.max() - 1e-9)
                nearest[place] = near[rng.choice(best)]
                random[place] = rng.choice(near)
                two = np.partition(value, -2)[-2:] if len(value) > 1 else np.array([0.0, value[0]])
                lead[place] = float(two[1] - two[0])
    return Links(nearest, random, lead)


# -- what people read ----------------------------------------------------------------------------------------


def _format_share(share: float) -> str:
    return f"{100 * share:.1f} %"


def _result_table(results: list[dict[str, Any]]) -> Table:
    head = (
        "method",
        "of",
        "taken apart into",
        "linked rightly",
        "control",
        "surest quarter",
        "95 % interval",
    )
    return (
        head,
        *(
            (
                one["method"],
                f"{one['unit']}s",
                f"{one['pieces']:,}",
                *(
                    _format_share(one[key]) if one["trials"] else ""
                    for key in ("success", "control", "surest")
                ),
                f"{100 * one['interval'][0]:.1f} to {100 * one['interval'][1]:.1f}" if one["trials"] else "",
            )
            for one in results
        ),
    )


def _summary_sentences(results: list[dict[str, Any]], worst: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    unit = worst["unit"]
    said = [
        (
            "Found",
            f"Under {worst['method']}, the {unit} most like another is the same person's in "
            f"{_format_share(worst['success'])} of {worst['trials']:,} cases. Any {unit} that shares a word or a "
            f"query with it is in {_format_share(worst['control'])}.",
        )
    ]
    for one in results:
        if not one["trials"]:
            said.append(("", f"Under {one['method']}, no user has two {one['unit']}s with a word in them."))
    if any(one["unit"] == PSEUDONYM for one in results):
        said.append(
            (
                "",
                "A pseudonym of split-personality has one topic of a user. Names and places that come in several "
                "topics link them.",
            )
        )
    said.append(
        (
            "Read",
            "'linked rightly' means that the most similar other piece is the same person's. Only people with two or "
            "more are drawn. The surest quarter is that whose first choice is farthest ahead of the second. The "
            "interval is of the difference to the control, in percentage points, for all lines together.",
        )
    )
    said.append(("Means", _interpretation(worst)))
    return tuple(said)


def _interpretation(worst: dict[str, Any]) -> str:
    if worst["interval"][0] <= 0:
        return (
            "Rare words did not give away whose pieces belong together. A longer log, or one with times, may."
        )
    return (
        "Leaving out users does not take a person's searches apart for good. Whoever puts them together again has a "
        "history, and queryveil attack linkage shows what a few known searches then lead to."
    )
