"""The risk at a glance: what a log holds, and how few of a person's queries single that person out.

Everything here is for the curator: none of it is covered by a guarantee, none of it enters a release.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ibis
from scipy.special import betaincinv

from queryveil.count import item_kinds
from queryveil.display import cards
from queryveil.display.cards import Card, CardTable, counted, percent
from queryveil.errors import UsageError
from queryveil.language import spotting
from queryveil.reading.log import SearchLog, as_log
from queryveil.reading.validation import CLICK_WITHOUT_USER

if TYPE_CHECKING:
    import ibis.expr.types as ir

    from queryveil.display.pictures import Picture

_SAMPLED_USERS = 2_000
_KNOWN = (1, 2, 3)
_SAMPLED_QUERIES = 200_000


@dataclass(frozen=True, kw_only=True, repr=False)
class Inspection:
    """What a log holds."""

    rows: int
    users: int
    empty_queries: int
    rejected: int
    reasons: dict[str, int]
    examples: tuple[dict[str, Any], ...]
    """The first rejected rows: file, line and reason, never their text."""
    span: dict[str, str] | None
    queries: int
    """Searches that the source tells from clicks; query events where it does not."""
    events: int
    """Query events: searches of one user, at one time, for one query are one."""
    clicks: int
    orphan_clicks: int
    clicks_without_user: int
    """Rejected clicks that name neither a user nor a client."""
    items: dict[str, dict[str, float]]
    uniqueness: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    """95 % intervals where a share was measured on sampled users."""
    exposure: dict[str, Any] | None
    """What different queries give away: how many were looked at, and the share with each kind of thing.

    None where the packages that it needs are not installed. A share is None where the log is in a language that the
    lists of names and words do not know: then only mail addresses and numbers are looked for.
    """
    format: str | None
    skipped: dict[str, int]
    """What the source holds besides searches and clicks, by what it is."""
    columns: dict[str, str]
    """Which column of the source was read as what."""
    ignored: tuple[str, ...]
    """Columns of the source that were not read."""
    notes: tuple[str, ...]
    """What must be known of how the log was read, and what looks wrong."""

    def as_dict(self) -> dict[str, Any]:
        return {
            "rows": self.rows,
            "users": self.users,
            "empty_queries": self.empty_queries,
            "rejected": {
                "total": self.rejected,
                "reasons": self.reasons,
                "examples": list(self.examples),
            },
            "span": self.span,
            "queries": self.queries,
            "query_events": self.events,
            "clicks": self.clicks,
            "orphan_clicks": self.orphan_clicks,
            "clicks_without_user": self.clicks_without_user,
            "items": self.items,
            "uniqueness": self.uniqueness,
            "uniqueness_intervals": {known: list(ends) for known, ends in self.intervals.items()},
            "exposure": self.exposure,
            "format": self.format,
            "skipped": self.skipped,
            "columns": self.columns,
            "ignored_columns": list(self.ignored),
            "notes": list(self.notes),
        }

    def _card(self) -> Card:
        found = self.uniqueness
        alone = ", ".join(
            f"{percent(share)} by {counted(int(known), 'query')}" for known, share in found.items()
        )
        alone = alone.replace("querys", "queries")
        facts: list[tuple[str, object]] = [
            ("rows", self.rows),
            ("users", self.users),
            ("rejected rows", self.rejected),
        ]
        if self.clicks_without_user:
            facts.append(("clicks that name no user (rejected)", self.clicks_without_user))
        facts += [("from", self.span["first"]), ("to", self.span["last"])] if self.span else []
        facts.append(("users who are unique", alone or "not measured"))
        kinds = [(name, int(one["distinct"]), one["per_user"]) for name, one in self.items.items()]
        tables = [CardTable("Items", ("kind", "different ones", "per user"), kinds)]
        line = (
            f"{counted(self.rows, 'row')}, {counted(self.users, 'user')}; unique: {alone or 'not measured'}"
        )
        words = (cards.CURATOR_ONLY, *(f"Note: {note}" for note in self.notes))
        return Card("Inspection of a log", line, facts, words, tables)

    def plot(self) -> Picture:
        """The share of users who are unique by 1, 2 and 3 of their queries, as bars."""
        from queryveil.display import pictures

        found = self.uniqueness
        if not found:
            raise UsageError(
                "no user of this log has a query, so nobody is unique by one", "read another log"
            )
        rows = [(f"{known} known", share, percent(share)) for known, share in found.items()]
        most = max(found.values())
        return pictures.bars(
            f"Up to {percent(most)} of users are found by a few of their queries", rows, "share of users"
        )

    __repr__ = cards.repr_of
    _repr_html_ = cards.html_of


def inspect(log: SearchLog | Any) -> Inspection:
    """Count everything, and measure who is unique by 1, 2 or 3 of their queries.

    `log` is a `SearchLog`, or what `read` takes.
    """
    log = as_log(log)
    with log.unchanged():
        return _inspect_log(log)


def _inspect_log(log: SearchLog) -> Inspection:
    figures = _basic_figures(log)
    uniqueness, intervals = _measure_uniqueness(log)
    staged = log.staged
    span = None
    if figures.get("first") is not None:
        span = {"first": figures["first"].isoformat(), "last": figures["last"].isoformat()}
    events = _count_events(log)
    searches, orphans = (staged.searches, staged.orphan_clicks) if staged else (None, None)
    return Inspection(
        rows=figures["rows"],
        users=log.users,
        empty_queries=figures["empty"],
        rejected=staged.rejected if staged else 0,
        reasons=dict(staged.reasons) if staged else {},
        examples=tuple(
            {"file": one.file, "line": one.line, "reason": one.reason}
            for one in (staged.examples if staged else ())
        ),
        span=span,
        queries=events if searches is None else searches,
        events=events,
        clicks=figures["clicks"],
        orphan_clicks=figures["orphans"] if orphans is None else orphans,
        clicks_without_user=staged.reasons.get(CLICK_WITHOUT_USER, 0) if staged else 0,
        items={
            kind.name: _per_kind(log, kind) for kind in item_kinds.KINDS.values() if _is_countable(log, kind)
        },
        uniqueness=uniqueness,
        intervals=intervals,
        exposure=_measure_exposure(log) if spotting.is_installed() else None,
        format=staged.format if staged else None,
        skipped=dict(staged.skipped) if staged else {},
        columns=dict(staged.mapping) if staged else {},
        ignored=staged.ignored if staged else (),
        notes=log.notes,
    )


def _aggregate_row(log: SearchLog, table: ir.Table) -> dict[str, Any]:
    found: dict[str, Any] = log.engine.arrow(table).to_pylist()[0]
    return found


def _basic_figures(log: SearchLog) -> dict[str, Any]:
    rows = log.table
    empty = rows["query"] == ""
    wanted: dict[str, Any] = {"rows": rows.count(), "empty": empty.sum()}
    if "url" in log.columns:
        clicked = rows["url"].notnull()
        wanted |= {"clicks": clicked.sum(), "orphans": (clicked & empty).sum()}
    if "time" in log.columns:
        wanted |= {"first": rows["time"].min(), "last": rows["time"].max()}
    found = _aggregate_row(log, rows.aggregate(**wanted))
    for name in ("rows", "empty", "clicks", "orphans"):
        found[name] = int(found.get(name) or 0)
    return found


def _count_events(log: SearchLog) -> int:
    keys = [column for column in ("user", "time", "query") if column in log.columns]
    events = log.queries.select(*keys)
    if "time" in keys:
        events = events.distinct()
    return int(_aggregate_row(log, events.aggregate(n=events.count()))["n"])


def _is_countable(log: SearchLog, kind: item_kinds.ItemKind) -> bool:
    """Sets are left out: there are many times more of them than rows, and a glance must not take so long."""
    return not kind.is_set and all(column in log.columns for column in _required_columns(kind))


def _required_columns(kind: item_kinds.ItemKind) -> tuple[str, ...]:
    return {"query-pairs": ("time",), "clicks": ("url",)}.get(kind.name, ())


def _per_kind(log: SearchLog, kind: item_kinds.ItemKind) -> dict[str, float]:
    pairs = kind.occurrences(log).select("user", *kind.columns).distinct()
    per_item = pairs.group_by(list(kind.columns)).aggregate(users=pairs.count())
    found = _aggregate_row(
        log,
        per_item.aggregate(
            distinct=per_item.count(), pairs=per_item["users"].sum(), single=(per_item["users"] == 1).sum()
        ),
    )
    distinct, total = int(found["distinct"] or 0), int(found["pairs"] or 0)
    return {
        "distinct": distinct,
        "per_user": round(total / max(1, log.users), 3),
        "one_user": int(found["single"] or 0),
    }


def _measure_uniqueness(log: SearchLog) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    """The share of users whom nobody shares r queries with, the r drawn at random from the user's own."""
    keep = log.engine.keep
    pairs = keep(log.queries.select("user", "query").distinct())
    popularity = keep(pairs.group_by("query").aggregate(users=pairs.count()))
    shares: dict[str, float] = {}
    intervals: dict[str, tuple[float, float]] = {}
    alone = pairs.join(popularity, "query")
    by_user = alone.group_by("user").aggregate(share=(alone["users"] == 1).cast("float64").mean())
    exact = _aggregate_row(log, by_user.aggregate(share=by_user["share"].mean(), users=by_user.count()))
    if not exact["users"]:
        return {str(known): 0.0 for known in _KNOWN}, {}
    shares["1"] = round(float(exact["share"]), 6)
    for known in _KNOWN[1:]:
        unique, sampled = _sample_uniqueness(log, pairs, popularity, known)
        shares[str(known)] = unique / sampled
        intervals[str(known)] = _clopper_pearson(unique, sampled)
    return shares, intervals


