"""Releases of format 1, written until 0.2: their manifests, with the declarations that their parameters give.

Format 1 had sentences without codes, no draws, and tables without declarations. All of these follow from method and
parameters, so that an old release is read and checked by the same code as a new one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from queryveil.errors import InputError
from queryveil.files import folder
from queryveil.mechanisms import MECHANISMS, Plan
from queryveil.parameters import present
from queryveil.privacy.statements import QUESTIONS, VERDICTS, Statement
from queryveil.release import planned

_ANSWER = re.compile(rf"({'|'.join(VERDICTS.values())})(?:[.] |, )(.*)", re.DOTALL)

_ADDED = ("whole_queries", "selection", "neighbours", "group_queries")
"""Parameters that some releases of format 1 do not state: they have the value from before there was a choice."""


def upgraded(content: Mapping[str, Any], taxonomy: Path | None = None) -> dict[str, Any]:
    """A manifest of format 1 as one of format 2; its numbers and its sentences stay."""
    given = present(MECHANISMS[content["method"]], content["parameters"])
    content = dict(content) | {"parameters": given}
    plans = list(planned.plans(content, taxonomy))
    if not plans:
        raise InputError("the method does not take these parameters", "fetch the release again")
    # What a plan fills in stands last: the order tells what was given.
    in_order = (one for one in plans if [name for name in one.parameters if name in given] == list(given))
    plan = next(in_order, plans[0])
    made = dict(content) | {"format_version": folder.FORMAT_VERSION}
    made["parameters"] = {
        name: given.get(name, value)
        for name, value in plan.parameters.items()
        if name in given or name in _ADDED
    } | given
    made["guarantee"] = _guarantee(content["guarantee"], plan)
    made["draws"] = [one.as_dict() for one in plan.draws]
    declared = {one.name: one.as_dict() for one in plan.tables}
    made["tables"] = {
        name: {"file": given["file"], "rows": given["rows"], **declared[name], "columns": given["columns"]}
        for name, given in content["tables"].items()
    }
    lines = content.get("assessment") or ()
    if lines:
        made["assessment"] = [_answered(line) for line in lines]
    return made


def _guarantee(given: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    promise = plan.guarantee
    made = dict(given)
    for name in ("assumptions", "caveats"):
        made[name] = _coded(given.get(name) or (), getattr(promise, name))
    if given.get("parts"):
        made["parts"] = [
            dict(part)
            | {name: _coded(part.get(name) or (), getattr(own, name)) for name in ("assumptions", "caveats")}
            for part, own in zip(given["parts"], promise.parts, strict=True)
        ]
    return made


def _coded(sentences: Sequence[str], today: Sequence[Statement]) -> list[dict[str, Any]]:
    """Old sentences under the codes that the same statements have today; one more or less has no code."""
    if len(sentences) != len(today):
        same = {one.sentence: one.code for one in today}
        return [{"code": same.get(one, ""), "sentence": one} for one in sentences]
    return [own.as_dict() | {"sentence": one} for one, own in zip(sentences, today, strict=True)]


def _answered(line: str) -> dict[str, Any]:
    """'Singling out: Yes. The rows ...' as a statement."""
    name, _, said = line.partition(": ")
    code = name.lower().replace(" ", "-")
    found = _ANSWER.match(said) if code in QUESTIONS else None
    if found is None:
        return {"code": code, "sentence": said}
    verdict = next(one for one, words in VERDICTS.items() if words == found[1])
    sentence = found[2][:1].upper() + found[2][1:]
    return {"code": code, "sentence": sentence, "fields": {"verdict": verdict}}
