"""Parameters that have another name than in earlier versions are understood by both, everywhere."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest

import queryveil as qv
from queryveil.parameters import Parameter, parameters, present
from tests.command import command

CLASSES: dict[str, Any] = {**qv.MECHANISMS, **qv.ATTACKS}


def renamed() -> Iterator[tuple[str, Parameter]]:
    for name, cls in CLASSES.items():
        yield from ((name, one) for one in parameters(cls) if one.declaration.was)


ALL = list(renamed())
GIVEN: dict[str, dict[str, Any]] = {
    "zealous": {"epsilon": 1, "delta": 1e-6},
    "click-graph": {"epsilon": 1, "delta": 1e-6},
    "sybil": {"epsilon": 1, "delta": 1e-6},
}


def test_what_was_renamed() -> None:
    assert {(name, one.declaration.was, one.name) for name, one in ALL} == {
        ("zealous", "promise", "guarantee"),
        ("click-graph", "count", "count_by"),
        ("sybil", "count", "count_by"),
    }


@pytest.mark.parametrize(("name", "one"), ALL, ids=str)
def test_both_names_make_the_same_value(name: str, one: Parameter) -> None:
    cls, old, value = CLASSES[name], str(one.declaration.was), (one.declaration.choices or ("",))[-1]
    new = cls(**GIVEN[name], **{one.name: value})
    assert cls(**GIVEN[name], **{old: value}) == new
    assert getattr(new, old) == getattr(new, one.name) == value
    assert dataclasses.replace(new) == new
    with pytest.raises(qv.UsageError, match=f"parameter '{one.name}' is given twice"):
        cls(**GIVEN[name], **{one.name: value, old: value})
    with pytest.raises(
        qv.UsageError, match=f"pass {one.name}= and leave {old}= out, also in dataclasses.repl"
    ):
        dataclasses.replace(new, **{old: value})
    assert present(cls, {old: value}) == {one.name: value}


@pytest.mark.parametrize("verb", ["plan zealous", "plan click-graph"])
def test_old_options_are_understood(verb: str) -> None:
    cls = qv.MECHANISMS[verb.split()[1]]
    (one,) = (one for one in parameters(cls) if one.declaration.was)
    for flag in (one.flag, one.former_flag):
        given = [str(flag), (one.declaration.choices or ("",))[-1]]
        done = command(*verb.split(), "--epsilon", "1", "--delta", "1e-6", *given, "--json")
        assert done.code == 0 and done.document["parameters"][one.name] == given[1]
