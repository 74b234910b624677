"""What people fill into a pattern: over the queries 'fear of X', which X are most frequent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from queryveil.errors import CannotBeMet, UsageError, argument
from queryveil.measure.comparison import spearman_correlation
from queryveil.measure.graph import Graph
from queryveil.measure.measure import HIGHER, NEITHER, Measure, Original, Released, Stated
from queryveil.privacy.declarations import LABELS
from queryveil.reading.text import normalise


def rank_pattern(graph: Graph, pattern: str, n: int = 20) -> pa.Table:
    """What stands at the * of a pattern such as 'fear of *': match, count; frequent first, ties by match."""
    if n < 1:
        raise UsageError("'n' must be a whole number of at least 1", "choose another n")
    return _match_pattern(graph, split_pattern(pattern)).slice(0, n)


def split_pattern(pattern: str) -> tuple[str, str]:
    """What stands before and after the one * of a pattern, in normal form."""
    if pattern.count("*") != 1:
        raise UsageError(
            "a pattern must have exactly one *", f"write it like {argument('pattern', 'fear of *')}"
        )
    before, _, after = normalise(pattern).partition("*")
    return before, after


def _match_pattern(graph: Graph, around: tuple[str, str]) -> pa.Table:
    table = graph.positive_counts("queries")
    before, after = around
    query = table["query"]
    fits = pc.and_(pc.starts_with(query, before), pc.ends_with(query, after))
    # At least one character in place of the *.
    fits = pc.and_(fits, pc.greater(pc.binary_length(query), len(before.encode()) + len(after.encode())))
    found = table.filter(fits)
    match = pc.utf8_slice_codeunits(found["query"], len(before), -len(after) if after else None)
    # The queries are in order of count, then text; all begin alike, and what ends alike must be ordered again.
    return pa.table({"match": match, "count": found["count"]}).sort_by(
        [("count", "descending"), ("match", "ascending")]
    )


@dataclass(frozen=True, kw_only=True)
class PatternRanking(Measure):
    """pattern-ranking@n: of the n most frequent matches of a pattern in the log, the share also in the release's n.

    The correlation is Spearman's, over the matches that both have.
    """

    name: ClassVar[str] = "pattern-ranking"
    help: ClassVar[str] = "share of the log's n most frequent matches that are in the release's n"
    unit: ClassVar[str] = "share"
    direction: ClassVar[str] = HIGHER
    parts: ClassVar[dict[str, Stated]] = {
        "correlation": Stated("-1 to 1", HIGHER, "rank correlation of the matches that both have"),
        "original": Stated("matches", NEITHER, "different matches in the log"),
        "released": Stated("matches", NEITHER, "different matches in the release"),
    }
    defaults: ClassVar[tuple[float, ...]] = (20,)
    table: ClassVar[str | None] = "queries"
    option: ClassVar[str | None] = "pattern"

    pattern: str = "*"

    def unmet_requirement(self, original: Original, release: Released) -> tuple[str, str] | None:
        """A pattern is of words that concepts have replaced."""
        kept = release.release.plan.parameters.get("keep_words", "none")
        if release.texts == LABELS and kept == "none":
            return (
                "the release has concepts in place of queries, and a pattern's words are not among them",
                f"keep words when publishing, with {argument('keep_words')}, or leave the measure out",
            )
        return super().unmet_requirement(original, release)

    def figures(self, original: Original, release: Released) -> dict[str, float | None]:
        around = split_pattern(self.pattern)
        ours = _match_counts(_match_pattern(original.graph("queries"), around))
        theirs = _match_counts(_match_pattern(release.graph, around))
        if not ours:
            raise CannotBeMet("no query of the log fits the pattern", f"try another {argument('pattern')}")
        top, found = list(ours)[: self.list_length], set(list(theirs)[: self.list_length])
        both = [match for match in ours if match in theirs]
        return {
            str(self): sum(match in found for match in top) / len(top),
            f"{self}/correlation": spearman_correlation(
                [ours[one] for one in both], [theirs[one] for one in both]
            ),
            f"{self}/original": len(ours),
            f"{self}/released": len(theirs),
        }


def _match_counts(matches: pa.Table) -> dict[str, int]:
    return dict(zip(matches["match"].to_pylist(), matches["count"].to_pylist(), strict=True))
