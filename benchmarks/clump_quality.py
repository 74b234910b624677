"""What Clump and Partition keep of users' merged terms on a generated log, for docs/studies/clump-quality.md.

    python benchmarks/clump_quality.py [--users 54500] [--json]
    python benchmarks/clump_quality.py --page        # the page, from docs/evidence/clump-quality.json

A log is generated, every user's terms become WordNet concepts as `publish --method clump` makes them, and samples of
these transactions are grouped by each method. Seconds are of grouping alone, on one core, compiled before.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import queryveil as qv
from queryveil.mechanisms.generalised import Vocabulary, code
from queryveil.transactions import Bags, Grouping, Tree, clump, partition

ROOT = Path(__file__).parent.parent
EVIDENCE = ROOT / "docs" / "evidence" / "clump-quality.json"
PAGE = ROOT / "docs" / "studies" / "clump-quality.md"

SIZES = (1_000, 10_000, 53_058)
KS = (5, 7, 10, 15)
RS = (5, 10, 30, 50, 100)
ROWS_PER_USER = 26
OURS, PAPERS, PARTITION = "Clump", "Clump, the paper's rules", "Partition"
RULES: dict[str, dict[str, Any]] = {
    OURS: {},
    PAPERS: {"criterion": "total", "lcg": "paper", "order": "input"},
}


def transactions(users: int, seed: int = 1) -> tuple[qv.Taxonomy, Bags]:
    """Users' merged terms, as concepts; users without any are left out."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log.parquet"
        qv.generate(file, qv.LogSettings(users=users, rows=ROWS_PER_USER * users, seed=seed))
        coded = code(qv.read(file), Vocabulary.of(None), "users")
    return coded.taxonomy, coded.bags.take(np.flatnonzero(coded.bags.lengths))


def sample(taxonomy: qv.Taxonomy, bags: Bags, size: int) -> tuple[Tree, Bags]:
    """So many transactions at random, over the concepts that occur in them."""
    chosen = np.random.default_rng(size).permutation(len(bags))[:size]
    some = bags.take(np.sort(chosen))
    kept = np.unique(some.items)
    pruned = taxonomy.pruned(kept)
    before = np.arange(len(taxonomy)) if taxonomy.origin is None else taxonomy.origin
    return Tree(pruned.parents), Bags(pruned.renumbered(before[some.items]), some.offsets)


def measured(run: Callable[[], Grouping]) -> dict[str, float]:
    start = time.process_time()
    found = run()
    seconds = round(time.process_time() - start, 2)
    quality = found.quality
    figures = {name: getattr(quality, name) for name in ("ggd_per_item", "ncp_per_item", "density")}
    figures |= {name: getattr(quality, name) for name in ("mean_length", "mean_level")}
    return {name: round(value, 4) for name, value in figures.items()} | {"seconds": seconds}


def methods(tree: Tree, bags: Bags, k: int, r: int = 10) -> dict[str, Callable[[], Grouping]]:
    def by_clump(rules: dict[str, Any]) -> Callable[[], Grouping]:
        return lambda: clump(tree, bags, k, r, **rules)

    return {name: by_clump(rules) for name, rules in RULES.items()} | {
        PARTITION: lambda: partition(tree, bags, k)
    }


def study(users: int) -> dict[str, Any]:
    warm = Tree(np.array([-1, 0, 0])), Bags.of([[1, 2], [1, 1], [2], [1]])
    for run in methods(*warm, k=2).values():
        run()
    taxonomy, everyone = transactions(users)
    found: dict[str, Any] = {
        "users": users,
        "rows": ROWS_PER_USER * users,
        "by_k": {},
        "by_r": {},
        "shape": {},
    }
    for size in SIZES:
        tree, bags = sample(taxonomy, everyone, size)
        lengths = bags.lengths
        found["shape"][str(size)] = {
            "transactions": len(bags),
            "mean_items": round(float(lengths.mean()), 2),
            "median_items": float(np.median(lengths)),
            "most_items": int(lengths.max()),
            "nodes": len(tree),
            "leaves": tree.leaves,
            "height": int(tree.depth.max()) + 1,
            "floor_per_item": round(float(tree.lm[bags.items].mean()), 5),
        }
        for k in KS:
            row = {name: measured(run) for name, run in methods(tree, bags, k).items()}
            found["by_k"].setdefault(str(size), {})[str(k)] = row
            print(size, k, {name: one["ggd_per_item"] for name, one in row.items()}, file=sys.stderr)
    for r in RS:
        runs = methods(tree, bags, KS[0], r)
        found["by_r"][str(r)] = {name: measured(runs[name]) for name in RULES}
        print(
            "r",
            r,
            {name: one["ggd_per_item"] for name, one in found["by_r"][str(r)].items()},
            file=sys.stderr,
        )
    return found | {"checks": checks(found)}


