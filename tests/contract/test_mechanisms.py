"""One contract for every registered mechanism: what its declaration promises to command line, report and verifier."""

from __future__ import annotations

import dataclasses
import inspect
import json
import math
from pathlib import Path
from typing import Any

import pytest

import queryveil as qv
from queryveil.parameters import parameters
from queryveil.privacy.guarantee import PRIVATE_KINDS

EXAMPLES: dict[str, dict[str, Any]] = {
    "zealous": {"epsilon": 4, "delta": 0.1, "max_items": 3},
    "click-graph": {"epsilon": 4, "delta": 0.1, "max_queries": 3},
    "k-query": {"k": 3},
    "k-session": {"k": 3},
    "k-keyword": {"k": 3},
    "token-hash": {},
    "ad-hoc": {"steps": ("scrub", "drop-infrequent", "hash-users"), "min_users": 2},
    "clump": {"k": 5},
    "partition": {"k": 5},
    "semantic": {"epsilon": 4},
    "profile-histogram": {"epsilon": 4, "max_queries": 3, "domain": "disease"},
}
"""Working parameters of each mechanism; a new mechanism adds a line."""

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(params=list(qv.MECHANISMS))
def method(request: pytest.FixtureRequest) -> qv.Mechanism:
    return qv.MECHANISMS[request.param](**EXAMPLES[request.param])


def test_every_mechanism_has_an_example() -> None:
    assert set(EXAMPLES) == set(qv.MECHANISMS)


def test_it_is_a_frozen_value(method: qv.Mechanism) -> None:
    assert dataclasses.is_dataclass(method) and hash(method) == hash(dataclasses.replace(method))
    with pytest.raises(dataclasses.FrozenInstanceError):
        method.epsilon = 1  # type: ignore[attr-defined]


def test_every_field_is_declared_with_a_sentence(method: qv.Mechanism) -> None:
    declared = {one.name: one for one in parameters(type(method))}
    assert set(declared) == {one.name for one in dataclasses.fields(method)}  # type: ignore[arg-type]
    assert all(len(one.declaration.help) > 10 for one in declared.values())
    assert (inspect.getdoc(type(method)) or "").endswith(".")


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf, -1, "many", True])
def test_wrong_numbers_are_refused_by_name(method: qv.Mechanism, wrong: Any) -> None:
    numbers = [
        one for one in parameters(type(method)) if one.type in (int, float) and not one.declaration.many
    ]
    assert numbers
    for one in numbers:
        with pytest.raises(qv.UsageError, match=f"parameter '{one.name}' must be"):
            dataclasses.replace(method, **{one.name: wrong})  # type: ignore[type-var]


def test_the_plan_needs_no_data_and_is_json(method: qv.Mechanism) -> None:
    plan = method.plan(users=1_000)
    again = json.loads(json.dumps(plan.as_dict(), allow_nan=False))
    assert again["method"] == method.name
    assert qv.Guarantee.from_dict(again["guarantee"]).headline == plan.guarantee.headline
    assert method.plan(users=1_000) == plan, "the same parameters give the same plan"


def test_a_private_guarantee_names_unit_neighbours_and_assumptions(method: qv.Mechanism) -> None:
    guarantee = method.plan(users=1_000).guarantee
    if guarantee.kind in PRIVATE_KINDS:
        assert guarantee.unit == "user" and guarantee.neighbours and guarantee.assumptions
        assert float(guarantee.epsilon or 0) > 0 and 0 <= float(guarantee.delta or 0) < 1


def test_it_publishes_a_folder_that_verifies(method: qv.Mechanism, generated: Path, tmp_path: Path) -> None:
    release = qv.publish(qv.read(generated), method, out=tmp_path / "out", i_understand=True)
    assert sum(release.released.values()) > 0
    assert qv.verify(tmp_path / "out").passed, qv.verify(tmp_path / "out").failed
    for table in release.tables.values():
        if "count" not in table.column_names:  # rows of a log may repeat
            continue
        assert table.num_rows == len({tuple(row.values()) for row in table.to_pylist()})


def test_it_has_a_proof_page(method: qv.Mechanism) -> None:
    assert (DOCS / "proofs" / f"{method.name}.md").read_text().startswith("# ")
