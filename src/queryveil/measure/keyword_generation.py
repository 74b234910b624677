"""Keywords of a concept by an absorbing random walk on the click graph (Fuxman et al. 2008).

All urls of the seed domains absorb with probability 1. A query's probability of the concept is (1 - leak) times
the click-weighted mean over its urls, a url's the same over its queries; values below `floor` are set to 0; all
this until nothing changes.

Why there is one answer. A step is monotone: larger values in, larger values out, and so is cutting below the floor.
From 0 everywhere but at the seeds the values therefore only rise, and stay below 1: they converge, to the least
values that a step leaves alone. A query that was cut may come back when its urls have risen. With a leak of 0.001
plain steps can take thousands of rounds, so this module jumps: it solves the linear equations of the nodes
that are above the floor so far, looks who rises above it then, and repeats. What it jumps to is never above the
least fixed point (there, the values satisfy the same equations with more coming in), and it ends in a fixed point,
so it ends in that one. The equations are symmetric once scaled by the square roots of the nodes' clicks, with
eigenvalues from 1 - (1 - leak)^2 to 1: conjugate gradients need a few hundred products at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from queryveil.errors import CannotBeMet, InputError, UsageError, argument
from queryveil.measure.graph import Graph
from queryveil.measure.measure import HIGHER, NEITHER, Measure, Original, Released, Stated

if TYPE_CHECKING:
    import scipy.sparse as sp

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

LEAK, FLOOR, MIN_CLICKS = 0.001, 0.0001, 10
_PRECISION = 1e-9
_SWEEPS, _QUIET = 60, 8
"""Steps before a jump: at most so many, and so many after the last one that brought a query above the floor."""
_JUMP_PRECISION = 1e-8
_PRODUCTS = 5_000
_ROUNDS = 200
"""Against running for ever where a value is the floor to the last bit; every real graph needs a few."""
_HOST = r"^(?:(?:[a-zA-Z][a-zA-Z0-9+.\-]*:)?//)?(?:[^/?#@]*@)?(?P<host>[^/?#:]*)"


def generate_keywords(
    graph: Graph,
    seeds: str | Path | Iterable[str],
    *,
    threshold: float = 0.5,
    leak: float = LEAK,
    floor: float = FLOOR,
    min_clicks: int = MIN_CLICKS,
) -> pa.Table:
    """The queries whose probability of the seeds' concept is above `threshold`: query, probability; likely first.

    `seeds` are domains: a list, a text with commas, or a file. Edges below `min_clicks` clicks are left out.
    """
    _check_parameters(threshold=threshold, leak=leak, floor=floor, min_clicks=min_clicks)
    absorbing = _seed_urls(graph, parse_domains(seeds))
    if not len(absorbing):
        raise CannotBeMet(
            "no url of the graph is in the seed domains", f"name other domains with {argument('seeds')}"
        )
    found = _absorption_probabilities(graph, absorbing, leak=leak, floor=floor, min_clicks=min_clicks)
    return found.filter(pc.greater(found["probability"], threshold))


def _absorption_probabilities(
    graph: Graph,
    absorbing: pa.Array,
    *,
    leak: float = LEAK,
    floor: float = FLOOR,
    min_clicks: int = MIN_CLICKS,
) -> pa.Table:
    """Every query's probability of being absorbed at these urls: query, probability; likely first."""
    edges = graph.positive_counts("clicks", min_clicks)
    queries, urls = (edges[column].combine_chunks().dictionary_encode() for column in ("query", "url"))
    weights = _click_matrix(queries, urls, edges["count"].to_numpy())
    inside = pc.is_in(urls.dictionary, absorbing).to_numpy(zero_copy_only=False)
    probability = absorption_probabilities(weights, inside, leak=leak, floor=floor)
    table = pa.table({"query": queries.dictionary, "probability": probability})
    return table.sort_by([("probability", "descending"), ("query", "ascending")])


def _check_parameters(*, threshold: float, leak: float, floor: float, min_clicks: int) -> None:
    for name, value, fits, rule in (
        ("threshold", threshold, 0 <= threshold < 1, "a number from 0 to below 1"),
        ("leak", leak, 0 < leak < 1, "a number above 0 and below 1"),
        ("floor", floor, 0 <= floor < 1, "a number from 0 to below 1"),
        ("min_clicks", min_clicks, min_clicks >= 1, "a whole number from 1"),
    ):
        if not fits:
            raise UsageError(f"parameter '{name}' must be {rule}; got {value!r}", "choose another one")


