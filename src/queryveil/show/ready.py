"""Ready to publish? What a curator checks before a release leaves the house, at the top of the curator's page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from queryveil.display import svg
from queryveil.display.escaping import cell, escape
from queryveil.release.documents import page
from queryveil.release.review import KINDS, ToRead

DONE, OPEN, FAILED = "done", "to do", "failed"
_MOST = 200
"""Texts to read that the page shows; the file of `release review` has all."""

STYLE = """
.checks { list-style: none; padding: 0; counter-reset: check; }
.checks li { border-left: .35rem solid var(--second); padding: .1rem 0 .1rem .8rem; margin-bottom: .6rem; }
.checks li.done { border-left-color: var(--third); } .checks b { display: inline-block; min-width: 12rem; }
.checks .state { font-weight: 700; text-transform: uppercase; font-size: .8rem; letter-spacing: .04em; }
.gauge { border: 1px solid var(--soft); border-radius: .2rem; height: .8rem; margin: .3rem 0; max-width: 24rem; }
.gauge div { background: var(--third); height: 100%; }
"""


@dataclass(frozen=True)
class Check:
    """One of the five, with its state in a word and a sentence."""

    name: str
    state: str
    says: str
    more: str = ""
    """HTML below it."""


def checks(
    facts: Mapping[str, Any],
    *,
    failed: Sequence[str] | None,
    attacks: int,
    read: Mapping[str, Any] | None,
    listed: int | None,
) -> list[Check]:
    """The five checks: from what publishing noted, what `verify` says, and what was kept since."""
    return [
        _column_check(facts),
        _budget_check(facts.get("budget")),
        _verification_check(failed),
        Check(
            "Attacks run",
            DONE if attacks else OPEN,
            f"{'1 attack is' if attacks == 1 else f'{attacks:,} attacks are'} kept below."
            if attacks
            else "Run one: queryveil attack NAME ... --save.",
        ),
        _read_through(read, listed),
    ]


def _column_check(facts: Mapping[str, Any]) -> Check:
    mapping = facts.get("columns") or {}
    said = ", ".join(f"{name} from column {at}" for name, at in mapping.items())
    said = f"What was read: {said}." if said else "The format fixes the columns."
    if facts.get("columns_confirmed") is True:
        return Check("Columns confirmed", DONE, said)
    return Check("Columns confirmed", OPEN, f"{said} Compare them with the log, and say so in the recipe.")


def _budget_check(budget: Mapping[str, Any] | None) -> Check:
    if not budget:
        return Check(
            "Budget left", OPEN, "No ledger was charged: nothing adds this release to others of the log."
        )
    whole, spent = float(budget["epsilon"]), float(budget["spent"])
    left = max(0.0, 1 - spent / whole) if whole else 0.0
    said = f"{100 * left:.0f} % left: epsilon {spent:.3g} of {whole:.3g} is spent on the log '{budget['source']}'."
    if budget.get("delta"):
        at = float(budget["delta"])
        said += (
            f" The ledger counts at its own delta, {at:.2g}: that may be less than what each release states."
        )
    gauge = (
        f'<div class="gauge" role="img" aria-label="{100 * left:.0f} % of the budget is left">'
        f'<div style="width: {100 * left:.0f}%"></div></div>'
    )
    return Check("Budget left", DONE if left > 0 else OPEN, said, gauge)


def _verification_check(failed: Sequence[str] | None) -> Check:
    if failed is None:
        return Check("Verified", OPEN, "queryveil release verify DIR was not run.")
    if failed:
        return Check("Verified", FAILED, f"The release fails: {', '.join(failed)}.")
    return Check("Verified", DONE, "The release passes all its checks.")


NO_LIST = (
    "The texts to read are found with lists of names and places, which are not installed. To get them, run "
    "pip install 'queryveil[language]', and then queryveil report DIR --curator."
)


def _read_through(read: Mapping[str, Any] | None, listed: int | None) -> Check:
    if listed is None:
        return Check("Read-through done", OPEN, NO_LIST)
    texts = "1 text is" if listed == 1 else f"{listed:,} texts are"
    if read:
        return Check("Read-through done", DONE, f"On {read['day']}; {texts} on the list below.")
    said = f"{texts} to be read below. Then: queryveil release review DIR --done."
    return Check("Read-through done", OPEN, said)


def shown(found: Sequence[Check]) -> str:
    """The checks as a list, each with its state as a word."""
    lines = "".join(
        f'<li class="{"done" if one.state == DONE else "open"}"><b>{escape(one.name)}</b> '
        f'<span class="state">{escape(one.state)}</span><br>{escape(one.says)}{one.more}</li>'
        for one in found
    )
    ready = sum(one.state == DONE for one in found)
    return (
        f"<h3>Ready to publish? {ready} of {len(found)} checks are done</h3><ol class='checks'>{lines}</ol>"
    )


def to_read(found: Sequence[ToRead] | None) -> list[str]:
    """The review list, and how to withhold what should not be published; None if it could not be made."""
    if found is None:
        return [page.paragraphs([NO_LIST])]
    if not found:
        return [
            page.paragraphs(["No published text was found to name a person, a place or a sensitive thing."])
        ]
    kinds = {kind: sum(kind in one.kinds for one in found) for kind in KINDS}
    counted = "; ".join(f"{says}: {kinds[kind]:,}" for kind, says in KINDS.items() if kinds[kind])
    rows = [
        [cell(one.text), escape(", ".join(one.kinds)), f"{one.count:,}" if one.count is not None else ""]
        for one in found[:_MOST]
    ]
    more = f" The first {_MOST} are shown." if len(found) > _MOST else ""
    return [
        page.paragraphs(
            [
                f"To be read by a person: {len(found):,} published texts ({counted}).{more} They were found "
                "by lists of names and words, which miss some and mark some wrongly.",
                "To withhold some, write them into a file, one per line, and run queryveil release withhold DIR "
                "--items FILE --out NEW. Choose from this list alone, and not from the log: then the promise stays "
                "the same.",
            ]
        ),
        page.table(("published text", "why", "count"), rows, numbers=[2], kind="items"),
    ]


def spending(budget: Mapping[str, Any] | None) -> list[str]:
    """Epsilon over time, as the ledger had it when the release was charged."""
    events = (budget or {}).get("events") or []
    total, rows, points = 0.0, [], [(0.0, 0.0)]
    for number, one in enumerate(events, start=1):
        total += float(one["epsilon"] or 0)
        points.append((float(number), total))
        rows.append([escape(one["day"]), escape(one["method"]), f"{float(one['epsilon'] or 0):.3g}"])
    if not rows or budget is None:
        return []
    many = "1 release was" if len(rows) == 1 else f"{len(rows):,} releases were"
    title = f"{many} charged epsilon {total:.3g} in all; the budget is {float(budget['epsilon']):.3g}"
    series = [
        svg.Series("charged, plain sum", points),
        svg.Series("budget", [(0.0, float(budget["epsilon"])), (float(len(rows)), float(budget["epsilon"]))]),
    ]
    drawn = svg.figure("budget", title, series, svg.Axis("releases"), svg.Axis("epsilon"))
    return [drawn, page.table(("day", "method", "epsilon"), rows, numbers=[2])]


def found_by(uniqueness: Mapping[str, float], linked: bool) -> list[str]:
    """Users that few known queries single out, in the log; and in a release that links nothing, none."""
    if not uniqueness:
        return []
    points = [(float(known), float(share)) for known, share in uniqueness.items()]
    series = [svg.Series("in the log", points)]
    note = "The release has rows of users or sessions: queryveil attack linkage measures it."
    if not linked:
        series.append(svg.Series("in the release", [(known, 0.0) for known, _ in points]))
        note = "The release has no row of a user: no two published rows can be put together as one person's."
    first = 100 * points[-1][1]
    title = f"{int(points[-1][0])} known queries single out {first:.0f} % of users in the log"
    return [
        svg.figure(
            "found",
            title,
            series,
            svg.Axis("queries that someone knows of a user", top=points[-1][0]),
            svg.Axis("users who are singled out", top=1.0, percent=True),
            note=note,
        )
    ]
