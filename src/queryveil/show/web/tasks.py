"""What jobs do, each by public names alone: read, inspect, make a pilot, advise, publish, attack."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

import queryveil as qv

SHOWN_ROWS = 5
_LONGEST_SHOWN = 200


class Telling(Protocol):
    """How a task says how far it is."""

    def stage(self, name: str, sentence: str = "") -> None: ...

    def progress(self, done: int, whole: int) -> None: ...


Task = Callable[[dict[str, Any], Telling, Path], Any]


def _log(asked: Mapping[str, Any], told: Telling) -> qv.SearchLog:
    told.stage("read")
    return qv.read(asked["path"], progress=told.progress, **asked["how"])


def read(asked: dict[str, Any], told: Telling, _: Path) -> dict[str, Any]:
    """Which column is what, how many rows there are, and which were rejected and why."""
    log = _log(asked, told)
    told.stage("count", "users and columns")
    staged = log.staged
    rows = log.engine.arrow(log.source.limit(SHOWN_ROWS)).to_pylist()
    return {
        "rows": log.rows,
        "users": log.users,
        "has": list(log.columns),
        "format": staged.format if staged else None,
        "columns": dict(staged.mapping) if staged else {},
        "ignored": list(staged.ignored) if staged else [],
        "empty": staged.empty_queries if staged else None,
        "rejected": staged.rejected if staged else 0,
        "reasons": dict(staged.reasons) if staged else {},
        "examples": [
            {"file": one.file, "line": one.line, "reason": one.reason}
            for one in (staged.examples if staged else ())
        ],
        "notes": list(staged.notes) if staged else [],
        "passed_over": dict(staged.passed_over) if staged else {},
        "samples": [{name: _short(row.get(name)) for name in log.columns} for row in rows],
    }


def _short(value: Any) -> str | None:
    if value is None:
        return None
    text = str(value)
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


def inspect(asked: dict[str, Any], told: Telling, _: Path) -> dict[str, Any]:
    """The risk at a glance, and a first release that is worth a try."""
    log = _log(asked, told)
    told.stage("inspect", "who is unique, what queries give away")
    found = qv.inspect(log)
    told.stage("propose", "a first release that is worth a try")
    proposal = qv.propose(log)
    option = proposal.option
    proposed = None
    if option is not None:
        proposed = {"method": option.method, "given": _given(option.mechanism)}
    return found.as_dict() | {"verdict": proposal.verdict, "proposed": proposed, "delta": proposal.delta}


def _given(method: qv.Mechanism) -> dict[str, Any]:
    from queryveil.parameters import parameters

    found = {}
    for one in parameters(type(method)):
        value = getattr(method, one.name)
        if value is not None and value != one.default:
            found[one.name] = list(value) if isinstance(value, tuple) else value
    return found


TASKS: dict[str, Task] = {"read": read, "inspect": inspect}
