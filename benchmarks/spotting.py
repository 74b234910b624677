"""How much the spotter finds of what was planted, how often it is wrong, and how fast it is.

    python benchmarks/spotting.py [--users 20000] [--secrets 3000] [--seed 1]

Planted: a generated log whose secrets are known. Names with an address, an illness or a phone number must be spotted
as persons; addresses and illnesses stand beside a town and a state, a place; mail addresses, cards, national ids and
phone numbers are identifiers. Precision of persons is of the generator's own queries about people, which name one by
construction: whatever else is taken for a person is wrong, or is a town or brand that looks like one. Checked: the
queries of tests/language/spotting/checked.tsv. Speed: different queries per second of processor time, one core, words
looked up for the first time (cold) and known already (warm); loading the lists is told apart.
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
import time
from pathlib import Path
from typing import Any

import pyarrow as pa

import queryveil as qv
from queryveil.language.spotting import Kind, Spotter
from queryveil.synthetic.generator import vocabulary

CHECKED = Path(__file__).parents[1] / "tests" / "language" / "spotting" / "checked.tsv"
HOLDS = {
    "person-address": (Kind.PERSON, Kind.PLACE),
    "person-health": (Kind.PERSON, Kind.PLACE),
    "phone": (Kind.PERSON, Kind.IDENTIFIER),
    "email": (Kind.IDENTIFIER,),
    "card": (Kind.IDENTIFIER,),
    "national-id": (Kind.IDENTIFIER,),
}


def has(mask: int, kind: Kind) -> bool:
    return bool(mask >> kind & 1)


def generated(users: int, secrets: int, seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log.parquet"
        qv.generate(file, qv.LogSettings(version=1, users=users, seed=seed, secrets=secrets))
        with Path(f"{file}.secrets.tsv").open(encoding="utf-8") as listed:
            truth = {
                qv.normalise(row["query"]): row["kind"] for row in csv.DictReader(listed, delimiter="\t")
            }
        log = qv.read(file)
        texts = log.engine.arrow(log.queries.select("query").distinct())["query"].combine_chunks()
    queries = texts.to_pylist()
    found: dict[str, Any] = {"distinct_queries": len(queries), "speed": speed(texts), "planted": {}}
    for rare in (False, True):
        masks = Spotter(rare=rare).detect_entities(texts).entity_masks().tolist()
        found[f"persons, rare names {'kept' if rare else 'dropped'}"] = persons(queries, masks, truth)
    for kind, holds in HOLDS.items():
        hidden = [mask for query, mask in zip(queries, masks, strict=True) if truth.get(query) == kind]
        found["planted"][kind] = {"planted": len(hidden)} | {
            one.name.lower(): round(sum(has(mask, one) for mask in hidden) / max(1, len(hidden)), 4)
            for one in holds
        }
    return found


def persons(queries: list[str], masks: list[int], truth: dict[str, str]) -> dict[str, Any]:
    """Of texts without a secret in which a person is spotted, those that have a first name of the generator's."""
    first = set(vocabulary.FIRST_NAMES)
    spotted = [
        query
        for query, mask in zip(queries, masks, strict=True)
        if has(mask, Kind.PERSON) and query not in truth
    ]
    about = sum(bool(first & set(query.split(" "))) for query in spotted)
    return {
        "spotted": len(spotted),
        "with_a_first_name": about,
        "share": round(about / max(1, len(spotted)), 4),
    }


def speed(texts: pa.Array) -> dict[str, float]:
    start = time.process_time()
    spotter = Spotter()
    spotter.detect_entities(texts.slice(0, 100))  # loads the libraries
    loaded = time.process_time()
    spotter.detect_entities(texts)
    cold = time.process_time()
    spotter.detect_entities(texts)
    warm = time.process_time()
    return {
        "load_seconds": round(loaded - start, 2),
        "cold_queries_per_second": round(len(texts) / (cold - loaded)),
        "warm_queries_per_second": round(len(texts) / (warm - cold)),
    }


def checked() -> dict[str, Any]:
    with CHECKED.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
    found: dict[str, Any] = {}
    for part in ("shaped", "held-out"):
        chosen = [row for row in rows if row["set"] == part]
        texts = pa.array([qv.normalise(row["query"]) for row in chosen])
        for rare in (True, False):
            masks = Spotter(rare=rare).detect_entities(texts).entity_masks().tolist()
            table = found[f"{part}, rare names {'kept' if rare else 'dropped'}"] = {"queries": len(chosen)}
            for kind in Kind:
                wanted = [kind.name.lower() in row["kinds"].split() for row in chosen]
                seen = [has(mask, kind) for mask in masks]
                hits = sum(a and b for a, b in zip(wanted, seen, strict=True))
                table[kind.name.lower()] = {
                    "recall": round(hits / max(1, sum(wanted)), 4),
                    "precision": round(hits / max(1, sum(seen)), 4),
                }
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=20_000)
    parser.add_argument("--secrets", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    print(
        json.dumps(
            {"generated": generated(given.users, given.secrets, given.seed), "checked": checked()}, indent=2
        )
    )


if __name__ == "__main__":
    main()
