"""Make the stored cases of the methods.

    python -m tests.frozen.make_methods                        add new cases, with the answers of the code that runs
    python -m tests.frozen.make_methods --declare REASON ID... declare that cases differ from their frozen answers

Logs are made once, from a seed, and stored. A case that is stored already keeps its answer.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import queryveil as qv
from queryveil.count.item_kinds import KINDS
from tests.frozen.method_cases import answer, logs
from tests.frozen.store import FOLDER, declare, load_group, save_group

Case = dict[str, Any]
WORDS = [
    "diabetes",
    "asthma",
    "cancer",
    "flu",
    "fever",
    "guitar",
    "piano",
    "violin",
    "trumpet",
    "rose",
    "tulip",
    "lily",
    "cat",
    "dog",
    "horse",
    "paris",
    "london",
    "berlin",
    "rome",
    "cheap",
    "used",
    "best",
    "new",
    "red",
    "blue",
    "green",
    "history",
    "of",
    "the",
    "price",
    "map",
    "weather",
]
MESSY = ('"{}"', " {} ", "{}  ", "\t{}\x00", "'{}", "“{}”", "{}!", "{}\u3000")
NON_ASCII = ("café münchen", "稀有兰花", "ΣΊΣΥΦΟΣ", "İstanbul", "straße", "ﬁsh", "🐈 food", "e\u0301cole")


def query_pool(rng: random.Random, size: int) -> list[str]:
    pool: list[str] = [*NON_ASCII]
    while len(pool) < size:
        text = " ".join(rng.sample(WORDS, rng.choice((1, 1, 2, 2, 3, 4))))
        if text not in pool:
            pool.append(text)
    return pool


def make_log(seed: int, users: int, pool_size: int, heavy: int) -> dict[str, list[Any]]:
    """Make a log in which a few queries are frequent, spellings vary, and a few users have very many queries."""
    rng = random.Random(seed)
    pool = query_pool(rng, pool_size)
    weights = [1 / (rank + 2) for rank in range(len(pool))]
    rows: list[tuple[Any, ...]] = []
    for user in range(users):
        time = 1_141_171_200 + rng.randrange(86_400)
        number = 200 if user < heavy else rng.choice((1, 2, 4, 9, 15))
        for _ in range(number):
            time += rng.choice((0, 20, 60, 300, 2_400))
            text = rng.choices(pool, weights)[0] if number < 200 else rng.choice(pool)
            url = f"u{rng.randrange(3)}.example/{text[:3]}" if rng.random() < 0.5 else None
            if rng.random() < 0.15:
                text = rng.choice(MESSY).format(text.upper() if rng.random() < 0.5 else text)
            rows.append((f"person {user}", time, None if rng.random() < 0.02 else text, url))
    rng.shuffle(rows)
    columns = [list(column) for column in zip(*rows, strict=True)]
    return dict(zip(("user", "time", "query", "url"), columns, strict=True))


def make_logs() -> dict[str, Any]:
    people = make_log(1, users=400, pool_size=260, heavy=4)
    few = make_log(2, users=40, pool_size=30, heavy=0)
    return {
        "people": people,
        "few": few,
        "timeless": {name: people[name] for name in ("user", "query")},
        "empty queries": {"user": ["a", "b"], "time": [0, 1], "query": ["", ' " '], "url": [None, None]},
    }


LIST = ["rose", "Red  Rose", "cat", "weather", "no such query", "café münchen", "new piano"]
CLICKS = [f"{query}\tu{at}.example/{query[:3]}" for query in ("cat", "rose", "weather") for at in range(3)]
GAUSSIAN = {"epsilon": 3, "delta": 1e-3, "max_items": 20}
ZEALOUS = {"epsilon": 3, "delta": 0.05, "max_items": 3}
GRAPH = {"epsilon": 4, "delta": 0.1, "max_queries": 3}
STEERED_GRAPH = {"epsilon": 8, "delta": 1e-2, "selection": "steered", "max_queries": 20}
COUNTING = {
    "steered": GAUSSIAN,
    "weighted-gaussian": {**GAUSSIAN, "max_items": 5},
    "zealous": ZEALOUS,
    "truncated-geometric": {"epsilon": 4, "delta": 1e-3, "max_items": 3},
}
EVERYTHING = {"noise_scale": 1e-3, "second_threshold": 0, "tau": 1}
"""With zero noise, zealous then counts every kept item."""
TIMED = {"queries", "keywords", "query-pairs", "clicks"}


def published() -> Iterator[tuple[str, Case]]:
    for name, given in COUNTING.items():
        for kind in KINDS:
            log = "few" if KINDS[kind].is_set else "people"
            yield f"{name} {kind}", {"method": name, "log": log, "parameters": {**given, "items": kind}}
        for keep in ("first", "frequent"):
            yield f"{name} {keep}", {"method": name, "log": "people", "parameters": {**given, "keep": keep}}
        several = {**given, "items": ["queries", "keywords"]}
        yield f"{name} two kinds", {"method": name, "log": "people", "parameters": several}
        replace = {**given, "neighbours": "replace"}
        yield f"{name} replace", {"method": name, "log": "people", "parameters": replace}
        listed = {"method": name, "log": "people", "parameters": given, "lists": {"public": LIST}}
        yield f"{name} public list", listed
        clicks = {**listed, "parameters": {**given, "items": "clicks"}, "lists": {"public": CLICKS}}
        yield f"{name} public list of clicks", clicks
        yield f"{name} without times", {"method": name, "log": "timeless", "parameters": given}
        yield f"{name} without items", {"method": name, "log": "empty queries", "parameters": given}
    yield "steered length prior", _of("steered", GAUSSIAN | {"length_prior": True})
    yield "zealous probabilistic", {**_of("zealous", ZEALOUS | {"guarantee": "probabilistic"}), "users": 400}
    clicks_too = ZEALOUS | {"then_clicks": True}
    yield "zealous then clicks", {**_of("zealous", clicks_too), "lists": {"results": CLICKS}}
    for most in (1, 3, 63, 64, 65, 66, 1000):
        yield f"zealous all of {most}", _of("zealous", EVERYTHING | {"max_items": most})
        keywords = EVERYTHING | {"max_items": most, "items": "keywords"}
        yield f"zealous all keywords of {most}", _of("zealous", keywords)
    for name in ("k-query", "k-session", "k-keyword", "token-hash", "ad-hoc", "clump", "partition"):
        yield name, _of(name, dict(qv.MECHANISMS[name].example))
    yield "semantic", {**_of("semantic", {"epsilon": 4}), "log": "few"}
    yield "profile-histogram", _of("profile-histogram", dict(qv.MECHANISMS["profile-histogram"].example))
    yield from graphs()


def graphs() -> Iterator[tuple[str, Case]]:
    lists = {"lists": {"results": CLICKS}}
    price = {"epsilon_clicks": 2, "epsilon_reformulations": 2}
    private = {"urls": "private", "delta_clicks": 0.05, "delta_reformulations": 0.05}
    suggestions = {"suggestions": ["cat\tdog", "rose\ttulip", "weather\tmap"]}
    yield "click-graph", _of("click-graph", GRAPH)
    for by in ("occurrences", "users"):
        given = GRAPH | price | private | {"count_by": by}
        yield f"click-graph private by {by}", _of("click-graph", given)
        public = {**lists["lists"], **suggestions}
        yield (
            f"click-graph public by {by}",
            _of("click-graph", GRAPH | price | {"count_by": by}) | {"lists": public},
        )
    yield "click-graph clicked", _of("click-graph", GRAPH | {"urls": "clicked", "epsilon_clicks": 2})
    grouped = GRAPH | {"group_queries": "words", "non_negative": True}
    yield "click-graph grouped", _of("click-graph", grouped)
    yield "click-graph fresh", _of("click-graph", GRAPH | {"counts": "fresh", "epsilon_counts": 1})
    yield "click-graph public list", _of("click-graph", GRAPH) | {"lists": {"public": LIST}}
    yield "click-graph steered", _of("click-graph", STEERED_GRAPH)
    yield "click-graph steered replace", _of("click-graph", STEERED_GRAPH | {"neighbours": "replace"})
    yield "click-graph steered grouped", _of("click-graph", STEERED_GRAPH | {"group_queries": "words"})
    yield "click-graph steered public list", _of("click-graph", STEERED_GRAPH) | {"lists": {"public": LIST}}
    shares = {"shares": [70, 0, 30], "decoys": 0.1, "non_negative": True}
    yield "click-graph steered without clicks", _of("click-graph", STEERED_GRAPH | shares)


def _of(method: str, given: dict[str, Any]) -> Case:
    return {"method": method, "log": "people", "parameters": given}


def kept() -> Iterator[tuple[str, Case]]:
    for kind in KINDS:
        for keep in ("random", "first", "frequent"):
            for most in (1, 3, 64, 65) if kind in TIMED else (1, 7):
                log = "few" if KINDS[kind].is_set else "people"
                bound = {"kind": kind, "most": most, "keep": keep}
                yield f"{kind} {keep} {most}", {"log": log, "bound": bound}
    for most in (1, 3, 64, 65):
        bound = {"kind": "queries", "most": most, "keep": "random"}
        yield f"without times {most}", {"log": "timeless", "bound": bound}


def draws_in_order(name: str, case: Case) -> bool:
    """Return whether noise goes to items in an order that rows and key decide, and not the engine's threads."""
    if case["method"] in ("zealous", "truncated-geometric"):
        return name.endswith((" queries", " keywords", " replace", " two kinds", " of 3"))
    return case["method"] != "click-graph" or case["parameters"].get("selection") == "steered"


