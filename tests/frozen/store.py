"""Stored inputs and answers: what queryveil answered when a case was stored, and every justified difference since.

`tests/data/frozen` holds one compressed JSON document for each group of cases. Answers in it never change. A difference
that is intended is declared in `differences.json`, which pins the new answer of each case next to the reason.
"""

from __future__ import annotations

import json
import lzma
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "data" / "frozen"
DIFFERENCES = FOLDER / "differences.json"

Answer = dict[str, Any]
"""A JSON value: equal answers are equal after a round trip through JSON."""


def as_json(value: Any) -> Any:
    """Return the value as JSON reads it back, so that tuples and lists compare equal."""
    return json.loads(json.dumps(value))


def load_group(name: str) -> dict[str, Any]:
    """Return the cases of one group by id."""
    cases: dict[str, Any] = json.loads(lzma.decompress((FOLDER / f"{name}.json.xz").read_bytes()))
    return cases


def save_group(name: str, cases: Mapping[str, Any]) -> None:
    text = json.dumps(cases, ensure_ascii=False, separators=(",", ":"))
    packed = lzma.compress(text.encode("utf-8", "surrogatepass"), preset=9 | lzma.PRESET_EXTREME)
    file = FOLDER / f"{name}.json.xz"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(packed)


def load_differences() -> dict[str, dict[str, Any]]:
    """Return the declared differences by case id: a reason, and the fields of the answer that changed."""
    found: dict[str, dict[str, Any]] = json.loads(DIFFERENCES.read_text(encoding="utf-8"))
    return found


def save_differences(found: Mapping[str, Any]) -> None:
    text = json.dumps(dict(sorted(found.items())), indent=1, ensure_ascii=True)
    DIFFERENCES.write_text(text + "\n", encoding="utf-8")


def declare(reason: str, ids: Sequence[str], kind: str, answer_of: Callable[[Answer], Answer]) -> None:
    """Record that cases answer differently now, and why."""
    declared = load_differences()
    for case_id in ids:
        one = load_group(f"{kind}/{case_id.partition('/')[0]}")[case_id]
        changed = changed_fields(one["answer"], answer_of(one))
        if changed:
            declared[case_id] = {"reason": reason, "changed": changed}
        else:
            declared.pop(case_id, None)
    save_differences(declared)


def changed_fields(before: Answer, now: Answer) -> Answer:
    """Return the fields of an answer that differ, with the new values; None for a field that is gone."""
    names = sorted(before.keys() | now.keys())
    return {name: now.get(name) for name in names if before.get(name) != now.get(name)}


def expected_answer(case_id: str, frozen: Answer) -> Answer:
    """Return the frozen answer with the declared difference applied."""
    declared = load_differences().get(case_id)
    if declared is None:
        return frozen
    assert declared["reason"].strip(), f"the difference of {case_id} has no reason"
    gone = {name for name, value in declared["changed"].items() if value is None}
    merged = {name: value for name, value in {**frozen, **declared["changed"]}.items() if name not in gone}
    assert merged != frozen, (
        f"{case_id} is declared as different, and its answer is the frozen one: delete it"
    )
    return merged