def checks(found: dict[str, Any]) -> dict[str, bool]:
    every = [row for by_k in found["by_k"].values() for row in by_k.values()]
    ggd = [{name: one["ggd_per_item"] for name, one in row.items()} for row in every]
    rising = [[row[OURS]["ggd_per_item"] for row in by_k.values()] for by_k in found["by_k"].values()]
    return {
        "transactions have 20 to 22 items on average": all(
            20 <= one["mean_items"] <= 22 for one in found["shape"].values()
        ),
        "Clump's GGD is below Partition's at every k and |D|": all(one[OURS] < one[PARTITION] for one in ggd),
        "our rules are below the paper's at every k and |D|": all(one[OURS] < one[PAPERS] for one in ggd),
        "no method is above 1 per item, the root for everything": all(max(one.values()) <= 1 for one in ggd),
        "Clump's GGD rises with k": all(one == sorted(one) for one in rising),
    }


def shown_checks(found: dict[str, Any]) -> list[str]:
    return [f"{'pass' if passed else 'FAIL'}  {what}" for what, passed in found["checks"].items()]


# -- the page ------------------------------------------------------------------------------------------------


def page(found: dict[str, Any]) -> str:
    last = found["shape"][str(SIZES[-1])]
    lines = [
        "# What Clump and Partition keep",
        "",
        "You want k-anonymous transactions and ask how much of them is left, by which method, and what k costs.",
        f"The transactions are the merged terms of users of a generated log ({found['users']:,} users,",
        f"{found['rows']:,} rows), as concepts of WordNet. Users without any are left out, and |D| of the others are",
        "drawn at random. All figures here are written by",
        "",
        "    python benchmarks/evidence.py clump-quality",
        "    python benchmarks/clump_quality.py --page",
        "",
        "| users | items on average | median | most | nodes | leaves | height | GGD per item if nothing is changed |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one in found["shape"].values():
        lines.append(
            f"| {one['transactions']:,} | {one['mean_items']:.1f} | {one['median_items']:g} | {one['most_items']:,} "
            f"| {one['nodes']:,} | {one['leaves']:,} | {one['height']} | {one['floor_per_item']:.5f} |"
        )
    lines += ["", "## By k", "", *EXPLAINED]
    for size, by_k in found["by_k"].items():
        lines += [f"### {int(size):,} users", "", *_head("k")]
        for k, row in by_k.items():
            lines += [_row(k, name, one) for name, one in row.items()]
        lines.append("")
    lines += [
        "## By r, the number of open clusters",
        "",
        f"{last['transactions']:,} users, k = {KS[0]}.",
        "",
        *_head("r"),
    ]
    for r, row in found["by_r"].items():
        lines += [_row(r, name, one) for name, one in row.items()]
    lines += ["", *_meaning_of_r(found), "", "## Checks", "", "```", *shown_checks(found), "```", ""]
    return "\n".join([*lines, *_meaning(found)]) + "\n"


EXPLAINED = [
    "*Clump* is the method as it is by default; *the paper's rules* are `--criterion total --lcg paper --order input`",
    "([why ours differ](../decisions/0007-least-common-generalisation.md)). r = 10. GGD charges what a published item",
    "loses and 1 for every suppressed item; NCP charges each item what the lowest published concept above it loses.",
    "Both are per item: 0 is nothing lost, 1 everything. The level of the root is 1; density is mean length over",
    "leaves. Seconds are processor time of grouping, on one core.",
    "",
]


def _head(first: str) -> list[str]:
    return [
        f"| {first} | method | GGD per item | NCP per item | mean length | mean level | density | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]


def _row(first: str, name: str, one: dict[str, float]) -> str:
    return (
        f"| {first} | {name} | {one['ggd_per_item']:.3f} | {one['ncp_per_item']:.3f} | {one['mean_length']:.1f} "
        f"| {one['mean_level']:.2f} | {one['density']:.4f} | {one['seconds']:.2f} |"
    )


def _meaning_of_r(found: dict[str, Any]) -> list[str]:
    words = []
    for name in RULES:
        by_r = {int(r): row[name]["ggd_per_item"] for r, row in found["by_r"].items()}
        best = min(by_r, key=lambda r: by_r[r])
        words.append(f"{name}: least at r = {best} ({by_r[best]:.3f}), {by_r[RS[-1]]:.3f} at r = {RS[-1]}.")
    return words


def _meaning(found: dict[str, Any]) -> list[str]:
    every = [row for by_k in found["by_k"].values() for row in by_k.values()]
    by_ncp = sum(row[OURS]["ncp_per_item"] < row[PARTITION]["ncp_per_item"] for row in every)
    papers = sum(row[PAPERS]["ggd_per_item"] < row[PARTITION]["ggd_per_item"] for row in every)
    of = f"of {len(every)} settings of k and |D|"
    return [
        f"By the paper's rules Clump's GGD is below Partition's in {papers} {of}. The two measures disagree about",
        "Partition, which publishes a concept once for many items: GGD counts all but one of them as suppressed, NCP",
        f"counts them as covered. By NCP Clump is ahead in {by_ncp}. Choose by use: whoever counts how often concepts",
        "occur needs what GGD measures; whoever asks which occur at all, what NCP does.",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--users", type=int, default=54_500)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--page", action="store_true", help="write the page from the evidence")
    given = parser.parse_args()
    if given.page:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(page(json.loads(EVIDENCE.read_text())["figures"]), encoding="utf-8")
        return
    found = study(given.users)
    print(json.dumps(found, indent=2) if given.json else page(found))
    print("\n".join(shown_checks(found)), file=sys.stderr)
    if not all(found["checks"].values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
