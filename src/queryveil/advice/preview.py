"""Previews: what a release would hold, from counts of a pilot that are made once and asked many times.

The counts hold numbers only, no text and no id. From them a setting is judged in milliseconds, so that somebody can
move a parameter and watch. Where noise decides each item by itself, the probability of each is computed; where users
are steered over rounds, one selection is drawn. Everything is for the curator alone, and no guarantee covers a choice
that is made by it.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy.special import ndtr

from queryveil.advice.pilot import Pilot
from queryveil.count import histories, item_kinds
from queryveil.count.contribution import Bound
from queryveil.errors import InputError
from queryveil.measure import graph
from queryveil.measure.document_frequencies import DocumentFrequencies
from queryveil.measure.histograms import Histogram
from queryveil.measure.index_caching import (
    LARGEST_MEMORY,
    LONGEST_LIST,
    POSTING_BYTES,
    SHARE_OF_INDEX,
    pack_lists,
)
from queryveil.mechanisms import Mechanism
from queryveil.mechanisms.selection import gaussian_rounds, steering
from queryveil.mechanisms.selection.gaussian_account import GRID
from queryveil.mechanisms.steered import Steered
from queryveil.parameters import value_of
from queryveil.privacy.draws import DISCRETE_LAPLACE, LOG, ROUNDED_NORMAL, SELECTION, Draw
from queryveil.privacy.noise import Noise
from queryveil.privacy.selection_noise import noise_of
from queryveil.reading.log import SearchLog

MOST_USERS = 40_000
"""Users of a pilot for previews: enough to judge frequent items, few enough to be quick."""
_STEERED_USERS = 8_000
"""Of them, those whom rounds of steering go over: that takes ten times as long."""
TOP = 100
_LONGEST = 1000
"""Items of one user that are kept: no bound worth a preview is larger."""
_FORMAT = 1

Shares = npt.NDArray[np.float64]
Whole = npt.NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What one setting would give, about; a figure is None where this method or log has none."""

    items: str
    """What is counted: keywords, queries, query pairs, clicks."""
    published: float | None = None
    """How many of them would be published."""
    coverage: float | None = None
    """Of the 100 that most users have, the share that would be published."""
    released_share: float | None = None
    """Of all their occurrences in the log, the share that those make up which would be published."""
    hit_probability: float | None = None
    """That a keyword's posting list is in memory, if the release decides which lists are."""
    why_not: str = ""
    """Why there is no preview, if there is none."""

    def as_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclass(frozen=True, eq=False)
class _Counts:
    """Items of one kind: user u has `items[starts[u]:starts[u + 1]]`, in an order of chance."""

    starts: Whole
    items: npt.NDArray[np.int32]
    occurrences: Whole
    """How often each item occurs among these users."""
    documents: Whole
    """In how many documents each keyword is; empty for other kinds, and without clicks."""

    @property
    def distinct_items(self) -> int:
        return len(self.occurrences)

    @cached_property
    def users_per_item(self) -> Whole:
        """How many of these users have each item."""
        return np.bincount(self.items, minlength=self.distinct_items)

    @cached_property
    def top_items(self) -> Whole:
        """The items that most users have."""
        if self.distinct_items <= TOP:
            return np.arange(self.distinct_items)
        return np.argpartition(-self.users_per_item, TOP)[:TOP]

    @cached_property
    def total_occurrences(self) -> int:
        """Occurrences of all items."""
        return int(self.occurrences.sum())

    @cached_property
    def sample_users(self) -> tuple[_Counts, npt.NDArray[np.int32]]:
        """The same of some users alone, who stand in an order of chance: their items numbered anew, and the former
        numbers of these.
        """
        users = min(_STEERED_USERS, len(self.starts) - 1)
        numbers, items = np.unique(self.items[: self.starts[users]], return_inverse=True)
        starts, occurrences = self.starts[: users + 1], self.occurrences[numbers]
        return _Counts(starts, items.astype(np.int32), occurrences, self.documents[:0]), numbers

    def bound_contributions(self, most: int) -> tuple[Whole, npt.NDArray[np.int32]]:
        """The first `most` of each user."""
        lengths, rank = self._rank_entries
        if not len(lengths) or most >= int(lengths.max()):
            return self.starts, self.items
        starts = np.concatenate([[0], np.cumsum(np.minimum(lengths, most))])
        return starts.astype(np.int64), self.items[rank < most]

    @cached_property
    def _rank_entries(self) -> tuple[Whole, npt.NDArray[np.int32]]:
        """How many items each user has, and which of them an entry is."""
        lengths = np.diff(self.starts)
        rank = np.arange(len(self.items)) - np.repeat(self.starts[:-1], lengths)
        return lengths, rank.astype(np.int32)


