"""The attacks of the lab pass the contract of all attacks, and are commands."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import queryveil as qv
from tests.command import command
from tests.conftest import many
from tests.contract.test_attacks import check_declaration, check_result

EXAMPLES: dict[str, dict[str, Any]] = {
    "relinking": {"methods": ("delete-users", "k-session"), "k": 3, "trials": 50},
    "hash-inversion": {"n": 30},
}
"""Working parameters of each attack; a new attack adds a line."""


def _sessions() -> pa.Table:
    """The users with two sessions each, the second a day later."""
    table = pa.concat_tables([many(9, ["weather", "news"]), many(4, ["weather", "maps"], prefix="v")])
    later = [one + dt.timedelta(days=1) for one in table["time"].to_pylist()]
    return pa.concat_tables([table, table.set_column(1, "time", pa.array(later, table["time"].type))])


def _hashed() -> tuple[Any, ...]:
    """A log of words that keep company, hashed; the log itself; and the truth."""
    rows = [f"w{number % 7} w{7 + number % 11} w{18 + number % 13}" for number in range(4000)]
    log = qv.read(pa.table({"user": [str(number) for number in range(4000)], "query": rows}))
    release = qv.publish(log, qv.TokenHash(sessions="drop"), i_understand=True)
    known = release.private["token-map"]
    return log, release, dict(zip(known["hash"].to_pylist(), known["token"].to_pylist(), strict=True))


INPUTS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "relinking": lambda: (qv.read(_sessions()),),
    "hash-inversion": _hashed,
}


def test_every_attack_of_the_lab_has_an_example() -> None:
    assert set(EXAMPLES) == set(INPUTS) == set(qv.ATTACKS) - set(qv.ATTACKS.built_in)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_attack_passes_the_contract(name: str) -> None:
    attack = qv.ATTACKS[name](**EXAMPLES[name])
    assert attack.name == name
    check_declaration(attack)
    check_result(attack, attack.run(*INPUTS[name]()))


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_attack_is_a_command(name: str) -> None:
    done = command("attack", name, "--help")
    assert done.code == 0 and "--json" in done.out
