"""Linkage by known queries: who is alone in having all of a few queries, in a log and in what was published of it.

An attacker who knows r queries of a person, drawn at random from her different ones, looks for whoever has all of
them. In the log she is singled out if nobody else does; the control is the same search where she is not in the log,
which succeeds if one other has them all. The definition is that of `inspect`. In a release the same is asked of
its pseudonyms or sessions; and, since it is the person's own queries that are known, how often these are all together
in exactly one place of the release. The control of that is somebody whom the log does not have: r queries, each of
another person.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from queryveil.attack.protocol import (
    AttackInput,
    AttackResult,
    Headline,
    Progress,
    Table,
    difference,
    origins,
)
from queryveil.errors import CannotBeMet, argument
from queryveil.parameters import Declared, param, validate
from queryveil.privacy.declarations import HASHES, LABELS
from queryveil.reading.pinning import unchanged_logs
from queryveil.release.published_texts import as_read

if TYPE_CHECKING:
    from queryveil.reading.log import SearchLog
    from queryveil.release.publish import Release

Codes = npt.NDArray[np.int64]
_CODED = pa.dictionary(pa.int32(), pa.string())
_NOBODY = "the release has no users, sessions or pseudonyms, and nothing links one row to another"
_READ_AS = {
    LABELS: "The release has random concepts in place of queries, read here as words. An attacker who looks for the "
    "concepts of a query, and not for its words, may find more.",
    HASHES: "The release has hashes in place of words. Nobody can look for a hash, but attack hash-inversion turns "
    "hashes back into words.",
}
_EQUAL = "every row is equal to the rows of at least k - 1 other users"


@dataclass(frozen=True, kw_only=True)
class LinkageAttack(Declared):
    """Someone who knows a few of a person's queries looks for the user who made them all."""

    name: ClassVar[str] = "linkage"
    inputs: ClassVar[tuple[AttackInput, ...]] = (
        AttackInput(name="log", kind="log", help="The raw log: a file, a folder or a glob."),
        AttackInput(
            name="releases", kind="release", help="Releases of that log.", needed=False, many=True
        ),
    )  # fmt: skip

    known: tuple[int, ...] = param(
        "numbers of known queries, with commas", ge=1, le=20, many=True, default=(1, 2, 3)
    )
    trials: int = param("sampled people, for more than one known query", ge=1, le=10**6, default=2000)
    seed: int = param("seed of the samples", ge=0, le=2**32, default=1)

    def __post_init__(self) -> None:
        validate(self)

    @unchanged_logs
    def run(
        self, log: SearchLog, releases: Sequence[Release] = (), /, *, progress: Progress | None = None
    ) -> AttackResult:
        """Who is singled out in the log, and in each release."""
        warnings = origins(log, releases)
        steps, done = 1 + len(releases), 0
        held = Held.of_log(log)
        draws = Draws(held, self.trials, max(self.known), self.seed)
        results = [self._singled_out(held, draws, r) | {"of": "log", "unit": "user"} for r in self.known]
        if progress:
            progress(done := 1, steps)
        each: dict[Path, Headline] = {}
        for release in releases:
            found = self._in_release(release, held, draws)
            results += found
            if release.path is not None:
                each[release.path] = _result_headline(_strongest_attacker(found))
            if progress:
                progress(done := done + 1, steps)
        headline = _worst_release(results)
        return AttackResult(
            attack=self.name,
            success=headline.success,
            control=headline.control,
            interval=headline.interval,
            trials=headline.trials,
            each=each,
            figures={
                "known": max(self.known),
                "of": headline.of,
                "users": held.units,
                "users_with_fewer_queries": {str(r): int((held.sizes < r).sum()) for r in self.known},
                "results": results,
                "warnings": warnings,
            },
            table=_result_table(results),
            words=(
                *_summary_sentences(results, held, max(self.known)),
                *(("Warning", one) for one in warnings),
            ),
        )

    def _singled_out(self, held: Held, draws: Draws, r: int) -> dict[str, Any]:
        """How many are alone with r of their own queries, and how many others would be taken for them."""
        if r == 1:
            return _exact_figures(r, held.units, held.share_with(1), held.share_with(2))
        alike = [held.matches(one) for one in draws.own(r)]
        return _sampled_figures(r, held.units, [one == 1 for one in alike], [one == 2 for one in alike])

    def _in_release(self, release: Release, log: Held, draws: Draws) -> list[dict[str, Any]]:
        name = str(release.path) if release.path is not None else release.plan.method
        about = {"of": name, "method": release.plan.method, "texts": release.plan.texts}
        table = release.tables.get("log")
        columns = () if table is None or not table.num_rows else table.column_names
        unit = next((one for one in ("user", "session") if one in columns), None)
        if table is None or unit is None:
            why = _EQUAL if "transactions" in release.tables else _NOBODY
            none = {"units": 0, **_empty_figures(), "unit": None, "linked": _empty_figures(), "why": why}
            return [{"known": r, **about, **none} for r in self.known]
        held = Held.of_table(table, unit)
        own = Draws(held, self.trials, max(self.known), self.seed)
        # Labels of concepts tell pseudonyms apart as they are, and must be read to be known as queries.
        seen = Held.of_table(_is_readable(table), unit) if about["texts"] == LABELS else held
        # The person's own queries, as the release has them; -1 for what it does not have.
        theirs = seen.translated(log.texts)
        found = []
        for r in self.known:
            one = self._singled_out(held, own, r) | about | {"unit": "pseudonym" if unit == "user" else unit}
            real = [seen.matches(theirs[queries]) == 1 for queries in draws.own(r)]
            chance = [seen.matches(theirs[queries]) == 1 for queries in draws.strangers(r)]
            found.append(one | {"linked": _sampled_figures(r, log.units, real, chance)})
        return found