@dataclass(frozen=True, eq=False)
class PilotCounts:
    """Numbers of some users of a log, of which releases are previewed. They come from the raw log: for its curator."""

    users: int
    """Users whose rows were looked at."""
    all_users: int
    """Users of the log."""
    kinds: dict[str, _Counts] = field(repr=False)

    @property
    def share(self) -> float:
        return self.users / max(1, self.all_users)

    @classmethod
    def count_pilot(
        cls,
        log: SearchLog,
        *,
        most_users: int = MOST_USERS,
        progress: Callable[[int, int], None] | None = None,
    ) -> PilotCounts:
        """Count items of every kind that the log has, of at most about `most_users` of its users."""
        with log.unchanged():
            pilot = Pilot.sample_log(log, most_users)
            wanted = [
                kind
                for kind in item_kinds.KINDS.values()
                if not kind.is_set and _is_countable(log, kind.name)
            ]
            made = {}
            for number, kind in enumerate(wanted, 1):
                made[kind.name] = _count_items(pilot, kind)
                if progress:
                    progress(number, len(wanted))
            return cls(pilot.users, pilot.all_users, made)

    # -- files -----------------------------------------------------------------------------------------------

    def save(self, file: str | Path) -> None:
        """Write the numbers into one new file, readable by its owner alone."""
        place = Path(file)
        place.touch(mode=0o600, exist_ok=False)
        facts = {
            "format": _FORMAT,
            "users": self.users,
            "all_users": self.all_users,
            "kinds": list(self.kinds),
        }
        arrays = {
            f"{name}/{one.name}": getattr(counts, one.name)
            for name, counts in self.kinds.items()
            for one in dataclasses.fields(_Counts)
        }
        with place.open("wb") as opened:
            np.savez(opened, facts=np.array(json.dumps(facts)), **arrays)

    @classmethod
    def load(cls, file: str | Path) -> PilotCounts:
        """The numbers of a file that `save` wrote."""
        try:
            with np.load(Path(file), allow_pickle=False) as found:
                facts = json.loads(str(found["facts"]))
                names = [one.name for one in dataclasses.fields(_Counts)]
                kinds = {name: _Counts(*(found[f"{name}/{one}"] for one in names)) for name in facts["kinds"]}
                return cls(int(facts["users"]), int(facts["all_users"]), kinds)
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"the counts of the pilot cannot be read ({type(error).__name__})", "make them again"
            ) from None

    # -- previews --------------------------------------------------------------------------------------------

    def preview(self, method: Mechanism) -> Preview:
        """What this setting would publish of the whole log, about."""
        kind = next(iter(value_of(method, "items") or ()), "queries")
        counts = self.kinds.get(kind)
        if counts is None:
            return Preview(items=kind, why_not=f"the log has no {kind}, or they are too many to preview")
        found = self._publication_probabilities(method, counts)
        if found is None:
            return Preview(
                items=kind,
                why_not="this method is not previewed, because what it publishes does not follow from counts alone",
            )
        chances, frequency = found
        return Preview(
            items=kind,
            published=float(chances.sum()),
            coverage=float(chances[counts.top_items].mean()) if len(counts.top_items) else None,
            released_share=float((chances * counts.occurrences).sum() / counts.total_occurrences)
            if counts.total_occurrences
            else None,
            hit_probability=_hit_probability(counts, chances, frequency),
        )

    def _publication_probabilities(self, method: Mechanism, counts: _Counts) -> tuple[Shares, Shares] | None:
        """The probability that each item is published, and the count that it would have."""
        plan = method.plan(users=self.all_users)
        draw = plan.draws[0] if plan.draws else None
        if isinstance(method, Steered):
            return self._steered_probabilities(method, counts)
        if draw is None:
            true = counts.users_per_item / self.share
            crowd = plan.guarantee.k if plan.guarantee.shared == "query" else None
            return None if crowd is None else ((true >= crowd).astype(np.float64), true)
        if draw.rows != LOG or draw.scale is None or draw.above is None:
            return None
        return self._threshold_probabilities(draw, counts)

    def _threshold_probabilities(self, draw: Draw, counts: _Counts) -> tuple[Shares, Shares] | None:
        """The same where noise decides each item by itself."""
        starts, items = counts.bound_contributions(draw.most or _LONGEST)
        if draw.distribution == ROUNDED_NORMAL:
            weights = np.repeat(GRID / np.sqrt(np.maximum(1, np.diff(starts))), np.diff(starts))
            sums = np.bincount(items, weights, minlength=counts.distinct_items) / self.share
            held = np.bincount(items, minlength=counts.distinct_items)
            above, scale = float(draw.above or 0), float(draw.scale or 1)
            chances, some = np.zeros(counts.distinct_items), np.flatnonzero(held)
            chances[some] = ndtr((sums[some] - above) / scale)
            return chances, held / self.share
        if draw.distribution not in (DISCRETE_LAPLACE, SELECTION):
            return None
        held = np.bincount(items, minlength=counts.distinct_items)
        if draw.copies > 1:
            # Repeated searches of one user count, too.
            true = np.rint(
                held / self.share * counts.occurrences / np.maximum(1, counts.users_per_item)
            ).astype(np.int64)
            return _probability_above(draw, np.arange(true.max(initial=0) + 1.0))[true], true.astype(
                np.float64
            )
        # Many items have as many users as others.
        every = np.arange(held.max(initial=0) + 1) / self.share
        return _probability_above(draw, every)[held], every[held]

    def _steered_probabilities(self, method: Steered, counts: _Counts) -> tuple[Shares, Shares]:
        """One selection. Sums of a sample are smaller in proportion, so noise and threshold are made smaller too."""
        noise = method.account().noise(method.items[0])
        whole = steering.calibrate(noise)
        few, numbers = counts.sample_users
        share = self.share * (len(few.starts) - 1) / max(1, len(counts.starts) - 1)
        sample = dataclasses.replace(
            whole, scale=max(1, round(whole.scale * share)), tau=round(whole.tau * share)
        )
        starts, items = few.bound_contributions(method.max_items)
        nothing: Any = None  # no text is needed without a prior by length
        made = histories.Histories(
            starts, items, item_kinds.kind(method.items[0]), nothing, few.distinct_items
        )
        chosen = gaussian_rounds.select(
            made, sample, Noise(), length_prior=False, tables_of=steering.approximate_score_tables
        )
        chances = np.zeros(counts.distinct_items)
        chances[numbers[chosen.codes]] = 1.0
        return chances, counts.users_per_item / self.share


