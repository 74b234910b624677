"""Every declared difference belongs to a frozen case."""

from __future__ import annotations

from tests.frozen.store import FOLDER, load_differences, load_group


def test_every_declared_difference_belongs_to_a_case() -> None:
    groups = [str(file.relative_to(FOLDER)).removesuffix(".json.xz") for file in FOLDER.rglob("*.json.xz")]
    known = {case_id for group in groups for case_id in load_group(group)}
    assert load_differences().keys() <= known