def cases() -> Iterator[tuple[str, Case]]:
    for name, case in published():
        yield f"published/{name} (zero noise)", case
        if draws_in_order(name, case):
            yield f"published/{name} (seeded noise)", {**case, "seed": 5}
    for name, case in kept():
        yield f"kept/{name}", case


def answer_of(case: Case) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        return answer(case, Path(folder))


def add_missing() -> None:
    """Store the logs and cases that are not stored yet, with their answers."""
    if not (FOLDER / "methods/logs.json.xz").exists():
        save_group("methods/logs", make_logs())
    stored: dict[str, dict[str, Any]] = {}
    for case_id, case in cases():
        group = case_id.partition("/")[0]
        if group not in stored:
            there = (FOLDER / f"methods/{group}.json.xz").exists()
            stored[group] = load_group(f"methods/{group}") if there else {}
        if case_id not in stored[group]:
            stored[group][case_id] = {**case, "answer": answer_of(case)}
    for group, found in stored.items():
        save_group(f"methods/{group}", found)
        refused = [one for one, case in found.items() if "refused" in case["answer"]]
        sys.stdout.write(f"{group}: {len(found)} cases, refused: {refused}\n")


if __name__ == "__main__":
    logs.cache_clear()
    if sys.argv[1:2] == ["--declare"]:
        declare(sys.argv[2], sys.argv[3:], "methods", answer_of)
    else:
        add_missing()