# -- seeds ---------------------------------------------------------------------------------------------------


def parse_domains(seeds: str | Path | Iterable[str]) -> tuple[str, ...]:
    """Seed domains from a list, from a text with commas, or from a file of them, one a line."""
    if isinstance(seeds, (str, Path)):
        seeds = _split_domains(seeds)
    given = pc.utf8_lower(extract_hosts(pa.array([seed.strip() for seed in seeds], pa.string()))).to_pylist()
    found = tuple(dict.fromkeys(host.strip(".") for host in given if host.strip(".")))
    if not found:
        raise UsageError(
            "there is no seed domain",
            f"name some, like {argument('seeds', 'shoes.com,boots.com')}, or a file of domains",
        )
    return found


def _split_domains(seeds: str | Path) -> list[str]:
    text = str(seeds)
    try:
        if isinstance(seeds, Path) or ("," not in text and Path(text).is_file()):
            lines = Path(text).read_text(encoding="utf-8").splitlines()
            text = ",".join(line.partition("#")[0] for line in lines)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"the seed domains cannot be read ({type(error).__name__})",
            "give a text file with one domain per line",
        ) from None
    return text.split(",")


def _seed_urls(graph: Graph, wanted: Iterable[str]) -> pa.Array:
    """The graph's urls that belong to one of the domains: their host is it, or ends with a dot and it."""
    known = frozenset(wanted)
    urls = graph.table("clicks")["url"].unique()
    found = pc.utf8_lower(extract_hosts(urls)).dictionary_encode()
    inside = pa.array([_ends_in(host, known) for host in found.dictionary.to_pylist()], pa.bool_())
    return urls.filter(inside.take(found.indices))


def _ends_in(host: str, known: frozenset[str]) -> bool:
    labels = host.rstrip(".").split(".")
    return any(".".join(labels[start:]) in known for start in range(len(labels)))


def extract_hosts(urls: pa.Array) -> pa.Array:
    """The host of each url; the url itself where it has no other part."""
    return pc.struct_field(pc.extract_regex(urls, _HOST), "host")


# -- walk ----------------------------------------------------------------------------------------------------


def _click_matrix(
    queries: pa.DictionaryArray, urls: pa.DictionaryArray, counts: NDArray[np.int64]
) -> sp.csr_array:
    import scipy.sparse as sp

    place = tuple(column.indices.to_numpy(zero_copy_only=False) for column in (queries, urls))
    shape = (len(queries.dictionary), len(urls.dictionary))
    return sp.csr_array((counts.astype(np.float64), place), shape=shape)


def absorption_probabilities(weights: sp.csr_array, absorbing: Mask, *, leak: float, floor: float) -> Floats:
    """Each query's probability of being absorbed at the urls marked, given clicks of queries (rows) on urls."""
    walk = _Walk(weights, absorbing, leak, floor)
    of_query = np.zeros(weights.shape[0])
    for _ in range(_ROUNDS):
        grew, live = 0, -1
        for number in range(_SWEEPS):
            before = of_query
            of_query = walk.step(before)
            # A step shrinks errors by (1 - leak)^2: what is lacking is below the change over 2 leak.
            if np.max(np.abs(of_query - before), initial=0) <= leak * _PRECISION:
                return of_query
            if (now := int(np.count_nonzero(of_query))) != live:
                grew, live = number, now
            elif number - grew >= _QUIET:
                break
        of_query = walk.solve_fixed_point(of_query)
    return of_query


