"""Releases of format 1, as earlier versions wrote them, are read and checked like those of today."""

from __future__ import annotations

import dataclasses
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import queryveil as qv
from queryveil.mechanisms.zealous import theory
from queryveil.parameters import present
from queryveil.verification.unchecked import FORMERLY_IN_WORDS
from tests import mutations
from tests.command import command
from tests.conftest import many

DATA = Path(__file__).parents[1] / "data" / "format-1"
NAMES = sorted(one.name for one in DATA.iterdir())


def test_these_are_of_format_1() -> None:
    assert len(NAMES) >= 11
    for name in NAMES:
        content = mutations.manifest_of(DATA / name)
        assert content["format_version"] == 1 and "draws" not in content


@pytest.mark.parametrize("name", NAMES)
def test_it_verifies(name: str) -> None:
    result = qv.verify(DATA / name)
    assert result.failed == ()
    assert any(line.startswith("DATASHEET.md") for line in result.not_checked)
    noisy = mutations.manifest_of(DATA / name)["guarantee"]["kind"].endswith("-dp")
    made = {check.name for check in result.checks}
    assert ({"draws", "guarantee"} <= made) == noisy
    assert "declared" in made


@pytest.mark.parametrize("name", NAMES)
def test_it_loads_with_the_declarations_of_its_parameters(name: str) -> None:
    release, stated = qv.load(DATA / name), mutations.manifest_of(DATA / name)
    assert release.plan.method == stated["method"] and release.created == stated["created"]
    assert [one.name for one in release.plan.tables] == list(stated["tables"])
    given = present(qv.MECHANISMS[stated["method"]], stated["parameters"])
    assert given.items() <= dict(release.plan.parameters).items()
    assert bool(release.plan.draws) == stated["guarantee"]["kind"].endswith("-dp")
    sentences = [str(one) for one in release.guarantee.caveats]
    assert sentences == stated["guarantee"]["caveats"]
    assert all(one.code for one in (*release.guarantee.caveats, *release.guarantee.assumptions))


@pytest.mark.parametrize("name", NAMES)
def test_it_is_saved_in_the_format_of_today(name: str, tmp_path: Path) -> None:
    qv.load(DATA / name).save(tmp_path / "again")
    content = mutations.manifest_of(tmp_path / "again")
    assert content["format_version"] == 2
    assert content["created"] == mutations.manifest_of(DATA / name)["created"]
    assert qv.verify(tmp_path / "again").failed == ()


@pytest.mark.parametrize("name", NAMES)
def test_it_can_be_reported_and_exported(name: str, tmp_path: Path) -> None:
    release = shutil.copytree(DATA / name, tmp_path / "release")
    for asked in (
        f"report {release} --out {tmp_path / 'page.html'}",
        f"release export {release} --csv {tmp_path / 'csv'}",
        f"release verify {release}",
    ):
        done = command(*asked.split())
        assert done.code == 0, (asked, done.err)


@pytest.mark.parametrize("name", ["zealous", "click-graph", "k-query"])
def test_it_can_be_evaluated(name: str, tmp_path: Path) -> None:
    release = shutil.copytree(DATA / name, tmp_path / "release")
    texts = {row[column] for file in release.glob("*.parquet") for row, column in _texts(file)}
    log = qv.read(many(60, sorted(texts)))
    assert qv.evaluate(log, qv.load(release)) is not None


def _texts(file: Path) -> Iterator[tuple[dict[str, Any], str]]:
    """Rows, and the column that has a query or words of one."""
    for row in pq.read_table(file).to_pylist():
        yield from ((row, column) for column in ("query", "keyword") if column in row)


def numbers(content: dict[str, Any]) -> Iterator[tuple[str | int, ...]]:
    """Places of numbers, but for digests' sizes, which stand for files."""
    for at in mutations.leaves(content):
        inner: Any = content
        for name in at:
            inner = inner[name]
        if isinstance(inner, int | float):
            yield at


@pytest.mark.parametrize("name", NAMES)
def test_it_fails_when_a_number_is_changed(name: str, tmp_path: Path) -> None:
    content = mutations.manifest_of(DATA / name)
    release = mutations.copied(DATA / name, tmp_path / "changed")
    names = FORMERLY_IN_WORDS.get(content["method"], ())
    survived = set()
    for at in numbers(content):
        mutations.write_again(release, mutations.changed(content, at), with_documents=False)
        if qv.verify(release).passed:
            survived.add(at)
    assert survived <= {("parameters", one) for one in names}


@pytest.mark.parametrize("name", NAMES)
def test_what_is_malformed_is_a_failed_check(name: str, tmp_path: Path) -> None:
    content = mutations.manifest_of(DATA / name)
    release = mutations.copied(DATA / name, tmp_path / "changed")
    others: list[Any] = [None, [], "x", {}, 3]
    for section in ("parameters", "guarantee", "tables", "method"):
        for junk in others:
            mutations.write_again(release, content | {section: junk}, with_documents=False)
            assert not qv.verify(release).passed, (section, junk)
            if junk != {} or section == "tables":  # parameters may all have defaults
                with pytest.raises(qv.InputError):
                    qv.load(release)


@pytest.mark.parametrize(("frequent", "right"), [(None, True), (1, True), (5, False)])
def test_a_release_may_state_corollary_1_for_either_threshold(
    tmp_path: Path, frequent: int | None, right: bool
) -> None:
    """Before 0.3.0 was out, `pure_dp` was of the first threshold, 1 here, and not of the second."""
    users = [f"u{number}" for number in range(40)]
    log = qv.read(pa.table({"user": users, "query": ["weather"] * 40}))
    method = qv.Zealous(epsilon=20, delta=1e-3, max_items=1, tau=1, guarantee="probabilistic")
    made = qv.publish(log, method, users=40, i_understand=True)
    if frequent is not None:
        figures = dict(made.plan.calibration)
        again = theory.impossibility(40, 1, frequent, 20.0)
        assert again != figures["pure_dp"]
        plan = dataclasses.replace(made.plan, calibration=figures | {"pure_dp": again})
        made = dataclasses.replace(made, plan=plan)
    made.save(tmp_path / "release")
    assert qv.verify(tmp_path / "release").passes is right
