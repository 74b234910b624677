"""The page of an audit: what was tried, bounds against claims, and the trade-off that was measured."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from queryveil.extension import escape, output
from queryveil.files import appearing
from queryveil_lab.audits import words
from queryveil_lab.audits.trials import ENUMERATED, AuditFinding
from queryveil_lab.charts import figures
from queryveil_lab.charts.figures import Scale, Words

if TYPE_CHECKING:
    from queryveil_lab.audits.audit import Audit

_MOST_POINTS = 400
DOCUMENT = "audit.json"
_STYLE = """
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem 1rem 4rem; color: #1c2430; background: #fff;
  font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
.verdict { border: 2px solid #1c2430; padding: .5rem 1rem; font-weight: 600; }
img { width: 100%; max-width: 46rem; height: auto; border: 1px solid #d5dbe3; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .88rem; }
th, td { text-align: start; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid #d5dbe3; vertical-align: top; }
td:nth-child(2), td:nth-child(3) { white-space: nowrap; } td.number, th.number { text-align: end; white-space: nowrap; }
tr.refutes td { font-weight: 700; background: #fbeaea; }
"""


def write(audit: Audit, out: Path) -> None:
    """The folder appears complete, or not at all."""
    figures.altair()  # missing libraries are told before anything is written
    with output.disk_errors(out), appearing.claim_paths(out) as claims:
        (claim,) = claims
        claim.content.mkdir()
        figures.save(chart(audit), claim.content, "trade-off")
        document = json.dumps(audit.as_dict(), indent=2, allow_nan=False)
        (claim.content / DOCUMENT).write_text(document + "\n", encoding="utf-8")
        (claim.content / "index.html").write_text(page(audit), encoding="utf-8")
        claims.publish_claims(f"'{out}' is complete")


def chart(audit: Audit) -> Any:
    """Events as points, and the line that none may be above."""
    points = [
        {"other": max(0.0, high), "one": low, "what": "a proof" if one.how == ENUMERATED else "runs"}
        for one in audit.findings
        if one.claim.same_numbers(audit.claim)
        for low, high in _thin_points(one.points)
    ]
    limit = "most that is promised"
    lines = [
        {"other": float(at), "one": float(audit.claim.allowed(float(at))), "what": limit}
        for at in np.linspace(0, 1, 201)
    ]
    verdict = (
        f"No event that was tried refutes {audit.plan.method}"
        if audit.passes
        else f"{audit.plan.method} does not keep its promise"
    )
    return figures.curves(
        lines,
        points,
        x=Scale("other", "probability under the other log, at most", top=1.0),
        y=Scale("one", "probability under one log, at least", top=1.0),
        by="what",
        by_title="",
        words=Words(
            verdict,
            f"Events of the output under two neighbouring logs, {audit.confidence:.0%} confidence together; "
            f"{audit.claim.told()}. A point above the line would refute the promise.",
        ),
    )


def _thin_points(points: Sequence[tuple[float, float]]) -> Sequence[tuple[float, float]]:
    step = max(1, len(points) * 10 // _MOST_POINTS)
    return points[::step]


def page(audit: Audit) -> str:
    """Everything on one page that needs no network."""
    verdict = "passes" if audit.passes else "FAILS"
    title = f"Audit of {audit.plan.method}: {verdict}"
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="verdict">{escape(audit.verdict)}</p>',
        f"<p>{escape(audit.plan.guarantee.headline)}.</p>",
        '<p><img src="trade-off.svg" alt="Measured events against the promised limit"><br>'
        '<a href="trade-off.html">interactive</a>, <a href="trade-off.png">PNG</a>, '
        '<a href="trade-off.svg">SVG</a>, all numbers: <a href="audit.json">audit.json</a></p>',
        "<h2>What was tried, and what it proves</h2>",
        *_render_table(audit.findings),
        "<h2>Beside the tables</h2>",
        *(f"<p>{escape(one)}</p>" for one in audit.beside),
        "<h2>How to read it</h2>",
        f"<p>{escape(_READING)}</p>",
        f"<p>{escape(_LEVELS.format(tests=audit.tests, confidence=audit.confidence))}</p>",
        "<h2>Parameters</h2>",
        f"<pre>{escape(json.dumps(dict(audit.plan.parameters), indent=1))}</pre>",
        f"<p>Took {audit.seconds:,.0f} seconds. Logs and events by seed {audit.seed}; noise has no seed. Made with "
        f"queryveil {escape(metadata.version('queryveil'))}.</p>",
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src 'self' file:; "
        "style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


_READING = (
    "A row of the table is a pair of neighbouring logs. Epsilon at least: no smaller epsilon holds at the claimed "
    "delta. Delta at least: no smaller delta holds at the claimed epsilon. A proof was computed from the declared "
    "noise, without any run. All other bounds come from runs: of the step that adds noise, or of the whole path from "
    "reading to the published table. A bound far below the claim does not mean that the claim could be smaller: it "
    "may be that the pair does not hurt, or that runs were too few."
)
_LEVELS = (
    "All reported bounds hold together with {confidence:.0%} confidence, shared out over {tests:,} tests. The verdict "
    "is stricter: a sound mechanism fails with a probability of at most one in a million."
)


def _render_table(findings: Sequence[AuditFinding]) -> list[str]:
    heads = ("Logs", "Table", "By", "Runs", "Event", "Claimed", "Epsilon at least", "Delta at least")
    right = {3, 6, 7}

    def cells(tag: str, row: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{' class=' + chr(34) + 'number' + chr(34) if at in right else ''}>{escape(one)}</{tag}>"
            for at, one in enumerate(row)
        )

    lines = [
        f"<tr{' class=' + chr(34) + 'refutes' + chr(34) if one.refutes else ''}>{cells('td', words.row(one))}</tr>"
        for one in findings
    ]
    return [
        '<div class="wide"><table>',
        f"<thead><tr>{cells('th', heads)}</tr></thead><tbody>",
        *lines,
        "</tbody></table></div>",
    ]