class _Walk:
    """One graph with its seeds, ready to step."""

    def __init__(self, weights: sp.csr_array, absorbing: Mask, leak: float, floor: float) -> None:
        self.absorbing, self.floor, self.stay = absorbing, floor, 1 - leak
        self.from_urls = _rows_times(weights, self.stay / weights.sum(axis=1))
        self.from_queries = _rows_times(weights.T.tocsr(), self.stay / weights.sum(axis=0))
        self.root = np.sqrt(weights.sum(axis=1))
        # Scaled by the roots of both ends' clicks, a step there and back is a symmetric matrix.
        columns = _rows_times(weights.T.tocsr(), 1 / np.sqrt(weights.sum(axis=0)))
        self.scaled = _rows_times(columns.T.tocsr(), self.stay / self.root)

    def step(self, of_query: Floats) -> Floats:
        """From the queries to the urls and back, cutting what is below the floor."""
        return self._apply_floor(self.from_urls @ self._of_urls(of_query))

    def _of_urls(self, of_query: Floats) -> Floats:
        of_url: Floats = self._apply_floor(self.from_queries @ of_query)
        of_url[self.absorbing] = 1
        return of_url

    def _apply_floor(self, values: Floats) -> Floats:
        kept: Floats = np.where(values >= self.floor, values, 0)
        return kept

    def solve_fixed_point(self, of_query: Floats) -> Floats:
        """Where steps from here would lead if only the nodes that have a value now could have one."""
        of_url = self._of_urls(of_query)
        live = np.flatnonzero(of_query >= self.floor)
        between = np.flatnonzero((of_url >= self.floor) & ~self.absorbing)
        there = self.scaled[live][:, between]
        back = there.T.tocsr()

        def equations(value: Floats) -> Floats:
            left: Floats = value - there @ (back @ value)
            return left

        # Solving for what is still lacking, and not for the whole, keeps every jump's relative precision.
        lacking = (self.root * (self.from_urls @ of_url - of_query))[live]
        risen = of_query.copy()
        risen[live] += _conjugate_gradients(equations, lacking) / self.root[live]
        clipped: Floats = np.clip(risen, 0, 1)
        return clipped


def _conjugate_gradients(equations: Callable[[Floats], Floats], right: Floats) -> Floats:
    """Solve symmetric positive equations.

    scipy has it too, but its inner products go through threads that wait for each other longer than they work.
    """
    found = np.zeros_like(right)
    left, direction = right, right
    length = whole = _inner_product(right, right)
    for _ in range(_PRODUCTS):
        if length <= _JUMP_PRECISION**2 * whole:
            break
        image = equations(direction)
        far = length / _inner_product(direction, image)
        found = found + far * direction
        left = left - far * image
        shorter = _inner_product(left, left)
        direction = left + shorter / length * direction
        length = shorter
    return found


def _inner_product(first: Floats, second: Floats) -> float:
    return float(np.einsum("i,i->", first, second))


def _rows_times(matrix: sp.csr_array, factors: Floats) -> sp.csr_array:
    return matrix.multiply(factors[:, None]).tocsr()


# -- measure -------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class KeywordGeneration(Measure):
    """keyword-generation@p: keywords of the seeds' concept with probability above p, from both graphs.

    The main figure is the share of the release's keywords that the original's graph gives too.
    """

    name: ClassVar[str] = "keyword-generation"
    help: ClassVar[str] = "share of the keywords from the release that the log gives too"
    unit: ClassVar[str] = "share"
    direction: ClassVar[str] = HIGHER
    parts: ClassVar[dict[str, Stated]] = {
        "original": Stated("keywords", NEITHER, "keywords generated from the log"),
        "released": Stated("keywords", NEITHER, "keywords generated from the release"),
    }
    defaults: ClassVar[tuple[float, ...]] = (0.5, 0.7, 0.9, 0.95)
    whole: ClassVar[bool] = False
    table: ClassVar[str | None] = "clicks"
    option: ClassVar[str | None] = "seeds"

    seeds: tuple[str, ...] = ()

    def figures(self, original: Original, release: Released) -> dict[str, float | None]:
        ours = _keywords_above(
            original.compute_once(("keywords", self.seeds), lambda: self._of_log(original)), self.at
        )
        theirs = _keywords_above(
            release.compute_once(("keywords", self.seeds), lambda: self._of_release(release)), self.at
        )
        return {
            f"{self}/original": len(ours),
            f"{self}/released": len(theirs),
            str(self): len(ours & theirs) / len(theirs) if theirs else None,
        }

    def _of_log(self, original: Original) -> pa.Table:
        clicks = original.graph("clicks")
        absorbing = _seed_urls(clicks, self.seeds)
        if not len(absorbing):
            raise CannotBeMet(
                "no url of the log is in the seed domains", f"name other domains with {argument('seeds')}"
            )
        return _absorption_probabilities(clicks, absorbing)

    def _of_release(self, release: Released) -> pa.Table:
        return _absorption_probabilities(release.graph, _seed_urls(release.graph, self.seeds))


def _keywords_above(keywords: pa.Table, threshold: float | None) -> set[str]:
    return set(keywords.filter(pc.greater(keywords["probability"], threshold or 0))["query"].to_pylist())
