"""Which trials an audit has: shapes for every draw that a mechanism declares, by its step and by the whole path."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from queryveil import ClickGraph, Mechanism, Plan, Semantic, Steered, UsageError, WeightedGaussian
from queryveil.extension import (
    LOG,
    PRIVATE_KINDS,
    PROBABILISTIC,
    PUBLISHED,
    ROUNDED_NORMAL,
    Draw,
    argument,
    value_of,
)
from queryveil.mechanisms.selection import steering
from queryveil.mechanisms.selection.gaussian_account import GRID
from queryveil.privacy.selection_noise import noise_of
from queryveil_lab.audits import exact, normals, phrases, shapes
from queryveil_lab.audits.claims import Claim
from queryveil_lab.audits.dressing import Dress
from queryveil_lab.audits.series import ONCE, Repeats, SeriesPath
from queryveil_lab.audits.shapes import Terrain
from queryveil_lab.audits.steps import GaussianStep, HistogramStep
from queryveil_lab.audits.synthetic_logs import SyntheticPath, SyntheticStep
from queryveil_lab.audits.trials import AuditFinding, CellTrial, Trial
from queryveil_lab.audits.whole import Runner, WholePath
from queryveil_lab.audits.worlds import Pair

_ROWS_OF_A_LOG = 100_000
"""About so many users a log for the whole path has, all copies together."""
_FAR = 8
"""Noise is hardly ever so many scales away."""
_PUBLIC_USERS = 20_000
_LISTED = 40
_COPY = re.compile(r"\A(c\d{7})")

_TOGETHER = ("new items", "one item, again and again", "at the threshold", "popular items", "tie")
"""Shapes for series and synthetic logs; how a log is bounded and counted is seen in single releases."""
_DRAWN_LESS = 10
"""Drawing a log takes so many times longer than drawing noise."""

Test = Trial | CellTrial


@dataclass
class Planned:
    """What will be run, and what needs no run."""

    trials: list[Test] = field(default_factory=list)
    proofs: list[AuditFinding] = field(default_factory=list)
    pair: Pair | None = None
    """The pair whose release folders are compared."""
    dress: Dress = field(default_factory=lambda: Dress("queries"))


def results_of(query: str) -> list[str]:
    """The public result list of a query of the auditor's logs."""
    found = _COPY.match(query)
    return [f"{found[1]}.example/{item}" for item in range(_LISTED)] if found else []


def suggestions_of(query: str) -> list[str]:
    """The public suggestions for a query of the auditor's logs."""
    found = re.match(r"\A(c\d{7})a(\d+)\Z", query)
    return [f"{found[1]}b{found[2]}"] if found else []


def with_public_lists(mechanism: Mechanism) -> Mechanism:
    """The mechanism with public lists of the auditor's own items, where it takes lists as functions."""
    changes: dict[str, Any] = {}
    for name, function in (("results", results_of), ("suggestions", suggestions_of)):
        if value_of(mechanism, name) is not None and value_of(mechanism, "then_clicks") is None:
            changes[name] = function
    return dataclasses.replace(mechanism, **changes) if changes else mechanism  # type: ignore[type-var]


