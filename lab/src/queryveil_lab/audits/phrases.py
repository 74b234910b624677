"""Logs in which every phrase is drawn anew: what one user's history makes likely in the rows that are hers.

A world is one user here: her history is a tuple of places in the domain, and the values of an outcome are the places
that were drawn. Copies of a world are users with the same history.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from queryveil import Noise, ProfileHistogram, Semantic, publish
from queryveil.mechanisms.concept_profiles.domain import Choice
from queryveil.mechanisms.concept_profiles.phrases import Phrases, Tally, phrases_of
from queryveil_lab.audits import exact
from queryveil_lab.audits.claims import Claim
from queryveil_lab.audits.dressing import SCHEMA
from queryveil_lab.audits.outcomes import ABSENT, Outcomes
from queryveil_lab.audits.trials import ENUMERATED, AuditFinding
from queryveil_lab.audits.whole import opened
from queryveil_lab.audits.worlds import History, Pair, World

Drawing = Semantic | ProfileHistogram
_MOST_PHRASES = 3
_AT_ONCE = 50_000
_LOOKED_AT = 4_000
"""Concepts of a large domain among which two are looked for that are far apart."""
_START = datetime.datetime(2024, 3, 1, 6, tzinfo=datetime.UTC)
_STEP = datetime.timedelta(minutes=1)


@dataclass(frozen=True)
class PhraseStep:
    """The draw of concepts, for many users of one history at once."""

    mechanism: Drawing

    name = "step"

    def run(self, world: World, runs: int) -> Outcomes:
        choice, history = self.mechanism.choice(), np.array(world.target or (), dtype=np.int64)
        concepts = choice.domain.concepts[history].astype(np.int64)
        found = []
        for start in range(0, runs, _AT_ONCE):
            users = min(_AT_ONCE, runs - start)
            owners = np.repeat(np.arange(users, dtype=np.int64), len(history))
            queries = np.arange(len(owners), dtype=np.int64)
            made = Phrases(users, owners, queries, np.tile(concepts, users))
            drawn = self.mechanism.replaced(made, choice, Noise(), Tally())
            places = choice.domain.places(drawn.concepts)
            found.append(Outcomes(places.reshape(users, -1)))
        return Outcomes.joined(found)

    def load(self, world: World) -> int:
        return 1 + len(world.target or ())


@dataclass(frozen=True)
class WholePhrases:
    """`publish` on a log of users who all have the same history."""

    mechanism: Drawing
    rows: int
    """Rows of each user in the release."""
    copies: int = 2_000

    name = "whole path"

    def run(self, world: World, runs: int) -> Outcomes:
        choice, copies = self.mechanism.choice(), min(self.copies, runs)
        domain = choice.domain
        names = choice.taxonomy.labels(domain.concepts.tolist())
        place = {name: number for number, name in enumerate(names)}
        # A user without phrases is in the log by an empty query.
        log = opened(_phrase_log([_concept_text(choice, at) for at in world.target or ()] or [""], copies))
        found: list[Outcomes] = []
        while sum(one.runs for one in found) < runs:
            release = publish(log, self.mechanism, allow_empty=True, i_understand=True)
            table = release.tables["log"].sort_by([("user", "ascending"), ("number", "ascending")])
            drawn = [place.get(text, ABSENT) for text in table["query"].to_pylist()]
            found.append(Outcomes(np.array(drawn, dtype=np.int64).reshape(copies, self.rows)))
        return Outcomes.joined(found).some(slice(0, runs))

    def load(self, world: World) -> int:
        return 10 * (1 + len(world.target or ()))


def _phrase_log(queries: list[str], copies: int) -> pa.Table:
    number = len(queries)
    users = [f"c{copy:07d}" for copy in range(copies) for _ in range(number)]
    times = [_START + at * _STEP for _ in range(copies) for at in range(number)]
    return pa.table([users, times, queries * copies, [None] * (copies * number)], schema=SCHEMA)


def typed_log(mechanism: object, world: World, users: int) -> pa.Table | None:
    """A log of so many users with the history of a world; None if the mechanism draws no phrases."""
    for one in kinds(mechanism):
        choice = one.choice()
        return _phrase_log([_concept_text(choice, at) for at in world.target or ()] or [""], users)
    return None


def neighbouring_logs(mechanism: object, pair: Pair, users: int = 30) -> list[pa.Table]:
    """Two logs in which one user has the histories of a pair, and all others the first of them."""
    first, second = (typed_log(mechanism, side, users) for side in pair.sides)
    if first is None or second is None:
        raise TypeError("only mechanisms that draw phrases have such logs")
    target = first["user"][0]
    mine, others = (
        table.filter(test(table["user"], target))
        for table, test in ((second, pc.equal), (first, pc.not_equal))
    )
    return [first, pa.concat_tables([mine, others]).combine_chunks()]


def pairs(mechanism: Drawing) -> list[Pair]:
    """Histories that are as different as the domain allows, and those that neighbours may be."""
    choice = mechanism.choice()
    one, other = far_apart(choice)
    lengths = _history_lengths(mechanism)
    made = [
        _make_pair(
            "far concepts",
            f"{length} phrases, all of one concept or all of a far one",
            (one,) * length,
            (other,) * length,
        )
        for length in lengths
    ]
    if len(lengths) > 1:
        long = lengths[-1]
        made.append(
            _make_pair(
                "one phrase of several",
                f"{long} phrases, one of which differs",
                (one,) * long,
                (other,) + (one,) * (long - 1),
            )
        )
    if isinstance(mechanism, ProfileHistogram):
        made.append(_make_pair("empty history", "phrases of one concept, or none", (one,) * lengths[-1], ()))
    return made


def _make_pair(shape: str, words: str, here: History, there: History) -> Pair:
    return Pair(
        shape=shape, words=words, first=World(base=(), target=here), second=World(base=(), target=there)
    )


def _history_lengths(mechanism: Drawing) -> list[int]:
    if isinstance(mechanism, ProfileHistogram):
        return [mechanism.max_queries]
    if mechanism.per_single_phrase:
        return [1]
    return list(range(1, min(_MOST_PHRASES, mechanism.max_phrases or _MOST_PHRASES) + 1))


def rows_of(mechanism: Drawing, pair: Pair) -> int:
    """Rows of one user in a release."""
    return mechanism.slots or len(pair.first.target or ())


def far_apart(choice: Choice) -> tuple[int, int]:
    """Two places of the domain that are far from each other, with names that lead back to them."""
    sampler, domain, taxonomy = choice.samplers[0], choice.domain, choice.taxonomy
    step = max(1, len(domain) // _LOOKED_AT)
    places = np.arange(0, len(domain), step)
    texts = [_concept_text(choice, at) for at in places.tolist()]
    window = pa.table({"user": [f"{at:07d}" for at in range(len(texts))], "query": texts})
    read = phrases_of(window, taxonomy, Tally())[1]
    alone = np.bincount(read.owners, minlength=len(texts))[read.owners] == 1
    leads_back = alone & (read.concepts == domain.concepts[places[read.owners]])
    named = places[read.owners[leads_back]].tolist()
    if len(named) < 2:
        named = [0, len(domain) - 1]
    start = named[len(named) // 2]
    codes = sampler.codes(start)
    far = max(named, key=lambda at: (sampler.distances[int(codes[at])], at != start))
    return start, far


def _concept_text(choice: Choice, place: int) -> str:
    """What someone types who means a concept."""
    return choice.taxonomy.word(int(choice.domain.concepts[place])).replace("_", " ")


def proven(mechanism: Semantic, pair: Pair, claim: Claim) -> AuditFinding:
    """The exact loss between two histories: each phrase is drawn by itself, from whole weights."""
    sampler = mechanism.choice().samplers[0]
    here, there = pair.first.target or (), pair.second.target or ()
    each = mechanism.per_phrase(len(here))
    by_code = [int(one) for one in sampler.weights(each)]
    worst = Fraction(1)
    for a, b in zip(here, there, strict=True):
        mine, yours = ([by_code[code] for code in sampler.codes(at).tolist()] for at in (a, b))
        worst *= exact.largest_ratio(mine, yours)
    epsilon = exact.log_of(worst)
    return AuditFinding(
        shape=pair.shape,
        words=pair.words,
        of="phrases",
        runner="step",
        how=ENUMERATED,
        runs=0,
        claim=claim,
        event=f"every one of {len(sampler.domain):,} concepts",
        epsilon=epsilon,
        delta=0.0,
        refutes=epsilon > claim.epsilon * (1 + 1e-12),
    )


def usable(mechanism: Drawing) -> bool:
    """Whether one domain serves for all phrases, so that places of it are enough to say what was drawn."""
    return len(mechanism.choice().samplers) == 1 and (
        isinstance(mechanism, ProfileHistogram)
        or (mechanism.keep_words == "none" and not mechanism.whole_queries)
    )


def kinds(mechanism: object) -> Iterator[Drawing]:
    """The mechanism, if it draws phrases."""
    if isinstance(mechanism, (Semantic, ProfileHistogram)):
        yield mechanism
