"""What the order of Clump1, Clump2 and Partition depends on: transactions of WordNet nouns of several shapes.

    python lab/benchmarks/clump_shapes.py [--rows 2000] [--json]

All have about 21 different nouns on average. What differs: how many nouns there are, how uneven their popularity is,
how much lengths differ, and whether half of a person's nouns are of one subject. Losses are GGD per item at r = 10, by
the paper's rules. Further: levels of published items with more people; the order of transactions by other rules, and
where only the assignment to clusters has another order; and people as the paper's table 3 has them: its densities mean
that the first 1,000 have 53 nouns on average, and all have 21.
"""

from __future__ import annotations

import argparse
import itertools
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from study_sizes import CLUMP

import queryveil as qv
from queryveil.language.taxonomy import Taxonomy
from queryveil.mechanisms.transactions.algorithms import Bags, Tree, clump, partition
from queryveil.mechanisms.transactions.algorithms.clustering import Criterion
from queryveil.mechanisms.transactions.algorithms.generalisation import Rule
from queryveil.mechanisms.transactions.generalised import Vocabulary, code
from queryveil_lab.studies import printed
from queryveil_lab.studies.clump_runs import at_equal_distances

MEAN = 21
PRINTED_MEAN = 20.93
"""Items of a transaction of the paper's 53,058, on average."""
ASSIGNED = ("longest first", "random", "shortest first")
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
    return _coded(whole, bags)


def printed_means() -> dict[int, float]:
    """Items of the paper's first transactions, on average: density is this over the taxonomy's leaves, which stay."""
    everyone = printed.DENSITY[max(printed.DENSITY)]
    return {people: PRINTED_MEAN * density / everyone for people, density in printed.DENSITY.items()}


def like_the_printed(rows: int, nouns: int = 20_000, seed: int = 1) -> tuple[Tree, Bags]:
    """Independent nouns of uneven popularity; whoever comes later has fewer, as the paper's densities say."""
    random = np.random.default_rng(seed)
    whole = Taxonomy.wordnet()
    known = np.unique(np.fromiter(whole.lexicon.first.values(), dtype=np.int64))
    chosen = np.sort(random.choice(known, nouns, replace=False))
    weight = random.permutation(1.0 / np.arange(1, nouns + 1))
    weight /= weight.sum()
    ends = printed_means()
    sums = [0.0, *(people * mean for people, mean in ends.items())]
    starts = [0, *ends]
    means = np.repeat(np.diff(sums) / np.diff(starts), np.diff(starts))[:rows]
    lengths = np.clip(np.rint(means * np.exp(random.standard_normal(rows) - 0.5)), 1, 500).astype(int)
    bags = []
    for length in lengths:
        drawn = random.choice(nouns, 4 * length + 20, p=weight)
        first = np.sort(np.unique(drawn, return_index=True)[1])[:length]
        bags.append(np.sort(chosen[drawn[first]]))
    return _coded(whole, bags)


def _coded(whole: Taxonomy, bags: list[Any]) -> tuple[Tree, Bags]:
    items = np.concatenate(bags)
    pruned = whole.prune(np.unique(items))
    offsets = np.concatenate(([0], np.cumsum([len(one) for one in bags])))
    return Tree(pruned.parents), Bags(pruned.map_concepts(items), offsets)


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


def sizes(most: int) -> dict[str, Any]:
    """Losses of the first people with lengths like the printed ones, at the paper's k."""
    found: dict[str, Any] = {}
    for people in (1_000, 10_000, 53_058):
        if people > most:
            continue
        tree, bags = like_the_printed(people)
        one: dict[str, Any] = {"items": round(float(bags.lengths.mean()), 1)}
        for k in (5, 7, 10, 15):
            made = {
                "Clump1": clump(tree, bags, k, 10, order="input", **PAPER),
                "Clump2": clump(tree, bags, k, 10, order="input", distinct=True, **PAPER),
                "Partition": partition(tree, bags, k),
            }
            one[f"k = {k}"] = {
                name: round(float(each.quality.ggd_per_item), 4) for name, each in made.items()
            }
        found[f"{people:,}"] = one
    return found


def assignments(rows: int, log_users: int) -> dict[str, Any]:
    """Loss of Clump1 at k = 5 if clusters are opened by the longest, and only what is assigned to them is reordered."""
    made = {name: transactions(rows, **shape) for name, shape in SHAPES.items()}
    made["the log of the study"] = of_the_log(log_users)
    return {name: _assigned(tree, bags) for name, (tree, bags) in made.items()}


def _assigned(tree: Tree, bags: Bags) -> dict[str, float]:
    longest = np.argsort(-bags.lengths, kind="stable")
    orders = (longest, np.random.default_rng(1).permutation(len(bags)), longest[::-1])
    found = (clump(tree, bags, 5, 10, order="input", assigned=one, **PAPER) for one in orders)
    return {
        name: round(float(one.quality.ggd_per_item), 4) for name, one in zip(ASSIGNED, found, strict=True)
    }


def of_the_log(users: int) -> tuple[Tree, Bags]:
    """Transactions of the log that the studies of Clump are run on."""
    with TemporaryDirectory() as folder:
        qv.generate(Path(folder) / "log.parquet", CLUMP)
        coded = code(qv.read(Path(folder) / "log.parquet"), Vocabulary.of(None), "users")
    return at_equal_distances(coded, users)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rows", type=int, default=2_000)
    asked.add_argument("--log-users", type=int, default=10_000, help="users of the log of the study")
    asked.add_argument("--people", type=int, default=53_058, help="the most of the sizes of the paper")
    asked.add_argument("--json", action="store_true")
    given = asked.parse_args()
    found: dict[str, Any] = {"transactions": given.rows, "shapes": {}}
    for name, shape in SHAPES.items():
        found["shapes"][name] = losses(*transactions(given.rows, **shape))
        if not given.json:
            print(name, json.dumps(found["shapes"][name], indent=1), flush=True)
    more = {
        "levels": levels(),
        "orders": orders(),
        "assignments": assignments(given.rows, given.log_users),
        "like the printed": sizes(given.people),
    }
    print(json.dumps(found | more if given.json else more, indent=2))


if __name__ == "__main__":
    main()