def public_users(mechanism: Mechanism, users: int | None) -> int | None:
    """The public number of users of the audit: the one given, or a usual one where a guarantee needs it."""
    if users is not None or not mechanism.needs_users:
        return users
    return _PUBLIC_USERS if value_of(mechanism, "guarantee") == "probabilistic" else None


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What is audited, and how much of it."""

    mechanism: Mechanism
    plan: Plan
    users: int | None
    runs: int
    seed: int
    series: Repeats = ONCE
    synthetic: bool = False

    @property
    def whole(self) -> Claim:
        return self.series.claim(self.plan)

    def pairs(self, on: Terrain) -> list[Pair]:
        made = shapes.pairs(on, self.seed)
        few = self.synthetic or self.series.periods > 1
        return [pair for pair in made if pair.shape in _TOGETHER] if few else made


def planned(asked: Asked) -> Planned:
    """All trials of an audit."""
    made = Planned()
    if asked.synthetic:
        _of_synthetic(made, asked)
        return made
    for drawing in phrases.kinds(asked.mechanism):
        _of_phrases(made, drawing, asked.plan, asked.runs, asked.runs)
        return made
    for draw in asked.plan.draws:
        if draw.kind not in PRIVATE_KINDS or draw.scale is None:
            continue
        _of_step(made, asked, draw)
        if draw.rows != PUBLISHED:
            _of_whole(made, asked, draw)
    return made


# -- histograms ------------------------------------------------------------------------------------------------


def terrain(draw: Draw, claim: Claim) -> Terrain:
    """What a draw says of its table."""
    scale = float(draw.scale or 1)
    if draw.distribution == ROUNDED_NORMAL:
        spread = scale / GRID
        weight = steering.Setting(draw.rounds or 1, int(scale), 0.0, 1, 0).sum
        even = math.ceil((draw.above or 0) / (weight * GRID)) if draw.above else math.ceil(3 * spread)
        even, safe = max(1, even), 4 * max(1, even) + math.ceil(8 * spread)
    else:
        even = max(1, draw.at_least or 1, (draw.above or 0) + 1)
        noise = noise_of(draw)
        safe = even + (math.ceil(_FAR * scale) if noise is None else noise.limit)
    return Terrain(
        claim=claim,
        most=draw.most or 1,
        repeated=draw.copies > 1,
        least=draw.at_least or 1,
        even=even,
        safe=safe,
    )


def _of_step(made: Planned, asked: Asked, draw: Draw) -> None:
    if draw.distribution == ROUNDED_NORMAL:
        if normals.possible(draw) and not value_of(asked.mechanism, "length_prior"):
            _of_normals(made, asked, draw)
        return
    alone = asked.series.periods == 1
    # Each draw of one release has its own claim; what a series promises is promised of all draws together.
    claim = Claim.of_draw(draw) if alone else asked.whole
    pairs = asked.pairs(terrain(draw, claim))
    _add_steps(made, asked, HistogramStep(draw), pairs, claim, draw.of)
    if exact.possible(draw):
        found = (asked.series.proof(draw, pair, claim) for pair in pairs)
        made.proofs += [one for one in found if one is not None]
    if draw.public is not None:
        listed = HistogramStep(draw, listed=True)
        _add_steps(made, asked, listed, pairs[:3], claim, f"{draw.of}, public list")
    if draw.kind == PROBABILISTIC and alone:
        _of_cells(made, asked.mechanism, draw.of, asked.users, asked.runs)


def _add_steps(
    made: Planned, asked: Asked, step: Runner, pairs: Iterable[Pair], claim: Claim, of: str
) -> None:
    series = asked.series
    made.trials += [
        Trial(series.step(step, pair), series.pair(pair), claim, asked.runs, of) for pair in pairs
    ]


def _of_normals(made: Planned, asked: Asked, draw: Draw) -> None:
    """Of a selection by normal noise: what it proves against the whole promise, and against its own part of it."""
    mechanism, draws = asked.mechanism, asked.plan.draws
    if not isinstance(mechanism, (Steered, WeightedGaussian, ClickGraph)):
        return
    # Clicks are selected among those of published queries: by itself such a draw has its own claim alone.
    first, alone = draw.of == draws[0].of, asked.series.periods == 1
    claims = [*([asked.whole] if first else []), *([Claim.of_draw(draw)] if alone else [])]
    for claim in claims:
        made.proofs += asked.series.proofs_of_normals(draw, claim)
    if not claims:
        return
    claim = claims[0]
    following = [one for one in draws[1:] if normals.possible(one) and one.bounded == "clicks"]
    if first and alone and following and isinstance(mechanism, ClickGraph):
        made.proofs.append(normals.nested(draw, following[0], claim))
    pairs = [*asked.pairs(terrain(draw, claim)), normals.rare_pair(draw, claim)]
    _add_steps(made, asked, GaussianStep(mechanism, draw), pairs, claim, draw.of)


def _of_cells(made: Planned, mechanism: Mechanism, of: str, users: int | None, runs: int) -> None:
    """Probabilistic privacy in logs so small that a few cells are all of them."""
    for number in (users,) if users is not None and users < _PUBLIC_USERS else (10, 20, 40, 80, 160):
        draw = next(one for one in mechanism.plan(users=number).draws if one.of == of)
        claim = Claim.of_draw(draw)
        family = shapes.family(terrain(draw, claim), number)
        if len(family.neighbours) >= 3 or number == 160 or users is not None:
            made.trials.append(CellTrial(HistogramStep(draw), family, claim, runs, of))
            proof = exact.of_family(draw, family, claim)
            made.proofs += [proof] if proof is not None else []
            return


def dress_of(asked: Asked, draw: Draw, total: Claim) -> Dress:
    """How items of a draw look in a log; queries that clicks and pairs consist of have enough users."""
    support = 0
    if draw.bounded in ("clicks", "query-pairs") and draw.table != "items":
        support = terrain(asked.plan.draws[0], total).safe
    return Dress(draw.bounded, support)


def _of_whole(made: Planned, asked: Asked, draw: Draw) -> None:
    """The whole path is run on the logs of the auditor, whose items no public list of a curator has."""
    mechanism, users, series = asked.mechanism, asked.users, asked.series
    if value_of(mechanism, "then_clicks") and draw.rows != LOG:
        return
    total = asked.whole.indistinguishable
    on, dress = terrain(draw, total), dress_of(asked, draw, total)
    subject = with_public_lists(mechanism)
    pairs = asked.pairs(on)
    if draw.bounded.startswith("user-itemsets"):
        # Two items of one user would make further sets: one item each is watched.
        pairs = [
            pair
            for pair in pairs
            if all(len(set(one)) < 2 for side in pair.sides for one in side.histories())
        ]
    for pair in pairs:
        crowd = max(side.users for side in pair.sides) + dress.support * (2 * pair.items)
        most = _ROWS_OF_A_LOG // series.periods if users is None else max(1, users - on.even)
        about: dict[str, Any] = {"copies": max(1, most // crowd), "users": users}
        about |= {"bystanders": max(1, on.even)}
        runner: Runner = WholePath(subject, draw.table, dress, **about)
        if series.periods > 1:
            runner = SeriesPath(subject, draw.table, dress, series, pair.first, **about)
        made.trials.append(Trial(runner, series.pair(pair), total, asked.runs, draw.of))
    if made.pair is None:
        made.pair = next(pair for pair in pairs if pair.shape in ("tie", "popular items"))
        made.dress = dress


# -- synthetic logs --------------------------------------------------------------------------------------------


def _of_synthetic(made: Planned, asked: Asked) -> None:
    """A log that is drawn from a click graph keeps what the graph promises, in all of its rows."""
    mechanism, total = asked.mechanism, asked.whole.indistinguishable
    if not isinstance(mechanism, ClickGraph):
        raise UsageError(
            f"a synthetic log is drawn from a click graph, and {asked.plan.method} publishes none",
            f"audit click-graph, or leave out {argument('synthetic')}",
        )
    subject = with_public_lists(mechanism)
    for draw in asked.plan.draws:
        if draw.kind not in PRIVATE_KINDS or draw.rows == PUBLISHED or draw.scale is None:
            continue
        on, dress = terrain(draw, total), dress_of(asked, draw, total)
        for pair in asked.pairs(on):
            if (
                draw.table == "queries"
                and draw.distribution != ROUNDED_NORMAL
                and mechanism.counts == "reuse"
            ):
                step: Runner = SyntheticStep(HistogramStep(draw), dress)
                made.trials.append(Trial(step, pair, total, asked.runs // _DRAWN_LESS, draw.of))
            crowd = max(side.users for side in pair.sides) + dress.support * (2 * pair.items)
            path: Runner = SyntheticPath(
                subject, dress, copies=max(1, _ROWS_OF_A_LOG // crowd), bystanders=max(1, on.even)
            )
            made.trials.append(Trial(path, pair, total, asked.runs // _DRAWN_LESS, draw.of))


# -- phrases ---------------------------------------------------------------------------------------------------


def _of_phrases(made: Planned, mechanism: phrases.Drawing, plan: Plan, runs: int, whole_runs: int) -> None:
    claim = Claim.of_guarantee(plan.guarantee)
    if not phrases.usable(mechanism):
        return
    step = phrases.PhraseStep(mechanism)
    for pair in phrases.pairs(mechanism):
        made.trials.append(Trial(step, pair, claim, runs, "phrases"))
        whole = phrases.WholePhrases(mechanism, phrases.rows_of(mechanism, pair))
        made.trials.append(Trial(whole, pair, claim, whole_runs, "phrases"))
        if isinstance(mechanism, Semantic):
            made.proofs.append(phrases.proven(mechanism, pair, claim))
