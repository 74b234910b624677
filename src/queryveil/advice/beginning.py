"""The first recipe of a log: columns as they were guessed, and a method that is expected to publish something."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from queryveil.advice.proposal import propose
from queryveil.errors import UsageError
from queryveil.mechanisms import Mechanism
from queryveil.mechanisms.steered import Steered
from queryveil.parameters import parameters
from queryveil.reading.log import SearchLog, read
from queryveil.release.about import About
from queryveil.release.recipes.recipe import Recipe

_NAMED = frozenset({"tsv", "csv", "jsonl", "parquet", "feather", "orc", "sqlite", "duckdb", "excel"})
"""Formats whose columns may be named."""
_SAMPLES = 3


def init(
    log: str | Path | Sequence[str | Path],
    *,
    opened: SearchLog | None = None,
    method: Mechanism | None = None,
    users: int | None = None,
    ledger: str | None = None,
    source: str | None = None,
    out: str = "release",
    about: About | None = None,
    samples: bool = False,
    **reading: Any,
) -> Recipe:
    """A recipe to begin with. What it guesses and proposes is to be checked by its curator; nothing is published.

    log: files, folders or globs of the log; `opened` is the log, if it was read already.
    method: the method with its parameters; left out, the one that `propose` finds, which looks at the log.
    users: a public upper bound on the number of users.
    ledger, source: the ledger to charge, and the name of the log in it.
    out: the release folder.
    about: what the publisher says of the release.
    samples: put three values of each column into the recipe, as comments. They are personal data.
    reading: options of `queryveil.read`, which the recipe keeps.
    """
    files = (log,) if isinstance(log, str | os.PathLike) else tuple(log)
    if "-" in files:
        raise UsageError("a recipe needs a log that can be read again", "name files instead of -")
    found = opened if opened is not None else read(log, **reading)
    kept = {name: value for name, value in reading.items() if value is not None and name != "columns"}
    columns = reading.get("columns")
    if found.staged is not None:
        kept.setdefault("format", found.staged.format)
        if columns is None and found.staged.format in _NAMED and found.staged.mapping:
            columns = {name: _column_name(at) for name, at in found.staged.mapping.items()}
    chosen = method if method is not None else _propose_method(found)
    return Recipe(
        log=tuple(os.fspath(one) for one in files),
        columns=columns,
        reading={name: value for name, value in kept.items() if not _is_usual_name(name, value)},
        method=chosen.name,
        parameters=_given_parameters(chosen),
        users=users,
        ledger=ledger,
        source=source,
        out=out,
        about=about or About(),
        samples=_sample_values(found) if samples else {},
    )


def _propose_method(log: SearchLog) -> Mechanism:
    """The method that is expected to publish enough; where none is, the one that usually finds the most."""
    proposal = propose(log)
    if proposal.option is not None:
        return proposal.option.mechanism
    return Steered(epsilon=1.0, delta=proposal.delta, items=("keywords",))


def _column_name(at: str) -> str | int:
    """A column by its name, or by its number where it has none."""
    number = at.removeprefix("column ")
    return int(number) if number != at and number.isdecimal() else at


def _is_usual_name(name: str, value: Any) -> bool:
    defaults = {"engine": "duckdb", "session_gap_minutes": 30, "max_rejected": 0.05, "segment": False}
    return bool(defaults.get(name) == value)


def _given_parameters(method: Mechanism) -> dict[str, Any]:
    """All parameters that have a value: a default that changes some day does not change the recipe."""
    values = {one.name: getattr(method, one.name) for one in parameters(type(method))}
    return {name: value for name, value in values.items() if value is not None}


def _sample_values(log: SearchLog) -> Mapping[str, tuple[str, ...]]:
    """Some values of each column, as the log has them."""
    found = log.engine.arrow(log.source.limit(1_000))
    return {
        name: tuple(dict.fromkeys(str(one) for one in found[name].to_pylist() if one is not None))[:_SAMPLES]
        for name in log.columns
    }
