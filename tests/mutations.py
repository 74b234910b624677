"""Releases of every method, and every change of one leaf of a manifest, with documents and digests that fit."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import queryveil as qv
from queryveil.files import folder
from queryveil.mechanisms.steered import Steered
from queryveil.mechanisms.weighted_gaussian import WeightedGaussian
from queryveil.release.documents import rendering
from tests.conftest import at

DATA = Path(__file__).parent / "data"
METHODS: dict[str, qv.Mechanism] = {
    "zealous": qv.Zealous(epsilon=2, delta=1e-4, max_items=2, guarantee="probabilistic"),
    "zealous-approximate": qv.Zealous(
        epsilon=3, delta=1e-4, max_items=2, items=("keywords", "queries"), guarantee="approximate"
    ),
    "zealous-public": qv.Zealous(
        epsilon=2, delta=1e-4, max_items=2, public=str(DATA / "public-items.txt"), public_z=3.5
    ),
    "steered-public": qv.Steered(
        epsilon=8, delta=5e-4, max_items=20, public=str(DATA / "public-items.txt"), public_z=3.5
    ),
    "weighted-gaussian-public": qv.WeightedGaussian(
        epsilon=8, delta=5e-4, max_items=5, public=str(DATA / "public-items.txt"), public_z=3
    ),
    "zealous-itemsets": qv.Zealous(epsilon=3, delta=1e-4, max_items=2, items=("itemsets-of-3",)),
    "click-graph": qv.ClickGraph(
        epsilon=4,
        delta=1e-4,
        max_queries=2,
        epsilon_clicks=2,
        urls="private",
        delta_clicks=1e-4,
        epsilon_reformulations=2,
        delta_reformulations=1e-4,
    ),
    "steered": Steered(epsilon=8, delta=5e-4, max_items=20),
    "weighted-gaussian": WeightedGaussian(epsilon=8, delta=5e-4, max_items=5, neighbours="replace"),
    "click-graph-steered": qv.ClickGraph(epsilon=8, delta=1e-4, selection="steered", max_queries=5),
    "k-query": qv.KQuery(k=5),
    "k-session": qv.KSession(k=5),
    "k-keyword": qv.KKeyword(k=5),
    "token-hash": qv.TokenHash(),
    "ad-hoc": qv.AdHoc(steps=("scrub", "hash-users", "drop-infrequent"), min_users=2),
    "clump": qv.Clump(k=5),
    "partition": qv.Partition(k=5),
    "semantic": qv.Semantic(epsilon=2, max_phrases=2),
    "profile-histogram": qv.ProfileHistogram(epsilon=2, max_queries=2),
    "truncated-geometric": qv.TruncatedGeometric(epsilon=2, delta=1e-4, max_items=2),
    "truncated-geometric-replace": qv.TruncatedGeometric(
        epsilon=4, delta=1e-4, items=("keywords", "queries"), neighbours="replace"
    ),
}
VARIANTS: dict[str, qv.Mechanism] = {
    "click-graph-two-tables": qv.ClickGraph(
        epsilon=8, delta=1e-4, selection="steered", shares=(3, 0, 1), decoys=0.5, counts_share=0.1
    ),
    "ad-hoc-sessions": qv.AdHoc(steps=("scrub", "shorten-sessions"), max_session=2, regions=("GB", "US")),
    "ad-hoc-shares": qv.AdHoc(steps=("drop-infrequent", "secret-sharing"), min_users=3, k=4),
    "clump-queries": qv.Clump(k=5, transactions="queries"),
    "clump-whole": qv.Clump(k=5, whole_queries=True, algorithm="paper"),
    "partition-queries": qv.Partition(k=5, transactions="queries"),
    "partition-whole": qv.Partition(k=5, whole_queries=True),
    "token-hash-digits": qv.TokenHash(digits=12),
    "semantic-words": qv.Semantic(epsilon=2, keep_words="modifiers", pad=False),
    "semantic-whole": qv.Semantic(epsilon=2, max_phrases=2, whole_queries=True),
    "steered-both": Steered(epsilon=8, delta=5e-4, items=("queries", "clicks"), max_items=20),
    "steered-replace": Steered(
        epsilon=8, delta=5e-4, max_items=20, neighbours="replace", rounds=4, length_prior=True, keep="first"
    ),
    "zealous-added": qv.Zealous(epsilon=3, delta=1e-4, max_items=2, neighbours="add-remove"),
    "zealous-split": qv.Zealous(
        epsilon=4,
        delta=1e-4,
        max_items=2,
        items=("keywords", "queries"),
        epsilon_split=(1, 3),
        keep="frequent",
    ),
}
"""Other settings, for parameters that METHODS leave as they are."""


def log() -> qv.SearchLog:
    texts = ["tennis lessons", "cheap measles cure", "tennis", "boxing near me"]
    rows = [(f"u{user}", at(place), text) for user in range(60) for place, text in enumerate(texts)]
    user, time, query = zip(*rows, strict=True)
    urls = [f"http://{text.split()[0]}.example" for text in query]
    return qv.read(pa.table({"user": user, "time": time, "query": query, "url": urls}))


def published(place: Path, methods: Mapping[str, qv.Mechanism] = METHODS) -> dict[str, Path]:
    """A release of every method."""
    source, made = log(), {}
    for name, method in methods.items():
        made[name] = place / name
        qv.publish(source, method, out=made[name], i_understand=True)
    return made


def manifest_of(release: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((release / "manifest.json").read_text(encoding="utf-8"))
    return content


def leaves(value: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The places of all single values."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from leaves(inner, (*at, name))
    elif isinstance(value, list) and value:
        for number, inner in enumerate(value):
            yield from leaves(inner, (*at, number))
    else:
        yield at


def another(value: Any) -> Any:
    """A value of the same type that is not this one, and as close to it as possible."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * (1 + 2**-50) if value else 1e-300
    if isinstance(value, str):
        return _CHOICES.get(value, value + " measles")
    return "measles" if value is None else [*value, "measles"] if isinstance(value, list) else {"measles": 1}


