"""The curator's report: what the raw log says about a release. For the private folder, and never for publication.

It is made from values that were measured elsewhere. It shows queries of the log, so all of them are escaped and no
script runs on the page.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from queryveil.display import squares, svg
from queryveil.display.escaping import cell, escape
from queryveil.privacy.guarantee import Guarantee
from queryveil.release.documents import page, parameter_values, sentences
from queryveil.release.documents.page import Section
from queryveil.release.review import ToRead
from queryveil.show import ready

Counts = npt.NDArray[np.int64]

WARNING = (
    "For the curator alone. This page is made from the raw log, and nothing on it is protected. Do not publish it, "
    "pass it on or quote from it."
)


@dataclass(frozen=True)
class Kind:
    """One kind of item, in the log and in the release; items go from the most frequent down."""

    name: str
    unit: str
    """What the count of an item is a number of."""
    original: Counts
    released: Counts
    found: npt.NDArray[np.bool_]
    """For each of the log's items whether the release has it."""
    held: Counts
    """For each of the log's items its count in the release, 0 if it is not there."""
    covered: npt.NDArray[np.bool_]
    """The same as `found`, with the log's items ordered by users: what coverage is computed from."""
    top: Sequence[tuple[Sequence[str], int, int | None]] = ()
    """The log's most frequent items: texts, true count, released count or None."""

    @property
    def one(self) -> str:
        """The name of a single item."""
        return self.name[:-3] + "y" if self.name.endswith("ies") else self.name.removesuffix("s")


@dataclass(frozen=True)
class Figured:
    """A measure's figure, as it is shown."""

    name: str
    value: str
    unit: str
    direction: str
    help: str


@dataclass(frozen=True, kw_only=True)
class Curated:
    """Everything that the page shows."""

    name: str
    """Of the release folder."""
    manifest: Mapping[str, Any]
    facts: Mapping[str, Any]
    """Rows, users, rejected rows and reasons, seconds, warnings."""
    kinds: Sequence[Kind] = ()
    figures: Sequence[Figured] = ()
    remarks: Sequence[str] = ()
    """What one has to know beside the figures."""
    attacks: Sequence[Mapping[str, Any]] = ()
    tables: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)
    """Further small tables of the private folder."""
    without_log: bool = False
    ready: Sequence[ready.Check] = ()
    """The five checks before a release is published."""
    to_read: Sequence[ToRead] | None = ()
    uniqueness: Mapping[str, float] = field(default_factory=dict)
    """Share of users whom so many known queries single out, in the log."""


def write(curated: Curated) -> str:
    """The page as text."""
    guarantee = Guarantee.from_dict(curated.manifest["guarantee"])
    head = [
        f'<div class="card warn"><p>{escape(WARNING)}</p></div>',
        ready.shown(curated.ready) if curated.ready else "",
        page.keyed(
            [
                ("Release", cell(curated.name)),
                ("Method", escape(curated.manifest["method"])),
                ("Guarantee", escape(guarantee.headline)),
                *_reading_facts(curated.facts),
            ]
        ),
    ]
    if curated.without_log:
        head.append(
            page.paragraphs(
                [
                    "Coverage, released share and the log's counts are missing here. They need the log (--log LOG)."
                ]
            )
        )
    sections = [
        Section(
            "risk", "Who can be found", ready.found_by(curated.uniqueness, _links_users(curated.manifest))
        ),
        *(_kind_section(one, place) for place, one in enumerate(curated.kinds)),
        Section("utility", "What it is still good for", _utility_section(curated)),
        Section("review", "To be read before publishing", ready.to_read(curated.to_read)),
        Section("attacks", "Attacks", _attack_section(curated)),
        Section("budget", "Budget over time", ready.spending(curated.facts.get("budget"))),
        Section("private", "What else the private folder holds", _render_tables(curated.tables)),
        Section("warnings", "Warnings", [page.listed(list(curated.facts.get("warnings", ())))]),
        Section("rejected", "Rejected rows", _rejected_rows(curated.facts)),
        Section("time", "Time", _timing_rows(curated.facts)),
    ]
    software = curated.manifest["software"]
    return page.document(
        kind="Curator's report, not for publication",
        title=sentences.title(curated.manifest),
        head=head,
        sections=sections,
        foot=f"Made with {escape(software['name'])} {escape(software['version'])}. {escape(WARNING)}",
        style=ready.STYLE + squares.STYLE,
    )


