"""How much scrubbing finds and how often it is wrong: on planted secrets, on made-up identifiers, on plain numbers.

    python benchmarks/scrubbing.py [--users 20000] [--secrets 3000] [--seed 1]

Planted: a generated log with known secrets, every distinct query of it once; recall is of the texts with a secret of a
kind, precision of the texts in which the kind was found. Names with an address or an illness have no form to be
found by, and count against nothing but their own line. Forms: texts with one identifier each, written as people write
them. Plain: random numbers of each length, and dates, times, versions, sizes, ISBNs and part numbers, which are
nobody's.
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from stdnum import luhn
from stdnum.iso7064 import mod_97_10

import queryveil as qv


def kinds(text: str) -> set[str]:
    return {one.kind for one in qv.find_identifiers(text)}


def planted(users: int, secrets: int, seed: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "log.parquet"
        qv.generate(file, qv.LogSettings(version=1, users=users, seed=seed, secrets=secrets))
        with Path(f"{file}.secrets.tsv").open(encoding="utf-8") as listed:
            truth = {
                qv.normalise(row["query"]): row["kind"] for row in csv.DictReader(listed, delimiter="\t")
            }
        log = qv.read(file)
        queries = log.engine.arrow(log.queries.select("query").distinct())["query"].to_pylist()
    start = time.perf_counter()
    found = {text: kinds(text) for text in queries}
    seconds = time.perf_counter() - start
    table = {}
    for kind in sorted(set(truth.values())):
        hidden = {text for text in queries if truth.get(text) == kind}
        hits = {text for text in queries if kind in found[text]}
        table[kind] = {
            "planted": len(hidden),
            "found": len(hits),
            "recall": round(len(hits & hidden) / len(hidden), 4),
            "precision": round(len(hits & hidden) / len(hits), 4) if hits else None,
        }
    others = Counter(kind for text in queries if text not in truth for kind in found[text])
    return {
        "distinct_queries": len(queries),
        "without_secret": sum(text not in truth for text in queries),
        "found_without_secret": dict(others),
        "microseconds_per_query": round(1e6 * seconds / len(queries), 1),
        "kinds": table,
    }


Make = Callable[[np.random.Generator], str]


def digits(generator: np.random.Generator, number: int) -> str:
    return "".join(map(str, generator.integers(0, 10, number)))


def card(generator: np.random.Generator) -> str:
    number = "4" + digits(generator, 14)
    number += luhn.calc_check_digit(number)
    cut = generator.choice(["", " ", "-"])
    return cut.join(number[at : at + 4] for at in range(0, 16, 4))


def iban(generator: np.random.Generator) -> str:
    account = digits(generator, 18)
    number = "de" + mod_97_10.calc_check_digits(account + "de00"[:2]) + account
    return " ".join(number[at : at + 4] for at in range(0, 22, 4)) if generator.integers(2) else number


def address(generator: np.random.Generator) -> str:
    return ".".join(map(str, generator.integers(1, 255, 4)))


FORMS: dict[str, tuple[str, Make]] = {
    "mail address": ("email", lambda g: f"mail bob.{g.integers(99)}@mail{g.integers(9)}.example.org"),
    "card, in fours or not": ("card", lambda g: f"card {card(g)} stolen"),
    "German account": ("iban", lambda g: f"pay to {iban(g)} now"),
    "US phone, dashes": ("phone", lambda g: f"call 212-{g.integers(200, 999)}-{g.integers(1000, 9999)}"),
    "US phone, brackets": ("phone", lambda g: f"(415) {g.integers(200, 999)}-{g.integers(1000, 9999)}"),
    "US phone, no separator": ("phone", lambda g: f"212{g.integers(200, 999)}{g.integers(1000, 9999)}"),
    "UK phone, country code": ("phone", lambda g: f"+44 20 7946 {g.integers(1000, 9999)}"),
    "US social security number": (
        "national-id",
        lambda g: f"ssn {g.integers(100, 665)}-{g.integers(10, 99)}-{g.integers(1000, 9999)}",
    ),
    "UK insurance number": ("national-id", lambda g: f"nino ab {digits(g, 6)} c"),
    "IP address": ("ip-address", lambda g: f"who is {address(g)}"),
    "login in a url": ("url-credentials", lambda g: f"ftp://bob:pw{g.integers(99)}@files.example.org/a"),
}
PLAIN: dict[str, Make] = {
    **{f"number of {n} digits": lambda g, n=n: f"part {digits(g, n)}" for n in range(5, 20)},  # type: ignore[misc]
    "date": lambda g: f"{g.integers(1, 13)}/{g.integers(1, 29)}/{g.integers(1950, 2030)} news",
    "dates, two": lambda g: f"{g.integers(1950, 2030)}-{g.integers(10, 13)}-{g.integers(10, 29)} 2004-12-10",
    "time": lambda g: f"{g.integers(10, 24)}:{g.integers(10, 60)}:{g.integers(10, 60)}",
    "years": lambda g: " ".join(map(str, g.integers(1900, 2030, 3))),
    "version of three": lambda g: "version " + ".".join(map(str, g.integers(0, 30, 3))),
    "screen size": lambda g: f"{g.integers(600, 4000)}x{g.integers(600, 4000)} wallpaper",
    "ZIP code plus four": lambda g: f"zip {digits(g, 5)}-{digits(g, 4)}",
    "ISBN with dashes": lambda g: f"isbn 978-0-{digits(g, 3)}-{digits(g, 5)}-{digits(g, 1)}",
    "price": lambda g: f"${g.integers(1, 999)},{digits(g, 3)}.{digits(g, 2)} car",
    "part number": lambda g: (
        f"{g.choice(list('abcxyz'))}{digits(g, 3)}-{digits(g, 4)}{g.choice(list('abc'))}"
    ),
}


def shares(
    made: Iterable[tuple[str, Make]], seed: int, wanted: dict[str, str] | None, number: int
) -> dict[str, Any]:
    table: dict[str, Any] = {}
    for name, make in made:
        generator = np.random.default_rng(seed)
        found = [kinds(make(generator)) for _ in range(number)]
        if wanted is not None:
            table[name] = round(sum(wanted[name] in one for one in found) / number, 4)
        else:
            table[name] = {
                kind: round(count / number, 4)
                for kind, count in Counter(k for one in found for k in one).items()
            }
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=20_000)
    parser.add_argument("--secrets", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--number", type=int, default=2_000, help="texts of each form")
    given = parser.parse_args()
    wanted = {name: kind for name, (kind, _) in FORMS.items()}
    made = ((name, make) for name, (_, make) in FORMS.items())
    report = {
        "planted": planted(given.users, given.secrets, given.seed),
        "recall_by_form": shares(made, given.seed, wanted, given.number),
        "false_alarms_by_form": shares(PLAIN.items(), given.seed, None, given.number),
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
