"""Which trials an audit has: shapes for every draw that a mechanism declares, by its step and by the whole path."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from queryveil.auditing import exact, normals, phrases, shapes
from queryveil.auditing.claims import Claim
from queryveil.auditing.dressing import Dress
from queryveil.auditing.shapes import Terrain
from queryveil.auditing.steps import GaussianStep, HistogramStep
from queryveil.auditing.trials import AuditFinding, CellTrial, Trial
from queryveil.auditing.whole import Runner, WholePath
from queryveil.auditing.worlds import Pair
from queryveil.mechanisms import Mechanism, Plan
from queryveil.mechanisms.click_graph.click_graph import ClickGraph
from queryveil.mechanisms.gaussian_account import GRID
from queryveil.mechanisms.semantic.semantic import Semantic
from queryveil.mechanisms.steered import theory
from queryveil.mechanisms.steered.steered import Steered
from queryveil.mechanisms.weighted_gaussian import WeightedGaussian
from queryveil.privacy.draws import LOG, PUBLISHED, ROUNDED_NORMAL, Draw
from queryveil.privacy.guarantee import PRIVATE_KINDS, PROBABILISTIC

_ROWS_OF_A_LOG = 100_000
"""About so many users a log for the whole path has, all copies together."""
_FAR = 8
"""Noise is hardly ever so many scales away."""
_PUBLIC_USERS = 20_000
_LISTED = 40
_COPY = re.compile(r"\A(c\d{7})")

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
        given = getattr(mechanism, name, None)
        declared = {one.name for one in dataclasses.fields(mechanism)}  # type: ignore[arg-type]
        if name in declared and given is not None and getattr(mechanism, "then_clicks", None) is None:
            changes[name] = function
    return dataclasses.replace(mechanism, **changes) if changes else mechanism  # type: ignore[type-var]


def public_users(mechanism: Mechanism, users: int | None) -> int | None:
    """The public number of users of the audit: the one given, or a usual one where a guarantee needs it."""
    if users is not None or not mechanism.needs_users:
        return users
    return _PUBLIC_USERS if getattr(mechanism, "guarantee", "") == "probabilistic" else None


def planned(
    mechanism: Mechanism, plan: Plan, users: int | None, runs: int, whole_runs: int, seed: int
) -> Planned:
    """All trials of an audit."""
    made = Planned()
    for drawing in phrases.kinds(mechanism):
        _of_phrases(made, drawing, plan, runs, whole_runs)
        return made
    total = Claim.of_guarantee(plan.guarantee.approximate())
    for draw in plan.draws:
        if draw.kind not in PRIVATE_KINDS or draw.scale is None:
            continue
        _of_step(made, mechanism, plan, draw, users, runs, seed)
        if draw.rows != PUBLISHED:
            _of_whole(made, mechanism, plan, draw, total, users, whole_runs, seed)
    return made


# -- histograms ------------------------------------------------------------------------------------------------


def terrain(draw: Draw, claim: Claim) -> Terrain:
    """What a draw says of its table."""
    scale = float(draw.scale or 1)
    if draw.distribution == ROUNDED_NORMAL:
        spread = scale / GRID
        weight = theory.Setting(draw.rounds or 1, int(scale), 0.0, 1, 0).sum
        even = math.ceil((draw.above or 0) / (weight * GRID)) if draw.above else math.ceil(3 * spread)
        even, safe = max(1, even), 4 * max(1, even) + math.ceil(8 * spread)
    else:
        even = max(1, draw.at_least or 1, (draw.above or 0) + 1)
        safe = even + (draw.limit or math.ceil(_FAR * scale))
    return Terrain(
        claim=claim,
        most=draw.most or 1,
        repeated=draw.copies > 1,
        least=draw.at_least or 1,
        even=even,
        safe=safe,
    )


def _of_step(
    made: Planned, mechanism: Mechanism, plan: Plan, draw: Draw, users: int | None, runs: int, seed: int
) -> None:
    if draw.distribution == ROUNDED_NORMAL:
        if normals.possible(draw) and not getattr(mechanism, "length_prior", False):
            _of_normals(made, mechanism, plan, draw, runs, seed)
        return
    claim = Claim.of_draw(draw)
    on = terrain(draw, claim)
    pairs = shapes.pairs(on, seed)
    made.trials += [Trial(HistogramStep(draw), pair, claim, runs, draw.of) for pair in pairs]
    made.proofs += _proofs(draw, pairs, claim)
    if draw.public is not None:
        listed = HistogramStep(draw, listed=True)
        made.trials += [Trial(listed, pair, claim, runs, f"{draw.of}, public list") for pair in pairs[:3]]
    if draw.kind == PROBABILISTIC:
        _of_cells(made, mechanism, draw.of, users, runs)


def _of_normals(made: Planned, mechanism: Mechanism, plan: Plan, draw: Draw, runs: int, seed: int) -> None:
    """Of a selection by normal noise: what it proves against the whole promise, and against its own part of it."""
    if not isinstance(mechanism, (Steered, WeightedGaussian, ClickGraph)):
        return
    whole, own = Claim.of_guarantee(plan.guarantee), Claim.of_draw(draw)
    # Clicks are selected among those of published queries: by itself such a draw has its own claim alone.
    first = draw.of == plan.draws[0].of
    claims = [whole, own] if first else [own]
    for claim in claims:
        made.proofs += normals.findings(draw, claim)
    claim = claims[0]
    following = [one for one in plan.draws[1:] if normals.possible(one) and one.bounded == "clicks"]
    if first and following and isinstance(mechanism, ClickGraph):
        made.proofs.append(normals.nested(draw, following[0], claim))
    pairs = [*shapes.pairs(terrain(draw, claim), seed), normals.rare_pair(draw, claim)]
    runner: Runner = GaussianStep(mechanism, draw)
    made.trials += [Trial(runner, pair, claim, runs, draw.of) for pair in pairs]


def _proofs(draw: Draw, pairs: Iterable[Pair], claim: Claim) -> Iterator[AuditFinding]:
    if exact.possible(draw):
        found = (exact.finding(draw, pair, claim) for pair in pairs)
        yield from (one for one in found if one is not None)


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


def _of_whole(
    made: Planned,
    mechanism: Mechanism,
    plan: Plan,
    draw: Draw,
    total: Claim,
    users: int | None,
    runs: int,
    seed: int,
) -> None:
    """The whole path is run on the logs of the auditor, whose items no public list of a curator has."""
    if getattr(mechanism, "then_clicks", False) and draw.rows != LOG:
        return
    on = terrain(draw, total)
    support = 0
    if draw.bounded in ("clicks", "query-pairs") and draw.table != "items":
        support = terrain(plan.draws[0], total).safe
    dress = Dress(draw.bounded, support)
    subject = with_public_lists(mechanism)
    pairs = shapes.pairs(on, seed)
    if draw.bounded.startswith("user-itemsets"):
        # Two items of one user would make further sets: one item each is watched.
        pairs = [
            pair
            for pair in pairs
            if all(len(set(one)) < 2 for side in pair.sides for one in side.histories())
        ]
    for pair in pairs:
        crowd = max(side.users for side in pair.sides) + support * (2 * pair.items)
        most = _ROWS_OF_A_LOG if users is None else max(1, users - on.even)
        runner = WholePath(
            subject, draw.table, dress, copies=max(1, most // crowd), users=users, bystanders=max(1, on.even)
        )
        made.trials.append(Trial(runner, pair, total, runs, draw.of))
    if made.pair is None:
        made.pair = next(pair for pair in pairs if pair.shape in ("tie", "popular items"))
        made.dress = dress


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