def _links_users(manifest: Mapping[str, Any]) -> bool:
    """Whether rows of one person can be recognised as such: in all tables but those that count something."""
    return any(
        "count" not in [one["name"] for one in table["columns"]] for table in manifest["tables"].values()
    )


def _reading_facts(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    names = {"rows": "Rows read", "users": "Users", "rejected": "Rows rejected"}
    return [(said, f"{facts[name]:,}") for name, said in names.items() if name in facts]


def _rejected_rows(facts: Mapping[str, Any]) -> list[str]:
    reasons = facts.get("reasons")
    if reasons is None:
        return []
    if not reasons:
        return [page.paragraphs(["No row was rejected."])]
    rows = [
        [escape(reason), f"{number:,}"] for reason, number in sorted(reasons.items(), key=lambda one: -one[1])
    ]
    return [page.table(("reason", "rows"), rows, numbers=[1])]


# -- one kind of item ----------------------------------------------------------------------------------------


def _kind_section(kind: Kind, place: int) -> Section:
    body: list[str] = []
    if len(kind.original):
        body = [
            _first_hundred(kind, f"k{place}-first"),
            _coverage_text(kind, f"k{place}-coverage"),
            page.paragraphs([_published_share(kind)]),
            _distribution_charts(kind, f"k{place}-counts"),
            *_top_items(kind),
        ]
    return Section(f"kind-{place}", f"{kind.name.capitalize()} of the log and of the release", body)


def _first_hundred(kind: Kind, name: str) -> str:
    there = [bool(one) for one in kind.covered[:100]]
    title = f"Of the log's {len(there):,} most frequent {kind.name}, {sum(there):,} are in the release"
    note = "The most frequent one is at the top left. Full squares are published; empty ones with a stroke are missing."
    return squares.figure(name, title, there, note=note)


def _coverage_text(kind: Kind, name: str) -> str:
    held = np.cumsum(kind.covered)
    places = np.unique(np.geomspace(1, len(held), 40).round().astype(int))
    points = [(int(j), float(held[j - 1] / j)) for j in places]
    title = f"Further down the list: {int(held[-1]):,} of all {len(held):,} {kind.name} are in the release"
    if len(points) < 2:
        return page.paragraphs([f"{title}."])
    return svg.figure(
        name,
        title,
        [svg.Series("coverage", points)],
        svg.Axis(f"j: the most frequent {kind.name} of the log", log=True),
        svg.Axis("coverage: share in the release", top=1.0, percent=True),
        note="The horizontal axis is logarithmic.",
    )


def _published_share(kind: Kind) -> str:
    """The share of the log's items and of their true counts that is published; released counts are not used."""
    distinct, total = len(kind.original), int(kind.original.sum())
    found, covered = int(kind.found.sum()), int(kind.original[kind.found].sum())
    only = len(kind.released) - found
    share = (
        f"Released share: {found:,} of the log's {distinct:,} different {kind.name} "
        f"({_format_percent(found, distinct)}). They make up {covered:,} of its {total:,} {_sum_caveat(kind)} "
        f"({_format_percent(covered, total)})."
    )
    return f"{share} {only:,} others in the release are not in the log." if only else share


def _sum_caveat(kind: Kind) -> str:
    """What counts of different items add up to: a user with three queries is in three of them."""
    owner = {"users": "user", "sessions": "session"}.get(kind.unit)
    return f"pairs of {owner} and {kind.one}" if owner else kind.unit


def _format_percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.3g} %" if whole else "none"


def _distribution_charts(kind: Kind, name: str) -> str:
    series = [
        svg.Series("in the log", svg.at_least(kind.original)),
        svg.Series("in the release", svg.at_least(kind.released)),
    ]
    least = int(kind.released[kind.released > 0].min()) if (kind.released > 0).any() else None
    above = int((kind.original >= least).sum()) if least is not None else 0
    unit = kind.unit if least != 1 else kind.unit.removesuffix("s")
    title = (
        f"The smallest count in the release is {least:,} {unit}; {above:,} of the log's {kind.name} have as many or "
        "more"
        if least is not None
        else f"The release has no {kind.name} with a positive count"
    )
    if sum(len(one.points) for one in series) < 2:
        return ""
    return svg.figure(
        name,
        title,
        series,
        svg.Axis(kind.unit, log=True),
        svg.Axis(f"{kind.name} with as many {kind.unit} or more", log=True),
        note=f"Both axes are logarithmic. Released counts cover only what the method keeps of each user, with noise if "
        f"it adds any. {_count_changes(kind)}",
    )


