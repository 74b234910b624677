"""How good the query substitutions are that a release yields, compared with those of the log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from queryveil.measure.measure import HIGHER, NEITHER, Measure, Original, Released, Stated
from queryveil.measure.substitutions import Substitutions, Thresholds
from queryveil.parameters import param
from queryveil.privacy.declarations import OCCURRENCES

MOST_QUERIES = 100_000
_DEPTH = 5
"""Lists are made so long at least, so that measures of several lengths share them."""

Lists = Mapping[str, Sequence[str]]


def substitute_agreement(original: Lists, released: Lists, most: int) -> dict[str, float | None]:
    """How well the first substitutes by the release agree with the first ones by the original.

    Precision, recall, average precision and NDCG (gain j - i for the original's i-th, from 0) are those of
    `ir_measures`, with the original's list as what is relevant; averaged over the queries for which the release has
    any, 0 where the original has none. Coverage is the share of as many substitutes as the original has, averaged over
    the queries for which the original has any.
    """
    asked = [query for query, listed in original.items() if listed]
    answered = [query for query, listed in released.items() if listed]
    shares = [
        min(len(released.get(query, ())[:most]), len(original[query][:most])) / len(original[query][:most])
        for query in asked
    ]
    found: dict[str, float | None] = dict(_ranking_agreement(original, released, answered, most))
    found["coverage"] = sum(shares) / len(shares) if shares else None
    return found


def _ranking_agreement(
    original: Lists, released: Lists, answered: list[str], most: int
) -> dict[str, float | None]:
    import ir_measures
    from ir_measures import AP, SetP, SetR, nDCG

    names = {SetP: "precision", SetR: "recall", AP @ most: "ap", nDCG @ most: "ndcg"}
    if not answered:
        return dict.fromkeys(names.values())
    both = [query for query in answered if original.get(query)]
    relevant = {query: _graded_list(original[query], most) for query in both}
    ranked = {query: _graded_list(released[query], most) for query in both}
    sums = dict.fromkeys(names.values(), 0.0)
    for one in ir_measures.iter_calc(list(names), relevant, ranked) if both else ():
        sums[names[one.measure]] += one.value
    return {name: value / len(answered) for name, value in sums.items()}


def _graded_list(listed: Sequence[str], most: int) -> dict[str, Any]:
    """The first of a list with falling numbers: the gain of what is relevant, or the score that ranks it."""
    return {text: most - place for place, text in enumerate(listed[:most])}


@dataclass(frozen=True, kw_only=True)
class QuerySubstitution(Measure):
    """query-substitution@j: the first j substitutes of a query by the release, compared with those by the log."""

    name: ClassVar[str] = "query-substitution"
    help: ClassVar[str] = (
        "how well a query's first j substitutes from the release agree with those from the log"
    )
    unit: ClassVar[str] = "share"
    direction: ClassVar[str] = HIGHER
    parts: ClassVar[dict[str, Stated]] = {
        "precision": Stated("share", HIGHER, "of the release's substitutes, those that the log gives too"),
        "recall": Stated("share", HIGHER, "of the log's substitutes, those that the release gives too"),
        "ap": Stated("0 to 1", HIGHER, "mean average precision"),
        "ndcg": Stated("0 to 1", HIGHER, "normalised discounted cumulative gain"),
        "coverage": Stated(
            "share",
            NEITHER,
            "how many substitutes the release gives, right or wrong, for each that the log gives",
        ),
        "original": Stated("queries", NEITHER, "queries for which the log gives any"),
        "released": Stated("queries", NEITHER, "queries for which the release gives any"),
    }
    defaults: ClassVar[tuple[float, ...]] = (2, 5)
    table: ClassVar[str | None] = "reformulations"

    most_queries: int = param("queries to replace: the log's most frequent ones", ge=1, default=MOST_QUERIES)
    min_information: float = param("mutual information (nats) that makes words belong together", default=3.0)
    min_together: int = param("how often words must appear together to belong together", ge=1, default=5)
    min_ratio: float = param("log-likelihood ratio that lets phrases replace each other", ge=0, default=100.0)

    def figures(self, original: Original, release: Released) -> dict[str, float | None]:
        depth = max(_DEPTH, self.list_length)
        key = ("substitutions", self.most_queries, self._segment_thresholds, depth)
        ours = original.compute_once(key, lambda: self._of_log(original, depth))
        theirs = release.compute_once(key, lambda: self._of_release(original, release, depth))
        found = substitute_agreement(ours, theirs, self.list_length)
        found |= {"original": len(ours), "released": len(theirs)}
        return {f"{self}/{part}": value for part, value in found.items()}

    @property
    def _segment_thresholds(self) -> Thresholds:
        return Thresholds(information=self.min_information, together=self.min_together, ratio=self.min_ratio)

    def _query_sample(self, original: Original) -> pa.Array:
        return pc.cast(
            original.top("queries", OCCURRENCES, self.most_queries)["query"], pa.string()
        ).combine_chunks()

    def _of_log(self, original: Original, depth: int) -> dict[str, list[str]]:
        pairs, queries = (
            original.log.engine.arrow(original.counts(kind, OCCURRENCES))
            for kind in ("query-pairs", "queries")
        )
        return Substitutions.from_log(pairs, queries, self._segment_thresholds).lists(
            self._query_sample(original), depth
        )

    def _of_release(self, original: Original, release: Released, depth: int) -> dict[str, list[str]]:
        queries = release.items("queries") if "queries" in release.kinds else None
        learnt = Substitutions.from_log(release.items("query-pairs"), queries, self._segment_thresholds)
        return learnt.lists(self._query_sample(original), depth)