def _sample_uniqueness(log: SearchLog, pairs: ir.Table, popularity: ir.Table, known: int) -> tuple[int, int]:
    """Of sampled users, how many are unique by `known` of their queries; and how many were sampled."""
    engine = log.engine
    people = pairs.select("user").distinct()
    people = people.mutate(place=engine.fast_hash(people["user"])).order_by(["place", "user"])
    people = people.limit(_SAMPLED_USERS).select("user")
    theirs = pairs.semi_join(people, "user")
    text = ibis.literal(f"{known} ") + theirs["user"] + ibis.literal("\x1f") + theirs["query"]
    window = ibis.window(group_by="user", order_by=[engine.fast_hash(text), theirs["query"]])
    ranked = theirs.mutate(place=ibis.row_number().over(window))
    drawn = engine.keep(ranked.filter(ranked["place"] < known).select("user", "query"))
    rare = drawn.join(popularity, "query")
    sizes = engine.keep(rare.group_by("user").aggregate(drawn=rare.count(), rarest=rare["users"].min()))
    sampled = int(_aggregate_row(log, sizes.aggregate(n=sizes.count()))["n"])
    # Someone with a query of their own is unique; the others are looked up among everybody's queries.
    open_cases = drawn.semi_join(sizes.filter(sizes["rarest"] > 1), "user").rename(known_user="user")
    others = open_cases.join(pairs, "query")
    others = others.filter(others["user"] != others["known_user"])
    shared = others.group_by(["known_user", "user"]).aggregate(shared=others.count())
    most = shared.group_by("known_user").aggregate(shared=shared["shared"].max())
    matched = most.join(sizes, most["known_user"] == sizes["user"])
    matched = matched.filter(matched["shared"] == matched["drawn"])
    hidden = int(_aggregate_row(log, matched.aggregate(n=matched.count()))["n"])
    return sampled - hidden, sampled


