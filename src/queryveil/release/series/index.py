"""The index of a series: series.json and index.html, made from what its releases publish and from nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from queryveil.catalog import Catalog, Sentence, count, from_data, numbers, open_catalog, term
from queryveil.display import svg
from queryveil.display.escaping import cell, escape, shown
from queryveil.files import folder
from queryveil.release.about import stated
from queryveil.release.documents import citation, page
from queryveil.release.documents.page import Section
from queryveil.release.documents.parameter_values import plain
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
        "manifest_sha256": folder.file_digest(series / period.name / folder.MANIFEST),
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


def html(stored: Mapping[str, Any]) -> str:
    """index.html: the guarantee first, then the figures, then every release; in the language of the series."""
    content, catalog = from_data(stored), open_catalog(language=stored["language"])
    calendar, periods = content["calendar"], content["periods"]
    period, planned = calendar["period"], count(calendar["periods"], f"{calendar['period']}s")
    said = {
        "periods": planned,
        "first": calendar["from"],
        "last": calendar["to"],
        "method": content["method"],
        "software": content["software"]["name"],
        "version": content["software"]["version"],
    }
    facts = Sentence("series.facts", **said)
    if len(periods) != calendar["periods"]:
        facts = Sentence("series.facts.incomplete", made=len(periods), **said)
    weak = " warn" if content["guarantee"]["unit"] != "user" else ""
    head = [
        f'<p class="soft">{escape(catalog.text(facts))}</p>',
        f'<div class="card{weak}">{page.paragraphs(content["guarantee"]["sentences"], catalog)}</div>',
    ]
    rows = Sentence("series.made.rows", period=Sentence(f"period.{period}"))
    made = page.paragraphs([rows, Sentence("series.made.figures")], catalog)
    bodies = {
        "time": [_sizes(content, catalog), _curves(content, catalog)],
        "items": [_items(content, catalog)],
        "releases": [_releases(content, catalog)],
        "publisher": _publisher(content, catalog),
        "parameters": [_parameters(content, catalog)],
        "made": [made],
    }
    return page.document(
        kind=Sentence("series.kind"),
        title=stated(content, "title")
        or Sentence("series.title", name=content["name"], what=content["what"]),
        head=head,
        sections=[Section(name, Sentence(f"series.{name}"), body) for name, body in bodies.items()],
        foot=catalog.say("series.foot"),
        catalog=catalog,
    )


def _sizes(content: Mapping[str, Any], catalog: Catalog) -> str:
    periods = content["periods"]
    if not periods:
        return page.paragraphs([Sentence("series.nothing")], catalog)
    series = [
        svg.Series(
            catalog.say("series.rows-of", {"table": name}),
            [(place + 1, one["released"][name]) for place, one in enumerate(periods)],
        )
        for name in periods[0]["released"]
    ]
    sizes = [value for one in series for _, value in one.points]
    period, low, high = _period(content), int(min(sizes)), int(max(sizes))
    title = (
        Sentence("series.sizes.equal", period=period, low=low)
        if low == high
        else Sentence("series.sizes", period=period, low=low, high=high)
    )
    rows = svg.Axis(catalog.say("series.published-rows"), wording=page.wording(catalog))
    return svg.figure("sizes", catalog.text(title), series, _axis(content, catalog), rows)


def _period(content: Mapping[str, Any]) -> Sentence:
    return Sentence(f"period.{content['calendar']['period']}")


def _curves(content: Mapping[str, Any], catalog: Catalog) -> str:
    over = content["over_time"]
    if not over or not over["items"]:
        return ""
    places = {one["period"]: place + 1 for place, one in enumerate(content["periods"])}
    series = [
        svg.Series(
            shown(one["item"], 24), [(places[name], max(0, number)) for name, number in one["counts"].items()]
        )
        for one in over["items"][:_DRAWN]
    ]
    top = over["items"][0]
    title = Sentence(
        "series.often",
        item=shown(top["item"], 40),
        published=len(top["counts"]),
        periods=count(len(places), f"{content['calendar']['period']}s"),
    )
    note = Sentence("series.often.note", period=_period(content))
    counts = Sentence("series.as-published", counts=term("unit-of-count", over["counts"]))
    return svg.figure(
        "items-over-time",
        catalog.text(title),
        series,
        _axis(content, catalog),
        svg.Axis(catalog.text(counts), wording=page.wording(catalog)),
        note=catalog.text(note),
    )


def _axis(content: Mapping[str, Any], catalog: Catalog) -> svg.Axis:
    first = content["periods"][0]["period"]
    return svg.Axis(
        catalog.say("series.axis", {"period": _period(content), "first": first}),
        top=max(2, content["calendar"]["periods"]),
        wording=page.wording(catalog),
    )


def _items(content: Mapping[str, Any], catalog: Catalog) -> str:
    over = content["over_time"]
    if not over or not over["items"]:
        return ""
    rows = [
        [
            cell(one["item"]),
            numbers.count(len(one["counts"]), catalog.style),
            numbers.count(min(one["counts"].values()), catalog.style),
            numbers.count(max(one["counts"].values()), catalog.style),
        ]
        for one in over["items"]
    ]
    heading = (
        term("noun", over["noun"]),
        _period(content),
        Sentence("series.smallest"),
        Sentence("series.largest"),
    )
    return page.table(heading, rows, numbers=(1, 2, 3), kind="items", catalog=catalog)


def _releases(content: Mapping[str, Any], catalog: Catalog) -> str:
    rows = [
        [
            f'<a href="{escape(one["folder"])}/{folder.REPORT}">{escape(one["period"])}</a>',
            ", ".join(
                f"{numbers.count(rows, catalog.style)} {escape(name)}"
                for name, rows in one["released"].items()
            ),
            f'<code class="digest">{escape(one["manifest_sha256"][:16])}</code>',
        ]
        for one in content["periods"]
    ]
    heading = (_period(content), Sentence("series.published-rows"), Sentence("series.manifest"))
    return page.table(heading, rows, catalog=catalog) if rows else ""


def _publisher(content: Mapping[str, Any], catalog: Catalog) -> list[str]:
    own = stated(content, "citation")
    stated_by = [*citation.about(content), *([("citation", own)] if own else [])]
    said = [(Sentence(f"about.{name}"), value) for name, value in stated_by]
    return page.publisher(said, catalog) or [page.paragraphs([Sentence("series.publisher.none")], catalog)]


def _parameters(content: Mapping[str, Any], catalog: Catalog) -> str:
    return page.keyed(
        [(name, escape(catalog.text(plain(value)))) for name, value in content["parameters"].items()]
    )
