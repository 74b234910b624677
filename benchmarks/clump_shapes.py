"""What the order of Clump1, Clump2 and Partition depends on: transactions of WordNet nouns of several shapes.

    python benchmarks/clump_shapes.py [--rows 2000] [--json]

All have about 21 different nouns on average. What differs: how many nouns there are, how uneven their popularity is,
how much lengths differ, and whether half of a person's nouns are of one subject. Losses are GGD per item at r = 10, by
the paper's rules. Further: levels of published items with more people, and the order of transactions by other rules.
"""

from __future__ import annotations

import argparse
import itertools
import json
from typing import Any

import numpy as np

from queryveil.language.taxonomy import Taxonomy
from queryveil.mechanisms.transactions.algorithms import Bags, Tree, clump, partition
from queryveil.mechanisms.transactions.algorithms.clustering import Criterion
from queryveil.mechanisms.transactions.algorithms.generalisation import Rule

MEAN = 21
PAPER: dict[str, Any] = {"criterion": "total", "lcg": "paper"}
SHAPES: dict[str, dict[str, Any]] = {
    "4,700 nouns, uneven": {"nouns": 4_700, "popularity": 1.0},
    "20,000 nouns, uneven": {"nouns": 20_000, "popularity": 1.0},
    "20,000 nouns, very uneven": {"nouns": 20_000, "popularity": 1.4},
    "20,000 nouns, nearly even": {"nouns": 20_000, "popularity": 0.5},
    "20,000 nouns, uneven, lengths alike": {"nouns": 20_000, "popularity": 1.0, "spread": 0.0},
    "20,000 nouns, uneven, half of one subject": {"nouns": 20_000, "popularity": 1.0, "subject": 0.5},
    "20,000 nouns, uneven, lengths alike, half of one subject": {
        "nouns": 20_000,
        "popularity": 1.0,
        "spread": 0.0,
        "subject": 0.5,
    },
}


def transactions(
    rows: int,
    nouns: int,
    popularity: float,
    spread: float = 1.0,
    subject: float = 0.0,
    seed: int = 1,
) -> tuple[Tree, Bags]:
    """People's different nouns. `spread` is the standard deviation of the logarithm of their number."""
    random = np.random.default_rng(seed)
    whole = Taxonomy.wordnet()
    known = np.unique(np.fromiter(whole.lexicon.first.values(), dtype=np.int64))
    chosen = np.sort(random.choice(known, nouns, replace=False))
    weight = 1.0 / np.arange(1, nouns + 1) ** popularity
    weight = random.permutation(weight / weight.sum())
    lengths = np.clip(np.rint(MEAN * np.exp(spread * random.standard_normal(rows) - spread**2 / 2)), 1, 500)
    # Concepts that are neighbours in the taxonomy's numbering are of one subject, mostly.
    centre = random.integers(0, nouns, rows)
    bags = []
    for row, length in enumerate(lengths.astype(int)):
        own = random.choice(nouns, length, p=weight)
        focused = random.random(length) < subject
        own[focused] = (centre[row] + random.integers(0, 60, int(focused.sum()))) % nouns
        bags.append(np.unique(chosen[own]))
    items = np.concatenate(bags)
    pruned = whole.pruned(np.unique(items))
    offsets = np.concatenate(([0], np.cumsum([len(one) for one in bags])))
    return Tree(pruned.parents), Bags(pruned.renumbered(items), offsets)


def losses(tree: Tree, bags: Bags) -> dict[str, Any]:
    """By k and method; and Clump1 by the order in which it takes transactions."""
    found: dict[str, Any] = {"density": round(100 * len(bags.items) / (len(bags) * tree.leaves), 3)}
    ordered = {
        "longest first": bags.take(np.argsort(-bags.lengths, kind="stable")),
        "shortest first": bags.take(np.argsort(bags.lengths, kind="stable")),
    }
    for k in (5, 15):
        groupings = {
            "Clump1": clump(tree, bags, k, 10, order="input", **PAPER),
            "Clump2": clump(tree, bags, k, 10, order="input", distinct=True, **PAPER),
            "Partition": partition(tree, bags, k),
            **{order: clump(tree, own, k, 10, order="given", **PAPER) for order, own in ordered.items()},
        }
        one = {name: round(float(made.quality.ggd_per_item), 4) for name, made in groupings.items()}
        one["Clump1 saves of Partition, %"] = round(100 * (1 - one["Clump1"] / one["Partition"]), 1)
        one["duplicates cost, %"] = round(100 * (one["Clump2"] / one["Clump1"] - 1), 1)
        found[f"k = {k}"] = one
    return found


def levels(rows: tuple[int, ...] = (1_000, 8_000)) -> dict[str, Any]:
    """Mean level of published items at k = 5, of people with and without a subject of their own."""
    found: dict[str, Any] = {}
    for name in ("20,000 nouns, uneven", "20,000 nouns, uneven, half of one subject"):
        for number in rows:
            tree, bags = transactions(number, **SHAPES[name])
            made = {
                "Clump2": clump(tree, bags, 5, 10, order="input", distinct=True, **PAPER),
                "Partition": partition(tree, bags, 5),
            }
            found.setdefault(name, {})[f"{number:,}"] = {
                method: round(float(one.quality.mean_level), 2) for method, one in made.items()
            }
    return found


def orders(rows: int = 800) -> dict[str, Any]:
    """Loss of Clump at k = 5 by the order of transactions, for every rule and for more open clusters."""
    tree, bags = transactions(rows, **SHAPES["20,000 nouns, uneven"])
    ordered = {
        "longest first": bags.take(np.argsort(-bags.lengths, kind="stable")),
        "shortest first": bags.take(np.argsort(bags.lengths, kind="stable")),
    }
    found: dict[str, Any] = {}
    criteria: tuple[Criterion, ...] = ("total", "increase")
    rules: tuple[Rule, ...] = ("paper", "exact")
    for criterion, rule, r in itertools.product(criteria, rules, (5, 10, 50, rows)):
        found[f"{criterion}, {rule}, r = {r}"] = {
            order: round(
                float(
                    clump(tree, own, 5, r, order="given", criterion=criterion, lcg=rule).quality.ggd_per_item
                ),
                4,
            )
            for order, own in ordered.items()
        }
    return found


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rows", type=int, default=2_000)
    asked.add_argument("--json", action="store_true")
    given = asked.parse_args()
    found: dict[str, Any] = {"transactions": given.rows, "shapes": {}}
    for name, shape in SHAPES.items():
        found["shapes"][name] = losses(*transactions(given.rows, **shape))
        if not given.json:
            print(name, json.dumps(found["shapes"][name], indent=1), flush=True)
    found |= {"levels": levels(), "orders": orders()}
    print(json.dumps(found if given.json else {key: found[key] for key in ("levels", "orders")}, indent=2))


if __name__ == "__main__":
    main()
