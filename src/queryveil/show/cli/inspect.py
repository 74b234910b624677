"""`queryveil inspect LOG`: the risk at a glance."""

from __future__ import annotations

import inspect as signatures
import shlex
from collections.abc import Sequence
from typing import Any

import typer

import queryveil as qv
from queryveil.show.cli import console, options


def add_to(app: typer.Typer) -> None:
    made = [
        signatures.Parameter("log", signatures.Parameter.KEYWORD_ONLY, annotation=options.Logs),
        signatures.Parameter(
            "as_json", signatures.Parameter.KEYWORD_ONLY, annotation=options.Json, default=False
        ),
        *options.reading_parameters(),
    ]
    app.command("inspect")(options.with_signature(inspect, made))


def inspect(**given: Any) -> None:
    """Count what a log holds and how few queries single a person out. Nothing is published."""
    name, others = options.called(given["log"])
    reading = [*others, *options.reading_words(given)]
    how = options.reading(given)
    with console.progress("reading") as progress:
        log = qv.read(given["log"], progress=progress, **how)
    with console.waiting("counting"):
        found, proposal = qv.inspect(log), qv.propose(log)
    if given["as_json"]:
        console.as_json(found.as_dict() | {"proposal": proposal.as_dict(name, reading)})
    else:
        show(found, proposal, name, reading)


def show(found: qv.Inspection, proposal: qv.Proposal, log: str, reading: Sequence[str] = ()) -> None:
    if found.columns:
        said = ", ".join(f"{name} <- {place}" for name, place in found.columns.items())
        ignored = f"; ignored: {', '.join(found.ignored)}" if found.ignored else ""
        console.labelled("columns", said + ignored)
    rows = f"{_format_count(found.rows, 'row')}, {_format_count(found.users, 'user')}, "
    rows += f"{_format_count(found.empty_queries, 'row')} with an empty query"
    console.labelled(
        "read", f"{rows}, {found.rejected:,} rejected" + (f" ({found.format})" if found.format else "")
    )
    for reason, count in found.reasons.items():
        console.labelled("", f"{count:,} rejected: {reason}")
    for one in found.examples[:5]:
        console.labelled("", f"  {one['file']} line {one['line']}: {one['reason']}")
    for what, count in found.skipped.items():
        console.labelled("", f"{what} passed over: {count:,}")
    for note in found.notes:
        console.labelled("note", note)
    if found.span:
        console.labelled("span", f"{found.span['first']} to {found.span['last']} (UTC)")
    _show_events(found)
    console.line()
    table = [("items", "distinct", "per user", "from one user only")]
    for name, figures in found.items.items():
        share = figures["one_user"] / max(1, figures["distinct"])
        table.append(
            (name, f"{figures['distinct']:,}", f"{figures['per_user']:,.1f}", f"{100 * share:.0f} %")
        )
    console.table(table, right=(1, 2, 3))
    console.line()
    console.labelled("Risk", "users who are identified by knowing N of their queries:")
    for known, share in found.uniqueness.items():
        interval = found.intervals.get(known)
        margin = ""
        if interval:
            low, high = interval
            margin = f"   (95 % interval {100 * low:.0f} % to {100 * high:.0f} %, sampled)"
        console.labelled("", f"N = {known}: {100 * share:.0f} %{margin}")
    if found.exposure is not None:
        console.labelled("Exposure", _exposure_text(found.exposure))
    console.line()
    _next_command(proposal, log, reading)


def _show_events(found: qv.Inspection) -> None:
    """Show how many searches and clicks there are, and which clicks lack a search or a user."""
    queries = "1 query" if found.queries == 1 else f"{found.queries:,} queries"
    console.labelled("events", f"{queries}, {_format_count(found.clicks, 'click')}")
    if found.events != found.queries:
        console.labelled(
            "", f"{found.events:,} query events: one user, time and query is one; empty ones are none"
        )
    if found.orphan_clicks:
        console.labelled("", f"clicks without a search: {found.orphan_clicks:,}")
    if without := found.clicks_without_user:
        clicks = found.clicks + without
        console.labelled(
            "",
            f"clicks that name no user: {without:,} of {clicks:,} ({100 * without / clicks:.0f}%). They are rejected, "
            "so no release counts them",
        )


def _format_count(many: int, noun: str) -> str:
    return f"{many:,} {noun}{'' if many == 1 else 's'}"


def _next_command(proposal: qv.Proposal, log: str, reading: Sequence[str]) -> None:
    """A command that is expected to publish something; or that there is none, and where to ask further."""
    if proposal.option is not None:
        console.typed("Next", proposal.option.command(log, reading, "release"))
        console.labelled("", proposal.verdict)
        return
    console.labelled("Next", f"{proposal.verdict} What a larger epsilon would give:")
    asked = ["--purpose", "coverage", "--epsilon", "4"]
    console.typed("", shlex.join(["queryveil", "advise", log, *reading, *asked]))


def _format_share(share: float) -> str:
    """Never 0 % of something that is there."""
    return "less than 0.1 %" if 0 < share < 0.001 else f"{100 * share:.1f} %"


def _exposure_text(found: dict[str, Any]) -> str:
    shares = {kind: _format_share(share) for kind, share in found["shares"].items() if share is not None}
    if "person" not in shares:
        return (
            f"only {100 * found['words_known']:.0f} % of the log's words are known (English words or usual names of "
            "the US census). Below 50 %, finding nothing would mean nothing. So names of persons, places and "
            f"companies, and revealing and adult terms, were not looked for. Of {found['queries']:,} different "
            f"queries, {shares['identifier']} have a mail address or number"
        )
    return (
        f"of {found['queries']:,} different queries, {shares['person']} name a person, {shares['place']} a place and "
        f"{shares['company']} a company; {shares['revealing']} have a revealing term, {shares['adult']} an adult "
        f"term and {shares['identifier']} a mail address or number (details: queryveil attack exposure LOG)"
    )
