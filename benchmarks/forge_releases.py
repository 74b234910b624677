"""Forges releases in every way that `tests/forgeries.py` lists, verifies each, and writes docs/evidence/forgeries.md.

    python benchmarks/forge_releases.py

Exits with 1 if a forgery passes that a release alone could show.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests import forgeries, mutations  # noqa: E402
from tests.forgeries import Forgery  # noqa: E402

PAGE = ROOT / "docs" / "evidence" / "forgeries.md"


def try_all(place: Path, method: str) -> tuple[Counter[str], Counter[str], list[Forgery]]:
    """Forge a release of one method: forgeries by class, those that failed by class, and those that passed."""
    tried: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    passed: list[Forgery] = []
    genuine = mutations.published(place / "genuine", forgeries.METHODS)
    invented = mutations.published(place / "invented", {method: forgeries.METHODS[method]})
    others = {name: release for name, release in genuine.items() if name != method}
    for forgery in forgeries.forgeries(genuine[method], others, invented[method]):
        passes = forgeries.passes(genuine[method], forgery, place / "forged")
        if passes is None:
            continue
        tried[forgery.change] += 1
        if passes:
            passed.append(forgery)
        else:
            failed[forgery.change] += 1
    return tried, failed, passed


def write_page(results: dict[str, tuple[Counter[str], Counter[str], list[Forgery]]]) -> str:
    tried = sum((result[0] for result in results.values()), Counter())
    passed = [(method, forgery) for method, result in results.items() for forgery in result[2]]
    total, found = sum(tried.values()), sum(tried.values()) - len(passed)
    lines = [
        "# Forged releases",
        "",
        f"A forger who knows the format changed releases in {total:,} ways. After each change, every digest and"
        "\nevery document that depends on it was written again. "
        f"`queryveil release verify` found {found:,} of them."
        f"\nThe other {len(passed):,} pass because no check of a release alone can find them. "
        "The second table lists each of them",
        "with the reason. A signature, checked with `--key`, finds every change by anyone but the publisher.",
        "",
        "Written by `python benchmarks/forge_releases.py`. `tests/verification/test_forgeries.py` tries "
        "a part of these changes",
        "and requires that exactly the same classes pass.",
        "",
        "## Changes that were tried",
        "",
        f"| change | {' | '.join(results)} |",
        f"|---|{'---|' * len(results)}",
    ]
    for change in tried:
        cells = []
        for counts, failed, _ in results.values():
            cells.append(f"{failed[change]} of {counts[change]} found" if counts[change] else "")
        lines.append(f"| {change} | {' | '.join(cells)} |")
    lines += [
        "",
        "Numbers in the drawings and styles of `report.html` are changed one in twenty; all others are changed one by "
        "one.",
        "",
        "## Changes that pass",
        "",
        "| method | change | place | why a release alone cannot show it |",
        "|---|---|---|---|",
    ]
    for method, forgery in passed:
        reason = forgery.reason or "**it could: the verifier is wrong**"
        lines.append(f"| {method} | {forgery.change} | `{forgery.place}` | {reason} |")
    return "\n".join([*lines, ""])


def main() -> int:
    results = {}
    for method in forgeries.METHODS:
        with tempfile.TemporaryDirectory() as folder:
            results[method] = try_all(Path(folder), method)
        tried, _, passed = results[method]
        print(f"{method}: {sum(tried.values())} forgeries, {len(passed)} pass", file=sys.stderr, flush=True)
    PAGE.write_text(write_page(results), encoding="utf-8")
    wrong = [forgery for result in results.values() for forgery in result[2] if forgery.reason is None]
    for forgery in wrong:
        print(f"passes, and should not: {forgery.change}, {forgery.place}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