def _is_readable(table: pa.Table) -> pa.Table:
    place = table.column_names.index("query")
    return table.set_column(place, "query", as_read(table["query"]))


def _strongest_attacker(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The last of those who know the most queries."""
    most = max(one["known"] for one in results)
    return [one for one in results if one["known"] == most][-1]


def _worst_release(results: Sequence[dict[str, Any]]) -> Headline:
    """The most exposed release for those who know the most queries; the log if there is none.

    It is the one with the largest advantage. All were looked for with the queries of the same people, so that shares
    compare. Where chance explains what was found in all of them it is the one in which most were found.
    """
    most = max(one["known"] for one in results)
    known = [_result_headline(one) for one in results if one["known"] == most]
    return max(known[1:] or known, key=lambda one: (max(0.0, one.success - one.control), one.success))


def _result_headline(one: dict[str, Any]) -> Headline:
    """In a release it counts who is found by own queries, in the log who is singled out."""
    shown = one.get("linked") or one
    low, high = shown["interval"]
    return Headline(
        of=one["of"],
        success=shown["success"],
        control=shown["control"],
        interval=(low, high),
        trials=shown["trials"],
    )


def _exact_figures(r: int, units: int, success: float, control: float) -> dict[str, Any]:
    figures = {"success": success, "control": control, "advantage": success - control}
    return {"known": r, "units": units, **figures, "interval": [success - control] * 2, "trials": 0}


def _empty_figures() -> dict[str, Any]:
    return {"success": 0.0, "control": 0.0, "advantage": 0.0, "interval": [0.0, 0.0], "trials": 0}


def _sampled_figures(r: int, units: int, hits: Sequence[bool], chance: Sequence[bool]) -> dict[str, Any]:
    success, control = sum(hits) / len(hits), sum(chance) / len(chance)
    return {
        "known": r,
        "units": units,
        "success": success,
        "control": control,
        "advantage": success - control,
        "interval": list(difference((sum(hits), len(hits)), (sum(chance), len(chance)))),
        "trials": len(hits),
    }


# -- who has what --------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Held:
    """Who (a user, a pseudonym, a session) has which queries, as numbers: sorted pairs, each once."""

    who: Codes
    what: Codes
    units: int
    texts: pa.StringArray
    """What the numbers of queries stand for."""

    @staticmethod
    def of_log(log: SearchLog) -> Held:
        """The log's users and their different queries."""
        pairs = log.queries.select("user", "query").distinct()
        held = Held.of_batches(log.engine.batches(pairs), "user", "query")
        if not held.units:
            raise CannotBeMet("no user of the log has a query", f"check the file and {argument('columns')}")
        return held

    @staticmethod
    def of_table(table: pa.Table, unit: str) -> Held:
        """The pseudonyms or sessions of a release; a sealed query is known by its label."""
        text = "query" if "query" in table.column_names else "label"
        return Held.of_batches(table.to_batches(), unit, text)

    @staticmethod
    def of_batches(batches: Iterable[pa.RecordBatch], unit: str, text: str) -> Held:
        users: list[pa.DictionaryArray] = []
        queries: list[pa.DictionaryArray] = []
        for batch in batches:
            users.append(batch.column(unit).cast(pa.string()).dictionary_encode())
            queries.append(batch.column(text).cast(pa.string()).dictionary_encode())
        who, people = _encode_texts(users)
        what, texts = _encode_texts(queries)
        # One number for each pair: sorted by who, then by what, and each once.
        pairs = np.unique(who * max(1, len(texts)) + what)
        return Held(pairs // max(1, len(texts)), pairs % max(1, len(texts)), len(people), texts)

    @cached_property
    def starts(self) -> Codes:
        """Where each one's queries start."""
        return np.searchsorted(self.who, np.arange(self.units + 1))

    @cached_property
    def sizes(self) -> Codes:
        return np.diff(self.starts)

    @cached_property
    def popularity(self) -> Codes:
        """How many have each query."""
        return np.bincount(self.what, minlength=len(self.texts))

    @cached_property
    def _inverted_lists(self) -> tuple[Codes, Codes]:
        """For each query those who have it, ascending, and where its list starts."""
        order = np.argsort(self.what, kind="stable")
        starts = np.concatenate(([0], np.cumsum(self.popularity)))
        return self.who[order], starts

    def share_with(self, popularity: int) -> float:
        """The mean over everyone of the share of their queries that so many have."""
        hit = (self.popularity == popularity)[self.what]
        return float((np.bincount(self.who, hit, self.units) / self.sizes).mean()) if self.units else 0.0

    def matches(self, queries: Codes) -> int:
        """How many have all of these queries; none has a query below 0."""
        if not queries.size or queries.min() < 0:
            return 0
        holders, starts = self._inverted_lists
        first, *others = queries[np.argsort(self.popularity[queries], kind="stable")].tolist()
        left = holders[starts[first] : starts[first + 1]]
        for query in others:
            theirs = holders[starts[query] : starts[query + 1]]
            places = np.minimum(np.searchsorted(theirs, left), len(theirs) - 1)
            left = left[theirs[places] == left]
        return len(left)

    def translated(self, texts: pa.StringArray) -> Codes:
        """Numbers of these texts here, -1 for those that nobody has."""
        found: Codes = pc.fill_null(pc.index_in(texts, self.texts), -1).to_numpy().astype(np.int64)
        return found


def _encode_texts(parts: list[pa.DictionaryArray]) -> tuple[Codes, pa.StringArray]:
    """Texts as numbers in the order of the texts, whatever order an engine gave them in; and what these stand for."""
    whole = pa.chunked_array(parts, _CODED).unify_dictionaries()
    if not len(whole):
        return np.zeros(0, dtype=np.int64), pa.array([], pa.string())
    codes = np.concatenate([chunk.indices.to_numpy() for chunk in whole.chunks])
    texts = next(chunk.dictionary for chunk in whole.chunks)
    order = pc.sort_indices(texts)
    rank = np.empty(len(texts), dtype=np.int64)
    rank[order.to_numpy()] = np.arange(len(texts))
    return rank[codes], texts.take(order)


class Draws:
    """Sampled people, and random queries of theirs. Chance here decides what is measured, not what is published."""

    def __init__(self, held: Held, trials: int, most: int, seed: int) -> None:
        rng = np.random.default_rng([seed, trials])
        self.people = rng.choice(held.units, size=min(trials, held.units), replace=False)
        self._drawn = [self._draw_some(held, int(who), most, rng) for who in self.people]
        # Somebody whom the log does not have: each query is one of somebody else.
        chosen = rng.integers(held.units, size=(len(self.people), most))
        place = held.starts[:-1][chosen] + rng.integers(held.sizes[chosen])
        self._strange = held.what[place]

    @staticmethod
    def _draw_some(held: Held, who: int, most: int, rng: np.random.Generator) -> Codes:
        own = held.what[held.starts[who] : held.starts[who + 1]]
        drawn: Codes = rng.choice(own, size=min(most, own.size), replace=False)
        return drawn

    def own(self, r: int) -> list[Codes]:
        """r different queries of each sampled person, or all of them where there are fewer."""
        return [drawn[:r] for drawn in self._drawn]

    def strangers(self, r: int) -> list[Codes]:
        """As many queries of nobody in particular."""
        pairs = zip(self._strange, self._drawn, strict=True)
        return [np.unique(strange[: min(r, drawn.size)]) for strange, drawn in pairs]


# -- what people read ----------------------------------------------------------------------------------------


def _result_table(results: Sequence[dict[str, Any]]) -> Table:
    head = (
        "in",
        "known queries",
        "singled out",
        "control",
        "found by own queries",
        "control",
        "95 % interval",
    )
    return (head, *map(_table_line, results))


def _table_line(one: dict[str, Any]) -> tuple[str, ...]:
    linked = one.get("linked")
    low, high = (linked or one)["interval"]
    exact = not (linked or one)["trials"]
    return (
        one["of"] if one["unit"] in (None, "user") else f"{one['of']}, by {one['unit']}",
        str(one["known"]),
        _format_share(one["success"]),
        _format_share(one["control"]),
        _format_share(linked["success"]) if linked else "",
        _format_share(linked["control"]) if linked else "",
        "exact" if exact else f"{100 * low:.1f} to {100 * high:.1f}",
    )


def _summary_sentences(
    results: Sequence[dict[str, Any]], log: Held, most: int
) -> tuple[tuple[str, str], ...]:
    raw = next(one for one in results if one["known"] == most)
    queries = "one query" if most == 1 else f"{most} queries"
    said = [
        (
            "Found",
            f"Knowing {queries} of a person identifies {_format_share(raw['success'])} of the log's {log.units:,} "
            f"users. For {_format_share(raw['control'])} of people who are not in the log it picks a wrong person.",
        )
    ]
    for one in results:
        if one["known"] != most or one["of"] == "log":
            continue
        if "why" in one:
            said.append(("", f"In {one['of']} nobody can be found: {one['why']}."))
            continue
        linked = one["linked"]
        said.append(
            (
                "",
                f"In {one['of']}, knowing {queries} of a {one['unit']} identifies {_format_share(one['success'])} of "
                f"{one['units']:,} {one['unit']}s. A person's own queries lead to exactly one {one['unit']} in "
                f"{_format_share(linked['success'])} of cases. For someone who is not in the log that happens in "
                f"{_format_share(linked['control'])} of cases."
                + (f" {_READ_AS[one['texts']]}" if one["texts"] in _READ_AS else ""),
            )
        )
    said.append(
        (
            "Read",
            "'singled out' means that nobody else has all these queries. Its control takes the person away: then "
            "exactly one other user has them all. 'found by own queries' means that exactly one place in the release "
            "has all the queries that a person really made. Its control uses the same number of queries from "
            "different people. The interval belongs to the last difference in its line, in percentage points. People "
            "with fewer queries are drawn with all that they have.",
        )
    )
    return tuple(said)


def _format_share(share: float) -> str:
    return f"{100 * share:.1f} %"