def _measure_exposure(log: SearchLog) -> dict[str, Any]:
    """What the log's different queries give away, or 200,000 of them, drawn by a hash."""
    rows = log.queries.select("query").distinct()
    drawn = rows.mutate(place=log.engine.fast_hash(rows["query"])).order_by(["place", "query"])
    texts = log.engine.arrow(drawn.limit(_SAMPLED_QUERIES).select("query"))["query"].combine_chunks()
    spotter = spotting.Spotter()
    masks = spotter.detect_entities(texts.cast("string")).entity_masks()
    known = spotting.words_known(spotter, texts.cast("string"))
    readable = spotting.is_readable(known)
    shares = {
        kind.name.lower(): round(float(((masks >> kind) & 1).mean()), 6) if len(texts) else 0.0
        for kind in spotting.Kind
        if readable or kind is spotting.Kind.IDENTIFIER
    }
    return {
        "queries": len(texts),
        "words_known": None if known is None else round(known, 6),
        "looked_for": list(shares),
        "shares": {kind.name.lower(): shares.get(kind.name.lower()) for kind in spotting.Kind},
    }


def _clopper_pearson(hits: int, trials: int, outside: float = 0.05) -> tuple[float, float]:
    """The exact interval of a share; scipy.stats has it too, but takes a second to import."""
    low = betaincinv(hits, trials - hits + 1, outside / 2) if hits else 0.0
    high = betaincinv(hits + 1, trials - hits, 1 - outside / 2) if hits < trials else 1.0
    return round(float(low), 4), round(float(high), 4)
