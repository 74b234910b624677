"""Every table and figure of the five papers beside ours: docs/studies/papers.md.

    python benchmarks/five_papers.py [--write]

Rows are in benchmarks/paper_items, one module a paper. What is found here is read from docs/evidence each time.
"""

from __future__ import annotations

import sys
from pathlib import Path

from paper_items import Evidence, Paper, papers

PAGE = Path(__file__).parent.parent / "docs" / "studies" / "papers.md"
_OPENING = """# Five papers, every table and figure

You want to know whether the package finds what the papers found. Each row is a finding of a table or figure: what is
found here, what the paper has, and whether they agree. `python benchmarks/five_papers.py --write` makes this page. What
is found here comes from [the evidence](../evidence/index.md), or is computed while the page is made. The papers' logs
are not public. Logs here are generated, so shapes can be compared where sizes cannot.
"""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _section(paper: Paper, evidence: Evidence) -> list[str]:
    lines = [f"## {paper.name}", "", f"{paper.page} ([reference](../references.md#{paper.key}))", ""]
    lines += ["| item | what | here | the paper | verdict |", "|---|---|---|---|---|"]
    for row in paper.rows:
        ours = row.ours(evidence) if row.ours else ""
        cells = (row.item, row.what, ours, row.paper, row.verdict(evidence))
        lines.append(f"| {' | '.join(_cell(one) for one in cells)} |")
    return [*lines, ""]


def _tally(listed: list[Paper], evidence: Evidence) -> str:
    said = [row.verdict(evidence) for paper in listed for row in paper.rows]
    agree = sum(one.startswith("**agrees**") for one in said)
    unknown = sum("it is not known why" in one for one in said)
    left_out = sum(one.startswith("not repeated") for one in said)
    differ = len(said) - agree - unknown - left_out
    return (
        f"Of {len(said)} rows {agree} agree, {differ} differ for a reason that the row names, {unknown} differ and it "
        f"is not known why, and {left_out} are not repeated."
    )


def page(evidence: Evidence | None = None) -> str:
    """The page as it should be."""
    known = evidence or Evidence()
    listed = list(papers())
    for paper in listed:
        if paper.missing() or paper.strangers():
            raise SystemExit(f"{paper.name}: no row for {paper.missing()}, no such items {paper.strangers()}")
    lines = [_OPENING, _tally(listed, known), ""]
    for paper in listed:
        lines += _section(paper, known)
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page(), encoding="utf-8")
    else:
        print(page(), end="")


if __name__ == "__main__":
    main()
