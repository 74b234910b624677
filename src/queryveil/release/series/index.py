"""The index of a series: series.json and index.html, made from what its releases publish and from nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from queryveil.display import svg
from queryveil.display.escaping import cell, escape, shown
from queryveil.files import folder
from queryveil.release.about import stated
from queryveil.release.documents import citation, page
from queryveil.release.documents.page import Section
from queryveil.release.publish import load
from queryveil.release.series.calendar import Calendar, Period
from queryveil.release.series.promise import Promise

FORMAT = "queryveil-series"
FORMAT_VERSION = 1
SERIES = folder.SERIES
PAGE = "index.html"
_TOP, _DRAWN = 20, 3


def is_series(path: Path) -> bool:
    """Whether a folder is that of a series."""
    return folder.file_inside(path, SERIES) is not None and not (path / folder.MANIFEST).exists()


def entry(series: Path, period: Period) -> dict[str, Any]:
    """What the index says of one release: its digest, its rows, and the sums of its published counts."""
    found = load(series / period.name)
    totals = {
        name: int(pc.sum(table["count"]).as_py() or 0)
        for name, table in found.tables.items()
        if "count" in table.column_names
    }
    return {
        "period": period.name,
        "from": period.first.isoformat(),
        "before": period.after.isoformat(),
        "folder": period.name,
        "manifest_sha256": folder.digest(series / period.name / folder.MANIFEST),
        "released": found.released,
        "totals": totals,
    }


def items_over_time(series: Path, periods: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The items that were published most often, with the published count of each period; None if nothing is counted."""
    often: Counter[str] = Counter()
    sums: Counter[str] = Counter()
    counts: dict[str, dict[str, int]] = {}
    described: dict[str, str] = {}
    for one in periods:
        release = load(series / str(one["folder"]))
        name = next((name for name, table in release.tables.items() if "count" in table.column_names), None)
        if name is None:
            return None
        declared, table = release.plan.table(name), release.tables[name]
        described = {"table": name, "noun": declared.noun, "counts": declared.counts or "counts"}
        keys = [column for column in table.column_names if column not in ("count", "deviation")]
        for row in table.select([*keys, "count"]).to_pylist():
            item = " → ".join(str(row[key]) for key in keys)
            often[item] += 1
            sums[item] += row["count"]
            counts.setdefault(item, {})[str(one["period"])] = row["count"]
    chosen = sorted(often, key=lambda item: (-often[item], -sums[item], item))[:_TOP]
    return {**described, "items": [{"item": item, "counts": counts[item]} for item in chosen]}


def document(series: Path, head: Mapping[str, Any], calendar: Calendar, promised: Promise) -> dict[str, Any]:
    """series.json, of the releases that are there: a series that was cut short has fewer."""
    planned = calendar.periods()
    made = [entry(series, one) for one in planned if (series / one.name / folder.MANIFEST).is_file()]
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        **head,
        "calendar": {
            "period": calendar.period,
            "from": calendar.first.isoformat(),
            "to": calendar.last.isoformat(),
            "time_zone": "UTC",
            "periods": len(planned),
        },
        "guarantee": promised.as_dict(),
        "complete": len(made) == len(planned),
        "periods": made,
        "over_time": items_over_time(series, made) if made else None,
    }


# -- the page ------------------------------------------------------------------------------------------------


