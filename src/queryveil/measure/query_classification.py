"""Query classification: what a query is about, by the domains of the urls that were clicked for it.

Domains that belong together are a class: `health` is webmd.com and nih.gov. A query is in the class that has the
larger part of its clicks on known domains. Without classes every domain is one of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import pyarrow as pa
import pyarrow.compute as pc

from queryveil.errors import CannotBeMet, UsageError, argument
from queryveil.measure.graph import Graph
from queryveil.measure.keyword_generation import extract_hosts, parse_domains
from queryveil.measure.measure import HIGHER, NEITHER, Measure, Original, Released, Stated
from queryveil.parameters import param

Classes = Mapping[str, Iterable[str]]


def classify_queries(
    graph: Graph, classes: Classes | str | None = None, *, min_share: float = 0.5, min_clicks: int = 1
) -> pa.Table:
    """What queries are about: query, label, share of its clicks on known domains; by query.

    `classes` are names with their domains, as a mapping or as a text: 'health:webmd.com+nih.gov,shops:ebay.com'. A
    query without a class of more than `min_share` of its clicks is left out, and so are urls with fewer clicks.
    """
    if not 0 <= min_share < 1 or min_clicks < 1:
        raise UsageError(
            "'min_share' must be a number from 0 to below 1, and 'min_clicks' a whole number of at least 1",
            "choose other ones",
        )
    known = None if classes is None else domain_classes(classes)
    edges = graph.positive_counts("clicks", min_clicks)
    urls = edges["url"].combine_chunks().dictionary_encode()
    names = pc.utf8_lower(extract_hosts(urls.dictionary)).to_pylist()
    labels = pa.array([_host_label(name, known) for name in names], pa.string())
    found = pa.table({"query": edges["query"], "label": labels.take(urls.indices), "count": edges["count"]})
    found = found.filter(pc.is_valid(found["label"]))
    by_label = found.group_by(["query", "label"]).aggregate([("count", "sum")])
    whole = by_label.group_by("query").aggregate([("count_sum", "sum")])
    joined = by_label.join(whole, "query")
    share = pc.divide(pc.cast(joined["count_sum"], pa.float64()), joined["count_sum_sum"])
    made = pa.table({"query": joined["query"], "label": joined["label"], "share": share})
    # With half of the clicks or less two classes could tie; then the first by name stands for neither.
    made = made.sort_by([("query", "ascending"), ("share", "descending"), ("label", "ascending")])
    return _first_of_each(made.filter(pc.greater(made["share"], min_share)))


def domain_classes(classes: Classes | str) -> dict[str, str]:
    """Domain -> class, from a mapping or from a text."""
    listed: dict[str, Iterable[str]] = dict(classes) if isinstance(classes, Mapping) else {}
    if isinstance(classes, str):
        for part in classes.split(","):
            name, colon, own = part.partition(":")
            if not colon or not name.strip() or name.strip() in listed:
                raise UsageError(
                    "classes are not names with domains, each name once",
                    f"write them like {argument('classes', 'health:webmd.com+nih.gov,shops:ebay.com')}",
                )
            listed[name.strip()] = own.split("+")
    found: dict[str, str] = {}
    for label, of_class in listed.items():
        for domain in parse_domains(list(of_class)):
            if found.setdefault(domain, label) != label:
                raise UsageError(f"the domain '{domain}' is in two classes", "leave it in one of them")
    return found


def _host_label(host: str, known: Mapping[str, str] | None) -> str | None:
    bare = host.rstrip(".").removeprefix("www.")
    if known is None:
        return bare or None
    parts = bare.split(".")
    return next((known[end] for at in range(len(parts)) if (end := ".".join(parts[at:])) in known), None)


def _first_of_each(table: pa.Table) -> pa.Table:
    """The first row of each query, of a table in order of query."""
    query = table["query"].combine_chunks()
    if len(query) == 0:
        return table
    changes = pc.not_equal(query[1:], query[:-1])
    return table.filter(pa.concat_arrays([pa.array([True]), changes]))


@dataclass(frozen=True, kw_only=True)
class QueryClassification(Measure):
    """query-classification: the class of each query by the release, beside that by the original."""

    name: ClassVar[str] = "query-classification"
    help: ClassVar[str] = (
        "share of the queries that the release puts in a class which the log puts in the same"
    )
    unit: ClassVar[str] = "share"
    direction: ClassVar[str] = HIGHER
    parts: ClassVar[dict[str, Stated]] = {
        "answered": Stated(
            "share",
            HIGHER,
            "share of the published queries with a class in the log that also have one in the release",
        ),
        "released": Stated("queries", NEITHER, "queries that the release puts in a class"),
    }
    table: ClassVar[str | None] = "clicks"

    classes: str | None = param(
        "classes of domains for query-classification, like health:webmd.com+nih.gov,shops:ebay.com; every domain is a "
        "class of its own if left out",
        default=None,
    )

    def figures(self, original: Original, release: Released) -> dict[str, float | None]:
        ours = original.compute_once(
            ("classes", self.classes), lambda: self._query_labels(original.graph("clicks"))
        )
        if not ours:
            raise CannotBeMet(
                "no query of the log has a class",
                f"name domains that are clicked in it, with {argument('classes')}",
            )
        theirs = self._query_labels(release.graph)
        queries = release.graph.queries
        published = release.graph.table("clicks") if queries is None else queries
        asked = [query for query in published["query"].unique().to_pylist() if query in ours]
        right = sum(ours.get(query) == label for query, label in theirs.items())
        return {
            str(self): right / len(theirs) if theirs else None,
            f"{self}/answered": sum(query in theirs for query in asked) / len(asked) if asked else None,
            f"{self}/released": len(theirs),
        }

    def _query_labels(self, graph: Graph) -> dict[str, str]:
        found = classify_queries(graph, self.classes)
        return dict(zip(found["query"].to_pylist(), found["label"].to_pylist(), strict=True))