def _count_changes(kind: Kind) -> str:
    """How counts of the same items differ. Some may grow: where a query is taken out, others become neighbours."""
    ours, theirs = kind.original[kind.found], kind.held[kind.found]
    if not len(ours):
        return f"No {kind.one} is in both."
    lower, higher = int((theirs < ours).sum()), int((theirs > ours).sum())
    return (
        f"Of {len(ours):,} {kind.name} in both, {lower:,} have a lower count in the release, "
        f"{len(ours) - lower - higher:,} the same and {higher:,} a higher one."
    )


def _top_items(kind: Kind) -> list[str]:
    if not kind.top:
        return []
    rows = [
        [
            "<br>".join(cell(text) for text in texts),
            f"{count:,}",
            "missing" if released is None else f"{released:,}",
        ]
        for texts, count, released in kind.top
    ]
    # The unit stands above: on a phone, no long word fits into the heading of a column of numbers.
    heading = (kind.name, "in the log", "in the release")
    return [
        f"<h3>The log's {len(rows)} most frequent {escape(kind.name)}, in {escape(kind.unit)}</h3>",
        page.table(heading, rows, numbers=[1, 2], kind="items"),
    ]


# -- measures and attacks ------------------------------------------------------------------------------------


def _utility_section(curated: Curated) -> list[str]:
    rows = [
        [
            f"<code>{escape(one.name)}</code>",
            escape(one.value),
            escape(one.unit),
            escape(one.direction if one.direction != "neither" else ""),
            escape(one.help),
        ]
        for one in curated.figures
    ]
    made = (
        [page.table(("measure", "value", "unit", "direction", "meaning"), rows, numbers=[1], kind="measures")]
        if rows
        else []
    )
    return [*made, page.listed(list(curated.remarks))]


def _attack_section(curated: Curated) -> list[str]:
    if not curated.attacks:
        said = "No attack is kept for this release. Run one with queryveil attack NAME ... --save."
        return [page.paragraphs([said])]
    body: list[str] = []
    for one in curated.attacks:
        found = one["result"]
        parameters = ", ".join(
            f"{name} {parameter_values.plain(value)}" for name, value in one.get("parameters", {}).items()
        )
        body.append(f"<h3>{escape(one['attack'])}</h3>")
        with_them = f"; {parameters}" if parameters else ""
        body.append(f'<p class="soft">Run on {escape(one["run"])}{escape(with_them)}.</p>')
        body.append(
            page.keyed(
                [
                    *([("Of", cell(found["of"]))] if "of" in found else []),
                    ("Success", _share_of(found["success"])),
                    ("Control", _share_of(found["control"])),
                    ("Advantage", f"{_share_of(found['advantage'])} ({_format_interval(found['interval'])})"),
                ]
            )
        )
        for title, rows in (("", one.get("table", ())), *one.get("more", ())):
            if rows:
                body.append(f"<p><b>{escape(title)}</b></p>" if title else "")
                numbers = range(1, len(rows[0]))
                body.append(
                    page.table(rows[0], [[cell(text) for text in row] for row in rows[1:]], numbers=numbers)
                )
        body.append(
            page.paragraphs(
                [f"{label + ': ' if label else ''}{said}" for label, said in one.get("words", ())]
            )
        )
    return body


def _share_of(value: Any) -> str:
    return escape(f"{100 * value:.3g} %" if isinstance(value, int | float) else value)


def _format_interval(ends: Sequence[float]) -> str:
    low, high = ends
    return f"{100 * low:.3g} to {100 * high:.3g} %"


def _render_tables(tables: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    body: list[str] = []
    for name, rows in tables.items():
        heading = list(rows[0]) if rows else []
        shown = [[cell(_format_number(row[column])) for column in heading] for row in rows]
        numbers = [
            at for at, column in enumerate(heading) if rows and isinstance(rows[0][column], int | float)
        ]
        body += [f"<h3>{escape(name)}</h3>", page.table(heading, shown, numbers=numbers)] if rows else []
    return body


def _format_number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or (math.isfinite(value) and value == int(value)):
        return f"{int(value):,}"
    # Four digits, and never an exponent where a count has more of them.
    return f"{value:,.1f}" if 1000 <= abs(value) < 1e15 else f"{value:.4g}"


def _timing_rows(facts: Mapping[str, Any]) -> list[str]:
    rows = [[escape(stage), f"{seconds:,.2f}"] for stage, seconds in facts.get("seconds", {}).items()]
    return [page.table(("stage", "seconds"), rows, numbers=[1])] if rows else []
