"""Numbers in tables of the study pages that nothing kept for them explains: they may be stale.

    python lab/benchmarks/page_numbers.py [STUDY ...]

A number is explained if it is a value that is kept of its study (docs/evidence/findings), or of a part of docs/evidence
that the page names, rounded as it is written; a mean over runs; or, where a table speaks of times, a ratio of two such
values of one metric. What the command of the five papers writes is left out, and so are the paper's own rows and
columns. Prints what is left. Exit code 1 if a study whose findings are kept has such numbers.
"""

from __future__ import annotations

import bisect
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import kept_findings

from queryveil_lab.studies.declaration import Findings

DOCS = Path(__file__).parent.parent / "docs"
EVIDENCE = DOCS / "evidence"
PRODUCT = DOCS.parents[1] / "docs" / "evidence"
"""Evidence of queryveil itself."""
_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?(?![\w])")
_BLOCK = re.compile(r"<!-- paper and here.*?<!-- end of paper and here -->", re.DOTALL)
_SCALES = {"": 1.0, "%": 100.0, "percent": 100.0, "of the 10": 10.0, "thousand": 1e-3}
"""Numbers are written as they are, or in what the table, or the sentence before it, says."""
_PAPER = re.compile(r"paper|et al\.", re.IGNORECASE)


def numbers(text: str) -> list[tuple[float, float]]:
    """Numbers as written, each with half a step of its last digit."""
    found = []
    for one in _NUMBER.findall(text):
        plain = one.replace(",", "")
        digits = len(plain.partition(".")[2].partition("e")[0])
        found.append((float(plain), 0.5 * 10.0**-digits if "e" not in plain else abs(float(plain)) * 0.05))
    return found


def _leaves(value: Any) -> Iterator[float]:
    if isinstance(value, bool) or value is None:
        return
    if isinstance(value, int | float):
        yield float(value)
    elif isinstance(value, str):
        yield from (one for one, _ in numbers(value))
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from (found for found, _ in numbers(str(key)))
            yield from _leaves(one)
    elif isinstance(value, list):
        for one in value:
            yield from _leaves(one)


def _kept(found: Findings) -> Iterator[float]:
    """Single values, and means over what is in a run and over runs."""
    sums: dict[tuple[Any, ...], list[float]] = {}
    for row in found:
        yield from _leaves(list(row.values()))
        key = tuple(value for name, value in row.items() if name not in ("repeat", "value"))
        sums.setdefault(key, []).append(row["value"])
    for values in sums.values():
        yield sum(values) / len(values)
        yield max(values)
        yield min(values)


class Known:
    """Numbers that explain others."""

    def __init__(self, values: Iterable[float]) -> None:
        self.values = sorted({abs(value) for value in values})

    def explain(self, written: tuple[float, float], around: str) -> bool:
        """Whether one of them is what is written, in some unit that the words around it name."""
        value, step = abs(written[0]), written[1]
        for scale in (scale for unit, scale in _SCALES.items() if unit in around):
            low, high = (value - 1.02 * step) / scale, (value + 1.02 * step) / scale
            at = bisect.bisect_left(self.values, low)
            if at < len(self.values) and self.values[at] <= high:
                return True
        return False


def _parts(text: str) -> list[Path]:
    """The parts of the evidence that a page names, by name or by their command."""
    script = {
        "papers.py zealous": "paper-zealous",
        "papers.py clump": "paper-clump",
        "inversion_choices.py": "inversion-choices",
        "inversion_choices.py --largest": "inversion-large",
        "short_ids.py": "short-ids-large",
        "profile_choices.py": "profile-choices",
    }
    files = [*EVIDENCE.glob("*.json"), *PRODUCT.glob("*.json")]
    named = [file for file in files if re.search(rf"\b{re.escape(file.stem)}\b", text)]
    named += [EVIDENCE / f"{part}.json" for told, part in script.items() if told in text]
    return sorted(file for file in set(named) if file.is_file())


def known(study: str, text: str) -> Known:
    """What explains the numbers of a page."""

    def values() -> Iterator[float]:
        if study in kept_findings.names():
            yield from _kept(kept_findings.read(study))
        for file in _parts(text):
            yield from _leaves(json.loads(file.read_text(encoding="utf-8")))

    return Known(values())


def _cells(line: str) -> list[str]:
    return [one.strip() for one in line.strip().strip("|").split("|")]


def unexplained(study: str, page: str | None = None) -> list[tuple[str, list[str]]]:
    """Lines of tables, with the numbers in them that nothing explains."""
    whole = page if page is not None else (DOCS / "studies" / f"{study}.md").read_text(encoding="utf-8")
    text = _BLOCK.sub("", whole)
    explains = known(study, text)
    left = []
    for match in re.finditer(r"(?:^\|.*\n)+", text, re.MULTILINE):
        head, _, *lines = match.group().splitlines()
        printed = [bool(_PAPER.search(cell)) for cell in _cells(head)]
        around = text[: match.start()][-300:] + match.group()
        ratios = Known(_ratios(study, text) if "times" in around else ())
        for line in lines:
            first, *cells = _cells(line)
            shown = [cell for cell, paper in zip(cells, printed[1:], strict=False) if not paper]
            if _PAPER.search(first):
                continue
            found = [one for cell in shown for one in numbers(cell)]
            both = (explains, ratios)
            strange = [f"{one[0]:g}" for one in found if not any(by.explain(one, around) for by in both)]
            if strange:
                left.append((line, strange))
    return left


def _ratios(study: str, text: str) -> list[float]:
    """Between values of one metric in the parts that the page names, and in what is kept."""
    groups: dict[str, list[float]] = {}
    for part in _parts(text):
        _grouped(json.loads(part.read_text(encoding="utf-8")), "", groups)
    if study in kept_findings.names():
        for row in kept_findings.read(study):
            groups.setdefault(row["metric"], []).append(row["value"])
    small = (sorted(set(values)) for values in groups.values() if len(set(values)) <= 200)
    return [a / b for values in small for a in values for b in values if b]


def _grouped(value: Any, name: str, groups: dict[str, list[float]]) -> None:
    if isinstance(value, dict):
        for key, one in value.items():
            _grouped(one, str(key), groups)
    elif isinstance(value, list):
        for one in value:
            _grouped(one, name, groups)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        groups.setdefault(name, []).append(float(value))


def main() -> int:
    names = sys.argv[1:] or sorted(file.stem for file in (DOCS / "studies").glob("*.md"))
    bad = 0
    for study in names:
        if study in ("index", "papers"):
            continue
        for line, strange in unexplained(study):
            print(f"{study}: {', '.join(strange)} in {line}")
            bad += study in kept_findings.names()
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