def html(content: Mapping[str, Any]) -> str:
    """index.html: the guarantee first, then the figures, then every release."""
    calendar, periods = content["calendar"], content["periods"]
    period, planned = calendar["period"], calendar["periods"]
    first, *more = content["guarantee"]["sentences"]
    weak = " warn" if content["guarantee"]["unit"] != "user" else ""
    there = (
        f"{len(periods):,} of {planned:,} {period}s" if len(periods) != planned else f"{planned:,} {period}s"
    )
    head = [
        f'<p class="soft">{escape(there)} from {escape(calendar["from"])} to {escape(calendar["to"])} (UTC), '
        f"method {escape(content['method'])}, made with queryveil {escape(content['software']['version'])}.</p>",
        f'<div class="card{weak}">{page.paragraphs([first, *more])}</div>',
    ]
    sections = [
        Section("time", "Over time", [_sizes(content), _curves(content)]),
        Section("items", "Published most often", [_items(content)]),
        Section("releases", "Releases", [_releases(content)]),
        Section("publisher", "What the publisher says", _publisher(content)),
        Section("parameters", "Parameters", [_parameters(content)]),
        Section(
            "made",
            "How the series is made",
            [
                page.paragraphs(
                    [
                        f"A release holds the rows of one {period}, from midnight to midnight UTC. Sessions and pairs "
                        f"end where the {period} ends. The calendar was fixed without looking at the log, and "
                        f"{period}s in which nobody searched are published too.",
                        "Figures on this page are computed from the published tables alone.",
                    ]
                )
            ],
        ),
    ]
    foot = "This page shows nothing that is not in the releases. It runs no script and loads nothing."
    return page.document(
        kind="Index of a series of releases",
        title=stated(content, "title") or f"{content['name']}: {content['what']}",
        head=head,
        sections=sections,
        foot=foot,
    )


def _sizes(content: Mapping[str, Any]) -> str:
    periods = content["periods"]
    if not periods:
        return page.paragraphs(["Nothing has been published yet."])
    period = content["calendar"]["period"]
    series = [
        svg.Series(
            f"rows of {name}",
            [(place + 1, one["released"][name]) for place, one in enumerate(periods)],
        )
        for name in periods[0]["released"]
    ]
    sizes = [value for one in series for _, value in one.points]
    low, high = int(min(sizes)), int(max(sizes))
    title = (
        f"Each {period} has {low:,} rows"
        if low == high
        else f"A {period} has {low:,} to {high:,} published rows"
    )
    x = _axis(content)
    return svg.figure("sizes", title, series, x, svg.Axis("published rows"))


def _curves(content: Mapping[str, Any]) -> str:
    over = content["over_time"]
    if not over or not over["items"]:
        return ""
    period = content["calendar"]["period"]
    places = {one["period"]: place + 1 for place, one in enumerate(content["periods"])}
    series = [
        svg.Series(
            shown(one["item"], 24), [(places[name], max(0, count)) for name, count in one["counts"].items()]
        )
        for one in over["items"][:_DRAWN]
    ]
    top = over["items"][0]
    title = f"“{shown(top['item'], 40)}” was published in {len(top['counts']):,} of {len(places):,} {period}s"
    x = _axis(content)
    note = (
        f"Published counts have noise. A {period} without a mark is one in which the item was not published."
    )
    return svg.figure(
        "items-over-time", title, series, x, svg.Axis(f"{over['counts']}, as published"), note=note
    )


def _axis(content: Mapping[str, Any]) -> svg.Axis:
    calendar, first = content["calendar"], content["periods"][0]["period"]
    return svg.Axis(f"{calendar['period']}, counted from {first}", top=max(2, calendar["periods"]))


def _items(content: Mapping[str, Any]) -> str:
    over, period = content["over_time"], content["calendar"]["period"]
    if not over or not over["items"]:
        return ""
    rows = [
        [
            cell(one["item"]),
            f"{len(one['counts']):,}",
            f"{min(one['counts'].values()):,}",
            f"{max(one['counts'].values()):,}",
        ]
        for one in over["items"]
    ]
    heading = (over["noun"], f"{period}s", "smallest count", "largest count")
    return page.table(heading, rows, numbers=(1, 2, 3), kind="items")


def _releases(content: Mapping[str, Any]) -> str:
    rows = [
        [
            f'<a href="{escape(one["folder"])}/{folder.REPORT}">{escape(one["period"])}</a>',
            ", ".join(f"{rows:,} {escape(name)}" for name, rows in one["released"].items()),
            f'<code class="digest">{escape(one["manifest_sha256"][:16])}</code>',
        ]
        for one in content["periods"]
    ]
    return page.table((content["calendar"]["period"], "published rows", "manifest"), rows) if rows else ""


def _publisher(content: Mapping[str, Any]) -> list[str]:
    own = stated(content, "citation")
    said = [*citation.about(content), *([("citation", own)] if own else [])]
    return page.publisher(said) or [page.paragraphs(["Nothing."])]


def _parameters(content: Mapping[str, Any]) -> str:
    return page.keyed([(name, escape(value)) for name, value in content["parameters"].items()])
