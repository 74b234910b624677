"""Every table and figure of the five papers beside ours: docs/studies/papers.md, and a part of each study's page.

    python lab/benchmarks/five_papers.py [--write]

Rows are in lab/benchmarks/paper_items, one module a paper. What is found here is read from docs/evidence each time.
"""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

from paper_items import Evidence, Paper, papers

PAGE = Path(__file__).parent.parent / "docs" / "studies" / "papers.md"
_OPENING = """# Five papers, every table and figure

You want to know whether the package finds what the papers found. Each row is a finding of a table or figure: what is
found here, what the paper has, and whether they agree. `python lab/benchmarks/five_papers.py --write` makes this page.
What is found here comes from [the evidence](../evidence/index.md), or is computed while the page is made. The papers'
logs are not public. Logs here are generated, so shapes can be compared where sizes cannot.
"""


_BEGIN = "<!-- paper and here: lab/benchmarks/five_papers.py --write -->"
_END = "<!-- end of paper and here -->"
_OF_STUDY = """## Paper and here

What {names} printed, beside what is found here. Values are those that the paper's tables and text state. A curve
that is only drawn is described by what the text says of it. `python lab/benchmarks/five_papers.py --write` makes this
part from [the evidence](../evidence/index.md); [all papers](papers.md) are on one page.
"""


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _section(paper: Paper, evidence: Evidence) -> list[str]:
    lines = [
        f"## {paper.name}",
        "",
        f"{paper.page} ([reference](../../../docs/references.md#{paper.key}))",
        "",
    ]
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


def studies() -> list[str]:
    """The studies whose pages show rows."""
    return sorted({study for paper in papers() for study in paper.studies.values()})


def block(study: str, evidence: Evidence | None = None) -> str:
    """The part of a study's page that compares it with its paper."""
    known = evidence or Evidence()
    listed = [paper for paper in papers() if paper.of_study(study)]
    names = " and ".join(f"[{paper.name}](../../../docs/references.md#{paper.key})" for paper in listed)
    lines = [_BEGIN, _OF_STUDY.format(names=names)]
    lines += ["| item | what | the paper | here | verdict |", "|---|---|---|---|---|"]
    for paper in listed:
        for row in paper.of_study(study):
            ours = row.ours(known) if row.ours else ""
            cells = (row.item, row.what, row.paper, ours, row.verdict(known))
            lines.append(f"| {' | '.join(_cell(one) for one in cells)} |")
    return "\n".join([*lines, "", _END]) + "\n"


def with_block(text: str, made: str) -> str:
    """The page of a study with its part as it should be; at the end if it has none yet."""
    before, found, rest = text.partition(_BEGIN)
    after = rest.partition(f"{_END}\n")[2] if found else ""
    return f"{before.rstrip()}\n\n{made}{after}"


def beside(paper: Paper, name: str, evidence: Evidence) -> str:
    """A few words for below a figure: the paper has this, and it agrees, differs because ..., or it is not known."""
    rows = paper.of_figure(name)
    reasons = [reason for row in rows if (reason := row.reason(evidence)) is not None]
    agree, unknown = len(rows) - len(reasons), reasons.count("")
    known = list(dict.fromkeys(reason for reason in reasons if reason))
    several = len(rows) > 1
    said = [f"**agrees**{f' in {agree} of {len(rows)} rows' if several else ''}"] if agree else []
    if len(known) <= _MOST_REASONS:
        said += [f"**differs**, because {reason}" for reason in known]
    else:
        said.append(f"**differs** in {len(reasons) - unknown} rows for reasons that the table below names")
    if unknown:
        where = [row for row in rows if row.reason(evidence) == ""]
        said.append(f"**not known why** it differs: {'; '.join(row.what for row in where)}")
    item = paper.drawn[name][0]
    shown = f", {item[0].lower()}{item[1:]}" if any(one.isdigit() for one in item) else ""
    text = f"Beside [{paper.name}](../../../docs/references.md#{paper.key}){shown}: {'; '.join(said)}."
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


_MOST_REASONS = 2
_BELOW = re.compile(
    r"(!\[[^\]]*\]\(([a-z0-9-]+)\.png\)\n)(?:\n<!-- beside -->\n.*?\n<!-- end -->\n)?", re.DOTALL
)


def with_verdicts(text: str, evidence: Evidence | None = None) -> str:
    """The page of a study with a verdict below every figure that repeats one of a paper."""
    known = evidence or Evidence()
    of = {name: paper for paper in papers() for name in paper.drawn}

    def below(found: re.Match[str]) -> str:
        picture, name = found[1], found[2]
        if name not in of:
            return picture
        return f"{picture}\n<!-- beside -->\n{beside(of[name], name, known)}\n<!-- end -->\n"

    return _BELOW.sub(below, text)


def write() -> None:
    known = Evidence()
    PAGE.write_text(page(known), encoding="utf-8")
    for study in studies():
        file = PAGE.parent / f"{study}.md"
        made = with_block(file.read_text(encoding="utf-8"), block(study, known))
        file.write_text(with_verdicts(made, known), encoding="utf-8")


def main() -> None:
    if "--write" in sys.argv[1:]:
        write()
    else:
        print(page(), end="")


if __name__ == "__main__":
    main()
