"""The tables of docs/studies/gap.md, from what is kept of the study `gap`.

    python lab/benchmarks/gap_tables.py [--write]

Means over the runs, plus or minus half of their 95 % interval where there are three runs or more.
"""

from __future__ import annotations

import re
import sys
from typing import Any

import kept_findings

from queryveil_lab.studies import printed
from queryveil_lab.studies.declaration import Findings, Interval
from queryveil_lab.studies.gap import WITH_GIVEN

PAGE = kept_findings.FIGURES / "gap.md"
_COLUMNS = {
    "heap, given count": ("heap", WITH_GIVEN),
    "heap": ("heap", "accuracy"),
    "surest": ("surest", "accuracy"),
    "score-greedy": ("score-greedy", "accuracy"),
    "default": ("default", "accuracy"),
}
_MATCHABLE = {1: 930, 7: 915, 30: 853, 60: 892}
"""Of the paper, table 4."""
_LENGTHS = {1: "1 hour", 3: "3 hours", 6: "6 hours", 9: "9 hours", 24: "1 day", 168: "1 week"}
_USUAL, _LONGEST = 6, 60
_BLOCK = re.compile(r"(<!-- (table [45]): .*? -->\n).*?(<!-- end of table -->\n)", re.DOTALL)


def _cell(found: Findings) -> str:
    runs = [row["value"] for row in found]
    one = Interval.of(runs)
    return f"{one.mean:.3f}" + (f" ± {one.high - one.mean:.3f}" if len(runs) > 2 else "")


def _line(found: Findings) -> list[str]:
    """How many can be found, without any given, and what each update finds."""
    matchable = found.where(metric="matchable", update="score-greedy").value
    cells = [_cell(found.where(update=update, metric=metric)) for update, metric in _COLUMNS.values()]
    return [f"{matchable:,.0f}", *cells]


def tables(found: Findings) -> dict[str, str]:
    """Both tables by the number that they have in the paper."""
    gaps = found.where(interval=_USUAL)
    lengths = found.where(gap=_LONGEST)
    days = {1: "1 day"}
    in_gaps = [
        [
            days.get(gap, f"{gap} days"),
            f"{printed.GAPS[gap]:.2f} (of {_MATCHABLE[gap]})",
            *_line(gaps.where(gap=gap)),
        ]
        for gap in _MATCHABLE
    ]
    in_lengths = [[name, *_line(lengths.where(interval=hours))] for hours, name in _LENGTHS.items()]
    return {
        "table 4": _table(["gap", "the paper", "matchable", *_COLUMNS], in_gaps),
        "table 5": _table(["logs of", "matchable", *_COLUMNS], in_lengths),
    }


def _table(head: list[str], lines: list[list[str]]) -> str:
    rule = "|" + "---|" * len(head)
    return "\n".join([f"| {' | '.join(head)} |", rule, *(f"| {' | '.join(one)} |" for one in lines)]) + "\n"


def written(page: str, found: Findings) -> str:
    """The page with its tables as they should be."""
    made = tables(found)

    def block(match: re.Match[str]) -> str:
        return f"{match[1]}\n{made[match[2]]}\n{match[3]}"

    return _BLOCK.sub(block, page)


def main() -> None:
    found: Any = kept_findings.read("gap")
    if "--write" in sys.argv[1:]:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")
    else:
        print("\n".join(tables(found).values()))


if __name__ == "__main__":
    main()
