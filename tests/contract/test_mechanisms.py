"""One contract for every registered mechanism: what its declaration promises to command line, report and verifier."""

from __future__ import annotations

import dataclasses
import html
import inspect
import json
import math
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import queryveil as qv
from queryveil.parameters import parameters
from queryveil.privacy.declarations import COUNTS, LINKS, TEXTS
from queryveil.privacy.guarantee import PRIVATE_KINDS
from queryveil.privacy.statements import QUESTIONS

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module", params=list(qv.MECHANISMS))
def method(request: pytest.FixtureRequest) -> qv.Mechanism:
    cls = qv.MECHANISMS[request.param]
    return cls(**cls.example)


@dataclass(frozen=True)
class Published:
    release: qv.Release
    folder: Path
    told: list[str]


@pytest.fixture(scope="module")
def published(method: qv.Mechanism, generated: Path, tmp_path_factory: pytest.TempPathFactory) -> Published:
    """One release of each mechanism, for all tests that look at one."""
    folder, told = tmp_path_factory.mktemp("contract") / "out", list[str]()
    release = qv.publish(
        qv.read(generated), method, out=folder, i_understand=True, told=lambda stage, _: told.append(stage)
    )
    return Published(release, folder, told)


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


def test_it_publishes_a_folder_that_verifies(published: Published) -> None:
    assert sum(published.release.released.values()) > 0
    verified = qv.verify(published.folder)
    assert verified.passes, verified.failed
    for table in published.release.tables.values():
        if "count" not in table.column_names:  # rows of a log may repeat
            continue
        assert table.num_rows == len({tuple(row.values()) for row in table.to_pylist()})


def test_it_says_what_it_holds_and_how_it_was_made(method: qv.Mechanism) -> None:
    plan = method.plan(users=1_000)
    assert len(plan.what) > 20 and not plan.what.endswith(".")
    assert len(plan.how) > 40 and plan.how.endswith(".")


def test_every_figure_of_the_calibration_has_a_label(method: qv.Mechanism) -> None:
    """Terminals show labelled figures only; what is beside them is nested, or a text."""
    plan = method.plan(users=1_000)
    numbers = {name for name, value in plan.calibration.items() if isinstance(value, int | float)}
    assert numbers <= set(plan.labels) | {"epsilon", "delta"}


def test_every_table_says_what_a_row_is(method: qv.Mechanism) -> None:
    plan = method.plan(users=1_000)
    assert plan.tables and len({one.name for one in plan.tables}) == len(plan.tables)
    for table in plan.tables:
        assert table.noun and table.row.endswith(".")
        assert table.texts in TEXTS and table.links in LINKS and table.counts in COUNTS
        assert all(column.help for column in table.columns), table.name
        assert {*table.unique, *table.order, *(name for name, _ in table.inside)} <= set(table.names)
        assert table.column("count") is None or table.counts


def test_a_private_guarantee_is_paid_for_by_declared_draws(method: qv.Mechanism) -> None:
    plan = method.plan(users=1_000)
    if plan.guarantee.kind not in PRIVATE_KINDS:
        return
    assert plan.draws and {draw.table for draw in plan.draws} <= {table.name for table in plan.tables}
    if plan.guarantee.kind == "gaussian-dp":  # these add up by mu^2 and p, at one epsilon
        assert sum((draw.mu or 0) ** 2 for draw in plan.draws) == pytest.approx((plan.guarantee.mu or 0) ** 2)
        assert sum(draw.p or 0 for draw in plan.draws) == pytest.approx(plan.guarantee.p)
    else:
        assert sum(draw.epsilon or 0 for draw in plan.draws) == pytest.approx(plan.guarantee.epsilon)
    assert all(draw.neighbours == plan.guarantee.neighbours for draw in plan.draws)


def test_statements_have_codes(method: qv.Mechanism) -> None:
    plan = method.plan(users=1_000)
    said = (*plan.guarantee.assumptions, *plan.guarantee.caveats, *plan.assessment)
    assert all(re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", one.code) and one.sentence for one in said)
    answered = [one.code for one in plan.assessment if one.code in QUESTIONS]
    assert answered in ([], list(QUESTIONS))


def test_it_tells_its_stages(published: Published) -> None:
    assert published.told[0] == "read" and len(set(published.told)) > 1


def test_it_is_saved_and_loaded_as_it_is(published: Published, tmp_path: Path) -> None:
    loaded = qv.load(published.folder)
    assert loaded.tables == published.release.tables and loaded.guarantee == published.release.guarantee
    loaded.save(tmp_path / "again")
    for file in published.folder.iterdir():
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes(), file.name


def test_its_page_has_a_title_and_a_caption_for_every_table(published: Published) -> None:
    plan = published.release.plan
    page = html.unescape((published.folder / "report.html").read_text(encoding="utf-8"))
    assert f"<h1>{plan.what}</h1>" in page
    assert all(f"Each row is {table.row[:1].lower()}{table.row[1:]}" in page for table in plan.tables)


def test_the_reference_page_is_current() -> None:
    done = subprocess.run(
        [sys.executable, str(DOCS.parent / "scripts" / "reference.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_it_has_a_proof_page(method: qv.Mechanism) -> None:
    assert (DOCS / "proofs" / f"{method.name}.md").read_text().startswith("# ")