_CHOICES = {
    "random": "frequent",
    "tight": "paper",
    "keep": "drop",
    "increase": "total",
    "signature": "input",
    "exact": "paper",
    "users": "queries",
    "occurrences": "users",
    "sqc1": "nsqc",
    "approximate": "probabilistic",
    "probabilistic": "approximate",
    "reuse": "fresh",
    "threshold": "steered",
    "steered": "threshold",
    "none": "function",
    "add-remove": "replace",
    "replace": "add-remove",
    "better": "paper",
}


def changed(content: dict[str, Any], at: tuple[str | int, ...]) -> dict[str, Any]:
    """A copy with one leaf changed."""
    copied = copy.deepcopy(content)
    inner: Any = copied
    for name in at[:-1]:
        inner = inner[name]
    last: Any = at[-1]
    inner[last] = _FORMS[at] if at in _FORMS else another(inner[last])
    return copied


_FORMS: dict[tuple[str | int, ...], str] = {("created",): "2001-01-01"}
"""What is of a form that can be kept."""


def write_again(release: Path, content: dict[str, Any], *, with_documents: bool) -> None:
    """A manifest in its place; with documents that say what it says, and their digests, if they can be written."""
    if with_documents:
        tables = {name: pq.read_table(release / f"{name}.parquet") for name in content["tables"]}
        stated = content["files"]
        content["files"] = {name: entry for name, entry in stated.items() if name not in rendering.NAMES}
        for name, text in rendering.render_documents(content, tables):
            (release / name).write_bytes(text)
    (release / "manifest.json").write_text(folder.as_json(content), encoding="utf-8")


def copied(release: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    return shutil.copytree(release, to)