def _is_countable(log: SearchLog, kind: str) -> bool:
    needed = {"query-pairs": "time", "clicks": "url"}.get(kind)
    return needed is None or needed in log.columns


def _count_items(pilot: Pilot, kind: item_kinds.ItemKind) -> _Counts:
    found = histories.collect_histories(pilot.log, kind, Bound(most=_LONGEST, salt=pilot.noise.key()))
    occurring = pilot.log.engine.arrow(graph.occurrence_counts(pilot.log, kind))
    places = found.find(occurring.select(list(kind.columns)))
    known = places >= 0
    occurrences = np.zeros(found.different, np.int64)
    occurrences[places[known]] = occurring["count"].to_numpy()[known]
    documents = np.zeros(0, np.int64)
    if kind.name == "keywords" and "url" in pilot.log.columns:
        words = found.texts(np.arange(found.different)).append_column("count", pa.array(occurrences))
        ordered = Histogram.of(words)
        frequencies = DocumentFrequencies.of_log(pilot.log).frequencies_of(ordered)
        documents = np.zeros(found.different, np.int64)
        documents[found.find(pa.table({"keyword": ordered.items}))] = frequencies
    return _Counts(*_shuffle_items(found.starts, found.items), occurrences, documents)


def _shuffle_items(starts: Whole, items: npt.NDArray[np.int32]) -> tuple[Whole, npt.NDArray[np.int32]]:
    """Users, and the items of each, in an order of chance: a smaller bound keeps the first of them."""
    # Whom and what a preview keeps protects nobody: any generator will do.
    chance = np.random.default_rng()
    lengths = np.diff(starts)
    users = chance.permutation(len(lengths))
    place = np.empty(len(users), np.int64)
    place[users] = np.arange(len(users))
    order = np.lexsort((chance.random(len(items)), np.repeat(place, lengths)))
    return np.concatenate([[0], np.cumsum(lengths[users])]).astype(np.int64), items[order]


def _probability_above(draw: Draw, counts: Shares) -> Shares:
    """The probability that a count is published: it is large enough, and with its noise above the threshold."""
    return np.where(counts >= (draw.at_least or 1), _with_noise(draw, counts), 0.0)


def _with_noise(draw: Draw, counts: Shares) -> Shares:
    """Return the probability that a count with noise is above the threshold."""
    if (noise := noise_of(draw)) is not None:
        # A sample is scaled up to counts that need not be integers.
        return np.interp(counts, np.arange(noise.always + 1), noise.release_probabilities())
    scale, above = float(draw.scale or 1), float(draw.above or 0)
    a = float(np.exp(-1 / scale))
    gap = above - counts
    tail = np.exp(-np.abs(gap + np.where(gap >= 0, 1, 0)) / scale) / (1 + a)
    return np.where(gap >= 0, tail, 1 - tail)


def _hit_probability(counts: _Counts, chances: Shares, frequency: Shares) -> float | None:
    """How often a search would find its posting list, if lists are kept by what is likely to be published."""
    if not len(counts.documents):
        return None
    published = np.flatnonzero(chances >= 0.5)
    if not counts.total_occurrences or not len(published):
        return 0.0
    lists = np.minimum(np.maximum(1, counts.documents), LONGEST_LIST)
    memory = min(LARGEST_MEMORY, int(SHARE_OF_INDEX * POSTING_BYTES * lists.sum()))
    score = frequency[published] / np.maximum(1, counts.documents[published])
    order = np.argsort(-score, kind="stable")
    chosen, _ = pack_lists(POSTING_BYTES * lists[published], order, memory)
    return float(counts.occurrences[published[chosen]].sum() / counts.total_occurrences)
